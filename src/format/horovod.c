/* SPDX-License-Identifier: Apache-2.0
 *
 * format/horovod.c: a Horovod timeline, event by event (facts: A). pid is a tensor, not a process;
 * one process (rank 0) writes the file, the others are known by their ticks. Times are
 * microseconds, since the timeline began where the file has a header (which also says that moment's
 * wall clock), else of the machine's monotonic clock or of an older version's start; durations are
 * right in all.
 */
#include "format/horovod.h"

#include "base/error.h"
#include "base/units.h"
#include "format/horovod-private.h"
#include "format/json-pull.h"

#include <string.h>

#define UPTIME_US      INT64_C(1000000000) /* a first time beyond is no time since a start (A8.1) */
#define TICK_RANKS_MAX 65536u
#define FAULTS_MAX     50
#define HEAD_MAX       (64u << 10) /* as format.c looks at */

static Row *
get_row(Horovod *horovod, int64_t pid)
{
    Row *row = g_hash_table_lookup(horovod->rows, &pid);
    if (row)
        return row;
    g_autofree char *name = g_strdup_printf("pid %" G_GINT64_FORMAT, pid);
    row = g_new0(Row, 1);
    row->name = ls_strings_add(horovod->process->strings, name);
    row->stack = g_array_new(FALSE, TRUE, sizeof(OpenSpan));
    row->ticks = g_array_new(FALSE, TRUE, sizeof(TickUse));
    row->seen = g_array_new(FALSE, TRUE, sizeof(uint32_t));
    row->use = row->running = LS_NONE;
    g_hash_table_insert(horovod->rows, g_memdup2(&pid, sizeof pid), row);
    g_ptr_array_add(horovod->in_order, row);
    return row;
}

LsTrackBuilder *
ls_horovod_row_track(Horovod *horovod, Row *row)
{
    if (!row->track)
        row->track = ls_process_get_track(horovod->process, LS_TRACK_TENSOR,
                                          ls_strings_get(horovod->process->strings, row->name),
                                          "tensor", -1);
    return row->track;
}

static const char *
get_text(json_object *object, const char *key)
{
    json_object *value;
    return json_object_object_get_ex(object, key, &value) &&
                   json_object_is_type(value, json_type_string)
               ? json_object_get_string(value)
               : NULL;
}

/* A time in microseconds, whole or not, to ns; false if it is none that can be. */
static bool
get_time(json_object *event, int64_t *ret_ns)
{
    json_object *value;
    if (!json_object_object_get_ex(event, "ts", &value))
        return false;
    if (json_object_is_type(value, json_type_int)) {
        int64_t us = json_object_get_int64(value);
        *ret_ns = us * (us < LS_TIME_MAX / 1000 && us > -LS_TIME_MAX / 1000 ? 1000 : 0);
        return us == 0 || *ret_ns != 0;
    }
    const char *text = json_object_get_string(value); /* of a double: as it was written */
    return text && ls_parse_us(text, strlen(text), ret_ns) && *ret_ns > -LS_TIME_MAX &&
           *ret_ns < LS_TIME_MAX;
}

static bool
get_number(json_object *event, const char *key, int64_t *ret_value)
{
    json_object *value;
    if (!json_object_object_get_ex(event, key, &value) ||
        !json_object_is_type(value, json_type_int))
        return false;
    *ret_value = json_object_get_int64(value);
    return true;
}

/* process_name names the tensor of a pid; on pid 0 of newer files it holds the wall clock of time
 * 0. */
static void
add_metadata(Horovod *horovod, json_object *event)
{
    json_object *args;
    int64_t pid, wall_us;
    const char *kind = get_text(event, "name");
    if (!kind || strcmp(kind, "process_name") != 0 || !get_number(event, "pid", &pid) ||
        !json_object_object_get_ex(event, "args", &args))
        return;
    if (get_number(args, "start_time_since_epoch_in_micros", &wall_us)) {
        LsClockPair pair = {.local_ns = 0, .wall_ns = wall_us, .uncertainty_ns = 1000};
        horovod->header = true;
        if (!__builtin_mul_overflow(wall_us, 1000, &pair.wall_ns) && pair.wall_ns <= LS_TIME_MAX &&
            pair.wall_ns >= -LS_TIME_MAX)
            g_array_append_val(horovod->process->clock_pairs, pair);
        return;
    }
    const char *name = get_text(args, "name");
    Row *row = name ? get_row(horovod, pid) : NULL;
    if (!row || row->named)
        return; /* a pid is one tensor for the length of a file */
    row->name = ls_strings_add(horovod->process->strings, name);
    row->named = true;
    if (row->track)
        ls_process_rename_track(horovod->process, row->track, name);
}

static void
add_cycle(Horovod *horovod, const char *name, int64_t time_ns)
{
    LsInstant instant = {.name = ls_strings_add(horovod->process->strings, name),
                         .kind = LS_INSTANT_MARK,
                         .time_ns = time_ns};
    if (strcmp(name, "CYCLE_START") == 0) {
        instant.kind = LS_INSTANT_CYCLE;
        instant.value = (int64_t)horovod->cycles++;
    }
    g_array_append_val(horovod->process->instants, instant);
}

