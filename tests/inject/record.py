#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""record.py RECORD LOCKSTEP CAPTURE: what `lockstep record` does to a command, and what it leaves.

Each case runs in a folder of its own; TAP on standard output."""
import ctypes
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from cases import HeldUp, run, wait_until

RECORD, LOCKSTEP, CAPTURE = (os.path.abspath(path) for path in sys.argv[1:4])
LAUNCHERS = re.compile(r"^(LOCKSTEP_(?!KEEP_FREE)|OMPI_|PMIX_|PMI_|SLURM_|HOROVOD_|DMLC_|TORCHELASTIC_)")
CLEAN = {name: value for name, value in os.environ.items()
         if not LAUNCHERS.match(name) and name not in ("RANK", "LOCAL_RANK", "LD_PRELOAD")}
SUM = re.compile(r"^lockstep: (\d+) (?:ranks?|processes of no rank), ([\d,]+) events?, (none|[\d,]+) lost, .* in (.*)\n$")


def record(*words, env=None, program=RECORD, **more):
    return subprocess.run([program, *words], env={**CLEAN, **(env or {})}, capture_output=True, text=True,
                          timeout=300, check=False, **more)


def traces(folder):
    return sorted(name for name in os.listdir(folder) if name.endswith(".lks"))


def findings(folder):
    text = subprocess.run([LOCKSTEP, "check", folder], capture_output=True, text=True, check=False).stdout
    return text


def steps(folder):
    """rank -> numbers of its steps"""
    text = subprocess.run([LOCKSTEP, "report", folder, "--format", "json"], capture_output=True, text=True,
                          check=True).stdout
    found = {}
    for row in json.loads(text)["tables"]["steps"]:
        found.setdefault(row["rank"], []).append(row["step"])
    return found


def nothing_of_cuda():
    done = record("--", "python3", "-c", "print(1)")
    assert (done.stdout, done.returncode) == ("1\n", 0), done
    ranks, events, _, folder = SUM.match(done.stderr).groups()
    assert (ranks, events) == ("1", "0") and os.path.samefile(folder, "lockstep-run"), done.stderr
    text = findings(folder)
    assert "no CUDA driver" in text or os.path.exists("/dev/nvidia0"), text
    assert "loaded nothing that records" in text, text
    quiet = record("--quiet", "-o", "Q", "--", "python3", "-c", "print(1)")
    assert (quiet.stdout, quiet.stderr) == ("1\n", ""), quiet


def power_of_nothing_that_reads():
    """Asked for by name, and no CUDA, NVTX or NCCL in the command: once a host it is said what there is to read."""
    told = re.compile(r"(?:no sensor on this host|its sensors need root); not recorded: the node's power|"
                      r"[0-9]+ sensors of the node's power; they are read in")
    for options, ranks, count in (([], [0], 0), (["--power"], [0], 1), (["--power=2"], [0, 1], 1)):
        for rank in ranks:
            done = record("-o", "P", "--as-rank", str(rank), *options, "--", "python3", "-c", "print(1)",
                          env={"LOCKSTEP_LOCAL_RANK": str(rank)})
            assert (done.stdout, done.returncode) == ("1\n", 0), done
        text = findings("P")
        assert len(told.findall(text)) == count, (options, text)
        shutil.rmtree("P")


def statuses():
    for script, status in [("exit 7", 7), ("kill -TERM $$", -15), ("kill -KILL $$", -9), ("kill -USR1 $$", -10)]:
        done = record("-o", "S", "--quiet", "--", "sh", "-c", script)
        assert (done.returncode, done.stderr) == (status, ""), (script, done)
    # A folder of PATH that we may not look into would make it 126.
    done = record("-o", "S", "--", "no-such-command", env={"PATH": "/usr/bin:/bin"})
    assert done.returncode == 127, done
    with open("plain", "w", encoding="utf-8") as out:
        out.write("no program\n")
    done = record("-o", "S", "--", "./plain")
    assert done.returncode == 126, done


COUNT = """
import signal, sys, time
n = 0
def count(*_):
    global n
    n += 1
