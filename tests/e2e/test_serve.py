# SPDX-License-Identifier: GPL-2.0-or-later
"""The server: many clients, limits, and peers that say nothing, nonsense, too much, or vanish in any state."""
import json
import os
import re
import signal
import socket
import subprocess
import time

from wp import PATIENCE, STATE, Server, Skip, begun, ended, main, run, start, wait_until


def works(port):
    """A whole test still succeeds."""
    r = run('tcp', '127.0.0.1', '-p', port, '-n', '1M', '-J', timeout=30).json()
    assert r['flows'][0]['received']['all_bytes'] == 1 << 20


def connect(port):
    s = socket.create_connection(('127.0.0.1', port), timeout=10 * PATIENCE)
    s.settimeout(15 * PATIENCE)
    return s


def closed(s):
    """The server ends the connection (after saying why, perhaps)."""
    said = b''
    try:
        while True:
            data = s.recv(65536)
            if not data:
                return said
            said += data
    except ConnectionResetError:
        return said


def threads(pid):
    return len(os.listdir(f'/proc/{pid}/task'))


def descriptors(pid):
    return len(os.listdir(f'/proc/{pid}/fd'))


def memory_kb(pid):
    with open(f'/proc/{pid}/status', encoding='utf-8') as f:
        return int(re.search(r'VmRSS:\s+(\d+)', f.read()).group(1))


def test_serves_one_after_the_other_and_ends_cleanly():
    with Server() as server:
        works(server.port)
        works(server.port)
        status, out, err = server.stop()
        assert status == 0 and err == '', (status, err)
        assert out.count('\n') >= 2, out


def test_many_clients_at_once():
    with Server() as server:
        clients = [start('tcp', '127.0.0.1', '-p', server.port, '-t', '1', '-J', '--no-store') for _ in range(8)]
        for c in clients:
            out, err = c.communicate(timeout=60 * PATIENCE)
            assert c.returncode == 0, err
            flow = json.loads(out)['flows'][0]
            assert flow['sent']['all_bytes'] == flow['received']['all_bytes'] > 0


def test_too_many_clients_get_a_sentence():
    with Server('--max-clients', '1') as server:
        first = begun('127.0.0.1', '-p', server.port, '-t', '600')
        second = run('tcp', '127.0.0.1', '-p', server.port, '-t', '1', expect=1)
        assert 'busy' in second.err, second.err
        first.send_signal(signal.SIGINT)
        assert ended(first)[0] == 130
        works(server.port)


def test_one_off_ends_after_one_test():
    with Server('--one-off') as server:
        works(server.port)
        assert server.process.wait(10 * PATIENCE) == 0


def test_limits_refuse_with_the_limit():
    with Server('--max-duration', '2', '--max-rate', '10M') as server:
        assert '2' in run('tcp', '127.0.0.1', '-p', server.port, '-t', '5', '-b', '1M', expect=1).err
        refused = run('tcp', '127.0.0.1', '-p', server.port, '-t', '1', '-b', '50M', expect=1).err
        assert 'rate' in refused.lower(), refused
        run('tcp', '127.0.0.1', '-p', server.port, '-t', '1', '-b', '1M')


def test_silence_and_garbage_cost_nothing_but_a_timeout():
    with Server('--idle-timeout', '2') as server:
        silent = [connect(server.port) for _ in range(20)]
        garbage = []
        for text in (b'GET / HTTP/1.0\r\n\r\n', b'\0' * 100, b'{"type":"nonsense"}\n', b'{}\n', b'{\n', b'[1]\n',
                     b'{"type":"hello"}\n', b'{"type":"start"}\n', b'\xff\xfe{}\n', b'WPD1' + b'x' * 60):
            s = connect(server.port)
            s.sendall(text)
            garbage.append(s)
        works(server.port)
        for s in garbage:
            closed(s)
        for s in silent:
            closed(s)
        works(server.port)
        wait_until(lambda: threads(server.process.pid) <= 3, what='sessions ended')


def test_a_gigabyte_line_is_not_kept():
    with Server('--idle-timeout', '2') as server:
        before = memory_kb(server.process.pid)
        s = connect(server.port)
        sent = 0
        try:
            s.sendall(b'{"type":"hello","pad":"')
            while sent < 1 << 30:
                s.sendall(b'x' * (1 << 20))
                sent += 1 << 20
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert sent < 64 << 20, f'it read {sent} bytes of one line'
        assert memory_kb(server.process.pid) < before + 20000
        works(server.port)


