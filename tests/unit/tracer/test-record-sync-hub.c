/* SPDX-License-Identifier: Apache-2.0
 *
 * The hub of the clocks on a real port, asked by those who have its key and knocked at by those who
 * have not; and the key itself.
 */
#include "tracer/record-sync-key.h"
#include "tracer/record-sync-private.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint8_t our_key[LS_SYNC_KEY_BYTES] = {1, 2, 3};
static const uint8_t other_key[LS_SYNC_KEY_BYTES] = {1, 2, 4};

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

#define PATIENCE_NS INT64_C(60000000000)

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
    return ls_sync_ask(&self, &server->place, true, ls_clock_now() + PATIENCE_NS, &pause_ms,
                       &error);
}

/* Asks until it is answered so. A hub gives nobody more than two seconds, and on a machine that
 * does not let us run for so long it has seen us off: how often is returned. */
static int
ask_until(const Server *server, const char *boot, const uint8_t *key, Trips *trips,
          LsSyncOutcome expected)
{
    for (int seen_off = 0; seen_off < 10; seen_off++) {
        LsSyncOutcome outcome = ask_server(server, boot, key, trips);
        if (outcome == expected)
            return seen_off;
        g_test_message("seen off: outcome %d", (int)outcome);
    }
    g_error("never answered as expected: outcome %d", (int)expected);
}

static void
test_serve(void)
{
    Server server;
    Trips trips = {0};
    int seen_off = 0;
    start_server(&server);
    for (int i = 0; i < 20; i++)
        seen_off += ask_until(&server, "boot-b", our_key, &trips, LS_SYNC_MEASURED);
    int n = trips.n, met = trips.met;
    g_assert_cmpint(n, >=, 20 * LS_SYNC_TRIPS_OF_TALK);
    g_assert_cmpint(met, >=, 20);
    seen_off += ask_until(&server, "boot-a", our_key, &trips, LS_SYNC_SAME_BOOT);
    seen_off += ask_until(&server, "boot-c", other_key, &trips, LS_SYNC_DOUBTED);
    g_assert_cmpint(trips.n, ==, n);
    gsize doubted = stop_server(&server);
    g_assert_cmpuint(doubted, >=, 1);
    g_assert_cmpuint(doubted, <=, 1 + seen_off);
    g_assert_cmpint(server.met, >=, 20);
    if (seen_off > 0)
        return;
    g_assert_cmpint(n, ==, 20 * LS_SYNC_TRIPS_OF_TALK);
    g_assert_cmpint(met, ==, 20);
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
    int held[60], n_held = 0, seen_off = 0;
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
        seen_off += ask_until(&server, "boot-b", our_key, &trips, LS_SYNC_MEASURED);
    }
    while (n_held < 60) /* more than there are places for */
        held[n_held++] = knock(&server);
    seen_off += ask_until(&server, "boot-b", our_key, &trips, LS_SYNC_MEASURED);
    g_assert_cmpint(trips.n, >=, 4 * LS_SYNC_TRIPS_OF_TALK);
    g_assert_true(seen_off > 0 || trips.n == 4 * LS_SYNC_TRIPS_OF_TALK);
    /* Those who only wait are seen off by themselves. */
    for (int i = 0; i < n_held; i++) {
        struct timeval limit = {PATIENCE_NS / 1000000000, 0};
        char byte[256];
        ssize_t got;
        setsockopt(held[i], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        do
            got = recv(held[i], byte, sizeof byte, 0);
        while (got > 0);
        g_assert_true(got == 0 || errno != EAGAIN);
        close(held[i]);
    }
    g_assert_cmpuint(stop_server(&server), >=, 60);
}

/* A hub that has been asked waits a moment for the last talk, no longer; one that has not, ends:
 * now and then, on a machine that is busy. */
static void
test_linger(void)
{
    enum { TRIES = 100, QUICK_US = 200000 };
    for (int talks = 0; talks < 2; talks++) {
        Trips trips = {0};
        int64_t took_us = INT64_MAX;
        for (int i = 0; i < TRIES && took_us >= QUICK_US; i++) {
            Server server;
            start_server(&server);
            if (talks)
                ask_until(&server, "boot-b", our_key, &trips, LS_SYNC_MEASURED);
            int64_t begin_us = g_get_monotonic_time();
            stop_server(&server); /* who asked has said that it was the last time */
            took_us = g_get_monotonic_time() - begin_us;
        }
        g_test_message("end of a hub, after %d talks: %" G_GINT64_FORMAT " us", talks, took_us);
        g_assert_cmpint(took_us, <, QUICK_US);
    }
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
        ls_sync_ask(&self, &nobody, false, ls_clock_now() + PATIENCE_NS, &pause_ms, &error), ==,
        LS_SYNC_ABSENT);
    g_assert_cmpint(error, ==, ECONNREFUSED);
    g_assert_true(ls_sync_place_parse(&silent, "127.0.0.1", "1"));
    ((struct sockaddr_in *)&silent.address)->sin_port = 0;
    int listener = ls_sync_listen(&silent);
    int64_t least_us = INT64_MAX;
    for (int i = 0; i < 5 || (least_us >= 1000000 && i < 50); i++) {
        int64_t begin_us = g_get_monotonic_time();
        g_assert_cmpint(
            ls_sync_ask(&self, &silent, false, ls_clock_now() + 100000000, &pause_ms, &error), ==,
            LS_SYNC_ABSENT);
        g_assert_cmpint(error, ==, ETIMEDOUT);
        least_us = MIN(least_us, g_get_monotonic_time() - begin_us);
    }
    g_assert_cmpint(least_us, >=, 90000);
    g_assert_cmpint(least_us, <, 1000000);
    close(listener);
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tracer/record-sync/key-is-ours-alone", test_key);
    g_test_add_func("/tracer/record-sync/key-is-made-once", test_key_race);
    g_test_add_func("/tracer/record-sync/hub-answers-who-has-the-key", test_serve);
    g_test_add_func("/tracer/record-sync/strangers-at-the-port", test_strangers);
    g_test_add_func("/tracer/record-sync/hub-ends-soon", test_linger);
    g_test_add_func("/tracer/record-sync/absent-hub", test_absent);
    return g_test_run();
}
