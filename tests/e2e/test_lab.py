# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab: two hosts in one machine, gone without a trace whatever happens."""
import json
import os
import random
import signal
import subprocess
import time

from wp import (PATIENCE, STATE, WHYPERF, begun, ended, environment, left_behind, links_and_mounts, main, need_lab, run,
                start, wait_until)


MINE = f'wpt{os.getpid()}-'


def clean_after(f):
    """Runs f and checks that interfaces, named namespaces and mounts are as before."""
    before = links_and_mounts()
    try:
        f()
    finally:
        run('lab', 'status')  # any next start replays the journal
        wait_until(lambda: not left_behind(before, MINE), what='a clean machine')


def children():
    """Processes of ours that still play the other end."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/comm', encoding='utf-8') as f:
                peer = f.read().strip() == 'whyperf-peer'
            with open(f'/proc/{pid}/environ', 'rb') as f:
                if peer and STATE.encode() in f.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def test_a_run_leaves_nothing():
    need_lab()
    clean_after(lambda: run('tcp', 'lab', '-t', '0.3'))
    wait_until(lambda: not children(), what='the other end ended')


def test_two_labs_at_once():
    need_lab()
    a, b = (start('tcp', 'lab', '-t', '1', '-J') for _ in range(2))
    for p in (a, b):
        out, err = p.communicate(timeout=60 * PATIENCE)
        assert p.returncode == 0, err
        assert json.loads(out)['flows'][0]['remote'].startswith('10.97.0.2:')


def test_kill_9_at_any_moment_leaves_nothing():
    need_lab()

    def kills():
        for _ in range(15):
            p = start('tcp', 'lab', '-t', '20', '--no-store')
            time.sleep(random.uniform(0, 0.3) * PATIENCE)
            p.kill()
            p.communicate()
        wait_until(lambda: not children(), what='the other ends died with their parents')

    random.seed(7)
    clean_after(kills)


def test_signals_end_a_run_and_leave_nothing():
    need_lab()

    def signals():
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            p = begun('lab', '-t', '100')
            p.send_signal(sig)
            status, _, err = ended(p)
            assert status == 130, (sig, status, err)
        wait_until(lambda: not children(), what='the other ends ended')

    clean_after(signals)


def test_up_status_exec_down():
    need_lab()

    one, two = MINE + '1', MINE + '2'

    def life():
        run('lab', 'up', one)
        try:
            run('lab', 'up', two)
            status = run('lab', 'status').out
            assert one in status and two in status and '10.97.0.1' in status, status
            again = run('lab', 'up', one, expect=1)
            assert one in again.err, again.err
            out = run('lab', 'exec', f'{one}:a', 'cat', '/proc/net/dev').out
            assert 'wpa' in out, out
            assert run('lab', 'exec', f'{one}:b', 'false', expect=None).status == 1
            r = run('tcp', f'lab:name={one}', '-t', '0.3', '-J').json()
            assert r['flows'][0]['sent']['bytes'] > 0
        finally:
            run('lab', 'down', one)
            run('lab', 'down', two, expect=None)
        assert one not in run('lab', 'status').out
        assert one in run('lab', 'down', one, expect=1).err

    clean_after(life)


def test_a_killed_up_is_undone_by_the_next_start():
    need_lab()

    def kills():
        for i in range(12):
            p = start('lab', 'up', f'{MINE}kill{i}')
            time.sleep(random.uniform(0, 0.06) * PATIENCE)
            p.kill()
            p.communicate()
            # Either it was finished and stays, or nothing of it does.
            run('lab', 'status')
            run('lab', 'down', f'{MINE}kill{i}', expect=None)

    random.seed(11)
    clean_after(kills)


def test_mtu_is_set():
    need_lab()
    r = run('tcp', 'lab:mtu=9000', '-t', '0.3', '-J').json()
    assert r['flows'][0]['mss_bytes'] > 8000, r['flows'][0]['mss_bytes']


def test_without_the_right_there_is_one_sentence_and_loopback():
    """Not root and user namespaces forbidden: what a hardened machine or a container says."""
    if os.geteuid() != 0:
        from wp import Skip
        raise Skip('needs root to become another user')
    os.chmod(STATE, 0o777)
    p = subprocess.run(['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', '--inh-caps=-all', 'bash', '-c',
                        # a user without namespaces: the limit of a user namespace that we are in
                        'exec "$0" tcp lab -t 0.2', WHYPERF], env=environment(STATE), capture_output=True, text=True,
                       stdin=subprocess.DEVNULL, timeout=60 * PATIENCE, check=False)
    if p.returncode == 0:
        return  # this kernel lets users make namespaces: the lab works, which is better
    assert p.returncode == 1 and 'loopback' in p.stderr and p.stderr.count('\n') == 1, p.stderr


def test_loopback_needs_no_privilege():
    r = run('tcp', 'loopback', '-t', '0.3', '-J').json()
    assert r['flows'][0]['remote'].startswith('127.0.0.1:')
    for args in (['--loopback'], ['lab', '--loopback']):
        assert run('tcp', *args, '-t', '0.2', '-J').json()['flows'][0]['remote'].startswith('127.0.0.1:')
    wait_until(lambda: not children(), what='the other ends ended')


if __name__ == '__main__':
    main(globals())
