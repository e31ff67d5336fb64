# SPDX-License-Identifier: Apache-2.0
"""cases.py LOCKSTEP: faults that timelines in the field have, each as the smallest timeline that shows it. What is
sound is kept, what is not is said once with its place, no value is invented. Prints TAP."""
import csv
import gzip
import io
import json
import pathlib
import subprocess
import sys
import tempfile

LOCKSTEP = sys.argv[1]


def event(ph, pid, ts, name='', **more):
    return json.dumps({'name': name, 'ph': ph, 'pid': pid, 'ts': ts, **more})


def named(pid, name):
    return '{"name": "process_name", "ph": "M", "pid": %d, "args": {"name": "%s"}}' % (pid, name)


def use(pid, at, tick=True):
    """A tensor's negotiation and operation, 20 us from `at` on."""
    parts = [event('B', pid, at, 'NEGOTIATE_ALLREDUCE')]
    if tick:
        parts += [event('X', pid, at + 1, '0', dur=0), event('X', pid, at + 2, '1', dur=0)]
    return parts + [event('E', pid, at + 5), event('B', pid, at + 6, 'ALLREDUCE'),
                    event('B', pid, at + 7, 'MPI_ALLREDUCE'), event('E', pid, at + 9),
                    event('E', pid, at + 20, args={'dtype': 'float32', 'shape': '[4]'})]


BODY = [named(1, 'a'), *use(1, 100), named(2, 'b'), *use(2, 200)]


