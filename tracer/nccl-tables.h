/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/nccl-tables.h: what NCCL calls, by version of its table; v6 has v5's.
 */
#pragma once

#include "abi/nccl-profiler.h"

int ls_nccl_v4_init(void **ret_context, int *mask, const char *comm_name, uint64_t comm_hash,
                    int n_nodes, int n_ranks, int rank, LsNcclLogger logger);
int ls_nccl_v4_start(void *context, void **ret_handle, LsNcclEventV4 *event);
int ls_nccl_v5_init(void **ret_context, uint64_t comm_id, int *mask, const char *comm_name,
                    int n_nodes, int n_ranks, int rank, LsNcclLogger logger);
int ls_nccl_v5_start(void *context, void **ret_handle, LsNcclEventV5 *event);
int ls_nccl_stop(void *handle);
int ls_nccl_state(void *handle, int state, LsNcclState *arguments);
int ls_nccl_finalize(void *context);

/* Opens the recorder and the communicator; *mask is 0 where nothing is to be recorded.
 * version: of the table; from 5 on it has the program's calls and launches. 0: it went well. */
int ls_nccl_open(void **ret_context, int *mask, uint64_t hash, const char *name, int n_nodes,
                 int n_ranks, int rank, int version);
