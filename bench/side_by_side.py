# SPDX-License-Identifier: GPL-2.0-or-later
"""One lab, rounds of contestants in random order, ratios inside each round. See bench/run."""
import collections
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

HZ = os.sysconf('SC_CLK_TCK')

# A figure of a contestant: its key, its heading, what it is multiplied with for print, and whether ratios make sense.
Column = collections.namedtuple('Column', 'key heading scale ratio', defaults=(True,))


class Bench:
    def __init__(self, args):
        self.build = os.path.abspath(args.build)
        self.whyperf = os.path.join(self.build, 'whyperf')
        self.args = args
        self.lab = f'bench{os.getpid()}'
        self.servers = []
        self.dir = tempfile.TemporaryDirectory()  # some peers leave logs where they run
        self.env = dict(os.environ, XDG_STATE_HOME='/nonexistent')

    def __enter__(self):
        subprocess.run([self.whyperf, 'lab', 'up', self.lab], check=True, stdout=subprocess.DEVNULL)
        return self

    def __exit__(self, *exc):
        for p in self.servers:
            p.kill()
            p.wait()
        subprocess.run([self.whyperf, 'lab', 'down', '--force', self.lab], check=False)
        self.dir.cleanup()

    def inside(self, side, *command):
        return [self.whyperf, 'lab', 'exec', f'{self.lab}:{side}', *map(str, command)]

    def start(self, side, *command, **options):
        return subprocess.Popen(self.inside(side, *command), cwd=self.dir.name, **{'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL,
                                                               'stdin': subprocess.DEVNULL, **options})

    def serve(self, *command):
        self.servers.append(self.start('b', *command))
        time.sleep(0.3)

    def client(self, *command, fails=False):
        """(stdout, busy seconds of the machine meanwhile)"""
        before = busy()
        p = subprocess.run(self.inside('a', *command), capture_output=True, text=True, env=self.env, cwd=self.dir.name,
                           timeout=self.args.seconds * 3 + 30, stdin=subprocess.DEVNULL, check=False)
        used = busy() - before
        if p.returncode and not fails:
            raise RuntimeError(f'{command}: {p.stderr.strip()[-200:] or p.stdout.strip()[-200:]}')
        return p.stdout, used


def busy():
    """Busy seconds of all CPUs since boot, by the idle clocks."""
    wall, idle = time.clock_gettime(time.CLOCK_BOOTTIME), 0
    n = 0
    with open('/proc/stat', encoding='ascii') as f:
        for line in f:
            if line.startswith('cpu') and line[3] != ' ':
                fields = line.split()
                idle += (int(fields[4]) + int(fields[5])) / HZ
                n += 1
    return wall * n - idle


def run_rounds(b, contestants):
    rounds, failures = [], []
    for _ in range(b.args.rounds):
        order = list(contestants)
        random.shuffle(order)
        result = {}
        for name in order:
            try:
                result[name] = contestants[name](b)
            except (RuntimeError, ValueError, KeyError, IndexError, OSError, subprocess.TimeoutExpired) as e:
                failures.append(f'{name}: {e}')
        if len(result) == len(contestants):
            rounds.append(result)
    return rounds, failures


def compare(b, title, columns, ours, theirs, goal):
    """Rounds of all contestants; prints the medians, and the ratio of `ours` to each of `theirs`."""
    if b.args.only and b.args.only not in title:
        return
    contestants = {'whyperf': ours, **theirs}
    rounds, failures = run_rounds(b, contestants)
    print(f'\n{title}   ({len(rounds)} rounds of {b.args.seconds} s; goal: {goal})')
    for f in failures[:3]:
        print(f'  failed, round not counted: {f}')
    if not rounds:
        print('  no whole round')
        return
    print('  ' + ' ' * 34 + ''.join(f' {column.heading:>9}' for column in columns) + '   whyperf / it: '
          + ', '.join(column.heading for column in columns if column.ratio))
    for name in contestants:
        line = f'  {name:34}' + ''.join(f' {statistics.median(r[name][column.key] for r in rounds) * column.scale:9.3f}'
                                        for column in columns)
        if name != 'whyperf':
            line += ''.join('   ' + spread([r['whyperf'][column.key] / r[name][column.key] for r in rounds
                                            if r[name][column.key]]) for column in columns if column.ratio)
        print(line)
    sys.stdout.flush()


def spread(values):
    values = sorted(values)
    n = len(values)
    if not n:
        return 'x?'
    return f'x{statistics.median(values):.2f} [{values[n // 4]:.2f}-{values[(3 * n) // 4]:.2f}]'
