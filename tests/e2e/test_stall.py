# SPDX-License-Identifier: GPL-2.0-or-later
"""Stalls: each way to stop a connection is planted in a lab and must be named, with the times at which it was done.

Times are right when they hold what was measured here, around each command that plants or mends, and no more than the
grain and what the reader was late by. Nothing here looks at a speed.
"""
import json
import os
import shlex
import signal
import subprocess
import sys
import time

from wp import PATIENCE, Server, Skip, begun, ended, main, need_lab, need_program, run, start, wait_until

LAB = f'stall{os.getpid() % 100000}'
STALL = 0.3  # seconds
STOPPED = 2 if PATIENCE == 1 else 4


class Lab:
    """A named lab, gone in the end."""

    def __enter__(self):
        need_lab()
        run('lab', 'up', LAB)
        return self

    def do(self, side, command):
        r = run('lab', 'exec', f'{LAB}:{side}', *shlex.split(command), expect=None)
        if r.status:
            raise Skip(f'not possible here: {command[:50]}: {r.err.strip()[:80]}')

    def __exit__(self, *exc):
        run('lab', 'down', LAB, expect=None)


def planted(plant, mend, *args, host=f'lab:name={LAB}', seconds=STOPPED):
    """A run in whose middle plant() stops it and mend() lets it go on. Returns its status, record, and when the two
    were done: (earliest, latest) seconds from the start of the test, each."""
    p = begun(host, '-t', '600', '--stall', STALL, *args, rows=5)
    # The rows that have come end at multiples of 0.1 s; when exactly they began is known to the reader's delay only.
    plant_from = time.monotonic()
    plant()
    plant_to = time.monotonic()
    time.sleep(seconds)
    mend_from = time.monotonic()
    mend()
    mend_to = time.monotonic()
    time.sleep(1.5 * seconds)
    p.send_signal(signal.SIGINT)
    status, record, err = ended(p)
    assert record, err
    return status, record, (mend_from - plant_to, mend_to - plant_from)


def longest(record):
    assert record.get('stalls'), ('no stall was found', record['warnings'], record.get('error'))
    return max(record['stalls'], key=lambda s: s['length_s'])


def views(record, role):
    return [(h, v) for h in record['hosts'] for v in h.get('stalls', []) if v['role'] == role]


def late(record):
    """By how much a reading was late at most."""
    return max([v['gap_s'] for h in record['hosts'] for v in h.get('stalls', []) if v['role'] != 'process'], default=0)


def check_form(record):
    """What holds for every stall of every record."""
    for s in record.get('stalls', []):
        assert s['length_s'] >= record['test']['stall_s'] - 1e-6, s
        assert s['says'] and not s['says'].endswith('.') and s['cause'] and s['confidence'], s
        assert s['seen_by'] in ('client', 'server', 'both') and s['ended'] in ('progress', 'stream ended', 'test ended')
    for host in record['hosts']:
        for v in host.get('stalls', []):
            times = [(r['start_s'], r['end_s']) for r in v.get('readings', [])]
            assert all(a[1] == b[0] for a, b in zip(times, times[1:])), times
            assert len(times) <= 40 and len(v.get('lines', [])) <= 32
    if record.get('stalls'):
        assert record['findings'][0]['rule'] == 'stalled', record['findings']
        assert longest(record)['says'] in record['findings'][0]['says']


def test_a_link_that_goes_down():
    with Lab() as lab:
        _, r, (least, most) = planted(lambda: lab.do('a', 'ip link set wpa down'),
                                      lambda: lab.do('a', 'ip link set wpa up'))
    check_form(r)
    s = longest(r)
    assert s['cause'] == 'carrier_lost' and 'wpa (client)' in s['says'], s
    assert s['ended'] == 'progress', s
    sender = next(v for _, v in views(r, 'sender'))
    assert sender['carrier_changes'] >= 1 and sender['interface'] == 'wpa', sender
    # Down for as long as it was, to the distance of two readings at either end.
    slack = 0.35 + 2 * late(r)
    assert least - slack <= sender['carrier_down_s'] <= most + slack, (sender['carrier_down_s'], least, most)
    # TCP may go on later, when its timer fires; never earlier.
    assert s['length_s'] >= least - slack, (s, least)
    during = [x for x in sender['readings'] if x['phase'] == 'during']
    assert any(x['carrier'] is False for x in during), during
    phases = [x['phase'] for x in sender['readings']]
    assert phases == sorted(phases, key=['before', 'during', 'after'].index), phases
    assert phases[0] == 'before' and phases[-1] == 'after', phases
    assert any(line['name'] == 'NET_RX' for line in sender['lines']), sender['lines']


