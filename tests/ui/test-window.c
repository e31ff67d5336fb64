/* SPDX-License-Identifier: Apache-2.0
 *
 * The real window on a run whose truth is known, driven by its actions and by real keys (XTest).
 */
#include <X11/extensions/XTest.h>
#include <X11/keysym.h>
#include <gdk/x11/gdkx.h>
#include <gtk/gtk.h>

#include "layout/hit.h"
#include "sample-run.h"
#include "ui/appearance.h"
#include "ui/window-actions.h"
#include "ui/window.h"

#define PATIENCE_MS 120000
#define LATE_RANK   2

typedef struct Fixture {
    LsWindow *window;
    LsSession *session;
} Fixture;

static GtkApplication *app;
static SampleRun run;

static gboolean
tick(void *user)
{
    *(int *)user += 10;
    return G_SOURCE_CONTINUE;
}

/* Runs the main loop until the condition holds; false when patience is over. */
static bool
wait_until(bool (*holds)(void *), void *user)
{
    int waited_ms = 0;
    unsigned int source = g_timeout_add(10, tick, &waited_ms);
    while (!holds(user) && waited_ms < PATIENCE_MS)
        g_main_context_iteration(NULL, TRUE);
    g_source_remove(source);
    return holds(user);
}

static bool
is_run_shown(void *user)
{
    Fixture *fixture = user;
    const LsScene *scene = ls_session_get_scene(fixture->session);
    return g_str_equal(ls_window_get_page(fixture->window), "run") && scene &&
           scene->view.height > 300;
}

static bool
is_error_shown(void *user)
{
    return g_str_equal(ls_window_get_page(((Fixture *)user)->window), "error");
}

static void
set_up_empty(Fixture *fixture, const void *data)
{
    fixture->window = LS_WINDOW(ls_window_new(app));
    fixture->session = ls_window_get_session(fixture->window);
    gtk_window_present(GTK_WINDOW(fixture->window));
}

static void
set_up(Fixture *fixture, const void *data)
{
    set_up_empty(fixture, data);
    ls_window_open(fixture->window, (const char *const *)&run.path, 1);
    g_assert_true(wait_until(is_run_shown, fixture));
}

static void
tear_down(Fixture *fixture, const void *data)
{
    gtk_window_destroy(GTK_WINDOW(fixture->window));
}

static void
act(Fixture *fixture, const char *action)
{
    gtk_widget_activate_action_variant(GTK_WIDGET(fixture->window), action, NULL);
}

static int64_t
visible_ns(Fixture *fixture)
{
    const LsScene *scene = ls_session_get_scene(fixture->session);
    return scene->view.end_ns - scene->view.start_ns;
}

static void
test_opens_on_slowest_step(Fixture *fixture, const void *data)
{
    const LsDocument *document = ls_session_get_document(fixture->session);
    const LsScene *scene = ls_session_get_scene(fixture->session);
    size_t n;
    const LsStepColumn *steps = ls_model_get_steps(document->model, &n);
    g_assert_cmpuint(n, ==, 12);
    int slowest = ls_model_find_slowest_step(document->model);
    g_assert_cmpint(slowest, >=, 0);
    for (size_t i = 0; i < n; i++)
        if (!steps[i].warmup && !steps[i].cut)
            g_assert_cmpint(steps[i].step_ns, <=, steps[slowest].step_ns);
    g_assert_cmpint(scene->view.start_ns, <=, steps[slowest].start_ns);
    g_assert_cmpint(scene->view.end_ns, >=, steps[slowest].end_ns);
    g_assert_cmpint(scene->view.step, ==, slowest);
}

