# SPDX-License-Identifier: Apache-2.0
"""groups.py MPIRUN REPLAY LOCKSTEP WORKLOAD: groups of a real run, in the report and in the picture. Prints TAP.

The workload's layers are the groups: each must be in the table with its tensors and bytes, in every step,
and no buffer may hold a part of one.
"""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

MPIRUN, REPLAY, LOCKSTEP, WORKLOAD = sys.argv[1], *(str(pathlib.Path(name).resolve()) for name in sys.argv[2:5])
RANKS, STEPS, DIVISOR = 4, 5, 64


def call(folder, *arguments):
    done = subprocess.run([str(argument) for argument in arguments], cwd=folder, capture_output=True,
                          text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def read_layers():
    """The layers as sorted (tensors, bytes)."""
    with open(WORKLOAD, encoding='utf-8') as file:
        tensors = json.load(file)['tensors']
    layers = collections.defaultdict(lambda: [0, 0])
    names = collections.defaultdict(set)
    for tensor in tensors:
        layers[tensor['layer']][0] += 1
        layers[tensor['layer']][1] += 2 * max(tensor['bytes'] // 2 // DIVISOR, 1)
        names[tensor['layer']].add(tensor['name'])
    return sorted(map(tuple, layers.values())), {frozenset(members) for members in names.values()}


def read_names():
    with open(WORKLOAD, encoding='utf-8') as file:
        return {tensor['layer'] for tensor in json.load(file)['tensors']}


def check_table(tables, folder):
    layers, _ = read_layers()
    groups = tables['groups']
    assert sorted((row['tensors'], row['bytes']) for row in groups) == layers, groups
    assert {row['count'] for row in groups} == {STEPS}, groups
    # What the tensors' names have in common, which is the layer, or the tensor where it is alone.
    assert {row['group'].split('/')[0] for row in groups} == read_names(), groups


def check_members(tables, folder):
    _, layers = read_layers()
    members = collections.defaultdict(set)
    for row in tables['tensors']:
        members[row['group']].add(row['tensor'])
    assert {frozenset(names) for names in members.values()} == layers, members


def check_gate(tables, folder):
    """The gate holds the first of a group until its last: inner wait, and gate in the tensors' parts."""
    waits = {row['group']: row['inner_wait_ns'] for row in tables['groups'] if row['tensors'] > 1}
    assert waits and all(wait > 0 for wait in waits.values()), waits
    longest = {}
    for row in tables['tensors']:
        longest[row['group']] = max(longest.get(row['group'], 0), row['gate_ns'])
    assert all(longest[group] > 0 for group in waits), longest


def check_whole(tables, folder):
    """A buffer's tensors and bytes are those of whole groups, so at most as many buffers as groups."""
    buffers = [row for row in tables['collectives'] if row['operation'] == 'allreduce']
    for step in range(STEPS):
        here = [row for row in buffers if row['step'] == step]
        assert 0 < len(here) <= len(tables['groups']), (step, here)
    assert all(row['buffers'] == STEPS for row in tables['groups']), tables['groups']


def check_picture(tables, folder):
    call(folder, LOCKSTEP, 'render', 'run', '--mode', 'tensor', '--step', STEPS - 1, '-o', 'run.png')
    size = (folder / 'run.png').stat().st_size
    assert size > 20000, f'a picture of {size} bytes'


def check_figure(tables, folder):
    """The figure has every layer by name, in the colours of groups, with edges; numbers of cycles beside."""
    call(folder, LOCKSTEP, 'render', 'run', '--figure', 'groups', '--step', STEPS - 1, '-o', 'figure.png')
    call(folder, LOCKSTEP, 'render', 'run', '--figure', 'groups', '--rank', 2, '--theme', 'dark', '-o', 'figure.svg')
    assert (folder / 'figure.png').stat().st_size > 50000
    svg = (folder / 'figure.svg').read_text(encoding='utf-8')
    curves = svg.count(' C ')
    assert curves > 33 + 30, f'{curves} curves: nodes and edges are missing'


def check_cache(tables, folder):
    """Every submission was looked up once: 33 tensors miss in the first step and hit in the others."""
    sums = {name: sum(row[name] for row in tables['cycles']) for name in ('hits', 'misses', 'invalid', 'evicted')}
    assert sums == {'hits': 33 * RANKS * (STEPS - 1), 'misses': 33 * RANKS, 'invalid': 0, 'evicted': 0}, sums
    assert all(row['hits'] == 0 for row in tables['cycles'] if row['path'] == 'slow'), tables['cycles']


TESTS = [
    ('/groups/figure-is-drawn', check_figure),
    ('/groups/cache-counts-every-submission-once', check_cache),
    ('/groups/table-has-every-layer', check_table),
    ('/groups/tensors-know-their-group', check_members),
    ('/groups/gate-holds-the-first-of-a-group', check_gate),
    ('/groups/no-group-is-split', check_whole),
    ('/groups/picture-by-tensor-is-drawn', check_picture),
]


def main():
    failed = 0
    print(f'1..{len(TESTS)}')
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        call(folder, MPIRUN, '-np', RANKS, REPLAY, '--workload', WORKLOAD, '--steps', STEPS, '--scale-times',
             4, '--scale-bytes', DIVISOR, '--run', 'run', '--strategy',
             'control=bitvector;cycle_start=clock;cycle_time_ms=2;grouping=lists')
        tables = json.loads(call(folder, LOCKSTEP, 'report', 'run', '--format', 'json'))['tables']
        for number, (title, check) in enumerate(TESTS, 1):
            try:
                check(tables, folder)
                print(f'ok {number} {title}')
            except (AssertionError, KeyError, TypeError) as fault:
                failed += 1
                print(f'not ok {number} {title}\n# {fault}'.replace('\n', '\n# ').replace('# # ', '# '))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
