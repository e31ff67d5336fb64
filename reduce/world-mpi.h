/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/world-mpi.h: the communicator behind a world, for the files that speak MPI.
 */
#pragma once

#include "reduce/world.h"

#include <mpi.h>

/* The context's own duplicate. */
MPI_Comm ls_world_mpi_communicator(const LsWorld *world);

/* Initialised and not finalised. */
bool ls_mpi_is_running(void);
/* LOCKSTEP_OK, or LOCKSTEP_ERR_MPI with MPI's own words. call: "MPI_Bcast". */
lockstep_status ls_mpi_check(int result, const char *call);

/* For so many ranks as `like` has; NULL: no memory. */
LsTransport *ls_transport_mpi_new(MPI_Comm like);
/* Once, before it performs: the communicator, borrowed. */
void ls_transport_mpi_use(LsTransport *transport, MPI_Comm communicator,
                          const LsTransportEvents *events);
