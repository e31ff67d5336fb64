/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/settings.h: the recorder's settings, one field per line of settings.def.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LS_SETTING_TEXT_MAX 1024

/* One row of a table of settings; the field it fills lies at `offset` of the table's struct. */
typedef enum LsSettingType {
    LS_SETTING_TEXT, /* char[LS_SETTING_TEXT_MAX] */
    LS_SETTING_BYTES,
    LS_SETTING_NUMBER,
} LsSettingType;

typedef struct LsSettingRow {
    const char *variable;
    LsSettingType type;
    size_t offset;
    const char *standard, *help;
} LsSettingRow;

typedef struct LsSettings {
#define LS_FIELD_TEXT(field)                              char field[LS_SETTING_TEXT_MAX];
#define LS_FIELD_BYTES(field)                             int64_t field;
#define LS_FIELD_NUMBER(field)                            int64_t field;
#define LS_SETTING(field, variable, type, standard, help) LS_FIELD_##type(field)
#include "capture/settings.def"
#undef LS_SETTING
#undef LS_FIELD_TEXT
#undef LS_FIELD_BYTES
#undef LS_FIELD_NUMBER
} LsSettings;

/* From the environment; what is not set or makes no sense takes its default. ret_bad names the
 * first variable that made no sense, or is NULL. Allocates nothing. */
void ls_settings_load(LsSettings *ret_settings, const char **ret_bad);

/* The same for another table (the tracer's). */
void ls_settings_load_rows(const LsSettingRow *rows, size_t n_rows, void *ret_fields,
                           const char **ret_bad);

/* Row `index` as text, for run.json and `lockstep settings`; false past the last row. */
typedef struct LsSettingText {
    const char *variable, *standard, *help;
    char value[LS_SETTING_TEXT_MAX];
} LsSettingText;
bool ls_settings_format(const LsSettings *settings, size_t index, LsSettingText *ret_text);

/* "12", "-3"; and "256M" with 1024-fold K, M, G. false: not a number, or too large. The C library's
 * own would bind a build to the C library it was built on. */
bool ls_parse_number(const char *text, int64_t *ret_number);
/* "A:B", "A:", ":B", A <= B, none below 0; what is left out is 0 and INT64_MAX. */
bool ls_parse_range(const char *text, int64_t *ret_first, int64_t *ret_last);
bool ls_parse_bytes(const char *text, int64_t *ret_bytes);
