# SPDX-License-Identifier: GPL-2.0-or-later
"""Who takes part: each maker returns a function of a Bench that runs once and returns its figures. See bench/run."""
import json
import os
import re
import signal
import subprocess
import time

SERVER = '10.97.0.2'
PLACED = ('--cpu', 0, '--peer-cpu', 1, '--no-store', '-J')


def whyperf(b, kind, *options):
    out, used = b.client(b.whyperf, kind, SERVER, '-t', b.args.seconds, *PLACED, *options)
    return json.loads(out), used


def bulk(bps, received_bytes, used):
    return {'bps': bps, 'us_per_kb': used / (received_bytes / 1024) * 1e6, 'cpu_s': used}


def datagrams(pps, loss_pct, received, used):
    return {'pps': pps, 'loss_pct': loss_pct, 'us_per_packet': used / received * 1e6, 'cpu_s': used}


def transactions(tps, p99_us, count, used):
    return {'tps': tps, 'p99_us': p99_us, 'us_per_transaction': used / count * 1e6, 'cpu_s': used}


# --- TCP bulk -----------------------------------------------------------------------------------

def whyperf_tcp(*options):
    def run(b):
        r, used = whyperf(b, 'tcp', '-C', 'cubic', *options)
        return bulk(r['total']['received_bps'], r['total']['received_bytes'], used)
    return run


def iperf3(b, program, port, *options):
    out, used = b.client(program, '-c', SERVER, '-p', port, '-t', b.args.seconds, '-A', '0,1', '-J', *options)
    return json.loads(out)['end'], used


def iperf3_tcp(*options, program='iperf3', port=5201):
    def run(b):
        end, used = iperf3(b, program, port, '-C', 'cubic', *options)
        return bulk(end['sum_received']['bits_per_second'], end['sum_received']['bytes'], used)
    return run


def iperf2_tcp(*options):
    def run(b):
        out, used = b.client('taskset', '-c', 0, 'iperf', '-c', SERVER, '-t', b.args.seconds, '-Z', 'cubic', '-y', 'C', *options)
        fields = out.strip().splitlines()[-1].split(',')
        return bulk(float(fields[8]), float(fields[7]), used)
    return run


# --- UDP ----------------------------------------------------------------------------------------

def whyperf_udp(*options):
    def run(b):
        r, used = whyperf(b, 'udp', *options)
        total = r['total']
        return datagrams(total['received_packets_per_s'], total['lost_pct'], r['ledger']['delivered_packets'], used)
    return run


def iperf3_udp(*options, program='iperf3', port=5201):
    def run(b):
        end, used = iperf3(b, program, port, '-u', *options)
        total = end['sum']
        received = total['packets'] - total['lost_packets']
        return datagrams(received / total['seconds'], total['lost_percent'], received, used)
    return run


def iperf2_udp(*options):
    """Its client prints no report of the server for datagrams this short, so the server's own is read."""
    def run(b):
        server = b.start('b', 'taskset', '-c', 1, 'iperf', '-s', '-u', '-p', 5003, '-y', 'C', stdout=subprocess.PIPE, text=True)
        time.sleep(0.3)
        try:
            _, used = b.client('taskset', '-c', 0, 'iperf', '-u', '-c', SERVER, '-p', 5003, '-t', b.args.seconds, *options)
            time.sleep(0.3)
        finally:
            server.send_signal(signal.SIGINT)
            out, _ = server.communicate(timeout=10)
        fields = out.strip().splitlines()[-1].split(',')  # ..., interval, bytes, bits/s, jitter, lost, packets, loss %, late
        lost, sent = int(fields[10]), int(fields[11])
        begin, end = map(float, fields[6].split('-'))
        return datagrams((sent - lost) / (end - begin), float(fields[12]), sent - lost, used)
    return run


# --- request/response ---------------------------------------------------------------------------

def whyperf_rr(*options):
    def run(b):
        r, used = whyperf(b, 'rr', '--request', 1, '--response', 1, *options)
        total = r['total']
        return transactions(total['transactions_per_s'], total['latency_us']['p99'], total['transactions'], used)
    return run


