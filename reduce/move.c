/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/move.c: pieces. An average is summed in a wider type (reduce/average.h); a float32 that
 * travels as 16 bits is divided before, not after, so that an average cannot overflow on the way.
 */
#include "reduce/move.h"

#include "reduce/arith.h"
#include "reduce/average.h"
#include "reduce/instrument.h"
#include "reduce/message.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_BYTES_MIN (1024 * 1024)
#define VALUE_BYTES    16 /* no element is wider, widened */

struct LsMover {
    LsMoverConfig config;
    void *room;       /* owned */
    int64_t *offsets; /* owned: ranks + 1 */
};

LsMover *
ls_mover_new(const LsMoverConfig *config)
{
    LsMover *mover = calloc(1, sizeof *mover);
    if (mover == NULL)
        return NULL;
    size_t least = (size_t)config->ranks * VALUE_BYTES;
    mover->config = *config;
    if (mover->config.room_bytes < ROOM_BYTES_MIN)
        mover->config.room_bytes = ROOM_BYTES_MIN;
    if (mover->config.room_bytes < least)
        mover->config.room_bytes = least;
    mover->room = malloc(mover->config.room_bytes);
    mover->offsets = calloc((size_t)config->ranks + 1, sizeof *mover->offsets);
    if (mover->room != NULL && mover->offsets != NULL)
        return mover;
    ls_mover_free(mover);
    return NULL;
}

void
ls_mover_free(LsMover *mover)
{
    free(mover->room);
    free(mover->offsets);
    free(mover);
}

static lockstep_status
allreduce_wide(LsMover *mover, const void *input, void *output, int64_t count, lockstep_dtype dtype,
               LsWide wide)
{
    LsPlane *plane = mover->config.plane;
    size_t bytes = ls_dtype_bytes((uint8_t)dtype);
    int64_t room =
        (int64_t)(ROOM_BYTES_MIN / (ls_dtype_bytes((uint8_t)wide.dtype) * wide.per_element));
    lockstep_status status = LOCKSTEP_OK;
    for (int64_t at = 0; at < count && status == LOCKSTEP_OK; at += room) {
        size_t n = (size_t)(count - at < room ? count - at : room);
        const uint8_t *from = (const uint8_t *)input + (size_t)at * bytes;
        ls_average_widen(dtype, from, mover->room, n, mover->config.ranks);
        status = plane->class->allreduce(plane, mover->room, mover->room,
                                         (int64_t)(n * wide.per_element), wide.dtype, LOCKSTEP_SUM);
        if (status == LOCKSTEP_OK)
            ls_average_narrow(dtype, mover->room, (uint8_t *)output + (size_t)at * bytes, n,
                              mover->config.ranks);
    }
    return status;
}

static void
narrow(lockstep_dtype wire, const float *from, uint16_t *to, size_t n, float factor)
{
    for (size_t i = 0; wire == LOCKSTEP_FLOAT16 && i < n; i++)
        to[i] = ls_float16_store(from[i] * factor);
    for (size_t i = 0; wire == LOCKSTEP_BFLOAT16 && i < n; i++)
        to[i] = ls_bfloat16_store(from[i] * factor);
}

static void
widen(lockstep_dtype wire, const uint16_t *from, float *to, size_t n)
{
    for (size_t i = 0; wire == LOCKSTEP_FLOAT16 && i < n; i++)
        to[i] = ls_float16_load(from[i]);
    for (size_t i = 0; wire == LOCKSTEP_BFLOAT16 && i < n; i++)
        to[i] = ls_bfloat16_load(from[i]);
}

static lockstep_status
allreduce_narrow(LsMover *mover, const float *input, float *output, int64_t count, lockstep_op op)
{
    LsPlane *plane = mover->config.plane;
    lockstep_dtype wire = mover->config.wire;
    float factor = op == LOCKSTEP_AVERAGE ? 1.0f / (float)mover->config.ranks : 1;
    int64_t room = ROOM_BYTES_MIN / sizeof(uint16_t), start = ls_instrument_now();
    lockstep_status status = LOCKSTEP_OK;
    for (int64_t at = 0; at < count && status == LOCKSTEP_OK; at += room) {
        size_t n = (size_t)(count - at < room ? count - at : room);
        narrow(wire, input + at, mover->room, n, factor);
        status = plane->class->allreduce(plane, mover->room, mover->room, (int64_t)n, wire,
                                         LOCKSTEP_SUM);
        if (status == LOCKSTEP_OK)
            widen(wire, mover->room, output + at, n);
    }
    ls_plane_stage(plane, wire == LOCKSTEP_FLOAT16 ? "FLOAT16_ALLREDUCE" : "BFLOAT16_ALLREDUCE",
                   start, count * (int64_t)sizeof(uint16_t));
    return status;
}

static bool
is_narrowed(const LsMover *mover, lockstep_dtype dtype, lockstep_op op)
{
    return mover->config.narrow && dtype == LOCKSTEP_FLOAT32 &&
           (op == LOCKSTEP_SUM || op == LOCKSTEP_AVERAGE);
}

int64_t
ls_mover_wire(const LsMover *mover, int64_t count, lockstep_dtype dtype, lockstep_op op)
{
    return is_narrowed(mover, dtype, op) ? count * (int64_t)sizeof(uint16_t) : 0;
}

