# SPDX-License-Identifier: GPL-2.0-or-later
"""Rough handling: closed and full streams, strange names, few CPUs, a missing home, ends that are stopped or killed."""
import concurrent.futures
import fcntl
import json
import os
import pty
import re
import shlex
import signal
import struct
import subprocess
import termios
import time

from wp import PATIENCE, STATE, WHYPERF, Server, Skip, can_make_lab, environment, main, need_program, run, start

SHORT = ('tcp', 'loopback', '-t', '0.2')
KINDS = (SHORT, ('udp', 'loopback', '-t', '0.2', '-b', '1000pps'), ('rr', 'loopback', '-t', '0.2'))
KEYS = ('schema', 'id', 'started', 'version', 'command', 'exit', 'test', 'hosts', 'flows', 'total', 'ledger', 'findings')


def shell(words, redirections):
    """Status and stderr of a whyperf whose streams the shell redirects."""
    command = ' '.join(shlex.quote(str(w)) for w in (WHYPERF, *words))
    p = subprocess.run(['sh', '-c', f'{command} {redirections}'], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True, env=environment(STATE), timeout=60 * PATIENCE, check=False)
    return p.returncode, p.stderr


def test_closed_streams_are_an_error_and_nothing_else():
    for words in KINDS:
        for extra in ([], ['-J'], ['--json-stream']):
            status, err = shell([*words, *extra], '<&- >&-')
            assert status == 1 and err.startswith('whyperf: cannot write the output'), (words, extra, status, err)
            assert len(err.strip().split('\n')) == 1, err
        assert shell(words, '<&- >/dev/null 2>&-')[0] == 0, words


def test_a_reader_that_leaves_ends_nothing():
    for words in KINDS:
        status, err = shell([*words, '-i', '0.05'], '| head -n 1 >/dev/null')
        assert status in (0, 1) and 'Traceback' not in err and err.count('\n') <= 1, (words, status, err)
    # Whatever was written in vain, the store is whole.
    assert 'loopback' in run('history').out


def test_a_full_disk_is_named_as_what_it_is():
    for words in ((*SHORT, '-J'), *KINDS, (*SHORT, '--json-stream'), ('doctor', '-J'), ('history',), ('--version',)):
        status, err = shell(words, '>/dev/full')
        assert status == 1 and 'cannot write the output' in err and 'memory' not in err, (words, status, err)


def test_nothing_that_was_typed_reaches_the_terminal_raw():
    bad = '\x1b[31mred\x07\nline'
    for words in ((bad,), ('tcp', bad), ('tcp', f'lab:{bad}'), ('tcp', 'lab', f'--{bad}'), ('tcp', 'lab', '-C', bad, '-t', '1'),
                  ('tcp', 'lab', '-t', bad), ('tcp', 'lab', '--name', bad), ('lab', bad), ('lab', 'up', bad), ('report', bad),
                  ('history', bad), ('serve', '-B', bad)):
        result = run(*words, expect=None)
        assert result.status in (1, 2), (words, result.status)
        assert '\x1b' not in result.err and '\x07' not in result.err, (words, result.err)
        assert len(result.err.strip().split('\n')) == 1, (words, result.err)


def test_words_that_are_not_utf8_cost_only_their_letters():
    name = b'gr\xfc\xdfe'.decode('utf-8', 'surrogateescape')
    result = run(*SHORT, '--name', name, expect=2)
    assert 'UTF-8' in result.err, result.err
    r = run(*SHORT, '--key', '', '-J', expect=None)
    with open(os.path.join(STATE, 'k\udcff'), 'w', encoding='utf-8') as f:
        f.write('secret words enough for a key\n')
    r = run(*SHORT, '-J', '--key', os.path.join(STATE, 'k\udcff')).json()
    assert r['command'][-1].endswith('/k?'), r['command']


def test_only_what_is_stored_is_called_stored():
    assert 'Stored' in run(*SHORT).out
    assert re.search(r'Stored +nowhere', run(*SHORT, '--no-store').out)
    result = run(*SHORT, env=environment('/dev/null'))
    where = re.search(r'the run is in (\S+\.json)', result.err)
    assert where, result.err
    try:
        assert re.search(r'Stored +' + re.escape(where.group(1)), result.out), result.out[-300:]
        with open(where.group(1), encoding='utf-8') as f:
            assert json.load(f)['schema'] == 'whyperf.run/1'
    finally:
        os.unlink(where.group(1))


