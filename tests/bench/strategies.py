#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""strategies.py BUILD [--rounds N] [--short]: what a strategy of reduction changes, as a table.

Plays the workloads of samples/workloads on 8 ranks, cycle start by clock, under each control, with and
without groups (the layers), and by bare MPI_Allreduce per tensor in a fixed order. All figures come out
of the recorded traces, by `lockstep report --format json`, of the steps after the first ones. Then
the tree by how often a rank looks, and messages and bytes at rank 0 for 2 to 16 ranks. Fails where grouping does not make fewer and larger
buffers than bitvector alone, or bitvector not fewer messages and bytes at rank 0 than coordinator, the
more so the more ranks. --rounds N: strategies alternate N times, each cell is the median (3). --short: one
workload, one round, up to 8 ranks. Columns are explained in README.md.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[1]).resolve()
SHORT = '--short' in sys.argv
RANKS, STEPS, FIRST, CYCLE_MS = 8, 12, 4, 2
ROUNDS = int(sys.argv[sys.argv.index('--rounds') + 1]) if '--rounds' in sys.argv else 1 if SHORT else 3

# What makes the workload fit two cores: its times and its bytes are divided by these.
WORKLOADS = {'resnet50': (1, 32), 'fcdensenet': (2, 64), 'bert-base': (0.5, 128), 'small-2000': (0.5, 8)}
BITVECTOR = 'control=bitvector;cache_capacity=4096;'
STRATEGIES = {
    'coordinator': 'control=coordinator;grouping=none',
    'tree': 'control=tree;grouping=none',
    'bitvector': BITVECTOR + 'grouping=none',
    'bitvector + groups': BITVECTOR + 'grouping=lists',
    'bare MPI_Allreduce': None,
}


def environment():
    values = dict(os.environ)
    for name in ('OMPI_ALLOW_RUN_AS_ROOT', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM',
                 'OMPI_MCA_rmaps_base_oversubscribe', 'OMPI_MCA_mpi_yield_when_idle'):
        values.setdefault(name, '1')
    values.setdefault('OMPI_MCA_hwloc_base_binding_policy', 'none')
    return values


