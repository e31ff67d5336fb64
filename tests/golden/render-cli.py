# SPDX-License-Identifier: Apache-2.0
"""render-cli.py SYNTH LOCKSTEP: what `lockstep render` answers on the command line. Prints TAP."""
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

from native import HEAD, chunks, seal

SYNTH, LOCKSTEP = sys.argv[1:3]


def render(run, output, *args):
    done = subprocess.run([LOCKSTEP, 'render', run, '-o', output, *args], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def places_show_some_of_the_recording(run, output):
    for args in (('--at', '1ms'), ('--at', '0.001'), ('--at', '1 ms'), ('--range', '0:1ms'), ('--range', '0s:90s'),
                 ('--step', '2'), ('--all',), ('--select', 'rank:1')):
        output.unlink(missing_ok=True)
        assert render(run, output, *args) == (0, ''), args
        assert output.read_bytes().startswith(b'\x89PNG'), args


def places_outside_are_usage_errors(run, output):
    output.unlink(missing_ok=True)
    for args, part in ((('--at', '100s'), 'outside of the recording'), (('--at', '-5ms'), 'outside of the recording'),
                       (('--range', '50s:60s'), 'outside of the recording'), (('--at', 'nan'), 'no time'),
                       (('--range', '2s:1s'), 'no range'), (('--range', '1s'), 'no range'),
                       (('--step', '-1'), 'no step -1'), (('--step', '99'), 'no step 99'),
                       (('--figure', 'groups', '--step', '-1'), 'no step -1'),
                       (('--nope',), 'lockstep render --help'), (('--rank', '9'), 'ranks 0 to 3'), (('--select', 'buffer:99999'), 'no buffer 99999')):
        status, words = render(run, output, *args)
        assert status == 2 and part in words and words.count('\n') == 1, (args, status, words)
        assert not output.exists(), args


def get_size(picture):
    return struct.unpack('>II', picture.read_bytes()[16:24])


def sizes_are_kept(run, output):
    for args, size in ((('--size', '1920x1080'), (1920, 1080)), (('--size', '640x480'), (640, 480)),
                       (('--size', '640x480', '--scale', '2'), (1280, 960)),
                       (('--mode', 'overview', '--size', '1920x1080'), (1920, 1080))):
        assert render(run, output, *args)[0] == 0, args
        assert get_size(output) == size, args
    for size in ('1x1', '99999x99999', '640', 'x'):
        assert render(run, output, '--size', size)[0] == 2, size


def the_height_follows_from_the_rows(run, output):
    """Without --size nothing stays empty: a picture of two ranks is lower than one of four, in every format."""
    heights = {}
    for ranks in ('0', '0,1', '0-3'):
        assert render(run, output, '--rank', ranks, '--no-headline') == (0, '')
        assert get_size(output)[0] == 1920
        heights[ranks] = get_size(output)[1]
    assert heights['0'] < heights['0,1'] < heights['0-3'] < 1080, heights
    assert render(run, output, '--mode', 'overview')[0] == 0 and get_size(output)[0] == 1920
    assert get_size(output)[1] < 1080, get_size(output)
    assert render(run, output.with_suffix('.svg'), '--no-headline') == (0, '')
    assert f'viewBox="0 0 1920 {heights["0-3"]}"' in output.with_suffix('.svg').read_text()


def the_headline_is_of_what_is_shown(run, output):
    """Rank 2 is late from step 12 on: a step's own headline is another one than the whole run's."""
    if not shutil.which('convert'):
        return 'SKIP no convert of ImageMagick'

    def get_foot(*args):
        assert render(late, output, '--size', '1500x600', *args) == (0, ''), args
        return subprocess.run(['convert', output, '-gravity', 'south', '-crop', '1500x90+0+0', 'rgb:-'],
                              capture_output=True, check=True).stdout

    late = run.parent / 'late'
    subprocess.run([SYNTH, '--ranks', '4', '--steps', '16', '--late', '2:8:12', '-o', late], check=True)
    whole, early, slow = get_foot(), get_foot('--step', '5'), get_foot('--step', '13')
    assert len({whole, early, slow}) == 3
    assert get_foot('--select', 'step:13') == slow == get_foot('--step', '13', '--mode', 'tensor')
    assert get_foot('--range', '0:1ms') == whole == get_foot('--at', '90ms')
    return None


def add_run(data, job):
    """The file as a process of this job would have written it: pids of its own, and a chunk more that says which."""
    whole, last = b'', 0
    for chunk in chunks(data):
        pid = int.from_bytes(chunk[20:24], 'little') + 1000 * job
        chunk[20:24] = pid.to_bytes(4, 'little')
        whole += seal(chunk)
        head, last = chunk[:HEAD], max(last, int.from_bytes(chunk[28:32], 'little'))
    name = b'\x02\xe7\x07run.id'  # NAME 999
    info = b'\x04\xe7\x07' + str(job).encode()  # INFO 999
    words = bytes([len(name)]) + name + bytes([len(info)]) + info
    head[8:16] = len(words).to_bytes(4, 'little') + bytes(4)
    head[24:40] = bytes(4) + (last + 1).to_bytes(4, 'little') + bytes(8)
    return whole + seal(head + words)


def a_step_is_of_one_run(run, output):
    """Two runs in a folder: the foot speaks of the step that is shown, not of the other run's of that number."""
    if not shutil.which('convert'):
        return 'SKIP no convert of ImageMagick'
    folders, both = [run.parent / name for name in ('prompt', 'tardy')], run.parent / 'both'
    both.mkdir()
    for job, (folder, late) in enumerate(zip(folders, ('1:1', '3:30')), 1):
        subprocess.run([SYNTH, '--ranks-per-host', '4', '--steps', '6', '--late', late, '-o', folder], check=True)
        for file in folder.glob('*.lks'):
            file.write_bytes(add_run(file.read_bytes(), job))
            shutil.copy(file, both / f'{job}-{file.name}')

    def get_foot(folder):
        assert render(folder, output, '--size', '1500x600', '--step', '3') == (0, ''), folder
        return subprocess.run(['convert', output, '-gravity', 'south', '-crop', '1500x90+0+0', 'rgb:-'],
                              capture_output=True, check=True).stdout

    told = subprocess.run([LOCKSTEP, 'check', both], capture_output=True, text=True, check=False).stdout
    assert 'files of 2 runs' in told or 'started 2 times' in told, told
    one, other = map(get_foot, folders)
    assert one != other and get_foot(both) in (one, other)
    return None


def names_of_files_choose_the_kind(run, output):
    for suffix, start in (('.svg', b'<?xml'), ('.pdf', b'%PDF')):
        assert render(run, output.with_suffix(suffix))[0] == 0
        assert output.with_suffix(suffix).read_bytes().startswith(start), suffix
    assert render(run, output.with_suffix('.bmp'))[0] == 2
    status, words = render(run, output.parent / 'absent' / 'x.png')
    assert status == 3 and 'No such file or directory' in words, words


def a_picture_is_whole_or_the_older_one(run, output):
    """Written under a limit that the file passes: nothing torn, nothing left beside it."""
    folder = output.parent / 'pictures'
    folder.mkdir()
    picture = folder / 'x.png'
    picture.write_bytes(b'older')
    done = subprocess.run(['sh', '-c', 'trap "" XFSZ; ulimit -f 8; exec "$@"', 'sh', LOCKSTEP, 'render', run, '-o',
                           picture], capture_output=True, text=True, check=False)
    assert done.returncode == 3 and 'File too large' in done.stderr, done
    assert picture.read_bytes() == b'older' and list(folder.iterdir()) == [picture], list(folder.iterdir())
    assert render(run, picture) == (0, '')
    assert picture.read_bytes().startswith(b'\x89PNG') and list(folder.iterdir()) == [picture]


def main():
    checks = [places_show_some_of_the_recording, places_outside_are_usage_errors, sizes_are_kept,
              the_height_follows_from_the_rows, the_headline_is_of_what_is_shown, a_step_is_of_one_run,
              names_of_files_choose_the_kind, a_picture_is_whole_or_the_older_one]
    failed = False
    print(f'1..{len(checks)}')
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / 'run'
        subprocess.run([SYNTH, '--ranks', '4', '--steps', '6', '-o', run], check=True)
        for number, check in enumerate(checks, 1):
            name = check.__name__.replace('_', '-')
            try:
                said = check(run, pathlib.Path(folder) / 'x.png')
                print(f'ok {number} {name}' + (f' # {said}' if said else ''))
            except AssertionError as error:
                failed = True
                print(f'not ok {number} {name}\n# {error}')
    sys.exit(failed)


if __name__ == '__main__':
    main()
