/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce/ranks.h: a set of ranks, and how a sentence names it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LS_RANK_TEXT_BYTES 160

typedef struct LsRankSet {
    uint64_t *words; /* owned */
    int ranks;       /* of the job: members are 0 ... ranks - 1 */
    int n;           /* members */
} LsRankSet;

bool ls_rank_set_init(LsRankSet *set, int ranks); /* empty; false: out of memory */
void ls_rank_set_clear(LsRankSet *set);
bool ls_rank_set_has(const LsRankSet *set, int rank);
void ls_rank_set_add(LsRankSet *set, int rank);
void ls_rank_set_unite(LsRankSet *set, const LsRankSet *other); /* of the same job */
/* The next run of members from `rank` on; false: none. */
bool ls_rank_set_run(const LsRankSet *set, int rank, int *ret_first, int *ret_n);
int ls_rank_set_first(const LsRankSet *set); /* -1: empty */

/* "rank 3", "ranks 0-2, 5", "ranks 0, 2, 4 and 7 more": the members, or those missing if `missing`.
 */
void ls_rank_set_text(const LsRankSet *set, bool missing, char text[LS_RANK_TEXT_BYTES]);
