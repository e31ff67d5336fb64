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
    &ls_cmd_report,
};

static void
print_help(FILE *out)
{
    fputs("Usage: lockstep COMMAND [options]\n\nCommands:\n", out);
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
        fprintf(out, "  %-10s%s\n", commands[i]->name, commands[i]->help);
    fputs("\nlockstep COMMAND --help tells the options of a command.\n", out);
}

int
main(int argc, char **argv)
{
    setlocale(LC_ALL, "");
    if (argc < 2) {
        print_help(stderr);
        return LS_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return LS_EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("lockstep " LOCKSTEP_VERSION);
        return LS_EXIT_DONE;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++)
        if (strcmp(argv[1], commands[i]->name) == 0)
            return commands[i]->run(argc - 1, argv + 1);
    fprintf(stderr, "lockstep: there is no command '%s'.\n\n", argv[1]);
    print_help(stderr);
    return LS_EXIT_USAGE;
}
