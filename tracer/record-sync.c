/* SPDX-License-Identifier: Apache-2.0
 *
 * One thread of the wrapper, which has no part in the command's life: what it cannot do it notes
 * for the trace, and when the command ends it is given a fraction of a second. Nothing is printed.
 */
#include "tracer/record-sync.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include "capture/compat.h"
#include "capture/recorder.h"
#include "capture/recover.h"
#include "tracer/record-sync-key.h"
#include "tracer/record-sync-private.h"

LS_BIND_OLD(pthread_create);
LS_BIND_OLD(pthread_join);
LS_BIND_OLD(pthread_detach);

#define OUR_DRAIN_MS "500" /* a few trips in two seconds need no more */
#define ALONE_MS     20    /* to end, where nobody was met */

/* What bounds the command's recording is not for ours. */
static const char *const not_ours[] = {
    "LOCKSTEP_STEPS",      "LOCKSTEP_DELAY_MS",      "LOCKSTEP_DURATION_MS",
    "LOCKSTEP_NOTES",      "LOCKSTEP_CAPTURE_RANGE", "LOCKSTEP_FLIGHT",
    "LOCKSTEP_TRIGGER_MS", "LOCKSTEP_MAX_SIZE",      "LOCKSTEP_DRAIN_MS"};
_Static_assert(sizeof not_ours / sizeof not_ours[0] == LS_SYNC_NOT_OURS, "count them");

/* -- What is kept -- */

void
ls_sync_note(LsRecordSync *sync, const char *format, ...)
{
    va_list arguments;
    pthread_mutex_lock(&sync->lock);
    va_start(arguments, format);
    vsnprintf(sync->why, sizeof sync->why, format, arguments);
    va_end(arguments);
    pthread_mutex_unlock(&sync->lock);
}

/* With the lock held. */
static bool
open_recorder(LsRecordSync *sync)
{
    if (!sync->has_recorder && !sync->has_ended && ls_recorder_open(sync->folder) == LS_OK) {
        sync->has_recorder = true;
        ls_recorder_set_info("record.clocks", "1");
    }
    return sync->has_recorder && !sync->has_ended;
}

static void
meet(void *user)
{
    LsRecordSync *sync = user;
    pthread_mutex_lock(&sync->lock);
    sync->has_met = true;
    open_recorder(sync);
    pthread_mutex_unlock(&sync->lock);
}

static void
keep(void *user, const LsSyncTrip *trip)
{
    LsRecordSync *sync = user;
    pthread_mutex_lock(&sync->lock);
    if (open_recorder(sync)) {
        if (strcmp(sync->last_boot, trip->peer_boot) != 0) {
            snprintf(sync->last_boot, sizeof sync->last_boot, "%s", trip->peer_boot);
            sync->boot_name = ls_recorder_name(trip->peer_boot);
        }
        LsRecord record = {
            .kind = LS_RECORD_ROUNDTRIP,
            .name = ls_recorder_name("clock"),
            .start_ns = trip->sent_ns,
            .end_ns = trip->received_ns,
            .args = {-1, trip->peer_received_ns, trip->peer_sent_ns, 0, sync->boot_name}};
        ls_recorder_write(&record);
    }
    pthread_mutex_unlock(&sync->lock);
}

/* -- The thread -- */

static void *
run(void *user)
{
    LsRecordSync *sync = user;
    char why[512];
    int host_fd = -1;
    if (mkdir(sync->folder, sync->is_shared ? 0777 : 0700) != 0 && errno != EEXIST)
        ls_sync_note(sync, "%s cannot be made (%s)", sync->folder, strerror(errno));
    else if (ls_sync_key_load(sync->self.key, sync->key_path, why, sizeof why) != LS_OK)
        ls_sync_note(sync, "%s", why);
    else
        while ((host_fd = ls_sync_hold_host(sync)) < 0 &&
               !ls_sync_wait(&sync->self, LS_SYNC_LOOK_MS))
            continue;
    if (host_fd >= 0 && sync->place[0] != '\0')
        ls_sync_run_by_place(sync);
    else if (host_fd >= 0)
        ls_sync_run_by_folder(sync);
    if (host_fd >= 0)
        close(host_fd);
    close(sync->done_fds[1]);
    return NULL;
}

/* -- Start and end -- */

static void
give_back(LsRecordSync *sync)
{
    for (size_t i = 0; i < LS_SYNC_NOT_OURS; i++) {
        if (sync->kept_values[i] != NULL)
            setenv(not_ours[i], sync->kept_values[i], 1);
        else
            unsetenv(not_ours[i]);
    }
}

static void
free_sync(LsRecordSync *sync)
{
    const int fds[] = {sync->stop_fds[0], sync->stop_fds[1], sync->done_fds[0]};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
    for (size_t i = 0; i < LS_SYNC_NOT_OURS; i++)
        free(sync->kept_values[i]);
    pthread_mutex_destroy(&sync->lock);
    free(sync);
}