def test_the_start_and_the_end_are_right():
    """The rows of the same record say between which bytes moved: another reading of the same clock."""
    with Lab() as lab:
        _, r, _ = planted(lambda: lab.do('a', 'ip link set wpa down'), lambda: lab.do('a', 'ip link set wpa up'))
    s = longest(r)
    rows = r['flows'][0]['peer_intervals']  # what arrived
    moved = [x for x in rows if x['bytes']]
    before = [x for x in moved if x['start_s'] < s['start_s']]
    after = [x for x in moved if x['end_s'] > s['start_s'] + s['length_s']]
    slack = 0.1 + 0.05 + late(r)  # a row, the ends' zeros, a late reading
    assert abs(before[-1]['end_s'] - s['start_s']) <= 0.1 + slack, (before[-1], s)
    assert abs(after[0]['start_s'] - (s['start_s'] + s['length_s'])) <= 0.1 + slack, (after[0], s)
    assert not [x for x in moved if x['start_s'] > s['start_s'] + slack and
                x['end_s'] < s['start_s'] + s['length_s'] - slack], 'bytes moved within the stall'


def test_a_queue_that_lets_nothing_go():
    need_program('tc')
    with Lab() as lab:
        # A plug: the kernel's own queue that holds what comes until it is told. Where it is not built: a shaper whose
        # rate lets a packet go in hours.
        stuck = ('tc qdisc replace dev wpa root plug limit 1000000',
                 'tc qdisc replace dev wpa root tbf rate 8bit burst 70000 limit 10000000')
        for command in stuck:
            r = run('lab', 'exec', f'{LAB}:a', *shlex.split(command), expect=None)
            if not r.status:
                break
        else:
            raise Skip(f'no queue can be planted here: {r.err.strip()[:80]}')
        run('lab', 'exec', f'{LAB}:a', 'tc', 'qdisc', 'del', 'dev', 'wpa', 'root', expect=None)
        _, r, (least, _) = planted(lambda: lab.do('a', command),
                                   lambda: lab.do('a', 'tc qdisc del dev wpa root'))
    check_form(r)
    # What was in the queue when it was taken away is lost, which may be a longer stall than this one.
    s = r['stalls'][0]
    assert s['cause'] == 'queue_stuck', s
    sender = next(v for _, v in views(r, 'sender'))
    assert sender['qdisc'] in ('plug', 'tbf') or sender['most_queued_packets'], sender
    assert s['length_s'] >= least - 0.35 - 2 * late(r), (s, least)


def test_packets_that_are_lost_on_the_way():
    need_program('tc')
    drop = "tc filter add dev wpb ingress bpf da bytecode '1,6 0 0 2'"
    with Lab() as lab:
        lab.do('b', 'tc qdisc add dev wpb clsact')
        lab.do('b', drop)
        lab.do('b', 'tc filter del dev wpb ingress')
        _, r, _ = planted(lambda: lab.do('b', drop), lambda: lab.do('b', 'tc filter del dev wpb ingress'), '-C', 'cubic')
    check_form(r)
    s = longest(r)
    assert s['cause'] == 'packets_lost' and 'timeouts' in s['says'], s
    sender = next(v for _, v in views(r, 'sender'))
    assert sender['timeouts'] >= 1 and sender['rto_us'] > sender['rto_before_us'], sender
    assert sender['unacked'] > 0 and sender['carrier_changes'] == 0, sender


def test_a_server_that_is_stopped():
    with Server() as server:
        _, r, (least, most) = planted(lambda: server.process.send_signal(signal.SIGSTOP),
                                      lambda: server.process.send_signal(signal.SIGCONT),
                                      '-p', server.port, '-w', '256K', host='127.0.0.1')
    check_form(r)
    s = longest(r)
    assert s['cause'] in ('process_stopped', 'window_closed'), s
    sender = next(v for _, v in views(r, 'sender'))
    assert sender['snd_wnd_bytes'] < sender['mss_bytes'], sender
    # A busy machine may keep an idle client from looking for a moment; the server's is the one that was planted.
    gaps = [v['length_s'] for h, v in views(r, 'process') if h['role'] == 'server']
    assert gaps and least - 0.2 <= max(gaps) <= most + 0.5 * PATIENCE, (gaps, least, most)


def test_a_client_that_is_stopped():
    with Lab():
        p = begun(f'lab:name={LAB}', '-R', '-t', '600', '--stall', STALL, '-w', '256K')
        p.send_signal(signal.SIGSTOP)
        time.sleep(STOPPED)
        p.send_signal(signal.SIGCONT)
        time.sleep(STOPPED)
        p.send_signal(signal.SIGINT)
        _, r, _ = ended(p)
    check_form(r)
    assert longest(r)['cause'] in ('process_stopped', 'window_closed'), r['stalls']
    assert any(h['role'] == 'client' for h, _ in views(r, 'process'))


def test_a_healthy_run_has_none():
    need_lab()
    for args in ([], ['-R'], ['--bidir', '-P', '2'], ['-b', '8M'], ['-n', '200M']):
        r = run('tcp', 'lab', '-t', '1', '--stall', 3 * PATIENCE, '-J', '--no-store', *args).json()
        assert not r.get('stalls') and r['exit'] == 0, (args, r.get('stalls'))
        assert r['test']['stall_s'] == 3 * PATIENCE
        for h in r['hosts']:
            assert h['stalls_left_out'] == 0 and h['stall_cpu_pct'] < 20, h['stall_cpu_pct']


