/* SPDX-License-Identifier: Apache-2.0
 *
 * The command must not notice us. It keeps our process group, so that the terminal and launchers
 * reach it as before; it gets what we were given (record-given.h); it dies when we are killed, as
 * it would have been; when it stops, so do we. Standard input and output are not kept open here, or
 * a reader of its output would not see that it has closed it.
 *
 * A signal sent to us alone is passed on; one sent to the whole group (by mpirun, Slurm, a
 * terminal) has reached the command already. The two look alike from here: so a second process, the
 * witness, waits in the same group. What it has seen too is not passed on.
 *
 * Where there is no process or descriptor for that, this process becomes the command.
 */
#include "tracer/record-child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/compat.h"

#define WITNESS_MS      20
#define WITNESS_TRIES   250
#define STOP_SURE_NS    20000000
#define SEEN_FD         3
#define DESCRIPTORS_MAX 65536

typedef struct Child {
    const LsRecordCommand *command;
    sigset_t watched;
    pid_t pid, witness; /* pid 0: none yet */
    int seen;           /* what the witness has seen, one byte a signal; -1: no witness */
    int status;
} Child;

/* All but what cannot be blocked, what a process itself raises by its fault or by writing, and what
 * stops it for its own use of the terminal. */
static void
choose_signals(sigset_t *ret_set)
{
    static const int others[] = {SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,  SIGTRAP, SIGABRT, SIGSYS,
                                 SIGPIPE, SIGXFSZ, SIGTTIN, SIGTTOU, SIGKILL, SIGSTOP};
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
    /* Where it may not be killed it ends with us. */
    bool is_killed = kill(child->witness, SIGKILL) == 0;
    while (is_killed && waitpid(child->witness, NULL, 0) < 0 && errno == EINTR)
        continue;
    close(child->seen);
    child->seen = -1;
}

/* Does not return where the command can be executed. */
static void
become(const LsRecordCommand *command)
{
    if (command->preload != NULL && setenv("LD_PRELOAD", command->preload, 1) != 0)
        return;
    ls_record_given_restore(command->given);
    execvp(command->words[0], command->words);
}

static void
execute(const LsRecordCommand *command, pid_t parent, int failed)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    become(command);
    int error = errno;
    if (write(failed, &error, sizeof error) != (ssize_t)sizeof error)
        _exit(126);
    _exit(127);
}

/* 0, or the errno of what failed. */
static int
start(Child *child)
{
    int ends[2], error = 0;
    pid_t self = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    pid_t pid = fork();
    if (pid == 0)
        execute(child->command, self, ends[1]);
    if (pid < 0)
        error = errno;
    else
        child->pid = pid;
    close(ends[1]);
    if (pid > 0 && read(ends[0], &error, sizeof error) != (ssize_t)sizeof error)
        error = 0;
    close(ends[0]);
    if (pid > 0 && error != 0)
        waitpid(pid, NULL, 0);
    return error;
}

static void
say(const LsRecordCommand *command, const char *what, int error)
{
    if (command->may_speak)
        fprintf(stderr, "lockstep: %s (%s)\n", what, strerror(error));
}

/* The command runs in any case: without our variables where they leave no room for its arguments,
 * and in our place where there is no second process to be had. */
static int
start_somehow(Child *child, LsRecordCommand *command)
{
    char **ours = environ;
    int error = start(child);
    if (error == E2BIG && command->given->environment != NULL) {
        environ = command->given->environment;
        command->preload = NULL;
        error = start(child);
        environ = ours;
        if (error == 0)
            say(command,
                "our variables and its arguments are too long together; nothing of the "
                "command is recorded",
                E2BIG);
    }
    if (error != 0 && child->pid == 0) {
        end_witness(child);
        say(command, "no process can be had to watch over the command; it runs without", error);
        become(command);
        error = errno;
    }
    return error;
}

