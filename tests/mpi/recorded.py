# SPDX-License-Identifier: Apache-2.0
"""recorded.py MPIRUN TRAIN LOCKSTEP: a real run of four ranks, and what the report says of it. Prints TAP.

The training sample keeps its own log of submissions by its own readings of the clock; the report must
agree with it: every tensor with its count and bytes, the late rank, how long the others waited for it,
and what the wait is not part of. Times are looked at in recordings in which the rank was late as it was told
to be, by the log: others use this machine too, and hold up other ranks.
"""
import csv
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

MPIRUN, TRAIN, LOCKSTEP = sys.argv[1], *(str(pathlib.Path(name).resolve()) for name in sys.argv[2:4])
RANKS, STEPS, SLOW, SLOW_MS = 4, 40, 2, 20
RECORDINGS = 5  # at most, for times


def record(folder):
    run = subprocess.run(
        [MPIRUN, '-np', str(RANKS), TRAIN, '--compute', 'timed', '--steps', str(STEPS), '--slow-rank',
         str(SLOW), '--slow-ms', str(SLOW_MS), '--run', 'run', '--log', 'log.%r'],
        cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, run.stderr
    report = subprocess.run([LOCKSTEP, 'report', 'run', '--format', 'json'], cwd=folder,
                            capture_output=True, text=True, timeout=600, check=False)
    assert report.returncode == 0, report.stderr
    tables = json.loads(report.stdout)['tables']
    log = []
    for rank in range(RANKS):
        with open(folder / f'log.{rank}', encoding='utf-8', newline='') as file:
            log += [row for row in csv.DictReader(file) if row['event'] == 'submit']
    return tables, log


def check_tensors(tables, log):
    true = {}
    for row in log:
        if int(row['rank']) == 0:
            count, _ = true.get(row['tensor'], (0, 0))
            true[row['tensor']] = (count + 1, int(row['bytes']))
    found = {row['tensor']: (row['count'], row['bytes']) for row in tables['tensors']}
    assert found == true, f'only one has {set(found.items()) ^ set(true.items())}'


def check_parts(tables, log):
    assert log
    for row in tables['tensors']:
        parts = [row[name] for name in ('gate_ns', 'slowest_rank_ns', 'behind_ns', 'sleep_ns',
                                        'protocol_ns')]
        assert abs(sum(parts) - row['negotiation_ns']) <= 5, row


def check_steps(tables, log):
    assert log
    found = {(row['step'], row['rank']) for row in tables['steps']}
    assert found == {(step, rank) for step in range(STEPS) for rank in range(RANKS)}, found
    assert not any(row['cut'] for row in tables['steps'])
    ranks = [(row['rank'], row['lost'], row['damaged']) for row in tables['ranks']]
    assert ranks == [(rank, 0, 0) for rank in range(RANKS)], ranks


def get_times(log):
    """step, tensor -> rank -> when it submitted, in the order of rank 0"""
    times = {}
    for row in log:
        times.setdefault((int(row['step']), row['tensor']), {})[int(row['rank'])] = int(row['time_ns'])
    return times


def is_as_told(log):
    """Whether the rank was the late one, and about as late as told, in nearly every step."""
    late = {}
    for (step, _), by_rank in get_times(log).items():
        others = max(time for rank, time in by_rank.items() if rank != SLOW)
        late.setdefault(step, by_rank[SLOW] - others)
    return sum(0.7 * SLOW_MS * 1e6 < late[step] for step in range(STEPS)) >= 0.85 * STEPS


def check_waits(tables, log):
    """Of each step's first buffer: arrivals by the log are those of its last tensor."""
    times = get_times(log)
    off, transfers, slow = [], [], 0
    for step in range(STEPS):
        rows = [row for row in tables['collectives'] if row['step'] == step and
                row['operation'] == 'allreduce']
        first = min(rows, key=lambda row: row['start_ns'])
        # Backward hands in the same order on every rank: the buffer is the first few tensors.
        names = [row['tensor'] for row in log if int(row['rank']) == 0 and int(row['step']) == step]
        by_rank = times[step, names[first['tensors'] - 1]]
        arrivals = by_rank.values()
        off.append(abs(first['wait_max_ns'] - (max(arrivals) - min(arrivals))))
        # A loaded machine may hold up another rank for longer: the log then says so too.
        late = max(arrivals) - by_rank[first['last_rank']]
        assert late < 3e6, f'step {step}: {late} ns before the last: {first}'
        slow += first['last_rank'] == SLOW
        transfers.append(first['transfer_ns'])
    assert slow >= 0.8 * STEPS, f'rank {SLOW} was last in {slow} of {STEPS} steps'
    # Moving the bytes does not contain the wait.
    assert statistics.median(transfers) < SLOW_MS * 1e6 / 4, transfers
    near = sum(1 for value in off if value < 3e6)
    assert statistics.median(off) < 1e6, f'median off by {statistics.median(off)} ns'
    assert near >= 0.95 * STEPS, f'{near} of {STEPS} steps within 3 ms'


def measure_union(intervals):
    length, end = 0, -1
    for first, last in sorted(intervals):
        length += max(last - max(first, end), 0)
        end = max(end, last)
    return length


def sum_waits(tables, log):
    """rank -> ns that it waited for the slow one, by the log: at the last tensor of each buffer."""
    times, waits = get_times(log), dict.fromkeys(set(range(RANKS)) - {SLOW}, 0)
    for step in range(STEPS):
        names = [row['tensor'] for row in log if int(row['rank']) == 0 and int(row['step']) == step]
        rows = [row for row in tables['collectives'] if row['step'] == step and row['operation'] == 'allreduce']
        last, arrivals = -1, []
        for row in sorted(rows, key=lambda row: row['start_ns']):
            last += row['tensors']
            arrivals.append(times[step, names[last]])
        for rank in waits:
            waits[rank] += measure_union([(by_rank[rank], by_rank[SLOW]) for by_rank in arrivals
                                          if by_rank[SLOW] == max(by_rank.values())])
    return waits


def check_straggler(tables, log):
    rows = {row['rank']: row for row in tables['stragglers'] if row['level'] == 'rank'}
    slow = rows.pop(SLOW)
    assert slow['times_last'] > 4 * max(row['times_last'] for row in rows.values()), rows
    waits, found = sum_waits(tables, log), slow['waited_for_ns']
    assert abs(found - sum(waits.values())) < 0.1 * found, f'{found} ns were waited for it, by the log {waits}'
    # What is hidden behind the others' own compute costs nothing.
    cost = slow['cost_ns_per_step']
    assert 0.6 * SLOW_MS * 1e6 < cost < 1.1 * min(waits.values()) / STEPS, f'costs {cost} ns a step, {waits}'


TESTS = [
    ('/recorded/steps-and-ranks-are-whole', check_steps),
    ('/recorded/tensors-are-those-of-the-log', check_tensors),
    ('/recorded/parts-of-negotiation-add-up', check_parts),
    ('/recorded/waits-are-those-of-the-log', check_waits),
    ('/recorded/late-rank-is-named', check_straggler),
]


def get_recording(recordings, number):
    if number == len(recordings):
        with tempfile.TemporaryDirectory() as folder:
            recordings.append(record(pathlib.Path(folder)))
    return recordings[number]


def try_check(check, recordings):
    """None, or what is wrong, and whether it could be seen."""
    of_times, text, seen = check in (check_waits, check_straggler), None, False
    for number in range(RECORDINGS if of_times else 1):
        tables, log = get_recording(recordings, number)
        if of_times and not is_as_told(log):
            print(f'# recording {number + 1}: by the log, other ranks were held up')
            continue
        seen = True
        try:
            check(tables, log)
            return None, True
        except (AssertionError, KeyError, TypeError) as fault:
            text = f'{type(fault).__name__}: {fault}'
            print(f'# recording {number + 1}: {text}')
    return text, seen


def main():
    failed = 0
    recordings = []
    print(f'1..{len(TESTS)}')
    try:
        for number, (name, check) in enumerate(TESTS, 1):
            fault, seen = try_check(check, recordings)
            failed += fault is not None
            skip = '' if seen else f' # SKIP this machine held up other ranks in {RECORDINGS} recordings'
            print(f'not ok {number} {name}\n# {fault}' if fault else f'ok {number} {name}{skip}', flush=True)
    except (AssertionError, OSError, ValueError, subprocess.SubprocessError) as fault:
        print(f'Bail out! {fault}')
        return 1
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
