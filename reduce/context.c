/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/context.c: init and shutdown.
 *
 * Init builds everything that can fail before the last agreement of the ranks, its thread included,
 * so that either all ranks have a context or none. Shutdown waits for the loop to end or for a rank
 * to die: after a death the communication thread may be blocked in MPI for ever, and what it uses
 * stays as it is until the process exits.
 */
#include "reduce/context.h"

#include "capture/compat.h"
#include "reduce/agree.h"
#include "reduce/device.h"
#include "reduce/failure.h"
#include "reduce/graph.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of a device's memory for fused buffers, also where nothing is fused: long tensors go through it.
 */
#define DEVICE_BYTES_MIN (INT64_C(4) << 20)

LS_BIND_OLD(pthread_create);
LS_BIND_OLD(pthread_join);
LS_BIND_OLD(pthread_detach);

LOCKSTEP_API void
lockstep_options_init(lockstep_options *options)
{
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
}

static void
on_message(void *user, LsTransportCall call, int64_t start_ns, int64_t end_ns,
           const LsMessageCount *count)
{
    lockstep_context *context = user;
    if (context->loop != NULL)
        ls_loop_message(context->loop, call, start_ns, end_ns, count);
}

static void
on_leave(void *user)
{
    ls_watcher_leave(((lockstep_context *)user)->watcher);
}

/* One survivor of each host speaks for it: its lowest rank that lives. */
static bool
is_spokesman(const LsWorld *world, int dead)
{
    int host = world->infos[world->rank].host, first = ls_world_leader(world, host);
    if (first == dead)
        first++;
    while (world->infos[first].host != host)
        first++;
    return world->rank == first;
}

static void
set_flag(lockstep_context *context, bool *flag)
{
    pthread_mutex_lock(&context->lock);
    *flag = true;
    pthread_cond_broadcast(&context->changed);
    pthread_mutex_unlock(&context->lock);
}

/* The watcher's thread. */
static void
on_lost(void *user, int rank)
{
    lockstep_context *context = user;
    const LsRankInfo *info = &context->world->infos[rank];
    char text[128];
    snprintf(text, sizeof text, "rank %d (process %lld) has died", rank, (long long)info->pid);
    bool speaks = is_spokesman(context->world, rank);
    ls_instrument_peer_lost(&context->instrument, info->job_rank, info->pid, text);
    if (speaks)
        ls_instrument_tell(text);
    set_flag(context, &context->lost); /* before the loop can end: shutdown must not touch MPI */
    if (context->plane->class->abandon != NULL)
        context->plane->class->abandon(context->plane);
    ls_queue_abandon(context->queue, LOCKSTEP_ERR_PEER_LOST, text);
    if (speaks)
        ls_instrument_recover(&context->instrument);
    set_flag(context, &context->recovered);
}

static void *
run_thread(void *user)
{
    lockstep_context *context = user;
    pthread_mutex_lock(&context->lock);
    while (!context->started && !context->cancelled)
        pthread_cond_wait(&context->changed, &context->lock);
    bool cancelled = context->cancelled;
    pthread_mutex_unlock(&context->lock);
    if (!cancelled)
        ls_loop_run(context->loop);
    if (!cancelled)
        ls_watcher_stop(context->watcher);
    set_flag(context, &context->ended);
    return NULL;
}

static void
record_settings(lockstep_context *context)
{
    for (int id = 0; id < LS_N_SETTINGS; id++) {
        char key[LS_SETTING_TEXT_MAX];
        snprintf(key, sizeof key, "reduce.%s", ls_setting_name((LsSettingId)id));
        ls_instrument_info(&context->instrument, key, context->settings.texts[id]);
    }
    ls_instrument_info(&context->instrument, "reduce.plane", context->plane->class->name);
}

static lockstep_status
open_groups(lockstep_context *context, const lockstep_graph *graph)
{
    const LsSettings *settings = &context->settings;
    const LsColourRule rule = {
        .by = (LsColouring)settings->numbers[LS_SETTING_GROUPING],
        .file = settings->texts[LS_SETTING_GROUPS],
        .slices = settings->numbers[LS_SETTING_GROUP_SLICES],
        .bytes = settings->numbers[LS_SETTING_GROUP_BYTES],
        .parts = settings->numbers[LS_SETTING_GROUP_PARTS],
    };
    char error[256];
    context->groups = ls_groups_new();
    context->graph = ls_graph_copy(graph);
    if (context->groups == NULL || (graph != NULL && context->graph == NULL))
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory");
    const char *fault = ls_colour(graph, &rule, context->groups, error);
    return fault == NULL ? LOCKSTEP_OK : ls_fail(LOCKSTEP_ERR_SETTINGS, "grouping: %s", fault);
}

