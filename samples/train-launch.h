/* SPDX-License-Identifier: Apache-2.0
 * samples/train-launch.h: started by MPI or alone; one of train-mpi.c and train-alone.c is built.
 */
#pragma once

#include <stdbool.h>

/* Before anything that communicates. false: said on standard error. */
bool launch_start(int *argc, char ***argv);
/* When all went well; after a rank was lost MPI must not be finalised. */
void launch_stop(void);
