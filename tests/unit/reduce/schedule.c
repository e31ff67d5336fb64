/* SPDX-License-Identifier: Apache-2.0
 *
 * schedule.c: draws a schedule. Submissions lie within a span of about thirty cycles; half of the
 * tensors come again after they were answered; some ranks differ in one field once.
 */
#include "schedule.h"

#include <stdlib.h>
#include <string.h>

#include "capture/format.h"
#include "reduce/lockstep.h"

int64_t
schedule_random(Schedule *s, int64_t below)
{
    return below < 1 ? 0 : (int64_t)(g_rand_double(s->random) * (double)below);
}

static bool
chance(Schedule *s, int percent)
{
    return g_rand_int_range(s->random, 0, 100) < percent;
}

static void
draw_tensor(Schedule *s, int t)
{
    static const int64_t counts[] = {0, 1, 7, 100, 1000, 3000};
    Tensor *tensor = &s->tensor[t];
    g_snprintf(tensor->name, sizeof tensor->name, "layer%d/%s", t, chance(s, 50) ? "w" : "bias");
    if (t == 0 && chance(s, 30))
        tensor->name[0] = '\0'; /* a name like any other */
    tensor->operation = chance(s, 75)   ? LS_OPERATION_ALLREDUCE
                        : chance(s, 50) ? LS_OPERATION_BROADCAST
                                        : LS_OPERATION_REDUCESCATTER;
    tensor->dtype = chance(s, 60) ? LOCKSTEP_FLOAT32 : (uint8_t)schedule_random(s, 8);
    if (tensor->operation != LS_OPERATION_BROADCAST)
        tensor->reduction = chance(s, 80) ? LOCKSTEP_SUM : (uint8_t)schedule_random(s, 5);
    else
        tensor->root = (int32_t)schedule_random(s, s->ranks);
    tensor->count = counts[schedule_random(s, G_N_ELEMENTS(counts))];
    tensor->times = 1 + (chance(s, 50) ? (int)schedule_random(s, TIMES_MAX) : 0);
    tensor->count_later = counts[schedule_random(s, G_N_ELEMENTS(counts))];
    tensor->change_time = chance(s, 25) ? (int)schedule_random(s, tensor->times) : TIMES_MAX;
    tensor->group = -1;
    tensor->bad_time = chance(s, 8) ? (int)schedule_random(s, tensor->times) : -1;
    tensor->bad_rank = (int)schedule_random(s, s->ranks);
    tensor->bad_field = (Field)schedule_random(s, FIELDS);
}

static void
draw_rank(Schedule *s, int rank)
{
    int64_t rank_delay_ns = chance(s, 30) ? schedule_random(s, s->span_ns) : 0;
    s->rank[rank] = (Rank){s, rank};
    for (int i = 0; i < s->tensors; i++) {
        int k = (int)schedule_random(s, i + 1); /* a random order */
        s->order[rank][i] = s->order[rank][k];
        s->order[rank][k] = i;
        s->submit_ns[rank][i] = rank_delay_ns + schedule_random(s, s->span_ns);
    }
}

/* Neighbours go together; members come equally often, or the group would never be complete. */
static void
draw_groups(Schedule *s)
{
    char error[256];
    s->groups = ls_groups_new();
    for (int first = 0, n; first < s->tensors; first += n) {
        const char *names[TENSORS_MAX];
        n = 1 + (int)schedule_random(s, MIN(5, s->tensors - first));
        for (int i = 0; i < n; i++) {
            names[i] = s->tensor[first + i].name;
            s->tensor[first + i].times = s->tensor[first].times;
        }
        if (chance(s, 20))
            continue;
        for (int i = 0; i < n; i++)
            s->tensor[first + i].group = ls_groups_count(s->groups);
        g_assert_null(ls_groups_add(s->groups, names, (size_t)n, error));
    }
    s->config.groups = s->groups;
    s->config.groups_alone = chance(s, 50);
}

int64_t
schedule_count(const Schedule *s, int t, int occurrence)
{
    const Tensor *tensor = &s->tensor[t];
    return occurrence >= tensor->change_time ? tensor->count_later : tensor->count;
}

