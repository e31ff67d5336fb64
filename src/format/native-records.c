/* SPDX-License-Identifier: Apache-2.0
 *
 * format/native-records.c: what each kind of record adds to a process: one small function per kind,
 * in a table. Halves of one thing (a tensor's submission and its end, a cycle and its stages, a
 * call and its packing) lie in different threads' chunks and come in any order: whichever comes
 * first makes the row.
 */
#include "format/native-private.h"

#include <math.h>
#include <string.h>

static uint32_t
communicator_of(int64_t value)
{
    return value >= 0 && value < UINT32_MAX ? (uint32_t)value : 0;
}

static uint32_t
count_of(int64_t value)
{
    return (uint32_t)CLAMP(value, 0, (int64_t)UINT32_MAX - 1);
}

static LsTrackBuilder *
communication_track(Native *native, uint32_t communicator)
{
    if (!native->communication || native->communication_id != communicator) {
        g_autofree char *name = communicator == 0
                                    ? g_strdup("communication")
                                    : g_strdup_printf("communication %u", communicator);
        native->communication = ls_process_get_track(native->process, LS_TRACK_COMMUNICATION, name,
                                                     "operation", communicator);
        native->communication_id = communicator;
    }
    return native->communication;
}

static LsTrackBuilder *
cycles_track(Native *native, uint32_t communicator)
{
    if (!native->cycles || native->cycles_id != communicator) {
        g_autofree char *name =
            communicator == 0 ? g_strdup("cycles") : g_strdup_printf("cycles %u", communicator);
        native->cycles =
            ls_process_get_track(native->process, LS_TRACK_CYCLES, name, "cycle", communicator);
        native->cycles_id = communicator;
    }
    return native->cycles;
}

static void
add_clock(Native *native, const LsRecord *record)
{
    LsClockPair pair = {.local_ns = record->start_ns,
                        .wall_ns = record->args[0],
                        .uncertainty_ns = record->args[1]};
    ls_rows_add(native->process->clock_pairs, &pair);
}

static void
add_thread(Native *native, const LsRecord *record)
{
    ls_native_get_thread(native, count_of(record->args[0]))->name = record->name;
}

static void
add_lost(Native *native, const LsRecord *record)
{
    native->lost_records += record->args[1] > 0 ? (uint64_t)record->args[1] : 0;
    g_autofree char *text = g_strdup_printf(
        "%" G_GINT64_FORMAT " records of thread %" G_GINT64_FORMAT
        " were lost between %" G_GINT64_FORMAT " and %" G_GINT64_FORMAT " ns: its ring was full.",
        record->args[1], record->args[0], record->start_ns, record->end_ns);
    ls_native_add_finding(native, record->kind, LS_WARNING, text);
}

static void
add_notice(Native *native, const LsRecord *record)
{
    LsSeverity severity = record->args[0] <= 0   ? LS_NOTE
                          : record->args[0] == 1 ? LS_WARNING
                                                 : LS_FAULT;
    uint32_t name = ls_native_name(native, record->name);
    ls_native_add_finding(native, record->kind, severity,
                          ls_strings_get(native->process->strings, name));
}

static void
add_step(Native *native, const LsRecord *record)
{
    LsProcess *process = native->process;
    LsStep step = {.number = record->args[0],
                   .start_ns = record->start_ns,
                   .end_ns = record->end_ns,
                   .samples = record->args[1],
                   .operations = record->args[2],
                   .cut = record->flags & LS_RECORD_OPEN};
    if (!native->steps)
        native->steps = ls_process_get_track(process, LS_TRACK_STEPS, "steps", "step", -1);
    uint32_t name = record->name ? ls_native_name(native, record->name)
                                 : ls_strings_add(process->strings, "step");
    ls_track_builder_add(native->steps, record->start_ns, record->end_ns, name,
                         process->steps->len);
    ls_rows_add(process->steps, &step);
}

