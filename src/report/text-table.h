/* SPDX-License-Identifier: Apache-2.0
 * report/text-table.h: one table for a terminal of 120 columns; for report-text.c alone. */
#pragma once

#include "trace/trace.h"

#include "base/table.h"

#include <stdio.h>

#define LS_TEXT_WIDTH 120

/* Moments count from first_ns on. */
void ls_text_write_table(FILE *out, const LsTable *table, int64_t first_ns);

/* What it is made of (text-cell.c). Callers free. */
char *ls_text_format_cell(const LsTable *table, size_t row, size_t column, int64_t first_ns);
/* The column's name without its unit, which stands in every cell. */
char *ls_text_format_name(const LsColumn *column);
/* Cuts a long text in its middle: both ends of a tensor's name tell it from others. Takes `text`.
 */
char *ls_text_shorten(char *text);
