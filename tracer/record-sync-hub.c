/* SPDX-License-Identifier: Apache-2.0
 *
 * The hub's side: a few listeners and a few guests in one poll(). A port is knocked at by anybody,
 * so a guest has a second until it is believed and two in all, there are places for a few dozen at
 * once (the oldest who is not believed yet makes room), and after some who were not believed nobody
 * is let in until the second is over.
 */
#include "tracer/record-sync-talk.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define MS          INT64_C(1000000)
#define GUESTS_MAX  48
#define ASKERS_MAX  8192
#define BELIEVE_MS  1000 /* until a guest must have shown that it has the key */
#define TALK_MS     2000
#define LINGER_MS   250
#define PAUSE_MS    2000 /* between two talks of one asker, */
#define SHARE_MS    20   /* or so many for each asker there is */
#define DOUBTED_MAX 64   /* guests who are not believed, in a second */

typedef struct Guest {
    int fd;
    int64_t came_ns;
    LsSyncTalk talk;
    uint8_t word[LS_SYNC_WORD_MAX];
    size_t used;
} Guest;

/* A host that has asked; 0: none. */
typedef struct Asker {
    uint64_t boot; /* hashed */
    int64_t seen_ns;
    bool has_left;
} Asker;

typedef struct Hub {
    const LsSyncSelf *self;
    const int *listeners;
    size_t n_listeners, n_guests, n_askers;
    Guest guests[GUESTS_MAX];
    Asker askers[ASKERS_MAX];
    uint64_t doubted, doubted_now;
    int64_t second_ns; /* begin of the second that doubted_now counts */
} Hub;

int
ls_sync_listen(LsSyncPlace *place)
{
    int fd = socket(place->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int one = 1;
    socklen_t length = sizeof place->address;
    if (fd < 0)
        return -1;
    if (place->address.ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (const struct sockaddr *)&place->address, place->length) == 0 &&
        listen(fd, 128) == 0 && getsockname(fd, (struct sockaddr *)&place->address, &length) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static bool
is_believed(const Guest *guest)
{
    return guest->talk.state == LS_SYNC_TRIPS;
}

/* -- Askers -- */

static uint32_t
choose_pause(const Hub *hub)
{
    size_t share = hub->n_askers * SHARE_MS;
    return share > PAUSE_MS ? (uint32_t)share : PAUSE_MS;
}

/* FNV-1a; never 0. */
static uint64_t
hash_boot(const char *boot)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *boot != '\0'; boot++)
        hash = (hash ^ (uint8_t)*boot) * UINT64_C(0x100000001b3);
    return hash == 0 ? 1 : hash;
}

static void
note_asker(Hub *hub, const LsSyncTalk *talk)
{
    uint64_t boot = hash_boot(talk->peer_boot);
    Asker *asker = NULL;
    for (size_t i = 0; i < ASKERS_MAX && asker == NULL; i++) {
        Asker *at = &hub->askers[(boot + i) % ASKERS_MAX];
        if (at->boot == boot || at->boot == 0)
            asker = at;
    }
    if (asker == NULL)
        return;
    hub->n_askers += asker->boot == 0;
    *asker = (Asker){boot, ls_clock_now(), talk->is_last};
}

/* Whether a talk is under way, or somebody that was here lately has not said that it will not come
 * again. */
static bool
expects_more(const Hub *hub)
{
    for (size_t i = 0; i < hub->n_guests; i++) {
        if (is_believed(&hub->guests[i]))
            return true;
    }
    int64_t lately_ns = ls_clock_now() - (int64_t)(choose_pause(hub) + TALK_MS) * MS;
    for (size_t i = 0; i < ASKERS_MAX && hub->n_askers > 0; i++) {
        if (hub->askers[i].boot != 0 && !hub->askers[i].has_left &&
            hub->askers[i].seen_ns >= lately_ns)
            return true;
    }
    return false;
}

/* -- Guests -- */

static void
see_off(Hub *hub, size_t index)
{
    close(hub->guests[index].fd);
    hub->guests[index] = hub->guests[--hub->n_guests];
}

static void
doubt(Hub *hub, size_t index)
{
    hub->doubted++;
    hub->doubted_now++;
    see_off(hub, index);
}

/* A place for one more; false: all talk with somebody. */
static bool
make_room(Hub *hub)
{
    size_t oldest = GUESTS_MAX;
    if (hub->n_guests < GUESTS_MAX)
        return true;
    for (size_t i = 0; i < GUESTS_MAX; i++) {
        if (!is_believed(&hub->guests[i]) &&
            (oldest == GUESTS_MAX || hub->guests[i].came_ns < hub->guests[oldest].came_ns))
            oldest = i;
    }
    if (oldest == GUESTS_MAX)
        return false;
    doubt(hub, oldest);
    return true;
}

