#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Adds up meson's JUnit logs: every case of every program counts. Exit 1 when something failed or nothing ran."""
import argparse
import sys
import xml.etree.ElementTree as ET


def count(path):
    """(passed, failed, skipped, names of what failed) of one log; a missing log is a failure."""
    try:
        root = ET.parse(path).getroot()
    except (OSError, ET.ParseError) as e:
        return 0, 1, 0, [f'{path}: {e}']
    passed = failed = skipped = 0
    names = []
    for suite in root.iter('testsuite'):
        for case in suite.findall('testcase'):
            if case.find('failure') is not None or case.find('error') is not None:
                failed += 1
                names.append(f"{path.split('/')[0]}: {suite.get('name')}: {case.get('name')}")
            elif case.find('skipped') is not None:
                skipped += 1
            else:
                passed += 1
    return passed, failed, skipped, names


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--broken', type=int, default=0, help='variants that did not build')
    parser.add_argument('logs', nargs='*')
    args = parser.parse_args()
    passed, failed, skipped = 0, args.broken, 0
    for path in args.logs:
        p, f, s, names = count(path)
        passed, failed, skipped = passed + p, failed + f, skipped + s
        for name in names:
            print('FAILED', name)
    print(f'{passed} passed, {failed} failed, {skipped} skipped')
    return 1 if failed or not passed else 0


if __name__ == '__main__':
    sys.exit(main())
