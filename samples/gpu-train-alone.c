/* SPDX-License-Identifier: Apache-2.0
 *
 * gpu-train built without MPI: one process is the whole job.
 */
#include "samples/gpu-train-launch.h"

bool
gpu_launch_start(int *argc, char ***argv, int *ret_rank, int *ret_ranks)
{
    *ret_rank = 0;
    *ret_ranks = 1;
    return true;
}

bool
gpu_launch_share(void *bytes, size_t n)
{
    return true;
}

void
gpu_launch_stop(void)
{
}
