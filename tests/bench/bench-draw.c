/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/bench/bench-draw.c: one frame of the timeline, 1920x1080: query (layout) and raster
 * (ui/draw), median and 95th percentile of the thread's CPU time over a script of zooming and
 * panning on SPANS spans in 60 lanes, beside a memset of the surface. Text is the part of the
 * raster that the same scene does without when its items have no labels. The script is played
 * ROUNDS times and each frame's best is taken: other work on the machine only ever adds.
 * `bench-draw [SPANS]`. 12 ranks with four lanes of compute and one of communication each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "trace/builder.h"
#include "ui/draw/draw.h"

enum {
    RANKS = 12,
    STREAMS = 4,
    WIDTH = 1920,
    HEIGHT = 1080,
    N_NAMES = 24,
    MAX_FRAMES = 400,
    ROUNDS = 3
};

typedef struct Frames {
    double query_ms[MAX_FRAMES], raster_ms[MAX_FRAMES], both_ms[MAX_FRAMES];
    double bare_ms[MAX_FRAMES], text_ms[MAX_FRAMES]; /* raster without labels; the difference */
    size_t items[MAX_FRAMES];
    size_t n;
} Frames;

/* CPU time of this thread, which does all the work: what others do on the machine is not in it. */
static double
now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static uint64_t
next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void
fill_track(LsProcess *process, LsTrackKind kind, int64_t id, size_t n, const uint32_t *names,
           size_t n_names, uint64_t *state)
{
    char name[32];
    snprintf(name, sizeof name, "stream %d", (int)id);
    LsTrackBuilder *track = ls_process_get_track(process, kind, name, "kernel", id);
    int64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        at += (int64_t)(next_random(state) % 2000);
        int64_t length = 2000 + (int64_t)(next_random(state) % 20000);
        ls_track_builder_add(track, at, at + length, names[next_random(state) % n_names], LS_NONE);
        at += length;
    }
}

static LsClass
classify(void *user, uint8_t source, const LsTrackBuilder *track, const char *category,
         const char *name)
{
    return g_str_has_prefix(name, "nccl") ? LS_CLASS_COMMUNICATION : LS_CLASS_COMPUTE;
}

static LsTrace *
make_trace(size_t n_spans)
{
    LsBuilder *builder = ls_builder_new(classify, NULL);
    uint64_t state = 88172645463325252u;
    size_t per_lane = n_spans / (RANKS * (STREAMS + 1));
    for (int r = 0; r < RANKS; r++) {
        LsProcess *process = ls_process_new(LS_SOURCE_OTHER);
        uint32_t names[N_NAMES];
        process->rank.rank = r;
        process->rank.world = RANKS;
        process->rank.recorded = true;
        process->rank.clock_method = r == 0 ? LS_CLOCK_REFERENCE : LS_CLOCK_SAME_BOOT;
        for (int i = 0; i < N_NAMES; i++) {
            char name[40];
            snprintf(name, sizeof name, "volta_sgemm_%dx%d_kernel", 32 + i, 64 + i);
            names[i] = ls_strings_add(process->strings, name);
        }
        for (int s = 0; s < STREAMS; s++)
            fill_track(process, LS_TRACK_STREAM, s, per_lane, names, N_NAMES, &state);
        uint32_t nccl = ls_strings_add(process->strings, "ncclDevKernel_AllReduce");
        fill_track(process, LS_TRACK_COMMUNICATION, 100, per_lane, &nccl, 1, &state);
        ls_builder_take(builder, process);
    }
    return ls_builder_freeze(builder);
}

static int
compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double
quantile(const double *values, size_t n, double q)
{
    double sorted[MAX_FRAMES];
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    return sorted[MIN((size_t)((double)n * q), n - 1)];
}

static double
draw_scene(LsScene *scene, LsPainter *painter, cairo_t *cr)
{
    double start = now_ms();
    ls_draw_timeline(painter, cr, scene);
    cairo_surface_flush(cairo_get_target(cr));
    return now_ms() - start;
}

static void
draw_frame(LsScene *scene, LsPainter *painter, cairo_t *cr, const LsView *view, Frames *frames)
{
    double start = now_ms();
    ls_scene_update(scene, view);
    double query = now_ms() - start, raster = draw_scene(scene, painter, cr);
    for (guint i = 0; i < scene->items->len; i++)
        g_array_index(scene->items, LsItem, i).text = 0;
    double bare = draw_scene(scene, painter, cr);
    size_t f = frames->n++;
    frames->query_ms[f] = MIN(frames->query_ms[f], query);
    frames->raster_ms[f] = MIN(frames->raster_ms[f], raster);
    frames->both_ms[f] = MIN(frames->both_ms[f], query + raster);
    frames->bare_ms[f] = MIN(frames->bare_ms[f], bare);
    frames->text_ms[f] = MAX(frames->raster_ms[f] - frames->bare_ms[f], 0);
    frames->items[f] = scene->items->len;
}

