/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures against properties, not against yesterday's pictures: colours at places known by
 * construction, the same picture twice, pixels and rectangles alike, text and bars that stay
 * vector. No reference image: fonts differ between machines.
 */
#include <cairo-svg.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "tests/unit/sample-trace.h"
#include "ui/draw/draw.h"

enum { WIDTH = 1000, HEIGHT = 400 };

typedef struct Shown {
    LsTrace *trace;
    LsActivity *activity;
    LsModel *model;
    LsView view;
    LsScene *scene;
    LsPainter *painter;
} Shown;

static void
show(Shown *shown, LsTrace *trace, const char *theme)
{
    shown->trace = trace;
    shown->activity = ls_activity_new(trace);
    shown->model = ls_model_new(trace, shown->activity);
    ls_view_init(&shown->view, shown->model, WIDTH, HEIGHT, 1);
    ls_view_set_mode(&shown->view, shown->model, LS_VIEW_RANKS);
    shown->view.fold = LS_FOLD_OPEN;
    shown->scene = ls_scene_new(shown->model);
    shown->painter = ls_painter_new(ls_theme_find(theme));
}

static void
clear(Shown *shown)
{
    ls_painter_free(shown->painter);
    ls_scene_free(shown->scene);
    ls_view_clear(&shown->view);
    ls_model_free(shown->model);
    ls_activity_free(shown->activity);
    ls_trace_unref(shown->trace);
}

static cairo_surface_t *
draw_timeline(Shown *shown)
{
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, WIDTH, HEIGHT);
    cairo_t *cr = cairo_create(surface);
    ls_scene_update(shown->scene, &shown->view);
    ls_draw_timeline(shown->painter, cr, shown->scene);
    cairo_destroy(cr);
    cairo_surface_flush(surface);
    return surface;
}

static LsColour
get_pixel(cairo_surface_t *surface, int x, int y)
{
    const unsigned char *data = cairo_image_surface_get_data(surface);
    const unsigned char *line = data + (size_t)y * (size_t)cairo_image_surface_get_stride(surface);
    uint32_t pixel;
    memcpy(&pixel, line + 4 * (size_t)x, sizeof pixel);
    return pixel & 0xFFFFFF;
}

static const LsRow *
find_row(const LsScene *scene, uint32_t rank, LsRowKind kind)
{
    for (size_t i = 0; i < ls_scene_get_n_rows(scene); i++)
        if (ls_scene_get_row(scene, i)->rank == rank && ls_scene_get_row(scene, i)->kind == kind)
            return ls_scene_get_row(scene, i);
    g_assert_not_reached();
}

/* In both themes: hidden is pale, exposed is strong, a wait shows the surface between its strokes.
 */
static void
test_colours(void)
{
    static const char *const THEMES[] = {"light", "dark"};
    for (size_t i = 0; i < G_N_ELEMENTS(THEMES); i++) {
        Shown shown;
        const LsTheme *theme = ls_theme_find(THEMES[i]);
        show(&shown, sample_late_pair(), THEMES[i]);
        ls_view_show(&shown.view, 0, 1000, 0);
        cairo_surface_t *surface = draw_timeline(&shown);
        const LsRow *row = find_row(shown.scene, 0, LS_ROW_COMMUNICATION);
        int low = (int)(row->y + row->height) - 6, surfaces = 0, strokes = 0;
        g_assert_cmphex(get_pixel(surface, 790, low), ==, theme->strong);
        for (int x = 520; x < 600; x++) {
            surfaces += get_pixel(surface, x, low) == theme->surface;
            strokes += get_pixel(surface, x, low) != theme->surface;
        }
        g_assert_cmpint(surfaces, >, 20);
        g_assert_cmpint(strokes, >, 10);
        row = find_row(shown.scene, 1, LS_ROW_COMMUNICATION);
        low = (int)(row->y + row->height) - 6;
        g_assert_cmphex(get_pixel(surface, 675, low), ==, theme->role[LS_ROLE_COMMUNICATION]);
        g_assert_cmphex(get_pixel(surface, 450, low), ==, theme->surface);
        row = find_row(shown.scene, 0, LS_ROW_SPANS);
        low = (int)(row->y + row->height) - 4;
        g_assert_cmphex(get_pixel(surface, 290, low), ==, theme->role[LS_ROLE_FORWARD]);
        g_assert_cmphex(get_pixel(surface, 480, low), ==, theme->role[LS_ROLE_BACKWARD]);
        cairo_surface_destroy(surface);
        clear(&shown);
    }
}

static bool
is_equal(cairo_surface_t *a, cairo_surface_t *b, int *ret_differ)
{
    *ret_differ = 0;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            *ret_differ += get_pixel(a, x, y) != get_pixel(b, x, y);
    return *ret_differ == 0;
}

