/* SPDX-License-Identifier: Apache-2.0
 *
 * samples/train-mpi.c: the training program's part of MPI: start and stop. `reduce` has a thread of
 * its own that communicates, so MPI must allow it.
 */
#include <mpi.h>
#include <stdio.h>

#include "samples/train-launch.h"

bool
launch_start(int *argc, char ***argv)
{
    int level = MPI_THREAD_SINGLE;
    if (MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS)
        return false;
    if (level < MPI_THREAD_SERIALIZED) {
        fputs("this MPI was built without threads\n", stderr);
        return false;
    }
    return true;
}

void
launch_stop(void)
{
    MPI_Finalize();
}
