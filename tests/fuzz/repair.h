/* SPDX-License-Identifier: Apache-2.0
 * repair.h: makes the checksums of what looks like chunks right, so that changed payloads reach the
 * decoder. */
#pragma once

#include <string.h>

#include "capture/crc32c.h"
#include "capture/format.h"

static inline void
repair_chunks(uint8_t *data, size_t length)
{
    LsChunkHeader header;
    for (size_t at = 0; length - at >= sizeof header;) {
        memcpy(&header, data + at, sizeof header);
        size_t whole = (size_t)header.header_bytes + header.payload_bytes;
        if (header.magic != LS_CHUNK_MAGIC || header.header_bytes < sizeof header ||
            whole > length - at) {
            at++;
            continue;
        }
        header.crc32c = 0;
        memcpy(data + at, &header, sizeof header);
        header.crc32c = ls_crc32c(0, data + at, whole);
        memcpy(data + at, &header, sizeof header);
        at += whole;
    }
}
