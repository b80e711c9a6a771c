#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Whatever way a test program ends, the last line of `make test` tells it."""
import json
import os
import subprocess
import sys
import tempfile

TALLY = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'tally.py')

# name, meson's result, exit status, output: passed, failed, skipped
PROGRAMS = [
    ('all well', 'OK', 0, '1..2\nok 1 - a\nok 2 - b\n', (2, 0, 0)),
    ('a case failed', 'FAIL', 1, '1..2\nok 1 - a\nnot ok 2 - b\n# why\n', (1, 1, 0)),
    ('a case was skipped', 'OK', 0, '1..2\nok 1 - a # SKIP no root\nok 2 - b\n', (1, 0, 1)),
    ('all cases were skipped', 'SKIP', 0, '1..1\nok 1 - a # SKIP no root\n', (0, 0, 1)),
    ('skipped as a whole', 'SKIP', 0, '1..0 # SKIP no such thing\n', (0, 0, 1)),
    ('a leak after the last case', 'ERROR', 23, '1..1\nok 1 - a\n', (1, 1, 0)),
    ('a crash after a case', 'ERROR', -11, '1..2\nok 1 - a\n', (1, 1, 0)),
    ('a crash after a failed case', 'ERROR', -11, '1..3\nok 1 - a\nnot ok 2 - b\n', (1, 2, 0)),
    ('too few cases', 'ERROR', 0, '1..3\nok 1 - a\n', (1, 1, 0)),
    ('a hang', 'TIMEOUT', -15, '1..2\nok 1 - a\n', (1, 1, 0)),
    ('no case at all', 'SKIP', 0, '', (0, 1, 0)),
    ('it bailed out', 'SKIP', 0, '1..2\nBail out! x\n', (0, 1, 0)),
    ('a plain program', 'OK', 0, '', (1, 0, 0)),
    ('a plain program that failed', 'FAIL', 1, 'words\n', (0, 1, 0)),
    ('a plain program that was skipped', 'SKIP', 77, '', (0, 0, 1)),
    ('a plain program that hung', 'TIMEOUT', -15, '', (0, 1, 0)),
]


def tally(folder, tests, *args):
    """Last line and exit status."""
    path = os.path.join(folder, 'testlog.json')
    with open(path, 'w', encoding='utf-8') as f:
        for name, result, status, stdout, _ in tests:
            f.write(json.dumps({'name': name, 'result': result, 'returncode': status, 'stdout': stdout}) + '\n')
    p = subprocess.run([sys.executable, TALLY, *args, path], capture_output=True, text=True, check=False)
    return p.stdout.splitlines()[-1], p.returncode


def line(n):
    return f'{n[0]} passed, {n[1]} failed, {n[2]} skipped'


def main():
    checks = []
    with tempfile.TemporaryDirectory() as folder:
        for program in PROGRAMS:
            n = program[4]
            # Nothing passed is as bad as a failure.
            checks.append((program[0], tally(folder, [program]), (line(n), 0 if n[0] and not n[1] else 1)))
        sums = [sum(p[4][i] for p in PROGRAMS) for i in range(3)]
        checks.append(('all together', tally(folder, PROGRAMS), (line(sums), 1)))
        checks.append(('a variant that did not build', tally(folder, PROGRAMS[:1], '--broken', '1'), (line((2, 1, 0)), 1)))
        checks.append(('a log that is not there', tally(folder, PROGRAMS[:1], '/nonexistent/log'), (line((2, 1, 0)), 1)))
        checks.append(('nothing ran', tally(folder, []), (line((0, 0, 0)), 1)))
    print(f'1..{len(checks)}')
    failed = 0
    for i, (name, got, wanted) in enumerate(checks, 1):
        failed += got != wanted
        print(f"{'ok' if got == wanted else 'not ok'} {i} - {name}")
        if got != wanted:
            print(f'# {got} is not {wanted}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
