/* SPDX-License-Identifier: Apache-2.0
 * samples/options.c: rows of a table as getopt's long options. */
#include "samples/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_ROWS_MAX 30

static bool
parse_number(const OptionRow *row, const char *text)
{
    char *end = NULL;
    double value;

    errno = 0;
    value = strtod(text, &end);
    if (errno != 0 || end == text || *end != '\0' || !(value >= -1 && value <= 1e12))
        return false;
    if (row->type == OPTION_INT)
        *(int *)row->into = (int)value;
    else if (row->type == OPTION_INT64)
        *(int64_t *)row->into = (int64_t)value;
    else
        *(double *)row->into = value;
    return row->type == OPTION_REAL || value == (double)(int64_t)value;
}

static bool
parse_value(const OptionRow *row, const char *text)
{
    switch (row->type) {
    case OPTION_TEXT:
        *(const char **)row->into = text;
        return true;
    case OPTION_FLAG:
        *(bool *)row->into = true;
        return true;
    case OPTION_INT:
    case OPTION_INT64:
    case OPTION_REAL:
        break;
    }
    return parse_number(row, text);
}

static void
print_help(const OptionProgram *program, const OptionRow *rows, size_t n)
{
    puts(program->usage);
    for (size_t i = 0; i < n; i++)
        printf("  --%-18s %s\n", rows[i].name, rows[i].help);
}

int
options_parse(int argc, char **argv, const OptionProgram *program, const OptionRow *rows, size_t n,
              int *ret_status)
{
    struct option longs[N_ROWS_MAX + 2] = {{0}};

    if (n > N_ROWS_MAX)
        abort(); /* a longer table needs a larger array */
    for (size_t i = 0; i < n; i++)
        longs[i] = (struct option){
            rows[i].name, rows[i].type == OPTION_FLAG ? no_argument : required_argument, NULL, 'x'};
    longs[n] = (struct option){"help", no_argument, NULL, 'h'};
    *ret_status = 2;
    for (;;) {
        int index = 0, code = getopt_long(argc, argv, "h", longs, &index);
        if (code == -1)
            break;
        if (code == 'h') {
            print_help(program, rows, n);
            *ret_status = 0;
            return 1;
        }
        if (code == '?')
            return 1;
        if (!parse_value(&rows[index], optarg)) {
            fprintf(stderr, "%s: --%s: \"%s\" is not what it takes, see --help\n", program->name,
                    rows[index].name, optarg);
            return 1;
        }
    }
    if (optind != argc) {
        fprintf(stderr, "%s: \"%s\": takes options only, see --help\n", program->name,
                argv[optind]);
        return 1;
    }
    *ret_status = 0;
    return 0;
}