static LsRecordSync *
make_sync(const LsRecordOptions *options, const LsIdentity *identity, const char *folder)
{
    LsRecordSync *sync = calloc(1, sizeof *sync);
    const char *twin = getenv("LOCKSTEP_TEST_BOOT_ID");
    if (sync == NULL)
        return NULL;
    sync->stop_fds[0] = sync->stop_fds[1] = sync->done_fds[0] = -1;
    pthread_mutex_init(&sync->lock, NULL);
    sync->is_shared = options->share != NULL;
    sync->is_expected = options->sync != NULL || ls_sync_find_others(identity) == LS_SYNC_OTHERS;
    ls_sync_choose_place(options, identity, sync->place, sizeof sync->place);
    snprintf(sync->folder, sizeof sync->folder, "%s/" LS_SYNC_FOLDER, folder);
    if (options->sync_key != NULL)
        snprintf(sync->key_path, sizeof sync->key_path, "%s", options->sync_key);
    else
        snprintf(sync->key_path, sizeof sync->key_path, "%.1000s/key", sync->folder);
    sync->self.is_public = options->sync_public != NULL;
    sync->self.kept = keep;
    sync->self.met = meet;
    sync->self.user = sync;
    if (twin != NULL && twin[0] != '\0')
        snprintf(sync->self.boot, sizeof sync->self.boot, "%s", twin);
    else
        ls_clock_boot_id(sync->self.boot);
    return sync;
}

LsRecordSync *
ls_record_sync_start(const LsRecordOptions *options, const LsIdentity *identity, const char *folder)
{
    if (options->no_sync != NULL ||
        (options->sync == NULL && ls_sync_find_others(identity) == LS_SYNC_NO_OTHERS))
        return NULL;
    LsRecordSync *sync = make_sync(options, identity, folder);
    if (sync == NULL)
        return NULL;
    if (sync->self.boot[0] == '\0' || pipe2(sync->stop_fds, O_CLOEXEC) != 0)
        goto err_free;
    if (pipe2(sync->done_fds, O_CLOEXEC) != 0)
        goto err_free;
    sync->self.stop_fd = sync->stop_fds[0];
    for (size_t i = 0; i < LS_SYNC_NOT_OURS; i++) {
        const char *value = getenv(not_ours[i]);
        sync->kept_values[i] = value == NULL ? NULL : strdup(value);
        unsetenv(not_ours[i]);
    }
    setenv("LOCKSTEP_DRAIN_MS", OUR_DRAIN_MS, 1);
    if (pthread_create(&sync->thread, NULL, run, sync) == 0)
        return sync;
    give_back(sync);
    close(sync->done_fds[1]);

err_free:
    free_sync(sync);
    return NULL;
}

/* What the run ought to know beside the trips. With the lock held. */
static void
tell(LsRecordSync *sync)
{
    char text[LS_SETTING_TEXT_MAX + 128];
    bool is_alone = sync->is_expected && !sync->has_met && sync->why[0] != '\0';
    if ((is_alone || sync->doubted > 0) && open_recorder(sync)) {
        if (is_alone) {
            snprintf(text, sizeof text, "clocks between hosts were not measured: %s", sync->why);
            ls_recorder_notice(0, text);
        }
        if (sync->doubted > 0) {
            snprintf(text, sizeof text,
                     "%llu connections to the clock's port were turned away: no wrapper of this "
                     "run, or without its key",
                     (unsigned long long)sync->doubted);
            ls_recorder_notice(0, text);
        }
    }
}

void
ls_record_sync_stop(LsRecordSync *sync)
{
    if (sync == NULL)
        return;
    struct pollfd done = {sync->done_fds[0], POLLIN, 0};
    char folder[LS_AREA_PATH_MAX];
    pthread_mutex_lock(&sync->lock);
    int ms = sync->has_met ? LS_SYNC_STOP_MS : ALONE_MS;
    pthread_mutex_unlock(&sync->lock);
    close(sync->stop_fds[1]);
    sync->stop_fds[1] = -1;
    bool is_done = poll(&done, 1, ms) > 0;
    pthread_mutex_lock(&sync->lock);
    tell(sync);
    sync->has_ended = true;
    if (sync->has_recorder)
        ls_recorder_close();
    pthread_mutex_unlock(&sync->lock);
    give_back(sync);
    snprintf(folder, sizeof folder, "%s", sync->folder);
    if (is_done) {
        pthread_join(sync->thread, NULL);
        free_sync(sync);
    } else {
        pthread_detach(sync->thread); /* in a look-up or a connection; it dies with us */
    }
    ls_recover_folder(folder, NULL);
}
