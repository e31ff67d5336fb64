/* SPDX-License-Identifier: Apache-2.0
 *
 * A run's folder and a file dragged from another program and dropped on the window. The other
 * program is a second connection to the X server that speaks the source's side of XDND 5
 * (freedesktop.org, "Drag-and-Drop Protocol for the X Window System").
 */
#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <gdk/x11/gdkx.h>
#include <glib/gstdio.h>
#include <gtk/gtk.h>

#include "sample-run.h"
#include "ui/appearance.h"
#include "ui/window.h"

#define PATIENCE_MS 120000

static GtkApplication *app;
static SampleRun run;

typedef enum Word { ENTER, POSITION, STATUS, DROP, FINISHED, SELECTION, URIS, COPY, N_WORDS } Word;

/* The program that something is dragged from. */
typedef struct Source {
    Display *display;
    Window window, target;
    Atom words[N_WORDS];
    const char *uris;
    bool asked, answered, accepted, finished;
} Source;

static void
open_source(Source *source, GtkWindow *target, const char *uris)
{
    static const char *const names[N_WORDS] = {"XdndEnter",     "XdndPosition",  "XdndStatus",
                                               "XdndDrop",      "XdndFinished",  "XdndSelection",
                                               "text/uri-list", "XdndActionCopy"};
    *source = (Source){.display = XOpenDisplay(NULL), .uris = uris};
    g_assert_nonnull(source->display);
    source->window = XCreateSimpleWindow(source->display, DefaultRootWindow(source->display), 0, 0,
                                         10, 10, 0, 0, 0);
    source->target = gdk_x11_surface_get_xid(gtk_native_get_surface(GTK_NATIVE(target)));
    for (int i = 0; i < N_WORDS; i++)
        source->words[i] = XInternAtom(source->display, names[i], False);
    XSetSelectionOwner(source->display, source->words[SELECTION], source->window, CurrentTime);
}

static void
tell(Source *source, Word word, long b, long c, long d, long e)
{
    XEvent event = {.xclient = {.type = ClientMessage,
                                .window = source->target,
                                .message_type = source->words[word],
                                .format = 32,
                                .data.l = {(long)source->window, b, c, d, e}}};
    XSendEvent(source->display, source->target, False, NoEventMask, &event);
    XFlush(source->display);
}

/* The target wants what is dragged, as text/uri-list. */
static void
hand_over(Source *source, const XSelectionRequestEvent *request)
{
    XEvent answer = {.xselection = {.type = SelectionNotify,
                                    .requestor = request->requestor,
                                    .selection = request->selection,
                                    .target = request->target,
                                    .time = request->time}};
    if (request->target == source->words[URIS]) {
        answer.xselection.property = request->property;
        XChangeProperty(source->display, request->requestor, request->property, request->target, 8,
                        PropModeReplace, (const unsigned char *)source->uris,
                        (int)strlen(source->uris));
        source->asked = true;
    }
    XSendEvent(source->display, request->requestor, False, NoEventMask, &answer);
    XFlush(source->display);
}

static void
listen(Source *source)
{
    while (XPending(source->display) > 0) {
        XEvent event;
        XNextEvent(source->display, &event);
        if (event.type == SelectionRequest)
            hand_over(source, &event.xselectionrequest);
        if (event.type != ClientMessage)
            continue;
        if (event.xclient.message_type == source->words[STATUS]) {
            source->accepted = event.xclient.data.l[1] & 1;
            source->answered = true;
        }
        if (event.xclient.message_type == source->words[FINISHED])
            source->finished = true;
    }
}

/* Both sides run until the flag is set; false when patience is over. */
static bool
wait_for(Source *source, const bool *flag)
{
    for (int waited_ms = 0; !*flag && waited_ms < PATIENCE_MS; waited_ms += 5) {
        while (g_main_context_iteration(NULL, FALSE))
            ;
        listen(source);
        g_usleep(5000);
    }
    return *flag;
}

/* Over the middle of the window, as it is laid out now; whether it is taken there. */
static bool
hover(Source *source, GtkWindow *window)
{
    int x, y;
    Window child;
    XTranslateCoordinates(source->display, source->target, DefaultRootWindow(source->display),
                          gtk_widget_get_width(GTK_WIDGET(window)) / 2,
                          gtk_widget_get_height(GTK_WIDGET(window)) / 2, &x, &y, &child);
    source->answered = false;
    tell(source, POSITION, 0, (long)x << 16 | y, CurrentTime, (long)source->words[COPY]);
    g_assert_true(wait_for(source, &source->answered));
    return source->accepted;
}

