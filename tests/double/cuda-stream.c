/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams of the driver's double: a thread and a row of work each. The default stream waits for all
 * blocking ones and they for it, as the driver's legacy rule says.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda-private.h"

uint64_t
tool_now(const DoubleTool *tool)
{
    return tool != NULL ? tool->clock() : (uint64_t)double_now(CLOCK_REALTIME);
}

bool
place_is_done(DoublePlace place)
{
    const Stream *stream = place.stream;
    return stream == NULL || stream->done >= place.number;
}

void
place_wait(DoublePlace place)
{
    pthread_mutex_lock(&driver.lock);
    while (!place_is_done(place))
        pthread_cond_wait(&driver.changed, &driver.lock);
    pthread_mutex_unlock(&driver.lock);
}

void
work_depends(Work *work, DoublePlace place)
{
    if (place.stream != NULL && work->n_depends < DEPENDS_MAX)
        work->depends[work->n_depends++] = place;
}

Work *
work_new(int kind, const Call *call)
{
    Work *work = calloc(1, sizeof *work);
    work->activity.kind = kind;
    work->activity.correlation = call != NULL ? call->correlation : 0;
    work->activity.device = (uint32_t)(current_device() < 0 ? 0 : current_device());
    work->activity.context = 1;
    return work;
}

static bool
is_ready(const Work *work)
{
    for (int i = 0; i < work->n_depends; i++) {
        if (!place_is_done(work->depends[i]))
            return false;
    }
    return true;
}

static void
run(Work *work)
{
    const DoubleTool *tool = work->activity.kind != 0 ? atomic_load(&driver.tool) : NULL;
    uint64_t start = tool_now(tool), where = 0;
    if (tool != NULL)
        where = tool->begin(&work->activity, start);
    if (work->run != NULL)
        work->run(work);
    if (tool != NULL)
        tool->end(where, &work->activity, start, tool_now(tool));
}

static void *
loop(void *user)
{
    Stream *stream = user;
    pthread_mutex_lock(&driver.lock);
    for (;;) {
        while (stream->first == NULL && !stream->is_over)
            pthread_cond_wait(&driver.changed, &driver.lock);
        Work *work = stream->first;
        if (work == NULL)
            break;
        while (!is_ready(work))
            pthread_cond_wait(&driver.changed, &driver.lock);
        pthread_mutex_unlock(&driver.lock);
        run(work);
        pthread_mutex_lock(&driver.lock);
        stream->first = work->next;
        if (stream->first == NULL)
            stream->last = &stream->first;
        stream->done++;
        free(work);
        pthread_cond_broadcast(&driver.changed);
    }
    pthread_mutex_unlock(&driver.lock);
    return NULL;
}

Stream *
stream_open(bool is_blocking)
{
    Stream *stream = calloc(1, sizeof *stream);
    pthread_mutex_lock(&driver.lock);
    uint32_t i = 0;
    while (i < STREAMS_MAX && driver.streams[i] != NULL)
        i++;
    if (i == STREAMS_MAX) {
        pthread_mutex_unlock(&driver.lock);
        free(stream);
        return NULL;
    }
    driver.streams[i] = stream;
    stream->is_default = i == 0;
    stream->id = stream->is_default ? 7 : 13 + driver.n_streams++; /* CUPTI's numbers are its own */
    stream->is_blocking = is_blocking;
    stream->last = &stream->first;
    pthread_mutex_unlock(&driver.lock);
    if (pthread_create(&stream->thread, NULL, loop, stream) != 0)
        abort();
    return stream;
}

void
stream_close(Stream *stream)
{
    pthread_mutex_lock(&driver.lock);
    stream->is_over = true;
    pthread_cond_broadcast(&driver.changed);
    pthread_mutex_unlock(&driver.lock);
    pthread_join(stream->thread, NULL);
    /* Events and places may still name it: it is never freed, only forgotten. */
    pthread_mutex_lock(&driver.lock);
    for (int i = 0; i < STREAMS_MAX; i++) {
        if (driver.streams[i] == stream)
            driver.streams[i] = NULL;
    }
    pthread_mutex_unlock(&driver.lock);
}

/* Handles 0, 1 and 2 are the default stream (the last, per thread, taken as the same). */
Stream *
stream_find(LsCuStream handle)
{
    Stream *found = NULL;
    pthread_mutex_lock(&driver.lock);
    if ((uintptr_t)handle <= 2)
        found = driver.streams[0];
    for (int i = 1; i < STREAMS_MAX && found == NULL; i++) {
        if (driver.streams[i] == handle)
            found = handle;
    }
    pthread_mutex_unlock(&driver.lock);
    return found;
}

DoublePlace
stream_add(Stream *stream, Work *work)
{
    work->activity.stream = stream->id;
    pthread_mutex_lock(&driver.lock);
    if (stream->is_default) {
        for (int i = 1; i < STREAMS_MAX; i++) {
            Stream *other = driver.streams[i];
            if (other != NULL && other->is_blocking)
                work_depends(work, (DoublePlace){other, other->asked});
        }
    } else if (stream->is_blocking) {
        work_depends(work, (DoublePlace){driver.streams[0], driver.streams[0]->asked});
    }
    *stream->last = work;
    stream->last = &work->next;
    DoublePlace place = {stream, ++stream->asked};
    pthread_cond_broadcast(&driver.changed);
    pthread_mutex_unlock(&driver.lock);
    return place;
}
