/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/align.c: the reference, the table of methods, and the chain from one process to the next.
 *
 * A process placed through another inherits the weaker of the two methods and the sum of the
 * bounds. After each success the table is tried again from its top: one host placed by round trips
 * gives all processes of the same boot their place for nothing.
 */
#include "merge/align-private.h"

#include "trace/builder.h"

/* In order of trust. */
static const LsAlignMethod *const methods[] = {&ls_align_boot, &ls_align_roundtrip,
                                               &ls_align_collective, &ls_align_wall};

bool
ls_align_is_placed(const LsAlign *align, size_t process)
{
    return align->placements[process].method != LS_CLOCK_NONE;
}

/* Of a placed process; NULL if it is the identity. */
static const LsClockmap *
get_map(const LsAlign *align, size_t process)
{
    return align->placements[process].map;
}

int64_t
ls_align_map(const LsAlign *align, size_t process, int64_t local_ns)
{
    const LsClockmap *map = get_map(align, process);

    return map == NULL ? local_ns : ls_clockmap_map(map, local_ns);
}

int64_t
ls_align_get_bound_ns(const LsAlign *align, size_t process, int64_t local_ns)
{
    const LsClockmap *map = get_map(align, process);

    return map == NULL ? 0 : ls_clockmap_get_bound_ns(map, local_ns);
}

void
ls_align_set(LsAlign *align, size_t process, size_t through, LsClockMethod method, LsClockmap *map)
{
    const LsPlacement *base = &align->placements[through];
    LsPlacement *placement = &align->placements[process];

    placement->through = through;
    placement->method = MAX(method, base->method);
    if (map != NULL && base->map != NULL)
        placement->map = ls_clockmap_new_chain(map, base->map);
    else if (base->map != NULL)
        placement->map = ls_clockmap_dup(base->map);
    else
        placement->map = g_steal_pointer(&map);
    ls_clockmap_free(map);
}

/* Rank 0's first life, else the lowest rank's; a process that only another's file tells of has no
 * clock of its own. */
static size_t
find_reference(LsProcess *const *processes, size_t n)
{
    size_t best = 0;

    for (size_t i = 1; i < n; i++) {
        const LsRank *a = &processes[best]->rank, *b = &processes[i]->rank;

        if (processes[i]->observer)
            continue;
        if (a->recorded != b->recorded) {
            if (b->recorded)
                best = i;
        } else if ((uint32_t)b->rank < (uint32_t)a->rank ||
                   (b->rank == a->rank && b->incarnation < a->incarnation)) {
            best = i;
        }
    }
    return best;
}

/* What the reader must know of a process's place beyond the columns of its rank. */
static void
add_finding(const LsAlign *align, size_t process)
{
    LsProcess *p = align->processes[process];
    const LsPlacement *placement = &align->placements[process];

    /* Of a process that another's file tells of, that file's own finding says it. */
    if (!p->rank.recorded || p->observer)
        return;
    if (placement->method == LS_CLOCK_NONE)
        ls_process_add_finding(p, LS_WARNING, -1,
                               "The clock of this process cannot be brought onto that of rank %d: "
                               "no common boot, no round trips, no matched collectives and no wall "
                               "clock; it is shown from the start and left out of what compares "
                               "ranks.",
                               align->processes[align->reference]->rank.rank);
    else if (placement->method == LS_CLOCK_COLLECTIVE)
        ls_process_add_finding(p, LS_NOTE, -1,
                               "The clock of this process was inferred from collectives, which "
                               "nobody can leave before the last has entered.");
    else if (placement->method == LS_CLOCK_WALL)
        ls_process_add_finding(p, LS_WARNING, -1,
                               "The clock of this process was taken from the wall clocks of the "
                               "hosts, assumed to agree within 10 ms (NTP).");
}

LsPlacement *
ls_align(LsProcess *const *processes, size_t n)
{
    LsAlign align = {processes, n, g_new0(LsPlacement, n), 0};

    if (n == 0)
        return align.placements;
    for (size_t i = 0; i < n; i++)
        align.placements[i] = (LsPlacement){LS_CLOCK_NONE, NULL, i};
    align.reference = find_reference(processes, n);
    align.placements[align.reference].method = LS_CLOCK_REFERENCE;
    for (size_t i = 0; i < G_N_ELEMENTS(methods);)
        i = methods[i]->place(&align) ? 0 : i + 1;
    for (size_t i = 0; i < n; i++)
        add_finding(&align, i);
    return align.placements;
}

void
ls_placements_free(LsPlacement *placements, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ls_clockmap_free(placements[i].map);
    g_free(placements);
}

static int64_t
map_time(void *user, int64_t local_ns)
{
    return ls_clockmap_map(user, local_ns);
}

void
ls_placement_apply(const LsPlacement *placement, LsProcess *process, int64_t begin_ns)
{
    LsRank *rank = &process->rank;
    bool timed = rank->first_ns != LS_TIME_NONE && rank->last_ns != LS_TIME_NONE;
    int64_t first_ns = timed ? rank->first_ns : 0, last_ns = timed ? rank->last_ns : 0;
    int64_t middle_ns = first_ns + (last_ns - first_ns) / 2;
    g_autoptr(LsClockmap) map = NULL;

    rank->clock_method = placement->method;
    rank->clock_offset_ns = 0;
    rank->clock_uncertainty_ns = 0;
    if (placement->method == LS_CLOCK_NONE) {
        map = ls_clockmap_new_shift(begin_ns - first_ns, 0);
        rank->clock_uncertainty_ns = LS_TIME_NONE;
    } else if (placement->map != NULL) {
        map = ls_clockmap_dup(placement->map);
        rank->clock_uncertainty_ns = ls_clockmap_get_worst_ns(map, first_ns, last_ns);
    }
    if (map == NULL)
        return;
    rank->clock_offset_ns = ls_clockmap_map(map, middle_ns) - middle_ns;
    ls_process_map_times(process, map_time, map);
}
