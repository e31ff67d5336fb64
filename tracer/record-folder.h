/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/record-folder.h: which folder a job's wrappers record into.
 */
#pragma once

#include <stdbool.h>

#include "capture/area.h"
#include "capture/identity.h"
#include "capture/status.h"

/* "-o" with %j %h %r %p %q{VAR} %% replaced. false: one sentence has been said. */
bool ls_record_expand(char ret_path[LS_AREA_PATH_MAX], const char *pattern,
                      const LsIdentity *identity);

/* Makes the folder, or joins it where wrappers of the same job have made it; where it is another
 * job's, the next of FOLDER.2, FOLDER.3, ... ret_folder is absolute. errno on failure. */
LsStatus ls_record_join(char ret_folder[LS_AREA_PATH_MAX], const char *path,
                        const LsIdentity *identity, bool is_shared);
