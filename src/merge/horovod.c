/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/horovod.c: the join. Each rank's ranges get the names of the deeds that they are
 * (horovod-match.c) and become uses; what rank 0's timeline fused becomes a call on every rank
 * (horovod-calls.c), and each rank's calls of MPI tell how it agreed (horovod-cycles.c).
 */
#include "merge/horovod.h"

#include "format/lifeline.h"
#include "merge/horovod-private.h"

#define SLACK_NS INT64_C(1000000)

/* -- The teller -- */

/* The lowest rank that has ranges, in its last life: rank 0 but where its file is lost. */
static LsProcess *
find_teller(const GPtrArray *processes)
{
    LsProcess *teller = NULL;

    for (guint i = 0; i < processes->len; i++) {
        LsProcess *process = g_ptr_array_index(processes, i);

        if (process->source != LS_SOURCE_LOCKSTEP || !ls_horovod_has_ranges(process))
            continue;
        if (teller == NULL || (uint32_t)process->rank.rank < (uint32_t)teller->rank.rank ||
            (process->rank.rank == teller->rank.rank &&
             process->rank.first_ns > teller->rank.first_ns))
            teller = process;
    }
    return teller;
}

/* Several files of one job count from 0 each: count through. A tensor that the cache answered for
 * has no tick of rank 0. */
static void
read_teller(LsJoin *join)
{
    LsProcess *teller = join->deeds->teller;
    g_autoptr(GHashTable) counts = g_hash_table_new(NULL, NULL);

    join->cached = g_byte_array_new();
    g_byte_array_set_size(join->cached, teller->uses->len);
    join->n_uses = g_new0(uint32_t, teller->calls->len + 1);
    for (guint i = 0; i < teller->uses->len; i++) {
        LsUse *use = &g_array_index(teller->uses, LsUse, i);
        void *key = GUINT_TO_POINTER(use->tensor);
        guint count = GPOINTER_TO_UINT(g_hash_table_lookup(counts, key));

        use->occurrence = count;
        g_hash_table_insert(counts, key, GUINT_TO_POINTER(count + 1));
        join->cached->data[i] = use->submit_ns == LS_TIME_NONE;
        if (use->call < teller->calls->len)
            join->n_uses[use->call]++;
    }
}

