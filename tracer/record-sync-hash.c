/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-256 as FIPS 180-4 states it: 64 rounds a block, words big-endian. Constants are its section
 * 4.2.2, the start its 5.3.3.
 */
#include "tracer/record-sync-hash.h"

#include <string.h>

#define BLOCK 64

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t
turn(uint32_t word, int by)
{
    return word >> by | word << (32 - by);
}

static void
mix_block(LsHash *hash, const uint8_t *block)
{
    uint32_t words[64], s[8];
    for (int i = 0; i < 16; i++)
        words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
                   (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = words[i - 15], b = words[i - 2];
        words[i] = words[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + words[i - 7] +
                   (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
    memcpy(s, hash->state, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t high = turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25);
        uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        uint32_t first = s[7] + high + choice + constants[i] + words[i];
        uint32_t low = turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22);
        uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += first;
        s[0] = first + low + majority;
    }
    for (int i = 0; i < 8; i++)
        hash->state[i] += s[i];
}

void
ls_hash_begin(LsHash *ret_hash)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memset(ret_hash, 0, sizeof *ret_hash);
    memcpy(ret_hash->state, start, sizeof start);
}

void
ls_hash_add(LsHash *hash, const void *data, size_t n_bytes)
{
    const uint8_t *at = data;
    while (n_bytes > 0) {
        size_t used = hash->bytes % BLOCK, room = BLOCK - used;
        size_t n = n_bytes < room ? n_bytes : room;
        memcpy(hash->block + used, at, n);
        hash->bytes += n;
        at += n;
        n_bytes -= n;
        if (n == room)
            mix_block(hash, hash->block);
    }
}

void
ls_hash_end(LsHash *hash, uint8_t ret_digest[LS_HASH_BYTES])
{
    static const uint8_t padding[BLOCK] = {0x80};
    uint64_t bits = hash->bytes * 8;
    uint8_t length[8];
    size_t used = hash->bytes % BLOCK;
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    ls_hash_add(hash, padding, used < 56 ? 56 - used : BLOCK + 56 - used);
    ls_hash_add(hash, length, sizeof length);
    for (int i = 0; i < LS_HASH_BYTES; i++)
        ret_digest[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

static void
begin_padded(LsHash *ret_hash, const uint8_t key[BLOCK], uint8_t with)
{
    uint8_t padded[BLOCK];
    for (int i = 0; i < BLOCK; i++)
        padded[i] = key[i] ^ with;
    ls_hash_begin(ret_hash);
    ls_hash_add(ret_hash, padded, sizeof padded);
}

void
ls_hash_seal(uint8_t ret_seal[LS_HASH_BYTES], const void *key, size_t key_bytes,
             const LsHashPart *parts, size_t n_parts)
{
    uint8_t block[BLOCK] = {0};
    LsHash hash;
    if (key_bytes > BLOCK) {
        ls_hash_begin(&hash);
        ls_hash_add(&hash, key, key_bytes);
        ls_hash_end(&hash, block);
    } else {
        memcpy(block, key, key_bytes);
    }
    begin_padded(&hash, block, 0x36);
    for (size_t i = 0; i < n_parts; i++)
        ls_hash_add(&hash, parts[i].data, parts[i].n_bytes);
    ls_hash_end(&hash, ret_seal);
    begin_padded(&hash, block, 0x5c);
    ls_hash_add(&hash, ret_seal, LS_HASH_BYTES);
    ls_hash_end(&hash, ret_seal);
}

bool
ls_hash_is_equal(const uint8_t *a, const uint8_t *b, size_t n_bytes)
{
    uint8_t difference = 0;
    for (size_t i = 0; i < n_bytes; i++)
        difference |= a[i] ^ b[i];
    return difference == 0;
}
