/* SPDX-License-Identifier: Apache-2.0
 * Which spans count as what; a file in the form that is printed gives the same answers. */
#include "merge/rules.h"

#include "base/error.h"
#include "merge/run.h"

#include <glib/gstdio.h>
#include <string.h>

static const struct {
    LsSource source;
    bool gpu;
    const char *category, *name;
    LsClass klass;
} cases[] = {
    {LS_SOURCE_LOCKSTEP, false, "phases", "forward", LS_CLASS_COMPUTE},
    {LS_SOURCE_LOCKSTEP, false, "phase", "backward", LS_CLASS_COMPUTE},
    {LS_SOURCE_LOCKSTEP, false, "phase", "optimizer", LS_CLASS_COMPUTE},
    {LS_SOURCE_LOCKSTEP, false, "phase", "input", LS_CLASS_IO},
    {LS_SOURCE_LOCKSTEP, false, "phase", "checkpoint", LS_CLASS_IO},
    {LS_SOURCE_LOCKSTEP, false, "communication", "MPI_ALLREDUCE", LS_CLASS_COMMUNICATION},
    {LS_SOURCE_LOCKSTEP, false, "tensor", "MPI_ALLREDUCE", LS_CLASS_COMMUNICATION},
    {LS_SOURCE_LOCKSTEP, false, "tensor", "RING_ALLREDUCE", LS_CLASS_COMMUNICATION},
    {LS_SOURCE_LOCKSTEP, false, "tensor", "HALVING_ALLREDUCE", LS_CLASS_COMMUNICATION},
    {LS_SOURCE_LOCKSTEP, false, "tensor", "HIERARCHICAL_ALLREDUCE", LS_CLASS_COMMUNICATION},
    {LS_SOURCE_LOCKSTEP, false, "tensor", "HYBRID_ALLREDUCE", LS_CLASS_COMMUNICATION},
    {LS_SOURCE_LOCKSTEP, false, "tensor", "SERVER_ALLREDUCE", LS_CLASS_COMMUNICATION},
    {LS_SOURCE_LOCKSTEP, false, "communication", "MEMCPY_IN_FUSION_BUFFER", LS_CLASS_FUSION},
    {LS_SOURCE_LOCKSTEP, false, "communication", "MEMCPY_OUT_FUSION_BUFFER", LS_CLASS_FUSION},
    {LS_SOURCE_LOCKSTEP, false, "tensor", "NEGOTIATE_ALLREDUCE", LS_CLASS_NEGOTIATION},
    {LS_SOURCE_LOCKSTEP, false, "cycles", "EXCHANGE", LS_CLASS_CONTROL},
    {LS_SOURCE_LOCKSTEP, false, "steps", "step 3", LS_CLASS_NONE},
    {LS_SOURCE_LOCKSTEP, true, "kernel", "volta_sgemm_128x64_nn", LS_CLASS_COMPUTE},
    {LS_SOURCE_HOROVOD, false, "tensor", "NEGOTIATE_BROADCAST", LS_CLASS_NEGOTIATION},
    {LS_SOURCE_HOROVOD, false, "tensor", "ALLREDUCE", LS_CLASS_NONE},
    {LS_SOURCE_HOROVOD, false, "tensor", "NCCL_ALLREDUCE", LS_CLASS_COMMUNICATION},
    {LS_SOURCE_HOROVOD, false, "tensor", "MPI_BCAST", LS_CLASS_COMMUNICATION},
    {LS_SOURCE_HOROVOD, false, "tensor", "GLOO_ALLGATHER", LS_CLASS_COMMUNICATION},
    {LS_SOURCE_HOROVOD, false, "tensor", "PUSH_PULLCOMMUNICATION", LS_CLASS_COMMUNICATION},
    {LS_SOURCE_HOROVOD, false, "tensor", "PUSH_PULLQUEUE", LS_CLASS_NONE},
    {LS_SOURCE_HOROVOD, false, "tensor", "MEMCPY_IN_FUSION_BUFFER", LS_CLASS_FUSION},
    {LS_SOURCE_HOROVOD, false, "tensor", "MEMCPY_IN_HOST_BUFFER", LS_CLASS_COPY},
    {LS_SOURCE_HOROVOD, false, "tensor", "WAIT_FOR_DATA", LS_CLASS_NONE},
    {LS_SOURCE_HOROVOD, false, "tensor", "INIT_NCCL", LS_CLASS_NONE},
    {LS_SOURCE_KINETO, true, "kernel", "ncclKernel_AllReduce_RING_LL_Sum_float",
     LS_CLASS_COMMUNICATION},
    {LS_SOURCE_KINETO, true, "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)",
     LS_CLASS_COMMUNICATION},
    {LS_SOURCE_KINETO, true, "kernel", "void gemm<float>(int)", LS_CLASS_COMPUTE},
    {LS_SOURCE_KINETO, true, "gpu_memcpy", "Memcpy HtoD", LS_CLASS_COPY},
    {LS_SOURCE_KINETO, true, "cuda_sync", "Stream Wait Event", LS_CLASS_NONE},
    {LS_SOURCE_KINETO, true, "cpu_op", "aten::conv2d", LS_CLASS_NONE},
    {LS_SOURCE_KINETO, true, "user_annotation", "gloo:all_reduce", LS_CLASS_NONE},
    {LS_SOURCE_KINETO, false, "cpu_op", "aten::conv2d", LS_CLASS_COMPUTE},
    {LS_SOURCE_KINETO, false, "cpu_op", "c10d::allreduce_", LS_CLASS_NONE},
    {LS_SOURCE_KINETO, false, "cpu_op", "record_param_comms", LS_CLASS_NONE},
    {LS_SOURCE_KINETO, false, "user_annotation", "gloo:all_reduce", LS_CLASS_COMMUNICATION},
    {LS_SOURCE_TENSORFLOW, false, "Op", "MatMul", LS_CLASS_COMPUTE},
    {LS_SOURCE_TENSORFLOW, false, "Op", "_HostRecv", LS_CLASS_NONE},
    {LS_SOURCE_MXNET, false, "operator", "Convolution", LS_CLASS_COMPUTE},
    {LS_SOURCE_MXNET, false, "operator", "KVStoreDistDefaultPush", LS_CLASS_NONE},
    {LS_SOURCE_OTHER, true, "stream", "sgemm", LS_CLASS_COMPUTE},
};