def with_server(b, *command):
    """A server of one run, on CPU 1."""
    p = b.start('b', 'taskset', '-c', 1, *command)
    time.sleep(0.3)
    return p


def neper_rr(program):
    def run(b):
        server = with_server(b, program)
        try:
            out, used = b.client('taskset', '-c', 0, program, '-c', '-H', SERVER, '-l', b.args.seconds, '-Q', 1, '-R', 1,
                                 '-p', 50, '-p', 99)
        finally:
            server.kill()
            server.wait()
        tps = float(re.search(r'^throughput=([\d.]+)', out, re.M).group(1))
        p99 = float(re.search(r'^latency_p99=([\d.]+)', out, re.M).group(1)) * 1e6
        return transactions(tps, p99, float(re.search(r'^num_transactions=(\d+)', out, re.M).group(1)), used)
    return run


def sockperf_rr(program):
    def run(b):
        server = with_server(b, program, 'sr', '--tcp', '--nonblocked', '-i', '0.0.0.0', '-p', 11111)
        try:
            out, used = b.client('taskset', '-c', 0, program, 'pp', '--tcp', '--nonblocked', '-i', SERVER, '-p', 11111,
                                 '-t', b.args.seconds, '--msg-size', 14, '--full-rtt')
        finally:
            server.kill()
            server.wait()
        count = float(re.search(r'ReceivedMessages=(\d+)', out).group(1))
        seconds = float(re.search(r'RunTime=([\d.]+)', out).group(1))
        p99 = float(re.search(r'percentile 99.000 =\s*([\d.]+)', out).group(1))
        return transactions(count / seconds, p99, count, used)
    return run


def bare_rr():
    def run(b):
        program = os.path.join(b.build, 'bench', 'bare')
        server = with_server(b, program, 'rr-server', '0.0.0.0', 12121)
        try:
            out, used = b.client('taskset', '-c', 0, program, 'rr', SERVER, 12121, b.args.seconds)
        finally:
            server.kill()
            server.wait()
        r = json.loads(out)
        return transactions(r['count'] / r['seconds'], r['p99_us'], r['count'], used)
    return run


# --- pacing -------------------------------------------------------------------------------------

BITS = {'M': 1e6, 'G': 1e9}


def paced(maker, rate, protocol, kind, *options):
    """The contestant at that rate, seen by a capture at the receiver's device."""
    flag = '--fq-rate' if kind == 'fq' else '-b'
    contestant = maker(flag, rate, *options)

    def run(b):
        watch = b.start('b', os.path.join(b.build, 'bench', 'capture'), 'wpb', protocol, 500, stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE, text=True)
        watch.stdout.readline()
        try:
            used = contestant(b)['cpu_s']
        finally:
            out, _ = watch.communicate('', timeout=30)
        r = json.loads(out)
        headers = 28 if protocol == 'udp' else 52
        target = float(rate[:-1]) * BITS[rate[-1]]
        sent = (r['bytes'] - headers * r['packets']) * 8 * (1 - 1 / r['packets']) / r['seconds']
        return {'error_pct': abs(sent / target - 1) * 100, 'busiest': r['busiest_ms_packets'] / max(r['mean_ms_packets'], 1e-9),
                'gap_p99_us': r['gap_p99_us'], 'cpu': used / b.args.seconds}
    return run


# --- write --------------------------------------------------------------------------------------

def whyperf_write(*options):
    def run(b):
        out, used = b.client(b.whyperf, 'write', '/dev/null', '-t', b.args.seconds, '--cpu', 0, '--no-store', '-J', *options)
        total = json.loads(out)['total']
        return bulk(total['sent_bps'], total['sent_bytes'], used)
    return run


def bare_write(size):
    def run(b):
        out, used = b.client('taskset', '-c', 0, os.path.join(b.build, 'bench', 'bare'), 'write', '/dev/null', size, b.args.seconds)
        r = json.loads(out)
        return bulk(r['bytes'] * 8 / r['seconds'], r['bytes'], used)
    return run
