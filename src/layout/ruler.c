/* SPDX-License-Identifier: Apache-2.0
 *
 * The ruler, whose unit changes with the zoom and never its place; the bars of the steps over it;
 * and the legend, which names what the scene shows and no more.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "layout/scene-private.h"

enum { TICK_PX = 88 };

int64_t
ls_ruler_find_step(int64_t least_ns)
{
    int64_t power = 1;
    while (power <= INT64_MAX / 100 && power * 10 < least_ns)
        power *= 10;
    static const int64_t TENTHS[] = {10, 20, 50, 100};
    for (size_t i = 0; i < G_N_ELEMENTS(TENTHS); i++)
        if (power * TENTHS[i] / 10 >= least_ns)
            return MAX(power * TENTHS[i] / 10, 1);
    return power * 10;
}

/* One unit for all ticks: that of the largest distance, or, far from the origin, one that needs no
 * more than four digits before the point; decimals by the step. */
static void
format_tick(char *to, size_t size, int64_t ns, int64_t step_ns, int64_t range_ns, int64_t far_ns)
{
    static const struct {
        int64_t ns;
        const char *name;
    } UNITS[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
    size_t u = 0;
    while (u + 1 < G_N_ELEMENTS(UNITS) && range_ns < UNITS[u].ns * 2 &&
           far_ns / UNITS[u + 1].ns < 10000)
        u++;
    int decimals = 0;
    for (int64_t part = UNITS[u].ns; part > step_ns && decimals < 9; part /= 10)
        decimals++;
    snprintf(to, size, "%.*f %s", decimals, (double)ns / (double)UNITS[u].ns, UNITS[u].name);
}

static int64_t
floor_to(int64_t value, int64_t step)
{
    int64_t rest = value % step;
    return value - (rest < 0 ? rest + step : rest);
}

void
ls_making_add_ruler(LsMaking *making)
{
    const LsView *view = making->view;
    LsScene *scene = making->scene;
    int64_t range = view->end_ns - view->start_ns;
    int64_t step = ls_ruler_find_step((int64_t)((double)range * TICK_PX / view->width));
    int64_t at = floor_to(view->start_ns - view->origin_ns, step) + view->origin_ns;
    int64_t far =
        MAX(llabs(view->start_ns - view->origin_ns), llabs(view->end_ns - view->origin_ns));
    for (; at < view->end_ns; at += step) {
        LsRulerTick tick = {.at = ls_view_x_of(view, at)};
        tick.at = round(tick.at * view->scale) / view->scale;
        if (tick.at < 0)
            continue;
        format_tick(tick.label, sizeof tick.label, at - view->origin_ns, step, range, far);
        g_array_append_val(scene->ruler, tick);
    }
    if (view->mode == LS_VIEW_OVERVIEW) /* all of them */
        scene->ruler_label[0] = 0;
    else if (view->step >= 0 && (size_t)view->step < making->model->n_steps)
        snprintf(scene->ruler_label, sizeof scene->ruler_label, "step %" G_GINT64_FORMAT,
                 making->model->steps[view->step].number);
    else
        snprintf(scene->ruler_label, sizeof scene->ruler_label, "from the start");
}

/* -- Step bars -- */

static int64_t
find_slowest(const LsStepColumn *steps, size_t first, size_t n)
{
    size_t best = first;
    for (size_t i = first; i < first + n; i++)
        if (steps[i].step_ns > steps[best].step_ns)
            best = i;
    return (int64_t)best;
}

/* The tallest bar is the slowest steady step: a warm-up of seconds would flatten all the others. */
static int64_t
find_full_height(const LsModel *model)
{
    int slowest = ls_model_find_slowest_step(model);
    return slowest < 0 ? 1 : MAX(model->steps[slowest].step_ns, 1);
}

void
ls_making_add_step_bars(LsMaking *making)
{
    const LsModel *model = making->model;
    const LsView *view = making->view;
    size_t n = model->n_steps;
    if (n == 0)
        return;
    snprintf(making->scene->steps_label, sizeof making->scene->steps_label, "%zu step%s", n,
             n == 1 ? "" : "s");
    size_t n_bars = MIN(n, MAX((size_t)view->width / 3, 1));
    int64_t full = find_full_height(model);
    bool all = model->steps[0].start_ns >= view->start_ns &&
               model->steps[n - 1].end_ns <= view->end_ns; /* then no bar is marked */
    for (size_t b = 0; b < n_bars; b++) {
        size_t first = b * n / n_bars, next = (b + 1) * n / n_bars;
        const LsStepColumn *step = &model->steps[find_slowest(model->steps, first, next - first)];
        LsStepBar bar = {
            .x0 = (double)first / (double)n,
            .x1 = (double)next / (double)n,
            .height = MIN((double)step->step_ns / (double)full, 1),
            .first = (uint32_t)first,
            .n = (uint32_t)(next - first),
            .muted = step->warmup || step->cut,
        };
        if (step->waited_for_ns != LS_TIME_NONE && step->step_ns > 0)
            bar.cap = bar.height * MIN((double)step->waited_for_ns / (double)step->step_ns, 1);
        if (view->step >= 0)
            bar.shown = (size_t)view->step >= first && (size_t)view->step < next;
        else
            bar.shown = !all && model->steps[first].start_ns < view->end_ns &&
                        model->steps[next - 1].end_ns > view->start_ns;
        g_array_append_val(making->scene->step_bars, bar);
    }
}

/* -- Legend -- */

void
ls_making_add_legend(LsMaking *making)
{
    static const LsLegend ALL[] = {
        {LS_ROLE_FORWARD, LS_FORM_PLAIN, "forward"},
        {LS_ROLE_BACKWARD, LS_FORM_PLAIN, "backward"},
        {LS_ROLE_OPTIMIZER, LS_FORM_PLAIN, "optimizer"},
        {LS_ROLE_INPUT, LS_FORM_PLAIN, "input, checkpoint"},
        {LS_ROLE_KERNEL, LS_FORM_PLAIN, "compute"},
        {LS_ROLE_COMMUNICATION, LS_FORM_PLAIN, "communication, hidden"},
        {LS_ROLE_COMMUNICATION, LS_FORM_STRONG, "communication, exposed"},
        {LS_ROLE_WAIT, LS_FORM_HATCHED, "waiting for a rank"},
        {LS_ROLE_NEGOTIATION, LS_FORM_HATCHED, "negotiation"},
        {LS_ROLE_NEGOTIATION, LS_FORM_PLAIN, "negotiation, queue"},
        {LS_ROLE_COPY, LS_FORM_PLAIN, "copies, packing"},
        {LS_ROLE_CONTROL, LS_FORM_PLAIN, "control"},
        {LS_ROLE_BAND_COMPUTE, LS_FORM_PLAIN, "compute"},
        {LS_ROLE_BAND_HIDDEN, LS_FORM_PLAIN, "overlapped"},
        {LS_ROLE_BAND_EXPOSED, LS_FORM_PLAIN, "communication, exposed"},
        {LS_ROLE_OTHER, LS_FORM_PLAIN, "other"},
    };
    uint64_t seen = making->seen;
    bool phases =
        seen & (ls_legend_get_bit(LS_ROLE_FORWARD, 0) | ls_legend_get_bit(LS_ROLE_BACKWARD, 0) |
                ls_legend_get_bit(LS_ROLE_KERNEL, 0));
    bool strong = seen & ls_legend_get_bit(LS_ROLE_COMMUNICATION, LS_FORM_STRONG);
    /* Who waits for a rank negotiates: what looks alike is named once. */
    if (seen & ls_legend_get_bit(LS_ROLE_WAIT, LS_FORM_HATCHED))
        seen &= ~ls_legend_get_bit(LS_ROLE_NEGOTIATION, LS_FORM_HATCHED);
    for (size_t i = 0; i < G_N_ELEMENTS(ALL); i++) {
        LsLegend entry = ALL[i];
        if (!(seen & ls_legend_get_bit(entry.role, entry.form)) ||
            (entry.role == LS_ROLE_BAND_COMPUTE && phases) ||
            (entry.role == LS_ROLE_BAND_EXPOSED && strong))
            continue;
        if (entry.role == LS_ROLE_COMMUNICATION && !making->model->has_compute)
            entry.label = "communication";
        g_array_append_val(making->scene->legend, entry);
    }
}
