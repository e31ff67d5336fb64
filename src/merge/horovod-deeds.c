/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/horovod-deeds.c: the list of what was done, from rank 0: its timeline's tensors by the end
 * of their operation, where a grouped submission (its members are named NAME_1of4, NAME_2of4, ...)
 * is one deed, done with its last member. Without a timeline rank 0's own ranges are the list: it
 * names nothing, and still pairs the ranks.
 */
#include "merge/horovod-private.h"

#include <stdlib.h>
#include <string.h>

bool
ls_horovod_has_ranges(const LsProcess *process)
{
    uint32_t domain = ls_strings_find(process->strings, LS_HOROVOD_OPERATIONS);

    for (guint i = 0; i < process->ranges->len; i++)
        if (g_array_index(process->ranges, LsRange, i).domain == domain)
            return true;
    return false;
}

static int
compare_range_ends(const void *a, const void *b)
{
    const LsRange *x = a, *y = b;

    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

GArray *
ls_horovod_get_ranges(const LsProcess *process, const char *domain)
{
    GArray *ranges = g_array_new(FALSE, FALSE, sizeof(LsRange));
    uint32_t wanted = ls_strings_find(process->strings, domain);

    for (guint i = 0; i < process->ranges->len; i++) {
        const LsRange *range = &g_array_index(process->ranges, LsRange, i);

        if (range->domain == wanted && range->end_ns != LS_TIME_NONE)
            g_array_append_vals(ranges, range, 1);
    }
    g_array_sort(ranges, compare_range_ends);
    return ranges;
}

uint8_t
ls_horovod_range_operation(const char *message, bool *ret_grouped)
{
    static const struct {
        const char *word;
        uint8_t operation;
    } words[] = {
        {"Allreduce", LS_OPERATION_ALLREDUCE},         {"Allgather", LS_OPERATION_ALLGATHER},
        {"Broadcast", LS_OPERATION_BROADCAST},         {"Alltoall", LS_OPERATION_ALLTOALL},
        {"Reducescatter", LS_OPERATION_REDUCESCATTER},
    };

    if (g_str_has_prefix(message, "Horovod"))
        message += strlen("Horovod");
    *ret_grouped = g_str_has_prefix(message, "Grouped");
    if (*ret_grouped)
        message += strlen("Grouped");
    for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
        if (g_ascii_strcasecmp(message, words[i].word) == 0)
            return words[i].operation;
    return LS_OPERATION_UNKNOWN;
}

/* "grouped_allreduce.group0_3of4": 4, and the length of what stands before "_3of4"; 0 for a name
 * that is no member's. */
static unsigned
parse_member(const char *name, size_t *ret_length)
{
    const char *at = strrchr(name, '_');
    char *end;
    uint64_t number, n;

    if (at == NULL || !g_ascii_isdigit(at[1]))
        return 0;
    number = g_ascii_strtoull(at + 1, &end, 10);
    if (strncmp(end, "of", 2) != 0 || !g_ascii_isdigit(end[2]))
        return 0;
    n = g_ascii_strtoull(end + 2, &end, 10);
    if (*end != '\0' || number < 1 || number > n || n > 65536)
        return 0;
    *ret_length = (size_t)(at - name);
    return (unsigned)n;
}

/* -- Uses in the order in which they were done -- */

typedef struct Done {
    uint32_t use, call;
    uint16_t position;
    int64_t done_ns;
} Done;

/* Times of a timeline are whole microseconds: of one batch the members' order decides. */
static int
compare_done(const void *a, const void *b)
{
    const Done *x = a, *y = b;

    if (x->done_ns != y->done_ns)
        return x->done_ns < y->done_ns ? -1 : 1;
    if (x->call != y->call)
        return x->call < y->call ? -1 : 1;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return x->use < y->use ? -1 : x->use > y->use;
}

static GArray *
list_done(const LsProcess *teller)
{
    GArray *list = g_array_new(FALSE, FALSE, sizeof(Done));

    for (guint i = 0; i < teller->uses->len; i++) {
        const LsUse *use = &g_array_index(teller->uses, LsUse, i);
        Done done = {i, use->call, use->position, use->done_ns};

        if (use->done_ns != LS_TIME_NONE)
            g_array_append_val(list, done);
    }
    g_array_sort(list, compare_done);
    return list;
}

static int64_t
get_begin(const LsProcess *teller, const LsUse *use)
{
    if (use->call < teller->calls->len)
        return g_array_index(teller->calls, LsCall, use->call).start_ns;
    return use->agreed_ns != LS_TIME_NONE ? use->agreed_ns : use->done_ns;
}

static void
add_bytes(LsDeed *deed, int64_t bytes)
{
    deed->bytes = deed->bytes < 0 || bytes < 0 || bytes > LS_AMOUNT_MAX - deed->bytes
                      ? -1
                      : deed->bytes + bytes;
}

/* The deed's tensors are the last n of `uses`. */
static void
add_deed(LsDeeds *deeds, const char *name, uint32_t n, bool grouped)
{
    LsDeed deed = {.name = name,
                   .first = deeds->uses->len - n,
                   .n = n,
                   .operation = LS_OPERATION_UNKNOWN,
                   .grouped = grouped,
                   .begin_ns = INT64_MAX,
                   .done_ns = INT64_MIN};

    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = g_array_index(deeds->uses, uint32_t, deed.first + i);
        const LsUse *use = &g_array_index(deeds->teller->uses, LsUse, row);

        deed.operation = use->operation;
        deed.begin_ns = MIN(deed.begin_ns, get_begin(deeds->teller, use));
        deed.done_ns = MAX(deed.done_ns, use->done_ns);
        add_bytes(&deed, use->bytes);
    }
    /* The first member to be executed begins the group; its last one ends it. */
    if (grouped)
        deed.begin_ns =
            get_begin(deeds->teller,
                      &g_array_index(deeds->teller->uses, LsUse,
                                     g_array_index(deeds->uses, uint32_t, deed.first + n - 1)));
    g_array_append_val(deeds->deeds, deed);
}

