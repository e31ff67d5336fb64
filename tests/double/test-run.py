# SPDX-License-Identifier: Apache-2.0
"""test-run.py MPIRUN RECORD LOCKSTEP GPU_TRAIN DOUBLE LKS: a recorded job on the double, to the last record.

Four ranks of gpu-train under `lockstep record` on the double, nasty as it is. What the double says it did,
what the program says it asked for, and what the recording holds must be the same numbers, but for the device
records that the double dropped on purpose, which are counted as lost. Then: another tool holds CUPTI; the
plugin's older table; a process that NCCL alone tells its rank.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

RANKS, STEPS = 4, 50
KERNEL, COPY, MEMSET, SYNC, API, EXTERNAL, UNTIMED, DROPPED = 48, 49, 50, 51, 52, 54, 55, 56
OPERATION, NOTICE = 39, 6
RANGE, NCCL_COMM, NCCL_COLL, NCCL_P2P, NCCL_LAUNCH, NCCL_CHANNEL, SAMPLE = 57, 60, 61, 62, 64, 65, 67
DEVICE = {KERNEL, COPY, MEMSET}
DTYPE = {0: 'ncclFloat32', 1: 'ncclFloat64', 7: 'ncclInt64'}

number, failed = 0, 0


def check(name, good, detail=''):
    global number, failed
    number += 1
    failed += not good
    print(('ok' if good else 'not ok'), number, name, flush=True)
    if not good:
        print(f'# {detail}', flush=True)


class Record:
    def __init__(self, kind, name, start, end, args, thread, is_open=False):
        self.kind, self.name, self.start, self.end, self.args, self.thread = kind, name, start, end, args, thread
        self.is_open = is_open


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def zigzag(value):
    return (value >> 1) ^ -(value & 1)


def shapes(root):
    """Shape of each kind, from the one list."""
    import re
    text = (root / 'src/capture/records.def').read_text(encoding='utf-8')
    return {int(n): shape for n, shape in re.findall(r'^LS_RECORD\((\d+),.*?LS_SHAPE_(\w+)', text, re.MULTILINE)}


def read_file(path, shape_of):
    """An independent reader of FORMAT.md."""
    data, at, records, names, infos = path.read_bytes(), 0, [], {}, {}
    while (at := data.find(b'\x4c\x53\x4b\x31', at)) >= 0:
        size = int.from_bytes(data[at + 8:at + 12], 'little')
        thread = int.from_bytes(data[at + 24:at + 28], 'little')
        time = int.from_bytes(data[at + 40:at + 48], 'little', signed=True)
        place, end = at + 64, at + 64 + size
        while place < end:
            length, place = read_varint(data, place)
            stop = place + length
            tag, place = read_varint(data, place)
            kind = tag >> 1
            first, place = read_varint(data, place)
            if shape_of[kind] == 'TEXT':
                text = data[place:stop].decode()
                (names if kind == 1 else infos)[first] = text
            else:
                delta, place = read_varint(data, place)
                time += zigzag(delta)
                duration = 0
                if shape_of[kind] == 'SPAN':
                    duration, place = read_varint(data, place)
                args = []
                while place < stop:
                    value, place = read_varint(data, place)
                    args.append(zigzag(value))
                records.append(Record(kind, first, time, time + duration, args + [0] * (5 - len(args)), thread,
                                      tag & 1 == 1))
            place = stop
        at = end
    for record in records:
        record.name = names.get(record.name, '')
    return records, {names.get(key): value for key, value in infos.items()}


def read_counts(folder, library, rank):
    path = folder / f'{library}.{rank}'
    if not path.is_file():
        return collections.Counter()  # it did nothing
    rows = [line.rsplit(' ', 1) for line in path.read_text().splitlines()]
    return collections.Counter({key: int(value) for key, value in rows})


class Job:
    """One recorded run."""

    def __init__(self, tools, name, ranks=RANKS, steps=STEPS, double='', options=(), environment=None, arguments=()):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f'lockstep-double-{name}-'))
        self.run, self.counts_folder = self.folder / 'run', self.folder / 'counts'
        self.counts_folder.mkdir()
        env = dict(os.environ, LD_LIBRARY_PATH=str(tools['double']), LOCKSTEP_DOUBLE=double,
                   LOCKSTEP_DOUBLE_COUNTS=str(self.counts_folder), OMPI_ALLOW_RUN_AS_ROOT='1',
                   LOCKSTEP_RING_SIZE='256K',  # room for all that a thread says: none is lost while the drain waits
                   OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1', OMPI_MCA_rmaps_base_oversubscribe='1',
                   OMPI_MCA_mpi_yield_when_idle='1', OMPI_MCA_hwloc_base_binding_policy='none')
        for variable in ('CUDA_INJECTION64_PATH', 'NVTX_INJECTION64_PATH', 'NCCL_PROFILER_PLUGIN'):
            env.pop(variable, None)
        env.update(environment or {})
        command = [tools['mpirun'], '-np', str(ranks), tools['record'], '-o', str(self.run), *options, '--',
                   tools['gpu_train'], '--steps', str(steps), *arguments]
        self.done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=env, check=False)
        self.files, self.infos = {}, {}
        for path in sorted(self.run.glob('rank-*.lks')) if self.run.is_dir() else []:
            rank = int(path.name.split('.')[0].split('-')[1])
            self.files[rank], self.infos[rank] = read_file(path, tools['shapes'])

    def counts(self, library, rank):
        return read_counts(self.counts_folder, library, rank)

    def said(self, rank):
        for line in self.done.stdout.splitlines():
            words = line.split()
            if words[:2] == ['rank', f'{rank}:']:
                return dict(zip(words[2::2], words[3::2]))
        return {}


def of(records, kind):
    return [r for r in records if r.kind == kind]


def check_device(job, rank, records):
    cuda, cupti = job.counts('cuda', rank), job.counts('cupti', rank)
    said = job.said(rank)
    kernels = sum(n for key, n in cuda.items() if key.startswith('kernel.'))
    recorded = [r for r in records if r.kind in DEVICE]
    untimed = of(records, UNTIMED)
    dropped = sum(r.args[0] for r in of(records, DROPPED))
    check(f'rank {rank}: the program and the double agree on kernels and copies',
          int(said['kernels']) == kernels - cuda['kernel.nccl'] and
          int(said['copies']) == cuda['copy.HtoD'] + cuda['copy.DtoH'], f'{said} {cuda}')
    check(f'rank {rank}: every device record is there or counted as lost',
          len(recorded) + len(untimed) + dropped == kernels + int(said['copies']) + cuda['memset'] and
          dropped == cupti['dropped'], f'{len(recorded)} + {len(untimed)} + {dropped}')
    by_kind = {KERNEL: (kernels, 10), COPY: (int(said['copies']), 1), MEMSET: (cuda['memset'], 2)}
    for kind, (asked, cupti_kind) in by_kind.items():
        got = len(of(recorded, kind)) + sum(r.args[0] == kind for r in untimed)
        check(f'rank {rank}: kind {kind}: {asked}', got + cupti[f'dropped.{cupti_kind}'] == asked, f'{got}')
    check(f'rank {rank}: untimed kernels are kept as such', len(untimed) == cupti['untimed'] > 0,
          f'{len(untimed)} {cupti["untimed"]}')
    check(f'rank {rank}: {sum(n for k, n in cuda.items() if k.startswith("sync."))} waits of the host',
          len(of(records, SYNC)) == sum(n for k, n in cuda.items() if k.startswith('sync.')))
    launches = [r for r in of(records, API) if r.name.startswith('cuLaunchKernel')]
    check(f'rank {rank}: every launch is there', len(launches) == kernels, f'{len(launches)} of {kernels}')
    starts = {r.args[0]: r.start for r in launches}
    check(f'rank {rank}: no kernel begins before its launch',
          all(r.start >= starts[r.args[1]] for r in of(records, KERNEL)))


def check_collectives(job, rank, records):
    asked = {key[5:]: n for key, n in job.counts('nccl', rank).items() if key.startswith('coll.')}
    got = collections.Counter()
    for r in of(records, NCCL_COLL):
        share = RANKS if r.name == 'AllGather' else 1
        got[f'{r.name}.{DTYPE[r.args[3] >> 8 & 255]}.{r.args[2] // share}'] += 1
    for r in of(records, NCCL_P2P):
        got[f'{r.name}.{DTYPE[r.args[3] >> 8 & 255]}.{r.args[2]}'] += 1
    check(f'rank {rank}: collectives by operation, type and bytes', dict(got) == asked, f'{got} {asked}')
    numbers = collections.defaultdict(list)
    for r in of(records, NCCL_COLL):
        numbers[r.args[0], r.name].append(r.args[1])
    check(f'rank {rank}: numbered without a gap',
          all(sorted(n) == list(range(len(n))) for n in numbers.values()))


def check_joins(job, rank, records):
    """Each NCCL kernel: its launch, its collective, its range; found without the reader under test."""
    launch_of = {r.args[0]: r.args[1] for r in of(records, EXTERNAL)}
    colls = collections.defaultdict(list)
    for r in of(records, NCCL_COLL) + of(records, NCCL_P2P):
        colls[r.args[4]].append(r)
    calls = {r.args[0]: r for r in of(records, API)}
    ranges = [r for r in of(records, RANGE) if r.name.startswith('nccl')]
    kernels = [r for r in of(records, KERNEL) if r.name.startswith('nccl')]
    good = 0
    for kernel in kernels:
        call = calls.get(kernel.args[1])
        carried = colls.get(launch_of.get(kernel.args[1], 0), [])
        named = any(c.name in kernel.name or (c.kind == NCCL_P2P and 'SendRecv' in kernel.name) for c in carried)
        enclosed = call and any(r.thread == call.args[1] and r.start <= call.start <= r.end for r in ranges)
        good += bool(call and named and enclosed)
    check(f'rank {rank}: each of {len(kernels)} NCCL kernels has collective, launch and range',
          good == len(kernels) > 0, f'{good} of {len(kernels)}')
    return len(kernels)


def check_report(tools, job):
    run = subprocess.run([tools['lockstep'], 'report', str(job.run), '--format', 'json'], capture_output=True,
                         text=True, check=False)
    tables = json.loads(run.stdout)['tables'] if run.returncode == 0 else {}
    launches = tables.get('launches', [])
    kernels = sum(1 for records in job.files.values() for r in of(records, KERNEL) if r.name.startswith('nccl'))
    carried = collections.Counter((row['rank'], row['kernel'], row['start_ns']) for row in launches)
    check('report: a row for each NCCL operation whose kernel has times',
          len(carried) == kernels and all(row['range'] and row['launch_ns'] <= row['start_ns'] for row in launches),
          f'{len(carried)} of {kernels}')
    collectives = tables.get('collectives', [])
    check('report: collectives are paired over all ranks', sum(row['ranks'] == RANKS for row in collectives) >
          0.9 * len(collectives) > 0, f'{len(collectives)}')
    check('report: losses are in it', sum(row['lost'] for row in tables['ranks']) ==
          sum(job.counts('cupti', rank)['dropped'] for rank in job.files))
    check('report: it says "CPU test double"', 'test double' in subprocess.run(
        [tools['lockstep'], 'report', str(job.run)], capture_output=True, text=True, check=False).stdout)


def check_pack(tools, job):
    """Steps that were carried away are what they were: CUPTI's records come in any order, and late."""
    packed = job.folder / 'part.lks'
    done = subprocess.run([tools['record'], 'pack', str(job.run), '-o', str(packed), '--step', '10:12'],
                          capture_output=True, text=True, check=False)
    columns = ('step', 'rank', 'compute_ns', 'communication_ns', 'step_ns')
    found = []
    for path in (job.run, packed):
        run = subprocess.run([tools['lockstep'], 'report', str(path), '--table', 'steps', '--format', 'json'],
                             capture_output=True, text=True, check=False)
        rows = json.loads(run.stdout)['tables']['steps'] if run.returncode == 0 else []
        found.append(sorted(tuple(row[column] for column in columns) for row in rows))
    whole = [row for row in found[0] if 10 <= row[0] <= 12]
    check('pack: the steps asked for, whole, and no others', done.returncode == 0 and len(whole) == 3 * RANKS and
          found[1] == whole, f'{done.stderr} {found[1]} {whole}')


