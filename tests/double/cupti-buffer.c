/* SPDX-License-Identifier: Apache-2.0
 *
 * Buffers of CUPTI's double. They come back late and on another thread; their records are in any
 * order; one that is not over keeps its buffer back unless it is forced out, and is then never
 * delivered again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cupti-private.h"

#define SLOTS    256
#define LATE_MAX 16
#define START_AT 16
#define END_AT   24

typedef struct Buffer {
    uint8_t *data; /* NULL: the slot is free */
    size_t size, valid;
    uint32_t generation, open;
    bool is_full, is_leaving;
    int64_t full_ns;
} Buffer;

typedef struct Late {
    uint8_t record[RECORD_MAX];
    size_t bytes;
} Late;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static Buffer buffers[SLOTS];
static int current = -1; /* slot that is being filled */
static bool is_asking;   /* a thread is inside the request callback */
static Late late[LATE_MAX];
static int n_late;
static size_t dropped;
static uint64_t shuffles;
static pthread_once_t once = PTHREAD_ONCE_INIT;

size_t
record_bytes(int kind)
{
    switch (kind) {
    case LS_CUPTI_MEMCPY:
        return LS_CUPTI_MEMCPY_BYTES_13_0;
    case LS_CUPTI_MEMSET:
        return LS_CUPTI_MEMSET_BYTES_13_0;
    case LS_CUPTI_KERNEL:
    case LS_CUPTI_CONCURRENT_KERNEL:
        return LS_CUPTI_KERNEL_BYTES_13_0;
    case LS_CUPTI_DRIVER:
    case LS_CUPTI_RUNTIME:
        return LS_CUPTI_API_BYTES;
    case LS_CUPTI_OVERHEAD:
        return LS_CUPTI_OVERHEAD_BYTES_13_0;
    case LS_CUPTI_SYNCHRONIZATION:
        return LS_CUPTI_SYNC_BYTES_13_0;
    case LS_CUPTI_EXTERNAL_CORRELATION:
        return LS_CUPTI_EXTERNAL_BYTES;
    default:
        return 0;
    }
}

void
buffer_drop(int kind)
{
    pthread_mutex_lock(&lock);
    dropped++;
    pthread_mutex_unlock(&lock);
    double_count(1, "dropped.%d", kind);
    double_count(1, "dropped");
}

/* The client promised zeros where it set the attribute. */
static void
check_zero(const uint8_t *data, size_t size)
{
    if (!cupti.has_zeroed_buffers)
        return;
    for (size_t i = 0; i < size; i++) {
        if (data[i] != 0) {
            double_count(1, "fault.buffer_not_zero");
            return;
        }
    }
}

/* Under the lock, which is given up while the client is asked. */
static bool
ask_for_buffer(void)
{
    while (is_asking)
        pthread_cond_wait(&changed, &lock);
    if (current >= 0)
        return true;
    uint8_t *data = NULL;
    size_t size = 0, max_records = 0;
    is_asking = true;
    pthread_mutex_unlock(&lock);
    if (cupti.request != NULL)
        cupti.request(&data, &size, &max_records);
    if (data != NULL && !cupti.has_zeroed_buffers)
        memset(data, 0, size);
    else if (data != NULL)
        check_zero(data, size);
    pthread_mutex_lock(&lock);
    is_asking = false;
    pthread_cond_broadcast(&changed);
    int slot = 0;
    while (slot < SLOTS && buffers[slot].data != NULL)
        slot++;
    if (data == NULL || slot == SLOTS || size < RECORD_MAX)
        return false;
    uint32_t generation = buffers[slot].generation + 1;
    buffers[slot] = (Buffer){.data = data, .size = size, .generation = generation};
    current = slot;
    return true;
}

