/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys are those of Perfetto and chrome://tracing where these agree, and GNOME's.
 */
#include "ui/window-actions.h"

#include "ui/appearance.h"

#define ZOOM_STEP       1.5
#define PAN_SHARE       0.15 /* of the width */
#define HELP_WIDTH      620
#define HELP_HEIGHT_MAX 860 /* of more it scrolls */

typedef void (*LsAct)(LsWindow *window);

typedef struct LsActionRow {
    const char *name; /* of win.NAME */
    const char *keys; /* GTK's names, several apart by a blank; "" none */
    bool global;      /* holds wherever the focus is */
    bool needs_run;
    const char *group, *title; /* in the help; title NULL: not listed */
    LsAct act;
} LsActionRow;

static void
zoom(LsWindow *window, double factor)
{
    ls_session_zoom(ls_window_get_session(window), factor, ls_window_get_pointer_x(window));
}

static void
pan(LsWindow *window, double share)
{
    LsSession *session = ls_window_get_session(window);
    const LsScene *scene = ls_session_get_scene(session);
    if (scene)
        ls_session_pan(session, share * scene->view.width);
}

static void
scroll(LsWindow *window, double share)
{
    LsSession *session = ls_window_get_session(window);
    const LsScene *scene = ls_session_get_scene(session);
    if (scene)
        ls_session_scroll(session, share * scene->view.height);
}

static void
act_open(LsWindow *window)
{
    ls_window_choose(window, true);
}

static void
act_open_file(LsWindow *window)
{
    ls_window_choose(window, false);
}

static void
act_cancel(LsWindow *window)
{
    ls_window_cancel(window);
}

static void
act_close(LsWindow *window)
{
    gtk_window_close(GTK_WINDOW(window));
}

static void
act_zoom_in(LsWindow *window)
{
    zoom(window, 1 / ZOOM_STEP);
}

static void
act_zoom_out(LsWindow *window)
{
    zoom(window, ZOOM_STEP);
}

static void
act_left(LsWindow *window)
{
    pan(window, -PAN_SHARE);
}

static void
act_right(LsWindow *window)
{
    pan(window, PAN_SHARE);
}

static void
act_up(LsWindow *window)
{
    scroll(window, -0.1);
}

static void
act_down(LsWindow *window)
{
    scroll(window, 0.1);
}

static void
act_page_up(LsWindow *window)
{
    scroll(window, -0.9);
}

static void
act_page_down(LsWindow *window)
{
    scroll(window, 0.9);
}

static bool
shows(const LsScene *scene, int64_t start_ns, int64_t end_ns)
{
    int64_t slack = (end_ns - start_ns) / 2;
    return scene->view.start_ns >= start_ns - slack && scene->view.end_ns <= end_ns + slack;
}

/* F: the marked range or the selection; once more, or without either: everything. */
static void
act_fit(LsWindow *window)
{
    LsSession *session = ls_window_get_session(window);
    const LsScene *scene = ls_session_get_scene(session);
    const LsInspect *inspect = ls_session_get_inspect(session);
    int64_t start_ns = 0, end_ns = 0;
    if (!scene)
        return;
    if (!ls_session_get_marked(session, &start_ns, &end_ns) && inspect) {
        start_ns = inspect->start_ns;
        end_ns = inspect->end_ns;
    }
    if (end_ns <= start_ns || shows(scene, start_ns, end_ns))
        ls_session_show_all(session);
    else
        ls_session_show(session, start_ns, end_ns, 0.1);
}

static void
act_start(LsWindow *window)
{
    ls_session_show_start(ls_window_get_session(window));
}

static void
act_next(LsWindow *window)
{
    ls_session_select_next(ls_window_get_session(window), 1);
}

static void
act_previous(LsWindow *window)
{
    ls_session_select_next(ls_window_get_session(window), -1);
}

static void
act_next_step(LsWindow *window)
{
    ls_session_next_step(ls_window_get_session(window), 1);
}

static void
act_previous_step(LsWindow *window)
{
    ls_session_next_step(ls_window_get_session(window), -1);
}

static void
act_fold(LsWindow *window)
{
    ls_session_fold(ls_window_get_session(window), LS_NONE);
}

static void
act_clear(LsWindow *window)
{
    ls_session_set_marked(ls_window_get_session(window), 0, 0);
    ls_session_select(ls_window_get_session(window), NULL);
}

static void
act_inspector(LsWindow *window)
{
    ls_window_toggle_inspector(window);
}

