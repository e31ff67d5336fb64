/* SPDX-License-Identifier: Apache-2.0
 * samples/train-alone.c: built without MPI: one process is the whole job. */
#include "samples/train-launch.h"

bool
launch_start(int *argc, char ***argv)
{
    return true;
}

void
launch_stop(void)
{
}
