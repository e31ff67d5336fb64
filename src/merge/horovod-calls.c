/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/horovod-calls.c: the buffers of a rank. Horovod moves them one after the other on the
 * thread of its control, the same on all ranks: a rank's call of MPI for a buffer is the next one
 * that fits it in operation, size and time. Where none was recorded (NCCL, Gloo) the call begins
 * when the teller's does, which is said.
 */
#include "merge/horovod-private.h"

#define PADDING_BYTES 64 /* Horovod begins each tensor in the fusion buffer at a multiple of it */

static bool
is_data(const LsMpiCall *call)
{
    switch (call->operation) {
    case LS_OPERATION_ALLREDUCE:
    case LS_OPERATION_ALLGATHER:
    case LS_OPERATION_BROADCAST:
    case LS_OPERATION_ALLTOALL:
    case LS_OPERATION_REDUCESCATTER:
        return true;
    default:
        return false;
    }
}

/* On the control's thread alone, where there is one: Horovod moves its buffers there. */
void
ls_member_list_data(LsMember *member)
{
    const GArray *calls = member->process->mpi_calls;
    uint32_t thread = 0;
    bool known = false;

    for (guint i = 0; i < calls->len && !known; i++) {
        known = member->taken[i] != 0;
        thread = g_array_index(calls, LsMpiCall, i).thread;
    }
    for (uint32_t i = 0; i < calls->len; i++) {
        const LsMpiCall *call = &g_array_index(calls, LsMpiCall, i);

        if (!member->taken[i] && is_data(call) && (!known || call->thread == thread))
            g_array_append_val(member->data, i);
    }
}

static bool
fits(const LsMpiCall *data, uint8_t operation, int64_t bytes, int64_t tensors)
{
    if (data->operation != operation)
        return false;
    if (operation != LS_OPERATION_ALLREDUCE || bytes < 0 || data->bytes < 0)
        return true;
    return data->bytes >= bytes && data->bytes <= bytes + PADDING_BYTES * tensors;
}

/* This rank's call of MPI for the buffer that the teller calls `told`; NULL. */
static const LsMpiCall *
find_data(LsMember *member, const LsCall *told, int64_t tensors)
{
    for (guint i = member->next; i < member->data->len; i++) {
        uint32_t row = g_array_index(member->data, uint32_t, i);
        const LsMpiCall *data = &g_array_index(member->process->mpi_calls, LsMpiCall, row);

        if (data->start_ns > told->end_ns + member->slack_ns)
            return NULL;
        if (data->end_ns + member->slack_ns < told->start_ns ||
            !fits(data, told->operation, told->bytes, tensors))
            continue;
        member->next = i + 1;
        member->taken[row] = 1;
        return data;
    }
    return NULL;
}

static void
set_times(LsCall *call, const LsMpiCall *data)
{
    call->start_ns = data->start_ns;
    call->end_ns = data->end_ns;
    call->device_timed = true;
}

static void
add_call(LsProcess *process, const LsCall *call)
{
    ls_track_builder_add(
        ls_process_get_track(process, LS_TRACK_COMMUNICATION, "communication", "operation", -1),
        call->start_ns, call->end_ns, call->name, process->calls->len);
    ls_rows_add(process->calls, call);
}

void
ls_member_copy_call(LsMember *member, const LsDeeds *deeds, const LsCall *told, uint32_t tensors,
                    int64_t submit_ns, int64_t done_ns)
{
    const LsMpiCall *data = find_data(member, told, tensors);
    LsCall call = *told;

    call.name = ls_strings_add(member->process->strings,
                               ls_strings_get(deeds->teller->strings, told->name));
    call.device_timed = false;
    call.pack_start_ns = call.pack_end_ns = call.unpack_start_ns = call.unpack_end_ns =
        LS_TIME_NONE;
    if (data != NULL) {
        set_times(&call, data);
    } else {
        call.start_ns = MAX(told->start_ns, submit_ns);
        call.end_ns = MAX(done_ns, call.start_ns);
        member->inferred++;
    }
    add_call(member->process, &call);
}

void
ls_member_time_call(LsMember *member, LsCall *told, uint32_t tensors)
{
    const LsMpiCall *data = find_data(member, told, tensors);

    if (data != NULL)
        set_times(told, data);
}

/* Uses that were done within [start, end), of a process whose uses are sorted by it, from *at on.
 */
static uint32_t
find_done(LsProcess *process, guint *at, int64_t start_ns, int64_t end_ns, int64_t *ret_bytes)
{
    uint32_t n = 0;

    *ret_bytes = 0;
    while (*at < process->uses->len && g_array_index(process->uses, LsUse, *at).done_ns < start_ns)
        (*at)++;
    for (guint i = *at; i < process->uses->len; i++, n++) {
        const LsUse *use = &g_array_index(process->uses, LsUse, i);

        if (use->done_ns >= end_ns)
            break;
        *ret_bytes = use->bytes < 0 || *ret_bytes < 0 || use->bytes > LS_AMOUNT_MAX - *ret_bytes
                         ? -1
                         : *ret_bytes + use->bytes;
    }
    return n;
}

static void
add_found(LsMember *member, const LsMpiCall *data, guint first, uint32_t n, int64_t bytes)
{
    LsProcess *process = member->process;
    LsUse *uses = &g_array_index(process->uses, LsUse, first);
    LsCall call = {.name = data->name,
                   .sequence = uses[0].occurrence,
                   .operation = data->operation,
                   .dtype = 255,
                   .reduction = 255,
                   .tensors = n,
                   .bytes = bytes,
                   .pack_start_ns = LS_TIME_NONE,
                   .pack_end_ns = LS_TIME_NONE,
                   .unpack_start_ns = LS_TIME_NONE,
                   .unpack_end_ns = LS_TIME_NONE,
                   .buffer = LS_NONE};

    set_times(&call, data);
    for (uint32_t i = 0; i < n; i++) {
        uses[i].call = process->calls->len;
        uses[i].position = (uint16_t)MIN(i, UINT16_MAX);
    }
    add_call(process, &call);
}

void
ls_member_find_calls(LsMember *member)
{
    const LsMpiCall *calls = (const LsMpiCall *)(void *)member->process->mpi_calls->data;
    guint at = 0;

    for (guint i = 0; i < member->data->len; i++) {
        uint32_t row = g_array_index(member->data, uint32_t, i);
        int64_t bytes, next_ns = INT64_MAX;
        uint32_t n;

        if (i + 1 < member->data->len)
            next_ns = calls[g_array_index(member->data, uint32_t, i + 1)].start_ns;
        n = find_done(member->process, &at, calls[row].end_ns, next_ns, &bytes);
        if (n == 0 || !fits(&calls[row], calls[row].operation, bytes, n))
            continue;
        add_found(member, &calls[row], at, n, bytes);
        member->taken[row] = 1;
    }
}
