# SPDX-License-Identifier: Apache-2.0
"""includes.py ROOT: who may include whom (src/README.md), file by file.

Each folder has a row: which of our folders it may include beside itself, and which libraries. A
private header (NAME-private.h) stays within its folder. What the row does not name is a fault.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)

# The files in which the two halves meet; any folder right of the trace file may read them.
FORMAT = {'src/capture/format.h', 'src/capture/records.def'}
# Control and fusion of reduce, free of MPI and of the recorder.
MODEL = {'reduce/control.h', 'reduce/fusion.h', 'reduce/message.h', 'reduce/transport.h',
         'reduce/transport-memory.h'}
BASE = ['src/base', 'src/trace']
INDEX = BASE + ['src/index']
ALL = INDEX + ['src/format', 'src/merge', 'src/layout', 'src/analysis', 'src/diff', 'src/model',
               'src/query', 'src/report']

# folder: (folders of ours, single files of ours, libraries)
TABLE = {
    'src/capture': ([], set(), set()),
    'src/abi': ([], set(), set()),
    'tracer': (['src/capture', 'src/abi'], set(), set()),
    'reduce': (['src/capture', 'src/abi'], set(), {'mpi'}),
    'src/base': ([], set(), {'glib'}),
    'src/trace': (['src/base'], set(), {'glib'}),
    'src/format': (BASE, FORMAT | {'src/capture/crc32c.h'},
                   {'glib', 'json-c', 'zlib', 'zstd', 'sqlite'}),
    'src/merge': (BASE + ['src/format'], FORMAT | {'src/capture/recover.h', 'src/capture/status.h'},
                  {'glib', 'json-c'}),
    'src/index': (BASE, FORMAT, {'glib'}),
    'src/layout': (INDEX, FORMAT, {'glib'}),
    'src/analysis': (INDEX, FORMAT, {'glib'}),
    'src/diff': (INDEX + ['src/analysis'], FORMAT, {'glib'}),
    'src/model': (INDEX + ['src/analysis'], FORMAT | MODEL, {'glib'}),
    'src/query': (INDEX + ['src/analysis'], FORMAT, {'glib', 'sqlite'}),
    'src/report': (INDEX + ['src/layout', 'src/analysis', 'src/diff', 'src/model', 'src/query'],
                   FORMAT, {'glib', 'json-c'}),
    'src/cli': (ALL + ['ui/draw'], FORMAT | {'reduce/settings.def'}, {'glib', 'cairo'}),
    'ui/draw': (INDEX + ['src/layout'], FORMAT, {'glib', 'cairo', 'pango'}),
    'ui': (ALL + ['ui/draw'], FORMAT, {'glib', 'cairo', 'pango', 'gtk'}),
}
# Shown to users: only what is installed, MPI, (synth) the format of the file, (gpu-train) foreign ABIs.
TABLE['samples'] = (['src/abi'], FORMAT | {'src/capture/lockstep-mark.h', 'reduce/lockstep.h'},
                    {'mpi', 'json-c'})

LIBRARIES = {
    'glib': re.compile(r'^(glib|gio|gobject|glib-object|gmodule)([./-]|$)'),
    'json-c': re.compile(r'^json(-c)?[./_]'),
    'zlib': re.compile(r'^zlib\.h$'),
    'zstd': re.compile(r'^zstd'),
    'sqlite': re.compile(r'^sqlite3'),
    'cairo': re.compile(r'^cairo'),
    'pango': re.compile(r'^pango'),
    'gtk': re.compile(r'^(gtk|gdk|gsk|graphene)'),
    'mpi': re.compile(r'^mpi'),
    'cuda': re.compile(r'^(cuda|cupti|nccl|nvml|nvToolsExt)'),
}


def get_folder(path):
    """The row that a file belongs to: the longest that fits."""
    parts = path.split('/')
    for n in range(len(parts) - 1, 0, -1):
        folder = '/'.join(parts[:n])
        if folder in TABLE:
            return folder
    return None


def resolve(root, path, name):
    """Where an include in quotes lies: from the top of src, from the top, or beside the file."""
    for base in ('src', '', str(pathlib.Path(path).parent)):
        found = root / base / name
        if found.is_file():
            return str(found.resolve().relative_to(root.resolve()))
    return None


def check_ours(root, path, folder, name):
    target = resolve(root, path, name)
    if target is None:
        # Made while building (a resource, a configured header) or a library's in quotes.
        return None
    folders, files, _ = TABLE[folder]
    target_folder = get_folder(target)
    if target.endswith('-private.h') and target_folder != folder:
        return f'{target} is private to {target_folder}'
    if target_folder == folder or target_folder in folders or target in files:
        return None
    return f'{folder} may not include {target}'


def check_library(folder, name):
    for library, pattern in LIBRARIES.items():
        if pattern.match(name) and library not in TABLE[folder][2]:
            return f'{folder} may not use {library} (<{name}>)'
    return None


def main():
    root = pathlib.Path(sys.argv[1])
    faults, files = [], 0
    for top in ('src', 'ui', 'reduce', 'tracer', 'samples'):
        for path in sorted((root / top).rglob('*.[ch]')):
            name = str(path.relative_to(root))
            folder = get_folder(name)
            files += 1
            if folder is None:
                faults.append(f'{name}: its folder is not in the table')
                continue
            text = path.read_text(encoding='utf-8')
            for match in INCLUDE.finditer(text):
                line = text.count('\n', 0, match.start()) + 1
                fault = (check_library(folder, match.group(2)) if match.group(1) == '<'
                         else check_ours(root, name, folder, match.group(2)))
                if fault:
                    faults.append(f'{name}:{line}: {fault}')
    for fault in faults:
        print(fault)
    print(f'{files} files, {len(faults)} faults')
    return 1 if faults or files == 0 else 0


if __name__ == '__main__':
    sys.exit(main())
