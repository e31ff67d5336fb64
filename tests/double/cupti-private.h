/* SPDX-License-Identifier: Apache-2.0
 *
 * cupti-private.h: CUPTI's double: its state, and records into the client's buffers.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "abi/cupti.h"
#include "double.h"

#define RECORD_MAX 256
#define CALLS_MAX  1024

typedef struct Cupti {
    pthread_mutex_t lock;
    const DoubleTable *table;
    bool is_subscribed, has_zeroed_buffers;
    int thread_type;
    LsCuptiRequest request;
    LsCuptiComplete complete;
    _Atomic(LsCuptiClock) clock;
    _Atomic uint64_t kinds, device_records, kernels;
    _Atomic uint8_t is_muted[CALLS_MAX];
} Cupti;
extern Cupti cupti;

#define LS_ABI_FUNCTION(name, arguments, is_optional) LsCuptiResult name arguments;
LS_CUPTI_FUNCTIONS(LS_ABI_FUNCTION)
#undef LS_ABI_FUNCTION

uint64_t cupti_now(void);
void cupti_tell_overhead(uint32_t kind, uint64_t start, uint64_t end);

/* Starts the thread that hands full buffers over; once. */
void buffer_start(void);
/* A record that is whole; a late one comes after some others. */
void buffer_add(const uint8_t *record, size_t bytes, bool is_late);
/* One that has begun; returns where it lies, 0: nowhere. `buffer_end` gives it its times, if the
 * buffer is still ours. */
uint64_t buffer_begin(const uint8_t *record, size_t bytes);
void buffer_end(uint64_t where, uint64_t start, uint64_t end);
void buffer_drop(int kind);
/* Bytes of a record of this kind in this version; 0: no such kind. */
size_t record_bytes(int kind);

static inline void
put32(uint8_t *record, size_t at, uint32_t value)
{
    memcpy(record + at, &value, sizeof value);
}

static inline void
put64(uint8_t *record, size_t at, uint64_t value)
{
    memcpy(record + at, &value, sizeof value);
}
