/* SPDX-License-Identifier: Apache-2.0
 *
 * abi/nvtx-client.h: the few NVTX calls that our own sample and the test double make.
 *
 * NVTX itself is headers only; this is the least of it: an injected library (NVTX_INJECTION64_PATH)
 * is loaded on the first call and fills the functions that it wants. Without one every call returns
 * at once.
 */
#pragma once

#include <stdint.h>

typedef void *LsNvtxDomain, *LsNvtxString;

LsNvtxDomain ls_nvtx_domain(const char *name);
/* A text known by handle from now on; NULL where nobody listens. */
LsNvtxString ls_nvtx_register(LsNvtxDomain domain, const char *text);

/* domain NULL: the default one. */
void ls_nvtx_push(LsNvtxDomain domain, const char *text);
void ls_nvtx_pop(LsNvtxDomain domain);

/* A range that another thread may end. */
uint64_t ls_nvtx_start(LsNvtxDomain domain, LsNvtxString text, int64_t bytes);
void ls_nvtx_end(LsNvtxDomain domain, uint64_t id);
