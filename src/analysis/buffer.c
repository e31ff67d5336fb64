/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis/buffer.c: table `buffers`: executed collectives by power of two of their bytes, with the
 * mean bus bandwidth of those whose duration is the device's or the data plane's own.
 */
#include "analysis/collective.h"
#include "analysis/table-private.h"

enum { BYTES_FROM, BYTES_TO, BUFFERS, TENSORS, BUS };

static const LsColumn columns[] = {
    [BYTES_FROM] = {"bytes_from", LS_COLUMN_INT}, [BYTES_TO] = {"bytes_to", LS_COLUMN_INT},
    [BUFFERS] = {"buffers", LS_COLUMN_INT},       [TENSORS] = {"tensors", LS_COLUMN_INT},
    [BUS] = {"bus_bytes_per_s", LS_COLUMN_REAL},
};

#define N_SIZES 63

typedef struct Sum {
    int64_t buffers, tensors, rated;
    double bus_bytes_per_s;
} Sum;

static int
find_size(int64_t bytes)
{
    int size = 0;

    while (size < N_SIZES - 1 && bytes >> (size + 1) > 0)
        size++;
    return size;
}

static LsTable *
run(const LsAnalysisInput *input)
{
    LsTable *table = ls_table_new("buffers", columns, G_N_ELEMENTS(columns));
    g_autoptr(LsScope) scope = ls_scope_new(input);
    Sum sums[N_SIZES] = {{0}};
    size_t n_buffers, n;
    const LsCall *calls = ls_trace_get_calls(input->trace, &n);

    ls_trace_get_buffers(input->trace, &n_buffers);
    for (uint32_t b = 0; b < n_buffers; b++) {
        LsCollective collective = ls_collective_measure(input, scope, b);
        const LsArrival *items = ls_activity_get_arrivals(input->activity, b, &n);
        Sum *sum;

        if (n == 0 || calls[items[0].call].bytes < 0 ||
            !ls_collective_is_shown(input, scope, b, &collective))
            continue;
        sum = &sums[find_size(calls[items[0].call].bytes)];
        sum->buffers++;
        sum->tensors += calls[items[0].call].tensors;
        if (collective.bus_bytes_per_s >= 0) {
            sum->rated++;
            sum->bus_bytes_per_s += collective.bus_bytes_per_s;
        }
    }
    for (int size = 0; size < N_SIZES; size++) {
        if (sums[size].buffers == 0)
            continue;
        ls_table_add_row(table);
        ls_table_set_int(table, BYTES_FROM, size == 0 ? 0 : INT64_C(1) << size);
        ls_table_set_int(table, BYTES_TO, size == N_SIZES - 1 ? INT64_MAX : INT64_C(2) << size);
        ls_table_set_int(table, BUFFERS, sums[size].buffers);
        set_count(table, TENSORS, sums[size].tensors, 1);
        if (sums[size].rated > 0)
            ls_table_set_real(table, BUS, sums[size].bus_bytes_per_s / (double)sums[size].rated);
    }
    return table;
}

const LsAnalysis ls_analysis_buffers = {
    "buffers", "executed collectives by size, with their bus bandwidth", run};
