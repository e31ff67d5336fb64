/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/mpi-openmpi.c: Open MPI and its descendants. A handle is the address of a structure, that
 * of a predefined one the address of a symbol of the library: it is looked up, never linked to,
 * since a symbol that is not there keeps the program from starting.
 */
#include "capture/format.h"

#include <stdbool.h>
#include <stdint.h>

#define LS_HANDLE void *

static void *null_type, *world;

static bool
is_null_type(intptr_t type)
{
    return type == 0 || (void *)type == null_type;
}

#include "tracer/mpi-family.h"

static const struct {
    const char *symbol;
    uint8_t reduction;
} names[] = {
    {"ompi_mpi_op_sum", LS_MPI_REDUCTION_SUM}, {"ompi_mpi_op_band", LS_MPI_REDUCTION_BAND},
    {"ompi_mpi_op_bor", LS_MPI_REDUCTION_BOR}, {"ompi_mpi_op_min", LS_MPI_REDUCTION_MIN},
    {"ompi_mpi_op_max", LS_MPI_REDUCTION_MAX}, {"ompi_mpi_op_prod", LS_MPI_REDUCTION_PRODUCT},
};
#define N_NAMES (sizeof names / sizeof names[0])

static void *ops[N_NAMES];

static bool
open_family(void)
{
    world = ls_mpi_find("ompi_mpi_comm_world");
    null_type = ls_mpi_find("ompi_mpi_datatype_null");
    if (world == NULL || null_type == NULL)
        return false;
    for (size_t i = 0; i < N_NAMES; i++)
        ops[i] = ls_mpi_find(names[i].symbol);
    return find_functions();
}

static uint8_t
get_reduction(LsWord op)
{
    for (size_t i = 0; i < N_NAMES; i++)
        if (ops[i] != NULL && (void *)op == ops[i])
            return names[i].reduction;
    return LS_MPI_REDUCTION_OTHER;
}

static LsWord
get_world(void)
{
    return (LsWord)world;
}

const LsMpiFamily ls_mpi_openmpi = {
    .name = "Open MPI",
    .in_place = 1,
    .narrow = false,
    .open = open_family,
    .type_size = get_type_size,
    .describe = describe,
    .reduction = get_reduction,
    .world = get_world,
};
