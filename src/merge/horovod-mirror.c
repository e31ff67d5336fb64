/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/horovod-mirror.c: what rank 0's timeline lacks, from its NVTX mirror. Horovod does not
 * drain the timeline's writer when the job ends, so that the last batches are missing or open in
 * the file; a timeline that was begun by the program lies where nobody looks. The mirror has the
 * same beginnings and ends: "NEGOTIATE_ALLREDUCE name", "ALLREDUCE name", and in a domain of their
 * own the activities, "MPI_ALLREDUCE name". Operations whose activities overlap are one batch.
 */
#include "merge/horovod-private.h"

#include <string.h>

#define NEGOTIATION "NEGOTIATE_"

/* A tensor by name, as far as the mirror was read. */
typedef struct Tensor {
    uint32_t use;      /* its last one, LS_NONE */
    int64_t done_ns;   /* of the last use that ended; INT64_MIN */
    int64_t agreed_ns; /* the end of its last negotiation */
    bool lacking;      /* the operation under way is not in the timeline, or not whole */
} Tensor;

typedef struct Mirror {
    LsProcess *writer;
    GHashTable *tensors; /* name (borrowed) -> Tensor */
    GByteArray *touched; /* by call: its tensors' bytes are to be counted */
    uint32_t call;       /* the last that was added; LS_NONE */
    guint told;          /* uses that the timeline has */
    guint n;             /* operations taken */
} Mirror;

