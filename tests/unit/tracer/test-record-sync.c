/* SPDX-License-Identifier: Apache-2.0
 *
 * What the wrappers of a run say to each other about their clocks: the hash against its published
 * vectors, the words by themselves with every kind of stranger, the hub on a real port with bytes
 * that are no words, addresses, keys, and which jobs have other hosts at all.
 */
#include "tracer/record-sync-hash.h"
#include "tracer/record-sync-key.h"
#include "tracer/record-sync-private.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- The hash -- */

static char *
hex(const uint8_t *bytes, size_t n)
{
    GString *text = g_string_new(NULL);
    for (size_t i = 0; i < n; i++)
        g_string_append_printf(text, "%02x", bytes[i]);
    return g_string_free(text, FALSE);
}

/* FIPS 180-2, appendix B, and the empty text. */
static void
test_hash(void)
{
    static const struct {
        const char *text;
        size_t times;
        const char *digest;
    } vectors[] = {
        {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(vectors); i++) {
        uint8_t digest[LS_HASH_BYTES];
        LsHash hash;
        ls_hash_begin(&hash);
        for (size_t k = 0; k < vectors[i].times; k++)
            ls_hash_add(&hash, vectors[i].text, strlen(vectors[i].text));
        ls_hash_end(&hash, digest);
        g_autofree char *text = hex(digest, sizeof digest);
        g_assert_cmpstr(text, ==, vectors[i].digest);
    }
    /* Every length around a block's end, in one piece and byte by byte, against GLib's. */
    for (size_t length = 0; length < 200; length++) {
        uint8_t data[200], digest[LS_HASH_BYTES];
        LsHash hash;
        for (size_t i = 0; i < length; i++)
            data[i] = (uint8_t)(i * 7 + length);
        ls_hash_begin(&hash);
        for (size_t i = 0; i < length; i++)
            ls_hash_add(&hash, data + i, 1);
        ls_hash_end(&hash, digest);
        g_autofree char *text = hex(digest, sizeof digest);
        g_autofree char *expected = g_compute_checksum_for_data(G_CHECKSUM_SHA256, data, length);
        g_assert_cmpstr(text, ==, expected);
    }
}

/* RFC 4231, and GLib's for keys of every length. */
static void
test_seal(void)
{
    const LsHashPart parts[] = {{"what do ya want ", 16}, {"for nothing?", 12}};
    uint8_t seal[LS_HASH_BYTES], key[150];
    ls_hash_seal(seal, "Jefe", 4, parts, 2);
    g_autofree char *text = hex(seal, sizeof seal);
    g_assert_cmpstr(text, ==, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    for (size_t length = 1; length < sizeof key; length += 7) {
        memset(key, (int)length, sizeof key);
        ls_hash_seal(seal, key, length, parts, 2);
        g_autofree char *own = hex(seal, sizeof seal);
        g_autofree char *expected = g_compute_hmac_for_data(
            G_CHECKSUM_SHA256, key, length, (const guchar *)"what do ya want for nothing?", 28);
        g_assert_cmpstr(own, ==, expected);
    }
}

/* -- Words -- */

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

/* -- Addresses -- */

static void
test_private(void)
{
    static const struct {
        const char *address;
        bool is_private, is_loopback;
    } rows[] = {
        {"127.0.0.1", true, true},
        {"127.9.9.9", true, true},
        {"10.0.0.1", true, false},
        {"10.255.255.255", true, false},
        {"172.16.0.1", true, false},
        {"172.31.255.1", true, false},
        {"172.32.0.1", false, false},
        {"172.15.0.1", false, false},
        {"192.168.3.4", true, false},
        {"192.169.0.1", false, false},
        {"169.254.1.1", true, false},
        {"100.64.0.1", true, false},
        {"100.128.0.1", false, false},
        {"8.8.8.8", false, false},
        {"0.0.0.0", false, false},
        {"255.255.255.255", false, false},
        {"::1", true, true},
        {"fd00::2", true, false},
        {"fc00::1", true, false},
        {"fe80::1", true, false},
        {"2001:db8::1", false, false},
        {"::", false, false},
        {"::ffff:10.1.1.1", true, false},
        {"::ffff:8.8.8.8", false, false},
        {"::ffff:127.0.0.1", true, true},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        LsSyncPlace place;
        g_assert_true(ls_sync_place_parse(&place, rows[i].address, "4000"));
        g_assert_true(ls_sync_place_is_private(&place) == rows[i].is_private);
        g_assert_true(ls_sync_place_is_loopback(&place) == rows[i].is_loopback);
    }
}

static void
test_split(void)
{
    static const struct {
        const char *text, *host, *port;
    } rows[] = {
        {"gpu01:4000", "gpu01", "4000"},
        {"10.0.0.1:1", "10.0.0.1", "1"},
        {"[::1]:65535", "::1", "65535"},
        {"::1:4000", NULL, NULL},
        {"gpu01", NULL, NULL},
        {"gpu01:", NULL, NULL},
        {":4000", NULL, NULL},
        {"gpu01:0", NULL, NULL},
        {"gpu01:65536", NULL, NULL},
        {"gpu01:4x", NULL, NULL},
        {"gpu01:-1", NULL, NULL},
        {"gpu01:99999999999", NULL, NULL},
        {"", NULL, NULL},
        {"[]:4", NULL, NULL},
    };
    g_autofree char *endless = g_strnfill(5000, 'x');
    char host[LS_AREA_NAME_MAX], port[8];
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        bool is_good = ls_sync_place_split(rows[i].text, host, port);
        g_assert_true(is_good == (rows[i].host != NULL));
        if (!is_good)
            continue;
        g_assert_cmpstr(host, ==, rows[i].host);
        g_assert_cmpstr(port, ==, rows[i].port);
    }
    g_assert_false(ls_sync_place_split(endless, host, port));
}

static void
test_nodes(void)
{
    static const struct {
        const char *list, *first;
    } rows[] = {
        {"gpu01", "gpu01"},
        {"gpu01,gpu02", "gpu01"},
        {"gpu[03-07,9],login", "gpu03"},
        {"r[1-2]c[04,05]-ib[0]", "r1c04-ib0"},
        {"rack-a[10]", "rack-a10"},
        {"", NULL},
        {",a", NULL},
        {"gpu[01", NULL},
    };
    g_autofree char *endless = g_strnfill(5000, 'x');
    char host[LS_AREA_NAME_MAX];
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        bool is_good = ls_sync_place_first_node(rows[i].list, host);
        g_assert_true(is_good == (rows[i].first != NULL));
        if (is_good)
            g_assert_cmpstr(host, ==, rows[i].first);
    }
    g_assert_true(ls_sync_place_first_node(endless, host));
    g_assert_cmpuint(strlen(host), ==, LS_AREA_NAME_MAX - 1);
}

