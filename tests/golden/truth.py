# SPDX-License-Identifier: Apache-2.0
"""truth.py SYNTH LOCKSTEP: the report of a made-up run against what is true of it. Prints TAP.

`synth` knows every figure from the construction of the run; `lockstep report --format json` has only the
files, their clocks shifted and drifting. Every column that both have must agree: counts and sizes
exactly, durations of one rank within 2 us, what compares ranks within the stated uncertainty of the
clocks.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SYNTH, LOCKSTEP = sys.argv[1:3]
OWN_NS = 2000  # drift of 100 ppm over 20 ms

# Columns by what they may be off by: nothing, a rank's own clock, the clocks between ranks.
STEP_EXACT = ['samples', 'operations', 'cut']
STEP_OWN = ['step_ns', 'compute_ns', 'communication_ns', 'hidden_ns', 'exposed_ns', 'idle_ns', 'io_ns',
            'fusion_ns']
STEP_CLOCK = ['exposed_wait_ns', 'exposed_transfer_ns', 'waited_for_ns', 'negotiation_exposure_ns']
TENSOR_EXACT = ['bytes', 'count']
TENSOR_OWN = ['negotiation_ns', 'gate_ns', 'queue_ns', 'pack_ns', 'operation_ns', 'unpack_ns']
TENSOR_CLOCK = ['slowest_rank_ns', 'behind_ns', 'sleep_ns', 'protocol_ns', 'spread_ns']
BUFFER_EXACT = ['bytes', 'tensors', 'step']
BUFFER_OWN = ['wait_max_ns', 'transfer_ns']
BUFFER_CLOCK = ['wait_max_aligned_ns']


class Run:
    """A made-up run: what is true, and what the report says."""

    def __init__(self, folder, *options):
        run = pathlib.Path(folder) / 'run'
        truth = pathlib.Path(folder) / 'truth.json'
        subprocess.run([SYNTH, *map(str, options), '--truth', truth, '-o', run], check=True)
        report = subprocess.run([LOCKSTEP, 'report', run, '--format', 'json'], capture_output=True,
                                text=True, check=False)
        assert report.returncode == 0, f'exit status {report.returncode}: {report.stderr}'
        self.truth = json.loads(truth.read_text())
        self.tables = json.loads(report.stdout)['tables']
        self.clock_ns = 2 * max(row['clock_uncertainty_ns'] for row in self.tables['ranks']) + OWN_NS


def compare(what, found, true, exact, own, clock, run):
    for column in exact:
        assert found[column] == true[column], f'{what} {column}: {found[column]}, truth {true[column]}'
    for columns, tolerance in ((own, OWN_NS), (clock, run.clock_ns)):
        for column in columns:
            assert found[column] is not None, f'{what} {column}: null, truth {true[column]}'
            off = abs(found[column] - true[column])
            assert off <= tolerance, f'{what} {column}: {found[column]}, truth {true[column]}'


def check_ranks(run):
    assert len(run.tables['ranks']) == len(run.truth['ranks'])
    for found, true in zip(run.tables['ranks'], run.truth['ranks']):
        for column in ('rank', 'host', 'local_rank', 'pid', 'lost'):
            assert found[column] == true[column], f'rank {true["rank"]} {column}: {found[column]}'
        off = abs(found['clock_offset_ns'] - true['clock_offset_ns'])
        assert off <= found['clock_uncertainty_ns'] + OWN_NS, f'rank {true["rank"]}: clock off by {off}'


def check_steps(run):
    found = {(row['step'], row['rank']): row for row in run.tables['steps']}
    assert len(found) == len(run.truth['steps'])
    for true in run.truth['steps']:
        row = found[true['step'], true['rank']]
        what = f'step {true["step"]} rank {true["rank"]}'
        if true['cut']:
            assert row['cut'], f'{what} is not marked as cut'
        else:
            compare(what, row, true, STEP_EXACT, STEP_OWN, STEP_CLOCK, run)


def check_buffers(run):
    found = sorted(run.tables['collectives'], key=lambda row: row['start_ns'])
    assert len(found) >= len(run.truth['collectives'])
    for row, true in zip(found, run.truth['collectives']):
        what = f'buffer {true["buffer"]}'
        compare(what, row, true, BUFFER_EXACT, BUFFER_OWN, BUFFER_CLOCK, run)
        arrivals = sorted(true['arrival_ns'])
        if len(arrivals) == 1:
            continue
        if row['verdict'] == 'ok':
            assert row['last_rank'] == true['last_rank'], f'{what}: last is {row["last_rank"]}'
        else:
            assert row['verdict'] == 'tie', f'{what}: {row["verdict"]}'
            assert arrivals[-1] - arrivals[-2] <= run.clock_ns, f'{what}: no tie: {arrivals}'


def check_tensors(run):
    found = {row['tensor']: row for row in run.tables['tensors']}
    assert len(found) == len(run.truth['tensors'])
    for true in run.truth['tensors']:
        row = found[true['tensor']]
        clock = TENSOR_CLOCK if len(run.truth['ranks']) > 1 else TENSOR_CLOCK[:-1]  # no spread of one
        compare(true['tensor'], row, true, TENSOR_EXACT + ['group'], TENSOR_OWN, clock, run)
        parts = sum(row[name] for name in ('gate_ns', 'slowest_rank_ns', 'behind_ns', 'sleep_ns',
                                           'protocol_ns'))
        assert abs(parts - row['negotiation_ns']) <= 5, f'{true["tensor"]}: parts make {parts}'


def seeds(folder):
    for seed in range(2, 200 if os.environ.get('LOCKSTEP_LONG') else 6):
        part = pathlib.Path(folder) / str(seed)
        part.mkdir()
        try:
            check_all(part, '--seed', seed, '--steps', 6 + seed % 7, '--ranks', 2 + seed % 5,
                      '--ranks-per-host', 1 + seed % 3, '--tensors', 3 + seed * 7 % 31,
                      '--groups', seed % 4, '--late', f'{seed % 2}:{seed * 5 % 23}:{seed % 3}')
        except AssertionError as fault:
            raise AssertionError(f'seed {seed}: {fault}') from fault


def check_all(folder, *options):
    run = Run(folder, *options)
    check_ranks(run)
    check_steps(run)
    check_buffers(run)
    check_tensors(run)
    return run


def plain(folder):
    run = check_all(folder)
    assert all(row['severity'] == 'note' for row in run.tables['findings']), run.tables['findings']


def late(folder):
    run = check_all(folder, '--late', '2:20:5')
    costs = {row['rank']: row['cost_ns_per_step'] for row in run.tables['stragglers']
             if row['level'] == 'rank'}
    assert max(costs, key=lambda rank: costs[rank] or 0) == 2, costs


def skewed(folder):
    run = check_all(folder, '--ranks', 4, '--ranks-per-host', 1, '--offset-ms', 5000, '--drift-ppm', 100,
                    '--steps', 40, '--asymmetry-percent', 30)
    # Two hops of hosts, each as unsure as half its fastest round trip (40 us and some noise).
    assert run.clock_ns < 2 * 100000 + OWN_NS, f'the uncertainty is {run.clock_ns / 2}'


def grouped(folder):
    check_all(folder, '--groups', 3, '--ranks', 6, '--ranks-per-host', 3)


def fused(folder):
    check_all(folder, '--cycle-ms', 8, '--fusion-bytes', 65536, '--checkpoint-every', 5)


def alone(folder):
    check_all(folder, '--ranks', 1)


def cut_off(folder):
    run = Run(folder, '--cut', '--seed', 3)
    check_ranks(run)
    check_steps(run)
    check_buffers(run)


def lossy(folder):
    run = Run(folder, '--lost', '1:100')
    check_ranks(run)
    check_steps_of(run, {0, 2, 3})


def check_steps_of(run, ranks):
    """A rank's own columns, where another rank's recording is not whole."""
    found = {(row['step'], row['rank']): row for row in run.tables['steps']}
    for true in run.truth['steps']:
        if true['rank'] in ranks:
            what = f'step {true["step"]} rank {true["rank"]}'
            compare(what, found[true['step'], true['rank']], true, STEP_EXACT, STEP_OWN, [], run)


def damaged(folder):
    run = Run(folder, '--damage', '3:40000:8')
    check_steps_of(run, {0, 1, 2})
    faults = [row for row in run.tables['findings'] if row['severity'] == 'error']
    assert faults and all('rank-00003' in row['file'] for row in faults), run.tables['findings']
    assert any(row['offset'] is not None and row['offset'] <= 40000 for row in faults), faults


TESTS = [
    ('/truth/plain', plain),
    ('/truth/late-rank', late),
    ('/truth/skewed-clocks', skewed),
    ('/truth/groups', grouped),
    ('/truth/fused-buffers', fused),
    ('/truth/one-rank', alone),
    ('/truth/seeds', seeds),
    ('/truth/cut-step', cut_off),
    ('/truth/lost-records', lossy),
    ('/truth/damaged-file', damaged),
]


def main():
    failed = 0
    print(f'1..{len(TESTS)}')
    for number, (name, check) in enumerate(TESTS, 1):
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(folder)
                print(f'ok {number} {name}', flush=True)
            except (AssertionError, KeyError, OSError, ValueError, subprocess.SubprocessError) as fault:
                failed += 1
                print(f'not ok {number} {name}')
                print(f'# {type(fault).__name__}: {fault}', flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
