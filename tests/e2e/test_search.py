# SPDX-License-Identifier: GPL-2.0-or-later
"""Latency under load (--with rr): a planted queue must show, what fails must be said, and the record must hold both
distributions. The rate search (udp --find-rate): a planted limit must be found, within the noise of the machine. No
speed is looked at, only what was planted.
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
        if total['latency_loaded_us']['p50'] >= 5 * total['latency_idle_us']['p50']:
            assert 'bufferbloat' in [f['rule'] for f in record['findings']], record['findings']
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


# ---- the highest rate ------------------------------------------------------------------------------------------------

LENGTH = 1000
FRAME = LENGTH + 8 + 20 + 14  # as tbf counts it


def search(*args, expect=0, **kwargs):
    r = run('udp', *args, '-q', '-J', expect=expect, **kwargs)
    campaign = r.json()
    assert campaign['kind'] == 'find-rate' and campaign['found']['bound'].startswith('loss<'), campaign
    return campaign, campaign['found']


def quiet(found):
    """What the search says of a machine whose CPUs others use all the time is not its answer."""
    if found['limited_by'] == 'starved':
        raise Skip('other work takes the CPUs of this machine')
    return found


def check_search(campaign):
    found, tried = campaign['found'], campaign['found']['tried']
    assert len(tried) == len(campaign['runs']) == len(campaign['plan']['order']), len(tried)
    assert [t['run'] for t in tried] == campaign['runs']
    for t in tried:
        assert abs(t['loss_pct'] - 100 * t['lost_packets'] / t['sent_packets']) < 1e-6, t
        assert t['received_pps'] <= t['sent_pps'] * 1.0001, t
    if found['received_pps'] is not None:
        assert found['passed'] <= found['trials'] and found['loss_pct'] <= found['loss_max_pct'], found
        assert abs(found['payload_bps'] - 8 * found['payload_bytes'] * found['received_pps']) < 1, found
    assert campaign['metric'] == 'lost_pct' and sum(cell['n'] for cell in campaign['cells']) == len(tried)


def test_a_planted_rate_is_found():
    """A bucket of 10 KByte and a queue of 20 KByte let through 29 packets more than the rate in each trial."""
    need_program('tc')
    seconds, rate = 0.5, 20e6 / 8 / FRAME
    with Lab('wprate', ('a', 'tc qdisc add dev wpa root tbf rate 20mbit burst 10k limit 20k')) as lab:
        campaign, found = search(lab.host, '-l', LENGTH, '--find-rate', 'loss<0.1%', '--trial-time', seconds, '--resolution', 2,
                                 '--border-trials', 3, timeout=120)
        check_search(campaign)
        quiet(found)
        assert found['verdict'] == 'found' and campaign['state'] == 'done', found
        assert 0.9 * rate < found['received_pps'] < 1.02 * (rate + 29 / seconds), (rate, found)
        assert 'tbf' in found['lost_at'] and found['lost_at_pct'] > 90, found
        # The trials are runs, stored with the command that makes one again.
        trial = run('report', campaign['runs'][-1], '--format', 'json').json()
        assert '--find-rate' not in trial['command'] and trial['command'][-2] == '-b', trial['command']
        assert trial['test']['duration_s'] == seconds and trial['ledger']['sent_packets'] > 0
        text = run('report', campaign['id']).out
        assert 'Answer' in text and 'packets/s' in text and 'border' in text, text
        assert run('report', campaign['id'], '--format', 'csv').out.count('\n') == 1 + len(campaign['cells'])
        mail = run('report', campaign['id'], '--format', 'mail').out
        assert max(map(len, mail.splitlines())) <= 76, mail
        assert campaign['id'][:6] in run('history', '--sweeps').out


def test_loss_at_every_rate():
    """5 % by a classic BPF filter that compares a random number."""
    need_program('tc')
    drop = '4,32 0 0 4294963256,53 1 0 214748364,6 0 0 2,6 0 0 0'
    with Lab('wpnone', ('b', 'tc qdisc add dev wpb clsact'),
             ('b', f'tc filter add dev wpb ingress bpf da bytecode "{drop}"')) as lab:
        campaign, found = search(lab.host, '--find-rate', 'loss<0', '-b', '10000pps', '--trial-time', '0.2', expect=3)
        check_search(campaign)
        assert found['verdict'] == 'none' and found['received_pps'] is None, found
        assert 'filter' in found['lost_at'], found


def test_the_highest_rate_asked_for():
    campaign, found = search('loopback', '--find-rate', 'loss<=50%', '-b', '500pps', '--trial-time', '0.2', '--no-store')
    check_search(campaign)
    quiet(found)
    assert found['verdict'] in ('at_least', 'found') and found['received_pps'] > 400, found
    assert found['tried'][0]['asked_pps'] == 500, found['tried'][0]
    assert max(t['asked_pps'] for t in found['tried']) <= 500
    assert found['limited_by'] in ('asked', 'sender'), found
    assert found['ethernet_bps'] is not None and campaign['runs'][0] is not None


def test_reverse_from_a_real_server():
    with Server() as server:
        campaign, found = search('127.0.0.1', '-p', server.port, '-R', '--find-rate', 'loss<=50%', '-b', '500pps',
                                 '--trial-time', '0.2', '--border-trials', 1, '-P', 2, '--no-store')
        check_search(campaign)
        quiet(found)
        # -b is of each stream.
        assert 800 < found['received_pps'] < 1050 and found['tried'][0]['asked_pps'] == 1000, found


def test_a_search_cut_short():
    campaign, found = search('loopback', '--find-rate', 'loss<=50%', '-b', '500pps', '--trial-time', '0.2', '--search-time', '1')
    check_search(campaign)
    assert found['verdict'] == 'unfinished' and 1 <= len(found['tried']) <= 2, found
    p = start('udp', 'loopback', '--find-rate', 'loss<=50%', '-b', '500pps', '--trial-time', '0.3', '--border-trials', 100, '-J')
    for line in p.stderr:
        if line.startswith('[2]'):
            break
    p.send_signal(2)
    out, err = p.communicate(timeout=20 * PATIENCE)
    campaign = json.loads(out)
    assert p.returncode == 130 and campaign['state'] == 'interrupted', (p.returncode, err)
    assert campaign['found']['verdict'] == 'unfinished'
    assert run('report', campaign['id'], '--format', 'json').json()['state'] == 'interrupted'


def test_the_time_is_told_before():
    r = run('udp', 'loopback', '--find-rate', 'loss<0', '-b', '2000pps', '--trial-time', '0.1', '--border-trials', 1, '--no-store',
            expect=None)
    assert 'about' in r.err and 'at most' in r.err and 'trials of 0.1 s' in r.err, r.err


def test_a_sweep_of_searches():
    r = run('sweep', '--length', '64,512', '--repeat', '1', '-J', '-q', '--no-store', 'udp', 'loopback', '--find-rate', 'loss<=50%',
            '-b', '500pps', '--trial-time', '0.2', '--border-trials', '1').json()
    assert r['metric'] == 'received_packets_per_s', r['metric']
    # A search that other work on this machine starved gives no figure, or a lower one.
    assert all(cell['n'] + cell['failed'] == 1 and (not cell['n'] or 100 < cell['median'] < 520) for cell in r['cells']), r['cells']


def test_bad_searches():
    bound = ('--find-rate', 'loss<0.1%')
    for args, what in ((('--find-rate', '0.1'), 'loss<0.1%'), (('--find-rate', 'loss<101%'), 'loss<0.1%'), ((*bound, '-t', '5'), '-t'),
                       ((*bound, '--bidir'), '--bidir'), ((*bound, '-n', '1M'), '-n'), ((*bound, '-O', '1'), '-O'),
                       ((*bound, '--with', 'rr'), '--with'), ((*bound, '--json-stream'), '-J'), (('--trial-time', '3'), '--find-rate'),
                       ((*bound, '--search-time', '1', '--trial-time', '60'), '--search-time'),
                       ((*bound, '-b', '2pps'), '--trial-time'), ((*bound, '--resolution', '90'), '--resolution')):
        r = run('udp', 'loopback', *args, expect=2)
        assert what in r.err and r.err.count('\n') == 1, (args, r.err)
    run('tcp', 'loopback', *bound, expect=2)
    r = run('udp', '127.0.0.1', '-p', '1', *bound, '-q', expect=1)
    assert 'connect' in r.err and 'Answer' not in r.out, r.err


def test_bad_values():
    for args, what in ((('--with', 'ping'), 'rr,udp'), (('--idle-time', '1'), '--with'), (('--with', 'rr', '--with-rate', '0'), '--with-rate'),
                       (('--with', 'rr', '--idle-time', '-1'), '--idle-time')):
        r = run('tcp', 'loopback', *args, expect=2)
        assert what in r.err and r.err.count('\n') == 1, r.err


if __name__ == '__main__':
    main(globals())
