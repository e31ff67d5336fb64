/* SPDX-License-Identifier: Apache-2.0
 *
 * The plugin host of NCCL's double: it calls a profiler plugin in the order of NCCL 2.28 (table v5;
 * v6 of 2.29 and v4 of 2.27 by setting), and as badly as NCCL has been seen to: channel events from
 * a proxy thread when their parents have ended, without a begin, ended first, ended twice; numbers
 * that are not initialised; a plugin that is unloaded while threads run.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nccl-private.h"

typedef struct Job {
    struct Job *next;
    Plan *plan;
} Job;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void *library;
    const LsNcclProfilerV5 *v5; /* also v6 */
    const LsNcclProfilerV4 *v4;
    int n_comms;
    int mask; /* one for all communicators: the last to be made has the last word */
    bool has_thread;
    Job *first, **last;
    int n_pending;
    _Atomic uint64_t n_channels, n_stops;
} host = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void
log_nothing(int level, unsigned long flags, const char *file, int line, const char *format, ...)
{
}

static bool
every(int64_t n, _Atomic uint64_t *counter)
{
    return n > 0 && (atomic_fetch_add(counter, 1) + 1) % (uint64_t)n == 0;
}

/* -- Calling it -- */

static void *
begin(Comm *comm, LsNcclEventV5 *event)
{
    void *handle = NULL;
    if (host.v5 == NULL || (host.mask & (int)event->type) == 0)
        return NULL;
    event->rank = comm->rank;
    host.v5->startEvent(comm->profiler, &handle, event);
    double_count(1, "plugin.start.%llu", (unsigned long long)event->type);
    return handle;
}

static void *
begin_v4(Comm *comm, LsNcclEventV4 *event)
{
    void *handle = NULL;
    if (host.v4 == NULL || (host.mask & event->type) == 0)
        return NULL;
    event->rank = comm->rank;
    host.v4->startEvent(comm->profiler, &handle, event);
    double_count(1, "plugin.start.%u", event->type);
    return handle;
}

static void
end(void *handle)
{
    if (handle == NULL)
        return;
    int (*stop)(void *) = host.v5 != NULL ? host.v5->stopEvent : host.v4->stopEvent;
    stop(handle);
    if (every(double_settings()->double_stop, &host.n_stops))
        stop(handle);
}

static void
tell(void *handle, int state, uint64_t device_ns)
{
    LsNcclState arguments = {.kernel_channel = {device_ns}};
    if (handle == NULL)
        return;
    (host.v5 != NULL ? host.v5->recordEventState : host.v4->recordEventState)(handle, state,
                                                                              &arguments);
}

/* -- Loading -- */

static void
load(void)
{
    const char *path = getenv("NCCL_PROFILER_PLUGIN");
    char name[32];
    if (path == NULL || strcmp(path, "none") == 0 || host.library != NULL)
        return;
    host.library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (host.library == NULL)
        return;
    for (int version = (int)double_settings()->nccl_api; version >= 4; version--) {
        snprintf(name, sizeof name, "ncclProfiler_v%d", version);
        const void *table = dlsym(host.library, name);
        if (table == NULL)
            continue;
        if (version >= 5)
            host.v5 = table;
        else
            host.v4 = table;
        double_count(1, "plugin.v%d", version);
        return;
    }
}

void
profiler_open(Comm *comm)
{
    int status = 0;
    pthread_mutex_lock(&host.lock);
    if (host.n_comms++ == 0)
        load();
    if (host.v5 != NULL)
        status = host.v5->init(&comm->profiler, comm->hash, &host.mask, comm->name, 1, comm->n,
                               comm->rank, log_nothing);
    else if (host.v4 != NULL)
        status = host.v4->init(&comm->profiler, &host.mask, comm->name, comm->hash, 1, comm->n,
                               comm->rank, log_nothing);
    pthread_mutex_unlock(&host.lock);
    /* A failure is only logged: events will come with a null context. */
    if (status != 0)
        comm->profiler = NULL;
}

void
profiler_close(Comm *comm)
{
    pthread_mutex_lock(&host.lock);
    while (host.n_pending > 0)
        pthread_cond_wait(&host.changed, &host.lock);
    if (comm->profiler != NULL)
        (host.v5 != NULL ? host.v5->finalize : host.v4->finalize)(comm->profiler);
    if (--host.n_comms == 0 && host.library != NULL && double_settings()->unload != 0) {
        dlclose(host.library);
        host.library = NULL;
        host.v5 = NULL;
        host.v4 = NULL;
    }
    pthread_mutex_unlock(&host.lock);
}

/* -- The host's side of a group -- */

void *
profiler_group_begin(Comm *comm, int depth)
{
    LsNcclEventV5 event = {.type = LS_NCCL_EVENT_GROUP_API, .group_api = {false, depth}};
    return begin(comm, &event);
}

void
profiler_group_end(void *group)
{
    end(group);
}

void *
profiler_api_begin(const Task *task, void *group)
{
    LsNcclEventV5 event = {.type = LS_NCCL_EVENT_COLL_API, .parent = group};
    if (task->func >= FUNC_SEND) {
        event.type = LS_NCCL_EVENT_P2P_API;
        event.p2p_api.func = func_names[task->func];
        event.p2p_api.count = task->count;
        event.p2p_api.type = type_names[task->type];
        event.p2p_api.stream = task->stream;
    } else {
        event.coll_api.func = func_names[task->func];
        event.coll_api.count = task->count;
        event.coll_api.type = type_names[task->type];
        event.coll_api.root = task->root;
        event.coll_api.stream = task->stream;
    }
    return begin(task->comm, &event);
}

void
profiler_api_end(void *handle)
{
    end(handle);
}

