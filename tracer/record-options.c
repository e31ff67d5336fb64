/* SPDX-License-Identifier: Apache-2.0
 *
 * A table of options, each of a shape that checks its value. Words before `--`, or before the first
 * that is no option, are ours; the rest is the command and is not looked at.
 */
#include "tracer/record-options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "capture/settings.h"
#include "tracer/record-sync-place.h"

typedef enum Shape {
    FLAG,
    TEXT,
    NUMBER,
    BYTES,
    SECONDS,
    STEPS,
    RANGE,
    PLACE,
    TAG,
    HERTZ,
    HOROVOD
} Shape;

typedef struct Row {
    const char *name;
    Shape shape;
    size_t offset;
    const char *value, *variable, *help;
} Row;

static const Row rows[] = {
#define LS_OPTION(field, name, shape, value, variable, help)                                       \
    {name, shape, offsetof(LsRecordOptions, field), value, variable, help},
#include "tracer/record-options.def"
#undef LS_OPTION
};
#define N_ROWS ((int)(sizeof rows / sizeof rows[0]))

static const char **
field_of(LsRecordOptions *options, const Row *row)
{
    return (const char **)((char *)options + row->offset);
}

static bool
complain(const Row *row, const char *text, const char *expected)
{
    fprintf(stderr, "lockstep record: --%s%s%s: expected %s.\n", row->name,
            text[0] == '\0' ? "" : " ", text, expected);
    return false;
}

/* -- Shapes -- */

/* "90", "1.5", "200ms", "5m", "2h" into ms. */
static bool
parse_time(const char *text, int64_t *ret_ms)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"", 1000}, {"s", 1000}, {"ms", 1}, {"m", 60000}, {"h", 3600000}};
    char digits[16], decimals[4] = "000";
    size_t whole = strspn(text, "0123456789"), part = 0;
    int64_t number, thousandths;
    if (whole == 0 || whole >= sizeof digits)
        return false;
    memcpy(digits, text, whole);
    digits[whole] = '\0';
    const char *unit = text + whole;
    if (*unit == '.') {
        part = strspn(unit + 1, "0123456789");
        memcpy(decimals, unit + 1, part < 3 ? part : 3);
        unit += 1 + part;
    }
    if (!ls_parse_number(digits, &number) || !ls_parse_number(decimals, &thousandths))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(unit, units[i].unit) != 0)
            continue;
        if (__builtin_mul_overflow(number, units[i].ms, ret_ms))
            return false;
        *ret_ms += thousandths * units[i].ms / 1000;
        return true;
    }
    return false;
}

static bool
take_time(LsRecordOptions *options, const Row *row, const char *text)
{
    bool is_delay = row->offset == offsetof(LsRecordOptions, delay);
    char *room = is_delay ? options->delay_text : options->duration_text;
    int64_t ms;
    if (!parse_time(text, &ms))
        return complain(row, text, "a time such as 90, 1.5, 200ms or 5m");
    snprintf(room, sizeof options->delay_text, "%lld", (long long)ms);
    *field_of(options, row) = room;
    return true;
}

static bool
take_tag(LsRecordOptions *options, const Row *row, const char *text)
{
    size_t used = strlen(options->tags_text), length = strlen(text);
    if (strchr(text, '=') == NULL || text[0] == '=' || strchr(text, ',') != NULL)
        return complain(row, text, "KEY=VALUE without a comma");
    if (used + length + 2 > sizeof options->tags_text)
        return complain(row, text, "tags of less than 1,000 bytes together");
    snprintf(options->tags_text + used, sizeof options->tags_text - used, "%s%s",
             used > 0 ? "," : "", text);
    options->tags = options->tags_text;
    return true;
}

static bool
take_optional(LsRecordOptions *options, const Row *row, const char *text)
{
    int64_t hertz;
    if (row->shape == HOROVOD) {
        if (text != NULL && strcmp(text, "ranges") != 0)
            return complain(row, text, "nothing or =ranges");
        *field_of(options, row) = text == NULL ? "1" : "2";
        return true;
    }
    if (text != NULL && (!ls_parse_number(text, &hertz) || hertz < 1 || hertz > 50))
        return complain(row, text, "1 to 50 samples a second");
    *field_of(options, row) = text == NULL ? "10" : text;
    return true;
}

static bool
take_value(LsRecordOptions *options, const Row *row, const char *text)
{
    int64_t first, last;
    char host[LS_AREA_NAME_MAX], port[8];
    *field_of(options, row) = text;
    switch (row->shape) {
    case NUMBER:
        return (ls_parse_number(text, &first) && first >= 0) ||
               complain(row, text, "a whole number");
    case BYTES:
        return (ls_parse_bytes(text, &first) && first > 0) ||
               complain(row, text, "a size such as 64M or 1G");
    case STEPS:
        return ls_parse_range(text, &first, &last) ||
               complain(row, text, "A:B, A: or :B with whole numbers");
    case RANGE:
        if (strncmp(text, "nvtx:", 5) != 0 || text[5] == '\0')
            return complain(row, text, "nvtx:NAME");
        *field_of(options, row) = text + 5;
        return true;
    case PLACE:
        return ls_sync_place_split(text, host, port) ||
               complain(row, text, "HOST:PORT or [ADDRESS]:PORT");
    case SECONDS:
        return take_time(options, row, text);
    case TAG:
        return take_tag(options, row, text);
    default:
        return text[0] != '\0' || complain(row, text, "a text");
    }
}

/* -- Words -- */

