/* SPDX-License-Identifier: Apache-2.0
 *
 * lockstep-record: runs one command as it would run alone, with our libraries where they can be
 * reached, and drains what its processes leave. Whatever of ours does not work is left out with a
 * sentence; the command runs in any case.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/identity.h"
#include "capture/recorder.h"
#include "capture/recover.h"
#include "capture/settings.h"
#include "tracer/record-child.h"
#include "tracer/record-chunks.h"
#include "tracer/record-ends.h"
#include "tracer/record-environment.h"
#include "tracer/record-flight.h"
#include "tracer/record-folder.h"
#include "tracer/record-given.h"
#include "tracer/record-launcher.h"
#include "tracer/record-library.h"
#include "tracer/record-options.h"
#include "tracer/record-pack.h"
#include "tracer/record-sum.h"
#include "tracer/record-sync.h"
#include "tracer/record-timeline.h"

#define EXIT_USAGE 2

typedef struct Job {
    LsRecordOptions options;
    LsSettings settings;
    LsIdentity identity;
    LsRecordPlan plan;
    LsRecordGiven given;
    char folder[LS_AREA_PATH_MAX]; /* "": nothing can be recorded */
    LsRecordTimeline timeline;
    LsRecordSync *sync; /* NULL: no clocks to compare */
    uint32_t files_before;
    bool is_first; /* rank 0's wrapper, or the only one: it speaks for all */
} Job;

/* false: the command line makes no sense, and was told so. */
static bool
choose_folder(Job *job)
{
    char path[LS_AREA_PATH_MAX];
    const char *pattern = job->options.output;
    const char *named = getenv("LOCKSTEP_RUN");
    if (pattern == NULL && named != NULL && named[0] != '\0')
        snprintf(path, sizeof path, "%s", named);
    else if (!ls_record_expand(path, pattern == NULL ? "lockstep-%j" : pattern, &job->identity))
        return false;
    if (ls_record_join(job->folder, path, &job->identity, job->settings.share != 0) != LS_OK) {
        job->folder[0] = '\0';
        if (job->is_first)
            fprintf(
                stderr,
                "lockstep: cannot record into the run folder %s (%s); the command runs without\n",
                path, strerror(errno));
    }
    return true;
}

/* Files of this rank (of this host, where no rank is known). */
static bool
count_file(void *user, const char *path, const char *name)
{
    Job *job = user;
    char prefix[LS_AREA_NAME_MAX + 32], host[LS_AREA_NAME_MAX + 2];
    snprintf(prefix, sizeof prefix, "rank-%05d.", job->identity.rank);
    snprintf(host, sizeof host, ".%s.", job->identity.host);
    if (job->identity.rank >= 0 ? strncmp(name, prefix, strlen(prefix)) == 0
                                : strstr(name, host) != NULL)
        job->files_before++;
    return true;
}

static uint32_t
count_files(Job *job)
{
    job->files_before = 0;
    ls_traces_list(job->folder, count_file, job);
    return job->files_before;
}

/* No library of ours was loaded by the command: the run says so, and what was missing. */
static void
write_empty_trace(const Job *job)
{
    if (ls_recorder_open(job->folder) != LS_OK)
        return;
    ls_recorder_set_info("record.empty", "1");
    ls_recorder_notice(
        0, "the command loaded nothing that records: no mark, no reduce, no CUDA, NVTX, "
           "NCCL or MPI call was seen");
    ls_recorder_close();
}

/* The command has ended, well or not: a job that failed is not held up for our line. */
static void
finish(Job *job, uint32_t files_before, bool is_well)
{
    bool speaks = job->options.quiet == NULL;
    if (job->folder[0] == '\0')
        return;
    ls_record_sync_stop(job->sync);
    ls_record_timeline_copy(&job->timeline, job->folder, job->identity.rank);
    ls_recover_folder(job->folder, NULL);
    if (count_files(job) == files_before)
        write_empty_trace(job);
    if (speaks)
        ls_record_ends_mark(job->folder, &job->identity);
    if (speaks && job->is_first && is_well)
        ls_record_ends_wait(job->folder, &job->identity);
    if (speaks && job->is_first)
        ls_record_say_sum(job->folder, job->identity.world, job->options.flight);
}