/* One rank with a lane of many short phases: dense enough to be rastered. */
static LsTrace *
make_dense(void)
{
    static const char *const NAMES[] = {"forward", "backward", "optimizer", "other"};
    LsProcess *process = sample_process(0, 1, "host");
    g_autoptr(GRand) random = g_rand_new_with_seed(11);
    int64_t at = 0;
    for (int i = 0; i < 400; i++) {
        int64_t end = at + g_rand_int_range(random, 500, 9000);
        sample_phase(process, NAMES[i % 4], at, end, 0);
        at = end + g_rand_int_range(random, 0, 2000);
    }
    return sample_freeze(&process, 1, 1);
}

static void
test_raster(void)
{
    Shown shown;
    int differ;
    show(&shown, make_dense(), "light");
    ls_view_show_all(&shown.view, shown.model);
    cairo_surface_t *pixels = draw_timeline(&shown), *again = draw_timeline(&shown);
    g_assert_true(is_equal(pixels, again, &differ));
    ls_painter_set_vector(shown.painter, true);
    cairo_surface_t *rectangles = draw_timeline(&shown);
    const LsRow *row = find_row(shown.scene, 0, LS_ROW_SPANS);
    g_assert_cmpuint(row->n_items, >, 64);
    is_equal(pixels, rectangles, &differ);
    g_assert_cmpint(differ, ==, 0);
    cairo_surface_destroy(pixels);
    cairo_surface_destroy(again);
    cairo_surface_destroy(rectangles);
    clear(&shown);
}

static char *
write_picture(Shown *shown, const char *name, const char *title)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("lockstep-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, name, NULL);
    char *content = NULL;
    LsDrawLine lines[] = {{"Step 1 us", "The step waits 200 ns."}};
    LsPicture picture = {.title = title,
                         .subtitle = "2 ranks",
                         .lines = lines,
                         .n_lines = 1,
                         .width = 1280,
                         .height = 720};
    LsPlaces places;
    ls_picture_place(&picture, shown->model, &places);
    ls_view_set_size(&shown->view, places.timeline.width, places.timeline.height, 1);
    ls_scene_update(shown->scene, &shown->view);
    ls_picture_write(shown->painter, &picture, shown->scene, path, &error);
    g_assert_no_error(error);
    g_assert_true(g_file_get_contents(path, &content, NULL, NULL));
    g_unlink(path);
    g_rmdir(folder);
    return content;
}

/* The filled paths of an SVG, without its glyphs, which Cairo numbers as it likes. */
static char *
get_fills(const char *svg)
{
    g_auto(GStrv) lines = g_strsplit(svg, "\n", -1);
    g_autoptr(GString) fills = g_string_new(NULL);
    for (size_t i = 0; lines[i]; i++)
        if (g_str_has_prefix(lines[i], "<path style=\" stroke:none"))
            g_string_append_printf(fills, "%s\n", lines[i]);
    return g_string_free(g_steal_pointer(&fills), FALSE);
}

/* The strong bar of the second call stands in the SVG as a path with the very edges of its item. */
static void
test_vector(void)
{
    Shown shown;
    show(&shown, sample_late_pair(), "light");
    ls_view_show(&shown.view, 0, 1000, 0);
    g_autofree char *svg = write_picture(&shown, "x.svg", "pair");
    g_autofree char *again = write_picture(&shown, "x.svg", "pair");
    g_autofree char *fills = get_fills(svg), *fills_again = get_fills(again);
    g_assert_cmpuint(strlen(fills), >, 1000);
    g_assert_true(strcmp(fills, fills_again) == 0);
    g_assert_null(strstr(svg, "<image"));
    const LsRow *row = find_row(shown.scene, 0, LS_ROW_COMMUNICATION);
    size_t found = 0;
    for (size_t i = 0; i < row->n_items; i++) {
        const LsItem *item = &g_array_index(shown.scene->items, LsItem, row->first_item + i);
        if (item->form != LS_FORM_STRONG)
            continue;
        g_autofree char *left = g_strdup_printf("M %d ", LS_DRAW_HEADER_WIDTH + item->x0);
        g_autofree char *right = g_strdup_printf("L %d ", LS_DRAW_HEADER_WIDTH + item->x1);
        g_assert_nonnull(strstr(svg, left));
        g_assert_nonnull(strstr(svg, right));
        found++;
    }
    g_assert_cmpuint(found, >=, 2);
    g_autofree char *pdf = write_picture(&shown, "x.pdf", "pair");
    g_assert_true(g_str_has_prefix(pdf, "%PDF"));
    clear(&shown);
}

static bool
holds_colour(cairo_surface_t *surface, int width, int y0, int y1, LsColour colour)
{
    for (int y = y0; y < y1; y++)
        for (int x = 0; x < width; x++)
            if (get_pixel(surface, x, y) == colour)
                return true;
    return false;
}