def run(command, *args):
    done = subprocess.run([LOCKSTEP, command, *map(str, args)], capture_output=True, timeout=300, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def ask(path):
    """The row of `info`, the tensors and the findings; every format of the report is valid on the way."""
    status, out, err = run('info', path, '--format', 'json')
    assert status == 0, err
    info = json.loads(out)['tables']['info'][0]
    status, out, err = run('report', path, '--format', 'json')
    assert status == 0, err
    tables = json.loads(out)['tables']
    for name in ('tensors', 'collectives', 'findings'):
        rows = list(csv.DictReader(io.StringIO(run('report', path, '--table', name, '--format', 'csv')[1])))
        assert len(rows) == len(tables[name]), name
    text = run('report', path)[1]
    assert not any(ord(c) < 32 and c != '\n' or 0x7f <= ord(c) < 0xa0 for c in text), 'control characters'
    wide = [line for line in text.split('\n') if len(line) > 132]
    assert not wide, wide
    return info, {row['tensor']: row for row in tables['tensors']}, tables['findings']


def write(folder, text, name='timeline.json'):
    path = pathlib.Path(folder) / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def faults(findings):
    return [row for row in findings if row['severity'] != 'note']


def a1_backslashes_are_taken_as_they_are(folder):
    info, tensors, found = ask(write(folder, '[\n' + ',\n'.join([named(1, r'torch\cuda\__init__.py(7): f'), *use(1, 100),
                                                                named(2, r'C:\users\x'), *use(2, 200)]) + '\n]'))
    assert info['negotiations'] == 2 and len(tensors) == 2, tensors
    assert r'torch\cuda\__init__.py(7): f' in tensors, tensors
    assert len(faults(found)) <= 2, found


def a2_quotes_and_line_breaks_in_a_name(folder):
    text = '[\n' + ',\n'.join([*BODY[:9], named(3, 'lib = L("a", "B")\n(1): <module>'), *BODY[9:]]) + '\n]'
    info, tensors, found = ask(write(folder, text))
    assert info['negotiations'] == 2 and {'a', 'b'} <= set(tensors), tensors
    assert len(faults(found)) <= 1 and all(row['offset'] for row in faults(found)), found


def a3_begun_and_empty(folder):
    for text in ('', '[', '[\n', '[]', ' [ ] \n', '{"traceEvents":[]}', '{"traceEvents":[',
                 '{ "displayTimeUnit" : "ms", "traceEvents" : [ ] }\n', '{"traceEvents":[],"displayTimeUnit":"ms"}'):
        for data, name in ((text.encode(), 'empty.json'), (gzip.compress(text.encode()), 'empty.json.gz')):
            path = write(folder, data, name)
            status, out, err = run('info', path)
            assert (status, out, err) == (0, f'{path}: no events recorded.\n', ''), (text, status, out, err)
            assert run('report', path)[1].startswith('No events recorded'), text
            assert run('check', path)[0] == 0, text


def a4_object_form_whole_and_cut(folder):
    head, body = '{"displayTimeUnit":"ms","traceEvents":[', ',\n'.join(BODY)
    whole, tensors, found = ask(write(folder, head + body + '],"otherData":{"a":"b"}}'))
    assert whole['negotiations'] == 2 and set(tensors) == {'a', 'b'} and not faults(found), found
    bare = ask(write(folder, '[' + body))
    assert bare[1] == tensors, 'the form changes nothing'
    last = 0
    for cut in range(len(head), len(head + body), 53):
        path = write(folder, (head + body)[:cut])
        if 'NEGOTIATE_' not in (head + body)[:cut]:  # a beginning that any trace might have
            assert run('info', path)[0] in (0, 3)
            continue
        info, _, found = ask(path)
        assert info['negotiations'] is None or info['negotiations'] >= last
        last = info['negotiations'] or 0
        if last:
            assert any('ends' in row['text'] for row in found), found
    cut = ask(write(folder, gzip.compress((head + body + ']}').encode())[:-8], 'cut.json.gz'))
    assert cut[0]['negotiations'] == 2 and faults(cut[2]), cut


def a5_pieces_of_a_dump(folder):
    for text, expected in (('[' + ',\n'.join(BODY[:9]) + ',\n', 1), (',' + ',\n'.join(BODY) + ',', None)):
        path = write(folder, text)
        if expected:
            assert ask(path)[0]['negotiations'] == expected
        else:
            assert run('info', path)[0] in (0, 3)


def a6_a_second_writers_remains(folder):
    tail = '"ts":9,"dur":1}]}'
    for text in ('[' + ','.join(BODY) + ']' + tail, '{"traceEvents":[' + ','.join(BODY) + ']}' + tail,
                 '{"traceEvents":[' + ','.join(BODY) + ']}{"traceEvents":[' + ','.join(BODY) + ']}'):
        info, tensors, found = ask(write(folder, text))
        assert info['negotiations'] == 2 and set(tensors) == {'a', 'b'}, text[-60:]
        assert len(faults(found)) == 1 and faults(found)[0]['offset'], found


def a7_scientific_notation(folder):
    body = [part.replace('"ts": 1', '"ts": 1.0e2').replace('1.0e2', '1') for part in use(1, 1692108548132160)]
    plain = ask(write(folder, '[' + ','.join([named(1, 'a'), *body])))[1]['a']
    body[0] = body[0].replace('1692108548132160', '1.69210854813216e+15')
    body[3] = body[3].replace('1692108548132165', '1.692108548132165E15')
    assert ask(write(folder, '[' + ','.join([named(1, 'a'), *body])))[1]['a'] == plain


def a8_ids_beyond_32_bits(folder):
    wide = [140589156634432, 140588800255680, 7168000000, -5]
    body = [part for i, pid in enumerate(wide) for part in (named(pid, f't{i}'), *use(pid, 100 + 50 * i))]
    assert set(ask(write(folder, '[' + ','.join(body)))[1]) == {'t0', 't1', 't2', 't3'}


def a9_decimals_beyond_a_double(folder):
    base = 1713541139000000
    body = [named(1, 'a')] + [part.replace(f'"ts": {base + 5}', f'"ts": {base + 5}.661')
                              for part in use(1, base)]
    found = ask(write(folder, '[' + ','.join(body)))[1]['a']
    assert found['negotiation_ns'] == 4161, found  # ticks at 1 and 2 us


def a12_absurd_times_are_left_out(folder):
    body = BODY + [event('X', 2, 400, 'QUEUE', dur=7447000000000000), event('X', 2, 401, 'QUEUE', dur=-5),
                   event('B', 1, 9e30, 'NEGOTIATE_ALLREDUCE'), event('B', 1, -9223372036854775807, 'ALLREDUCE')]
    info, tensors, _ = ask(write(folder, '[' + ','.join(body)))
    assert tensors['a']['negotiation_ns'] == 3500 and info['negotiations'] == 2, tensors
    assert info['last_ns'] - info['first_ns'] < 400 * 365 * 86400 * 10**9


def a25_missing_ticks_are_not_missing_ranks(folder):
    body = [named(1, 'a'), *use(1, 100), *use(1, 200, tick=False)]
    info, tensors, found = ask(write(folder, '[' + ','.join(body)))
    assert info['negotiations'] == 2 and tensors['a']['count'] == 2, tensors
    assert any('submissions' in row['text'] or 'tick' in row['text'] for row in found), found


def names_are_not_obeyed(folder):
    name = 'w\\u001b[31m\\u0007,\\"q\\"\\n\\u202e=1+1'
    _, tensors, _ = ask(write(folder, '[' + ','.join([named(1, name), *use(1, 100)])))
    assert set(tensors) == {json.loads(f'"{name}"')}, tensors


def duplicate_names_add_up(folder):
    _, tensors, _ = ask(write(folder, '[' + ','.join([named(1, 'a'), *use(1, 100), named(2, 'a'), *use(2, 200)])))
    assert tensors['a']['count'] == 2, tensors


TESTS = [value for name, value in list(globals().items()) if callable(value) and name[:1] in 'a' and name[1:2].isdigit()]
TESTS += [names_are_not_obeyed, duplicate_names_add_up]
print(f'1..{len(TESTS)}')
for number, test in enumerate(TESTS, 1):
    with tempfile.TemporaryDirectory() as place:
        try:
            test(place)
            print(f'ok {number} {test.__name__}')
        except Exception as fault:  # also what is no JSON
            print(f'not ok {number} {test.__name__}\n# {type(fault).__name__}: {str(fault)[:600]}')
