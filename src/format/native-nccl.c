/* SPDX-License-Identifier: Apache-2.0
 *
 * format/native-nccl.c: NCCL's collectives as calls, with the times of the kernel that carried
 * them.
 *
 * A collective names its launch; a kernel names the call of the driver that launched it
 * (correlation); CUPTI says which call was made inside which launch (external correlation). Any of
 * the three may be read last, so all are kept and joined at the end. Where no launch is told of
 * (NCCL before 2.28) a collective comes right after the launch of its kernel on the same thread.
 * Without any kernel of NCCL the host's bar of an asynchronous call is all there is, and the call
 * is marked so.
 */
#include "format/native-private.h"

#include <stdlib.h>
#include <string.h>

#define OPERATIONS 16 /* NCCL numbers the collectives of each operation apart */

/* The call of the driver that launched something. */
typedef struct LaunchCall {
    uint32_t correlation, thread;
    int64_t start_ns, end_ns;
} LaunchCall;

/* An NVTX range of a thread, to find what enclosed a launch. */
typedef struct HostRange {
    uint32_t thread, name;
    int64_t start_ns, end_ns;
} HostRange;

typedef struct Communicator {
    uint32_t ranks;
} Communicator;

/* A collective as NCCL told of it. */
typedef struct Collective {
    LsRecord record;
    uint32_t thread;
} Collective;

void
ls_native_init_nccl(Native *native)
{
    native->kernels = g_array_new(FALSE, FALSE, sizeof(NcclKernel));
    native->samples = g_array_new(FALSE, FALSE, sizeof(LsRecord));
    native->launch_calls = g_array_new(FALSE, FALSE, sizeof(LaunchCall));
    native->host_ranges = g_array_new(FALSE, FALSE, sizeof(HostRange));
    native->collectives = g_array_new(FALSE, FALSE, sizeof(Collective));
    native->launches = g_hash_table_new(NULL, NULL);
    native->nccl_communicators = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    native->first_device = -1;
}

void
ls_native_free_nccl(Native *native)
{
    g_array_unref(native->kernels);
    g_array_unref(native->samples);
    g_array_unref(native->launch_calls);
    g_array_unref(native->host_ranges);
    g_array_unref(native->collectives);
    g_hash_table_unref(native->launches);
    g_hash_table_unref(native->nccl_communicators);
}

/* -- Keeping -- */

void
ls_native_note_kernel(Native *native, const LsRecord *record)
{
    NcclKernel kernel = {record->name,
                         (uint32_t)record->args[1],
                         0,
                         record->start_ns,
                         record->end_ns,
                         (record->flags & LS_RECORD_OPEN) != 0,
                         0};
    /* What is no kernel of NCCL goes once names are known; a name that is known to be none at once.
     */
    if (record->name < native->names->len &&
        g_array_index(native->names, uint32_t, record->name) != LS_NONE &&
        strstr(ls_strings_get(native->process->strings, ls_native_name(native, record->name)),
               "nccl") == NULL)
        return;
    g_array_append_val(native->kernels, kernel);
}

void
ls_native_note_launch_call(Native *native, const LsRecord *record)
{
    LaunchCall call = {(uint32_t)record->args[0], (uint32_t)record->args[1], record->start_ns,
                       record->end_ns};
    g_array_append_val(native->launch_calls, call);
}

void
ls_native_note_range(Native *native, const LsRecord *record)
{
    HostRange range = {native->thread->id, record->name, record->start_ns, record->end_ns};
    g_array_append_val(native->host_ranges, range);
}

void
ls_native_add_external(Native *native, const LsRecord *record)
{
    g_hash_table_insert(native->launches, GUINT_TO_POINTER((guint)record->args[0]),
                        GSIZE_TO_POINTER((gsize)record->args[1]));
}

