/* SPDX-License-Identifier: Apache-2.0
 *
 * The words that wrappers say to each other about their clocks, without a socket: what is answered,
 * and every kind of stranger.
 */
#include "tracer/record-sync-private.h"

#include <glib.h>
#include <string.h>

static const uint8_t our_key[LS_SYNC_KEY_BYTES] = {1, 2, 3};
static const uint8_t other_key[LS_SYNC_KEY_BYTES] = {1, 2, 4};

typedef struct Pair {
    LsSyncTalk hub, asker;
    uint8_t word[LS_SYNC_WORD_MAX], reply[LS_SYNC_WORD_MAX];
    size_t length;
} Pair;

static void
begin_pair(Pair *pair, const uint8_t *hub_key, const uint8_t *asker_key)
{
    static uint8_t nonce[LS_SYNC_NONCE_BYTES];
    nonce[0]++;
    ls_sync_talk_begin(&pair->hub, true, hub_key, nonce, "boot-a", 2000);
    nonce[1]++;
    ls_sync_talk_begin(&pair->asker, false, asker_key, nonce, "boot-b", 0);
    pair->length = ls_sync_talk_hello(&pair->hub, pair->word);
    g_assert_cmpuint(pair->length, ==, ls_sync_talk_expects(&pair->asker));
}

/* The last word to one side; its answer is the word of the other. */
static bool
hand_over(Pair *pair, LsSyncTalk *to)
{
    g_assert_cmpuint(pair->length, ==, ls_sync_talk_expects(to));
    bool is_good = ls_sync_talk_take(to, pair->word, 77, pair->reply, &pair->length);
    memcpy(pair->word, pair->reply, sizeof pair->word);
    return is_good;
}

static void
greet(Pair *pair)
{
    begin_pair(pair, our_key, our_key);
    g_assert_true(hand_over(pair, &pair->asker));
    g_assert_true(hand_over(pair, &pair->hub));
    g_assert_true(hand_over(pair, &pair->asker));
}

static void
test_talk(void)
{
    Pair pair;
    greet(&pair);
    g_assert_cmpstr(pair.asker.peer_boot, ==, "boot-a");
    g_assert_cmpstr(pair.hub.peer_boot, ==, "boot-b");
    g_assert_cmpuint(pair.asker.pause_ms, ==, 2000);
    for (int i = 0; i < 20; i++) {
        int64_t before = ls_clock_now();
        pair.length = ls_sync_talk_ask(&pair.asker, i == 19, pair.word);
        g_assert_true(hand_over(&pair, &pair.hub));
        g_assert_true(hand_over(&pair, &pair.asker));
        g_assert_cmpint(pair.asker.peer_received_ns, ==, 77);
        g_assert_cmpint(pair.asker.peer_sent_ns, >=, before);
        g_assert_cmpint(pair.asker.peer_sent_ns, <=, ls_clock_now());
        g_assert_true(pair.hub.is_last == (i == 19));
    }
}

static void
test_wrong_key(void)
{
    Pair pair;
    begin_pair(&pair, our_key, other_key);
    g_assert_true(hand_over(&pair, &pair.asker));
    g_assert_false(hand_over(&pair, &pair.hub));
    g_assert_cmpuint(pair.length, ==, 0); /* and nothing is answered */
    g_assert_cmpuint(ls_sync_talk_expects(&pair.hub), ==, 0);
    /* A hub without the key cannot welcome: it has to make the seal up. */
    begin_pair(&pair, other_key, our_key);
    g_assert_true(hand_over(&pair, &pair.asker));
    memset(pair.word, 0, sizeof pair.word);
    pair.length = ls_sync_talk_expects(&pair.asker);
    g_assert_false(hand_over(&pair, &pair.asker));
}

/* Any bit of any word turned over: it is not believed, whichever side takes it. (The hello has no
 * seal: there it is the claim, made over it, that is not believed.) */
static void
test_turned_bits(void)
{
    for (int step = 0; step < 5; step++) {
        static const size_t sizes[] = {40, 104, 76, 24, 40};
        for (size_t bit = 0; bit < sizes[step] * 8; bit++) {
            Pair pair;
            LsSyncTalk *sides[] = {&pair.asker, &pair.hub, &pair.asker, &pair.hub, &pair.asker};
            bool is_good = true;
            begin_pair(&pair, our_key, our_key);
            for (int i = 0; i < 5 && is_good; i++) {
                if (i == 3)
                    pair.length = ls_sync_talk_ask(&pair.asker, false, pair.word);
                if (i == step)
                    pair.word[bit / 8] ^= (uint8_t)(1 << bit % 8);
                is_good = hand_over(&pair, sides[i]);
            }
            g_assert_false(is_good);
        }
    }
}

/* What was overheard is worth nothing in another talk, or a second time, or sent back. */
static void
test_replay(void)
{
    Pair old, pair;
    uint8_t claim[LS_SYNC_WORD_MAX], question[LS_SYNC_WORD_MAX];
    begin_pair(&old, our_key, our_key);
    g_assert_true(hand_over(&old, &old.asker));
    memcpy(claim, old.word, sizeof claim);
    begin_pair(&pair, our_key, our_key);
    memcpy(pair.word, claim, sizeof claim);
    pair.length = sizeof claim;
    g_assert_false(hand_over(&pair, &pair.hub));

    greet(&pair);
    pair.length = ls_sync_talk_ask(&pair.asker, false, pair.word);
    memcpy(question, pair.word, sizeof question);
    g_assert_true(hand_over(&pair, &pair.hub));
    g_assert_true(hand_over(&pair, &pair.asker));
    memcpy(pair.word, question, sizeof question);
    pair.length = ls_sync_talk_expects(&pair.hub);
    g_assert_false(hand_over(&pair, &pair.hub));

    /* The claim itself as the welcome. */
    begin_pair(&pair, our_key, our_key);
    g_assert_true(hand_over(&pair, &pair.asker));
    memmove(pair.word, pair.word + LS_SYNC_NONCE_BYTES, sizeof pair.word - LS_SYNC_NONCE_BYTES);
    pair.length = ls_sync_talk_expects(&pair.asker);
    g_assert_false(hand_over(&pair, &pair.asker));
}

/* Whoever has the key may still say nonsense: a boot id that does not end, or cannot be printed. */
static void
test_odd_boots(void)
{
    static const char *const odd[] = {"", "a b", "a\nb", "\x80"};
    for (size_t i = 0; i < G_N_ELEMENTS(odd) + 1; i++) {
        Pair pair;
        begin_pair(&pair, our_key, our_key);
        if (i < G_N_ELEMENTS(odd))
            g_strlcpy(pair.asker.boot, odd[i], sizeof pair.asker.boot);
        else
            memset(pair.asker.boot, 'x', sizeof pair.asker.boot);
        g_assert_true(hand_over(&pair, &pair.asker));
        g_assert_false(hand_over(&pair, &pair.hub));
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tracer/record-sync/talk", test_talk);
    g_test_add_func("/tracer/record-sync/wrong-key-is-refused", test_wrong_key);
    g_test_add_func("/tracer/record-sync/no-turned-bit-is-believed", test_turned_bits);
    g_test_add_func("/tracer/record-sync/nothing-counts-twice", test_replay);
    g_test_add_func("/tracer/record-sync/odd-boot-ids", test_odd_boots);
    return g_test_run();
}
