/* SPDX-License-Identifier: Apache-2.0
 *
 * gpu-train under mpirun: MPI tells the rank and carries NCCL's id, nothing else.
 */
#include <mpi.h>

#include "samples/gpu-train-launch.h"

bool
gpu_launch_start(int *argc, char ***argv, int *ret_rank, int *ret_ranks)
{
    int level; /* lockstep needs more than MPI_Init gives (--reduce), and says so where it lacks */
    return MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &level) == MPI_SUCCESS &&
           MPI_Comm_rank(MPI_COMM_WORLD, ret_rank) == MPI_SUCCESS &&
           MPI_Comm_size(MPI_COMM_WORLD, ret_ranks) == MPI_SUCCESS;
}

bool
gpu_launch_share(void *bytes, size_t n)
{
    return MPI_Bcast(bytes, (int)n, MPI_BYTE, 0, MPI_COMM_WORLD) == MPI_SUCCESS;
}

void
gpu_launch_stop(void)
{
    MPI_Finalize();
}
