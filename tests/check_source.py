#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of the source as TAP: floors use only lower floors, headers stand alone, library floors neither print nor
exit, nothing banned, functions and files stay short, every file says its licence.

usage: check_source.py SOURCE-ROOT COMPILER-COMMAND...
"""
import os
import re
import subprocess
import sys

FLOORS = ('base stats sys model net load place observe peer lab run study explain store report cli').split()

# Third-party headers, and the floors that may use them (DESIGN section 4).
LIBRARIES = {
    'jansson.h': {'model', 'peer', 'run', 'study', 'explain', 'store', 'report', 'cli'},
    'sqlite3.h': {'store'},
    'hwloc.h': {'sys'},
    'openssl/': {'peer'},
    'netlink/': {'sys', 'lab'},
    'cmocka.h': set(FLOORS),
}

BANNED = re.compile(r'\b(atoi|atol|atof|scanf|sscanf|fscanf|strtok|strtok_r|sprintf|vsprintf|strcpy|strcat|gets|'
                    r'system|popen|alloca|rand|srand)\s*\(')
PRINTS = re.compile(r'\b(printf|puts|putchar|fprintf|perror|exit|abort|getenv|secure_getenv|syslog|signal|sigaction)\s*\(')
# Where a library floor has to, and why.
MAY = {
    'run/venue.c': {'signal'},  # in the forked child, which is a program of its own
    'run/feed.c': {'signal'},  # likewise
}
UNFINISHED = re.compile(r'\b(TODO|FIXME|XXX)\b|not implemented', re.I)
MAX_FILE, MAX_FUNCTION = 800, 100


def files(root):
    for floor in FLOORS:
        folder = os.path.join(root, 'src', floor)
        for name in sorted(os.listdir(folder)):
            if name.endswith(('.c', '.h')):
                yield floor, f'{floor}/{name}', open(os.path.join(folder, name), encoding='utf-8').read()


def code_only(text):
    """The text without comments and string contents, line numbers kept."""
    def blank(match):
        s = match.group(0)
        return '""' if s[0] == '"' else re.sub(r'[^\n]', ' ', s)
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def is_test(path):
    """test_*.c, fuzz_*.c, and the headers that they share (testroot.h)."""
    return os.path.basename(path).startswith(('test', 'fuzz_'))


def layering(floor, path, text):
    for inc in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, flags=re.M):
        other = inc.split('/')[0]
        if other not in FLOORS:
            yield f'includes "{inc}", which names no floor'
        elif FLOORS.index(other) > FLOORS.index(floor):
            yield f'includes "{inc}" of a higher floor'
    for inc in re.findall(r'^\s*#\s*include\s+<([^>]+)>', text, flags=re.M):
        for prefix, allowed in LIBRARIES.items():
            if inc.startswith(prefix) and floor not in allowed:
                yield f'uses <{inc}>, which belongs to {", ".join(sorted(allowed))}'


def quiet(floor, path, text):
    if floor == 'cli' or is_test(path):
        return
    for match in PRINTS.finditer(code_only(text)):
        if match.group(1) not in MAY.get(path, ()):
            yield f'calls {match.group(1)}(): only cli/ prints, exits, reads the environment or handles signals'


def banned(floor, path, text):
    for match in BANNED.finditer(code_only(text)):
        yield f'calls {match.group(1)}()'


def finished(floor, path, text):
    for match in UNFINISHED.finditer(text):
        yield f'says "{match.group(0)}"'


def licence(floor, path, text):
    if not text.startswith('/* SPDX-License-Identifier: GPL-2.0-or-later */\n'):
        yield 'does not start with its licence'


def length(floor, path, text):
    lines = text.count('\n')
    if lines > MAX_FILE:
        yield f'has {lines} lines; {MAX_FILE} is the limit'
    start, name = 0, ''
    for n, line in enumerate(text.split('\n'), 1):
        if re.match(r'[a-zA-Z_].*\b(\w+)\(', line) and not line.rstrip().endswith(';'):
            name = re.match(r'[a-zA-Z_].*?\b(\w+)\(', line).group(1)
        if line == '{':
            start = n
        elif line == '}' and start:
            if n - start > MAX_FUNCTION:
                yield f'{name}() has {n - start} lines; {MAX_FUNCTION} is the limit'
            start = 0


def headers(root, compiler):
    for floor, path, _ in files(root):
        if not path.endswith('.h') or is_test(path):
            continue
        run = subprocess.run([*compiler, '-std=gnu17', '-D_GNU_SOURCE', '-Wall', '-Wextra', '-Werror', '-fsyntax-only',
                              '-I', os.path.join(root, 'src'), '-x', 'c', '-include', path, '/dev/null'],
                             capture_output=True, text=True, check=False)
        if run.returncode:
            yield f'{path}: does not stand alone: {run.stderr.strip().splitlines()[0]}'


def main():
    root, compiler = sys.argv[1], sys.argv[2:]
    checks = [('a floor uses only lower floors', layering), ('library floors are quiet', quiet),
              ('no banned function', banned), ('nothing is marked unfinished', finished),
              ('every file says its licence', licence), ('functions and files are short', length)]
    print(f'1..{len(checks) + 1}')
    failed = 0
    for n, (name, check) in enumerate(checks, 1):
        problems = [f'{path}: {p}' for floor, path, text in files(root) for p in check(floor, path, text)]
        failed += bool(problems)
        print(f'{"not " if problems else ""}ok {n} - {name}')
        for p in problems:
            print(f'# {p}')
    problems = list(headers(root, compiler))
    failed += bool(problems)
    print(f'{"not " if problems else ""}ok {len(checks) + 1} - every header stands alone')
    for p in problems:
        print(f'# {p}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
