/* SPDX-License-Identifier: Apache-2.0
 *
 * A free list of buffers. New memory comes zeroed from the kernel; what comes back is zeroed by
 * whoever read it, not by the thread that asks. CUPTI before CUDA 12.9 crashed on a refusal: it
 * gets a buffer that nobody reads.
 */
#include "tracer/cupti-buffer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "capture/recorder.h"

#define BUFFER_BYTES ((size_t)512 << 10)
#define BUFFERS_MAX  128 /* 64 MB */
#define REFUSE_SINCE 27u /* CUDA 12.9 */

static struct {
    pthread_mutex_t lock;
    uint8_t *free[BUFFERS_MAX], *made[BUFFERS_MAX];
    int64_t taken_ns[BUFFERS_MAX]; /* of those made */
    int n_free, n_made;
    bool may_refuse;
    uint8_t *scratch;
    _Atomic uint64_t refused;
} buffers = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint8_t *
make(void)
{
    void *memory =
        mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void
ls_cupti_buffer_open(uint32_t cupti_version)
{
    buffers.may_refuse = cupti_version >= REFUSE_SINCE;
    if (!buffers.may_refuse)
        buffers.scratch = make();
}

/* Under the lock. -1: none that was made here. */
static int
find(const uint8_t *buffer)
{
    int i = buffers.n_made;
    while (--i >= 0 && buffers.made[i] != buffer)
        continue;
    return i;
}

void
ls_cupti_buffer_take(uint8_t **ret_buffer, size_t *ret_size)
{
    uint8_t *buffer = NULL;
    int64_t now = ls_recorder_now();
    pthread_mutex_lock(&buffers.lock);
    if (buffers.n_free > 0)
        buffer = buffers.free[--buffers.n_free];
    else if (buffers.n_made < BUFFERS_MAX && (buffer = make()) != NULL)
        buffers.made[buffers.n_made++] = buffer;
    int number = find(buffer);
    if (number >= 0)
        buffers.taken_ns[number] = now;
    pthread_mutex_unlock(&buffers.lock);
    if (buffer == NULL) {
        atomic_fetch_add(&buffers.refused, 1);
        buffer = buffers.scratch;
    }
    *ret_buffer = buffer;
    *ret_size = buffer != NULL ? BUFFER_BYTES : 0;
}

int64_t
ls_cupti_buffer_taken_ns(const uint8_t *buffer)
{
    pthread_mutex_lock(&buffers.lock);
    int number = find(buffer);
    int64_t taken_ns = number < 0 ? INT64_MAX : buffers.taken_ns[number];
    pthread_mutex_unlock(&buffers.lock);
    return taken_ns;
}

void
ls_cupti_buffer_give(uint8_t *buffer, size_t valid)
{
    memset(buffer, 0, valid < BUFFER_BYTES ? valid : BUFFER_BYTES);
    if (ls_cupti_buffer_is_scratch(buffer))
        return;
    pthread_mutex_lock(&buffers.lock);
    /* One that we never gave out (another tool's) is not ours to keep. */
    if (buffers.n_free < buffers.n_made)
        buffers.free[buffers.n_free++] = buffer;
    pthread_mutex_unlock(&buffers.lock);
}

bool
ls_cupti_buffer_is_scratch(const uint8_t *buffer)
{
    return buffer == buffers.scratch;
}

uint64_t
ls_cupti_buffer_refused(void)
{
    return atomic_exchange(&buffers.refused, 0);
}
