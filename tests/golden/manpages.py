#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every line of every manual page's EXAMPLES, beside a run called RUN and a timeline.json.

usage: manpages.py SYNTH LOCKSTEP MAN_FOLDER

Each line must end with status 0 and print nothing on standard error but the line that ends a recording. `lockstep view` needs a display: it
is run under xvfb-run, where there is one, and must still be alive after a while."""
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

synth, lockstep, folder = (os.path.abspath(path) for path in sys.argv[1:4])


def examples(page):
    """The lines between .EX and .EE under .SH EXAMPLES, as a shell would read them."""
    lines, section, inside = [], "", False
    for line in open(page, encoding="utf-8"):
        if line.startswith(".SH"):
            section = line[4:].strip()
        elif line.startswith(".EX"):
            inside = True
        elif line.startswith(".EE"):
            inside = False
        elif inside and section == "EXAMPLES":
            lines.append(re.sub(r"\\-", "-", line.strip()).replace("\\e", "\\"))
    return lines


def write_inputs(where):
    subprocess.run([synth, "-o", os.path.join(where, "RUN"), "--steps", "12", "--late", "2:20"], check=True)
    events = []
    for pid, name in enumerate(["conv.weight", "fc.bias"], 1):
        events += [{"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}},
                   {"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 100 * pid, "pid": pid}]
        events += [{"ph": "X", "name": str(rank), "ts": 100 * pid + rank, "pid": pid, "dur": 0}
                   for rank in range(2)]
        events += [{"ph": "E", "ts": 100 * pid + 5, "pid": pid},
                   {"ph": "B", "name": "ALLREDUCE", "ts": 100 * pid + 10, "pid": pid},
                   {"ph": "B", "name": "MPI_ALLREDUCE", "ts": 100 * pid + 12, "pid": pid},
                   {"ph": "E", "ts": 100 * pid + 60, "pid": pid},
                   {"ph": "E", "ts": 100 * pid + 61, "pid": pid,
                    "args": {"dtype": "float32", "shape": "[8]"}}]
    with open(os.path.join(where, "timeline.json"), "w", encoding="utf-8") as out:
        json.dump(events, out)


def run_view(line, where, env):
    """None, or what is wrong."""
    command = ["xvfb-run", "-a", "timeout", "4"] + shlex.split(line)
    result = subprocess.run(command, cwd=where, env=env, capture_output=True, text=True, timeout=300)
    if result.returncode != 124:  # timeout's own: it was still alive
        return f"status {result.returncode}: {result.stderr.strip()}"
    return None


def run(line, where, env):
    result = subprocess.run(["sh", "-c", line], cwd=where, env=env, capture_output=True, text=True,
                            stdin=subprocess.DEVNULL, timeout=300)
    if result.returncode != 0:
        return f"status {result.returncode}: {result.stderr.strip()}"
    errors = result.stderr
    if "record" in line:
        # Rank 0 waits a moment for the others, which on a busy machine end later.
        errors = re.sub(r"^lockstep: (at least )?\d+ (of \d+ )?ranks?( so far)?, .* in .*\n", "", errors, count=1)
    if errors.strip():
        return f"on standard error: {errors.strip()}"
    return None


def main():
    lines = [(os.path.basename(page), line) for page in sorted(glob.glob(folder + "/*.1"))
             for line in examples(page)]
    tracer = os.path.join(os.path.dirname(lockstep), "..", "..", "tracer")
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
               OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1", GSK_RENDERER="cairo", GDK_BACKEND="x11", GTK_A11Y="none", LC_ALL="C.UTF-8",
               PATH=os.pathsep.join([os.path.dirname(lockstep), tracer, os.environ["PATH"]]))
    view = os.path.join(os.path.dirname(lockstep), "..", "..", "ui", "lockstep-view")
    failed = 0
    print(f"1..{len(lines)}")
    with tempfile.TemporaryDirectory() as where:
        write_inputs(where)
        os.symlink(os.path.join(os.path.dirname(synth), "train"), os.path.join(where, "train"))
        # Its own: Open MPI takes the folder of all its jobs away while another job makes its own in it.
        env["OMPI_MCA_orte_tmpdir_base"] = where
        for number, (page, line) in enumerate(lines, 1):
            if line.startswith("lockstep view"):
                if not shutil.which("xvfb-run") or not os.path.exists(view):
                    print(f"ok {number} {page}: {line} # SKIP no Xvfb or no window built")
                    continue
                wrong = run_view(line, where, env)
            elif line.startswith("mpirun") and not shutil.which("mpirun"):
                print(f"ok {number} {page}: {line} # SKIP no mpirun")
                continue
            else:
                wrong = run(line, where, env)
            print(f"{'not ok' if wrong else 'ok'} {number} {page}: {line}")
            if wrong:
                failed += 1
                print("# " + wrong.replace("\n", "\n# "))
    return 1 if failed or not lines else 0


if __name__ == '__main__':
    sys.exit(main())
