/* SPDX-License-Identifier: Apache-2.0
 * samples/gpu-train-launch.h: which rank this is, and NCCL's id from rank 0 to all; one of
 * gpu-train-mpi.c and gpu-train-alone.c is built.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

bool gpu_launch_start(int *argc, char ***argv, int *ret_rank, int *ret_ranks);
bool gpu_launch_share(void *bytes, size_t n);
void gpu_launch_stop(void);
