# SPDX-License-Identifier: Apache-2.0
"""pytorch.py MPIRUN PYTORCH LOCKSTEP LIBRARY...: samples/pytorch under MPI. Prints TAP.

Four ranks must reach the weights of one process with the fourfold batch, which is the same global batch,
and the trace must hold every gradient of every step. Skips where PyTorch is not installed.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

MPIRUN, PYTORCH, LOCKSTEP = sys.argv[1:4]
LIBRARIES = ':'.join(str(pathlib.Path(name).resolve().parent) for name in sys.argv[4:])
TRAIN = pathlib.Path(__file__).with_name('pytorch-train.py').resolve()
RANKS, STEPS, BATCH, TENSORS = 4, 12, 16, 6


def train(folder, ranks):
    environment = dict(os.environ, LOCKSTEP_LIBRARIES=LIBRARIES, LOCKSTEP_RUN=f'run-{ranks}')
    done = subprocess.run([MPIRUN, '-np', str(ranks), sys.executable, str(TRAIN), PYTORCH, str(BATCH),
                           f'weights-{ranks}'], cwd=folder, env=environment, capture_output=True, text=True,
                          timeout=600, check=False)
    assert done.returncode == 0, done.stderr


def check_weights(folder):
    import torch
    alone, together = (torch.load(folder / f'weights-{ranks}') for ranks in (1, RANKS))
    assert len(alone) == len(together) == TENSORS
    for one, other in zip(alone, together):
        apart = (one - other).abs().max().item()
        assert apart < 1e-12, f'weights are {apart} apart'


def check_trace(folder):
    done = subprocess.run([str(pathlib.Path(LOCKSTEP).resolve()), 'report', f'run-{RANKS}', '--format', 'json'],
                          cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    tables = json.loads(done.stdout)['tables']
    counts = {row['tensor']: row['count'] for row in tables['tensors']
              if not row['tensor'].startswith('broadcast.')}
    assert len(counts) == TENSORS and set(counts.values()) == {STEPS}, counts
    assert len(tables['groups']) == TENSORS // 2, tables['groups']
    assert {row['count'] for row in tables['groups']} == {STEPS}, tables['groups']
    assert {(row['step'], row['rank']) for row in tables['steps']} == {
        (step, rank) for step in range(STEPS) for rank in range(RANKS)}


def main():
    probe = subprocess.run([sys.executable, '-c', 'import torch'], capture_output=True, check=False)
    if probe.returncode != 0:
        print('1..0 # SKIP PyTorch (python3-torch) is not installed')
        return 77
    print('1..2')
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        train(folder, 1)
        train(folder, RANKS)
        failed = 0
        for number, (title, check) in enumerate([
                ('/pytorch/four-ranks-reach-the-weights-of-one', check_weights),
                ('/pytorch/every-gradient-is-in-the-trace', check_trace)], 1):
            try:
                check(folder)
                print(f'ok {number} {title}')
            except (AssertionError, KeyError, ValueError) as fault:
                failed += 1
                print(f'not ok {number} {title}\n# {fault}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
