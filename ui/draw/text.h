/* SPDX-License-Identifier: Apache-2.0
 *
 * ui/draw/text.h: text in one line, shaped once per string and font, cut at a character where it
 * does not fit. For this folder.
 */
#pragma once

#include <cairo.h>
#include <stdbool.h>

#include "ui/draw/theme.h"

typedef enum LsFont {
    LS_FONT_SMALL,  /* 10 px: sub-labels, pills */
    LS_FONT_LABEL,  /* 11 px: labels on spans, ruler */
    LS_FONT_TEXT,   /* 11.5 px: sentences */
    LS_FONT_STRONG, /* the same, bold */
    LS_FONT_RANK,   /* 12 px, half bold */
    LS_FONT_TITLE,  /* 13 px, bold */
    LS_N_FONTS,
} LsFont;

typedef enum LsAlign { LS_ALIGN_LEFT, LS_ALIGN_CENTRE, LS_ALIGN_RIGHT } LsAlign;

typedef struct LsText LsText;

LsText *ls_text_new(void);
void ls_text_free(LsText *text);

double ls_text_get_width(LsText *text, LsFont font, const char *string);
/* Vertically centred on y; no wider than `width` (cut with an ellipsis; nothing at all if not even
 * three characters would be left). x is the left end, the middle or the right end. Returns the
 * width drawn. */
double ls_text_draw(LsText *text, cairo_t *cr, LsFont font, LsAlign align, double x, double y,
                    double width, LsColour colour, const char *string);
/* The same from the left, but what does not fit is cut at its beginning: long names differ at their
 * end. */
double ls_text_draw_tail(LsText *text, cairo_t *cr, LsFont font, double x, double y, double width,
                         LsColour colour, const char *string);
/* A paragraph broken at words; returns the height. cr NULL: only measured. */
double ls_text_draw_wrapped(LsText *text, cairo_t *cr, LsFont font, double x, double y,
                            double width, LsColour colour, const char *string);
