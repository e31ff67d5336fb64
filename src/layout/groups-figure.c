/* SPDX-License-Identifier: Apache-2.0
 *
 * layout/groups-figure.c: gathers the figure: the rank's uses of the step are its members, their
 * groups, or the buffers that carried them, its sections, in the order of the first member.
 */
#include "layout/groups-private.h"

#include <string.h>

#define AT LS_GROUPS_AT

static void
clear_section(gpointer data)
{
    LsFigureSection *section = data;
    g_free(section->label);
    g_free(section->scope);
}

void
ls_groups_figure_free(LsGroupsFigure *figure)
{
    if (!figure)
        return;
    GArray *arrays[] = {figure->sections, figure->members, figure->edges,
                        figure->ready,    figure->cycles,  figure->phases};
    for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_array_unref(arrays[i]);
    g_free(figure);
}

/* -- Members: the uses of the rank -- */

/* What a member belongs to: its group, or the call that carried it. */
typedef struct Key {
    uint32_t value;
    bool of_call;
} Key;

typedef struct Found {
    LsFigureMember member;
    Key key;
    int64_t order; /* of the member */
} Found;

static int64_t
get_place(GHashTable *places, uint32_t tensor)
{
    gpointer value;
    return g_hash_table_lookup_extended(places, GUINT_TO_POINTER(tensor), NULL, &value)
               ? GPOINTER_TO_INT(value)
               : -1;
}

static GHashTable *
find_places(const LsTrace *trace)
{
    GHashTable *places = g_hash_table_new(g_direct_hash, g_direct_equal);
    size_t n;
    const LsGraphTensor *tensors = ls_trace_get_graph_tensors(trace, &n);
    for (size_t i = 0; i < n; i++)
        if (tensors[i].place >= 0)
            g_hash_table_insert(places, GUINT_TO_POINTER(tensors[i].tensor),
                                GINT_TO_POINTER(tensors[i].place));
    return places;
}

static bool
is_member(const LsGroupsFigure *figure, const LsStep *step, const LsUse *use)
{
    if (use->rank != figure->rank || use->submit_ns == LS_TIME_NONE)
        return false;
    return step ? use->submit_ns >= step->start_ns && use->submit_ns < step->end_ns
                : use->occurrence == figure->occurrence;
}

static void
add_found(GArray *all, const LsTrace *trace, const LsUse *use, GHashTable *places)
{
    size_t n_calls;
    const LsCall *calls = ls_trace_get_calls(trace, &n_calls);
    const LsCall *call = use->call < n_calls ? &calls[use->call] : NULL;
    Found found = {.member = {.tensor = use->tensor,
                              .occurrence = use->occurrence,
                              .place = (int32_t)get_place(places, use->tensor),
                              .bytes = use->bytes,
                              .submit_ns = use->submit_ns,
                              .ready_ns = use->gate_ns,
                              .agreed_ns = use->agreed_ns,
                              .start_ns = call ? call->start_ns : LS_TIME_NONE,
                              .end_ns = call ? call->end_ns : LS_TIME_NONE},
                   .key = {use->group != LS_NONE ? use->group : use->call, use->group == LS_NONE}};
    found.order = found.member.place >= 0 ? found.member.place : G_MAXINT32;
    g_array_append_val(all, found);
}

static int
compare_members(const void *a, const void *b)
{
    const Found *x = a, *y = b;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return (x->member.submit_ns > y->member.submit_ns) -
           (x->member.submit_ns < y->member.submit_ns);
}

/* The step's row of the rank; NULL: it has none. */
static const LsStep *
find_step(const LsTrace *trace, uint32_t rank, uint32_t column)
{
    size_t n;
    const LsStep *steps = ls_trace_get_steps(trace, &n);
    for (size_t i = 0; i < n; i++)
        if (steps[i].rank == rank && steps[i].column == column)
            return &steps[i];
    return NULL;
}