signal.signal(signal.SIGTERM, count)
print("ready", flush=True)
end = time.monotonic() + 20
while n == 0 and time.monotonic() < end:
    time.sleep(0.01)
time.sleep(0.3)
print(n)
"""


def signals():
    """Sent to the wrapper or to its whole group, the command sees it once."""
    for send in (os.kill, os.killpg):
        with subprocess.Popen([RECORD, "-o", "G", "--quiet", "--", "python3", "-c", COUNT], env=CLEAN, text=True,
                              stdout=subprocess.PIPE, start_new_session=True) as process:
            assert process.stdout.readline() == "ready\n"
            send(process.pid, signal.SIGTERM)
            assert process.stdout.read() == "1\n", send
            assert process.wait() == 0


def children(pid):
    """pid -> command, of the children of a process"""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        pids = list(map(int, file.read().split()))
    return {child: open(f"/proc/{child}/comm", encoding="utf-8").read().strip() for child in pids}


def signals_that_the_witness_is_slow_to_see():
    """As on a busy machine, where it has the signal and does not run: the command sees it once all the same."""
    with subprocess.Popen([RECORD, "-o", "G", "--quiet", "--", "python3", "-c", COUNT], env=CLEAN, text=True,
                          stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout.readline() == "ready\n"
        witness, = (pid for pid, name in children(process.pid).items() if name == "lockstep-record")
        os.kill(witness, signal.SIGSTOP)
        wait_until(lambda: states(process.pid)["lockstep-record"] >= {"T"}, "the stop of the witness")
        os.killpg(process.pid, signal.SIGTERM)
        assert process.stdout.readline() == "1\n"
        os.kill(witness, signal.SIGCONT)
        assert process.wait() == 0


def states(group):
    """command -> state, of the processes of a group"""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                name, _, rest = file.read().rpartition(")")  # names of other processes may hold anything
        except OSError:
            continue
        state, _, pgrp = rest.split()[:3]
        if int(pgrp) == group:
            found.setdefault(name.partition("(")[2], set()).add(state)
    return found


def stopped_and_continued():
    """By the terminal's signal, to the wrapper alone and to its group: the command stops, and goes on with it."""
    for send in (os.kill, os.killpg):
        with subprocess.Popen([RECORD, "-o", "T", "--quiet", "--", "sh", "-c", "echo on; read line; echo $line"],
                              env=CLEAN, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              preexec_fn=os.setpgrp) as process:
            assert process.stdout.readline() == "on\n"
            send(process.pid, signal.SIGTSTP)
            wait_until(lambda: states(process.pid).get("sh") == {"T"} and "T" in states(process.pid).get(
                "lockstep-record", ()), f"the stop by {send}")
            send(process.pid, signal.SIGCONT)
            process.stdin.write("done\n")
            process.stdin.close()
            assert process.stdout.read() == "done\n" and process.wait() == 0, send


def one_in_another():
    """The inner wrapper's run is the command's; the outer one has a run of its own, without ranks."""
    done = record("-o", "O", "--", RECORD, "-o", "I", "--", "sh", "-c", "echo $LOCKSTEP_RUN; exit 3")
    assert (done.stdout, done.returncode) == (os.path.abspath("I") + "\n", 3), done
    assert done.stderr.count("\n") == 2 and len(traces("I")) == 1, done


def arguments_that_are_no_text():
    odd = b"a\xff\xfe\tb"
    done = subprocess.run([RECORD, b"-o", b"odd\xff", b"--quiet", b"--", b"printf", b"%s", odd], env=CLEAN, check=False,
                          capture_output=True, timeout=300)
    assert (done.stdout, done.stderr, done.returncode) == (odd, b"", 0), done
    with open(b"odd\xff/run.json", encoding="utf-8") as file:
        assert json.load(file)["command"][-2] == "%s"
    assert subprocess.run([LOCKSTEP, "report", b"odd\xff"], capture_output=True, check=False).returncode == 0


