#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sync.py RECORD LOCKSTEP CAPTURE: clocks of hosts that wrappers of `lockstep record` compare.

Each wrapper is a host of its own: the doubles of the clock and of the boot id shift its clock by seconds,
let it drift by 100 ppm, and give it another boot. The truth is the machine's clock, read around each mark.
Each case runs in a folder of its own; TAP on standard output."""
import ctypes
import json
import os
import random
import re
import shutil
import socket
import stat
import subprocess
import sys
import time

from cases import HeldUp, run, wait_until

RECORD, LOCKSTEP, CAPTURE = (os.path.abspath(path) for path in sys.argv[1:4])
LAUNCHERS = re.compile(r"^(LOCKSTEP_|OMPI_|PMIX_|PMI_|SLURM_|HOROVOD_|DMLC_|TORCHELASTIC_)")
CLEAN = {name: value for name, value in os.environ.items()
         if not LAUNCHERS.match(name) and name not in ("RANK", "LOCAL_RANK", "LD_PRELOAD")}
CLOCKS = [(0, 0), (5_000_000_000, 100_000), (-5_000_000_000, -100_000)]  # ns, ns a second
BOUND_NS = 2_000_000  # of a busy machine; a quiet one shows tens of microseconds

# Marks steps, and says the machine's time before and after each; until its time is over or a file says so.
STEPS = """
import ctypes, os, sys, time
marks = ctypes.CDLL(sys.argv[1])
end = time.monotonic() + float(sys.argv[2])
number = 0
with open(sys.argv[3], "w") as out:
    while time.monotonic() < end and not os.path.exists("end"):
        before = time.monotonic_ns()
        marks.lockstep_step_begin(ctypes.c_int64(number))
        print(number, before, time.monotonic_ns(), file=out, flush=True)
        time.sleep(0.02)
        marks.lockstep_step_end(ctypes.c_int64(1), ctypes.c_int64(0))
        number += 1
