/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that uses marks and then does what programs do: forks, runs another, is killed, closes
 * what it did not open. It prints what it did; with and without recording the same, which
 * test-victims.c compares. The last line says how many instants it made.
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
#include <sys/wait.h>
#include <unistd.h>

#include "capture/lockstep-mark.h"
#include "capture/recorder.h"

static const char *self_path;
static const char *argument;
static _Atomic int made;

static void
mark(int n)
{
    for (int i = 0; i < n; i++) {
        lockstep_instant("made");
        atomic_fetch_add(&made, 1);
    }
}

static void
say_made(void)
{
    printf("made %d\n", atomic_load(&made));
    fflush(stdout);
}

static int
do_plain(void)
{
    for (int64_t step = 0; step < 20; step++) {
        lockstep_step_begin(step);
        lockstep_phase_begin(LOCKSTEP_PHASE_FORWARD);
        mark(10);
        lockstep_phase_end(LOCKSTEP_PHASE_FORWARD, 1000);
        lockstep_counter("loss", 1.0 / (double)(step + 1));
        lockstep_step_end(32, 1000);
    }
    return 7;
}

/* The child marks and leaves by exit(): none of it may reach the parent's file. */
static int
do_fork(void)
{
    mark(50);
    for (int i = 0; i < 5; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            for (int k = 0; k < 100; k++)
                lockstep_instant("child");
            exit(i);
        }
        int status;
        waitpid(pid, &status, 0);
        printf("child left with %d\n", WEXITSTATUS(status));
        mark(50);
    }
    return 0;
}

static int
do_vfork(void)
{
    mark(50);
    pid_t pid = vfork();
    if (pid == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    int status;
    waitpid(pid, &status, 0);
    printf("child left with %d\n", WEXITSTATUS(status));
    mark(50);
    return 0;
}

static int
do_exec(void)
{
    mark(100);
    printf("before exec\n");
    fflush(stdout);
    execl(self_path, self_path, "after-exec", (char *)NULL);
    return 1;
}

static int
do_after_exec(void)
{
    mark(50);
    /* What the image before had made counts as well. */
    atomic_fetch_add(&made, 100);
    return 3;
}

static void *
outlive(void *user)
{
    usleep(150000);
    mark(100);
    printf("made %d\n", atomic_load(&made)); /* flushed by the last thread, as the process ends */
    return user;
}

static int
do_main_leaves(void)
{
    pthread_t thread;
    mark(10);
    pthread_create(&thread, NULL, outlive, NULL);
    pthread_exit(NULL);
}

static void *
leave_from_thread(void *user)
{
    mark(100);
    say_made();
    exit(5);
    return user;
}

static int
do_exit_in_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, leave_from_thread, NULL);
    pthread_join(thread, NULL);
    return 0;
}

static int
do_quick_exit(void)
{
    mark(300);
    say_made();
    _exit(4);
}

static int
die_by(int signal_number)
{
    mark(300);
    say_made();
    raise(signal_number);
    return 0;
}

static int
do_abort(void)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    mark(300);
    say_made();
    abort();
}

static int
do_sigterm(void)
{
    return die_by(SIGTERM);
}

static int
do_sigkill(void)
{
    return die_by(SIGKILL);
}

/* With 0, 1 and 2 closed, what the program opens takes their place; ours must not. */
static int
do_closed_output(void)
{
    int out = dup(STDOUT_FILENO);
    for (int fd = 0; fd < 3; fd++)
        close(fd);
    mark(100);
    int first = open("/dev/null", O_RDWR);
    mark(100);
    dup2(out, STDOUT_FILENO);
    printf("first descriptor %d\n", first);
    return 0;
}

/* A daemon closes all it did not open, and its own files take the numbers. */
static int
do_close_all(void)
{
    char path[] = "/tmp/lockstep-victim-XXXXXX", text[64] = "";
    mark(100);
    usleep(60000);
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    int file = mkstemp(path);
    unlink(path);
    for (int fd = 3; fd < 400; fd++) {
        if (fd != file)
            dup2(file, fd);
    }
    mark(100);
    usleep(60000);
    mark(100);
    printf("own file holds %d bytes\n", (int)pread(file, text, sizeof text, 0));
    return 0;
}

static int
do_chdir(void)
{
    mark(10);
    if (chdir("/") != 0)
        return 1;
    mark(10);
    usleep(40000);
    mark(10);
    return 0;
}

static int
do_file_limit(void)
{
    struct rlimit limit = {8192, 8192};
    if (argument != NULL)
        setrlimit(RLIMIT_FSIZE, &limit);
    mark(100);
    ls_recorder_flush(); /* a busy machine would write too much at once for there to be room */
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 20; i++) {
        mark(400);
        usleep(5000);
    }
    return 0;
}

/* Enough for a small disk, however seldom the drain thread of a busy machine runs: the ring never
 * fills. */
static int
do_much(void)
{
    for (int i = 0; i < 400; i++) {
        mark(500);
        usleep(300);
        ls_recorder_flush();
    }
    return 0;
}

/* Until it is killed: one number after another, so that any that is missing or torn shows. */
static int
do_count(void)
{
    for (int64_t i = 0;; i++) {
        lockstep_counter("count", (double)i);
        if (i % 64 == 0)
            usleep(200);
    }
    return 0;
}

static void *
mark_and_end(void *user)
{
    mark(3);
    return user;
}

static pthread_barrier_t all_there;

static void *
mark_together(void *user)
{
    mark(1);
    pthread_barrier_wait(&all_there);
    mark(2);
    return user;
}

static int
do_threads(void)
{
    enum { TOGETHER = 2000, ONE_BY_ONE = 8000 };
    static pthread_t threads[TOGETHER];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_barrier_init(&all_there, NULL, TOGETHER);
    for (int i = 0; i < TOGETHER; i++) {
        if (pthread_create(&threads[i], &small, mark_together, NULL) != 0)
            return 77;
    }
    for (int i = 0; i < TOGETHER; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < ONE_BY_ONE; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &small, mark_and_end, NULL) != 0)
            return 77;
        pthread_join(thread, NULL);
    }
    return 0;
}

static const struct {
    const char *name;
    int (*run)(void);
} deeds[] = {
    {"plain", do_plain},
    {"fork", do_fork},
    {"vfork", do_vfork},
    {"exec", do_exec},
    {"after-exec", do_after_exec},
    {"main-leaves", do_main_leaves},
    {"exit-in-thread", do_exit_in_thread},
    {"quick-exit", do_quick_exit},
    {"abort", do_abort},
    {"sigterm", do_sigterm},
    {"sigkill", do_sigkill},
    {"closed-output", do_closed_output},
    {"close-all", do_close_all},
    {"chdir", do_chdir},
    {"file-limit", do_file_limit},
    {"much", do_much},
    {"count", do_count},
    {"threads", do_threads},
};

int
main(int argc, char **argv)
{
    self_path = argv[0];
    argument = argc > 2 ? argv[2] : NULL;
    for (size_t i = 0; i < sizeof deeds / sizeof deeds[0] && argc > 1; i++) {
        if (strcmp(argv[1], deeds[i].name) != 0)
            continue;
        int status = deeds[i].run();
        say_made();
        return status;
    }
    return 2;
}
