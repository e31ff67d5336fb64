/* SPDX-License-Identifier: Apache-2.0
 *
 * The cells of the overview, by rank and step (equal times where there are no steps), once for all
 * views: what a frame does with them is to pick and to average. A cell is the share of the step
 * that the rank waited for, and how far beyond chance it was last. Steps share a column where there
 * are so many of both that the cells would not fit into MAX_CELLS: the mean of the shares, the most
 * of the causes.
 */
#include "layout/model-private.h"

enum { TIME_COLUMNS = 200, MAX_CELLS = 8 << 20 };

static void
get_times(const LsModel *model, size_t slice, int64_t *ret_start_ns, int64_t *ret_end_ns)
{
    if (model->grid.by_step) {
        *ret_start_ns = model->steps[slice].start_ns;
        *ret_end_ns = model->steps[slice].end_ns;
        return;
    }
    int64_t first = ls_trace_get_first_ns(model->trace);
    int64_t range = ls_trace_get_last_ns(model->trace) - first;
    *ret_start_ns = first + range / TIME_COLUMNS * (int64_t)slice;
    *ret_end_ns = first + range / TIME_COLUMNS * (int64_t)(slice + 1);
}

/* Share of a rank's step; < 0: unknown. */
static double
get_share(const LsModel *model, uint32_t rank, int64_t start_ns, int64_t end_ns)
{
    const LsRankModel *r = &model->rank[rank];
    LsSet set = r->has_compute ? LS_SET_WAITED_FOR : LS_SET_WAIT;
    if (r->greyed || (!r->has_compute && r->calls.n == 0) || end_ns <= start_ns)
        return -1;
    return (double)ls_busy_get_within(r->sets[set], start_ns, end_ns) / (double)(end_ns - start_ns);
}

/* How far beyond chance a rank was last: 0 by chance (1 of n), 1 always. */
static double
get_cause(const LsModel *model, uint32_t rank, int64_t start_ns, int64_t end_ns)
{
    LsRankNote note = ls_model_get_note(model, rank, start_ns, end_ns);
    double n = (double)model->n_ranks;
    if (note.buffers == 0 || n < 2)
        return 0;
    double share = (double)note.last / (double)note.buffers;
    return MAX((share - 1 / n) / (1 - 1 / n), 0);
}

static LsCell
make_cell(const LsModel *model, uint32_t rank, size_t first, size_t last)
{
    LsCell cell = {-1, 0};
    double sum = 0, n = 0;
    for (size_t slice = first; slice < last; slice++) {
        int64_t start, end;
        get_times(model, slice, &start, &end);
        double share = get_share(model, rank, start, end);
        if (share < 0)
            continue;
        sum += share;
        n++;
        cell.cause = MAX(cell.cause, (float)get_cause(model, rank, start, end));
    }
    if (n > 0)
        cell.share = (float)(sum / n);
    return cell;
}

void
ls_model_make_grid(LsModel *model)
{
    LsGrid *grid = &model->grid;
    grid->by_step = model->n_steps > 1;
    size_t n = grid->by_step ? model->n_steps : TIME_COLUMNS;
    grid->n_columns = CLAMP(MAX_CELLS / MAX(model->n_ranks, 1), 1, n);
    grid->cells = g_new(LsCell, MAX(model->n_ranks, 1) * grid->n_columns);
    for (uint32_t r = 0; r < model->n_ranks; r++)
        for (size_t c = 0; c < grid->n_columns; c++)
            grid->cells[r * grid->n_columns + c] =
                make_cell(model, r, c * n / grid->n_columns, (c + 1) * n / grid->n_columns);
}
