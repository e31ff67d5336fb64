/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/link.c: making the links, and four bytes over one.
 *
 * Each leader listens, all tell the transport where, then each rank connects to its one link
 * upward: a leader to the one before it, any other rank to its leader. The kernel completes a
 * connection before it is accepted, so that everybody can connect first and accept after.
 */
#include "reduce/link.h"

#include "reduce/failure.h"
#include "reduce/instrument.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADDRESSES_MAX 4
#define PATIENCE_MS   2000

/* Where a rank listens; port 0: nowhere. IPv4, network order. */
typedef struct LsLinkCard {
    uint64_t word;
    uint32_t addresses[ADDRESSES_MAX];
    uint16_t port;
    uint16_t n_addresses;
} Card;

/* The first bytes over a new link. */
typedef struct Hello {
    uint64_t word;
    int32_t rank;
} Hello;

static void
find_addresses(Card *card)
{
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *at = all; at != NULL; at = at->ifa_next) {
        if (at->ifa_addr == NULL || at->ifa_addr->sa_family != AF_INET ||
            (at->ifa_flags & IFF_UP) == 0 || (at->ifa_flags & IFF_LOOPBACK) != 0)
            continue;
        struct sockaddr_in address;
        memcpy(&address, at->ifa_addr, sizeof address);
        if (card->n_addresses < ADDRESSES_MAX)
            card->addresses[card->n_addresses++] = address.sin_addr.s_addr;
    }
    freeifaddrs(all);
}

/* The listening socket, or -1: then nobody can connect, which they will say. */
static int
listen_for(const LsWorld *world, Card *ret_card)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    *ret_card = (Card){0};
    if (fd < 0)
        return -1;
    if (getrandom(&ret_card->word, sizeof ret_card->word, 0) != sizeof ret_card->word ||
        bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, world->local_ranks + 1) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0) {
        close(fd);
        return -1;
    }
    ret_card->port = address.sin_port;
    find_addresses(ret_card);
    return fd;
}

static bool
await(int fd, short events, int timeout_ms)
{
    struct pollfd item = {fd, events, 0};
    int n;
    do
        n = poll(&item, 1, timeout_ms);
    while (n < 0 && errno == EINTR);
    return n > 0;
}

/* A machine that dies sends no end of stream; keepalive finds out in 4 s. */
static void
watch_silence(int fd)
{
    int on = 1, idle_s = 1, probes = 3;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static int
connect_to(uint32_t address, uint16_t port, const Hello *hello)
{
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_addr.s_addr = address, .sin_port = port};
    int fault = 0;
    socklen_t length = sizeof fault;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    watch_silence(fd);
    if ((connect(fd, (struct sockaddr *)&peer, sizeof peer) == 0 ||
         (errno == EINPROGRESS && await(fd, POLLOUT, PATIENCE_MS / 2))) &&
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &fault, &length) == 0 && fault == 0 &&
        send(fd, hello, sizeof *hello, MSG_NOSIGNAL) == sizeof *hello)
        return fd;
    close(fd);
    return -1;
}

static void
add_link(LsLinks *links, int fd, int rank)
{
    links->items[links->n++] = (LsLink){fd, rank};
}

/* This rank's one link upward. */
static void
connect_up(const LsWorld *world, const Card *cards, LsLinks *links)
{
    int host = world->infos[world->rank].host;
    int up = world->leader ? ls_world_leader(world, host - 1) : ls_world_leader(world, host);
    const Card *card = &cards[up];
    Hello hello = {card->word, world->rank};
    int fd = -1;
    if (!world->leader)
        fd = connect_to(htonl(INADDR_LOOPBACK), card->port, &hello);
    for (int i = 0; fd < 0 && card->port != 0 && i < card->n_addresses; i++)
        fd = connect_to(card->addresses[i], card->port, &hello);
    if (fd >= 0) {
        add_link(links, fd, up);
        return;
    }
    char text[128];
    snprintf(text, sizeof text,
             "rank %d cannot connect to rank %d: a death beyond it will not be noticed here",
             world->rank, up);
    ls_instrument_say(text);
}

