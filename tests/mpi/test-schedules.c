/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/test-schedules.c: random schedules of every control over MPI. Each rank submits the
 * same tensors from several threads, in an order and at times of its own, under a cache too small
 * for them, in groups or not, over any plane; shapes change, now and then a rank errs. What arrives
 * is exact, what errs is told to all, and all ranks execute in one order.
 *
 * One number makes a schedule; the one that fails is printed, with the ranks that repeat it.
 * LOCKSTEP_SEED=n plays schedule n alone, LOCKSTEP_SCHEDULES=n plays n of them. */
#include "play.h"
#include "support.h"

#include "capture/format.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_S 120 /* of a schedule, which takes less than a second */

typedef struct Submitter {
    Play *play;
    int index;
    pthread_t thread;
} Submitter;

static char overdue[1024];

static void
on_alarm(int number)
{
    if (write(STDERR_FILENO, overdue, strlen(overdue)) >= 0)
        abort();
}

/* All of its tensors are submitted before it waits for any, so no rank waits for itself. */
static void
submit_round(const Submitter *self, int round)
{
    Play *play = self->play;
    const ScheduleWay *way = &play->way;
    for (int k = 0; k < play->s.tensors; k++) {
        int t = way->order[round][k], first = play->s.tensor[t].bundle;
        const ScheduleTensor *tensor = &play->s.tensor[t];
        bool together = tensor->one_call && way->one_call[round][first];
        if (way->thread[round][t] != self->index || !tensor->present[round])
            continue;
        if (way->delay_us[round][t] > 0)
            g_usleep((gulong)way->delay_us[round][t]);
        if (!together)
            play_submit(play, t, round);
        else if (t == first)
            play_submit_bundle(play, first, round);
    }
}

static void *
run_submitter(void *user)
{
    const Submitter *self = user;
    Play *play = self->play;
    for (int round = 0; round < play->s.rounds; round++) {
        submit_round(self, round);
        for (int t = 0; t < play->s.tensors; t++)
            if (play->way.thread[round][t] == self->index && play->s.tensor[t].present[round])
                play_finish(&play->pieces[t]);
        if (play->way.joined)
            pthread_barrier_wait(&play->barrier);
    }
    return NULL;
}

/* Every rank executed the same, in rank 0's order. */
static void
compare_logs(const Play *play)
{
    int first[G_N_ELEMENTS(play->log) + 1];
    memcpy(first + 1, play->log, sizeof play->log);
    first[0] = play->n_log;
    MPI_Bcast(first, G_N_ELEMENTS(first), MPI_INT, 0, MPI_COMM_WORLD);
    if (first[0] != play->n_log)
        g_error("%s: rank %d executed %d tensors, rank 0 %d", play->repeat, play->s.rank,
                play->n_log, first[0]);
    for (int i = 0; i < play->n_log; i++)
        if (first[i + 1] != play->log[i])
            g_error("%s: rank %d executed %s as number %d, rank 0 %s", play->repeat, play->s.rank,
                    play->s.tensor[play->log[i] % SCHEDULE_TENSORS].name, i,
                    play->s.tensor[first[i + 1] % SCHEDULE_TENSORS].name);
}

static void
open_context(Play *play)
{
    lockstep_options options;
    lockstep_graph *graph = schedule_graph(&play->s);
    lockstep_options_init(&options);
    options.settings = play->s.settings;
    options.graph = graph;
    if (lockstep_init(&options, &play->context) != LOCKSTEP_OK)
        g_error("%s: %s", play->repeat, lockstep_last_error());
    lockstep_graph_free(graph);
}

static void
play_schedule(guint32 seed)
{
    Play *play = g_new0(Play, 1);
    Submitter submitters[SCHEDULE_THREADS];
    schedule_draw(&play->s, seed, support_ranks(), support_rank());
    schedule_draw_way(&play->s, &play->way);
    g_snprintf(play->repeat, sizeof play->repeat, "LOCKSTEP_SEED=%u on %d ranks (%s)", seed,
               play->s.ranks, play->s.settings);
    g_snprintf(overdue, sizeof overdue, "%s: not done after %d s\n", play->repeat, LIMIT_S);
    alarm(LIMIT_S);
    open_context(play);
    pthread_barrier_init(&play->barrier, NULL, (unsigned)play->way.threads);
    for (int i = 0; i < play->way.threads; i++) {
        submitters[i] = (Submitter){.play = play, .index = i};
        pthread_create(&submitters[i].thread, NULL, run_submitter, &submitters[i]);
    }
    for (int i = 0; i < play->way.threads; i++)
        pthread_join(submitters[i].thread, NULL);
    pthread_barrier_destroy(&play->barrier);
    if (lockstep_shutdown(play->context) != LOCKSTEP_OK)
        g_error("%s: rank %d, shutdown: %s", play->repeat, play->s.rank, lockstep_last_error());
    compare_logs(play);
    alarm(0);
    g_free(play);
}

/* Each number of ranks has its own. */
static void
test_sums_are_exact(void)
{
    const char *seed = g_getenv("LOCKSTEP_SEED"), *count = g_getenv("LOCKSTEP_SCHEDULES");
    guint32 schedules = g_getenv("LOCKSTEP_LONG") != NULL ? 300 : 30;
    guint32 first = (guint32)support_ranks() * 100000;
    if (count != NULL)
        schedules = (guint32)strtoul(count, NULL, 10);
    if (seed != NULL)
        play_schedule((guint32)strtoul(seed, NULL, 10));
    for (guint32 i = 0; i < schedules && seed == NULL; i++)
        play_schedule(first + i);
}

/* The schedules must contain what they are there for. */
static void
test_are_varied(void)
{
    int operations[LS_OPERATION_REDUCESCATTER + 1] = {0}, small = 0, errs = 0, calls = 0,
                                                changes = 0;
    int groups = 0;
    for (guint32 seed = 1; seed <= 30; seed++) {
        Schedule s;
        schedule_draw(&s, seed, support_ranks(), support_rank());
        small += (int)s.cache_capacity < s.tensors;
        groups += s.groups > 0;
        for (int t = 0; t < s.tensors; t++) {
            const ScheduleTensor *tensor = &s.tensor[t];
            operations[tensor->operation]++;
            errs += tensor->bad_round >= 0;
            calls += tensor->one_call && tensor->n_bundle > 1;
            for (int round = 1; round < s.rounds; round++)
                changes += tensor->rows[round] != tensor->rows[round - 1];
        }
    }
    g_assert_cmpint(operations[LS_OPERATION_ALLREDUCE], >, 100);
    g_assert_cmpint(operations[LS_OPERATION_ALLGATHER], >, 10);
    g_assert_cmpint(operations[LS_OPERATION_BROADCAST], >, 10);
    g_assert_cmpint(operations[LS_OPERATION_REDUCESCATTER], >, 10);
    g_assert_cmpint(operations[LS_OPERATION_BARRIER], >, 1);
    g_assert_cmpint(small, >, 10);
    g_assert_cmpint(groups, >, 10);
    g_assert_cmpint(errs, >, 5);
    g_assert_cmpint(calls, >, 50);
    g_assert_cmpint(changes, >, 50);
}

int
main(int argc, char **argv)
{
    support_init(&argc, &argv, MPI_THREAD_SERIALIZED);
    signal(SIGALRM, on_alarm);
    g_test_add_func("/mpi/schedules/are-varied", test_are_varied);
    g_test_add_func("/mpi/schedules/sums-are-exact", test_sums_are_exact);
    return support_run();
}