def test_port_scanners():
    with Server() as server:
        for _ in range(60):
            connect(server.port).close()
        for _ in range(20):
            s = connect(server.port)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\1\0\0\0\0\0\0\0')
            s.close()  # a reset
        works(server.port)


def test_clients_that_are_killed_in_any_state():
    with Server('--idle-timeout', '3') as server:
        base = descriptors(server.process.pid)
        for delay in (0.0, 0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.0):
            c = start('tcp', '127.0.0.1', '-p', server.port, '-t', '30', '-P', '4', '--bidir', '--no-store')
            time.sleep(delay * PATIENCE)
            c.kill()
            c.communicate()
        works(server.port)
        wait_until(lambda: descriptors(server.process.pid) <= base + 1, timeout=20, what='descriptors closed')
        wait_until(lambda: threads(server.process.pid) <= 3, what='threads ended')


def test_a_stopped_client_is_given_up():
    with Server('--idle-timeout', '2') as server:
        c = begun('127.0.0.1', '-p', server.port, '-t', '600', '--no-store')
        c.send_signal(signal.SIGSTOP)
        try:
            wait_until(lambda: threads(server.process.pid) <= 3, timeout=30, what='the session ended')
            works(server.port)
        finally:
            c.kill()
            ended(c)


def test_sigterm_in_the_middle_of_a_test():
    with Server() as server:
        c = begun('127.0.0.1', '-p', server.port, '-t', '600', '-R')
        status, _, err = server.stop()
        assert status == 0, err
        status, record, err = ended(c)
        assert status == 1 and 'shutting down' in err, (status, err)
        assert record['flows'][0]['received']['bytes'] > 0


def test_the_key_is_needed_when_there_is_one():
    good, bad = os.path.join(STATE, 'key-good'), os.path.join(STATE, 'key-bad')
    for path, text in ((good, 'a pre-shared key of enough bytes'), (bad, 'another pre-shared key, not the same')):
        with open(path, 'w', encoding='ascii') as f:
            f.write(text)
        os.chmod(path, 0o600)
    try:
        with Server('--key', good) as server:
            run('tcp', '127.0.0.1', '-p', server.port, '-n', '1M', '--key', good)
            assert 'key' in run('tcp', '127.0.0.1', '-p', server.port, '-n', '1M', expect=1).err
            assert 'key' in run('tcp', '127.0.0.1', '-p', server.port, '-n', '1M', '--key', bad, expect=1).err
            run('tcp', '127.0.0.1', '-p', server.port, '-n', '1M', '--key', good)
        assert 'key' in run('serve', '--key', '/nonexistent', '-p', '0', expect=None).err
    finally:
        os.unlink(good)
        os.unlink(bad)


def test_a_port_in_use_is_one_sentence():
    with Server() as server:
        second = run('serve', '-B', '127.0.0.1', '-p', server.port, expect=1)
        assert str(server.port) in second.err and 'in use' in second.err, second.err


def udp_works(port, *args):
    """A whole test over UDP still succeeds, and all of it comes."""
    record = run('udp', '127.0.0.1', '-p', port, '-b', '1kpps', '-l', '100', '-n', '10000', '-J', '--no-store', *args,
                 timeout=30).json()
    for flow in record['flows']:
        assert flow['sent']['all_packets'] == flow['received']['all_packets'] > 0, flow


def test_garbage_at_the_udp_port_is_not_answered():
    with Server('--idle-timeout', '2') as server:
        before = memory_kb(server.process.pid)
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.connect(('127.0.0.1', server.port))
        s.settimeout(0.2)
        for text in (b'', b'x', b'WPD1', b'WPD1' + b'x' * 28, b'WPD1' + b'\0' * 28, b'WPE1' + b'\0' * 28, b'{' * 500):
            s.send(text)
        for _ in range(20000):
            s.send(b'WPD1' + os.urandom(16) + b'\0' * 12)
        udp_works(server.port)
        works(server.port)
        try:
            said = s.recv(100)
        except socket.timeout:
            said = None
        assert said is None, said
        assert memory_kb(server.process.pid) < before + 20000
        status, _, err = server.stop()
        assert status == 0 and err == '', (status, err)


def test_a_thousand_udp_streams():
    with Server() as server:
        base = descriptors(server.process.pid)
        record = run('udp', '127.0.0.1', '-p', server.port, '-P', '1000', '-b', '20pps', '-l', '64', '-t', '1', '--bidir',
                     '-J', '--no-store', timeout=120).json()
        assert len(record['flows']) == 2000
        assert all(f['received']['all_packets'] > 0 for f in record['flows'])
        wait_until(lambda: descriptors(server.process.pid) <= base + 1, timeout=20, what='descriptors closed')


