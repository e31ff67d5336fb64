/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/ranks.c: a bit per rank.
 */
#include "reduce/ranks.h"

#include <stdio.h>
#include <stdlib.h>

#define TEXT_ROOM (LS_RANK_TEXT_BYTES - 60) /* for ranges; the rest for head and "and N more" */

bool
ls_rank_set_init(LsRankSet *set, int ranks)
{
    *set = (LsRankSet){.ranks = ranks};
    set->words = calloc((size_t)ranks / 64 + 1, sizeof *set->words);
    return set->words != NULL;
}

void
ls_rank_set_clear(LsRankSet *set)
{
    free(set->words);
    *set = (LsRankSet){0};
}

bool
ls_rank_set_has(const LsRankSet *set, int rank)
{
    return (set->words[rank / 64] >> (rank % 64) & 1) != 0;
}

void
ls_rank_set_add(LsRankSet *set, int rank)
{
    if (ls_rank_set_has(set, rank))
        return;
    set->words[rank / 64] |= UINT64_C(1) << (rank % 64);
    set->n++;
}

void
ls_rank_set_unite(LsRankSet *set, const LsRankSet *other)
{
    for (int rank = 0; rank < set->ranks; rank++)
        if (ls_rank_set_has(other, rank))
            ls_rank_set_add(set, rank);
}

bool
ls_rank_set_run(const LsRankSet *set, int rank, int *ret_first, int *ret_n)
{
    while (rank < set->ranks && !ls_rank_set_has(set, rank))
        rank++;
    *ret_first = rank;
    while (rank < set->ranks && ls_rank_set_has(set, rank))
        rank++;
    *ret_n = rank - *ret_first;
    return *ret_n > 0;
}

int
ls_rank_set_first(const LsRankSet *set)
{
    for (int rank = 0; rank < set->ranks; rank++)
        if (ls_rank_set_has(set, rank))
            return rank;
    return -1;
}

void
ls_rank_set_text(const LsRankSet *set, bool missing, char text[LS_RANK_TEXT_BYTES])
{
    int members = missing ? set->ranks - set->n : set->n, said = 0, rank = 0;
    size_t used = (size_t)snprintf(text, LS_RANK_TEXT_BYTES, members == 1 ? "rank" : "ranks");
    while (said < members && used < TEXT_ROOM) {
        while (ls_rank_set_has(set, rank) == missing)
            rank++;
        int first = rank;
        while (rank < set->ranks && ls_rank_set_has(set, rank) != missing)
            rank++;
        used += (size_t)snprintf(text + used, LS_RANK_TEXT_BYTES - used, "%s%d",
                                 said > 0 ? ", " : " ", first);
        if (rank - first > 1)
            used += (size_t)snprintf(text + used, LS_RANK_TEXT_BYTES - used, "-%d", rank - 1);
        said += rank - first;
    }
    if (said < members)
        snprintf(text + used, LS_RANK_TEXT_BYTES - used, " and %d more", members - said);
}