static int
compare_starts(const void *a, const void *b)
{
    const LsRange *x = a, *y = b;

    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

static LsUse *
get_use(const Mirror *mirror, uint32_t row)
{
    return &g_array_index(mirror->writer->uses, LsUse, row);
}

static Tensor *
find_tensor(Mirror *mirror, const char *name)
{
    Tensor *tensor = g_hash_table_lookup(mirror->tensors, name);

    if (tensor == NULL) {
        tensor = g_new(Tensor, 1);
        *tensor = (Tensor){LS_NONE, INT64_MIN, LS_TIME_NONE, false};
        g_hash_table_insert(mirror->tensors, (gpointer)(uintptr_t)name, tensor);
    }
    return tensor;
}

/* What the timeline tells, by tensor. */
static void
read_uses(Mirror *mirror)
{
    for (guint i = 0; i < mirror->told; i++) {
        const LsUse *use = get_use(mirror, i);
        Tensor *tensor = find_tensor(mirror, ls_strings_get(mirror->writer->strings, use->tensor));

        tensor->use = i;
        if (use->done_ns != LS_TIME_NONE)
            tensor->done_ns = MAX(tensor->done_ns, use->done_ns);
    }
}

/* The use that this operation is: the open one of its tensor, else a new one. */
static void
take_operation(Mirror *mirror, Tensor *tensor, const LsRange *range, const char *word,
               const char *name)
{
    bool grouped, known = tensor->use != LS_NONE;
    LsUse use = {.tensor = ls_strings_add(mirror->writer->strings, name),
                 .group = LS_NONE,
                 .call = LS_NONE,
                 .operation = ls_horovod_range_operation(word, &grouped),
                 .dtype = known ? get_use(mirror, tensor->use)->dtype : 255,
                 .bytes = -1,
                 .submit_ns = LS_TIME_NONE,
                 .gate_ns = LS_TIME_NONE,
                 .agreed_ns = tensor->agreed_ns,
                 .done_ns = LS_TIME_NONE};
    LsUse *taken;

    if (!known || get_use(mirror, tensor->use)->done_ns != LS_TIME_NONE) {
        tensor->use = mirror->writer->uses->len;
        ls_rows_add(mirror->writer->uses, &use);
    }
    taken = get_use(mirror, tensor->use);
    taken->done_ns = tensor->done_ns = range->end_ns;
    if (taken->agreed_ns == LS_TIME_NONE)
        taken->agreed_ns = tensor->agreed_ns;
    if (taken->bytes < 0 &&
        (taken->operation == LS_OPERATION_ALLREDUCE || taken->operation == LS_OPERATION_BROADCAST))
        taken->bytes = range->payload;
    if (taken->call < mirror->touched->len)
        mirror->touched->data[taken->call] = 1;
    mirror->n++;
}

static void
add_call(Mirror *mirror, const LsRange *range, const char *word, const LsUse *use)
{
    LsProcess *writer = mirror->writer;
    const guint8 touched = 1;
    LsCall call = {.name = ls_strings_add(writer->strings, word),
                   .sequence = -1,
                   .operation = use->operation,
                   .dtype = use->dtype,
                   .reduction = 255,
                   .start_ns = range->start_ns,
                   .end_ns = range->end_ns,
                   .pack_start_ns = LS_TIME_NONE,
                   .pack_end_ns = LS_TIME_NONE,
                   .unpack_start_ns = LS_TIME_NONE,
                   .unpack_end_ns = LS_TIME_NONE,
                   .buffer = LS_NONE};

    mirror->call = writer->calls->len;
    ls_track_builder_add(
        ls_process_get_track(writer, LS_TRACK_COMMUNICATION, "communication", "operation", -1),
        call.start_ns, call.end_ns, call.name, mirror->call);
    ls_rows_add(writer->calls, &call);
    g_byte_array_append(mirror->touched, &touched, 1);
}

static bool
moves_bytes(const char *word)
{
    static const char *const prefixes[] = {"MPI_", "NCCL_", "GLOO_", "CCL_"};

    for (size_t i = 0; i < G_N_ELEMENTS(prefixes); i++)
        if (g_str_has_prefix(word, prefixes[i]))
            return true;
    return false;
}

/* The activity that moves the bytes of a tensor whose operation was taken. */
static void
take_activity(Mirror *mirror, const Tensor *tensor, const LsRange *range, const char *word)
{
    GArray *calls = mirror->writer->calls;
    LsUse *use = get_use(mirror, tensor->use);
    LsCall *call = use->call < calls->len ? &g_array_index(calls, LsCall, use->call) : NULL;

    if (range->start_ns > tensor->done_ns || !moves_bytes(word))
        return;
    if (call != NULL) { /* the timeline begins it, and may not end it */
        if (call->open)
            call->end_ns = MAX(call->start_ns, range->end_ns);
        call->open = false;
        return;
    }
    if (mirror->call == LS_NONE ||
        range->start_ns >= g_array_index(calls, LsCall, mirror->call).end_ns)
        add_call(mirror, range, word, use);
    call = &g_array_index(calls, LsCall, mirror->call);
    use->call = mirror->call;
    use->position = (uint16_t)MIN(call->tensors, UINT16_MAX);
    call->tensors++;
    call->end_ns = MAX(call->end_ns, range->end_ns);
}

static void
take_range(Mirror *mirror, const LsRange *range)
{
    const char *text = ls_strings_get(mirror->writer->strings, range->name);
    const char *blank = strchr(text, ' ');
    g_autofree char *word = blank == NULL ? NULL : g_strndup(text, (gsize)(blank - text));
    Tensor *tensor;

    if (word == NULL)
        return;
    tensor = find_tensor(mirror, blank + 1);
    if (range->domain != ls_strings_find(mirror->writer->strings, LS_HOROVOD_MIRROR)) {
        if (tensor->lacking)
            take_activity(mirror, tensor, range, word);
        return;
    }
    if (g_str_has_prefix(word, NEGOTIATION)) {
        tensor->agreed_ns = range->end_ns;
        return;
    }
    /* The timeline lies so that none of its ends comes before the mirror's (horovod-timeline.c). */
    tensor->lacking = range->end_ns > tensor->done_ns;
    if (tensor->lacking)
        take_operation(mirror, tensor, range, word, blank + 1);
}

static void
count_bytes(const Mirror *mirror)
{
    GArray *calls = mirror->writer->calls;

    for (guint i = 0; i < calls->len; i++)
        if (mirror->touched->data[i])
            g_array_index(calls, LsCall, i).bytes = 0;
    for (guint i = 0; i < mirror->writer->uses->len; i++) {
        const LsUse *use = get_use(mirror, i);
        LsCall *call;

        if (use->call >= calls->len || !mirror->touched->data[use->call])
            continue;
        call = &g_array_index(calls, LsCall, use->call);
        call->bytes = use->bytes < 0 || call->bytes < 0 ? -1 : call->bytes + use->bytes;
    }
}

static void
report(const Mirror *mirror)
{
    if (mirror->n == 0)
        return;
    if (mirror->told > 0) {
        ls_process_add_finding(mirror->writer, LS_NOTE, -1,
                               "%u operations are missing or open at the end of Horovod's timeline "
                               "(its writer is not drained when the job ends); they were taken "
                               "from its NVTX mirror.",
                               mirror->n);
        return;
    }
    g_hash_table_insert(mirror->writer->facts, g_strdup("timeline.placed_by"),
                        g_strdup(LS_HOROVOD_MIRROR_ALONE));
    ls_process_add_finding(mirror->writer, LS_NOTE, -1,
                           "The file of Horovod's timeline is not here; the names of %u operations "
                           "were taken from its NVTX mirror.",
                           mirror->n);
}

void
ls_horovod_take_mirror(LsProcess *writer)
{
    Mirror mirror = {.writer = writer,
                     .tensors = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free),
                     .touched = g_byte_array_new(),
                     .call = LS_NONE,
                     .told = writer->uses->len};
    g_autoptr(GArray) ranges = ls_horovod_get_ranges(writer, LS_HOROVOD_MIRROR);
    g_autoptr(GArray) activities = ls_horovod_get_ranges(writer, LS_HOROVOD_MIRROR "Activities");

    g_array_append_vals(ranges, activities->data, activities->len);
    g_array_sort(ranges, compare_starts);
    g_byte_array_set_size(mirror.touched, writer->calls->len);
    if (writer->calls->len > 0)
        memset(mirror.touched->data, 0, writer->calls->len);
    read_uses(&mirror);
    for (guint i = 0; i < ranges->len; i++)
        take_range(&mirror, &g_array_index(ranges, LsRange, i));
    count_bytes(&mirror);
    report(&mirror);
    g_hash_table_unref(mirror.tensors);
    g_byte_array_unref(mirror.touched);
}
