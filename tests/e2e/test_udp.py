# SPDX-License-Identifier: GPL-2.0-or-later
"""Datagrams: every count against the kernel's own in both namespaces and against planted loss, duplication and reordering,
equal to the packet. No speed is looked at.
"""
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

from wp import PATIENCE, WHYPERF, Skip, environment, main, need_lab, need_program, run, STATE

HERE = os.path.dirname(os.path.abspath(__file__))
CONTROL = 60  # first datagrams and end markers of a stream are fewer, though they are sent again and again


class Lab:
    """A named lab with faults planted by commands in its namespaces: ('a', 'tc ...')."""

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

    def read(self, side, *command):
        return run('lab', 'exec', f'{self.name}:{side}', *command).out

    def counters(self, side):
        """What the kernel counts there: Udp..., Udp6..., and the interface's."""
        found = {}
        names, values = (line.split()[1:] for line in self.read(side, 'cat', '/proc/net/snmp').splitlines()
                         if line.startswith('Udp:'))
        found.update(('Udp' + n, int(v)) for n, v in zip(names, values))
        for line in self.read(side, 'cat', '/proc/net/snmp6').splitlines():
            name, value = line.split()
            if name.startswith('Udp6'):
                found[name] = int(value)
        for line in self.read(side, 'cat', '/proc/net/dev').splitlines():
            name, _, values = line.partition(':')
            if name.strip() == f'wp{side}':
                v = [int(x) for x in values.split()]
                found.update(rx_packets=v[1], rx_dropped=v[3], tx_packets=v[9], tx_dropped=v[11])
        return found

    def measure(self, *args):
        """The record of a run, and how far the kernel's counters went meanwhile, of both sides."""
        before = {s: self.counters(s) for s in 'ab'}
        record = run('udp', self.host, *args, '-J', '--no-store').json()
        after = {s: self.counters(s) for s in 'ab'}
        return record, *({k: after[s][k] - before[s].get(k, 0) for k in after[s]} for s in 'ab')


def stages(record):
    return {s['stage']: s['packets'] for s in record['ledger']['stages']}


def check_ledger(record):
    """It adds up, and the intervals and totals say the same."""
    ledger = record['ledger']
    assert ledger['sent_packets'] == (ledger['delivered_packets'] + sum(s['packets'] for s in ledger['stages']) +
                                      ledger['unexplained_packets']), ledger
    for stage in ledger['stages']:
        assert stage['packets'] > 0 and stage['source'] and stage['host'] in ('client', 'server'), stage
    for flow in record['flows']:
        mine, theirs = flow['intervals'], flow['peer_intervals']
        sent, received = (mine, theirs) if flow['role'] == 'sender' else (theirs, mine)
        assert sum(i['packets'] for i in sent) == flow['sent']['all_packets'], flow['sent']
        assert sum(i['packets'] for i in received) == flow['received']['all_packets'], flow['received']
        lost = [i['lost'] for i in received]
        if None not in lost:
            assert sum(lost) == flow['received']['all_lost'], (lost, flow['received'])
        for key in ('out_of_order', 'duplicated', 'socket_drops'):
            values = [i.get(key) for i in received]
            if None not in values and not any(i['omitted'] for i in received):
                assert sum(values) == flow['received'][key], (key, values, flow['received'])
    return ledger


def check_control(*differences):
    """What the kernel counted beyond the data: first datagrams and end markers."""
    for d in differences:
        assert 0 <= d <= CONTROL, differences


def test_counts_are_the_kernels():
    with Lab('wpuclean') as lab:
        for args in (['-b', '20kpps', '-l', '64', '-t', '1'], ['-b', '100M', '-t', '1', '-P', '3', '-O', '0.3'],
                     ['-b', '5kpps', '-l', '200', '-n', '200000', '--batch', '1'],
                     ['-b', '20kpps', '-l', '64', '-t', '0.5', '--unconnected']):
            record, a, b = lab.measure(*args)
            ledger = check_ledger(record)
            sent, refused = ledger['sent_packets'], ledger['refused_packets']
            out, come = a['UdpOutDatagrams'] - sent, b['UdpInDatagrams'] - ledger['delivered_packets']
            check_control(out, come)
            # What the sender's kernel let out is what the receiver's took in or had no room for, but for end markers
            # that nobody read any more.
            check_control(a['UdpOutDatagrams'] - b['UdpInDatagrams'] - b['UdpInErrors'] - b['UdpNoPorts'])
            assert refused == 0 and ledger['unexplained_packets'] == 0, ledger
            assert stages(record).get('socket buffer', 0) == record['flows'][0]['received']['all_socket_drops'] or \
                len(record['flows']) > 1
            assert a['tx_packets'] >= sent and b['rx_packets'] >= sent and a['tx_dropped'] == 0