static void
test_hub_file(void)
{
    static const char *const bad[] = {
        "",
        "end\n",
        "boot b\nend\n",
        "host h\nboot b\nat 10.0.0.1 4000\n",
        "host h\nboot b\nat 10.0.0.1 4000\nen",
        "host h\nat 10.0.0.1 4000\nend\n",
        "host h\nboot b\nat 10.0.0.1\nend\n",
        "host h\nboot b\nat nowhere 4000\nend\n",
        "host h\nboot b\nat 10.0.0.1 70000\nend\n",
    };
    g_autofree char *folder = g_dir_make_tmp("lockstep-hub-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "hub-3", NULL);
    LsSyncHub hub = {.host = "h", .boot = "b"}, found;
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
        g_assert_false(ls_sync_hub_parse(bad[i], &found));
    for (hub.n_places = 0; hub.n_places < LS_SYNC_PLACES_MAX; hub.n_places++)
        g_assert_true(ls_sync_place_parse(&hub.places[hub.n_places],
                                          hub.n_places % 2 == 0 ? "10.0.0.1" : "fd00::7", "4000"));
    g_assert_cmpint(ls_sync_hub_read(folder, 3, &found), ==, LS_ERR_OFF);
    g_assert_cmpint(ls_sync_hub_publish(folder, 3, &hub), ==, LS_OK);
    g_assert_cmpint(ls_sync_hub_publish(folder, 3, &hub), ==, LS_ERR_OFF);
    g_assert_cmpint(ls_sync_hub_read(folder, 3, &found), ==, LS_OK);
    g_assert_cmpstr(found.host, ==, "h");
    g_assert_cmpstr(found.boot, ==, "b");
    g_assert_cmpuint(found.n_places, ==, LS_SYNC_PLACES_MAX);
    for (size_t i = 0; i < found.n_places; i++) {
        char text[LS_SYNC_PLACE_TEXT];
        ls_sync_place_format(&found.places[i], text);
        g_assert_cmpstr(text, ==, i % 2 == 0 ? "10.0.0.1:4000" : "[fd00::7]:4000");
    }
    g_unlink(path);
    g_rmdir(folder);
}

/* -- The key -- */

static void
test_key(void)
{
    g_autofree char *folder = g_dir_make_tmp("lockstep-key-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "key", NULL);
    g_autofree char *link = g_build_filename(folder, "link", NULL);
    g_autofree char *absent = g_build_filename(folder, "no", "key", NULL);
    uint8_t key[LS_SYNC_KEY_BYTES], again[LS_SYNC_KEY_BYTES];
    char why[512];
    GStatBuf status;
    mode_t before = umask(0);
    g_assert_cmpint(ls_sync_key_load(key, path, why, sizeof why), ==, LS_OK);
    umask(before);
    g_assert_cmpint(g_stat(path, &status), ==, 0);
    g_assert_cmpint(status.st_mode & 0777, ==, 0600);
    g_assert_cmpint(ls_sync_key_load(again, path, why, sizeof why), ==, LS_OK);
    g_assert_cmpmem(key, sizeof key, again, sizeof again);
    g_chmod(path, 0640);
    g_assert_cmpint(ls_sync_key_load(again, path, why, sizeof why), !=, LS_OK);
    g_assert_nonnull(strstr(why, "can be read by others (chmod 600)"));
    g_chmod(path, 0600);
    g_assert_cmpint(symlink(path, link), ==, 0);
    g_assert_cmpint(ls_sync_key_load(again, link, why, sizeof why), !=, LS_OK);
    g_assert_cmpint(ls_sync_key_load(again, absent, why, sizeof why), !=, LS_OK);
    g_assert_cmpint(ls_sync_key_load(again, folder, why, sizeof why), !=, LS_OK);
    g_file_set_contents(
        path, "no key, and longer than one would be: ................................\n", -1, NULL);
    g_chmod(path, 0600);
    g_assert_cmpint(ls_sync_key_load(again, path, why, sizeof why), !=, LS_OK);
    g_assert_nonnull(strstr(why, "is not 64 hexadecimal digits"));
    g_unlink(link);
    g_unlink(path);
    g_rmdir(folder);
}

static void *
load_key(void *data)
{
    uint8_t *key = g_malloc(LS_SYNC_KEY_BYTES);
    char why[512];
    g_assert_cmpint(ls_sync_key_load(key, data, why, sizeof why), ==, LS_OK);
    return key;
}

/* Of many who come at once one makes it; all have the same. */
static void
test_key_race(void)
{
    g_autofree char *folder = g_dir_make_tmp("lockstep-key-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "key", NULL);
    for (int round = 0; round < 20; round++) {
        GThread *threads[8];
        uint8_t *keys[8];
        for (int i = 0; i < 8; i++)
            threads[i] = g_thread_new("key", load_key, path);
        for (int i = 0; i < 8; i++)
            keys[i] = g_thread_join(threads[i]);
        for (int i = 0; i < 8; i++)
            g_assert_cmpmem(keys[0], LS_SYNC_KEY_BYTES, keys[i], LS_SYNC_KEY_BYTES);
        for (int i = 0; i < 8; i++)
            g_free(keys[i]);
        g_unlink(path);
    }
    g_rmdir(folder);
}

/* -- The hub on its port -- */

typedef struct Server {
    LsSyncSelf self;
    LsSyncPlace place;
    int listener, stop_fds[2];
    GThread *thread;
    int met;
} Server;

static void
count_met(void *user)
{
    g_atomic_int_inc((int *)user);
}

static void *
serve(void *data)
{
    Server *server = data;
    return GSIZE_TO_POINTER((gsize)ls_sync_serve(&server->self, &server->listener, 1));
}

static void
start_server(Server *server)
{
    memset(server, 0, sizeof *server);
    g_assert_cmpint(pipe(server->stop_fds), ==, 0);
    memcpy(server->self.key, our_key, sizeof our_key);
    g_strlcpy(server->self.boot, "boot-a", sizeof server->self.boot);
    server->self.stop_fd = server->stop_fds[0];
    server->self.met = count_met;
    server->self.user = &server->met;
    g_assert_true(ls_sync_place_parse(&server->place, "127.0.0.1", "1"));
    ((struct sockaddr_in *)&server->place.address)->sin_port = 0;
    server->listener = ls_sync_listen(&server->place);
    g_assert_cmpint(server->listener, >=, 0);
    server->thread = g_thread_new("hub", serve, server);
}

/* Returns how many the hub did not believe. */
static gsize
stop_server(Server *server)
{
    close(server->stop_fds[1]);
    gsize doubted = GPOINTER_TO_SIZE(g_thread_join(server->thread));
    close(server->stop_fds[0]);
    close(server->listener);
    return doubted;
}

typedef struct Trips {
    int n, met;
    int64_t widest_ns;
} Trips;

static void
count_trip(void *user, const LsSyncTrip *trip)
{
    Trips *trips = user;
    int64_t before_ns = trip->peer_received_ns - trip->sent_ns;
    int64_t after_ns = trip->received_ns - trip->peer_sent_ns;
    g_assert_cmpint(before_ns, >=, 0); /* both read one clock here */
    g_assert_cmpint(trip->peer_sent_ns, >=, trip->peer_received_ns);
    g_assert_cmpint(after_ns, >=, 0);
    g_assert_cmpstr(trip->peer_boot, ==, "boot-a");
    trips->n++;
    trips->widest_ns = MAX(trips->widest_ns, before_ns + after_ns);
}

static void
count_peer(void *user)
{
    ((Trips *)user)->met++;
}

static LsSyncOutcome
ask_server(const Server *server, const char *boot, const uint8_t *key, Trips *trips)
{
    LsSyncSelf self = {.kept = count_trip, .met = count_peer, .user = trips};
    uint32_t pause_ms = 0;
    int error;
    memcpy(self.key, key, sizeof self.key);
    g_strlcpy(self.boot, boot, sizeof self.boot);
    return ls_sync_ask(&self, &server->place, true, ls_clock_now() + 5000000000, &pause_ms, &error);
}

static void
test_serve(void)
{
    Server server;
    Trips trips = {0};
    start_server(&server);
    for (int i = 0; i < 20; i++)
        g_assert_cmpint(ask_server(&server, "boot-b", our_key, &trips), ==, LS_SYNC_MEASURED);
    g_assert_cmpint(trips.n, ==, 20 * LS_SYNC_TRIPS_OF_TALK);
    g_assert_cmpint(trips.met, ==, 20);
    g_assert_cmpint(ask_server(&server, "boot-a", our_key, &trips), ==, LS_SYNC_SAME_BOOT);
    g_assert_cmpint(ask_server(&server, "boot-c", other_key, &trips), ==, LS_SYNC_DOUBTED);
    g_assert_cmpint(trips.n, ==, 20 * LS_SYNC_TRIPS_OF_TALK);
    g_assert_cmpuint(stop_server(&server), ==, 1);
    g_assert_cmpint(server.met, ==, 20);
}

static int
knock(const Server *server)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    g_assert_cmpint(
        connect(fd, (const struct sockaddr *)&server->place.address, server->place.length), ==, 0);
    return fd;
}

/* Port scanners, browsers, whoever sends too much, too little, nothing, or half a word: each is
 * seen off, and who has the key is answered all the while. */
static void
test_strangers(void)
{
    static const char get[] = "GET / HTTP/1.1\r\nHost: gpu01\r\nUser-Agent: curl/7.88.1\r\n"
                              "Accept: */*\r\n\r\nand some more, so that it is longer than a word";
    g_autofree char *flood = g_strnfill(1 << 16, 'x');
    Server server;
    Trips trips = {0};
    int held[60], n_held = 0;
    start_server(&server);
    for (int round = 0; round < 3; round++) {
        int fd = knock(&server);
        close(fd); /* a scanner */
        fd = knock(&server);
        g_assert_cmpint(send(fd, get, sizeof get, MSG_NOSIGNAL), >, 0);
        held[n_held++] = fd;
        fd = knock(&server);
        for (int i = 0; i < 16 && send(fd, flood, 1 << 16, MSG_NOSIGNAL | MSG_DONTWAIT) > 0; i++)
            continue;
        held[n_held++] = fd;
        fd = knock(&server);
        g_assert_cmpint(send(fd, get, 50, MSG_NOSIGNAL), >, 0); /* half a word, then silence */
        held[n_held++] = fd;
        held[n_held++] = knock(&server); /* half-open */
        g_assert_cmpint(ask_server(&server, "boot-b", our_key, &trips), ==, LS_SYNC_MEASURED);
    }
    while (n_held < 60) /* more than there are places for */
        held[n_held++] = knock(&server);
    g_assert_cmpint(ask_server(&server, "boot-b", our_key, &trips), ==, LS_SYNC_MEASURED);
    g_assert_cmpint(trips.n, ==, 4 * LS_SYNC_TRIPS_OF_TALK);
    /* Those who only wait are seen off by themselves. */
    int64_t until = g_get_monotonic_time() + 3 * G_TIME_SPAN_SECOND;
    for (int i = 0; i < n_held; i++) {
        struct timeval limit = {3, 0};
        char byte[256];
        setsockopt(held[i], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        while (recv(held[i], byte, sizeof byte, 0) > 0)
            continue;
        g_assert_cmpint(errno, !=, EAGAIN);
        close(held[i]);
    }
    g_assert_cmpint(g_get_monotonic_time(), <, until);
    g_assert_cmpuint(stop_server(&server), >=, 60);
}

/* A hub that has been asked waits a moment for the last talk, no longer; one that has not, ends. */
static void
test_linger(void)
{
    Server server;
    Trips trips = {0};
    start_server(&server);
    int64_t begin = g_get_monotonic_time();
    stop_server(&server);
    int64_t alone_us = g_get_monotonic_time() - begin;
    start_server(&server);
    g_assert_cmpint(ask_server(&server, "boot-b", our_key, &trips), ==, LS_SYNC_MEASURED);
    begin = g_get_monotonic_time();
    stop_server(&server); /* who asked has said that it was the last time */
    g_test_message("end of a hub: alone %" G_GINT64_FORMAT
                   " us, after a last talk %" G_GINT64_FORMAT " us",
                   alone_us, g_get_monotonic_time() - begin);
    g_assert_cmpint(alone_us, <, 200000);
    g_assert_cmpint(g_get_monotonic_time() - begin, <, 200000);
}

/* Nobody there, something else there, somebody who never speaks: an answer within the time given.
 */
static void
test_absent(void)
{
    LsSyncSelf self = {.boot = "boot-b", .kept = count_trip, .met = count_peer};
    LsSyncPlace silent, nobody;
    uint32_t pause_ms;
    int error;
    g_assert_true(ls_sync_place_parse(&nobody, "127.0.0.1", "1"));
    g_assert_cmpint(
        ls_sync_ask(&self, &nobody, false, ls_clock_now() + 1000000000, &pause_ms, &error), ==,
        LS_SYNC_ABSENT);
    g_assert_cmpint(error, ==, ECONNREFUSED);
    g_assert_true(ls_sync_place_parse(&silent, "127.0.0.1", "1"));
    ((struct sockaddr_in *)&silent.address)->sin_port = 0;
    int listener = ls_sync_listen(&silent);
    int64_t begin = g_get_monotonic_time();
    g_assert_cmpint(
        ls_sync_ask(&self, &silent, false, ls_clock_now() + 100000000, &pause_ms, &error), ==,
        LS_SYNC_ABSENT);
    g_assert_cmpint(error, ==, ETIMEDOUT);
    g_assert_cmpint(g_get_monotonic_time() - begin, <, 1000000);
    close(listener);
}

/* -- Which jobs -- */

static void
test_others(void)
{
    static const struct {
        const char *variables[5];
        int rank, world;
        bool has_job;
        LsSyncOthers others;
    } rows[] = {
        {{NULL}, -1, -1, false, LS_SYNC_NO_OTHERS},
        {{NULL}, 0, 1, true, LS_SYNC_NO_OTHERS},
        {{NULL}, 0, 2, false, LS_SYNC_PERHAPS},
        {{NULL}, -1, -1, true, LS_SYNC_PERHAPS},
        {{"OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_LOCAL_SIZE=4"}, 0, 4, true, LS_SYNC_NO_OTHERS},
        {{"OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_LOCAL_SIZE=4"}, 0, 8, true, LS_SYNC_OTHERS},
        {{"WORLD_SIZE=16", "LOCAL_WORLD_SIZE=8"}, 0, 16, true, LS_SYNC_OTHERS},
        {{"WORLD_SIZE=8", "LOCAL_WORLD_SIZE=8"}, 0, 8, true, LS_SYNC_NO_OTHERS},
        {{"HOROVOD_SIZE=4", "HOROVOD_LOCAL_SIZE=2"}, 0, 4, true, LS_SYNC_OTHERS},
        {{"SLURM_NNODES=1"}, 0, 8, true, LS_SYNC_NO_OTHERS},
        {{"SLURM_NNODES=2"}, 0, 8, true, LS_SYNC_OTHERS},
        {{"SLURM_NNODES=2", "SLURM_STEP_NUM_NODES=1"}, 0, 8, true, LS_SYNC_NO_OTHERS},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
        LsIdentity identity = {
            .rank = rows[i].rank, .world = rows[i].world, .has_job = rows[i].has_job};
        for (int k = 0; rows[i].variables[k] != NULL; k++) {
            g_auto(GStrv) parts = g_strsplit(rows[i].variables[k], "=", 2);
            g_setenv(parts[0], parts[1], TRUE);
        }
        g_assert_cmpint(ls_sync_find_others(&identity), ==, rows[i].others);
        for (int k = 0; rows[i].variables[k] != NULL; k++) {
            g_auto(GStrv) parts = g_strsplit(rows[i].variables[k], "=", 2);
            g_unsetenv(parts[0]);
        }
    }
}

static void
test_slurm(void)
{
    LsRecordOptions options = {.sync_key = "/home/u/key"};
    LsIdentity identity = {.run_id = "500.0"};
    char place[LS_AREA_NAME_MAX + 8], again[LS_AREA_NAME_MAX + 8], host[LS_AREA_NAME_MAX], port[8];
    ls_sync_choose_place(&options, &identity, place, sizeof place);
    g_assert_cmpstr(place, ==, "");
    g_setenv("SLURM_JOB_NODELIST", "gpu[03-07]", TRUE);
    ls_sync_choose_place(&options, &identity, place, sizeof place);
    g_assert_true(ls_sync_place_split(place, host, port));
    g_assert_cmpstr(host, ==, "gpu03");
    ls_sync_choose_place(&options, &identity, again, sizeof again);
    g_assert_cmpstr(place, ==, again);
    g_strlcpy(identity.run_id, "501.0", sizeof identity.run_id);
    ls_sync_choose_place(&options, &identity, again, sizeof again);
    g_assert_cmpstr(place, !=, again);
    options.sync = "head:4000";
    ls_sync_choose_place(&options, &identity, place, sizeof place);
    g_assert_cmpstr(place, ==, "head:4000");
    options = (LsRecordOptions){0};
    ls_sync_choose_place(&options, &identity, place, sizeof place);
    g_assert_cmpstr(place, ==, ""); /* without a key of its own: by the folder */
    g_unsetenv("SLURM_JOB_NODELIST");
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    /* First: they set variables, before there are threads. */
    g_test_add_func("/tracer/record-sync/jobs-with-other-hosts", test_others);
    g_test_add_func("/tracer/record-sync/place-under-slurm", test_slurm);
    g_test_add_func("/tracer/record-sync/hash-is-sha-256", test_hash);
    g_test_add_func("/tracer/record-sync/seal-is-hmac", test_seal);
    g_test_add_func("/tracer/record-sync/talk", test_talk);
    g_test_add_func("/tracer/record-sync/wrong-key-is-refused", test_wrong_key);
    g_test_add_func("/tracer/record-sync/no-turned-bit-is-believed", test_turned_bits);
    g_test_add_func("/tracer/record-sync/nothing-counts-twice", test_replay);
    g_test_add_func("/tracer/record-sync/odd-boot-ids", test_odd_boots);
    g_test_add_func("/tracer/record-sync/private-addresses", test_private);
    g_test_add_func("/tracer/record-sync/host-and-port", test_split);
    g_test_add_func("/tracer/record-sync/first-node-of-a-list", test_nodes);
    g_test_add_func("/tracer/record-sync/file-of-the-hub", test_hub_file);
    g_test_add_func("/tracer/record-sync/key-is-ours-alone", test_key);
    g_test_add_func("/tracer/record-sync/key-is-made-once", test_key_race);
    g_test_add_func("/tracer/record-sync/hub-answers-who-has-the-key", test_serve);
    g_test_add_func("/tracer/record-sync/strangers-at-the-port", test_strangers);
    g_test_add_func("/tracer/record-sync/hub-ends-soon", test_linger);
    g_test_add_func("/tracer/record-sync/absent-hub", test_absent);
    return g_test_run();
}
