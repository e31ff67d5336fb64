/* SPDX-License-Identifier: Apache-2.0
 *
 * Shaping a string costs ten times as much as drawing its glyphs, and a trace has hundreds of
 * distinct names, not millions: glyph strings are kept by font and string. A cut is made from the
 * glyphs' advances, never by asking Pango again.
 *
 * Widths are unrounded, so that they are the same at every scale. Cairo, however, clips glyphs that
 * touch each other to the extents that the font gives, and unrounded ones are those of the unhinted
 * outlines: the top row of pixels would be lost. So glyphs are drawn with the same font whose
 * extents are rounded, at the places that the unrounded one has given.
 */
#include "ui/draw/text.h"

#include <glib.h>
#include <pango/pangocairo.h>
#include <string.h>

enum { MAX_KEPT = 8192, MAX_AT_ONCE = 128 };

static const struct {
    double px;
    PangoWeight weight;
} FONTS[LS_N_FONTS] = {
    [LS_FONT_SMALL] = {9.5, PANGO_WEIGHT_NORMAL}, [LS_FONT_LABEL] = {10.5, PANGO_WEIGHT_NORMAL},
    [LS_FONT_TEXT] = {11.5, PANGO_WEIGHT_NORMAL}, [LS_FONT_STRONG] = {11.5, PANGO_WEIGHT_BOLD},
    [LS_FONT_RANK] = {12, PANGO_WEIGHT_BOLD},     [LS_FONT_TITLE] = {13, PANGO_WEIGHT_BOLD},
};

typedef struct Run {
    PangoFont *font;
    PangoGlyphString *glyphs;
    cairo_scaled_font_t
        *drawn; /* NULL: holds glyphs that no font has, which Pango draws as boxes */
} Run;

typedef struct Shaped {
    GArray *runs; /* Run */
    double width;
} Shaped;

struct LsText {
    PangoContext *context;
    PangoFontDescription *fonts[LS_N_FONTS];
    double ascent[LS_N_FONTS], height[LS_N_FONTS];
    GHashTable *shaped[LS_N_FONTS]; /* char * -> Shaped */
    Shaped *dots[LS_N_FONTS];
};

static void
clear_run(void *data)
{
    Run *run = data;
    g_object_unref(run->font);
    pango_glyph_string_free(run->glyphs);
    g_clear_pointer(&run->drawn, cairo_scaled_font_destroy);
}

static void
free_shaped(void *data)
{
    Shaped *shaped = data;
    g_array_unref(shaped->runs);
    g_free(shaped);
}

LsText *
ls_text_new(void)
{
    LsText *text = g_new0(LsText, 1);
    PangoFontMap *map = pango_cairo_font_map_get_default();
    text->context = pango_font_map_create_context(map);
    /* The same places at every scale and on every surface: metrics are not rounded to pixels. */
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_SLIGHT);
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    pango_cairo_context_set_font_options(text->context, options);
    pango_context_set_round_glyph_positions(text->context, FALSE);
    cairo_font_options_destroy(options);
    for (int i = 0; i < LS_N_FONTS; i++) {
        PangoFontDescription *font =
            pango_font_description_from_string("Inter, Cantarell, Noto Sans, DejaVu Sans, Sans");
        pango_font_description_set_absolute_size(font, FONTS[i].px * PANGO_SCALE);
        pango_font_description_set_weight(font, FONTS[i].weight);
        PangoFontMetrics *metrics = pango_context_get_metrics(text->context, font, NULL);
        text->ascent[i] = (double)pango_font_metrics_get_ascent(metrics) / PANGO_SCALE;
        text->height[i] =
            text->ascent[i] + (double)pango_font_metrics_get_descent(metrics) / PANGO_SCALE;
        pango_font_metrics_unref(metrics);
        text->fonts[i] = font;
        text->shaped[i] = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_shaped);
    }
    return text;
}

void
ls_text_free(LsText *text)
{
    if (!text)
        return;
    for (int i = 0; i < LS_N_FONTS; i++) {
        pango_font_description_free(text->fonts[i]);
        g_hash_table_unref(text->shaped[i]);
        g_clear_pointer(&text->dots[i], free_shaped);
    }
    g_object_unref(text->context);
    g_free(text);
}

