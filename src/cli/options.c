/* SPDX-License-Identifier: Apache-2.0
 *
 * cli/options.c: filters of ranks and steps, and loading with progress. Progress is looked at by a
 * thread of its own ten times a second, from the first second on: short loads print nothing.
 */
#include "cli/options.h"

#include "base/error.h"
#include "base/progress.h"
#include "base/terminal.h"
#include "cli/cmd.h"
#include "merge/run.h"
#include "report/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A whole number at *text, moved behind it. */
static bool
parse_number(const char **text, int64_t *ret_number)
{
    char *end;

    if (!g_ascii_isdigit(**text) && **text != '-')
        return false;
    *ret_number = g_ascii_strtoll(*text, &end, 10);
    if (end == *text)
        return false;
    *text = end;
    return true;
}

/* One item of the list; false if it is none. Flags of ranks that it names are set, *found counts.
 */
static bool
parse_rank_item(const char *item, const LsRank *ranks, size_t n_ranks, bool *shown, size_t *found)
{
    int64_t first, last;

    if (!g_ascii_isdigit(*item) || !parse_number(&item, &first))
        return false;
    last = first;
    if (*item == '-' && (!g_ascii_isdigit(*++item) || !parse_number(&item, &last)))
        return false;
    if (*item != '\0' || last < first)
        return false;
    for (size_t r = 0; r < n_ranks; r++)
        if (ranks[r].rank >= first && ranks[r].rank <= last) {
            shown[r] = true;
            (*found)++;
        }
    return true;
}

bool
ls_options_parse_ranks(const char *text, const LsTrace *trace, bool **ret_shown, GError **error)
{
    size_t n_ranks, found = 0;
    const LsRank *ranks = ls_trace_get_ranks(trace, &n_ranks);
    g_auto(GStrv) items = g_strsplit(text, ",", -1);
    g_autofree bool *shown = g_new0(bool, n_ranks);

    for (size_t i = 0; items[i] != NULL; i++)
        if (!parse_rank_item(g_strstrip(items[i]), ranks, n_ranks, shown, &found)) {
            g_set_error(error, LS_ERROR, LS_ERROR_USAGE,
                        "--rank %s: '%s' is no rank and no range of ranks; expected a list such as "
                        "0,8-15.",
                        text, items[i]);
            return false;
        }
    if (found == 0 && n_ranks > 0) {
        g_set_error(error, LS_ERROR, LS_ERROR_USAGE,
                    "--rank %s names no rank of this run, which has ranks %d to %d.", text,
                    ranks[0].rank, ranks[n_ranks - 1].rank);
        return false;
    }
    *ret_shown = g_steal_pointer(&shown);
    return true;
}

bool
ls_options_parse_steps(const char *text, int64_t *ret_first, int64_t *ret_last, GError **error)
{
    const char *rest = text;
    int64_t first = INT64_MIN, last = INT64_MAX;
    bool has_first = parse_number(&rest, &first), has_last = false;

    if (*rest == ':') {
        rest++;
        has_last = parse_number(&rest, &last);
    } else
        last = first;
    if (*rest == '\0' && (has_first || has_last) && first <= last) {
        *ret_first = first;
        *ret_last = last;
        return true;
    }
    g_set_error(error, LS_ERROR, LS_ERROR_USAGE,
                "--step %s is no range of steps; expected A:B, A: or :B with whole numbers.", text);
    return false;
}

bool
ls_options_check_steps(const char *text, const LsTrace *trace, int64_t first, int64_t last,
                       GError **error)
{
    size_t n_steps;
    const LsStep *steps = ls_trace_get_steps(trace, &n_steps);
    int64_t least = INT64_MAX, most = INT64_MIN;

    for (size_t i = 0; i < n_steps; i++) {
        if (steps[i].number >= first && steps[i].number <= last)
            return true;
        least = MIN(least, steps[i].number);
        most = MAX(most, steps[i].number);
    }
    if (n_steps == 0)
        g_set_error(error, LS_ERROR, LS_ERROR_USAGE,
                    "--step %s names no step of this run, in which none was marked.", text);
    else
        g_set_error(error, LS_ERROR, LS_ERROR_USAGE,
                    "--step %s names no step of this run, which has steps %" G_GINT64_FORMAT
                    " to %" G_GINT64_FORMAT ".",
                    text, least, most);
    return false;
}

/* -- Loading -- */

#define LOOK_US      100000
#define SILENT_LOOKS 10

typedef struct Watch {
    LsProgress *progress;
    int done; /* atomic */
} Watch;