/* X: a rank's tick where the name is a number (SageMaker gives ticks a length: it means nothing),
 * else a span. */
static void
add_complete(Horovod *horovod, Row *row, const char *name, json_object *event, int64_t time_ns)
{
    char *end;
    uint64_t rank = g_ascii_strtoull(name, &end, 10);
    if (g_ascii_isdigit(name[0]) && *end == 0) {
        if (rank < TICK_RANKS_MAX) {
            ls_row_tick(horovod, row, (uint32_t)rank, time_ns);
            horovod->highest_tick = MAX(horovod->highest_tick, (int64_t)rank);
        } else
            horovod->unplaced++;
        return;
    }
    int64_t length_us = 0;
    get_number(event, "dur", &length_us);
    length_us = CLAMP(length_us, 0, (LS_TIME_MAX - time_ns) / 1000);
    ls_track_builder_add(ls_horovod_row_track(horovod, row), time_ns, time_ns + length_us * 1000,
                         ls_strings_add(horovod->process->strings, name), LS_NONE);
}

static void
add_placed(Horovod *horovod, json_object *event, char phase, int64_t time_ns)
{
    int64_t pid, tid = -1;
    const char *name = get_text(event, "name");
    if (!get_number(event, "pid", &pid) || (phase != 'E' && !name)) {
        horovod->unplaced++;
        return;
    }
    get_number(event, "tid", &tid);
    Row *row = get_row(horovod, pid);
    json_object *args = NULL;
    if (phase == 'B')
        ls_row_begin(horovod, row, name, time_ns, tid);
    else if (phase == 'X')
        add_complete(horovod, row, name, event, time_ns);
    else {
        json_object_object_get_ex(event, "args", &args);
        ls_row_end(horovod, row, name, time_ns, tid, args ? get_text(args, "dtype") : NULL,
                   args ? get_text(args, "shape") : NULL);
    }
}

static void
add_event(Horovod *horovod, json_object *event)
{
    const char *phase = get_text(event, "ph"), *name = get_text(event, "name");
    int64_t time_ns;
    horovod->records++;
    if (!phase || !phase[0]) {
        horovod->unplaced++;
        return;
    }
    if (phase[0] == 'M') {
        add_metadata(horovod, event);
        return;
    }
    if (!get_time(event, &time_ns)) {
        horovod->unplaced++;
        return;
    }
    LsRank *rank = &horovod->process->rank;
    rank->first_ns = rank->first_ns == LS_TIME_NONE ? time_ns : MIN(rank->first_ns, time_ns);
    horovod->last_ns = MAX(horovod->last_ns, time_ns);
    if (phase[0] == 'i' || phase[0] == 'I')
        add_cycle(horovod, name ? name : "", time_ns);
    else if (phase[0] == 'B' || phase[0] == 'E' || phase[0] == 'X')
        add_placed(horovod, event, phase[0], time_ns);
    else
        horovod->unplaced++;
}

static void
add_fault(void *user, int64_t offset, const char *text)
{
    Horovod *horovod = user;
    horovod->process->rank.damaged++;
    if (++horovod->faults <= FAULTS_MAX)
        ls_process_add_finding(horovod->process, LS_WARNING, offset, "%s", text);
}

static void
add_fact(Horovod *horovod, const char *key, uint64_t value)
{
    g_hash_table_insert(horovod->process->facts, g_strdup(key),
                        g_strdup_printf("%" G_GUINT64_FORMAT, value));
}

static void
report(Horovod *horovod, uint64_t n_open)
{
    LsProcess *process = horovod->process;
    if (horovod->faults > FAULTS_MAX)
        ls_process_add_finding(process, LS_WARNING, -1,
                               "%" G_GUINT64_FORMAT " more places are damaged.",
                               horovod->faults - FAULTS_MAX);
    if (horovod->unplaced > 0)
        ls_process_add_finding(
            process, LS_WARNING, -1,
            "%" G_GUINT64_FORMAT
            " events lack a time, a pid or a name, or are of no known kind; they are left out.",
            horovod->unplaced);
    if (horovod->unordered > 0)
        ls_process_add_finding(process, LS_WARNING, -1,
                               "%" G_GUINT64_FORMAT
                               " spans end before they begin; they are drawn without length.",
                               horovod->unordered);
    if (horovod->lone_ends > 0)
        ls_process_add_finding(
            process, LS_NOTE, -1,
            "%" G_GUINT64_FORMAT " %s no begin: the recording began, or was restarted, inside.",
            horovod->lone_ends, horovod->lone_ends == 1 ? "end has" : "ends have");
    if (n_open > 0)
        ls_process_add_finding(process, LS_NOTE, -1,
                               "%" G_GUINT64_FORMAT " span%s open: the recording ended inside.",
                               n_open, n_open == 1 ? " is" : "s are");
    if (horovod->negotiations > 0 && horovod->highest_tick < 0)
        ls_process_add_finding(
            process, LS_NOTE, -1,
            "No rank's readiness is in this file: Horovod's response cache writes none.");
}

