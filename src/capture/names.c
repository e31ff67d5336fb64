/* SPDX-License-Identifier: Apache-2.0
 *
 * A hash table (FNV-1a, linear probing) over the area's text log. Ids count from 1 in the order of
 * first use.
 */
#include "capture/names.h"

#include <stdlib.h>
#include <string.h>

#include "capture/encode.h"
#include "capture/visit.h"

#define SLOTS_FIRST 256

typedef struct LsNameSlot {
    uint32_t hash;
    uint32_t id; /* 0: free */
    uint64_t offset;
} LsNameSlot;

static uint32_t
hash_text(const char *text, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    return hash;
}

void
ls_names_open(LsNames *names, LsArea *area)
{
    names->area = area;
    names->slots = NULL;
    names->n_slots = names->n_names = 0;
    names->refused = 0;
}

void
ls_names_close(LsNames *names)
{
    pthread_mutex_lock(&names->lock);
    free(names->slots);
    ls_names_open(names, NULL);
    pthread_mutex_unlock(&names->lock);
}

static LsNameSlot *
find(const LsNames *names, uint32_t hash, const char *text, size_t length)
{
    const char *log = (const char *)names->area->header + names->area->header->text_offset;
    for (uint32_t i = hash;; i++) {
        LsNameSlot *slot = &names->slots[i & (names->n_slots - 1)];
        if (slot->id == 0)
            return slot;
        LsAreaText entry;
        memcpy(&entry, log + slot->offset, sizeof entry);
        if (slot->hash == hash && entry.length == length &&
            memcmp(log + slot->offset + sizeof entry, text, length) == 0)
            return slot;
    }
}

static bool
grow(LsNames *names)
{
    uint32_t n_slots = names->n_slots == 0 ? SLOTS_FIRST : names->n_slots * 2;
    LsNameSlot *slots = calloc(n_slots, sizeof *slots);
    if (slots == NULL)
        return false;
    for (uint32_t i = 0; i < names->n_slots; i++) {
        uint32_t at = names->slots[i].hash;
        if (names->slots[i].id == 0)
            continue;
        while (slots[at & (n_slots - 1)].id != 0)
            at++;
        slots[at & (n_slots - 1)] = names->slots[i];
    }
    free(names->slots);
    names->slots = slots;
    names->n_slots = n_slots;
    return true;
}

static uint32_t
intern_locked(LsNames *names, const char *text, size_t length)
{
    if (names->area == NULL || (names->n_names * 2 >= names->n_slots && !grow(names)))
        return 0;
    LsAreaHeader *header = names->area->header;
    uint32_t hash = hash_text(text, length);
    LsNameSlot *slot = find(names, hash, text, length);
    if (slot->id != 0)
        return slot->id;
    uint64_t offset = atomic_load_explicit(&header->text_used, memory_order_relaxed);
    uint32_t id = names->n_names + 1;
    if (!ls_area_add_text(names->area, LS_RECORD_NAME, id, text, length)) {
        names->refused++;
        return 0;
    }
    *slot = (LsNameSlot){hash, id, offset};
    names->n_names = id;
    atomic_store(&header->names, id);
    return id;
}

static size_t
bounded_length(const char *text)
{
    return strnlen(text, LS_TEXT_MAX);
}

uint32_t
ls_names_intern(LsNames *names, const char *text)
{
    LsVisit visit = ls_visit_begin();
    pthread_mutex_lock(&names->lock);
    uint32_t id = text == NULL ? 0 : intern_locked(names, text, bounded_length(text));
    pthread_mutex_unlock(&names->lock);
    ls_visit_end(visit);
    return id;
}

void
ls_names_add_info(LsNames *names, const char *key, const char *value)
{
    LsVisit visit = ls_visit_begin();
    pthread_mutex_lock(&names->lock);
    uint32_t id = intern_locked(names, key, bounded_length(key));
    if (id != 0)
        ls_area_add_text(names->area, LS_RECORD_INFO, id, value, bounded_length(value));
    pthread_mutex_unlock(&names->lock);
    ls_visit_end(visit);
}
