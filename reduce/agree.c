/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/agree.c: equality of a word on all ranks by one AND: the AND of all w equals the
 * complement of the AND of all ~w exactly where all w are equal.
 */
#include "reduce/agree.h"

#include "reduce/failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a rank tells of its failure, and rank 0 all of the first one. */
typedef struct Verdict {
    int32_t status;
    char text[LS_FAILURE_TEXT_MAX];
} Verdict;

static bool
perform(LsTransport *transport, LsActionKind kind, const void *data, size_t length,
        LsResult *ret_result)
{
    LsAction action = {.kind = kind, .data = data, .length = length};
    return transport->class->perform(transport, &action, ret_result);
}

static lockstep_status
fail_transport(LsTransport *transport)
{
    return ls_fail(LOCKSTEP_ERR_MPI, "%s", transport->class->error(transport));
}

/* Rank 0's verdict to all. */
static lockstep_status
pronounce(LsTransport *transport, const Verdict *verdict)
{
    LsResult result;
    Verdict heard;
    if (!perform(transport, LS_ACTION_BROADCAST, verdict, sizeof *verdict, &result))
        return fail_transport(transport);
    if (result.n_parts != 1 || result.parts[0].length != sizeof heard)
        return ls_fail(LOCKSTEP_ERR_INTERNAL, "rank 0 runs another version of the library");
    memcpy(&heard, result.parts[0].data, sizeof heard);
    heard.text[sizeof heard.text - 1] = '\0';
    return ls_fail(heard.status, "%s", heard.text);
}

/* At the root: the first rank that failed. */
static void
find_failed(const LsResult *result, Verdict *ret_verdict)
{
    *ret_verdict = (Verdict){LOCKSTEP_ERR_INTERNAL, "a rank failed and did not say why"};
    for (int rank = 0; rank < result->n_parts; rank++) {
        Verdict verdict;
        if (result->parts[rank].length != sizeof verdict)
            continue;
        memcpy(&verdict, result->parts[rank].data, sizeof verdict);
        if (verdict.status >= 0)
            continue;
        ret_verdict->status = verdict.status;
        snprintf(ret_verdict->text, sizeof ret_verdict->text, "rank %d: %.*s", rank,
                 LS_FAILURE_TEXT_MAX - 32, verdict.text);
        return;
    }
}

lockstep_status
ls_agree(LsTransport *transport, lockstep_status status)
{
    uint64_t good = status == LOCKSTEP_OK ? UINT64_MAX : 0;
    Verdict own = {.status = status}, first = {0};
    LsResult result;
    if (!perform(transport, LS_ACTION_AND, &good, sizeof good, &result))
        return fail_transport(transport);
    memcpy(&good, result.parts[0].data, sizeof good);
    if (good == UINT64_MAX)
        return LOCKSTEP_OK;
    snprintf(own.text, sizeof own.text, "%s", ls_failure_text());
    if (!perform(transport, LS_ACTION_GATHER, &own, sizeof own, &result))
        return fail_transport(transport);
    if (transport->rank == 0)
        find_failed(&result, &first);
    return pronounce(transport, &first);
}

/* Whether the word is the same on all ranks. */
static lockstep_status
compare(LsTransport *transport, uint64_t word, bool *ret_same)
{
    LsResult result;
    uint64_t words[2] = {word, ~word};
    if (!perform(transport, LS_ACTION_AND, words, sizeof words, &result))
        return fail_transport(transport);
    memcpy(words, result.parts[0].data, sizeof words);
    *ret_same = words[0] == ~words[1];
    return LOCKSTEP_OK;
}

lockstep_status
ls_agree_word(LsTransport *transport, uint64_t word, const char *what, lockstep_status status)
{
    bool same = true;
    status = ls_agree(transport, status);
    if (status == LOCKSTEP_OK)
        status = compare(transport, word, &same);
    if (status == LOCKSTEP_OK && !same)
        status =
            ls_fail(LOCKSTEP_ERR_SETTINGS, "%s must be the same on all ranks, but are not", what);
    return status;
}

/* At the root: the first rank whose settings are not rank 0's. */
static void
find_different(const LsSettings *own, const LsResult *result, Verdict *ret_verdict)
{
    *ret_verdict = (Verdict){LOCKSTEP_ERR_SETTINGS, "settings differ between ranks"};
    for (int rank = 1; rank < result->n_parts; rank++) {
        LsSettings other;
        if (result->parts[rank].length != sizeof other) {
            snprintf(ret_verdict->text, sizeof ret_verdict->text,
                     "rank %d runs another version of the library than rank 0", rank);
            return;
        }
        memcpy(&other, result->parts[rank].data, sizeof other);
        LsSettingId id = ls_settings_differ(own, &other);
        if (id == LS_N_SETTINGS)
            continue;
        snprintf(ret_verdict->text, sizeof ret_verdict->text,
                 "setting %s must be the same on all ranks, but is '%s' on rank 0 and '%.*s' on "
                 "rank %d",
                 ls_setting_name(id), own->texts[id], LS_SETTING_TEXT_MAX - 1, other.texts[id],
                 rank);
        return;
    }
}

lockstep_status
ls_agree_settings(LsTransport *transport, const LsSettings *settings, lockstep_status status)
{
    LsResult result;
    Verdict first = {0};
    status = ls_agree(transport, status);
    if (status != LOCKSTEP_OK)
        return status;
    bool same = true;
    status = compare(transport, ls_settings_digest(settings), &same);
    if (status != LOCKSTEP_OK || same)
        return status;
    if (!perform(transport, LS_ACTION_GATHER, settings, sizeof *settings, &result))
        return fail_transport(transport);
    if (transport->rank == 0)
        find_different(settings, &result, &first);
    return pronounce(transport, &first);
}
