/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/join.c: how the ranks come together: everything between lockstep_init() and the first
 * cycle that needs the other ranks, on the communication thread.
 *
 * The program's thread waits for it without being inside MPI, because a collective with a dead rank
 * never returns. The first thing that ranks tell each other is who they are; from then on a thread
 * watches the processes of this host, before anything else is exchanged.
 */
#include "reduce/context.h"

#include "capture/compat.h"
#include "reduce/agree.h"
#include "reduce/device.h"
#include "reduce/failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a device's memory for fused buffers, also where nothing is fused: long tensors go through it.
 */
#define DEVICE_BYTES_MIN (INT64_C(4) << 20)

LS_BIND_OLD(pthread_create);
LS_BIND_OLD(pthread_join);

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

void
ls_context_set(lockstep_context *context, bool *flag)
{
    pthread_mutex_lock(&context->lock);
    *flag = true;
    pthread_cond_broadcast(&context->changed);
    pthread_mutex_unlock(&context->lock);
}

static void
note_lost(lockstep_context *context, const char *text)
{
    pthread_mutex_lock(&context->lock);
    snprintf(context->text, sizeof context->text, "%s", text);
    pthread_mutex_unlock(&context->lock);
}

/* Of the watcher before that one, which knows this host alone. */
static void
on_lost_early(void *user, int rank)
{
    lockstep_context *context = user;
    char text[128];
    snprintf(text, sizeof text, "rank %d (process %lld) has died", rank,
             (long long)context->world->infos[rank].pid);
    if (is_spokesman(context->world, rank))
        ls_instrument_tell(text);
    note_lost(context, text);
    ls_context_set(context, &context->recovered);
    ls_context_set(context, &context->lost);
}

/* Before the loop can end: shutdown must not touch MPI. */
static void
abandon(lockstep_context *context, const char *text)
{
    note_lost(context, text);
    ls_context_set(context, &context->lost);
    if (context->plane->class->abandon != NULL)
        context->plane->class->abandon(context->plane);
    ls_queue_abandon(context->queue, LOCKSTEP_ERR_PEER_LOST, text);
}

/* The watcher's thread. */
static void
on_failed(void *user, int rank, const char *why)
{
    lockstep_context *context = user;
    char text[LS_FAILURE_TEXT_MAX];
    snprintf(text, sizeof text, "rank %d cannot go on, and this rank waited for it: %s", rank,
             why[0] != '\0' ? why : "it has said why");
    ls_instrument_error(&context->instrument, LOCKSTEP_ERR_PEER_LOST, text);
    if (is_spokesman(context->world, rank))
        ls_instrument_tell(text);
    abandon(context, text);
    ls_context_set(context, &context->recovered);
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
    abandon(context, text);
    if (speaks)
        ls_instrument_recover(&context->instrument);
    ls_context_set(context, &context->recovered);
}

/* The watcher's thread, which is free while the exchange waits. */
static void
on_stopped(void *user, int rank, int64_t stopped_ns)
{
    lockstep_context *context = user;
    char text[160];
    if (!is_spokesman(context->world, rank))
        return;
    snprintf(
        text, sizeof text,
        "rank %d (process %lld) has been stopped for %.1f s, by a signal or a debugger: all wait "
        "for it",
        rank, (long long)context->world->infos[rank].pid, (double)stopped_ns / 1e9);
    ls_instrument_say(text);
}

static LsWatcherConfig
get_watcher_config(lockstep_context *context)
{
    return (LsWatcherConfig){.world = context->world,
                             .method =
                                 (LsWatcherMethod)context->settings.numbers[LS_SETTING_WATCHER],
                             .lost = on_lost,
                             .failed = on_failed,
                             .stopped = on_stopped,
                             .warning_ns = context->settings.numbers[LS_SETTING_STALL_WARNING_S],
                             .user = context};
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

static bool
is_on_device(const LsSettings *settings)
{
    int64_t memory = settings->numbers[LS_SETTING_MEMORY];
    return memory == LS_MEMORY_DEVICE ||
           (memory == LS_MEMORY_AUTO &&
            strcmp(settings->texts[LS_SETTING_PLANE], ls_plane_nccl.name) == 0);
}

/* The plane, and the device that its tensors lie on. */
static lockstep_status
open_plane(lockstep_context *context)
{
    const LsSettings *settings = &context->settings;
    const char *name = settings->texts[LS_SETTING_PLANE];
    bool on_device = is_on_device(settings);
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
                                context->cuda, &context->device);
    config.device = context->device;
    return status == LOCKSTEP_OK ? class->open(&config, &context->plane) : status;
}