/* NCCL's hash in 32 bits, the same on all ranks; 0 is the job's own. */
static uint32_t
fold(int64_t hash)
{
    uint32_t folded = (uint32_t)((uint64_t)hash ^ (uint64_t)hash >> 32);
    return folded == 0 ? 1 : folded;
}

void
ls_native_add_nccl_comm(Native *native, const LsRecord *record)
{
    Communicator communicator = {(uint32_t)CLAMP(record->args[1], 0, LS_RANK_MAX)};
    g_hash_table_insert(native->nccl_communicators, GUINT_TO_POINTER(fold(record->args[0])),
                        g_memdup2(&communicator, sizeof communicator));
}

void
ls_native_add_nccl_operation(Native *native, const LsRecord *record)
{
    Collective collective = {*record, native->thread->id};
    g_array_append_val(native->collectives, collective);
}

static void
add_thread_span(Native *native, const LsRecord *record, const char *what, uint32_t name)
{
    g_autofree char *track = g_strdup_printf("%s %u", what, native->thread->id);
    ls_track_builder_add(ls_process_get_track(native->process, LS_TRACK_THREAD, track, "nccl host",
                                              native->thread->id),
                         record->start_ns, record->end_ns, name, LS_NONE);
}

void
ls_native_add_nccl_call(Native *native, const LsRecord *record)
{
    add_thread_span(native, record, "NCCL calls", ls_native_name(native, record->name));
}

void
ls_native_add_nccl_proxy(Native *native, const LsRecord *record)
{
    add_thread_span(native, record, "NCCL proxy", ls_native_name(native, record->name));
}

/* Told by the call of the driver inside it, and on the device's own clock, which is not the host's.
 */
void
ls_native_pass(Native *native, const LsRecord *record)
{
}

/* -- Joining -- */

/* A kernel and the call that launched it. */
typedef struct Launched {
    uint32_t thread;
    guint kernel;
    int64_t start_ns;
} Launched;

typedef struct Join {
    Native *native;
    GHashTable *by_launch; /* launch -> index of its first kernel + 1; the rest by `next` */
    GArray *launched;      /* Launched, by thread and start, where no launch is told of */
} Join;

static int
compare_calls(const void *a, const void *b)
{
    const LaunchCall *x = a, *y = b;
    return x->correlation < y->correlation ? -1 : x->correlation > y->correlation;
}

static int
compare_ranges(const void *a, const void *b)
{
    const HostRange *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

static int
compare_kernels(const void *a, const void *b)
{
    const NcclKernel *x = a, *y = b;
    return x->correlation < y->correlation ? -1 : x->correlation > y->correlation;
}

static int
compare_launched(const void *a, const void *b)
{
    const Launched *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->kernel < y->kernel ? -1 : x->kernel > y->kernel;
}

static int
compare_collectives(const void *a, const void *b)
{
    const LsRecord *x = &((const Collective *)a)->record, *y = &((const Collective *)b)->record;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->args[1] < y->args[1] ? -1 : x->args[1] > y->args[1];
}

static void
sort_rows(GArray *rows, int (*compare)(const void *, const void *))
{
    if (rows->len > 1)
        qsort(rows->data, rows->len, g_array_get_element_size(rows), compare);
}

static const LaunchCall *
find_call(const Native *native, uint32_t correlation)
{
    LaunchCall key = {.correlation = correlation};
    return native->launch_calls->len == 0
               ? NULL
               : bsearch(&key, native->launch_calls->data, native->launch_calls->len, sizeof key,
                         compare_calls);
}

/* The innermost range of the thread that was open at that time. */
static uint32_t
find_range(const Native *native, uint32_t thread, int64_t time_ns)
{
    const HostRange *ranges = (const HostRange *)(void *)native->host_ranges->data;
    guint low = 0, high = native->host_ranges->len;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        bool is_before = ranges[middle].thread < thread ||
                         (ranges[middle].thread == thread && ranges[middle].start_ns <= time_ns);
        if (is_before)
            low = middle + 1;
        else
            high = middle;
    }
    for (guint i = low, tries = 0; i > 0 && tries < 64 && ranges[i - 1].thread == thread;
         i--, tries++) {
        if (ranges[i - 1].end_ns >= time_ns)
            return ranges[i - 1].name;
    }
    return 0;
}

