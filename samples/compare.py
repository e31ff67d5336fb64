#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py LOCKSTEP STRATEGY=RUN...: a line for each recorded run: what its strategy made of a step.

The figures come out of the traces, by `lockstep report`, of the steps after the warm-up.
"""
import json
import statistics
import subprocess
import sys


def read(lockstep, run):
    done = subprocess.run([lockstep, 'report', run, '--format', 'json'], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)['tables']


def describe(tables):
    steps = [row for row in tables['steps'] if not row['warmup'] and not row['cut']]
    numbers = {row['step'] for row in steps}
    buffers = [row for row in tables['collectives'] if row['step'] in numbers]
    root = next(row for row in tables['control'] if row['rank'] == 0)
    count = sum(row['count'] for row in tables['tensors'])
    protocol = sum(row['protocol_ns'] * row['count'] for row in tables['tensors']) / count
    return (f'{len(buffers) / len(numbers):5.1f} buffers of {statistics.mean(row["bytes"] for row in buffers) / 1e3:4.0f} '
            f'kB; rank 0 moves {root["messages_in"] + root["messages_out"]:4.0f} messages, '
            f'{(root["bytes_in"] + root["bytes_out"]) / 1e3:5.1f} kB to agree, {protocol / 1e6:4.2f} ms a tensor; '
            f'step {statistics.median(row["step_ns"] for row in steps) / 1e6:.0f} ms')


def main():
    lockstep, *runs = sys.argv[1:]
    if not runs:
        sys.exit(__doc__)
    print('strategy, per step:')
    for name, run in (argument.split('=', 1) for argument in runs):
        print(f'  {name:<21}{describe(read(lockstep, run))}')


if __name__ == '__main__':
    main()
