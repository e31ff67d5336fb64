# SPDX-License-Identifier: Apache-2.0
"""hostile.py SYNTH LOCKSTEP: runs that are damaged, odd or hostile. Whatever they are: one clear sentence or a report,
never a signal, valid JSON and CSV, text that fits a terminal and is not obeyed by it, nothing sound lost, and
nothing written into the run. Prints TAP."""
import csv
import io
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

SYNTH, LOCKSTEP = sys.argv[1:3]
UNSAFE = re.compile('[\x00-\x09\x0b-\x1f\x7f-\x9f]')


def run(command, *args):
    return subprocess.run([LOCKSTEP, command, *map(str, args)], capture_output=True, timeout=300, check=False)


def synth(folder, name, *options):
    path = pathlib.Path(folder) / name
    subprocess.run([SYNTH, *options, '-o', path], check=True)
    return path


def states(path):
    """Files with their times and bytes: no reader changes them."""
    return {str(p): (p.lstat().st_mtime_ns, p.lstat().st_size) for p in sorted(pathlib.Path(path).rglob('*'))}


def look(path):
    """The report's tables, having checked what is true of any; None where the run cannot be read."""
    done = run('report', path, '--format', 'json')
    assert done.returncode in (0, 3), (done.returncode, done.stderr)
    if done.returncode == 3:
        words = done.stderr.decode()
        assert done.stdout == b'' and words.count('\n') == 1 and not UNSAFE.search(words[:-1]), words
        return None
    found = json.loads(done.stdout)
    text = run('report', path).stdout.decode()
    assert not UNSAFE.search(text), 'control characters in text'
    assert max(map(len, text.split('\n'))) <= 132, max(text.split('\n'), key=len)
    for name in ('ranks', 'findings'):
        rows = list(csv.DictReader(io.StringIO(run('report', path, '--table', name, '--format', 'csv').stdout.decode())))
        assert len(rows) == len(found['tables'][name]), name
    return found


def a_file_cut_anywhere(folder):
    path = synth(folder, 'run', '--ranks', '2', '--steps', '1', '--tensors', '2')
    file = sorted(path.glob('*.lks'))[1]
    whole, last = file.read_bytes(), 0
    for cut in range(0, len(whole), 64):
        file.write_bytes(whole[:cut])
        done = run('report', path, '--table', 'ranks', '--format', 'json')
        assert done.returncode == 0, (cut, done.stderr)
        rows = json.loads(done.stdout)['tables']['ranks']
        kept = sum(row['records'] for row in rows if row['rank'] == 1)
        assert kept >= last and any(row['rank'] == 0 and row['records'] for row in rows), (cut, kept, last)
        last = kept
    assert last > 0


def bytes_changed_at_random(folder):
    path = synth(folder, 'run', '--ranks', '2', '--steps', '2', '--tensors', '3')
    file = sorted(path.glob('*.lks'))[1]
    whole, chance = file.read_bytes(), random.Random(11)
    for _ in range(12):
        data = bytearray(whole)
        for _ in range(chance.randint(1, 9)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        file.write_bytes(data)
        assert look(path)['tables']['ranks']


def a_folder_with_junk(folder):
    path = synth(folder, 'run', '--ranks', '1', '--steps', '2')
    whole = look(path)['tables']['steps']
    (path / 'noise.lks').write_bytes(random.Random(3).randbytes(5000))
    (path / 'empty.lks').write_bytes(b'')
    (path / 'notes.txt').write_text('hi')
    (path / 'folder.lks').mkdir()
    (path / 'self.lks').symlink_to('.')
    (path / 'a.lks').symlink_to('b.lks')
    (path / 'b.lks').symlink_to('a.lks')
    (path / 'absent.lks').symlink_to('nowhere')
    (path / 'evil\x1b[31m\x07.lks').write_text('x')
    os.mkfifo(path / 'pipe.lks')
    found = look(path)['tables']
    assert found['steps'] == whole, 'nothing sound is lost'
    words = ' '.join(f"{row['file']} {row['text']}" for row in found['findings'])
    for name in ('noise', 'empty', 'folder', 'self', 'absent', 'pipe', 'evil'):
        assert f'{name}' in words, (name, words)


def what_is_no_run(folder):
    place = pathlib.Path(folder)
    (place / 'empty').mkdir()
    (place / 'x').symlink_to('y')
    (place / 'y').symlink_to('x')
    (place / 'noise.lks').write_bytes(random.Random(5).randbytes(4000))
    for name in ('empty', 'x', 'noise.lks', 'absent', 'bad\x1b[2J\nname', ''):
        assert look(place / name if name else '') is None, name
    for name in ('/dev/null', '/dev/zero'):
        assert look(name) is None, name


def few_ranks_few_steps(folder):
    for ranks in ('1', '2'):
        for steps in ('0', '1', '2'):
            path = synth(folder, f'run-{ranks}-{steps}', '--ranks', ranks, '--steps', steps)
            found = look(path)
            assert len(found['tables']['steps']) == int(ranks) * int(steps)
            assert found['headline'][0]['label'].startswith('Step' if steps != '0' else 'No events'), found['headline']


def a_run_that_nobody_may_write(folder):
    path = synth(folder, 'run', '--steps', '2')
    os.chmod(path, 0o500)
    before = states(path)
    jobs = [subprocess.Popen([LOCKSTEP, 'report', path, '--format', 'json'], stdout=subprocess.PIPE) for _ in range(3)]
    killed = subprocess.Popen([LOCKSTEP, 'report', path], stdout=subprocess.DEVNULL)
    killed.kill()
    killed.wait()
    outs = [job.communicate(timeout=300)[0] for job in jobs]
    os.chmod(path, 0o700)
    assert len(set(outs)) == 1 and json.loads(outs[0])['tables']['ranks'], 'the same for all at once'
    assert states(path) == before, 'a reader wrote into the run'


def a_manifest_that_is_none(folder):
    path = synth(folder, 'run', '--ranks', '1', '--steps', '1')
    for text in ('', '{', '[]', '{"run_id": "\\u001b]0;x\\u0007", "command": ["a\\u0007"], "x": {"y": null}}', 'x' * 70000,
                 '[' * 5000):
        (path / 'run.json').write_text(text)
        assert look(path)['tables']['steps'], text[:20]


def output_that_cannot_be_written(folder):
    path = synth(folder, 'run', '--ranks', '1', '--steps', '1')
    for args in (('-o', folder), ('-o', '/dev/full'), ('-o', pathlib.Path(folder) / 'no' / 'file')):
        done = run('report', path, *args)
        assert done.returncode != 0 and done.stderr.count(b'\n') == 1 and b'be written' in done.stderr, done
    with open('/dev/full', 'wb') as full:
        done = subprocess.run([LOCKSTEP, 'report', path], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode != 0 and b'be written' in done.stderr, done


TESTS = [a_file_cut_anywhere, bytes_changed_at_random, a_folder_with_junk, what_is_no_run, few_ranks_few_steps,
         a_run_that_nobody_may_write, a_manifest_that_is_none, output_that_cannot_be_written]
print(f'1..{len(TESTS)}')
for number, test in enumerate(TESTS, 1):
    place = tempfile.mkdtemp()
    try:
        test(place)
        print(f'ok {number} {test.__name__}')
    except Exception as fault:  # also what is no JSON, and what hangs
        print(f'not ok {number} {test.__name__}\n# {type(fault).__name__}: {str(fault)[:600]}')
    shutil.rmtree(place, ignore_errors=True)
