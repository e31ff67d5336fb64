/* SPDX-License-Identifier: Apache-2.0
 *
 * format/native-graph.c: the graph of the tensors, as the program told it before the first step.
 */
#include "format/native-private.h"

static uint32_t
name_of(Native *native, int64_t id)
{
    return id > 0 && id <= UINT32_MAX ? ls_native_name(native, (uint32_t)id) : LS_NONE;
}

void
ls_native_add_tensor(Native *native, const LsRecord *record)
{
    LsGraphTensor tensor = {.tensor = ls_native_name(native, record->name),
                            .group = name_of(native, record->args[2]),
                            .place = (int32_t)CLAMP(record->args[3], -1, G_MAXINT32),
                            .bytes = ls_native_amount(record->args[1], -1)};
    ls_rows_add(native->process->graph_tensors, &tensor);
}

void
ls_native_add_needs(Native *native, const LsRecord *record)
{
    LsGraphNeed need = {.tensor = ls_native_name(native, record->name)};
    for (size_t i = 1; i < LS_RECORD_ARGS_MAX && record->args[i] != 0; i++) {
        need.needed = name_of(native, record->args[i]);
        if (need.needed != LS_NONE)
            ls_rows_add(native->process->graph_needs, &need);
    }
}
