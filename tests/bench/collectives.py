#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""collectives.py BENCH-REDUCE [--rounds N] [--ranks 2,4,8]: the library beside bare MPI_Allreduce and Horovod.

Each round (3) runs bench-reduce on 2, 4 and 8 ranks and, where LOCKSTEP_HOROVOD_BENCH names it, Horovod's own
core (peers/horovod-core-bench.cc) with its default cycle time and with none, one after the other. A figure is
the median over the rounds of a run's median; a ratio, of those to the bare calls of the same run. None of them
is a bound here: README.md says what is expected.
"""
import os
import re
import statistics
import subprocess
import sys

BENCH = sys.argv[1]
PEER = os.environ.get('LOCKSTEP_HOROVOD_BENCH')
ROUNDS = int(sys.argv[sys.argv.index('--rounds') + 1]) if '--rounds' in sys.argv else 3
RANKS = sys.argv[sys.argv.index('--ranks') + 1].split(',') if '--ranks' in sys.argv else ['2', '4', '8']
CASES = ('one 4 B tensor', '1000 x 4 KB', 'one 64 MB', '200 x 64 KB')
TITLES = {'packed': 'packed into one MPI_Allreduce', 'messages': 'bitvector, plane mpi'}
PEERS = {'Horovod': {}, 'Horovod, cycle time 0': {'HOROVOD_CYCLE_TIME': '0'}}
PEER_LINE = re.compile(r'(.+?) +ranks (\d+) cycle .*: horovod ([\d.]+) us, bare MPI ([\d.]+) us')


def launch(ranks, words, settings):
    done = subprocess.run(['mpirun', '-np', ranks, *words], env=os.environ | settings, capture_output=True, text=True,
                          timeout=600, check=False)
    # Horovod's bench leaves without MPI_Finalize, which mpirun calls a failure: its lines decide.
    if done.returncode != 0 and words[0] != PEER:
        sys.exit(f'{words[0]} on {ranks} ranks: {done.stderr or done.stdout}')
    return done.stdout.splitlines()


def add(found, case, ranks, way, time, bare):
    found.setdefault((case, ranks), {}).setdefault(way, []).append((time, time / bare))


def run_ours(found, ranks):
    for line in launch(ranks, [BENCH, '1'], {}):
        if '\t' not in line:
            continue  # GLib's own
        case, _, *rest = line.split('\t')
        quartiles = {way: [float(value) for value in rest[at + 1:at + 4]]
                     for at, way in enumerate(rest) if way.isalpha()}
        low, bare, high = quartiles['bare']
        add(found, case, ranks, 'lower', low, bare)
        add(found, case, ranks, 'upper', high, bare)
        for way, (_, middle, _) in quartiles.items():
            add(found, case, ranks, way, middle, bare)


def run_peer(found, ranks):
    for way, settings in PEERS.items() if PEER else ():
        matches = [match for match in map(PEER_LINE.match, launch(ranks, [PEER], settings)) if match]
        if len(matches) != len(CASES):
            sys.exit(f'{PEER} on {ranks} ranks printed {len(matches)} of {len(CASES)} cases')
        for match in matches:
            case, _, time, bare = match.groups()
            add(found, case, ranks, way, float(time), float(bare))


def main():
    found = {}
    for _ in range(ROUNDS):
        for ranks in RANKS:
            run_ours(found, ranks)
            run_peer(found, ranks)
    ways = ['packed', 'coordinator', 'bitvector', 'messages', *(PEERS if PEER else ())]
    print('us, and the ratio to the bare calls of the same run\n')
    print('| case | ranks | bare MPI_Allreduce (quartiles) | AND | ' +
          ' | '.join(TITLES.get(way, way) for way in ways) + ' |')
    print('|---|---:|---:' + '|---:' * (1 + len(ways)) + '|')
    for case in CASES:
        for ranks in RANKS:
            row = {way: [statistics.median(column) for column in zip(*pairs)]
                   for way, pairs in found[case, ranks].items()}
            cells = [f'{row[way][0]:,.1f} ({row[way][1]:.2f})' for way in ways]
            print(f'| {case} | {ranks} | {row["bare"][0]:,.1f} ({row["lower"][0]:,.1f} to {row["upper"][0]:,.1f}) | '
                  f'{row["and"][0]:,.1f} | ' + ' | '.join(cells) + ' |')
    if not PEER:
        print('\nHorovod beside it: name its bench in LOCKSTEP_HOROVOD_BENCH')


if __name__ == '__main__':
    main()