static void
close_rows(Horovod *horovod)
{
    uint64_t n_open = 0;
    for (size_t i = 0; i < horovod->in_order->len; i++) {
        Row *row = g_ptr_array_index(horovod->in_order, i);
        n_open += row->stack->len;
        ls_row_close(horovod, row);
    }
    report(horovod, n_open);
}

static void
free_row(gpointer row)
{
    ls_row_free(row);
}

static void
horovod_init(Horovod *horovod, const char *source)
{
    *horovod =
        (Horovod){.process = ls_process_new(LS_SOURCE_HOROVOD),
                  .rows = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, free_row),
                  .in_order = g_ptr_array_new(),
                  .counts = g_hash_table_new(NULL, NULL),
                  .ranks = g_hash_table_new(NULL, NULL),
                  .others = g_ptr_array_new(),
                  .batches = g_ptr_array_new(),
                  .last_ns = INT64_MIN,
                  .highest_tick = -1};
    horovod->process->rank.source = g_strdup(source);
    horovod->process->rank.format = "horovod";
}

/* The writer is rank 0, where the file is Horovod's own; descendants write one per rank and do not
 * say which. */
static void
settle_ranks(Horovod *horovod)
{
    LsProcess *process = horovod->process;
    if (horovod->header || horovod->cycles > 0 || horovod->negotiations > 0 || horovod->ticks > 0)
        process->rank.rank = 0;
    for (size_t i = 0; i < process->findings->len; i++)
        g_array_index(process->findings, LsFinding, i).rank = process->rank.rank;
    process->rank.records = horovod->records;
    process->rank.last_ns = horovod->last_ns == INT64_MIN ? LS_TIME_NONE : horovod->last_ns;
    int32_t world = horovod->highest_tick >= 0 ? (int32_t)horovod->highest_tick + 1 : -1;
    process->rank.world = world;
    for (size_t i = 0; i < horovod->others->len; i++)
        ((LsProcess *)g_ptr_array_index(horovod->others, i))->rank.world = world;
    bool uptime = !horovod->header && process->rank.first_ns / 1000 > UPTIME_US;
    g_hash_table_insert(process->facts, g_strdup("timeline.clock"),
                        g_strdup(horovod->header ? "since the timeline began, wall clock known"
                                 : uptime        ? "monotonic clock of the host"
                                                 : "since the timeline began"));
    add_fact(horovod, "timeline.ticks", horovod->ticks);
    add_fact(horovod, "timeline.negotiations", horovod->negotiations);
}

/* Hands the processes over, or frees them. */
static void
horovod_finish(Horovod *horovod, bool keep, GPtrArray *ret_processes)
{
    if (keep && (horovod->records > 0 || horovod->faults > 0))
        g_ptr_array_add(ret_processes, horovod->process);
    else
        ls_process_free(horovod->process);
    for (size_t i = 0; i < horovod->others->len; i++) {
        if (keep)
            g_ptr_array_add(ret_processes, g_ptr_array_index(horovod->others, i));
        else
            ls_process_free(g_ptr_array_index(horovod->others, i));
    }
    g_ptr_array_unref(horovod->in_order);
    g_hash_table_unref(horovod->rows);
    g_hash_table_unref(horovod->counts);
    g_hash_table_unref(horovod->ranks);
    g_ptr_array_unref(horovod->others);
    g_ptr_array_unref(horovod->batches);
}

/* To the first event. The head of an object has other keys, which are none. */
static void
pass_head(LsInput *input, LsJsonPull *pull)
{
    size_t have, at;
    bool wrapped;
    const uint8_t *head = ls_input_peek(input, HEAD_MAX, &have);
    if (!ls_horovod_find_events(head, have, &at, &wrapped) || !wrapped)
        return;
    ls_input_skip(input, at);
    if (at < have)
        ls_json_pull_set_wrapped(pull);
}

bool
ls_horovod_load(LsInput *input, const char *source, GPtrArray *ret_processes, LsProgress *progress,
                GError **error)
{
    Horovod horovod;
    horovod_init(&horovod, source);
    g_autoptr(LsJsonPull) pull = ls_json_pull_new(input, add_fault, &horovod);
    pass_head(input, pull);
    int64_t offset;
    bool cancelled = false;
    for (json_object *event; !cancelled && (event = ls_json_pull_next(pull, &offset));) {
        add_event(&horovod, event);
        json_object_put(event);
        if (horovod.records % 4096 == 0) {
            ls_progress_set(progress, "reading", ls_input_get_fraction(input));
            cancelled = ls_progress_is_cancelled(progress, error);
        }
    }
    if (ls_input_get_damage(input))
        add_fault(&horovod, ls_input_get_offset(input), ls_input_get_damage(input));
    close_rows(&horovod);
    settle_ranks(&horovod);
    horovod_finish(&horovod, !cancelled, ret_processes);
    return !cancelled;
}
