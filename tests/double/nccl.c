/* SPDX-License-Identifier: Apache-2.0
 *
 * NCCL's double: communicators, groups, and one kernel for what a group gives a stream. It computes
 * on the CPU; its times are never a result.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "nccl-private.h"

const char *const func_names[N_FUNCS] = {"AllReduce",     "Reduce", "Broadcast", "AllGather",
                                         "ReduceScatter", "Send",   "Recv"};
const char *const type_names[LS_NCCL_N_TYPES] = {
    "ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32",  "ncclInt64",
    "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"};
static const char *const short_types[LS_NCCL_N_TYPES] = {"i8",  "u8",  "i32", "u32", "i64",
                                                         "u64", "f16", "f32", "f64", "bf16"};
static const char *const short_ops[] = {"Sum", "Prod", "MinMax", "MinMax", "SumPostDiv"};

typedef struct Group {
    int depth, n;
    Task tasks[TASKS_MAX];
    void *handle;
    LsNcclResult error;
} Group;
static __thread Group group;

static pthread_once_t nvtx_once = PTHREAD_ONCE_INIT;
static LsNvtxDomain nvtx_domain;

static void
open_nvtx(void)
{
    nvtx_domain = ls_nvtx_domain("NCCL");
}

/* -- Launching what a group has gathered -- */

static void
run_plan(void *user)
{
    Plan *plan = user;
    const DoubleTable *table = double_find_table();
    plan->start_ns = table->device_clock();
    plan_run(plan);
    plan->end_ns = table->device_clock();
    profiler_run_ended(plan);
}

/* As the real one's, which carries several operations under the name of one of them. */
static void
name_kernel(Plan *plan)
{
    const Task *task = &plan->tasks[0];
    if (task->func >= FUNC_SEND)
        snprintf(plan->kernel, sizeof plan->kernel, "ncclDevKernel_SendRecv");
    else if (task->func == FUNC_ALLREDUCE || task->func == FUNC_REDUCE ||
             task->func == FUNC_REDUCESCATTER)
        snprintf(plan->kernel, sizeof plan->kernel, "ncclDevKernel_%s_%s_%s_RING_LL",
                 func_names[task->func], short_ops[task->op], short_types[task->type]);
    else
        snprintf(plan->kernel, sizeof plan->kernel, "ncclDevKernel_%s_RING_LL",
                 func_names[task->func]);
}

/* Names of kernels live as long as the library. */
static const char *
keep_name(const char *name)
{
    static char names[64][96];
    static int n_names;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const char *found = "ncclDevKernel_Generic";
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < n_names && strcmp(names[i], name) != 0)
        i++;
    if (i == n_names && n_names < 64)
        snprintf(names[n_names++], sizeof names[0], "%s", name);
    if (i < 64)
        found = names[i];
    pthread_mutex_unlock(&lock);
    return found;
}

static LsNcclResult
launch(Plan *plan)
{
    static _Atomic uint64_t n_launches;
    const DoubleTable *table = double_find_table();
    const DoubleSettings *settings = double_settings();
    Comm *comm = plan->comm;
    uint64_t n = atomic_fetch_add(&n_launches, 1) + 1;
    bool is_first = settings->coll_first > 0 && n % (uint64_t)settings->coll_first == 0;
    for (int i = 0; i < plan->n; i++) {
        Task *task = &plan->tasks[i];
        task->sequence = comm->sequence[task->func]++;
    }
    name_kernel(plan);
    Plan *running = malloc(sizeof *running);
    if (is_first)
        profiler_tasks(plan, group.handle);
    void *handle = profiler_launch_begin(plan, group.handle);
    profiler_kick(plan);
    *running = *plan;
    DoublePlace after = comm->last;
    LsCuResult result = table->launch(plan->stream, keep_name(plan->kernel), 2, 512, run_plan,
                                      running, &after, &comm->last);
    profiler_launch_end(handle);
    if (!is_first)
        profiler_tasks(running, group.handle);
    atomic_store(&running->is_told, 1);
    return result == LS_CUDA_SUCCESS ? LS_NCCL_SUCCESS : LS_NCCL_UNHANDLED_CUDA_ERROR;
}

/* Settings say that this rank fails in this way. */
static bool
is_failing(const Comm *comm, int64_t way)
{
    return way != 0 && double_settings()->nccl_fail_rank == comm->rank + 1;
}

/* What a call gives that has begun what it was asked for. */
static LsNcclResult
begun(Comm *comm)
{
    if (comm->is_blocking || double_settings()->nccl_slow == 0)
        return LS_NCCL_SUCCESS;
    comm->n_slow = (int)double_settings()->nccl_slow;
    return LS_NCCL_IN_PROGRESS;
}

