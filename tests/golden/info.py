# SPDX-License-Identifier: Apache-2.0
"""info.py LOCKSTEP: what `lockstep info` and `lockstep check` say of Horovod timelines and of files that are
none. Prints TAP.

The counts of the timelines are derived here by a reading of their events with Python's json, which shares
nothing with the loader; the timelines lie at $LOCKSTEP_SHARED/horovod-timelines.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

LOCKSTEP = sys.argv[1]
SHARED = pathlib.Path(os.environ.get('LOCKSTEP_SHARED', '../shared')) / 'horovod-timelines'


def run(*arguments):
    return subprocess.run([LOCKSTEP, *map(str, arguments)], capture_output=True, text=True, check=False)


def read_events(path):
    """The events of an array that may never be closed."""
    text, decoder, at, events = path.read_text(), json.JSONDecoder(), 0, []
    while (at := text.find('{', at)) >= 0:
        event, at = decoder.raw_decode(text, at)
        events.append(event)
    return events


def check_timeline(path):
    events = read_events(path)
    found = run('info', path, '--format', 'json')
    assert found.returncode == 0, found.stderr
    row = json.loads(found.stdout)['tables']['info'][0]
    true = {
        'records': len(events),
        'tensors': len({event['pid'] for event in events if event['ph'] in 'BEX'}),
        'negotiations': sum(event['ph'] == 'B' and event['name'].startswith('NEGOTIATE_')
                            for event in events),
        'ticks': sum(event['ph'] == 'X' for event in events),
        'cycles': sum(event['ph'] == 'i' for event in events),
        'errors': 0,
    }
    for column, value in true.items():
        assert row[column] == value, f'{path.name} {column}: {row[column]}, in the file {value}'


def check_timelines():
    files = sorted(path for path in SHARED.rglob('*.json') if not path.name.endswith('.truth.json'))
    if not files:
        return 'SKIP no timelines at $LOCKSTEP_SHARED'
    for path in files:
        check_timeline(path)
    return f'{len(files)} files'


def check_begun():
    for content in ('', '[', '[\n'):
        with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
            file.write(content)
            file.flush()
            found = run('info', file.name)
            assert found.returncode == 0 and 'no events recorded' in found.stdout, found


def check_refused():
    with tempfile.TemporaryDirectory() as folder:
        image = pathlib.Path(folder) / 'x.png'
        text = pathlib.Path(folder) / 'text'
        image.write_bytes(b'\x89PNG\r\n\x1a\n\0\0\0\rIHDR')
        text.mkdir()
        (text / 'a.txt').write_text('hello\n')
        for path in (image, text, pathlib.Path(folder) / 'absent'):
            for command in ('info', 'check'):
                found = run(command, path)
                assert found.returncode == 3, f'{command} {path}: exit status {found.returncode}'
                assert found.stdout == '' and found.stderr.count('\n') == 1, found.stderr
                assert path.name in found.stderr and found.stderr.endswith('.\n'), found.stderr


def check_odd_paths():
    """A path that leads nowhere says why; a trace file that is none is not passed over in silence."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / 'loop').symlink_to('loop')
        (folder / 'begun.json').write_text('[')
        os.mkfifo(folder / 'rank-00001.x.1.lks')
        for path, part in ((folder / 'loop', 'symbolic links'), ('', 'empty'),
                           (folder / 'begun.json' / 'x', 'Not a directory')):
            found = run('info', path)
            assert found.returncode == 3 and part in found.stderr, found
        found = run('check', folder)
        assert found.returncode == 1 and 'rank-00001.x.1.lks is no regular file' in found.stdout, found


def check_unreadable():
    """A file that gave no byte for an error is not one that was begun."""
    with tempfile.TemporaryDirectory() as name:
        cut = pathlib.Path(name) / 'cut.json.gz'
        cut.write_bytes(b'\x1f\x8b')
        for path, why in ((cut, 'ends early'), (pathlib.Path('/proc/self/mem'), 'Input/output error')):
            found = run('info', path)
            assert found.returncode == 3 and found.stdout == '', found
            assert f'{path} cannot be read' in found.stderr and why in found.stderr, found


def check_ranks():
    """How many took part is said where the recording knows it; a rank is counted once, whatever its lives."""
    first = '[{"ph":"M","name":"process_name","pid":1,"args":{"name":"a"}},'
    begin = '{"ph":"B","name":"NEGOTIATE_ALLREDUCE","pid":1,"ts":5},'
    end = '{"ph":"E","pid":1,"ts":9},{"ph":"B","name":"ALLREDUCE","pid":1,"ts":9}]'
    for ticks, said, expected in (('', '1, of how many is not recorded', None),
                                  ('{"ph":"X","name":"0","pid":1,"ts":6,"dur":0},'
                                   '{"ph":"X","name":"1","pid":1,"ts":7,"dur":0},',
                                   '1 of 2 recorded; 1 more known by their ticks', 2)):
        with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
            file.write(first + begin + ticks + end)
            file.flush()
            lines = run('info', file.name).stdout.split('\n')
            assert f'ranks         {said}' in lines, lines
            row = json.loads(run('info', file.name, '--format', 'json').stdout)['tables']['info'][0]
            assert (row['ranks'], row['ranks_expected'], row['lives']) == (1, expected, 1), row
            report = run('report', file.name).stdout
            words = ' '.join(report.split('\n\n')[0].split())
            assert ('1 of 2 ranks' if expected else '1 rank, of how many is not recorded') in words, words
            assert "No buffer's operation ended in this recording" in report and ' 0 ns each' not in report, report


