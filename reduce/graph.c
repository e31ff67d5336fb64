/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/graph.c: nodes in the order of their adding, edges as lists of indices, and the functions
 * lockstep_graph_*, through which a program hands them in.
 */
#include "reduce/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ERROR_BYTES 256

/* Makes room for one more. */
static bool
grow(void **items, int32_t n, int32_t *capacity, size_t item_bytes)
{
    if (n < *capacity)
        return true;
    if (n > INT32_MAX / 4)
        return false;
    int32_t wanted = *capacity == 0 ? 8 : *capacity * 2;
    void *grown = reallocarray(*items, (size_t)wanted, item_bytes);
    if (grown == NULL)
        return false;
    *items = grown;
    *capacity = wanted;
    return true;
}

int32_t
ls_graph_find(const LsGraph *graph, const char *name)
{
    const LsNode *node = (const LsNode *)ls_roster_find(&graph->roster, name);
    return node == NULL ? -1 : node->index;
}

static void
free_node(LsNode *node)
{
    free(node->item.name);
    free(node->needs);
    free(node);
}

const char *
ls_graph_add(LsGraph *graph, const char *name, int64_t bytes, char error[ERROR_BYTES])
{
    if (ls_roster_find(&graph->roster, name) != NULL) {
        snprintf(error, ERROR_BYTES, "tensor '%.150s' is in the graph already", name);
        return error;
    }
    void *nodes = graph->nodes;
    if (!grow(&nodes, graph->n, &graph->capacity, sizeof(LsNode *)))
        return "out of memory";
    graph->nodes = nodes;
    LsNode *node = calloc(1, sizeof *node);
    if (node == NULL)
        return "out of memory";
    *node = (LsNode){.item = {.name = strdup(name)}, .index = graph->n, .bytes = bytes};
    if (node->item.name == NULL || !ls_roster_add(&graph->roster, &node->item)) {
        free_node(node);
        return "out of memory";
    }
    graph->nodes[graph->n++] = node;
    return NULL;
}

const char *
ls_graph_need(LsGraph *graph, const char *name, const char *needed, char error[ERROR_BYTES])
{
    LsNode *node = (LsNode *)ls_roster_find(&graph->roster, name);
    int32_t other = ls_graph_find(graph, needed);
    if (node == NULL || other < 0) {
        snprintf(error, ERROR_BYTES, "tensor '%.150s' is not in the graph",
                 node == NULL ? name : needed);
        return error;
    }
    if (strcmp(name, needed) == 0) {
        snprintf(error, ERROR_BYTES, "tensor '%.150s' cannot need itself", name);
        return error;
    }
    void *needs = node->needs;
    if (!grow(&needs, node->n_needs, &node->capacity, sizeof *node->needs))
        return "out of memory";
    node->needs = needs;
    node->needs[node->n_needs++] = other;
    graph->edges = true;
    return NULL;
}

static const char *
copy_nodes(const LsGraph *graph, LsGraph *copy, char error[ERROR_BYTES])
{
    const char *fault = NULL;
    for (int32_t i = 0; i < graph->n && fault == NULL; i++)
        fault = ls_graph_add(copy, graph->nodes[i]->item.name, graph->nodes[i]->bytes, error);
    for (int32_t i = 0; i < graph->n && fault == NULL; i++) {
        const LsNode *node = graph->nodes[i];
        for (int32_t k = 0; k < node->n_needs && fault == NULL; k++)
            fault = ls_graph_need(copy, node->item.name, graph->nodes[node->needs[k]]->item.name,
                                  error);
    }
    return fault;
}

LsGraph *
ls_graph_copy(const LsGraph *graph)
{
    char error[ERROR_BYTES];
    LsGraph *copy = graph == NULL ? NULL : lockstep_graph_new();
    if (copy == NULL || copy_nodes(graph, copy, error) == NULL)
        return copy;
    lockstep_graph_free(copy);
    return NULL;
}

LOCKSTEP_API lockstep_graph *
lockstep_graph_new(void)
{
    LsGraph *graph = calloc(1, sizeof *graph);
    if (graph != NULL && (graph->lists = ls_groups_new()) != NULL)
        return graph;
    free(graph);
    return NULL;
}

LOCKSTEP_API void
lockstep_graph_free(lockstep_graph *graph)
{
    if (graph == NULL)
        return;
    for (int32_t i = 0; i < graph->n; i++) {
        ls_roster_remove(&graph->roster, &graph->nodes[i]->item);
        free_node(graph->nodes[i]);
    }
    free(graph->nodes);
    ls_groups_free(graph->lists);
    free(graph);
}
