/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/settings.c: reads the table of settings.def from environment and text.
 *
 * Numbers are decimal and go to int64 without a double, so that equal texts are equal values on
 * every rank.
 */
#include "reduce/settings.h"

#include "reduce/failure.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum LsSettingType {
    LS_SETTING_MS,
    LS_SETTING_S,
    LS_SETTING_BYTES,
    LS_SETTING_COUNT,
    LS_SETTING_TEXT,
    LS_SETTING_CHOICE,
} LsSettingType;

typedef struct LsSettingRow {
    const char *name;
    LsSettingType type;
    const char *initial;
    const char *choices;
    const char *alias;
    bool agree;
} LsSettingRow;

static const LsSettingRow rows[LS_N_SETTINGS] = {
#define LS_SETTING(SYMBOL, name, TYPE, initial, choices, alias, agree, help)                       \
    {name, LS_SETTING_##TYPE, initial, choices, alias, agree},
#include "reduce/settings.def"
#undef LS_SETTING
};

/* What a value of the type looks like, for sentences; the last and COUNT go on with the choices. */
static const char *const expected[] = {LS_SETTING_MS_TEXT,
                                       LS_SETTING_S_TEXT,
                                       LS_SETTING_BYTES_TEXT,
                                       "a whole number from",
                                       "a word of up to 255 characters",
                                       "one of"};

const char *
ls_setting_name(LsSettingId id)
{
    return rows[id].name;
}

/* Digits with at most one point, times unit; of the fraction nine digits count. */
static bool
parse_decimal(const char *text, const char *end, int64_t unit, int64_t *ret_value)
{
    int64_t whole = 0, fraction = 0, scale = 1;
    bool digits = false, point = false;
    for (; text < end; text++) {
        if (*text == '.' && !point) {
            point = true;
            continue;
        }
        if (!isdigit((unsigned char)*text))
            return false;
        digits = true;
        if (!point) {
            if (__builtin_mul_overflow(whole, 10, &whole) ||
                __builtin_add_overflow(whole, *text - '0', &whole))
                return false;
        } else if (scale < 1000000000) {
            fraction = fraction * 10 + (*text - '0');
            scale *= 10;
        }
    }
    return digits && !__builtin_mul_overflow(whole, unit, &whole) &&
           !__builtin_add_overflow(whole, fraction * unit / scale, ret_value);
}

static bool
parse_bytes(const char *text, int64_t *ret_value)
{
    static const char suffixes[] = "KMG";
    size_t length = strlen(text);
    const char *suffix =
        length > 0 ? strchr(suffixes, toupper((unsigned char)text[length - 1])) : NULL;
    if (suffix == NULL)
        return strchr(text, '.') == NULL && parse_decimal(text, text + length, 1, ret_value);
    int64_t unit = INT64_C(1) << (10 * (suffix - suffixes + 1));
    return parse_decimal(text, text + length - 1, unit, ret_value);
}

static bool
parse_choice(const char *text, const char *choices, int64_t *ret_value)
{
    size_t length = strlen(text);
    int64_t index = 0;
    for (const char *choice = choices; length > 0; choice++, index++) {
        size_t span = strcspn(choice, "|");
        if (span == length && memcmp(choice, text, span) == 0) {
            *ret_value = index;
            return true;
        }
        choice += span;
        if (*choice == '\0')
            break;
    }
    return false;
}

/* "0 to 1000" */
static bool
parse_count(const char *text, const char *range, int64_t *ret_value)
{
    char *end;
    int64_t least = strtoll(range, &end, 10), most = strtoll(end + strlen(" to "), NULL, 10);
    return strchr(text, '.') == NULL && parse_decimal(text, text + strlen(text), 1, ret_value) &&
           *ret_value >= least && *ret_value <= most;
}

/* source: where the value comes from, for the sentence. */
static lockstep_status
set(LsSettings *settings, LsSettingId id, const char *text, const char *source)
{
    const LsSettingRow *row = &rows[id];
    const char *end = text + strlen(text);
    int64_t value = 0;
    bool good = end - text < LS_SETTING_TEXT_MAX;
    if (good && row->type == LS_SETTING_MS)
        good = parse_decimal(text, end, 1000000, &value) && value <= LS_SETTING_MS_MAX * 1000000;
    else if (good && row->type == LS_SETTING_S)
        good =
            parse_decimal(text, end, 1000000000, &value) && value <= LS_SETTING_S_MAX * 1000000000;
    else if (good && row->type == LS_SETTING_BYTES)
        good = parse_bytes(text, &value) && value <= LS_SETTING_BYTES_MAX;
    else if (good && row->type == LS_SETTING_COUNT)
        good = parse_count(text, row->choices, &value);
    else if (good && row->type == LS_SETTING_CHOICE)
        good = parse_choice(text, row->choices, &value);
    if (!good)
        return ls_fail(LOCKSTEP_ERR_SETTINGS, "setting %s: '%.80s' from %s is not %s%s%s",
                       row->name, text, source, expected[row->type], row->choices[0] ? " " : "",
                       row->choices);
    settings->numbers[id] = value;
    snprintf(settings->texts[id], LS_SETTING_TEXT_MAX, "%s", text);
    return LOCKSTEP_OK;
}

static const char *
find_variable(const LsSettingRow *row, char *ret_name, size_t size)
{
    size_t length = (size_t)snprintf(ret_name, size, "LOCKSTEP_%s", row->name);
    for (size_t i = 0; i < length && i < size; i++)
        ret_name[i] = (char)toupper((unsigned char)ret_name[i]);
    const char *value = getenv(ret_name);
    if ((value == NULL || value[0] == '\0') && row->alias[0] != '\0') {
        snprintf(ret_name, size, "%s", row->alias);
        value = getenv(row->alias);
    }
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* One "name=value" of lockstep_options.settings. */
static lockstep_status
set_pair(LsSettings *settings, const char *pair, size_t length)
{
    char name[LS_SETTING_TEXT_MAX], value[2 * LS_SETTING_TEXT_MAX];
    const char *equal = memchr(pair, '=', length);
    if (equal == NULL)
        return ls_fail(LOCKSTEP_ERR_SETTINGS,
                       "setting '%.*s' has no value: name=value was expected",
                       (int)(length < 80 ? length : 80), pair);
    size_t value_length = length - (size_t)(equal + 1 - pair);
    snprintf(name, sizeof name, "%.*s", (int)(equal - pair), pair);
    snprintf(value, sizeof value, "%.*s", (int)value_length, equal + 1);
    for (int id = 0; id < LS_N_SETTINGS; id++) {
        if (strcmp(rows[id].name, name) == 0)
            return set(settings, (LsSettingId)id, value, "the options");
    }
    return ls_fail(LOCKSTEP_ERR_SETTINGS,
                   "there is no setting '%s' (reduce/settings.def lists them)", name);
}

lockstep_status
ls_settings_load(const char *text, LsSettings *ret_settings)
{
    LsSettings settings;
    memset(&settings, 0, sizeof settings);
    lockstep_status status = LOCKSTEP_OK;
    for (int id = 0; id < LS_N_SETTINGS && status == LOCKSTEP_OK; id++) {
        char name[LS_SETTING_TEXT_MAX];
        const char *value = find_variable(&rows[id], name, sizeof name);
        status = set(&settings, (LsSettingId)id, value != NULL ? value : rows[id].initial, name);
    }
    while (text != NULL && *text != '\0' && status == LOCKSTEP_OK) {
        size_t length = strcspn(text, ";");
        if (length > 0)
            status = set_pair(&settings, text, length);
        text += length + (text[length] == ';');
    }
    if (status == LOCKSTEP_OK)
        *ret_settings = settings;
    return status;
}

/* FNV-1a, 64 bits. */
static uint64_t
digest(uint64_t hash, const void *data, size_t length)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

uint64_t
ls_settings_digest(const LsSettings *settings)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int id = 0; id < LS_N_SETTINGS; id++) {
        char line[2 * LS_SETTING_TEXT_MAX];
        const char *text = rows[id].type == LS_SETTING_TEXT ? settings->texts[id] : "";
        if (!rows[id].agree)
            continue;
        int length = snprintf(line, sizeof line, "%s=%lld%s\n", rows[id].name,
                              (long long)settings->numbers[id], text);
        hash = digest(hash, line, (size_t)length);
    }
    return hash;
}

LsSettingId
ls_settings_differ(const LsSettings *a, const LsSettings *b)
{
    int id = 0;
    for (; id < LS_N_SETTINGS; id++) {
        if (!rows[id].agree)
            continue;
        if (a->numbers[id] != b->numbers[id])
            break;
        if (rows[id].type == LS_SETTING_TEXT && strcmp(a->texts[id], b->texts[id]) != 0)
            break;
    }
    return (LsSettingId)id;
}
