/* SPDX-License-Identifier: Apache-2.0
 * tracer/record-sync-private.h: what the thread that compares clocks consists of. */
#pragma once

#include <pthread.h>

#include "capture/settings.h"
#include "tracer/record-sync-talk.h"
#include "tracer/record-sync.h"

#define LS_SYNC_NOT_OURS 9    /* variables of the command that our own recorder must not see */
#define LS_SYNC_LOOK_MS  5000 /* how often is tried what did not work */

struct LsRecordSync {
    LsSyncSelf self;
    char folder[LS_AREA_PATH_MAX];    /* RUN/.clocks */
    char place[LS_AREA_NAME_MAX + 8]; /* HOST:PORT of the hub, "": by the folder */
    char key_path[LS_AREA_PATH_MAX];
    bool is_shared;   /* the folder, never its key */
    bool is_expected; /* the user or the launcher says that there is another host */
    int stop_fds[2], done_fds[2];
    pthread_t thread;
    pthread_mutex_t lock; /* what follows, which the main thread looks at in the end */
    bool has_recorder, has_ended;
    bool has_met;
    uint64_t doubted;
    char why[LS_SETTING_TEXT_MAX]; /* the latest reason for having met nobody */
    uint32_t boot_name;            /* of last_boot */
    char last_boot[LS_BOOT_ID_MAX];
    char *kept_values[LS_SYNC_NOT_OURS]; /* NULL: not set */
};

/* The latest reason for having met nobody; printf-like. */
void ls_sync_note(LsRecordSync *sync, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* record-sync-role.c: the one wrapper of its host that takes part, until stop_fd is readable. -1:
 * another one is it. */
int ls_sync_hold_host(const LsRecordSync *sync);
void ls_sync_run_by_folder(LsRecordSync *sync);
void ls_sync_run_by_place(LsRecordSync *sync);

/* record-sync-others.c: what launchers say of other hosts. */
typedef enum LsSyncOthers { LS_SYNC_NO_OTHERS, LS_SYNC_PERHAPS, LS_SYNC_OTHERS } LsSyncOthers;
LsSyncOthers ls_sync_find_others(const LsIdentity *identity);
/* HOST:PORT of the hub into ret_place, "": it is found by the folder. */
void ls_sync_choose_place(const LsRecordOptions *options, const LsIdentity *identity,
                          char *ret_place, size_t size);
