/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/record-options.h: the options of `lockstep record`, one field per line of
 * record-options.def.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LS_TAGS_MAX 1024

/* Each value as the text that its variable takes; NULL: not given. */
typedef struct LsRecordOptions {
#define LS_OPTION(field, name, shape, value, variable, help) const char *field;
#include "tracer/record-options.def"
#undef LS_OPTION
    char **command; /* ends with NULL; [0] NULL: none */
    bool wants_help, wants_version;
    char tags_text[LS_TAGS_MAX];
    char delay_text[24], duration_text[24];
} LsRecordOptions;

/* false: one sentence on standard error has said what is wrong. Borrows argv. */
bool ls_record_options_parse(LsRecordOptions *ret_options, int argc, char **argv);
void ls_record_options_print_help(void);

/* Row `index`: the variable ("" if none) and its value (NULL: not given); false past the last. */
bool ls_record_options_next(const LsRecordOptions *options, int index, const char **ret_variable,
                            const char **ret_value);
