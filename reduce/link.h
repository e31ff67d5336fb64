/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/link.h: sockets that carry the news of a death from host to host.
 *
 * Host leaders form a chain in order of their hosts; every other rank is linked to its own leader.
 * News runs along all links but the one it came by. A closed or silent link between leaders is
 * itself news: the leader behind it is dead, or its machine (TCP keepalive, 4 s). Addresses and a
 * secret word are exchanged through the transport; whoever does not know the word is turned away.
 */
#pragma once

#include "reduce/transport.h"
#include "reduce/world.h"

typedef struct LsLink {
    int fd;   /* -1: closed */
    int rank; /* at the other end */
} LsLink;

typedef struct LsLinks {
    LsLink *items; /* owned */
    int n;
    struct LsLinkCard *cards; /* owned: where each rank listens */
    bool leader;
} LsLinks;

/* The memory. On failure there is something to close. */
lockstep_status ls_links_open(const LsWorld *world, LsLinks *ret_links);
/* Collective; nothing is connected where there is one host. A link that cannot be made is named on
 * standard error and missed, no more. */
lockstep_status ls_links_connect(const LsWorld *world, LsTransport *transport, LsLinks *links);
void ls_links_close(LsLinks *links);

/* News (reduce/board.h) to all but `except` (NULL: to all). */
void ls_links_tell(const LsLinks *links, int news, const LsLink *except);
/* The link is readable: the news, or -1: nothing to tell. */
int ls_links_hear(const LsLinks *links, LsLink *link);
