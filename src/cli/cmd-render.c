/* SPDX-License-Identifier: Apache-2.0
 *
 * lockstep render: a picture of a run, without a display: the window's start view, or the place and
 * mode asked for, as PNG, SVG or PDF.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/figure.h"
#include "cli/options.h"
#include "report/report.h"
#include "ui/draw/draw.h"

enum { MIN_HEIGHT = 240, OPEN_HEIGHT = 1700, MAX_HEIGHT = 2400, VECTOR_SCALE = 4 };

#define NO_STEP LS_FIGURE_SLOWEST

typedef struct Options {
    char *figure, *output, *mode, *theme, *size, *at, *range, *ranks, *select, *fold, *rules;
    char **paths;
    int64_t step;
    int scale;
    gboolean all, no_headline;
} Options;

/* All that a picture is made of, from the run up. */
typedef struct Render {
    Options options;
    LsTrace *trace;
    LsActivity *activity;
    LsModel *model;
    LsHeadline *headline;
    LsDrawLine *lines;
    bool *shown;
    LsInspect *inspect;
    LsPainter *painter;
    LsScene *scene;
    LsView view;
    LsPicture picture;
    char *title, *subtitle;
    double width, height;
    bool sized;
} Render;

static void
clear_render(Render *render)
{
    Options *o = &render->options;
    char *texts[] = {o->figure, o->output,     o->mode,         o->theme,  o->size,
                     o->at,     o->range,      o->ranks,        o->select, o->fold,
                     o->rules,  render->title, render->subtitle};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        g_free(texts[i]);
    g_strfreev(o->paths);
    g_clear_pointer(&render->scene, ls_scene_free);
    g_clear_pointer(&render->painter, ls_painter_free);
    g_clear_pointer(&render->inspect, ls_inspect_free);
    ls_view_clear(&render->view);
    g_free(render->lines);
    g_free(render->shown);
    g_clear_pointer(&render->headline, ls_headline_free);
    g_clear_pointer(&render->model, ls_model_free);
    g_clear_pointer(&render->activity, ls_activity_free);
    g_clear_pointer(&render->trace, ls_trace_unref);
}

static bool
fail_usage(GError **error, const char *format, const char *given)
{
    /* The formats are this file's own literals with one %s. */
    g_autoptr(GString) text = g_string_new(format);
    g_string_replace(text, "%s", given, 1);
    g_set_error_literal(error, LS_ERROR, LS_ERROR_USAGE, text->str);
    return false;
}

static bool
parse_options(Options *o, int argc, char **argv, GError **error)
{
    GOptionEntry entries[] = {
        {"output", 'o', 0, G_OPTION_ARG_FILENAME, &o->output, "the picture: .png, .svg or .pdf",
         "FILE"},
        {"figure", 0, 0, G_OPTION_ARG_STRING, &o->figure,
         "not the timeline: groups (graph, colours, cycles of a step)", "NAME"},
        {"mode", 0, 0, G_OPTION_ARG_STRING, &o->mode, "rank, tensor or overview", "MODE"},
        {"theme", 0, 0, G_OPTION_ARG_STRING, &o->theme, "light or dark", "THEME"},
        {"size", 0, 0, G_OPTION_ARG_STRING, &o->size, "in pixels (1920 wide, as high as needed)",
         "WxH"},
        {"scale", 0, 0, G_OPTION_ARG_INT, &o->scale, "device pixels per pixel, 1 to 4 (1)", "N"},
        {"step", 0, 0, G_OPTION_ARG_INT64, &o->step, "this step", "NUMBER"},
        {"at", 0, 0, G_OPTION_ARG_STRING, &o->at, "around this time, as 12.5ms", "TIME"},
        {"range", 0, 0, G_OPTION_ARG_STRING, &o->range, "from time to time, as 1s:1.2s", "A:B"},
        {"all", 0, 0, G_OPTION_ARG_NONE, &o->all, "the whole recording", NULL},
        {"rank", 0, 0, G_OPTION_ARG_STRING, &o->ranks, "these ranks alone, as 0,8-15", "LIST"},
        {"fold", 0, 0, G_OPTION_ARG_STRING, &o->fold, "full, open, compact or band", "HOW"},
        {"select", 0, 0, G_OPTION_ARG_STRING, &o->select,
         "buffer:ID, tensor:NAME, step:N or rank:N, with the inspector", "PLACE"},
        {"no-headline", 0, 0, G_OPTION_ARG_NONE, &o->no_headline, "without the lines at the foot",
         NULL},
        {"rules", 0, 0, G_OPTION_ARG_FILENAME, &o->rules, "rules of classification", "FILE"},
        {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &o->paths, NULL, "RUN"},
        {0},
    };
    g_autoptr(GOptionContext) context = g_option_context_new("");
    g_option_context_set_summary(context, "Draws a run into a file, without a display.");
    if (!ls_options_parse_context(context, entries, argc, argv, error) ||
        !ls_options_need_run("render", o->paths, error))
        return false;
    return o->output || fail_usage(error, "The picture's name is missing: -o FILE%s.", "");
}

