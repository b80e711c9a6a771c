# SPDX-License-Identifier: GPL-2.0-or-later
"""Writing devices, files, pipes and commands: exact bytes, refusals that lose nothing, and planted pauses whose cause is
named."""
import json
import os
import pty
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time

from wp import PATIENCE, WHYPERF, Skip, environment, main, run, start, wait_until, STATE

TMP = tempfile.mkdtemp(prefix='whyperf-write-', dir=STATE)


def path(name):
    return os.path.join(TMP, name)


def write(*args, expect=0, timeout=60, **kwargs):
    return run('write', *args, '-J', '--no-store', expect=expect, timeout=timeout, **kwargs).json()


def flow(record):
    return record['flows'][0]


def check_sums(record, limit=None):
    f = flow(record)
    measured = [r for r in f['intervals'] if not r['omitted']]
    assert sum(r['bytes'] for r in measured) == f['sent']['bytes'], f['sent']
    assert sum(r['bytes'] for r in f['intervals']) == f['sent']['all_bytes']
    if limit is not None:
        assert f['sent']['all_bytes'] == limit, (f['sent']['all_bytes'], limit)


def finding(record, rule):
    for f in record['findings']:
        if f['rule'] == rule:
            return f
    raise AssertionError(f'no finding {rule}: {[(f["rule"], f["says"]) for f in record["findings"]]}')


def has_ended(pid):
    """Gone, or a zombie that waits for its parent."""
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as f:
            return f.read().rsplit(')', 1)[1].split()[0] in 'ZX'
    except OSError:
        return True