static void
act_find(LsWindow *window)
{
    ls_window_focus_search(window);
}

static void
act_find_next(LsWindow *window)
{
    ls_window_find_next(window, 1);
}

static void
act_find_previous(LsWindow *window)
{
    ls_window_find_next(window, -1);
}

static void
act_fullscreen(LsWindow *window)
{
    if (gtk_window_is_fullscreen(GTK_WINDOW(window)))
        gtk_window_unfullscreen(GTK_WINDOW(window));
    else
        gtk_window_fullscreen(GTK_WINDOW(window));
}

static void act_help(LsWindow *window);

static const LsActionRow rows[] = {
    {"zoom-in", "w plus equal KP_Add", false, true, "Move", "Closer, at the pointer", act_zoom_in},
    {"zoom-out", "s minus KP_Subtract", false, true, "Move", "Farther", act_zoom_out},
    {"left", "a Left", false, true, "Move", "Earlier", act_left},
    {"right", "d Right", false, true, "Move", "Later", act_right},
    {"up", "Up", false, true, "Move", "Rows above", act_up},
    {"down", "Down", false, true, "Move", "Rows below", act_down},
    {"page-up", "Page_Up", false, true, "Move", "A page up", act_page_up},
    {"page-down", "Page_Down", false, true, "Move", "A page down", act_page_down},
    {"fit", "f z", false, true, "Move", "Fit what is marked or selected; again: everything",
     act_fit},
    {"start", "0 <Control>Home", false, true, "Move", "Back to the view it opened with", act_start},
    {"next-step", "<Control>Right", false, true, "Move", "Next step", act_next_step},
    {"previous-step", "<Control>Left", false, true, "Move", "Previous step", act_previous_step},
    {"next", "period bracketright", false, true, "Select", "Next on the same row", act_next},
    {"previous", "comma bracketleft", false, true, "Select", "Previous on the same row",
     act_previous},
    {"clear", "Escape", false, true, "Select", "Nothing", act_clear},
    {"find", "slash <Control>f", false, true, "Select", "Find a name", act_find},
    {"find-next", "n", false, true, "Select", "Next hit", act_find_next},
    {"find-previous", "<Shift>n", false, true, "Select", "Previous hit", act_find_previous},
    {"fold", "e", false, true, "Show", "Fold and unfold the rows of all ranks", act_fold},
    {"inspector", "q F9", false, true, "Show", "The inspector", act_inspector},
    {"fullscreen", "F11", true, false, "Show", "Full screen", act_fullscreen},
    {"open", "<Control>o", true, false, "Window", "Open a run's folder", act_open},
    {"open-file", "<Control><Shift>o", true, false, "Window", "Open a file", act_open_file},
    {"help", "question F1 <Control>question", true, false, "Window", "Keys and mouse", act_help},
    {"close", "<Control>w <Control>q", true, false, "Window", "Close", act_close},
    {"cancel", "", false, false, NULL, NULL, act_cancel},
};

static const char *const mouse_help[][2] = {
    {"Click", "Select; on a step's bar: go there"},
    {"Double click", "Zoom to it; on a rank: fold its rows"},
    {"Drag", "Mark a range"},
    {"Shift+drag, middle drag", "Move"},
    {"Wheel", "Rows; with Ctrl: zoom at the pointer; with Shift: earlier and later"},
};

static void
activated(GSimpleAction *action, GVariant *parameter, void *user)
{
    const char *name = g_action_get_name(G_ACTION(action));
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (g_str_equal(rows[i].name, name))
            rows[i].act(LS_WINDOW(user));
}

static const char *const mode_names[] = {"rank", "tensor", "overview"};

static void
mode_asked(GSimpleAction *action, GVariant *value, void *user)
{
    const char *name = g_variant_get_string(value, NULL);
    for (int i = 0; i < (int)G_N_ELEMENTS(mode_names); i++)
        if (g_str_equal(mode_names[i], name))
            ls_session_set_mode(ls_window_get_session(LS_WINDOW(user)), (LsViewMode)i);
}

static void
mode_changed(LsSession *session, GSimpleAction *action)
{
    LsViewMode mode = ls_session_get_mode(session);
    g_simple_action_set_state(action, g_variant_new_string(mode_names[mode]));
}

static void
theme_asked(GSimpleAction *action, GVariant *value, void *user)
{
    ls_appearance_choose(g_variant_get_string(value, NULL));
    g_simple_action_set_state(action, value);
}

