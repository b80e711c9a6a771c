# SPDX-License-Identifier: GPL-2.0-or-later
"""What holds a run down is planted, and `findings` must name it.

Each cause has up to five tries. The right rule must be among the first two causes in most of them. Where nothing else
disturbed the two ends it must be first; where an end waited for a CPU half of the time, others are the limit, and a try
that says so decides nothing. Never is a speed looked at.
"""
import os
import shlex
import subprocess
import sys

from wp import PATIENCE, Skip, main, need_lab, need_program, run

TRIES = 5
ENOUGH = 3
STARVED_PCT = 50  # of the time: then that is the limit, and what was planted need not show
QUIET_PCT = 3  # waiting for a CPU, of either end: nobody else was there
RUN_QUEUE = ('sender_run_queue', 'receiver_run_queue')
SECONDS = 0.6 * (1 if PATIENCE == 1 else 2)


class Hog:
    """A busy loop on one CPU, gone with this process whatever happens."""

    def __init__(self, cpu):
        self.cpu = cpu

    def __enter__(self):
        code = ('import os\nmine = os.getppid()\nprint(flush=True)\n'
                'while os.getppid() == mine:\n    for _ in range(10 ** 5):\n        pass\n')
        self.process = subprocess.Popen(['taskset', '-c', str(self.cpu), sys.executable, '-c', code],
                                        stdout=subprocess.PIPE)
        self.process.stdout.readline()
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.communicate()


class Lab:
    """A named lab with a fault planted by commands in its namespaces: ('a', 'tc ...')."""

    def __init__(self, name, *commands):
        self.name, self.commands = f'{name}{os.getpid() % 100000}', commands

    def __enter__(self):
        run('lab', 'up', self.name)
        for side, command in self.commands:
            r = run('lab', 'exec', f'{self.name}:{side}', *shlex.split(command), expect=None)
            if r.status:
                self.__exit__()
                raise Skip(f'not possible here: {command[:40]}...: {r.err.strip()[:80]}')
        return self

    def __exit__(self, *exc):
        run('lab', 'down', self.name, expect=None)


def two_cpus():
    need_lab()
    if not {0, 1} <= os.sched_getaffinity(0):
        raise Skip('CPUs 0 and 1 are not both ours')


def measure(*args, host='lab', cpu=0, peer_cpu=1, congestion='cubic'):
    return run('tcp', host, '-t', SECONDS, '--cpu', cpu, '--peer-cpu', peer_cpu, '-C', congestion, '-J', '--no-store',
               *args).json()


def of_threads(r, host, name):
    return max((t.get(name) or 0 for t in r['hosts'][host]['threads']), default=0)


def delay_pct(r, host):
    """How long others kept an end's thread from running; the other end's turns on the same CPU are not theirs."""
    same = len({t['last_cpu'] for h in r['hosts'] for t in h['threads']}) == 1
    return max(0, of_threads(r, host, 'run_delay_pct') - (of_threads(r, 1 - host, 'cpu_pct') if same else 0))


def causes(r):
    return [f['rule'] for f in r['findings'] if f['share_pct'] > 0 and f['rule'] != 'not_explained']


def check_form(r):
    """What holds for any finding: a sentence, a share of time, advice that runs or says what to do."""
    for f in r['findings']:
        assert f['says'] and not f['says'].endswith('.') and 0 <= f['share_pct'] <= 100, f
        for advice in f.get('advice', []):
            assert '--no-store' not in advice and '-J' not in advice.split(), advice
    rules = [f['rule'] for f in r['findings']]
    assert len(rules) == len(set(rules)), rules
    assert not all(q in rules for q in RUN_QUEUE), rules  # one machine, one foreign load


