/* SPDX-License-Identifier: Apache-2.0
 * samples/train-options.c: one table that parses and explains. */
#include "samples/train-options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_ROWS_MAX 30

typedef enum Type { INT, INT64, REAL, TEXT, COMPUTE } Type;

typedef struct Row {
    const char *name;
    Type type;
    void *into;
    const char *help;
} Row;

static bool
parse_value(const Row *row, const char *text)
{
    char *end = NULL;
    double value;

    if (row->type == TEXT) {
        *(const char **)row->into = text;
        return true;
    }
    if (row->type == COMPUTE) {
        *(bool *)row->into = strcmp(text, "timed") == 0;
        return strcmp(text, "timed") == 0 || strcmp(text, "real") == 0;
    }
    errno = 0;
    value = strtod(text, &end);
    if (errno != 0 || end == text || *end != '\0' || value < -1 || value > 1e12)
        return false;
    if (row->type == INT)
        *(int *)row->into = (int)value;
    else if (row->type == INT64)
        *(int64_t *)row->into = (int64_t)value;
    else
        *(double *)row->into = value;
    return true;
}

static void
print_help(const Row *rows, size_t n)
{
    puts("Usage: train [options]        (or: mpirun -np 4 train [options])\n"
         "Trains a small convolutional network on made-up images, data-parallel over MPI.\n");
    for (size_t i = 0; i < n; i++)
        printf("  --%-18s %s\n", rows[i].name, rows[i].help);
}

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

/* 0: parsed; else 1 and the exit status. */
static int
parse_rows(int argc, char **argv, const Row *rows, size_t n, int *ret_status)
{
    struct option longs[N_ROWS_MAX + 2] = {{0}};

    for (size_t i = 0; i < n; i++)
        longs[i] = (struct option){rows[i].name, required_argument, NULL, 'x'};
    longs[n] = (struct option){"help", no_argument, NULL, 'h'};
    *ret_status = 2;
    for (;;) {
        int index = 0, code = getopt_long(argc, argv, "h", longs, &index);
        if (code == -1)
            break;
        if (code == 'h') {
            print_help(rows, n);
            *ret_status = 0;
            return 1;
        }
        if (code == '?')
            return 1;
        if (!parse_value(&rows[index], optarg)) {
            fprintf(stderr, "train: --%s: \"%s\" is not what it takes, see --help\n",
                    rows[index].name, optarg);
            return 1;
        }
    }
    if (optind != argc) {
        fprintf(stderr, "train: \"%s\": takes options only, see --help\n", argv[optind]);
        return 1;
    }
    *ret_status = 0;
    return 0;
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
    const Row rows[] = {
        {"steps", INT, &options.steps, "training steps (50)"},
        {"batch", INT, &options.batch, "images per rank and step (8)"},
        {"size", INT, &options.size, "width and height of an image, a multiple of 4 (16)"},
        {"seed", INT64, &options.seed, "of images and weights (1)"},
        {"lr", REAL, &options.rate, "learning rate (0.01)"},
        {"run", TEXT, &options.run, "folder to record into ($LOCKSTEP_RUN)"},
        {"strategy", TEXT, &options.strategy, "settings of reduce, \"cycle_time_ms=1;plane=mpi\""},
        {"compute", COMPUTE, &options.timed,
         "real, or timed: sleep as long as it would take (real)"},
        {"step-ms", REAL, &options.step_ms, "of a timed step without communication (40)"},
        {"slow-rank", INT, &options.slow_rank, "this rank is late in every step"},
        {"slow-ms", REAL, &options.slow_ms, "by so much, in its input phase"},
        {"late-tensor", TEXT, &options.late_tensor, "or just before it hands in this gradient"},
        {"die-rank", INT, &options.die_rank, "this rank kills itself in backward"},
        {"die-step", INT, &options.die_step, "of this step"},
        {"checkpoint-every", INT, &options.checkpoint_every, "steps, rank 0 writes the weights"},
        {"checkpoint", TEXT, &options.checkpoint, "into this file (a temporary one)"},
        {"log", TEXT, &options.log, "own log of submissions and waits; %r is the rank"},
        {"dump-weights", TEXT, &options.dump, "rank 0 writes the weights at the end"},
    };

    if (parse_rows(argc, argv, rows, sizeof rows / sizeof *rows, ret_status) != 0)
        return 1;
    if (!check(&options)) {
        *ret_status = 2;
        return 1;
    }
    *ret_options = options;
    return 0;
}