static void
print_frames(const char *name, const Frames *f, size_t first)
{
    size_t n = f->n - first;
    printf("# %-22s %3zu frames  query %6.2f %6.2f  raster %6.2f %6.2f  "
           "(text %5.2f %5.2f)  both %6.2f %6.2f ms  "
           "%zu items\n",
           name, n, quantile(f->query_ms + first, n, 0.5), quantile(f->query_ms + first, n, 0.95),
           quantile(f->raster_ms + first, n, 0.5), quantile(f->raster_ms + first, n, 0.95),
           quantile(f->text_ms + first, n, 0.5), quantile(f->text_ms + first, n, 0.95),
           quantile(f->both_ms + first, n, 0.5), quantile(f->both_ms + first, n, 0.95),
           f->items[first + n / 2]);
}

/* From all of it down to single spans, panning a little at each depth. */
static void
play(LsScene *scene, LsPainter *painter, cairo_t *cr, LsView *view, const LsModel *model,
     Frames *frames, bool print)
{
    static const int64_t PARTS[] = {1, 8, 64, 512, 4096, 32768};
    int64_t last = ls_trace_get_last_ns(ls_model_get_trace(model));
    for (size_t p = 0; p < G_N_ELEMENTS(PARTS); p++) {
        size_t first = frames->n;
        char name[48];
        int64_t range = MAX(last / PARTS[p], 1000);
        ls_view_show(view, last / 3 * (p > 0), last / 3 * (p > 0) + range, 0);
        for (int i = 0; i < 30; i++) {
            ls_view_pan(view, model, 7);
            draw_frame(scene, painter, cr, view, frames);
        }
        for (int i = 0; i < 30; i++) {
            ls_view_zoom(view, model, i < 15 ? 0.93 : 1 / 0.93, view->width * 0.4);
            draw_frame(scene, painter, cr, view, frames);
        }
        snprintf(name, sizeof name, "1/%d of the recording", (int)PARTS[p]);
        if (print)
            print_frames(name, frames, first);
    }
}

static double
clear_surface(cairo_surface_t *surface)
{
    size_t bytes = (size_t)cairo_image_surface_get_stride(surface) * HEIGHT;
    double best = 1e9;
    for (int i = 0; i < 20; i++) {
        double start = now_ms();
        memset(cairo_image_surface_get_data(surface), i, bytes);
        best = MIN(best, now_ms() - start);
    }
    cairo_surface_mark_dirty(surface);
    return best;
}

int
main(int argc, char **argv)
{
    size_t n_spans = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 10000000;
    g_autoptr(LsTrace) trace = make_trace(n_spans);
    double start = now_ms();
    LsActivity *activity = ls_activity_new(trace);
    double active = now_ms();
    LsModel *model = ls_model_new(trace, activity);
    double modelled = now_ms();
    printf("# %zu spans: activity %.0f ms, model with pyramids %.0f ms\n", n_spans, active - start,
           modelled - active);
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, WIDTH, HEIGHT);
    cairo_t *cr = cairo_create(surface);
    double cleared = clear_surface(surface);
    LsScene *scene = ls_scene_new(model);
    LsPainter *painter = ls_painter_new(ls_theme_find("light"));
    LsView view;
    static Frames frames;
    ls_view_init(&view, model, WIDTH, HEIGHT, 1);
    ls_view_set_mode(&view, model, LS_VIEW_RANKS);
    view.fold = LS_FOLD_COMPACT; /* as many lanes as find room, all lanes of their tracks */
    for (uint32_t r = 0; r < view.n_ranks; r++)
        view.folds[r] = LS_N_FOLDS;
    view.stretch = 1;
    for (size_t i = 0; i < MAX_FRAMES; i++)
        frames.query_ms[i] = frames.raster_ms[i] = frames.both_ms[i] = frames.bare_ms[i] = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        frames.n = 0;
        play(scene, painter, cr, &view, model, &frames, round + 1 == ROUNDS);
    }
    double p95 = quantile(frames.both_ms, frames.n, 0.95);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    print_frames("all", &frames, 0);
    printf("# %zu rows; memset of the surface %.2f ms, p95 %.1f times that; peak memory %ld MB\n",
           ls_scene_get_n_rows(scene), cleared, p95 / cleared, usage.ru_maxrss / 1024);
    printf("1..1\nok 1 - /bench/draw/frame p95 %.2f ms\n", p95);
    ls_painter_free(painter);
    ls_scene_free(scene);
    ls_view_clear(&view);
    cairo_destroy(cr);
    cairo_surface_destroy(surface);
    ls_model_free(model);
    ls_activity_free(activity);
    return 0;
}
