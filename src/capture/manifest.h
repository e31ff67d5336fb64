/* SPDX-License-Identifier: Apache-2.0
 *
 * capture/manifest.h: run.json, which says what run a folder holds.
 */
#pragma once

#include "capture/area.h"
#include "capture/identity.h"
#include "capture/settings.h"

/* Writes run.json into the folder unless there is one: run id, command (masked), tags, settings,
 * never the environment. What fails is left out; the run is readable without it. */
void ls_manifest_write(const LsAreaHeader *header, const LsSettings *settings,
                       const LsIdentity *identity);
