/* SPDX-License-Identifier: Apache-2.0
 *
 * cli/figure.c: one row of a table per figure; what is common to them: which step, which rank, and
 * the words around them.
 */
#include "cli/figure.h"

#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "ui/draw/figure.h"

enum { USUAL_WIDTH = 1600 };

static bool
find_step(const LsModel *model, int64_t number, int *ret_step, GError **error)
{
    *ret_step = number == LS_FIGURE_SLOWEST ? ls_model_find_slowest_step(model)
                                            : ls_model_find_step(model, number);
    if (number == LS_FIGURE_SLOWEST || *ret_step >= 0)
        return true;
    g_set_error(error, LS_ERROR, LS_ERROR_USAGE,
                "There is no step %" G_GINT64_FORMAT " in this recording.", number);
    return false;
}

static uint32_t
find_rank(const LsModel *model, const bool *shown)
{
    size_t n;
    ls_trace_get_ranks(ls_model_get_trace(model), &n);
    for (uint32_t rank = 0; shown && rank < n; rank++)
        if (shown[rank])
            return rank;
    return 0;
}

static const char *
get_setting(const LsTrace *trace, const char *key)
{
    const char *value = ls_trace_get_fact(trace, key);
    return value ? value : "";
}

/* "as rank 0 saw it; 4 ranks, control bitvector, grouping lists, cycles of 2 ms by clock" */
static char *
format_subtitle(const LsGroupsFigure *figure, const LsTrace *trace)
{
    size_t n_ranks;
    const LsRank *ranks = ls_trace_get_ranks(trace, &n_ranks);
    const char *control = get_setting(trace, "reduce.control");
    const char *grouping = get_setting(trace, "reduce.grouping");
    bool clock = strcmp(get_setting(trace, "reduce.cycle_start"), "clock") == 0;
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "as rank %d saw it; %zu rank%s", ranks[figure->rank].rank, n_ranks,
                           n_ranks == 1 ? "" : "s");
    if (*control)
        g_string_append_printf(text, ", control %s", control);
    if (*grouping)
        g_string_append_printf(text, ", grouping %s", grouping);
    if (clock)
        g_string_append_printf(text, ", cycles %s ms apart by clock",
                               get_setting(trace, "reduce.cycle_time_ms"));
    else if (*control)
        g_string_append(text, ", cycles start by event");
    for (size_t i = 0; i < n_ranks; i++)
        if (ranks[i].test_double) {
            g_string_append(text, " · CPU test double: times are no result");
            break;
        }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static char *
format_foot(const LsGroupsFigure *figure, const LsTrace *trace)
{
    size_t n_ranks;
    const LsRank *ranks = ls_trace_get_ranks(trace, &n_ranks);
    int64_t bytes = 0, inner_ns = 0, waited_ns = 0;
    const char *inner = NULL, *waited = NULL;
    for (guint s = 0; s < figure->sections->len; s++) {
        const LsFigureSection *section = &g_array_index(figure->sections, LsFigureSection, s);
        const char *name = *section->scope ? section->scope : section->label;
        bytes += section->bytes;
        if (section->ready_ns == LS_TIME_NONE)
            continue;
        if (figure->grouped && section->ready_ns - section->submit_ns > inner_ns) {
            inner_ns = section->ready_ns - section->submit_ns;
            inner = name;
        }
        if (section->agreed_ns != LS_TIME_NONE &&
            section->agreed_ns - section->ready_ns > waited_ns) {
            waited_ns = section->agreed_ns - section->ready_ns;
            waited = name;
        }
    }
    g_autofree char *size = ls_format_bytes(bytes), *inner_text = ls_format_ns(inner_ns),
                    *waited_text = ls_format_ns(waited_ns);
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "%u tensors, %s, in ", figure->members->len, size);
    if (figure->grouped)
        g_string_append_printf(text, "%u groups, sent in %u buffers.", figure->sections->len,
                               figure->buffers);
    else
        g_string_append_printf(text, "%u buffers; nothing was grouped, each line is a buffer.",
                               figure->buffers);
    if (inner)
        g_string_append_printf(text, " Longest wait inside a group: %s in %s.", inner_text, inner);
    if (waited)
        g_string_append_printf(text, " For other ranks and the cycle: %s, %s.", waited_text,
                               waited);
    if (figure->last_rank != LS_NONE)
        g_string_append_printf(text, " Rank %d was last in %u of %u.",
                               ranks[figure->last_rank].rank, figure->last_counts,
                               figure->sections->len);
    if (figure->grouped && !figure->has_graph)
        g_string_append(text, " The graph was not recorded.");
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static bool
write_groups(const LsModel *model, const LsFigureRequest *request, int step, LsPainter *painter,
             GError **error)
{
    const LsTrace *trace = ls_model_get_trace(model);
    g_autoptr(LsGroupsFigure) figure =
        ls_groups_figure_new(model, step, find_rank(model, request->shown));
    if (!figure) {
        g_set_error(error, LS_ERROR, LS_ERROR_USAGE,
                    "The rank submitted no tensor there, or submissions were not recorded: there "
                    "is nothing that groups could be drawn of.");
        return false;
    }
    g_autofree char *run = g_path_get_basename(request->run);
    g_autofree char *place =
        figure->step >= 0 ? g_strdup_printf("step %" G_GINT64_FORMAT, figure->step)
                          : g_strdup_printf("submission %u of every tensor", figure->occurrence);
    g_autofree char *title = g_strdup_printf(
        "%s · %s · %s", run, figure->grouped ? "groups of tensors" : "buffers", place);
    g_autofree char *subtitle = format_subtitle(figure, trace);
    g_autofree char *foot = format_foot(figure, trace);
    LsFigureFrame frame = {title, subtitle, foot,
                           request->width > 0 ? MAX(request->width, 900) : USUAL_WIDTH,
                           request->scale};
    return ls_figure_groups_write(painter, figure, &frame, request->output, error);
}

static const struct {
    const char *name;
    bool (*write)(const LsModel *model, const LsFigureRequest *request, int step,
                  LsPainter *painter, GError **error);
} figures[] = {{"groups", write_groups}};

bool
ls_figure_write(const LsModel *model, const LsFigureRequest *request, GError **error)
{
    int step;
    const LsTheme *theme = ls_theme_find(request->theme);
    for (size_t i = 0; i < G_N_ELEMENTS(figures); i++) {
        if (strcmp(figures[i].name, request->name) != 0)
            continue;
        if (!find_step(model, request->step, &step, error))
            return false;
        g_autoptr(LsPainter) painter = ls_painter_new(theme);
        return figures[i].write(model, request, step, painter, error);
    }
    g_set_error(error, LS_ERROR, LS_ERROR_USAGE, "--figure %s is none: groups is expected.",
                request->name);
    return false;
}
