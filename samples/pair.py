#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pair.py LOCKSTEP FOLDER RUN RUN: two runs as pictures to lay side by side: same step, same scale.

Takes the step in which both runs together computed and moved quickest, since there the machine disturbed least, from its start
on, as long as the longer of the two, and draws rank 0: FOLDER/RUN.png, named after the run's folder.
"""
import json
import pathlib
import subprocess
import sys

SIZE, FIRST = '860x330', 2


def call(*arguments):
    done = subprocess.run([str(argument) for argument in arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return done.stdout


def read(lockstep, run):
    """Rank 0's steps by number: start since the recording's, length, communication."""
    tables = json.loads(call(lockstep, 'report', run, '--format', 'json'))['tables']
    first = min(row['first_ns'] for row in tables['ranks'])
    steps = {row['step']: (row['start_ns'] - first, row['step_ns'], row['communication_ns']) for row in tables['steps']
             if row['rank'] == 0 and not row['cut'] and row['step'] >= FIRST}
    return steps


def choose(runs):
    """The quickest step of both: that is where the machine disturbed least."""
    common = set(runs[0]) & set(runs[1])
    if not common:
        sys.exit('the runs have no step in common')
    return min(common, key=lambda step: sum(steps[step][1] + 2 * steps[step][2] for steps in runs))


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    lockstep, folder, *names = sys.argv[1:]
    runs = [read(lockstep, name) for name in names]
    step = choose(runs)
    length = max(steps[step][1] for steps in runs)
    for name, steps in zip(names, runs):
        start = steps[step][0]
        picture = pathlib.Path(folder) / f'{pathlib.Path(name).name}.png'
        call(lockstep, 'render', name, '--mode', 'rank', '--rank', 0, '--fold', 'full', '--no-headline', '--size', SIZE,
             '--range', f'{start / 1e6:.6f}ms:{(start + length) / 1e6:.6f}ms', '-o', picture)
        print(f'{picture}: step {step}, {steps[step][1] / 1e6:.0f} ms')


if __name__ == '__main__':
    main()