static void
colour_asked(GSimpleAction *action, GVariant *value, void *user)
{
    static const char *const names[] = {"kind", "rank", "group"};
    for (int i = 0; i < (int)G_N_ELEMENTS(names); i++)
        if (g_str_equal(names[i], g_variant_get_string(value, NULL)))
            ls_session_colour_by(ls_window_get_session(LS_WINDOW(user)), (LsColourBy)i);
    g_simple_action_set_state(action, value);
}

static GSimpleAction *
add_choice(LsWindow *window, const char *name, const char *state, GCallback asked)
{
    GSimpleAction *action =
        g_simple_action_new_stateful(name, G_VARIANT_TYPE_STRING, g_variant_new_string(state));
    g_signal_connect(action, "change-state", asked, window);
    g_action_map_add_action(G_ACTION_MAP(window), G_ACTION(action));
    g_object_unref(action); /* the window keeps it */
    return action;
}

void
ls_window_actions_add(LsWindow *window)
{
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GSimpleAction) action = g_simple_action_new(rows[i].name, NULL);
        g_signal_connect(action, "activate", G_CALLBACK(activated), window);
        g_action_map_add_action(G_ACTION_MAP(window), G_ACTION(action));
    }
    GSimpleAction *mode = add_choice(window, "mode", "rank", G_CALLBACK(mode_asked));
    g_signal_connect_object(ls_window_get_session(window), "view", G_CALLBACK(mode_changed), mode,
                            0);
    add_choice(window, "theme", ls_appearance_get_choice(), G_CALLBACK(theme_asked));
    add_choice(window, "colour", "kind", G_CALLBACK(colour_asked));
}

static void
enable(LsWindow *window, const char *name, bool enabled)
{
    GAction *action = g_action_map_lookup_action(G_ACTION_MAP(window), name);
    g_simple_action_set_enabled(G_SIMPLE_ACTION(action), enabled);
}

void
ls_window_actions_enable(LsWindow *window, bool run)
{
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (rows[i].needs_run)
            enable(window, rows[i].name, run);
    enable(window, "mode", run);
    enable(window, "colour", run);
}

GMenuModel *
ls_window_actions_new_menu(void)
{
    GMenu *menu = g_menu_new();
    g_autoptr(GMenu) file = g_menu_new();
    g_menu_append(file, "Open a run's folder…", "win.open");
    g_menu_append(file, "Open a file…", "win.open-file");
    g_menu_append_section(menu, NULL, G_MENU_MODEL(file));

    g_autoptr(GMenu) colour = g_menu_new();
    g_menu_append(colour, "Colour by kind", "win.colour::kind");
    g_menu_append(colour, "Colour by rank", "win.colour::rank");
    g_menu_append(colour, "Colour by group", "win.colour::group");
    g_menu_append_section(menu, NULL, G_MENU_MODEL(colour));

    g_autoptr(GMenu) theme = g_menu_new();
    g_menu_append(theme, "As the desktop", "win.theme::system");
    g_menu_append(theme, "Light", "win.theme::light");
    g_menu_append(theme, "Dark", "win.theme::dark");
    g_menu_append_section(menu, NULL, G_MENU_MODEL(theme));

    g_autoptr(GMenu) help = g_menu_new();
    g_menu_append(help, "Inspector", "win.inspector");
    g_menu_append(help, "Keys and mouse", "win.help");
    g_menu_append_section(menu, NULL, G_MENU_MODEL(help));
    return G_MENU_MODEL(menu);
}

void
ls_window_actions_add_keys(GtkApplication *app)
{
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (!rows[i].global)
            continue;
        g_autofree char *action = g_strconcat("win.", rows[i].name, NULL);
        g_auto(GStrv) keys = g_strsplit(rows[i].keys, " ", -1);
        gtk_application_set_accels_for_action(app, action, (const char *const *)keys);
    }
}

GtkEventController *
ls_window_actions_new_shortcuts(void)
{
    GtkEventController *controller = gtk_shortcut_controller_new();
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (rows[i].global || rows[i].keys[0] == '\0')
            continue;
        g_autofree char *name = g_strconcat("win.", rows[i].name, NULL);
        g_auto(GStrv) keys = g_strsplit(rows[i].keys, " ", -1);
        for (char **key = keys; *key; key++) {
            GtkShortcutTrigger *trigger = gtk_shortcut_trigger_parse_string(*key);
            g_return_val_if_fail(trigger, controller);
            GtkShortcut *shortcut = gtk_shortcut_new(trigger, gtk_named_action_new(name));
            gtk_shortcut_controller_add_shortcut(GTK_SHORTCUT_CONTROLLER(controller), shortcut);
        }
    }
    return controller;
}