def check_main(tools):
    job = Job(tools, 'main', options=['--nccl', '--kernels'])
    check('the job ends well', job.done.returncode == 0 and len(job.files) == RANKS,
          f'{job.done.returncode} {job.done.stderr}')
    check('weights are equal on all ranks', job.done.stdout.count('weights equal') == RANKS, job.done.stdout)
    if len(job.files) != RANKS:
        return
    for rank, records in job.files.items():
        check_device(job, rank, records)
        check_collectives(job, rank, records)
        check_joins(job, rank, records)
        check(f'rank {rank}: our own rings lost nothing', not of(records, 5))
        check(f'rank {rank}: {STEPS} steps', len({r.args[0] for r in of(records, 16)}) == STEPS)
        faults = [key for key in job.counts('cupti', rank) if key.startswith('fault.')]
        check(f'rank {rank}: buffers were zeroed, the clock registered once',
              not faults and job.counts('cupti', rank)['clock.registered'] == 1, faults)
        check(f'rank {rank}: the device is called a test double', job.infos[rank].get('test_double') == '1')
    check_report(tools, job)
    check_pack(tools, job)


def record_power(tools, rate):
    """Records, samples of power, and what the clock says of them: how far off the rate, and of its period the time
    until the first. A machine that does not let the sampler run on time is given more tries."""
    for attempt in range(10):
        job = Job(tools, f'power-{attempt}', ranks=1, steps=600, options=['--kernels', f'--power={rate}'])
        records = job.files.get(0, [])
        power = [r for r in of(records, SAMPLE) if r.name == 'gpu power']
        length = (power[-1].start - power[0].start) / 1e9 if len(power) > 1 else 1e9
        off = abs((len(power) - 1) / length / rate - 1)
        begin = (power[0].start - min(r.start for r in records)) * rate / 1e9 if power else 1e9
        if len(power) > 5 and off < 0.25 and begin < 0.8:
            break
    return job, records, power, off, begin