/* Takes the links from below; the rank that connects first need not be the lowest. */
static void
accept_below(const LsWorld *world, int listener, const Card *card, LsLinks *links)
{
    bool last = world->infos[world->rank].host == world->hosts - 1;
    int expected = world->local_ranks - 1 + (last ? 0 : 1);
    while (expected > 0 && listener >= 0 && await(listener, POLLIN, PATIENCE_MS)) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        Hello hello;
        if (fd < 0)
            continue;
        if (await(fd, POLLIN, PATIENCE_MS) && recv(fd, &hello, sizeof hello, 0) == sizeof hello &&
            hello.word == card->word && hello.rank >= 0 && hello.rank < world->ranks) {
            watch_silence(fd);
            add_link(links, fd, hello.rank);
            expected--;
        } else {
            close(fd);
        }
    }
    if (expected > 0) {
        char text[128];
        snprintf(text, sizeof text,
                 "%d ranks did not connect to rank %d: deaths beyond them will not be noticed here",
                 expected, world->rank);
        ls_instrument_say(text);
    }
}

/* Every rank's card to every rank, by rank. */
static lockstep_status
exchange_cards(const LsWorld *world, LsTransport *transport, const Card *own, Card *ret_cards)
{
    size_t size = (size_t)world->ranks * sizeof *own;
    LsAction gather = {.kind = LS_ACTION_GATHER, .data = own, .length = sizeof *own};
    LsAction broadcast = {.kind = LS_ACTION_BROADCAST, .data = ret_cards, .length = size};
    LsResult result;
    if (!transport->class->perform(transport, &gather, &result))
        return ls_fail(LOCKSTEP_ERR_MPI, "%s", transport->class->error(transport));
    for (int rank = 0; world->rank == 0 && rank < result.n_parts; rank++) {
        if (result.parts[rank].length == sizeof *own)
            memcpy(&ret_cards[rank], result.parts[rank].data, sizeof *own);
    }
    if (!transport->class->perform(transport, &broadcast, &result))
        return ls_fail(LOCKSTEP_ERR_MPI, "%s", transport->class->error(transport));
    if (result.n_parts == 1 && result.parts[0].length == size)
        memmove(ret_cards, result.parts[0].data, size);
    return LOCKSTEP_OK;
}

lockstep_status
ls_links_open(const LsWorld *world, LsLinks *ret_links)
{
    *ret_links = (LsLinks){.leader = world->leader};
    if (world->hosts < 2)
        return LOCKSTEP_OK;
    ret_links->cards = calloc((size_t)world->ranks, sizeof *ret_links->cards);
    ret_links->items = calloc((size_t)world->local_ranks + 1, sizeof *ret_links->items);
    return ret_links->cards != NULL && ret_links->items != NULL
               ? LOCKSTEP_OK
               : ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory for %d ranks", world->ranks);
}

lockstep_status
ls_links_connect(const LsWorld *world, LsTransport *transport, LsLinks *links)
{
    Card own = {0};
    int listener = -1;
    if (world->hosts < 2)
        return LOCKSTEP_OK;
    if (world->leader)
        listener = listen_for(world, &own);
    lockstep_status status = exchange_cards(world, transport, &own, links->cards);
    if (status == LOCKSTEP_OK && (!world->leader || world->infos[world->rank].host > 0))
        connect_up(world, links->cards, links);
    if (status == LOCKSTEP_OK && world->leader)
        accept_below(world, listener, &own, links);
    if (listener >= 0)
        close(listener);
    return status;
}

void
ls_links_close(LsLinks *links)
{
    for (int i = 0; i < links->n; i++) {
        if (links->items[i].fd >= 0)
            close(links->items[i].fd);
    }
    free(links->items);
    free(links->cards);
    *links = (LsLinks){0};
}

void
ls_links_tell(const LsLinks *links, int lost_rank, const LsLink *except)
{
    int32_t news = lost_rank;
    for (int i = 0; i < links->n; i++) {
        if (links->items[i].fd >= 0 && &links->items[i] != except)
            send(links->items[i].fd, &news, sizeof news, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

int
ls_links_hear(const LsLinks *links, LsLink *link)
{
    int32_t news;
    ssize_t length = recv(link->fd, &news, sizeof news, MSG_DONTWAIT);
    if (length == sizeof news)
        return news;
    if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return -1;
    close(link->fd);
    link->fd = -1;
    return link->rank;
}