#define ROUND_ELEMENTS  64 /* of the widest type, for each rank of a host */
#define ROUND_BYTES_MAX 8

static bool
has_even_hosts(const LsWorld *world)
{
    for (int host = 0; host < world->hosts; host++) {
        int n = 0;
        for (int rank = 0; rank < world->ranks; rank++)
            n += world->infos[rank].host == host;
        if (n * world->hosts != world->ranks)
            return false;
    }
    return true;
}

/* A plane that cuts buffers among the ranks of a host gets a threshold that they divide (facts B7),
 * so that a full buffer leaves nothing over. */
static void
round_threshold(lockstep_context *context)
{
    int64_t *bytes = &context->settings.numbers[LS_SETTING_FUSION_THRESHOLD_BYTES];
    int64_t unit = (int64_t)context->world->local_ranks * ROUND_ELEMENTS * ROUND_BYTES_MAX;
    const char *plane = context->settings.texts[LS_SETTING_PLANE];
    bool cuts = strcmp(plane, "hierarchical") == 0 || strcmp(plane, "hybrid") == 0;
    if (cuts && *bytes > 0 && *bytes % unit != 0 && *bytes < INT64_MAX - unit &&
        has_even_hosts(context->world))
        *bytes += unit - *bytes % unit;
}

/* What this rank needs beside its connection and its plane. */
static lockstep_status
open_parts(lockstep_context *context)
{
    LsWorld *world = context->world;
    const LsSettings *settings = &context->settings;
    const LsControlClass *control = ls_control_find(settings->texts[LS_SETTING_CONTROL]);

    if (control == NULL)
        return ls_fail(LOCKSTEP_ERR_SETTINGS, "setting control: there is no control '%s'",
                       settings->texts[LS_SETTING_CONTROL]);
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
    LsWatcherConfig watcher = get_watcher_config(context);
    return ls_watcher_open(&watcher, &context->watcher);
}

/* Both in that order on every rank: where one fails before it connects, none connects. On failure
 * the rest is ls_context_close()'s. */
static lockstep_status
open_all(lockstep_context *context)
{
    lockstep_status status = ls_agree(context->transport, open_plane(context));
    if (status == LOCKSTEP_OK && context->plane->class->connect != NULL)
        status = ls_agree(context->transport, context->plane->class->connect(&context->plane));
    return status == LOCKSTEP_OK ? ls_agree(context->transport, open_parts(context)) : status;
}