def test_a_limit_of_bytes_is_met_exactly():
    with Lab('wpubytes') as lab:
        record, _, _ = lab.measure('-b', '5kpps', '-l', '100', '-n', '150050')
        flow = record['flows'][0]
        assert flow['sent']['all_bytes'] == 150050 and flow['sent']['all_packets'] == 1501, flow['sent']
        assert flow['received']['all_bytes'] == 150050, flow['received']


def test_a_small_socket_buffer_is_named_to_the_packet():
    with Lab('wpubuf') as lab:
        record, a, b = lab.measure('-b', '0', '-l', '64', '-t', '0.5', '-w', '2304', '--cpu', '0', '--peer-cpu', '1')
        ledger = check_ledger(record)
        dropped = stages(record)['socket buffer']
        assert dropped > 0 and ledger['unexplained_packets'] == 0, ledger
        assert dropped == ledger['sent_packets'] - ledger['delivered_packets'], ledger
        check_control(b['UdpRcvbufErrors'] - dropped)
        assert b['UdpRcvbufErrors'] == b['UdpInErrors']
        check_control(a['UdpOutDatagrams'] - b['UdpInDatagrams'] - b['UdpInErrors'])
        assert record['flows'][0]['rcvbuf_bytes'] < 10000, record['flows'][0]
        why = [f['rule'] for f in record['findings']]
        assert 'socket_buffer' in why, record['findings']


def test_a_full_backlog_is_refused_by_send():
    """RPS and a backlog of 5 packets: the fault is the machine's, so it is put back at once."""
    limit = '/proc/sys/net/core/netdev_max_backlog'
    if (os.cpu_count() or 1) < 2:
        raise Skip('needs two CPUs')
    with Lab('wpuback', ('b', "sh -c 'echo 2 > /sys/class/net/wpb/queues/rx-0/rps_cpus'")) as lab:
        try:
            with open(limit, encoding='ascii') as f:
                before = f.read()
            with open(limit, 'w', encoding='ascii') as f:
                f.write('5')
        except OSError as e:
            raise Skip(f'{limit}: {e.strerror}') from e
        try:
            record, a, b = lab.measure('-b', '0', '-l', '64', '-t', '0.5', '--cpu', '0', '--peer-cpu', '1')
        finally:
            with open(limit, 'w', encoding='ascii') as f:
                f.write(before)
        ledger = check_ledger(record)
        if not a['tx_dropped']:
            raise Skip('the backlog was never full')
        assert ledger['unexplained_packets'] == 0, ledger
        # An end marker or an acknowledgement may have found it full too.
        check_control(a['tx_dropped'] - ledger['refused_packets'] - stages(record).get('backlog', 0))
        assert b['rx_dropped'] == a['tx_dropped'], (a, b)
        assert 'backlog' in ledger['refused_by'], ledger


def test_a_shaper_without_room_refuses():
    need_program('tc')
    with Lab('wputbf', ('a', 'tc qdisc add dev wpa root tbf rate 20mbit burst 4k limit 4k')) as lab:
        record, a, b = lab.measure('-b', '100M', '-t', '0.5')
        ledger = check_ledger(record)
        found = json.loads(lab.read('a', 'tc', '-s', '-j', 'qdisc', 'show', 'dev', 'wpa'))
        drops = next(q['drops'] for q in found if q['kind'] == 'tbf')
        assert drops > 0 and ledger['unexplained_packets'] == 0, (drops, ledger)
        check_control(drops - ledger['refused_packets'] - stages(record).get('qdisc', 0))
        assert ledger['refused_by'] == 'qdisc tbf of wpa', ledger
        check_control(a['UdpOutDatagrams'] - b['UdpInDatagrams'])


