/* SPDX-License-Identifier: Apache-2.0
 *
 * format/horovod-rows.c: one tensor's events to spans and uses (facts: A4): a stack of begun spans,
 * and the use that is being negotiated or executed. What cannot be is tolerated: an end without a
 * begin (barrier, join, files begun by start_timeline), ticks without a negotiation, a begin that
 * never ends.
 */
#include "format/horovod-private.h"

#include <string.h>

#define SEARCH_MAX 64 /* begun spans looked through for the one that ends */

static LsUse *
get_use(LsProcess *process, uint32_t use)
{
    return &g_array_index(process->uses, LsUse, use);
}

static uint32_t
add_use(LsProcess *process, const char *tensor, uint32_t occurrence, uint8_t operation)
{
    LsUse use = {.tensor = ls_strings_add(process->strings, tensor),
                 .group = LS_NONE,
                 .occurrence = occurrence,
                 .call = LS_NONE,
                 .operation = operation,
                 .dtype = 255,
                 .bytes = -1,
                 .submit_ns = LS_TIME_NONE,
                 .gate_ns = LS_TIME_NONE,
                 .agreed_ns = LS_TIME_NONE,
                 .done_ns = LS_TIME_NONE};
    g_array_append_val(process->uses, use);
    return process->uses->len - 1;
}

static void
begin_use(Horovod *horovod, Row *row, uint8_t operation)
{
    void *name = GUINT_TO_POINTER(row->name);
    uint32_t count = GPOINTER_TO_UINT(g_hash_table_lookup(horovod->counts, name));
    row->use = add_use(horovod->process, ls_strings_get(horovod->process->strings, row->name),
                       count, operation);
    g_hash_table_insert(horovod->counts, name, GUINT_TO_POINTER(count + 1));
    row->n_uses++;
    g_array_set_size(row->ticks, 0);
}

static void
set_agreed(Horovod *horovod, Row *row, int64_t time_ns)
{
    get_use(horovod->process, row->use)->agreed_ns = time_ns;
    for (size_t i = 0; i < row->ticks->len; i++) {
        const TickUse *tick = &g_array_index(row->ticks, TickUse, i);
        get_use(tick->process, tick->use)->agreed_ns = time_ns;
    }
    g_array_set_size(row->ticks, 0);
    row->negotiating = false;
}

static bool
is_nested(const Row *row, int64_t tid)
{
    for (size_t i = row->stack->len, n = 0; i > 0 && n < SEARCH_MAX; i--, n++)
        if (g_array_index(row->stack, OpenSpan, i - 1).tid == tid)
            return true;
    return false;
}

void
ls_row_begin(Horovod *horovod, Row *row, const char *name, int64_t time_ns, int64_t tid)
{
    LsProcess *process = horovod->process;
    OpenSpan span = {
        .name = ls_strings_add(process->strings, name), .start_ns = time_ns, .tid = tid};
    if (g_str_has_prefix(name, "NEGOTIATE_")) {
        uint8_t operation = ls_horovod_operation(name + strlen("NEGOTIATE_"));
        span.kind = SPAN_NEGOTIATION;
        horovod->negotiations++;
        if (!row->negotiating) /* else ticks came first: the file began, or the cache lost it, in
                                  between */
            begin_use(horovod, row, operation);
        get_use(process, row->use)->operation = operation;
        row->negotiating = true;
    } else if (is_nested(row, tid)) {
        span.kind = SPAN_ACTIVITY;
        ls_batch_begin_activity(horovod, row, span.name, time_ns);
    } else if (!g_str_has_prefix(name, "ENQUEUE_")) {
        span.kind = SPAN_OPERATION;
        if (row->use == LS_NONE && ls_horovod_operation(name) != LS_OPERATION_UNKNOWN)
            begin_use(horovod, row,
                      ls_horovod_operation(name)); /* negotiated before the file began */
        row->running = row->use;
        row->use = LS_NONE;
        row->negotiating = false;
        if (row->batch)
            ls_batch_end(horovod, row, time_ns, true);
        ls_batch_add(horovod, row, name, time_ns);
    }
    g_array_append_val(row->stack, span);
}

/* The begun span that this end belongs to: by name where it has one, else the innermost of its
 * thread. -1: none. */
static int64_t
find_begin(const Horovod *horovod, const Row *row, const char *name, int64_t time_ns, int64_t tid)
{
    bool named = name && name[0];
    int64_t found = -1;
    for (size_t i = row->stack->len, n = 0; i > 0 && n < SEARCH_MAX; i--, n++) {
        const OpenSpan *span = &g_array_index(row->stack, OpenSpan, i - 1);
        if (!named && span->tid == tid)
            return (int64_t)i - 1;
        if (!named || strcmp(ls_strings_get(horovod->process->strings, span->name), name) != 0)
            continue;
        if (span->start_ns <= time_ns &&
            (found < 0 || span->start_ns > g_array_index(row->stack, OpenSpan, found).start_ns))
            found = (int64_t)i - 1;
    }
    return found;
}