def test_two_udp_clients_at_once():
    with Server() as server:
        clients = [start(*kind, '127.0.0.1', '-p', server.port, '-t', '1', '-J', '--no-store')
                   for kind in (('udp', '-b', '2kpps', '-l', '100'), ('udp', '-b', '3kpps', '-l', '50', '--bidir'),
                                ('rr', '--udp'), ('rr', '--connect'), ('tcp', '-b', '10M'))]
        for c in clients:
            out, err = c.communicate(timeout=60 * PATIENCE)
            assert c.returncode == 0, err
            for flow in json.loads(out)['flows']:
                if flow['received'].get('all_lost') is not None:
                    # Each got its own, whatever the machine had no time for.
                    counts = flow['received']
                    assert counts['duplicated'] == 0, counts
                    assert counts['all_packets'] + counts['all_lost'] == flow['sent']['all_packets'], flow


def test_clients_of_datagrams_and_transactions_that_are_killed():
    with Server('--idle-timeout', '3') as server:
        base = descriptors(server.process.pid)
        for kind in (('udp', '-b', '2kpps'), ('udp', '-b', '2kpps', '-R'), ('udp', '-P', '50', '-b', '100pps', '--bidir'),
                     ('rr', '-P', '20'), ('rr', '--udp', '-P', '20'), ('rr', '--connect', '-P', '5')):
            for delay in (0.03, 0.5):
                c = start(*kind, '127.0.0.1', '-p', server.port, '-t', '30', '--no-store')
                time.sleep(delay * PATIENCE)
                c.kill()
                c.communicate()
        udp_works(server.port)
        wait_until(lambda: descriptors(server.process.pid) <= base + 1, timeout=20, what='descriptors closed')
        wait_until(lambda: threads(server.process.pid) <= 3, what='threads ended')


def test_a_stopped_udp_client_is_given_up():
    for way in ((), ('-R',)):
        with Server('--idle-timeout', '2') as server:
            c = start('udp', '127.0.0.1', '-p', server.port, '-b', '100pps', '-t', '600', '--no-store', *way)
            wait_until(lambda: threads(server.process.pid) > 2, what='the session began')
            time.sleep(0.5 * PATIENCE)
            c.send_signal(signal.SIGSTOP)
            try:
                wait_until(lambda: threads(server.process.pid) <= 3, timeout=30, what='the session ended')
                udp_works(server.port)
            finally:
                c.kill()
                c.communicate()


def test_ten_thousand_connections():
    with Server() as server:
        for kind in ((), ('--udp', '--response-timeout', '30s'), ('--connect',)):
            record = run('rr', '127.0.0.1', '-p', server.port, '-P', '10000', '-n', '20000', *kind, '-J', '--no-store',
                         timeout=120, expect=None)
            if record.status and 'open files' in record.err:
                raise Skip('the limit of open files is lower')
            assert record.status == 0, record.err
            flow, = record.json()['flows']
            assert flow['connections'] == 10000 and flow['sent']['transactions'] == 20000, flow['sent']


def test_the_data_port_can_be_fixed():
    with socket.create_server(('127.0.0.1', 0)) as s:
        port = s.getsockname()[1]
    with Server('--data-port', port) as server:
        for _ in range(3):
            run('rr', '127.0.0.1', '-p', server.port, '--connect', '-t', '0.3', '--no-store')
    with socket.create_server(('127.0.0.1', 0)) as s:
        with Server('--data-port', s.getsockname()[1]) as server:
            assert '--data-port' in run('rr', '127.0.0.1', '-p', server.port, '--connect', '-t', '1', expect=1).err
            run('rr', '127.0.0.1', '-p', server.port, '-t', '0.3', '--no-store')


def test_socket_activation():
    listener = socket.create_server(('127.0.0.1', 0))
    port = listener.getsockname()[1]
    # What systemd does: the socket is fd 3, LISTEN_PID names the process.
    shell = 'exec 3<&%d; export LISTEN_FDS=1 LISTEN_PID=$$; exec "$0" serve --one-off' % listener.fileno()
    p = subprocess.Popen(['bash', '-c', shell, os.environ.get('WHYPERF', 'build/whyperf')],
                         pass_fds=[listener.fileno()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         stdin=subprocess.DEVNULL)
    listener.close()
    try:
        works(port)
        assert p.wait(10 * PATIENCE) == 0
    finally:
        if p.poll() is None:
            p.kill()
        p.communicate()


if __name__ == '__main__':
    main(globals())