def test_a_sender_that_shares_its_cpu_makes_no_alarm():
    """Busy loops beside the sender: it waits for its CPU, but never as long as a tenth of a second in a row."""
    need_lab()
    cpu = sorted(os.sched_getaffinity(0))[0]
    code = 'import os\nmine = os.getppid()\nwhile os.getppid() == mine:\n    for _ in range(10 ** 5):\n        pass\n'
    hog = subprocess.Popen([sys.executable, '-c', code], preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    try:
        r = run('tcp', 'lab', '-t', '2', '--cpu', cpu, '--stall', 0.5 * PATIENCE, '-J', '--no-store', expect=None).json()
    finally:
        hog.kill()
        hog.wait()
    # What a machine that is busy elsewhere does to the whole test is no false alarm: then a thread or process of the
    # test did not run, and that is what is said.
    for s in r.get('stalls', []):
        assert s['cause'] in ('off_cpu', 'process_stopped'), s


def test_hogs_are_ours_and_end_with_the_run():
    need_lab()
    cpu = sorted(os.sched_getaffinity(0))[0]
    r = run('tcp', 'lab', '-t', '1', '--hog', cpu, '--cpu', cpu, '-J', '--no-store').json()
    assert r['test']['hog_cpus'] == [cpu] and r['hosts'][0]['hog_cpu_pct'] > 1, r['hosts'][0].get('hog_cpu_pct')
    assert 'hog_cpu_pct' not in r['hosts'][1] and 'hog_cpus' not in run('tcp', 'lab', '-t', '0.2', '-J').json()['test']
    for f in r['findings']:
        assert 'other work took' not in f['says'] or f'CPU {cpu}' not in f['says'], f
    assert 'hog' in run('tcp', 'lab', '-t', '0.5', '--hog', cpu, '--no-store').out
    bad = run('tcp', 'lab', '--hog', '4000', '-t', '1', expect=2)
    assert '--hog' in bad.err and '4000' in bad.err, bad.err


def test_a_soak_tells_what_whyperf_holds_itself():
    need_lab()
    for command in ('tcp', 'udp', 'rr'):
        r = run(command, 'lab', '-t', '1', '--soak', '-P', '3', '-J', '--no-store').json()
        assert r['test']['soak'] is True and not [w for w in r['warnings'] if 'whyperf itself' in w], r['warnings']
        for host in r['hosts']:
            soak = host['soak']
            assert soak['readings'] >= 2 and soak['rss_peak_bytes'] >= soak['rss_end_bytes'] > 1 << 20, soak
            assert soak['fds_peak'] >= soak['fds_end'] > 3 and soak['threads_peak'] >= 2, soak
    assert 'soak' not in run('tcp', 'lab', '-t', '0.2', '-J').json()['hosts'][0]
    assert '\nSoak' in run('tcp', 'lab', '-t', '0.3', '--soak', '--no-store').out


def test_the_exit_status_is_three():
    with Lab() as lab:
        p = start('tcp', f'lab:name={LAB}', '-t', 2 * STOPPED + 2, '--stall', STALL, '--json-stream', '-i', '0.1')
        for line in p.stdout:
            if json.loads(line)['event'] == 'interval':
                break
        lab.do('a', 'ip link set wpa down')
        time.sleep(STOPPED)
        lab.do('a', 'ip link set wpa up')
        status, r, err = ended(p)
    assert status == 3 and r['exit'] == 3 and not r['error'], (status, err)
    assert r['stalls'], r
    # As text it says when, why, and what was around it.
    run_id = r['id']
    text = run('report', run_id).out
    for word in ('Stalls', 'around second', 'before', 'during', 'after', 'NET_RX', 'carrier', 'exit status 3'):
        assert word in text, (word, text)
    assert run('report', run_id, '-J').json()['stalls'] == r['stalls']
    assert '# stall' in run('report', run_id, '--format', 'csv').out


def test_a_stall_until_the_end_is_told():
    with Lab() as lab:
        p = start('tcp', f'lab:name={LAB}', '-t', 2 + STOPPED, '--stall', STALL, '--json-stream', '-i', '0.1')
        for line in p.stdout:
            if json.loads(line)['event'] == 'interval':
                break
        lab.do('a', 'ip link set wpa down')
        status, r, err = ended(p, timeout=120)
    assert r and longest(r)['ended'] == 'test ended', (status, err, r and r.get('stalls'))
    assert longest(r)['cause'] in ('carrier_lost', 'peer_vanished'), longest(r)


def test_bad_bounds_are_one_sentence():
    for value in ('0.01', '2h', '-1', 'x'):
        bad = run('tcp', 'loopback', '--stall', value, '-t', '1', expect=2)
        assert 'stall' in bad.err and len(bad.err.strip().splitlines()) == 1, bad.err


if __name__ == '__main__':
    main(globals())
