# SPDX-License-Identifier: Apache-2.0
"""columns.py SYNTH LOCKSTEP: every table and column that metrics.md names, by that name, in JSON and CSV, with the
type that its unit asks for and null where nothing is known. The list is read from metrics.md itself. Prints TAP."""
import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SYNTH, LOCKSTEP = sys.argv[1:3]
METRICS = pathlib.Path(os.environ.get('LOCKSTEP_SHARED', '../shared')) / 'metrics.md'
LATER = {'blame'}  # of a later issue: critical path
TEXTS = {'host', 'device', 'clock_method', 'communicator', 'operation', 'verdict', 'tensor', 'group', 'path', 'level',
         'phase', 'class', 'component', 'severity', 'file', 'text', 'cause', 'evidence'}
FLAGS = {'warmup', 'cut'}
REALS = {'overlap_ratio', 'share', 'bus_bytes_per_s', 'times_last_by_chance', 'flops', 'watts_mean', 'watts_max',
         'energy_j', 'messages_in', 'messages_out', 'bytes_in', 'bytes_out'}


def read_tables():
    text = METRICS.read_text(encoding='utf-8')
    text = text[text.index('## Tables of `lockstep report`'):]
    found = {}
    for name, cells in re.findall(r'^\| `(\w+)` \| [^|]+ \| (.+) \|$', text, re.M):
        columns = re.sub(r'\([^()]*\)', '', cells)
        found[name] = [column.strip() for column in columns.split(',')]
    return found


def report(run, form):
    done = subprocess.run([LOCKSTEP, 'report', run, '--format', form], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def read_csv(text):
    tables = {}
    for part in re.split(r'^# ', text, flags=re.M)[1:]:
        name, rows = part.split('\n', 1)
        tables[name] = list(csv.reader(io.StringIO(rows.rstrip('\n') + '\n')))
    return tables


def check_cell(table, column, value):
    where = f'{table}.{column} = {value!r}'
    if value is None:
        return
    if column in TEXTS:
        assert isinstance(value, str), where
    elif column in FLAGS:
        assert isinstance(value, bool), where
    elif column in REALS or (table == 'control' and column != 'rank'):
        assert isinstance(value, (int, float)) and not isinstance(value, bool), where
    else:
        assert isinstance(value, int) and not isinstance(value, bool), where
    if column in ('share', 'overlap_ratio'):
        assert 0 <= value <= 1.05, where
    moments = ('start_ns', 'end_ns', 'first_ns', 'last_ns', 'clock_offset_ns', 'spread_ns')
    if column.endswith(('_ns', 'bytes')) and column not in moments:
        assert value >= 0, where


def check_table(name, columns, rows, lines):
    header, cells = lines[0], [line for line in lines[1:] if line]
    missing = [column for column in columns if column not in header]
    assert not missing, f'{name} lacks {missing}'
    assert len(set(header)) == len(header), f'{name}: a column twice'
    assert len(cells) == len(rows), f'{name}: {len(cells)} rows of CSV, {len(rows)} of JSON'
    for row, line in zip(rows, cells):
        assert list(row) == header, f'{name}: {list(row)} in JSON'
        for column, text in zip(header, line):
            if column not in columns:
                continue
            assert (text == '') == (row[column] is None or row[column] == ''), (name, column, text, row[column])
            check_cell(name, column, row[column])


def check_nulls(tables):
    for row in tables['overlap']:
        assert (row['overlap_ratio'] is None) == (not row['communication_ns']), row
        if row['overlap_ratio'] is not None:
            assert abs(row['overlap_ratio'] - row['hidden_ns'] / row['communication_ns']) < 1e-9, row
    for row in tables['collectives']:
        assert row['verdict'] in ('ok', 'tie', 'inconclusive', 'incomplete', 'bound'), row
        assert row['last_rank'] is not None or row['verdict'] != 'ok', row
    for row in tables['findings']:
        assert row['severity'] in ('error', 'warning', 'note') and row['text'], row
    parts = ('gate_ns', 'slowest_rank_ns', 'behind_ns', 'sleep_ns', 'protocol_ns')
    for row in tables['tensors']:
        assert row['negotiation_ns'] == sum(row[part] for part in parts), row


TESTS = []
if METRICS.exists():
    listed = read_tables()
    with tempfile.TemporaryDirectory() as folder:
        run = str(pathlib.Path(folder) / 'run')
        subprocess.run([SYNTH, '--steps', '8', '--late', '2:8', '--groups', '3', '--cut', '-o', run], check=True)
        tables, lines = json.loads(report(run, 'json'))['tables'], read_csv(report(run, 'csv'))
    TESTS = [(name, lambda name=name: check_table(name, listed[name], tables[name], lines[name]))
             for name in listed if name not in LATER]
    TESTS.append(('nulls and parts', lambda: check_nulls(tables)))
    TESTS.append(('no table is lost', lambda: check_all(listed)))


def check_all(found):
    assert len(found) >= 15 and set(found) - LATER <= set(tables), set(found) - set(tables)
    assert sum(len(columns) for columns in found.values()) > 100


print(f'1..{len(TESTS)}' if TESTS else '1..0 # SKIP ../shared/metrics.md is not here')
for number, (name, test) in enumerate(TESTS, 1):
    try:
        test()
        print(f'ok {number} {name}')
    except (AssertionError, KeyError) as fault:
        print(f'not ok {number} {name}\n# {type(fault).__name__} {str(fault)[:500]}')
