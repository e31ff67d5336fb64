/* SPDX-License-Identifier: Apache-2.0
 * samples/train-options.h: what a person can ask of the training sample. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct TrainOptions {
    int steps, batch, size;
    int64_t seed;
    double rate; /* of learning */
    const char *run, *strategy, *log, *dump;
    bool timed;
    double step_ms; /* of a timed step without communication */
    int slow_rank;  /* -1: none */
    double slow_ms;
    const char *late_tensor;
    int die_rank, die_step; /* -1: none */
    int checkpoint_every;
    const char *checkpoint;
} TrainOptions;

/* 0: go on. Else the exit status is *ret_status, and all is said. */
int train_options_parse(int argc, char **argv, TrainOptions *ret_options, int *ret_status);
