/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/device.h: the GPU of a context: its stream, memory for fused buffers, events.
 *
 * All work on the device goes in order through one stream of the highest priority. The driver is
 * loaded by dlopen (src/abi), so that the library needs no CUDA to build or to start. What is not
 * said to be for any thread is for the communication thread, between ls_device_begin() and the end
 * of the buffer.
 */
#pragma once

#include "abi/cuda.h"
#include "reduce/lockstep.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LS_DEVICE_MARKS_MAX 64

/* A moment of the stream, and what ended with it. */
typedef struct LsDeviceMark {
    LsCuEvent event;
    int kind;         /* the caller's */
    const char *text; /* static; NULL: nothing worth a record ended */
    int64_t bytes;
} LsDeviceMark;

typedef struct LsDevice {
    LsCuda cuda;
    LsCuContext context;
    LsCuDevice number;
    LsCuStream stream;   /* owned */
    int priority;        /* the stream's */
    LsCuPointer fusion;  /* owned: fusion_bytes of the device's memory */
    size_t fusion_bytes; /* a multiple of 256 */
    LsDeviceMark marks[LS_DEVICE_MARKS_MAX];
    int n_marks;
    int64_t begin_ns; /* of the first mark */
    bool retained;    /* the primary context is held */

    pthread_mutex_t lock;                    /* of what follows */
    LsCuEvent *spare;                        /* owned: events for inputs that become ready */
    size_t n_spare, n_ready, spare_capacity; /* n_ready: made so far */
} LsDevice;

/* The program's context: what is current in the calling thread; NULL: none, or there is no driver.
 */
LsCuContext ls_device_get_current(void);
/* ordinal: the device's number; "": that of the context `current`, else the local rank modulo the
 * number of devices. */
lockstep_status ls_device_open(const char *ordinal, int local_rank, size_t fusion_bytes,
                               LsCuContext current, LsDevice **ret_device);
/* May be NULL. Waits for the stream. */
void ls_device_close(LsDevice *device);

/* Any thread: makes the device's context current; returns what was, for leave. */
LsCuContext ls_device_enter(const LsDevice *device);
void ls_device_leave(const LsDevice *device, LsCuContext previous);
/* LOCKSTEP_OK, or LOCKSTEP_ERR_DEVICE in the driver's words. Any thread. */
lockstep_status ls_device_check(const LsDevice *device, LsCuResult result, const char *call);
/* Whether it is memory of this device; a sentence else (static text). Any thread. */
const char *ls_device_refuse(const LsDevice *device, const void *pointer);
/* An event at the present end of the stream, for the library's own stream to wait for. Any thread.
 * Recycled by forget. */
lockstep_status ls_device_get_ready(LsDevice *device, LsCuStream stream, LsCuEvent *ret_event);
void ls_device_forget(LsDevice *device, LsCuEvent event);

/* A buffer begins: the stream is idle. */
lockstep_status ls_device_begin(LsDevice *device);
/* Here ends, in the stream, what began with the last mark. */
lockstep_status ls_device_mark(LsDevice *device, int kind, const char *text, int64_t bytes);
/* The stream goes on when the event is reached. NULL: at once. */
lockstep_status ls_device_follow(LsDevice *device, LsCuEvent event);
/* Either end may lie on the host. In the order of the stream. */
lockstep_status ls_device_copy(LsDevice *device, void *to, bool to_device, const void *from,
                               bool from_device, size_t bytes);
/* Waits until the last mark is reached. poll, now and then: a status below 0 ends the wait. */
lockstep_status ls_device_await(LsDevice *device, lockstep_status (*poll)(void *user), void *user);
/* When mark i was reached, as ls_instrument_now() tells time; after await. */
int64_t ls_device_time(const LsDevice *device, int i);
