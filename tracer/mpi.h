/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/mpi.h: what the parts of liblockstep-mpi.so share.
 *
 * There is no mpi.h here: what a handle is differs between the two families of MPI libraries, of
 * which one is found at run time. An argument is a word, wide enough for either's, passed on as it
 * came: on every machine that we build for, a pointer and an int take the same place in a call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef intptr_t LsWord;

#define LS_MPI_ARGS_MAX 12

/* How to tell what a rank puts in (mpi-bytes.c). */
typedef enum LsMpiBytes {
    LS_MPI_NOTHING,
    LS_MPI_UNKNOWN,
    LS_MPI_PLAIN,        /* count of type */
    LS_MPI_TIMES,        /* count of type for each rank */
    LS_MPI_MANY,         /* counts of type, one for each rank */
    LS_MPI_OWN,          /* count of type; in place: count2 of type2 */
    LS_MPI_OWN_OF_MANY,  /* count of type; in place: the own one of counts2 of type2 */
    LS_MPI_SCATTER,      /* at the root count of type for each rank, elsewhere count2 of type2 */
    LS_MPI_SCATTER_MANY, /* at the root counts of type, elsewhere count2 of type2 */
    LS_MPI_ALL,          /* count of type for each rank; in place count2 of type2 */
    LS_MPI_ALL_MANY,     /* counts of type; in place counts2 of type2 */
} LsMpiBytes;

typedef struct LsMpiCallTrait {
    const char *name; /* MPI_Allreduce */
    uint8_t operation, bytes;
    int8_t reduction, peer, communicator, count, type, count2, type2; /* arguments, -1 none */
} LsMpiCallTrait;

enum {
#define LS_MPI_CALL(name, ...) LS_MPI_##name##_CALL,
#include "tracer/mpi-calls.def"
#undef LS_MPI_CALL
    LS_MPI_N_CALLS
};

/* Finds a symbol of the program's MPI library, NULL if it has none. */
void *ls_mpi_find(const char *name);

/* A communicator as this process sees it. */
typedef struct LsMpiCommunicator {
    LsWord handle;
    int number; /* from 1 */
    int ranks, rank;
    bool inter; /* between two groups: whose counts mean what, differs by call */
} LsMpiCommunicator;

/* A family of libraries with the same handles. Its functions are asked only about what a call of
 * the program has just used with success: about anything else MPI would end the program. */
typedef struct LsMpiFamily {
    const char *name;
    LsWord in_place; /* MPI_IN_PLACE */
    bool narrow;     /* a handle is an int: the word's other half may be anything */
    /* Whether the program's library is of this family; finds its functions. */
    bool (*open)(void);
    int64_t (*type_size)(LsWord type); /* -1 unknown */
    bool (*describe)(LsWord communicator, LsMpiCommunicator *ret_communicator);
    uint8_t (*reduction)(LsWord op); /* LsMpiReduction */
    LsWord (*world)(void);
} LsMpiFamily;

extern const LsMpiFamily ls_mpi_openmpi, ls_mpi_mpich;

/* mpi-bytes.c: -1 unknown. */
int64_t ls_mpi_count_bytes(const LsMpiFamily *family, const LsMpiCallTrait *trait,
                           const LsMpiCommunicator *communicator, const LsWord *arguments);

/* mpi-communicator.c: false and a number of 0 where there is no room. Records a communicator when
 * it is first seen. Any thread. */
bool ls_mpi_communicator_get(const LsMpiFamily *family, LsWord handle,
                             LsMpiCommunicator *ret_communicator);
/* Its handle may come again and mean another. */
void ls_mpi_communicator_forget(LsWord handle);
