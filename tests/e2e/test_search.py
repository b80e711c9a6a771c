# SPDX-License-Identifier: GPL-2.0-or-later
"""Latency under load (--with rr): a planted queue must show, what fails must be said, and the record must hold both
distributions. No speed is looked at, only what was planted.
"""
import json
import os
import shlex

from wp import PATIENCE, Server, Skip, main, need_lab, need_program, run, start

QUEUE_MS = 5.2  # of a link of 200 Mbit/s behind a socket that may have 331 KByte under way: planted.md has 5 to 8


class Lab:
    """A named lab with a fault planted by commands in its namespaces: ('a', 'tc ...')."""

    def __init__(self, name, *commands):
        self.name, self.commands = f'{name}{os.getpid() % 100000}', commands

    def __enter__(self):
        need_lab()
        run('lab', 'up', self.name)
        for side, command in self.commands:
            r = run('lab', 'exec', f'{self.name}:{side}', *shlex.split(command), expect=None)
            if r.status:
                self.__exit__()
                raise Skip(f'not possible here: {command[:40]}...: {r.err.strip()[:80]}')
        self.host = f'lab:name={self.name}'
        return self

    def __exit__(self, *exc):
        run('lab', 'down', self.name, expect=None)


def shaped(name, side='a'):
    need_program('tc')
    return Lab(name, (side, f'tc qdisc add dev wp{side} root tbf rate 200mbit burst 32k limit 4m'))


def loaded(*args):
    """A run of 1 s with the requests beside it."""
    return run(*args, '-t', '1', '--idle-time', '0.5', '-J', '--no-store').json()


def histogram(record, name):
    return next(h for h in record['hosts'][0]['histograms'] if h['name'] == name)


def check_record(record, protocol):
    total, test = record['total'], record['test']
    assert test['with'] == protocol and test['with_rate_hz'] == 200 and test['idle_s'] == 0.5, test
    for part in ('idle', 'loaded'):
        h, figures = histogram(record, f'latency_{part}'), total[f'latency_{part}_us']
        assert h['count'] == sum(n for _, _, n in h['buckets']) > 0, h['count']
        assert '200 requests/s over ' + protocol in h['note'], h['note']
        assert 0 < figures['p50'] <= figures['p99'] <= figures['max'], figures
        assert figures['p50'] == h['p50_us'] and figures['mean'] == h['mean_us'], figures
    assert abs(total['added_latency_us'] - (total['latency_loaded_us']['p50'] - total['latency_idle_us']['p50'])) < 1
    assert abs(total['rpm'] - 60e6 / total['latency_loaded_us']['mean']) < 1
    assert total['latency_grade'] in ('A+', 'A', 'B', 'C', 'D', 'F')
    assert not record['warnings'], record['warnings']


def test_a_deep_queue_is_what_the_load_adds():
    with shaped('wpbloat') as lab:
        record = loaded('tcp', lab.host, '-C', 'cubic', '--with', 'rr')
        check_record(record, 'TCP')
        total = record['total']
        assert total['added_latency_us'] > QUEUE_MS * 1000 / 2, total
        assert total['added_latency_us'] > 2 * total['latency_idle_us']['p50'], total
        # The queue is one direction's: requests over UDP see it as well.
        record = loaded('tcp', lab.host, '-C', 'cubic', '--with', 'rr,udp')
        check_record(record, 'UDP')
        assert record['total']['added_latency_us'] > QUEUE_MS * 1000 / 2, record['total']
        # A load that leaves the link half empty makes no queue.
        low = loaded('tcp', lab.host, '-b', '50M', '--with', 'rr')
        assert low['total']['added_latency_us'] < total['added_latency_us'] / 2, low['total']


def test_reverse_and_both_directions():
    with shaped('wpback', 'b') as lab:
        record = loaded('tcp', lab.host, '-C', 'cubic', '-R', '--with', 'rr')
        check_record(record, 'TCP')
        assert record['total']['added_latency_us'] > QUEUE_MS * 1000 / 2, record['total']
        check_record(loaded('tcp', lab.host, '-C', 'cubic', '--bidir', '--with', 'rr'), 'TCP')


