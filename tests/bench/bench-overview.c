/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/bench/bench-overview.c: the overview of a whole machine: RANKS ranks over STEPS steps, one
 * buffer a step, each rank late by chance. How long the model takes, made once; an update that only
 * moves the pointer's frame; one after ranks were put in another order; beside a memset of the
 * cells. Thread CPU time, the best of ROUNDS. `bench-overview [RANKS [STEPS]]`.
 */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "layout/scene.h"
#include "trace/builder.h"

enum { ROUNDS = 5, STEP_NS = 1000000 };

static double
now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static LsProcess *
make_process(int rank, int world, int n_steps, GRand *random)
{
    LsProcess *process = ls_process_new(LS_SOURCE_OTHER);
    process->rank.rank = rank;
    process->rank.world = world;
    process->rank.clock_method = rank == 0 ? LS_CLOCK_REFERENCE : LS_CLOCK_SAME_BOOT;
    uint32_t name = ls_strings_add(process->strings, "MPI_ALLREDUCE");
    LsTrackBuilder *track =
        ls_process_get_track(process, LS_TRACK_COMMUNICATION, "communication", "call", 0);
    for (int s = 0; s < n_steps; s++) {
        int64_t start = (int64_t)s * STEP_NS, call = start + g_rand_int_range(random, 1, 500000);
        LsStep step = {.number = s, .start_ns = start, .end_ns = start + STEP_NS};
        LsCall row = {.name = name,
                      .sequence = s,
                      .tensors = 1,
                      .bytes = 1 << 20,
                      .device_timed = true,
                      .start_ns = call,
                      .end_ns = start + 700000,
                      .pack_start_ns = LS_TIME_NONE,
                      .pack_end_ns = LS_TIME_NONE,
                      .unpack_start_ns = LS_TIME_NONE,
                      .unpack_end_ns = LS_TIME_NONE,
                      .buffer = (uint32_t)s};
        ls_track_builder_add(track, row.start_ns, row.end_ns, name, (uint32_t)s);
        ls_rows_add(process->steps, &step);
        ls_rows_add(process->calls, &row);
    }
    return process;
}

static LsClass
classify(void *user, uint8_t source, const LsTrackBuilder *track, const char *category,
         const char *name)
{
    return LS_CLASS_COMMUNICATION;
}

static LsTrace *
make_trace(int n_ranks, int n_steps)
{
    LsBuilder *builder = ls_builder_new(classify, NULL);
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    g_autofree LsBuffer *buffers = g_new0(LsBuffer, n_steps);
    g_autofree uint32_t *refs = g_new(uint32_t, (size_t)n_steps * (size_t)n_ranks);
    for (int r = 0; r < n_ranks; r++)
        ls_builder_take(builder, make_process(r, n_ranks, n_steps, random));
    for (int s = 0; s < n_steps; s++) {
        buffers[s] = (LsBuffer){.first_call_ref = (uint32_t)(s * n_ranks),
                                .n_calls = (uint32_t)n_ranks,
                                .ranks_expected = (uint32_t)n_ranks,
                                .pairing_exact = true};
        for (int r = 0; r < n_ranks; r++)
            refs[s * n_ranks + r] = (uint32_t)(r * n_steps + s);
    }
    size_t n_calls;
    LsCall *calls = ls_builder_get_calls(builder, &n_calls);
    for (size_t i = 0; i < n_calls; i++)
        calls[i].buffer = (uint32_t)(i % (size_t)n_steps);
    ls_builder_set_buffers(builder, buffers, (size_t)n_steps, refs,
                           (size_t)n_steps * (size_t)n_ranks);
    return ls_builder_freeze(builder);
}

/* The best of some updates; `turn`: the ranks go round by one each time. */
static double
update(LsScene *scene, LsView *view, bool turn)
{
    double best = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        for (uint32_t r = 0; turn && r < view->n_ranks; r++)
            view->order[r] = (view->order[r] + 1) % view->n_ranks;
        double start = now_ms();
        ls_scene_update(scene, view);
        best = MIN(best, now_ms() - start);
    }
    return best;
}

static double
clear_cells(size_t n)
{
    g_autofree LsCell *cells = g_new(LsCell, n);
    double best = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        double start = now_ms();
        memset(cells, i, n * sizeof *cells);
        best = MIN(best, now_ms() - start);
    }
    return best;
}

int
main(int argc, char **argv)
{
    int n_ranks = argc > 1 ? atoi(argv[1]) : 27600, n_steps = argc > 2 ? atoi(argv[2]) : 100;
    g_autoptr(LsTrace) trace = make_trace(n_ranks, n_steps);
    double start = now_ms();
    LsActivity *activity = ls_activity_new(trace);
    double active = now_ms();
    LsModel *model = ls_model_new(trace, activity);
    double modelled = now_ms();
    LsScene *scene = ls_scene_new(model);
    LsView view;
    ls_view_init(&view, model, 1920, 1080, 1);
    ls_view_set_mode(&view, model, LS_VIEW_OVERVIEW);
    double turned = update(scene, &view, true), still = update(scene, &view, false);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("# %d ranks, %d steps: activity %.0f ms, model %.0f ms, once\n", n_ranks, n_steps,
           active - start, modelled - active);
    printf("# update %.2f ms, in another order %.2f ms, memset of the cells %.2f ms\n", still,
           turned, clear_cells((size_t)n_ranks * (size_t)n_steps));
    printf("# %u by %u cells shown; peak memory %ld MB\n1..1\nok 1 - /bench/overview\n",
           scene->overview.columns, scene->overview.rows, usage.ru_maxrss / 1024);
    ls_scene_free(scene);
    ls_view_clear(&view);
    ls_model_free(model);
    ls_activity_free(activity);
    return 0;
}
