/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/record-sync-place.h: where a wrapper can be asked for its clock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "capture/area.h"
#include "capture/clock.h"
#include "capture/status.h"

#define LS_SYNC_PLACES_MAX 16
#define LS_SYNC_PLACE_TEXT 80

typedef struct LsSyncPlace {
    struct sockaddr_storage address;
    socklen_t length; /* 0: none */
} LsSyncPlace;

/* A numeric address and port; false: not such. */
bool ls_sync_place_parse(LsSyncPlace *ret_place, const char *address, const char *port);
/* "10.0.0.7:4000", "[fd00::7]:4000" */
void ls_sync_place_format(const LsSyncPlace *place, char ret_text[LS_SYNC_PLACE_TEXT]);
void ls_sync_place_set_port(LsSyncPlace *place, const char *port);
bool ls_sync_place_is_loopback(const LsSyncPlace *place);
/* Loopback, link-local, or of the blocks that are not routed on the Internet (RFC 1918, 6598,
 * 4193). */
bool ls_sync_place_is_private(const LsSyncPlace *place);

/* "HOST:PORT", "[ADDRESS]:PORT" apart; false: not such. */
bool ls_sync_place_split(const char *text, char ret_host[LS_AREA_NAME_MAX], char ret_port[8]);
/* The same, looked up; may wait for a name server. Returns how many places there are; 0: ret_why.
 */
size_t ls_sync_place_find(const char *text, LsSyncPlace ret_places[LS_SYNC_PLACES_MAX],
                          const char **ret_why);
/* Addresses of this host, loopback last; not private ones only where is_public. */
size_t ls_sync_place_list_own(LsSyncPlace ret_places[LS_SYNC_PLACES_MAX], bool is_public);
/* First host of a Slurm node list: "gpu[03-07,9],login" is gpu03. false: none. */
bool ls_sync_place_first_node(const char *list, char ret_host[LS_AREA_NAME_MAX]);

/* What a file hub-N of the folder says: who is asked by all others. */
typedef struct LsSyncHub {
    char host[LS_AREA_NAME_MAX], boot[LS_BOOT_ID_MAX];
    LsSyncPlace places[LS_SYNC_PLACES_MAX];
    size_t n_places;
} LsSyncHub;

/* LS_ERR_OFF: there is none of this number, or it is not whole (yet). */
LsStatus ls_sync_hub_read(const char *folder, uint32_t number, LsSyncHub *ret_hub);
bool ls_sync_hub_parse(const char *text, LsSyncHub *ret_hub);
/* LS_ERR_OFF: another wrapper has published that number. */
LsStatus ls_sync_hub_publish(const char *folder, uint32_t number, const LsSyncHub *hub);
