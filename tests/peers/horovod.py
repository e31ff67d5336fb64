#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""horovod.py BUILD PYTHON [--only CASE,...] [--rounds N] [--again]: what horovod.sh runs.

Each case is a real Horovod job under a known schedule (peers/horovod-job.py). Where names can be
known, every tensor must have its name, bytes, submission, agreement, end and buffer on every rank,
in the order and with the distances of the schedule; the late one must be named, by the report too.
Where they cannot be, what remains must be there and what is missing be said. Then steps a second
without the recorder and with it, N times (5) one after the other: median and quartiles. --again: only looks at the runs that are there."""
import collections
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

BUILD, PYTHON = pathlib.Path(sys.argv[1]), sys.argv[2]
JOB = pathlib.Path(os.environ['LOCKSTEP_SHARED']) / 'peers/horovod-job.py'
FOLDER = BUILD / 'peers'
RANKS, STEPS, LONG, COMPUTE_MS, LATE_MS = 4, 20, 200, 1, 20
SIZES = {'fc.bias': 40, 'fc.weight': 20480, 'layer4.bn': 2048, 'layer4.conv': 1048576, 'layer3.bn': 1024,
         'layer3.conv': 524288, 'layer2.bn': 512, 'layer2.conv': 262144, 'layer1.bn': 256, 'layer1.conv': 65536,
         'stem.bn': 128, 'stem.conv': 6912}
PLAIN = {'allreduce.' + name: size for name, size in SIZES.items()}
GROUPED = {f'grouped_allreduce.group{i // 4}_{i % 4 + 1}of4': size for i, size in enumerate(SIZES.values())}
MIXED = PLAIN | {'broadcast.bcast': 400, 'allgather.gather': None, 'alltoall.a2a': None, 'reducescatter.rs': None}

Case = collections.namedtuple('Case', 'settings options arguments tensors late said', defaults=({}, (), (), PLAIN, None, ()))
CASES = {
    'cached': Case(),
    'uncached': Case({'HOROVOD_CACHE_CAPACITY': '0'}),
    'late rank': Case(arguments=('--slow-rank', '2', '--slow-ms', LATE_MS), late=2),
    'late tensor': Case(arguments=('--slow-rank', '1', '--slow-ms', LATE_MS, '--late-tensor', 'layer3.conv'), late=1),
    'grouped': Case(arguments=('--groups', '3'), tensors=GROUPED),
    'all operations': Case(arguments=('--mix',), tensors=MIXED),
    'shape changes': Case(arguments=('--reshape', 'layer3.conv'), tensors=PLAIN | {'allreduce.layer3.conv': None}),
    'own timeline': Case({'HOROVOD_TIMELINE': '{folder}/own.json'}),
    'timeline begun by the program': Case({'HOROVOD_TIMELINE': 'DYNAMIC'}, (), ('--dynamic',), None,
                                          said=("The file of Horovod's timeline is not here",)),
    'no timeline': Case(options=('--horovod=ranges',), tensors=None, said=('no Horovod timeline',)),
    'no ranges': Case({'HOROVOD_DISABLE_NVTX_RANGES': '1'}, tensors=None, said=('emitted no NVTX range',)),
    'control on Gloo': Case({'HOROVOD_CONTROLLER': 'gloo', 'HOROVOD_CPU_OPERATIONS': 'gloo'}, said=('control is not visible',)),
}


def launch(name, settings, words):
    """One rank's command under mpirun, or under horovodrun, which brings Gloo's rendezvous."""
    gloo = settings.get('HOROVOD_CONTROLLER') == 'gloo'
    values = {key: value.format(folder=FOLDER / name) for key, value in settings.items()}
    start = ['mpirun', '-np', RANKS]
    if gloo:
        start = [pathlib.Path(PYTHON).parent / 'horovodrun', '--gloo', '-np', RANKS]
    shutil.rmtree(FOLDER / name, ignore_errors=True)
    (FOLDER / name).mkdir(parents=True)
    done = subprocess.run([str(word) for word in [*start, *words]], env=os.environ | values, capture_output=True,
                          text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise RuntimeError(f'the job failed: {(done.stderr or done.stdout)[-2000:]}')
    return done.stderr


def job(name, settings, options, steps, arguments):
    """Runs one job; options None: without the recorder. Returns the steps a second that rank 0 made."""
    recorder = [] if options is None else [BUILD / 'tracer/lockstep-record', '-o', FOLDER / name / 'run',
                                           *(options or ['--horovod']), '--']
    launch(name, settings, [*recorder, PYTHON, JOB, '--out', FOLDER / name / 'job', '--steps', steps,
                            '--compute-ms', COMPUTE_MS, *arguments])
    return steps / json.loads((FOLDER / name / 'job.truth.json').read_text())['wall_s']


def read_uses(name):
    fields = 'rank tensor occurrence group bytes submit agreed done start end'.split()
    text = subprocess.run([BUILD / 'tests/peers/uses', FOLDER / name / 'run'], capture_output=True, text=True,
                          check=True).stdout
    rows = [dict(zip(fields, line.split('\t'))) for line in text.splitlines()]
    for row in rows:
        row.update({key: None if row[key] == '-' else int(row[key])
                    for key in fields if key not in ('tensor', 'group')})
    return rows


def check_use(row, size):
    moments = [row[key] for key in ('submit', 'agreed', 'done', 'start', 'end')]
    if size is not None and row['bytes'] != size:
        return f'has {row["bytes"]} bytes, not {size}'
    if None in moments:
        return f'lacks a moment: {row}'
    submit, agreed, done, start, end = moments
    # Rank 0's timeline counts whole microseconds.
    if not (submit <= done and start <= end <= done + 2000 and submit <= start + 2000):
        return f'has its moments in no possible order: {row}'
    if agreed > done + 2000:
        return f'is agreed after its end: {row}'
    return None


def check_schedule(case, found):
    """Tensors of one step are submitted in the schedule's order, a sleep apart; the late one last of all ranks."""
    names = [name for name in case.tensors if 'allreduce' in name]
    for rank in range(RANKS):
        for step in range(STEPS):
            moments = [found[rank, name, step]['submit'] for name in names]
            apart = 0 if case.tensors is GROUPED else COMPUTE_MS * 1e6
            if any(b - a < apart for a, b in zip(moments, moments[1:])):
                yield f'rank {rank}, step {step}: tensors are not submitted as scheduled'
    if case.late is None:
        return
    name = 'allreduce.layer3.conv' if '--late-tensor' in case.arguments else names[0]
    submits = [[found[rank, name, step]['submit'] for rank in range(RANKS)] for step in range(1, STEPS)]
    last = sum(max(row) == row[case.late] for row in submits)
    wait = statistics.median(max(row) - statistics.median(row) for row in submits)
    # On a busy machine others are late as well, now and then.
    if last < 0.75 * len(submits) or wait < 0.5 * LATE_MS * 1e6:
        yield (f'{name}: rank {case.late}, late by {LATE_MS} ms, was last in {last} of {len(submits)} steps; '
               f'the others waited {wait / 1e6:.1f} ms')