static int
compare_starts(const void *a, const void *b, void *user)
{
    LsProcess *teller = user;
    const LsCall *x = &g_array_index(teller->calls, LsCall, *(const uint32_t *)a);
    const LsCall *y = &g_array_index(teller->calls, LsCall, *(const uint32_t *)b);

    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

/* The list of responses numbers the buffers for all ranks. */
static void
number_calls(LsJoin *join)
{
    LsProcess *teller = join->deeds->teller;

    join->in_order = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    for (uint32_t i = 0; i < teller->calls->len; i++)
        if (join->n_uses[i] > 0)
            g_array_append_val(join->in_order, i);
    if (join->in_order->len > 0)
        g_qsort_with_data(join->in_order->data, (gint)join->in_order->len, sizeof(uint32_t),
                          compare_starts, teller);
    for (guint i = 0; i < join->in_order->len; i++)
        g_array_index(teller->calls, LsCall, g_array_index(join->in_order, uint32_t, i)).sequence =
            i;
}

/* -- One rank -- */

/* Its uses have no spans yet. */
static bool
is_mirror_alone(const LsProcess *process)
{
    return g_strcmp0(g_hash_table_lookup(process->facts, "timeline.placed_by"),
                     LS_HOROVOD_MIRROR_ALONE) == 0;
}

static void
add_member(LsJoin *join, LsProcess *process)
{
    const LsRank *rank = &process->rank, *teller = &join->deeds->teller->rank;
    LsMember member = {.process = process,
                       .teller = process == join->deeds->teller,
                       .had_uses = process->uses->len > 0 && !is_mirror_alone(process),
                       .taken = g_new0(uint8_t, process->mpi_calls->len + 1),
                       .data = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
                       .slack_ns = SLACK_NS};

    if (!member.teller && rank->clock_method != LS_CLOCK_NONE)
        member.slack_ns += rank->clock_uncertainty_ns + MAX(teller->clock_uncertainty_ns, 0);
    if (ls_horovod_has_ranges(process))
        member.match = ls_range_match_new(join->deeds, process);
    g_array_append_val(join->members, member);
}

/* The ranges themselves, under their tensors' names; a group as the one range that it is. */
static void
add_range_track(const LsJoin *join, const LsMember *member)
{
    LsProcess *process = member->process;
    LsTrackBuilder *track =
        ls_process_get_track(process, LS_TRACK_THREAD, LS_HOROVOD_OPERATIONS, "nvtx", -1);
    uint32_t domain = ls_strings_find(process->strings, LS_HOROVOD_OPERATIONS);

    for (guint i = 0; i < member->match->ranges->len; i++) {
        const LsRange *range = &g_array_index(member->match->ranges, LsRange, i);
        uint32_t row = g_array_index(member->match->deeds, uint32_t, i);
        const char *name =
            row == LS_NONE ? NULL : g_array_index(join->deeds->deeds, LsDeed, row).name;

        ls_track_builder_add(track, range->start_ns, range->end_ns,
                             name != NULL ? ls_strings_add(process->strings, name) : range->name,
                             LS_NONE);
    }
    for (guint i = 0; i < process->ranges->len; i++) {
        const LsRange *range = &g_array_index(process->ranges, LsRange, i);

        if (range->domain == domain && range->end_ns == LS_TIME_NONE)
            ls_track_builder_add(track, range->start_ns,
                                 MAX(range->start_ns, process->rank.last_ns), range->name, LS_NONE);
    }
}

static void
join_member(LsJoin *join, LsMember *member)
{
    ls_member_list_data(member);
    if (member->match == NULL)
        return;
    if (join->deeds->named)
        ls_member_join_named(join, member);
    else
        ls_member_join_nameless(join, member);
    add_range_track(join, member);
    if (!member->had_uses)
        ls_lifeline_add_tracks(member->process);
}

/* -- What is not certain -- */

static void
report_match(const LsJoin *join, const LsMember *member)
{
    const LsRangeMatch *match = member->match;
    size_t nameless = match->unlike + match->withdrawn;

    if (nameless > 0)
        ls_process_add_finding(member->process, LS_WARNING, -1,
                               "%zu of %u operations of Horovod do not agree in kind, size and "
                               "time with what rank %d executed, and %zu beside them were given up "
                               "with them: they stay without names and are not paired.",
                               match->unlike, match->ranges->len, join->deeds->teller->rank.rank,
                               match->withdrawn);
    if (match->outside > 0 && join->deeds->named)
        ls_process_add_finding(member->process, LS_NOTE, -1,
                               "%zu of %u operations of Horovod lie outside what rank %d's "
                               "timeline holds and have no name.",
                               match->outside, match->ranges->len, join->deeds->teller->rank.rank);
    if (member->inferred > 0)
        ls_process_add_finding(member->process, LS_NOTE, -1,
                               "The start of %zu buffers on this rank is not recorded (no call of "
                               "MPI moved them); they begin when rank %d's do.",
                               member->inferred, join->deeds->teller->rank.rank);
}

static void
report(const LsJoin *join)
{
    LsProcess *teller = join->deeds->teller;
    bool controlled = false, calls = false;

    for (guint i = 0; i < join->members->len; i++) {
        const LsMember *member = &g_array_index(join->members, LsMember, i);

        controlled |= member->controlled;
        calls |= member->process->mpi_calls->len > 0;
        if (member->match != NULL)
            report_match(join, member);
    }
    if (!join->deeds->named)
        ls_process_add_finding(teller, LS_WARNING, -1,
                               "There is no Horovod timeline of this job: its tensors have no "
                               "names, and when they were agreed is not known.");
    if (!controlled)
        ls_process_add_finding(teller, LS_NOTE, -1, "%s",
                               calls ? "Horovod's control is not visible: none of the calls of MPI "
                                       "that were recorded is part of it; it may run on Gloo."
                                     : "Horovod's control is not visible: no calls of MPI were "
                                       "recorded (--mpi), or it runs on Gloo.");
}

/* -- Calls of MPI as spans -- */

static void
add_mpi_tracks(LsProcess *process, const uint8_t *taken)
{
    /* What reduce recorded of itself is there already, by better names. */
    bool twice = process->messages->len > 0 && taken == NULL;

    for (guint i = 0; i < process->mpi_calls->len; i++) {
        const LsMpiCall *call = &g_array_index(process->mpi_calls, LsMpiCall, i);
        g_autofree char *name = NULL;

        if (taken != NULL && taken[i])
            continue;
        name = g_strdup_printf("MPI %u", call->thread);
        ls_track_builder_add(ls_process_get_track(process, LS_TRACK_THREAD, name,
                                                  twice ? "mpi recorded twice" : "mpi",
                                                  call->thread),
                             call->start_ns, call->end_ns, call->name, LS_NONE);
    }
}

/* -- All ranks -- */

static void
join_ranks(LsJoin *join, GPtrArray *processes)
{
    read_teller(join);
    number_calls(join);
    for (guint i = 0; i < processes->len; i++) {
        LsProcess *process = g_ptr_array_index(processes, i);

        if (process->source == LS_SOURCE_LOCKSTEP)
            add_member(join, process);
    }
    for (guint i = 0; i < join->members->len; i++) {
        LsMember *member = &g_array_index(join->members, LsMember, i);

        member->controlled = ls_horovod_find_cycles(member->process, member->taken);
        join_member(join, member);
        ls_horovod_settle_cycles(member, member->teller ? join->cached : NULL);
        add_mpi_tracks(member->process, member->taken);
    }
    ls_horovod_settle_rounds(processes, join->deeds->teller);
    report(join);
}

static void
free_join(LsJoin *join)
{
    for (guint i = 0; i < join->members->len; i++) {
        LsMember *member = &g_array_index(join->members, LsMember, i);

        ls_range_match_free(member->match);
        g_free(member->taken);
        g_array_unref(member->data);
    }
    g_array_unref(join->members);
    g_array_unref(join->in_order);
    g_byte_array_unref(join->cached);
    g_free(join->n_uses);
    ls_deeds_free(join->deeds);
}

/* A job that was recorded as Horovod's and has no ranges: its control can still be seen. */
static void
join_without_ranges(LsProcess *process)
{
    LsMember member = {.process = process,
                       .taken = g_new0(uint8_t, process->mpi_calls->len + 1),
                       .data = g_array_new(FALSE, FALSE, sizeof(uint32_t))};

    member.controlled = ls_horovod_find_cycles(process, member.taken);
    ls_member_list_data(&member);
    ls_horovod_settle_cycles(&member, NULL);
    add_mpi_tracks(process, member.taken);
    if (!member.controlled)
        ls_process_add_finding(process, LS_NOTE, -1,
                               "Horovod's control is not visible: no call of MPI on this rank is "
                               "part of it; it may run on Gloo.");
    ls_process_add_finding(process, LS_WARNING, -1,
                           "Horovod emitted no NVTX range on this rank (built without it, or "
                           "HOROVOD_DISABLE_NVTX_RANGES is set): what it submitted, and when, is "
                           "not known.");
    g_free(member.taken);
    g_array_unref(member.data);
}

static void
join_others(LsProcess *process)
{
    if (process->source == LS_SOURCE_LOCKSTEP && g_hash_table_contains(process->facts, "horovod") &&
        process->cycles->len == 0)
        join_without_ranges(process);
    else
        add_mpi_tracks(process, NULL);
}

void
ls_horovod_join(GPtrArray *processes)
{
    LsProcess *teller = find_teller(processes);
    LsJoin join = {0};

    for (guint i = 0; teller == NULL && i < processes->len; i++)
        join_others(g_ptr_array_index(processes, i));
    if (teller == NULL)
        return;
    join.deeds = ls_deeds_new(teller);
    join.members = g_array_new(FALSE, FALSE, sizeof(LsMember));
    join_ranks(&join, processes);
    free_join(&join);
}
