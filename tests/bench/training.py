# SPDX-License-Identifier: Apache-2.0
"""training.py RECORD GPU_TRAIN DOUBLE [MPIRUN TRAIN]: what recording adds to a training program; `key value unit`.

samples/train on two ranks with timed compute: the time from one step's end to the next by the program's own log, with
and without recording in turn. samples/gpu-train on the double: wall time of the whole, since the double's own times are
never a result; its "device" shares the CPU with it, which adds more than a device does.
"""
import csv
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

PAIRS, STEPS, GPU_STEPS = 5, 50, 400
SUM = re.compile(r"lockstep: \d+ ranks?, ([\d,]+) events?, (none|[\d,]+) lost, ([\d.,]+ ?\w+) in ")


def step_times(log):
    """Milliseconds of rank 0's steps but the first ones."""
    with open(log, newline="", encoding="utf-8") as lines:
        ends = [int(row["time_ns"]) for row in csv.DictReader(lines) if row["event"] == "wait_end"]
    return [(after - before) / 1e6 for before, after in zip(ends[5:], ends[6:])]


def run(command, env):
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    if done.returncode != 0:
        sys.exit(f"training.py: {command[0]} ended with {done.returncode}: {done.stderr}")
    return time.monotonic() - start, done.stderr


def bytes_of(folder):
    return sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder) if name.endswith(".lks"))


def measure_train(record, mpirun, train, where):
    command = [train, "--steps", str(STEPS), "--compute", "timed", "--log", f"{where}/log.%r"]
    plain, recorded, said = [], [], ""
    for pair in range(PAIRS):
        run([mpirun, "-np", "2", *command], os.environ)
        plain.append(statistics.median(step_times(f"{where}/log.0")))
        _, said = run([mpirun, "-np", "2", record, "-o", f"{where}/train{pair}", "--mpi", "--", *command], os.environ)
        recorded.append(statistics.median(step_times(f"{where}/log.0")))
    pairs = [100 * (with_it / without - 1) for with_it, without in zip(recorded, plain)]
    print(f"train.step.plain.median {statistics.median(plain):.3f} ms")
    print(f"train.step.recorded.median {statistics.median(recorded):.3f} ms")
    print(f"train.step.ratio {statistics.median(recorded) / statistics.median(plain):.4f} of it")
    print(f"train.step.added.median {statistics.median(pairs):.3f} % ({min(pairs):.3f} to {max(pairs):.3f})")
    events = int(SUM.search(said).group(1).replace(",", ""))
    print(f"train.bytes_per_event {bytes_of(f'{where}/train{PAIRS - 1}') / events:.2f} bytes")


def measure_gpu_train(record, train, double, where):
    env = dict(os.environ, LD_LIBRARY_PATH=double, LOCKSTEP_DOUBLE="calm")
    command = [train, "--steps", str(GPU_STEPS)]
    plain, recorded, said = [], [], ""
    for pair in range(PAIRS):
        plain.append(run(command, env)[0])
        seconds, said = run([record, "-o", f"{where}/gpu{pair}", "--kernels", "--nccl", "--", *command], env)
        recorded.append(seconds)
    print(f"gpu-train.plain.median {statistics.median(plain):.3f} s")
    print(f"gpu-train.recorded.median {statistics.median(recorded):.3f} s")
    print(f"gpu-train.ratio {statistics.median(recorded) / statistics.median(plain):.3f} of it")
    events = int(SUM.search(said).group(1).replace(",", ""))
    print(f"gpu-train.bytes_per_event {bytes_of(f'{where}/gpu{PAIRS - 1}') / events:.2f} bytes")


def main():
    record, gpu_train, double = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as where:
        if len(sys.argv) > 4:
            measure_train(record, *sys.argv[4:6], where)
        measure_gpu_train(record, gpu_train, double, where)


if __name__ == '__main__':
    main()
