/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/record-sync-talk.h: the two sides of a talk about clocks, on sockets.
 *
 * The hub listens and answers whoever knows the key; an asker comes every few seconds, asks a few
 * times, and goes: nothing is held open between two talks, so that one host answers thousands.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/record-sync-place.h"
#include "tracer/record-sync-wire.h"

#define LS_SYNC_TRIPS_OF_TALK 16

/* One clock round trip, as LS_RECORD_ROUNDTRIP keeps it. */
typedef struct LsSyncTrip {
    int64_t sent_ns, received_ns;           /* ours */
    int64_t peer_received_ns, peer_sent_ns; /* the peer's clock */
    const char *peer_boot;
} LsSyncTrip;

/* Who we are, and where to turn to with what comes of it. */
typedef struct LsSyncSelf {
    uint8_t key[LS_SYNC_KEY_BYTES];
    char boot[LS_BOOT_ID_MAX];
    bool is_public; /* other than loopback and private addresses are allowed */
    int stop_fd;    /* readable: it is to end */
    void (*kept)(void *user, const LsSyncTrip *trip);
    void (*met)(void *user); /* a wrapper of another host was believed */
    void *user;
} LsSyncSelf;

/* Waits; true: stop_fd is readable. */
bool ls_sync_wait(const LsSyncSelf *self, int64_t ms);

/* -- The hub -- */

/* Listens at the place (port 0: any, which it is told in *place). -1 with errno. */
int ls_sync_listen(LsSyncPlace *place);
/* Answers until stop_fd is readable, and then for as long as askers that will come once more are
 * expected, a quarter of a second at most. Returns how many were not believed. */
uint64_t ls_sync_serve(const LsSyncSelf *self, const int *listeners, size_t n_listeners);

/* -- The asker -- */

typedef enum LsSyncOutcome {
    LS_SYNC_MEASURED,
    LS_SYNC_SAME_BOOT, /* it reads our own clock: there is nothing to measure */
    LS_SYNC_ABSENT,    /* nobody answered */
    LS_SYNC_DOUBTED,   /* who answered does not have our key */
} LsSyncOutcome;

/* One talk, which ends at until_ns at the latest (ls_clock_now). ret_pause_ms: when the hub wants
 * to be asked again; ret_error: errno where it is absent. */
LsSyncOutcome ls_sync_ask(const LsSyncSelf *self, const LsSyncPlace *place, bool is_last,
                          int64_t until_ns, uint32_t *ret_pause_ms, int *ret_error);
