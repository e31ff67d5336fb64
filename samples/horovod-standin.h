/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/horovod-standin.h: what the parts of the stand-in share.
 *
 * It is no Horovod: it reduces numbers of a fixed list of tensors by a known schedule, and shows
 * what Horovod 0.28 shows to the outside while it does: NVTX ranges on every rank, the control's
 * calls of MPI, rank 0's timeline and its mirror in NVTX.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define N_TENSORS 6
#define GROUP     3 /* tensors in a group */

typedef struct Tensor {
    const char *name;
    int elements; /* float32 */
} Tensor;

extern const Tensor standin_tensors[N_TENSORS];

typedef struct Options {
    int steps, late_rank, late_ms;
    int late_tensor; /* on the late rank it alone is late; -1: the whole step is */
    bool cached, grouped;
    const char *log; /* what really happened, a file for each rank; %d its number */
} Options;

/* "allreduce.fc.bias", "grouped_allreduce.group0_1of3". */
const char *standin_name(int tensor, bool grouped);
int64_t standin_now(void);

/* horovod-standin-loop.c: the thread that owns MPI. */
bool loop_start(const Options *options, int rank, int ranks);
/* One tensor, or one group by its number; from any thread. */
void loop_submit(int step, int number);
void loop_wait(void); /* until all that was submitted is done */
bool loop_stop(void);

/* horovod-standin-timeline.c: nothing where HOROVOD_TIMELINE is not set, and off rank 0. */
bool timeline_open(bool grouped);
bool timeline_is_open(void);
void timeline_cycle(void);
void timeline_negotiate(int tensor); /* begun, unless it is */
void timeline_tick(int tensor, int rank);
void timeline_agree(int tensor); /* begun and ended, where it had not begun */
void timeline_execute(const int *tensors, int n, bool begin);
void timeline_close(void);
