/* SPDX-License-Identifier: Apache-2.0
 *
 * The command must not notice us. It keeps our process group, so that the terminal and launchers
 * reach it as before; it gets the signal mask and dispositions that we got; it dies when we are
 * killed, as it would have been. Standard input and output are not kept open here, or a reader of
 * its output would not see that it has closed it.
 *
 * A signal sent to us alone is passed on; one sent to the whole group (by mpirun, Slurm, a
 * terminal) has reached the command already. The two look alike from here: so a second process, the
 * witness, waits in the same group. What it has seen too is not passed on.
 */
#include "tracer/record-child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/compat.h"

#define WITNESS_MS      20
#define SEEN_FD         3
#define DESCRIPTORS_MAX 65536

typedef struct Child {
    sigset_t before, watched;
    struct sigaction child_action; /* of SIGCHLD, as we got it */
    pid_t pid, witness;
    int seen; /* what the witness has seen, one byte a signal; -1: no witness */
    int status;
} Child;

/* All but what cannot be blocked, what the fault of a process itself raises, and what stops a
 * process for its own use of the terminal, or continues it. */
static void
choose_signals(sigset_t *ret_set)
{
    static const int others[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGTRAP, SIGABRT, SIGSYS,
                                 SIGPIPE, SIGTTIN, SIGTTOU, SIGCONT, SIGKILL, SIGSTOP};
    sigfillset(ret_set);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        sigdelset(ret_set, others[i]);
}

/* What we inherited is the command's; open here too, it would keep the other ends from seeing that
 * the command has closed it. */
static void
close_from(int first)
{
    struct rlimit limit;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)first, ~0u, 0) == 0)
        return;
#endif
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > DESCRIPTORS_MAX)
        limit.rlim_cur = DESCRIPTORS_MAX;
    for (int fd = first; fd < (int)limit.rlim_cur; fd++)
        close(fd);
}

static void
witness(const Child *child, pid_t parent, int out)
{
    sigset_t all = child->watched;
    sigdelset(&all, SIGCHLD);
    dup2(out, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    close_from(3);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent) {
        siginfo_t info;
        int number = sigwaitinfo(&all, &info);
        unsigned char byte = (unsigned char)number;
        if (number > 0 && write(STDOUT_FILENO, &byte, 1) != 1)
            break;
    }
    _exit(0);
}

static void
start_witness(Child *child)
{
    int ends[2];
    pid_t self = getpid();
    child->seen = -1;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return;
    child->witness = fork();
    if (child->witness == 0)
        witness(child, self, ends[1]);
    close(ends[1]);
    if (child->witness > 0)
        child->seen = ends[0];
    else
        close(ends[0]);
}

static void
end_witness(Child *child)
{
    if (child->seen < 0)
        return;
    kill(child->witness, SIGKILL);
    while (waitpid(child->witness, NULL, 0) < 0 && errno == EINTR)
        continue;
    close(child->seen);
}

static void
execute(const Child *child, pid_t parent, char **command, const char *preload, int failed)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    if (preload == NULL || setenv("LD_PRELOAD", preload, 1) == 0) {
        sigaction(SIGCHLD, &child->child_action, NULL);
        sigprocmask(SIG_SETMASK, &child->before, NULL);
        execvp(command[0], command);
    }
    int error = errno;
    if (write(failed, &error, sizeof error) != (ssize_t)sizeof error)
        _exit(126);
    _exit(127);
}

/* 0, or the errno of what failed. */
static int
start(Child *child, char **command, const char *preload)
{
    int ends[2], error = 0;
    pid_t self = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    child->pid = fork();
    if (child->pid == 0)
        execute(child, self, command, preload, ends[1]);
    if (child->pid < 0)
        error = errno;
    close(ends[1]);
    if (child->pid > 0 && read(ends[0], &error, sizeof error) != (ssize_t)sizeof error)
        error = 0;
    close(ends[0]);
    if (child->pid > 0 && error != 0)
        waitpid(child->pid, NULL, 0);
    return error;
}

static void
let_go(Child *child, bool keeps_errors)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < (keeps_errors ? 2 : 3) && nothing >= 0; fd++)
        dup2(nothing, fd);
    if (child->seen >= 0 && child->seen != SEEN_FD && dup2(child->seen, SEEN_FD) >= 0)
        child->seen = SEEN_FD;
    close_from(child->seen == SEEN_FD ? SEEN_FD + 1 : SEEN_FD);
}

static bool
has_reached_group(const Child *child, int number)
{
    struct pollfd seen = {child->seen, POLLIN, 0};
    unsigned char byte;
    while (child->seen >= 0 && poll(&seen, 1, WITNESS_MS) > 0) {
        if (read(child->seen, &byte, 1) != 1)
            return false;
        if (byte == number)
            return true;
    }
    return false;
}

static bool
has_ended(Child *child)
{
    return waitpid(child->pid, &child->status, WNOHANG) == child->pid;
}

/* The command has been told to stop: we do, too, if the kernel would have it so (in an orphaned
 * group it stops nobody). Who lets us go on means the command. */
static void
stop_along(const Child *child)
{
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGTSTP);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    sigprocmask(SIG_BLOCK, &one, NULL);
    kill(child->pid, SIGCONT);
}

int
ls_record_run(char **command, const char *preload, bool keeps_errors, void (*started)(void *),
              void *user)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    Child child = {.status = -1};
    choose_signals(&child.watched);
    sigprocmask(SIG_BLOCK, &child.watched, &child.before);
    sigaction(SIGCHLD, &standard, &child.child_action);
    start_witness(&child);
    int error = start(&child, command, preload);
    if (error != 0) {
        end_witness(&child);
        errno = error;
        return -1;
    }
    let_go(&child, keeps_errors);
    started(user);
    while (!has_ended(&child)) {
        siginfo_t info;
        int number = sigwaitinfo(&child.watched, &info);
        if (number <= 0 || number == SIGCHLD)
            continue;
        /* The kernel's own go to the whole group. */
        if (info.si_code <= 0 && !has_reached_group(&child, number))
            kill(child.pid, number);
        if (number == SIGTSTP)
            stop_along(&child);
    }
    end_witness(&child);
    return child.status;
}

void
ls_record_end_as(int status)
{
    struct rlimit none = {0, 0};
    sigset_t one;
    if (WIFEXITED(status))
        _exit(WEXITSTATUS(status));
    /* The command has left its own core. */
    setrlimit(RLIMIT_CORE, &none);
    signal(WTERMSIG(status), SIG_DFL);
    sigemptyset(&one);
    sigaddset(&one, WTERMSIG(status));
    raise(WTERMSIG(status));
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    _exit(128 + WTERMSIG(status));
}