/* A place for so many bytes; NULL: the client gave no buffer. Under the lock. */
static uint8_t *
take_room(size_t bytes)
{
    if (current >= 0 && buffers[current].valid + bytes > buffers[current].size) {
        buffers[current].is_full = true;
        buffers[current].full_ns = double_now(CLOCK_MONOTONIC);
        current = -1;
        pthread_cond_broadcast(&changed);
    }
    if (current < 0 && !ask_for_buffer())
        return NULL;
    if (buffers[current].valid + bytes > buffers[current].size)
        return take_room(bytes);
    uint8_t *at = buffers[current].data + buffers[current].valid;
    buffers[current].valid += bytes;
    return at;
}

/* Under the lock. */
static void
add_late(void)
{
    for (int i = 0; i < n_late; i++) {
        uint8_t *at = take_room(late[i].bytes);
        if (at != NULL)
            memcpy(at, late[i].record, late[i].bytes);
        else
            dropped++;
    }
    n_late = 0;
}

void
buffer_add(const uint8_t *record, size_t bytes, bool is_late)
{
    pthread_mutex_lock(&lock);
    if (is_late && n_late < LATE_MAX) {
        memcpy(late[n_late].record, record, bytes);
        late[n_late++].bytes = bytes;
    } else {
        uint8_t *at = take_room(bytes);
        if (at != NULL)
            memcpy(at, record, bytes);
        else
            dropped++;
        if (n_late == LATE_MAX)
            add_late();
    }
    pthread_mutex_unlock(&lock);
}

uint64_t
buffer_begin(const uint8_t *record, size_t bytes)
{
    uint64_t where = 0;
    int kind = (int)ls_cupti_get32(record, LS_CUPTI_AT_KIND);
    pthread_mutex_lock(&lock);
    uint8_t *at = take_room(bytes);
    if (at != NULL) {
        Buffer *buffer = &buffers[current];
        memcpy(at, record, bytes);
        buffer->open++;
        where = (uint64_t)(current + 1) << 56 | (uint64_t)(buffer->generation & 0xffffffu) << 32 |
                (uint64_t)(at - buffer->data);
    }
    pthread_mutex_unlock(&lock);
    if (where == 0)
        buffer_drop(kind);
    return where;
}

void
buffer_end(uint64_t where, uint64_t start, uint64_t end)
{
    Buffer *buffer = &buffers[(where >> 56) - 1];
    pthread_mutex_lock(&lock);
    if (buffer->data != NULL && !buffer->is_leaving &&
        (buffer->generation & 0xffffffu) == (where >> 32 & 0xffffffu)) {
        uint8_t *record = buffer->data + (where & 0xffffffffu);
        put64(record, START_AT, start);
        put64(record, END_AT, end);
        buffer->open--;
        if (buffer->is_full)
            pthread_cond_broadcast(&changed);
    } else {
        double_count(1, "cut"); /* it was forced out unfinished, and never comes again */
    }
    pthread_mutex_unlock(&lock);
}

static void
shuffle(uint8_t *data, size_t valid, uint64_t seed)
{
    size_t n = 0, used = 0, capacity = valid / LS_CUPTI_EXTERNAL_BYTES + 1;
    size_t *at = malloc(capacity * sizeof *at);
    uint8_t *copy = malloc(valid);
    for (size_t offset = 0; offset < valid; n++) {
        at[n] = offset;
        offset += record_bytes((int)ls_cupti_get32(data + offset, LS_CUPTI_AT_KIND));
    }
    for (size_t i = n; i > 1; i--) {
        size_t other = double_random(seed, i) % i, swap = at[i - 1];
        at[i - 1] = at[other];
        at[other] = swap;
    }
    for (size_t i = 0; i < n; i++) {
        size_t bytes = record_bytes((int)ls_cupti_get32(data + at[i], LS_CUPTI_AT_KIND));
        memcpy(copy + used, data + at[i], bytes);
        used += bytes;
    }
    memcpy(data, copy, valid);
    free(copy);
    free(at);
}

