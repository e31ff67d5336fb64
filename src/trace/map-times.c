/* SPDX-License-Identifier: Apache-2.0
 * trace/map-times.c: every time of a process onto another clock. Which members of a row are times
 * is said once, here. */
#include "trace/builder.h"

#include "trace/track-private.h"

typedef struct Mapper {
    int64_t (*map)(void *user, int64_t local_ns);
    void *user;
} Mapper;

static void
map_time(const Mapper *mapper, int64_t *time)
{
    if (*time != LS_TIME_NONE)
        *time = mapper->map(mapper->user, *time);
}

#define FOR_EACH(Type, row, rows)                                                                  \
    for (Type *row = (Type *)(void *)(rows)->data,                                                 \
              *row##_end = (rows)->len > 0 ? row + (rows)->len : row;                              \
         row < row##_end; row++)

static void
map_uses_and_calls(const Mapper *mapper, LsProcess *process)
{
    FOR_EACH(LsUse, use, process->uses)
    {
        map_time(mapper, &use->submit_ns);
        map_time(mapper, &use->gate_ns);
        map_time(mapper, &use->agreed_ns);
        map_time(mapper, &use->done_ns);
    }
    FOR_EACH(LsCall, call, process->calls)
    {
        map_time(mapper, &call->start_ns);
        map_time(mapper, &call->end_ns);
        map_time(mapper, &call->pack_start_ns);
        map_time(mapper, &call->pack_end_ns);
        map_time(mapper, &call->unpack_start_ns);
        map_time(mapper, &call->unpack_end_ns);
        map_time(mapper, &call->launch_ns);
    }
}

static void
map_spans(const Mapper *mapper, LsProcess *process)
{
    FOR_EACH(LsStep, step, process->steps)
    {
        map_time(mapper, &step->start_ns);
        map_time(mapper, &step->end_ns);
    }
    FOR_EACH(LsPhase, phase, process->phases)
    {
        map_time(mapper, &phase->start_ns);
        map_time(mapper, &phase->end_ns);
    }
    FOR_EACH(LsCycle, cycle, process->cycles)
    {
        map_time(mapper, &cycle->start_ns);
        map_time(mapper, &cycle->end_ns);
    }
    FOR_EACH(LsSleep, sleep, process->sleeps)
    {
        map_time(mapper, &sleep->start_ns);
        map_time(mapper, &sleep->end_ns);
    }
    FOR_EACH(LsMessage, message, process->messages)
    {
        map_time(mapper, &message->start_ns);
        map_time(mapper, &message->end_ns);
    }
    FOR_EACH(LsInstant, instant, process->instants)
    map_time(mapper, &instant->time_ns);
    FOR_EACH(LsFinding, finding, process->findings)
    map_time(mapper, &finding->time_ns);
    FOR_EACH(LsRange, range, process->ranges)
    {
        map_time(mapper, &range->start_ns);
        map_time(mapper, &range->end_ns);
    }
    FOR_EACH(LsMpiCall, call, process->mpi_calls)
    {
        map_time(mapper, &call->start_ns);
        map_time(mapper, &call->end_ns);
    }
}

static void
map_track(const Mapper *mapper, LsTrackBuilder *track)
{
    for (size_t i = 0; i < track->n; i++) {
        map_time(mapper, &track->spans.start_ns[i]);
        map_time(mapper, &track->spans.end_ns[i]);
    }
    if (track->samples)
        FOR_EACH(LsSample, sample, track->samples)
    map_time(mapper, &sample->time_ns);
}

void
ls_process_map_times(LsProcess *process, int64_t (*map)(void *user, int64_t local_ns), void *user)
{
    Mapper mapper = {.map = map, .user = user};
    map_time(&mapper, &process->rank.first_ns);
    map_time(&mapper, &process->rank.last_ns);
    map_uses_and_calls(&mapper, process);
    map_spans(&mapper, process);
    for (size_t i = 0; i < process->tracks->len; i++)
        map_track(&mapper, g_ptr_array_index(process->tracks, i));
}
