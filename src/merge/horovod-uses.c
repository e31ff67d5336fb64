/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/horovod-uses.c: what a range says of the tensors that it stands for: on the rank that tells
 * the names it completes the uses of the timeline, on the others it makes them. Without names the
 * operation's own word stands for the tensor and the number of the deed for its occurrence.
 */
#include "merge/horovod-private.h"

/* What the range says of one tensor of its deed. */
static void
set_range(LsUse *use, const LsDeed *deed, const LsRange *range, uint32_t group)
{
    use->submit_ns = use->gate_ns = range->start_ns;
    use->done_ns = range->end_ns;
    if (deed->grouped)
        use->group = group;
    if (use->bytes < 0 && deed->n == 1)
        use->bytes = range->payload;
}

/* What became of the teller's calls on a rank. */
typedef struct Carried {
    uint32_t n; /* of its tensors are named there */
    int64_t submit_ns, done_ns; /* of the last to be submitted; of the first to be done */
    uint32_t row;               /* the rank's own call */
} Carried;

static void
add_carried(Carried *carried, const LsRange *range)
{
    if (carried->n == 0 || range->start_ns > carried->submit_ns)
        carried->submit_ns = range->start_ns;
    if (carried->n == 0 || range->end_ns < carried->done_ns)
        carried->done_ns = range->end_ns;
    carried->n++;
}

/* Visits the teller's row of each tensor whose range is known here. */
static void
for_each_named(const LsJoin *join, LsMember *member,
               void (*visit)(const LsJoin *join, LsMember *member, uint32_t use, const LsDeed *deed,
                             const LsRange *range, Carried *carried),
               Carried *carried)
{
    for (guint i = 0; i < member->match->ranges->len; i++) {
        uint32_t row = g_array_index(member->match->deeds, uint32_t, i);
        const LsRange *range = &g_array_index(member->match->ranges, LsRange, i);
        const LsDeed *deed =
            row == LS_NONE ? NULL : &g_array_index(join->deeds->deeds, LsDeed, row);

        for (uint32_t k = 0; deed != NULL && k < deed->n; k++)
            visit(join, member, g_array_index(join->deeds->uses, uint32_t, deed->first + k), deed,
                  range, carried);
    }
}

static void
count_carried(const LsJoin *join, LsMember *member, uint32_t use, const LsDeed *deed,
              const LsRange *range, Carried *carried)
{
    uint32_t call = g_array_index(join->deeds->teller->uses, LsUse, use).call;

    if (call < join->deeds->teller->calls->len)
        add_carried(&carried[call], range);
}

static void
set_told(const LsJoin *join, LsMember *member, uint32_t use, const LsDeed *deed,
         const LsRange *range, Carried *carried)
{
    uint32_t group = deed->grouped ? ls_strings_add(member->process->strings, deed->name) : LS_NONE;

    set_range(&g_array_index(member->process->uses, LsUse, use), deed, range, group);
}

static void
copy_use(const LsJoin *join, LsMember *member, uint32_t row, const LsDeed *deed,
         const LsRange *range, Carried *carried)
{
    const LsUse *told = &g_array_index(join->deeds->teller->uses, LsUse, row);
    LsUse use = *told;

    use.tensor = ls_strings_add(member->process->strings,
                                ls_strings_get(join->deeds->teller->strings, told->tensor));
    use.group = LS_NONE;
    use.call = told->call == LS_NONE ? LS_NONE : carried[told->call].row;
    set_range(&use, deed, range,
              deed->grouped ? ls_strings_add(member->process->strings, deed->name) : LS_NONE);
    ls_rows_add(member->process->uses, &use);
}

void
ls_member_join_named(const LsJoin *join, LsMember *member)
{
    LsProcess *teller = join->deeds->teller;
    g_autofree Carried *carried = g_new0(Carried, teller->calls->len + 1);

    for_each_named(join, member, count_carried, carried);
    for (guint i = 0; i < join->in_order->len; i++) {
        uint32_t row = g_array_index(join->in_order, uint32_t, i);
        LsCall *told = &g_array_index(teller->calls, LsCall, row);

        carried[row].row = LS_NONE;
        if (carried[row].n == 0 || carried[row].n < join->n_uses[row])
            continue;
        if (member->teller) {
            ls_member_time_call(member, told, join->n_uses[row]);
            continue;
        }
        carried[row].row = member->process->calls->len;
        ls_member_copy_call(member, join->deeds, told, join->n_uses[row], carried[row].submit_ns,
                            carried[row].done_ns);
    }
    for_each_named(join, member, member->teller ? set_told : copy_use, carried);
}

void
ls_member_join_nameless(const LsJoin *join, LsMember *member)
{
    const LsRangeMatch *match = member->match;

    for (guint i = 0; i < match->ranges->len; i++) {
        const LsRange *range = &g_array_index(match->ranges, LsRange, i);
        uint32_t deed = g_array_index(match->deeds, uint32_t, i);
        LsUse use = {.tensor = range->name,
                     .group = LS_NONE,
                     .occurrence = deed,
                     .call = LS_NONE,
                     .dtype = 255,
                     .bytes = range->payload,
                     .submit_ns = range->start_ns,
                     .gate_ns = range->start_ns,
                     .agreed_ns = LS_TIME_NONE,
                     .done_ns = range->end_ns};

        if (deed == LS_NONE)
            continue;
        use.operation = g_array_index(join->deeds->deeds, LsDeed, deed).operation;
        ls_rows_add(member->process->uses, &use);
    }
    ls_member_find_calls(member);
}
