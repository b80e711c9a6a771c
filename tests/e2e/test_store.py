# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs are kept, found, named, printed again and deleted; a broken store costs a warning, never the result."""
import csv
import io
import json
import os
import re
import stat
import subprocess

from wp import STATE, Skip, environment, main, run

SHORT = ('tcp', 'loopback', '-t', '0.2')


def fresh(name):
    path = os.path.join(STATE, name)
    os.makedirs(path, exist_ok=True)
    return environment(path)


def test_a_run_is_kept_and_printed_again():
    env = fresh('kept')
    first = run(*SHORT, '-J', env=env).json()
    again = run('report', 'last', '--format', 'json', env=env).json()
    assert again == first
    assert run('report', first['id'][:6], '--format', 'json', env=env).json() == first
    text = run('report', first['id'], env=env).out
    assert 'Bitrate' in text and first['id'] in text, text


def test_history_lists_names_and_deletes():
    env = fresh('history')
    a = run(*SHORT, '-J', '--name', 'before', env=env).json()['id']
    b = run(*SHORT, '-J', env=env).json()['id']
    listed = run('history', env=env).out
    assert a[:8] in listed and b[:8] in listed and 'before' in listed, listed
    run('history', 'name', b, 'after', env=env)
    assert run('report', 'after', '--format', 'json', env=env).json()['id'] == b
    run('history', 'delete', 'before', env=env)
    listed = run('history', 'list', env=env).out
    assert a[:8] not in listed and b[:8] in listed, listed
    assert 'before' in run('report', 'before', expect=1, env=env).err


def test_every_format():
    env = fresh('formats')
    run(*SHORT, '-i', '0.1', env=env)
    mail = run('report', 'last', '--format', 'mail', env=env).out
    assert mail.isascii() and max(map(len, mail.split('\n'))) <= 76
    rows = list(csv.reader(io.StringIO(run('report', 'last', '--format', 'csv', env=env).out)))
    assert len(rows) > 2 and any('bits_per_second' in cell for row in rows for cell in row), rows[:3]
    json.loads(run('report', 'last', '--format', 'json', env=env).out)


def test_no_store_keeps_nothing():
    env = fresh('nostore')
    run(*SHORT, '--no-store', env=env)
    assert run('report', 'last', expect=1, env=env).err


def test_an_unknown_run_is_one_sentence():
    env = fresh('unknown')
    for args in (('report', 'feed'), ('history', 'show', 'feed'), ('history', 'delete', 'feed'),
                 ('history', 'name', 'feed', 'x')):
        r = run(*args, expect=1, env=env)
        assert r.err.count('\n') == 1 and r.out == '', (args, r.err)


def test_a_store_that_can_not_be_written_is_a_warning():
    env = fresh('broken')
    folder = os.path.join(env['XDG_STATE_HOME'], 'whyperf')
    os.makedirs(folder)
    with open(os.path.join(folder, 'whyperf.db'), 'wb') as f:
        f.write(b'this is no database' * 1000)
    r = run(*SHORT, '-J', env=env)
    assert r.json()['flows'][0]['sent']['bytes'] > 0
    assert r.err.count('\n') == 1 and 'whyperf.db' in r.err or 'database' in r.err, r.err
    with open(os.path.join(folder, 'whyperf.db'), 'rb') as f:
        assert f.read().startswith(b'this is no database'), 'the damaged file was overwritten'


def test_files_are_private():
    env = fresh('private')
    run(*SHORT, env=env)
    folder = os.path.join(env['XDG_STATE_HOME'], 'whyperf')
    assert stat.S_IMODE(os.stat(folder).st_mode) & 0o077 == 0
    assert stat.S_IMODE(os.stat(os.path.join(folder, 'whyperf.db')).st_mode) & 0o077 == 0