/* Half way through what the rank submitted. */
static uint32_t
find_occurrence(const LsTrace *trace, uint32_t rank)
{
    size_t n;
    const LsUse *uses = ls_trace_get_uses(trace, &n);
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++)
        if (uses[i].rank == rank)
            most = MAX(most, uses[i].occurrence);
    return (most + 1) / 2;
}

/* -- Sections -- */

/* "layer4.2" of layer4.2.conv1 and layer4.2.bn1: the parts that all have in common. */
static char *
find_scope(const LsTrace *trace, const LsFigureMember *members, guint n)
{
    const char *first = ls_trace_get_string(trace, members[0].tensor);
    size_t length = strlen(first);
    if (n == 1)
        return g_strdup(first);
    for (guint i = 1; i < n; i++) {
        const char *other = ls_trace_get_string(trace, members[i].tensor);
        size_t same = 0;
        while (same < length && other[same] == first[same])
            same++;
        length = same;
    }
    while (length > 0 && strchr("./", first[length - 1]) == NULL)
        length--;
    return g_strndup(first, length > 0 ? length - 1 : 0);
}

static guint
add_section(LsGroupsFigure *figure, const LsTrace *trace, const Key *key)
{
    size_t n_calls;
    const LsCall *calls = ls_trace_get_calls(trace, &n_calls);
    LsFigureSection section = {.submit_ns = LS_TIME_NONE,
                               .ready_ns = LS_TIME_NONE,
                               .agreed_ns = LS_TIME_NONE,
                               .start_ns = LS_TIME_NONE,
                               .end_ns = LS_TIME_NONE,
                               .ready_cycle = -1,
                               .sent_first_cycle = -1,
                               .sent_last_cycle = -1,
                               .first_ready_cycle = -1,
                               .last_ready_cycle = -1};
    section.is_buffer = key->of_call;
    if (!key->of_call)
        section.label = g_strdup(ls_trace_get_string(trace, key->value));
    else if (key->value < n_calls && calls[key->value].sequence >= 0)
        section.label = g_strdup_printf("buffer %" G_GINT64_FORMAT, calls[key->value].sequence);
    else
        section.label = g_strdup(key->value < n_calls ? "buffer" : "never sent");
    g_array_append_val(figure->sections, section);
    return figure->sections->len - 1;
}

/* Sections in the order of their first member; members behind one another by section. */
static void
make_sections(LsGroupsFigure *figure, const LsTrace *trace, GArray *all)
{
    g_autoptr(GHashTable) numbers = g_hash_table_new(g_direct_hash, g_direct_equal);
    for (guint i = 0; i < all->len; i++) {
        Found *found = AT(all, Found, i);
        gpointer key = GSIZE_TO_POINTER((size_t)found->key.value << 1 | found->key.of_call), value;
        if (g_hash_table_lookup_extended(numbers, key, NULL, &value)) {
            found->member.section = GPOINTER_TO_UINT(value);
            continue;
        }
        found->member.section = add_section(figure, trace, &found->key);
        g_hash_table_insert(numbers, key, GUINT_TO_POINTER(found->member.section));
    }
    for (guint s = 0; s < figure->sections->len; s++)
        for (guint i = 0; i < all->len; i++)
            if (AT(all, Found, i)->member.section == s)
                g_array_append_val(figure->members, AT(all, Found, i)->member);
}

static void
measure_sections(LsGroupsFigure *figure, const LsTrace *trace)
{
    guint at = 0;
    for (guint s = 0; s < figure->sections->len; s++) {
        LsFigureSection *section = AT(figure->sections, LsFigureSection, s);
        section->first = at;
        for (; at < figure->members->len && AT(figure->members, LsFigureMember, at)->section == s;
             at++) {
            const LsFigureMember *member = AT(figure->members, LsFigureMember, at);
            section->bytes += MAX(member->bytes, 0);
            ls_groups_widen(&section->submit_ns, NULL, member->submit_ns);
            ls_groups_widen(NULL, &section->ready_ns, member->ready_ns);
            ls_groups_widen(NULL, &section->agreed_ns, member->agreed_ns);
            ls_groups_widen(&section->start_ns, NULL, member->start_ns);
            ls_groups_widen(NULL, &section->end_ns, member->end_ns);
        }
        section->n = at - section->first;
        section->scope =
            section->is_buffer
                ? find_scope(trace, AT(figure->members, LsFigureMember, section->first), section->n)
                : g_strdup("");
        ls_groups_widen(&figure->start_ns, &figure->end_ns, section->submit_ns);
        ls_groups_widen(NULL, &figure->end_ns, MAX(section->end_ns, section->agreed_ns));
    }
}

