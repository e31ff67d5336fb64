/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/graph-api.c: the lockstep_graph_* that can fail: checks arguments, tells the sentence.
 */
#include "reduce/graph.h"

#include "reduce/failure.h"

#include <string.h>

#define ERROR_BYTES 256

static lockstep_status
tell(const char *function, const char *fault)
{
    if (fault == NULL)
        return LOCKSTEP_OK;
    lockstep_status status =
        strcmp(fault, "out of memory") == 0 ? LOCKSTEP_ERR_NO_MEMORY : LOCKSTEP_ERR_ARGUMENT;
    return ls_fail(status, "%s: %s", function, fault);
}

LOCKSTEP_API lockstep_status
lockstep_graph_tensor(lockstep_graph *graph, const char *name, int64_t bytes)
{
    char error[ERROR_BYTES];
    const char *fault;
    if (graph == NULL || name == NULL || name[0] == '\0')
        fault = "graph or name is NULL, or the name is empty";
    else if (bytes < 0)
        fault = "bytes are below 0";
    else
        fault = ls_graph_add(graph, name, bytes, error);
    return tell(__func__, fault);
}

LOCKSTEP_API lockstep_status
lockstep_graph_needs(lockstep_graph *graph, const char *tensor, const char *needed)
{
    char error[ERROR_BYTES];
    const char *fault = "graph or a name is NULL";
    if (graph != NULL && tensor != NULL && needed != NULL)
        fault = ls_graph_need(graph, tensor, needed, error);
    return tell(__func__, fault);
}

LOCKSTEP_API lockstep_status
lockstep_graph_group(lockstep_graph *graph, const char *const *tensors, size_t n)
{
    char error[ERROR_BYTES];
    const char *fault = graph == NULL || tensors == NULL ? "graph or tensors is NULL" : NULL;
    for (size_t i = 0; i < n && fault == NULL; i++)
        if (tensors[i] == NULL || tensors[i][0] == '\0')
            fault = "a name is NULL or empty";
    if (fault == NULL)
        fault = ls_groups_add(graph->lists, tensors, n, error);
    return tell(__func__, fault);
}