static const Row *
find_row(const char *name, size_t length)
{
    for (int i = 0; i < N_ROWS; i++) {
        if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0)
            return &rows[i];
    }
    return NULL;
}

/* argv[*at] is an option; takes it, and the word behind it where that is its value. */
static bool
take_word(LsRecordOptions *options, char **argv, int *at)
{
    const char *word = argv[*at], *value = NULL;
    const Row *row;
    if (strncmp(word, "-o", 2) == 0) {
        row = find_row("output", 6);
        value = word[2] == '\0' ? NULL : word + 2;
    } else {
        size_t length = strcspn(word + 2, "=");
        row = word[1] == '-' ? find_row(word + 2, length) : NULL;
        value = row != NULL && word[2 + length] == '=' ? word + 2 + length + 1 : NULL;
    }
    if (row == NULL) {
        fprintf(stderr, "lockstep record: %s is no option; --help lists them.\n", word);
        return false;
    }
    if (row->shape == HERTZ || row->shape == HOROVOD)
        return take_optional(options, row, value);
    if (row->shape == FLAG) {
        *field_of(options, row) = "1";
        return value == NULL || complain(row, value, "no value");
    }
    if (value == NULL && (value = argv[*at + 1]) != NULL)
        ++*at;
    return value == NULL ? complain(row, "", row->value) : take_value(options, row, value);
}

/* Above 0 and below what the blocks of a bounded file need (src/capture/recorder.c). */
static bool
is_too_small(const char *bytes)
{
    int64_t size = 0;
    return bytes != NULL && ls_parse_bytes(bytes, &size) && size > 0 && size < (4 << 20);
}

/* What makes no sense, alone or together. */
static bool
check(const LsRecordOptions *options)
{
    const char *wrong = NULL;
    int64_t rank, world;
    LsSyncPlace place;
    char host[LS_AREA_NAME_MAX], port[8];
    if (options->trigger != NULL && options->flight == NULL)
        wrong = "--trigger-ms belongs to --flight-recorder SIZE";
    else if (options->flight != NULL && options->max_size != NULL)
        wrong = "--flight-recorder says itself how large a file may be, leave --max-size out";
    else if (is_too_small(options->flight))
        wrong = "--flight-recorder takes 4M or more";
    else if (is_too_small(options->max_size))
        wrong = "--max-size takes 4M or more, or 0 for no bound";
    else if (options->as_rank != NULL && options->world != NULL &&
             ls_parse_number(options->as_rank, &rank) && ls_parse_number(options->world, &world) &&
             rank >= world)
        wrong = "--as-rank counts from 0 and must be below --world";
    else if (options->world != NULL && ls_parse_number(options->world, &world) && world < 1)
        wrong = "--world takes 1 or more";
    else if (options->sync != NULL && options->no_sync != NULL)
        wrong = "--sync and --no-sync contradict each other";
    else if (options->sync != NULL && options->sync_public == NULL &&
             ls_sync_place_split(options->sync, host, port) &&
             ls_sync_place_parse(&place, host, port) && !ls_sync_place_is_private(&place))
        wrong = "--sync: the address is neither loopback nor private; --sync-public allows it";
    if (wrong != NULL)
        fprintf(stderr, "lockstep record: %s.\n", wrong);
    return wrong == NULL;
}

bool
ls_record_options_parse(LsRecordOptions *ret_options, int argc, char **argv)
{
    int at = 1;
    memset(ret_options, 0, sizeof *ret_options);
    for (; at < argc && argv[at][0] == '-' && argv[at][1] != '\0'; at++) {
        if (strcmp(argv[at], "--") == 0) {
            at++;
            break;
        }
        if (strcmp(argv[at], "--help") == 0 || strcmp(argv[at], "-h") == 0)
            ret_options->wants_help = true;
        else if (strcmp(argv[at], "--version") == 0)
            ret_options->wants_version = true;
        else if (!take_word(ret_options, argv, &at))
            return false;
    }
    ret_options->command = argv + at;
    return check(ret_options);
}

bool
ls_record_options_next(const LsRecordOptions *options, int index, const char **ret_variable,
                       const char **ret_value)
{
    if (index < 0 || index >= N_ROWS)
        return false;
    *ret_variable = rows[index].variable;
    *ret_value = *(const char *const *)((const char *)options + rows[index].offset);
    return true;
}

void
ls_record_options_print_help(void)
{
    puts(
        "Usage: lockstep record [options] -- COMMAND [arguments]\n"
        "       lockstep record --dump RUN\n"
        "       lockstep-record pack RUN -o FILE [--step A:B] [--rank LIST]\n\n"
        "Runs COMMAND as it would run alone, and records it into a run folder. Behind a launcher:\n"
        "mpirun -np 4 lockstep record -o RUN -- ./train\n\nOptions:");
    for (int i = 0; i < N_ROWS; i++) {
        bool is_optional = rows[i].shape == HERTZ || rows[i].shape == HOROVOD;
        char left[64];
        snprintf(left, sizeof left, "%s--%s%s%s%s", i == 0 ? "-o, " : "", rows[i].name,
                 is_optional           ? "[="
                 : *rows[i].value != 0 ? " "
                                       : "",
                 rows[i].value, is_optional ? "]" : "");
        printf("  %-26s %s\n", left, rows[i].help);
    }
    puts("\nWithout --kernels, --nccl, --nvtx, --power, --mpi and --horovod all that needs no "
         "preload is\n"
         "recorded; with any of them, these. The exit status is COMMAND's.");
}
