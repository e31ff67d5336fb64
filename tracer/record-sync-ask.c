/* SPDX-License-Identifier: Apache-2.0
 *
 * The asker's side. Each word has a deadline, and the whole talk has one; the time of a question is
 * taken right before it is sent, when its seal is made already.
 */
#include "tracer/record-sync-talk.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define MS INT64_C(1000000)

bool
ls_sync_wait(const LsSyncSelf *self, int64_t ms)
{
    int64_t until_ns = ls_clock_now() + ms * MS;
    struct pollfd stop = {self->stop_fd, POLLIN, 0};
    for (;;) {
        int64_t left = (until_ns - ls_clock_now() + MS - 1) / MS;
        int n = poll(&stop, 1, left < 0 ? 0 : (int)left);
        if (n > 0 || left <= 0)
            return n > 0;
    }
}

/* Whether the socket is ready before the time is over. */
static bool
wait_for(int fd, short events, int64_t until_ns)
{
    struct pollfd poller = {fd, events, 0};
    for (;;) {
        int64_t left = until_ns - ls_clock_now();
        if (left <= 0) {
            errno = ETIMEDOUT;
            return false;
        }
        int n = poll(&poller, 1, (int)((left + MS - 1) / MS));
        if (n > 0)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
    }
}

static int
connect_to(const LsSyncPlace *place, int64_t until_ns)
{
    int fd = socket(place->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = 0, one = 1;
    socklen_t length = sizeof error;
    if (fd < 0)
        return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, (const struct sockaddr *)&place->address, place->length) == 0)
        return fd;
    if (errno == EINPROGRESS && wait_for(fd, POLLOUT, until_ns) &&
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0)
        return fd;
    if (error == 0)
        error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* A whole word; a peer that sends less than it should in time is gone. */
static bool
receive(int fd, uint8_t *word, size_t n_bytes, int64_t until_ns)
{
    for (size_t used = 0; used < n_bytes;) {
        ssize_t n = recv(fd, word + used, n_bytes - used, 0);
        if (n > 0) {
            used += (size_t)n;
            continue;
        }
        if (n == 0)
            errno = ECONNRESET;
        if (n == 0 || (errno != EAGAIN && errno != EINTR) || !wait_for(fd, POLLIN, until_ns))
            return false;
    }
    return true;
}

/* Words are far shorter than a socket's buffer: one that does not go at once has no reader. */
static bool
send_word(int fd, const uint8_t *word, size_t n_bytes)
{
    return send(fd, word, n_bytes, MSG_NOSIGNAL) == (ssize_t)n_bytes;
}

/* Until both believe each other. */
static bool
greet(LsSyncTalk *talk, int fd, int64_t until_ns, bool *ret_is_ours)
{
    uint8_t word[LS_SYNC_WORD_MAX], reply[LS_SYNC_WORD_MAX];
    size_t length;
    *ret_is_ours = true;
    while (talk->state != LS_SYNC_TRIPS) {
        bool has_claimed = talk->state == LS_SYNC_WELCOME;
        if (!receive(fd, word, ls_sync_talk_expects(talk), until_ns)) {
            /* It read our claim and hung up. */
            *ret_is_ours = !has_claimed || errno == ETIMEDOUT;
            return false;
        }
        *ret_is_ours = ls_sync_talk_take(talk, word, ls_clock_now(), reply, &length);
        if (!*ret_is_ours || (length > 0 && !send_word(fd, reply, length)))
            return false;
    }
    return true;
}

static bool
make_trip(const LsSyncSelf *self, LsSyncTalk *talk, int fd, bool is_last, int64_t until_ns)
{
    uint8_t word[LS_SYNC_WORD_MAX], reply[LS_SYNC_WORD_MAX];
    size_t length = ls_sync_talk_ask(talk, is_last, word);
    LsSyncTrip trip = {.peer_boot = talk->peer_boot, .sent_ns = ls_clock_now()};
    if (!send_word(fd, word, length) || !receive(fd, word, ls_sync_talk_expects(talk), until_ns))
        return false;
    trip.received_ns = ls_clock_now();
    if (!ls_sync_talk_take(talk, word, trip.received_ns, reply, &length))
        return false;
    trip.peer_received_ns = talk->peer_received_ns;
    trip.peer_sent_ns = talk->peer_sent_ns;
    self->kept(self->user, &trip);
    return true;
}

LsSyncOutcome
ls_sync_ask(const LsSyncSelf *self, const LsSyncPlace *place, bool is_last, int64_t until_ns,
            uint32_t *ret_pause_ms, int *ret_error)
{
    LsSyncOutcome outcome = LS_SYNC_ABSENT;
    uint8_t nonce[LS_SYNC_NONCE_BYTES];
    LsSyncTalk talk;
    bool is_ours = true;
    int trips = 0, fd = -1;
    if (getrandom(nonce, sizeof nonce, GRND_NONBLOCK) == (ssize_t)sizeof nonce)
        fd = connect_to(place, until_ns);
    *ret_error = errno;
    if (fd < 0)
        return LS_SYNC_ABSENT;
    ls_sync_talk_begin(&talk, false, self->key, nonce, self->boot, 0);
    if (!greet(&talk, fd, until_ns, &is_ours)) {
        *ret_error = errno;
        outcome = is_ours ? LS_SYNC_ABSENT : LS_SYNC_DOUBTED;
    } else if (strcmp(talk.peer_boot, self->boot) == 0) {
        outcome = LS_SYNC_SAME_BOOT;
    } else {
        self->met(self->user);
        *ret_pause_ms = talk.pause_ms;
        while (trips < LS_SYNC_TRIPS_OF_TALK &&
               make_trip(self, &talk, fd, is_last && trips == LS_SYNC_TRIPS_OF_TALK - 1, until_ns))
            trips++;
        outcome = trips > 0 ? LS_SYNC_MEASURED : LS_SYNC_ABSENT;
    }
    close(fd);
    return outcome;
}