static void
end_operation(Horovod *horovod, Row *row, int64_t time_ns, const char *dtype, const char *shape)
{
    if (row->running != LS_NONE) {
        LsUse *use = get_use(horovod->process, row->running);
        use->done_ns = time_ns;
        if (shape)
            use->bytes = ls_horovod_bytes(dtype, shape, &use->dtype);
    }
    ls_batch_end(horovod, row, time_ns, false);
    row->running = LS_NONE;
}

void
ls_row_end(Horovod *horovod, Row *row, const char *name, int64_t time_ns, int64_t tid,
           const char *dtype, const char *shape)
{
    int64_t at = find_begin(horovod, row, name, time_ns, tid);
    if (at < 0) {
        horovod->lone_ends++;
        if (row->negotiating)
            set_agreed(horovod, row, time_ns);
        return;
    }
    OpenSpan span = g_array_index(row->stack, OpenSpan, at);
    g_array_remove_index(row->stack, (guint)at);
    if (time_ns < span.start_ns) {
        horovod->unordered++;
        time_ns = span.start_ns;
    }
    uint32_t use = span.kind == SPAN_NEGOTIATION ? row->use : row->running;
    if (span.kind == SPAN_NEGOTIATION && row->negotiating)
        set_agreed(horovod, row, time_ns);
    else if (span.kind == SPAN_ACTIVITY)
        ls_batch_end_activity(horovod, row, span.name, time_ns);
    else if (span.kind == SPAN_OPERATION)
        end_operation(horovod, row, time_ns, dtype, shape);
    ls_track_builder_add(ls_horovod_row_track(horovod, row), span.start_ns, time_ns, span.name,
                         use);
}

/* The other rank's own process: known through this file only. */
static LsProcess *
get_rank(Horovod *horovod, uint32_t rank)
{
    LsProcess *process = g_hash_table_lookup(horovod->ranks, GUINT_TO_POINTER(rank));
    if (process)
        return process;
    process = ls_process_new(LS_SOURCE_HOROVOD);
    process->rank.rank = (int32_t)rank;
    process->rank.recorded = false;
    process->rank.format = horovod->process->rank.format;
    process->rank.source = g_strdup(horovod->process->rank.source);
    g_hash_table_insert(horovod->ranks, GUINT_TO_POINTER(rank), process);
    g_ptr_array_add(horovod->others, process);
    return process;
}

/* Whether the rank ticks for the first time in this negotiation (a barrier's tick is repeated). */
static bool
is_first_tick(Row *row, uint32_t rank)
{
    if (rank >= row->seen->len)
        g_array_set_size(row->seen, rank + 1);
    uint32_t *seen = &g_array_index(row->seen, uint32_t, rank);
    if (*seen == row->n_uses)
        return false;
    *seen = row->n_uses;
    return true;
}

void
ls_row_tick(Horovod *horovod, Row *row, uint32_t rank, int64_t time_ns)
{
    LsProcess *writer = horovod->process;
    if (!row->negotiating) {
        begin_use(horovod, row, LS_OPERATION_UNKNOWN);
        row->negotiating = true;
    }
    horovod->ticks++;
    if (!is_first_tick(row, rank))
        return;
    LsUse *use = get_use(writer, row->use);
    if (rank != 0) {
        LsProcess *other = get_rank(horovod, rank);
        TickUse tick = {.process = other};
        tick.use = add_use(other, ls_strings_get(writer->strings, row->name), use->occurrence,
                           use->operation);
        g_array_append_val(row->ticks, tick);
        use = get_use(other, tick.use);
    }
    use->submit_ns = use->gate_ns = time_ns;
}

void
ls_row_close(Horovod *horovod, Row *row)
{
    for (size_t i = row->stack->len; i > 0; i--) {
        const OpenSpan *span = &g_array_index(row->stack, OpenSpan, i - 1);
        ls_track_builder_add(ls_horovod_row_track(horovod, row), span->start_ns,
                             MAX(span->start_ns, horovod->last_ns), span->name,
                             span->kind == SPAN_NEGOTIATION ? row->use : row->running);
    }
    ls_batch_end(horovod, row, horovod->last_ns, true);
}

void
ls_row_free(Row *row)
{
    g_array_unref(row->stack);
    g_array_unref(row->ticks);
    g_array_unref(row->seen);
    g_free(row);
}
