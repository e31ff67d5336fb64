# SPDX-License-Identifier: Apache-2.0
"""Counts what Meson's testlog.json files say, one line per test and TAP subtest.

    summary.py [--allow-skip SUITE]... LOG...

Prints what failed and what was skipped and why, then `N passed, N failed, N skipped` alone on the
last line. A TAP program counts by its subtests, and once more if it crashed or ran out of time; a
test that is meant to fail counts as one that passed if it did fail; one that is none of Meson's (a
fuzzer) may say the reason of its failure. A suite of which everything was skipped, without being
allowed to, is a failure: nobody would notice otherwise. Exit status 1 when anything failed.
"""
import argparse
import json
import re
import sys

TAP = re.compile(r'^(not ok|ok)\b[ \t]*\d*[ \t]*-?[ \t]*(.*)$')
SKIP = re.compile(r'#\s*skip\S*\s*(.*)$', re.IGNORECASE)
EXPECTED = re.compile(r'#\s*to' + r'do\b', re.IGNORECASE)  # of a failure that is known
PLAN_SKIP = re.compile(r'^1\.\.0\b\s*(?:#\s*skip\S*\s*(.*))?$', re.IGNORECASE | re.MULTILINE)
BAD = {'FAIL', 'TIMEOUT', 'ERROR', 'INTERRUPT', 'UNEXPECTEDPASS'}


class Count:
    def __init__(self):
        self.passed, self.failed, self.skipped = 0, [], []

    def add(self, result, name, reason=''):
        if result == 'pass':
            self.passed += 1
        elif result == 'skip':
            self.skipped.append((name, reason or 'no reason given'))
        else:
            self.failed.append((name, reason))


def subtests(stdout):
    """(result, name, reason) of each top-level TAP line."""
    for line in stdout.splitlines():
        match = TAP.match(line)
        if not match:
            continue
        name = match.group(2).split('#')[0].strip()
        skip = SKIP.search(match.group(2))
        if skip:
            yield 'skip', name, skip.group(1).strip()
        elif match.group(1) == 'ok' or EXPECTED.search(match.group(2)):
            yield 'pass', name, ''
        else:
            yield 'fail', name, 'not ok'


def count_test(test, count):
    name, result = test['name'], test['result']
    stdout = test.get('stdout') or ''
    if result == 'EXPECTEDFAIL':
        count.add('pass', name)
        return
    parts = list(subtests(stdout))
    plan = PLAN_SKIP.search(stdout)
    for part, title, reason in parts:
        count.add(part, f'{name}: {title}', reason)
    if result in BAD:
        if not any(part == 'fail' for part, _, _ in parts):
            status = f'{result.lower()}, exit status {test.get("returncode")}'
            count.add('fail', name, test.get('reason') or status)
    elif not parts:
        if result == 'SKIP' or plan:
            reason = plan.group(1) if plan else stdout.strip().split('\n')[-1]
            count.add('skip', name, reason or '')
        else:
            count.add('pass', name)


def get_suite(name):
    return name.split(' / ')[0].split(':')[-1] if ' / ' in name else ''


def read(paths):
    for path in paths:
        with open(path, encoding='utf-8') as log:
            for line in log:
                if line.strip():
                    yield json.loads(line)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--allow-skip', action='append', default=[])
    parser.add_argument('logs', nargs='+')
    options = parser.parse_args()
    total, suites = Count(), {}
    for test in read(options.logs):
        own = Count()
        count_test(test, own)
        total.passed += own.passed
        total.failed += own.failed
        total.skipped += own.skipped
        sums = suites.setdefault(get_suite(test['name']), [0, 0])
        sums[0] += own.passed + len(own.failed)
        sums[1] += len(own.skipped)
    for suite, (ran, skipped) in sorted(suites.items()):
        if suite and ran == 0 and skipped > 0 and suite not in options.allow_skip:
            total.add('fail', f'suite {suite}', 'everything in it was skipped')
    for name, reason in total.skipped:
        print(f'skipped: {name}: {reason}')
    for name, reason in total.failed:
        print(f'FAILED: {name}: {reason}')
    print(f'{total.passed} passed, {len(total.failed)} failed, {len(total.skipped)} skipped')
    return 1 if total.failed or total.passed == 0 else 0


if __name__ == '__main__':
    sys.exit(main())
