/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/nvtx.h: the NVTX source: ranges, and those of them that are marks.
 */
#pragma once

#include "abi/nvtx.h"

/* Puts our functions into one library's copy of NVTX. */
void ls_nvtx_fill(LsNvtxGetTable get_table);
