/* SPDX-License-Identifier: Apache-2.0
 * cli/inventory.c: one pass over each table and track of a trace. */
#include "cli/inventory.h"

#include <string.h>

#include "analysis/collective.h"

static bool
is_shown(const bool *shown, uint32_t rank)
{
    return !shown || shown[rank];
}

static const char *
describe_clock(LsClockMethod method)
{
    static const char *const words[] = {[LS_CLOCK_REFERENCE] = "its own",
                                        [LS_CLOCK_SAME_BOOT] = "same boot of one machine",
                                        [LS_CLOCK_ROUNDTRIP] = "round trips",
                                        [LS_CLOCK_COLLECTIVE] = "ends of matched collectives",
                                        [LS_CLOCK_WALL] = "wall clock readings",
                                        [LS_CLOCK_NONE] = "not placed"};
    return words[method];
}

/* Adds a word once. */
static void
add_word(GString *words, const char *word)
{
    if (strstr(words->str, word))
        return;
    if (words->len > 0)
        g_string_append(words, ", ");
    g_string_append(words, word);
}

static int
by_text(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
count_ranks(LsInventory *inventory, const LsTrace *trace, const bool *shown)
{
    g_autoptr(GString) formats = g_string_new(NULL), clocks = g_string_new(NULL);
    g_autoptr(GHashTable) hosts = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) numbers =
        g_hash_table_new(NULL, NULL); /* a rank of several lives is one */
    size_t n;
    const LsRank *ranks = ls_trace_get_ranks(trace, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (!is_shown(shown, i))
            continue;
        if (!ranks[i].recorded) {
            inventory->ranks_by_tick++;
            continue;
        }
        if (ranks[i].rank < 0) {
            inventory->strangers++;
        } else {
            inventory->lives++;
            inventory->ranks += g_hash_table_add(numbers, GINT_TO_POINTER(ranks[i].rank));
        }
        inventory->records += (int64_t)ranks[i].records;
        if (ranks[i].format)
            add_word(formats, ranks[i].format);
        add_word(clocks, describe_clock(ranks[i].clock_method));
        if (ranks[i].host && g_hash_table_add(hosts, ranks[i].host))
            g_ptr_array_add(inventory->hosts, g_strdup(ranks[i].host));
    }
    g_ptr_array_sort(inventory->hosts, by_text);
    const char *timeline = ls_trace_get_fact(trace, "timeline.clock");
    inventory->clock = timeline ? g_strdup(timeline) : g_strdup(clocks->str);
    inventory->format = g_strdup(formats->str);
}

static size_t
count_named(const LsTrace *trace, const LsSpans *spans, const char *prefix)
{
    size_t n = 0;
    for (size_t i = 0; i < spans->n; i++)
        n += g_str_has_prefix(ls_trace_get_string(trace, spans->name[i]), prefix);
    return n;
}

static void
count_tracks(LsInventory *inventory, const LsTrace *trace, const bool *shown, GHashTable *tensors)
{
    size_t n;
    const LsTrack *tracks = ls_trace_get_tracks(trace, &n);
    for (size_t t = 0; t < n; t++) {
        const LsTrack *track = &tracks[t];
        if (!is_shown(shown, track->rank))
            continue;
        for (uint32_t lane = 0; lane < track->n_lanes; lane++) {
            inventory->spans += (int64_t)track->lanes[lane].n;
            if (track->kind == LS_TRACK_TENSOR)
                inventory->negotiations +=
                    (int64_t)count_named(trace, &track->lanes[lane], "NEGOTIATE_");
        }
        if (track->kind == LS_TRACK_TENSOR)
            g_hash_table_add(tensors, GUINT_TO_POINTER(track->name));
    }
}

static void
count_uses(LsInventory *inventory, const LsTrace *trace, const bool *shown, GHashTable *tensors)
{
    size_t n;
    const LsUse *uses = ls_trace_get_uses(trace, &n);
    for (size_t i = 0; i < n; i++) {
        if (!is_shown(shown, uses[i].rank))
            continue;
        g_hash_table_add(tensors, GUINT_TO_POINTER(uses[i].tensor));
        inventory->submissions += uses[i].submit_ns != LS_TIME_NONE;
    }
}

static void
count_rows(LsInventory *inventory, const LsTrace *trace, const bool *shown)
{
    size_t n;
    const LsCall *calls = ls_trace_get_calls(trace, &n);
    for (size_t i = 0; i < n; i++)
        inventory->batches += !calls[i].is_inner && is_shown(shown, calls[i].rank);
    const LsCycle *cycles = ls_trace_get_cycles(trace, &n);
    for (size_t i = 0; i < n; i++)
        inventory->cycles += is_shown(shown, cycles[i].rank);
    const LsInstant *instants = ls_trace_get_instants(trace, &n);
    for (size_t i = 0; i < n; i++)
        inventory->cycles +=
            instants[i].kind == LS_INSTANT_CYCLE && is_shown(shown, instants[i].rank);
    const LsStep *steps = ls_trace_get_steps(trace, &n);
    for (size_t i = 0; i < n; i++)
        inventory->steps += is_shown(shown, steps[i].rank);
    const LsFinding *findings = ls_trace_get_findings(trace, &n);
    for (size_t i = 0; i < n; i++)
        inventory->findings[findings[i].severity]++;
}

LsInventory *
ls_inventory_new(const LsTrace *trace, const bool *shown)
{
    LsInventory *inventory = g_new0(LsInventory, 1);
    g_autoptr(GHashTable) tensors = g_hash_table_new(NULL, NULL);
    const char *ticks = ls_trace_get_fact(trace, "timeline.ticks");
    const char *steps = ls_trace_get_fact(trace, "packed.steps");
    inventory->packed = steps ? g_strdup_printf("steps %s; the others were left out", steps) : NULL;
    inventory->hosts = g_ptr_array_new_with_free_func(g_free);
    inventory->ranks_expected =
        ls_collective_knows_world(trace) ? (int64_t)ls_trace_get_world(trace) : -1;
    inventory->first_ns = ls_trace_get_first_ns(trace);
    inventory->last_ns = ls_trace_get_last_ns(trace);
    inventory->ticks = ticks ? g_ascii_strtoll(ticks, NULL, 10) : -1;
    count_ranks(inventory, trace, shown);
    count_tracks(inventory, trace, shown, tensors);
    count_uses(inventory, trace, shown, tensors);
    count_rows(inventory, trace, shown);
    inventory->tensors = g_hash_table_size(tensors);
    return inventory;
}

void
ls_inventory_free(LsInventory *inventory)
{
    g_free(inventory->format);
    g_free(inventory->clock);
    g_free(inventory->packed);
    g_ptr_array_unref(inventory->hosts);
    g_free(inventory);
}
