/* SPDX-License-Identifier: Apache-2.0
 *
 * reference.c: what a cycle must answer, as plainly as the rules say it (facts B2, B7, B8, B9),
 * with none of reduce's code.
 */
#include <string.h>

#include "schedule.h"

#include "capture/format.h"
#include "reduce/lockstep.h"

static bool
fuses(const Buffer *buffer)
{
    return buffer->operation == LS_OPERATION_ALLREDUCE ||
           buffer->operation == LS_OPERATION_REDUCESCATTER;
}

static int64_t
padded_bytes(const Schedule *s, const Tensor *tensor, int64_t count)
{
    static const int width[] = {4, 8, 2, 2, 1, 1, 4, 8};
    int64_t bytes = count * width[tensor->dtype];
    if (s->config.fusion_padding_bytes == 16 && tensor->operation == LS_OPERATION_ALLREDUCE)
        bytes = (bytes + 15) / 16 * 16;
    return bytes;
}

static Buffer
ready_buffer(Schedule *s, int t)
{
    const Tensor *tensor = &s->tensor[t];
    Buffer buffer = {.ranks = UINT64_MAX, .n = 1, .tensor = {t}};
    buffer.count = schedule_count(s, t, s->done[t]);
    if (s->done[t] == tensor->bad_time) {
        buffer.operation = LS_OPERATION_ERROR;
        buffer.status = LOCKSTEP_ERR_MISMATCH;
    } else {
        buffer.operation = tensor->operation;
        buffer.dtype = tensor->dtype;
        buffer.reduction = tensor->reduction;
        buffer.root = tensor->root;
        buffer.bytes = fuses(&buffer) ? padded_bytes(s, tensor, buffer.count) : 0;
    }
    s->status[t][s->done[t]++] = buffer.status;
    return buffer;
}

static bool
joins(const Buffer *head, const Buffer *other, int64_t threshold)
{
    return fuses(head) && head->operation == other->operation && head->dtype == other->dtype &&
           head->reduction == other->reduction && head->bytes + other->bytes <= threshold;
}

/* Takes the head of the queue, scans the rest from the front, puts the skipped back: to the letter.
 */
static int
fuse(const Schedule *s, Buffer *queue, int n, Buffer *ret_buffers)
{
    int64_t threshold = s->config.fusion_threshold_bytes;
    int made = 0;
    while (n > 0) {
        Buffer head = queue[0], aside[TENSORS_MAX];
        int n_aside = 0, at = 1;
        int64_t skipped = 0;
        while (at < n && threshold > 0 && fuses(&head)) {
            const Buffer *candidate = &queue[at++];
            if (joins(&head, candidate, threshold)) {
                head.tensor[head.n++] = candidate->tensor[0];
                head.bytes += candidate->bytes;
                continue;
            }
            aside[n_aside++] = *candidate;
            skipped += candidate->bytes;
            if (head.bytes + skipped > threshold)
                break;
        }
        ret_buffers[made++] = head;
        memmove(queue + n_aside, queue + at, (size_t)(n - at) * sizeof *queue);
        memcpy(queue, aside, (size_t)n_aside * sizeof *queue);
        n = n_aside + n - at;
    }
    return made;
}

static void
stop_waiting(Schedule *s, int t)
{
    int kept = 0;
    for (int i = 0; i < s->n_waiting; i++)
        if (s->waiting[i] != t)
            s->waiting[kept++] = s->waiting[i];
    s->n_waiting = kept;
    s->seen[t] = 0;
}

