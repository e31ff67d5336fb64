/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings table: parse and print. One row per line of settings.def; a row knows where its
 * field lies and which of three types it has.
 */
#include "capture/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const LsSettingRow rows[] = {
#define LS_SETTING(field, variable, type, standard, help)                                          \
    {variable, LS_SETTING_##type, offsetof(LsSettings, field), standard, help},
#include "capture/settings.def"
#undef LS_SETTING
};
#define N_ROWS (sizeof rows / sizeof rows[0])

bool
ls_parse_number(const char *text, int64_t *ret_number)
{
    bool negative = *text == '-';
    int64_t number = 0;
    const char *at = text + negative;
    if (*at == '\0')
        return false;
    for (; *at != '\0'; at++) {
        if (*at < '0' || *at > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *at - '0', &number))
            return false;
    }
    *ret_number = negative ? -number : number;
    return true;
}

bool
ls_parse_range(const char *text, int64_t *ret_first, int64_t *ret_last)
{
    char part[24];
    const char *colon = strchr(text, ':');
    size_t length = colon == NULL ? 0 : (size_t)(colon - text);
    if (colon == NULL || length >= sizeof part || (length == 0 && colon[1] == '\0'))
        return false;
    memcpy(part, text, length);
    part[length] = '\0';
    *ret_first = 0;
    *ret_last = INT64_MAX;
    if (length > 0 && !ls_parse_number(part, ret_first))
        return false;
    if (colon[1] != '\0' && !ls_parse_number(colon + 1, ret_last))
        return false;
    return *ret_first >= 0 && *ret_first <= *ret_last;
}

bool
ls_parse_bytes(const char *text, int64_t *ret_bytes)
{
    char digits[24];
    size_t length = strlen(text);
    int shift = 0;
    if (length == 0 || length >= sizeof digits)
        return false;
    switch (text[length - 1]) {
    case 'K':
    case 'k':
        shift = 10;
        break;
    case 'M':
    case 'm':
        shift = 20;
        break;
    case 'G':
    case 'g':
        shift = 30;
        break;
    default:
        break;
    }
    memcpy(digits, text, length + 1);
    if (shift > 0)
        digits[length - 1] = '\0';
    int64_t number;
    return ls_parse_number(digits, &number) && number >= 0 &&
           !__builtin_mul_overflow(number, INT64_C(1) << shift, ret_bytes);
}

static bool
row_set(const LsSettingRow *row, void *fields, const char *text)
{
    void *field = (char *)fields + row->offset;
    switch (row->type) {
    case LS_SETTING_TEXT:
        if (strlen(text) >= LS_SETTING_TEXT_MAX)
            return false;
        memcpy(field, text, strlen(text) + 1);
        return true;
    case LS_SETTING_BYTES:
        return ls_parse_bytes(text, field);
    case LS_SETTING_NUMBER:
        return ls_parse_number(text, field);
    }
    return false;
}

void
ls_settings_load_rows(const LsSettingRow *table, size_t n_rows, void *ret_fields,
                      const char **ret_bad)
{
    *ret_bad = NULL;
    for (size_t i = 0; i < n_rows; i++) {
        const char *text = secure_getenv(table[i].variable);
        row_set(&table[i], ret_fields, table[i].standard);
        if (text != NULL && text[0] != '\0' && !row_set(&table[i], ret_fields, text) &&
            *ret_bad == NULL)
            *ret_bad = table[i].variable;
    }
}

void
ls_settings_load(LsSettings *ret_settings, const char **ret_bad)
{
    ls_settings_load_rows(rows, N_ROWS, ret_settings, ret_bad);
}

bool
ls_settings_format(const LsSettings *settings, size_t index, LsSettingText *ret_text)
{
    if (index >= N_ROWS)
        return false;
    const LsSettingRow *row = &rows[index];
    const void *field = (const char *)settings + row->offset;
    ret_text->variable = row->variable;
    ret_text->standard = row->standard;
    ret_text->help = row->help;
    if (row->type == LS_SETTING_TEXT)
        snprintf(ret_text->value, sizeof ret_text->value, "%s", (const char *)field);
    else
        snprintf(ret_text->value, sizeof ret_text->value, "%lld",
                 (long long)*(const int64_t *)field);
    return true;
}
