/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/mpi-communicator.c: a small number for each communicator. A table with a lock, in front of
 * it the last one of each thread, since a thread mostly stays on one.
 */
#include "capture/compat.h"
#include "capture/recorder.h"
#include "tracer/mpi.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define TABLE_MAX 512

LS_BIND_OLD(pthread_mutex_lock);
LS_BIND_OLD(pthread_mutex_unlock);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static LsMpiCommunicator table[TABLE_MAX]; /* number 0: free */
static int n_numbers;
static atomic_uint generation = 1; /* rises whenever a communicator goes */

static _Thread_local LsMpiCommunicator last;
static _Thread_local unsigned last_generation;

static void
record(const LsMpiCommunicator *communicator, const LsMpiFamily *family)
{
    LsRecord record = {.kind = LS_RECORD_MPI_COMMUNICATOR,
                       .start_ns = ls_recorder_now(),
                       .args = {communicator->number, communicator->ranks, communicator->rank}};

    if (communicator->handle == family->world())
        record.name = ls_recorder_name("MPI_COMM_WORLD");
    record.end_ns = record.start_ns;
    ls_recorder_write(&record);
}

/* With the lock. */
static LsMpiCommunicator *
find(LsWord handle)
{
    LsMpiCommunicator *free_row = NULL;

    for (int i = 0; i < TABLE_MAX; i++) {
        if (table[i].number != 0 && table[i].handle == handle)
            return &table[i];
        if (table[i].number == 0 && free_row == NULL)
            free_row = &table[i];
    }
    return free_row;
}

bool
ls_mpi_communicator_get(const LsMpiFamily *family, LsWord handle,
                        LsMpiCommunicator *ret_communicator)
{
    LsMpiCommunicator *row, fresh;
    unsigned now = atomic_load_explicit(&generation, memory_order_acquire);
    bool is_new = false;

    handle = family->narrow ? (int)handle : handle;
    fresh = (LsMpiCommunicator){.handle = handle};
    if (last_generation == now && last.handle == handle && last.number != 0) {
        *ret_communicator = last;
        return true;
    }
    *ret_communicator = fresh;
    pthread_mutex_lock(&lock);
    row = find(handle);
    if (row != NULL && row->number == 0 && family->describe(handle, &fresh)) {
        fresh.number = ++n_numbers;
        *row = fresh;
        is_new = true;
    }
    if (row != NULL && row->number != 0)
        *ret_communicator = *row;
    pthread_mutex_unlock(&lock);
    if (is_new)
        record(ret_communicator, family);
    last = *ret_communicator;
    last_generation = now;
    return ret_communicator->number != 0;
}

void
ls_mpi_communicator_forget(LsWord handle)
{
    LsMpiCommunicator *row;

    pthread_mutex_lock(&lock);
    row = find(handle);
    if (row != NULL && row->number != 0) {
        memset(row, 0, sizeof *row);
        atomic_fetch_add_explicit(&generation, 1, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
}
