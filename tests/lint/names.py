# SPDX-License-Identifier: Apache-2.0
"""names.py ROOT [--pages]: the first lines of files, words that do not belong, and a page in every folder.

Every source, script and build file says its licence in its first line (after #!); a header names
itself in its first comment and a source says there what it decides. Every folder with C files of the
program has a README.md that names each of them (NAME.c, NAME.[ch], NAME.* or a pattern that fits); a page
begins with a title, and the files that it names are there.
"""
import fnmatch
import pathlib
import re
import subprocess
import sys

SPDX = 'SPDX-License-Identifier: Apache-2.0'
# Put together so that this file does not hold them.
WORDS = ['TO' + 'DO', 'FIX' + 'ME', 'X' * 3, 'HA' + 'CK', 'layering ' + 'violation']
FORBIDDEN = re.compile(r'\b(' + '|'.join(WORDS) + r')\b')
LICENSED = {'.c', '.h', '.def', '.py', '.sh', '.build', '.txt', '.map', '.css'}
PATH = re.compile(r'`([a-z][\w.-]*(?:/[\w.-]+)+\.(?:c|h|def|md|py|sh))`')
TOPS = ('src', 'ui', 'reduce', 'tracer', 'samples')


def list_files(root):
    """What git tracks or would; without git, what lies there."""
    try:
        run = subprocess.run(['git', '-C', root, 'ls-files', '-co', '--exclude-standard'],
                             capture_output=True, text=True, check=True)
        names = run.stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        names = [str(p.relative_to(root)) for p in root.rglob('*')
                 if p.is_file() and not p.relative_to(root).parts[0].startswith('build')]
    return [name for name in sorted(set(names)) if (root / name).is_file()]


def is_licensed(name, text):
    path = pathlib.Path(name)
    if path.suffix in LICENSED and 'corpus' not in path.parts and 'golden' not in path.parts:
        return True
    return text.startswith('#!')


def check_head(name, text):
    lines = text.split('\n')
    first = lines[1] if lines[0].startswith('#!') and len(lines) > 1 else lines[0]
    if is_licensed(name, text) and SPDX not in first:
        yield f'{name}:1: the first line must say {SPDX}'
    comment = text.split('*/')[0]
    if name.endswith('.h') and not name.startswith('tests/') and pathlib.Path(name).name + ':' not in comment:
        yield f'{name}:1: the first comment must say "{name}: what it offers"'
    if name.endswith('.c') and not name.startswith('tests/') and len(comment) < 55:
        yield f'{name}:1: the first comment must say what the file decides, and how'
    if name.endswith('.md') and not re.match(r'(<!--.*?-->\s*)?#\s+\S', text):
        yield f'{name}:1: a page begins with a title'


def check_main(name, text):
    """A file that is imported, by a test or a tool, must not run."""
    match = re.search(r'^(?:sys\.exit\()?main\(\)', text, re.MULTILINE)
    if name.endswith('.py') and match:
        line = text.count('\n', 0, match.start()) + 1
        yield f"{name}:{line}: main() is called without if __name__ == '__main__'"


def check_words(name, text):
    for number, line in enumerate(text.split('\n'), 1):
        match = FORBIDDEN.search(line)
        if match:
            yield f'{name}:{number}: "{match.group(1)}": finish it, or open an issue'


def check_paths(names, name, text):
    """What a page calls `folder/file.c` must be there."""
    for match in PATH.finditer(text):
        path = match.group(1)
        here = str(pathlib.Path(name).parent)
        if 'FOLDER' not in path and not any(str(pathlib.Path(base) / path) in names for base in ('', 'src', here)):
            line = text.count('\n', 0, match.start()) + 1
            yield f'{name}:{line}: there is no {path}'


def is_named(stem, words):
    """By itself, or by a pattern: `plane-*.c`, `record*`."""
    return any(fnmatch.fnmatchcase(f'{stem}.c', word) for word in words)


def get_words(text):
    """What a page has between backquotes, as patterns of file names."""
    for quoted in re.findall(r'`([^`\n]+)`', text):
        for word in quoted.replace(',', ' ').split():
            if '.' in word or '*' in word:
                yield word.replace('.[ch]', '.c').replace('.h', '.c')


def check_pages(root, names):
    sources = [pathlib.Path(name) for name in names
               if name.endswith('.c') and name.split('/')[0] in TOPS]
    for folder in sorted({source.parent for source in sources}):
        if f'{folder}/README.md' not in names:
            yield f'{folder}: has no README.md'
            continue
        words = list(get_words((root / folder / 'README.md').read_text(encoding='utf-8')))
        for source in sources:
            if source.parent == folder and not is_named(source.stem, words):
                yield f'{folder}/README.md: does not say what {source.name} is for'


def main():
    root = pathlib.Path(sys.argv[1])
    names = list_files(root)
    faults = list(check_pages(root, names)) if '--pages' in sys.argv else []
    for name in names:
        try:
            text = (root / name).read_text(encoding='utf-8')
        except UnicodeDecodeError:
            continue
        faults += check_head(name, text)
        faults += check_main(name, text)
        if name.endswith('.md'):
            faults += check_paths(names, name, text)
        if not name.startswith('tests/fuzz/corpus'):
            faults += check_words(name, text)
    for fault in faults:
        print(fault)
    print(f'{len(names)} files, {len(faults)} faults')
    return 1 if faults or not names else 0


if __name__ == '__main__':
    sys.exit(main())
