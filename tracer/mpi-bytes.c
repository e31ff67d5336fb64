/* SPDX-License-Identifier: Apache-2.0
 *
 * tracer/mpi-bytes.c: how many bytes a rank puts into a call. Only arguments are looked at that the
 * call itself looks at on this rank: beside MPI_IN_PLACE, and off the root, programs pass what they
 * like, and asking MPI about that ends the program.
 */
#include "tracer/mpi.h"

#include <stddef.h>

/* Counts are C ints, in the low half of a word whose high half may be anything. */
static int64_t
as_count(LsWord word)
{
    return (int)word;
}

static int64_t
times_size(const LsMpiFamily *family, int64_t count, LsWord type)
{
    int64_t size;

    if (count == 0)
        return 0; /* of any type, also of none */
    size = count < 0 ? -1 : family->type_size(type);
    return size < 0 ? -1 : count * size;
}

static int64_t
sum(LsWord counts, int n)
{
    const int *count = (const int *)counts;
    int64_t all = 0;

    for (int i = 0; count != NULL && i < n; i++)
        all += count[i];
    return all;
}

static int64_t
own(LsWord counts, int rank)
{
    const int *count = (const int *)counts;

    return count != NULL && rank >= 0 ? count[rank] : 0;
}

int64_t
ls_mpi_count_bytes(const LsMpiFamily *family, const LsMpiCallTrait *trait,
                   const LsMpiCommunicator *communicator, const LsWord *arguments)
{
    LsWord count = trait->count >= 0 ? arguments[trait->count] : 0;
    LsWord type = trait->type >= 0 ? arguments[trait->type] : 0;
    LsWord count2 = trait->count2 >= 0 ? arguments[trait->count2] : 0;
    LsWord type2 = trait->type2 >= 0 ? arguments[trait->type2] : 0;
    bool in_place = arguments[0] == family->in_place;
    bool root = trait->peer >= 0 && (int)arguments[trait->peer] == communicator->rank;
    int ranks = communicator->ranks;

    if (trait->bytes == LS_MPI_NOTHING)
        return 0;
    if (trait->bytes == LS_MPI_PLAIN)
        return times_size(family, as_count(count), type);
    if (communicator->number == 0 || communicator->inter)
        return -1;
    switch (trait->bytes) {
    case LS_MPI_TIMES:
        return times_size(family, ranks * as_count(count), type);
    case LS_MPI_MANY:
        return times_size(family, sum(count, ranks), type);
    case LS_MPI_OWN:
        return in_place ? times_size(family, as_count(count2), type2)
                        : times_size(family, as_count(count), type);
    case LS_MPI_OWN_OF_MANY:
        return in_place ? times_size(family, own(count2, communicator->rank), type2)
                        : times_size(family, as_count(count), type);
    case LS_MPI_SCATTER:
        return root ? times_size(family, ranks * as_count(count), type)
                    : times_size(family, as_count(count2), type2);
    case LS_MPI_SCATTER_MANY:
        return root ? times_size(family, sum(count, ranks), type)
                    : times_size(family, as_count(count2), type2);
    case LS_MPI_ALL:
        return in_place ? times_size(family, ranks * as_count(count2), type2)
                        : times_size(family, ranks * as_count(count), type);
    case LS_MPI_ALL_MANY:
        return in_place ? times_size(family, sum(count2, ranks), type2)
                        : times_size(family, sum(count, ranks), type);
    default:
        return -1;
    }
}
