/* SPDX-License-Identifier: Apache-2.0
 * The numbers of the trace's collectives are those that the recorder writes. */
#include "analysis/operation.h"

#include "capture/format.h"

#include <glib.h>

static void
test_numbers(void)
{
    static const struct {
        uint8_t number;
        const char *name;
        bool mutual;
        int factor;
    } truth[] = {
        {LS_OPERATION_ALLREDUCE, "allreduce", true, 2},
        {LS_OPERATION_ALLGATHER, "allgather", true, 1},
        {LS_OPERATION_BROADCAST, "broadcast", false, 0},
        {LS_OPERATION_JOIN, "join", true, 0},
        {LS_OPERATION_ADASUM, "adasum", true, 2},
        {LS_OPERATION_ALLTOALL, "alltoall", true, 1},
        {LS_OPERATION_BARRIER, "barrier", true, 0},
        {LS_OPERATION_REDUCESCATTER, "reducescatter", true, 1},
        {LS_OPERATION_ERROR, "error", false, 0},
        {LS_OPERATION_REDUCE, "reduce", false, 0},
        {LS_OPERATION_SEND, "send", false, 0},
        {LS_OPERATION_RECV, "recv", false, 0},
        {LS_OPERATION_UNKNOWN, "unknown", false, 0},
    };

    for (size_t i = 0; i < G_N_ELEMENTS(truth); i++) {
        const LsOperationTrait *trait = ls_operation_get(truth[i].number);

        g_assert_cmpstr(trait->name, ==, truth[i].name);
        g_assert_cmpint(trait->mutual, ==, truth[i].mutual);
        g_assert_cmpint(trait->factor, ==, truth[i].factor);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/analysis/operation/numbers-are-the-recorder-s", test_numbers);
    return g_test_run();
}