def check_power(tools):
    job, records, power, off, begin = record_power(tools, rate=20)
    valid = [r for r in power if r.args[3] == 0]
    check('power: samples at the asked rate', len(power) > 5 and off < 0.25, f'{len(power)}, off by {off}')
    check('power: from the start, before a kernel tells of its device', begin < 3 and
          job.infos[0].get('power.device.guessed') == '0', f'{begin} periods, {job.infos[0].get("power.device.guessed")}')
    # The double's first two calls fail.
    check('power: asked again soon until it answers', valid and begin < 0.8, f'{begin} periods')
    check('power: values are those of the sensor, failures have none',
          valid and all(200000 <= r.args[0] <= 400000 for r in valid) and
          all(r.args[0] == 0 for r in power if r.args[3] != 0), f'{[r.args[0] for r in power][:10]}')
    check('power: what never works is not sampled', not [r for r in of(records, SAMPLE) if 'temperature' in r.name])


def check_held(tools):
    job = Job(tools, 'held', ranks=2, steps=100, double='held=1', options=['--nccl', '--kernels', '--power=50'])
    records = job.files.get(0, [])
    check('held: another tool keeps CUPTI, the rest goes on',
          job.done.returncode == 0 and not of(records, KERNEL) and not of(records, API) and
          len(of(records, NCCL_COLL)) == job.counts('nccl', 0)['coll'] - 2 and of(records, RANGE) and
          job.counts('cupti', 0)['clock.registered'] == 0, job.done.stderr)
    check('held: power is sampled without CUPTI', len([r for r in of(records, SAMPLE) if r.name == 'gpu power']) > 3)
    check('held: it is said, with the name', any('another tool of the double' in r.name for r in of(records, NOTICE)))


