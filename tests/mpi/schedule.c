/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/schedule.c: draws a schedule from its seed. Tensors come in bundles of neighbours,
 * which are together in all they do; shapes change between rounds, a rank now and then errs once.
 * What a rank does on its own (threads, order, delays) has a stream of numbers of its own. */
#include "schedule.h"

#include "capture/format.h"
#include "support.h"

#include <string.h>

static bool
chance(GRand *random, int percent)
{
    return g_rand_int_range(random, 0, 100) < percent;
}

/* 0 ... below - 1 */
static int
draw(GRand *random, int below)
{
    return below > 1 ? g_rand_int_range(random, 0, below) : 0;
}

#define PICK(random, choices) ((choices)[draw(random, (int)G_N_ELEMENTS(choices))])

static void
draw_shapes(GRand *random, ScheduleTensor *tensor)
{
    static const int64_t rows[] = {0, 1, 2, 3, 7, 40, 300}, columns[] = {1, 1, 3, 16};
    for (int round = 0; round < SCHEDULE_ROUNDS; round++) {
        if (round > 0 && !chance(random, 12)) {
            tensor->rows[round] = tensor->rows[round - 1];
            tensor->step[round] = tensor->step[round - 1];
            tensor->columns[round] = tensor->columns[round - 1];
            continue;
        }
        tensor->rows[round] = chance(random, 3) ? 20011 : PICK(random, rows);
        tensor->step[round] = draw(random, 4);
        tensor->columns[round] = PICK(random, columns);
    }
}

static void
draw_tensor(GRand *random, const Schedule *s, ScheduleTensor *tensor)
{
    tensor->operation = chance(random, 60)   ? LS_OPERATION_ALLREDUCE
                        : chance(random, 30) ? LS_OPERATION_BROADCAST
                        : chance(random, 45) ? LS_OPERATION_ALLGATHER
                        : chance(random, 80) ? LS_OPERATION_REDUCESCATTER
                                             : LS_OPERATION_BARRIER;
    tensor->dtype = chance(random, 40) ? LOCKSTEP_FLOAT32 : (lockstep_dtype)draw(random, 8);
    tensor->op = chance(random, 60) ? LOCKSTEP_SUM : (lockstep_op)draw(random, 5);
    tensor->root = draw(random, s->ranks);
    draw_shapes(random, tensor);
    bool errs = chance(random, 5) && tensor->operation != LS_OPERATION_BARRIER;
    tensor->bad_round = errs ? draw(random, s->rounds) : -1;
    tensor->bad_rank = draw(random, s->ranks);
}

/* From `first` on; returns how many. */
static int
draw_bundle(GRand *random, Schedule *s, int first)
{
    int n = 1 + draw(random, MIN(5, s->tensors - first));
    const ScheduleTensor *head = &s->tensor[first];
    bool grouped = chance(random, 40), one_call = chance(random, 40);
    int often = chance(random, 50) ? 85 : 30;
    for (int t = first; t < first + n; t++) {
        ScheduleTensor *tensor = &s->tensor[t];
        g_snprintf(tensor->name, sizeof tensor->name, "layer%d/%d", first, t);
        draw_tensor(random, s, tensor);
        if (one_call) { /* which is for allreduces of one kind */
            tensor->operation = LS_OPERATION_ALLREDUCE;
            tensor->op = head->op;
        }
        for (int round = 0; round < SCHEDULE_ROUNDS; round++)
            tensor->present[round] = t > first ? head->present[round] : chance(random, often);
        tensor->bundle = first;
        tensor->n_bundle = n;
        tensor->grouped = grouped;
        tensor->one_call = one_call;
    }
    s->groups += grouped;
    return n;
}

