/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/identity.c: ranks from names, lives from order, conflicts from overlap.
 */
#include "merge/identity.h"

#include <string.h>

#define LISTED_MAX 16 /* absent ranks with a finding each; more are one finding */

static LsProcess *
get_process(const GPtrArray *processes, size_t i)
{
    return g_ptr_array_index(processes, i);
}

/* "rank-00003.host.812.lks", "rank_3.json", "worker.r3.json": the number behind the word; -1. */
static int
parse_name(const char *path)
{
    static GRegex *regex;
    g_autofree char *name = g_path_get_basename(path);
    g_autoptr(GMatchInfo) match = NULL;
    g_autofree char *digits = NULL;

    if (g_once_init_enter(&regex))
        g_once_init_leave(&regex, g_regex_new("(?:rank[-_.]?|(?:^|[-_.])r)(\\d{1,7})(?!\\d)",
                                              G_REGEX_CASELESS | G_REGEX_OPTIMIZE, 0, NULL));
    if (!g_regex_match(regex, name, 0, &match))
        return -1;
    digits = g_match_info_fetch(match, 1);
    return (int)g_ascii_strtoll(digits, NULL, 10);
}

/* A part of a file may lack what another part says. */
static bool
may_equal(const char *a, const char *b)
{
    return a == NULL || b == NULL || g_str_equal(a, b);
}

static bool
is_same_process(const LsProcess *a, const LsProcess *b)
{
    const LsRank *x = &a->rank, *y = &b->rank;

    return a->source == b->source && x->recorded && y->recorded && x->pid >= 0 &&
           x->pid == y->pid && x->incarnation == y->incarnation && x->rank == y->rank &&
           may_equal(x->host, y->host) && may_equal(x->boot_id, y->boot_id) &&
           may_equal(g_hash_table_lookup(a->facts, "recorder.rings"),
                     g_hash_table_lookup(b->facts, "recorder.rings"));
}

static bool
is_copy(const LsRank *a, const LsRank *b)
{
    return a->first_ns == b->first_ns && a->last_ns == b->last_ns && a->records == b->records;
}

static char *
make_process_key(const LsProcess *process)
{
    const LsRank *rank = &process->rank;

    return g_strdup_printf("%d %d %" G_GINT64_FORMAT, rank->rank, rank->incarnation, rank->pid);
}

/* Parts of one recording become one process; a second copy of it does not count twice. */
static void
join_files(GPtrArray *processes)
{
    g_autoptr(GHashTable) first = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    for (guint i = 0; i < processes->len;) {
        LsProcess *process = get_process(processes, i), *other;
        g_autofree char *key = make_process_key(process);

        other = g_hash_table_lookup(first, key);
        if (other == NULL || !is_same_process(other, process)) {
            g_hash_table_insert(first, g_steal_pointer(&key), process);
            i++;
            continue;
        }
        g_ptr_array_steal_index(processes, i);
        if (is_copy(&other->rank, &process->rank)) {
            ls_process_add_finding(other, LS_WARNING, -1,
                                   "%s is the same recording again; it counts once.",
                                   process->rank.source);
            ls_process_free(process);
        } else {
            ls_process_join(other, process);
        }
    }
}

void
ls_identity_find_ranks(GPtrArray *processes)
{
    join_files(processes);
    for (guint i = 0; i < processes->len; i++) {
        LsProcess *process = get_process(processes, i);
        LsRank *rank = &process->rank;

        if (rank->rank >= 0)
            continue;
        rank->rank = rank->source != NULL ? parse_name(rank->source) : -1;
        if (rank->rank >= 0) {
            ls_process_add_finding(process, LS_NOTE, -1,
                                   "The file does not say its rank; %d was taken from its name.",
                                   rank->rank);
        } else if (processes->len == 1 && rank->world <= 1) {
            rank->rank = 0;
            ls_process_add_finding(process, LS_NOTE, -1,
                                   "The file does not say its rank; being alone it counts as 0.");
        } else {
            ls_process_add_finding(process, LS_WARNING, -1,
                                   "Neither the file nor its name says which rank this is.");
        }
    }
}

static int
compare_lives(const void *a, const void *b)
{
    const LsRank *x = &(*(LsProcess *const *)a)->rank, *y = &(*(LsProcess *const *)b)->rank;

    if (x->rank != y->rank)
        return (uint32_t)x->rank < (uint32_t)y->rank ? -1 : 1;
    if (x->incarnation != y->incarnation)
        return x->incarnation < y->incarnation ? -1 : 1;
    if (x->recorded != y->recorded)
        return x->recorded ? -1 : 1;
    if (x->first_ns != y->first_ns)
        return x->first_ns < y->first_ns ? -1 : 1;
    return g_strcmp0(x->source, y->source);
}

static bool
overlap_in_time(const LsRank *a, const LsRank *b)
{
    if (a->clock_method == LS_CLOCK_NONE || b->clock_method == LS_CLOCK_NONE)
        return true;
    return a->first_ns < b->last_ns && b->first_ns < a->last_ns;
}

/* "process 812 on gpu05" */
static char *
format_process(const LsRank *rank)
{
    g_autofree char *pid =
        rank->pid >= 0 ? g_strdup_printf("process %" G_GINT64_FORMAT, rank->pid) : NULL;

    if (rank->host == NULL)
        return g_strdup(pid != NULL ? pid : "of no named process");
    return g_strdup_printf("%s on %s", pid != NULL ? pid : "a process", rank->host);
}

