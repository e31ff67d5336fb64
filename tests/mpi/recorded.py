# SPDX-License-Identifier: Apache-2.0
"""recorded.py MPIRUN TRAIN LOCKSTEP: a real run of four ranks, and what the report says of it. Prints TAP.

The training sample keeps its own log of submissions by its own readings of the clock; the report must
agree with it: every tensor with its count and bytes, the late rank, how long the others waited for it,
and what the wait is not part of. That somebody was late as told is looked for in some recordings: others use
this machine too, and hold up other ranks.
"""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

MPIRUN, TRAIN, LOCKSTEP = sys.argv[1], *(str(pathlib.Path(name).resolve()) for name in sys.argv[2:4])
RANKS, STEPS, SLOW, SLOW_MS = 4, 40, 2, 20
RECORDINGS = 5  # at most, for who was late


def record(folder):
    run = subprocess.run(
        [MPIRUN, '-np', str(RANKS), TRAIN, '--compute', 'timed', '--steps', str(STEPS), '--slow-rank',
         str(SLOW), '--slow-ms', str(SLOW_MS), '--run', 'run', '--log', 'log.%r'],
        cwd=folder, capture_output=True, text=True, timeout=600, check=False,
        env={**os.environ, 'LOCKSTEP_RING_SIZE': '1M'})  # room for all: none is lost while the drain waits
    assert run.returncode == 0, run.stderr
    report = subprocess.run([LOCKSTEP, 'report', 'run', '--format', 'json'], cwd=folder,
                            capture_output=True, text=True, timeout=600, check=False)
    assert report.returncode == 0, report.stderr
    tables = json.loads(report.stdout)['tables']
    log = []
    for rank in range(RANKS):
        with open(folder / f'log.{rank}', encoding='utf-8', newline='') as file:
            rows = list(csv.DictReader(file))
        for row, following in zip(rows, rows[1:]):
            if row['event'] in ('submit', 'wait_begin'):
                log.append({**row, 'after_ns': following['time_ns']})
    return tables, log


def check_tensors(tables, log):
    true = {}
    for row in log:
        if int(row['rank']) == 0 and row['event'] == 'submit':
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


class NotAsTold(Exception):
    """By the log the rank that was to be late was not: others use this machine too."""


def get_times(log):
    """step, tensor -> rank -> the readings of the clock between which it submitted, in the order of rank 0"""
    times = {}
    for row in log:
        if row['event'] != 'submit':
            continue
        times.setdefault((int(row['step']), row['tensor']), {})[int(row['rank'])] = (
            int(row['time_ns']), int(row['after_ns']))
    return times


def get_buffers(tables, log):
    """step -> its buffers and the arrivals at each by the log: those of its last tensor, since backward hands in the
    same order on every rank."""
    times, steps = get_times(log), {}
    for step in range(STEPS):
        names = [tensor for number, tensor in times if number == step]
        rows = [row for row in tables['collectives'] if row['step'] == step and row['operation'] == 'allreduce']
        last, steps[step] = -1, []
        for row in sorted(rows, key=lambda row: row['start_ns']):
            last += row['tensors']
            steps[step].append((row, times[step, names[last]]))
        assert last == len(names) - 1, f'step {step}: {last + 1} of {len(names)} tensors are in buffers'
    return steps


def get_last(arrivals):
    """The rank that was surely the last, or None."""
    for rank, (before, _) in arrivals.items():
        if all(after < before for other, (_, after) in arrivals.items() if other != rank):
            return rank
    return None