static void
add_edges(LsGroupsFigure *figure, const LsTrace *trace)
{
    g_autoptr(GHashTable) members = g_hash_table_new(g_direct_hash, g_direct_equal);
    size_t n;
    const LsGraphNeed *needs = ls_trace_get_graph_needs(trace, &n);
    for (guint i = 0; i < figure->members->len; i++)
        g_hash_table_insert(members,
                            GUINT_TO_POINTER(AT(figure->members, LsFigureMember, i)->tensor),
                            GUINT_TO_POINTER(i));
    for (size_t i = 0; i < n; i++) {
        gpointer needed, needing;
        if (!g_hash_table_lookup_extended(members, GUINT_TO_POINTER(needs[i].needed), NULL,
                                          &needed) ||
            !g_hash_table_lookup_extended(members, GUINT_TO_POINTER(needs[i].tensor), NULL,
                                          &needing))
            continue;
        LsFigureEdge edge = {GPOINTER_TO_UINT(needed), GPOINTER_TO_UINT(needing)};
        g_array_append_val(figure->edges, edge);
    }
}

LsGroupsFigure *
ls_groups_figure_new(const LsModel *model, int step, uint32_t rank)
{
    const LsTrace *trace = ls_model_get_trace(model);
    size_t n_steps, n_uses, n_tensors;
    const LsStepColumn *steps = ls_model_get_steps(model, &n_steps);
    const LsUse *uses = ls_trace_get_uses(trace, &n_uses);
    LsGroupsFigure *figure = g_new0(LsGroupsFigure, 1);
    *figure = (LsGroupsFigure){.model = model,
                               .rank = rank,
                               .step = step >= 0 ? steps[step].number : -1,
                               .start_ns = LS_TIME_NONE,
                               .end_ns = LS_TIME_NONE,
                               .sections = g_array_new(FALSE, TRUE, sizeof(LsFigureSection)),
                               .members = g_array_new(FALSE, TRUE, sizeof(LsFigureMember)),
                               .edges = g_array_new(FALSE, TRUE, sizeof(LsFigureEdge)),
                               .ready = g_array_new(FALSE, TRUE, sizeof(LsFigureReady)),
                               .cycles = g_array_new(FALSE, TRUE, sizeof(LsFigureCycle)),
                               .phases = g_array_new(FALSE, TRUE, sizeof(LsFigurePhase))};
    g_array_set_clear_func(figure->sections, clear_section);
    const LsStep *row = step >= 0 ? find_step(trace, rank, steps[step].column) : NULL;
    if (step < 0)
        figure->occurrence = find_occurrence(trace, rank);
    g_autoptr(GHashTable) places = find_places(trace);
    g_autoptr(GArray) all = g_array_new(FALSE, TRUE, sizeof(Found));
    for (size_t i = 0; i < n_uses && (step < 0 || row); i++)
        if (is_member(figure, row, &uses[i])) {
            figure->grouped |= uses[i].group != LS_NONE;
            add_found(all, trace, &uses[i], places);
        }
    if (all->len == 0) {
        ls_groups_figure_free(figure);
        return NULL;
    }
    g_array_sort(all, compare_members);
    make_sections(figure, trace, all);
    measure_sections(figure, trace);
    ls_trace_get_graph_tensors(trace, &n_tensors);
    figure->has_graph = n_tensors > 0;
    figure->zero_ns = row ? row->start_ns : figure->start_ns;
    add_edges(figure, trace);
    ls_groups_figure_add_cycles(figure, trace);
    return figure;
}
