/* SPDX-License-Identifier: Apache-2.0
 *
 * format/horovod-batch.c: which tensors were fused. The timeline has no batch number; Horovod
 * begins the operation of all members back to back, then each activity for all of them in the same
 * order. So: consecutive beginnings of the same operation on distinct tensors, until a member
 * begins an activity, are one batch; a member whose activities then differ leaves it. Shared phases
 * are taken once a batch, from the first member's begin to the last member's end.
 */
#include "format/horovod-private.h"

#include <string.h>

#define SPLITS_MAX 64 /* unfinished batches looked through for one to join */

typedef struct Activity {
    uint32_t name;
    int64_t start_ns, end_ns;
} Activity;

typedef struct Member {
    Row *row;
    uint32_t use;   /* LS_NONE: none */
    size_t n_begun; /* activities */
    bool ended;
} Member;

struct Batch {
    char *operation;
    GArray *members;    /* Member */
    GArray *activities; /* Activity; end LS_TIME_NONE while none has ended it */
    int64_t start_ns, end_ns;
    size_t n_ended;
    size_t at;   /* in the list of unfinished batches */
    bool sealed; /* takes no more members */
    bool open;   /* some member did not end */
};

static Batch *
batch_new(Horovod *horovod, const char *operation, int64_t start_ns)
{
    Batch *batch = g_new0(Batch, 1);
    batch->operation = g_strdup(operation);
    batch->members = g_array_new(FALSE, TRUE, sizeof(Member));
    batch->activities = g_array_new(FALSE, TRUE, sizeof(Activity));
    batch->start_ns = batch->end_ns = start_ns;
    batch->at = horovod->batches->len;
    g_ptr_array_add(horovod->batches, batch);
    return batch;
}

static void
add_member(Batch *batch, Row *row, uint32_t use, size_t n_begun)
{
    Member member = {.row = row, .use = use, .n_begun = n_begun};
    row->batch = batch;
    row->member = batch->members->len;
    g_array_append_val(batch->members, member);
}

void
ls_batch_add(Horovod *horovod, Row *row, const char *operation, int64_t time_ns)
{
    Batch *batch = horovod->newest;
    bool fusable = ls_horovod_operation(operation) != LS_OPERATION_UNKNOWN;
    if (!batch || batch->sealed || !fusable || strcmp(batch->operation, operation) != 0)
        batch = horovod->newest = batch_new(horovod, operation, time_ns);
    add_member(batch, row, row->running, 0);
}

/* Whether the activity moves bytes between ranks; those inside one host's memory do not. */
static bool
is_communication(const char *name)
{
    static const char *const prefixes[] = {"MPI_", "NCCL_", "GLOO_", "CCL_", "MLSL_", "DDL_"};
    for (size_t i = 0; i < G_N_ELEMENTS(prefixes); i++)
        if (g_str_has_prefix(name, prefixes[i]))
            return true;
    return false;
}

/* The call's times from the batch's activities, and a span for each of them. false: none moves
 * bytes. */
static bool
add_activities(LsProcess *process, const Batch *batch, LsCall *call, uint32_t row)
{
    LsTrackBuilder *track =
        ls_process_get_track(process, LS_TRACK_COMMUNICATION, "communication", "operation", -1);
    for (size_t i = 0; i < batch->activities->len; i++) {
        const Activity *activity = &g_array_index(batch->activities, Activity, i);
        const char *name = ls_strings_get(process->strings, activity->name);
        int64_t end_ns = activity->end_ns == LS_TIME_NONE ? batch->end_ns : activity->end_ns;
        end_ns = MAX(end_ns, activity->start_ns);
        if (is_communication(name)) {
            if (call->start_ns == LS_TIME_NONE) {
                call->start_ns = activity->start_ns;
                call->name = activity->name;
            }
            call->end_ns = MAX(call->end_ns, end_ns);
        } else if (strcmp(name, "MEMCPY_IN_FUSION_BUFFER") == 0) {
            call->pack_start_ns = activity->start_ns;
            call->pack_end_ns = end_ns;
        } else if (strcmp(name, "MEMCPY_OUT_FUSION_BUFFER") == 0) {
            call->unpack_start_ns = activity->start_ns;
            call->unpack_end_ns = end_ns;
        } else
            continue;
        ls_track_builder_add(track, activity->start_ns, end_ns, activity->name, row);
    }
    return call->start_ns != LS_TIME_NONE;
}

/* Bytes of all members where all are known, and the members' uses joined to the call. */
static void
join_members(LsProcess *process, const Batch *batch, LsCall *call, uint32_t row)
{
    call->bytes = 0;
    for (size_t i = 0; i < batch->members->len; i++) {
        const Member *member = &g_array_index(batch->members, Member, i);
        if (!member->row)
            continue;
        call->tensors++;
        LsUse *use =
            member->use == LS_NONE ? NULL : &g_array_index(process->uses, LsUse, member->use);
        if (use) {
            use->call = row;
            use->position = (uint16_t)MIN(i, UINT16_MAX);
            call->dtype = use->dtype;
        }
        bool known = use && use->bytes >= 0 && call->bytes >= 0;
        call->bytes =
            known && use->bytes <= LS_AMOUNT_MAX - call->bytes ? call->bytes + use->bytes : -1;
    }
}

