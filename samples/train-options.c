/* SPDX-License-Identifier: Apache-2.0
 * samples/train-options.c: what the training sample takes. */
#include "samples/train-options.h"

#include <stdio.h>
#include <string.h>

#include "samples/options.h"

static bool
check(const TrainOptions *options)
{
    if (options->steps < 1 || options->batch < 1 || options->size < 4 || options->size > 256 ||
        options->size % 4 != 0 || options->step_ms < 0 || options->slow_ms < 0) {
        fputs(
            "train: at least one step and one image a batch; images of 4, 8, ... 256; no negative "
            "times\n",
            stderr);
        return false;
    }
    return true;
}

int
train_options_parse(int argc, char **argv, TrainOptions *ret_options, int *ret_status)
{
    TrainOptions options = {.steps = 50,
                            .batch = 8,
                            .size = 16,
                            .seed = 1,
                            .rate = 0.01,
                            .step_ms = 40,
                            .slow_rank = -1,
                            .die_rank = -1,
                            .die_step = -1};
    const char *compute = "real";
    const OptionProgram program = {
        "train",
        "Usage: train [options]        (or: mpirun -np 4 train [options])\n"
        "Trains a small convolutional network on made-up images, data-parallel over MPI.\n"};
    const OptionRow rows[] = {
        {"steps", OPTION_INT, &options.steps, "training steps (50)"},
        {"batch", OPTION_INT, &options.batch, "images per rank and step (8)"},
        {"size", OPTION_INT, &options.size, "width and height of an image, a multiple of 4 (16)"},
        {"seed", OPTION_INT64, &options.seed, "of images and weights (1)"},
        {"lr", OPTION_REAL, &options.rate, "learning rate (0.01)"},
        {"run", OPTION_TEXT, &options.run, "folder to record into ($LOCKSTEP_RUN)"},
        {"strategy", OPTION_TEXT, &options.strategy,
         "settings of reduce, \"cycle_time_ms=1;plane=mpi\""},
        {"compute", OPTION_TEXT, &compute, "real, or timed: sleep as long as it would take (real)"},
        {"step-ms", OPTION_REAL, &options.step_ms, "of a timed step without communication (40)"},
        {"slow-rank", OPTION_INT, &options.slow_rank, "this rank is late in every step"},
        {"slow-ms", OPTION_REAL, &options.slow_ms, "by so much, in its input phase"},
        {"late-tensor", OPTION_TEXT, &options.late_tensor,
         "or just before it hands in this gradient"},
        {"die-rank", OPTION_INT, &options.die_rank, "this rank kills itself in backward"},
        {"die-step", OPTION_INT, &options.die_step, "of this step"},
        {"checkpoint-every", OPTION_INT, &options.checkpoint_every,
         "steps, rank 0 writes the weights"},
        {"checkpoint", OPTION_TEXT, &options.checkpoint, "into this file (a temporary one)"},
        {"log", OPTION_TEXT, &options.log, "own log of submissions and waits; %r is the rank"},
        {"dump-weights", OPTION_TEXT, &options.dump, "rank 0 writes the weights at the end"},
    };

    if (options_parse(argc, argv, &program, rows, sizeof rows / sizeof *rows, ret_status) != 0)
        return 1;
    options.timed = strcmp(compute, "timed") == 0;
    if (!options.timed && strcmp(compute, "real") != 0) {
        fprintf(stderr, "train: --compute: \"%s\" is not what it takes, see --help\n", compute);
        *ret_status = 2;
        return 1;
    }
    if (!check(&options)) {
        *ret_status = 2;
        return 1;
    }
    *ret_options = options;
    return 0;
}