def is_shm_small():
    shm = os.statvfs('/dev/shm') if os.path.isdir('/dev/shm') else None
    return shm is None or shm.f_bavail * shm.f_frsize < 1 << 30


def check_older(tools):
    for version in (4, 6):
        was_small = is_shm_small()
        job = Job(tools, f'v{version}', ranks=2, steps=10, double=f'nccl_api={version}',
                  options=['--nccl', '--kernels'], environment={'LOCKSTEP_NCCL_CHANNELS': '1'})
        records = job.files.get(0, [])
        asked = job.counts('nccl', 0) if job.files else {}
        check(f'plugin v{version}: every operation', job.done.returncode == 0 and
              len(of(records, NCCL_COLL)) + len(of(records, NCCL_P2P)) == asked['coll'] and asked[f'plugin.v{version}'] == 1,
              f'{len(of(records, NCCL_COLL))} {asked}')
        channels = of(records, NCCL_CHANNEL)
        # A machine with little shared memory, as a container is: not asked for, which is said.
        told = any('less than 1 GiB is free in /dev/shm' in r.name for r in of(records, NOTICE))
        check(f'plugin v{version}: channels whose begin was told, once each',
              len(channels) == asked['plugin.start.64'] and (len(channels) == 0) == told in (was_small, is_shm_small()),
              f'{len(channels)} {told} {asked}')