static void
check_cases(const LsRules *rules)
{
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        LsClass klass = ls_rules_classify(rules, (uint8_t)cases[i].source, cases[i].gpu,
                                          cases[i].category, cases[i].name);

        if (klass != cases[i].klass)
            g_test_message("case %zu: %s %s", i, cases[i].category, cases[i].name);
        g_assert_cmpint(klass, ==, cases[i].klass);
    }
}

static void
test_built_in(void)
{
    g_autoptr(LsRules) rules = ls_rules_load(NULL, NULL);

    check_cases(rules);
}

static char *
write_file(const char *text)
{
    char *path = NULL;
    int file = g_file_open_tmp("rules-XXXXXX", &path, NULL);

    g_assert_cmpint(file, >=, 0);
    g_close(file, NULL);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    return path;
}

/* Printed, with one line before it that would change everything if it were not the first. */
static void
test_round_trip(void)
{
    g_autofree char *text = ls_rules_format();
    g_autofree char *path = write_file(text);
    g_autoptr(GError) error = NULL;
    g_autoptr(LsRules) rules = ls_rules_load(path, &error);

    g_assert_no_error(error);
    check_cases(rules);
    g_unlink(path);
}

static void
test_override(void)
{
    g_autofree char *path = write_file("# mine\n\n"
                                       "horovod tensor 'WAIT FOR *' compute  # quoted\n"
                                       "  *  *  aten::*  io\n");
    g_autoptr(GError) error = NULL;
    g_autoptr(LsRules) rules = ls_rules_load(path, &error);

    g_assert_no_error(error);
    g_assert_cmpint(ls_rules_classify(rules, LS_SOURCE_HOROVOD, false, "tensor", "WAIT FOR X"), ==,
                    LS_CLASS_COMPUTE);
    g_assert_cmpint(ls_rules_classify(rules, LS_SOURCE_KINETO, false, "cpu_op", "aten::mm"), ==,
                    LS_CLASS_IO);
    g_assert_cmpint(ls_rules_classify(rules, LS_SOURCE_HOROVOD, false, "tensor", "MPI_BCAST"), ==,
                    LS_CLASS_COMMUNICATION);
    g_unlink(path);
}

static void
check_fault(const char *text, const char *expected)
{
    g_autofree char *path = write_file(text);
    g_autoptr(GError) error = NULL;

    g_assert_null(ls_rules_load(path, &error));
    g_assert_error(error, LS_ERROR, LS_ERROR_USAGE);
    g_assert_nonnull(strstr(error->message, path));
    g_assert_nonnull(strstr(error->message, expected));
    g_unlink(path);
}

static void
test_faults(void)
{
    g_autoptr(GError) error = NULL;

    check_fault("* * * compute\n* * compute\n", "line 2: expected four words");
    check_fault("# fine\nslurm * * compute\n", "line 2: expected a source (lockstep");
    check_fault("kineto/gpu * * compute\n", "found \"kineto/gpu\"");
    check_fault("* * * computing\n", "line 1: expected a class");
    check_fault("* * * computing\n", "found \"computing\"");
    check_fault("* * 'open compute\n", "line 1: expected a closing quote");
    g_assert_null(ls_rules_load("/nowhere/rules", &error));
    g_assert_error(error, LS_ERROR, LS_ERROR_BAD_FILE);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/merge/rules/built-in", test_built_in);
    g_test_add_func("/merge/rules/printed-form-reads-back", test_round_trip);
    g_test_add_func("/merge/rules/file-comes-first", test_override);
    g_test_add_func("/merge/rules/faults-name-line-and-expectation", test_faults);
    return g_test_run();
}
