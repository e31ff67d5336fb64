/* SPDX-License-Identifier: Apache-2.0
 *
 * cli/main.c: `lockstep COMMAND ...`: the table of commands, help and version. A new command is a
 * file cmd-NAME.c and a row here.
 */
#include "cli/commands.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

static const LsCmd *const commands[] = {
    &ls_cmd_record, &ls_cmd_view,  &ls_cmd_report,
#if LS_HAVE_DRAW
    &ls_cmd_render,
#endif
    &ls_cmd_info,   &ls_cmd_check, &ls_cmd_settings,
};

static void
print_help(FILE *out)
{
    fputs("Usage: lockstep COMMAND [options]\n\nCommands:\n", out);
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
        if (commands[i]->is_there == NULL || commands[i]->is_there())
            fprintf(out, "  %-10s%s\n", commands[i]->name, commands[i]->help);
    fputs("\nlockstep COMMAND --help tells the options of a command.\n", out);
}

/* Under its full name, which help and messages of the option parser show. */
static int
run_command(const LsCmd *command, int argc, char **argv)
{
    g_autofree char *name = g_strconcat("lockstep ", command->name, NULL);
    g_set_prgname(name);
    return command->run(argc, argv);
}

static const LsCmd *
find_command(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
        if (strcmp(name, commands[i]->name) == 0)
            return commands[i];
    fprintf(stderr, "lockstep: there is no command '%s'; `lockstep help` lists them.\n", name);
    return NULL;
}

/* `lockstep help [COMMAND]` */
static int
help(int argc, char **argv)
{
    if (argc < 3) {
        print_help(stdout);
        return LS_EXIT_DONE;
    }
    const LsCmd *command = find_command(argv[2]);
    char ask[] = "--help", *ask_argv[] = {argv[2], ask, NULL};
    return command ? run_command(command, 2, ask_argv) : LS_EXIT_USAGE;
}

/* Names of tensors and files are UTF-8 whatever the terminal says of itself (in a container often
 * nothing, which is ASCII): options hold them, and what GLib prints is not reduced to "?". */
static void
set_locale(void)
{
    setlocale(LC_ALL, "");
    if (!g_get_charset(NULL))
        setlocale(LC_CTYPE, "C.UTF-8");
}

int
main(int argc, char **argv)
{
    set_locale();
    if (argc < 2) {
        print_help(stderr);
        return LS_EXIT_USAGE;
    }
    if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
        strcmp(argv[1], "-h") == 0)
        return help(argc, argv);
    if (strcmp(argv[1], "--version") == 0) {
        puts("lockstep " LOCKSTEP_VERSION);
        return LS_EXIT_DONE;
    }
    const LsCmd *command = find_command(argv[1]);
    return command ? run_command(command, argc - 1, argv + 1) : LS_EXIT_USAGE;
}
