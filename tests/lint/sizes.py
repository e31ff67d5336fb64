# SPDX-License-Identifier: Apache-2.0
"""sizes.py ROOT: a note, never a fault: sources over 400 lines and functions over 50.

A function is what begins with a name in the first column (the return type of a definition stands on a
line of its own) and ends with a brace there.
"""
import pathlib
import re
import sys

NAME = re.compile(r'^(\w+)\(')


def get_functions(lines):
    name, start = None, 0
    for number, line in enumerate(lines):
        match = NAME.match(line)
        if match:
            name, start = match.group(1), number
        elif line.startswith('}') and name:
            yield name, number - start + 1
            name = None


def main():
    root = pathlib.Path(sys.argv[1])
    files = functions = long_files = long_functions = 0
    for top in ('src', 'ui', 'reduce', 'tracer', 'samples'):
        for path in sorted((root / top).rglob('*.c')):
            lines = path.read_text(encoding='utf-8').splitlines()
            files += 1
            if len(lines) > 400:
                long_files += 1
                print(f'note: {path.relative_to(root)}: {len(lines)} lines')
            for name, length in get_functions(lines):
                functions += 1
                if length > 50:
                    long_functions += 1
                    print(f'note: {path.relative_to(root)}: {name}() has {length} lines')
    print(f'{files} files, {long_files} over 400 lines; '
          f'{functions} functions, {long_functions} over 50 lines')


if __name__ == '__main__':
    main()
