# SPDX-License-Identifier: Apache-2.0
"""test-modes.py RECORD GPU_TRAIN DOUBLE: the tracer in one process of each kind that the double can make.

What test-run.py counts is not counted again. Here the program must end well and say nothing of its own, and
something must have been recorded: quick enough to be run under each sanitizer, whose word would be on standard
error and in the exit status.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ALL = ['--nccl', '--kernels', '--power=50']
CHANNELS = {'LOCKSTEP_NCCL_CHANNELS': '1'}
MODES = {
    'as nasty as it is': ('', ALL, {}),
    'calm': ('calm', ALL, {}),
    'another tool holds CUPTI': ('held=1', ALL, {}),
    'CUPTI left to another': ('', [*ALL, '--no-cupti'], {}),
    'buffers of a size that was not asked for': ('reject=2', ALL, {}),
    'much dropped': ('drop=3,untimed=5', ALL, {}),
    'CUPTI 11': ('cupti_version=110600', ALL, {}),
    'CUPTI 12': ('cupti_version=120000', ALL, {}),
    'the plugin by its table v4': ('nccl_api=4', ALL, CHANNELS),
    'the plugin by its table v6': ('nccl_api=6', ALL, CHANNELS),
    'sensors that never answer': ('nvml_fail=1', ALL, {}),
    'a few steps': ('', [*ALL, '--steps', '5:9'], {}),
    'a flight recorder that a slow step stops': ('', [*ALL, '--flight-recorder', '4M', '--trigger-ms', '1'], {}),
    'inside of ranges': ('', [*ALL, '--capture-range', 'nvtx:ncclAllReduce'], {}),
}
SUM = re.compile(r'^lockstep: 1 rank, ([0-9,]+) events?, .* (?:lost|as asked), .* in .*$', re.MULTILINE)


def play(record, gpu_train, double, run, mode):
    """What is wrong, or nothing."""
    settings, options, more = mode
    # A sanitizer's own settings stay.
    environment = {**os.environ, **more, 'LD_LIBRARY_PATH': double, 'LOCKSTEP_DOUBLE': settings,
                   'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'}
    done = subprocess.run([record, '-o', run, *options, '--', gpu_train, '--steps', '20'], capture_output=True,
                          text=True, timeout=600, env=environment, check=False)
    told = SUM.search(done.stderr)
    strange = [line for line in done.stderr.splitlines() if not line.startswith('lockstep: ')]
    if done.returncode != 0 or 'weights equal' not in done.stdout or strange:
        return f'{done.returncode} {done.stdout} {done.stderr}'
    return '' if told and int(told[1].replace(',', '')) > 50 else f'too little was recorded: {done.stderr}'


def main():
    record, gpu_train, double = sys.argv[1:4]
    failed = 0
    with tempfile.TemporaryDirectory(prefix='lockstep-modes-') as folder:
        for number, (name, mode) in enumerate(MODES.items(), 1):
            run = pathlib.Path(folder) / 'run'
            wrong = play(record, gpu_train, double, str(run), mode)
            shutil.rmtree(run, ignore_errors=True)
            failed += wrong != ''
            print('ok' if not wrong else 'not ok', number, name, flush=True)
            for line in wrong.splitlines():
                print('#', line)
    print(f'1..{len(MODES)}')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
