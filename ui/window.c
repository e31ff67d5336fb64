/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds the window and connects loader, session and pages. Actions and keys are in
 * window-actions.c, the pages without a run in pages.c.
 */
#include "ui/window.h"

#include "base/units.h"
#include "ui/findings.h"
#include "ui/foot.h"
#include "ui/inspector.h"
#include "ui/loader.h"
#include "ui/pages.h"
#include "ui/search.h"
#include "ui/timeline.h"
#include "ui/window-actions.h"

struct _LsWindow {
    GtkApplicationWindow parent;
    LsSession *session;
    LsLoader *loader;
    unsigned int progress_tick;
    GtkWidget *stack, *timeline, *inspector, *title, *subtitle, *findings, *search;
    LsPages pages;
    int start_mode; /* -1: as the run asks */
    int64_t start_at_ns;
};

G_DEFINE_FINAL_TYPE(LsWindow, ls_window, GTK_TYPE_APPLICATION_WINDOW)

static void
show_page(LsWindow *window, const char *page)
{
    gtk_stack_set_visible_child_name(GTK_STACK(window->stack), page);
    bool run = g_str_equal(page, "run");
    ls_window_actions_enable(window, run);
    gtk_widget_set_visible(window->findings, run);
    if (run)
        gtk_widget_grab_focus(window->timeline);
}

static const char *
resting_page(LsWindow *window)
{
    return ls_session_get_document(window->session) ? "run" : "empty";
}

static void
stop_loading(LsWindow *window)
{
    if (window->progress_tick)
        g_source_remove(window->progress_tick);
    window->progress_tick = 0;
    g_clear_pointer(&window->loader, ls_loader_free);
}

/* Whether the recording has the time it should open at; else says so. */
static bool
has_start(LsWindow *window, const LsTrace *trace)
{
    int64_t length_ns = ls_trace_get_last_ns(trace) - ls_trace_get_first_ns(trace);
    if (window->start_at_ns <= length_ns)
        return true;
    g_autofree char *length = ls_format_ns(length_ns);
    g_autofree char *text = g_strdup_printf(
        "--at lies outside of the recording: it lasts %s, and times count from its begin.", length);
    window->start_at_ns = -1;
    ls_pages_set_error(&window->pages, "There is no such time", text);
    return false;
}

static void
apply_start(LsWindow *window)
{
    if (window->start_mode >= 0)
        ls_session_set_mode(window->session, (LsViewMode)window->start_mode);
    const LsDocument *document = ls_session_get_document(window->session);
    if (document && window->start_at_ns >= 0) {
        int64_t at = ls_trace_get_first_ns(document->trace) + window->start_at_ns;
        int step = ls_model_find_step_at(document->model, at);
        if (step >= 0)
            ls_session_show_step(window->session, step);
        else
            ls_session_show(window->session, at - 50000000, at + 50000000, 0);
    }
    window->start_mode = -1;
    window->start_at_ns = -1;
}

static void
loaded(LsDocument *document, const GError *error, void *user)
{
    LsWindow *window = user;
    stop_loading(window);
    if (!document) {
        ls_pages_set_error(&window->pages, "This could not be opened", error->message);
        show_page(window, "error");
        return;
    }
    if (ls_document_is_empty(document)) {
        g_autofree char *text =
            g_strdup_printf("%s was begun and holds no event.", document->title);
        ls_document_free(document);
        ls_pages_set_error(&window->pages, "No events recorded", text);
        show_page(window, "error");
        return;
    }
    if (!has_start(window, document->trace)) {
        ls_document_free(document);
        show_page(window, "error");
        return;
    }
    gtk_label_set_text(GTK_LABEL(window->title), document->title);
    gtk_label_set_text(GTK_LABEL(window->subtitle), document->subtitle);
    gtk_widget_set_visible(window->subtitle, TRUE);
    g_autofree char *window_title = g_strdup_printf("%s – Lockstep", document->title);
    gtk_window_set_title(GTK_WINDOW(window), window_title);
    ls_session_set_document(window->session, document);
    ls_findings_set(window->findings, document->trace);
    apply_start(window);
    show_page(window, "run");
}

static gboolean
progress_tick(void *user)
{
    LsWindow *window = user;
    const char *stage = NULL;
    double fraction = ls_loader_get_progress(window->loader, &stage);
    ls_pages_set_progress(&window->pages, stage, fraction);
    return G_SOURCE_CONTINUE;
}

