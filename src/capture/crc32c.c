/* SPDX-License-Identifier: Apache-2.0
 *
 * CRC32C by the SSE4.2 instruction where the processor has it (8 bytes in 3 cycles), else four bits
 * at a time from a table of 16: small enough to be read here, and fast enough for a drain.
 */
#include "capture/crc32c.h"

#include <string.h>

static const uint32_t nibbles[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t
ls_crc32c_plain(uint32_t crc, const void *data, size_t length)
{
    const uint8_t *at = data;
    crc = ~crc;
    for (size_t i = 0; i < length; i++) {
        crc ^= at[i];
        crc = crc >> 4 ^ nibbles[crc & 15];
        crc = crc >> 4 ^ nibbles[crc & 15];
    }
    return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t
crc32c_sse42(uint32_t crc, const void *data, size_t length)
{
    const uint8_t *at = data;
    uint64_t sum = ~crc;
    for (; length >= 8; length -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        sum = __builtin_ia32_crc32di(sum, word);
    }
    for (; length > 0; length--, at++)
        sum = __builtin_ia32_crc32qi((uint32_t)sum, *at);
    return ~(uint32_t)sum;
}
#endif

uint32_t
ls_crc32c(uint32_t crc, const void *data, size_t length)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2"))
        return crc32c_sse42(crc, data, length);
#endif
    return ls_crc32c_plain(crc, data, length);
}