static void
test_zooms_and_pans(Fixture *fixture, const void *data)
{
    const LsScene *scene = ls_session_get_scene(fixture->session);
    int64_t start_ns = scene->view.start_ns, visible = visible_ns(fixture);
    act(fixture, "win.zoom-in");
    g_assert_cmpint(visible_ns(fixture), <, visible);
    act(fixture, "win.start");
    g_assert_cmpint(visible_ns(fixture), ==, visible);
    act(fixture, "win.right");
    g_assert_cmpint(ls_session_get_scene(fixture->session)->view.start_ns, >, start_ns);
    g_assert_cmpint(visible_ns(fixture), ==, visible);
    act(fixture, "win.fit");
    g_assert_cmpint(visible_ns(fixture), >, visible);
}

static void
test_goes_from_step_to_step(Fixture *fixture, const void *data)
{
    ls_session_show_step(fixture->session, 5);
    act(fixture, "win.next-step");
    g_assert_cmpint(ls_session_get_scene(fixture->session)->view.step, ==, 6);
    act(fixture, "win.previous-step");
    act(fixture, "win.previous-step");
    g_assert_cmpint(ls_session_get_scene(fixture->session)->view.step, ==, 4);
}

/* Whatever is drawn somewhere in the rows can be selected there and is then explained. */
static void
test_selects_what_is_drawn(Fixture *fixture, const void *data)
{
    const LsScene *scene = ls_session_get_scene(fixture->session);
    int calls = 0;
    for (double y = 5; y < scene->view.height; y += 7) {
        for (double x = 5; x < scene->view.width; x += 13) {
            LsPick pick = ls_hit_find(scene, x, y);
            if (pick.kind == LS_PICK_NONE)
                continue;
            ls_session_select(fixture->session, &pick);
            g_assert_nonnull(ls_session_get_inspect(fixture->session));
            calls += pick.kind == LS_PICK_CALL;
            scene = ls_session_get_scene(fixture->session);
        }
    }
    g_assert_cmpint(calls, >, 0);
    act(fixture, "win.clear");
    g_assert_null(ls_session_get_inspect(fixture->session));
}

#define FRAMES 12