void
ls_window_open(LsWindow *window, const char *const *paths, size_t n_paths)
{
    g_return_if_fail(n_paths > 0);
    stop_loading(window);
    g_autofree char *name = g_filename_display_basename(paths[0]);
    ls_pages_set_loading(&window->pages, name);
    show_page(window, "loading");
    window->loader = ls_loader_start(paths, n_paths, loaded, window);
    window->progress_tick = g_timeout_add(50, progress_tick, window);
}

void
ls_window_cancel(LsWindow *window)
{
    stop_loading(window);
    show_page(window, resting_page(window));
}

static void
chosen(GtkNativeDialog *dialog, int response, LsWindow *window)
{
    if (response == GTK_RESPONSE_ACCEPT) {
        g_autoptr(GFile) file = gtk_file_chooser_get_file(GTK_FILE_CHOOSER(dialog));
        g_autofree char *path = file ? g_file_get_path(file) : NULL;
        if (path)
            ls_window_open(window, (const char *const *)&path, 1);
    }
    g_object_unref(dialog);
}

void
ls_window_choose(LsWindow *window, bool folder)
{
    GtkFileChooserNative *dialog = gtk_file_chooser_native_new(
        folder ? "Open a run" : "Open a trace file", GTK_WINDOW(window),
        folder ? GTK_FILE_CHOOSER_ACTION_SELECT_FOLDER : GTK_FILE_CHOOSER_ACTION_OPEN, "_Open",
        "_Cancel");
    g_signal_connect(dialog, "response", G_CALLBACK(chosen), window);
    gtk_native_dialog_show(GTK_NATIVE_DIALOG(dialog));
}

static gboolean
dropped(GtkDropTarget *target, const GValue *value, double x, double y, LsWindow *window)
{
    GSList *files = g_value_get_boxed(value);
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
    for (GSList *item = files; item; item = item->next) {
        char *path = g_file_get_path(item->data);
        if (path)
            g_ptr_array_add(paths, path);
    }
    if (paths->len == 0)
        return FALSE;
    ls_window_open(window, (const char *const *)paths->pdata, paths->len);
    return TRUE;
}

static GtkWidget *
new_run_page(LsWindow *window)
{
    window->timeline = ls_timeline_new(window->session);
    GtkWidget *inspector = ls_inspector_new(window->session);
    window->inspector = gtk_scrolled_window_new();
    gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(window->inspector), GTK_POLICY_NEVER,
                                   GTK_POLICY_AUTOMATIC);
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(window->inspector), inspector);
    gtk_widget_set_size_request(window->inspector, LS_DRAW_INSPECTOR_WIDTH, -1);
    gtk_widget_add_css_class(window->inspector, "inspector-panel");

    GtkWidget *top = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);
    gtk_widget_set_hexpand(window->timeline, TRUE);
    gtk_widget_set_vexpand(top, TRUE);
    gtk_box_append(GTK_BOX(top), window->timeline);
    gtk_box_append(GTK_BOX(top), window->inspector);

    GtkWidget *page = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    gtk_box_append(GTK_BOX(page), top);
    gtk_box_append(GTK_BOX(page), ls_foot_new(window->session));
    return page;
}

static GtkWidget *
new_mode_buttons(void)
{
    static const struct {
        const char *label, *mode;
    } modes[] = {{"By rank", "rank"}, {"By tensor", "tensor"}, {"Overview", "overview"}};
    GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);

    gtk_widget_add_css_class(box, "linked");
    for (size_t i = 0; i < G_N_ELEMENTS(modes); i++) {
        GtkWidget *button = gtk_toggle_button_new_with_label(modes[i].label);
        gtk_widget_set_focus_on_click(button, FALSE); /* keys go on to the timeline */
        gtk_actionable_set_action_name(GTK_ACTIONABLE(button), "win.mode");
        gtk_actionable_set_action_target(GTK_ACTIONABLE(button), "s", modes[i].mode);
        gtk_box_append(GTK_BOX(box), button);
    }
    return box;
}

static GtkWidget *
new_title(LsWindow *window)
{
    GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    window->title = gtk_label_new("Lockstep");
    window->subtitle = gtk_label_new("");
    gtk_widget_add_css_class(window->title, "title");
    gtk_widget_add_css_class(window->subtitle, "subtitle");
    gtk_label_set_ellipsize(GTK_LABEL(window->title), PANGO_ELLIPSIZE_MIDDLE);
    gtk_label_set_ellipsize(GTK_LABEL(window->subtitle), PANGO_ELLIPSIZE_END);
    gtk_widget_set_visible(window->subtitle, FALSE);
    gtk_widget_set_valign(box, GTK_ALIGN_CENTER);
    gtk_box_append(GTK_BOX(box), window->title);
    gtk_box_append(GTK_BOX(box), window->subtitle);
    return box;
}

