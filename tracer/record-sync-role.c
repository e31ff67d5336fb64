/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is it. Of a host: the wrapper that holds a socket of an abstract name made of the key, the
 * folder and the boot id; it comes free when its holder ends. Of all hosts: the hub, whoever
 * publishes itself as hub-0 (O_EXCL); where that one does not answer any more, hub-1, and so on.
 * With a place given it is the wrapper that can listen there.
 */
#include "tracer/record-sync-private.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "tracer/record-sync-hash.h"

#define MS         INT64_C(1000000)
#define FIRST_MS   250 /* pause after the first talk; then twice as long each time */
#define TALK_MS    1000
#define LAST_MS    250 /* for the last talk */
#define GIVE_UP    3   /* talks without an answer, until another hub is looked for */
#define UNREAD_MAX 8   /* looks at a hub's file that is not whole, until the next one's turn */

/* -- Which wrapper of this host -- */

/* -1: another wrapper holds it. */
int
ls_sync_hold_host(const LsRecordSync *sync)
{
    const LsHashPart parts[] = {{"lockstep clock host", 19},
                                {sync->folder, strlen(sync->folder)},
                                {sync->self.boot, strlen(sync->self.boot)}};
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    uint8_t seal[LS_HASH_BYTES];
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ls_hash_seal(seal, sync->self.key, sizeof sync->self.key, parts, 3);
    memcpy(name.sun_path + 1, seal, sizeof seal);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&name,
                        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + sizeof seal)) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* -- As the hub -- */

static void
serve(LsRecordSync *sync, const int *listeners, size_t n)
{
    uint64_t doubted = ls_sync_serve(&sync->self, listeners, n);
    pthread_mutex_lock(&sync->lock);
    sync->doubted += doubted;
    pthread_mutex_unlock(&sync->lock);
    for (size_t i = 0; i < n; i++)
        close(listeners[i]);
}

static size_t
listen_at(LsSyncPlace *places, size_t n_places, int *ret_listeners)
{
    size_t n = 0;
    for (size_t i = 0; i < n_places; i++) {
        ret_listeners[n] = ls_sync_listen(&places[i]);
        if (ret_listeners[n] >= 0)
            places[n++] = places[i];
    }
    return n;
}

/* Where HOST is this host: at its addresses, and where that is a name (which many systems give a
 * loopback address at home) at all that others can reach. */
static size_t
listen_as(const LsRecordSync *sync, const LsSyncPlace *places, size_t n_places, int *ret_listeners)
{
    LsSyncPlace found[LS_SYNC_PLACES_MAX], own[LS_SYNC_PLACES_MAX], numeric;
    char host[LS_AREA_NAME_MAX], port[8];
    memcpy(found, places, n_places * sizeof *places);
    size_t n = listen_at(found, n_places, ret_listeners), n_own, n_more = 0;
    if (n == 0 || !ls_sync_place_split(sync->place, host, port) ||
        ls_sync_place_parse(&numeric, host, port))
        return n;
    n_own = ls_sync_place_list_own(own, sync->self.is_public);
    for (size_t i = 0; i < n_own && n + n_more < LS_SYNC_PLACES_MAX; i++) {
        ls_sync_place_set_port(&own[i], port);
        n_more += listen_at(&own[i], 1, ret_listeners + n + n_more);
    }
    return n + n_more;
}

/* true: we were the hub, and are to end. */
static bool
become_hub(LsRecordSync *sync, uint32_t number)
{
    LsSyncHub hub = {0};
    int listeners[LS_SYNC_PLACES_MAX];
    gethostname(hub.host, sizeof hub.host - 1);
    memcpy(hub.boot, sync->self.boot, sizeof hub.boot);
    hub.n_places = ls_sync_place_list_own(hub.places, sync->self.is_public);
    hub.n_places = listen_at(hub.places, hub.n_places, listeners);
    if (hub.n_places == 0) {
        ls_sync_note(sync,
                     "this host has no loopback or private address to listen at; --sync-public "
                     "allows others");
    } else if (ls_sync_hub_publish(sync->folder, number, &hub) == LS_OK) {
        ls_sync_note(sync,
                     "no wrapper of another host came to %s; where hosts do not share the run "
                     "folder, give them --sync HOST:PORT and the same --sync-key FILE",
                     hub.host);
        serve(sync, listeners, hub.n_places);
        return true;
    }
    for (size_t i = 0; i < hub.n_places; i++)
        close(listeners[i]);
    return false;
}

/* -- As an asker -- */

