/* SPDX-License-Identifier: Apache-2.0
 *
 * cli/figure.h: figures of `lockstep render --figure`: titles and the sentence under them.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "layout/model.h"

/* No step is named: the slowest steady one. */
#define LS_FIGURE_SLOWEST INT64_MIN

typedef struct LsFigureRequest {
    const char *name;   /* of the figure */
    const char *run;    /* its path */
    const char *theme;  /* "light", "dark" */
    const char *output; /* the file */
    int64_t step;       /* its number, or LS_FIGURE_SLOWEST */
    const bool *shown;  /* by rank index, the first is whose view it is; NULL: the lowest */
    double width;       /* 0: as it pleases */
    int scale;
} LsFigureRequest;

bool ls_figure_write(const LsModel *model, const LsFigureRequest *request, GError **error);
