/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/options.h: options as a table: one row says an option's name, what it takes, where that
 * goes, and its line of help. The same rows parse and explain.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum OptionType {
    OPTION_INT,
    OPTION_INT64,
    OPTION_REAL,
    OPTION_TEXT,
    OPTION_FLAG, /* a bool; takes nothing */
} OptionType;

typedef struct OptionRow {
    const char *name;
    OptionType type;
    void *into;
    const char *help;
} OptionRow;

typedef struct OptionProgram {
    const char *name;  /* begins each complaint */
    const char *usage; /* printed above the rows */
} OptionProgram;

/* 0: parsed. Else 1, the exit status is *ret_status, and all is said. */
int options_parse(int argc, char **argv, const OptionProgram *program, const OptionRow *rows,
                  size_t n, int *ret_status);
