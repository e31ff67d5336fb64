# SPDX-License-Identifier: Apache-2.0
"""death.py MPIRUN VICTIM LOCKSTEP [SETTINGS]: a killed rank is a status on every survivor, in time, and nothing hangs.

TAP. Each case runs the victim program with recovery (survivors live on) and reads the files that it
and its survivors wrote; times are of the one monotonic clock of this machine. Who reads the run is
told once by each survivor, and once how the victim ended.

The limits are of a machine that lets a process run when it can. A case in which nothing but times was wrong is
run again, so that only a time that is never kept is a fault.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

RANKS, TRIES = 4, 10
CASES = [
    ('pidfd', 2, ['watcher=auto']),
    ('polled', 2, ['watcher=poll']),
    ('rank-0', 0, ['watcher=auto']),
    ('two-hosts-leader', 2, ['watcher=auto', '2']),
    ('two-hosts-other', 3, ['watcher=auto', '2']),
    ('four-hosts', 1, ['watcher=auto', '4']),
    ('while-by-clock', 2, ['cycle_start=clock']),
    ('bitvector', 2, ['control=bitvector']),
    ('bitvector-rank-0', 0, ['control=bitvector']),
    ('bitvector-by-clock', 1, ['control=bitvector;cycle_start=clock']),
    ('tree', 2, ['control=tree']),
    ('tree-root', 0, ['control=tree']),
    ('tree-two-hosts', 1, ['control=tree', '2']),
]
LATE = 'too late:'
# With settings of another plane: the same, less often.
FEW = {'pidfd', 'rank-0', 'two-hosts-other'}


def read(folder, what, rank):
    """The number and the text of one file; None where it was not written."""
    path = folder / f'{what}.{rank}'
    if not path.exists():
        return None, ''
    number, _, text = path.read_text(encoding='utf-8').partition(' ')
    return int(number), text.strip()


def get_faults(folder, doomed, stderr, ended):
    died, _ = read(folder, 'died', doomed)
    if died is None:
        yield 'the victim did not come to its death'
        return
    for rank in (rank for rank in range(RANKS) if rank != doomed):
        knew, text = read(folder, 'knew', rank)
        code, _ = read(folder, 'exit', rank)
        left, _ = read(folder, 'left', rank)
        if knew is None or left is None:
            yield f'rank {rank} never knew, or never left'
            continue
        if f'rank {doomed} (process' not in text:
            yield f'rank {rank} was told: {text}'
        if knew - died > 500_000_000:
            yield f'{LATE} rank {rank} knew after {(knew - died) / 1e6:.0f} ms'
        if code != 9:
            yield f'rank {rank} left with {code}'
        if left - died > 2_000_000_000:
            yield f'{LATE} rank {rank} left after {(left - died) / 1e6:.0f} ms'
        traces = list((folder / 'run').glob(f'rank-{rank:05d}.*.lks'))
        if len(traces) != 1 or f'rank {doomed} (process'.encode() not in traces[0].read_bytes():
            yield f'the trace of rank {rank} does not name rank {doomed}'
    if f'rank {doomed} (process' not in stderr:
        yield f'standard error does not name rank {doomed}'
    if ended - died > 20_000_000_000:
        yield f'{LATE} mpirun ended after {(ended - died) / 1e9:.0f} s'


def get_retold(lockstep, folder, doomed):
    """What `lockstep check` says twice, or in numbers that only a clock knows."""
    done = subprocess.run([lockstep, 'check', '--format', 'json', folder / 'run'], capture_output=True,
                          text=True, check=False)
    rows = json.loads(done.stdout)['tables']['findings']
    for rank in range(RANKS):
        told = [row['text'] for row in rows if row['rank'] == rank and
                re.search('without closing' if rank == doomed else f'[Rr]ank {doomed} ', row['text'])]
        if len(told) != 1:
            yield f'of rank {rank} it is told {len(told)} times that rank {doomed} died: {told}'
    yield from (f'a time of the machine: {row["text"]}' for row in rows
                if re.search(r'\d{9}', row['text']))


def run(mpirun, victim, lockstep, doomed, arguments):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        command = [mpirun, '--enable-recovery', '-x', f'LOCKSTEP_RUN={folder}/run', '-np', str(RANKS),
                   victim, name, str(doomed), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        except subprocess.TimeoutExpired:
            return ['mpirun did not end within 600 s']
        return [*get_faults(folder, doomed, done.stderr, time.monotonic_ns()), *get_retold(lockstep, folder, doomed)]


def try_run(*arguments):
    """The faults of the first run that had others than times, or none; else of the last."""
    for _ in range(TRIES):
        faults = run(*arguments)
        if not faults or any(not fault.startswith(LATE) for fault in faults):
            break
        for fault in faults:
            print(f'# {fault}')
    return faults


def main():
    mpirun, victim, lockstep, *settings = sys.argv[1:]
    cases = [case for case in CASES if not settings or case[0] in FEW]
    failed = 0
    print(f'1..{len(cases)}')
    for number, (name, doomed, arguments) in enumerate(cases, 1):
        arguments = [';'.join([arguments[0], *settings]), *arguments[1:]]
        faults = try_run(mpirun, victim, lockstep, doomed, arguments)
        failed += bool(faults)
        for fault in faults:
            print(f'# {fault}')
        print(f'{"not ok" if faults else "ok"} {number} /mpi/death/{name}', flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
