/* SPDX-License-Identifier: Apache-2.0
 *
 * The ask is a file in the run folder, which the ranks' drain threads look for; so it reaches every
 * host that the folder does. The first rank that sees it answers with the step at whose end all of
 * them stop (capture/freeze.h).
 */
#include "tracer/record-flight.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "capture/freeze.h"

#define WAIT_TRIES        100 /* of 100 ms */
#define STATUS_NO_ANSWER  1
#define STATUS_UNREADABLE 3

static bool
is_run(const char *folder)
{
    char path[1100];
    snprintf(path, sizeof path, "%.1000s/run.json", folder);
    return access(path, F_OK) == 0;
}

static void
say_answer(const char *folder, int64_t step)
{
    if (step < 0)
        fprintf(stderr, "lockstep: the flight recorders of %s are frozen\n", folder);
    else
        fprintf(stderr, "lockstep: the flight recorders of %s stop at the end of step %lld\n",
                folder, (long long)step);
}

int
ls_record_dump(const char *folder)
{
    int64_t step;
    if (!is_run(folder)) {
        fprintf(stderr, "lockstep record: --dump %s: no run is there\n", folder);
        return STATUS_UNREADABLE;
    }
    if (ls_freeze_ask(folder) != LS_OK) {
        fprintf(stderr, "lockstep record: --dump %s: cannot write there (%s)\n", folder,
                strerror(errno));
        return STATUS_UNREADABLE;
    }
    for (int i = 0; i < WAIT_TRIES; i++) {
        if (ls_freeze_read(folder, &step)) {
            say_answer(folder, step);
            return 0;
        }
        nanosleep(&(struct timespec){0, 100000000}, NULL);
    }
    fprintf(stderr,
            "lockstep record: --dump %s: no rank has answered in 10 s; none records there with "
            "--flight-recorder, or all have ended\n",
            folder);
    return STATUS_NO_ANSWER;
}
