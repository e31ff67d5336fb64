# SPDX-License-Identifier: Apache-2.0
"""test-real-nccl.py RECORD LOCKSTEP FOLDER: NVTX ranges of the real libnccl, without a GPU or a driver.

ncclAllReduce on no communicator is an error, and its NVTX range is emitted first: the library's own copy of
NVTX finds our injection. Skipped by name where no libnccl is installed in FOLDER.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

CALLS = 25
PROGRAM = f'''
import ctypes
nccl = ctypes.CDLL("libnccl.so.2")
print(sum(nccl.ncclAllReduce(None, None, ctypes.c_size_t(1), 7, 0, None, None) == 4 for _ in range({CALLS})))
'''


def main():
    record, lockstep, folder = sys.argv[1:4]
    if not (pathlib.Path(folder) / 'libnccl.so.2').exists():
        print('1..0 # SKIP no real libnccl.so.2 is installed')
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        run = f'{temporary}/run'
        env = dict(os.environ, LD_LIBRARY_PATH=folder)
        for variable in ('NVTX_INJECTION64_PATH', 'NCCL_PROFILER_PLUGIN', 'CUDA_INJECTION64_PATH'):
            env.pop(variable, None)
        done = subprocess.run([record, '-o', run, '--nvtx', '--as-rank', '0', '--quiet', '--', '/usr/bin/python3', '-c',
                               PROGRAM], capture_output=True, text=True, env=env, check=False)
        good = done.returncode == 0 and done.stdout == f'{CALLS}\n'
        print('ok' if good else 'not ok', '1 the program is not disturbed')
        info = subprocess.run([lockstep, 'info', run], capture_output=True, text=True, check=False)
        spans = next((int(line.split()[1].replace(',', '')) for line in info.stdout.splitlines()
                      if line.startswith('spans')), 0)
        print('ok' if spans == CALLS else 'not ok', f'2 {CALLS} ranges of the real libnccl')
        if not good or spans != CALLS:
            print(f'# {done} {info}')
    print('1..2')
    return not (good and spans == CALLS)


if __name__ == '__main__':
    sys.exit(main())