def check_calm(tools):
    job = Job(tools, 'calm', ranks=1, steps=20, double='calm', options=['--nccl', '--kernels'])
    records = job.files.get(0, [])
    cuda = job.counts('cuda', 0)
    kernels = sum(n for key, n in cuda.items() if key.startswith('kernel.'))
    check('calm: nothing is dropped, nothing is missing',
          len(of(records, KERNEL)) == kernels and not of(records, DROPPED) and not of(records, UNTIMED))


def check_bounded(tools):
    """What ran in the steps that were asked for, though CUPTI tells of it when they are long over."""
    first, last = 20, 29
    whole, part = (Job(tools, f'bounded{len(options)}', ranks=1, steps=40, double='calm',
                       options=['--nccl', '--kernels', *options]) for options in ([], ['--steps', f'{first}:{last}']))
    steps = {r.args[0]: r for r in of(whole.files.get(0, []), 16)}
    found = {}
    for name, job in (('asked', whole), ('got', part)):
        records = job.files.get(0, [])
        own = {r.args[0]: r for r in of(records, 16)}
        begin, end = own[first].start, own[last].end
        found[name] = collections.Counter(r.name for r in records if r.kind in DEVICE and begin <= r.start <= end)
        external = {r.args[0] for r in of(records, EXTERNAL)}
        found[name]['joined'] = sum(r.args[1] in external for r in of(records, KERNEL) if begin <= r.start <= end)
    outside = [r for r in part.files.get(0, []) if r.kind in DEVICE and not begin <= r.end]
    check('bounded: kernels and copies of the steps asked for, all of them', found['got'] == found['asked'] and
          len(steps) == 40 and found['got'].total() > 100, f'{found}')
    check('bounded: and no others', not outside and sorted(own) == list(range(first, last + 1)), f'{len(outside)}')


