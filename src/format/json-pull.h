/* SPDX-License-Identifier: Apache-2.0
 * format/json-pull.h: the objects of a JSON array, one at a time, out of a file larger than memory
 * and less sound than JSON: no closing bracket, stray commas, text cut in the middle, names written
 * unescaped. */
#pragma once

#include <json-c/json.h>

#include "format/input.h"

typedef struct LsJsonPull LsJsonPull;

/* Told of each fault: what lies at `offset` is left out. */
typedef void (*LsJsonFault)(void *user, int64_t offset, const char *text);

/* Borrows the input, which stands before or behind the opening bracket. */
LsJsonPull *ls_json_pull_new(LsInput *input, LsJsonFault fault, void *user);
void ls_json_pull_free(LsJsonPull *pull);

/* The objects are the elements of one list of an object: they end at its bracket, behind which only
 * the rest of that object may stand. */
void ls_json_pull_set_wrapped(LsJsonPull *pull);

/* The next object, NULL at the end. Owned by the caller (json_object_put). */
json_object *ls_json_pull_next(LsJsonPull *pull, int64_t *ret_offset);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsJsonPull, ls_json_pull_free)