def test_without_a_home_nothing_is_kept_where_others_write():
    if os.geteuid():
        raise Skip('only root can become a user that has no home')
    need_program('setpriv')
    env = environment(STATE)
    for name in ('HOME', 'XDG_STATE_HOME'):
        env.pop(name, None)
    p = subprocess.run(['setpriv', '--reuid=2147483000', '--clear-groups', WHYPERF, 'report', 'last'], capture_output=True,
                       text=True, env=env, timeout=60 * PATIENCE, check=False)
    if p.returncode != 1 or not p.stderr.startswith('whyperf'):
        raise Skip(f'the program is out of such a user\'s reach: {p.stderr.strip()}')
    assert ' /.local/state/whyperf/' in p.stderr and '/tmp' not in p.stderr, p.stderr


def test_a_cpu_outside_the_allowed_ones_is_refused_at_both_ends():
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise Skip('one CPU only')
    need_program('taskset')
    for option in ('--cpu', '--peer-cpu'):
        p = subprocess.run(['taskset', '-c', str(cpus[0]), WHYPERF, *SHORT, option, str(cpus[1])], capture_output=True,
                           text=True, env=environment(STATE), timeout=60 * PATIENCE, check=False)
        assert p.returncode in (1, 2) and f'CPU {cpus[1]} can\'t be used' in p.stderr, (option, p.returncode, p.stderr)


def test_more_cpus_than_columns():
    result = run(*SHORT, '--peer-cpu', '1,3,5,7,9,11,13', expect=None)
    assert result.status in (0, 1), result.err
    result = run('tcp', 'loopback', '--cpu', '0-4000', expect=2)
    assert '--cpu' in result.err and 'CPU ' in result.err, result.err
    assert "is not a list" in run('tcp', 'loopback', '--cpu', '', expect=2).err