def filter_for(payload, one_in):
    """Instructions of a classifier (tc-bpf): drops UDP over IPv4 of that payload at random."""
    code = [(0x28, 0, 0, 12), (0x15, 0, 7, 0x800), (0x30, 0, 0, 23), (0x15, 0, 5, 17), (0x28, 0, 0, 16),
            (0x15, 0, 3, 28 + payload), (0x20, 0, 0, 0xfffff000 + 56), (0x35, 1, 0, 2**32 // one_in), (6, 0, 0, 2),
            (6, 0, 0, 0)]
    return f'{len(code)},' + ','.join(' '.join(map(str, c)) for c in code)


def test_an_ingress_filter_is_named_to_the_packet():
    need_program('tc')
    with Lab('wpufilt', ('b', 'tc qdisc add dev wpb clsact'),
             ('b', f'tc filter add dev wpb ingress bpf da bytecode "{filter_for(64, 20)}"')) as lab:
        record, a, b = lab.measure('-b', '20kpps', '-l', '64', '-t', '1')
        ledger = check_ledger(record)
        shown = json.loads(lab.read('b', 'tc', '-s', '-j', 'qdisc', 'show', 'dev', 'wpb'))
        drops = next(q['drops'] for q in shown if q['kind'] == 'clsact')
        assert drops > 100, drops
        assert stages(record)['ingress filter'] == drops, (drops, ledger)
        assert ledger['sent_packets'] - ledger['delivered_packets'] - stages(record).get('socket buffer', 0) == drops
        assert ledger['unexplained_packets'] == 0, ledger
        check_control(a['UdpOutDatagrams'] - b['UdpInDatagrams'] - b['UdpInErrors'] - drops)
        assert record['findings'][0]['rule'] in ('host_loss', 'paced_rate'), record['findings']


def cut_off(number):
    """A classic BPF program that drops data datagrams from that sequence number on, and every end marker."""
    code = [(40, 0, 0, 12), (21, 0, 7, 0x800),     # IPv4
            (48, 0, 0, 23), (21, 0, 5, 17),        # UDP
            (32, 0, 0, 42), (21, 4, 0, 0x57504531),  # "WPE1"
            (21, 0, 2, 0),                         # a sequence number's high half
            (32, 0, 0, 46), (53, 1, 0, number),
            (6, 0, 0, 0), (6, 0, 0, 2)]
    return f'{len(code)},' + ','.join(' '.join(map(str, c)) for c in code)


def test_losses_at_the_very_end_without_an_end_marker_are_exact():
    need_program('tc')
    plant = [(s, command) for s in 'ab' for command in (
        f'tc qdisc add dev wp{s} clsact', f'tc filter add dev wp{s} ingress bpf da bytecode "{cut_off(1000)}"')]
    with Lab('wpuend', *plant) as lab:
        for way in ((), ('-R',), ('--bidir',), ('-P', '3', '--bidir')):
            begin = time.monotonic()
            record, _, _ = lab.measure('-b', '5kpps', '-l', '64', '-t', '0.5', *way)
            check_ledger(record)
            for flow in record['flows']:
                sent, received = flow['sent'], flow['received']
                assert received['all_packets'] == 1000 < sent['all_packets'], (way, sent, received)
                assert received['lost'] == received['all_lost'] == sent['all_packets'] - 1000, (way, sent, received)
            assert record['total']['lost_packets'] == sum(f['received']['lost'] for f in record['flows']), record['total']
            # Silence ends the receivers, not a long timeout.
            assert time.monotonic() - begin < 12 * PATIENCE, (way, time.monotonic() - begin)
        # An amount has no planned end: the other end's word is all there is.
        record, _, _ = lab.measure('-b', '5kpps', '-l', '64', '-n', 2000 * 64, '--bidir')
        for flow in record['flows']:
            assert flow['received']['all_packets'] == flow['received']['all_lost'] == 1000, flow


def test_reverse_and_both_directions():
    with Lab('wpuback') as lab:
        record, a, b = lab.measure('-b', '10kpps', '-l', '64', '-t', '0.5', '-R')
        ledger = check_ledger(record)
        check_control(b['UdpOutDatagrams'] - ledger['sent_packets'], a['UdpInDatagrams'] - ledger['delivered_packets'])
        assert ledger['unexplained_packets'] == 0, ledger
        record, a, b = lab.measure('-b', '10kpps', '-l', '64', '-t', '0.5', '--bidir')
        ledger = check_ledger(record)
        check_control(a['UdpOutDatagrams'] + b['UdpOutDatagrams'] - ledger['sent_packets'])
        assert ledger['unexplained_packets'] == 0, ledger
        record, a, b = lab.measure('-b', '10kpps', '-l', '64', '-t', '0.5', '-6')
        ledger = check_ledger(record)
        check_control(a['Udp6OutDatagrams'] - ledger['sent_packets'],
                      b['Udp6InDatagrams'] - ledger['delivered_packets'])
        assert ledger['unexplained_packets'] == 0, ledger


def test_short_datagrams_count_what_they_can():
    with Lab('wpushort') as lab:
        for length in (1, 3, 4, 8, 15):
            record, a, b = lab.measure('-b', '5kpps', '-l', length, '-t', '0.3')
            ledger = check_ledger(record)
            received = record['flows'][0]['received']
            assert ledger['unexplained_packets'] == 0 and received['lost'] == 0, (length, ledger, received)
            assert received['jitter_us'] is None and '16 bytes' in received['jitter_us_why'], received
            assert (received['duplicated'] is None) == (length < 4), received
            check_control(a['UdpOutDatagrams'] - ledger['sent_packets'], b['UdpInDatagrams'] - ledger['delivered_packets'])


def test_trains_of_datagrams_are_counted_one_by_one():
    with Lab('wpugso') as lab:
        record, a, b = lab.measure('-b', '0', '-l', '64', '-t', '0.3', '--gso', '--gro', '--cpu', '0', '--peer-cpu', '1')
        ledger = check_ledger(record)
        assert ledger['sent_packets'] > 0 and ledger['unexplained_packets'] == 0, ledger
        # Without room the kernel drops whole trains.
        for trains in (['--gso'], ['--gso', '--gro']):
            record, _, b = lab.measure('-b', '0', '-l', '64', '-t', '0.3', *trains, '-w', '4K', '--cpu', '0', '--peer-cpu', '0')
            ledger = check_ledger(record)
            assert b['UdpRcvbufErrors'] > 0 and ledger['unexplained_packets'] == 0, (ledger, b)


# ---- a host in the middle -------------------------------------------------------------------------

def ip(*args):
    r = subprocess.run(['ip', *args], capture_output=True, text=True, check=False)
    if r.returncode:
        raise Skip(f'ip {" ".join(args)}: {r.stderr.strip()[:100]}')


class Middle:
    """a --- m --- b, three namespaces; middle.py in m loses, doubles and delays."""

    def __init__(self, payload, **every):
        self.names = {s: f'wpm{os.getpid()}{s}' for s in 'amb'}
        self.args = [str(payload), *(f'{k}={v}' for k, v in every.items())]
        self.processes = []

    def start(self, side, *command, ready):
        p = subprocess.Popen(['ip', 'netns', 'exec', self.names[side], *command], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(STATE))
        self.processes.append(p)
        line = p.stdout.readline()
        if not re.search(ready, line):
            raise AssertionError(f'{command}: {line!r} {p.stderr.read()[-300:]}')
        return p, line

    def wire(self, side, own, other, address):
        """A link whose frames leave with their checksums done: the middle can't do them."""
        ns = self.names[side]
        ip('-n', self.names['m'], 'link', 'add', 'dev', other, 'type', 'veth', 'peer', 'name', own, 'netns', ns)
        for name, space in ((own, ns), (other, self.names['m'])):
            ip('-n', space, 'link', 'set', 'dev', name, 'up')
        ip('-n', ns, 'addr', 'add', address, 'dev', own)
        code = ('import fcntl,socket,struct,ctypes\n'
                'v = ctypes.create_string_buffer(struct.pack("II", 0x17, 0))\n'
                f's = socket.socket(); fcntl.ioctl(s, 0x8946, struct.pack("16sP", b"{own}", ctypes.addressof(v)))')
        subprocess.run(['ip', 'netns', 'exec', ns, sys.executable, '-c', code], check=True)

    def __enter__(self):
        need_program('ip')
        if os.geteuid():
            raise Skip('needs root')
        try:
            for name in self.names.values():
                ip('netns', 'add', name)
            self.wire('a', 'wa', 'ma', '10.98.0.1/24')
            self.wire('b', 'wb', 'mb', '10.98.0.2/24')
            self.middle, _ = self.start('m', sys.executable, os.path.join(HERE, 'middle.py'), 'ma', 'mb', *self.args,
                                        ready='ready')
            _, line = self.start('b', WHYPERF, 'serve', '-B', '10.98.0.2', '-p', '0', ready=r'listening on .*?\d+\s*$')
            self.port = re.search(r'(\d+)\s*$', line).group(1)
        except BaseException:
            self.__exit__()
            raise
        return self

    def measure(self, *args):
        r = subprocess.run(['ip', 'netns', 'exec', self.names['a'], WHYPERF, 'udp', '10.98.0.2', '-p', self.port, *args,
                            '-J', '--no-store'], capture_output=True, text=True, timeout=60 * PATIENCE, check=False,
                           env=environment(STATE))
        assert r.returncode == 0, (r.stdout[-300:], r.stderr[-500:])
        return json.loads(r.stdout)

    def done(self):
        """What the middle did."""
        self.middle.send_signal(signal.SIGTERM)
        out, err = self.middle.communicate(timeout=10 * PATIENCE)
        return json.loads(out.splitlines()[-1]), err

    def __exit__(self, *exc):
        for p in self.processes:
            if p.poll() is None:
                p.kill()
            p.communicate()
        for name in self.names.values():
            subprocess.run(['ip', 'netns', 'del', name], capture_output=True, check=False)


def planted(args=('-b', '2kpps', '-l', '64', '-t', '1'), payload=64, **every):
    with Middle(payload, **every) as m:
        record = m.measure(*args)
        done, _ = m.done()
    ledger = check_ledger(record)
    assert done['seen'] == ledger['sent_packets'], (done, ledger)
    return record, done, ledger


def test_planted_loss_is_found_exactly():
    record, done, ledger = planted(lose=7)
    received = record['flows'][0]['received']
    assert done['lose'] > 100 and received['lost'] == done['lose'] == record['total']['lost_packets'], (done, received)
    assert ledger['unexplained_packets'] == done['lose'] and not ledger['stages'], ledger
    assert received['duplicated'] == received['out_of_order'] == received['late'] == 0, received
    assert 'path_loss' in [f['rule'] for f in record['findings']], record['findings']


def test_planted_duplicates_are_found_exactly():
    record, done, ledger = planted(double=5)
    received = record['flows'][0]['received']
    assert done['double'] > 100 and received['duplicated'] == done['double'], (done, received)
    assert received['lost'] == 0 and ledger['unexplained_packets'] == 0, (received, ledger)
    assert received['packets'] == done['seen'] + done['double'], (done, received)


def test_planted_reordering_is_found_exactly():
    record, done, ledger = planted(swap=10)
    received = record['flows'][0]['received']
    assert done['swap'] > 100 and received['out_of_order'] == done['swap'], (done, received)
    assert received['lost'] == received['duplicated'] == 0 and ledger['unexplained_packets'] == 0, (received, ledger)


def test_all_of_them_at_once():
    record, done, ledger = planted(lose=13, double=7, swap=11)
    received = record['flows'][0]['received']
    assert received['lost'] == done['lose'], (done, received)
    assert received['duplicated'] == done['double'], (done, received)
    assert received['out_of_order'] == done['swap'], (done, received)
    assert ledger['unexplained_packets'] == done['lose'], ledger


def test_loss_of_datagrams_too_short_for_numbers():
    record, done, ledger = planted(('-b', '1kpps', '-l', '2', '-t', '1'), 2, lose=9)
    received = record['flows'][0]['received']
    assert received['lost'] == done['lose'], (done, received)
    assert ledger['unexplained_packets'] == done['lose'], ledger


main(globals())
