# SPDX-License-Identifier: Apache-2.0
"""report-cli.py SYNTH LOCKSTEP: what `lockstep report` answers on the command line. Prints TAP."""
import csv
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from native import chunks, seal

SYNTH, LOCKSTEP = sys.argv[1:3]


def report(*args):
    done = subprocess.run([LOCKSTEP, 'report', *map(str, args)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def tables_are_chosen(run):
    status, out, _ = report(run, '--table', 'ranks,steps', '--format', 'json')
    found = json.loads(out)
    assert status == 0 and list(found) == ['tables'] and list(found['tables']) == ['ranks', 'steps']
    found = json.loads(report(run, '--table', 'steps,ledger', '--table', 'ranks', '-t', 'steps', '--format', 'json')[1])
    assert list(found['tables']) == ['steps', 'ledger', 'ranks']


def all_tables_without_choice(run):
    found = json.loads(report(run, '--format', 'json')[1])
    assert {'ranks', 'overlap', 'steps', 'collectives', 'tensors', 'cycles', 'control', 'stragglers',
            'performance', 'ledger', 'findings'} <= set(found['tables'])
    assert len(found['headline']) == 5


def csv_and_json_agree(run):
    rows = list(csv.DictReader(io.StringIO(report(run, '--table', 'steps', '--format', 'csv')[1])))
    same = json.loads(report(run, '--table', 'steps', '--format', 'json')[1])['tables']['steps']
    assert [row['step_ns'] for row in rows] == [str(row['step_ns']) for row in same]


def filters_choose_ranks_and_steps(run):
    rows = json.loads(report(run, '--table', 'steps', '--rank', '1,3', '--step', '2:4', '--format',
                             'json')[1])['tables']['steps']
    assert {(row['rank'], row['step']) for row in rows} == {(r, s) for r in (1, 3) for s in (2, 3, 4)}


def unknown_names_are_usage_errors(run):
    for args, part in ((('--table', 'speed'), 'collectives'), (('--table', 'ranks', '--table', 'speed'), "table 'speed'"), (('-t', ''), "table ''"), (('-t', 'ranks,'), "table ''"),
                       (('--format', 'yaml'), 'json'),
                       (('--rank', '9'), 'ranks 0 to 3'), (('--rank', 'x'), '0,8-15'),
                       (('--step', '4:2'), 'A:B'), (('--step', '90:'), 'steps 0 to 5'),
                       (('--nope',), 'lockstep report --help'), (('--fail-if', 'speed>1'), 'waited_for_share')):
        status, out, err = report(run, *args)
        assert status == 2 and out == '' and part in err, (args, status, err)
    assert report()[0] == 2


def gates_decide_the_status(run):
    assert report(run, '--fail-if', 'step_ns<1')[0] == 0
    status, out, err = report(run, '--fail-if', 'step_ns>1', '--fail-if', 'lost>=0')
    assert status == 1 and out.startswith('Step ') and err.count('fails the run') == 2
    assert report(run, '--strict')[0] == 0


def what_cannot_be_read_is_three(run):
    status, _, err = report(pathlib.Path(run) / 'absent')
    assert status == 3 and err.count('\n') == 1


def one_of_two_absent_is_said_first(run):
    status, out, _ = report(run, pathlib.Path(run) / 'absent')
    assert status == 0 and '1 error among the findings' in out.split('\n\n')[0].replace('\n', ' '), out[:900]


def ranks_with_fewer_steps_are_named(run):
    part = pathlib.Path(run).parent / 'uneven'
    shutil.copytree(run, part)
    short = pathlib.Path(run).parent / 'short'
    subprocess.run([SYNTH, '--steps', '2', '--late', '2:8', '-o', short], check=True)
    for path in short.glob('rank-00001*'):
        shutil.copy(path, part)
    words = [row['text'] for row in json.loads(report(part, '--format', 'json')[1])['tables']['findings']]
    assert any('rank 1 has 2, rank 0 has 6' in text for text in words), words


def output_goes_to_a_file(run):
    path = pathlib.Path(run).parent / 'report.json'
    status, out, _ = report(run, '--format', 'json', '-o', path)
    assert status == 0 and out == '' and json.loads(path.read_text())['tables']
    status, _, err = report(run, '-o', pathlib.Path(run).parent / 'no' / 'folder.txt')
    assert status != 0 and 'cannot be written' in err


def a_missing_rank_is_missed(run):
    """The file of the slow one is lost: nobody else is accused, and no figure holds its place."""
    absent = 2
    part = pathlib.Path(run).parent / 'part'
    shutil.copytree(run, part)
    next(part.glob(f'rank-{absent:05d}.*')).unlink()
    found = json.loads(report(part, '--format', 'json')[1])
    rows = found['tables']
    assert any(row['severity'] == 'warning' and row['rank'] == absent and 'has no file' in row['text']
               for row in rows['findings']), rows['findings']
    assert all(row['exposed_wait_ns'] is None and row['negotiation_exposure_ns'] is None and
               row['waited_for_ns'] is not None for row in rows['steps'])
    assert all(row['slowest_rank_ns'] is None and row['most_often_last_rank'] is None and
               row['spread_ns'] is None for row in rows['tensors'])
    assert all(row['negotiation_ns'] == row['gate_ns'] + row['behind_ns'] + row['sleep_ns'] +
               row['protocol_ns'] for row in rows['tensors'])
    assert not rows['stragglers']
    ledger = {row['class']: row['mean_ns'] for row in rows['ledger']}
    whole = {row['class']: row['mean_ns'] for row in
             json.loads(report(run, '--rank', '0,1,3', '--format', 'json')[1])['tables']['ledger']}
    waits = ('exposed wait', 'exposed transfer', 'negotiation')
    assert ledger['exposed wait'] is None and whole['exposed wait'] > 5e6, (ledger, whole)
    assert abs(sum(ledger[name] or 0 for name in waits) - sum(whole[name] for name in waits)) < 1e5
    words = ' '.join(report(part)[1].split('\n\n')[0].split())
    for claim in ('once all ranks', 'submitted last', 'response cache', 'agreeing takes', '0 ns waiting'):
        assert claim not in words, words
    assert report(part, '--fail-if', 'straggler_cost_ns>1000000000')[0] == 1


def forget_rank(path, to):
    """The file as a process that never learnt its rank would have written it."""
    whole = b''
    for chunk in chunks(path.read_bytes()):
        chunk[16:24] = b'\xff' * 4 + (777).to_bytes(4, 'little')
        whole += seal(chunk)
    to.write_bytes(whole)


def a_process_of_no_known_rank_is_no_rank(run):
    """The late rank's file does not say whose it is: nothing calls it 0 or -1, or one of the ranks."""
    part = shutil.copytree(run, run.parent / 'unknown')
    path = sorted(part.glob('*.lks'))[2]
    forget_rank(path, part / 'other.lks')
    path.unlink()
    _, words, _ = report(part)
    words = ' '.join(words.split())
    assert '3 of 4 ranks' in words and 'processes of no known rank: 1' in words, words
    assert 'A process of no known rank (pid 777) was last in' in words and 'rank -1' not in words.lower(), words
    tables = json.loads(report(part, '--format', 'json')[1])['tables']
    assert [row['rank'] for row in tables['ranks']] == [0, 1, 3, None]
    assert -1 not in [row.get('rank') for rows in tables.values() for row in rows]
    info = subprocess.run([LOCKSTEP, 'info', part], capture_output=True, text=True, check=True).stdout
    assert '3 of 4' in info and '1 process of no known rank' in info, info


def damage_is_strict(run):
    path = sorted(pathlib.Path(run).glob('*.lks'))[0]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xff
    path.write_bytes(data)
    assert report(run)[0] == 0
    status, _, err = report(run, '--strict')
    assert status == 1 and 'findings above a note' in err


TESTS = [tables_are_chosen, all_tables_without_choice, csv_and_json_agree, filters_choose_ranks_and_steps,
         unknown_names_are_usage_errors, gates_decide_the_status, what_cannot_be_read_is_three,
         one_of_two_absent_is_said_first, ranks_with_fewer_steps_are_named,
         output_goes_to_a_file, a_missing_rank_is_missed,
         a_process_of_no_known_rank_is_no_rank, damage_is_strict]

print(f'1..{len(TESTS)}')
with tempfile.TemporaryDirectory() as folder:
    run = pathlib.Path(folder) / 'run'
    subprocess.run([SYNTH, '--steps', '6', '--late', '2:8', '-o', run], check=True)
    for number, test in enumerate(TESTS, 1):
        try:
            test(run)
            print(f'ok {number} {test.__name__}')
        except AssertionError as fault:
            print(f'not ok {number} {test.__name__}\n# {fault}')
