# SPDX-License-Identifier: Apache-2.0
"""lints.py CC: each lint finds what it is for: a small tree with one fault after another.

A lint that has stopped finding anything would otherwise look like a clean house.
"""
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
LICENCE = '/* SPDX-License-Identifier: Apache-2.0\n *\n * {}: long enough to say what it is for. */\n'


def write(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding='utf-8')


def make_clean(root):
    write(root, 'src/base/README.md', '# base\n`a.[ch]`\n')
    write(root, 'src/base/a.h', LICENCE.format('base/a.h'))
    write(root, 'src/base/a.c', LICENCE.format('base/a.c') + '#include "base/a.h"\n#include <glib.h>\n')
    write(root, 'src/trace/b.h', LICENCE.format('trace/b.h') + '#include "base/a.h"\n')


def run(script, *arguments):
    done = subprocess.run([sys.executable, HERE / script, *map(str, arguments)], capture_output=True,
                          text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def expect(script, root, fault, *arguments):
    status, text = run(script, *(arguments or (root,)))
    if fault is None:
        assert status == 0, f'{script} finds a fault in a clean tree: {text}'
    else:
        assert status == 1 and fault in text, f'{script} does not say "{fault}": {text}'


TREES = [
    # script, file, text, what it must say
    ('includes.py', 'src/base/a.c', '#include "trace/b.h"\n', 'src/base may not include src/trace/b.h'),
    ('includes.py', 'src/base/a.c', '#include <gtk/gtk.h>\n', 'src/base may not use gtk'),
    ('includes.py', 'src/base/a.c', '#  include <mpi.h>\n', 'src/base may not use mpi'),
    ('includes.py', 'src/odd/c.c', '\n', 'its folder is not in the table'),
    ('includes.py', 'reduce/d.c', '#include <glib.h>\n', 'reduce may not use glib'),
    ('names.py', 'src/base/a.c', 'int a;\n', 'the first line must say'),
    ('names.py', 'src/base/a.h', '/* SPDX-License-Identifier: Apache-2.0 */\n', 'the first comment'),
    ('names.py', 'src/base/a.c', LICENCE.format('base/a.c') + '/* TO' + 'DO: more */\n', 'finish it'),
    ('names.py', 'tests/a.py', f'# {LICENCE[3:40]}\n\nmain()\n', 'without if __name__'),
    ('names.py', 'src/trace/b.c', LICENCE.format('trace/b.c'), 'src/trace: has no README.md'),
    ('names.py', 'src/base/c.c', LICENCE.format('base/c.c'), 'does not say what c.c is for'),
    ('names.py', 'src/base/README.md', 'no title\n', 'begins with a title'),
    ('names.py', 'src/base/README.md', '# base\n`base/a.c`, `base/b.c`\n', 'there is no base/b.c'),
]


def check_trees():
    for script, name, text, fault in TREES:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            make_clean(root)
            arguments = (root, '--pages') if script == 'names.py' else (root,)
            expect(script, root, None, *arguments)
            write(root, name, text)
            expect(script, root, fault, *arguments)


def compile_library(compiler, folder, text):
    source, library = folder / 'e.c', folder / 'libe.so'
    source.write_text(text, encoding='utf-8')
    subprocess.run([*compiler, '-shared', '-fPIC', '-o', library, source], check=True)
    return library


def check_binaries(compiler):
    good = '#define LOCKSTEP_API __attribute__((visibility("default")))\nLOCKSTEP_API int lockstep_e(void);\n'
    body = good + 'int lockstep_e(void) { return 1; }\n'
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        header = folder / 'e.h'
        header.write_text(good, encoding='utf-8')
        library = compile_library(compiler, folder, body)
        expect('exports.py', folder, None, library, header)
        expect('needed.py', folder, None, library)
        library = compile_library(compiler, folder, body + 'int more(void) { return 2; }\n')
        expect('exports.py', folder, 'exports more', library, header)
        library = compile_library(compiler, folder, '#include <stdlib.h>\n' + body.replace(
            'return 1', 'abort()'))
        expect('needed.py', folder, 'uses abort()', library)
        objects = folder / 'src/base/libbase.a.p'
        objects.mkdir(parents=True)
        for text, fault in [('const int a = 1; static int *const p = 0; int *f(void) { return p; }', None),
                            ('static int count; int f(void) { return ++count; }', '"count" is mutable')]:
            (folder / 'a.c').write_text(text, encoding='utf-8')
            subprocess.run([*compiler, '-fPIC', '-c', '-o', objects / 'a.c.o', folder / 'a.c'], check=True)
            expect('globals.py', folder, fault)


def main():
    check_trees()
    check_binaries(sys.argv[1:])
    print(f'{len(TREES) + 3} faults planted, all found')


if __name__ == '__main__':
    main()
