/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/record-sync-wire.h: what two wrappers say to each other about their clocks; no sockets.
 *
 * One of them is asked (the hub), the other asks. Words of fixed length, little-endian:
 *
 *   hello     hub to asker    "LSCLOCK1", 32 random bytes
 *   claim     asker to hub    32 random bytes, the asker's boot id (40), seal (32)
 *   welcome   hub to asker    its boot id (40), ms until the next talk (4), seal (32)
 *   question  asker to hub    number from 0 (4), 1 if it is the asker's last (4), seal (16)
 *   answer    hub to asker    number (4), 0 (4), received ns (8), sent ns (8), seal (16)
 *
 * A seal is an HMAC by the key of the run (claim, welcome), or by a key made of that and of both
 * sides' random bytes (questions and answers): nobody without the key is believed a word, and what
 * was overheard is of no use in another talk. Whatever is not exactly the next word ends the talk.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/clock.h"

#define LS_SYNC_KEY_BYTES   32
#define LS_SYNC_NONCE_BYTES 32
#define LS_SYNC_WORD_MAX    104

typedef enum LsSyncState {
    LS_SYNC_BROKEN,  /* something was not believed; nothing more is said */
    LS_SYNC_HELLO,   /* of the asker: waits for the hub's */
    LS_SYNC_CLAIM,   /* of the hub: waits for the asker's */
    LS_SYNC_WELCOME, /* of the asker */
    LS_SYNC_TRIPS,   /* each believes the other */
} LsSyncState;

typedef struct LsSyncTalk {
    LsSyncState state;
    bool is_hub;
    uint8_t key[LS_SYNC_KEY_BYTES], session[LS_SYNC_KEY_BYTES];
    uint8_t hub_nonce[LS_SYNC_NONCE_BYTES], asker_nonce[LS_SYNC_NONCE_BYTES];
    char boot[LS_BOOT_ID_MAX], peer_boot[LS_BOOT_ID_MAX];
    uint32_t pause_ms;                      /* of the hub: how often it wants to be asked */
    uint32_t number;                        /* of the next question */
    bool is_last;                           /* the asker said that it will not come again */
    int64_t peer_received_ns, peer_sent_ns; /* of the asker: what the last answer said */
} LsSyncTalk;

void ls_sync_talk_begin(LsSyncTalk *ret_talk, bool is_hub, const uint8_t key[LS_SYNC_KEY_BYTES],
                        const uint8_t nonce[LS_SYNC_NONCE_BYTES], const char *boot,
                        uint32_t pause_ms);

/* The hub's first word. Returns its length. */
size_t ls_sync_talk_hello(const LsSyncTalk *talk, uint8_t ret_word[LS_SYNC_WORD_MAX]);
/* The asker's next question. Returns its length. */
size_t ls_sync_talk_ask(LsSyncTalk *talk, bool is_last, uint8_t ret_word[LS_SYNC_WORD_MAX]);

/* Length of the peer's next word; 0 when none is expected. */
size_t ls_sync_talk_expects(const LsSyncTalk *talk);
/* Takes that word, which came at received_ns, and makes what is to be answered (length 0: nothing).
 * false: it is not believed, and the talk is over. */
bool ls_sync_talk_take(LsSyncTalk *talk, const uint8_t *word, int64_t received_ns,
                       uint8_t ret_reply[LS_SYNC_WORD_MAX], size_t *ret_length);