def folders_that_cannot_be():
    """One sentence, and the command runs as it would."""
    open("file", "w", encoding="utf-8").close()
    for folder, why in (("file", "Not a directory"), ("no/where", "No such file"), ("x" * 300, "too long"),
                        ("/".join(["y" * 200] * 8), "")):
        done = record("-o", folder, "--", "sh", "-c", "echo out; exit 5")
        assert (done.stdout, done.returncode) == ("out\n", 5), done
        assert done.stderr.startswith("lockstep") and done.stderr.count("\n") == 1 and why in done.stderr, done


def two_at_once():
    """Without a launcher two jobs of one name are two runs."""
    both = [subprocess.Popen([RECORD, "-o", "B", "--quiet", "--", "true"], env=CLEAN) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert len(traces("B")) == 1 and len(traces("B.2")) == 1, os.listdir()


FILL = """
import ctypes, os, sys, threading
marks = ctypes.CDLL(sys.argv[1])
def mark(n):
    for i in range(n):
        marks.lockstep_instant(b"made")
mark(100)
try:
    with open(sys.argv[2] + "/other", "wb") as out:
        out.write(bytes(64 << 20))
except OSError:
    pass
threads = [threading.Thread(target=mark, args=(500,)) for _ in range(40)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for i in range(2000):
    marks.lockstep_instant(b"name %d of many" % i)
print(os.path.exists(sys.argv[2] + "/other"))
"""


def memory_filled_by_another():
    """What another program leaves of /dev/shm after the start: nobody dies of it, everything is counted."""
    os.mkdir("shm")
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8M", "none", "shm"],
                                           capture_output=True, check=False).returncode != 0:
        return
    try:
        done = record("-o", "M", "--as-rank", "0", "--", "python3", "-c", FILL, CAPTURE, os.path.abspath("shm"),
                      env={"LOCKSTEP_SHM_DIR": os.path.abspath("shm")})
    finally:
        subprocess.run(["umount", "-l", "shm"], check=False)
    assert (done.stdout, done.returncode) == ("True\n", 0), done
    _, events, lost, _ = SUM.match(done.stderr).groups()
    lost = 0 if lost == "none" else int(lost.replace(",", ""))
    assert int(events.replace(",", "")) + lost == 100 + 40 * 500 + 2000, done.stderr


MANY = """
import os, sys
for i in range(1000):
    if os.fork() == 0:
        if i % 100 == 0:
            os.execl(sys.executable, sys.executable, "-c", "import ctypes, sys; marks = ctypes.CDLL(sys.argv[1])\\n"
                     "for n in range(10): marks.lockstep_instant(b'made')", sys.argv[1])
        os._exit(i % 7)
    if i % 20 == 19:
        for _ in range(20):
            os.wait()
"""


def a_thousand_processes():
    """As `make -j` does: most record nothing and leave nothing."""
    done = record("-o", "P", "--", "python3", "-c", MANY, CAPTURE)
    assert done.returncode == 0 and done.stdout == "", done
    assert SUM.match(done.stderr).groups()[1:3] == ("100", "none"), done.stderr
    assert len(traces("P")) == 10, os.listdir("P")


AGAIN = """
import ctypes, os, sys
marks = ctypes.CDLL(sys.argv[1])
for number in range(7):
    marks.lockstep_instant(b"made")
if len(sys.argv) > 2:
    os.execve(sys.executable, [sys.executable, "-c", sys.argv[2], sys.argv[1]], {})
print("LOCKSTEP_RUN" in os.environ)
"""


def another_image_without_environment():
    """What the first image recorded is kept; the second is not recorded and not disturbed."""
    done = record("-o", "Z", "--as-rank", "0", "--", "python3", "-c", AGAIN, CAPTURE, AGAIN)
    assert (done.stdout, done.returncode) == ("False\n", 0), done
    assert SUM.match(done.stderr).groups()[1:3] == ("7", "none"), done.stderr


