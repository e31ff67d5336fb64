/* SPDX-License-Identifier: Apache-2.0
 *
 * Where no steps were marked, as in a Horovod timeline, the tensors come round again: from one use
 * of the tensor that is used most to its next. The slowest round that is no outlier (at most one
 * and a half medians) is what the start view shows, since a whole recording of minutes shows no
 * phase that could be read.
 */
#include <stdlib.h>

#include "layout/model-private.h"
#include "layout/tensors.h"

enum { MIN_ROUNDS = 4 };

static int
compare_ns(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The rank's uses of one tensor that are most, of equals those that begin first. */
static LsSlice
find_most_used(const LsModel *model, const LsSlice *uses)
{
    LsSlice best = {0, 0};
    for (size_t i = uses->first; i < uses->first + uses->n;) {
        LsSlice run = {i, 0};
        uint32_t tensor = model->uses[model->uses_by_rank_name[i]].tensor;
        while (i < uses->first + uses->n &&
               model->uses[model->uses_by_rank_name[i]].tensor == tensor)
            i++;
        run.n = i - run.first;
        const LsUse *a = &model->uses[model->uses_by_rank_name[run.first]];
        const LsUse *b = &model->uses[model->uses_by_rank_name[best.first]];
        if (run.n > best.n ||
            (run.n == best.n && ls_use_get_first_ns(model, a) < ls_use_get_first_ns(model, b)))
            best = run;
    }
    return best;
}

bool
ls_model_find_round(const LsModel *model, uint32_t rank, int64_t *ret_start_ns, int64_t *ret_end_ns)
{
    if (rank >= model->n_ranks)
        return false;
    LsSlice run = find_most_used(model, &model->rank[rank].uses);
    size_t n = 0;
    if (run.n < MIN_ROUNDS + 1)
        return false;
    g_autofree int64_t *start = g_new(int64_t, run.n);
    g_autofree int64_t *length = g_new(int64_t, run.n);
    for (size_t i = run.first; i < run.first + run.n; i++) {
        int64_t at = ls_use_get_first_ns(model, &model->uses[model->uses_by_rank_name[i]]);
        if (at != LS_TIME_NONE && (n == 0 || at > start[n - 1]))
            start[n++] = at;
    }
    if (n < MIN_ROUNDS + 1)
        return false;
    for (size_t i = 0; i + 1 < n; i++)
        length[i] = start[i + 1] - start[i];
    qsort(length, n - 1, sizeof *length, compare_ns);
    int64_t most = length[(n - 1) / 2] * 3 / 2;
    size_t best = 0;
    int64_t slowest = -1;
    for (size_t i = 1; i + 1 < n; i++) /* the first makes buffers and connections */
        if (start[i + 1] - start[i] <= most && start[i + 1] - start[i] > slowest) {
            slowest = start[i + 1] - start[i];
            best = i;
        }
    *ret_start_ns = start[best];
    *ret_end_ns = start[best + 1];
    return slowest > 0;
}

bool
ls_model_find_extent(const LsModel *model, uint32_t rank, int64_t *ret_start_ns,
                     int64_t *ret_end_ns)
{
    int64_t start = INT64_MAX, end = LS_TIME_NONE;
    const LsSlice *uses = rank < model->n_ranks ? &model->rank[rank].uses : NULL;
    for (size_t i = 0; uses && i < uses->n; i++) {
        const LsUse *use = &model->uses[uses->first + i];
        int64_t first = ls_use_get_first_ns(model, use);
        if (first == LS_TIME_NONE)
            continue;
        start = MIN(start, first);
        end = MAX(end, ls_use_get_last_ns(model, use));
    }
    *ret_start_ns = start;
    *ret_end_ns = end;
    return end > start;
}
