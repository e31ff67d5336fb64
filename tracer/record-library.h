/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/record-library.h: our libraries: where they are, and whether they load here.
 */
#pragma once

#include <stdbool.h>

#include "capture/area.h"

/* What `lockstep-record` is called with by itself, to be a program that does nothing. */
#define LS_RECORD_LOADS "--loads"

/* The folder of this program; false: /proc does not say. */
bool ls_record_find_own_folder(char ret_folder[LS_AREA_PATH_MAX]);

/* The path of lib`name`.so beside this program, in its kit, where it is installed, or where it was
 * built. */
bool ls_record_find_library(char ret_path[LS_AREA_PATH_MAX], const char *name);

/* Starts a program with the library preloaded. false: it does not start, or the loader complains;
 * ret_why is what it says. */
bool ls_record_try_library(const char *path, char *ret_why, int size);

/* Whether a library of that name loads in a process of its own ("libcuda.so.1"). */
bool ls_record_can_load(const char *name);
