# SPDX-License-Identifier: Apache-2.0
"""settings.py LOCKSTEP DEF: what `lockstep settings` prints is what settings.def says and the
environment holds. Prints TAP."""
import csv
import io
import json
import os
import re
import subprocess
import sys

LOCKSTEP, DEF = sys.argv[1:3]


def settings(*args, **variables):
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(('LOCKSTEP_', 'HOROVOD_'))}
    done = subprocess.run([LOCKSTEP, 'settings', *args], capture_output=True, text=True, check=False,
                          env={**env, **variables})
    return done.returncode, done.stdout, done.stderr


def rows(*args, **variables):
    status, out, err = settings('--format', 'json', *args, **variables)
    assert status == 0 and err == '', err
    return {row['name']: row for row in json.loads(out)['tables']['settings']}


def every_line_of_the_list_is_there():
    with open(DEF, encoding='utf-8') as text:
        names = re.findall(r'^LS_SETTING\(\w+, "(\w+)"', text.read(), re.M)
    found = rows()
    assert list(found) == names and len(names) > 10, (list(found), names)
    assert all(row['source'] == 'default' and row['value'] == row['default'] for row in found.values())
    assert all(row['help'] and row['type'] for row in found.values())


def own_variables_count_more_than_horovods():
    row = rows('cycle_time_ms', HOROVOD_CYCLE_TIME='3.5')['cycle_time_ms']
    assert (row['value'], row['source'], row['default']) == ('3.5', 'HOROVOD_CYCLE_TIME', '1'), row
    row = rows('cycle_time_ms', HOROVOD_CYCLE_TIME='3.5', LOCKSTEP_CYCLE_TIME_MS='2')['cycle_time_ms']
    assert (row['value'], row['source']) == ('2', 'LOCKSTEP_CYCLE_TIME_MS'), row
    row = rows('cycle_time_ms', HOROVOD_CYCLE_TIME='3.5', LOCKSTEP_CYCLE_TIME_MS='')['cycle_time_ms']
    assert row['source'] == 'HOROVOD_CYCLE_TIME', row


def text_and_csv_say_the_same():
    _, out, _ = settings('plane', LOCKSTEP_PLANE='ring')
    assert out.startswith('plane = ring (LOCKSTEP_PLANE)\n    text, default auto'), out
    row = next(csv.DictReader(io.StringIO(settings('plane', '-f', 'csv', LOCKSTEP_PLANE='ring')[1])))
    assert row['value'] == 'ring' and row['agree'] in ('1', 'true'), row


def unknown_names_are_refused():
    status, out, err = settings('speed')
    assert status == 2 and out == '' and "no setting 'speed'" in err, err


TESTS = [every_line_of_the_list_is_there, own_variables_count_more_than_horovods,
         text_and_csv_say_the_same, unknown_names_are_refused]


def main():
    failed = 0
    print(f'1..{len(TESTS)}')
    for number, check in enumerate(TESTS, 1):
        name = '/cli/settings/' + check.__name__.replace('_', '-')
        try:
            check()
            print(f'ok {number} {name}')
        except (AssertionError, KeyError, ValueError) as fault:
            failed += 1
            print(f'not ok {number} {name}\n# {fault}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
