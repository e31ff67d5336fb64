/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/colour.c: colours of a graph. Each method gives every node a colour, a number from 0 on
 * (or none); nodes of one colour, in the order of the graph, are a group.
 *
 * By depth (arXiv 1909.11150): a node's depth is the longest way to it over what it needs; nodes of
 * one depth become ready together, and neighbouring depths are merged to one band until it has the
 * bytes that make a buffer worth while. What is left over at the end joins the last band.
 */
#include "reduce/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ERROR_BYTES 256
#define NO_MEMORY   "out of memory"

static const char *
colour_slices(const LsGraph *graph, const LsColourRule *rule, int32_t *colours,
              char error[ERROR_BYTES])
{
    if (rule->slices < 1) {
        snprintf(error, ERROR_BYTES, "into 0 slices nothing can be cut");
        return error;
    }
    int64_t size = (graph->n + rule->slices - 1) / rule->slices;
    for (int32_t i = 0; i < graph->n; i++)
        colours[i] = (int32_t)(i / size);
    return NULL;
}

static const char *
colour_bytes(const LsGraph *graph, const LsColourRule *rule, int32_t *colours,
             char error[ERROR_BYTES])
{
    int64_t left = rule->bytes;
    int32_t colour = 0;
    for (int32_t i = 0; i < graph->n; i++) {
        colours[i] = colour;
        left -= graph->nodes[i]->bytes < left ? graph->nodes[i]->bytes : left;
        if (left == 0) {
            left = rule->bytes;
            colour++;
        }
    }
    return NULL;
}

/* Length of the leading parts of the name that make its layer; 0: it has none. */
static size_t
scope_length(const char *name, int64_t parts)
{
    size_t length = 0;
    for (size_t i = 0; name[i] != '\0'; i++) {
        if (name[i] != '/' && name[i] != '.')
            continue;
        length = i;
        if (parts > 0 && --parts == 0)
            break;
    }
    return length;
}

/* By a roster of the layers seen: whose first node it is gives the colour. */
static const char *
colour_layers(const LsGraph *graph, const LsColourRule *rule, int32_t *colours,
              char error[ERROR_BYTES])
{
    LsRoster layers = {0};
    LsNode *seen = calloc((size_t)graph->n + 1, sizeof *seen);
    const char *fault = seen == NULL ? NO_MEMORY : NULL;
    int32_t n = 0;
    for (int32_t i = 0; i < graph->n && fault == NULL; i++) {
        const char *name = graph->nodes[i]->item.name;
        size_t length = scope_length(name, rule->parts);
        char *scope = length == 0 ? NULL : strndup(name, length);
        colours[i] = -1;
        if (length == 0)
            continue;
        const LsNode *known = scope == NULL ? NULL : (LsNode *)ls_roster_find(&layers, scope);
        if (known != NULL) {
            colours[i] = (int32_t)(known - seen);
            free(scope);
            continue;
        }
        seen[n].item.name = scope;
        if (scope == NULL || !ls_roster_add(&layers, &seen[n].item)) {
            free(scope);
            fault = NO_MEMORY;
            break;
        }
        colours[i] = n++;
    }
    while (layers.first != NULL) {
        char *scope = layers.first->name;
        ls_roster_remove(&layers, layers.first);
        free(scope);
    }
    free(seen);
    return fault;
}

/* The depth of each node; a node is done when all that it needs is (Kahn, CACM 5, 1962). */
static const char *
find_depths(const LsGraph *graph, int32_t *depths, int32_t *open, char error[ERROR_BYTES])
{
    int32_t done = 0, before = -1;
    for (int32_t i = 0; i < graph->n; i++) {
        open[i] = graph->nodes[i]->n_needs;
        depths[i] = 0;
    }
    while (done < graph->n && done != before) {
        before = done;
        for (int32_t i = 0; i < graph->n; i++) {
            const LsNode *node = graph->nodes[i];
            if (open[i] < 0)
                continue;
            bool ready = true;
            for (int32_t k = 0; k < node->n_needs && ready; k++) {
                ready = open[node->needs[k]] < 0;
                if (ready && depths[node->needs[k]] >= depths[i])
                    depths[i] = depths[node->needs[k]] + 1;
            }
            if (ready) {
                open[i] = -1;
                done++;
            }
        }
    }
    for (int32_t i = 0; i < graph->n && done < graph->n; i++)
        if (open[i] >= 0) {
            snprintf(error, ERROR_BYTES, "tensor '%.150s' needs itself, over others or at once",
                     graph->nodes[i]->item.name);
            return error;
        }
    return NULL;
}