def test_a_load_that_ends_by_an_amount():
    record = run('tcp', 'loopback', '-n', '200M', '-b', '1G', '--with', 'rr', '--idle-time', '0', '-J', '--no-store').json()
    total = record['total']
    assert total['latency_loaded_us']['p50'] > 0, total
    assert total['latency_idle_us']['p50'] is None and 'not asked for' in total['latency_idle_us']['p50_why'], total
    assert total['added_latency_us'] is None and 'latency_grade' not in total, total
    assert record['total']['received_bytes'] == 200 << 20, record['total']


def test_a_server_without_room_costs_a_warning_only():
    with Server('--max-clients', '1') as server:
        r = run('tcp', '127.0.0.1', '-p', server.port, '-t', '0.5', '--with', 'rr', '--idle-time', '0.3', '-J', '--no-store')
        record = r.json()
        assert record['exit'] == 0 and record['total']['received_bytes'] > 0
        assert any('latency under load was not measured' in w and 'busy' in w for w in record['warnings']), record['warnings']
        assert record['total']['latency_loaded_us']['p50'] is None
        assert 'busy' in record['total']['latency_loaded_us']['p50_why']
        assert record['total']['latency_idle_us']['p50'] > 0


def test_a_host_without_a_server_is_told_once():
    r = run('tcp', '127.0.0.1', '-p', '1', '-t', '1', '--with', 'rr', expect=1)
    assert r.err.count('cannot connect') == 1 and 'latency' not in r.err, r.err


def test_text_mail_and_stream_say_it():
    args = ('tcp', 'loopback', '-t', '0.5', '--with', 'rr', '--idle-time', '0.3', '--no-store')
    text = run(*args).out
    assert 'Round trips' in text and ' under load ' in text and 'round trips a minute' in ' '.join(text.split()), text
    mail = run(*args, '--format', 'mail').out
    assert 'Round trips' in mail and max(map(len, mail.splitlines())) <= 76, mail
    events = [json.loads(line) for line in run(*args, '--json-stream').out.splitlines()]
    assert [e['event'] for e in events[:2]] == ['idle', 'start'], [e['event'] for e in events]
    assert events[0]['data']['name'] == 'latency_idle' and events[0]['data']['count'] > 0, events[0]
    assert events[-1]['data']['total']['latency_loaded_us']['p50'] > 0


def test_interrupted_before_and_during_the_load():
    p = start('tcp', 'loopback', '--with', 'rr', '--idle-time', '30', '--json-stream', '--no-store')
    try:
        p.communicate(timeout=0.7 * PATIENCE)
    except Exception:  # pylint: disable=broad-except
        pass
    p.send_signal(2)
    out, err = p.communicate(timeout=20 * PATIENCE)
    assert p.returncode == 130 and 'before the load began' in err, (p.returncode, out[-300:], err)
    p = start('tcp', 'loopback', '-t', '30', '-i', '0.1', '--with', 'rr', '--idle-time', '0.2', '--json-stream', '--no-store')
    rows = 0
    for line in p.stdout:
        rows += json.loads(line)['event'] == 'interval'
        if rows == 5:
            break
    p.send_signal(2)
    out, err = p.communicate(timeout=20 * PATIENCE)
    record = json.loads(out.splitlines()[-1])['data']
    assert p.returncode == 130 and record['total']['latency_loaded_us']['p50'] > 0, (p.returncode, err)


def test_a_sweep_ranks_by_what_a_load_adds():
    r = run('sweep', '--length', '64K,1M', '--metric', 'added_latency_us', '--repeat', '1', '-J', '--no-store',
            'tcp', 'loopback', '-t', '0.2', '--with', 'rr', '--idle-time', '0.2').json()
    assert r['metric'] == 'added_latency_us' and r['better'] == 'lower', r
    assert all(cell['n'] == 1 for cell in r['cells']), r['cells']


def test_bad_values():
    for args, what in ((('--with', 'ping'), 'rr,udp'), (('--idle-time', '1'), '--with'), (('--with', 'rr', '--with-rate', '0'), '--with-rate'),
                       (('--with', 'rr', '--idle-time', '-1'), '--idle-time')):
        r = run('tcp', 'loopback', *args, expect=2)
        assert what in r.err and r.err.count('\n') == 1, r.err


if __name__ == '__main__':
    main(globals())
