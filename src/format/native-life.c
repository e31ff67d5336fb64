/* SPDX-License-Identifier: Apache-2.0
 *
 * format/native-life.c: the lives of tensors, buffers and cycles. Halves of one thing (a tensor's
 * submission and its end, a cycle and its stages, a call and its packing) lie in different threads'
 * chunks and come in any order: whichever comes first makes the row.
 */
#include "format/native-private.h"

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

void
ls_native_add_submit(Native *native, const LsRecord *record)
{
    UseJoin *join;
    LsUse *use = get_use(native, record, record->args[4], &join);
    use->submit_ns = record->start_ns;
    use->bytes = ls_native_amount(record->args[1], -1);
    /* The gate may have been read before, and knows the group. */
    if (use->group == LS_NONE)
        use->group = group_of(native, record->args[2]);
    use->operation = (uint8_t)record->args[3];
    use->dtype = (uint8_t)(record->args[3] >> 8);
}

void
ls_native_add_gate(Native *native, const LsRecord *record)
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

void
ls_native_add_agreed(Native *native, const LsRecord *record)
{
    UseJoin *join;
    LsUse *use = get_use(native, record, record->args[4], &join);
    use->agreed_ns = record->start_ns;
    use->position = (uint16_t)CLAMP(record->args[3], 0, UINT16_MAX);
    join_buffer(join, record->args[2]);
}

void
ls_native_add_done(Native *native, const LsRecord *record)
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

void
ls_native_add_cycle(Native *native, const LsRecord *record)
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

void
ls_native_add_cache(Native *native, const LsRecord *record)
{
    uint32_t row = get_cycle(native, record->args[0], communicator_of(record->args[1]));
    LsCycle *cycle = &g_array_index(native->process->cycles, LsCycle, row);
    if (cycle->start_ns == LS_TIME_NONE)
        cycle->start_ns = cycle->end_ns = record->start_ns;
    cycle->cache_known = true;
    cycle->hits = count_of(record->args[2]);
    cycle->misses = count_of(record->args[3]);
    cycle->invalid = (uint32_t)record->args[4];
    cycle->evicted = (uint32_t)((uint64_t)record->args[4] >> 32);
}

void
ls_native_add_stage(Native *native, const LsRecord *record)
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

/* Row of the call that executes the record's buffer. */
static uint32_t
get_call(Native *native, const LsRecord *record, uint32_t communicator)
{
    GArray *calls = native->process->calls;
    int64_t buffer = record->args[0], *heard_ns;
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
        g_array_append_val(native->call_heard_ns, record->end_ns);
    }
    heard_ns = &g_array_index(native->call_heard_ns, int64_t, row);
    *heard_ns = MAX(*heard_ns, record->end_ns);
    return row;
}

/* What a plane on a device does before its first collective: shown, and no part of the call. */
static bool
is_preparation(const char *text)
{
    return strcmp(text, "WAIT_FOR_DATA") == 0 || strcmp(text, "INIT_NCCL") == 0;
}

/* A buffer may take several operations, one after the other (hierarchical planes): one call. */
void
ls_native_add_operation(Native *native, const LsRecord *record)
{
    uint32_t communicator = communicator_of(record->args[1]);
    uint32_t row = get_call(native, record, communicator);
    LsCall *call = &g_array_index(native->process->calls, LsCall, row);
    uint32_t name = ls_native_name(native, record->name);
    if (is_preparation(ls_strings_get(native->process->strings, name))) {
        ls_track_builder_add(communication_track(native, communicator), record->start_ns,
                             record->end_ns, name, row);
        return;
    }
    if (call->start_ns == LS_TIME_NONE || record->start_ns < call->start_ns) {
        call->start_ns = record->start_ns;
        call->name = name;
    }
    call->end_ns = MAX(call->end_ns, record->end_ns);
    call->bytes = MAX(call->bytes, ls_native_amount(record->args[2], -1));
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

void
ls_native_add_packing(Native *native, const LsRecord *record)
{
    uint32_t communicator = communicator_of(record->args[1]);
    uint32_t row = get_call(native, record, communicator);
    LsCall *call = &g_array_index(native->process->calls, LsCall, row);
    if (record->kind == LS_RECORD_PACK)
        widen(&call->pack_start_ns, &call->pack_end_ns, record);
    else
        widen(&call->unpack_start_ns, &call->unpack_end_ns, record);
    ls_track_builder_add(communication_track(native, communicator), record->start_ns,
                         record->end_ns, ls_native_name(native, record->name), row);
}

void
ls_native_add_wire(Native *native, const LsRecord *record)
{
    uint32_t row = get_call(native, record, communicator_of(record->args[1]));
    g_array_index(native->process->calls, LsCall, row).wire_bytes =
        ls_native_amount(record->args[2], 0);
}