def expect(wanted, plant, disturbed=(0, 1)):
    """`wanted`: a rule, or several that are as right. `disturbed`: hosts whose waiting for a CPU is not planted."""
    wanted = (wanted,) if isinstance(wanted, str) else wanted
    good, bad, seen = 0, 0, []
    while len(seen) < TRIES and good < ENOUGH and bad <= TRIES - ENOUGH:
        r = plant()
        check_form(r)
        found = causes(r)
        foreign = max((delay_pct(r, h) for h in disturbed), default=0)
        # One more place for the load of others, which may be the larger part of it.
        first = [c for c in found if c not in RUN_QUEUE or c in wanted]
        seen.append((round(foreign), [(f['rule'], round(f['share_pct'])) for f in r['findings']]))
        right = bool(found) and found[0] in wanted
        if foreign >= QUIET_PCT:
            right = any(c in wanted for c in found[:2]) or bool(first) and first[0] in wanted
        undecided = not right and foreign >= STARVED_PCT and bool(found) and found[0] in RUN_QUEUE
        good += right
        bad += not right and not undecided
    if good < ENOUGH and bad <= TRIES - ENOUGH:
        raise Skip(f'the machine is too busy: the ends waited for a CPU {seen[-1][0]} % of the time')
    assert good >= ENOUGH, (wanted, seen)


def test_small_receive_windows():
    two_cpus()
    for size in ('4K', '16K', '64K'):
        expect('receive_window', lambda size=size: measure('-w', size))


def test_a_window_is_the_limit_when_the_receiver_polls_too():
    two_cpus()
    expect('receive_window', lambda: measure('-w', '16K', '--rx-discard'))


def test_nothing_planted_is_a_cpu():
    two_cpus()
    expect(('sender_cpu', 'receiver_cpu'), measure)


def test_a_polling_receiver_is_not_called_full():
    two_cpus()

    def discard():
        r = measure('--rx-discard')
        assert 'receiver_cpu' not in causes(r), r['findings']
        return r

    expect('sender_cpu', discard)


def hogged(cpu):
    with Hog(cpu):
        return measure()


def test_a_hog_on_the_senders_cpu():
    two_cpus()
    need_program('taskset')
    # On a machine that is busy anyway the other end may wait longer still.
    expect(RUN_QUEUE, lambda: hogged(0), disturbed=(1,))


def test_a_hog_on_the_receivers_cpu():
    two_cpus()
    need_program('taskset')
    expect(RUN_QUEUE, lambda: hogged(1), disturbed=(0,))


def test_both_ends_on_one_cpu():
    two_cpus()
    expect('shared_cpu', lambda: measure(peer_cpu=0))


def test_small_writes():
    two_cpus()
    for length in (256, 64):
        expect('small_writes', lambda length=length: measure('-l', length))


def test_a_rate_that_was_asked_for():
    two_cpus()
    expect('target_rate', lambda: measure('-b', '200M'))


def test_bbr_without_distance():
    two_cpus()
    if run('tcp', 'lab', '-t', '0.1', '-C', 'bbr', '--no-store', expect=None).status:
        raise Skip('this kernel has no bbr')
    expect('congestion_control', lambda: measure(congestion='bbr'))


def shaped(limit):
    two_cpus()
    need_program('tc')
    with Lab('wptbf', ('a', f'tc qdisc add dev wpa root tbf rate 200mbit burst 32k limit {limit}')) as lab:
        expect('path_queue', lambda: measure(host=f'lab:name={lab.name}'))


def test_a_rate_limit_with_a_short_queue():
    shaped('100k')


def test_a_rate_limit_with_a_deep_queue():
    shaped('4m')


def test_loss():
    """1 % by a classic BPF filter that compares a random number: needs neither netem nor a compiler."""
    two_cpus()
    need_program('tc')
    drop = '4,32 0 0 4294963256,53 1 0 42949672,6 0 0 2,6 0 0 0'
    with Lab('wploss', ('b', 'tc qdisc add dev wpb clsact'),
             ('b', f'tc filter add dev wpb ingress bpf da bytecode "{drop}"')) as lab:
        expect('loss', lambda: measure(host=f'lab:name={lab.name}'))


if __name__ == '__main__':
    main(globals())