def check_named(case, uses):
    found = {}
    for row in uses:
        key = row['rank'], row['tensor'], row['occurrence']
        if row['tensor'] == 'barrier.noname':
            continue  # known from rank 0's timeline alone: it has no NVTX range
        if row['tensor'] not in case.tensors:
            yield f'{row["tensor"]} is no tensor of the schedule'
        elif key in found:
            yield f'{key} is there twice'
        else:
            fault = check_use(row, case.tensors[row['tensor']])
            if fault:
                yield f'{key} {fault}'
        found[key] = row
    want = {(rank, name, step) for rank in range(RANKS) for name in case.tensors for step in range(STEPS)}
    for key in sorted(want - set(found)):
        yield f'{key} is missing'
    if want <= set(found):
        yield from check_schedule(case, found)


def check_report(case, tables):
    texts = [row['text'] for row in tables['findings']]
    ranks = [row for row in tables['stragglers'] if row['level'] == 'rank']
    late = max(ranks, key=lambda row: row['times_last'])['rank'] if ranks else None
    if case.late is not None and late != case.late:
        yield f'rank {case.late} was late, the report names {late}'
    for word in case.said:
        if not any(word in text for text in texts):
            yield f'nothing says "{word}": {texts}'
    for text in texts:
        if 'without names' in text or (case.tensors and 'no Horovod timeline' in text):
            yield f'it says: {text}'
    if not tables['cycles'] and 'control is not visible' not in case.said:
        yield 'no cycle of the control was seen'