/* Over the window until it takes it; then let go. */
static void
drop(GtkWindow *window, const char *uris)
{
    Source source;
    open_source(&source, window, uris);
    tell(&source, ENTER, 5L << 24, (long)source.words[URIS], 0, 0);
    for (int waited_ms = 0; !hover(&source, window); waited_ms += 5)
        g_assert_cmpint(waited_ms, <, PATIENCE_MS);
    tell(&source, DROP, 0, CurrentTime, 0, 0);
    g_assert_true(wait_for(&source, &source.finished));
    g_assert_true(source.asked);
    XDestroyWindow(source.display, source.window);
    XCloseDisplay(source.display);
}

static bool
is_laid_out(GtkWindow *window)
{
    return gtk_widget_get_mapped(GTK_WIDGET(window)) &&
           gtk_widget_get_width(GTK_WIDGET(window)) > 100 &&
           gtk_widget_get_height(GTK_WIDGET(window)) > 100;
}

static GtkWindow *
open_window(void)
{
    GtkWindow *window = GTK_WINDOW(ls_window_new(app));
    gtk_window_present(window);
    for (int waited_ms = 0; waited_ms < 500 || !is_laid_out(window); waited_ms += 5) {
        g_assert_cmpint(waited_ms, <, PATIENCE_MS);
        g_usleep(5000);
        while (g_main_context_iteration(NULL, FALSE))
            ;
    }
    g_assert_cmpstr(ls_window_get_page(LS_WINDOW(window)), ==, "empty");
    return window;
}

static const char *
wait_for_page(GtkWindow *window)
{
    const char *page = ls_window_get_page(LS_WINDOW(window));
    for (int waited_ms = 0; g_str_equal(page, "loading") && waited_ms < PATIENCE_MS;
         waited_ms += 5) {
        g_usleep(5000);
        while (g_main_context_iteration(NULL, FALSE))
            ;
        page = ls_window_get_page(LS_WINDOW(window));
    }
    return page;
}

static size_t
count_ranks(GtkWindow *window)
{
    LsSession *session = ls_window_get_session(LS_WINDOW(window));
    size_t n;
    ls_trace_get_ranks(ls_session_get_document(session)->trace, &n);
    return n;
}

static void
test_folder(void)
{
    GtkWindow *window = open_window();
    g_autofree char *uri = g_filename_to_uri(run.path, NULL, NULL);
    g_autofree char *uris = g_strconcat(uri, "\r\n", NULL);
    drop(window, uris);
    g_assert_cmpstr(wait_for_page(window), ==, "run");
    g_assert_cmpuint(count_ranks(window), ==, 4);
    gtk_window_destroy(window);
}

/* Two of the run's files, in place of the run that is open. */
static void
test_files(void)
{
    GtkWindow *window = open_window();
    g_autoptr(GString) uris = g_string_new(NULL);
    g_autoptr(GDir) files = g_dir_open(run.path, 0, NULL);
    ls_window_open(LS_WINDOW(window), (const char *const *)&run.path, 1);
    g_assert_cmpstr(wait_for_page(window), ==, "run");
    for (const char *name = g_dir_read_name(files); name; name = g_dir_read_name(files)) {
        if (!g_str_has_prefix(name, "rank-00001") && !g_str_has_prefix(name, "rank-00003"))
            continue;
        g_autofree char *path = g_build_filename(run.path, name, NULL);
        g_autofree char *uri = g_filename_to_uri(path, NULL, NULL);
        g_string_append_printf(uris, "%s\r\n", uri);
    }
    drop(window, uris->str);
    g_assert_cmpstr(wait_for_page(window), ==, "run");
    g_assert_cmpuint(count_ranks(window), ==, 2);
    gtk_window_destroy(window);
}

/* What is no recording is told of, not passed over. */
static void
test_other_file(void)
{
    GtkWindow *window = open_window();
    g_autofree char *path = g_build_filename(run.folder, "a picture.png", NULL);
    g_autofree char *uri = g_filename_to_uri(path, NULL, NULL);
    g_autofree char *uris = g_strconcat(uri, "\r\n", NULL);
    g_assert_true(g_file_set_contents(path, "\211PNG\r\n\032\n", 8, NULL));
    drop(window, uris);
    g_assert_cmpstr(wait_for_page(window), ==, "error");
    g_unlink(path);
    gtk_window_destroy(window);
}

int
main(int argc, char **argv)
{
    gtk_test_init(&argc, &argv, NULL);
    LsSynthOptions options = ls_synth_options();
    options.steps = 4;
    run = sample_run_write(&options, "lockstep drop \303\244-XXXXXX");
    ls_appearance_start("light");
    app = gtk_application_new(NULL, G_APPLICATION_NON_UNIQUE);
    g_application_register(G_APPLICATION(app), NULL, NULL);
    g_test_add_func("/ui/drop/a-folder-opens", test_folder);
    g_test_add_func("/ui/drop/files-open-in-place-of-the-run", test_files);
    g_test_add_func("/ui/drop/another-file-is-told-of", test_other_file);
    int status = g_test_run();
    sample_run_remove(&run);
    return status;
}
