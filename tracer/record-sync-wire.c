/* SPDX-License-Identifier: Apache-2.0
 *
 * Each word is checked whole before anything of it is used: seal first, then its fields. The four
 * times of a trip are those of NTP (RFC 5905); the asker keeps its own two.
 */
#include "tracer/record-sync-wire.h"

#include <string.h>

#include "tracer/record-sync-hash.h"

#define MAGIC       "LSCLOCK1"
#define MAGIC_BYTES 8
#define TRIP_SEAL   16

#define HELLO_BYTES    (MAGIC_BYTES + LS_SYNC_NONCE_BYTES)
#define CLAIM_BYTES    (LS_SYNC_NONCE_BYTES + LS_BOOT_ID_MAX + LS_HASH_BYTES)
#define WELCOME_BYTES  (LS_BOOT_ID_MAX + 4 + LS_HASH_BYTES)
#define QUESTION_BYTES (8 + TRIP_SEAL)
#define ANSWER_BYTES   (24 + TRIP_SEAL)
_Static_assert(CLAIM_BYTES == LS_SYNC_WORD_MAX, "the claim is the longest word");

static void
put(uint8_t *at, uint64_t value, int n_bytes)
{
    for (int i = 0; i < n_bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t
get(const uint8_t *at, int n_bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < n_bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

/* -- Seals -- */

/* By the run's key, over both sides' random bytes: `what` keeps one word from being taken for
 * another. */
static void
seal(const LsSyncTalk *talk, const char *what, const uint8_t *word, size_t n_bytes,
     uint8_t ret_seal[LS_HASH_BYTES])
{
    const LsHashPart parts[] = {{what, strlen(what)},
                                {talk->hub_nonce, sizeof talk->hub_nonce},
                                {talk->asker_nonce, sizeof talk->asker_nonce},
                                {word, n_bytes}};
    ls_hash_seal(ret_seal, talk->key, sizeof talk->key, parts, sizeof parts / sizeof parts[0]);
}

/* By the key of this talk. */
static void
seal_trip(const LsSyncTalk *talk, const char *what, const uint8_t *word, size_t n_bytes,
          uint8_t ret_seal[LS_HASH_BYTES])
{
    const LsHashPart parts[] = {{what, strlen(what)}, {word, n_bytes}};
    ls_hash_seal(ret_seal, talk->session, sizeof talk->session, parts,
                 sizeof parts / sizeof parts[0]);
}

static void
begin_trips(LsSyncTalk *talk)
{
    seal(talk, "lockstep clock trips", NULL, 0, talk->session);
    talk->state = LS_SYNC_TRIPS;
}

/* -- Words -- */

void
ls_sync_talk_begin(LsSyncTalk *ret_talk, bool is_hub, const uint8_t key[LS_SYNC_KEY_BYTES],
                   const uint8_t nonce[LS_SYNC_NONCE_BYTES], const char *boot, uint32_t pause_ms)
{
    memset(ret_talk, 0, sizeof *ret_talk);
    ret_talk->state = is_hub ? LS_SYNC_CLAIM : LS_SYNC_HELLO;
    ret_talk->is_hub = is_hub;
    memcpy(ret_talk->key, key, sizeof ret_talk->key);
    memcpy(is_hub ? ret_talk->hub_nonce : ret_talk->asker_nonce, nonce, LS_SYNC_NONCE_BYTES);
    memcpy(ret_talk->boot, boot, strnlen(boot, sizeof ret_talk->boot - 1));
    ret_talk->pause_ms = pause_ms;
}

size_t
ls_sync_talk_hello(const LsSyncTalk *talk, uint8_t ret_word[LS_SYNC_WORD_MAX])
{
    memcpy(ret_word, MAGIC, MAGIC_BYTES);
    memcpy(ret_word + MAGIC_BYTES, talk->hub_nonce, LS_SYNC_NONCE_BYTES);
    return HELLO_BYTES;
}

size_t
ls_sync_talk_ask(LsSyncTalk *talk, bool is_last, uint8_t ret_word[LS_SYNC_WORD_MAX])
{
    uint8_t whole[LS_HASH_BYTES];
    put(ret_word, talk->number, 4);
    put(ret_word + 4, is_last, 4);
    seal_trip(talk, "question", ret_word, 8, whole);
    memcpy(ret_word + 8, whole, TRIP_SEAL);
    return QUESTION_BYTES;
}

size_t
ls_sync_talk_expects(const LsSyncTalk *talk)
{
    switch (talk->state) {
    case LS_SYNC_HELLO:
        return HELLO_BYTES;
    case LS_SYNC_CLAIM:
        return CLAIM_BYTES;
    case LS_SYNC_WELCOME:
        return WELCOME_BYTES;
    case LS_SYNC_TRIPS:
        return talk->is_hub ? QUESTION_BYTES : ANSWER_BYTES;
    default:
        return 0;
    }
}

/* A boot id is a word that can be printed, and ends. */
static bool
take_boot(LsSyncTalk *talk, const uint8_t *field)
{
    size_t length = strnlen((const char *)field, LS_BOOT_ID_MAX);
    if (length == 0 || length == LS_BOOT_ID_MAX)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (field[i] <= ' ' || field[i] > '~')
            return false;
    }
    memset(talk->peer_boot, 0, sizeof talk->peer_boot);
    memcpy(talk->peer_boot, field, length);
    return true;
}

static bool
take_hello(LsSyncTalk *talk, const uint8_t *word, uint8_t *reply, size_t *ret_length)
{
    if (memcmp(word, MAGIC, MAGIC_BYTES) != 0)
        return false;
    memcpy(talk->hub_nonce, word + MAGIC_BYTES, LS_SYNC_NONCE_BYTES);
    memcpy(reply, talk->asker_nonce, LS_SYNC_NONCE_BYTES);
    memcpy(reply + LS_SYNC_NONCE_BYTES, talk->boot, LS_BOOT_ID_MAX);
    seal(talk, "lockstep clock asks", reply + LS_SYNC_NONCE_BYTES, LS_BOOT_ID_MAX,
         reply + LS_SYNC_NONCE_BYTES + LS_BOOT_ID_MAX);
    *ret_length = CLAIM_BYTES;
    talk->state = LS_SYNC_WELCOME;
    return true;
}

static bool
take_claim(LsSyncTalk *talk, const uint8_t *word, uint8_t *reply, size_t *ret_length)
{
    const uint8_t *boot = word + LS_SYNC_NONCE_BYTES;
    uint8_t expected[LS_HASH_BYTES];
    memcpy(talk->asker_nonce, word, LS_SYNC_NONCE_BYTES);
    seal(talk, "lockstep clock asks", boot, LS_BOOT_ID_MAX, expected);
    if (!ls_hash_is_equal(expected, boot + LS_BOOT_ID_MAX, LS_HASH_BYTES) || !take_boot(talk, boot))
        return false;
    memcpy(reply, talk->boot, LS_BOOT_ID_MAX);
    put(reply + LS_BOOT_ID_MAX, talk->pause_ms, 4);
    seal(talk, "lockstep clock answers", reply, LS_BOOT_ID_MAX + 4, reply + LS_BOOT_ID_MAX + 4);
    *ret_length = WELCOME_BYTES;
    begin_trips(talk);
    return true;
}

static bool
take_welcome(LsSyncTalk *talk, const uint8_t *word)
{
    uint8_t expected[LS_HASH_BYTES];
    seal(talk, "lockstep clock answers", word, LS_BOOT_ID_MAX + 4, expected);
    if (!ls_hash_is_equal(expected, word + LS_BOOT_ID_MAX + 4, LS_HASH_BYTES) ||
        !take_boot(talk, word))
        return false;
    talk->pause_ms = (uint32_t)get(word + LS_BOOT_ID_MAX, 4);
    begin_trips(talk);
    return true;
}

static bool
take_question(LsSyncTalk *talk, const uint8_t *word, int64_t received_ns, uint8_t *reply,
              size_t *ret_length)
{
    uint8_t whole[LS_HASH_BYTES];
    seal_trip(talk, "question", word, 8, whole);
    if (!ls_hash_is_equal(whole, word + 8, TRIP_SEAL) || get(word, 4) != talk->number)
        return false;
    talk->is_last = talk->is_last || get(word + 4, 4) == 1;
    put(reply, talk->number, 4);
    put(reply + 4, 0, 4);
    put(reply + 8, (uint64_t)received_ns, 8);
    put(reply + 16, (uint64_t)ls_clock_now(), 8);
    seal_trip(talk, "answer", reply, 24, whole);
    memcpy(reply + 24, whole, TRIP_SEAL);
    *ret_length = ANSWER_BYTES;
    talk->number++;
    return true;
}

static bool
take_answer(LsSyncTalk *talk, const uint8_t *word)
{
    uint8_t whole[LS_HASH_BYTES];
    seal_trip(talk, "answer", word, 24, whole);
    if (!ls_hash_is_equal(whole, word + 24, TRIP_SEAL) || get(word, 4) != talk->number)
        return false;
    talk->peer_received_ns = (int64_t)get(word + 8, 8);
    talk->peer_sent_ns = (int64_t)get(word + 16, 8);
    talk->number++;
    return true;
}

bool
ls_sync_talk_take(LsSyncTalk *talk, const uint8_t *word, int64_t received_ns,
                  uint8_t ret_reply[LS_SYNC_WORD_MAX], size_t *ret_length)
{
    bool is_good = false;
    *ret_length = 0;
    switch (talk->state) {
    case LS_SYNC_HELLO:
        is_good = take_hello(talk, word, ret_reply, ret_length);
        break;
    case LS_SYNC_CLAIM:
        is_good = take_claim(talk, word, ret_reply, ret_length);
        break;
    case LS_SYNC_WELCOME:
        is_good = take_welcome(talk, word);
        break;
    case LS_SYNC_TRIPS:
        is_good = talk->is_hub ? take_question(talk, word, received_ns, ret_reply, ret_length)
                               : take_answer(talk, word);
        break;
    case LS_SYNC_BROKEN:
        break;
    }
    if (!is_good) {
        talk->state = LS_SYNC_BROKEN;
        *ret_length = 0;
    }
    return is_good;
}