"""


def start(rank, world, seconds, *options, host=None, folder="R", is_told=True):
    """The wrapper of a rank on a host (its own, unless told otherwise). not is_told: of a launcher like torchrun,
    whose child alone knows the rank."""
    host = rank if host is None else host
    offset, drift = CLOCKS[host]
    env = {**CLEAN, "LOCKSTEP_TEST_CLOCK": f"{offset}:{drift}:{ANCHOR}", "LOCKSTEP_TEST_BOOT_ID": f"boot-{host}"}
    who = ["--as-rank", str(rank), "--world", str(world)] if is_told else []
    inner = [] if is_told else ["env", f"RANK={rank}", "LOCAL_RANK=0", f"WORLD_SIZE={world}"]
    words = [RECORD, "-o", folder, "--run-id", "x", *who, *options, "--", *inner, "python3", "-c", STEPS, CAPTURE,
             str(seconds), f"truth-{rank}"]
    return subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(running):
    """All end well and have said nothing but the closing line."""
    for process in running:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0 and out == "", (process.args, process.returncode, out, err)
        assert all(line.startswith("lockstep: ") and " lost, " in line for line in err.splitlines()), err


def report(folder):
    text = subprocess.run([LOCKSTEP, "report", folder, "--format", "json"], capture_output=True, text=True,
                          check=True).stdout
    return json.loads(text)["tables"]


def findings(folder):
    return subprocess.run([LOCKSTEP, "check", folder], capture_output=True, text=True, check=False).stdout


def check_times(folder, ranks):
    """Every step of these ranks lies where it was, within the stated bound; returns the rows of ranks."""
    tables = report(folder)
    rows = {row["rank"]: row for row in tables["ranks"]}
    assert sorted(rows) == sorted({row["rank"] for row in tables["ranks"]}), "a wrapper is no rank"
    assert rows[0]["clock_method"] == "reference", rows[0]
    for rank in ranks:
        truth = {int(line.split()[0]): tuple(map(int, line.split()[1:])) for line in open(f"truth-{rank}")}
        bound = rows[rank]["clock_uncertainty_ns"]
        method = rows[rank]["clock_method"]
        assert method == ("reference" if rank == 0 else "round trips"), (rank, method, findings(folder))
        if bound >= BOUND_NS:
            raise HeldUp((rank, bound))
        steps = [row for row in tables["steps"] if row["rank"] == rank]
        worst = 0
        for step in steps:
            before, after = truth[step["step"]]
            worst = max(worst, before - step["start_ns"], step["start_ns"] - after)
        assert len(steps) > 20 and worst <= bound, (rank, len(steps), worst, bound)
        print(f"# rank {rank}: {len(steps)} steps, off by {max(worst, 0)} ns at most, bound {bound} ns")
    return rows


def hub(folder, number=0):
    """boot, [(address, port)] of the hub"""
    lines = [line.split() for line in open(f"{folder}/.clocks/hub-{number}")]
    return next(line[1] for line in lines if line[0] == "boot"), [(line[1], int(line[2])) for line in lines
                                                                   if line[0] == "at"]


def wait_for(path):
    wait_until(lambda: os.path.exists(path) and os.path.getsize(path) > 0, path)


def wait_for_steps(ranks, steps=60):
    """That all have come so far that they can be compared."""
    def is_far(rank):
        return os.path.exists(f"truth-{rank}") and open(f"truth-{rank}", encoding="utf-8").read().count("\n") > steps

    wait_until(lambda: all(map(is_far, range(ranks))), "steps of all ranks")


def wait_for_clocks(ranks, folders=("R",)):
    """That, from what is recorded so far, the clocks of all can be told."""
    def are_told():
        done = subprocess.run([LOCKSTEP, "report", *folders, "--format", "json"], capture_output=True, text=True,
                              check=False)
        rows = json.loads(done.stdout)["tables"]["ranks"] if done.returncode == 0 else []
        methods = {row["rank"]: row["clock_method"] for row in rows}
        return all(methods.get(rank) == ("reference" if rank == 0 else "round trips") for rank in range(ranks))

    wait_until(are_told, "round trips of all ranks")


def end_all():
    open("end", "w", encoding="utf-8").close()


def free_port():
    """One below those that the system gives to whoever connects."""
    while True:
        port = random.randrange(10000, 32000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


def knock(place):
    """What comes to a port sooner or later."""
    for said in (b"", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 8, b"\x16\x03\x01" + bytes(400), os.urandom(104)):
        with socket.create_connection(place, timeout=60) as guest:
            guest.sendall(said)
            try:
                while said and guest.recv(4096):
                    pass
            except ConnectionError:
                pass
    return socket.create_connection(place, timeout=60)  # and stays, silent


def clocks_come_back():
    """Three hosts, the third with two ranks; strangers at the port all the while."""
    running = [start(rank, 4, 120, host=min(rank, 2)) for rank in range(4)]
    wait_for("R/.clocks/hub-0")
    wait_for_steps(4)
    _, places = hub("R")
    held = [knock(place) for place in places if place[0] == "127.0.0.1"]
    wait_for_clocks(4)
    time.sleep(2)
    end_all()
    finish(running)
    assert held
    rows = check_times("R", range(4))
    assert len(rows) == 4
    hosts = [name for name in os.listdir("R/.clocks") if name.endswith(".lks")]
    assert len(hosts) == 3, "one wrapper of each host measures"
    if os.path.exists("R/.clocks/hub-1"):
        raise HeldUp("the hub did not answer for seconds")
    for name, mode in ((".clocks", 0o700), (".clocks/key", 0o600), (".clocks/hub-0", 0o600)):
        assert stat.S_IMODE(os.stat(f"R/{name}").st_mode) == mode, name
    assert "turned away" in findings("R") and "not measured" not in findings("R"), findings("R")
    subprocess.run([RECORD, "pack", "R", "-o", "all.lks", "--rank", "0,1", "--step", "5:60"], check=True,
                   stdout=subprocess.DEVNULL)
    packed = {row["rank"]: row for row in report("all.lks")["ranks"]}
    assert sorted(packed) == [0, 1] and packed[1]["clock_method"] == "round trips", packed


def killed():
    """The hub's wrapper is killed, then an asker's: the rest goes on, with another hub."""
    running = [start(rank, 3, 240) for rank in range(3)]
    wait_for("R/.clocks/hub-0")
    wait_for_steps(3)
    wait_for_clocks(3)
    first = int(hub("R")[0].split("-")[1])
    running[first].kill()
    wait_for("R/.clocks/hub-1")
    second = int(hub("R", 1)[0].split("-")[1])
    assert second != first
    time.sleep(1.5)
    third = 3 - first - second
    running[third].kill()
    time.sleep(1.5)
    end_all()
    finish([running[second]])
    for process in running:
        process.communicate(timeout=300)
    check_times("R", range(3))


def by_place():
    """Hosts that share no folder, nor anything but a key."""
    place = f"127.0.0.1:{free_port()}"
    running = [start(rank, 3, 240, "--sync", place, "--sync-key", "key", folder=f"H{rank}") for rank in range(3)]
    wait_for_steps(3)
    wait_for_clocks(3, ["H0", "H1", "H2"])
    end_all()
    finish(running)
    assert stat.S_IMODE(os.stat("key").st_mode) == 0o600 and not os.path.exists("H0/.clocks/key")
    for rank in range(3):
        shutil.copytree(f"H{rank}", "R", dirs_exist_ok=True)
    check_times("R", range(3))


def ranks_that_only_the_command_knows():
    running = [start(rank, 3, 240, is_told=False) for rank in range(3)]
    wait_for_steps(3)
    wait_for_clocks(3)
    end_all()
    finish(running)
    check_times("R", range(3))


def wrong_key():
    """Each host with a key of its own: nobody is believed, both say what to do."""
    place = f"127.0.0.1:{free_port()}"
    running = [start(rank, 2, 240, "--sync", place, folder=f"H{rank}") for rank in range(2)]
    wait_for_steps(2)
    time.sleep(2.5)  # what they have to say of each other they say at the end
    end_all()
    finish(running)
    said = findings("H0") + findings("H1")
    for text in ("does not have our key; give both hosts the same --sync-key FILE", "turned away"):
        if text not in said:
            raise HeldUp((text, said))
    for rank in range(2):
        shutil.copytree(f"H{rank}", "R", dirs_exist_ok=True)
    rows = {row["rank"]: row for row in report("R")["ranks"]}
    assert rows[1]["clock_method"] == "wall clock", rows[1]
    os.unlink("end")
    with open("open.key", "w", encoding="utf-8") as out:
        out.write("0" * 64 + "\n")
    os.chmod("open.key", 0o644)
    finish([start(0, 2, 0.1, "--sync", place, "--sync-key", "open.key", folder="O")])
    assert "can be read by others (chmod 600)" in findings("O"), findings("O")


def measure(*options):
    """Seconds that a command takes which does nothing, the best of eight."""
    best = 600
    for _ in range(8):
        begin = time.monotonic()
        done = subprocess.run([RECORD, "-o", "T", "--run-id", "y", "--as-rank", "0", "--world", "2", "--quiet",
                               *options, "--", "true"], env=CLEAN, capture_output=True, text=True, check=False)
        best = min(best, time.monotonic() - begin)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done
        shutil.rmtree("T")
    return best


def look_up(host):
    """Seconds until it is known that there is no such host; without a network that may take many."""
    begin = time.monotonic()
    try:
        socket.getaddrinfo(host, 4000)
    except OSError:
        pass
    return time.monotonic() - begin


def absent():
    """Nobody there, by any way: no delay (a connection or a look-up that is waited for takes seconds), nothing said,
    a note in the run."""
    without = measure("--no-sync")
    for options in ([], ["--sync", f"127.0.0.1:{free_port()}"], ["--sync", "10.255.255.1:4000"],
                    ["--sync", "no.such.host.invalid:4000"]):
        took = measure(*options)
        print(f"# {' '.join(options) or 'by the folder'}: {took * 1000:.0f} ms, with --no-sync {without * 1000:.0f} ms")
        if took >= without + 0.4:
            raise HeldUp((options, took, without))
    for place, why in (("10.255.255.1:4000", "no wrapper answered at|not measured"),
                       ("no.such.host.invalid:4000", "is not found")):
        seconds = 1.5 + 2 * look_up(place.split(":")[0])
        finish([start(0, 2, seconds, "--sync", place, folder="A")])
        text = findings("A")
        assert "clocks between hosts were not measured: " in text, text
        if not re.search(why, text):
            raise HeldUp((seconds, text))
        shutil.rmtree("A")


def refused():
    """A public address, by name of the option that allows it; words that make no place."""
    for words, said in ((["--sync", "8.8.8.8:4000"], "--sync-public allows it"),
                        (["--sync", "[2001:db8::1]:4000"], "--sync-public allows it"),
                        (["--sync", "gpu01"], "expected HOST:PORT"),
                        (["--sync", "gpu01:0"], "expected HOST:PORT"),
                        (["--sync", "a:1", "--no-sync"], "contradict")):
        done = subprocess.run([RECORD, *words, "--", "true"], env=CLEAN, capture_output=True, text=True, check=False)
        assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1, (words, done)
    finish([start(0, 2, 0.2, "--no-sync")])
    assert not os.path.exists("R/.clocks")


def one_host():
    """All ranks on one host, as the launcher says: no port, no folder."""
    env = {**CLEAN, "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
    subprocess.run([RECORD, "-o", "R", "--quiet", "--", "true"], env=env, check=True)
    assert os.path.exists("R/run.json") and not os.path.exists("R/.clocks")


CASES = [clocks_come_back, killed, by_place, ranks_that_only_the_command_knows, wrong_key, absent, refused, one_host]
ANCHOR = time.monotonic_ns() // 1_000_000_000 * 1_000_000_000


def main():
    ctypes.CDLL(CAPTURE)  # must be there
    return run("sync", CASES)


if __name__ == '__main__':
    sys.exit(main())
