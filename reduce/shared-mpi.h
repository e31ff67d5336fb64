/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/shared-mpi.h: memory that all ranks of a world see, where they are on one host.
 *
 * One section for each rank and one more, all of one size of which only the beginning is there;
 * more is added when it is asked for. It has no name, so nothing of it is left when the processes
 * are gone, however they end. All calls but close are collective and answer alike on every rank.
 */
#pragma once

#include "reduce/world.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct LsShared {
    MPI_Comm communicator; /* borrowed */
    int rank, ranks, file;
    uint8_t *base;
    size_t section; /* bytes of address space from one to the next */
    size_t there;   /* bytes of each that can be used */
    size_t most;    /* that can be asked for */
} LsShared;

/* Sections of at most `most` bytes, `least` of them at once. false: the host does not give it, and
 * there is nothing to close. */
bool ls_shared_open(LsShared *shared, const LsWorld *world, size_t least, size_t most);
void ls_shared_close(LsShared *shared);
/* Whether `bytes` of each section can be used; gets them where they are not there yet. */
bool ls_shared_reserve(LsShared *shared, size_t bytes);
/* A rank's, and behind the last one's the spare. */
void *ls_shared_section(const LsShared *shared, int number);
