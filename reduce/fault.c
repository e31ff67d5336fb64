/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/fault.c: one sentence, without an allocation.
 */
#include "reduce/fault.h"

#include <stdio.h>

bool
ls_fault_is(const LsFault *fault)
{
    return fault->text[0] != '\0';
}

void
ls_fault_note(LsFault *fault, const char *text)
{
    if (!ls_fault_is(fault))
        snprintf(fault->text, sizeof fault->text, "%s", text);
}

void
ls_fault_note_rank(LsFault *fault, int rank, const char *text)
{
    if (!ls_fault_is(fault))
        snprintf(fault->text, sizeof fault->text, "rank %d: %.200s", rank, text);
}