/* The plane, and the device that its tensors lie on. */
static lockstep_status
open_plane(lockstep_context *context)
{
    const LsSettings *settings = &context->settings;
    const char *name = settings->texts[LS_SETTING_PLANE];
    int64_t memory = settings->numbers[LS_SETTING_MEMORY];
    bool on_device = memory == LS_MEMORY_DEVICE ||
                     (memory == LS_MEMORY_AUTO && strcmp(name, ls_plane_nccl.name) == 0);
    const LsPlaneClass *class = ls_plane_find(name, context->world, on_device);
    if (class == NULL)
        return LOCKSTEP_ERR_SETTINGS;
    if (on_device && settings->numbers[LS_SETTING_COMPRESSION] != LS_COMPRESSION_NONE)
        return ls_fail(LOCKSTEP_ERR_SETTINGS,
                       "setting compression: %s is not for tensors on a device",
                       settings->texts[LS_SETTING_COMPRESSION]);
    LsPlaneConfig config = {.world = context->world,
                            .servers = (int)settings->numbers[LS_SETTING_SERVERS],
                            .transport = context->transport};
    int64_t bytes = settings->numbers[LS_SETTING_FUSION_THRESHOLD_BYTES];
    lockstep_status status = LOCKSTEP_OK;
    if (on_device)
        status = ls_device_open(settings->texts[LS_SETTING_DEVICE], context->world->local_rank,
                                (size_t)(bytes > DEVICE_BYTES_MIN ? bytes : DEVICE_BYTES_MIN),
                                &context->device);
    config.device = context->device;
    return status == LOCKSTEP_OK ? class->open(&config, &context->plane) : status;
}

/* What this rank needs beside its connection. On failure the rest is close_parts()'s. */
static lockstep_status
open_parts(lockstep_context *context)
{
    LsWorld *world = context->world;
    const LsSettings *settings = &context->settings;
    const LsControlClass *control = ls_control_find(settings->texts[LS_SETTING_CONTROL]);
    if (control == NULL)
        return ls_fail(LOCKSTEP_ERR_SETTINGS, "setting control: there is no control '%s'",
                       settings->texts[LS_SETTING_CONTROL]);
    lockstep_status status = open_plane(context);
    if (status != LOCKSTEP_OK)
        return status;
    context->queue = ls_queue_new(world->rank, &context->instrument, context->groups);
    if (context->queue == NULL)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory");
    ls_queue_set_plane(context->queue, context->plane, world->ranks);
    LsExecutorConfig executor = {context->queue,
                                 &context->instrument,
                                 world,
                                 context->plane,
                                 settings->numbers[LS_SETTING_FUSION_THRESHOLD_BYTES],
                                 (LsCompression)settings->numbers[LS_SETTING_COMPRESSION],
                                 (int)settings->numbers[LS_SETTING_TOPK_PERMILLE]};
    if (executor.topk_permille < 1 || executor.topk_permille > 1000)
        return ls_fail(LOCKSTEP_ERR_SETTINGS, "setting topk_permille: %s is not 1 to 1000",
                       settings->texts[LS_SETTING_TOPK_PERMILLE]);
    context->executor = ls_executor_new(&executor);
    if (context->executor == NULL)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory for a fusion buffer of %s bytes",
                       settings->texts[LS_SETTING_FUSION_THRESHOLD_BYTES]);
    LsLoopConfig loop = {.queue = context->queue,
                         .instrument = &context->instrument,
                         .world = world,
                         .transport = context->transport,
                         .executor = context->executor,
                         .class = control,
                         .settings = settings,
                         .groups = context->groups,
                         .graph = context->graph,
                         .leave = on_leave,
                         .user = context};
    context->loop = ls_loop_new(&loop);
    if (context->loop == NULL)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory");
    if (pthread_create(&context->thread, NULL, run_thread, context) != 0)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "no thread could be started for communication");
    context->threaded = true;
    return LOCKSTEP_OK;
}

static void
close_parts(lockstep_context *context)
{
    if (context->threaded) {
        set_flag(context, &context->cancelled);
        pthread_join(context->thread, NULL);
    }
    if (context->watcher != NULL)
        ls_watcher_close(context->watcher);
    if (context->loop != NULL)
        ls_loop_free(context->loop);
    if (context->executor != NULL)
        ls_executor_free(context->executor);
    if (context->queue != NULL)
        ls_queue_free(context->queue);
    if (context->plane != NULL)
        context->plane->class->close(context->plane);
    ls_device_close(context->device);
    if (context->transport != NULL)
        context->transport->class->close(context->transport);
    if (context->world != NULL)
        context->world->class->close(context->world);
    ls_groups_free(context->groups);
    lockstep_graph_free(context->graph);
    ls_instrument_close(&context->instrument);
    pthread_cond_destroy(&context->changed);
    pthread_mutex_destroy(&context->lock);
    free(context);
}

