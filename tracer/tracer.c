/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts what the settings ask for, once in a process, whichever door is opened first; ends it in
 * an exit handler, since destructors of libraries run when the CUDA driver is down already.
 */
#include "tracer/tracer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "capture/compat.h"
#include "capture/recorder.h"
#include "tracer/cupti.h"
#include "tracer/sampler.h"

LS_BIND_OLD(pthread_create);
LS_BIND_OLD(pthread_detach);

static struct {
    pthread_mutex_t lock;
    int pid; /* whose state this is: 0 or another's is a forked child's */
    bool is_on;
    _Atomic bool has_ended;
    LsTracerSettings settings;
} tracer = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool
ls_tracer_start(void)
{
    int error = errno;
    pthread_mutex_lock(&tracer.lock);
    if (tracer.pid != getpid()) {
        const char *bad;
        tracer.pid = getpid();
        ls_tracer_settings_load(&tracer.settings, &bad);
        tracer.is_on = ls_recorder_open(NULL) == LS_OK;
        if (tracer.is_on && bad != NULL)
            ls_tracer_note(1, "the value of %s makes no sense; its default is used", bad);
        atomic_store(&tracer.has_ended, false);
    }
    bool is_on = tracer.is_on;
    pthread_mutex_unlock(&tracer.lock);
    errno = error;
    return is_on;
}

const LsTracerSettings *
ls_tracer_settings(void)
{
    return &tracer.settings;
}

bool
ls_tracer_is_ours(void)
{
    return tracer.is_on && tracer.pid == getpid();
}

static void
end(void)
{
    if (!ls_tracer_is_ours() || atomic_exchange(&tracer.has_ended, true))
        return;
    int error = errno;
    ls_sampler_stop();
    ls_cupti_stop();
    errno = error;
}

/* Of a forked child: a thread that held the lock is not there. */
static void
forget_lock(void)
{
    tracer.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

__attribute__((constructor)) static void
prepare(void)
{
    pthread_atfork(NULL, NULL, forget_lock);
}

void
ls_tracer_register_end(void)
{
    atexit(end);
}

bool
ls_tracer_start_thread(void *(*run)(void *))
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    int status = pthread_create(&thread, NULL, run, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (status == 0)
        pthread_detach(thread);
    return status == 0;
}

void
ls_tracer_note(int severity, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ls_recorder_notice(severity, text);
}

void
ls_tracer_fact(const char *key, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ls_recorder_set_info(key, text);
}