/* colours[] holds the depths and gets the bands. sums: bytes by depth, n of them. */
static void
merge_bands(const LsGraph *graph, const LsColourRule *rule, int32_t *colours, int64_t *sums,
            int32_t *bands)
{
    int32_t last = 0, band = 0;
    int64_t sum = 0;
    for (int32_t i = 0; i < graph->n; i++) {
        int64_t *at = &sums[colours[i]];
        if (__builtin_add_overflow(*at, graph->nodes[i]->bytes, at))
            *at = INT64_MAX;
        last = colours[i] > last ? colours[i] : last;
    }
    for (int32_t depth = 0; depth <= last; depth++) {
        bands[depth] = band;
        if (__builtin_add_overflow(sum, sums[depth], &sum))
            sum = INT64_MAX;
        if (sum >= rule->bytes) {
            sum = 0;
            band++;
        }
    }
    for (int32_t i = 0; i < graph->n; i++) {
        colours[i] = bands[colours[i]];
        if (colours[i] == band && band > 0 && sum < rule->bytes)
            colours[i] = band - 1; /* what was left over */
    }
}

static const char *
colour_depths(const LsGraph *graph, const LsColourRule *rule, int32_t *colours,
              char error[ERROR_BYTES])
{
    size_t n = (size_t)graph->n + 1;
    int32_t *open = calloc(n, sizeof *open);
    int64_t *sums = calloc(n, sizeof *sums);
    const char *fault = NO_MEMORY;
    if (open != NULL && sums != NULL)
        fault = find_depths(graph, colours, open, error);
    if (fault == NULL)
        merge_bands(graph, rule, colours, sums, open);
    free(open);
    free(sums);
    return fault;
}

/* Nodes of one colour become a group, in the order of the colours. */
static const char *
add_colours(const LsGraph *graph, const int32_t *colours, LsGroups *groups, char error[ERROR_BYTES])
{
    const char **names = calloc((size_t)graph->n + 1, sizeof *names), *fault = NULL;
    int32_t last = -1;
    for (int32_t i = 0; i < graph->n; i++)
        last = colours[i] > last ? colours[i] : last;
    if (names == NULL)
        return NO_MEMORY;
    for (int32_t colour = 0; colour <= last && fault == NULL; colour++) {
        size_t n = 0;
        for (int32_t i = 0; i < graph->n; i++)
            if (colours[i] == colour)
                names[n++] = graph->nodes[i]->item.name;
        fault = ls_groups_add(groups, names, n, error);
    }
    free(names);
    return fault;
}

static const char *
copy_lists(const LsGroups *lists, LsGroups *groups, char error[ERROR_BYTES])
{
    const char *fault = NULL;
    for (int i = 0; i < ls_groups_count(lists) && fault == NULL; i++) {
        size_t n = ls_group_size(lists, i);
        const char **names = calloc(n, sizeof *names);
        if (names == NULL)
            return NO_MEMORY;
        for (size_t k = 0; k < n; k++)
            names[k] = ls_group_member(lists, i, k);
        fault = ls_groups_add(groups, names, n, error);
        free(names);
    }
    return fault;
}

static LsColouring
choose(const LsGraph *graph, const LsColourRule *rule)
{
    if (rule->by != LS_COLOURING_AUTO)
        return rule->by;
    if (rule->file[0] != '\0')
        return LS_COLOURING_FILE;
    if (graph != NULL && ls_groups_count(graph->lists) > 0)
        return LS_COLOURING_LISTS;
    return graph != NULL && graph->edges ? LS_COLOURING_DEPTH : LS_COLOURING_NONE;
}

const char *
ls_colour(const LsGraph *graph, const LsColourRule *rule, LsGroups *groups, char error[ERROR_BYTES])
{
    static const char *(*const methods[])(const LsGraph *, const LsColourRule *, int32_t *,
                                          char[ERROR_BYTES]) = {
        [LS_COLOURING_LAYER] = colour_layers,
        [LS_COLOURING_SLICES] = colour_slices,
        [LS_COLOURING_BYTES] = colour_bytes,
        [LS_COLOURING_DEPTH] = colour_depths,
    };
    LsColouring by = choose(graph, rule);
    if (by == LS_COLOURING_FILE)
        return ls_groups_read(groups, rule->file, error);
    if (by == LS_COLOURING_NONE)
        return NULL;
    if (graph == NULL) {
        snprintf(error, ERROR_BYTES,
                 "there are no tensors to group: lockstep_options.graph is NULL");
        return error;
    }
    if (by == LS_COLOURING_DEPTH && !graph->edges) {
        snprintf(error, ERROR_BYTES,
                 "by depth: no tensor of the graph needs another, so that all have "
                 "the same depth; slices, bytes or layer need no edges");
        return error;
    }
    if (by == LS_COLOURING_LISTS)
        return copy_lists(graph->lists, groups, error);
    int32_t *colours = calloc((size_t)graph->n + 1, sizeof *colours);
    const char *fault = NO_MEMORY;
    if (colours != NULL)
        fault = methods[by](graph, rule, colours, error);
    if (fault == NULL)
        fault = add_colours(graph, colours, groups, error);
    free(colours);
    return fault;
}
