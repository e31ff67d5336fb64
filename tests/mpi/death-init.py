# SPDX-License-Identifier: Apache-2.0
"""death-init.py MPIRUN VICTIM: a rank that dies inside lockstep_init leaves nobody blocked.

TAP. The doomed rank dies at its n-th collective call. Once the ranks have told each other who they are, the
survivors learn of it from the watcher, in a good second (TOLD_S where the machine is busy); before that from
init_limit_s, by which a rank that never comes is told too. Nobody is told anything else, and nothing hangs.

A case in which nothing but times was wrong is run again: the limits are of a machine that lets a process run
when it can.
"""
import pathlib
import subprocess
import sys
import tempfile

RANKS, LIMIT_S, TOLD_S, TRIES = 4, 8, 4, 10
PATIENCE_S = 300
LATE = 'too late:'
PEER_LOST, STALLED = -9, -10


def read(folder, what, rank):
    path = folder / f'{what}.{rank}'
    if not path.exists():
        return None, ''
    number, _, text = path.read_text(encoding='utf-8').partition(' ')
    return int(number), text.strip()


def run(mpirun, victim, folder, doomed, call):
    command = [mpirun, '--enable-recovery', '-np', str(RANKS), victim, folder, str(doomed), str(call), str(LIMIT_S)]
    subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=PATIENCE_S,
                   check=False)


def count_calls(mpirun, victim):
    """All collective calls of a whole init, which are as many on every rank."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(mpirun, victim, folder, 1, 1000000)
        assert [read(folder, 'status', rank)[0] for rank in range(RANKS)] == [0] * RANKS
        counts = {read(folder, 'calls', rank)[0] for rank in range(RANKS)}
        assert len(counts) == 1, f'the ranks made {counts} calls'
        return counts.pop()


def kill(mpirun, victim, doomed, call, met):
    """What is wrong with how the others were told of the death of a rank at a call."""
    for _ in range(TRIES):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            try:
                run(mpirun, victim, folder, doomed, call)
            except subprocess.TimeoutExpired:
                return [f'mpirun did not end within {PATIENCE_S} s']
            faults = list(get_faults(folder, doomed, met))
            if any(not fault.startswith(LATE) for fault in faults) or not faults:
                break
    return faults


def get_faults(folder, doomed, met):
    died, _ = read(folder, 'died', doomed)
    if died is None:
        yield 'the victim did not come to its death'
        return
    for rank in (rank for rank in range(RANKS) if rank != doomed):
        knew, text = read(folder, 'knew', rank)
        status, _ = read(folder, 'status', rank)
        if knew is None:
            yield f'rank {rank} was never told'
        elif status == PEER_LOST:
            if f'rank {doomed} (process' not in text:
                yield f'rank {rank} was told: {text}'
            if knew - died > TOLD_S * 1_000_000_000:
                yield f'{LATE} rank {rank} knew after {(knew - died) / 1e6:.0f} ms'
        elif status == STALLED and not met:
            if 'init_limit_s' not in text:
                yield f'rank {rank} was told: {text}'
            if knew - died > (LIMIT_S + TOLD_S) * 1_000_000_000:
                yield f'{LATE} rank {rank} was told after {(knew - died) / 1e6:.0f} ms'
        else:
            yield f'rank {rank} got status {status}: {text}'


def main():
    mpirun, victim = sys.argv[1:]
    last = count_calls(mpirun, victim)
    # Duplicate, choose an id; then gather and broadcast of who they are, in two calls each.
    first = 7
    cases = [('before', 2, 0), ('at-the-first-call', 2, 1), ('rank-0-at-the-first-call', 0, 1), ('after-they-met', 2, first),
             ('rank-0-after-they-met', 0, first), ('in-the-middle', 1, (first + last) // 2), ('at-the-last-call', 3, last),
             ('rank-0-at-the-last-call', 0, last)]
    failed = 0
    print(f'1..{len(cases)}\n# {last} calls')
    for number, (name, doomed, call) in enumerate(cases, 1):
        faults = kill(mpirun, victim, doomed, call, call >= first)
        failed += bool(faults)
        for fault in faults:
            print(f'# {fault}')
        print(f'{"not ok" if faults else "ok"} {number} /mpi/death-init/{name}', flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
