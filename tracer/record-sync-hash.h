/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/record-sync-hash.h: SHA-256 (FIPS 180-4) and its keyed form (HMAC, RFC 2104). The C
 * library has neither, and lockstep-record needs no other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LS_HASH_BYTES 32

typedef struct LsHash {
    uint32_t state[8];
    uint64_t bytes; /* so far */
    uint8_t block[64];
} LsHash;

void ls_hash_begin(LsHash *ret_hash);
void ls_hash_add(LsHash *hash, const void *data, size_t n_bytes);
void ls_hash_end(LsHash *hash, uint8_t ret_digest[LS_HASH_BYTES]);

/* One piece of what is sealed. */
typedef struct LsHashPart {
    const void *data;
    size_t n_bytes;
} LsHashPart;

/* HMAC-SHA-256 of the parts one behind another. */
void ls_hash_seal(uint8_t ret_seal[LS_HASH_BYTES], const void *key, size_t key_bytes,
                  const LsHashPart *parts, size_t n_parts);
/* Takes the same time wherever they differ. */
bool ls_hash_is_equal(const uint8_t *a, const uint8_t *b, size_t n_bytes);
