/* SPDX-License-Identifier: Apache-2.0
 *
 * format/native-open.c: spans that were written when they began, until their end comes.
 *
 * Where none comes the process died inside, or records were kept no longer: such a span lasts to
 * the end of its window, or of the file. Or its end is among the records that were lost or damaged,
 * or the program never marked it; then what follows on its thread shows until when it can have
 * lasted at most, and it must not be taken for one that lasted to the end: steps do not nest, an
 * operation ends before the loop begins the next one, and no phase outlasts the step that it began
 * in on a thread that steps.
 */
#include "format/native-private.h"

#include <stdlib.h>

/* A record that has begun, and its thread. */
typedef struct OpenRecord {
    LsRecord record;
    Thread *thread;
} OpenRecord;

static guint
open_hash(gconstpointer key)
{
    const OpenRecord *open = key;
    uint64_t hash = (uint64_t)open->record.start_ns * 0x9e3779b97f4a7c15u + open->record.name;
    return (guint)(hash >> 32) ^ open->record.kind ^ GPOINTER_TO_UINT(open->thread);
}

static gboolean
open_equal(gconstpointer a, gconstpointer b)
{
    const OpenRecord *x = a, *y = b;
    return x->thread == y->thread && x->record.kind == y->record.kind &&
           x->record.name == y->record.name && x->record.start_ns == y->record.start_ns;
}

GHashTable *
ls_native_new_open(void)
{
    return g_hash_table_new_full(open_hash, open_equal, g_free, NULL);
}

void
ls_native_open_record(Native *native, const LsRecord *record)
{
    OpenRecord *open = g_new(OpenRecord, 1);
    *open = (OpenRecord){.record = *record, .thread = native->thread};
    if (g_hash_table_add(native->open, open))
        native->open_of_kind[record->kind]++;
}

void
ls_native_close_record(Native *native, const LsRecord *record)
{
    OpenRecord key = {.record = *record, .thread = native->thread};
    if (g_hash_table_remove(native->open, &key))
        native->open_of_kind[record->kind]--;
}

static int
by_start(gconstpointer a, gconstpointer b)
{
    const OpenRecord *x = *(OpenRecord *const *)a, *y = *(OpenRecord *const *)b;
    if (x->record.start_ns != y->record.start_ns)
        return x->record.start_ns < y->record.start_ns ? -1 : 1;
    if (x->thread->id != y->thread->id)
        return x->thread->id < y->thread->id ? -1 : 1;
    if (x->record.kind != y->record.kind)
        return x->record.kind < y->record.kind ? -1 : 1;
    return x->record.name < y->record.name ? -1 : x->record.name > y->record.name;
}

int64_t
ls_native_find_end(const Native *native, int64_t start_ns)
{
    for (guint i = 0; i < native->windows->len; i++) {
        const LsRecord *window = &g_array_index(native->windows, LsRecord, i);
        if (window->start_ns <= start_ns && start_ns <= window->end_ns)
            return window->end_ns;
    }
    return native->last_ns;
}

/* -- Until when at most -- */

/* When a span began, and in which row of its kind: a communicator's operations, all steps. */
typedef struct Start {
    int64_t row, ns;
} Start;

static int
compare_start(gconstpointer a, gconstpointer b)
{
    const Start *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

static Start
start_of(const LsRecord *record)
{
    bool is_operation = record->kind == LS_RECORD_OPERATION;
    return (Start){is_operation ? record->args[1] : 0, record->start_ns};
}

/* All starts of the kind in order, of spans that are whole and of those that are open. */
static GArray *
list_starts(const Native *native, uint16_t kind, gpointer *open, guint n)
{
    GArray *starts = g_array_new(FALSE, FALSE, sizeof(Start));
    const LsProcess *process = native->process;
    for (guint i = 0; kind == LS_RECORD_STEP && i < process->steps->len; i++) {
        Start start = {0, g_array_index(process->steps, LsStep, i).start_ns};
        g_array_append_val(starts, start);
    }
    for (guint i = 0; kind == LS_RECORD_OPERATION && i < process->calls->len; i++) {
        const LsCall *call = &g_array_index(process->calls, LsCall, i);
        Start start = {call->communicator, call->start_ns};
        g_array_append_val(starts, start);
    }
    for (guint i = 0; i < n; i++) {
        const OpenRecord *item = open[i];
        Start start = start_of(&item->record);
        if (item->record.kind == kind)
            g_array_append_val(starts, start);
    }
    g_array_sort(starts, compare_start);
    return starts;
}

/* The first of the same row that is later, LS_TIME_MAX if none is. */
static int64_t
find_next(const GArray *starts, Start start)
{
    guint from = 0, to = starts->len;
    while (from < to) {
        guint middle = from + (to - from) / 2;
        if (compare_start(&g_array_index(starts, Start, middle), &start) > 0)
            to = middle;
        else
            from = middle + 1;
    }
    if (from == starts->len || g_array_index(starts, Start, from).row != start.row)
        return LS_TIME_MAX;
    return g_array_index(starts, Start, from).ns;
}

static bool
is_within_step(const OpenRecord *item)
{
    return item->record.kind == LS_RECORD_STEP ||
           (item->record.kind == LS_RECORD_PHASE && item->thread->is_stepping);
}

/* How long a phase took whose end is not there is not known, nor then what the time of its step
 * went into. phases: when such began, in order. */
static void
cut_steps(Native *native, const GArray *phases)
{
    GArray *steps = native->process->steps;
    for (guint i = 0; phases->len > 0 && i < steps->len; i++) {
        LsStep *step = &g_array_index(steps, LsStep, i);
        step->cut |= find_next(phases, (Start){0, step->start_ns - 1}) < step->end_ns;
    }
}

/* When it ended at the latest. */
static int64_t
limit_end(Native *native, const OpenRecord *item, const GArray *steps, const GArray *operations)
{
    const LsRecord *record = &item->record;
    int64_t last_ns = ls_native_find_end(native, record->start_ns), next_ns = LS_TIME_MAX;
    if (is_within_step(item))
        next_ns = find_next(steps, start_of(record));
    else if (record->kind == LS_RECORD_OPERATION)
        next_ns = find_next(operations, start_of(record));
    native->endless += next_ns < last_ns;
    return MAX(record->start_ns, MIN(last_ns, next_ns));
}

void
ls_native_flush_open(Native *native)
{
    guint n;
    g_autofree gpointer *open = g_hash_table_get_keys_as_array(native->open, &n);
    if (n == 0)
        return;
    qsort(open, n, sizeof *open, by_start); /* a hash table has no order, a trace has */
    g_autoptr(GArray) steps = list_starts(native, LS_RECORD_STEP, open, n);
    g_autoptr(GArray) operations = list_starts(native, LS_RECORD_OPERATION, open, n);
    g_autoptr(GArray) phases = g_array_new(FALSE, FALSE, sizeof(Start));
    for (guint i = 0; i < n; i++) {
        OpenRecord *item = open[i];
        item->record.end_ns = limit_end(native, item, steps, operations);
        Start start = start_of(&item->record);
        if (item->record.kind == LS_RECORD_PHASE)
            g_array_append_val(phases, start);
        native->thread = item->thread;
        native->records++;
        ls_native_add_record(native, &item->record);
    }
    cut_steps(native, phases);
}
