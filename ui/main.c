/* SPDX-License-Identifier: Apache-2.0
 *
 * lockstep-view: the application. `lockstep view` executes it. Options and paths, then one window.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <gtk/gtk.h>

#include "base/terminal.h"
#include "base/units.h"
#include "ui/appearance.h"
#include "ui/window-actions.h"
#include "ui/window.h"

/* Those of design 9; 1 is a gate's alone. */
enum { EXIT_DONE = 0, EXIT_USAGE = 2, EXIT_UNREADABLE = 3 };

typedef struct LsViewOptions {
    char *theme, *mode, *at;
    char **paths;
    int mode_index;
    int64_t at_ns;
    gboolean version, help;
} LsViewOptions;

static void
theme_changed(const LsTheme *theme, void *user)
{
    ls_session_set_theme(ls_window_get_session(LS_WINDOW(user)), theme);
}

static void
activate(GtkApplication *app, LsViewOptions *options)
{
    ls_appearance_start(options->theme ? options->theme : "system");
    ls_window_actions_add_keys(app);
    GtkWidget *window = ls_window_new(app);
    ls_session_set_theme(ls_window_get_session(LS_WINDOW(window)), ls_appearance_get_theme());
    ls_appearance_listen(theme_changed, window);
    ls_window_set_start(LS_WINDOW(window), options->mode_index, options->at_ns);
    if (options->paths && options->paths[0])
        ls_window_open(LS_WINDOW(window), (const char *const *)options->paths,
                       g_strv_length(options->paths));
    gtk_window_present(GTK_WINDOW(window));
}

static bool
is_one_of(const char *value, const char *const *choices, int *ret_index)
{
    for (int i = 0; choices[i]; i++) {
        if (g_str_equal(choices[i], value)) {
            *ret_index = i;
            return true;
        }
    }
    return false;
}

static int
check_options(LsViewOptions *options)
{
    static const char *const themes[] = {"system", "light", "dark", NULL};
    static const char *const modes[] = {"rank", "tensor", "overview", NULL};
    int index;

    options->mode_index = -1;
    options->at_ns = -1;
    if (options->theme && !is_one_of(options->theme, themes, &index)) {
        fprintf(stderr, "lockstep view: --theme is system, light or dark, not \"%s\".\n",
                options->theme);
        return EXIT_USAGE;
    }
    if (options->mode && !is_one_of(options->mode, modes, &options->mode_index)) {
        fprintf(stderr, "lockstep view: --mode is rank, tensor or overview, not \"%s\".\n",
                options->mode);
        return EXIT_USAGE;
    }
    if (options->at && (!ls_parse_time(options->at, &options->at_ns) || options->at_ns < 0)) {
        fprintf(stderr, "lockstep view: --at is a time such as 1.5s or 300ms, not \"%s\".\n",
                options->at);
        return EXIT_USAGE;
    }
    for (char **path = options->paths; path && *path; path++) {
        if (!g_file_test(*path, G_FILE_TEST_EXISTS)) {
            fprintf(stderr, "lockstep view: %s: %s.\n", *path, g_strerror(errno ? errno : ENOENT));
            return EXIT_UNREADABLE;
        }
    }
    return EXIT_DONE;
}

static int
run_application(LsViewOptions *options)
{
    if (!gtk_init_check()) {
        fprintf(stderr, "lockstep view: There is no display to open a window on; lockstep render "
                        "makes the same picture without one.\n");
        return EXIT_USAGE;
    }
    g_autoptr(GtkApplication) app =
        gtk_application_new("io.github.lockstep.View", G_APPLICATION_NON_UNIQUE);
    g_signal_connect(app, "activate", G_CALLBACK(activate), options);
    return g_application_run(G_APPLICATION(app), 0, NULL);
}

static void
print_help(GOptionContext *context)
{
    g_set_prgname("lockstep view");
    g_autofree char *text = ls_terminal_format_help(context);
    fputs(text, stdout);
}

int
main(int argc, char **argv)
{
    LsViewOptions options = {0};
    const GOptionEntry entries[] = {
        {"theme", 0, 0, G_OPTION_ARG_STRING, &options.theme, "system, light or dark", "THEME"},
        {"mode", 0, 0, G_OPTION_ARG_STRING, &options.mode, "rank, tensor or overview", "MODE"},
        {"at", 0, 0, G_OPTION_ARG_STRING, &options.at, "open at this time of the recording",
         "TIME"},
        {"version", 0, 0, G_OPTION_ARG_NONE, &options.version, "print the version", NULL},
        {"help", 'h', 0, G_OPTION_ARG_NONE, &options.help, "show this", NULL},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &options.paths, NULL, NULL},
        {0},
    };
    g_autoptr(GError) error = NULL;
    g_autoptr(GOptionContext) context = g_option_context_new("[RUN...]");
    g_option_context_set_summary(context, "Opens a window on a run.");
    g_option_context_set_help_enabled(context, FALSE);
    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        fprintf(stderr, "lockstep view: %s; lockstep view --help tells the options.\n",
                error->message);
        return EXIT_USAGE;
    }
    if (options.help) {
        print_help(context);
        return EXIT_DONE;
    }
    if (options.version) {
        puts("lockstep-view " LOCKSTEP_VERSION);
        return EXIT_DONE;
    }
    int status = check_options(&options);
    if (status == EXIT_DONE)
        status = run_application(&options);
    g_free(options.theme);
    g_free(options.mode);
    g_free(options.at);
    g_strfreev(options.paths);
    return status;
}
