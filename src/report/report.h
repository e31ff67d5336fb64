/* SPDX-License-Identifier: Apache-2.0
 *
 * report/report.h: tables and the headline to text, JSON, CSV. Any thread.
 */
#pragma once

#include <glib.h>
#include <stdio.h>

#include "analysis/analysis.h"
#include "base/table.h"

/* The answer in five lines (design 8): label and sentence of each. Always true of `input`; says
 * what cannot be known where something was not recorded. */
typedef struct LsHeadlineLine {
    char *label; /* "Step 201 ms", "Rank 2 (gpu02:0)", "Negotiation 1.5 ms", "Try", "Recorded" */
    char *text;
} LsHeadlineLine;

typedef struct LsHeadline LsHeadline;

LsHeadline *ls_headline_new(const LsAnalysisInput *input);
/* For a picture that shows a part of what the headline speaks of: says so, in the first line. */
void ls_headline_say_whole_run(LsHeadline *headline);
void ls_headline_free(LsHeadline *headline);
const LsHeadlineLine *ls_headline_get_lines(const LsHeadline *headline, size_t *ret_n);

/* A writer: one row per format ("text", "json", "csv"), one file each. */
typedef struct LsReportWriter {
    const char *name;
    bool (*write)(FILE *out, const LsHeadline *headline, LsTable *const *tables, size_t n_tables,
                  const LsAnalysisInput *input, GError **error);
} LsReportWriter;

/* NULL if there is none of that name. */
const LsReportWriter *ls_report_find_writer(const char *name);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(LsHeadline, ls_headline_free)
