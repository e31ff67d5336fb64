# SPDX-License-Identifier: Apache-2.0
"""globals.py BUILD: no mutable variables at file scope, except those listed here with their reason.

Read from the symbol tables of the object files, not from the text: what lies in a writable section
(but .data.rel.ro, which is constant after relocation) is state that outlives a call.
"""
import pathlib
import re
import subprocess
import sys

# file: {variable: reason}; "*" allows any in that file.
ALLOWED = {
    'src/capture/recorder.c': {'ls_recorder': 'the one recorder of the process',
                               'owner': '4 KB that a host\'s stack may not have, under its lock',
                               'ls_whereabouts': 'what of ours each thread is in'},
    'src/capture/gate.c': {'ls_gate': 'is it recording, in a page that a fork wipes',
                           'spare': 'what it points to before that page is there'},
    'src/capture/thread.c': {'thread': 'the ring of each thread', 'thread_key': 'tells when it ends',
                             'has_thread_key': 'the key is there'},
    'src/capture/mark.c': {'marks': 'what each thread has begun', 'known': 'ids of the names of steps and phases'},
    'src/capture/words.c': {'error_file': 'standard error as it was', 'has_error_file': 'it was there',
                            'has_private_descriptors': 'of our own thread: no unshared files'},
    'src/capture/clock.c': {'ls_clock_double': 'the double of the clock, for tests'},
    'reduce/queue-done.c': {'is_calling': 'the thread is inside a callback'},
    'src/abi/nvtx-client.c': {'*': 'NVTX has one table of functions in each program; in samples and tests only'},
    'tracer/tracer.c': {'tracer': 'the one tracer of the process, under its lock'},
    'tracer/cupti.c': {'cupti': 'CUPTI is one per process', 'subscriber': 'its handle',
                       'last_ns': 'when losses were last told'},
    'tracer/cupti-buffer.c': {'buffers': 'memory lent to CUPTI, under its lock'},
    'tracer/cupti-activity.c': {'names': 'of kernels, by thread', 'is_prepared': 'this thread has a large ring',
                                'call_names': 'of the driver\'s calls', 'last_device': 'seen last',
                                'own_thread': 'whose calls are left out'},
    'tracer/nvtx.c': {'own': 'open ranges, by thread', 'counts': 'of ranges and steps that have no number'},
    'tracer/nvtx-text.c': {'known': 'domains and texts that NVTX has handles of'},
    'tracer/nccl-event.c': {'slots': 'NCCL may use a handle at any time: they live as long as the process',
                            'comms': 'so do these', 'n_comms': 'used of them', 'n_blocks': 'of slots, taken so far',
                            'n_groups': 'numbers of launches', 'known': 'operations, by thread',
                            'next': 'of a thread in its block'},
    'tracer/mpi.c': {'known': 'the family of the program\'s MPI library', 'state': 'it is opened once',
                     'slot': 'the real call', 'names': 'of the calls', 'depth': 'a call within a call, by thread'},
    'tracer/mpi-communicator.c': {'table': 'numbers of handles that MPI has, under its lock', 'n_numbers': 'of them',
                                  'generation': 'of the table', 'last': 'communicator of each thread',
                                  'last_generation': 'of that', 'lock': 'of the table'},
    'tracer/mpi-mpich.c': {'functions': 'of the program\'s MPI library'},
    'tracer/mpi-openmpi.c': {'functions': 'of the program\'s MPI library', 'null_type': 'its handles',
                             'world': 'likewise', 'ops': 'likewise'},
    'tracer/sampler.c': {'sampler': 'one sampler per process'},
    'ui/appearance.c': {'appearance': 'light or dark, of the whole desktop'},
    'ui/session.c': {'signals': 'numbers that GObject gives its signals'},
    'src/merge/identity.c': {'regex': 'compiled once, read by all'},
    'reduce/failure.c': {'latest': 'the last sentence of each thread, as errno is'},
    'reduce/world-mpi.c': {'open_worlds': 'MPI is one per process, and so is its thread level',
                           'opened_worlds': 'ids of contexts are unique in a process'},
    'reduce/world-self.c': {'opened': 'ids of contexts are unique in a process'},
}
# What GObject's and GLib's own macros define.
MACHINERY = re.compile(r'^q\.\d+$|(_type_id|_parent_class|_private_offset|_quark|_once|_type)(__once|__volatile)?'
                       r'(\.\d+)?$|^(static_)?(g_)?(once_init|resource)')
# What a sanitizer, the compiler or coverage adds.
COMPILER = re.compile(r'^(__|\.L|_\.|completed\.)')
WRITABLE = re.compile(r'^\.(data|bss|tdata|tbss)(?!\.rel\.ro)')


def get_source(build, path):
    """src/base/libbase.a.p/progress.c.o -> src/base/progress.c"""
    parts = path.relative_to(build).parts
    folder = '/'.join(part for part in parts[:-1] if not part.endswith('.p'))
    return f'{folder}/{parts[-1][:-2]}'


def readelf(path, *arguments):
    return subprocess.run(['readelf', '-W', *arguments, str(path)], capture_output=True, text=True,
                          check=True, env={'LC_ALL': 'C', 'PATH': '/usr/bin:/bin'}).stdout


def get_sections(path):
    sections = {}
    for match in re.finditer(r'^\s*\[\s*(\d+)\]\s+(\S+)', readelf(path, '-S'), re.MULTILINE):
        sections[match.group(1)] = match.group(2)
    return sections


def get_variables(path):
    sections = get_sections(path)
    for line in readelf(path, '-s').splitlines():
        fields = line.split()
        if len(fields) < 8 or fields[3] not in ('OBJECT', 'TLS'):
            continue
        if fields[6] == 'COM' or WRITABLE.match(sections.get(fields[6], '')):
            yield fields[7]


def main():
    build = pathlib.Path(sys.argv[1])
    faults, files, unused = [], 0, {(f, v) for f, names in ALLOWED.items() for v in names}
    for top in ('src', 'reduce', 'ui', 'tracer'):
        for path in sorted((build / top).rglob('*.c.o')):
            source = get_source(build, path)
            files += 1
            for name in get_variables(path):
                plain = re.sub(r'\.\d+$', '', name)
                allowed = ALLOWED.get(source, {})
                if plain in allowed or '*' in allowed:
                    unused -= {(source, plain), (source, '*')}
                elif not COMPILER.match(name) and not (MACHINERY.search(name)):
                    faults.append(f'{source}: "{plain}" is mutable: let the state travel in an '
                                  'argument, or list it in tests/lint/globals.py with its reason')
    for fault in faults:
        print(fault)
    for source, name in sorted(unused):
        print(f'note: {source}: "{name}" is allowed and not there')
    print(f'{files} objects, {len(faults)} faults')
    return 1 if faults or files == 0 else 0


if __name__ == '__main__':
    sys.exit(main())
