/* SPDX-License-Identifier: Apache-2.0
 *
 * The double against the real thing: the real libcupti's cuptiActivityGetNextRecord, which needs no
 * driver, walks a buffer of the double's records, one by one as the double's own does.
 */
#include <dlfcn.h>
#include <glib.h>

#include "abi/cupti.h"

typedef LsCuptiResult (*Next)(uint8_t *buffer, size_t valid, uint8_t **record);

/* Kinds with the bytes that the double gives them. */
static const struct {
    uint32_t kind;
    size_t bytes;
} kinds[] = {
    {LS_CUPTI_CONCURRENT_KERNEL, LS_CUPTI_KERNEL_BYTES_13_0},
    {LS_CUPTI_MEMCPY, LS_CUPTI_MEMCPY_BYTES_13_0},
    {LS_CUPTI_MEMSET, LS_CUPTI_MEMSET_BYTES_13_0},
    {LS_CUPTI_SYNCHRONIZATION, LS_CUPTI_SYNC_BYTES_13_0},
    {LS_CUPTI_DRIVER, LS_CUPTI_API_BYTES},
    {LS_CUPTI_OVERHEAD, LS_CUPTI_OVERHEAD_BYTES_13_0},
    {LS_CUPTI_EXTERNAL_CORRELATION, LS_CUPTI_EXTERNAL_BYTES},
};

/* A buffer of so many records in random order; where each begins. */
static size_t
fill(uint8_t *buffer, size_t n, size_t *ret_at)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = (size_t)g_test_rand_int_range(0, G_N_ELEMENTS(kinds));
        ret_at[i] = used;
        memcpy(buffer + used, &kinds[k].kind, sizeof kinds[k].kind);
        used += kinds[k].bytes;
    }
    return used;
}

static void
check_walker(const char *library_name)
{
    enum { N = 500 };
    g_autofree uint8_t *buffer = g_malloc0(N * 256);
    size_t at[N], n = 0, valid = fill(buffer, N, at);
    void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    uint8_t *record = NULL;
    Next next;
    if (library == NULL) {
        g_test_skip(library_name);
        return;
    }
    *(void **)(void *)&next = dlsym(library, "cuptiActivityGetNextRecord");
    g_assert_nonnull(next);
    while (next(buffer, valid, &record) == LS_CUPTI_SUCCESS) {
        g_assert_cmpuint(n, <, N);
        g_assert_cmpuint((size_t)(record - buffer), ==, at[n]);
        n++;
    }
    g_assert_cmpuint(n, ==, N);
    dlclose(library);
}

static void
test_double(void)
{
    check_walker(g_getenv("LOCKSTEP_DOUBLE_CUPTI"));
}

static void
test_real(void)
{
    check_walker(g_getenv("LOCKSTEP_REAL_CUPTI"));
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/double/cupti/walks-its-own-buffer", test_double);
    g_test_add_func("/double/cupti/the-real-library-walks-it-alike", test_real);
    return g_test_run();
}
