/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/pump.h: from an area's rings and texts to chunks, through a sink. The owner's drain
 * thread pumps its own area into its file; whoever recovers pumps a copy of a dead owner's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/area.h"
#include "capture/encode.h"
#include "capture/status.h"

/* Where chunks go. `write` puts bytes at a position of the file; `clear` makes a part of it zero.
 * On a status below 0 nothing counts as written. */
typedef struct LsSink {
    LsStatus (*write)(void *user, uint64_t position, const void *data, size_t bytes);
    LsStatus (*clear)(void *user, uint64_t position, uint64_t bytes);
    void *user;
} LsSink;

#define LS_PUMP_STAGING (256u << 10)
/* Zero bytes behind the first chunk, for a word about losses on a disk that is full. */
#define LS_RESERVE_BYTES 192u

typedef struct LsPump {
    LsAreaHeader *header;
    LsArea *area; /* gives drained rings back to it; NULL: does not */
    LsSink sink;
    LsEncoder encoder;
    LsRing *rings[LS_AREA_UNITS_MAX]; /* of this pass */
    uint64_t limits[LS_AREA_UNITS_MAX];
    bool ended[LS_AREA_UNITS_MAX];
    uint32_t n_rings;
    uint64_t turned_at;
    LsAreaBlock batch;     /* what the staged chunks hold */
    bool has_reserve_text; /* the reserve says something */
} LsPump;

/* staging: LS_PUMP_STAGING bytes, the caller's. */
void ls_pump_open(LsPump *pump, LsAreaHeader *header, LsArea *area, const LsSink *sink,
                  uint8_t *staging);

/* All that was in the area when it was called goes to the sink; on failure the rest stays. */
LsStatus ls_pump_pass(LsPump *pump);
/* Repeats all texts and thread names. */
LsStatus ls_pump_repeat(LsPump *pump);
/* One more record of the process itself. */
LsStatus ls_pump_word(LsPump *pump, const LsRecord *record);
/* Throws away what is in the rings and counts it as lost: the sink takes nothing at present. */
void ls_pump_discard(LsPump *pump);
/* Leaves room for the word of loss; once, right after the first chunk. */
LsStatus ls_pump_reserve(LsPump *pump);
/* Writes the sum of the losses that no LOST record speaks of yet into the reserve; zero bytes when
 * there are none. */
void ls_pump_tell_reserve(LsPump *pump);

/* Completes what a dead owner had begun to commit. */
void ls_pump_settle(LsAreaHeader *header);