static bool
parse_size(Render *render, GError **error)
{
    const char *text = render->options.size;
    unsigned int width, height;
    char rest;
    render->width = 1920;
    render->height = 1080;
    if (!text)
        return true;
    if (sscanf(text, "%5ux%5u%c", &width, &height, &rest) != 2 || width < 320 || height < 240 ||
        width > 8000 || height > 16000)
        return fail_usage(error,
                          "--size \"%s\" is no size: WIDTHxHEIGHT from 320x240 to 8000x16000 is "
                          "expected.",
                          text);
    render->width = width;
    render->height = height;
    render->sized = true;
    return true;
}

static int
find_word(const char *const *words, const char *word)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return -1;
}

/* Folded as --fold says, or as far as the height asks for. */
static void
fit_view(Render *render)
{
    LsFold fold = render->view.fold;
    ls_view_fit(&render->view, render->model);
    if (render->options.fold)
        render->view.fold = fold;
}

static bool
set_mode(Render *render, GError **error)
{
    static const char *const MODES[] = {"rank", "tensor", "overview", NULL};
    static const char *const FOLDS[] = {"full", "open", "compact", "band", NULL};
    const Options *o = &render->options;
    if (o->mode) {
        int mode = find_word(MODES, o->mode);
        if (mode < 0)
            return fail_usage(error, "--mode %s is none: rank, tensor or overview is expected.",
                              o->mode);
        ls_view_set_mode(&render->view, render->model, (LsViewMode)mode);
    }
    if (o->fold) {
        int fold = find_word(FOLDS, o->fold);
        if (fold < 0)
            return fail_usage(error, "--fold %s is none: full, open, compact or band is expected.",
                              o->fold);
        render->view.fold = (LsFold)fold;
    }
    return true;
}

/* [start_ns, end_ns), after the recording's begin, shows some of it. */
static bool
is_inside(const Render *render, const char *option, int64_t start_ns, int64_t end_ns,
          GError **error)
{
    int64_t length_ns = ls_trace_get_last_ns(render->trace) - ls_trace_get_first_ns(render->trace);
    if (end_ns >= 0 && start_ns <= length_ns)
        return true;
    g_autofree char *length = ls_format_ns(length_ns);
    g_set_error(error, LS_ERROR, LS_ERROR_USAGE,
                "%s lies outside of the recording: it lasts %s, and times count from its begin.",
                option, length);
    return false;
}

