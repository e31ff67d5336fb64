/* SPDX-License-Identifier: Apache-2.0
 *
 * report/report.c: the table of writers. A new format is a file and a row here.
 */
#include "report/report.h"

#include "base/error.h"
#include "report/writers.h"

#include <errno.h>
#include <string.h>

static const LsReportWriter *const writers[] = {
    &ls_report_text,
    &ls_report_json,
    &ls_report_csv,
};

const LsReportWriter *
ls_report_find_writer(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(writers); i++)
        if (strcmp(writers[i]->name, name) == 0)
            return writers[i];
    return NULL;
}

bool
ls_report_finish(FILE *out, GError **error)
{
    if (fflush(out) == 0 && !ferror(out))
        return true;
    g_set_error(error, LS_ERROR, LS_ERROR_WRITE, "The report could not be written: %s.",
                g_strerror(errno));
    return false;
}