def check_waits(tables, log):
    """Between the readings of the log nothing is known, and a rank may see the end of a call late: whatever this
    machine does, a figure lies between what follows from the one and from the other."""
    as_told = 0
    for step, buffers in get_buffers(tables, log).items():
        for row, arrivals in buffers:
            before, after = zip(*arrivals.values())
            least, most = max(before) - min(after), max(after) - min(before)
            assert least <= row['wait_max_aligned_ns'] <= most, f'step {step}: {least} to {most}: {row}'
            # No rank ends before the last has come, and none after the end of all.
            rest = row['end_ns'] - max(before)
            assert least - rest <= row['wait_max_ns'] <= most + rest, f'step {step}: {least} to {most}: {row}'
            assert row['last_rank'] is None or arrivals[row['last_rank']][1] >= max(before), f'{arrivals}: {row}'
            assert get_last(arrivals) in (None, row['last_rank']), f'{arrivals}: {row}'
            # Moving the bytes does not contain the wait.
            assert 0 < row['transfer_ns'] <= rest, f'step {step}: {rest}: {row}'
        row, arrivals = buffers[0]
        late = arrivals[SLOW][0] - max(after for rank, (_, after) in arrivals.items() if rank != SLOW)
        as_told += late > 0.7 * SLOW_MS * 1e6
    if as_told < 0.8 * STEPS:
        raise NotAsTold(f'rank {SLOW} was late in {as_told} of {STEPS} steps')


def measure_union(intervals):
    length, end = 0, -1
    for first, last in sorted(intervals):
        length += max(last - max(first, end), 0)
        end = max(end, last)
    return length


def sum_waits(buffers, from_, to, since=None):
    """rank -> ns that it waited for the slow one in a step, from one of the readings of its own arrivals to one of the
    slow one's; since: rank -> when its compute was over, and what lies before is left out"""
    sums = {}
    for rank in set(range(RANKS)) - {SLOW}:
        least = since[rank] if since else 0
        intervals = [(max(arrivals[rank][from_], least), arrivals[SLOW][to]) for row, arrivals in buffers
                     if row['last_rank'] == SLOW]
        sums[rank] = measure_union([(first, last) for first, last in intervals if first < last])
    return sums


def get_means(values):
    """Of all steps, and of what is left where the first ones are warm-up."""
    return [sum(values[first:]) / len(values[first:]) for first in range(len(values))]


def check_straggler(tables, log):
    rows = {row['rank']: row for row in tables['stragglers'] if row['level'] == 'rank'}
    slow = rows.pop(SLOW)
    steps = get_buffers(tables, log)
    last = [get_last(arrivals) for buffers in steps.values() for _, arrivals in buffers]
    broadcasts = [row for row in tables['collectives'] if row['operation'] != 'allreduce']
    others = len(last) - last.count(SLOW) + len(broadcasts)
    assert slow['times_last'] >= last.count(SLOW), (slow, last)
    assert sum(row['times_last'] for row in rows.values()) <= others, (rows, last)
    least = {step: sum_waits(buffers, 1, 0) for step, buffers in steps.items()}
    most = {step: sum_waits(buffers, 0, 1) for step, buffers in steps.items()}
    # What comes before the first step is waited for as well.
    before = sum((RANKS - 1) * row['wait_max_aligned_ns'] for row in broadcasts if row['last_rank'] == SLOW)
    found = slow['waited_for_ns']
    limits = (sum(sum(waits.values()) for waits in least.values()),
              sum(sum(waits.values()) for waits in most.values()) + before)
    assert limits[0] <= found <= limits[1], f'{found} ns were waited for it, by the log {limits}'
    # What is hidden behind the others' own compute costs nothing.
    over = {(int(row['step']), int(row['rank'])): int(row['time_ns']) for row in log if row['event'] == 'wait_begin'}
    exposed = [min(sum_waits(steps[step], 1, 0, {rank: over[step, rank] for rank in range(RANKS)}).values())
               for step in range(STEPS)]
    cost = slow['cost_ns_per_step']
    limits = (min(get_means(exposed)) - 1, max(get_means([min(most[step].values()) for step in range(STEPS)])) + 1)
    assert limits[0] <= cost <= limits[1], f'costs {cost} ns a step, by the log {limits}'
    if last.count(SLOW) < 4 * others or limits[0] < 0.5 * SLOW_MS * 1e6:
        raise NotAsTold(f'rank {SLOW} was last {last.count(SLOW)} times, others {others}, and cost {limits} ns a step')


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
    for number in range(RECORDINGS):
        tables, log = get_recording(recordings, number)
        try:
            check(tables, log)
            return None, True
        except NotAsTold as text:
            print(f'# recording {number + 1}: {text}')
        except (AssertionError, KeyError, TypeError) as fault:
            return f'{type(fault).__name__}: {fault}', True
    return None, False


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