static GtkWidget *
new_header(LsWindow *window)
{
    GtkWidget *header = gtk_header_bar_new();
    GtkWidget *open = gtk_button_new_with_label("Open");
    gtk_actionable_set_action_name(GTK_ACTIONABLE(open), "win.open");
    gtk_widget_set_tooltip_text(open, "Open a run's folder (Ctrl+O)");
    gtk_header_bar_pack_start(GTK_HEADER_BAR(header), open);
    gtk_header_bar_pack_start(GTK_HEADER_BAR(header), new_mode_buttons());
    gtk_header_bar_set_title_widget(GTK_HEADER_BAR(header), new_title(window));

    GtkWidget *menu = gtk_menu_button_new();
    gtk_menu_button_set_icon_name(GTK_MENU_BUTTON(menu), "open-menu-symbolic");
    gtk_menu_button_set_primary(GTK_MENU_BUTTON(menu), TRUE);
    g_autoptr(GMenuModel) model = ls_window_actions_new_menu();
    gtk_menu_button_set_menu_model(GTK_MENU_BUTTON(menu), model);
    gtk_accessible_update_property(GTK_ACCESSIBLE(menu), GTK_ACCESSIBLE_PROPERTY_LABEL, "Menu", -1);
    gtk_header_bar_pack_end(GTK_HEADER_BAR(header), menu);
    window->findings = ls_findings_new();
    gtk_header_bar_pack_end(GTK_HEADER_BAR(header), window->findings);
    window->search = ls_search_new(window->session);
    gtk_header_bar_pack_end(GTK_HEADER_BAR(header), window->search);
    return header;
}

static void
ls_window_dispose(GObject *object)
{
    LsWindow *window = LS_WINDOW(object);
    stop_loading(window);
    if (window->session)
        g_signal_handlers_disconnect_by_data(window->session, window);
    G_OBJECT_CLASS(ls_window_parent_class)->dispose(object);
}

static void
ls_window_finalize(GObject *object)
{
    g_clear_object(&LS_WINDOW(object)->session);
    G_OBJECT_CLASS(ls_window_parent_class)->finalize(object);
}

static void
ls_window_class_init(LsWindowClass *klass)
{
    G_OBJECT_CLASS(klass)->dispose = ls_window_dispose;
    G_OBJECT_CLASS(klass)->finalize = ls_window_finalize;
}

static void
ls_window_init(LsWindow *window)
{
    window->session = ls_session_new();
    window->start_mode = -1;
    window->start_at_ns = -1;
    ls_window_actions_add(window);
    gtk_window_set_titlebar(GTK_WINDOW(window), new_header(window));
    gtk_window_set_title(GTK_WINDOW(window), "Lockstep");
    gtk_window_set_default_size(GTK_WINDOW(window), 1600, 900);

    window->stack = gtk_stack_new();
    ls_pages_add(&window->pages, GTK_STACK(window->stack));
    gtk_stack_add_named(GTK_STACK(window->stack), new_run_page(window), "run");
    gtk_widget_add_controller(window->timeline, ls_window_actions_new_shortcuts());
    gtk_window_set_child(GTK_WINDOW(window), window->stack);
    show_page(window, "empty");

    GtkDropTarget *drop = gtk_drop_target_new(GDK_TYPE_FILE_LIST, GDK_ACTION_COPY);
    g_signal_connect(drop, "drop", G_CALLBACK(dropped), window);
    gtk_widget_add_controller(GTK_WIDGET(window), GTK_EVENT_CONTROLLER(drop));
}

GtkWidget *
ls_window_new(GtkApplication *app)
{
    return g_object_new(LS_TYPE_WINDOW, "application", app, NULL);
}

void
ls_window_toggle_inspector(LsWindow *window)
{
    gtk_widget_set_visible(window->inspector, !gtk_widget_get_visible(window->inspector));
}

void
ls_window_focus_search(LsWindow *window)
{
    ls_search_focus(window->search);
}

void
ls_window_find_next(LsWindow *window, int direction)
{
    ls_search_go(window->search, direction);
}

void
ls_window_set_start(LsWindow *window, int mode, int64_t at_ns)
{
    window->start_mode = mode;
    window->start_at_ns = at_ns;
}

LsSession *
ls_window_get_session(LsWindow *window)
{
    return window->session;
}

double
ls_window_get_pointer_x(LsWindow *window)
{
    return ls_timeline_get_pointer_x(LS_TIMELINE(window->timeline));
}

const char *
ls_window_get_page(LsWindow *window)
{
    return gtk_stack_get_visible_child_name(GTK_STACK(window->stack));
}
