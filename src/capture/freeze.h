/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/freeze.h: how the flight recorders of one run hear of each other: two small files in the
 * run folder. `.freeze` asks; `.freeze-at`, written by the first rank that sees the ask or has a
 * slow step of its own, holds the number of the last step that all ranks keep (-1: stop at once).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "capture/status.h"

LsStatus ls_freeze_ask(const char *folder);
bool ls_freeze_is_asked(const char *folder);
/* Of several answers the first holds. */
LsStatus ls_freeze_answer(const char *folder, int64_t stop_step);
/* false: there is no answer (yet). */
bool ls_freeze_read(const char *folder, int64_t *ret_stop_step);
