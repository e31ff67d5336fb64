/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/record-sync-key.h: the key by which the wrappers of one run know each other.
 */
#pragma once

#include "capture/status.h"
#include "tracer/record-sync-wire.h"

/* The key that the file holds; made there if it is absent (0600, O_EXCL: of several who come at
 * once, one makes it). LS_OK, or why not in ret_why: nobody's key is better than one that others
 * may know, so a file that others can read or that is not ours is refused. */
LsStatus ls_sync_key_load(uint8_t ret_key[LS_SYNC_KEY_BYTES], const char *path, char *ret_why,
                          size_t size);