def closed_output():
    """A reader sees that the command has closed its output, not when it ends."""
    with subprocess.Popen([RECORD, "-o", "C", "--quiet", "--", "sh", "-c", "exec >&-; read line"], env=CLEAN,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.read() == b""
        assert process.poll() is None
        process.stdin.close()
        process.wait()


def has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def killed_wrapper_takes_command_along():
    with subprocess.Popen([RECORD, "-o", "K", "--", "sh", "-c", "echo $$; exec sleep 1000"], env=CLEAN, text=True,
                          stdout=subprocess.PIPE) as process:
        child = int(process.stdout.readline())
        process.kill()
        process.wait()
        wait_until(lambda: has_ended(child), "the end of a command whose wrapper was killed")


def launchers():
    """(command line, the corrected one); found programs are python3 and sh."""
    lines = [("mpirun -np 4 python3 t.py --lr 0.1", "mpirun -np 4 {} -- python3 t.py --lr 0.1"),
             ("mpirun --mca btl self,tcp -x A -H a:2,b:2 sh -c true",
              "mpirun --mca btl self,tcp -x A -H a:2,b:2 {} -- sh -c true"),
             ("srun -n 4 --gpus-per-task=1 python3 t.py", "srun -n 4 --gpus-per-task=1 {} -- python3 t.py"),
             ("/opt/bin/horovodrun -np 2 python3 t.py", "/opt/bin/horovodrun -np 2 {} -- python3 t.py")]
    for line, corrected in lines:
        done = record("-o", "L", "--nccl", "--", *line.split())
        assert done.returncode == 2 and not os.path.exists("L"), done
        said = done.stderr.splitlines()[1].strip()
        assert said == corrected.format(f"{RECORD} -o L --nccl"), said


def expansion():
    env = {"SLURM_JOB_ID": "500", "SLURM_STEP_ID": "1", "SLURM_PROCID": "3", "LOCKSTEP_HOST": "n1.x", "U": "a/b"}
    done = record("-o", "r-%j-%h-%r-%q{U}-%%", "--", "true", env=env)
    assert done.returncode == 0 and os.path.isdir("r-500.1-n1-3-a_b-%"), (done, os.listdir())
    assert record("-o", "r-%q{NOT_SET}", "--", "true").returncode == 2
    assert record("-o", "r-%z", "--", "true").returncode == 2
    assert record("--", "true", env={"PMIX_NAMESPACE": "77@1"}).returncode == 0
    assert os.path.isdir("lockstep-77@1")


def joining():
    for rank in ("0", "1", "1"):  # the second life of rank 1
        record("-o", "J", "--run-id", "a", "--as-rank", rank, "--world", "2", "--", "true")
    assert len(traces("J")) == 3 and sorted(name[:10] for name in traces("J")) == ["rank-00000", "rank-00001",
                                                                                   "rank-00001"]
    record("-o", "J", "--run-id", "b", "--as-rank", "0", "--", "true")
    assert len(traces("J")) == 3 and len(traces("J.2")) == 1
    many = [subprocess.Popen([RECORD, "-o", "M", "--quiet", "--", "true"], env={
        **CLEAN, "PMIX_NAMESPACE": "9@1", "PMIX_RANK": str(rank)}) for rank in range(8)]
    assert [process.wait() for process in many] == [0] * 8
    assert len(traces("M")) == 8 and not os.path.exists("M.2")
    assert json.load(open("M/run.json"))["run_id"] == "9@1"
    record("-o", "N", "--", "true")  # no id, no rank: each is a run of its own
    record("-o", "N", "--", "true")
    assert len(traces("N")) == 1 and len(traces("N.2")) == 1


def line_counts_every_rank():
    """Those that end a little later, too; a job that fails is not held up, nor one whose others are gone."""
    def start(folder, rank, script, ranks=4):
        return subprocess.Popen([RECORD, "-o", folder, "--run-id", "a", "--as-rank", str(rank), "--world", str(ranks),
                                 "--no-sync", "--", "sh", "-c", script], env=CLEAN, stderr=subprocess.PIPE, text=True)

    def measure(*jobs):
        """The best of six of each, one after the other: what holds up one holds up all."""
        took = {job: [] for job in jobs}
        for _ in range(6):
            for script, ranks in jobs:
                begin = time.monotonic()
                start("U", 0, script, ranks).communicate()
                took[script, ranks].append(time.monotonic() - begin)
        return [min(took[job]) for job in jobs]

    # All begin before the first ends.
    together = "touch {0}.at.{1}; while [ $(ls {0}.at.* | wc -l) -lt 4 ]; do sleep 0.01; done; sleep 0.{1}"
    running = [start("R", rank, together.format("R", rank)) for rank in range(4)]
    ranks = SUM.match(running[0].communicate()[1]).group(1)
    assert [process.communicate()[1] for process in running[1:]] == [""] * 3
    if ranks != "4":
        raise HeldUp(f"rank 0 waits for half a second, and counted {ranks} ranks")
    alone, failed, well = measure(("true", 1), ("exit 3", 4), ("true", 4))
    if failed >= alone + 0.45 or well >= alone + 2:
        raise HeldUp(f"it took {alone} s alone, {failed} s where it failed, {well} s without the others")
    done = record("-o", "W1", "--as-rank", "0", "--world", "4", "--no-sync", "--", "true")
    assert done.stderr.startswith("lockstep: 1 of 4 ranks so far, 0 events, none lost, "), done.stderr
    unnamed = RANKS.replace('RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="3"', "").replace(
        'os.environ["RANK"] == "2"', "False")
    done = record("-o", "W2", "--", "python3", "-c", unnamed, CAPTURE)
    assert done.stderr.startswith("lockstep: 3 processes of no rank, 3,000 events, none lost, "), done.stderr
    told = subprocess.run([LOCKSTEP, "info", "W2"], capture_output=True, text=True, check=True).stdout
    assert "ranks         3 processes of no known rank\n" in told, told


def make_kit(mpi):
    """lockstep-record elsewhere, with what is beside it."""
    os.makedirs("kit/bin")
    os.makedirs("kit/lib")
    shutil.copy(RECORD, "kit/bin/lockstep-record")
    shutil.copy(CAPTURE, "kit/lib/liblockstep-tracer.so")
    if mpi is None:
        shutil.copy(CAPTURE, "kit/lib/liblockstep-mpi.so")
    else:
        with open("kit/lib/liblockstep-mpi.so", "w", encoding="utf-8") as out:
            out.write(mpi)
    return os.path.abspath("kit/bin/lockstep-record")


def library_that_does_not_load():
    kit = make_kit("not a library\n")
    done = record("-o", "B", "--mpi", "--", "sh", "-c", "echo $LD_PRELOAD; exit 3", program=kit)
    assert (done.stdout, done.returncode) == ("\n", 3) and SUM.match(done.stderr), done
    assert re.search(r"liblockstep-mpi.so does not load here \(.*\); not recorded: MPI calls", findings("B"))


def environment():
    kit = make_kit(None)
    script = ("echo $CUDA_INJECTION64_PATH; echo $NVTX_INJECTION64_PATH; echo $NCCL_PROFILER_PLUGIN; echo $LD_PRELOAD;"
              "echo $LOCKSTEP_RUN; echo $LOCKSTEP_STEPS $LOCKSTEP_DELAY_MS $LOCKSTEP_TAGS $LOCKSTEP_NCCL $LOCKSTEP_KERNELS")
    lib = os.path.abspath("kit/lib")
    done = record("-o", "E", "--nccl", "--mpi", "--steps", "2:9", "--delay=1.5", "--tag", "a=b", "--tag", "c=d", "--",
                  "sh", "-c", script, program=kit, env={"NCCL_PROFILER_PLUGIN": "/other.so", "LD_PRELOAD": ""})
    tracer = lib + "/liblockstep-tracer.so"
    assert done.stdout.splitlines() == ["", tracer, "/other.so", lib + "/liblockstep-mpi.so", os.path.abspath("E"),
                                        "2:9 1500 a=b,c=d 1 0"], done.stdout
    assert "NCCL_PROFILER_PLUGIN names /other.so, another tool's" in findings("E")
    assert json.load(open("E/run.json"))["tags"] == ["a=b", "c=d"]
    assert "LOCKSTEP_RUN" not in CLEAN


def horovod_timeline():
    script = 'echo "[" > $HOROVOD_TIMELINE; echo $HOROVOD_TIMELINE $HOROVOD_TIMELINE_MARK_CYCLES'
    done = record("-o", "H", "--horovod", "--as-rank", "0", "--", "sh", "-c", script)
    local, cycles = done.stdout.split()
    assert cycles == "1" and not os.path.exists(local) and not local.startswith(os.path.abspath("H"))
    assert open("H/horovod-00000.json").read() == "[\n"
    own = {"HOROVOD_TIMELINE": os.path.abspath("own.json")}
    for rank, write in (0, "true"), (0, script), (1, script):
        record("-o", f"H-own-{rank}-{write[:4]}", "--horovod", "--as-rank", str(rank), "--", "sh", "-c", write, env=own)
        assert os.path.exists("own.json") == (write == script)
    record("-o", "H-own-old", "--horovod", "--as-rank", "0", "--", "true", env=own)
    copies = glob.glob("H-own-*/horovod-*")
    assert copies == ["H-own-0-echo/horovod-00000.json"], copies
    done = record("-o", "H2", "--horovod=ranges", "--", "sh", "-c", 'echo "<$HOROVOD_TIMELINE>"')
    assert done.stdout == "<>\n"


def folder_that_cannot_be():
    done = record("-o", "/proc/lockstep", "--", "sh", "-c", "echo out; exit 5")
    assert (done.stdout, done.returncode) == ("out\n", 5)
    assert done.stderr.startswith("lockstep: cannot record into") and done.stderr.count("\n") == 1, done.stderr


def containers():
    os.mkdir("home")
    kit = make_kit(None)
    with open("apptainer", "w", encoding="utf-8") as out:
        out.write("#!/bin/sh\nexit 0\n")
    os.chmod("apptainer", 0o755)
    os.makedirs("elsewhere")
    env = {"HOME": os.path.abspath("home"), "TMPDIR": "/nowhere"}
    unseen = record("-o", "A", "--", os.path.abspath("apptainer"), "exec", "x.sif", "true", program=kit, env=env,
                    cwd="elsewhere")
    folder = os.path.abspath("kit")
    if not folder.startswith("/tmp/"):
        assert f"--bind {folder}" in unseen.stderr, unseen.stderr
    bound = record("-o", "A2", "--", os.path.abspath("apptainer"), "exec", "--bind", folder, "x.sif", program=kit)
    assert SUM.match(bound.stderr), bound.stderr
    os.rename("apptainer", "docker")
    inside = record("-o", "A3", "--", os.path.abspath("docker"), "run", "image", program=kit)
    assert f"--volume {folder}:{folder}" in inside.stderr, inside.stderr


# A job in lockstep: in each step all ranks wait for each other, as in an allreduce. One step of the last rank may be
# slow; those that were, if only since the machine is busy, are noted. Where a flight recorder's stop is known the job
# waits, once, so that the others' recorders, which look for it every tenth of a second, come to know it in time; three
# steps after the stop it ends.
STEPS = """
import ctypes, mmap, sys, time
marks = ctypes.CDLL(sys.argv[1])
step = lambda call, *numbers: getattr(marks, call)(*map(ctypes.c_int64, numbers))
rank, ranks, count, slow = map(int, sys.argv[2:6])
folder, slow_s, stop = sys.argv[6], float(sys.argv[7]), None
with open(folder + ".sync", "r+b") as file:
    at = (ctypes.c_int64 * ranks).from_buffer(mmap.mmap(file.fileno(), 0))
for number in range(count):
    begin = time.monotonic()
    step("lockstep_step_begin", number)
    time.sleep(slow_s if rank == ranks - 1 and number == slow else 0.01)
    for _ in range(4):
        marks.lockstep_instant(b"made")
    at[rank] = number + 1
    while min(at) <= number:
        time.sleep(0.0005)
    step("lockstep_step_end", 1, 0)
    if number >= 5 and time.monotonic() - begin > slow_s:
        print(number, file=open(folder + ".slow", "a"))
    try:
        if stop is None:
            stop = int(open(folder + "/.freeze-at").read())
            time.sleep(1)
    except (OSError, ValueError):
        continue
    if number > stop + 2:
        break
"""


def run_steps(folder, ranks, count, *options, slow=-1, slow_s=2.5):
    with open(folder + ".sync", "wb") as out:
        out.write(bytes(8 * ranks))
    return [subprocess.Popen([RECORD, "-o", folder, "--run-id", "x", "--as-rank", str(rank), "--world", str(ranks),
                              "--quiet", *options, "--", "python3", "-c", STEPS, CAPTURE, str(rank), str(ranks),
                              str(count), str(slow), os.path.abspath(folder), str(slow_s)],
                             env=CLEAN) for rank in range(ranks)]


def find_stop(folder, found):
    """At whose end all stopped: that of every rank whose recorder came to look in time."""
    stop = int(open(folder + "/.freeze-at").read())
    last = {rank: max(numbers) for rank, numbers in found.items()}
    assert all(stop <= number <= stop + 3 for number in last.values()), (stop, last, findings(folder))
    if set(last.values()) != {stop}:
        raise HeldUp(f"the stop was at {stop}, and these had a second to look for it: {last}")
    return stop


def flight_trigger():
    """A slow step of the last rank stops all three; each holds the steps around it."""
    running = run_steps("F", 3, 1000, "--flight-recorder", "4M", "--trigger-ms", "2500", slow=60)
    assert [process.wait() for process in running] == [0, 0, 0]
    found = steps("F")
    slow = min(map(int, open("F.slow").read().split()))
    assert sorted(found) == [0, 1, 2] and slow <= 60, (slow, sorted(found))
    stop = find_stop("F", found)
    assert slow < stop < 900, (slow, stop)
    for rank, numbers in found.items():
        assert set(range(slow - 5, stop + 1)) <= set(numbers), (rank, numbers)


def flight_dump():
    running = run_steps("D", 2, 100000, "--flight-recorder", "4M")
    wait_until(lambda: os.path.exists("D/run.json") and int.from_bytes(open("D.sync", "rb").read(8), sys.byteorder) > 20,
               "step 20")
    done = record("--dump", "D")
    assert done.returncode == 0 and "stop at the end of step" in done.stderr, done
    assert [process.wait() for process in running] == [0, 0]
    found = steps("D")
    assert sorted(found) == [0, 1] and find_stop("D", found) > 20
    assert record("--dump", "nowhere").returncode == 3


def pack():
    assert [process.wait() for process in run_steps("P", 3, 60)] == [0] * 3
    assert record("pack", "P", "-o", "all.lks").returncode == 0, findings("P")
    found = {rank: len(numbers) for rank, numbers in steps("all.lks").items()}
    assert found == {0: 60, 1: 60, 2: 60}, (found, findings("P"))
    assert record("pack", "P", "-o", "some.lks", "--rank", "0,2", "--step", "20:22").returncode == 0
    found = steps("some.lks")
    assert sorted(found) == [0, 2] and all(numbers == [20, 21, 22] for numbers in found.values()), found
    assert os.path.getsize("some.lks") < os.path.getsize("all.lks")
    assert "chunks are missing" not in findings("some.lks"), findings("some.lks")
    for command, said in (("info", "steps 20:22"), ("report", "packed: steps 20:22")):
        words = {name: subprocess.run([LOCKSTEP, command, name], capture_output=True, text=True, check=True).stdout
                 for name in ("some.lks", "all.lks")}
        assert said in words["some.lks"] and "packed" not in words["all.lks"], words
    for words in (["--rank", "9"], ["--step", "60:90"]):
        done = record("pack", "P", "-o", "x.lks", *words)
        assert done.returncode == 3 and " is there" in done.stderr and not os.path.exists("x.lks"), done
    assert record("pack", "P", "--step", "1:2").returncode == 2


RANKS = """
import ctypes, os, signal, sys
for rank in range(3):
    if os.fork() == 0:
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="3")
        os.execl(sys.executable, sys.executable, "-c", '''
import ctypes, os, signal, sys
marks = ctypes.CDLL(sys.argv[1])
for number in range(1000):
    marks.lockstep_instant(b"made")
if os.environ["RANK"] == "2":
    os.kill(os.getpid(), signal.SIGKILL)
''', sys.argv[1])
for rank in range(3):
    os.wait()
"""


def ranks_that_the_command_starts():
    """As torchrun does: they inherit, say their rank themselves, and are drained when one is killed."""
    done = record("-o", "T", "--", "python3", "-c", RANKS, CAPTURE)
    assert done.returncode == 0, done
    ranks, events, lost, _ = SUM.match(done.stderr).groups()
    assert (ranks, lost) == ("3", "none") and events == "3,000", done.stderr
    assert [name[:10] for name in traces("T")] == ["rank-00000", "rank-00001", "rank-00002"]


def cleared_environment():
    done = record("-o", "V", "--", "env", "-i", "/bin/sh", "-c", "echo [$LOCKSTEP_RUN$LD_PRELOAD]; exit 6")
    assert (done.stdout, done.returncode) == ("[]\n", 6) and SUM.match(done.stderr), done


def windows():
    assert [process.wait() for process in run_steps("W", 2, 40, "--steps", "10:19")] == [0, 0]
    assert steps("W") == {0: list(range(10, 20)), 1: list(range(10, 20))}
    # It ends inside the last step, which is so long; not in the moment between two short ones.
    assert [process.wait() for process in run_steps("V", 1, 4, "--duration", "1", slow=3, slow_s=4)] == [0]
    rows = json.loads(subprocess.run([LOCKSTEP, "report", "V", "--table", "steps,ranks", "--format", "json"],
                                     capture_output=True, text=True, check=True).stdout)["tables"]
    assert [row["cut"] for row in rows["steps"]] == [False] * (len(rows["steps"]) - 1) + [True], rows
    window = (rows["ranks"][0]["first_ns"], rows["ranks"][0]["last_ns"])
    assert rows["steps"][-1]["start_ns"] + rows["steps"][-1]["step_ns"] <= window[1], rows
    if window[1] >= window[0] + 4e9:
        raise HeldUp(f"the recorder came to look after three seconds: {rows}")


def usage():
    for words in (["--steps", "4"], ["--tag", "x"], ["--bogus"], [], ["--power=90"], ["--trigger-ms", "5", "--", "true"],
                  ["--capture-range", "x", "--", "true"], ["--flight-recorder", "1M", "--", "true"],
                  ["--world", "0", "--", "true"], ["--max-size", "100K", "--", "true"], ["--as-rank", "2", "--world", "2", "--", "true"]):
        done = record(*words)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, (words, done)
    assert "--flight-recorder" in record("--help").stdout


CASES = [nothing_of_cuda, power_of_nothing_that_reads, statuses, signals, signals_that_the_witness_is_slow_to_see, stopped_and_continued, one_in_another, arguments_that_are_no_text,
         folders_that_cannot_be, two_at_once, memory_filled_by_another, a_thousand_processes,
         another_image_without_environment, closed_output, killed_wrapper_takes_command_along, launchers, expansion,
         joining, line_counts_every_rank, library_that_does_not_load, environment, horovod_timeline,
         folder_that_cannot_be, containers,
         flight_trigger, flight_dump, pack, windows, ranks_that_the_command_starts, cleared_environment, usage]


# A sanitizer's own library is not found any more where the environment is gone.
if b"__asan_init" in open(CAPTURE, "rb").read():
    CASES.remove(another_image_without_environment)


def main():
    ctypes.CDLL(CAPTURE)  # must be there
    return run("record", CASES)


if __name__ == '__main__':
    sys.exit(main())