/* `process` comes after `before` and has its rank and life. */
static void
part_lives(const LsProcess *before, LsProcess *process, int32_t last_life)
{
    const LsRank *a = &before->rank;
    LsRank *b = &process->rank;
    g_autofree char *who_a = format_process(a), *who_b = format_process(b);

    if (!b->recorded)
        return;
    if (before->source != process->source) {
        ls_process_add_finding(process, LS_NOTE, -1,
                               "Rank %d is also told by %s, of another format; both are shown.",
                               b->rank, a->source);
    } else if (overlap_in_time(a, b)) {
        ls_process_add_finding(process, LS_WARNING, -1,
                               "This file (%s) and %s (%s) both say that they are rank %d at the "
                               "same time; both are shown.",
                               who_b, a->source, who_a, b->rank);
    } else {
        const char *run_a = g_hash_table_lookup(before->facts, "run.id");
        const char *run_b = g_hash_table_lookup(process->facts, "run.id");
        bool mixed = run_a != NULL && run_b != NULL && !g_str_equal(run_a, run_b);

        b->incarnation = last_life + 1;
        ls_process_add_finding(process, mixed ? LS_WARNING : LS_NOTE, -1,
                               "Rank %d ran before (%s, %s)%s; this one is shown as its life %d.",
                               b->rank, a->source, who_a,
                               mixed ? ", in another run: files of two runs are mixed" : "",
                               b->incarnation + 1);
    }
}

void
ls_identity_find_lives(GPtrArray *processes)
{
    int32_t last_life = 0;

    g_ptr_array_sort(processes, compare_lives);
    for (guint i = 0; i < processes->len; i++) {
        LsProcess *process = get_process(processes, i);
        const LsProcess *before = i > 0 ? get_process(processes, i - 1) : NULL;
        bool same_rank = before != NULL && before->rank.rank == process->rank.rank;

        if (same_rank && process->rank.rank >= 0 &&
            (process->rank.incarnation <= last_life || before->source != process->source))
            part_lives(before, process, last_life);
        last_life =
            same_rank ? MAX(last_life, process->rank.incarnation) : process->rank.incarnation;
    }
    g_ptr_array_sort(processes, compare_lives);
}

static G_GNUC_PRINTF(4, 5) void add_finding(LsBuilder *builder, LsSeverity severity, int32_t rank,
                                            const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    ls_builder_add_finding(builder, severity, NULL, -1, rank, text);
}

/* "3, 7-9" */
static char *
format_ranks(const GArray *ranks)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < ranks->len;) {
        int first = g_array_index(ranks, int, i), last = first;

        while (++i < ranks->len && g_array_index(ranks, int, i) == last + 1)
            last++;
        g_string_append_printf(text, text->len > 0 ? ", %d" : "%d", first);
        if (last > first)
            g_string_append_printf(text, "-%d", last);
    }
    return g_string_free(text, FALSE);
}

static int
find_world(const GPtrArray *processes, LsBuilder *builder)
{
    const LsRank *largest = NULL, *other = NULL;
    int world = 0;

    for (guint i = 0; i < processes->len; i++) {
        const LsRank *rank = &get_process(processes, i)->rank;

        world = MAX(world, MAX(rank->world, rank->rank + 1));
        if (rank->world >= 1 && (largest == NULL || rank->world > largest->world))
            largest = rank;
    }
    for (guint i = 0; i < processes->len && largest != NULL; i++) {
        const LsRank *rank = &get_process(processes, i)->rank;

        if (rank->world >= 1 && rank->world != largest->world)
            other = rank;
    }
    if (other != NULL)
        add_finding(
            builder, LS_WARNING, other->rank,
            "Rank %d knows of %d ranks, rank %d of %d: these are not the same job, or it was "
            "restarted with another size.",
            other->rank, other->world, largest->rank, largest->world);
    return world;
}

static void
add_absent(LsBuilder *builder, const GArray *absent, int world, bool only_timelines)
{
    g_autofree char *listed = format_ranks(absent);

    if (absent->len == 0)
        return;
    if (only_timelines)
        add_finding(
            builder, LS_NOTE, -1,
            "Rank 0 alone writes a Horovod timeline; of rank %s of %d it holds no tick, which "
            "is no sign that they were missing.",
            listed, world);
    else if (absent->len > LISTED_MAX)
        add_finding(builder, LS_WARNING, -1, "%u of %d ranks have no file: %s.", absent->len, world,
                    listed);
    else
        for (guint i = 0; i < absent->len; i++)
            add_finding(builder, LS_WARNING, g_array_index(absent, int, i),
                        "Rank %d of %d has no file.", g_array_index(absent, int, i), world);
}

void
ls_identity_check_world(const GPtrArray *processes, LsBuilder *builder)
{
    int world = find_world(processes, builder);
    g_autofree uint8_t *found = g_new0(uint8_t, world + 1);
    g_autoptr(GArray) absent = g_array_new(FALSE, FALSE, sizeof(int));
    g_autoptr(GArray) indirect = g_array_new(FALSE, FALSE, sizeof(int));
    bool only_timelines = true;

    for (guint i = 0; i < processes->len; i++) {
        const LsRank *rank = &get_process(processes, i)->rank;

        only_timelines &= get_process(processes, i)->source == LS_SOURCE_HOROVOD;
        if (rank->rank >= 0)
            found[rank->rank] |= rank->recorded ? 2 : 1;
    }
    for (int rank = 0; rank < world; rank++) {
        if (found[rank] == 0)
            g_array_append_val(absent, rank);
        else if (found[rank] == 1)
            g_array_append_val(indirect, rank);
    }
    add_absent(builder, absent, world, only_timelines);
    if (indirect->len > 0) {
        g_autofree char *listed = format_ranks(indirect);

        add_finding(
            builder, LS_NOTE, -1,
            "Of rank %s only ticks in another rank's timeline are known: when that one heard "
            "of them, up to a cycle late.",
            listed);
    }
}