/* One plan for each communicator and stream, in the order of their first task. */
static LsNcclResult
launch_all(void)
{
    bool is_taken[TASKS_MAX] = {false};
    LsNcclResult result = group.error;
    static __thread Plan plan;
    Comm *last = NULL;
    for (int first = 0; first < group.n && result == LS_NCCL_SUCCESS; first++) {
        if (is_taken[first])
            continue;
        memset(&plan, 0, sizeof plan);
        plan.comm = group.tasks[first].comm;
        plan.stream = group.tasks[first].stream;
        for (int i = first; i < group.n; i++) {
            if (group.tasks[i].comm == plan.comm && group.tasks[i].stream == plan.stream) {
                is_taken[i] = true;
                plan.tasks[plan.n++] = group.tasks[i];
            }
        }
        plan.hangs = is_failing(plan.comm, double_settings()->nccl_fail_kernel) &&
                     plan.comm->n_operations >= double_settings()->nccl_fail_kernel;
        last = plan.comm;
        result = launch(&plan);
    }
    if (result == LS_NCCL_SUCCESS && last != NULL)
        result = begun(last);
    profiler_group_end(group.handle);
    group.n = 0;
    group.handle = NULL;
    group.error = LS_NCCL_SUCCESS;
    return result;
}

static void
push_range(const char *name)
{
    pthread_once(&nvtx_once, open_nvtx);
    if (nvtx_domain != NULL)
        ls_nvtx_push(nvtx_domain, name);
}

static void
pop_range(void)
{
    if (nvtx_domain != NULL)
        ls_nvtx_pop(nvtx_domain);
}

static LsNcclResult
leave_group(void)
{
    if (group.depth == 0)
        return LS_NCCL_INVALID_USAGE;
    return --group.depth == 0 ? launch_all() : LS_NCCL_SUCCESS;
}

DOUBLE_API LsNcclResult
ncclGroupStart(void)
{
    push_range("ncclGroupStart");
    group.depth++;
    pop_range();
    return LS_NCCL_SUCCESS;
}

DOUBLE_API LsNcclResult
ncclGroupEnd(void)
{
    push_range("ncclGroupEnd");
    LsNcclResult result = leave_group();
    pop_range();
    return result;
}

static LsNcclResult
find_fault(const Task *task)
{
    const DoubleSettings *settings = double_settings();
    const DoubleTable *table = double_find_table();
    Comm *comm = task->comm;
    if (comm == NULL || ls_nccl_type_bytes(task->type) == 0 || group.n == TASKS_MAX ||
        (task->func >= FUNC_BROADCAST && (task->root < 0 || task->root >= comm->n)) ||
        (task->op == LS_NCCL_AVG && settings->nccl_version < LS_NCCL_VERSION_AVG))
        return LS_NCCL_INVALID_ARGUMENT;
    if (atomic_load(&comm->is_joining) != 0 || comm->n_slow > 0)
        return LS_NCCL_INVALID_USAGE; /* the last call was not waited for */
    if (task->count > 0 && ((task->send != NULL && !table->is_device(task->send)) ||
                            (task->receive != NULL && !table->is_device(task->receive))))
        return LS_NCCL_INVALID_ARGUMENT;
    comm->n_operations++;
    if (is_failing(comm, settings->nccl_fail_call) &&
        comm->n_operations == settings->nccl_fail_call)
        return LS_NCCL_INTERNAL_ERROR;
    return LS_NCCL_SUCCESS;
}

static LsNcclResult
submit(const Task *task)
{
    char name[32];
    snprintf(name, sizeof name, "nccl%s", func_names[task->func]);
    push_range(name); /* before the arguments are looked at, as the real one does */
    LsNcclResult result = find_fault(task);
    group.depth++;
    if (result != LS_NCCL_SUCCESS)
        group.error = result;
    if (result == LS_NCCL_SUCCESS && task->count > 0) {
        Task *kept = &group.tasks[group.n++];
        *kept = *task;
        if (group.handle == NULL)
            group.handle = profiler_group_begin(task->comm, group.depth);
        kept->api_handle = profiler_api_begin(kept, group.handle);
        profiler_api_end(kept->api_handle);
        double_count(1, "coll.%s.%s.%zu", func_names[task->func], type_names[task->type],
                     task->count * ls_nccl_type_bytes(task->type));
        double_count(1, "coll");
    }
    LsNcclResult ended = leave_group();
    pop_range();
    return result != LS_NCCL_SUCCESS ? result : ended;
}

DOUBLE_API LsNcclResult
ncclAllReduce(const void *send, void *receive, size_t count, int type, int op, LsNcclComm comm,
              LsCuStream stream)
{
    Task task = {FUNC_ALLREDUCE, send, receive, count, type, op, 0, comm, stream, 0, 0, 0};
    return submit(&task);
}

