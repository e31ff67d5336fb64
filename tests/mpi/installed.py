# SPDX-License-Identifier: Apache-2.0
"""installed.py MESON VERSION BUILD: each library of ours loads from wherever it was installed, with nothing set.

TAP. As a program or Python does that names the file: what a library of ours needs of ours lies beside it.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

LOAD = 'import ctypes, sys; ctypes.CDLL(sys.argv[1])'


def main():
    meson, version, build = sys.argv[1:]
    found = subprocess.run([meson, '--version'], capture_output=True, text=True, check=False).stdout.strip()
    if found != version:
        print(f'1..0 # SKIP {meson} is {found}, and {version} made the build folder')
        return 0
    environment = {name: value for name, value in os.environ.items() if name not in ('LD_LIBRARY_PATH', 'LD_PRELOAD')}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([meson, 'install', '-C', build, '--no-rebuild', '--destdir', folder],
                       stdout=subprocess.DEVNULL, check=True)
        libraries = sorted(pathlib.Path(folder).rglob('*lockstep*.so'))
        names = [library.name for library in libraries]
        assert 'liblockstep.so' in names and 'liblockstep-capture.so' in names, names
        print(f'1..{len(libraries)}')
        failed = 0
        for number, library in enumerate(libraries, 1):
            done = subprocess.run([sys.executable, '-c', LOAD, library], env=environment, capture_output=True,
                                  text=True, check=False)
            failed += done.returncode != 0
            for line in done.stderr.splitlines() if done.returncode != 0 else []:
                print(f'# {line}')
            print(f'{"not ok" if done.returncode != 0 else "ok"} {number} /mpi/installed/{library.stem}')
        return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