Schedule *
schedule_new(uint32_t seed, const LsControlClass *class)
{
    static const size_t capacities[] = {0, 3, 8, 1024};
    static const int64_t thresholds[] = {0, 400, 4000, 20000, INT64_C(1) << 26};
    Schedule *s = g_new0(Schedule, 1);
    s->seed = seed;
    s->class = class;
    s->random = g_rand_new_with_seed(seed);
    s->ranks = g_rand_int_range(s->random, 2, chance(s, 95) ? 17 : RANKS_MAX + 1);
    s->tensors = g_rand_int_range(s->random, 1, TENSORS_MAX + 1);
    s->cycle_ns = 1000 + schedule_random(s, 2000000);
    s->cost.alpha_ns = schedule_random(s, s->cycle_ns / 20);
    s->cost.beta_ps = schedule_random(s, 10000);
    s->cost.jitter_ns = schedule_random(s, s->cycle_ns / 20);
    s->cost.seed = seed;
    s->span_ns = s->cycle_ns * (1 + schedule_random(s, 20));
    s->leaver = chance(s, 20) ? (int)schedule_random(s, s->ranks) : -1;
    s->leave_ns = schedule_random(s, 2 * s->span_ns);
    s->config.ranks = s->ranks;
    s->config.fusion_threshold_bytes = thresholds[schedule_random(s, G_N_ELEMENTS(thresholds))];
    s->config.fusion_padding_bytes = chance(s, 50) ? 1 : 16;
    bool stalls = class == &ls_control_coordinator && chance(s, 25);
    s->config.stall_limit_ns = stalls ? s->span_ns / 2 + 1 : 0;
    s->config.cache_capacity = capacities[schedule_random(s, G_N_ELEMENTS(capacities))];
    s->config.tree_radix = (int)schedule_random(s, 5);
    s->config.poll_ns = chance(s, 50) ? schedule_random(s, s->cycle_ns) : 0;
    s->config.clock_peers = (int)schedule_random(s, 4);
    s->config.clock_interval_ns = schedule_random(s, 5 * s->cycle_ns);
    s->clock_next_ns = INT64_MIN;
    for (int t = 0; t < s->tensors; t++)
        draw_tensor(s, t);
    if (!stalls && chance(s, 50))
        draw_groups(s);
    for (int t = 0; t < s->tensors; t++)
        s->open += s->ranks * s->tensor[t].times;
    for (int rank = 0; rank < s->ranks; rank++)
        draw_rank(s, rank);
    return s;
}

void
schedule_free(Schedule *s)
{
    ls_groups_free(s->groups);
    g_rand_free(s->random);
    g_free(s);
}

const char *
schedule_field_text(Field field)
{
    static const char *const texts[] = {"dtype is", "operation is", "shape is", " is "};
    return texts[field];
}

static void
spoil(const Schedule *s, const Tensor *tensor, LsRequest *request)
{
    switch (tensor->bad_field) {
    case FIELD_DTYPE:
        request->dtype = (uint8_t)((request->dtype + 1) % 8);
        break;
    case FIELD_OPERATION:
        request->operation = request->operation == LS_OPERATION_ALLREDUCE ? LS_OPERATION_BROADCAST
                                                                          : LS_OPERATION_ALLREDUCE;
        break;
    case FIELD_SHAPE:
        request->shape[1]++;
        break;
    default:
        if (request->operation == LS_OPERATION_BROADCAST)
            request->root = (request->root + 1) % s->ranks;
        else
            request->reduction = (uint8_t)((request->reduction + 1) % 5);
        break;
    }
}

/* The library copies with malloc's own functions, which g_ need not be. */
LsRequest
schedule_request(const Schedule *s, int rank, int t)
{
    const Tensor *tensor = &s->tensor[t];
    LsRequest request = {.rank = rank,
                         .operation = tensor->operation,
                         .dtype = tensor->dtype,
                         .reduction = tensor->reduction,
                         .root = tensor->root,
                         .ndim = 2};
    request.name = strdup(tensor->name);
    request.shape = calloc(2, sizeof *request.shape);
    request.shape[0] = schedule_count(s, t, s->submitted[rank][t]);
    request.shape[1] = 1;
    if (tensor->bad_time == s->submitted[rank][t] && rank == tensor->bad_rank)
        spoil(s, tensor, &request);
    return request;
}
