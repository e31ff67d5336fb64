/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/mpi-mpich.c: MPICH and what keeps its ABI (Intel MPI, MVAPICH, Cray MPICH). A handle is an
 * int, the predefined ones are fixed numbers.
 */
#include "capture/format.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define LS_HANDLE int

#define NULL_TYPE 0x0c000000
#define WORLD     0x44000000
#define FIRST_OP  0x58000001 /* MAX, MIN, SUM, PROD, LAND, BAND, LOR, BOR */

static bool
is_null_type(intptr_t type)
{
    return (int)type == NULL_TYPE;
}

#include "tracer/mpi-family.h"

/* One may ask for it at any time. */
static bool
open_family(void)
{
    static const char *const words[] = {"MPICH", "Intel(R) MPI", "MVAPICH"};
    int (*get_version)(char *text, int *length);
    char text[8192] = ""; /* MPI_MAX_LIBRARY_VERSION_STRING of MPICH */
    int length = 0;

    *(void **)(void *)&get_version = ls_mpi_find("PMPI_Get_library_version");
    if (get_version == NULL || get_version(text, &length) != 0)
        return false;
    text[sizeof text - 1] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(text, words[i]) != NULL)
            return find_functions();
    return false;
}

static uint8_t
get_reduction(LsWord op)
{
    static const uint8_t reductions[] = {LS_MPI_REDUCTION_MAX,   LS_MPI_REDUCTION_MIN,
                                         LS_MPI_REDUCTION_SUM,   LS_MPI_REDUCTION_PRODUCT,
                                         LS_MPI_REDUCTION_OTHER, LS_MPI_REDUCTION_BAND,
                                         LS_MPI_REDUCTION_OTHER, LS_MPI_REDUCTION_BOR};
    int64_t at = (int64_t)(int)op - FIRST_OP;

    return at >= 0 && at < (int64_t)sizeof reductions ? reductions[at] : LS_MPI_REDUCTION_OTHER;
}

static LsWord
get_world(void)
{
    return WORLD;
}

const LsMpiFamily ls_mpi_mpich = {
    .name = "MPICH",
    .in_place = -1,
    .narrow = true,
    .open = open_family,
    .type_size = get_type_size,
    .describe = describe,
    .reduction = get_reduction,
    .world = get_world,
};