static void
begin_sync(void *user)
{
    Job *job = user;
    if (job->folder[0] != '\0')
        job->sync = ls_record_sync_start(&job->options, &job->identity, job->folder);
}

static int
record(Job *job)
{
    uint32_t files_before = 0;
    ls_record_plan_make(&job->plan, &job->options);
    if (!choose_folder(job))
        return EXIT_USAGE;
    if (job->folder[0] != '\0') {
        ls_record_plan_apply(&job->plan, &job->identity, job->folder);
        ls_record_timeline_open(&job->timeline, &job->options, &job->identity);
        ls_record_ends_begin(job->folder, &job->identity);
        files_before = count_files(job);
        if (job->is_first && job->plan.kit[0] != '\0')
            ls_record_hint_container(job->options.command, job->plan.kit, job->folder);
        if (job->is_first && job->plan.takes_cupti)
            fprintf(stderr,
                    "lockstep: takes CUPTI; another profiler in this command sees no GPU events "
                    "(--no-cupti leaves it)\n");
    }
    bool has_folder = job->folder[0] != '\0';
    LsRecordCommand command = {
        .words = job->options.command,
        .preload = has_folder && job->plan.preload[0] != '\0' ? job->plan.preload : NULL,
        .given = &job->given,
        .may_speak = job->is_first && job->options.quiet == NULL && has_folder};
    int status = ls_record_run(&command, begin_sync, job);
    if (status == -1) {
        int error = errno;
        fprintf(stderr, "lockstep record: %s cannot be run: %s\n", job->options.command[0],
                strerror(error));
        finish(job, files_before, false);
        return error == ENOENT ? 127 : 126;
    }
    finish(job, files_before, status == 0);
    ls_record_end_as(status);
}

/* How a user calls us: `lockstep record` where lockstep lies beside us. */
static const char *
find_self(const char *word)
{
    char folder[LS_AREA_PATH_MAX], path[LS_AREA_PATH_MAX + 16];
    if (!ls_record_find_own_folder(folder))
        return word;
    snprintf(path, sizeof path, "%s/lockstep", folder);
    return access(path, X_OK) == 0 ? "lockstep record" : word;
}

static int
begin(Job *job, int argc, char **argv)
{
    const char *bad;
    if (!ls_record_options_parse(&job->options, argc, argv))
        return EXIT_USAGE;
    if (job->options.wants_help) {
        ls_record_options_print_help();
        return 0;
    }
    if (job->options.wants_version) {
        puts("lockstep-record " LOCKSTEP_VERSION);
        return 0;
    }
    if (job->options.dump != NULL)
        return ls_record_dump(job->options.dump);
    if (job->options.command[0] == NULL) {
        fputs("lockstep record: a command is missing: lockstep record -o RUN -- COMMAND\n", stderr);
        return EXIT_USAGE;
    }
    if (ls_record_refuse_launcher(find_self(argv[0]), argv, (int)(job->options.command - argv),
                                  job->options.command))
        return EXIT_USAGE;
    ls_record_given_take(&job->given);
    if (!ls_record_set_options(&job->options)) {
        fputs("lockstep record: no memory\n", stderr);
        return EXIT_USAGE;
    }
    ls_settings_load(&job->settings, &bad);
    ls_identity_load(&job->identity, &job->settings);
    job->is_first = job->identity.rank <= 0;
    return record(job);
}

int
main(int argc, char **argv)
{
    Job job = {0};
    if (argc == 2 && strcmp(argv[1], LS_RECORD_LOADS) == 0)
        return 0;
    if (argc > 1 && strcmp(argv[1], "pack") == 0)
        return ls_record_pack(argc - 1, argv + 1);
    return begin(&job, argc, argv);
}
