/* SPDX-License-Identifier: Apache-2.0
 *
 * nccl-private.h: NCCL's double: communicators, tasks, and the plugin that it drives.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "abi/nccl-profiler.h"
#include "abi/nccl.h"
#include "abi/nvtx-client.h"
#include "double.h"

#define RANKS_MAX 64
#define CHUNK     (64u << 10)
#define TASKS_MAX 256

typedef enum Func {
    FUNC_ALLREDUCE,
    FUNC_REDUCE,
    FUNC_BROADCAST,
    FUNC_ALLGATHER,
    FUNC_REDUCESCATTER,
    FUNC_SEND,
    FUNC_RECV,
    N_FUNCS,
} Func;
extern const char *const func_names[N_FUNCS], *const type_names[LS_NCCL_N_TYPES];

/* A piece of memory that all ranks of a communicator map. */
typedef struct Shared {
    _Atomic uint32_t n_attached, n_arrived, generation;
    _Atomic uint32_t split_color[RANKS_MAX], split_key[RANKS_MAX];
    struct {
        _Alignas(64) _Atomic uint32_t bytes; /* 0: empty */
    } mail[];                                /* n * n, then n chunks, then n * n chunks */
} Shared;

typedef struct Comm {
    Shared *shared;
    size_t shared_bytes;
    char name[64];
    uint64_t hash;
    int n, rank, n_splits;
    uint64_t sequence[N_FUNCS];
    DoublePlace last; /* its kernels run one after the other */
    _Atomic int error;
    _Atomic int is_aborted; /* here; the others notice nothing, as with the real one */
    _Atomic int is_joining;
    bool is_blocking;
    int n_slow; /* questions until the last call is said to be done */
    int64_t n_operations;
    char id[128];
    void *profiler; /* context of the plugin */
} Comm;

typedef struct Task {
    Func func;
    const void *send;
    void *receive;
    size_t count;
    int type, op, root; /* root: or the peer */
    Comm *comm;
    LsCuStream stream;
    void *api_handle, *handle;
    uint64_t sequence;
} Task;

/* What one kernel carries. */
typedef struct Plan {
    Comm *comm;
    LsCuStream stream;
    Task tasks[TASKS_MAX];
    int n;
    bool hangs;
    char kernel[96];
    uint64_t start_ns, end_ns; /* the device's clock */
    _Atomic int is_told;       /* the host's events are over: the proxy thread may free it */
} Plan;

#define LS_ABI_FUNCTION(name, arguments) LsNcclResult name arguments;
LS_NCCL_FUNCTIONS(LS_ABI_FUNCTION)
LS_NCCL_NEWER(LS_ABI_FUNCTION)
#undef LS_ABI_FUNCTION
const char *ncclGetErrorString(LsNcclResult result);
const char *ncclGetLastError(LsNcclComm comm);

/* nccl-data.c: moves bytes, on the stream's thread. */
LsNcclResult shared_open(Comm *comm, const char *name);
void shared_close(Comm *comm);
bool shared_barrier(Comm *comm);
void plan_run(Plan *plan);

/* nccl-profiler.c */
void profiler_open(Comm *comm);
void profiler_close(Comm *comm);
void *profiler_group_begin(Comm *comm, int depth);
void profiler_group_end(void *group);
void *profiler_api_begin(const Task *task, void *group);
void profiler_api_end(void *handle);
void *profiler_launch_begin(const Plan *plan, void *group);
void profiler_launch_end(void *handle);
void profiler_tasks(Plan *plan, void *group);
/* The plan has run: its channel events will come from the proxy thread, which frees it. */
void profiler_run_ended(Plan *plan);
void profiler_kick(const Plan *plan);
