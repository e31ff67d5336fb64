#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""alike.py RECORD LOCKSTEP VICTIM UNLOADER CAPTURE: as without us, where little is allowed or much was set before.

Each case runs a command twice, alone and under `lockstep record`: the same output, status, signal, and the same
standard error but for our lines."""
import ctypes
import os
import platform
import pty
import resource
import shutil
import signal
import struct
import subprocess
import sys

from cases import run, wait_until

RECORD, LOCKSTEP, VICTIM, UNLOADER, CAPTURE = (os.path.abspath(path) for path in sys.argv[1:6])
CLEAN = {name: value for name, value in os.environ.items()
         if name == "LOCKSTEP_KEEP_FREE" or
         not name.startswith(("LOCKSTEP_", "OMPI_", "PMIX_", "PMI_", "SLURM_", "LD_PRELOAD"))}
UNDER = [RECORD, "-o", "RUN", "--as-rank", "0", "--"]
IS_PLAIN = b"__asan_init" not in open(CAPTURE, "rb").read() and b"__tsan_init" not in open(CAPTURE, "rb").read()


def play(words, prepare=None):
    return subprocess.run(words, env=CLEAN, capture_output=True, timeout=600, check=False, preexec_fn=prepare)


def alike(words, prepare=None, shell=None):
    """Our lines; `shell`: a script that starts "$@"."""
    def wrap(command):
        return ["bash", "-c", shell, "bash", *command] if shell else command
    alone, under = play(wrap(words), prepare), play(wrap([*UNDER, *words]), prepare)
    lines = under.stderr.splitlines(keepends=True)
    ours = [line for line in lines if line.startswith(b"lockstep: ")]
    assert (under.stdout, under.returncode) == (alone.stdout, alone.returncode), (words[:3], alone, under)
    assert b"".join(line for line in lines if line not in ours) == alone.stderr, (words[:3], alone, under)
    return b"".join(ours).decode()


def bound(what, value):
    return lambda: resource.setrlimit(what, (value, value))


def victims():
    """What a program bounds itself by, while it records."""
    names = ["cancelled", "errors-nobody-reads", "errors-full", "errors-beyond-limit", "no-descriptors",
             "no-descriptors-later"]
    if b"__tsan_init" not in open(CAPTURE, "rb").read():  # it keeps a thread of its own
        names.append("main-leaves-traced")
    if IS_PLAIN:  # a sanitizer has its own stacks and address space, and locks at exit
        names += ["little-stack", "address-space", "handlers"]
    if os.geteuid() == 0:
        names.append("other-root")
    for name in names:
        ours = alike([VICTIM, name])
        assert ours.count("\n") >= 1, (name, ours)
        shutil.rmtree("RUN")


def bounded_from_the_start():
    """The command runs, with us or in our place, and it is said what of it is missing."""
    hello = ["sh", "-c", "echo hi; exit 3"]
    assert "File too large" in alike(hello, bound(resource.RLIMIT_FSIZE, 0))
    shutil.rmtree("RUN")
    if not IS_PLAIN:
        return
    for descriptors in (4, 5, 6, 8):
        ours = alike(hello, bound(resource.RLIMIT_NOFILE, descriptors))
        assert ("no process can be had" in ours) == (descriptors < 6), (descriptors, ours)
    assert "no memory" in alike(hello, bound(resource.RLIMIT_AS, 12 << 20))


# Numbers of x86-64: what filters of containers and batch systems have been seen to forbid, or newer kernels have.
CALLS = {"close_range": 436, "clone3": 435, "statx": 332, "fallocate": 285, "prlimit64": 302, "unshare": 272, "prctl": 157,
         "setitimer": 38, "kill": 62, "pipe2": 293, "mkdir": 83, "madvise": 28, "rt_sigtimedwait": 128}


def forbid(number, error):
    """In the child: the call fails from now on, in all that it starts."""
    def prepare():
        libc = ctypes.CDLL(None)
        words = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x6, 0, 0, 0x50000 | error), (0x6, 0, 0, 0x7fff0000)]
        code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *word) for word in words))
        program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(words), ctypes.addressof(code)))
        libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
        libc.prctl(22, 2, program, 0, 0)  # PR_SET_SECCOMP
    return prepare


def calls_that_are_forbidden():
    if platform.machine() != "x86_64" or not IS_PLAIN:
        return
    for call, number in CALLS.items():
        for error in (1, 38):  # EPERM, ENOSYS
            ours = alike(["sh", "-c", "echo hi; exit 3"], forbid(number, error))
            assert call != "statx" or "0 events, none lost" in ours, ours
            shutil.rmtree("RUN", ignore_errors=True)


def arguments_that_only_just_fit():
    def fits(count, rest):
        try:
            return play(["true", *["y" * 1000] * count, "z" * rest]).returncode == 0
        except OSError:
            return False
    low, high = 1, 1 << 23  # bytes
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(*divmod(middle, 1000)) else (low, middle)
    low -= 400  # of our own words
    words = ["true", *["y" * 1000] * (low // 1000), "z" * (low % 1000)]
    assert "nothing of the command is recorded" in alike(words), low


RINGS = """
import signal, time
left_s, interval_s = signal.getitimer(signal.ITIMER_REAL)
rung = []
signal.signal(signal.SIGALRM, lambda *_: rung.append("rang"))
print(0 < left_s <= 1000, interval_s)
signal.setitimer(signal.ITIMER_REAL, 0.01)
while not rung:
    time.sleep(0.01)
