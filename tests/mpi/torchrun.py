#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torchrun.py RECORD LOCKSTEP MARKS CAPTURE: a job of torchrun on four workers (gloo), recorded.

Once with the wrapper on each worker, as under mpirun, once with the wrapper around torchrun, whose workers are followed.
Either way: one run of four ranks with all their steps, and one closing line."""
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile

RECORD, LOCKSTEP, MARKS, CAPTURE = (os.path.abspath(path) for path in sys.argv[1:5])
RANKS, STEPS = 4, 10
# Standard output by way of torchrun: it cannot be told otherwise under some versions of Python (torch 1.13, 3.11).
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node", str(RANKS), "-r", "1", "-t", "1"]
PROGRAM = f"""
import os
import sys
import time
sys.path.insert(0, {os.path.dirname(MARKS)!r})
import lockstep_mark as marks
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
values = torch.full((64,), float(dist.get_rank()))
for number in range({STEPS}):
    with marks.step(number):
        dist.all_reduce(values)
print(f"rank {{dist.get_rank()}} of {{dist.get_world_size()}}", flush=True)
def is_gone(pid):
    try:
        with open(f"/proc/{{pid}}/stat") as stat:
            return stat.read().rpartition(") ")[2][0] in "ZX"
    except OSError:
        return True
mine = [os.getpid(), os.getppid()]
others = [None] * dist.get_world_size()
dist.all_gather_object(others, mine)
pids = {{pid for pair in others[1:] for pid in pair}} - {{os.getppid()}}  # with their wrappers, where each has one
while dist.get_rank() == 0 and not all(map(is_gone, pids)):
    time.sleep(0.01)  # since its wrapper sums up what the others have written
"""
SUM = re.compile(r"^lockstep: (\d+) ranks, ([\d,]+) events, none lost, ", re.MULTILINE)


def check(folder, command):
    env = {**os.environ, "LOCKSTEP_CAPTURE_LIBRARY": CAPTURE, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    said = sorted(re.findall(r"rank \d of \d", done.stdout))
    assert said == [f"rank {rank} of {RANKS}" for rank in range(RANKS)], done.stdout
    assert SUM.findall(done.stderr) == [(str(RANKS), str(RANKS * STEPS))], done.stderr
    report = subprocess.run([LOCKSTEP, "report", folder, "--format", "json"], capture_output=True, text=True, check=True)
    tables = json.loads(report.stdout)["tables"]
    assert sorted((row["rank"], row["local_rank"]) for row in tables["ranks"]) == [(r, r) for r in range(RANKS)], tables
    assert len(tables["steps"]) == RANKS * STEPS, len(tables["steps"])


def main():
    if importlib.util.find_spec("torch") is None:
        print("1..0 # SKIP torch is not installed")
        return 0
    failed = 0
    print("1..2")
    with tempfile.TemporaryDirectory() as where:
        program = os.path.join(where, "program.py")
        with open(program, "w", encoding="utf-8") as out:
            out.write(PROGRAM)
        each, around = os.path.join(where, "each"), os.path.join(where, "around")
        cases = [("wrapper-on-each-worker", each,
                  [*TORCHRUN, "--no_python", RECORD, "-o", each, "--", sys.executable, program]),
                 ("wrapper-around-torchrun", around, [RECORD, "-o", around, "--", *TORCHRUN, program])]
        for number, (name, folder, command) in enumerate(cases, 1):
            try:
                check(folder, command)
                print(f"ok {number} /mpi/torchrun/{name}", flush=True)
            except (AssertionError, subprocess.SubprocessError) as error:
                failed += 1
                print(f"not ok {number} /mpi/torchrun/{name}\n# " + str(error).replace("\n", "\n# "), flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
