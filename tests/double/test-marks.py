# SPDX-License-Identifier: Apache-2.0
"""test-marks.py RECORD LOCKSTEP CAPTURE: samples/python/lockstep_mark.py under `lockstep record`."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = '''
import sys
sys.path.insert(0, sys.argv[1])
import lockstep_mark as lockstep
assert lockstep.is_loaded()
for number in range(12):
    with lockstep.step(number, samples=32):
        with lockstep.phase('forward'):
            pass
        with lockstep.phase('optimizer'):
            lockstep.counter('loss', 1 / (number + 1))
lockstep.instant('end')
print(1)
'''


def main():
    record, lockstep, capture = sys.argv[1:4]
    samples = pathlib.Path(__file__).resolve().parents[2] / 'samples' / 'python'
    with tempfile.TemporaryDirectory() as folder:
        run = f'{folder}/run'
        env = dict(os.environ, LOCKSTEP_CAPTURE_LIBRARY=capture, PYTHONDONTWRITEBYTECODE='1')
        done = subprocess.run([record, '-o', run, '--as-rank', '0', '--world', '1', '--quiet', '--', sys.executable,
                               '-c', PROGRAM, str(samples)], capture_output=True, text=True, env=env, check=False)
        good = done.returncode == 0 and done.stdout == '1\n'
        print('ok' if good else 'not ok', '1 the program says 1 and ends with 0')
        if not good:
            print(f'# {done}')
        report = subprocess.run([lockstep, 'report', run, '--table', 'steps', '--format', 'json'],
                                capture_output=True, text=True, check=False)
        rows = json.loads(report.stdout)['tables']['steps'] if report.returncode == 0 else []
        steps = sorted((row['step'], row['samples']) for row in rows)
        right = steps == [(number, 32) for number in range(12)]
        print('ok' if right else 'not ok', '2 twelve steps of 32 samples')
        if not right:
            print(f'# {steps} {report.stderr}')
    print('1..2')
    return not (good and right)


if __name__ == '__main__':
    sys.exit(main())