/* From the connection to the agreement that all ranks have all they need. */
static lockstep_status
join_ranks(lockstep_context *context, const lockstep_options *options)
{
    lockstep_status local = ls_settings_load(options->settings, &context->settings);
    lockstep_status status = ls_world_open(options, &context->world);
    if (status != LOCKSTEP_OK)
        return status;
    LsTransportEvents events = {on_message, context};
    context->transport = context->world->class->transport(context->world, &events);
    if (context->transport == NULL)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory");
    status = ls_agree_settings(context->transport, &context->settings, local);
    if (status != LOCKSTEP_OK)
        return status;
    local = open_groups(context, options->graph);
    status = ls_agree_word(context->transport, ls_groups_digest(context->groups),
                           "the groups of tensors", local);
    if (status != LOCKSTEP_OK)
        return status;
    const char *host = context->settings.texts[LS_SETTING_HOST];
    status = ls_world_meet(context->world, context->transport, host[0] != '\0' ? host : NULL);
    if (status != LOCKSTEP_OK)
        return status;
    status = ls_agree(context->transport, open_parts(context));
    if (status != LOCKSTEP_OK)
        return status;
    LsWatcherConfig watcher = {.world = context->world,
                               .transport = context->transport,
                               .method =
                                   (LsWatcherMethod)context->settings.numbers[LS_SETTING_WATCHER],
                               .lost = on_lost,
                               .user = context};
    status = ls_watcher_open(&watcher, &context->watcher);
    return ls_agree(context->transport, status);
}

/* A program built against an older header hands in a shorter struct: what it does not know keeps
 * its default. Of a longer one, what we do not know is not read. */
#define OPTIONS_FIRST_SIZE offsetof(lockstep_options, graph)

static bool
read_options(const lockstep_options *given, lockstep_options *ret_known)
{
    lockstep_options_init(ret_known);
    if (given == NULL)
        return true;
    if (given->size < OPTIONS_FIRST_SIZE)
        return false;
    memcpy(ret_known, given, given->size < sizeof *ret_known ? given->size : sizeof *ret_known);
    return true;
}

LOCKSTEP_API lockstep_status
lockstep_init(const lockstep_options *options, lockstep_context **ret_context)
{
    lockstep_options known;
    if (ret_context == NULL)
        return ls_fail(LOCKSTEP_ERR_ARGUMENT, "lockstep_init: ret_context is NULL");
    *ret_context = NULL;
    if (!read_options(options, &known))
        return ls_fail(LOCKSTEP_ERR_ARGUMENT,
                       "lockstep_init: options->size is %zu, which is less than the %zu that "
                       "lockstep_options had at first",
                       options->size, OPTIONS_FIRST_SIZE);
    options = &known;
    lockstep_context *context = calloc(1, sizeof *context);
    if (context == NULL)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory");
    pthread_mutex_init(&context->lock, NULL);
    pthread_cond_init(&context->changed, NULL);
    lockstep_status status = join_ranks(context, options);
    if (status != LOCKSTEP_OK) {
        close_parts(context);
        return status;
    }
    const LsWorld *world = context->world;
    ls_instrument_open(&context->instrument, options->run);
    context->instrument.communicator = world->communicator;
    ls_instrument_rank(&context->instrument, world->job_rank, world->job_ranks, world->local_rank);
    record_settings(context);
    ls_watcher_start(context->watcher);
    set_flag(context, &context->started);
    *ret_context = context;
    return LOCKSTEP_OK;
}

/* Under the lock: a moment for what the dead rank left in memory to reach the disk. */
static void
await_recovery(lockstep_context *context)
{
    struct timespec deadline;
    int result = 0;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec++;
    while (!context->recovered && result == 0)
        result = pthread_cond_timedwait(&context->changed, &context->lock, &deadline);
}

LOCKSTEP_API lockstep_status
lockstep_shutdown(lockstep_context *context)
{
    if (context == NULL)
        return ls_fail(LOCKSTEP_ERR_ARGUMENT, "lockstep_shutdown: context is NULL");
    if (ls_queue_is_calling())
        return ls_fail(LOCKSTEP_ERR_ARGUMENT,
                       "lockstep_shutdown: called from a callback, which it would wait for");
    ls_queue_leave(context->queue);
    pthread_mutex_lock(&context->lock);
    while (!context->ended && !context->lost)
        pthread_cond_wait(&context->changed, &context->lock);
    bool lost = context->lost;
    if (lost)
        await_recovery(context);
    pthread_mutex_unlock(&context->lock);
    if (!lost) {
        close_parts(context);
        return LOCKSTEP_OK;
    }
    pthread_detach(context->thread);
    ls_instrument_close(&context->instrument);
    return ls_fail(LOCKSTEP_ERR_PEER_LOST,
                   "a rank has died: MPI is left as it is, exit without MPI_Finalize");
}

LOCKSTEP_API int
lockstep_rank(const lockstep_context *context)
{
    return context != NULL ? context->world->rank : -1;
}

LOCKSTEP_API int
lockstep_size(const lockstep_context *context)
{
    return context != NULL ? context->world->ranks : -1;
}

LOCKSTEP_API int
lockstep_local_rank(const lockstep_context *context)
{
    return context != NULL ? context->world->local_rank : -1;
}

LOCKSTEP_API int
lockstep_local_size(const lockstep_context *context)
{
    return context != NULL ? context->world->local_ranks : -1;
}
