/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz-sync.c: what comes to a wrapper's port, or stands in the files by which wrappers find each
 * other. The first byte chooses who reads the rest: 0 the hub and 1 the asker as words of a
 * stranger, 2 and 3 the same as words of somebody who has the key (their seals are made right
 * before they are handed over), 4 the file of a hub, 5 HOST:PORT, 6 a list of nodes. Checks: a
 * stranger is never believed, nothing is answered to whom is not, and a boot id that is believed
 * ends and can be printed.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/record-sync-hash.h"
#include "tracer/record-sync-place.h"
#include "tracer/record-sync-wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

static void
check(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "fuzz-sync: not so: %s\n", what);
    abort();
}

/* The seal that the word should bear, where it bears one. */
static void
make_right(const LsSyncTalk *talk, uint8_t *word)
{
    bool is_claim = talk->state == LS_SYNC_CLAIM, is_welcome = talk->state == LS_SYNC_WELCOME;
    const char *what = is_claim ? "lockstep clock asks" : "lockstep clock answers";
    size_t trip = talk->is_hub ? 8 : 24, from = is_claim ? LS_SYNC_NONCE_BYTES : 0;
    size_t n = is_claim ? LS_BOOT_ID_MAX : LS_BOOT_ID_MAX + 4;
    uint8_t seal[LS_HASH_BYTES];
    if (is_claim || is_welcome) {
        const LsHashPart parts[] = {
            {what, strlen(what)},
            {talk->hub_nonce, LS_SYNC_NONCE_BYTES},
            {is_claim ? word : talk->asker_nonce, LS_SYNC_NONCE_BYTES},
            {word + from, n},
        };
        ls_hash_seal(seal, talk->key, sizeof talk->key, parts, 4);
        memcpy(word + from + n, seal, sizeof seal);
    } else if (talk->state == LS_SYNC_TRIPS) {
        const LsHashPart parts[] = {{talk->is_hub ? "question" : "answer", talk->is_hub ? 8 : 6},
                                    {word, trip}};
        ls_hash_seal(seal, talk->session, sizeof talk->session, parts, 2);
        memcpy(word + trip, seal, 16);
    }
}

static void
play(bool is_hub, bool has_key, const uint8_t *data, size_t length)
{
    static const uint8_t key[LS_SYNC_KEY_BYTES] = {9}, nonce[LS_SYNC_NONCE_BYTES] = {7};
    LsSyncTalk talk;
    bool is_good = true;
    ls_sync_talk_begin(&talk, is_hub, key, nonce, "boot", 2000);
    while (is_good) {
        uint8_t word[LS_SYNC_WORD_MAX], reply[LS_SYNC_WORD_MAX];
        size_t wanted = ls_sync_talk_expects(&talk), answered;
        check(wanted > 0 && wanted <= sizeof word, "a word has a length");
        if (length < wanted)
            return;
        memcpy(word, data, wanted);
        if (has_key)
            make_right(&talk, word);
        is_good = ls_sync_talk_take(&talk, word, 5, reply, &answered);
        check(answered <= sizeof reply, "an answer is a word");
        check(is_good || (answered == 0 && ls_sync_talk_expects(&talk) == 0), "a talk is over");
        check(has_key || talk.state != LS_SYNC_TRIPS, "a stranger is not believed");
        if (talk.state == LS_SYNC_TRIPS) {
            size_t n = strnlen(talk.peer_boot, sizeof talk.peer_boot);
            check(n > 0 && n < sizeof talk.peer_boot, "a boot id ends");
            for (size_t i = 0; i < n; i++)
                check(talk.peer_boot[i] > ' ' && talk.peer_boot[i] <= '~', "it can be printed");
            if (!is_hub)
                ls_sync_talk_ask(&talk, false, reply);
        }
        data += wanted;
        length -= wanted;
    }
}

static void
read_text(int kind, const char *text)
{
    char host[LS_AREA_NAME_MAX] = "", port[8] = "", again[LS_SYNC_PLACE_TEXT];
    LsSyncHub hub;
    LsSyncPlace place;
    if (kind == 4 && ls_sync_hub_parse(text, &hub)) {
        check(hub.n_places > 0 && hub.n_places <= LS_SYNC_PLACES_MAX, "a hub has places");
        check(strnlen(hub.boot, sizeof hub.boot) < sizeof hub.boot, "its boot id ends");
        for (size_t i = 0; i < hub.n_places; i++) {
            ls_sync_place_format(&hub.places[i], again);
            check(ls_sync_place_split(again, host, port) &&
                      ls_sync_place_parse(&place, host, port) &&
                      ls_sync_place_is_private(&place) == ls_sync_place_is_private(&hub.places[i]),
                  "a place is written as it is read");
        }
    } else if (kind == 5 && ls_sync_place_split(text, host, port)) {
        check(strnlen(host, sizeof host) < sizeof host && strnlen(port, sizeof port) < sizeof port,
              "host and port end");
        ls_sync_place_parse(&place, host, port);
    } else if (kind == 6 && ls_sync_place_first_node(text, host)) {
        check(strnlen(host, sizeof host) < sizeof host && host[0] != '\0', "a node has a name");
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    if (length < 1)
        return 0;
    if (data[0] < 4) {
        play(data[0] % 2 == 0, data[0] >= 2, data + 1, length - 1);
    } else if (data[0] <= 6) {
        char *text = malloc(length);
        if (text == NULL)
            return 0;
        memcpy(text, data + 1, length - 1);
        text[length - 1] = '\0';
        read_text(data[0], text);
        free(text);
    }
    return 0;
}