/* Keys that would vanish in a list of keys are written out. */
static char *
format_key(unsigned int key, GdkModifierType modifiers)
{
    if (key == GDK_KEY_comma)
        return g_strdup("comma");
    if (key == GDK_KEY_period)
        return g_strdup("full stop");
    return gtk_accelerator_get_label(key, modifiers);
}

static char *
format_keys(const char *keys)
{
    GString *text = g_string_new(NULL);
    g_auto(GStrv) names = g_strsplit(keys, " ", -1);
    for (char **name = names; *name; name++) {
        unsigned int key;
        GdkModifierType modifiers;
        if (g_str_has_prefix(*name, "KP_") || !gtk_accelerator_parse(*name, &key, &modifiers))
            continue;
        g_autofree char *label = format_key(key, modifiers);
        g_string_append_printf(text, "%s%s", text->len ? ",  " : "", label);
    }
    return g_string_free(text, FALSE);
}

static int
add_help_row(GtkGrid *grid, int row, const char *keys, const char *title)
{
    GtkWidget *left = gtk_label_new(keys);
    GtkWidget *right = gtk_label_new(title);
    gtk_label_set_xalign(GTK_LABEL(left), 0);
    gtk_label_set_xalign(GTK_LABEL(right), 0);
    gtk_widget_add_css_class(left, "help-key");
    gtk_grid_attach(grid, left, 0, row, 1, 1);
    gtk_grid_attach(grid, right, 1, row, 1, 1);
    return row + 1;
}

static int
add_help_head(GtkGrid *grid, int row, const char *group)
{
    GtkWidget *head = gtk_label_new(group);
    gtk_label_set_xalign(GTK_LABEL(head), 0);
    gtk_widget_add_css_class(head, "heading");
    gtk_widget_set_margin_top(head, row > 0 ? 10 : 0);
    gtk_grid_attach(grid, head, 0, row, 2, 1);
    return row + 1;
}

static GtkWidget *
new_help_grid(void)
{
    GtkGrid *grid = GTK_GRID(gtk_grid_new());
    const char *group = NULL;
    int row = 0;

    gtk_grid_set_column_spacing(grid, 28);
    gtk_grid_set_row_spacing(grid, 4);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (!rows[i].title)
            continue;
        if (group != rows[i].group)
            row = add_help_head(grid, row, rows[i].group);
        group = rows[i].group;
        g_autofree char *keys = format_keys(rows[i].keys);
        row = add_help_row(grid, row, keys, rows[i].title);
    }
    row = add_help_head(grid, row, "Mouse");
    for (size_t i = 0; i < G_N_ELEMENTS(mouse_help); i++)
        row = add_help_row(grid, row, mouse_help[i][0], mouse_help[i][1]);
    return GTK_WIDGET(grid);
}

static void
act_help(LsWindow *window)
{
    GtkWidget *help = gtk_window_new();
    GtkWidget *scroll = gtk_scrolled_window_new();
    gtk_window_set_title(GTK_WINDOW(help), "Keys and mouse");
    gtk_window_set_transient_for(GTK_WINDOW(help), GTK_WINDOW(window));
    gtk_window_set_default_size(GTK_WINDOW(help), HELP_WIDTH, -1);
    gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scroll), GTK_POLICY_NEVER,
                                   GTK_POLICY_AUTOMATIC);
    gtk_scrolled_window_set_propagate_natural_height(GTK_SCROLLED_WINDOW(scroll), TRUE);
    gtk_scrolled_window_set_max_content_height(GTK_SCROLLED_WINDOW(scroll), HELP_HEIGHT_MAX);
    GtkWidget *grid = new_help_grid();
    gtk_widget_add_css_class(grid, "help");
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scroll), grid);
    gtk_window_set_child(GTK_WINDOW(help), scroll);

    GtkEventController *keys = gtk_shortcut_controller_new();
    gtk_shortcut_controller_add_shortcut(
        GTK_SHORTCUT_CONTROLLER(keys), gtk_shortcut_new(gtk_shortcut_trigger_parse_string("Escape"),
                                                        gtk_named_action_new("window.close")));
    gtk_widget_add_controller(help, keys);
    gtk_window_present(GTK_WINDOW(help));
}
