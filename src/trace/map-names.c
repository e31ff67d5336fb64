/* SPDX-License-Identifier: Apache-2.0
 * trace/map-names.c: every name of a process onto other ids. Which members of a row are names is
 * said once, here. */
#include "trace/process.h"

#include "trace/track-private.h"

typedef struct Names {
    const uint32_t *map;
    uint32_t n;
} Names;

static void
map_name(const Names *names, uint32_t *name)
{
    if (*name != LS_NONE)
        *name = *name < names->n ? names->map[*name] : 0;
}

static void
map_track(const Names *names, LsTrackBuilder *track)
{
    for (size_t i = 0; i < track->n; i++)
        map_name(names, &track->spans.name[i]);
}

#define MAP_ROWS(Type, rows, member)                                                               \
    for (size_t i = 0; i < (rows)->len; i++)                                                       \
        map_name(&names, &g_array_index(rows, Type, i).member);

void
ls_process_map_names(LsProcess *process, const uint32_t *map, uint32_t n_map)
{
    Names names = {.map = map, .n = n_map};
    MAP_ROWS(LsPhase, process->phases, name)
    MAP_ROWS(LsUse, process->uses, tensor)
    MAP_ROWS(LsUse, process->uses, group)
    MAP_ROWS(LsCall, process->calls, name)
    MAP_ROWS(LsCall, process->calls, kernel)
    MAP_ROWS(LsCall, process->calls, range)
    MAP_ROWS(LsCycle, process->cycles, control)
    MAP_ROWS(LsMessage, process->messages, name)
    MAP_ROWS(LsInstant, process->instants, name)
    MAP_ROWS(LsGraphTensor, process->graph_tensors, tensor)
    MAP_ROWS(LsGraphTensor, process->graph_tensors, group)
    MAP_ROWS(LsGraphNeed, process->graph_needs, tensor)
    MAP_ROWS(LsGraphNeed, process->graph_needs, needed)
    MAP_ROWS(LsRoundtrip, process->roundtrips, boot)
    MAP_ROWS(LsRange, process->ranges, domain)
    MAP_ROWS(LsRange, process->ranges, name)
    MAP_ROWS(LsMpiCall, process->mpi_calls, name)
    for (size_t i = 0; i < process->tracks->len; i++)
        map_track(&names, g_ptr_array_index(process->tracks, i));
}
