/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/handle.c: slots with a free list. A handle is uses << 32 | slot + 1; never 0.
 */
#include "reduce/handle.h"

#include <stdlib.h>
#include <string.h>

static LsHandleSlot *
find(const LsHandles *handles, lockstep_handle handle)
{
    uint32_t slot = (uint32_t)handle - 1;
    if ((uint32_t)handle == 0 || slot >= handles->n)
        return NULL;
    LsHandleSlot *found = &handles->slots[slot];
    return found->taken && found->uses == (uint32_t)(handle >> 32) ? found : NULL;
}

static bool
grow(LsHandles *handles)
{
    uint32_t capacity = handles->capacity > 0 ? handles->capacity * 2 : 64;
    if (capacity < handles->capacity)
        return false;
    LsHandleSlot *slots = realloc(handles->slots, capacity * sizeof *slots);
    if (slots == NULL)
        return false;
    handles->slots = slots;
    handles->capacity = capacity;
    return true;
}

bool
ls_handles_add(LsHandles *handles, lockstep_handle *ret_handle)
{
    uint32_t slot;
    if (handles->first_free != 0) {
        slot = handles->first_free - 1;
        handles->first_free = handles->slots[slot].next_free;
    } else {
        if (handles->n == handles->capacity && !grow(handles))
            return false;
        slot = handles->n++;
        handles->slots[slot].uses = 0;
    }
    LsHandleSlot *added = &handles->slots[slot];
    *added = (LsHandleSlot){.uses = added->uses, .taken = true, .status = LOCKSTEP_IN_PROGRESS};
    *ret_handle = (uint64_t)added->uses << 32 | (slot + 1);
    return true;
}

void
ls_handles_finish(LsHandles *handles, lockstep_handle handle, lockstep_status status,
                  const char *text)
{
    LsHandleSlot *slot = find(handles, handle);
    if (slot == NULL)
        return;
    slot->done = true;
    slot->status = status;
    slot->text = text != NULL ? strdup(text) : NULL;
}

const LsHandleSlot *
ls_handles_find(const LsHandles *handles, lockstep_handle handle)
{
    return find(handles, handle);
}

void
ls_handles_remove(LsHandles *handles, lockstep_handle handle)
{
    LsHandleSlot *slot = find(handles, handle);
    if (slot == NULL)
        return;
    free(slot->text);
    slot->text = NULL;
    slot->taken = false;
    slot->uses++;
    slot->next_free = handles->first_free;
    handles->first_free = (uint32_t)handle;
}

void
ls_handles_clear(LsHandles *handles)
{
    for (uint32_t i = 0; i < handles->n; i++) {
        if (handles->slots[i].taken)
            free(handles->slots[i].text);
    }
    free(handles->slots);
    *handles = (LsHandles){0};
}