/* One talk with the first of the places that answers, which comes to the front. */
static LsSyncOutcome
ask(LsRecordSync *sync, LsSyncPlace *places, size_t n_places, bool is_last, uint32_t *ret_pause_ms)
{
    LsSyncOutcome outcome = LS_SYNC_ABSENT;
    for (size_t i = 0; i < n_places && (outcome == LS_SYNC_ABSENT || outcome == LS_SYNC_DOUBTED);
         i++) {
        char text[LS_SYNC_PLACE_TEXT];
        int error;
        ls_sync_place_format(&places[i], text);
        if (!sync->self.is_public && !ls_sync_place_is_private(&places[i])) {
            ls_sync_note(sync,
                         "%s is neither a loopback nor a private address; --sync-public allows it",
                         text);
            continue;
        }
        int64_t until_ns = ls_clock_now() + (is_last ? LAST_MS : TALK_MS) * MS;
        outcome = ls_sync_ask(&sync->self, &places[i], is_last, until_ns, ret_pause_ms, &error);
        if (outcome == LS_SYNC_ABSENT)
            ls_sync_note(sync, "no wrapper answered at %s (%s)", text, strerror(error));
        else if (outcome == LS_SYNC_DOUBTED)
            ls_sync_note(sync,
                         "who answered at %s does not have our key; give both hosts the same "
                         "--sync-key FILE",
                         text);
        LsSyncPlace answered = places[i];
        if (outcome == LS_SYNC_MEASURED && i > 0) {
            places[i] = places[0];
            places[0] = answered;
        }
    }
    return outcome;
}

/* Talks with the hub until it does not answer any more (false), or we are to end (true). */
static bool
follow(LsRecordSync *sync, LsSyncPlace *places, size_t n_places)
{
    uint32_t growing_ms = FIRST_MS, hub_ms = LS_SYNC_LOOK_MS;
    for (int failures = 0; failures < GIVE_UP;) {
        LsSyncOutcome outcome = ask(sync, places, n_places, false, &hub_ms);
        bool is_good = outcome == LS_SYNC_MEASURED, is_own = outcome == LS_SYNC_SAME_BOOT;
        uint32_t pause_ms = is_own ? LS_SYNC_LOOK_MS : hub_ms;
        failures = is_good || is_own ? 0 : failures + 1;
        if (failures > 0)
            pause_ms = FIRST_MS << failures;
        else if (growing_ms < pause_ms)
            pause_ms = growing_ms;
        growing_ms *= growing_ms < pause_ms * 2 ? 2 : 1;
        if (is_own)
            ls_sync_note(sync, "%s", "");
        if (ls_sync_wait(&sync->self, pause_ms)) {
            if (is_good)
                ask(sync, places, n_places, true, &hub_ms);
            return true;
        }
    }
    return false;
}

/* A loopback address is the hub's own host's. */
static size_t
choose_places(LsSyncHub *hub)
{
    char host[LS_AREA_NAME_MAX] = "";
    size_t n = 0;
    gethostname(host, sizeof host - 1);
    for (size_t i = 0; i < hub->n_places; i++) {
        if (!ls_sync_place_is_loopback(&hub->places[i]) || strcmp(host, hub->host) == 0)
            hub->places[n++] = hub->places[i];
    }
    return n;
}

void
ls_sync_run_by_folder(LsRecordSync *sync)
{
    LsSyncHub hub;
    uint32_t number = 0, unread = 0;
    for (bool is_over = false; !is_over;) {
        if (ls_sync_hub_read(sync->folder, number, &hub) == LS_OK) {
            unread = 0;
            is_over = follow(sync, hub.places, choose_places(&hub));
            number++;
        } else if (!become_hub(sync, number)) {
            /* Somebody is writing it this moment, or died doing so. */
            is_over = ls_sync_wait(&sync->self, FIRST_MS);
            number += ++unread % UNREAD_MAX == 0;
        } else {
            is_over = true;
        }
    }
}

void
ls_sync_run_by_place(LsRecordSync *sync)
{
    LsSyncPlace places[LS_SYNC_PLACES_MAX];
    int listeners[LS_SYNC_PLACES_MAX];
    uint32_t pause_ms = FIRST_MS;
    for (bool is_over = false; !is_over;) {
        const char *why;
        size_t n = ls_sync_place_find(sync->place, places, &why), allowed = 0;
        for (size_t i = 0; i < n; i++) {
            if (sync->self.is_public || ls_sync_place_is_private(&places[i]))
                places[allowed++] = places[i];
        }
        if (n == 0)
            ls_sync_note(sync, "%s is not found (%s)", sync->place, why);
        else if (allowed == 0)
            ls_sync_note(sync,
                         "%s is neither a loopback nor a private address; --sync-public allows it",
                         sync->place);
        size_t n_listeners = listen_as(sync, places, allowed, listeners);
        if (n_listeners > 0) {
            ls_sync_note(sync, "no wrapper of another host came to %s", sync->place);
            serve(sync, listeners, n_listeners);
            return;
        }
        is_over = allowed > 0 && follow(sync, places, allowed);
        is_over = is_over || ls_sync_wait(&sync->self, pause_ms);
        pause_ms = pause_ms < LS_SYNC_LOOK_MS ? pause_ms * 2 : LS_SYNC_LOOK_MS;
    }
}
