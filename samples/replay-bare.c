/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/replay-bare.c: bare MPI_Allreduce per tensor, by a thread of its own, in the workload's
 * order. It records marks alone: what lies between a step's phases is the wait for it.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "samples/replay-mover.h"

struct Mover {
    const Workload *workload;
    const TensorData **data; /* of what was submitted; owned list */
    MPI_Comm communicator;
    MPI_Op halves, bfloats;
    int rank, ranks;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t submitted, done; /* of this step */
    bool leaving, failed;
};

static void
add_halves(void *from, void *into, int *n, MPI_Datatype *type)
{
    data_add(LOCKSTEP_FLOAT16, from, into, (size_t)*n);
}

static void
add_bfloats(void *from, void *into, int *n, MPI_Datatype *type)
{
    data_add(LOCKSTEP_BFLOAT16, from, into, (size_t)*n);
}

static bool
sum(Mover *mover, size_t tensor)
{
    const WorkloadTensor *known = &mover->workload->tensors[tensor];
    const TensorData *data = mover->data[tensor];
    MPI_Datatype type = known->dtype == LOCKSTEP_FLOAT64   ? MPI_DOUBLE
                        : known->dtype == LOCKSTEP_FLOAT32 ? MPI_FLOAT
                                                           : MPI_UINT16_T;
    MPI_Op op = known->dtype == LOCKSTEP_FLOAT16    ? mover->halves
                : known->dtype == LOCKSTEP_BFLOAT16 ? mover->bfloats
                                                    : MPI_SUM;
    return MPI_Allreduce(data->input, data->output, (int)known->count, type, op,
                         mover->communicator) == MPI_SUCCESS;
}

static void *
run(void *argument)
{
    Mover *mover = argument;

    pthread_mutex_lock(&mover->lock);
    for (;;) {
        while (mover->done == mover->submitted && !mover->leaving)
            pthread_cond_wait(&mover->changed, &mover->lock);
        if (mover->done == mover->submitted)
            break;
        size_t tensor = mover->done;
        pthread_mutex_unlock(&mover->lock);
        bool good = sum(mover, tensor);
        pthread_mutex_lock(&mover->lock);
        mover->failed |= !good;
        mover->done++;
        pthread_cond_signal(&mover->changed);
    }
    pthread_mutex_unlock(&mover->lock);
    return NULL;
}

static Mover *
open_bare(const Workload *workload, const char *strategy, const char *folder)
{
    Mover *mover = calloc(1, sizeof *mover);

    for (size_t i = 0; i < workload->n; i++)
        if (workload->tensors[i].count > INT32_MAX) {
            fprintf(stderr, "replay: %s: too long for one call of MPI\n",
                    workload->tensors[i].name);
            free(mover);
            return NULL;
        }
    if (mover != NULL)
        mover->data = calloc(workload->n, sizeof *mover->data);
    /* Where no context opens the recorder, the marks do, by the environment. */
    if (mover == NULL || mover->data == NULL ||
        (folder != NULL && setenv("LOCKSTEP_RUN", folder, 1) != 0)) {
        fputs("replay: out of memory\n", stderr);
        free(mover);
        return NULL;
    }
    mover->workload = workload;
    MPI_Comm_dup(MPI_COMM_WORLD, &mover->communicator);
    MPI_Comm_rank(mover->communicator, &mover->rank);
    MPI_Comm_size(mover->communicator, &mover->ranks);
    MPI_Op_create(add_halves, 1, &mover->halves);
    MPI_Op_create(add_bfloats, 1, &mover->bfloats);
    pthread_mutex_init(&mover->lock, NULL);
    pthread_cond_init(&mover->changed, NULL);
    if (pthread_create(&mover->thread, NULL, run, mover) == 0)
        return mover;
    fputs("replay: no thread can be made\n", stderr);
    free(mover->data);
    free(mover);
    return NULL;
}

static void
close_bare(Mover *mover)
{
    pthread_mutex_lock(&mover->lock);
    mover->leaving = true;
    pthread_cond_signal(&mover->changed);
    pthread_mutex_unlock(&mover->lock);
    pthread_join(mover->thread, NULL);
    pthread_cond_destroy(&mover->changed);
    pthread_mutex_destroy(&mover->lock);
    MPI_Op_free(&mover->halves);
    MPI_Op_free(&mover->bfloats);
    MPI_Comm_free(&mover->communicator);
    free(mover->data);
    free(mover);
}

static int
get_rank(const Mover *mover)
{
    return mover->rank;
}

static int
get_ranks(const Mover *mover)
{
    return mover->ranks;
}

static lockstep_status
submit(Mover *mover, size_t tensor, const TensorData *data)
{
    pthread_mutex_lock(&mover->lock);
    mover->data[tensor] = data;
    mover->submitted = tensor + 1;
    pthread_cond_signal(&mover->changed);
    pthread_mutex_unlock(&mover->lock);
    return LOCKSTEP_OK;
}

static lockstep_status
wait_all(Mover *mover)
{
    pthread_mutex_lock(&mover->lock);
    while (mover->done < mover->submitted)
        pthread_cond_wait(&mover->changed, &mover->lock);
    mover->submitted = mover->done = 0;
    bool failed = mover->failed;
    pthread_mutex_unlock(&mover->lock);
    if (failed)
        fputs("replay: MPI_Allreduce failed\n", stderr);
    return failed ? LOCKSTEP_ERR_MPI : LOCKSTEP_OK;
}

const MoverClass mover_bare = {open_bare, close_bare, get_rank, get_ranks, submit, wait_all};
