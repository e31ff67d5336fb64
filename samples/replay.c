/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/replay.c: plays the gradient reduction of a training step from a workload file.
 *
 * Each rank sleeps as long as its input, forward and backward passes would compute, and hands in
 * each gradient when backward would have it; the sums are real, and checked after the last step. So
 * a strategy of `reduce` meets the tensors of a network that this machine could not train, at any
 * number of ranks. Compute is slept, never spun: more ranks than cores then wait for each other,
 * not for a core. --scale-times and --scale-bytes fit it to the machine.
 */
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "capture/lockstep-mark.h"
#include "samples/options.h"
#include "samples/replay-mover.h"
#include "samples/train-launch.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_PEER_LOST = 3 };

typedef struct ReplayOptions {
    const char *workload, *run, *strategy;
    int steps, slow_rank;
    int64_t seed;
    double scale_times, scale_bytes, jitter, slow_ms;
    bool bare;
} ReplayOptions;

typedef struct Replay {
    ReplayOptions options;
    Workload *workload;
    TensorData *data;
    const MoverClass *class;
    Mover *mover;
    int rank, ranks;
    int64_t late_ns;
    uint64_t chance;
    struct timespec due; /* the phase has slept up to here */
} Replay;

/* From 0 to 1 (splitmix64: Steele et al., Fast splittable pseudorandom number generators, 2014). */
static double
draw(Replay *replay)
{
    uint64_t z = replay->chance += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static void
sleep_for(Replay *replay, int64_t ns)
{
    ns =
        replay->due.tv_nsec + (int64_t)((double)ns * (1 + replay->workload->jitter * draw(replay)));
    replay->due.tv_sec += ns / 1000000000;
    replay->due.tv_nsec = ns % 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &replay->due, NULL) == EINTR)
        continue;
}

static void
run_phase(Replay *replay, lockstep_phase phase, int64_t ns)
{
    lockstep_phase_begin(phase);
    clock_gettime(CLOCK_MONOTONIC, &replay->due);
    sleep_for(replay, ns);
    lockstep_phase_end(phase, 0);
}

static lockstep_status
run_backward(Replay *replay)
{
    lockstep_status status = LOCKSTEP_OK;

    lockstep_phase_begin(LOCKSTEP_PHASE_BACKWARD);
    clock_gettime(CLOCK_MONOTONIC, &replay->due);
    for (size_t i = 0; i < replay->workload->n && status == LOCKSTEP_OK; i++) {
        sleep_for(replay, replay->workload->tensors[i].backward_ns);
        status = replay->class->submit(replay->mover, i, &replay->data[i]);
    }
    lockstep_phase_end(LOCKSTEP_PHASE_BACKWARD, 2 * replay->workload->operations / 3);
    return status;
}

static lockstep_status
run_step(Replay *replay, int step)
{
    const Workload *workload = replay->workload;
    lockstep_status status;

    lockstep_step_begin(step);
    run_phase(replay, LOCKSTEP_PHASE_INPUT, workload->input_ns + replay->late_ns);
    run_phase(replay, LOCKSTEP_PHASE_FORWARD, workload->forward_ns);
    status = run_backward(replay);
    if (status == LOCKSTEP_OK)
        status = replay->class->wait(replay->mover);
    if (status != LOCKSTEP_OK)
        return status;
    run_phase(replay, LOCKSTEP_PHASE_OPTIMIZER, workload->optimizer_ns);
    lockstep_step_end(workload->samples, workload->operations);
    return LOCKSTEP_OK;
}

static int
run(Replay *replay)
{
    const Workload *workload = replay->workload;
    lockstep_status status = LOCKSTEP_OK;
    size_t wrong = 0;

    replay->rank = replay->class->get_rank(replay->mover);
    replay->ranks = replay->class->get_ranks(replay->mover);
    replay->chance = (uint64_t)(replay->options.seed * 4096 + replay->rank);
    for (size_t i = 0; i < workload->n_slow; i++)
        if (workload->slow[i].rank == replay->rank)
            replay->late_ns += workload->slow[i].late_ns;
    if (replay->options.slow_rank == replay->rank)
        replay->late_ns += (int64_t)(replay->options.slow_ms * 1e6);
    replay->data = data_new(workload, replay->rank);
    if (replay->data == NULL) {
        fputs("replay: out of memory\n", stderr);
        return EXIT_FAILED;
    }
    for (int step = 0; step < replay->options.steps && status == LOCKSTEP_OK; step++)
        status = run_step(replay, step);
    if (status != LOCKSTEP_OK)
        return status == LOCKSTEP_ERR_PEER_LOST ? EXIT_PEER_LOST : EXIT_FAILED;
    if (!data_check(replay->data, workload, replay->ranks, &wrong)) {
        fprintf(stderr, "replay: rank %d: the sum of %s is wrong\n", replay->rank,
                workload->tensors[wrong].name);
        return EXIT_FAILED;
    }
    if (replay->rank == 0)
        printf("%s: %d steps of %zu tensors, %.1f MB, on %d ranks; all sums are right\n",
               workload->name, replay->options.steps, workload->n,
               (double)workload_get_bytes(workload) / 1e6, replay->ranks);
    return 0;
}

