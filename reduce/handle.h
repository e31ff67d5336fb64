/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/handle.h: numbers for submitted tensors, and what became of each.
 *
 * A handle is a slot and the count of its uses, so that finding one costs no search and a number
 * comes back only after 2^32 uses of its slot. No lock: the queue's holds.
 */
#pragma once

#include "reduce/lockstep.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct LsHandleSlot {
    uint32_t uses;
    uint32_t next_free; /* slot + 1; 0: none */
    bool taken, done;
    lockstep_status status;
    char *text; /* owned; of a status below 0, NULL if none */
} LsHandleSlot;

typedef struct LsHandles {
    LsHandleSlot *slots; /* owned */
    uint32_t n, capacity, first_free;
} LsHandles;

/* false: out of memory. */
bool ls_handles_add(LsHandles *handles, lockstep_handle *ret_handle);
/* The tensor is done; text is copied. */
void ls_handles_finish(LsHandles *handles, lockstep_handle handle, lockstep_status status,
                       const char *text);
/* NULL: there is none such (any more). Borrowed until the next add. */
const LsHandleSlot *ls_handles_find(const LsHandles *handles, lockstep_handle handle);
void ls_handles_remove(LsHandles *handles, lockstep_handle handle);
void ls_handles_clear(LsHandles *handles);