DOUBLE_API LsNcclResult
ncclReduce(const void *send, void *receive, size_t count, int type, int op, int root,
           LsNcclComm comm, LsCuStream stream)
{
    Task task = {FUNC_REDUCE, send, receive, count, type, op, root, comm, stream, 0, 0, 0};
    return submit(&task);
}

DOUBLE_API LsNcclResult
ncclBroadcast(const void *send, void *receive, size_t count, int type, int root, LsNcclComm comm,
              LsCuStream stream)
{
    Task task = {FUNC_BROADCAST, send, receive, count, type, 0, root, comm, stream, 0, 0, 0};
    return submit(&task);
}

DOUBLE_API LsNcclResult
ncclAllGather(const void *send, void *receive, size_t count, int type, LsNcclComm comm,
              LsCuStream stream)
{
    Task task = {FUNC_ALLGATHER, send, receive, count, type, 0, 0, comm, stream, 0, 0, 0};
    return submit(&task);
}

DOUBLE_API LsNcclResult
ncclReduceScatter(const void *send, void *receive, size_t count, int type, int op, LsNcclComm comm,
                  LsCuStream stream)
{
    Task task = {FUNC_REDUCESCATTER, send, receive, count, type, op, 0, comm, stream, 0, 0, 0};
    return submit(&task);
}

DOUBLE_API LsNcclResult
ncclSend(const void *send, size_t count, int type, int peer, LsNcclComm comm, LsCuStream stream)
{
    Task task = {FUNC_SEND, send, NULL, count, type, 0, peer, comm, stream, 0, 0, 0};
    return submit(&task);
}

DOUBLE_API LsNcclResult
ncclRecv(void *receive, size_t count, int type, int peer, LsNcclComm comm, LsCuStream stream)
{
    Task task = {FUNC_RECV, NULL, receive, count, type, 0, peer, comm, stream, 0, 0, 0};
    return submit(&task);
}

/* -- Communicators -- */

static uint64_t
hash_text(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    while (*text != '\0')
        hash = (hash ^ (unsigned char)*text++) * 0x100000001b3u;
    return hash;
}

DOUBLE_API LsNcclResult
ncclGetVersion(int *version)
{
    *version = (int)double_settings()->nccl_version;
    return LS_NCCL_SUCCESS;
}

DOUBLE_API const char *
ncclGetErrorString(LsNcclResult result)
{
    static const char *const texts[] = {"no error",
                                        "unhandled cuda error",
                                        "unhandled system error",
                                        "internal error",
                                        "invalid argument",
                                        "invalid usage",
                                        "remote process exited or there was a network error",
                                        "NCCL operation in progress"};
    return result >= 0 && result < 8 ? texts[result] : "unknown result code";
}

DOUBLE_API LsNcclResult
ncclGetUniqueId(LsNcclId *id)
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        return LS_NCCL_SYSTEM_ERROR;
    memset(id, 0, sizeof *id);
    snprintf(id->bytes, sizeof id->bytes, "/lockstep-double-%d-%016llx", (int)getpid(),
             (unsigned long long)number);
    return LS_NCCL_SUCCESS;
}

/* The part that waits for the other ranks. */
static LsNcclResult
join(Comm *comm)
{
    if (is_failing(comm, double_settings()->nccl_fail_init))
        return LS_NCCL_SYSTEM_ERROR;
    LsNcclResult result = shared_open(comm, comm->id);
    if (result == LS_NCCL_SUCCESS)
        profiler_open(comm);
    return result;
}

static void *
join_later(void *user)
{
    Comm *comm = user;
    LsNcclResult result = join(comm);
    if (result != LS_NCCL_SUCCESS)
        atomic_store(&comm->error, result);
    atomic_store(&comm->is_joining, 0);
    return NULL;
}

static LsNcclResult
open_comm(LsNcclComm *ret_comm, int n, const char *id, int rank, bool is_blocking)
{
    const DoubleTable *table = double_find_table();
    pthread_t thread;
    if (table == NULL || !table->is_initialized())
        return LS_NCCL_UNHANDLED_CUDA_ERROR;
    if (n < 1 || n > RANKS_MAX || rank < 0 || rank >= n)
        return LS_NCCL_INVALID_ARGUMENT;
    Comm *comm = calloc(1, sizeof *comm);
    comm->n = n;
    comm->rank = rank;
    comm->hash = hash_text(id);
    comm->is_blocking = is_blocking;
    snprintf(comm->name, sizeof comm->name, "%.*s", (int)sizeof comm->name - 1, id + 1);
    snprintf(comm->id, sizeof comm->id, "%s", id);
    if (!is_blocking) {
        *ret_comm = comm;
        atomic_store(&comm->is_joining, 1);
        if (pthread_create(&thread, NULL, join_later, comm) != 0)
            return LS_NCCL_SYSTEM_ERROR;
        pthread_detach(thread);
        return LS_NCCL_IN_PROGRESS;
    }
    LsNcclResult result = join(comm);
    if (result == LS_NCCL_SUCCESS)
        *ret_comm = comm;
    else
        free(comm);
    return result;
}

