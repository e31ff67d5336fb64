/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/synth-job.h: a training job that never ran, with everything about it known.
 *
 * All times are the true clock's (rank 0's own, since host 0 neither shifts nor drifts) in ns. A
 * job is a pure function of its options: the same options give the same bytes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct LsSynthOptions {
    uint32_t ranks, ranks_per_host;
    uint32_t steps, tensors;
    uint64_t seed;
    /* Clocks: each host but the first is off by up to offset and drifts by up to ppm. */
    int64_t offset_max_ns;
    double drift_max_ppm;
    int64_t wall_error_max_ns;
    uint32_t roundtrips; /* per step and host leader */
    int64_t latency_ns;  /* between hosts, one way */
    double asymmetry;    /* -1..1: the way out takes latency * (1 + asymmetry) */
    /* The step. */
    int64_t input_ns, forward_ns, backward_ns, optimizer_ns;
    int64_t jitter_ns; /* of each submission */
    uint32_t checkpoint_every;
    int64_t checkpoint_ns;
    int64_t samples, operations; /* per rank and step */
    /* The late rank: from that step on its input takes that much longer. */
    int32_t late_rank; /* -1: none */
    int64_t late_ns;
    uint32_t late_from;
    /* Communication. */
    uint32_t groups; /* 0: none; else so many slices of the tensors */
    int64_t fusion_bytes;
    int64_t cycle_ns;
    double bytes_per_ns;
    /* What is wrong with the recording. */
    bool cut;          /* every rank ends in the middle of its last step */
    int32_t lost_rank; /* -1: none; loses lost_records of its loop in the middle */
    uint32_t lost_records;
} LsSynthOptions;

typedef struct LsSynthHost {
    int64_t offset_ns; /* its clock - true clock at the beginning */
    double drift;      /* its clock gains that much per ns */
    int64_t wall_error_ns;
    char boot_id[40];
} LsSynthHost;

typedef struct LsSynthTensor {
    char name[32];
    int64_t bytes;
    uint32_t group; /* number of its slice */
} LsSynthTensor;

/* One rank's step. */
typedef struct LsSynthStep {
    int64_t start_ns, input_end_ns, forward_end_ns, backward_end_ns;
    int64_t optimizer_start_ns, optimizer_end_ns, end_ns; /* a checkpoint fills the rest */
} LsSynthStep;

/* One rank's part of a tensor in the step. */
typedef struct LsSynthUse {
    int64_t submit_ns, gate_ns, done_ns;
} LsSynthUse;

/* One rank's part of a buffer. */
typedef struct LsSynthCall {
    int64_t pack_start_ns, start_ns, end_ns, unpack_end_ns; /* unfused: pack_start = start, ... */
} LsSynthCall;

typedef struct LsSynthBuffer {
    uint64_t number;
    uint32_t cycle;          /* index into cycles */
    uint32_t first, tensors; /* in the step's `order` */
    int64_t bytes;
} LsSynthBuffer;

typedef struct LsSynthCycle {
    uint64_t number;
    bool written; /* already a part of the step before */
    int64_t start_ns, drained_ns, exchanged_ns, parsed_ns, built_ns, end_ns, wake_ns;
    uint32_t responses; /* tensors */
    uint32_t buffers;
} LsSynthCycle;

typedef struct LsSynthJob {
    LsSynthOptions options;
    uint64_t random;
    int64_t origin_ns, wall_origin_ns;
    uint32_t n_hosts;
    LsSynthHost *hosts;
    LsSynthTensor *tensors; /* in the order of backward */
    /* The current step. */
    uint32_t step;
    LsSynthStep *steps;  /* by rank */
    LsSynthUse *uses;    /* rank * tensors + tensor */
    uint32_t *requests;  /* cycle * ranks + rank: submissions drained in it */
    uint32_t *order;     /* tensors in the order of execution */
    int64_t *agreed_ns;  /* by tensor */
    uint32_t *buffer_of; /* by tensor: index into buffers */
    LsSynthBuffer *buffers;
    LsSynthCall *calls; /* buffer * ranks + rank */
    LsSynthCycle *cycles;
    uint32_t n_buffers, n_cycles, room_cycles;
    uint64_t next_buffer, next_cycle;
    int64_t loop_ns; /* when the next cycle starts */
} LsSynthJob;

LsSynthOptions ls_synth_options(void);
/* NULL when out of memory. */
LsSynthJob *ls_synth_job_new(const LsSynthOptions *options);
void ls_synth_job_free(LsSynthJob *job);
/* Makes the next step; false after the last one or when out of memory. */
bool ls_synth_job_advance(LsSynthJob *job);
/* From the true clock to the rank's own, and to its wall clock. */
int64_t ls_synth_job_get_local(const LsSynthJob *job, uint32_t rank, int64_t true_ns);
int64_t ls_synth_job_get_wall(const LsSynthJob *job, uint32_t rank, int64_t true_ns);
/* The moment at which a cut recording ends, in the last step; INT64_MAX where none does. */
int64_t ls_synth_job_get_cut(const LsSynthJob *job);
/* SplitMix64 (Steele et al., 2014), and the same in [0, 1) and [-1, 1). */
uint64_t ls_synth_random(uint64_t *state);
double ls_synth_random_unit(uint64_t *state);
double ls_synth_random_sign(uint64_t *state);