/* A member waits until its group is whole. */
static void
add_member(LsDeeds *deeds, GHashTable *groups, uint32_t use, const char *name, size_t length,
           unsigned n)
{
    g_autofree char *base = g_strndup(name, length);
    GArray *members = g_hash_table_lookup(groups, base);

    if (members == NULL) {
        members = g_array_new(FALSE, FALSE, sizeof(uint32_t));
        g_hash_table_insert(groups, g_strdup(base), members);
    }
    g_array_append_val(members, use);
    if (members->len < n)
        return;
    g_array_append_vals(deeds->uses, members->data, members->len);
    g_ptr_array_add(deeds->names, g_steal_pointer(&base));
    add_deed(deeds, g_ptr_array_index(deeds->names, deeds->names->len - 1), n, true);
    g_array_set_size(members, 0);
}

static void
free_rows(void *rows)
{
    g_array_unref(rows);
}

static void
add_named(LsDeeds *deeds, const GArray *done, bool has_groups)
{
    g_autoptr(GHashTable) groups =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_rows);

    for (guint i = 0; i < done->len; i++) {
        uint32_t use = g_array_index(done, Done, i).use;
        const char *name = ls_strings_get(deeds->teller->strings,
                                          g_array_index(deeds->teller->uses, LsUse, use).tensor);
        size_t length;
        unsigned n = has_groups ? parse_member(name, &length) : 0;

        if (n > 0) {
            add_member(deeds, groups, use, name, length, n);
            continue;
        }
        g_array_append_val(deeds->uses, use);
        add_deed(deeds, name, 1, false);
    }
}

static void
add_nameless(LsDeeds *deeds, const GArray *ranges)
{
    for (guint i = 0; i < ranges->len; i++) {
        const LsRange *range = &g_array_index(ranges, LsRange, i);
        LsDeed deed = {
            .n = 1, .bytes = range->payload, .begin_ns = range->start_ns, .done_ns = range->end_ns};

        deed.operation = ls_horovod_range_operation(
            ls_strings_get(deeds->teller->strings, range->name), &deed.grouped);
        g_array_append_val(deeds->deeds, deed);
    }
}

LsDeeds *
ls_deeds_new(LsProcess *teller)
{
    LsDeeds *deeds = g_new0(LsDeeds, 1);
    g_autoptr(GArray) done = list_done(teller);
    g_autoptr(GArray) ranges = ls_horovod_get_ranges(teller, LS_HOROVOD_OPERATIONS);
    bool has_groups = false;

    deeds->teller = teller;
    deeds->deeds = g_array_new(FALSE, FALSE, sizeof(LsDeed));
    deeds->uses = g_array_new(FALSE, FALSE, sizeof(uint32_t));
    deeds->names = g_ptr_array_new_with_free_func(g_free);
    deeds->named = done->len > 0;
    for (guint i = 0; i < ranges->len && !has_groups; i++)
        ls_horovod_range_operation(
            ls_strings_get(teller->strings, g_array_index(ranges, LsRange, i).name), &has_groups);
    if (deeds->named)
        add_named(deeds, done, has_groups);
    else
        add_nameless(deeds, ranges);
    return deeds;
}

void
ls_deeds_free(LsDeeds *deeds)
{
    if (deeds == NULL)
        return;
    g_array_unref(deeds->deeds);
    g_array_unref(deeds->uses);
    g_ptr_array_unref(deeds->names);
    g_free(deeds);
}