"""


def timers():
    """`alarm`, then exec: it is the command's, whether it rings before or behind the start."""
    alike(["sleep", "1000"], lambda: signal.setitimer(signal.ITIMER_REAL, 0.5))
    alike(["python3", "-c", RINGS], lambda: signal.setitimer(signal.ITIMER_REAL, 1000, 7))


def children_ignored():
    """SIGCHLD was set to be ignored: so it is for the command, and our libraries load all the same."""
    def prepare():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    alike(["python3", "-c", "import signal; print(signal.getsignal(signal.SIGCHLD))"], prepare)
    found = subprocess.run([LOCKSTEP, "check", "RUN"], capture_output=True, text=True, check=False).stdout
    assert found and "does not load" not in found, found


def errors_that_nobody_reads():
    alike(["sh", "-c", "sleep 0.2; exit 5"], shell='"$@" 2>&1 | true; exit ${PIPESTATUS[0]}')
    alike(["sh", "-c", "exit 5"], shell='"$@" 2>/dev/full')


COUNT = """
import os, signal, sys, time
n = 0
def count(*_):
    global n
    n += 1
signal.signal(signal.SIGTERM, count)
open(sys.argv[1] + ".ready", "w").close()
end = time.monotonic() + 20
while n == 0 and time.monotonic() < end:
    time.sleep(0.01)
time.sleep(0.3)
open(sys.argv[1], "w").write(str(n))
"""


def descriptors_closed():
    """0, 1 and 2 are closed: what we open must not take their places, nor lose its own."""
    for shut in ("<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"):
        alike(["python3", "-c", "import os; f = os.open('own', os.O_CREAT | os.O_WRONLY | os.O_TRUNC); "
               "os.write(f, b'%d' % f); os._exit(7)"], shell=f'"$@" {shut}; s=$?; cat own; rm own; exit $s')
    with subprocess.Popen(["bash", "-c", 'exec "$@" <&- >&- 2>&-', "bash", *UNDER, "python3", "-c", COUNT, "n"],
                          env=CLEAN, start_new_session=True) as process:
        wait_for("n.ready")
        os.killpg(process.pid, signal.SIGTERM)
        assert process.wait() == 0
    assert open("n", encoding="utf-8").read() == "1"


def wait_for(path):
    wait_until(lambda: os.path.exists(path), path)


def stops_itself():
    """Who waits for us sees it, by the same signal; who continues us continues it."""
    for name in ("STOP", "TSTP", "TTIN", "TTOU"):
        seen = []
        words = ["sh", "-c", f"kill -{name} $$; exit 4"]
        for command in (words, [*UNDER, *words]):
            pid = os.fork()
            if pid == 0:
                os.setpgrp()
                os.close(2)
                os.execvpe(command[0], command, CLEAN)
            _, status = os.waitpid(pid, os.WUNTRACED)
            os.kill(pid, signal.SIGCONT)
            _, end = os.waitpid(pid, 0)
            seen.append((status, end))
        assert seen[0] == seen[1] and os.WIFSTOPPED(seen[0][0]), (name, seen)


HANG_UP = """
import signal, sys, time
def leave(*_):
    open(sys.argv[1], "w").write("hung up")
    sys.exit(0)
signal.signal(signal.SIGHUP, leave)
open(sys.argv[1] + ".ready", "w").close()
time.sleep(20)
"""


def terminal_hangs_up():
    """The kernel tells the leader of the session alone, which we are: the command must hear of it."""
    for name, under in (("alone", []), ("under", UNDER)):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execvpe([*under, "python3"][0], [*under, "python3", "-c", HANG_UP, name], CLEAN)
        wait_for(name + ".ready")
        os.close(terminal)
        os.waitpid(pid, 0)
        assert open(name, encoding="utf-8").read() == "hung up", name


def raised_rights():
    """A program with more rights than its user's: who it runs for must not make it write anywhere."""
    if os.geteuid() != 0:
        return
    os.chmod(".", 0o755)
    shutil.copy(UNLOADER, "raised")
    os.chmod("raised", 0o4755)
    for folder, user in (("own", 0), ("other", 65534)):
        os.mkdir(folder, 0o777)
        os.chmod(folder, 0o777)
        done = subprocess.run([os.path.abspath("raised"), CAPTURE], env={**CLEAN, "LOCKSTEP_RUN": os.path.abspath(folder)},
                              capture_output=True, text=True, timeout=60, check=False, user=user)
        assert "made 120" in done.stdout, done
    assert os.listdir("own") and not os.listdir("other"), (os.listdir("own"), os.listdir("other"))


CASES = [victims, bounded_from_the_start, calls_that_are_forbidden, arguments_that_only_just_fit, timers, children_ignored,
         errors_that_nobody_reads, descriptors_closed, stops_itself, terminal_hangs_up, raised_rights]


if __name__ == '__main__':
    sys.exit(run("alike", CASES))
