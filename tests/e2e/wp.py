# SPDX-License-Identifier: GPL-2.0-or-later
"""What the end-to-end tests share: running whyperf, a server of its own, and cases reported as TAP.

A test file defines functions named test_*; `main(globals())` runs them. A case passes when it returns, fails when it
raises, and is skipped (with its reason) by raising Skip. WHYPERF names the program; results go to a folder of the
test's own.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

WHYPERF = os.environ.get('WHYPERF', 'build/whyperf')
# Sanitized builds are several times slower.
PATIENCE = float(os.environ.get('WP_PATIENCE', '1'))


class Skip(Exception):
    """The machine lacks what the case needs."""


class Result:
    """What a finished whyperf left: status, out, err."""

    def __init__(self, status, out, err, args):
        self.status, self.out, self.err, self.args = status, out, err, args

    def json(self):
        try:
            return json.loads(self.out)
        except ValueError as e:
            raise AssertionError(f'{self.args}: no JSON: {e}: {self.out[:300]!r} {self.err[:500]!r}') from e


def environment(state):
    env = dict(os.environ, XDG_STATE_HOME=state, LC_ALL='C.UTF-8')
    env.pop('NO_COLOR', None)
    return env


STATE = tempfile.mkdtemp(prefix='whyperf-test-')


def start(*args, **kwargs):
    """A running whyperf as subprocess.Popen with pipes."""
    kwargs.setdefault('env', environment(STATE))
    return subprocess.Popen([WHYPERF, *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **kwargs)


def run(*args, timeout=60, expect=0, **kwargs):
    """Runs whyperf to its end. `expect`: the exit status that it must have; None = any."""
    p = start(*args, **kwargs)
    try:
        out, err = p.communicate(timeout=timeout * PATIENCE)
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = p.communicate()
        raise AssertionError(f'{args}: not done after {timeout * PATIENCE:.0f} s: {out[-500:]} {err[-500:]}') from None
    if expect is not None and p.returncode != expect:
        raise AssertionError(f'{args}: exit status {p.returncode}, not {expect}: {out[-800:]} {err[-800:]}')
    return Result(p.returncode, out, err, args)


def begun(*args, rows=2, **kwargs):
    """A running test that moves bytes by now: `rows` interval rows have come. End it with ended()."""
    p = start('tcp', *args, '-i', '0.1', '--json-stream', **kwargs)
    for line in p.stdout:
        event = json.loads(line)
        rows -= event['event'] == 'interval' and any(flow['bytes'] for flow in event['data']['flows'])
        if rows <= 0:
            return p
    raise AssertionError(f'{args}: it ended before it began: {p.stderr.read()[-800:]}')


def ended(p, timeout=60):
    """Status, the record (None without one) and standard error of what begun() made."""
    watchdog = threading.Timer(timeout * PATIENCE, p.kill)
    watchdog.start()
    try:
        events = [json.loads(line) for line in p.stdout]
        err = p.stderr.read()
        p.wait()
    finally:
        watchdog.cancel()
    last = events[-1] if events else {'event': None}
    return p.returncode, last['data'] if last['event'] == 'end' else None, err


class Server:
    """`whyperf serve` on a free port of 127.0.0.1."""

    def __init__(self, *args):
        self.process = start('serve', '-B', '127.0.0.1', '-p', '0', *args)
        line = self.process.stdout.readline()
        found = re.search(r'listening on .*?(\d+)\s*$', line)
        if not found:
            self.process.kill()
            raise AssertionError(f'the server says {line!r} {self.process.stderr.read()!r}')
        self.port = int(found.group(1))

    def __enter__(self):
        return self

    def stop(self, timeout=10):
        """SIGTERM; returns the exit status and what it said."""
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=timeout * PATIENCE)
        return self.process.returncode, out, err

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def can_make_lab():
    return run('lab', 'probe', expect=None).status == 0


def need_lab():
    if not can_make_lab():
        raise Skip('network namespaces are not allowed here')


def need_program(name):
    if not shutil.which(name):
        raise Skip(f'{name} is not installed')


def wait_until(condition, timeout=10, what='the condition'):
    end = time.monotonic() + timeout * PATIENCE
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(f'{what} did not become true within {timeout * PATIENCE:.0f} s')


def links_and_mounts():
    """What a run must leave as it was: interfaces, named namespaces, mounts."""
    names = sorted(os.listdir('/sys/class/net'))
    spaces = sorted(os.listdir('/run/netns')) if os.path.isdir('/run/netns') else []
    with open('/proc/self/mounts', encoding='utf-8') as f:
        mounts = sorted(line.split()[1] for line in f)
    return names, spaces, mounts


def left_behind(before, mine):
    """What is there now and was not before: interfaces that look like a lab's, and what has `mine` in its name. Other
    people may make labs on this machine meanwhile."""
    links, spaces, mounts = (set(now) - set(then) for now, then in zip(links_and_mounts(), before))
    return [x for x in links if x.startswith('wp')] + [x for x in spaces | mounts if mine in x]


def main(namespace):
    cases = [(name, f) for name, f in namespace.items() if name.startswith('test_') and callable(f)]
    print(f'1..{len(cases)}')
    failed = 0
    for n, (name, f) in enumerate(cases, 1):
        words = name[5:].replace('_', ' ')
        try:
            f()
            print(f'ok {n} - {words}')
        except Skip as reason:
            print(f'ok {n} - {words} # SKIP {reason}')
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f'not ok {n} - {words}')
            for line in traceback.format_exc().splitlines():
                print(f'# {line}')
        sys.stdout.flush()
    shutil.rmtree(STATE, ignore_errors=True)
    sys.exit(1 if failed else 0)
