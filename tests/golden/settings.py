# SPDX-License-Identifier: Apache-2.0
"""settings.py LOCKSTEP DEF TRAIN: what `lockstep settings` prints is what settings.def says and the
environment holds, and a value is called invalid where the library refuses it. Prints TAP."""
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile

LOCKSTEP, DEF, TRAIN = sys.argv[1:4]

VALUES = {
    'cycle_time_ms': ['.5', '0', '1000000000000', '1000000000001', '-1', 'fast', '1.2.3', '.', '1e3', ' 1'],
    'stall_limit_s': ['1000000000', '1000000001', '99999999999999999999'],
    'fusion_threshold_bytes': ['1.5k', '64M', '1.5', 'M', '1048577G', '9223372036854775808'],
    'cache_capacity': ['0', '1000000', '1000001', '1.0', '1K'],
    'tree_radix': ['3', '4294967298', 'two', '-1'],
    'topk_permille': ['1', '0', '1000', '1001'],
    'control': ['tree', 'trees'],
    'plane': ['self', 'rings'],
    'cycle_start': ['clock', 'event|clock', 'even'],
    'host': ['h' * 255, 'h' * 256],
}


def run(*command, **variables):
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(('LOCKSTEP_', 'HOROVOD_'))}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**env, **variables})
    return done.returncode, done.stdout, done.stderr


def settings(*args, **variables):
    return run(LOCKSTEP, 'settings', *args, **variables)


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
    assert out.startswith('plane = ring (LOCKSTEP_PLANE)\n    auto|self|shared|mpi|ring|'), out
    row = next(csv.DictReader(io.StringIO(settings('plane', '-f', 'csv', LOCKSTEP_PLANE='ring')[1])))
    assert row['value'] == 'ring' and row['agree'] in ('1', 'true'), row


def unknown_names_are_refused():
    status, out, err = settings('speed')
    assert status == 2 and out == '' and "no setting 'speed'" in err, err


def invalid_is_what_the_library_refuses():
    """And in the library's words; samples/train alone on one rank is the library."""
    with tempfile.TemporaryDirectory() as place:
        # Open MPI takes the folder of all its jobs away while another test's job makes its own in it.
        mpi = {'OMPI_MCA_orte_tmpdir_base': place}
        for variable, value, name in ((f'LOCKSTEP_{name.upper()}', value, name) for name in VALUES for value in VALUES[name]):
            fault = rows(name, **{variable: value})[name]['fault']
            _, _, err = run(TRAIN, '--steps', '1', '--compute', 'timed', **{variable: value, **mpi})
            refused = f'{variable} is not' in err
            assert refused == (fault is not None), (name, value, fault, err)
            assert fault is None or fault in err, (fault, err)


def invalid_values_are_told_and_gated():
    status, out, _ = settings('tree_radix', LOCKSTEP_TREE_RADIX='4294967298')
    told = "invalid: setting tree_radix: '4294967298' from LOCKSTEP_TREE_RADIX is not a whole number from 0 to 1000000"
    assert status == 0 and told in out, (status, out)
    assert settings('--strict', LOCKSTEP_TREE_RADIX='4294967298')[0] == 1
    assert settings('--strict', LOCKSTEP_TREE_RADIX='4')[0] == 0
    assert settings('--strict', 'plane', LOCKSTEP_TREE_RADIX='4294967298')[0] == 0
    assert 'invalid' not in settings()[1]


TESTS = [invalid_is_what_the_library_refuses, invalid_values_are_told_and_gated, every_line_of_the_list_is_there, own_variables_count_more_than_horovods,
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
