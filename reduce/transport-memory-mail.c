/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/transport-memory-mail.c: messages from rank to rank. A message arrives when it was sent,
 * plus its cost, but never before an earlier one of its sender; sending takes the sender no time.
 */
#include "reduce/transport-memory-private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
ls_memory_drop_mail(LsMemorySlot *slot)
{
    free(slot->held);
    slot->held = NULL;
    while (slot->first != NULL) {
        LsMemoryMail *mail = slot->first;
        slot->first = mail->next;
        free(mail);
    }
}

static bool
fail(LsMemory *memory, int rank, const char *text)
{
    snprintf(memory->error, sizeof memory->error, "rank %d: %s", rank, text);
    memory->failed = true;
    return false;
}

static bool
send_mail(LsMemory *memory, int rank, const LsAction *action)
{
    LsMemoryMail *mail, **end;
    if (action->root < 0 || action->root >= memory->ranks || action->root == rank)
        return fail(memory, rank, "a message to a rank that is not there");
    mail = malloc(sizeof *mail + action->length);
    if (mail == NULL)
        return fail(memory, rank, "out of memory");
    *mail = (LsMemoryMail){.from = rank, .length = action->length};
    mail->arrival_ns = memory->slots[rank].now_ns + ls_memory_message_ns(memory, action->length);
    if (action->length > 0)
        memcpy(mail->data, action->data, action->length);
    for (end = &memory->slots[action->root].first; *end != NULL; end = &(*end)->next)
        if ((*end)->from == rank && (*end)->arrival_ns > mail->arrival_ns)
            mail->arrival_ns = (*end)->arrival_ns;
    *end = mail;
    return true;
}

/* Where the message hangs that arrives first; of two at once the one sent first. */
static LsMemoryMail **
find_next(LsMemorySlot *slot)
{
    LsMemoryMail **found = &slot->first;
    for (LsMemoryMail **at = &slot->first; *at != NULL; at = &(*at)->next)
        if ((*at)->arrival_ns < (*found)->arrival_ns)
            found = at;
    return found;
}

int64_t
ls_memory_poll_end(const LsMemory *memory, int rank, const LsAction *action)
{
    LsMemorySlot *slot = &memory->slots[rank];
    const LsMemoryMail *next = *find_next(slot);
    int64_t end_ns = slot->now_ns + action->wait_ns;
    if (next == NULL || next->arrival_ns >= end_ns)
        return end_ns;
    return next->arrival_ns > slot->now_ns ? next->arrival_ns : slot->now_ns;
}

static int
count_under_way(const LsMemory *memory, int rank, int to)
{
    int n = 0;
    for (const LsMemoryMail *mail = memory->slots[to].first; mail != NULL; mail = mail->next)
        n += mail->from == rank;
    return n;
}

static void
poll_mail(LsMemory *memory, int rank, const LsAction *action, LsResult *ret_result)
{
    LsMemorySlot *slot = &memory->slots[rank];
    slot->now_ns = ls_memory_poll_end(memory, rank, action);
    LsMemoryMail **next = find_next(slot), *mail = *next;
    free(slot->held);
    slot->held = NULL;
    *ret_result = (LsResult){.under_way = count_under_way(memory, rank, action->root)};
    if (mail == NULL || mail->arrival_ns > slot->now_ns)
        return;
    *next = mail->next;
    slot->held = mail;
    slot->piece = (LsPiece){mail->data, mail->length};
    ret_result->parts = &slot->piece;
    ret_result->n_parts = 1;
    ret_result->from = mail->from;
}

bool
ls_memory_mail(LsMemory *memory, int rank, const LsAction *action, LsResult *ret_result)
{
    LsMemorySlot *slot = &memory->slots[rank];
    slot->action = *action;
    slot->calls[0].start_ns = slot->now_ns;
    *ret_result = (LsResult){0};
    bool done = true;
    if (action->kind == LS_ACTION_SEND)
        done = send_mail(memory, rank, action);
    else
        poll_mail(memory, rank, action, ret_result);
    slot->calls[0].end_ns = slot->now_ns;
    return done;
}
