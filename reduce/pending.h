/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/pending.h: what this rank has submitted and has no answer to yet.
 *
 * Every control keeps one: an answer is taken only to what was asked, and once. A tensor that
 * failed by stalling before this rank came to submit it is owed to this rank: its later submission
 * meets that failure here, so that the ranks' occurrences of the name stay in step. Libc only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "reduce/message.h"
#include "reduce/roster.h"

typedef struct LsPending {
    LsRoster waiting;
    LsRoster owed;
} LsPending; /* all zero: empty */

void ls_pending_clear(LsPending *pending);
/* Notes the requests. Those that are owed a failure leave the list; their answers go to the end of
 * ret_late. false: out of memory. */
bool ls_pending_submit(LsPending *pending, LsRequestList *requests, LsResponseList *ret_late);
/* Strikes off what the responses answer; removes failures that are not ours from the list. NULL, or
 * one sentence in `error`: an answer to what was not asked. */
const char *ls_pending_settle(LsPending *pending, LsResponseList *responses, char error[160]);