def check_bounded_early(tools):
    """Rank 0 waits on its device for the other almost always, so that CUPTI keeps its buffer until the end, when the
    steps asked for are long over: what it then tells without a time is of those steps all the same."""
    job = Job(tools, 'early', ranks=2, steps=15, double='calm', options=['--nccl', '--kernels', '--steps', '1:2'],
              arguments=['--late', '1:200000'])
    records = job.files.get(0, [])
    external = {r.args[0] for r in of(records, EXTERNAL)}
    kernels = [r for r in of(records, KERNEL) if r.name.startswith('nccl')]
    joined = sum(r.args[1] in external for r in kernels)
    check('bounded: NCCL kernels have their launch, though the program goes on for seconds', 0 < len(kernels) == joined,
          f'{joined} of {len(kernels)} {job.done.stderr}')


def check_reduce(tools):
    """Gradients through lockstep on the device, recorded by it and by the tracer at once."""
    layers, steps = 4, 15
    job = Job(tools, 'reduce', ranks=2, steps=steps, options=['--nccl', '--kernels'], arguments=['--reduce', 'plane=nccl'])
    check('reduce: the job ends well, weights are equal', job.done.returncode == 0 and
          job.done.stdout.count('weights equal') == 2, f'{job.done.stdout} {job.done.stderr}')
    for rank, records in job.files.items():
        ended = [r for r in of(records, OPERATION) if not r.is_open]
        sums = [r for r in ended if r.name == 'NCCL_ALLREDUCE']
        waits = {r.args[0]: r for r in ended if r.name == 'WAIT_FOR_DATA'}
        check(f'reduce: rank {rank}: every gradient is in one buffer', sum(r.args[3] for r in sums) == layers * steps,
              f'{[r.args[3] for r in sums]}')
        # Whatever the threads are let do: begun when the wait was seen to be over, and no later tie is later.
        check(f'reduce: rank {rank}: every buffer waits for its data before it begins', len(waits) == len(sums) and
              all(waits[r.args[0]].end <= r.start for r in sums), f'{len(waits)} waits of {len(sums)}')
        used = job.counts('cuda', rank)
        check(f'reduce: rank {rank}: the stream has the highest priority', used['stream.priority.-5'] == 1, f'{used}')
    run = subprocess.run([tools['lockstep'], 'report', str(job.run), '--table', 'collectives', '--format', 'json'],
                         capture_output=True, text=True, check=False)
    rows = json.loads(run.stdout)['tables']['collectives'] if run.returncode == 0 else []
    check('reduce: the report has every gradient in a collective of both ranks',
          sum(row['tensors'] or 0 for row in rows if row['ranks'] == 2) == layers * steps, f'{run.stdout[:900]} {run.stderr}')
    # The program's own collectives of NCCL follow or precede the gradients': what is inside is the library's.
    own = [row for row in rows if row['tensors']]
    doubles = [row['id'] for row in rows if not row['tensors'] and any(
        row['operation'] == 'allreduce' and row['bytes'] == other['bytes'] and
        other['start_ns'] <= row['start_ns'] <= (row['start_ns'] + row['end_ns']) // 2 <= other['end_ns'] for other in own)]
    check('reduce: and each once, though NCCL and its kernels are recorded too', own and not doubles, f'{doubles}')
    check("reduce: the program's own collectives of NCCL stay", len(rows) > len(own) + steps, f'{len(rows)} {len(own)}')


def main():
    names = ['mpirun', 'record', 'lockstep', 'gpu_train', 'double']
    tools = dict(zip(names, sys.argv[1:6]))
    tools['shapes'] = shapes(pathlib.Path(__file__).resolve().parents[2])
    with tempfile.TemporaryDirectory(prefix='lockstep-double-') as folder:
        tempfile.tempdir = folder
        for part in (check_main, check_power, check_held, check_older, check_calm, check_bounded,
                     check_bounded_early, check_reduce):
            part(tools)
    print(f'1..{number}')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