static bool
set_range(Render *render, GError **error)
{
    const Options *o = &render->options;
    int64_t zero = ls_trace_get_first_ns(render->trace), at, end;
    if (o->all)
        ls_view_show_all(&render->view, render->model);
    if (o->step != NO_STEP) {
        int step = ls_model_find_step(render->model, o->step);
        g_autofree char *number = g_strdup_printf("%" G_GINT64_FORMAT, o->step);
        if (step < 0)
            return fail_usage(error, "There is no step %s in this recording.", number);
        ls_view_show_step(&render->view, render->model, step);
    }
    if (o->at) {
        if (!ls_parse_time(o->at, &at))
            return fail_usage(error, "--at \"%s\" is no time: 12.5ms, 300us or 1.2s is expected.",
                              o->at);
        if (!is_inside(render, "--at", at, at, error))
            return false;
        int64_t half = (render->view.end_ns - render->view.start_ns) / 2;
        ls_view_show(&render->view, zero + at - half, zero + at + half, 0);
        render->view.origin_ns = zero;
        render->view.step = -1;
    }
    if (o->range) {
        g_auto(GStrv) ends = g_strsplit(o->range, ":", 2);
        if (!ends[0] || !ends[1] || !ls_parse_time(ends[0], &at) || !ls_parse_time(ends[1], &end) ||
            end <= at)
            return fail_usage(error, "--range \"%s\" is no range: 1s:1.2s is expected.", o->range);
        if (!is_inside(render, "--range", at, end, error))
            return false;
        ls_view_show(&render->view, zero + at, zero + end, 0);
        render->view.origin_ns = zero;
        render->view.order_start_ns = zero + at;
        render->view.order_end_ns = zero + end;
        render->view.step = -1;
    }
    return true;
}

/* The step that was asked for, by --step or --select; -1: no one step was. */
static int
find_step_asked_for(const Render *render)
{
    const Options *o = &render->options;
    if (o->at || o->range || o->all || render->view.mode == LS_VIEW_OVERVIEW)
        return -1;
    if (o->step == NO_STEP && render->view.selected.kind != LS_PICK_STEP)
        return -1;
    return (int)render->view.step;
}

/* The ranks that are shown and belong to the run of this step: another run's step of the same
 * number is another step. */
static bool *
find_ranks_of_step(const Render *render, uint32_t column)
{
    size_t n_ranks, n_steps, at = 0;
    const LsRank *ranks = ls_trace_get_ranks(render->trace, &n_ranks);
    const LsStep *steps = ls_trace_get_steps(render->trace, &n_steps);
    bool *shown = g_new(bool, n_ranks);
    while (at + 1 < n_steps && steps[at].column != column)
        at++;
    for (size_t r = 0; r < n_ranks; r++)
        shown[r] =
            (!render->shown || render->shown[r]) && ranks[r].run == ranks[steps[at].rank].run;
    return shown;
}

/* True for what is shown: of the step that was asked for; else of the whole run, and it says so
 * where the picture shows a part of it. A step that is warm-up or cut has no figures of its own. */
static void
make_headline(Render *render)
{
    size_t n_steps, n;
    const LsStepColumn *steps = ls_model_get_steps(render->model, &n_steps);
    int step = find_step_asked_for(render);
    bool alone = step >= 0 && !steps[step].warmup && !steps[step].cut;
    g_autofree bool *of_step = alone ? find_ranks_of_step(render, steps[step].column) : NULL;
    LsAnalysisInput input = {
        .trace = render->trace,
        .activity = render->activity,
        .rank_shown = alone ? of_step : render->shown,
        .step_first = alone ? steps[step].number : INT64_MIN,
        .step_last = alone ? steps[step].number : INT64_MAX,
    };
    if (render->options.no_headline)
        return;
    render->headline = ls_headline_new(&input);
    if (!render->options.all && render->view.mode != LS_VIEW_OVERVIEW)
        ls_headline_say_whole_run(render->headline);
    const LsHeadlineLine *lines = ls_headline_get_lines(render->headline, &n);
    render->lines = g_new(LsDrawLine, MAX(n, 1));
    for (size_t i = 0; i < n; i++)
        render->lines[i] = (LsDrawLine){lines[i].label, lines[i].text};
    render->picture.lines = render->lines;
    render->picture.n_lines = n;
}

static size_t
count_hosts(const LsTrace *trace)
{
    size_t n;
    const LsRank *ranks = ls_trace_get_ranks(trace, &n);
    g_autoptr(GHashTable) hosts = g_hash_table_new(g_str_hash, g_str_equal);
    for (size_t r = 0; r < n; r++)
        if (ranks[r].host && *ranks[r].host)
            g_hash_table_add(hosts, ranks[r].host);
    return g_hash_table_size(hosts);
}

static const char *
plural(size_t n)
{
    return n == 1 ? "" : "s";
}

