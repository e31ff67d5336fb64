/* SPDX-License-Identifier: Apache-2.0
 * cli/cmd.h: a command: one row of the table in main.c, one file cmd-NAME.c. */
#pragma once

#include <glib.h>

#include <stdbool.h>

/* Exit statuses (design 9). */
enum {
    LS_EXIT_DONE = 0,
    LS_EXIT_GATE = 1,       /* a failed gate */
    LS_EXIT_USAGE = 2,
    LS_EXIT_UNREADABLE = 3,
};

typedef struct LsCmd {
    const char *name;
    const char *help; /* one line, lower case, no full stop */
    /* argv[0] is the command's name; options are parsed by the command with GOptionContext. */
    int (*run)(int argc, char **argv);
    bool (*is_there)(void); /* NULL: always; help lists only what is */
} LsCmd;
