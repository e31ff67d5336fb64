/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/context.c: init and shutdown.
 *
 * Init starts the communication thread, which builds everything that can fail before the last
 * agreement of the ranks (reduce/join.c), so that either all ranks have a context or none. Shutdown
 * waits for the loop to end or for a rank to die: after a death the communication thread may be
 * blocked in MPI for ever, and what it uses stays as it is until the process exits.
 */
#include "reduce/context.h"

#include "capture/compat.h"
#include "reduce/failure.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

LS_BIND_OLD(pthread_detach);
LS_BIND_SINCE(pthread_condattr_setclock, "GLIBC_2.3.3");

LOCKSTEP_API void
lockstep_options_init(lockstep_options *options)
{
    memset(options, 0, sizeof *options);
    options->size = sizeof *options;
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

/* Limits are of time that passes, not of the wall clock, which may be set. */
static void
init_changed(lockstep_context *context)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&context->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static struct timespec
in_seconds(int64_t seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    now.tv_sec += seconds;
    return now;
}

/* Until the ranks have met, or one of them died, or it took too long: then the thread may be inside
 * MPI for ever, and what it uses stays. */
static lockstep_status
await_ranks(lockstep_context *context)
{
    int64_t limit_ns = context->settings.numbers[LS_SETTING_INIT_LIMIT_S];
    char text[LS_FAILURE_TEXT_MAX];
    struct timespec deadline = in_seconds(limit_ns / 1000000000 + (limit_ns % 1000000000 > 0));
    int result = 0;
    pthread_mutex_lock(&context->lock);
    while (!context->joined && !context->lost && result == 0)
        result = limit_ns > 0 && context->local == LOCKSTEP_OK
                     ? pthread_cond_timedwait(&context->changed, &context->lock, &deadline)
                     : pthread_cond_wait(&context->changed, &context->lock);
    bool joined = context->joined, lost = context->lost;
    lockstep_status status = context->status;
    snprintf(text, sizeof text, "%s", context->text);
    context->cancelled = lost || !joined;
    pthread_cond_broadcast(&context->changed);
    pthread_mutex_unlock(&context->lock);
    if (lost || !joined)
        pthread_detach(context->thread);
    if (lost)
        return ls_fail(LOCKSTEP_ERR_PEER_LOST,
                       "lockstep_init: %s: MPI is left as it is, exit without MPI_Finalize", text);
    if (!joined)
        return ls_fail(
            LOCKSTEP_ERR_STALLED,
            "lockstep_init: some rank has not come within init_limit_s, %s s: MPI is left "
            "as it is, exit without MPI_Finalize",
            context->settings.texts[LS_SETTING_INIT_LIMIT_S]);
    if (status != LOCKSTEP_OK) {
        ls_context_close(context);
        return ls_fail(status, "%s", text);
    }
    return LOCKSTEP_OK;
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
    lockstep_status status = ls_world_check(options);
    if (status != LOCKSTEP_OK)
        return status;
    lockstep_context *context = calloc(1, sizeof *context);
    if (context == NULL)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory");
    pthread_mutex_init(&context->lock, NULL);
    init_changed(context);
    ls_context_prepare(context, options);
    ls_context_start(context);
    status = await_ranks(context);
    if (status != LOCKSTEP_OK)
        return status;
    const LsWorld *world = context->world;
    ls_instrument_open(&context->instrument, options->run);
    context->instrument.communicator = world->communicator;
    ls_instrument_rank(&context->instrument, world->job_rank, world->job_ranks, world->local_rank);
    record_settings(context);
    ls_watcher_start(context->watcher);
    ls_context_set(context, &context->started);
    *ret_context = context;
    return LOCKSTEP_OK;
}

/* Under the lock: a moment for what the dead rank left in memory to reach the disk. */
static void
await_recovery(lockstep_context *context)
{
    struct timespec deadline = in_seconds(1);
    int result = 0;
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
        ls_context_close(context);
        return LOCKSTEP_OK;
    }
    pthread_detach(context->thread);
    ls_instrument_close(&context->instrument);
    return ls_fail(
        LOCKSTEP_ERR_PEER_LOST,
        "a rank has died or cannot go on: MPI is left as it is, exit without MPI_Finalize");
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