def on_terminal(columns, *words):
    """What a whyperf prints on a terminal of that width."""
    main_fd, tty = pty.openpty()
    fcntl.ioctl(tty, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    p = subprocess.Popen([WHYPERF, *words], stdin=subprocess.DEVNULL, stdout=tty, stderr=subprocess.DEVNULL,
                         env=environment(STATE))
    os.close(tty)
    out = b''
    try:
        while True:
            data = os.read(main_fd, 65536)
            if not data:
                break
            out += data
    except OSError:
        pass  # how Linux tells that the other side is closed
    os.close(main_fd)
    assert p.wait(timeout=60 * PATIENCE) == 0
    return re.sub(r'\x1b\[[0-9;]*m', '', out.decode()).replace('\r', '')


def test_a_narrow_terminal_is_kept_to():
    for columns, words in [(c, w) for c in (40, 20, 1) for w in KINDS]:
        text = on_terminal(columns, *words, '-q')
        # The interval table's first columns are always there.
        wide = [line for line in text.split('\n')
                if len(line) > 60 or len(line) > 40 and not line.startswith('[') and ' sec' not in line and 'Interval' not in line]
        wide = [line for line in wide if not (words[0] == 'tcp' and line.startswith('['))]
        assert not wide, (columns, words, wide)


def test_json_is_there_although_nothing_could_run():
    need_program('unshare')
    script = f'echo 0 > /proc/sys/user/max_net_namespaces && exec {shlex.quote(WHYPERF)} tcp lab -t 1 '
    for option in ('-J', '--json-stream'):
        p = subprocess.run(['unshare', '-U', '-r', 'sh', '-c', script + option], capture_output=True, text=True,
                           env=environment(STATE), timeout=60 * PATIENCE, check=False)
        if 'unshare' in p.stderr or 'max_net_namespaces: ' in p.stderr and not p.stderr.startswith('whyperf'):
            raise Skip('no user namespaces here')
        assert p.returncode == 1 and 'loopback' in p.stderr, (p.returncode, p.stderr)
        r = json.loads(p.stdout)
        r = r if option == '-J' else r['data']
        assert all(key in r for key in KEYS) and r['exit'] == 1 and r['error'] in p.stderr, r


def test_interrupted_at_any_moment_json_is_whole():
    target = 'lab' if can_make_lab() else 'loopback'
    moments = [('tcp', d) for d in (0.06, 0.1, 0.15, 0.25, 0.4, 0.7, 1.1)]
    moments += [(kind, d) for kind in ('udp', 'rr') for d in (0.06, 0.2, 0.4, 0.8)]
    for i, (kind, delay) in enumerate(moments):
        p = start(kind, target, '-t', '30', '-i', '0.1', ('-J', '--json-stream')[i % 2])
        time.sleep(delay * PATIENCE)
        p.send_signal((signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[i % 3])
        out, err = p.communicate(timeout=20 * PATIENCE)
        assert p.returncode == 130, (kind, delay, p.returncode, err)
        lines = [out] if not i % 2 else out.splitlines()
        r = [json.loads(line) for line in lines][-1]
        r = r if not i % 2 else r['data']
        assert all(key in r for key in KEYS) and r['exit'] == 130, (delay, r.keys())


def hangs(*words):
    """A test whose server is stopped; what the client says of it, and its record."""
    with Server() as server:
        p = start(words[0], f'127.0.0.1:{server.port}', '--timeout', '1', '-J', *words[1:])
        time.sleep(1 * PATIENCE)
        server.process.send_signal(signal.SIGSTOP)
        begin = time.monotonic()
        out, err = p.communicate(timeout=100 * PATIENCE)
        took = time.monotonic() - begin
        server.process.send_signal(signal.SIGCONT)
    assert p.returncode == 1 and len(err.strip().split('\n')) == 1, (p.returncode, err)
    return took, err, json.loads(out)


def test_a_server_that_hangs_costs_a_timeout():
    tests = (('tcp', '-t', '300', '-R'), ('tcp', '-n', '1G', '-b', '1M'), ('udp', '-t', '300', '-b', '1M'),
             ('udp', '-t', '300', '-b', '1M', '-R'), ('rr', '-t', '300'),
             ('rr', '-t', '300', '--rate', '100', '--udp', '-P', '20'))
    # All at once: they only wait.
    with concurrent.futures.ThreadPoolExecutor(len(tests)) as pool:
        results = list(pool.map(lambda words: hangs(*words), tests))
    for words, (took, err, r) in zip(tests, results):
        assert 'hangs' in err and took < (25 if words[0] == 'tcp' else 50) * PATIENCE, (words, took, err)
        assert r['flows'][0]['intervals'], 'what was measured is lost'


def test_a_stopped_client_catches_nothing_up():
    p = start('tcp', 'loopback', '-t', '4', '-b', '10M', '-i', '0.2', '-J')
    time.sleep(1)
    p.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    p.send_signal(signal.SIGCONT)
    out, err = p.communicate(timeout=60 * PATIENCE)
    assert p.returncode == 0, err
    rows = json.loads(out)['flows'][0]['intervals']
    stalls = [r for r in rows if r['end_s'] - r['start_s'] > 1]
    assert len(stalls) == 1, 'one late row says it by its bounds'
    assert all(r['bytes'] <= 1.1 * 10e6 / 8 * (r['end_s'] - r['start_s']) + 4096 for r in rows), rows


def test_a_stopped_sender_of_datagrams_catches_nothing_up():
    p = start('udp', 'loopback', '-t', '4', '-b', '1000pps', '-l', '64', '-i', '0.2', '-J')
    time.sleep(1)
    p.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    p.send_signal(signal.SIGCONT)
    out, err = p.communicate(timeout=60 * PATIENCE)
    assert p.returncode == 0, err
    flow = json.loads(out)['flows'][0]
    assert all(r['packets'] <= 1.1 * 1000 * (r['end_s'] - r['start_s']) + 20 for r in flow['intervals']), flow['intervals']
    assert flow['sent']['shortfall_packets'] >= 1000, flow['sent']


def test_a_slow_reader_does_not_lengthen_the_test():
    for last_words, status in ((None, 0), (signal.SIGINT, 130)):
        p = start('tcp', 'loopback', '-t', '1' if status == 0 else '60', '-i', '0.01', '-P', '16', '--json-stream',
                  '--no-store')
        time.sleep(3)  # nobody reads, and the pipe is full
        if last_words:
            p.send_signal(last_words)
        time.sleep(0.5)
        out, err = p.communicate(timeout=60 * PATIENCE)
        assert p.returncode == status and 'cannot write' not in err, (p.returncode, err)
        events = [json.loads(line) for line in out.splitlines()]
        assert events[-1]['event'] == 'end'
        if not last_words:
            seconds = events[-1]['data']['flows'][0]['sent']['seconds']
            assert 1 <= seconds < 1 + 0.5 * PATIENCE, seconds


def test_without_sysfs_the_test_runs_and_libraries_are_silent():
    need_program('unshare')
    script = f'mount -t tmpfs none /sys || exit 77; exec {shlex.quote(WHYPERF)} tcp loopback -t 0.2 -J --no-store'
    p = subprocess.run(['unshare', '-m', 'sh', '-c', script], capture_output=True, text=True, env=environment(STATE),
                       timeout=60 * PATIENCE, check=False)
    if p.returncode == 77 or 'unshare' in p.stderr:
        raise Skip('no mount namespace here')
    assert p.returncode == 0 and p.stderr == '', (p.returncode, p.stderr)
    assert json.loads(p.stdout)['flows'][0]['received']['bytes'] > 0


if __name__ == '__main__':
    main(globals())
