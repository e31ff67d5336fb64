/* SPDX-License-Identifier: Apache-2.0
 * report/writers.h: the rows of the table of writers, and what they share. */
#pragma once

#include "report/report.h"

extern const LsReportWriter ls_report_text, ls_report_json, ls_report_csv;

/* After the last write: false with LS_ERROR_WRITE if any of them failed. */
bool ls_report_finish(FILE *out, GError **error);
