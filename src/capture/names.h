/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/names.h: text -> id, each text once. The texts lie in the area, so that they outlive the
 * process; the table that finds them is the process's own.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "capture/area.h"

typedef struct LsNames {
    pthread_mutex_t lock;
    LsArea *area;
    struct LsNameSlot *slots; /* open addressing, size a power of two, at most half full */
    uint32_t n_slots, n_names;
    uint64_t refused; /* texts that found no room */
} LsNames;

void ls_names_open(LsNames *names, LsArea *area);
void ls_names_close(LsNames *names);

/* The id of a text (cut to LS_TEXT_MAX); 0: no room. Any thread. */
uint32_t ls_names_intern(LsNames *names, const char *text);
/* A fact: goes into the text log under the id of its key. */
void ls_names_add_info(LsNames *names, const char *key, const char *value);
