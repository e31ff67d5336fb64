# SPDX-License-Identifier: Apache-2.0
"""exports.py LIBRARY HEADER...: a library exports what its headers declare, neither more nor less.

A declaration is exported by LOCKSTEP_API or LS_CAPTURE_API in front of it. For a library that others
look into by name, and that no header of ours declares, the version script (.map) stands for it, and for
the calls of MPI the table that the entries are made from (.def, .c).
"""
import pathlib
import re
import subprocess
import sys

DECLARATION = re.compile(r'^(?:LOCKSTEP_API|LS_CAPTURE_API)\b[^;]*?\b(\w+)\s*\(', re.MULTILINE)


def get_declared(headers):
    names = set()
    for header in headers:
        if header.endswith('.map'):
            text = pathlib.Path(header).read_text(encoding='utf-8')
            names |= set(re.findall(r'^\s+(\w+);', text.split('local:')[0], re.MULTILINE))
            continue
        if header.endswith('.def') or header.endswith('.c'):  # one line of a table, one entry
            text = pathlib.Path(header).read_text(encoding='utf-8')
            names |= {'MPI_' + name for name in re.findall(r'^LS_MPI_(?:CALL|PASS)\((\w+),', text, re.MULTILINE)}
            continue
        text = re.sub(r'/\*.*?\*/', '', pathlib.Path(header).read_text(encoding='utf-8'), flags=re.DOTALL)
        names |= set(DECLARATION.findall(text))
    return names


def get_exported(library):
    run = subprocess.run(['nm', '-D', '--defined-only', library], capture_output=True, text=True,
                         check=True)
    rows = [line.split() for line in run.stdout.splitlines()]
    return {row[-1].split('@')[0] for row in rows if row and row[-2] != 'A'}  # A: a version's name


def main():
    library, headers = sys.argv[1], sys.argv[2:]
    declared, exported = get_declared(headers), get_exported(library)
    for name in sorted(exported - declared):
        print(f'{library}: exports {name}, which no header declares')
    for name in sorted(declared - exported):
        print(f'{library}: does not export {name}, which a header declares')
    print(f'{len(exported)} exported, {len(declared)} declared')
    return 1 if exported != declared or not declared else 0


if __name__ == '__main__':
    sys.exit(main())
