# SPDX-License-Identifier: Apache-2.0
"""gpu-train.py RECORD GPU_TRAIN DOUBLE: wall time of samples/gpu-train on the double, recorded against not.

The double's own times are never a result; the ratio of the two in one run says what recording adds to a job whose
"device" shares the CPU with it, which is more than it adds to one with a device. Prints `key value unit`.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

STEPS, PAIRS = 400, 3


def run(command, env):
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, env=env, check=False)
    return time.monotonic() - start, done.returncode


def main():
    record, train, double = sys.argv[1:4]
    env = dict(os.environ, LD_LIBRARY_PATH=double, LOCKSTEP_DOUBLE='calm')
    plain, recorded, failed = [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(PAIRS):
            seconds, status = run([train, '--steps', str(STEPS)], env)
            plain.append(seconds)
            failed += status != 0
            seconds, status = run([record, '-o', f'{folder}/run{pair}', '--kernels', '--nccl', '--quiet', '--', train,
                                   '--steps', str(STEPS)], env)
            recorded.append(seconds)
            failed += status != 0
    print(f'gpu-train.plain.median {statistics.median(plain):.3f} s')
    print(f'gpu-train.recorded.median {statistics.median(recorded):.3f} s')
    print(f'gpu-train.ratio {statistics.median(recorded) / statistics.median(plain):.3f} of it')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
