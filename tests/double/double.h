/* SPDX-License-Identifier: Apache-2.0
 *
 * double.h: what the libraries of the test double share: how nasty they are, what they count, and
 * how libcupti and libnccl reach into libcuda (through an export table, as the real ones do).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/cuda.h"

#define DOUBLE_NAME    "CPU test double"
#define DOUBLE_DEVICES 8
#define DOUBLE_API     __attribute__((visibility("default")))

/* $LOCKSTEP_DOUBLE, a list "name=number,...": what is not named is nasty by default; "calm" first
 * makes it 0. */
typedef struct DoubleSettings {
#define SETTING(name, nasty, calm) int64_t name;
#include "settings.def"
#undef SETTING
} DoubleSettings;
const DoubleSettings *double_settings(void);

/* Exact counts of what was done, by key; written as "key number" lines, sorted, to
 * $LOCKSTEP_DOUBLE_COUNTS/LIBRARY.PID when the library is unloaded. */
void double_count(int64_t n, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Deterministic pseudo-random numbers: the n-th of a seed, a hash. */
uint64_t double_random(uint64_t seed, uint64_t n);
int64_t double_now(int clock);
void double_sleep(int64_t ns);

/* Something that a stream did, as CUPTI will tell of it. */
typedef struct DoubleActivity {
    int kind; /* LsCuptiKind */
    const char *name;
    uint32_t device, context, stream, correlation;
    uint32_t grid[3], block[3];
    uint64_t bytes;
    uint32_t value;
    uint8_t copy_kind, source, target;
} DoubleActivity;

/* What libcupti hands to libcuda. Called without locks of libcuda. */
typedef struct DoubleTool {
    uint64_t (*clock)(void);
    /* A call has returned, on the caller's thread. */
    void (*api)(uint32_t call, uint64_t start, uint64_t end, uint32_t correlation, int status);
    /* A call is about to be made: external correlation. */
    void (*enter)(uint32_t call, uint32_t correlation);
    /* On the stream's thread; `begin` returns where the record lies. */
    uint64_t (*begin)(const DoubleActivity *activity, uint64_t start);
    void (*end)(uint64_t where, const DoubleActivity *activity, uint64_t start, uint64_t end);
    void (*sync)(int type, uint64_t start, uint64_t end, uint32_t correlation, uint32_t context,
                 uint32_t stream, uint32_t event);
} DoubleTool;

/* A place in a stream's row of work. */
typedef struct DoublePlace {
    void *stream;
    uint64_t number;
} DoublePlace;

/* What libcuda's export table offers. */
typedef struct DoubleTable {
    size_t bytes;
    void (*set_tool)(const DoubleTool *tool);
    /* A kernel whose work is a function of the caller's library. `after`: it begins when that is
     * done. */
    LsCuResult (*launch)(LsCuStream stream, const char *name, unsigned blocks, unsigned threads,
                         void (*work)(void *), void *user, const DoublePlace *after,
                         DoublePlace *ret_place);
    /* The device's own clock: it has another origin, and drifts. */
    uint64_t (*device_clock)(void);
    int (*is_initialized)(void);
    /* Whether it is memory of a device. */
    int (*is_device)(const void *pointer);
} DoubleTable;

#define DOUBLE_TABLE_ID                                                                            \
    {                                                                                              \
        {                                                                                          \
            'l', 'o', 'c', 'k', 's', 't', 'e', 'p', ' ', 'd', 'o', 'u', 'b', 'l', 'e', 1           \
        }                                                                                          \
    }
/* From a library of the double: libcuda's table; NULL: libcuda is not there or not ours. */
const DoubleTable *double_find_table(void);