bool
ls_mover_is_direct(const LsMover *mover, lockstep_dtype dtype, lockstep_op op)
{
    bool averages = mover->config.plane->class->averages && ls_average_wide(dtype).per_element == 0;
    return !is_narrowed(mover, dtype, op) && (op != LOCKSTEP_AVERAGE || averages);
}

lockstep_status
ls_mover_allreduce(LsMover *mover, const void *input, void *output, int64_t count,
                   lockstep_dtype dtype, lockstep_op op)
{
    LsPlane *plane = mover->config.plane;
    LsWide wide = ls_average_wide(dtype);
    if (is_narrowed(mover, dtype, op))
        return allreduce_narrow(mover, input, output, count, op);
    if (ls_mover_is_direct(mover, dtype, op))
        return plane->class->allreduce(plane, input, output, count, dtype, op);
    if (wide.per_element > 0)
        return allreduce_wide(mover, input, output, count, dtype, wide);
    lockstep_status status =
        plane->class->allreduce(plane, input, output, count, dtype, LOCKSTEP_SUM);
    if (status == LOCKSTEP_OK)
        ls_average_divide(dtype, output, (size_t)count, mover->config.ranks);
    return status;
}

/* A reduce-scatter on its way: where the shares begin in the input, and how values travel. */
typedef struct Scatter {
    lockstep_dtype dtype, wire;
    lockstep_op op;
    size_t width, per_element,
        wire_width;        /* bytes of an element; wire values for each; their bytes */
    int64_t share, longer; /* elements of the usual share; of the first `more` ones */
    int more;
} Scatter;

static Scatter
plan_scatter(const LsMover *mover, int64_t rows, int64_t row_count, lockstep_dtype dtype,
             lockstep_op op)
{
    int64_t ranks = mover->config.ranks;
    LsWide wide = ls_average_wide(dtype);
    bool widened = op == LOCKSTEP_AVERAGE && wide.per_element > 0;
    return (Scatter){.dtype = dtype,
                     .wire = widened ? wide.dtype : dtype,
                     .op = op == LOCKSTEP_AVERAGE ? LOCKSTEP_SUM : op,
                     .width = ls_dtype_bytes((uint8_t)dtype),
                     .per_element = widened ? wide.per_element : 0,
                     .wire_width = widened ? ls_dtype_bytes((uint8_t)wide.dtype) * wide.per_element
                                           : ls_dtype_bytes((uint8_t)dtype),
                     .share = rows / ranks * row_count,
                     .longer = (rows / ranks + 1) * row_count,
                     .more = (int)(rows % ranks)};
}

/* Elements `at` to `at + room` of each share, one behind another, as they travel. */
static void
pack_shares(LsMover *mover, const Scatter *scatter, const uint8_t *input, int64_t at, int64_t room)
{
    uint8_t *to = mover->room;
    int64_t values = scatter->per_element > 0 ? (int64_t)scatter->per_element : 1;
    mover->offsets[0] = 0;
    for (int rank = 0; rank < mover->config.ranks; rank++) {
        int64_t count = rank < scatter->more ? scatter->longer : scatter->share;
        int64_t left = count > at ? count - at : 0;
        size_t n = (size_t)(left < room ? left : room);
        const uint8_t *from = input + (size_t)at * scatter->width;
        if (n > 0 && scatter->per_element > 0)
            ls_average_widen(scatter->dtype, from, to, n, mover->config.ranks);
        else if (n > 0)
            memcpy(to, from, n * scatter->width);
        to += n * scatter->wire_width;
        input += (size_t)count * scatter->width;
        mover->offsets[rank + 1] = mover->offsets[rank] + (int64_t)n * values;
    }
}

/* This rank's part of what came. Returns its elements. */
static size_t
unpack_share(const LsMover *mover, const Scatter *scatter, bool average, uint8_t *to)
{
    int rank = mover->config.rank;
    size_t values = scatter->per_element > 0 ? scatter->per_element : 1;
    size_t n = (size_t)(mover->offsets[rank + 1] - mover->offsets[rank]) / values;
    const uint8_t *from =
        (const uint8_t *)mover->room + (size_t)mover->offsets[rank] / values * scatter->wire_width;
    if (n > 0 && scatter->per_element > 0)
        ls_average_narrow(scatter->dtype, from, to, n, mover->config.ranks);
    else if (n > 0)
        memcpy(to, from, n * scatter->width);
    if (average && scatter->per_element == 0)
        ls_average_divide(scatter->dtype, to, n, mover->config.ranks);
    return n;
}

lockstep_status
ls_mover_reduce_scatter(LsMover *mover, const void *input, void *output, int64_t rows,
                        int64_t row_count, lockstep_dtype dtype, lockstep_op op)
{
    LsPlane *plane = mover->config.plane;
    Scatter scatter = plan_scatter(mover, rows, row_count, dtype, op);
    int64_t room = (int64_t)(mover->config.room_bytes / scatter.wire_width) / mover->config.ranks;
    int64_t longest = scatter.more > 0 ? scatter.longer : scatter.share;
    uint8_t *to = output;
    lockstep_status status = LOCKSTEP_OK;
    for (int64_t at = 0; at < longest && status == LOCKSTEP_OK; at += room) {
        pack_shares(mover, &scatter, input, at, room);
        status = plane->class->reduce_scatter(plane, mover->room, mover->offsets, scatter.wire,
                                              scatter.op);
        if (status == LOCKSTEP_OK)
            to += unpack_share(mover, &scatter, op == LOCKSTEP_AVERAGE, to) * scatter.width;
    }
    return status;
}