def processes_with(mark):
    """Pids of processes that have `mark` in their command line, other than this one."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as f:
                if mark.encode() in f.read() and int(pid) != os.getpid() and not has_ended(pid):
                    found.append(int(pid))
        except OSError:
            pass
    return found


class Running:
    """A whyperf write that writes by now: rows come as events."""

    def __init__(self, *args, **kwargs):
        self.process = start('write', *args, '--json-stream', '--no-store', **kwargs)
        for line in self.process.stdout:
            if json.loads(line)['event'] == 'interval':
                return
        raise AssertionError(f'{args}: it ended before it began: {self.process.stderr.read()[-800:]}')

    def end(self, timeout=60):
        watchdog = threading.Timer(timeout * PATIENCE, self.process.kill)
        watchdog.start()
        try:
            last = None
            for line in self.process.stdout:
                last = json.loads(line)
            err = self.process.stderr.read()
            return self.process.wait(), last['data'] if last and last['event'] == 'end' else None, err
        finally:
            watchdog.cancel()


# --- what is measured -----------------------------------------------------------------------------

def test_the_record_has_its_keys():
    r = write('/dev/null', '-t', '0.6', '-i', '0.2')
    test = r['test']
    assert (test['kind'], test['protocol'], test['peer'], test['target']) == ('write', '-', 'none', '/dev/null')
    assert test['file_type'] == 'null device' and test['fsync_policy'] == 'never' and test['length_bytes'] == 65536
    assert len(r['hosts']) == 1 and len(r['hosts'][0]['threads']) == 1 and r['hosts'][0]['cpus']
    f = flow(r)
    assert f['local'] == '/dev/null' and f['role'] == 'sender' and f['remote'] is None
    assert f['sent']['calls'] == f['sent']['bytes'] / 65536
    for key in ('on_cpu_pct', 'run_delay_pct', 'taker_wait_pct', 'longest_us', 'bits_per_second'):
        assert f['intervals'][0][key] is not None, key
    h = {h['name']: h for h in r['hosts'][0]['histograms']}['write']
    assert h['count'] * 65536 == f['sent']['all_bytes'] and h['max_us'] >= h['p50_us'] > 0 and 'groups' in h['note']
    assert r['total']['sent_bps'] > 0 and r['total']['received_bps'] is None and r['total']['received_bps_why']
    check_sums(r)


def test_a_byte_limit_is_exact():
    for size, length in ((1, '64K'), (12345678, '1000'), (1 << 28, '64K'), (3, '1')):
        check_sums(write('/dev/null', '-n', size, '-l', length), size)
    r = write(path('exact'), '-n', '1234567', '--fill', 'pattern', '-l', '10000')
    check_sums(r, 1234567)
    with open(path('exact'), 'rb') as f:
        data = f.read()
    assert len(data) == 1234567
    assert data[800000:800008] == (100000).to_bytes(8, 'little')
    check_sums(write('/dev/null', '-k', '7', '-l', '1000'), 7000)


def test_a_command_gets_every_byte():
    r = write('--to', f'wc -c > {path("count")}', '-n', '20000001')
    check_sums(r, 20000001)
    with open(path('count'), encoding='ascii') as f:
        assert int(f.read()) == 20000001
    f = flow(r)
    assert f['taker'].startswith('wc -c') and f['taker_exit'] == 0 and f['taker_end_s'] >= 0
    assert r['test']['file_type'] == 'pipe' and r['test']['pipe_bytes'] == 65536


def test_stdout_is_the_data_s_alone():
    p = subprocess.run(f'{WHYPERF} write - -n 3000000 --fill pattern --no-store | md5sum', shell=True, check=True,
                       capture_output=True, text=True, env=environment(STATE), timeout=60 * PATIENCE)
    want = subprocess.run(['md5sum'], input=b''.join(i.to_bytes(8, 'little') for i in range(375000)),
                          capture_output=True, check=True).stdout.decode()
    assert p.stdout == want, (p.stdout, want)
    assert 'GBytes/sec' in p.stderr or 'MBytes/sec' in p.stderr, p.stderr


def test_hundredths_of_a_second():
    rows = flow(write('/dev/null', '-t', '0.5', '-i', '0.01'))['intervals']
    assert 5 <= len(rows) <= 50, len(rows)


def test_warm_up_is_left_out():
    r = write('/dev/null', '-t', '0.3', '-O', '0.2', '-i', '0.1')
    f = flow(r)
    assert f['sent']['bytes'] < f['sent']['all_bytes'] and f['intervals'][0]['omitted']
    check_sums(r)


def test_a_rate_is_kept():
    r = write('/dev/null', '-b', '80M', '-l', '10000', '-t', '1')
    sent = flow(r)['sent']
    assert 0 < sent['bits_per_second'] < 1.03 * 80e6, sent
    assert (sent['bytes'] + sent['shortfall_bytes']) * 8 > 0.8 * 80e6 * sent['seconds'], sent
    assert sent['paced_pct'] > 10
    finding(r, 'write_pace')


def test_placement_is_asked_for_and_observed():
    cpu = sorted(os.sched_getaffinity(0))[-1]
    r = write('/dev/null', '-t', '0.3', '--cpu', cpu)
    assert r['hosts'][0]['placement']['observed']['app_cpus'] == [cpu]
    assert flow(r)['send_cpu'] == cpu


def test_the_text_is_that_of_a_rate_line_each_interval():
    out = run('write', '/dev/null', '-t', '0.4', '-i', '0.1', '--no-store').out
    lines = [line for line in out.splitlines() if ' sec ' in line]
    assert len(lines) >= 3 and all('Bytes/sec' in line for line in lines), out
    assert 'Longest' in out and 'Writes ' in out and 'Cwnd' not in out, out
    bits = run('write', '/dev/null', '-t', '0.2', '-f', 'g', '--no-store').out
    assert 'Gbits/sec' in bits, bits


def test_it_is_stored_and_reported():
    r = run('write', '/dev/null', '-t', '0.3', '-J', '--name', 'writer').json()
    for form in ('text', 'mail', 'csv'):
        assert 'write' in run('report', r['id'], '--format', form).out
    assert run('report', 'writer', '--format', 'json').json()['flows'] == r['flows']
    assert 'writer' in run('history').out
    mail = run('report', r['id'], '--format', 'mail').out
    assert max(map(len, mail.splitlines())) <= 76, mail


# --- every kind of file ---------------------------------------------------------------------------

def test_a_file_is_begun_again_and_removed():
    r = write(path('round'), '-t', '0.3', '--file-size', '1M', '--remove')
    assert flow(r)['sent']['bytes'] > 0 and r['test']['file_size_bytes'] == 1 << 20
    assert not os.path.exists(path('round'))
    write(path('kept'), '-t', '0.2', '--file-size', '1M')
    assert os.path.getsize(path('kept')) <= 1 << 20


def test_fsync_is_counted_and_named():
    r = write(path('synced'), '-n', '2M', '--fsync', 'each', '--remove')
    f = flow(r)
    assert f['sent']['syncs'] == 32 and r['test']['fsync_policy'] == 'each'
    assert {h['name']: h['count'] for h in r['hosts'][0]['histograms']}['fsync'] == 32
    assert flow(write(path('synced'), '-n', '2M', '--fsync', '512K', '--remove'))['sent']['syncs'] == 4
    assert flow(write(path('synced'), '-n', '2M', '--fsync', 'end', '--remove'))['sent']['syncs'] == 1
    r = write(path('synced'), '-t', '1', '--fsync', 'each', '-l', '4K', '--remove')
    if flow(r)['sent']['sync_pct'] > 30: # a disk that is as slow as disks are
        assert 'fsync(2)' in finding(r, 'write_fsync')['says']


def test_past_the_page_cache():
    r = run('write', path('direct'), '-n', '1000001', '--direct', '-l', '4K', '-J', '--no-store', expect=None)
    if r.status:
        raise Skip(f'the file system of {TMP} has no O_DIRECT: {r.err.strip()}')
    check_sums(r.json(), 1000001)
    assert r.json()['test']['send_method'] == 'write (O_DIRECT)'
    assert os.path.getsize(path('direct')) == 1000001
    bad = run('write', path('direct2'), '--direct', '-l', '1000', '-t', '1', expect=2)
    assert 'sectors' in bad.err and not os.path.exists(path('direct2'))


def test_a_fifo_and_who_reads_it():
    os.mkfifo(path('fifo'))
    reader = subprocess.Popen(['sh', '-c', f'cat {path("fifo")} > /dev/null'])
    r = write(path('fifo'), '-n', '10M')
    assert reader.wait(10 * PATIENCE) == 0
    check_sums(r, 10 << 20)
    assert r['test']['file_type'] == 'pipe' and stat.S_ISFIFO(os.stat(path('fifo')).st_mode)


def test_a_unix_socket():
    server = socket.socket(socket.AF_UNIX)
    server.bind(path('socket'))
    server.listen()
    got = []

    def take():
        connection = server.accept()[0]
        while data := connection.recv(65536):
            got.append(len(data))

    thread = threading.Thread(target=take)
    thread.start()
    r = write(path('socket'), '-n', '5000001')
    thread.join()
    assert sum(got) == 5000001 and r['test']['file_type'] == 'socket' and r['test']['send_method'] == 'send'


def test_a_terminal():
    master, slave = pty.openpty()
    drained = threading.Thread(target=lambda: [None for _ in iter(lambda: drain(master), b'')])
    drained.start()
    r = write(os.ttyname(slave), '-n', '100000', '--fill', 'random')
    os.close(slave)
    drained.join()
    os.close(master)
    check_sums(r, 100000)
    assert r['test']['file_type'] == 'terminal'


def drain(fd):
    try:
        return os.read(fd, 65536)
    except OSError:
        return b''


# --- refusals and errors: one sentence, nothing lost ---------------------------------------------

def refused(*args, says, status=1):
    r = run('write', *args, '--no-store', expect=status, timeout=20)
    lines = r.err.strip().splitlines()
    assert len(lines) == 1 and says in lines[0], r.err


def test_what_is_there_is_not_lost():
    with open(path('precious'), 'w', encoding='ascii') as f:
        f.write('precious')
    refused(path('precious'), '-n', '1', says='--overwrite')
    with open(path('precious'), encoding='ascii') as f:
        assert f.read() == 'precious'
    write(path('precious'), '-n', '3', '--overwrite')
    assert os.path.getsize(path('precious')) == 3


def test_paths_that_can_t_be_written():
    refused(TMP, '-n', '1', says='directory')
    refused(path('no/such/folder'), '-n', '1', says='No such file or directory')
    os.symlink(path('nothing'), path('dangling'))
    refused(path('dangling'), '-n', '1', says='symbolic link')
    refused('/dev/full', '-n', '1M', says='No space left')
    assert not os.path.exists(path('nothing'))
    if os.getuid():
        refused('/proc/version', '-n', '1', says='')


def test_devices_are_not_destroyed_by_mistake():
    made = path('block')
    try:
        os.mknod(made, stat.S_IFBLK | 0o600, os.makedev(250, 255))
        os.mknod(path('watchdog'), stat.S_IFCHR | 0o600, os.makedev(10, 130))
    except PermissionError as e:
        raise Skip('device nodes can\'t be made here') from e
    refused(made, '-n', '1', says='--device-i-know')
    refused(path('watchdog'), '-n', '1', says='--device-i-know')


def test_a_fifo_without_a_reader_does_not_hang():
    os.mkfifo(path('lonely'))
    refused(path('lonely'), '-n', '1', '--timeout', '0.2', says='nobody reads')
    server = socket.socket(socket.AF_UNIX)
    server.bind(path('deaf'))
    refused(path('deaf'), '-n', '1', '--timeout', '0.2', says='nobody listens')


def test_a_full_disk_keeps_what_was_measured():
    if os.getuid():
        raise Skip('a file system of its own needs root')
    folder = path('small')
    os.mkdir(folder)
    script = f'mount -t tmpfs -o size=1m none {folder} && exec {WHYPERF} write {folder}/x -n 8M -J --no-store'
    p = subprocess.run(['unshare', '-m', 'sh', '-c', script], capture_output=True, text=True, env=environment(STATE),
                       timeout=60 * PATIENCE, check=False)
    if p.returncode not in (0, 1) or not p.stdout:
        raise Skip(f'no mount namespace here: {p.stderr.strip()}')
    r = json.loads(p.stdout)
    assert p.returncode == 1 and 'no space left' in p.stderr.lower(), p.stderr
    assert r['exit'] == 1 and r['error'] and flow(r)['sent']['all_bytes'] == 1 << 20, flow(r)['sent']


def test_a_command_that_leaves():
    r = run('write', '--to', 'head -c 100000 > /dev/null', '-t', '5', '-J', '--no-store', expect=1, timeout=20)
    assert 'closed its input' in r.err and 'status 0' in r.err, r.err
    assert flow(r.json())['taker_exit'] == 0 and flow(r.json())['sent']['all_bytes'] >= 100000
    r = run('write', '--to', '/no/such/program', '-t', '5', '-J', '--no-store', expect=1, timeout=20)
    assert 'status 127' in r.err, r.err
    r = run('write', '--to', 'cat > /dev/null; exit 3', '-n', '1M', '-J', '--no-store', expect=1, timeout=20)
    assert 'status 3' in r.err and flow(r.json())['taker_exit'] == 3, r.err


def test_options_that_do_not_go_together():
    for args, says in ((['--to', 'cat', '/dev/null'], 'one of them'), ([], 'one of them'),
                       (['/dev/null', '--fsync', 'end'], 'null device'), (['/dev/null', '--direct'], 'for files'),
                       (['/dev/null', '-w', '64K'], 'pipes'), (['/dev/null', '--fsync', 'maybe'], 'maybe'),
                       (['--to', 'cat', '--overwrite'], 'pipe'), (['/dev/null', '--cpu', '0,0'], 'one thread'),
                       ([path('x'), '--file-size', '1K', '-l', '64K'], '--file-size')):
        refused(*args, '-t', '1', says=says, status=2)


def test_a_server_refuses_such_a_plan():
    assert 'write' in run('--engines').out


# --- commands end with us --------------------------------------------------------------------------

def test_ctrl_c_keeps_what_was_measured_and_leaves_no_child():
    mark = f'whyperf-test-{os.getpid()}-interrupt'
    w = Running('--to', f': {mark}; cat > /dev/null; true', '-t', '60', '-i', '0.1')
    assert processes_with(mark)
    w.process.send_signal(signal.SIGINT)
    status, record, _ = w.end()
    assert status == 130 and record['exit'] == 130 and flow(record)['sent']['bytes'] > 0
    wait_until(lambda: not [p for p in processes_with(mark) if p != w.process.pid], what='the end of the command')


def test_a_command_that_does_not_end_is_stopped():
    mark = f'whyperf-test-{os.getpid()}-stubborn'
    r = run('write', '--to', f': {mark}; trap "" TERM; cat > /dev/null; sleep 600; true', '-n', '1M', '--grace', '0.2',
            '-J', '--no-store', timeout=30)
    assert any('was stopped' in w for w in r.json()['warnings']), r.json()['warnings']
    wait_until(lambda: not processes_with(mark), what='the end of the command')


def test_kill_9_takes_the_command_along():
    mark = f'whyperf-test-{os.getpid()}-killed'
    w = Running('--to', f': {mark}; cat > /dev/null; sleep 600; true', '-t', '60', '-i', '0.1')
    w.process.kill()
    w.end()
    wait_until(lambda: not processes_with(mark), what='the end of the command')


def test_a_reader_that_never_reads_does_not_keep_the_test_from_ending():
    begun = time.monotonic()
    r = write('--to', 'sleep 600', '-t', '0.5', '--grace', '0.1', timeout=30)
    assert time.monotonic() - begun < 20 * PATIENCE
    f = flow(r)
    assert f['sent']['all_bytes'] == 65536 and f['sent']['taker_wait_pct'] > 50, f['sent']
    assert f['pauses'][0]['cause'] == 'reader' and 'sleep' in f['pauses'][0]['says'], f['pauses'][0]


# --- planted pauses ---------------------------------------------------------------------------------

def slow_rows(record, share=0.5):
    rows = [r for r in flow(record)['intervals'] if r['end_s'] - r['start_s'] > 0.05]
    usual = sorted(r['bits_per_second'] for r in rows)[len(rows) // 2]
    return [r for r in rows if r['bits_per_second'] < share * usual]


def longest(record):
    return flow(record)['pauses'][0]


def test_a_reader_that_is_stopped_is_named():
    for attempt in range(3):
        w = Running('--to', 'cat > /dev/null', '-t', '3', '-i', '0.1')
        reader = [p for p in processes_with('cat') if parent(p) == w.process.pid or parent(parent(p)) == w.process.pid][-1]
        time.sleep(0.5)
        os.kill(reader, signal.SIGSTOP)
        time.sleep(0.7)
        os.kill(reader, signal.SIGCONT)
        status, r, err = w.end()
        assert status == 0, err
        p = longest(r)
        if p['cause'] == 'reader' or attempt == 2:
            break
    assert p['length_us'] > 500e3 and p['cause'] == 'reader' and 'stopped (SIGSTOP' in p['says'], p
    assert f'(pid {reader})' in p['taker'] and p['taker_state'] == 'T', p
    assert slow_rows(r) and 'SIGSTOP' in finding(r, 'slowest_interval')['says']
    assert min(r['bits_per_second'] for r in flow(r)['intervals'][1:-1]) == 0


def parent(pid):
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as f:
            return int(f.read().rsplit(')', 1)[1].split()[1])
    except OSError:
        return 0


def test_a_slow_reader_is_named():
    script = 'import os, time\nwhile os.read(0, 65536): time.sleep(.02)'
    r = write('--to', f'exec {sys.executable} -c "{script}"', '-t', '2', '-i', '0.5')
    f = finding(r, 'write_reader')
    assert f['share_pct'] > 50, f
    p = longest(r)
    assert p['cause'] == 'reader' and 'python' in p['taker'], p
    assert flow(r)['sent']['taker_wait_pct'] > 50


def hog(cpu, seconds, fifo):
    """Takes a CPU for itself."""
    code = ('import os, time\n'
            f'os.sched_setaffinity(0, [{cpu}])\n'
            + ('os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))\n' if fifo else '')
            + f'end = time.monotonic() + {seconds}\nwhile time.monotonic() < end: pass\n')
    return subprocess.Popen([sys.executable, '-c', code], stderr=subprocess.DEVNULL)


def test_who_takes_the_cpu_is_named():
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise Skip('one CPU only: whoever looks does not run either')
    probe = hog(cpus[0], 0, True)
    if probe.wait():
        raise Skip('no real-time priority here')
    w = Running('/dev/null', '-t', '4', '-i', '0.1', '--cpu', cpus[0])
    time.sleep(0.8)
    h = hog(cpus[0], 1.2, True)
    status, r, err = w.end()
    h.wait()
    assert status == 0, err
    p = longest(r)
    assert p['length_us'] > 300e3 and p['cause'] == 'off_cpu', p
    assert f'(pid {h.pid})' in p['ran_there'], p
    assert p['run_delay_us'] > 0.9 * p['length_us'], p
    rows = slow_rows(r)
    assert rows and max(row['run_delay_pct'] for row in rows) > 80, rows
    f = finding(r, 'slowest_interval')
    assert f'(pid {h.pid})' in f['says'] and 'waited for a CPU' in f['says'], f


def test_a_fair_hog_shows_as_waiting_for_the_cpu():
    cpu = sorted(os.sched_getaffinity(0))[0]
    h = hog(cpu, 600, False)
    try:
        r = write('/dev/null', '-t', '2', '-i', '0.5', '--cpu', cpu)
    finally:
        h.kill()
        h.wait()
    f = finding(r, 'write_run_queue')
    assert f['share_pct'] > 15, f
    assert any('waited' in p['says'] and p['cause'] == 'off_cpu' for p in flow(r)['pauses']), flow(r)['pauses'][:3]


def test_a_process_that_is_stopped_says_so():
    w = Running('/dev/null', '-t', '3', '-i', '0.1')
    time.sleep(0.5)
    w.process.send_signal(signal.SIGSTOP)
    time.sleep(0.8)
    w.process.send_signal(signal.SIGCONT)
    status, r, err = w.end()
    assert status == 0, err
    p = longest(r)
    assert p['length_us'] > 600e3 and p['cause'] == 'process_stopped', p
    assert p['unseen_us'] > 0.7 * p['length_us'], p


def quota_group():
    for folder in ('/sys/fs/cgroup/cpu', '/sys/fs/cgroup'):
        name = f'{folder}/whyperf-test-{os.getpid()}'
        try:
            os.mkdir(name)
        except OSError:
            continue
        for file, text in (('cpu.cfs_quota_us', '20000'), ('cpu.max', '20000 100000')):
            try:
                with open(f'{name}/{file}', 'w', encoding='ascii') as f:
                    f.write(text)
                return name
            except OSError:
                pass
        os.rmdir(name)
    raise Skip('no control group with a CPU quota can be made here')


def test_a_cpu_quota_is_named():
    group = quota_group()
    try:
        p = subprocess.run(['sh', '-c', f'echo $$ > {group}/cgroup.procs && exec {WHYPERF} write /dev/null -t 2 -J --no-store'],
                           capture_output=True, text=True, env=environment(STATE), timeout=120 * PATIENCE, check=True)
    finally:
        wait_until(lambda: not open(f'{group}/cgroup.procs', encoding='ascii').read(), what='an empty group')
        os.rmdir(group)
    r = json.loads(p.stdout)
    causes = [p['cause'] for p in flow(r)['pauses']]
    assert 'cpu_quota' in causes, flow(r)['pauses'][:2]


def test_the_longest_write_is_exact():
    script = ('import os, time\nos.read(0, 1)\n'
              'time.sleep(.4)\nwhile os.read(0, 1 << 20): pass')
    r = write('--to', f'exec {sys.executable} -c "{script}"', '-n', '20M', '-i', '0.1')
    h = {h['name']: h for h in r['hosts'][0]['histograms']}['write']
    assert h['max_us'] >= 0.99 * 400e3 * 0.9, h['max_us']
    assert abs(h['max_us'] - longest(r)['length_us']) < 0.02 * h['max_us'] + 100, (h['max_us'], longest(r))
    assert h['count'] == 320


if __name__ == '__main__':
    main(globals())