void *
profiler_launch_begin(const Plan *plan, void *group)
{
    LsNcclEventV5 event = {.type = LS_NCCL_EVENT_KERNEL_LAUNCH, .parent = group};
    event.kernel_launch.stream = plan->stream;
    return begin(plan->comm, &event);
}

void
profiler_launch_end(void *handle)
{
    end(handle);
}

static uint8_t
channels(void)
{
    return double_settings()->garbage_channels != 0 ? 224 : 2;
}

static void *
begin_task(Task *task, void *legacy)
{
    LsNcclEventV5 event = {.parent = task->api_handle};
    if (task->func >= FUNC_SEND) {
        event.type = LS_NCCL_EVENT_P2P;
        event.p2p.func = func_names[task->func];
        event.p2p.count = task->count;
        event.p2p.type = type_names[task->type];
        event.p2p.peer = task->root;
        event.p2p.n_channels = channels();
        event.p2p.group = legacy;
    } else {
        event.type = LS_NCCL_EVENT_COLL;
        event.coll.sequence = task->sequence;
        event.coll.func = func_names[task->func];
        event.coll.send = task->send;
        event.coll.receive = task->receive;
        event.coll.count = task->count;
        event.coll.root = task->root;
        event.coll.type = type_names[task->type];
        event.coll.n_channels = channels();
        event.coll.algorithm = "RING";
        event.coll.protocol = "LL";
        event.coll.group = legacy;
    }
    return begin(task->comm, &event);
}

static void *
begin_task_v4(Task *task, void *legacy)
{
    LsNcclEventV4 event = {.parent = legacy};
    if (task->func >= FUNC_SEND) {
        event.type = LS_NCCL_EVENT_P2P;
        event.p2p.func = func_names[task->func];
        event.p2p.count = task->count;
        event.p2p.type = type_names[task->type];
        event.p2p.peer = task->root;
    } else {
        event.type = LS_NCCL_EVENT_COLL;
        event.coll.sequence = task->sequence;
        event.coll.func = func_names[task->func];
        event.coll.count = task->count;
        event.coll.type = type_names[task->type];
        event.coll.n_channels = channels();
        event.coll.algorithm = "RING";
        event.coll.protocol = "LL";
    }
    return begin_v4(task->comm, &event);
}

void
profiler_tasks(Plan *plan, void *group)
{
    LsNcclEventV5 event = {.type = LS_NCCL_EVENT_GROUP, .parent = group};
    LsNcclEventV4 event_v4 = {.type = LS_NCCL_EVENT_GROUP};
    void *legacy = host.v5 != NULL ? begin(plan->comm, &event) : begin_v4(plan->comm, &event_v4);
    for (int i = 0; i < plan->n; i++) {
        Task *task = &plan->tasks[i];
        task->handle = host.v5 != NULL ? begin_task(task, legacy) : begin_task_v4(task, legacy);
        end(task->handle);
    }
    end(legacy);
}

/* -- The proxy thread -- */

static void
tell_channel(const Plan *plan, const Task *task, uint8_t channel)
{
    const DoubleSettings *settings = double_settings();
    bool is_stop_first = every(settings->stop_first, &host.n_channels);
    bool has_start = settings->no_start == 0 || host.n_channels % (uint64_t)settings->no_start != 0;
    LsNcclEventV5 event = {.type = LS_NCCL_EVENT_KERNEL_CHANNEL, .parent = task->handle};
    LsNcclEventV4 event_v4 = {.type = LS_NCCL_EVENT_KERNEL_CHANNEL, .parent = task->handle};
    void *handle = NULL;
    event.kernel_channel.channel = event_v4.kernel_channel.channel = channel;
    event.kernel_channel.device_ns = event_v4.kernel_channel.device_ns = plan->start_ns;
    if (has_start)
        handle = host.v5 != NULL ? begin(plan->comm, &event) : begin_v4(plan->comm, &event_v4);
    if (is_stop_first)
        end(handle);
    tell(handle, LS_NCCL_STATE_KERNEL_CHANNEL_STOP, plan->end_ns);
    end(handle);
}

static void *
loop(void *user)
{
    pthread_mutex_lock(&host.lock);
    for (;;) {
        Job *job = host.first;
        if (job == NULL) {
            pthread_cond_wait(&host.changed, &host.lock);
            continue;
        }
        host.first = job->next;
        if (host.first == NULL)
            host.last = &host.first;
        pthread_mutex_unlock(&host.lock);
        while (atomic_load(&job->plan->is_told) == 0)
            double_sleep(100000);
        if (double_settings()->late_parent != 0)
            double_sleep(1000000);
        for (int i = 0; i < job->plan->n; i++) {
            for (uint8_t channel = 0; channel < 2; channel++) {
                if ((host.mask & LS_NCCL_EVENT_KERNEL_CHANNEL) != 0)
                    tell_channel(job->plan, &job->plan->tasks[i], channel);
            }
        }
        free(job->plan);
        free(job);
        pthread_mutex_lock(&host.lock);
        host.n_pending--;
        pthread_cond_broadcast(&host.changed);
    }
    return NULL;
}

void
profiler_kick(const Plan *plan)
{
    pthread_mutex_lock(&host.lock);
    host.n_pending++;
    pthread_mutex_unlock(&host.lock);
}

void
profiler_run_ended(Plan *plan)
{
    Job *job = calloc(1, sizeof *job);
    pthread_t thread;
    job->plan = plan;
    pthread_mutex_lock(&host.lock);
    if (!host.has_thread) {
        host.last = &host.first;
        host.has_thread = pthread_create(&thread, NULL, loop, NULL) == 0;
        if (host.has_thread)
            pthread_detach(thread);
    }
    *host.last = job;
    host.last = &job->next;
    pthread_cond_broadcast(&host.changed);
    pthread_mutex_unlock(&host.lock);
}