static void
fail_stalled(Schedule *s, Cycle *cycle)
{
    for (int i = 0; i < s->n_waiting; i++) {
        int t = s->waiting[i];
        if (s->config.stall_limit_ns == 0 ||
            cycle->now_ns - s->first_ns[t] < s->config.stall_limit_ns)
            continue;
        cycle->buffers[cycle->n_buffers++] = (Buffer){.operation = LS_OPERATION_ERROR,
                                                      .status = LOCKSTEP_ERR_STALLED,
                                                      .ranks = s->seen[t],
                                                      .n = 1,
                                                      .tensor = {t}};
        for (int rank = 0; rank < s->ranks; rank++)
            s->owed[rank][t] += (s->seen[t] >> rank & 1) == 0;
        s->status[t][s->done[t]++] = LOCKSTEP_ERR_STALLED;
        stop_waiting(s, t);
        i--;
    }
}

/* Who is complete now, in the order in which they became so. */
static int
count_requests(Schedule *s, Cycle *cycle, int *ready)
{
    int n_ready = 0;
    for (int rank = 0; rank < s->ranks; rank++)
        for (int i = 0; i < cycle->n_requests[rank]; i++) {
            int t = cycle->requests[rank][i];
            if (s->owed[rank][t] > 0) {
                s->owed[rank][t]--;
                cycle->late[rank][cycle->n_late[rank]++] = t;
                continue;
            }
            cycle->path = LS_PATH_SLOW;
            if (s->seen[t] == 0) {
                s->first_ns[t] = cycle->now_ns;
                s->waiting[s->n_waiting++] = t;
            }
            s->seen[t] |= UINT64_C(1) << rank;
            if (s->seen[t] == UINT64_MAX >> (64 - s->ranks))
                ready[n_ready++] = t;
        }
    return n_ready;
}

/* Alone: each group by itself in the place of its first tensor, then what is in none. */
static int
fuse_groups(const Schedule *s, Buffer *queue, int n, Buffer *ret_buffers)
{
    int made = 0;
    if (!s->config.groups_alone || s->groups == NULL)
        return fuse(s, queue, n, ret_buffers);
    for (int i = 0; i <= n; i++) {
        int group = i < n ? s->tensor[queue[i].tensor[0]].group : -1, n_part = 0;
        Buffer part[TENSORS_MAX];
        bool first = i == n || group >= 0;
        for (int k = 0; k < i && i < n; k++)
            first = first && s->tensor[queue[k].tensor[0]].group != group;
        for (int k = 0; k < n && first; k++)
            if (s->tensor[queue[k].tensor[0]].group == group)
                part[n_part++] = queue[k];
        made += fuse(s, part, n_part, ret_buffers + made);
    }
    return made;
}

void
reference_cycle(Schedule *s, Cycle *cycle)
{
    int ready[TENSORS_MAX], common[TENSORS_MAX], n_common = 0;
    Buffer queue[TENSORS_MAX];
    bool bitvector = s->class == &ls_control_bitvector;
    cycle->calls = 4;
    if (bitvector && s->config.cache_capacity > 0)
        n_common = reference_agree(s, cycle, common);
    int n_ready = count_requests(s, cycle, ready);
    for (int i = 0; i < n_common; i++)
        queue[i] = ready_buffer(s, common[i]);
    for (int i = 0; i < n_ready; i++) {
        queue[n_common + i] = ready_buffer(s, ready[i]);
        stop_waiting(s, ready[i]);
    }
    cycle->n_buffers = fuse_groups(s, queue, n_common + n_ready, cycle->buffers);
    fail_stalled(s, cycle);
    if (n_common > 0)
        cycle->path = cycle->calls > 0 ? LS_PATH_MIXED : LS_PATH_BYPASS;
    else if (cycle->n_buffers > 0)
        cycle->path = LS_PATH_SLOW;
    if (bitvector && s->config.cache_capacity > 0)
        reference_keep(s, cycle, cycle->calls > 0);
    cycle->clock_peer = -1;
    if (s->config.clock_peers > 0 && cycle->now_ns >= s->clock_next_ns) {
        cycle->clock_peer = s->clock_peer++ % s->config.clock_peers;
        s->clock_next_ns = cycle->now_ns + s->config.clock_interval_ns;
    }
    cycle->judged = true;
}