def test_a_full_disk_is_a_warning():
    if not os.path.exists('/dev/full'):
        raise Skip('no /dev/full')
    env = fresh('full')
    r = run(*SHORT, env=env, expect=None, preexec_fn=lambda: __import__('resource').setrlimit(
        __import__('resource').RLIMIT_FSIZE, (4096, 4096)))
    assert 'Bitrate' in r.out, (r.status, r.out, r.err)


def test_lists_can_be_narrowed():
    env = fresh('filters')
    one = run(*SHORT, '-J', env=env).json()['id']
    for args, there in ((('--kind', 'tcp'), True), (('--kind', 'udp'), False), (('--target', 'loopback'), True),
                        (('--target', 'lab'), False), (('--since', '1h'), True), (('--since', '2100-01-01'), False)):
        rows = run('history', '-J', *args, env=env).json()
        assert [r['id'] for r in rows] == ([one] if there else []), (args, rows)
    for when in ('yesterday', '2026-13-01', '2026-11-32', '2026-1'):
        assert run('history', '--since', when, expect=2, env=env).err.count('\n') == 1
    assert run('history', '--sweeps', '-J', env=env).json() == []


def test_one_table_as_csv():
    env = fresh('table')
    run(*SHORT, '-i', '0.1', env=env)
    rows = list(csv.DictReader(io.StringIO(run('report', '--format', 'csv', '--table', 'interval', env=env).out)))
    assert len(rows) >= 4 and {r['end'] for r in rows} == {'sender', 'receiver'}, rows[:2]
    assert run('report', '--format', 'csv', '--table', 'x', expect=2, env=env).err.count('\n') == 1
    assert run('report', '--table', 'interval', expect=2, env=env).err.count('\n') == 1


def test_a_stored_report_says_when_and_with_what():
    env = fresh('when')
    r = run(*SHORT, '-J', env=env).json()
    out = run('report', env=env).out
    assert re.search(r'^Command +.*whyperf tcp', out, re.M) and r['started'] in out, out


def test_what_never_began_is_not_kept():
    env = fresh('mistyped')
    run('tcp', 'no-such-host.invalid', '-t', '1', env=env, expect=2)
    run('tcp', '127.0.0.1', '-p', '1', '-t', '1', env=env, expect=1)
    assert run('history', '-J', env=env).json() == []


def test_a_reader_that_leaves_is_not_worth_a_word():
    env = fresh('pipe')
    run(*SHORT, env=env)
    p = subprocess.run(['sh', '-c', '{ sleep .3; "$WHYPERF" report -J; } | true'], env={**os.environ, **env},
                       stderr=subprocess.PIPE, check=False, timeout=60)
    assert p.stderr == b'', p.stderr


def test_wrong_verbs_and_names():
    env = fresh('verbs')
    assert "'delete'" in run('history', 'delet', expect=2, env=env).err
    assert run('history', 'name', expect=2, env=env).err.count('\n') == 1
    a = run(*SHORT, '-J', '--name', 'same', env=env).json()['id']
    second = run(*SHORT, '-J', '--name', 'same', env=env)
    assert 'without its name' in second.err and second.json()['id'] != a, second.err
    assert run('history', 'name', 'last', 'last', expect=1, env=env).err.count('\n') == 1
    run('history', 'name', 'same', env=env)
    run('report', 'same', expect=1, env=env)


def test_a_run_that_was_not_stored_comes_home():
    env = fresh('home')
    folder = os.path.join(env['XDG_STATE_HOME'], 'whyperf')
    database = os.path.join(folder, 'whyperf.db')
    os.makedirs(folder)
    with open(database, 'wb') as f:
        f.write(b'this is no database' * 1000)
    run_id = run(*SHORT, '-J', env=env).json()['id']
    assert os.listdir(os.path.join(folder, 'runs-unsaved')) == [run_id + '.json']
    os.rename(database, database + '.damaged')
    r = run('history', '-J', env=env)
    assert [row['id'] for row in r.json()] == [run_id] and 'taken into the store' in r.err, r.err
    assert os.listdir(os.path.join(folder, 'runs-unsaved')) == []


if __name__ == '__main__':
    main(globals())