def check_own_timeline(name):
    path = FOLDER / name / 'own.json'
    if not path.exists():
        yield f'the timeline that the user asked for is not at {path}'
    else:
        json.loads(path.read_text())
    copies = sorted(file.name for file in (FOLDER / name / 'run').glob('horovod-*'))
    if copies != ['horovod-00000.json']:
        yield f'one timeline was written, the run holds {copies}'


def check(name, case):
    uses = read_uses(name)
    text = subprocess.run([BUILD / 'src/cli/lockstep', 'report', FOLDER / name / 'run', '--format', 'json'],
                          capture_output=True, text=True, check=True).stdout
    tables = json.loads(text)['tables']
    faults = []
    if case.tensors is not None:
        faults += check_named(case, uses)
    faults += check_report(case, tables)
    if case.settings.get('HOROVOD_TIMELINE', 'DYNAMIC') != 'DYNAMIC':
        faults += check_own_timeline(name)
    paths = ', '.join(f'{row["cycles"]} {row["path"]}' for row in tables['cycles']) or 'not visible'
    tensors = {row['tensor'] for row in uses}
    print(f'{name}: {len(uses)} uses of {len(tensors)} tensors, cycles: {paths}'
          f'{"" if faults else ": as scheduled"}', flush=True)
    for fault in faults[:8]:
        print(f'  not so: {fault}')
    if len(faults) > 8:
        print(f'  and {len(faults) - 8} more')
    return not faults


def rates(rounds):
    ways = {'without record': ({}, None),
            "with Horovod's timeline alone": ({'HOROVOD_TIMELINE': '{folder}/own.json'}, None),
            'record --horovod=ranges': ({}, ['--horovod=ranges', '--quiet']),
            'record --horovod': ({}, ['--horovod', '--quiet'])}
    found = {way: [] for way in ways}
    for _ in range(rounds):
        for way, (settings, options) in ways.items():
            found[way].append(job('rate', settings, options, LONG, ()))
    base = found['without record']
    print(f'\nSteps a second, {LONG} steps, {rounds} rounds one after the other:\n')
    print('| way | lower quartile | median | upper quartile | of a round without, median |')
    print('|---|---:|---:|---:|---:|')
    for way, values in found.items():
        low, middle, high = statistics.quantiles(values, n=4, method='inclusive')
        share = statistics.median(value / other for value, other in zip(values, base))
        print(f'| {way} | {low:.1f} | {middle:.1f} | {high:.1f} | {share:.3f} |')


def main():
    only = list(CASES)
    if '--only' in sys.argv:
        only = [name for name in sys.argv[sys.argv.index('--only') + 1].split(',') if name]
    rounds = int(sys.argv[sys.argv.index('--rounds') + 1]) if '--rounds' in sys.argv else 5
    version = subprocess.run([PYTHON, '-c', 'import horovod; print(horovod.__version__)'], capture_output=True,
                             text=True, check=True).stdout.strip()
    print(f'Horovod {version}, {RANKS} ranks, {STEPS} steps of {len(SIZES)} tensors', flush=True)
    failed = []
    for name in only:
        case = CASES[name]
        try:
            if '--again' not in sys.argv:
                job(name, case.settings, case.options, STEPS, case.arguments)
            good = check(name, case)
        except (RuntimeError, subprocess.SubprocessError, OSError, ValueError) as error:
            print(f'{name}:\n  not so: {re.sub(str(FOLDER), "...", str(error))}', flush=True)
            good = False
        if not good:
            failed.append(name)
    if rounds > 1:
        rates(rounds)
    print(f'\n{len(only) - len(failed)} cases as scheduled, {len(failed)} not{": " if failed else ""}{", ".join(failed)}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