static void
index_kernels(Join *join)
{
    Native *native = join->native;
    /* From the last to the first, so that the first of a launch stands at the head. */
    for (guint i = native->kernels->len; i > 0; i--) {
        NcclKernel *kernel = &g_array_index(native->kernels, NcclKernel, i - 1);
        gpointer launch =
            g_hash_table_lookup(native->launches, GUINT_TO_POINTER(kernel->correlation));
        kernel->launch = GPOINTER_TO_SIZE(launch);
        if (launch == NULL)
            continue;
        kernel->next = GPOINTER_TO_UINT(g_hash_table_lookup(join->by_launch, launch));
        g_hash_table_insert(join->by_launch, launch, GUINT_TO_POINTER(i));
    }
}

/* Of the launch's kernels the one whose name tells the operation, else the first. */
static const NcclKernel *
find_kernel(const Join *join, const LsRecord *record, const char *operation)
{
    const Native *native = join->native;
    gpointer launch = GSIZE_TO_POINTER((gsize)record->args[4]);
    guint first = GPOINTER_TO_UINT(g_hash_table_lookup(join->by_launch, launch));
    if (record->args[4] == 0 || first == 0)
        return NULL;
    for (guint i = first; i > 0;) {
        const NcclKernel *kernel = &g_array_index(native->kernels, NcclKernel, i - 1);
        const char *name =
            ls_strings_get(native->process->strings, ls_native_name(join->native, kernel->name));
        if (strstr(name, operation) != NULL)
            return kernel;
        i = kernel->next;
    }
    return &g_array_index(native->kernels, NcclKernel, first - 1);
}

static void
index_launched(Join *join)
{
    const Native *native = join->native;
    bool told = g_hash_table_size(native->launches) > 0;
    join->launched = g_array_new(FALSE, FALSE, sizeof(Launched));
    for (guint i = 0; i < native->kernels->len && !told; i++) {
        const LaunchCall *call =
            find_call(native, g_array_index(native->kernels, NcclKernel, i).correlation);
        if (call == NULL)
            continue;
        Launched launched = {call->thread, i, call->start_ns};
        g_array_append_val(join->launched, launched);
    }
    sort_rows(join->launched, compare_launched);
}

