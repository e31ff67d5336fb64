/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/watcher.c: one thread, one poll() over pidfds, links and a wake-up.
 *
 * A pidfd becomes readable when its process ends (Linux 5.3), measured 1.5-4 ms after a SIGKILL.
 * Where the kernel has none, or forbids it, the process table is read ten times a second. A process
 * that was started later than the rank is another one with a pid used again.
 */
#include "reduce/watcher.h"

#include "capture/compat.h"
#include "reduce/board.h"
#include "reduce/failure.h"
#include "reduce/instrument.h"
#include "reduce/link.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#define POLL_MS  100
#define BOARD_MS 200
#define GRACE_MS 1000 /* for the loop to end, once all ranks have agreed to leave */
#define FAILED_GRACE_MS                                                                            \
    2000 /* or once another rank's has failed, which this one may learn itself */

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

LS_BIND_OLD(pthread_create);
LS_BIND_OLD(pthread_join);

typedef struct Peer {
    int rank;
    int fd;             /* pidfd, -1: to be polled */
    int64_t stopped_ns; /* since when, as far as was seen; 0: it runs */
    bool told;
} Peer;

struct LsWatcher {
    LsWatcherConfig config;
    Peer *peers; /* owned: the other ranks of this host */
    int n_peers;
    bool polls; /* at least one of them */
    LsLinks links;
    LsBoard board;
    struct pollfd *fds;  /* owned: wake-up, peers, links */
    int wake;            /* eventfd */
    atomic_bool leaving; /* ranks may end: before start and after leave */
    atomic_bool stopped, failed;
    char text[256]; /* why, before failed is set */
    pthread_t thread;
    bool threaded;
};

static void
add_peer(LsWatcher *watcher, int rank)
{
    const LsRankInfo *info = &watcher->config.world->infos[rank];
    Peer *peer = &watcher->peers[watcher->n_peers++];
    *peer = (Peer){.rank = rank, .fd = -1};
    if (watcher->config.method == LS_WATCHER_AUTO)
        peer->fd = (int)syscall(SYS_pidfd_open, (pid_t)info->pid, 0);
    if (peer->fd >= 0 && ls_world_started(info->pid) != info->started) {
        close(peer->fd); /* of another process: the rank is gone */
        peer->fd = -1;
    }
    if (peer->fd < 0)
        watcher->polls = true;
}

/* Reads the process table for the peers without a pidfd. */
static int
find_gone(const LsWatcher *watcher)
{
    for (int i = 0; i < watcher->n_peers; i++) {
        const LsRankInfo *info = &watcher->config.world->infos[watcher->peers[i].rank];
        if (watcher->peers[i].fd < 0 && ls_world_started(info->pid) != info->started)
            return watcher->peers[i].rank;
    }
    return -1;
}

static nfds_t
fill_fds(LsWatcher *watcher)
{
    nfds_t n = 0;
    watcher->fds[n++] = (struct pollfd){watcher->wake, POLLIN, 0};
    for (int i = 0; i < watcher->n_peers; i++)
        watcher->fds[n++] = (struct pollfd){watcher->peers[i].fd, POLLIN, 0};
    for (int i = 0; i < watcher->links.n; i++)
        watcher->fds[n++] = (struct pollfd){watcher->links.items[i].fd, POLLIN, 0};
    return n;
}

/* Tells of ranks that stand still: the exchange waits for them, and cannot say so. */
static void
inspect_stopped(LsWatcher *watcher)
{
    const LsWatcherConfig *config = &watcher->config;
    int64_t now = ls_instrument_now();
    for (int i = 0; i < watcher->n_peers && config->stopped != NULL && config->warning_ns > 0;
         i++) {
        Peer *peer = &watcher->peers[i];
        if (!ls_world_is_stopped(config->world->infos[peer->rank].pid)) {
            peer->stopped_ns = 0;
            peer->told = false;
        } else if (peer->stopped_ns == 0) {
            peer->stopped_ns = now;
        } else if (!peer->told && now - peer->stopped_ns >= config->warning_ns) {
            peer->told = true;
            config->stopped(config->user, peer->rank, now - peer->stopped_ns);
        }
    }
}