static void
draw_settings(GRand *random, Schedule *s)
{
    static const char *const controls[] = {"coordinator", "bitvector", "tree"};
    static const char *const planes[] = {"auto",         "mpi",    "ring",  "halving",
                                         "hierarchical", "hybrid", "server"};
    static const char *const thresholds[] = {"0", "400", "4000", "64K", "128M"};
    static const char *const times[] = {"0", "0.2", "1", "3"};
    static const char *const idle_times[] = {"0", "1", "64"};
    static const char *const intervals[] = {"0", "1", "200"};
    bool small = chance(random, 70), hosts = chance(random, 30);
    int each = 1 + draw(random, s->ranks);
    s->cache_capacity = small ? (size_t)(1 + draw(random, s->tensors)) : 1024;
    g_snprintf(s->settings, sizeof s->settings,
               "control=%s;cache_capacity=%d;plane=%s;servers=%d;fusion_threshold_bytes=%s;"
               "cycle_start=%s;cycle_time_ms=%s;idle_time_ms=%s;tree_radix=%d;group_alone=%d;"
               "watcher=%s;clock_interval_ms=%s",
               controls[s->seed % 3], (int)s->cache_capacity, PICK(random, planes),
               draw(random, s->ranks + 1), PICK(random, thresholds),
               chance(random, 70) ? "event" : "clock", PICK(random, times),
               PICK(random, idle_times), draw(random, 5), draw(random, 2),
               chance(random, 80) ? "auto" : "poll", PICK(random, intervals));
    if (s->groups > 0)
        g_strlcat(s->settings, ";grouping=lists", sizeof s->settings);
    g_autofree char *host = g_strdup_printf(";host=h%d", s->rank / each);
    if (hosts)
        g_strlcat(s->settings, host, sizeof s->settings);
}

void
schedule_draw(Schedule *s, guint32 seed, int ranks, int rank)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    memset(s, 0, sizeof *s);
    s->seed = seed;
    s->ranks = ranks;
    s->rank = rank;
    s->tensors = 1 + draw(random, SCHEDULE_TENSORS);
    s->rounds = 2 + draw(random, SCHEDULE_ROUNDS - 1);
    for (int first = 0; first < s->tensors;)
        first += draw_bundle(random, s, first);
    draw_settings(random, s);
}

void
schedule_draw_way(const Schedule *s, ScheduleWay *way)
{
    const guint32 seeds[] = {s->seed, (guint32)s->rank + 1};
    g_autoptr(GRand) random = g_rand_new_with_seed_array(seeds, G_N_ELEMENTS(seeds));
    static const int delays_us[] = {100, 300, 3000};
    int delay_us = PICK(random, delays_us);
    memset(way, 0, sizeof *way);
    way->threads = 3 + draw(random, SCHEDULE_THREADS - 2);
    way->joined = chance(random, 50);
    for (int round = 0; round < s->rounds; round++) {
        for (int t = 0; t < s->tensors; t++) {
            int other = draw(random, t + 1); /* a random order */
            way->order[round][t] = way->order[round][other];
            way->order[round][other] = t;
            bool moves = way->joined || round == 0; /* else it might be on its way elsewhere */
            way->thread[round][t] = moves ? draw(random, way->threads) : way->thread[0][t];
            way->delay_us[round][t] = chance(random, 30) ? draw(random, delay_us) : 0;
            way->in_place[round][t] = chance(random, 50);
            way->one_call[round][t] = chance(random, 70);
            way->end[round][t] = (ScheduleEnd)draw(random, SCHEDULE_ENDS);
        }
        for (int t = 0; t < s->tensors; t++) /* a call is one thread's */
            if (s->tensor[t].one_call)
                way->thread[round][t] = way->thread[round][s->tensor[t].bundle];
    }
}

lockstep_graph *
schedule_graph(const Schedule *s)
{
    lockstep_graph *graph = lockstep_graph_new();
    for (int t = 0; t < s->tensors; t += s->tensor[t].n_bundle) {
        const char *names[SCHEDULE_TENSORS];
        int n = s->tensor[t].n_bundle;
        for (int i = 0; i < n; i++)
            names[i] = s->tensor[t + i].name;
        if (s->tensor[t].grouped)
            assert_status(lockstep_graph_group(graph, names, (size_t)n), LOCKSTEP_OK);
    }
    return graph;
}

int64_t
schedule_rows(const ScheduleTensor *tensor, int round, int rank)
{
    return tensor->rows[round] +
           (tensor->operation == LS_OPERATION_ALLGATHER ? rank * tensor->step[round] : 0);
}

bool
schedule_is_bad(const ScheduleTensor *tensor, int round)
{
    return tensor->bad_round == round;
}

lockstep_dtype
schedule_dtype(const ScheduleTensor *tensor, int round, int rank)
{
    bool bad = schedule_is_bad(tensor, round) && rank == tensor->bad_rank;
    return bad ? (lockstep_dtype)((tensor->dtype + 4) % 8) : tensor->dtype;
}