/* Hands a buffer back to the client. Under the lock, which is given up meanwhile. */
static void
hand_over(int slot)
{
    Buffer *buffer = &buffers[slot];
    const DoubleSettings *settings = double_settings();
    uint64_t start = cupti_now(), seed = (uint64_t)settings->seed + ++shuffles;
    buffer->is_leaving = true;
    if (slot == current)
        current = -1;
    pthread_mutex_unlock(&lock);
    if (settings->shuffle != 0)
        shuffle(buffer->data, buffer->valid, seed);
    if (cupti.complete != NULL)
        cupti.complete(NULL, 0, buffer->data, buffer->size, buffer->valid);
    double_count(1, "buffers");
    cupti_tell_overhead(LS_CUPTI_OVERHEAD_BUFFER_FLUSH, start, cupti_now());
    pthread_mutex_lock(&lock);
    buffer->data = NULL;
    pthread_cond_broadcast(&changed);
}

/* CUPTI's own thread: full and complete buffers, some time later. */
static void *
loop(void *user)
{
    int64_t late_ns = double_settings()->late_us * 1000;
    pthread_mutex_lock(&lock);
    for (;;) {
        int slot = 0;
        while (slot < SLOTS && (buffers[slot].data == NULL || !buffers[slot].is_full ||
                                buffers[slot].is_leaving || buffers[slot].open > 0))
            slot++;
        if (slot == SLOTS) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        uint32_t generation = buffers[slot].generation;
        int64_t left = buffers[slot].full_ns + late_ns - double_now(CLOCK_MONOTONIC);
        if (left > 0) {
            pthread_mutex_unlock(&lock);
            double_sleep(left);
            pthread_mutex_lock(&lock);
        }
        if (buffers[slot].data != NULL && !buffers[slot].is_leaving &&
            buffers[slot].generation == generation)
            hand_over(slot);
    }
    return NULL;
}

static void
start(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, loop, NULL) == 0)
        pthread_detach(thread);
}

void
buffer_start(void)
{
    pthread_once(&once, start);
}

static bool
may_leave(const Buffer *buffer, bool is_forced)
{
    return buffer->data != NULL && !buffer->is_leaving && buffer->valid > 0 &&
           (is_forced || buffer->open == 0);
}

DOUBLE_API LsCuptiResult
cuptiActivityFlushAll(uint32_t flags)
{
    bool is_forced = (flags & LS_CUPTI_FLUSH_FORCED) != 0;
    if (cupti.table == NULL && (cupti.table = double_find_table()) == NULL)
        return LS_CUPTI_ERROR_UNKNOWN;
    double_count(1, is_forced ? "flush.forced" : "flush");
    pthread_mutex_lock(&lock);
    add_late();
    for (int slot = 0; slot < SLOTS; slot++) {
        if (may_leave(&buffers[slot], is_forced))
            hand_over(slot);
    }
    for (int slot = 0; slot < SLOTS; slot++) {
        while (buffers[slot].is_leaving && buffers[slot].data != NULL)
            pthread_cond_wait(&changed, &lock);
    }
    pthread_mutex_unlock(&lock);
    return LS_CUPTI_SUCCESS;
}

DOUBLE_API LsCuptiResult
cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *ret_dropped)
{
    pthread_mutex_lock(&lock);
    *ret_dropped = dropped;
    dropped = 0;
    pthread_mutex_unlock(&lock);
    return LS_CUPTI_SUCCESS;
}

DOUBLE_API LsCuptiResult
cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record)
{
    size_t at = 0;
    if (buffer == NULL || record == NULL)
        return LS_CUPTI_ERROR_INVALID_PARAMETER;
    if (*record != NULL) {
        size_t bytes = record_bytes((int)ls_cupti_get32(*record, LS_CUPTI_AT_KIND));
        if (bytes == 0)
            return LS_CUPTI_ERROR_INVALID_KIND;
        at = (size_t)(*record - buffer) + bytes;
    }
    if (at + 4 > valid)
        return LS_CUPTI_ERROR_MAX_LIMIT_REACHED;
    size_t bytes = record_bytes((int)ls_cupti_get32(buffer + at, LS_CUPTI_AT_KIND));
    if (bytes == 0 || at + bytes > valid)
        return bytes == 0 ? LS_CUPTI_ERROR_INVALID_KIND : LS_CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = buffer + at;
    return LS_CUPTI_SUCCESS;
}
