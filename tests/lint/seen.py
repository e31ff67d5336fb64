# SPDX-License-Identifier: Apache-2.0
"""seen.py TEST-FAIL: a failing test must be counted as failed, a crash too, and the status be 1.

Runs the program that fails on purpose, writes what Meson would log about it, and compares what
tests/summary.py makes of that with the truth.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

SUMMARY = pathlib.Path(__file__).parent.parent / 'summary.py'


def summarise(tests, *arguments):
    with tempfile.NamedTemporaryFile('w', suffix='.json') as log:
        for name, result, code, stdout in tests:
            log.write(json.dumps({'name': name, 'result': result, 'returncode': code,
                                  'stdout': stdout}) + '\n')
        log.flush()
        run = subprocess.run([sys.executable, SUMMARY, *arguments, log.name],
                             capture_output=True, text=True, check=False)
    return run.returncode, run.stdout.strip().splitlines()[-1]


def check_reason():
    """What a fuzzer has found is told in the closing lines."""
    test = {'name': 'l:fuzz / f', 'result': 'FAIL', 'reason': 'not so: 1 is 2; input abc'}
    with tempfile.NamedTemporaryFile('w', suffix='.json') as log:
        json.dump(test, log)
        log.flush()
        run = subprocess.run([sys.executable, SUMMARY, log.name], capture_output=True, text=True,
                             check=False)
    assert 'FAILED: l:fuzz / f: not so: 1 is 2; input abc\n' in run.stdout, run.stdout


def main():
    run = subprocess.run([sys.argv[1], '--tap'], capture_output=True, text=True, check=False)
    assert run.returncode != 0, 'test-fail did not fail'
    fine = 'TAP version 13\nok 1 /a\nok 2 /b # SKIP not here\n1..2\n'
    cases = [
        # (tests, arguments) -> (status, last line)
        ([('l:unit / f', 'FAIL', 1, run.stdout)], (), (1, '1 passed, 1 failed, 1 skipped')),
        ([('l:unit / f', 'OK', 0, fine)], (), (0, '1 passed, 0 failed, 1 skipped')),
        ([('l:unit / f', 'ERROR', -11, 'ok 1 /a\n')], (), (1, '1 passed, 1 failed, 0 skipped')),
        ([('l:unit / f', 'TIMEOUT', -15, '')], (), (1, '0 passed, 1 failed, 0 skipped')),
        ([('l:unit / f', 'UNEXPECTEDPASS', 0, '')], (), (1, '0 passed, 1 failed, 0 skipped')),
        ([('l:ui / f', 'SKIP', 77, '1..0 # SKIP no display\n'), ('l:unit / g', 'OK', 0, '')], (),
         (1, '1 passed, 1 failed, 1 skipped')),
        ([('l:ui / f', 'SKIP', 77, 'no display\n'), ('l:unit / g', 'OK', 0, '')],
         ('--allow-skip', 'ui'), (0, '1 passed, 0 failed, 1 skipped')),
    ]
    for tests, arguments, expected in cases:
        found = summarise(tests, *arguments)
        assert found == expected, f'{tests}: {found}, expected {expected}'
    check_reason()
    print('failures, crashes, time-outs and wholly skipped suites are seen')


if __name__ == '__main__':
    main()