static bool
check(const ReplayOptions *options)
{
    const char *fault = options->workload == NULL ? "--workload FILE is missing"
                        : options->steps < 1      ? "--steps: at least one"
                        : !(options->scale_times > 0 && options->scale_bytes >= 1)
                            ? "--scale-times: above 0; --scale-bytes: 1 or more"
                        : options->slow_ms < 0 ? "--slow-ms: not below 0"
                                               : NULL;
    if (fault != NULL)
        fprintf(stderr, "replay: %s, see --help\n", fault);
    return fault == NULL;
}

static int
parse(int argc, char **argv, ReplayOptions *ret_options, int *ret_status)
{
    ReplayOptions options = {
        .steps = 20, .slow_rank = -1, .seed = 1, .scale_times = 1, .scale_bytes = 1, .jitter = -1};
    const OptionProgram program = {
        "replay", "Usage: mpirun -np N replay --workload FILE [options]\n"
                  "Plays a training step's gradient reduction: compute is slept, sums are real.\n"};
    const OptionRow rows[] = {
        {"workload", OPTION_TEXT, &options.workload,
         "the file, as samples/workloads/resnet50.json"},
        {"steps", OPTION_INT, &options.steps, "training steps (20)"},
        {"strategy", OPTION_TEXT, &options.strategy,
         "settings of reduce, \"control=bitvector;grouping=none\"; layers are its lists"},
        {"run", OPTION_TEXT, &options.run, "folder to record into ($LOCKSTEP_RUN)"},
        {"bare", OPTION_FLAG, &options.bare,
         "one MPI_Allreduce per tensor in a fixed order, without reduce"},
        {"scale-times", OPTION_REAL, &options.scale_times, "divides all times (1)"},
        {"scale-bytes", OPTION_REAL, &options.scale_bytes, "divides the bytes of each tensor (1)"},
        {"jitter", OPTION_REAL, &options.jitter,
         "each time takes up to this share longer, by chance (the file's)"},
        {"slow-rank", OPTION_INT, &options.slow_rank, "this rank is late in every step"},
        {"slow-ms", OPTION_REAL, &options.slow_ms, "by so much, in its input phase"},
        {"seed", OPTION_INT64, &options.seed, "of the jitter (1)"},
    };

    if (options_parse(argc, argv, &program, rows, sizeof rows / sizeof *rows, ret_status) != 0)
        return 1;
    if (!check(&options)) {
        *ret_status = EXIT_USAGE;
        return 1;
    }
    *ret_options = options;
    return 0;
}

static bool
read_workload(Replay *replay)
{
    const ReplayOptions *options = &replay->options;
    char error[256];

    replay->workload = workload_read(options->workload, error);
    if (replay->workload == NULL) {
        fprintf(stderr, "replay: %s: %s\n", options->workload, error);
        return false;
    }
    workload_scale(replay->workload, options->scale_times, options->scale_bytes);
    if (options->jitter >= 0)
        replay->workload->jitter = options->jitter;
    return true;
}

int
main(int argc, char **argv)
{
    Replay replay = {.class = &mover_reduce};
    int status = 0;

    if (parse(argc, argv, &replay.options, &status) != 0)
        return status;
    if (!read_workload(&replay))
        return EXIT_FAILED;
    if (replay.options.bare) {
#ifdef REPLAY_BARE
        replay.class = &mover_bare;
#else
        fputs("replay: --bare: this build has no MPI\n", stderr);
        return EXIT_USAGE;
#endif
    }
    if (!launch_start(&argc, &argv))
        return EXIT_FAILED;
    replay.mover = replay.class->open(replay.workload, replay.options.strategy, replay.options.run);
    status = replay.mover == NULL ? EXIT_FAILED : run(&replay);
    if (replay.mover != NULL)
        replay.class->close(replay.mover);
    if (status == EXIT_PEER_LOST) {
        fflush(NULL);
        _exit(status); /* neither MPI_Finalize nor exit handlers: both could wait for the dead */
    }
    data_free(replay.data, replay.workload);
    workload_free(replay.workload);
    launch_stop();
    return status;
}