static void
let_in(Hub *hub, int listener)
{
    LsSyncPlace from = {.length = sizeof from.address};
    uint8_t nonce[LS_SYNC_NONCE_BYTES], word[LS_SYNC_WORD_MAX];
    int one = 1;
    int fd = accept4(listener, (struct sockaddr *)&from.address, &from.length,
                     SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    if ((!hub->self->is_public && !ls_sync_place_is_private(&from)) || !make_room(hub) ||
        getrandom(nonce, sizeof nonce, GRND_NONBLOCK) != (ssize_t)sizeof nonce) {
        close(fd);
        hub->doubted++;
        return;
    }
    Guest *guest = &hub->guests[hub->n_guests++];
    guest->fd = fd;
    guest->came_ns = ls_clock_now();
    guest->used = 0;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    ls_sync_talk_begin(&guest->talk, true, hub->self->key, nonce, hub->self->boot,
                       choose_pause(hub));
    size_t length = ls_sync_talk_hello(&guest->talk, word);
    if (send(fd, word, length, MSG_NOSIGNAL) != (ssize_t)length)
        doubt(hub, hub->n_guests - 1);
}

/* Whatever is there, at most one word: others are waiting, too. false: the guest is gone. */
static bool
listen_to(Hub *hub, size_t index)
{
    Guest *guest = &hub->guests[index];
    uint8_t reply[LS_SYNC_WORD_MAX];
    size_t length, wanted = ls_sync_talk_expects(&guest->talk);
    bool was_believed = is_believed(guest);
    ssize_t n = recv(guest->fd, guest->word + guest->used, wanted - guest->used, 0);
    int64_t now = ls_clock_now();
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (n > 0 && (guest->used += (size_t)n) < wanted)
        return true;
    guest->used = 0;
    if (n > 0 && ls_sync_talk_take(&guest->talk, guest->word, now, reply, &length) &&
        send(guest->fd, reply, length, MSG_NOSIGNAL) == (ssize_t)length) {
        if (!was_believed && strcmp(guest->talk.peer_boot, hub->self->boot) != 0)
            hub->self->met(hub->self->user);
        if (strcmp(guest->talk.peer_boot, hub->self->boot) != 0)
            note_asker(hub, &guest->talk);
        return true;
    }
    if (was_believed && n <= 0)
        see_off(hub, index);
    else
        doubt(hub, index);
    return false;
}

/* Those whose time is over. Returns ms until the next one's is. */
static int
end_late(Hub *hub, int64_t now)
{
    int64_t next_ns = 1000 * MS;
    for (size_t i = hub->n_guests; i-- > 0;) {
        const Guest *guest = &hub->guests[i];
        bool is_known = is_believed(guest);
        int64_t left = guest->came_ns + (is_known ? TALK_MS : BELIEVE_MS) * MS - now;
        if (left <= 0 && is_known)
            see_off(hub, i);
        else if (left <= 0)
            doubt(hub, i);
        else if (left < next_ns)
            next_ns = left;
    }
    if (now - hub->second_ns >= 1000 * MS) {
        hub->second_ns = now;
        hub->doubted_now = 0;
    }
    return (int)(next_ns / MS) + 1;
}

/* One poll(). Returns whether it is to stop. */
static bool
turn(Hub *hub, int ms, bool is_stopping)
{
    struct pollfd polled[1 + LS_SYNC_PLACES_MAX + GUESTS_MAX];
    size_t n_guests = hub->n_guests, n = 0;
    bool is_open = hub->doubted_now < DOUBTED_MAX;
    polled[n++] = (struct pollfd){is_stopping ? -1 : hub->self->stop_fd, POLLIN, 0};
    for (size_t i = 0; i < hub->n_listeners; i++)
        polled[n++] = (struct pollfd){is_open ? hub->listeners[i] : -1, POLLIN, 0};
    for (size_t i = 0; i < n_guests; i++)
        polled[n++] = (struct pollfd){hub->guests[i].fd, POLLIN, 0};
    if (poll(polled, n, ms) <= 0)
        return false;
    /* From the last on: who goes is replaced by one that had its turn. */
    for (size_t i = n_guests; i-- > 0;) {
        if (polled[1 + hub->n_listeners + i].revents != 0)
            listen_to(hub, i);
    }
    for (size_t i = 0; i < hub->n_listeners; i++) {
        if (polled[1 + i].revents != 0)
            let_in(hub, hub->listeners[i]);
    }
    return polled[0].revents != 0;
}

uint64_t
ls_sync_serve(const LsSyncSelf *self, const int *listeners, size_t n_listeners)
{
    Hub *hub = calloc(1, sizeof *hub);
    uint64_t doubted;
    if (hub == NULL)
        return 0;
    hub->self = self;
    hub->listeners = listeners;
    hub->n_listeners = n_listeners < LS_SYNC_PLACES_MAX ? n_listeners : LS_SYNC_PLACES_MAX;
    hub->second_ns = ls_clock_now();
    while (!turn(hub, end_late(hub, ls_clock_now()), false))
        continue;
    int64_t until_ns = ls_clock_now() + LINGER_MS * MS;
    while (ls_clock_now() < until_ns && expects_more(hub)) {
        end_late(hub, ls_clock_now());
        turn(hub, 10, true);
    }
    while (hub->n_guests > 0)
        see_off(hub, hub->n_guests - 1);
    doubted = hub->doubted;
    free(hub);
    return doubted;
}