/* The last entry is there at any width, on a second line if it must be; and not twice. */
static void
test_legend(void)
{
    enum { NARROW = 420 };
    Shown shown;
    show(&shown, sample_late_pair(), "light");
    ls_scene_update(shown.scene, &shown.view);
    g_array_set_size(shown.scene->legend, 0);
    static const LsLegend ENTRIES[] = {
        {LS_ROLE_FORWARD, LS_FORM_PLAIN, "forward"},
        {LS_ROLE_COMMUNICATION, LS_FORM_PLAIN, "communication, hidden"},
        {LS_ROLE_COPY, LS_FORM_PLAIN, "copies, packing"},
        {LS_ROLE_BAND_HIDDEN, LS_FORM_PLAIN, "overlapped"}};
    g_array_append_vals(shown.scene->legend, ENTRIES, G_N_ELEMENTS(ENTRIES));
    for (int width = NARROW; width >= NARROW / 3; width -= NARROW * 2 / 3) {
        cairo_surface_t *surface =
            cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, LS_DRAW_LEGEND_HEIGHT);
        cairo_t *cr = cairo_create(surface);
        LsColour last = ls_theme_find("light")->role[LS_ROLE_BAND_HIDDEN];
        int half = LS_DRAW_LEGEND_HEIGHT / 2;
        if (width < NARROW)
            g_array_remove_range(shown.scene->legend, 0, 2);
        ls_draw_legend(shown.painter, cr, shown.scene, width, LS_DRAW_LEGEND_HEIGHT);
        cairo_destroy(cr);
        cairo_surface_flush(surface);
        g_assert_true(holds_colour(surface, width, 0, LS_DRAW_LEGEND_HEIGHT, last));
        if (width < NARROW) {
            g_assert_true(holds_colour(surface, width, half, LS_DRAW_LEGEND_HEIGHT, last));
            g_assert_false(holds_colour(surface, width, 0, half, last));
        }
        cairo_surface_destroy(surface);
    }
    clear(&shown);
}

/* A headline too long for its width takes more lines, and its picture is lower by as much. */
static void
test_long_headline(void)
{
    Shown shown;
    show(&shown, sample_late_pair(), "light");
    LsDrawLine lines[] = {{"Step", "short"},
                          {"Try",
                           "a response cache, or a control with fewer messages, since agreeing "
                           "takes 4.17 ms after the last rank is ready, on every step"}};
    double wide = ls_draw_headline(shown.painter, NULL, lines, 2, 1600, 1000);
    double narrow = ls_draw_headline(shown.painter, NULL, lines, 2, 400, 1000);
    g_assert_cmpfloat(narrow, >, wide + 12);
    LsPicture picture = {.lines = lines, .n_lines = 2, .width = 400, .height = 600};
    LsPlaces places;
    ls_picture_place(&picture, shown.model, &places);
    g_assert_cmpfloat(places.headline.height, ==, narrow);
    g_assert_cmpfloat(places.headline.y + places.headline.height, ==, 600);
    g_assert_cmpfloat(places.legend.y + places.legend.height, ==, places.headline.y);
    clear(&shown);
}

static void
test_ending(void)
{
    Shown shown;
    show(&shown, sample_late_pair(), "light");
    LsPicture picture = {.width = 640, .height = 480};
    g_autoptr(GError) error = NULL;
    ls_scene_update(shown.scene, &shown.view);
    g_assert_false(ls_picture_write(shown.painter, &picture, shown.scene, "x.bmp", &error));
    g_assert_nonnull(strstr(error->message, ".png, .svg or .pdf"));
    g_clear_error(&error);
    g_assert_false(
        ls_picture_write(shown.painter, &picture, shown.scene, "/nowhere/x.png", &error));
    g_assert_nonnull(strstr(error->message, "/nowhere/x.png could not be written"));
    clear(&shown);
}

/* What is drawn in grey still differs: surface, hidden and exposed are at least a tenth apart. */
static void
test_lightness(void)
{
    static const char *const THEMES[] = {"light", "dark"};
    for (size_t i = 0; i < G_N_ELEMENTS(THEMES); i++) {
        const LsTheme *theme = ls_theme_find(THEMES[i]);
        LsColour colours[] = {theme->surface, theme->role[LS_ROLE_COMMUNICATION], theme->strong};
        double grey[3];
        for (int c = 0; c < 3; c++)
            grey[c] = 0.299 * (colours[c] >> 16 & 255) + 0.587 * (colours[c] >> 8 & 255) +
                      0.114 * (colours[c] & 255);
        for (int c = 0; c < 3; c++)
            g_assert_cmpfloat(fabs(grey[c] - grey[(c + 1) % 3]), >, 20);
    }
}

int
main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/draw/timeline/colours-stand-where-time-says", test_colours);
    g_test_add_func("/draw/raster/pixels-are-the-rectangles", test_raster);
    g_test_add_func("/draw/picture/vector-stays-vector", test_vector);
    g_test_add_func("/draw/legend/its-last-entry-is-shown-at-any-width", test_legend);
    g_test_add_func("/draw/headline/a-long-line-is-wrapped", test_long_headline);
    g_test_add_func("/draw/picture/a-bad-name-is-one-sentence", test_ending);
    g_test_add_func("/draw/theme/reads-in-grey", test_lightness);
    return g_test_run();
}
