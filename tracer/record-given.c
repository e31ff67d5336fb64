/* SPDX-License-Identifier: Apache-2.0
 *
 * Signal mask, the way SIGCHLD is taken, and timers: `alarm`, then `exec`, is how scripts bound a
 * program's time, and fork hands no timer on. Nothing else of ours is the command's: what else this
 * process changes it changes when the command runs.
 */
#include "tracer/record-given.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char **
copy_environment(void)
{
    size_t n = 0;
    while (environ != NULL && environ[n] != NULL)
        n++;
    char **copy = calloc(n + 1, sizeof *copy);
    if (copy != NULL && n > 0)
        memcpy(copy, environ, n * sizeof *copy);
    return copy;
}

void
ls_record_given_take(LsRecordGiven *ret_given)
{
    static const int of_writing[] = {SIGPIPE, SIGXFSZ, SIGTTOU};
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    const struct itimerval none = {0};
    sigset_t blocked;
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof of_writing / sizeof of_writing[0]; i++)
        sigaddset(&blocked, of_writing[i]);
    sigprocmask(SIG_BLOCK, &blocked, &ret_given->mask);
    sigaction(SIGCHLD, &standard, &ret_given->child_action);
    for (int i = 0; i < LS_RECORD_TIMERS; i++)
        setitimer((__itimer_which_t)i, &none, &ret_given->timers[i]);
    ret_given->environment = copy_environment();
}

void
ls_record_given_restore(const LsRecordGiven *given)
{
    for (int i = 0; i < LS_RECORD_TIMERS; i++)
        setitimer((__itimer_which_t)i, &given->timers[i], NULL);
    sigaction(SIGCHLD, &given->child_action, NULL);
    sigprocmask(SIG_SETMASK, &given->mask, NULL);
}