/* How long to sleep when nothing happens; -1: until something does. */
static int
find_pause_ms(const LsWatcher *watcher)
{
    int64_t quarter_ms = watcher->config.warning_ns / 4 / 1000000;
    bool inspects = watcher->config.stopped != NULL && watcher->config.warning_ns > 0;
    int pause_ms = quarter_ms < 20 ? 20 : quarter_ms < 5000 ? (int)quarter_ms : 5000;
    int most_ms = watcher->polls                               ? POLL_MS
                  : watcher->board.page != &watcher->board.own ? BOARD_MS
                                                               : -1;
    if (!inspects)
        return most_ms;
    return most_ms >= 0 && pause_ms > most_ms ? most_ms : pause_ms;
}

static bool
is_news(const LsWatcher *watcher, int news)
{
    int rank = news & ~LS_NEWS_FAILED, own = watcher->config.world->rank;
    return news >= 0 && rank < watcher->config.world->ranks && (rank != own || news == rank);
}

/* After a poll: what is new, or -1. A link that brought it is *ret_link. */
static int
find_news(LsWatcher *watcher, LsLink **ret_link)
{
    const struct pollfd *peers = watcher->fds + 1, *links = peers + watcher->n_peers;
    *ret_link = NULL;
    for (int i = 0; i < watcher->n_peers; i++) {
        if (watcher->peers[i].fd >= 0 && peers[i].revents != 0)
            return watcher->peers[i].rank;
    }
    for (int i = 0; i < watcher->links.n; i++) {
        LsLink *link = &watcher->links.items[i];
        int news = links[i].revents != 0 ? ls_links_hear(&watcher->links, link) : -1;
        if (is_news(watcher, news)) {
            *ret_link = link;
            return news;
        }
    }
    int news = ls_board_look(&watcher->board);
    if (is_news(watcher, news) && (news & LS_NEWS_FAILED) != 0)
        return news;
    return watcher->polls ? find_gone(watcher) : -1;
}

/* Whether the own loop ends within the time. */
static bool
ends_itself(LsWatcher *watcher, int limit_ms)
{
    struct pollfd wake = {watcher->wake, POLLIN, 0};
    while (!atomic_load(&watcher->stopped)) {
        int n = poll(&wake, 1, limit_ms);
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
    }
    return atomic_load(&watcher->stopped);
}

/* Of a failure all may learn on the control's way, with its reason. Where all are leaving an end is
 * no death, unless it holds up the others. link: it came by this one. */
static void
judge(LsWatcher *watcher, int news, const LsLink *link)
{
    const LsWatcherConfig *config = &watcher->config;
    bool fails = (news & LS_NEWS_FAILED) != 0;
    if (fails)
        ls_links_tell(&watcher->links, news, link);
    if (fails ? ends_itself(watcher, FAILED_GRACE_MS)
              : atomic_load(&watcher->leaving) && ends_itself(watcher, GRACE_MS))
        return;
    int first = ls_board_claim(&watcher->board, news);
    if (!fails)
        ls_links_tell(&watcher->links, first, link);
    int rank = first & ~LS_NEWS_FAILED;
    if (first == rank)
        config->lost(config->user, rank);
    else
        config->failed(config->user, rank, watcher->board.page->text);
}

static void
tell_failure(LsWatcher *watcher)
{
    int news = watcher->config.world->rank | LS_NEWS_FAILED;
    LsBoardPage *page = watcher->board.page;
    if (ls_board_claim(&watcher->board, news) == news)
        snprintf(page->text, sizeof page->text, "%s", watcher->text);
    ls_links_tell(&watcher->links, news, NULL);
}

static void *
watch(void *user)
{
    LsWatcher *watcher = user;
    while (!atomic_load(&watcher->stopped)) {
        LsLink *link;
        nfds_t n = fill_fds(watcher);
        if (poll(watcher->fds, n, find_pause_ms(watcher)) < 0) {
            if (errno == EINTR)
                continue;
            break;
        }
        if (atomic_load(&watcher->stopped))
            break;
        int news = find_news(watcher, &link);
        if (news >= 0) {
            judge(watcher, news, link);
            break;
        }
        inspect_stopped(watcher);
    }
    if (atomic_load(&watcher->failed))
        tell_failure(watcher);
    return NULL;
}

