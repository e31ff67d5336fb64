/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/queue-submit.c: the program's thread puts tensors into the queue, all of a call or none.
 */
#include "reduce/queue-private.h"

#include <stdlib.h>
#include <string.h>

static bool
fill_request(LsRequest *request, int rank, const lockstep_tensor *tensor, const LsWork *work)
{
    int ndim = tensor->shape != NULL ? tensor->ndim : 1;
    const int64_t *shape = tensor->shape != NULL ? tensor->shape : &tensor->count;
    *request = (LsRequest){.rank = rank,
                           .operation = work->operation,
                           .dtype = (uint8_t)tensor->dtype,
                           .reduction = work->reduction,
                           .root = work->root,
                           .name = strdup(tensor->name),
                           .shape = calloc((size_t)ndim + 1, sizeof *shape),
                           .ndim = ndim};
    if (request->name == NULL || request->shape == NULL)
        return false;
    for (int i = 0; i < ndim; i++)
        request->shape[i] = shape[i];
    return true;
}

/* A submission between its allocation and its place in the queue, and what is said of it after:
 * the entry may be done and gone as soon as the lock is. */
typedef struct Submission {
    LsEntry *entry;
    LsRequest request;
    lockstep_handle handle;
    uint32_t record_name, record_group;
    int64_t occurrence;
} Submission;

static lockstep_status
prepare(LsQueue *queue, Submission *submission, const lockstep_tensor *tensor, const LsWork *work,
        bool forget, int64_t now_ns)
{
    bool flat = tensor->shape == NULL;
    submission->entry = ls_queue_new_entry(queue);
    if (submission->entry == NULL || !fill_request(&submission->request, queue->rank, tensor, work))
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "tensor %s: out of memory", tensor->name);
    *submission->entry = (LsEntry){.input = tensor->input,
                                   .output = tensor->output,
                                   .count = tensor->count,
                                   .rows = flat               ? tensor->count
                                           : tensor->ndim > 0 ? tensor->shape[0]
                                                              : 1,
                                   .capacity = work->capacity,
                                   .ret_counts = work->ret_counts,
                                   .dtype = tensor->dtype,
                                   .forget = forget,
                                   .callback = tensor->callback,
                                   .user = tensor->user,
                                   .submit_ns = now_ns};
    return ls_device_admit(queue->plane, queue->rank, queue->ranks, tensor, work,
                           &submission->entry->use);
}

/* Under the lock: ids of the name and of its group's, once something is recorded. */
static void
name_records(LsQueue *queue, LsName *name)
{
    if (name->record_name != 0)
        return;
    ls_instrument_name(queue->instrument, name->text, &name->record_name);
    int group = ls_groups_find(queue->groups, name->text);
    if (group != LS_GROUP_NONE)
        ls_instrument_name(queue->instrument, ls_group_name(queue->groups, group),
                           &name->record_group);
}

/* Under the lock. Takes request and entry on success. */
static lockstep_status
insert(LsQueue *queue, Submission *submission)
{
    LsEntry *entry = submission->entry;
    LsRequest *request = &submission->request;
    if (queue->ended)
        return ls_fail(queue->end_status, "tensor %s: %s", request->name, queue->end_text);
    if (queue->leaving)
        return ls_fail(LOCKSTEP_ERR_SHUT_DOWN, "tensor %s: this rank is shutting down",
                       request->name);
    entry->name = ls_names_add(&queue->names, request->name);
    if (entry->name == NULL)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "tensor %s: out of memory", request->name);
    if (entry->name->on_way != NULL)
        return ls_fail(LOCKSTEP_ERR_DUPLICATE,
                       "tensor %s: an earlier submission of this name is still on its way on rank "
                       "%d",
                       request->name, queue->rank);
    if (!ls_handles_add(&queue->handles, &entry->handle))
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "tensor %s: out of memory", request->name);
    name_records(queue, entry->name);
    entry->record_name = entry->name->record_name;
    entry->occurrence = entry->name->submissions;
    if (!ls_request_list_take(&queue->waiting, request)) {
        ls_handles_remove(&queue->handles, entry->handle);
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "tensor %s: out of memory", entry->name->text);
    }
    entry->name->submissions++;
    ls_queue_link(queue, entry);
    submission->handle = entry->handle;
    submission->record_name = entry->record_name;
    submission->record_group = entry->name->record_group;
    submission->occurrence = entry->occurrence;
    return LOCKSTEP_OK;
}

/* Under the lock, the last one inserted first. */
static void
take_back(LsQueue *queue, Submission *submission)
{
    LsEntry *entry = submission->entry;
    submission->request = queue->waiting.items[--queue->waiting.n];
    ls_queue_unlink(queue, entry);
    entry->name->submissions--;
    ls_handles_remove(&queue->handles, entry->handle);
}

static lockstep_status
insert_all(LsQueue *queue, Submission *submissions, size_t n)
{
    lockstep_status status = LOCKSTEP_OK;
    size_t done = 0;
    pthread_mutex_lock(&queue->lock);
    while (done < n && status == LOCKSTEP_OK) {
        status = insert(queue, &submissions[done]);
        done += status == LOCKSTEP_OK;
    }
    while (status != LOCKSTEP_OK && done > 0)
        take_back(queue, &submissions[--done]);
    if (status == LOCKSTEP_OK)
        pthread_cond_signal(&queue->work);
    pthread_mutex_unlock(&queue->lock);
    return status;
}

lockstep_status
ls_queue_submit(LsQueue *queue, const lockstep_tensor *const *tensors, size_t n, const LsWork *work,
                lockstep_handle *ret_handles)
{
    int64_t now = ls_instrument_now();
    Submission one = {0}, *submissions = n == 1 ? &one : calloc(n, sizeof one);
    if (submissions == NULL)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "%zu tensors: out of memory", n);
    lockstep_status status = LOCKSTEP_OK;
    for (size_t i = 0; i < n && status == LOCKSTEP_OK; i++)
        status = prepare(queue, &submissions[i], tensors[i], work, ret_handles == NULL, now);
    if (status == LOCKSTEP_OK)
        status = insert_all(queue, submissions, n);
    for (size_t i = 0; i < n; i++) {
        const lockstep_tensor *tensor = tensors[i];
        if (status == LOCKSTEP_OK) {
            ls_instrument_submit(
                queue->instrument, submissions[i].record_name, now, submissions[i].occurrence,
                tensor->count * (int64_t)ls_dtype_bytes((uint8_t)tensor->dtype),
                submissions[i].record_group,
                ls_instrument_code(work->operation, tensor->dtype, work->reduction));
        } else {
            ls_request_clear(&submissions[i].request);
            ls_queue_free_entry(queue, submissions[i].entry);
        }
        if (ret_handles != NULL)
            ret_handles[i] = status == LOCKSTEP_OK ? submissions[i].handle : 0;
    }
    if (submissions != &one)
        free(submissions);
    return status;
}
