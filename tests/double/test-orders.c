/* SPDX-License-Identifier: Apache-2.0
 *
 * NCCL's callbacks in any order, legal and not, from several threads: the plugin neither crashes
 * nor waits, and what was begun and ended in good order is in the trace once, whatever stands
 * around it: ends of nothing, twice, of another generation; states before begins; parents that are
 * gone; types that nobody knows; null contexts. LOCKSTEP_SEED: another play.
 */
#include <dlfcn.h>
#include <glib.h>
#include <glib/gstdio.h>

#include "abi/nccl-profiler.h"
#include "capture/format.h"
#include "lks.h"

#define THREADS 4
#define ROUNDS  4000
#define KEPT    64

static const LsNcclProfilerV5 *plugin;
static void *context;

/* A handle that this thread has or had, or made up. */
static void *
pick(GRand *random, void *const *kept)
{
    switch (g_rand_int_range(random, 0, 4)) {
    case 0:
        return NULL;
    case 1:
        return (void *)(uintptr_t)((uint64_t)g_rand_int(random) << 32 | g_rand_int(random));
    default:
        return kept[g_rand_int_range(random, 0, KEPT)];
    }
}

static void
play_nonsense(GRand *random, void **kept)
{
    LsNcclEventV5 event = {.type = UINT64_C(1) << g_rand_int_range(random, 0, 20),
                           .parent = pick(random, kept)};
    LsNcclState state = {.kernel_channel = {g_rand_int(random)}};
    void **place = &kept[g_rand_int_range(random, 0, KEPT)];
    switch (g_rand_int_range(random, 0, 5)) {
    case 0:
        /* But no collective or p2p: those are counted. */
        if (event.type == LS_NCCL_EVENT_COLL || event.type == LS_NCCL_EVENT_P2P)
            event.type = 0;
        plugin->startEvent(g_rand_boolean(random) ? context : NULL, place, &event);
        break;
    case 1:
    case 2:
        plugin->stopEvent(pick(random, kept));
        break;
    case 3:
        plugin->recordEventState(pick(random, kept), g_rand_int_range(random, 0, 40),
                                 g_rand_boolean(random) ? &state : NULL);
        break;
    default:
        event.type |= event.type << 1; /* two types at once */
        plugin->startEvent(context, place, &event);
    }
}

/* One collective from begin to end, as NCCL does it, and its handle among those to be misused. */
static void
play_collective(GRand *random, uint64_t sequence, void **kept)
{
    LsNcclEventV5 group = {.type = LS_NCCL_EVENT_GROUP_API}, event = {.type = LS_NCCL_EVENT_COLL};
    void *group_handle = NULL, *handle = NULL;
    plugin->startEvent(context, &group_handle, &group);
    event.parent = g_rand_boolean(random) ? group_handle : pick(random, kept);
    event.coll.sequence = sequence;
    event.coll.func = "AllReduce";
    event.coll.type = "ncclFloat32";
    event.coll.count = 256;
    event.coll.n_channels = 224;
    plugin->startEvent(context, &handle, &event);
    plugin->stopEvent(handle);
    if (g_rand_boolean(random))
        plugin->stopEvent(handle);
    plugin->stopEvent(group_handle);
    kept[g_rand_int_range(random, 0, KEPT)] = handle;
}

static void *
play(void *user)
{
    uint64_t thread = (uint64_t)(uintptr_t)user;
    const char *seed = g_getenv("LOCKSTEP_SEED");
    GRand *random = g_rand_new_with_seed(
        (guint32)(thread + 1 + (seed != NULL ? g_ascii_strtoull(seed, NULL, 10) * THREADS : 0)));
    void *kept[KEPT] = {NULL};
    for (uint64_t i = 0; i < ROUNDS; i++) {
        int n = g_rand_int_range(random, 0, 6);
        while (n-- > 0)
            play_nonsense(random, kept);
        play_collective(random, thread * ROUNDS + i, kept);
        if (i % 100 == 99)
            g_usleep(2000); /* the drain keeps up: none is lost for want of room */
    }
    g_rand_free(random);
    return NULL;
}

static void
check_file(const char *folder)
{
    g_autoptr(GPtrArray) paths = lks_list(folder);
    g_autofree uint8_t *seen = g_malloc0(THREADS * ROUNDS);
    size_t n = 0;
    g_assert_cmpuint(paths->len, ==, 1);
    g_autoptr(LksFile) file = lks_read(paths->pdata[0]);
    g_assert_cmpuint(lks_sum_lost(file), ==, 0);
    for (guint i = 0; i < file->records->len; i++) {
        const LksRecord *record = &g_array_index(file->records, LksRecord, i);
        if (record->kind != LS_RECORD_NCCL_COLL)
            continue;
        g_assert_cmpint(record->args[1], >=, 0);
        g_assert_cmpint(record->args[1], <, THREADS * ROUNDS);
        g_assert_cmpint(record->args[2], ==, 1024);
        g_assert_cmpuint(seen[record->args[1]]++, ==, 0);
        n++;
    }
    g_assert_cmpuint(n, ==, THREADS * ROUNDS);
}

static void
test_orders(void)
{
    g_autofree char *folder = g_dir_make_tmp("lockstep-orders-XXXXXX", NULL);
    GThread *threads[THREADS];
    int mask = -1;
    g_setenv("LOCKSTEP_RUN", folder, TRUE);
    g_setenv("LOCKSTEP_POWER", "0", TRUE);
    g_setenv("LOCKSTEP_RING_SIZE", "1M", TRUE);
    void *library = dlopen(g_getenv("LOCKSTEP_TRACER"), RTLD_NOW | RTLD_LOCAL);
    g_assert_nonnull(library);
    plugin = dlsym(library, "ncclProfiler_v5");
    g_assert_nonnull(plugin);
    g_assert_true(plugin == dlsym(library, "ncclProfiler_v6") ||
                  memcmp(plugin, dlsym(library, "ncclProfiler_v6"), sizeof *plugin) == 0);
    g_assert_cmpint(plugin->init(&context, 7, &mask, "fuzz", 1, 4, 2, NULL), ==, 0);
    g_assert_cmpint(mask & LS_NCCL_EVENT_COLL, !=, 0);
    g_assert_cmpint(mask & LS_NCCL_EVENT_KERNEL_CHANNEL, ==, 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        threads[i] = g_thread_new("play", play, (void *)i);
    for (int i = 0; i < THREADS; i++)
        g_thread_join(threads[i]);
    plugin->finalize(context);
    void (*flush)(void);
    *(void **)(void *)&flush = dlsym(library, "ls_recorder_flush");
    if (flush == NULL)
        *(void **)(void *)&flush = dlsym(RTLD_DEFAULT, "ls_recorder_flush");
    g_assert_nonnull(flush);
    flush();
    check_file(folder);
    g_autoptr(GPtrArray) paths = lks_list(folder);
    g_autofree char *manifest = g_build_filename(folder, "run.json", NULL);
    g_remove(paths->pdata[0]);
    g_remove(manifest);
    g_rmdir(folder);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tracer/nccl/any-order-of-callbacks", test_orders);
    return g_test_run();
}
