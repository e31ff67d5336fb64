/* SPDX-License-Identifier: Apache-2.0
 *
 * A process whose main thread has left by pthread_exit() ends with its last thread, which runs its
 * exit handlers: what the program has printed is flushed there. That thread must not be the drain,
 * whose table of descriptors is not the program's (drain.c). So when main leaves, a thread is made
 * that shares the program's: it waits until only threads of ours are left, closes the recorder, and
 * ends last.
 */
#include "capture/keeper.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/compat.h"
#include "capture/futex.h"
#include "capture/process.h"
#include "capture/recorder-private.h"
#include "capture/visit.h"

LS_BIND_OLD(pthread_create);
LS_BIND_OLD(pthread_detach);

#define LOOK_NS      INT64_C(100000000)
#define PAUSE_NS     5000000
#define OTHERS_TRIES 500 /* pauses for what CUPTI still has to tell */
#define OURS_LAST    2   /* this one and the drain */

/* While a recorder is open its drain looks, and says so. */
static bool
is_needed(void)
{
    if (!ls_recorder_is_open() && ls_process_is_abandoned(atomic_load(&ls_recorder.threads)))
        atomic_store(&ls_recorder.is_abandoned, 1);
    return atomic_load(&ls_recorder.is_abandoned) != 0;
}

static void *
keep(void *user)
{
    ls_recorder_count_thread(1);
    prctl(PR_SET_NAME, "lockstep keeper");
    while (!is_needed())
        ls_futex_wait(&ls_recorder.is_abandoned, 0, LOOK_NS);
    for (int i = 0; i < OTHERS_TRIES && atomic_load(&ls_recorder.threads) > OURS_LAST; i++)
        nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
    ls_recorder_close_at_exit();
    ls_recorder_count_thread(-1);
    sigprocmask(SIG_SETMASK, &ls_recorder.keeper_mask, NULL);
    return NULL;
}

void
ls_keeper_look(void)
{
    sigset_t all;
    pthread_t thread;
    if (!ls_recorder_is_open() || ls_recorder.pid != getpid() ||
        atomic_load(&ls_recorder.has_keeper) ||
        ((pid_t)syscall(SYS_gettid) != getpid() && !ls_process_has_left_main()))
        return;
    if (atomic_exchange(&ls_recorder.has_keeper, true))
        return;
    LsVisit visit = ls_visit_begin();
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &ls_recorder.keeper_mask);
    if (pthread_create(&thread, NULL, keep, NULL) == 0)
        pthread_detach(thread);
    sigprocmask(SIG_SETMASK, &ls_recorder.keeper_mask, NULL);
    ls_visit_end(visit);
}