static void
add_phase(Native *native, const LsRecord *record)
{
    LsProcess *process = native->process;
    Thread *thread = native->thread;
    if (!thread->phases)
        thread->phases =
            ls_process_get_track(process, LS_TRACK_PHASES, "phases", "phase", thread->id);
    LsPhase phase = {.name = ls_native_name(native, record->name),
                     .start_ns = record->start_ns,
                     .end_ns = record->end_ns,
                     .operations = record->args[0]};
    ls_track_builder_add(thread->phases, phase.start_ns, phase.end_ns, phase.name,
                         process->phases->len);
    ls_rows_add(process->phases, &phase);
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

/* The use of this name, this time, on this communicator; made when it is first heard of. */
static LsUse *
get_use(Native *native, const LsRecord *record, int64_t communicator, UseJoin **ret_join)
{
    LsProcess *process = native->process;
    uint32_t occurrence = count_of(record->args[0]), space = communicator_of(communicator);
    bool is_new;
    uint32_t row = ls_row_index_add(native->use_index, (uint64_t)record->name << 32 | occurrence,
                                    space, process->uses->len, &is_new);
    if (is_new) {
        LsUse use = {.tensor = ls_native_name(native, record->name),
                     .group = LS_NONE,
                     .occurrence = occurrence,
                     .call = LS_NONE,
                     .operation = LS_OPERATION_UNKNOWN,
                     .dtype = 255,
                     .bytes = -1,
                     .submit_ns = LS_TIME_NONE,
                     .gate_ns = LS_TIME_NONE,
                     .agreed_ns = LS_TIME_NONE,
                     .done_ns = LS_TIME_NONE};
        UseJoin join = {.communicator = space};
        ls_rows_add(process->uses, &use);
        g_array_append_val(native->use_joins, join);
    }
    *ret_join = &g_array_index(native->use_joins, UseJoin, row);
    return &g_array_index(process->uses, LsUse, row);
}

static uint32_t
group_of(Native *native, int64_t group)
{
    return group > 0 && group <= UINT32_MAX ? ls_native_name(native, (uint32_t)group) : LS_NONE;
}

static void
add_submit(Native *native, const LsRecord *record)
{
    UseJoin *join;
    LsUse *use = get_use(native, record, record->args[4], &join);
    use->submit_ns = record->start_ns;
    use->bytes = record->args[1];
    use->group = group_of(native, record->args[2]);
    use->operation = (uint8_t)record->args[3];
    use->dtype = (uint8_t)(record->args[3] >> 8);
}

static void
add_gate(Native *native, const LsRecord *record)
{
    UseJoin *join;
    LsUse *use = get_use(native, record, record->args[2], &join);
    use->gate_ns = record->start_ns;
    if (use->group == LS_NONE)
        use->group = group_of(native, record->args[1]);
}

static void
join_buffer(UseJoin *join, int64_t buffer)
{
    join->agreed = true;
    join->buffer = (uint64_t)buffer;
}

static void
add_agreed(Native *native, const LsRecord *record)
{
    UseJoin *join;
    LsUse *use = get_use(native, record, record->args[4], &join);
    use->agreed_ns = record->start_ns;
    use->position = (uint16_t)CLAMP(record->args[3], 0, UINT16_MAX);
    join_buffer(join, record->args[2]);
}

static void
add_done(Native *native, const LsRecord *record)
{
    UseJoin *join;
    LsUse *use = get_use(native, record, record->args[3], &join);
    use->done_ns = record->start_ns;
    if (!join->agreed)
        join_buffer(join, record->args[1]);
}

/* Row of the cycle with this number. */
static uint32_t
get_cycle(Native *native, int64_t number, uint32_t communicator)
{
    GArray *cycles = native->process->cycles;
    bool is_new;
    uint32_t row =
        ls_row_index_add(native->cycle_index, (uint64_t)number, communicator, cycles->len, &is_new);
    if (is_new) {
        LsCycle cycle = {.number = number, .start_ns = LS_TIME_NONE, .end_ns = LS_TIME_NONE};
        ls_rows_add(cycles, &cycle);
    }
    return row;
}

static void
add_cycle(Native *native, const LsRecord *record)
{
    uint32_t communicator = communicator_of(record->args[4]);
    uint32_t row = get_cycle(native, record->args[0], communicator);
    LsCycle *cycle = &g_array_index(native->process->cycles, LsCycle, row);
    cycle->control = ls_native_name(native, record->name);
    cycle->path = (uint8_t)record->args[1];
    cycle->requests = count_of(record->args[2]);
    cycle->responses = count_of(record->args[3]);
    cycle->start_ns = record->start_ns;
    cycle->end_ns = record->end_ns;
    ls_track_builder_add(cycles_track(native, communicator), record->start_ns, record->end_ns,
                         cycle->control, row);
}

static void
add_stage(Native *native, const LsRecord *record)
{
    uint32_t communicator = communicator_of(record->args[1]);
    uint32_t row = get_cycle(native, record->args[0], communicator);
    uint32_t name = ls_native_name(native, record->name);
    LsCycle *cycle = &g_array_index(native->process->cycles, LsCycle, row);
    const char *text = ls_strings_get(native->process->strings, name);
    int64_t *stage = strcmp(text, "DRAIN") == 0      ? &cycle->drain_ns
                     : strcmp(text, "EXCHANGE") == 0 ? &cycle->exchange_ns
                     : strcmp(text, "PARSE") == 0    ? &cycle->parse_ns
                     : strcmp(text, "BUILD") == 0    ? &cycle->build_ns
                                                     : NULL;
    if (stage)
        *stage = MIN(*stage + (record->end_ns - record->start_ns), LS_TIME_MAX);
    if (cycle->start_ns == LS_TIME_NONE)
        cycle->start_ns = record->start_ns;
    cycle->end_ns = MAX(cycle->end_ns, record->end_ns);
    ls_track_builder_add(cycles_track(native, communicator), record->start_ns, record->end_ns, name,
                         row);
}

static void
add_sleep(Native *native, const LsRecord *record)
{
    LsSleep sleep = {.start_ns = record->start_ns, .end_ns = record->end_ns};
    ls_rows_add(native->process->sleeps, &sleep);
}

/* Row of the call that executes this buffer. */
static uint32_t
get_call(Native *native, int64_t buffer, uint32_t communicator)
{
    GArray *calls = native->process->calls;
    bool is_new;
    uint32_t row =
        ls_row_index_add(native->call_index, (uint64_t)buffer, communicator, calls->len, &is_new);
    if (is_new) {
        LsCall call = {.communicator = communicator,
                       .sequence = buffer,
                       .operation = LS_OPERATION_UNKNOWN,
                       .dtype = 255,
                       .reduction = 255,
                       .device_timed = true,
                       .bytes = -1,
                       .start_ns = LS_TIME_NONE,
                       .end_ns = LS_TIME_NONE,
                       .pack_start_ns = LS_TIME_NONE,
                       .pack_end_ns = LS_TIME_NONE,
                       .unpack_start_ns = LS_TIME_NONE,
                       .unpack_end_ns = LS_TIME_NONE,
                       .buffer = LS_NONE};
        ls_rows_add(calls, &call);
    }
    return row;
}

/* A buffer may take several operations, one after the other (hierarchical planes): one call. */
static void
add_operation(Native *native, const LsRecord *record)
{
    uint32_t communicator = communicator_of(record->args[1]);
    uint32_t row = get_call(native, record->args[0], communicator);
    LsCall *call = &g_array_index(native->process->calls, LsCall, row);
    uint32_t name = ls_native_name(native, record->name);
    if (call->start_ns == LS_TIME_NONE || record->start_ns < call->start_ns) {
        call->start_ns = record->start_ns;
        call->name = name;
    }
    call->end_ns = MAX(call->end_ns, record->end_ns);
    call->bytes = MAX(call->bytes, record->args[2]);
    call->tensors = MAX(call->tensors, count_of(record->args[3]));
    call->operation = (uint8_t)record->args[4];
    call->dtype = (uint8_t)(record->args[4] >> 8);
    call->reduction = (uint8_t)(record->args[4] >> 16);
    call->open |= (record->flags & LS_RECORD_OPEN) != 0;
    ls_track_builder_add(communication_track(native, communicator), record->start_ns,
                         record->end_ns, name, row);
}

/* Packing that takes several copies is one piece from the first to the last. */
static void
widen(int64_t *start_ns, int64_t *end_ns, const LsRecord *record)
{
    *start_ns = *start_ns == LS_TIME_NONE ? record->start_ns : MIN(*start_ns, record->start_ns);
    *end_ns = MAX(*end_ns, record->end_ns);
}

static void
add_packing(Native *native, const LsRecord *record)
{
    uint32_t communicator = communicator_of(record->args[1]);
    uint32_t row = get_call(native, record->args[0], communicator);
    LsCall *call = &g_array_index(native->process->calls, LsCall, row);
    if (record->kind == LS_RECORD_PACK)
        widen(&call->pack_start_ns, &call->pack_end_ns, record);
    else
        widen(&call->unpack_start_ns, &call->unpack_end_ns, record);
    ls_track_builder_add(communication_track(native, communicator), record->start_ns,
                         record->end_ns, ls_native_name(native, record->name), row);
}

static void
add_message(Native *native, const LsRecord *record)
{
    LsMessage message = {.name = ls_native_name(native, record->name),
                         .cycle = record->args[0],
                         .start_ns = record->start_ns,
                         .end_ns = record->end_ns,
                         .messages_in = record->args[1],
                         .messages_out = record->args[2],
                         .bytes_in = record->args[3],
                         .bytes_out = record->args[4]};
    ls_rows_add(native->process->messages, &message);
}

static void
add_roundtrip(Native *native, const LsRecord *record)
{
    LsRoundtrip trip = {.peer = (int32_t)record->args[0],
                        .send_ns = record->start_ns,
                        .receive_ns = record->end_ns,
                        .peer_receive_ns = record->args[1],
                        .peer_send_ns = record->args[2]};
    ls_rows_add(native->process->roundtrips, &trip);
}

static void
add_stall(Native *native, const LsRecord *record)
{
    append_instant(native, LS_INSTANT_STALL, record, record->args[0]);
    const char *tensor =
        ls_strings_get(native->process->strings, ls_native_name(native, record->name));
    g_autofree char *text =
        g_strdup_printf("Tensor %s waited %" G_GINT64_FORMAT " ms for rank %" G_GINT64_FORMAT
                        ", which had not submitted it.",
                        tensor, record->args[1] / 1000000, record->args[0]);
    ls_native_add_finding(native, record->kind, LS_WARNING, text);
}

static void
add_peer_lost(Native *native, const LsRecord *record)
{
    append_instant(native, LS_INSTANT_PEER_LOST, record, record->args[0]);
    g_autofree char *text =
        g_strdup_printf("Rank %" G_GINT64_FORMAT " (pid %" G_GINT64_FORMAT
                        ") was lost: this rank noticed its death at %" G_GINT64_FORMAT " ns.",
                        record->args[0], record->args[1], record->start_ns);
    ls_native_add_finding(native, record->kind, LS_FAULT, text);
}

static void
add_error(Native *native, const LsRecord *record)
{
    append_instant(native, LS_INSTANT_ERROR, record, record->args[0]);
    uint32_t name = ls_native_name(native, record->name);
    ls_native_add_finding(native, record->kind, LS_FAULT,
                          ls_strings_get(native->process->strings, name));
}

static void (*const adders[LS_RECORD_KINDS])(Native *, const LsRecord *) = {
    [LS_RECORD_CLOCK] = add_clock,     [LS_RECORD_THREAD] = add_thread,
    [LS_RECORD_LOST] = add_lost,       [LS_RECORD_NOTICE] = add_notice,
    [LS_RECORD_STEP] = add_step,       [LS_RECORD_PHASE] = add_phase,
    [LS_RECORD_COUNTER] = add_counter, [LS_RECORD_INSTANT] = add_instant,
    [LS_RECORD_SUBMIT] = add_submit,   [LS_RECORD_GATE] = add_gate,
    [LS_RECORD_AGREED] = add_agreed,   [LS_RECORD_DONE] = add_done,
    [LS_RECORD_CYCLE] = add_cycle,     [LS_RECORD_STAGE] = add_stage,
    [LS_RECORD_SLEEP] = add_sleep,     [LS_RECORD_OPERATION] = add_operation,
    [LS_RECORD_PACK] = add_packing,    [LS_RECORD_UNPACK] = add_packing,
    [LS_RECORD_MESSAGE] = add_message, [LS_RECORD_ROUNDTRIP] = add_roundtrip,
    [LS_RECORD_STALL] = add_stall,     [LS_RECORD_PEER_LOST] = add_peer_lost,
    [LS_RECORD_ERROR] = add_error,
};

void
ls_native_add_record(Native *native, const LsRecord *record)
{
    if (adders[record->kind] != NULL)
        adders[record->kind](native, record);
    else
        native->unknown++;
}
