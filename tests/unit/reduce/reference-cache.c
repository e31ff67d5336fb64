/* SPDX-License-Identifier: Apache-2.0
 *
 * reference-cache.c: the response cache and the bits, as plainly as the rules say it (facts B3 to
 * B6), with none of reduce's code.
 */
#include <string.h>

#include "schedule.h"

#include "capture/format.h"

static int
find_bit(const Schedule *s, int t)
{
    for (int bit = 0; bit < s->n_bits; bit++)
        if (s->bits[bit] == t)
            return bit;
    return -1;
}

static bool
is_queued(const Schedule *s, int rank, int t)
{
    for (int i = 0; i < s->n_queued[rank]; i++)
        if (s->queued[rank][i] == t)
            return true;
    return false;
}

/* What the rank has queued is what the cache knows. */
static bool
matches(const Schedule *s, int rank, int t)
{
    const Tensor *tensor = &s->tensor[t];
    bool spoilt = s->done[t] == tensor->bad_time && rank == tensor->bad_rank;
    return !spoilt && s->kept[t] == schedule_count(s, t, s->done[t]);
}

static void
forget_age(Schedule *s, int t)
{
    int kept = 0;
    for (int i = 0; i < s->n_ages; i++)
        if (s->age[i] != t)
            s->age[kept++] = s->age[i];
    s->n_ages = kept;
}

static void
use(Schedule *s, int t)
{
    forget_age(s, t);
    s->age[s->n_ages++] = t;
}

/* Leaves in the queues what is in the cache, and gives the rest to rank 0. */
static void
send_unknown(Schedule *s, Cycle *cycle)
{
    for (int rank = 0; rank < s->ranks; rank++) {
        int kept = 0;
        cycle->n_requests[rank] = 0;
        for (int i = 0; i < s->n_queued[rank]; i++) {
            int t = s->queued[rank][i];
            if (find_bit(s, t) >= 0)
                s->queued[rank][kept++] = t;
            else
                cycle->requests[rank][cycle->n_requests[rank]++] = t;
        }
        s->n_queued[rank] = kept;
    }
}

static void
drop_queued(Schedule *s, int t)
{
    for (int rank = 0; rank < s->ranks; rank++) {
        int kept = 0;
        for (int i = 0; i < s->n_queued[rank]; i++)
            if (s->queued[rank][i] != t)
                s->queued[rank][kept++] = s->queued[rank][i];
        s->n_queued[rank] = kept;
    }
}

int
reference_agree(Schedule *s, Cycle *cycle, int *ret_common)
{
    bool uncached = false, invalid[TENSORS_MAX] = {false}, any_invalid = false;
    int n_common = 0;
    cycle->words = ((size_t)s->n_bits + 3 + 63) / 64;
    for (int rank = 0; rank < s->ranks; rank++) {
        memcpy(&s->queued[rank][s->n_queued[rank]], cycle->requests[rank],
               (size_t)cycle->n_requests[rank] * sizeof(int));
        s->n_queued[rank] += cycle->n_requests[rank];
        for (int i = 0; i < s->n_queued[rank]; i++) {
            int t = s->queued[rank][i];
            bool known = find_bit(s, t) >= 0, changed = known && !matches(s, rank, t);
            uncached |= !known || changed;
            invalid[t] |= changed;
            any_invalid |= changed;
        }
    }
    for (int bit = 0; bit < s->n_bits; bit++) {
        int t = s->bits[bit];
        bool all = !invalid[t];
        for (int rank = 0; rank < s->ranks; rank++)
            all = all && is_queued(s, rank, t);
        if (all)
            ret_common[n_common++] = t;
    }
    for (int t = 0; t < s->tensors; t++)
        if (invalid[t]) {
            s->bits[find_bit(s, t)] = -1;
            forget_age(s, t);
            s->erased = true;
        }
    for (int i = 0; i < n_common; i++)
        drop_queued(s, ret_common[i]);
    cycle->n_words = any_invalid ? 2 : 1;
    cycle->calls = uncached ? 4 : 0;
    send_unknown(s, cycle);
    return n_common;
}

static void
keep(Schedule *s, int t)
{
    int bit = find_bit(s, t);
    if (bit < 0) {
        bit = s->n_bits;
        if (s->n_ages == (int)s->config.cache_capacity) {
            bit = find_bit(s, s->age[0]);
            forget_age(s, s->age[0]);
        } else {
            s->n_bits++;
        }
        s->bits[bit] = t;
        s->kept[t] = schedule_count(s, t, s->done[t] - 1); /* it has been answered */
    }
    use(s, t);
}

void
reference_keep(Schedule *s, const Cycle *cycle, bool round)
{
    for (int i = 0; i < cycle->n_buffers; i++) {
        const Buffer *buffer = &cycle->buffers[i];
        if (buffer->operation == LS_OPERATION_ALLREDUCE && round)
            for (int k = 0; k < buffer->n; k++)
                keep(s, buffer->tensor[k]);
    }
    /* By bit, not by buffer. */
    for (int bit = 0; bit < s->n_bits && !round; bit++)
        for (int i = 0; i < cycle->n_buffers; i++)
            for (int k = 0; k < cycle->buffers[i].n; k++)
                if (cycle->buffers[i].tensor[k] == s->bits[bit])
                    use(s, s->bits[bit]);
    if (!s->erased)
        return;
    s->n_bits = s->n_ages;
    memcpy(s->bits, s->age, (size_t)s->n_ages * sizeof *s->bits);
    s->erased = false;
}
