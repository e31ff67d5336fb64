/* SPDX-License-Identifier: Apache-2.0
 * format/crc32c.h: the checksum of the trace file (Castagnoli; RFC 3720 B.4). */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Of data, or, with the sum so far, of what came before and data. 0 to begin with. */
uint32_t ls_crc32c(uint32_t sum, const void *data, size_t length);
