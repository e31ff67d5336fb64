/* SPDX-License-Identifier: Apache-2.0
 * format/crc32c.c: CRC32C by eight tables, eight bytes a step (Kounavis and Berry, "slicing-by-8"):
 * no special instructions, and an eighth of the time that decoding takes. */
#include "format/crc32c.h"

#include <glib.h>
#include <string.h>

#define POLYNOMIAL 0x82f63b78u

static uint32_t tables[8][256];

static void
fill_tables(void)
{
    static gsize filled;
    if (!g_once_init_enter(&filled))
        return;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t sum = i;
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? POLYNOMIAL : 0);
        tables[0][i] = sum;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int k = 1; k < 8; k++)
            tables[k][i] = tables[k - 1][i] >> 8 ^ tables[0][tables[k - 1][i] & 255];
    g_once_init_leave(&filled, 1);
}

uint32_t
ls_crc32c(uint32_t sum, const void *data, size_t length)
{
    fill_tables();
    const uint8_t *at = data;
    sum = ~sum;
    for (; length >= 8; length -= 8, at += 8) {
        uint32_t low = sum ^ ((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
                              (uint32_t)at[3] << 24);
        sum = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^ tables[5][low >> 16 & 255] ^
              tables[4][low >> 24] ^ tables[3][at[4]] ^ tables[2][at[5]] ^ tables[1][at[6]] ^
              tables[0][at[7]];
    }
    for (; length > 0; length--, at++)
        sum = sum >> 8 ^ tables[0][(sum ^ *at) & 255];
    return ~sum;
}
