/* SPDX-License-Identifier: Apache-2.0
 *
 * format/native-records.c: what each kind of record adds to a process: one small function per kind,
 * in a table. Those of reduce's kinds that have two halves are in native-life.c.
 */
#include "format/native-private.h"

#include "base/units.h"

#include <math.h>
#include <string.h>

static uint32_t
count_of(int64_t value)
{
    return (uint32_t)CLAMP(value, 0, (int64_t)UINT32_MAX - 1);
}

static void
add_clock(Native *native, const LsRecord *record)
{
    LsClockPair pair = {.local_ns = record->start_ns,
                        .wall_ns = record->args[0],
                        .uncertainty_ns = record->args[1]};
    if (!ls_native_is_time(pair.wall_ns) || !ls_native_is_time(pair.uncertainty_ns)) {
        native->broken++;
        return;
    }
    ls_rows_add(native->process->clock_pairs, &pair);
}

static void
add_thread(Native *native, const LsRecord *record)
{
    ls_native_get_thread(native, count_of(record->args[0]))->name = record->name;
}

/* Of no one thread: told of in one sentence, since a file at its bound gives up block after block.
 */
static void
note_gone(Native *native, const LsRecord *record)
{
    LsRecord *gone = &native->gone;
    if (native->gone_records == 0)
        *gone = *record;
    native->gone_records += (uint64_t)ls_native_amount(record->args[1], 0);
    gone->start_ns = MIN(gone->start_ns, record->start_ns);
    gone->end_ns = MAX(gone->end_ns, record->end_ns);
}

static void
add_lost(Native *native, const LsRecord *record)
{
    native->lost_records += (uint64_t)ls_native_amount(record->args[1], 0);
    if (record->args[0] == 0) {
        note_gone(native, record);
        return;
    }
    g_autofree char *within = ls_format_ns(record->end_ns - record->start_ns);
    g_autofree char *text =
        g_strdup_printf("%" G_GINT64_FORMAT " records of thread %" G_GINT64_FORMAT
                        " were lost within %s: its ring was full.",
                        record->args[1], record->args[0], within);
    ls_native_add_finding(native, record, LS_WARNING, text);
}

static void
add_notice(Native *native, const LsRecord *record)
{
    LsSeverity severity = record->args[0] <= 0   ? LS_NOTE
                          : record->args[0] == 1 ? LS_WARNING
                                                 : LS_FAULT;
    uint32_t name = ls_native_name(native, record->name);
    ls_native_add_finding(native, record, severity, ls_strings_get(native->process->strings, name));
}

/* A step of a large model takes more of them than any amount; nobody counts beyond this. */
static int64_t
operations_of(int64_t value)
{
    return value >= 0 && value <= LS_TIME_MAX ? value : 0;
}

static void
add_window(Native *native, const LsRecord *record)
{
    g_array_append_val(native->windows, *record);
}

static void
add_step(Native *native, const LsRecord *record)
{
    LsProcess *process = native->process;
    LsStep step = {.number = record->args[0],
                   .start_ns = record->start_ns,
                   .end_ns = record->end_ns,
                   .samples = ls_native_amount(record->args[1], 0),
                   .operations = operations_of(record->args[2]),
                   .cut = record->flags & LS_RECORD_OPEN};
    if (!native->steps)
        native->steps = ls_process_get_track(process, LS_TRACK_STEPS, "steps", "step", -1);
    uint32_t name = record->name ? ls_native_name(native, record->name)
                                 : ls_strings_add(process->strings, "step");
    native->thread->is_stepping = true;
    ls_track_builder_add(native->steps, record->start_ns, record->end_ns, name,
                         process->steps->len);
    ls_rows_add(process->steps, &step);
}

/* A row of its own only where there is more to say than the span does. */
static void
add_phase(Native *native, const LsRecord *record)
{
    LsProcess *process = native->process;
    Thread *thread = native->thread;
    uint32_t row = LS_NONE, name = ls_native_name(native, record->name);
    if (!thread->phases)
        thread->phases =
            ls_process_get_track(process, LS_TRACK_PHASES, "phases", "phase", thread->id);
    if (record->args[0] != 0) {
        LsPhase phase = {.name = name,
                         .start_ns = record->start_ns,
                         .end_ns = record->end_ns,
                         .operations = operations_of(record->args[0])};
        row = process->phases->len;
        ls_rows_add(process->phases, &phase);
    }
    ls_track_builder_add(thread->phases, record->start_ns, record->end_ns, name, row);
}