/* NCCL before 2.28: the last kernel of NCCL that this thread had launched. */
static const NcclKernel *
find_kernel_before(const Join *join, const Collective *collective)
{
    const Launched *rows = (const Launched *)(void *)join->launched->data;
    const Launched last = {collective->thread, G_MAXUINT, collective->record.start_ns};
    guint low = 0, high = join->launched->len;
    while (low < high) {
        guint middle = low + (high - low) / 2;
        if (compare_launched(&rows[middle], &last) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || rows[low - 1].thread != collective->thread)
        return NULL;
    return &g_array_index(join->native->kernels, NcclKernel, rows[low - 1].kernel);
}

static void
set_device(Native *native, LsCall *call, const NcclKernel *kernel)
{
    const LaunchCall *launch = find_call(native, kernel->correlation);
    call->device_timed = true;
    call->kernel = ls_native_name(native, kernel->name);
    call->open = kernel->is_open;
    call->start_ns = kernel->start_ns;
    call->end_ns = kernel->end_ns;
    call->launch_ns = launch != NULL ? launch->start_ns : LS_TIME_NONE;
    if (launch != NULL) {
        uint32_t range = find_range(native, launch->thread, launch->start_ns);
        call->range = range != 0 ? ls_native_name(native, range) : 0;
    }
}

static LsTrackBuilder *
find_track(Native *native, uint32_t communicator)
{
    g_autofree char *name = g_hash_table_size(native->nccl_communicators) <= 1
                                ? g_strdup("communication")
                                : g_strdup_printf("communication %08x", communicator);
    return ls_process_get_track(native->process, LS_TRACK_COMMUNICATION, name, "operation",
                                communicator);
}

/* The number of a collective among all of its communicator; -1: it says none that can be. */
static int64_t
number_of(const LsRecord *record)
{
    int64_t sequence = ls_native_amount(record->args[1], -1);
    return sequence < 0 ? -1 : sequence * OPERATIONS + (record->args[3] & (OPERATIONS - 1));
}

/* false: its kernel was lost, and the host's bar would pass for the device's among those that are
 * known. */
static bool
add_call(Join *join, const Collective *collective)
{
    Native *native = join->native;
    const LsRecord *record = &collective->record;
    bool is_p2p = record->kind == LS_RECORD_NCCL_P2P;
    uint32_t space = fold(record->args[0]);
    const Communicator *communicator =
        g_hash_table_lookup(native->nccl_communicators, GUINT_TO_POINTER(space));
    const char *operation =
        ls_strings_get(native->process->strings, ls_native_name(native, record->name));
    g_autofree char *upper = g_ascii_strup(operation, -1);
    g_autofree char *name = g_strconcat("NCCL_", upper, NULL);
    LsCall call = {.name = ls_strings_add(native->process->strings, name),
                   .communicator = space,
                   .sequence = is_p2p ? -1 : number_of(record),
                   .operation = (uint8_t)record->args[3],
                   .dtype = (uint8_t)(record->args[3] >> 8),
                   .reduction = (uint8_t)(record->args[3] >> 16),
                   .by_nccl = true,
                   .bytes = ls_native_amount(record->args[2], -1),
                   .start_ns = record->start_ns,
                   .end_ns = record->end_ns,
                   .pack_start_ns = LS_TIME_NONE,
                   .pack_end_ns = LS_TIME_NONE,
                   .unpack_start_ns = LS_TIME_NONE,
                   .unpack_end_ns = LS_TIME_NONE,
                   .launch_ns = LS_TIME_NONE,
                   .buffer = LS_NONE,
                   .ranks = is_p2p                 ? 1
                            : communicator != NULL ? communicator->ranks
                                                   : 0};
    const NcclKernel *kernel = find_kernel(join, record, is_p2p ? "SendRecv" : operation);
    if (kernel == NULL)
        kernel = find_kernel_before(join, collective);
    if (kernel == NULL && native->kernels->len > 0)
        return false;
    if (kernel != NULL)
        set_device(native, &call, kernel);
    ls_track_builder_add(find_track(native, space), call.start_ns, call.end_ns, call.name,
                         native->process->calls->len);
    ls_rows_add(native->process->calls, &call);
    return kernel != NULL;
}

void
ls_native_settle_nccl(Native *native)
{
    Join join = {.native = native, .by_launch = g_hash_table_new(NULL, NULL)};
    guint n_host = 0;
    sort_rows(native->launch_calls, compare_calls);
    sort_rows(native->host_ranges, compare_ranges);
    sort_rows(native->kernels, compare_kernels);
    sort_rows(native->collectives, compare_collectives);
    index_kernels(&join);
    index_launched(&join);
    for (guint i = 0; i < native->collectives->len; i++)
        n_host += !add_call(&join, &g_array_index(native->collectives, Collective, i));
    if (n_host > 0 && native->kernels->len > 0)
        ls_process_add_finding(
            native->process, LS_NOTE, -1,
            "%u of %u NCCL operations are left out: their kernels are not in the "
            "recording, or have no times.",
            n_host, native->collectives->len);
    else if (n_host > 0)
        ls_process_add_finding(
            native->process, LS_NOTE, -1,
            "%u of %u NCCL operations have no kernel in the recording; only when "
            "the host queued them is known.",
            n_host, native->collectives->len);
    g_hash_table_unref(join.by_launch);
    g_array_unref(join.launched);
}