static void *
watch(void *data)
{
    Watch *work = data;
    bool printed = false;

    for (int look = 0; !g_atomic_int_get(&work->done); look++) {
        const char *stage = NULL;
        double fraction = ls_progress_get(work->progress, &stage);

        if (look >= SILENT_LOOKS && stage != NULL) {
            fprintf(stderr, "\r%s %3.0f %%\033[K", stage, 100 * fraction);
            printed = true;
        }
        g_usleep(LOOK_US);
    }
    if (printed)
        fputs("\r\033[K", stderr);
    return NULL;
}

LsTrace *
ls_options_load(const char *const *paths, const char *rules_path, GError **error)
{
    g_autoptr(LsProgress) progress = NULL;
    Watch work = {NULL, 0};
    GThread *thread = NULL;
    LsTrace *trace;

    if (isatty(STDERR_FILENO)) {
        work.progress = progress = ls_progress_new();
        thread = g_thread_new("progress", watch, &work);
    }
    trace =
        ls_run_load(paths, g_strv_length((char **)(uintptr_t)paths), rules_path, progress, error);
    g_atomic_int_set(&work.done, 1);
    if (thread != NULL)
        g_thread_join(thread);
    return trace;
}

bool
ls_options_parse_context(GOptionContext *context, const GOptionEntry *entries, int argc,
                         char **argv, GError **error)
{
    gboolean help = FALSE;
    const GOptionEntry asked[] = {{"help", 'h', 0, G_OPTION_ARG_NONE, &help, "Show this", NULL},
                                  {NULL, 0, 0, 0, NULL, NULL, NULL}};

    /* GLib's own would print it in the characters of the locale. */
    g_option_context_set_help_enabled(context, FALSE);
    g_option_context_add_main_entries(context, entries, NULL);
    g_option_context_add_main_entries(context, asked, NULL);
    if (!g_option_context_parse(context, &argc, &argv, error))
        return false;
    if (help) {
        g_autofree char *text = ls_terminal_format_help(context);

        fputs(text, stdout);
        exit(LS_EXIT_DONE);
    }
    return true;
}

bool
ls_options_parse(const char *summary, const GOptionEntry *entries, int argc, char **argv,
                 GError **error)
{
    g_autoptr(GOptionContext) context = g_option_context_new(summary);

    return ls_options_parse_context(context, entries, argc, argv, error);
}

bool
ls_options_need_run(const char *command, char *const *paths, GError **error)
{
    if (paths != NULL)
        return true;
    g_set_error(error, LS_ERROR, LS_ERROR_USAGE,
                "A run is missing: name a folder or files (lockstep %s --help).", command);
    return false;
}

bool
ls_options_check_format(const char *format, GError **error)
{
    if (format == NULL || ls_report_find_writer(format) != NULL)
        return true;
    g_set_error(error, LS_ERROR, LS_ERROR_USAGE,
                "There is no format '%s'; there are text, json and csv.", format);
    return false;
}

static bool
set_write_error(const char *path, GError **error)
{
    g_set_error(error, LS_ERROR, LS_ERROR_WRITE, "%s cannot be written: %s.",
                path != NULL ? path : "Standard output", g_strerror(errno));
    return false;
}

FILE *
ls_options_open_output(const char *path, GError **error)
{
    FILE *out = path != NULL ? fopen(path, "we") : stdout;

    if (out == NULL)
        set_write_error(path, error);
    return out;
}

bool
ls_options_close_output(FILE *out, const char *path, GError **error)
{
    bool failed = ferror(out) != 0;

    if (path != NULL)
        failed |= fclose(out) != 0;
    else
        failed |= fflush(out) != 0;
    return !failed || set_write_error(path, error);
}

int
ls_options_fail(const char *command, const GError *error)
{
    /* Names of files are in it; the rows of a list are indented. */
    g_auto(GStrv) lines = g_strsplit(error->message, "\n  ", -1);

    fprintf(stderr, "lockstep %s: ", command);
    for (size_t i = 0; lines[i] != NULL; i++) {
        g_autofree char *line = ls_terminal_make_safe(lines[i]);

        fprintf(stderr, "%s%s", i > 0 ? "  " : "", line);
        if (lines[i + 1] == NULL && error->domain == G_OPTION_ERROR)
            fprintf(stderr, "; lockstep %s --help tells the options.", command);
        fputc('\n', stderr);
    }
    if (error->domain == G_OPTION_ERROR || g_error_matches(error, LS_ERROR, LS_ERROR_USAGE))
        return LS_EXIT_USAGE;
    return LS_EXIT_UNREADABLE;
}