static void
add_counter(Native *native, const LsRecord *record)
{
    gpointer key = GUINT_TO_POINTER(record->name);
    GArray *samples = g_hash_table_lookup(native->counters, key);
    if (!samples) {
        samples = g_array_new(FALSE, TRUE, sizeof(LsSample));
        g_hash_table_insert(native->counters, key, samples);
    }
    LsSample sample = {.time_ns = record->start_ns};
    memcpy(&sample.value, &record->args[0], sizeof sample.value);
    sample.valid = isfinite(sample.value);
    g_array_append_val(samples, sample);
}

static void
append_instant(Native *native, LsInstantKind kind, const LsRecord *record, int64_t value)
{
    LsInstant instant = {.name = ls_native_name(native, record->name),
                         .kind = (uint8_t)kind,
                         .time_ns = record->start_ns,
                         .value = value};
    ls_rows_add(native->process->instants, &instant);
}

static void
add_instant(Native *native, const LsRecord *record)
{
    append_instant(native, LS_INSTANT_MARK, record, 0);
}

static void
add_sleep(Native *native, const LsRecord *record)
{
    LsSleep sleep = {.start_ns = record->start_ns, .end_ns = record->end_ns};
    ls_rows_add(native->process->sleeps, &sleep);
}

static void
add_message(Native *native, const LsRecord *record)
{
    LsMessage message = {.name = ls_native_name(native, record->name),
                         .cycle = record->args[0],
                         .start_ns = record->start_ns,
                         .end_ns = record->end_ns,
                         .messages_in = ls_native_amount(record->args[1], 0),
                         .messages_out = ls_native_amount(record->args[2], 0),
                         .bytes_in = ls_native_amount(record->args[3], 0),
                         .bytes_out = ls_native_amount(record->args[4], 0)};
    ls_rows_add(native->process->messages, &message);
}

static void
add_roundtrip(Native *native, const LsRecord *record)
{
    uint32_t boot = count_of(record->args[4]);
    LsRoundtrip trip = {.peer = (int32_t)record->args[0],
                        .boot = boot != 0 ? ls_native_name(native, boot) : 0,
                        .send_ns = record->start_ns,
                        .receive_ns = record->end_ns,
                        .peer_receive_ns = record->args[1],
                        .peer_send_ns = record->args[2]};
    if (!ls_native_is_time(trip.peer_receive_ns) || !ls_native_is_time(trip.peer_send_ns)) {
        native->broken++;
        return;
    }
    ls_rows_add(native->process->roundtrips, &trip);
}

static void
add_stall(Native *native, const LsRecord *record)
{
    append_instant(native, LS_INSTANT_STALL, record, record->args[0]);
    const LsStrings *strings = native->process->strings;
    int64_t id = record->args[3]; /* of its group; 0: none */
    uint32_t group = id > 0 && id <= UINT32_MAX ? ls_native_name(native, (uint32_t)id) : 0;
    uint32_t tensor = ls_native_name(native, record->name);
    g_autofree char *text =
        g_strdup_printf("Tensor %s%s%s waited %" G_GINT64_FORMAT " ms for rank %" G_GINT64_FORMAT
                        ", which had not submitted it.",
                        ls_strings_get(strings, tensor), group != 0 ? " of group " : "",
                        ls_strings_get(strings, group), record->args[1] / 1000000, record->args[0]);
    ls_native_add_finding(native, record, LS_WARNING, text);
}

static void
add_peer_lost(Native *native, const LsRecord *record)
{
    append_instant(native, LS_INSTANT_PEER_LOST, record, record->args[0]);
    g_autofree char *text = g_strdup_printf("Rank %" G_GINT64_FORMAT " (pid %" G_GINT64_FORMAT
                                            ") was lost: this rank noticed its death.",
                                            record->args[0], record->args[1]);
    ls_native_add_finding(native, record, LS_FAULT, text);
}