/* The same font with rounded extents; NULL if it has not all of the glyphs. */
static cairo_scaled_font_t *
find_drawn_font(PangoFont *font, const PangoGlyphString *glyphs)
{
    for (int i = 0; i < glyphs->num_glyphs; i++)
        if (glyphs->glyphs[i].glyph & PANGO_GLYPH_UNKNOWN_FLAG)
            return NULL;
    cairo_matrix_t size, device;
    cairo_scaled_font_t *scaled = pango_cairo_font_get_scaled_font(PANGO_CAIRO_FONT(font));
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_scaled_font_get_font_options(scaled, options);
    cairo_scaled_font_get_font_matrix(scaled, &size);
    cairo_scaled_font_get_ctm(scaled, &device);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_ON);
    cairo_scaled_font_t *drawn =
        cairo_scaled_font_create(cairo_scaled_font_get_font_face(scaled), &size, &device, options);
    cairo_font_options_destroy(options);
    return drawn;
}

static Shaped *
shape_line(const PangoLayoutLine *line)
{
    Shaped *shaped = g_new0(Shaped, 1);
    shaped->runs = g_array_new(FALSE, FALSE, sizeof(Run));
    g_array_set_clear_func(shaped->runs, clear_run);
    for (GSList *at = line ? line->runs : NULL; at; at = at->next) {
        PangoGlyphItem *item = at->data;
        PangoFont *font = item->item->analysis.font;
        Run run = {g_object_ref(font), pango_glyph_string_copy(item->glyphs),
                   find_drawn_font(font, item->glyphs)};
        g_array_append_val(shaped->runs, run);
        shaped->width += (double)pango_glyph_string_get_width(item->glyphs) / PANGO_SCALE;
    }
    return shaped;
}

static Shaped *
shape(LsText *text, LsFont font, const char *string)
{
    g_autoptr(PangoLayout) layout = pango_layout_new(text->context);
    g_autofree char *valid = g_utf8_make_valid(string, -1);
    pango_layout_set_font_description(layout, text->fonts[font]);
    pango_layout_set_single_paragraph_mode(layout, TRUE);
    pango_layout_set_text(layout, valid, -1);
    return shape_line(pango_layout_get_line_readonly(layout, 0));
}

static const Shaped *
get_shaped(LsText *text, LsFont font, const char *string)
{
    Shaped *shaped = g_hash_table_lookup(text->shaped[font], string);
    if (shaped)
        return shaped;
    if (g_hash_table_size(text->shaped[font]) >= MAX_KEPT)
        g_hash_table_remove_all(text->shaped[font]);
    shaped = shape(text, font, string);
    g_hash_table_insert(text->shaped[font], g_strdup(string), shaped);
    return shaped;
}

double
ls_text_get_width(LsText *text, LsFont font, const char *string)
{
    return get_shaped(text, font, string)->width;
}

static void
set_colour(cairo_t *cr, LsColour colour)
{
    cairo_set_source_rgb(cr, (double)(colour >> 16 & 255) / 255, (double)(colour >> 8 & 255) / 255,
                         (double)(colour & 255) / 255);
}

/* The first n glyphs of a run. */
static void
show_run(cairo_t *cr, const Run *run, int n, double x, double baseline)
{
    cairo_glyph_t places[MAX_AT_ONCE];
    int n_places = 0;
    if (!run->drawn) {
        int all = run->glyphs->num_glyphs;
        cairo_move_to(cr, x, baseline);
        run->glyphs->num_glyphs = n;
        pango_cairo_show_glyph_string(cr, run->font, run->glyphs);
        run->glyphs->num_glyphs = all;
        return;
    }
    cairo_set_scaled_font(cr, run->drawn);
    for (int i = 0; i < n; i++) {
        const PangoGlyphInfo *glyph = &run->glyphs->glyphs[i];
        if (glyph->glyph != PANGO_GLYPH_EMPTY)
            places[n_places++] =
                (cairo_glyph_t){glyph->glyph, x + (double)glyph->geometry.x_offset / PANGO_SCALE,
                                baseline + (double)glyph->geometry.y_offset / PANGO_SCALE};
        x += (double)glyph->geometry.width / PANGO_SCALE;
        if (n_places == MAX_AT_ONCE || i + 1 == n) {
            cairo_show_glyphs(cr, places, n_places);
            n_places = 0;
        }
    }
}