DOUBLE_API LsNcclResult
ncclCommInitRank(LsNcclComm *comm, int n_ranks, LsNcclId id, int rank)
{
    id.bytes[sizeof id.bytes - 1] = '\0';
    return id.bytes[0] == '/' ? open_comm(comm, n_ranks, id.bytes, rank, true)
                              : LS_NCCL_INVALID_ARGUMENT;
}

DOUBLE_API LsNcclResult
ncclCommInitRankConfig(LsNcclComm *comm, int n_ranks, LsNcclId id, int rank, LsNcclConfig *config)
{
    id.bytes[sizeof id.bytes - 1] = '\0';
    if (id.bytes[0] != '/' || config == NULL || config->magic != LS_NCCL_CONFIG_MAGIC ||
        config->size < sizeof *config || config->version < LS_NCCL_CONFIG_VERSION)
        return LS_NCCL_INVALID_ARGUMENT;
    return open_comm(comm, n_ranks, id.bytes, rank, config->blocking != 0);
}

DOUBLE_API LsNcclResult
ncclCommSplit(LsNcclComm handle, int color, int key, LsNcclComm *ret_comm, void *config)
{
    Comm *comm = handle;
    Shared *shared = comm->shared;
    char id[128];
    int n = 0, rank = 0;
    atomic_store(&shared->split_color[comm->rank], (uint32_t)color);
    atomic_store(&shared->split_key[comm->rank], (uint32_t)key);
    if (!shared_barrier(comm))
        return LS_NCCL_REMOTE_ERROR;
    for (int other = 0; other < comm->n; other++) {
        uint32_t other_key = atomic_load(&shared->split_key[other]);
        if (atomic_load(&shared->split_color[other]) != (uint32_t)color)
            continue;
        n++;
        rank += other_key < (uint32_t)key || (other_key == (uint32_t)key && other < comm->rank);
    }
    if (!shared_barrier(comm))
        return LS_NCCL_REMOTE_ERROR;
    snprintf(id, sizeof id, "/%s-%d.%d", comm->name, comm->n_splits++, color);
    *ret_comm = NULL;
    return color < 0 ? LS_NCCL_SUCCESS : open_comm(ret_comm, n, id, rank, true);
}

DOUBLE_API LsNcclResult
ncclCommFinalize(LsNcclComm comm)
{
    return comm != NULL ? begun(comm) : LS_NCCL_INVALID_ARGUMENT;
}

DOUBLE_API LsNcclResult
ncclCommDestroy(LsNcclComm handle)
{
    Comm *comm = handle;
    if (comm == NULL)
        return LS_NCCL_INVALID_ARGUMENT;
    profiler_close(comm);
    shared_close(comm);
    free(comm);
    return LS_NCCL_SUCCESS;
}

DOUBLE_API LsNcclResult
ncclCommAbort(LsNcclComm handle)
{
    Comm *comm = handle;
    if (comm == NULL)
        return LS_NCCL_INVALID_ARGUMENT;
    atomic_store(&comm->is_aborted, 1);
    double_count(1, "abort");
    return LS_NCCL_SUCCESS; /* its kernels may still run: it is not freed */
}

DOUBLE_API LsNcclResult
ncclCommGetAsyncError(LsNcclComm handle, LsNcclResult *error)
{
    Comm *comm = handle;
    bool is_joining = atomic_load(&comm->is_joining) != 0;
    *error = atomic_load(&comm->error);
    if (*error == LS_NCCL_SUCCESS && (is_joining || comm->n_slow > 0))
        *error = LS_NCCL_IN_PROGRESS;
    if (!is_joining && comm->n_slow > 0)
        comm->n_slow--;
    return LS_NCCL_SUCCESS;
}

DOUBLE_API const char *
ncclGetLastError(LsNcclComm comm)
{
    return comm != NULL ? "the test double was told to fail" : "";
}

DOUBLE_API LsNcclResult
ncclCommCount(LsNcclComm comm, int *count)
{
    *count = ((const Comm *)comm)->n;
    return LS_NCCL_SUCCESS;
}

DOUBLE_API LsNcclResult
ncclCommUserRank(LsNcclComm comm, int *rank)
{
    *rank = ((const Comm *)comm)->rank;
    return LS_NCCL_SUCCESS;
}
