/* SPDX-License-Identifier: Apache-2.0
 *
 * What is not a span: cycles as ticks, at most one a column, those that agreed on something
 * standing out; and the beginnings of steps.
 */
#include "layout/scene-private.h"

/* The first mark at or after the time, from `from` on: doubling steps, then halving. */
static size_t
gallop(const LsCycleMark *marks, size_t n, size_t from, int64_t time_ns)
{
    size_t step = 1, low = from;
    while (low + step < n && marks[low + step].time_ns < time_ns) {
        low += step;
        step *= 2;
    }
    size_t high = MIN(low + step, n);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (marks[middle].time_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void
ls_making_add_cycles(LsMaking *making, const LsRow *row, uint32_t row_index)
{
    const LsRankModel *rank = &making->model->rank[row->rank];
    const LsScale *scale = &making->scale;
    size_t i = gallop(rank->marks, rank->n_marks, 0, scale->start_ns);
    while (i < rank->n_marks && rank->marks[i].time_ns < scale->end_ns) {
        int32_t x =
            MIN((int32_t)((double)(rank->marks[i].time_ns - scale->start_ns) * scale->px_per_ns),
                scale->width - 1);
        int64_t next_ns = MAX(ls_scale_get_time(scale, x + 1), rank->marks[i].time_ns + 1);
        size_t next = gallop(rank->marks, rank->n_marks, i, next_ns);
        const LsCycleMark *last = &rank->marks[next - 1];
        bool agreed = last->agreed_before + last->agreed > rank->marks[i].agreed_before;
        LsTick tick = {(uint16_t)x, agreed ? LS_ROLE_AGREED : LS_ROLE_CONTROL, row_index};
        g_array_append_val(making->scene->ticks, tick);
        i = next;
    }
}

/* Lines at the beginnings of steps, unless they stand so close that they would be a pattern. */
void
ls_making_add_step_lines(LsMaking *making)
{
    const LsModel *model = making->model;
    const LsScale *scale = &making->scale;
    uint32_t n_rows = making->scene->rows->len, n = 0;
    GArray *lines = making->scene->lines;
    for (size_t i = 0; i < model->n_steps && n_rows > 0; i++) {
        double x = (double)(model->steps[i].start_ns - scale->start_ns) * scale->px_per_ns;
        if (x < 0 || x >= scale->width)
            continue;
        LsLine line = {(uint16_t)x, 0, n_rows - 1, 0, LS_ROLE_STEP};
        g_array_append_val(lines, line);
        n++;
    }
    if (n > 1) {
        int32_t first = g_array_index(lines, LsLine, 0).x;
        int32_t last = g_array_index(lines, LsLine, n - 1).x;
        if (last - first < 12 * making->view->scale * (int32_t)(n - 1))
            g_array_set_size(lines, 0);
    }
}
