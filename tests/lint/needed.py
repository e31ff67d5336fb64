# SPDX-License-Identifier: Apache-2.0
"""needed.py [--program] LIBRARY [NAME...]: what a library brings into another program's process.

It may need libc and its parts and the libraries named (a prefix: libmpi.so), no symbol version newer
than GLIBC_2.28 (clusters are old, and a preloaded library with an absent version keeps the host from
starting), and none of the functions that end the host or change what its children see. A program of
ours (--program) may use those.
"""
import re
import subprocess
import sys

ALLOWED = ['libc.so.6', 'libpthread.so.0', 'libdl.so.2', 'librt.so.1', 'libm.so.6', 'ld-linux']
NEWEST = (2, 28)
FORBIDDEN = {'exit', '_exit', '_Exit', 'quick_exit', 'abort', '__assert_fail', '__assert', 'err', 'errx',
             'error', 'setenv', 'unsetenv', 'putenv', 'clearenv', 'signal', 'sigaction', 'atexit'}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True,
                          env={'LC_ALL': 'C', 'PATH': '/usr/bin:/bin'}).stdout


def get_faults(library, more, is_program):
    for needed in re.findall(r'\(NEEDED\).*\[(.+?)\]', run('readelf', '-dW', library)):
        if not any(needed.startswith(name) for name in ALLOWED + more):
            yield f'needs {needed}'
    symbols = run('nm', '-D', '--undefined-only', library)
    for line in symbols.splitlines():
        name, _, version = line.split()[-1].partition('@')
        if name in FORBIDDEN and not is_program:
            yield f'uses {name}()'
        match = re.fullmatch(r'@?GLIBC_(\d+)\.(\d+)(\.\d+)?', version)
        if match and (int(match.group(1)), int(match.group(2))) > NEWEST:
            yield f'{name} asks for {version.lstrip("@")}, newest allowed is GLIBC_2.28'


def main():
    is_program = sys.argv[1] == '--program'
    library, *more = sys.argv[2:] if is_program else sys.argv[1:]
    faults = list(get_faults(library, more, is_program))
    for fault in faults:
        print(f'{library}: {fault}')
    print(f'{len(faults)} faults')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
