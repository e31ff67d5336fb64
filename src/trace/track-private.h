/* SPDX-License-Identifier: Apache-2.0
 * trace/track-private.h: a track while it grows; shared by process.c, builder.c and freeze. */
#pragma once

#include "trace/columns.h"
#include "trace/process.h"

struct LsTrackBuilder {
    LsTrackKind kind;
    uint8_t source;          /* LsSource of its process */
    uint32_t rank;           /* LS_NONE until taken */
    uint32_t name, category; /* strings of the process, then of the builder */
    int64_t id;
    const LsProcess *process; /* NULL when taken */
    size_t n;
    LsColumns spans;
    GArray *samples; /* LsSample; NULL but for counters */
};

void ls_track_builder_free(LsTrackBuilder *track);