void
ls_context_close(lockstep_context *context)
{
    if (context->threaded) {
        ls_context_set(context, &context->cancelled);
        pthread_join(context->thread, NULL);
    }
    if (context->early != NULL)
        ls_watcher_close(context->early);
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

void
ls_context_prepare(lockstep_context *context, const lockstep_options *options)
{
    lockstep_status status = ls_settings_load(options->settings, &context->settings);
    context->options = *options;
    if (status == LOCKSTEP_OK)
        status = open_groups(context, options->graph);
    if (status == LOCKSTEP_OK && is_on_device(&context->settings))
        context->cuda = ls_device_get_current();
    context->options.graph = NULL;
    context->options.settings = context->options.run = NULL;
    context->local = status;
    if (status != LOCKSTEP_OK)
        snprintf(context->text, sizeof context->text, "%s", ls_failure_text());
}

static lockstep_status
watch_early(lockstep_context *context)
{
    LsWatcherConfig config = get_watcher_config(context);
    config.lost = on_lost_early;
    lockstep_status status = ls_watcher_open(&config, &context->early);
    return status == LOCKSTEP_OK ? ls_watcher_connect(context->early, NULL) : status;
}

/* What went wrong on this rank before it met the others, as this thread's sentence. */
static lockstep_status
retell(const lockstep_context *context)
{
    return context->local == LOCKSTEP_OK ? LOCKSTEP_OK
                                         : ls_fail(context->local, "%s", context->text);
}

/* Whoever waited too long for this has gone. */
static lockstep_status
check_here(lockstep_context *context)
{
    pthread_mutex_lock(&context->lock);
    bool gone = context->cancelled;
    pthread_mutex_unlock(&context->lock);
    return gone ? ls_fail(LOCKSTEP_ERR_STALLED, "it did not wait any longer for the others")
                : LOCKSTEP_OK;
}

static lockstep_status
watch_ranks(lockstep_context *context)
{
    lockstep_status status = ls_watcher_connect(context->watcher, context->transport);
    if (status == LOCKSTEP_OK && context->early != NULL)
        ls_watcher_close(context->early);
    if (status == LOCKSTEP_OK)
        context->early = NULL;
    return status == LOCKSTEP_OK ? check_here(context) : status;
}

/* From the connection to the agreement that all ranks have all they need. */
static lockstep_status
join_ranks(lockstep_context *context)
{
    lockstep_status status = ls_world_open(&context->options, &context->world);
    if (status != LOCKSTEP_OK)
        return status;
    LsTransportEvents events = {on_message, context};
    context->transport = context->world->class->transport(context->world, &events);
    if (context->transport == NULL)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory");
    const char *host = context->settings.texts[LS_SETTING_HOST];
    status = ls_world_meet(context->world, context->transport, host[0] != '\0' ? host : NULL);
    if (status != LOCKSTEP_OK)
        return status;
    status = retell(context);
    if (status == LOCKSTEP_OK)
        status = watch_early(context);
    status = ls_agree_settings(context->transport, &context->settings, status);
    if (status != LOCKSTEP_OK)
        return status;
    status = ls_agree_word(context->transport, ls_groups_digest(context->groups),
                           "the groups of tensors", LOCKSTEP_OK);
    if (status != LOCKSTEP_OK)
        return status;
    round_threshold(context);
    status = open_all(context);
    if (status != LOCKSTEP_OK)
        return status;
    return ls_agree(context->transport, watch_ranks(context));
}

/* The rest of a context's life, after its ranks have met. */
static void
finish_join(lockstep_context *context)
{
    lockstep_status status = join_ranks(context);
    pthread_mutex_lock(&context->lock);
    context->status = status;
    if (status != LOCKSTEP_OK)
        snprintf(context->text, sizeof context->text, "%s", ls_failure_text());
    context->joined = true;
    pthread_cond_broadcast(&context->changed);
    pthread_mutex_unlock(&context->lock);
}

static void *
run(void *user)
{
    lockstep_context *context = user;
    finish_join(context);
    pthread_mutex_lock(&context->lock);
    while (context->status == LOCKSTEP_OK && !context->started && !context->cancelled)
        pthread_cond_wait(&context->changed, &context->lock);
    bool cancelled = context->cancelled;
    cancelled = cancelled || context->status != LOCKSTEP_OK;
    pthread_mutex_unlock(&context->lock);
    if (!cancelled && ls_loop_run(context->loop) != LOCKSTEP_OK)
        ls_watcher_fail(context->watcher, ls_failure_text());
    else if (!cancelled)
        ls_watcher_stop(context->watcher);
    ls_context_set(context, &context->ended);
    return NULL;
}

void
ls_context_start(lockstep_context *context)
{
    context->threaded = pthread_create(&context->thread, NULL, run, context) == 0;
    if (context->threaded)
        return;
    context->local = LOCKSTEP_ERR_NO_MEMORY; /* which the others must hear */
    snprintf(context->text, sizeof context->text, "no thread could be started for communication");
    finish_join(context);
}
