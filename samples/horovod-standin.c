/* SPDX-License-Identifier: Apache-2.0
 *
 * horovod-standin [--steps N] [--uncached] [--grouped] [--late-rank R] [--late-ms M]
 *                 [--late-tensor I] [--log FILE]
 *
 * One rank of a job that looks like Horovod's from outside (horovod-standin.h): each step a rank
 * submits its tensors 1 ms apart and waits for all of them; the late rank begins its step late, or
 * with --late-tensor submits that one tensor late.
 */
#include <errno.h>
#include <getopt.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "samples/horovod-standin.h"

/* Two of a size, one after the other: names cannot be told by sizes alone. */
const Tensor standin_tensors[N_TENSORS] = {{"fc.bias", 10},  {"fc.weight", 5120},
                                           {"conv2", 16384}, {"bn.weight", 128},
                                           {"bn.bias", 128}, {"conv1", 1728}};

const char *
standin_name(int tensor, bool grouped)
{
    static char names[2][N_TENSORS][64];
    char *name = names[grouped][tensor];

    if (name[0] != '\0')
        return name;
    if (grouped)
        snprintf(name, sizeof names[0][0], "grouped_allreduce.group%d_%dof%d", tensor / GROUP,
                 tensor % GROUP + 1, GROUP);
    else
        snprintf(name, sizeof names[0][0], "allreduce.%s", standin_tensors[tensor].name);
    return name;
}

int64_t
standin_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void
sleep_ms(int ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&time, &time) != 0 && errno == EINTR)
        continue;
}

static void
run_step(const Options *options, int rank, int step)
{
    bool late = rank == options->late_rank;
    int n = options->grouped ? N_TENSORS / GROUP : N_TENSORS;

    if (late && options->late_tensor < 0)
        sleep_ms(options->late_ms);
    for (int i = 0; i < n; i++) {
        sleep_ms(1);
        if (late && i == options->late_tensor)
            sleep_ms(options->late_ms);
        loop_submit(step, i);
    }
    loop_wait();
}

static bool
parse(Options *options, int argc, char **argv)
{
    static const struct option known[] = {
        {"steps", required_argument, NULL, 's'},   {"uncached", no_argument, NULL, 'u'},
        {"grouped", no_argument, NULL, 'g'},       {"late-rank", required_argument, NULL, 'r'},
        {"late-ms", required_argument, NULL, 'm'}, {"late-tensor", required_argument, NULL, 't'},
        {"log", required_argument, NULL, 'l'},     {NULL, 0, NULL, 0},
    };

    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;)
        switch (c) {
        case 's':
            options->steps = atoi(optarg);
            break;
        case 'u':
            options->cached = false;
            break;
        case 'g':
            options->grouped = true;
            break;
        case 'r':
            options->late_rank = atoi(optarg);
            break;
        case 'm':
            options->late_ms = atoi(optarg);
            break;
        case 't':
            options->late_tensor = atoi(optarg);
            break;
        case 'l':
            options->log = optarg;
            break;
        default:
            return false;
        }
    return optind == argc;
}

int
main(int argc, char **argv)
{
    Options options = {
        .steps = 10, .late_rank = -1, .late_ms = 20, .late_tensor = -1, .cached = true};
    int rank, ranks, level;
    bool good;

    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS)
        return 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    good = parse(&options, argc, argv) && loop_start(&options, rank, ranks);
    for (int step = 0; good && step < options.steps; step++)
        run_step(&options, rank, step);
    good = good && loop_stop();
    if (!good)
        fprintf(stderr, "horovod-standin: rank %d: wrong arguments, or a wrong sum\n", rank);
    MPI_Finalize();
    return good ? 0 : 1;
}
