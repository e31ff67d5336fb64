/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda-private.h: the driver of the test double: streams and what they do.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "abi/cupti.h"
#include "double.h"

#define STREAMS_MAX  64
#define DEPENDS_MAX  (STREAMS_MAX + 1)
#define PARAMS_MAX   16
#define PARAMS_BYTES 256

typedef struct Stream Stream;

/* One piece of work of a stream. */
typedef struct Work {
    struct Work *next;
    DoubleActivity activity; /* kind 0: nobody is told of it */
    void (*run)(struct Work *work);
    DoublePlace depends[DEPENDS_MAX];
    int n_depends;
    const struct Function *function; /* of a kernel */
    unsigned char params[PARAMS_BYTES];
    void *param_at[PARAMS_MAX];
    void (*host)(void *);
    void *user;
    void *target;
    const void *source;
    uint32_t fill_bytes; /* memset: 1 or 4 */
} Work;

struct Stream {
    uint32_t id;
    bool is_blocking, is_default, is_over;
    int priority;
    uint64_t asked, done; /* numbers of the last work */
    Work *first, **last;
    pthread_t thread;
};

typedef struct Event {
    Stream *stream;
    uint64_t number;
    int64_t time_ns; /* when it was reached */
    uint32_t id;
    bool is_recorded;
} Event;

typedef struct Function {
    struct Function *next;
    char name[128];
    int n_params;
    int param_bytes[PARAMS_MAX];
    void (*twin)(const unsigned grid[3], const unsigned block[3], void *const *params);
} Function;

/* The whole driver. */
typedef struct Driver {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_initialized;
    _Atomic(const DoubleTool *) tool;
    _Atomic uint32_t correlations;
    Stream *streams[STREAMS_MAX]; /* [0]: the default one */
    uint32_t n_streams, n_events;
} Driver;
extern Driver driver;

/* A call of the API: what CUPTI is told of it. */
typedef struct Call {
    uint32_t number, correlation;
    uint64_t start;
    const DoubleTool *tool;
} Call;
Call call_begin(uint32_t number);
int call_end(const Call *call, int status);

Stream *stream_find(LsCuStream handle); /* NULL: not a stream */
Stream *stream_open(bool is_blocking);
void stream_close(Stream *stream);
/* Appends; `work` is freed when it is done. */
DoublePlace stream_add(Stream *stream, Work *work);
void place_wait(DoublePlace place);
bool place_is_done(DoublePlace place); /* under the lock */
Work *work_new(int kind, const Call *call);
void work_depends(Work *work, DoublePlace place);

/* Of the driver itself: the same list that its callers have. */
#define LS_ABI_FUNCTION(name, arguments) LsCuResult name arguments;
LS_CUDA_FUNCTIONS(LS_ABI_FUNCTION)
#undef LS_ABI_FUNCTION

LsCuResult launch_work(LsCuStream handle, const char *name, unsigned blocks, unsigned threads,
                       void (*work)(void *), void *user, const DoublePlace *after,
                       DoublePlace *ret_place);

bool memory_is_ours(LsCuPointer pointer);
uint64_t tool_now(const DoubleTool *tool);
int current_device(void); /* of the thread; < 0: no context */