static void
add_error(Native *native, const LsRecord *record)
{
    append_instant(native, LS_INSTANT_ERROR, record, record->args[0]);
    uint32_t name = ls_native_name(native, record->name);
    ls_native_add_finding(native, record, LS_FAULT, ls_strings_get(native->process->strings, name));
}

static void (*const adders[LS_RECORD_KINDS])(Native *, const LsRecord *) = {
    [LS_RECORD_CLOCK] = add_clock,
    [LS_RECORD_THREAD] = add_thread,
    [LS_RECORD_LOST] = add_lost,
    [LS_RECORD_NOTICE] = add_notice,
    [LS_RECORD_WINDOW] = add_window,
    [LS_RECORD_STEP] = add_step,
    [LS_RECORD_PHASE] = add_phase,
    [LS_RECORD_COUNTER] = add_counter,
    [LS_RECORD_INSTANT] = add_instant,
    [LS_RECORD_SUBMIT] = ls_native_add_submit,
    [LS_RECORD_GATE] = ls_native_add_gate,
    [LS_RECORD_AGREED] = ls_native_add_agreed,
    [LS_RECORD_DONE] = ls_native_add_done,
    [LS_RECORD_CYCLE] = ls_native_add_cycle,
    [LS_RECORD_STAGE] = ls_native_add_stage,
    [LS_RECORD_SLEEP] = add_sleep,
    [LS_RECORD_OPERATION] = ls_native_add_operation,
    [LS_RECORD_PACK] = ls_native_add_packing,
    [LS_RECORD_UNPACK] = ls_native_add_packing,
    [LS_RECORD_WIRE] = ls_native_add_wire,
    [LS_RECORD_CACHE] = ls_native_add_cache,
    [LS_RECORD_TENSOR] = ls_native_add_tensor,
    [LS_RECORD_NEEDS] = ls_native_add_needs,
    [LS_RECORD_MESSAGE] = add_message,
    [LS_RECORD_ROUNDTRIP] = add_roundtrip,
    [LS_RECORD_STALL] = add_stall,
    [LS_RECORD_PEER_LOST] = add_peer_lost,
    [LS_RECORD_ERROR] = add_error,
    [LS_RECORD_KERNEL] = ls_native_add_kernel,
    [LS_RECORD_COPY] = ls_native_add_copy,
    [LS_RECORD_MEMSET] = ls_native_add_memset,
    [LS_RECORD_SYNC] = ls_native_add_sync,
    [LS_RECORD_API] = ls_native_add_api,
    [LS_RECORD_OVERHEAD] = ls_native_add_overhead,
    [LS_RECORD_EXTERNAL] = ls_native_add_external,
    [LS_RECORD_UNTIMED] = ls_native_add_untimed,
    [LS_RECORD_DROPPED] = ls_native_add_dropped,
    [LS_RECORD_NCCL_COMM] = ls_native_add_nccl_comm,
    [LS_RECORD_NCCL_COLL] = ls_native_add_nccl_operation,
    [LS_RECORD_NCCL_P2P] = ls_native_add_nccl_operation,
    [LS_RECORD_NCCL_CALL] = ls_native_add_nccl_call,
    [LS_RECORD_NCCL_LAUNCH] = ls_native_pass,
    [LS_RECORD_NCCL_CHANNEL] = ls_native_pass,
    [LS_RECORD_NCCL_PROXY] = ls_native_add_nccl_proxy,
    [LS_RECORD_SAMPLE] = ls_native_add_sample,
    [LS_RECORD_RANGE] = ls_native_add_range,
    [LS_RECORD_RANGE_START] = ls_native_start_range,
    [LS_RECORD_RANGE_END] = ls_native_end_range,
    [LS_RECORD_MPI_CALL] = ls_native_add_mpi_call,
    [LS_RECORD_MPI_COMMUNICATOR] = ls_native_add_mpi_communicator,
};

void
ls_native_add_record(Native *native, const LsRecord *record)
{
    if (adders[record->kind] != NULL)
        adders[record->kind](native, record);
    else
        native->unknown++;
}
