/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that marks where little is allowed: threads that are cancelled, or have next to no
 * stack; signal handlers; an address space, descriptors or files that are bounded; a standard error
 * that nobody reads. What it prints and how it ends is the same with and without recording
 * (alike.py).
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "capture/lockstep-mark.h"

#define MEGABYTE (1L << 20)

static void
bound(__rlimit_resource_t what, long bytes)
{
    struct rlimit limit = {(rlim_t)bytes, (rlim_t)bytes};
    setrlimit(what, &limit);
}

static void *
mark(void *user)
{
    for (int i = 0; i < 10; i++)
        lockstep_instant("made");
    return user;
}

/* 0: the thread was there. */
static int
mark_in_thread(const pthread_attr_t *attributes)
{
    pthread_t thread;
    int error = pthread_create(&thread, attributes, mark, NULL);
    return error != 0 ? error : pthread_join(thread, NULL);
}

/* Each has a ring and names to ask for, and may be gone at any time. */
static void *
mark_until_cancelled(void *user)
{
    static _Atomic int number;
    for (;;) {
        char text[32];
        snprintf(text, sizeof text, "name %d", number++);
        lockstep_instant(text);
        pthread_testcancel();
    }
    return user;
}

static int
do_cancelled(void)
{
    for (int i = 0; i < 500; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, mark_until_cancelled, NULL) != 0)
            return 77;
        usleep(i % 7 * 40);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
    }
    return mark_in_thread(NULL);
}

static int
do_little_stack(void)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    return pthread_attr_setstacksize(&attributes, 16384) != 0 ? 77 : mark_in_thread(&attributes);
}

static int
do_address_space(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0, megabytes = 0;
    if (file == NULL || fscanf(file, "%ld", &pages) != 1)
        return 77;
    fclose(file);
    bound(RLIMIT_AS, pages * sysconf(_SC_PAGESIZE) + 300 * MEGABYTE);
    mark(NULL);
    usleep(60000);
    while (malloc((size_t)MEGABYTE) != NULL)
        megabytes++;
    printf("of 300 MB there %s 200\n", megabytes >= 200 ? "are" : "are not");
    return 0;
}

/* Its descriptors are used up: the recorder cannot open, and says so, to nobody. */
static int
say_to(int errors)
{
    dup2(errors, STDERR_FILENO);
    bound(RLIMIT_NOFILE, 3);
    return mark_in_thread(NULL);
}

static int
do_errors_nobody_reads(void)
{
    int ends[2];
    if (pipe(ends) != 0)
        return 77;
    close(ends[0]);
    return say_to(ends[1]);
}

/* A pipe that is full, whose reader does not read. */
static int
do_errors_full(void)
{
    int ends[2];
    if (pipe(ends) != 0)
        return 77;
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    while (write(ends[1], "x", 1) == 1)
        continue;
    fcntl(ends[1], F_SETFL, 0);
    return say_to(ends[1]);
}

static int
do_errors_beyond_limit(void)
{
    char path[] = "errors-XXXXXX";
    int file = mkstemp(path);
    unlink(path);
    bound(RLIMIT_FSIZE, 0);
    return file < 0 ? 77 : say_to(file);
}

static int
do_no_descriptors(void)
{
    return say_to(STDERR_FILENO);
}

/* Recorded from the start; then it may do nothing more with files. */
static int
do_no_descriptors_later(void)
{
    mark(NULL);
    usleep(60000);
    return say_to(STDERR_FILENO);
}

static int
do_other_root(void)
{
    mark(NULL);
    usleep(60000);
    if (chroot(".") != 0 || chdir("/") != 0)
        return 77;
    return mark_in_thread(NULL);
}

static void *
outlive(void *user)
{
    usleep(100000);
    printf("the last thread\n"); /* flushed as the process ends */
    return user;
}

/* With the tracer's own threads, which must not outlive the program's. */
static int
do_main_leaves_traced(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *tracer = path != NULL ? dlopen(path, RTLD_NOW) : NULL;
    int (*come_in)(void) = NULL;
    pthread_t thread;
    if (tracer != NULL)
        *(void **)&come_in = dlsym(tracer, "InitializeInjection");
    if (come_in != NULL)
        come_in();
    if (pthread_create(&thread, NULL, outlive, NULL) != 0)
        return 77;
    pthread_exit(NULL);
}

#define SIGNALS 300

static _Atomic int handled;
static pthread_t interrupted;

/* Wherever the thread is; the last one ends the program there. */
static void
mark_in_handler(int number)
{
    lockstep_step_begin(1000 + handled);
    mark(NULL);
    lockstep_step_end(1, 1);
    if (++handled == SIGNALS)
        exit(5);
}

static void *
interrupt(void *user)
{
    for (int i = 0; i < SIGNALS; i++) {
        pthread_kill(interrupted, SIGUSR1);
        while (handled == i)
            usleep(10);
    }
    return user;
}

static int
do_handlers(void)
{
    pthread_t thread;
    interrupted = pthread_self();
    signal(SIGUSR1, mark_in_handler);
    if (pthread_create(&thread, NULL, interrupt, NULL) != 0)
        return 77;
    for (int64_t step = 0;; step++) {
        char name[32];
        snprintf(name, sizeof name, "name %d", (int)(step % 1000));
        lockstep_step_begin(step);
        lockstep_instant(name);
        lockstep_step_end(1, 1);
    }
}

static const struct {
    const char *name;
    int (*run)(void);
} deeds[] = {
    {"cancelled", do_cancelled},
    {"little-stack", do_little_stack},
    {"address-space", do_address_space},
    {"errors-nobody-reads", do_errors_nobody_reads},
    {"errors-full", do_errors_full},
    {"errors-beyond-limit", do_errors_beyond_limit},
    {"no-descriptors", do_no_descriptors},
    {"no-descriptors-later", do_no_descriptors_later},
    {"other-root", do_other_root},
    {"main-leaves-traced", do_main_leaves_traced},
    {"handlers", do_handlers},
};

int
main(int argc, char **argv)
{
    alarm(300); /* who waits for ever has failed */
    for (size_t i = 0; i < sizeof deeds / sizeof deeds[0] && argc > 1; i++) {
        if (strcmp(argv[1], deeds[i].name) != 0)
            continue;
        int status = deeds[i].run();
        printf("%s: %d\n", argv[1], status);
        return status;
    }
    return 2;
}
