/* SPDX-License-Identifier: Apache-2.0
 *
 * merge/inner.h: operations of NCCL that a library's buffer consists of. Where the library and NCCL
 * both are recorded, one collective is told twice.
 */
#pragma once

#include "trace/builder.h"

/* Marks NCCL's calls that ran inside a buffer of the library's (LsCall.is_inner): they are no
 * buffers of their own. `processes`: LsProcess. When all calls are there, before they are matched.
 */
void ls_inner_mark(const GPtrArray *processes, LsBuilder *builder);
