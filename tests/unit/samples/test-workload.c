/* SPDX-License-Identifier: Apache-2.0
 *
 * The workload files hold what was published of their networks, and a file that cannot be played is
 * told by what is wrong in it.
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

#include "samples/replay-data.h"
#include "samples/replay-workload.h"

static char *folder; /* samples/workloads */

typedef struct Published {
    const char *file;
    size_t tensors, layers;
    int64_t elements;
    lockstep_dtype dtype;
} Published;

static const Published published[] = {
    /* He et al., arXiv 1512.03385, as torchvision counts it. */
    {"resnet50.json", 161, 18, 25557032, LOCKSTEP_FLOAT32},
    /* The application of arXiv 1909.11150: 59.8 million; 119.7 MB in float16. */
    {"fcdensenet.json", 33, 15, 59839872, LOCKSTEP_FLOAT16},
    /* Devlin et al., arXiv 1810.04805, as Hugging Face counts it. */
    {"bert-base.json", 199, 14, 109482240, LOCKSTEP_FLOAT32},
    {"small-2000.json", 2000, 40, 1873920, LOCKSTEP_FLOAT32},
};

static void
test_published(const void *data)
{
    const Published *row = data;
    g_autofree char *path = g_build_filename(folder, row->file, NULL);
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) layers = g_hash_table_new(g_str_hash, g_str_equal);
    char error[256] = "";
    Workload *workload = workload_read(path, error);
    int64_t elements = 0, backward_ns = 0;

    g_assert_cmpstr(error, ==, "");
    g_assert_nonnull(workload);
    g_assert_cmpuint(workload->n, ==, row->tensors);
    for (size_t i = 0; i < workload->n; i++) {
        const WorkloadTensor *tensor = &workload->tensors[i];
        bool again = i > 0 && strcmp(tensor->layer, workload->tensors[i - 1].layer) == 0;
        g_assert_true(g_hash_table_add(names, tensor->name));
        /* A layer's tensors stand together: each layer begins once. */
        g_assert_true(g_hash_table_add(layers, tensor->layer) != again);
        g_assert_cmpint(tensor->dtype, ==, row->dtype);
        elements += tensor->count;
        backward_ns += tensor->backward_ns;
    }
    g_assert_cmpuint(g_hash_table_size(layers), ==, row->layers);
    g_assert_cmpint(elements, ==, row->elements);
    g_assert_cmpint(workload_get_bytes(workload), ==,
                    row->elements * (int64_t)workload_get_width(row->dtype));
    /* Backward takes twice as long as forward. */
    g_assert_cmpfloat((double)backward_ns / (double)workload->forward_ns, >, 1.9);
    g_assert_cmpfloat((double)backward_ns / (double)workload->forward_ns, <, 2.1);
    workload_free(workload);
}

static void
expect_fault(const char *text, const char *fault)
{
    g_autofree char *name = NULL;
    char error[256] = "";
    int file = g_file_open_tmp("workload-XXXXXX.json", &name, NULL);

    g_assert_cmpint(file, >=, 0);
    g_close(file, NULL);
    g_assert_true(g_file_set_contents(name, text, -1, NULL));
    g_assert_null(workload_read(name, error));
    if (strstr(error, fault) == NULL)
        g_error("\"%s\" does not say \"%s\"", error, fault);
    g_unlink(name);
}

#define HEAD                                                                                       \
    "{\"workload\": 1, \"name\": \"a\", \"dtype\": \"float32\", \"samples\": 1, \"operations\": "  \
    "0, \"input_us\": 1, \"forward_us\": 1, \"optimizer_us\": 1, \"slow_ranks\": [], "
#define TENSOR "{\"name\": \"t\", \"layer\": \"l\", \"backward_us\": 1, "

static void
test_faults(void)
{
    char error[256] = "";

    g_assert_null(workload_read("/nowhere/workload.json", error));
    g_assert_nonnull(strstr(error, "No such file"));
    expect_fault("", "ends before it is complete");
    expect_fault("{\"workload\": 1,", "ends before it is complete");
    expect_fault("{]", "no JSON");
    expect_fault("[1]", "no JSON object");
    expect_fault("{\"workload\": 2}", "\"workload\" must be a whole number from 1 to 1");
    expect_fault(HEAD "\"tensors\": []}", "at least one");
    expect_fault(HEAD "\"tensors\": 3}", "\"tensors\" must be a list");
    expect_fault(HEAD "\"tensors\": [7]}", "tensor 0: its \"name\"");
    expect_fault(HEAD "\"tensors\": [" TENSOR "\"bytes\": 6}]}", "whole elements");
    expect_fault(HEAD "\"tensors\": [" TENSOR "\"bytes\": -4}]}", "tensor 0: its \"bytes\"");
    expect_fault(HEAD "\"tensors\": [" TENSOR "\"bytes\": 4, \"dtype\": \"int3\"}]}", "bfloat16");
    expect_fault(HEAD "\"jitter\": -1, \"tensors\": [" TENSOR "\"bytes\": 4}]}", "\"jitter\"");
    expect_fault(HEAD "\"jitter\": \"much\", \"tensors\": [" TENSOR "\"bytes\": 4}]}",
                 "\"jitter\" must be a number from 0 to 10");
    expect_fault(HEAD "\"jitter\": [1], \"tensors\": [" TENSOR "\"bytes\": 4}]}", "\"jitter\"");
}

static void
test_sums(void)
{
    static const lockstep_dtype dtypes[] = {LOCKSTEP_FLOAT64, LOCKSTEP_FLOAT32, LOCKSTEP_FLOAT16,
                                            LOCKSTEP_BFLOAT16};
    WorkloadTensor tensors[] = {{.count = 1}, {.count = 1000}};
    Workload workload = {.tensors = tensors, .n = 2};
    const int ranks = 85;

    for (size_t d = 0; d < G_N_ELEMENTS(dtypes); d++) {
        size_t wrong = 9, width = workload_get_width(dtypes[d]);
        tensors[0].dtype = tensors[1].dtype = dtypes[d];
        TensorData *sum = data_new(&workload, 0);
        for (size_t t = 0; t < 2; t++)
            memcpy(sum[t].output, sum[t].input, (size_t)tensors[t].count * width);
        for (int rank = 1; rank < ranks; rank++) {
            TensorData *other = data_new(&workload, rank);
            for (size_t t = 0; t < 2; t++)
                data_add(dtypes[d], other[t].input, sum[t].output, (size_t)tensors[t].count);
            data_free(other, &workload);
        }
        g_assert_true(data_check(sum, &workload, ranks, &wrong));
        ((char *)sum[1].output)[999 * width] ^= 1;
        g_assert_false(data_check(sum, &workload, ranks, &wrong));
        g_assert_cmpuint(wrong, ==, 1);
        data_free(sum, &workload);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    folder = argv[1];
    for (size_t i = 0; i < G_N_ELEMENTS(published); i++) {
        g_autofree char *path =
            g_strconcat("/samples/workload/is-as-published/", published[i].file, NULL);
        g_test_add_data_func(path, &published[i], test_published);
    }
    g_test_add_func("/samples/workload/faults-are-told", test_faults);
    g_test_add_func("/samples/workload/sums-are-exact-in-every-type", test_sums);
    return g_test_run();
}