def check_help():
    """Only what can be run is listed."""
    with tempfile.TemporaryDirectory() as name:
        alone = pathlib.Path(name) / 'lockstep'
        alone.write_bytes(pathlib.Path(LOCKSTEP).read_bytes())
        alone.chmod(0o755)
        for programs in ((), ('record',), ('record', 'view')):
            for program in programs:
                (alone.parent / f'lockstep-{program}').write_text('#!/bin/sh\n')
                (alone.parent / f'lockstep-{program}').chmod(0o755)
            listed = subprocess.run([alone, 'help'], capture_output=True, text=True, check=True,
                                    env={'PATH': name}).stdout
            for program in ('record', 'view'):
                assert (f'\n  {program} ' in listed) == (program in programs), listed
            assert '\n  report ' in listed


def check_usage():
    for arguments in (['no-such'], ['info'], ['info', '--format', 'xml', '.'], ['info', '--no-such', '.']):
        found = run(*arguments)
        assert found.returncode == 2 and found.stderr, f'{arguments}: {found}'
    for arguments in (['help'], ['--version'], ['help', 'info'], ['info', '--rules']):
        found = run(*arguments)
        assert found.returncode == 0 and found.stdout, f'{arguments}: {found}'


def check_ascii_help():
    """Of every command, so that no terminal shows "?" for an ellipsis."""
    for locale in ('C', 'C.UTF-8'):
        for command in ('info', 'check', 'report', 'render', 'settings'):
            for arguments in ([command, '--help'], [command, '-h'], ['help', command]):
                found = subprocess.run([LOCKSTEP, *arguments], capture_output=True, text=True, check=True,
                                       env={**os.environ, 'LC_ALL': locale})
                assert found.stdout.startswith(f'Usage:\n  lockstep {command} [OPTION...]'), found
                assert found.stdout.isascii() and '[OPTION?' not in found.stdout and not found.stderr, found


def check_plain_locale():
    """Where no locale is set, as in a container, names are UTF-8 all the same."""
    plain = {key: value for key, value in os.environ.items() if key != 'LANG' and not key.startswith('LC_')}
    with tempfile.TemporaryDirectory() as name:
        found = subprocess.run([LOCKSTEP, 'info', '--rank', 'µ', name], capture_output=True, check=False, env=plain)
        assert found.returncode == 3 and name in found.stderr.decode(), found


def check_view_help():
    """In ASCII, so that no terminal shows "?" for an ellipsis; and named as it is called."""
    view = pathlib.Path(LOCKSTEP).resolve().parents[2] / 'ui' / 'lockstep-view'
    if not view.exists():
        return
    found = subprocess.run([view, '--help'], capture_output=True, text=True, check=True,
                           env={**os.environ, 'LC_ALL': 'C'})
    assert found.stdout.startswith('Usage:\n  lockstep view [OPTION...] [RUN...]\n'), found
    assert '?' not in found.stdout and not found.stderr, found


def check_view_without_display():
    """1 is a failed gate's alone."""
    view = pathlib.Path(LOCKSTEP).resolve().parents[2] / 'ui' / 'lockstep-view'
    if not view.exists():
        return 'SKIP the window is not built'
    bare = {key: value for key, value in os.environ.items() if key not in ('DISPLAY', 'WAYLAND_DISPLAY')}
    for arguments, status, part in (((), 2, 'no display'), (('--theme', 'blue'), 2, '--theme'),
                                    (('--nope',), 2, 'lockstep view --help'), (('absent',), 3, 'absent')):
        found = subprocess.run([LOCKSTEP, 'view', *arguments], capture_output=True, text=True, check=False, env=bare)
        assert found.returncode == status and part in found.stderr and found.stdout == '', found
        assert found.stderr.count('\n') == 1 and found.stderr.endswith('.\n'), found
    return None


def main():
    checks = [check_timelines, check_begun, check_refused, check_odd_paths, check_unreadable, check_ranks,
              check_help, check_usage, check_ascii_help, check_plain_locale, check_view_help,
              check_view_without_display]
    failed = False
    print(f'1..{len(checks)}')
    for number, check in enumerate(checks, 1):
        name = check.__name__.removeprefix('check_')
        try:
            said = check()
            comment = f' # {said}' if said else ''
            print(f'ok {number} {name}{comment}')
        except AssertionError as error:
            failed = True
            print(f'not ok {number} {name}\n# {error}')
    sys.exit(failed)


if __name__ == '__main__':
    main()
