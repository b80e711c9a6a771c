# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests and responses: exact counts, percentiles that fit their buckets, a stop that nobody is spared, losses that
are counted and never waited for."""
import json
import os
import re
import signal
import time

from wp import PATIENCE, Server, Skip, ended, main, need_lab, need_program, run, start

LATENCIES = ('min', 'p50', 'p90', 'p99', 'p999', 'p9999', 'max')


def record(*args, **kwargs):
    return run('rr', *args, '-J', **kwargs).json()


def latency(r):
    found = [h for host in r['hosts'] for h in host['histograms'] if h['name'] == 'latency']
    assert len(found) == 1 and r['hosts'][0]['histograms'], [h['role'] for h in r['hosts']]
    return found[0]


def check(r, apart=0):
    """Both ends agree, and every figure follows from the buckets. `apart`: how far the histogram's count may be from the
    counter, which is read a moment before it."""
    total, flow, h = r['total'], r['flows'][0], latency(r)
    assert len(r['flows']) == 1 and flow['role'] == 'both' and r['exit'] == 0 and r['error'] is None, r['error']
    assert total['transactions'] == flow['sent']['transactions'] > 0, total
    assert abs(total['transactions'] - h['count']) <= apart, (total, h['count'])
    assert sum(count for _, _, count in h['buckets']) == h['count']
    assert h['buckets'] == sorted(h['buckets']) and all(low <= high for low, high, _ in h['buckets'])
    for name, q in (('p50', .5), ('p90', .9), ('p99', .99), ('p999', .999), ('p9999', .9999)):
        rank, seen = -(-h['count'] * q // 1), 0
        for low, high, count in h['buckets']:
            seen += count
            if seen >= rank:
                break
        us = total['latency_us'][name]
        assert us == h[name + '_us'] and low / 1e3 <= us * 1.0001 and us <= high / 1e3 * 1.0001, (name, us, low, high)
    values = [total['latency_us'][k] for k in LATENCIES]
    assert values == sorted(values) and values[0] <= total['latency_us']['mean'] <= values[-1], values
    return r


def test_both_ends_count_the_same_transactions():
    for args in ((), ('--udp',), ('-P', '5'), ('--outstanding', '8'), ('--udp', '-P', '3', '--outstanding', '4')):
        r = check(record('loopback', '-n', '2000', *args))
        assert r['total']['transactions'] == 2000, (args, r['total'])
        assert r['flows'][0]['received']['transactions'] == 2000, (args, r['flows'][0]['received'])
        assert r['test']['limit_transactions'] == 2000


def test_sizes_are_moved_as_asked():
    for args in ((), ('--udp',)):
        r = check(record('loopback', '-n', '300', '--request', '1000', '--response', '2K', *args))
        assert r['test']['request_bytes'] == 1000 and r['test']['response_bytes'] == 2048
        assert r['flows'][0]['sent']['all_bytes'] == 300 * 1000, r['flows'][0]['sent']
    r = check(record('loopback', '-n', '100', '-l', '64'))
    assert (r['test']['request_bytes'], r['test']['response_bytes']) == (64, 64)
    r = check(record('loopback', '-n', '3', '--request', '4M', '--response', '1'))
    assert r['flows'][0]['sent']['all_bytes'] == 3 << 22


def test_rows_add_up():
    r = record('loopback', '-t', '0.6', '-i', '0.1', '-O', '0.2')
    check(r, apart=10 + r['total']['transactions'] * 0.01)
    rows = r['flows'][0]['intervals']
    measured = [row for row in rows if not row['omitted']]
    assert len(rows) > len(measured) >= 5, len(rows)
    assert sum(row['transactions'] for row in measured) == r['total']['transactions']
    assert all(row['latency_p50_us'] <= row['latency_p99_us'] <= row['latency_max_us'] for row in measured if row['transactions'])


def test_ways_of_waiting_are_what_was_asked_for():
    for way, method in (('block', 'block'), ('epoll', 'epoll'), ('spin', 'spin')):
        for protocol in ((), ('--udp',)):
            r = check(record('loopback', '-n', '200', '--wait', way, *protocol))
            assert r['test']['wait'] == way
            assert r['test']['send_method'].startswith(method), (way, r['test']['send_method'])
            assert r['test']['receive_method'].startswith(method), (way, r['test']['receive_method'])
            costs = [host['cost_us_per_transaction'] for host in r['hosts']]
            assert all(c and c > 0 for c in costs), costs


def test_many_connections_share_the_work():
    r = check(record('loopback', '-P', '300', '-n', '3000'))
    flow = r['flows'][0]
    assert flow['connections'] == 300 and r['total']['transactions'] == 3000
    assert 0 < flow['connection_fairness'] <= 1


def test_a_connection_for_each_transaction():
    need_lab()
    r = check(record('lab', '--connect', '-n', '500'))
    assert r['total']['transactions'] == 500 and r['test']['connect'] is True
    opened = {h['role']: {c['name']: c['delta'] for c in h['counters']} for h in r['hosts']}
    # The control connection was opened before the counters were read.
    assert opened['client'].get('TcpActiveOpens', 0) >= 500, opened['client']
    assert opened['server'].get('TcpPassiveOpens', 0) >= 500, opened['server']


def test_open_loop_makes_what_falls_due():
    for extra in ((), ('--poisson',), ('--udp',)):
        r = check(record('loopback', '--rate', '200', '-t', '1', '-P', '2', *extra))
        assert r['test']['rate_hz'] == 200 and r['test']['arrivals'] == ('poisson' if '--poisson' in extra else 'even')
        # Even arrivals: 200 fall due, whatever the machine does; those of the last moment may lack their response.
        most = 201 if '--poisson' not in extra else 290
        assert r['total']['transactions'] <= most, r['total']['transactions']
        assert r['total']['transactions'] >= 20, r['total']['transactions']


def stopped_server(*args):
    """The record of a run whose server stands still for 0.4 s in the middle."""
    with Server() as server:
        p = start('rr', f'127.0.0.1:{server.port}', '-t', '2', '-i', '0.1', '--json-stream', *args)
        rows = 0
        for line in p.stdout:
            rows += json.loads(line)['event'] == 'interval'
            if rows == 5:
                break
        os.kill(server.process.pid, signal.SIGSTOP)
        time.sleep(0.4)
        os.kill(server.process.pid, signal.SIGCONT)
        return ended(p)


def test_a_stop_of_the_server_is_in_every_request_that_was_due():
    status, r, err = stopped_server('--rate', '500', '--outstanding', '1000')
    assert status == 0, err
    h = latency(r)
    slow = sum(count for low, _, count in h['buckets'] if low >= 100e6)
    # 500 a second fell due for 0.4 s; those of its first 0.3 s waited for 0.1 s and more.
    assert h['max_us'] >= 350e3 and slow >= 100, (h['max_us'], slow)
    status, r, err = stopped_server()
    assert status == 0, err
    h = latency(r)
    slow = sum(count for low, _, count in h['buckets'] if low >= 100e6)
    assert h['max_us'] >= 350e3 and slow >= 1, (h['max_us'], slow)


def test_lost_responses_are_counted_and_not_waited_for():
    need_lab()
    need_program('tc')
    if os.geteuid():
        raise Skip('only root can plant a loss')
    name = f'wprr{os.getpid()}'
    run('lab', 'up', name)
    try:
        link = run('lab', 'exec', f'{name}:b', 'ip', '-o', 'link').out
        device = re.search(r'\d+: (\w+)@', link).group(1)
        # A third of what comes in as UDP is dropped.
        planted = ("13,40 0 0 12,21 0 8 2048,48 0 0 23,21 0 6 17,40 0 0 20,69 4 0 8191,32 0 0 4294963256,53 1 0 1431655765,"
                   "6 0 0 4294967295,6 0 0 2,6 0 0 4294967295,6 0 0 4294967295,6 0 0 4294967295")
        for words in (('qdisc', 'add', 'dev', device, 'clsact'),
                      ('filter', 'add', 'dev', device, 'ingress', 'bpf', 'da', 'bytecode', planted)):
            result = run('lab', 'exec', f'{name}:b', 'tc', *words, expect=None)
            if result.status:
                raise Skip(f'no filter can be planted here: {result.err.strip()}')
        begin = time.monotonic()
        r = record(f'lab:name={name}', '--udp', '-t', '1', '--response-timeout', '20ms')
        assert time.monotonic() - begin < 30 * PATIENCE
        total = r['total']
        assert total['timeouts'] >= 5 and total['transactions'] >= 5, total
        assert latency(r)['count'] == total['transactions']
        assert total['latency_us']['max'] <= 20e3 * 1.1, total['latency_us']
        text = run('rr', f'lab:name={name}', '--udp', '-t', '0.5', '--response-timeout', '20ms').out
        assert re.search(r'Lost +\d+ of ', text) and 'Timeouts' in text, text
    finally:
        run('lab', 'down', name)


def test_the_report_has_rate_latency_and_bars():
    text = run('rr', 'loopback', '-t', '0.4', '-i', '0.1').out
    assert len(re.findall(r'^ +\d\.\d\d-\d\.\d\d +sec +[\d,]+ ', text, re.M)) >= 5, text
    assert re.search(r'^Rate +[\d,]+ transactions a second$', text, re.M), text
    assert re.search(r'^Latency +min +p50 +p90 +p99 +p99.9 +p99.99 +max +mean$', text, re.M), text
    bars = re.findall(r'^ +[\d.]+ [mun]?s +[\d.]+ [mun]?s +[\d,]+ +[\d.]+%.*$', text, re.M)
    assert 1 <= len(bars) <= 20 and bars[-1].split('%')[0].endswith('100.000'), text
    assert re.search(r"^CPU cost +client's threads .*us a transaction; waiting: ", text, re.M), text
    mail = run('report', 'last', '--format', 'mail').out
    assert max(map(len, mail.split('\n'))) <= 76 and mail.isascii() and '####' in mail, mail


def test_an_open_loop_that_falls_behind_says_so():
    # One at a time, 2 MB there and back: nobody makes a million of them a second.
    text = run('rr', 'loopback', '-t', '0.3', '--rate', '1M', '-l', '1M').out
    assert re.search(r'^Rate .*asked for 1,000,000: [\d.]+ % of it$', text, re.M), text


def test_no_request_that_was_due_is_forgotten():
    """What an overloaded open loop leaves behind at its end is counted."""
    out = run('rr', 'loopback', '-t', '0.5', '--rate', '1M', '-P', '2', '-J')
    r = out.json()
    due = 1e6 * r['flows'][0]['sent']['seconds']
    total = r['total']
    assert total['unanswered'] > 0, total
    assert abs(total['transactions'] + total['unanswered'] - due) < 0.05 * due, (total, due)


def test_events_while_it_runs():
    p = start('rr', 'loopback', '-t', '0.4', '-i', '0.1', '--json-stream')
    out, err = p.communicate(timeout=60 * PATIENCE)
    assert p.returncode == 0, err
    events = [json.loads(line) for line in out.splitlines()]
    rows = [e['data']['flows'][0] for e in events if e['event'] == 'interval']
    assert len(rows) >= 3 and all('transactions' in row and 'latency_p99_us' in row for row in rows)
    assert events[-1]['event'] == 'end' and events[-1]['data']['total']['transactions'] > 0
    r = run('report', events[-1]['data']['id'], '-J').json()
    assert r['id'] == events[-1]['data']['id'] and r['flows'][0]['intervals'][0].keys() >= rows[0].keys() - {'id', 'role'}
    csv = run('report', 'last', '--format', 'csv', '--table', 'histogram').out.split('\n')
    assert 'p999_us' in csv[0] and 'latency' in csv[1], csv[:2]


def test_an_interrupted_run_keeps_what_was_measured():
    p = start('rr', 'loopback', '-t', '30', '-i', '0.1', '--json-stream')
    for line in p.stdout:
        if json.loads(line)['event'] == 'interval':
            break
    p.send_signal(signal.SIGINT)
    status, r, err = ended(p)
    assert status == 130, (status, err)
    assert r['exit'] == 130 and r['total']['transactions'] > 0 and latency(r)['count'] > 0, r['error']


def test_a_sweep_ranks_by_what_it_was_told_to():
    c = run('sweep', '--wait', 'block,epoll', '--request', '1,1K', '--repeat', '1', '--metric', 'latency_us.p99', 'rr', 'loopback',
            '-t', '0.1', '-i', '0', '-J').json()
    assert c['metric'] == 'latency_us.p99' and c['unit'] == 'us'
    assert [a['name'] for a in c['plan']['axes']] == ['request', 'wait']
    for i, run_id in enumerate(c['runs']):
        r = run('report', run_id, '-J').json()
        assert r['total']['latency_us']['p99'] == c['results'][i]
        assert r['test']['wait'] == c['cells'][c['plan']['order'][i]]['key']['wait']
    c = run('sweep', '--streams', '1,2', '--repeat', '1', 'rr', 'loopback', '-t', '0.1', '-i', '0', '-J').json()
    assert c['metric'] == 'transactions_per_s' and all(v > 0 for v in c['results'])


if __name__ == '__main__':
    main(globals())
