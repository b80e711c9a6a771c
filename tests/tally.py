#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Adds up meson's test logs (meson-logs/testlog.json): every case of every program counts.

A program that crashes, hangs, ends with an error (a sanitizer's, say) or before its last case counts as one failure
more, even when no case of its own failed. Exit 1 when something failed or nothing passed.
"""
import argparse
import json
import re
import sys

CASE = re.compile(r'^(not )?ok\b(?: +\d+)?(?: +- )? *(.*?)(?: *# *(SKIP|skip)\b.*)?$')
DETAIL_LINES = 12


def cases(text):
    """(outcome, name, lines of explanation) of every case in a program's TAP."""
    found = []
    for line in text.splitlines():
        m = CASE.match(line)
        if m:
            outcome = 'skipped' if m.group(3) else 'failed' if m.group(1) else 'passed'
            found.append((outcome, m.group(2) or '?', []))
        elif line.startswith('#') and found:
            found[-1][2].append(line)
    return found


def count(test):
    """({outcome: number}, [what failed]) of one program."""
    text, result, status = test.get('stdout') or '', test['result'], test.get('returncode')
    found = cases(text)
    n = {'passed': 0, 'failed': 0, 'skipped': 0}
    failures = []
    for outcome, name, detail in found:
        n[outcome] += 1
        if outcome == 'failed':
            failures.append('\n    '.join([f"{test['name']}: {name}"] + detail[:DETAIL_LINES]))
    if result in ('OK', 'EXPECTEDFAIL'):
        n['passed'] += not found
    elif result == 'SKIP' and (found or status == 77 or text.startswith('1..0')):
        n['skipped'] += not found
    elif not n['failed'] or result in ('TIMEOUT', 'INTERRUPT') or (status or 0) < 0:
        n['failed'] += 1
        error = (test.get('stderr') or '').strip().splitlines()[-DETAIL_LINES:]
        why = 'it ran no case' if result == 'SKIP' else f'{result}, status {status}'
        failures.append('\n    '.join([f"{test['name']}: {why} after {len(found)} cases"] + error))
    return n, failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--broken', type=int, default=0, help='variants that did not build')
    parser.add_argument('logs', nargs='*')
    args = parser.parse_args()
    total = {'passed': 0, 'failed': args.broken, 'skipped': 0}
    for path in args.logs:
        try:
            with open(path, encoding='utf-8', errors='replace') as f:
                tests = [json.loads(line) for line in f]
        except (OSError, ValueError) as e:
            tests, total['failed'] = [], total['failed'] + 1
            print('FAILED', f'{path}: {e}')
        for test in tests:
            n, failures = count(test)
            for outcome in total:
                total[outcome] += n[outcome]
            for failure in failures:
                print('FAILED', f"{path.split('/')[0]}: {failure}")
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if total['failed'] or not total['passed'] else 0


if __name__ == '__main__':
    sys.exit(main())
