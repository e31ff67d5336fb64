/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/mpi-family.h: the few functions that a family of libraries is asked through. The family's
 * file has defined LS_HANDLE, what a handle is there, and `is_null_type`, before it includes this;
 * the functions are taken by name at run time.
 */
#include "tracer/mpi.h"

#include <stddef.h>

static struct Functions {
    int (*type_size)(LS_HANDLE type, int *size);
    int (*comm_size)(LS_HANDLE communicator, int *size);
    int (*comm_rank)(LS_HANDLE communicator, int *rank);
    int (*comm_test_inter)(LS_HANDLE communicator, int *flag);
} functions;

/* A function from a pointer to data: POSIX promises it, C does not. */
#define FIND(member, name) (*(void **)(void *)&functions.member = ls_mpi_find(name))

static bool
find_functions(void)
{
    return FIND(type_size, "PMPI_Type_size") != NULL && FIND(comm_size, "PMPI_Comm_size") != NULL &&
           FIND(comm_rank, "PMPI_Comm_rank") != NULL &&
           FIND(comm_test_inter, "PMPI_Comm_test_inter") != NULL;
}

static int64_t
get_type_size(LsWord type)
{
    int size = 0;

    if (is_null_type(type) || functions.type_size((LS_HANDLE)type, &size) != 0)
        return -1;
    return size;
}

static bool
describe(LsWord communicator, LsMpiCommunicator *ret_communicator)
{
    LS_HANDLE handle = (LS_HANDLE)communicator;
    int inter = 0;

    if (functions.comm_size(handle, &ret_communicator->ranks) != 0 ||
        functions.comm_rank(handle, &ret_communicator->rank) != 0 ||
        functions.comm_test_inter(handle, &inter) != 0)
        return false;
    ret_communicator->inter = inter != 0;
    return true;
}