/* Shows the glyphs that end before `width`; returns how wide they are and how many. */
static double
show_glyphs(cairo_t *cr, const Shaped *shaped, double x, double baseline, double width,
            bool measure, int *ret_n)
{
    double at = 0;
    *ret_n = 0;
    for (guint r = 0; r < shaped->runs->len; r++) {
        const Run *run = &g_array_index(shaped->runs, Run, r);
        int n = 0, all = run->glyphs->num_glyphs;
        double start = at;
        while (n < all) {
            double advance = (double)run->glyphs->glyphs[n].geometry.width / PANGO_SCALE;
            if (at + advance > width + 0.01)
                break;
            at += advance;
            n++;
        }
        if (!measure && n > 0)
            show_run(cr, run, n, x + start, baseline);
        *ret_n += n;
        if (n < all)
            break;
    }
    return at;
}

static int
count_glyphs(const Shaped *shaped)
{
    int n = 0;
    for (guint r = 0; r < shaped->runs->len; r++)
        n += g_array_index(shaped->runs, Run, r).glyphs->num_glyphs;
    return n;
}

double
ls_text_draw(LsText *text, cairo_t *cr, LsFont font, LsAlign align, double x, double y,
             double width, LsColour colour, const char *string)
{
    const Shaped *shaped = get_shaped(text, font, string), *dots = NULL;
    double drawn = shaped->width, room = width;
    int n;
    if (shaped->width > width + 0.01) {
        if (!text->dots[font])
            text->dots[font] = shape(text, font, "…");
        dots = text->dots[font];
        room = width - dots->width;
        double kept = show_glyphs(cr, shaped, 0, 0, room, true, &n);
        if (n < 3 || (n < 8 && n * 2 < count_glyphs(shaped)))
            return 0;
        drawn = kept + dots->width;
    }
    if (align == LS_ALIGN_CENTRE)
        x -= drawn / 2;
    else if (align == LS_ALIGN_RIGHT)
        x -= drawn;
    double baseline = y - text->height[font] / 2 + text->ascent[font];
    set_colour(cr, colour);
    double kept = show_glyphs(cr, shaped, x, baseline, room, false, &n);
    if (dots)
        show_glyphs(cr, dots, x + kept, baseline, dots->width, false, &n);
    return drawn;
}

double
ls_text_draw_tail(LsText *text, cairo_t *cr, LsFont font, double x, double y, double width,
                  LsColour colour, const char *string)
{
    double all = ls_text_get_width(text, font, string);
    if (all <= width)
        return ls_text_draw(text, cr, font, LS_ALIGN_LEFT, x, y, width, colour, string);
    g_autofree char *valid = g_utf8_make_valid(string, -1);
    glong n = g_utf8_strlen(valid, -1), cut = (glong)((all - width) / all * (double)n) + 1;
    for (; cut < n; cut++) {
        g_autofree char *tail = g_strconcat("…", g_utf8_offset_to_pointer(valid, cut), NULL);
        if (ls_text_get_width(text, font, tail) <= width)
            return ls_text_draw(text, cr, font, LS_ALIGN_LEFT, x, y, width, colour, tail);
    }
    return 0;
}

static void
show_lines(cairo_t *cr, PangoLayout *layout, double x, double y)
{
    int n;
    PangoLayoutIter *at = pango_layout_get_iter(layout);
    do {
        Shaped *line = shape_line(pango_layout_iter_get_line_readonly(at));
        double baseline = (double)pango_layout_iter_get_baseline(at) / PANGO_SCALE;
        show_glyphs(cr, line, x, y + baseline, line->width, false, &n);
        free_shaped(line);
    } while (pango_layout_iter_next_line(at));
    pango_layout_iter_free(at);
}

double
ls_text_draw_wrapped(LsText *text, cairo_t *cr, LsFont font, double x, double y, double width,
                     LsColour colour, const char *string)
{
    g_autoptr(PangoLayout) layout = pango_layout_new(text->context);
    g_autofree char *valid = g_utf8_make_valid(string, -1);
    int height;
    pango_layout_set_font_description(layout, text->fonts[font]);
    pango_layout_set_width(layout, (int)(width * PANGO_SCALE));
    pango_layout_set_wrap(layout, PANGO_WRAP_WORD_CHAR);
    pango_layout_set_text(layout, valid, -1);
    pango_layout_get_size(layout, NULL, &height);
    if (cr) {
        set_colour(cr, colour);
        show_lines(cr, layout, x, y);
    }
    return (double)height / PANGO_SCALE;
}
