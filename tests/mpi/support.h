/* SPDX-License-Identifier: Apache-2.0
 * tests/mpi/support.h: a test program that runs on every rank, heard on rank 0. */
#pragma once

#include <glib.h>
#include <mpi.h>
#include <stdbool.h>

#include "reduce/lockstep.h"

/* MPI with this thread level, and g_test; ranks but 0 say nothing on standard output. */
void support_init(int *argc, char ***argv, int level);
/* Runs the tests, in the same order on every rank, and ends MPI. */
int support_run(void);

int support_rank(void);
int support_ranks(void);

/* A context on MPI_COMM_WORLD; settings may be NULL. */
lockstep_context *support_open(const char *settings);
void support_close(lockstep_context *context);

lockstep_tensor support_tensor(const char *name, const void *input, void *output, int64_t count,
                               lockstep_dtype dtype);
/* Another rank goes on when this one has seen what it waits for, however long that takes: at
 * MPI_THREAD_MULTIPLE alone, and without work for the processor meanwhile. */
void support_tell(int rank);
void support_await(int rank);
/* Whether it holds on every rank, which all ask together: at MPI_THREAD_MULTIPLE alone while a
 * context is open. */
bool support_is_on_all(bool own);
/* Allreduce, then wait for it. */
lockstep_status support_reduce(lockstep_context *context, const lockstep_tensor *tensor,
                               lockstep_op op);
/* The context works: a sum over the ranks is right. */
void support_check_sum(lockstep_context *context);

/* Element i of an array of the dtype. */
void support_put(void *data, lockstep_dtype dtype, int64_t i, double value);
double support_get(const void *data, lockstep_dtype dtype, int64_t i);
/* What becomes of a value that is stored in the dtype. */
double support_round(lockstep_dtype dtype, double value);
/* Element i of a rank's input, whole and small, products of 1 and 2; and of what comes of all. */
double support_input(lockstep_dtype dtype, lockstep_op op, int64_t i, int rank);
double support_expect(lockstep_dtype dtype, lockstep_op op, int64_t i, int ranks);
size_t support_bytes(lockstep_dtype dtype);

/* Fails with what was expected. */
#define assert_status(got, expected)                                                               \
    do {                                                                                           \
        int got_ = (got);                                                                          \
        if (got_ != (expected))                                                                    \
            g_error("rank %d, line %d: status %d, expected %d: %s", support_rank(), __LINE__,      \
                    got_, (int)(expected), lockstep_last_error());                                 \
    } while (0)
#define assert_contains(text, part)                                                                \
    do {                                                                                           \
        const char *text_ = (text), *part_ = (part);                                               \
        if (strstr(text_, part_) == NULL)                                                          \
            g_error("rank %d, line %d: '%s' does not hold '%s'", support_rank(), __LINE__, text_,  \
                    part_);                                                                        \
    } while (0)