static void
let_go(Child *child, bool keeps_errors)
{
    /* First: it may be one of those, where they were closed. */
    if (child->seen >= 0 && child->seen != SEEN_FD && dup2(child->seen, SEEN_FD) >= 0)
        child->seen = SEEN_FD;
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < (keeps_errors ? 2 : 3) && nothing >= 0; fd++)
        dup2(nothing, fd);
    close_from(child->seen == SEEN_FD ? SEEN_FD + 1 : SEEN_FD);
}

/* On a busy machine the witness may have a signal and not have come to say so: then it does not
 * sleep, or the signal is pending. Where /proc does not tell, it is believed to be at rest. */
static bool
is_witness_at_rest(const Child *child, int number)
{
    char path[32], text[4096], state = 'S';
    unsigned long long pending = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)child->witness);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[length < 0 ? 0 : length] = '\0';
    const char *at = strstr(text, "\nState:");
    if (at != NULL)
        sscanf(at, " State: %c", &state);
    at = strstr(text, "\nShdPnd:");
    if (at != NULL)
        sscanf(at, " ShdPnd: %llx", &pending);
    return state == 'S' && (pending >> (number - 1) & 1) == 0;
}

static bool
has_reached_group(const Child *child, int number)
{
    struct pollfd seen = {child->seen, POLLIN, 0};
    unsigned char byte;
    for (int i = 0; child->seen >= 0 && i < WITNESS_TRIES; i++) {
        bool is_last = i > 0 && is_witness_at_rest(child, number);
        while (poll(&seen, 1, is_last ? 0 : WITNESS_MS) > 0) {
            if (read(child->seen, &byte, 1) != 1)
                return false;
            if (byte == number)
                return true;
        }
        if (is_last)
            break;
    }
    return false;
}

static bool
has_ended(Child *child)
{
    return waitpid(child->pid, &child->status, WNOHANG) == child->pid;
}

/* By which signal it has stopped; 0: it runs. Who continues a whole group may reach us before the
 * command: so only what stays. */
static int
find_stop(const Child *child)
{
    siginfo_t info = {0};
    for (int peek = WNOWAIT; peek >= 0; peek -= WNOWAIT) {
        info.si_pid = 0;
        if (waitid(P_PID, (id_t)child->pid, &info, WSTOPPED | WNOHANG | peek) != 0 ||
            info.si_pid == 0)
            return 0;
        if (peek != 0)
            nanosleep(&(struct timespec){0, STOP_SURE_NS}, NULL);
    }
    return info.si_status;
}

/* Who waits for us must see that the command has stopped. SIGCONT, which is watched, tells that we
 * did: the kernel stops nobody for the terminal's sake in an orphaned group. */
static void
stop_along(int number)
{
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t one, pending;
    sigaction(number, &standard, NULL);
    sigemptyset(&one);
    sigaddset(&one, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    sigprocmask(SIG_BLOCK, &one, NULL);
    if (sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 0)
        raise(SIGSTOP);
}

/* What the kernel sends for a key or a size of the terminal always goes to the whole group; a late
 * witness must not make two of it. */
static bool
is_of_terminal(const siginfo_t *info)
{
    int number = info->si_signo;
    return info->si_code > 0 &&
           (number == SIGINT || number == SIGQUIT || number == SIGTSTP || number == SIGWINCH);
}

static void
pass_on(const Child *child, const siginfo_t *info)
{
    if (!has_reached_group(child, info->si_signo) && !is_of_terminal(info))
        kill(child->pid, info->si_signo);
}

int
ls_record_run(LsRecordCommand *command, void (*started)(void *), void *user)
{
    Child child = {.command = command, .status = -1};
    choose_signals(&child.watched);
    sigprocmask(SIG_BLOCK, &child.watched, NULL);
    start_witness(&child);
    int error = start_somehow(&child, command);
    if (error != 0) {
        end_witness(&child);
        errno = error;
        return -1;
    }
    let_go(&child, command->may_speak);
    started(user);
    while (!has_ended(&child)) {
        siginfo_t info;
        int stop = find_stop(&child);
        if (stop != 0)
            stop_along(stop);
        if (sigwaitinfo(&child.watched, &info) > 0 && info.si_signo != SIGCHLD)
            pass_on(&child, &info);
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