static gboolean
count_frame(GtkWidget *widget, GdkFrameClock *clock, void *user)
{
    return ++*(int *)user < FRAMES ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static bool
has_drawn(void *user)
{
    return *(int *)user >= FRAMES;
}

/* Until sizes are given out, which is done in frames. */
static void
settle(Fixture *fixture)
{
    int frames = 0;
    gtk_widget_add_tick_callback(GTK_WIDGET(fixture->window), count_frame, &frames, NULL);
    g_assert_true(wait_until(has_drawn, &frames));
}

/* The timeline keeps its width whatever is selected: a panel that grows with its links would move
 * what was clicked from under the pointer. */
static void
test_panel_keeps_its_width(Fixture *fixture, const void *data)
{
    gtk_widget_activate_action(GTK_WIDGET(fixture->window), "win.mode", "s", "overview");
    settle(fixture);
    double width = ls_session_get_scene(fixture->session)->view.width;
    LsPick cell = {.kind = LS_PICK_CELL, .rank = 1, .track = LS_NONE, .index = 3};
    ls_session_select(fixture->session, &cell);
    g_assert_cmpuint(ls_session_get_inspect(fixture->session)->links->len, >, 3);
    settle(fixture);
    g_assert_cmpfloat(ls_session_get_scene(fixture->session)->view.width, ==, width);
}

static void
test_changes_mode(Fixture *fixture, const void *data)
{
    gtk_widget_activate_action(GTK_WIDGET(fixture->window), "win.mode", "s", "tensor");
    g_assert_cmpint(ls_session_get_mode(fixture->session), ==, LS_VIEW_TENSORS);
    g_assert_cmpuint(ls_scene_get_n_rows(ls_session_get_scene(fixture->session)), >, 0);
    gtk_widget_activate_action(GTK_WIDGET(fixture->window), "win.mode", "s", "overview");
    const LsScene *scene = ls_session_get_scene(fixture->session);
    g_assert_cmpuint(scene->overview.columns, >, 0);
    gtk_widget_activate_action(GTK_WIDGET(fixture->window), "win.mode", "s", "rank");
    g_assert_cmpint(ls_session_get_mode(fixture->session), ==, LS_VIEW_RANKS);
}

static void
test_headline_names_late_rank(Fixture *fixture, const void *data)
{
    const LsDocument *document = ls_session_get_document(fixture->session);
    size_t n;
    bool named = false;
    const LsHeadlineLine *lines = ls_headline_get_lines(document->headline, &n);
    for (size_t i = 0; i < n; i++)
        named = named || strstr(lines[i].label, "ank 2");
    g_assert_true(named);
}

static void
test_says_what_is_wrong(Fixture *fixture, const void *data)
{
    const char *absent = "/nonexistent/run";
    ls_window_open(fixture->window, &absent, 1);
    g_assert_true(wait_until(is_error_shown, fixture));
}

/* The time to open at: refused where the recording has none such, and forgotten then. */
static void
test_starts_within_the_recording(Fixture *fixture, const void *data)
{
    ls_window_set_start(fixture->window, -1, 3600 * INT64_C(1000000000));
    ls_window_open(fixture->window, (const char *const *)&run.path, 1);
    g_assert_true(wait_until(is_error_shown, fixture));
    g_assert_null(ls_session_get_document(fixture->session));
    ls_window_open(fixture->window, (const char *const *)&run.path, 1);
    g_assert_true(wait_until(is_run_shown, fixture));
}

static void
test_cancels(Fixture *fixture, const void *data)
{
    ls_window_open(fixture->window, (const char *const *)&run.path, 1);
    g_assert_cmpstr(ls_window_get_page(fixture->window), ==, "loading");
    act(fixture, "win.cancel");
    g_assert_cmpstr(ls_window_get_page(fixture->window), ==, "empty");
    for (int i = 0; i < 50; i++) {
        g_usleep(2000);
        g_main_context_iteration(NULL, FALSE);
    }
    g_assert_cmpstr(ls_window_get_page(fixture->window), ==, "empty");
}

typedef struct Narrower {
    Fixture *fixture;
    int64_t before;
} Narrower;

static bool
is_narrower(void *user)
{
    Narrower *narrower = user;
    return visible_ns(narrower->fixture) < narrower->before;
}

static bool
is_active(void *user)
{
    return gtk_window_is_active(GTK_WINDOW(((Fixture *)user)->window));
}

static void
press(Display *display, KeySym symbol)
{
    KeyCode code = XKeysymToKeycode(display, symbol);
    XTestFakeKeyEvent(display, code, True, 0);
    XTestFakeKeyEvent(display, code, False, 0);
    XFlush(display);
}

static Display *
take_keyboard(Fixture *fixture)
{
    Display *display = gdk_x11_display_get_xdisplay(gdk_display_get_default());
    GdkSurface *surface = gtk_native_get_surface(GTK_NATIVE(fixture->window));
    XSetInputFocus(display, gdk_x11_surface_get_xid(surface), RevertToParent, CurrentTime);
    XFlush(display);
    g_assert_true(wait_until(is_active, fixture));
    return display;
}

/* The first button below `widget` with this label. */
static GtkWidget *
find_button(GtkWidget *widget, const char *label)
{
    if (GTK_IS_BUTTON(widget) && g_strcmp0(gtk_button_get_label(GTK_BUTTON(widget)), label) == 0)
        return widget;
    GtkWidget *found = NULL;
    for (GtkWidget *child = gtk_widget_get_first_child(widget); child && !found;
         child = gtk_widget_get_next_sibling(child))
        found = find_button(child, label);
    return found;
}

static void
click(Display *display, Fixture *fixture, GtkWidget *widget)
{
    GdkSurface *surface = gtk_native_get_surface(GTK_NATIVE(fixture->window));
    graphene_point_t middle = {(float)gtk_widget_get_width(widget) / 2,
                               (float)gtk_widget_get_height(widget) / 2};
    graphene_point_t at;
    double shadow_x, shadow_y;
    int x, y;
    Window child;
    g_assert_true(gtk_widget_compute_point(widget, GTK_WIDGET(fixture->window), &middle, &at));
    gtk_native_get_surface_transform(GTK_NATIVE(fixture->window), &shadow_x, &shadow_y);
    XTranslateCoordinates(display, gdk_x11_surface_get_xid(surface), DefaultRootWindow(display),
                          (int)(at.x + shadow_x), (int)(at.y + shadow_y), &x, &y, &child);
    XTestFakeMotionEvent(display, -1, x, y, 0);
    XTestFakeButtonEvent(display, 1, True, 0);
    XTestFakeButtonEvent(display, 1, False, 0);
    XFlush(display);
}

static bool
is_by_tensor(void *user)
{
    return ls_session_get_mode(((Fixture *)user)->session) == LS_VIEW_TENSORS;
}

/* A button that has been clicked does not keep the keys from the timeline. */
static void
test_obeys_keys_after_a_click(Fixture *fixture, const void *data)
{
    Display *display = take_keyboard(fixture);
    settle(fixture);
    GtkWidget *button = find_button(GTK_WIDGET(fixture->window), "By tensor");
    g_assert_nonnull(button);
    click(display, fixture, button);
    g_assert_true(wait_until(is_by_tensor, fixture));
    settle(fixture);
    Narrower narrower = {fixture, visible_ns(fixture)};
    press(display, XK_w);
    g_assert_true(wait_until(is_narrower, &narrower));
}

static void
test_obeys_real_keys(Fixture *fixture, const void *data)
{
    Display *display = take_keyboard(fixture);
    Narrower narrower = {fixture, visible_ns(fixture)};
    press(display, XK_w);
    g_assert_true(wait_until(is_narrower, &narrower));
}

static void
test_turns_dark(Fixture *fixture, const void *data)
{
    gtk_widget_activate_action(GTK_WIDGET(fixture->window), "win.theme", "s", "dark");
    g_assert_true(ls_appearance_get_theme()->dark);
    gtk_widget_activate_action(GTK_WIDGET(fixture->window), "win.theme", "s", "light");
    g_assert_false(ls_appearance_get_theme()->dark);
}

int
main(int argc, char **argv)
{
    gtk_test_init(&argc, &argv, NULL);
    LsSynthOptions options = ls_synth_options();
    options.steps = 12;
    options.late_rank = LATE_RANK;
    options.late_ns = 20000000;
    run = sample_run_write(&options, "lockstep-window-XXXXXX");
    ls_appearance_start("light");
    app = gtk_application_new(NULL, G_APPLICATION_NON_UNIQUE);
    g_application_register(G_APPLICATION(app), NULL, NULL);
    ls_window_actions_add_keys(app);

#define ADD(name, set_up, test)                                                                    \
    g_test_add("/ui/window/" name, Fixture, NULL, set_up, test, tear_down)
    ADD("opens-on-slowest-step", set_up, test_opens_on_slowest_step);
    ADD("zooms-and-pans", set_up, test_zooms_and_pans);
    ADD("goes-from-step-to-step", set_up, test_goes_from_step_to_step);
    ADD("selects-what-is-drawn", set_up, test_selects_what_is_drawn);
    ADD("panel-keeps-its-width", set_up, test_panel_keeps_its_width);
    ADD("changes-mode", set_up, test_changes_mode);
    ADD("headline-names-late-rank", set_up, test_headline_names_late_rank);
    ADD("says-what-is-wrong", set_up_empty, test_says_what_is_wrong);
    ADD("starts-within-the-recording", set_up_empty, test_starts_within_the_recording);
    ADD("cancels", set_up_empty, test_cancels);
    ADD("obeys-real-keys", set_up, test_obeys_real_keys);
    ADD("obeys-keys-after-a-click", set_up, test_obeys_keys_after_a_click);
    ADD("turns-dark", set_up, test_turns_dark);
    int status = g_test_run();
    sample_run_remove(&run);
    return status;
}
