/* SPDX-License-Identifier: Apache-2.0
 *
 * format/native-ranges.c: what was seen of the program from outside: its NVTX ranges and its calls
 * of MPI. Horovod's ranges are kept as rows, since only merge, with all ranks at hand, knows their
 * names; the others are spans of a track. A range may end on another thread than it began on, whose
 * chunk may be read first.
 */
#include "format/native-private.h"

/* One half of a range whose other half has not been read. */
typedef struct HalfRange {
    LsRecord record;
    uint32_t thread;
} HalfRange;

typedef struct MpiCommunicator {
    int32_t ranks, rank;
} MpiCommunicator;

void
ls_native_init_ranges(Native *native)
{
    native->half_ranges = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
    native->mpi_communicators = g_hash_table_new_full(NULL, NULL, NULL, g_free);
}

void
ls_native_free_ranges(Native *native)
{
    g_hash_table_unref(native->half_ranges);
    g_hash_table_unref(native->mpi_communicators);
}

/* NVTX's payload types of whole numbers. */
static bool
is_integer(int64_t payload_type)
{
    return payload_type == 1 || payload_type == 2 || payload_type == 4 || payload_type == 5;
}

/* args: domain, payload, type of the payload. */
static void
put_range(Native *native, const LsRecord *record, const int64_t *args, int64_t end_ns,
          uint32_t thread)
{
    LsProcess *process = native->process;
    LsRange range = {.domain = args[0] > 0 && args[0] <= UINT32_MAX
                                   ? ls_native_name(native, (uint32_t)args[0])
                                   : 0,
                     .name = ls_native_name(native, record->name),
                     .start_ns = record->start_ns,
                     .end_ns = end_ns,
                     .payload = is_integer(args[2]) ? ls_native_amount(args[1], -1) : -1};
    const char *domain = ls_strings_get(process->strings, range.domain);
    g_autofree char *name = NULL;
    if (g_str_has_prefix(domain, "Horovod")) {
        ls_rows_add(process->ranges, &range);
        return;
    }
    if (end_ns == LS_TIME_NONE)
        end_ns = MAX(record->start_ns, ls_native_find_end(native, record->start_ns));
    name = g_strdup_printf("%s %u", domain[0] != '\0' ? domain : "NVTX", thread);
    ls_track_builder_add(ls_process_get_track(process, LS_TRACK_THREAD, name, "nvtx", thread),
                         range.start_ns, end_ns, range.name, LS_NONE);
}

void
ls_native_add_range(Native *native, const LsRecord *record)
{
    bool open = record->flags & LS_RECORD_OPEN;
    ls_native_note_range(native, record);
    put_range(native, record, record->args, open ? LS_TIME_NONE : record->end_ns,
              native->thread->id);
}

static void
put_halves(Native *native, const HalfRange *start, const LsRecord *end)
{
    put_range(native, &start->record, &start->record.args[1],
              end != NULL ? MAX(end->start_ns, start->record.start_ns) : LS_TIME_NONE,
              start->thread);
}

/* With the other half, if it has been read, the range is whole; else this half waits for it. */
static void
add_half(Native *native, const LsRecord *record)
{
    int64_t id = record->args[0];
    HalfRange half = {*record, native->thread->id};
    const HalfRange *other = g_hash_table_lookup(native->half_ranges, &id);
    if (other == NULL || other->record.kind == record->kind) {
        g_hash_table_insert(native->half_ranges, g_memdup2(&id, sizeof id),
                            g_memdup2(&half, sizeof half));
        return;
    }
    if (record->kind == LS_RECORD_RANGE_START)
        put_halves(native, &half, &other->record);
    else
        put_halves(native, other, record);
    g_hash_table_remove(native->half_ranges, &id);
}

void
ls_native_start_range(Native *native, const LsRecord *record)
{
    add_half(native, record);
}

void
ls_native_end_range(Native *native, const LsRecord *record)
{
    add_half(native, record);
}

static int
compare_halves(gconstpointer a, gconstpointer b)
{
    const HalfRange *x = *(HalfRange *const *)a, *y = *(HalfRange *const *)b;
    return x->record.start_ns < y->record.start_ns ? -1 : x->record.start_ns > y->record.start_ns;
}

/* Ranges that had not ended; an end without a start began before the recording and is left out. */
static void
settle_halves(Native *native)
{
    g_autoptr(GPtrArray) sorted = g_ptr_array_new();
    GHashTableIter iter;
    gpointer value;
    g_hash_table_iter_init(&iter, native->half_ranges);
    while (g_hash_table_iter_next(&iter, NULL, &value))
        g_ptr_array_add(sorted, value);
    g_ptr_array_sort(sorted, compare_halves);
    for (guint i = 0; i < sorted->len; i++) {
        const HalfRange *half = g_ptr_array_index(sorted, i);
        if (half->record.kind == LS_RECORD_RANGE_START)
            put_halves(native, half, NULL);
    }
}

void
ls_native_add_mpi_communicator(Native *native, const LsRecord *record)
{
    MpiCommunicator communicator = {(int32_t)CLAMP(record->args[1], -1, LS_RANK_MAX),
                                    (int32_t)CLAMP(record->args[2], -1, LS_RANK_MAX)};
    g_hash_table_insert(native->mpi_communicators, GUINT_TO_POINTER((guint)record->args[0]),
                        g_memdup2(&communicator, sizeof communicator));
}

void
ls_native_add_mpi_call(Native *native, const LsRecord *record)
{
    LsMpiCall call = {.name = ls_native_name(native, record->name),
                      .thread = native->thread->id,
                      .communicator = (uint32_t)record->args[0],
                      .ranks = -1,
                      .rank = -1,
                      .peer = (int32_t)CLAMP(record->args[2], -1, INT32_MAX),
                      .operation = (uint8_t)record->args[3],
                      .reduction = (uint8_t)(record->args[3] >> 16),
                      .bytes = ls_native_amount(record->args[1], -1),
                      .start_ns = record->start_ns,
                      .end_ns = record->end_ns};
    ls_rows_add(native->process->mpi_calls, &call);
}

void
ls_native_settle_ranges(Native *native)
{
    GArray *calls = native->process->mpi_calls;
    settle_halves(native);
    for (guint i = 0; i < calls->len; i++) {
        LsMpiCall *call = &g_array_index(calls, LsMpiCall, i);
        const MpiCommunicator *communicator =
            g_hash_table_lookup(native->mpi_communicators, GUINT_TO_POINTER(call->communicator));
        if (communicator == NULL)
            continue;
        call->ranks = communicator->ranks;
        call->rank = communicator->rank;
    }
}