def call(arguments, folder):
    done = subprocess.run([str(argument) for argument in arguments], cwd=folder, env=environment(),
                          capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise RuntimeError(f'{arguments}: {done.stderr or done.stdout}')
    return done.stdout


def record(workload, ranks, settings, steps, scale, start=f'cycle_start=clock;cycle_time_ms={CYCLE_MS}'):
    """The tables of a recorded run, of its steps from FIRST on."""
    times, size = scale
    arguments = ['mpirun', '-np', ranks, BUILD / 'samples/replay', '--workload',
                 ROOT / f'samples/workloads/{workload}.json', '--steps', steps, '--scale-times', times,
                 '--scale-bytes', size, '--run', 'run']
    arguments += ['--bare'] if settings is None else [
        '--strategy', f'{start};{settings}']
    with tempfile.TemporaryDirectory() as folder:
        call(arguments, folder)
        report = call([BUILD / 'src/cli/lockstep', 'report', 'run', '--format', 'json', '--step',
                       f'{FIRST}:{steps - 1}'], folder)
    tables = json.loads(report)['tables']
    return tables


def median(rows, column):
    return statistics.median(row[column] for row in rows)


def mean(rows, *columns):
    return statistics.mean(sum(row[column] for column in columns) for row in rows)


def measure(tables, bare):
    """The row of the table; None: not recorded."""
    steps = tables['steps']
    row = {'step': median(steps, 'step_ns') / 1e6,
           'exposed': median(steps, 'idle_ns' if bare else 'exposed_ns') / 1e6,
           'waited': median(steps, 'idle_ns' if bare else 'waited_for_ns') / 1e6,
           'lost': sum(rank['lost'] for rank in tables['ranks'])}
    if bare:
        return row
    n = len({step['step'] for step in steps})
    buffers = [buffer for buffer in tables['collectives'] if buffer['step'] is not None]
    control = tables['control']
    root = next(rank for rank in control if rank['rank'] == 0)
    count = sum(tensor['count'] for tensor in tables['tensors'])
    protocol = sum(tensor['protocol_ns'] * tensor['count'] for tensor in tables['tensors'])
    row.update({
        'cycles': mean(control, 'cycles'),
        'messages': root['messages_in'] + root['messages_out'],
        'bytes': root['bytes_in'] + root['bytes_out'],
        'buffers': len(buffers) / n,
        'size': mean(buffers, 'bytes'),
        'control': mean(control, 'busy_ns', 'wait_ns') / 1e6,
        'protocol': protocol / count / 1e6})
    return row


COLUMNS = [('cycles', 'cycles a step', '{:.1f}'), ('messages', 'messages at rank 0', '{:.0f}'),
           ('bytes', 'bytes at rank 0', '{:,.0f}'), ('buffers', 'buffers a step', '{:.1f}'),
           ('size', 'mean buffer, kB', '{:.1f}'), ('control', 'in control, ms a step', '{:.1f}'),
           ('protocol', 'protocol, ms a tensor', '{:.2f}'), ('exposed', 'exposed, ms', '{:.1f}'),
           ('waited', 'waited for, ms', '{:.1f}'), ('step', 'step, ms', '{:.1f}'), ('lost', 'records lost', '{:.0f}')]


def print_row(name, row):
    cells = []
    for key, _, form in COLUMNS:
        value = row.get(key)
        cells.append('-' if value is None else form.format(value / 1e3 if key == 'size' else value))
    print(f'| {name} | ' + ' | '.join(cells) + ' |', flush=True)


def study(workload, steps, faults):
    times, size = WORKLOADS[workload]
    print(f'\n**{workload}** on {RANKS} ranks, times / {times}, bytes / {size}, cycle time {CYCLE_MS} ms\n')
    print('| strategy | ' + ' | '.join(title for _, title, _ in COLUMNS) + ' |')
    print('|---' + '|---:' * len(COLUMNS) + '|')
    rounds = {name: [] for name in STRATEGIES}
    for _ in range(ROUNDS):
        for name, settings in STRATEGIES.items():
            tables = record(workload, RANKS, settings, steps, WORKLOADS[workload])
            rounds[name].append(measure(tables, settings is None))
    rows = {name: {key: median(found, key) for key in found[0]} for name, found in rounds.items()}
    for name, row in rows.items():
        print_row(name, row)
    alone, groups = rows['bitvector'], rows['bitvector + groups']
    if not (groups['buffers'] < alone['buffers'] and groups['size'] > alone['size']):
        faults.append(f'{workload}: groups make {groups["buffers"]:.1f} buffers of {groups["size"]:.0f} bytes, '
                      f'bitvector alone {alone["buffers"]:.1f} of {alone["size"]:.0f}')


def count_messages(counts, steps, faults):
    print('\n**fcdensenet**: messages and bytes of the control at rank 0, in and out\n')
    print('| ranks | coordinator: messages a cycle | bytes a step | bitvector: messages a cycle | '
          'bytes a step | ratio of messages | of bytes |')
    print('|---:' * 7 + '|')
    before = (0, 0)
    for ranks in counts:
        cells, ratios = [], []
        for name in ('coordinator', 'bitvector'):
            row = measure(record('fcdensenet', ranks, STRATEGIES[name], steps, (8, 512)), False)
            cells.append((row['messages'] / row['cycles'], row['bytes']))
        ratios = tuple(one / other for one, other in zip(*cells))
        print(f'| {ranks} | ' + ' | '.join(f'{messages:.1f} | {size:,.0f}' for messages, size in cells) +
              f' | {ratios[0]:.1f} | {ratios[1]:.1f} |', flush=True)
        if min(ratios) <= 1 or any(now <= then for now, then in zip(ratios, before)):
            faults.append(f'{ranks} ranks: coordinator / bitvector is {ratios}, with fewer ranks {before}')
        before = ratios


def vary_looks(workload, steps):
    """How the tree depends on the time between two looks, which each level waits for."""
    starts = {f'by clock, {ms} ms': f'cycle_start=clock;cycle_time_ms={ms}' for ms in (4, 2, 1)}
    starts['by event'] = 'cycle_start=event'
    print(f'\n**{workload}**, tree on {RANKS} ranks: when a rank looks\n')
    print('| cycle start | ' + ' | '.join(title for _, title, _ in COLUMNS) + ' |')
    print('|---' + '|---:' * len(COLUMNS) + '|')
    for name, start in starts.items():
        rows = [measure(record(workload, RANKS, STRATEGIES['tree'], steps, WORKLOADS[workload], start), False)
                for _ in range(ROUNDS)]
        print_row(name, {key: median(rows, key) for key in rows[0]})


def main():
    faults = []
    for workload in ['fcdensenet'] if SHORT else WORKLOADS:
        study(workload, 8 if SHORT else STEPS, faults)
    if not SHORT:
        vary_looks('resnet50', STEPS)
    count_messages((2, 4, 8) if SHORT else (2, 4, 8, 16), 8, faults)
    print()
    for fault in faults:
        print(f'not so: {fault}')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
