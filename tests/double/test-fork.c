/* SPDX-License-Identifier: Apache-2.0
 *
 * A process whose ranges and collectives are recorded forks, and its child comes through a door of
 * its own: both files have every name right, though ids begin anew in the child; what was begun
 * before the fork is no range of the child's.
 */
#include <dlfcn.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/nccl-profiler.h"
#include "abi/nvtx.h"
#include "capture/format.h"
#include "lks.h"

typedef struct Nvtx {
    int (*push)(const char *text);
    int (*pop)(void);
    int (*domain_push)(void *domain, const LsNvtxEvent *event);
    int (*domain_pop)(void *domain);
    void *(*register_text)(void *domain, const char *text);
    void *(*create_domain)(const char *name);
} Nvtx;

static LsNvtxFunction core[LS_NVTX_CORE_SIZE], core2[LS_NVTX_CORE2_SIZE];
static LsNvtxFunction *places[2][LS_NVTX_CORE_SIZE];
static int (*open_door)(LsNvtxGetTable get_table);
static const LsNcclProfilerV5 *plugin;
static void *context, *domain, *registered;
static Nvtx nvtx;
static void (*flush)(void);

static int
get_functions(int module, LsNvtxFunction ***ret_table, unsigned *ret_n)
{
    *ret_table = places[module == LS_NVTX_MODULE_CORE2];
    *ret_n = LS_NVTX_CORE_SIZE;
    return module == LS_NVTX_MODULE_CORE || module == LS_NVTX_MODULE_CORE2;
}

static const void *
get_table(uint32_t id)
{
    static const LsNvtxCallbacks callbacks = {sizeof callbacks, get_functions};
    return id == LS_NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static void
come_in(void)
{
    int mask = 0;
    g_assert_cmpint(open_door(get_table), ==, 1);
    nvtx.push = (int (*)(const char *))core[LS_NVTX_RANGE_PUSH_A];
    nvtx.pop = (int (*)(void))core[LS_NVTX_RANGE_POP];
    nvtx.domain_push = (int (*)(void *, const LsNvtxEvent *))core2[LS_NVTX_DOMAIN_RANGE_PUSH_EX];
    nvtx.domain_pop = (int (*)(void *))core2[LS_NVTX_DOMAIN_RANGE_POP];
    nvtx.register_text = (void *(*)(void *, const char *))core2[LS_NVTX_DOMAIN_REGISTER_STRING_A];
    nvtx.create_domain = (void *(*)(const char *))core2[LS_NVTX_DOMAIN_CREATE_A];
    g_assert_cmpint(plugin->init(&context, 7, &mask, "comm", 1, 2, 0, NULL), ==, 0);
}

static void
run_range(const char *text)
{
    nvtx.push(text);
    nvtx.pop();
}

static void
run_registered(void)
{
    LsNvtxEvent event = {.size = sizeof event, .message_type = LS_NVTX_MESSAGE_REGISTERED};
    event.message.registered = registered;
    nvtx.domain_push(domain, &event);
    nvtx.domain_pop(domain);
}

static void
run_collective(void)
{
    LsNcclEventV5 event = {.type = LS_NCCL_EVENT_COLL};
    void *handle = NULL;
    event.coll.func = "AllReduce";
    event.coll.type = "ncclFloat32";
    plugin->startEvent(context, &handle, &event);
    plugin->stopEvent(handle);
}

static void
run_child(void)
{
    come_in();
    run_range("of the child");
    run_range("before");
    nvtx.pop(); /* "around", which the parent pushed */
    run_registered();
    run_collective();
    flush(); /* what exit() writes it writes within two seconds, or not */
    exit(0);
}

/* Names of the records of one kind, in order. */
static char *
list_names(const LksFile *file, int kind)
{
    g_autoptr(GString) names = g_string_new(NULL);
    for (guint i = 0; i < file->records->len; i++) {
        const LksRecord *record = &g_array_index(file->records, LksRecord, i);
        if (record->kind != kind)
            continue;
        g_string_append_printf(names, "%s", lks_name(file, record->name));
        if (kind == LS_RECORD_RANGE && record->n_args > 0 && record->args[0] != 0)
            g_string_append_printf(names, " in %s", lks_name(file, (uint32_t)record->args[0]));
        g_string_append_c(names, ';');
    }
    return g_string_free(g_steal_pointer(&names), FALSE);
}

static void
check_file(const char *path, const char *ranges)
{
    g_autoptr(LksFile) file = lks_read(path);
    g_autofree char *found = list_names(file, LS_RECORD_RANGE);
    g_autofree char *collectives = list_names(file, LS_RECORD_NCCL_COLL);
    g_assert_cmpstr(found, ==, ranges);
    g_assert_cmpstr(collectives, ==, "AllReduce;");
}

static void
test_fork(void)
{
    if (g_strcmp0(g_getenv("LOCKSTEP_SANITIZE"), "thread") == 0) {
        g_test_skip("the thread sanitizer allows a forked child no thread");
        return;
    }
    g_autofree char *folder = g_dir_make_tmp("lockstep-fork-XXXXXX", NULL);
    int status;
    g_setenv("LOCKSTEP_RUN", folder, TRUE);
    g_setenv("LOCKSTEP_POWER", "0", TRUE);
    /* The drain thread sleeps at the fork: what the address sanitizer has locked for it then would
     * stay locked in the child. */
    g_setenv("LOCKSTEP_DRAIN_MS", "600000", TRUE);
    for (int i = 0; i < LS_NVTX_CORE_SIZE; i++) {
        places[0][i] = &core[i];
        places[1][i] = &core2[i];
    }
    void *library = dlopen(g_getenv("LOCKSTEP_TRACER"), RTLD_NOW | RTLD_LOCAL);
    g_assert_nonnull(library);
    *(void **)(void *)&flush = dlsym(library, "ls_recorder_flush");
    g_assert_nonnull(flush);
    *(void **)(void *)&open_door = dlsym(library, "InitializeInjectionNvtx2");
    plugin = dlsym(library, "ncclProfiler_v5");
    come_in();
    domain = nvtx.create_domain("domain");
    registered = nvtx.register_text(domain, "registered");
    run_range("only of the parent");
    run_range("before");
    run_registered();
    run_collective();
    nvtx.push("around");
    flush();
    pid_t pid = fork();
    if (pid == 0)
        run_child();
    g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
    g_assert_cmpint(status, ==, 0);
    nvtx.pop();
    flush();
    g_autoptr(GPtrArray) paths = lks_list(folder);
    g_assert_cmpuint(paths->len, ==, 2);
    g_autofree char *own = g_strdup_printf(".%d.lks", (int)getpid());
    int parent = g_str_has_suffix(paths->pdata[1], own);
    check_file(paths->pdata[parent], "only of the parent;before;registered in domain;around;");
    check_file(paths->pdata[!parent], "of the child;before;registered in domain;");
    for (guint i = 0; i < paths->len; i++)
        g_remove(paths->pdata[i]);
    g_autofree char *manifest = g_build_filename(folder, "run.json", NULL);
    g_remove(manifest);
    g_rmdir(folder);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tracer/fork/names-in-a-child-that-records", test_fork);
    return g_test_run();
}
