/* SPDX-License-Identifier: Apache-2.0
 *
 * Counters: a line from least to most of each column, and what its top and bottom stand for. A
 * counter is a track of samples, or the power of the whole run (power.c).
 */
#include <math.h>

#include "layout/scene-private.h"

LsCounter
ls_model_get_counter(const LsModel *model, uint32_t track, uint32_t power)
{
    if (track != LS_NONE) {
        const LsTrack *t = &model->tracks[track];
        return (LsCounter){ls_trace_get_string(model->trace, t->name),
                           ls_trace_get_string(model->trace, t->category), t->samples, t->n_samples,
                           model->series[track]};
    }
    const LsPowerModel *p = &g_array_index(model->power, LsPowerModel, power);
    return (LsCounter){ls_trace_get_string(model->trace, p->name), "W",
                       (const LsSample *)(void *)p->samples->data, p->samples->len, p->series};
}

/* Whole from 100 on, else three digits. "counter" is what a format that says no unit calls it. */
char *
ls_counter_format(const LsCounter *counter, double value)
{
    bool has_unit = *counter->unit && !g_str_equal(counter->unit, "counter");
    bool is_large = fabs(value) >= 100 && fabs(value) < 1e7;
    return g_strdup_printf(is_large ? "%.0f%s%s" : "%.3g%s%s", value, has_unit ? " " : "",
                           has_unit ? counter->unit : "");
}

/* Power and the like are read from 0 or from their least, whichever tells more. */
bool
ls_counter_get_bounds(const LsCounter *counter, double *ret_low, double *ret_high)
{
    bool known = ls_series_get_range(counter->series, 0, counter->n, ret_low, ret_high);
    if (!known)
        *ret_low = *ret_high = 0;
    if (*ret_low >= 0 && *ret_low < *ret_high * 0.7)
        *ret_low = 0;
    if (*ret_high <= *ret_low)
        *ret_high = *ret_low + 1;
    return known;
}

void
ls_making_add_counter(LsMaking *making, const LsRow *row, uint32_t row_index)
{
    const LsCounter counter = ls_model_get_counter(making->model, row->track, row->lane);
    const LsScale *scale = &making->scale;
    double low, high;
    bool gap = true;
    ls_counter_get_bounds(&counter, &low, &high);
    size_t i = ls_series_find(counter.series, scale->start_ns);
    i = i > 0 ? i - 1 : 0; /* the line comes in from the left */
    while (i < counter.n) {
        const LsSample *sample = &counter.samples[i];
        double x = (double)(sample->time_ns - scale->start_ns) * scale->px_per_ns;
        int64_t until = MAX(ls_scale_get_time(scale, (int32_t)CLAMP(floor(x), -1e6, 1e6) + 1),
                            sample->time_ns + 1);
        size_t next = x < 0 ? i + 1 : ls_series_find(counter.series, until);
        LsPoint point = {.x = (float)CLAMP(x, -1e6, 1e6), .row = row_index, .gap = gap};
        double least, most;
        gap = !ls_series_get_range(counter.series, i, next, &least, &most);
        if (!gap) {
            point.low = (float)((least - low) / (high - low));
            point.high = (float)((most - low) / (high - low));
            g_array_append_val(making->scene->points, point);
        }
        if (sample->time_ns >= scale->end_ns)
            break;
        i = next;
    }
}