/* The batch becomes a call; frees it. */
static void
finish(Horovod *horovod, Batch *batch)
{
    LsProcess *process = horovod->process;
    uint32_t row = process->calls->len;
    LsCall call = {.sequence = -1,
                   .operation = ls_horovod_operation(batch->operation),
                   .dtype = 255,
                   .reduction = 255,
                   .open = batch->open,
                   .start_ns = LS_TIME_NONE,
                   .end_ns = LS_TIME_NONE,
                   .pack_start_ns = LS_TIME_NONE,
                   .pack_end_ns = LS_TIME_NONE,
                   .unpack_start_ns = LS_TIME_NONE,
                   .unpack_end_ns = LS_TIME_NONE,
                   .buffer = LS_NONE};
    bool any = false;
    for (size_t i = 0; i < batch->members->len; i++)
        any |= g_array_index(batch->members, Member, i).row != NULL;
    bool moves = any && add_activities(process, batch, &call, row);
    /* No activity that moves bytes: the operation itself does, under BlueFog and unknown planes. */
    if (any && !moves &&
        (call.operation < LS_OPERATION_ERROR || is_communication(batch->operation))) {
        call.start_ns = batch->start_ns;
        call.end_ns = batch->end_ns;
        call.name = ls_strings_add(process->strings, batch->operation);
        ls_track_builder_add(
            ls_process_get_track(process, LS_TRACK_COMMUNICATION, "communication", "operation", -1),
            call.start_ns, call.end_ns, call.name, row);
    }
    if (call.start_ns != LS_TIME_NONE) {
        join_members(process, batch, &call, row);
        g_array_append_val(process->calls, call);
    }
    if (horovod->newest == batch)
        horovod->newest = NULL;
    g_ptr_array_remove_index_fast(horovod->batches, (guint)batch->at);
    if (batch->at < horovod->batches->len)
        ((Batch *)g_ptr_array_index(horovod->batches, batch->at))->at = batch->at;
    g_free(batch->operation);
    g_array_unref(batch->members);
    g_array_unref(batch->activities);
    g_free(batch);
}

/* The member does something else than the others: it goes into a batch of those that do the same.
 */
static void
leave_batch(Horovod *horovod, Row *row, uint32_t name)
{
    Batch *from = row->batch, *to = NULL;
    Member *member = &g_array_index(from->members, Member, row->member);
    size_t n = member->n_begun;
    size_t oldest = horovod->batches->len > SPLITS_MAX ? horovod->batches->len - SPLITS_MAX : 0;
    for (size_t i = horovod->batches->len; i > oldest && !to; i--) {
        Batch *other = g_ptr_array_index(horovod->batches, i - 1);
        if (other->start_ns == from->start_ns && other != from && other->activities->len > n &&
            g_array_index(other->activities, Activity, n).name == name)
            to = other;
    }
    if (!to) {
        to = batch_new(horovod, from->operation, from->start_ns);
        to->sealed = true;
        g_array_append_vals(to->activities, from->activities->data, (guint)n);
    }
    uint32_t use = member->use;
    member->row = NULL;
    member->use = LS_NONE;
    member->ended = true;
    from->n_ended++;
    add_member(to, row, use, n);
    if (from->n_ended == from->members->len)
        finish(horovod, from);
}

void
ls_batch_begin_activity(Horovod *horovod, Row *row, uint32_t name, int64_t time_ns)
{
    if (!row->batch)
        return;
    Member *member = &g_array_index(row->batch->members, Member, row->member);
    row->batch->sealed = true;
    if (member->n_begun < row->batch->activities->len &&
        g_array_index(row->batch->activities, Activity, member->n_begun).name != name) {
        leave_batch(horovod, row, name);
        member = &g_array_index(row->batch->members, Member, row->member);
    }
    if (member->n_begun == row->batch->activities->len) {
        Activity activity = {.name = name, .start_ns = time_ns, .end_ns = LS_TIME_NONE};
        g_array_append_val(row->batch->activities, activity);
    }
    Activity *activity = &g_array_index(row->batch->activities, Activity, member->n_begun++);
    activity->start_ns = MIN(activity->start_ns, time_ns);
}

void
ls_batch_end_activity(Horovod *horovod, Row *row, uint32_t name, int64_t time_ns)
{
    if (!row->batch)
        return;
    const Member *member = &g_array_index(row->batch->members, Member, row->member);
    if (member->n_begun == 0)
        return;
    Activity *activity = &g_array_index(row->batch->activities, Activity, member->n_begun - 1);
    activity->end_ns = MAX(activity->end_ns, MAX(time_ns, activity->start_ns));
}

void
ls_batch_end(Horovod *horovod, Row *row, int64_t time_ns, bool open)
{
    Batch *batch = row->batch;
    if (!batch)
        return;
    Member *member = &g_array_index(batch->members, Member, row->member);
    row->batch = NULL;
    member->ended = true;
    batch->sealed = true;
    batch->open |= open;
    batch->end_ns = MAX(batch->end_ns, time_ns);
    if (++batch->n_ended < batch->members->len)
        return;
    finish(horovod, batch);
}
