# SPDX-License-Identifier: Apache-2.0
"""test-real-nccl.py RECORD LOCKSTEP FOLDER: NVTX ranges of the real libnccl, without a GPU or a driver.

ncclAllReduce on no communicator is an error, and its NVTX range is emitted first: the library's own copy of
NVTX finds our injection. So is ncclCommInitRank's, which fails without a driver. Skipped by name where no libnccl
is installed in FOLDER; LOCKSTEP_REAL_NCCL names the folder of another version.
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
class Id(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]
version, unique, comm = ctypes.c_int(), Id(), ctypes.c_void_p()
nccl.ncclGetVersion(ctypes.byref(version))
nccl.ncclGetUniqueId(ctypes.byref(unique))
nccl.ncclCommInitRank.argtypes = [ctypes.c_void_p, ctypes.c_int, Id, ctypes.c_int]
nccl.ncclCommInitRank(ctypes.byref(comm), 1, unique, 0)
print("NCCL", version.value)
print(sum(nccl.ncclAllReduce(None, None, ctypes.c_size_t(1), 7, 0, None, None) == 4 for _ in range({CALLS})))
'''


def main():
    record, lockstep, folder = sys.argv[1:4]
    folder = os.environ.get('LOCKSTEP_REAL_NCCL', folder)
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
        said = done.stdout.splitlines()
        good = done.returncode == 0 and len(said) == 2 and said[1] == str(CALLS)
        print(f'# {said[0] if said else ""}')
        print('ok' if good else 'not ok', '1 the program is not disturbed')
        info = subprocess.run([lockstep, 'info', run], capture_output=True, text=True, check=False)
        spans = next((int(line.split()[1].replace(',', '')) for line in info.stdout.splitlines()
                      if line.startswith('spans')), 0)
        print('ok' if spans == CALLS + 1 else 'not ok', f'2 {CALLS + 1} ranges of the real libnccl')
        if not good or spans != CALLS + 1:
            print(f'# {done} {info}')
    print('1..2')
    return not (good and spans == CALLS + 1)


if __name__ == '__main__':
    sys.exit(main())