/* A rank that was started again is one, in two lives; who knows no rank is one of its own. */
static size_t
count_ranks(const LsRank *ranks, size_t n)
{
    g_autoptr(GHashTable) numbers = g_hash_table_new(NULL, NULL);
    size_t strangers = 0;
    for (size_t r = 0; r < n; r++)
        if (ranks[r].rank >= 0)
            g_hash_table_add(numbers, GINT_TO_POINTER(ranks[r].rank));
        else
            strangers++;
    return g_hash_table_size(numbers) + strangers;
}

/* "4 ranks on 2 hosts, 40 steps, coordinator" */
static char *
format_subtitle(const LsTrace *trace, const LsModel *model)
{
    size_t n_lives, n_steps, n_cycles, hosts = count_hosts(trace);
    const LsRank *ranks = ls_trace_get_ranks(trace, &n_lives);
    size_t n_ranks = count_ranks(ranks, n_lives);
    ls_model_get_steps(model, &n_steps);
    const LsCycle *cycles = ls_trace_get_cycles(trace, &n_cycles);
    g_autoptr(GString) text = g_string_new(NULL);
    g_string_append_printf(text, "%zu rank%s", n_ranks, plural(n_ranks));
    if (n_lives > n_ranks)
        g_string_append_printf(text, " in %zu lives", n_lives);
    if (hosts > 0)
        g_string_append_printf(text, " on %zu host%s", hosts, plural(hosts));
    if (n_steps > 0)
        g_string_append_printf(text, ", %zu step%s", n_steps, plural(n_steps));
    if (n_cycles > 0 && *ls_trace_get_string(trace, cycles[0].control))
        g_string_append_printf(text, ", %s", ls_trace_get_string(trace, cycles[0].control));
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void
make_titles(Render *render)
{
    g_autofree char *name = g_path_get_basename(render->options.paths[0]);
    size_t n;
    const LsStepColumn *steps = ls_model_get_steps(render->model, &n);
    if (render->view.step >= 0 && (size_t)render->view.step < n &&
        render->view.mode != LS_VIEW_OVERVIEW)
        render->title =
            g_strdup_printf("%s · step %" G_GINT64_FORMAT, name, steps[render->view.step].number);
    else
        render->title = g_strdup(name);
    render->subtitle = format_subtitle(render->trace, render->model);
    render->picture.title = render->title;
    render->picture.subtitle = render->subtitle;
}

static void
place_view(Render *render, int scale)
{
    LsPlaces places;
    render->picture.width = render->width;
    render->picture.height = render->height;
    ls_picture_place(&render->picture, render->model, &places);
    if (render->view.order)
        ls_view_set_size(&render->view, places.timeline.width, places.timeline.height, scale);
    else
        ls_view_init(&render->view, render->model, places.timeline.width, places.timeline.height,
                     scale);
}

/* Tensors open, or folded as far as a picture of reasonable height asks for. */
static void
fit_tensors(Render *render)
{
    render->view.stretch = 1;
    for (int fold = LS_FOLD_OPEN; fold < LS_N_FOLDS; fold++) {
        render->view.fold = (LsFold)fold;
        ls_scene_update(render->scene, &render->view);
        if (render->scene->content_height <= (fold == LS_FOLD_OPEN ? OPEN_HEIGHT : MAX_HEIGHT))
            break;
    }
    if (render->scene->content_height < render->view.height) { /* rows grow into the room */
        ls_view_fit(&render->view, render->model);
        ls_scene_update(render->scene, &render->view);
    }
}

/* Without --size the picture is as high as its rows need, within reason; an inspector beside them
 * has the usual height. */
static void
fit_height(Render *render, int scale)
{
    if (!render->sized && !render->options.fold && render->view.mode == LS_VIEW_TENSORS)
        fit_tensors(render);
    double missing = render->scene->content_height - render->view.height;
    if (missing < 0 && render->inspect)
        return;
    if (!render->sized && missing != 0) {
        render->height = CLAMP(render->height + missing, MIN_HEIGHT, MAX_HEIGHT);
        place_view(render, scale);
        ls_scene_update(render->scene, &render->view);
    }
    missing = render->scene->content_height - render->view.height;
    if (missing > 0)
        g_printerr("lockstep render: rows of %.0f pixels lie below the picture's edge; a greater "
                   "--size or --rank shows them.\n",
                   missing);
}

static bool
select_place(Render *render, GError **error)
{
    if (!render->options.select)
        return true;
    LsPick pick;
    if (!ls_inspect_find(render->model, render->options.select, render->view.start_ns, &pick,
                         error))
        return false;
    render->inspect = ls_inspect_new(render->model, &pick);
    render->picture.inspect = render->inspect;
    render->view.selected = pick;
    /* What was asked for is shown, unless a place was named too. */
    const Options *o = &render->options;
    int step = ls_model_find_step_at(render->model, pick.time_ns);
    if (o->step == NO_STEP && !o->at && !o->range && !o->all && step >= 0)
        ls_view_show_step(&render->view, render->model, step);
    return true;
}

static bool
draw_figure(Render *render, int scale, GError **error)
{
    const Options *o = &render->options;
    const LsFigureRequest request = {.name = o->figure,
                                     .run = o->paths[0],
                                     .theme = o->theme ? o->theme : "light",
                                     .output = o->output,
                                     .step = o->step,
                                     .shown = render->shown,
                                     .width = render->sized ? render->width : 0,
                                     .scale = scale};
    return ls_figure_write(render->model, &request, error);
}

static bool
draw(Render *render, GError **error)
{
    const Options *o = &render->options;
    const LsTheme *theme = ls_theme_find(o->theme ? o->theme : "light");
    bool vector = g_str_has_suffix(o->output, ".svg") || g_str_has_suffix(o->output, ".pdf");
    int scale = vector ? VECTOR_SCALE : o->scale;
    if (!theme)
        return fail_usage(error, "--theme %s is none: light or dark is expected.", o->theme);
    if (o->scale < 1 || o->scale > 4)
        return fail_usage(error, "--scale is from 1 to 4%s.", "");
    if (!parse_size(render, error) ||
        (o->ranks && !ls_options_parse_ranks(o->ranks, render->trace, &render->shown, error)))
        return false;
    if (o->figure)
        return draw_figure(render, scale, error);
    place_view(render, scale);
    if (render->shown)
        memcpy(render->view.shown, render->shown, render->view.n_ranks * sizeof(bool));
    if (!select_place(render, error) || !set_range(render, error) || !set_mode(render, error))
        return false;
    make_headline(render);
    place_view(render, scale);
    fit_view(render);
    make_titles(render);
    render->scene = ls_scene_new(render->model);
    ls_scene_update(render->scene, &render->view);
    fit_height(render, scale);
    render->painter = ls_painter_new(theme);
    return ls_picture_write(render->painter, &render->picture, render->scene, o->output, error);
}

static bool
holds_nothing(const LsTrace *trace)
{
    size_t tracks, uses, steps, instants, calls;
    ls_trace_get_tracks(trace, &tracks);
    ls_trace_get_uses(trace, &uses);
    ls_trace_get_steps(trace, &steps);
    ls_trace_get_instants(trace, &instants);
    ls_trace_get_calls(trace, &calls);
    return tracks + uses + steps + instants + calls == 0;
}

static bool
run(Render *render, int argc, char **argv, GError **error)
{
    Options *o = &render->options;
    if (!parse_options(o, argc, argv, error))
        return false;
    render->trace = ls_options_load((const char *const *)o->paths, o->rules, error);
    if (!render->trace)
        return false;
    if (holds_nothing(render->trace)) {
        g_print("no events recorded\n");
        return true;
    }
    render->activity = ls_activity_new(render->trace);
    render->model = ls_model_new(render->trace, render->activity);
    return draw(render, error);
}

static int
run_render(int argc, char **argv)
{
    Render render = {.options = {.step = NO_STEP, .scale = 1}};
    g_autoptr(GError) error = NULL;
    int status = LS_EXIT_DONE;
    if (!run(&render, argc, argv, &error))
        status = ls_options_fail("render", error);
    clear_render(&render);
    return status;
}

const LsCmd ls_cmd_render = {
    .name = "render",
    .help = "draw a run into a PNG, SVG or PDF file",
    .run = run_render,
};
