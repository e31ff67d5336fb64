/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/instrument-graph.c: the graph of the tensors as records: each node, then each node's
 * edges, then what is in a group and not in the graph.
 */
#include "reduce/instrument.h"

#include "capture/recorder.h"

#define NEEDS_PER_RECORD (LS_RECORD_ARGS_MAX - 1)

static void
write_row(LsRecordKind kind, const char *name, const int64_t args[LS_RECORD_ARGS_MAX])
{
    int64_t now = ls_recorder_now();
    LsRecord record = {.kind = (uint16_t)kind, .start_ns = now, .end_ns = now};
    record.name = ls_recorder_name(name);
    for (int i = 0; i < LS_RECORD_ARGS_MAX; i++)
        record.args[i] = args[i];
    ls_recorder_write(&record);
}

static void
write_tensor(const LsInstrument *instrument, const LsGroups *groups, const char *name,
             int64_t bytes, int64_t place)
{
    int group = ls_groups_find(groups, name);
    int64_t id = group == LS_GROUP_NONE ? 0 : ls_recorder_name(ls_group_name(groups, group));
    write_row(LS_RECORD_TENSOR, name,
              (const int64_t[]){instrument->communicator, bytes, id, place, 0});
}

/* Returns how many records it took. */
static int
write_needs(const LsInstrument *instrument, const LsGraph *graph, const LsNode *node)
{
    int written = 0;
    for (int32_t i = 0; i < node->n_needs; i += NEEDS_PER_RECORD, written++) {
        int64_t args[LS_RECORD_ARGS_MAX] = {instrument->communicator};
        for (int32_t k = 0; k < NEEDS_PER_RECORD && i + k < node->n_needs; k++)
            args[1 + k] = ls_recorder_name(graph->nodes[node->needs[i + k]]->item.name);
        write_row(LS_RECORD_NEEDS, node->item.name, args);
    }
    return written;
}

/* The groups' members that the graph does not have. */
static int
write_members(const LsInstrument *instrument, const LsGraph *graph, const LsGroups *groups,
              int group)
{
    int written = 0;
    for (size_t i = 0; i < ls_group_size(groups, group); i++) {
        const char *name = ls_group_member(groups, group, i);
        if (graph != NULL && ls_graph_find(graph, name) >= 0)
            continue;
        write_tensor(instrument, groups, name, -1, -1);
        written++;
    }
    return written;
}

bool
ls_instrument_graph(const LsInstrument *instrument, const LsGraph *graph, const LsGroups *groups,
                    int most, size_t *at)
{
    size_t nodes = graph != NULL ? (size_t)graph->n : 0;
    size_t end = 2 * nodes + (size_t)ls_groups_count(groups);
    if (!ls_recorder_active())
        return false;
    while (*at < end && most > 0) {
        size_t i = (*at)++;
        if (i < nodes) {
            const LsNode *node = graph->nodes[i];
            write_tensor(instrument, groups, node->item.name, node->bytes, node->index);
            most--;
        } else if (i < 2 * nodes) {
            most -= write_needs(instrument, graph, graph->nodes[i - nodes]);
        } else {
            most -= write_members(instrument, graph, groups, (int)(i - 2 * nodes));
        }
    }
    return *at >= end;
}