static void
free_watcher(LsWatcher *watcher)
{
    for (int i = 0; i < watcher->n_peers; i++) {
        if (watcher->peers[i].fd >= 0)
            close(watcher->peers[i].fd);
    }
    ls_links_close(&watcher->links);
    ls_board_close(&watcher->board);
    if (watcher->wake >= 0)
        close(watcher->wake);
    free(watcher->peers);
    free(watcher->fds);
    free(watcher);
}

static bool
watches(const LsWatcher *watcher)
{
    return watcher->config.world->ranks > 1 && watcher->config.method != LS_WATCHER_OFF;
}

static lockstep_status
reserve(LsWatcher *watcher)
{
    const LsWorld *world = watcher->config.world;
    size_t links_max = (size_t)world->local_ranks + 1;
    watcher->peers = calloc((size_t)world->local_ranks, sizeof *watcher->peers);
    watcher->fds = calloc(1 + (size_t)world->local_ranks + links_max, sizeof *watcher->fds);
    watcher->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (watcher->peers == NULL || watcher->fds == NULL || watcher->wake < 0)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory to watch the ranks");
    return ls_links_open(world, &watcher->links);
}

lockstep_status
ls_watcher_open(const LsWatcherConfig *config, LsWatcher **ret_watcher)
{
    LsWatcher *watcher = calloc(1, sizeof *watcher);
    if (watcher == NULL)
        return ls_fail(LOCKSTEP_ERR_NO_MEMORY, "out of memory");
    watcher->config = *config;
    watcher->wake = watcher->board.fd = -1;
    watcher->board.page = &watcher->board.own;
    atomic_store(&watcher->leaving, true);
    atomic_store(&watcher->stopped, !watches(watcher)); /* nobody to watch, no thread */
    lockstep_status status = watches(watcher) ? reserve(watcher) : LOCKSTEP_OK;
    if (status == LOCKSTEP_OK)
        *ret_watcher = watcher;
    else
        free_watcher(watcher);
    return status;
}

lockstep_status
ls_watcher_connect(LsWatcher *watcher, LsTransport *transport)
{
    const LsWorld *world = watcher->config.world;
    lockstep_status status = LOCKSTEP_OK;
    if (!watches(watcher))
        return status;
    if (transport != NULL)
        status = ls_board_open(world, transport, &watcher->board);
    if (status == LOCKSTEP_OK && transport != NULL)
        status = ls_links_connect(world, transport, &watcher->links);
    if (status != LOCKSTEP_OK)
        return status;
    for (int rank = 0; rank < world->ranks; rank++) {
        if (rank != world->rank && world->infos[rank].host == world->infos[world->rank].host)
            add_peer(watcher, rank);
    }
    watcher->threaded = pthread_create(&watcher->thread, NULL, watch, watcher) == 0;
    return watcher->threaded
               ? LOCKSTEP_OK
               : ls_fail(LOCKSTEP_ERR_NO_MEMORY, "no thread could be started to watch the ranks");
}

void
ls_watcher_start(LsWatcher *watcher)
{
    atomic_store(&watcher->leaving, false);
}

void
ls_watcher_leave(LsWatcher *watcher)
{
    atomic_store(&watcher->leaving, true);
}

void
ls_watcher_fail(LsWatcher *watcher, const char *text)
{
    snprintf(watcher->text, sizeof watcher->text, "%s", text);
    atomic_store(&watcher->failed, true);
    ls_watcher_stop(watcher);
}

void
ls_watcher_stop(LsWatcher *watcher)
{
    uint64_t one = 1;
    atomic_store(&watcher->stopped, true);
    if (watcher->wake >= 0 && write(watcher->wake, &one, sizeof one) < 0)
        return; /* full: it is awake anyway */
}

void
ls_watcher_close(LsWatcher *watcher)
{
    ls_watcher_stop(watcher);
    if (watcher->threaded)
        pthread_join(watcher->thread, NULL);
    free_watcher(watcher);
}
