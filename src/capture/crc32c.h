/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/crc32c.h: the checksum of a chunk (Castagnoli polynomial, as in iSCSI, RFC 3720 B.4).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The sum of `length` bytes that follow those summed in `crc`; 0 to begin with. Any thread. */
uint32_t ls_crc32c(uint32_t crc, const void *data, size_t length);
/* The same without the processor's instruction; for tests. */
uint32_t ls_crc32c_plain(uint32_t crc, const void *data, size_t length);
