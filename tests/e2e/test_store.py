# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs are kept, found, named, printed again and deleted; a broken store costs a warning, never the result."""
import csv
import io
import json
import os
import stat

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


if __name__ == '__main__':
    main(globals())
