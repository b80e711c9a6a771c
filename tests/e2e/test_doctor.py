# SPDX-License-Identifier: GPL-2.0-or-later
"""`whyperf doctor` on this machine and on recorded trees."""
import os
import time

from wp import PATIENCE, main, run

ROOTS = os.path.join(os.environ.get('WP_SOURCE_ROOT', os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')), 'tests', 'roots')
STATES = {'ok', 'note', 'warn', 'bad', 'absent'}


def line_of(doc, section, name):
    found = [x for x in doc['lines'] if x['section'] == section and x['name'] == name]
    assert len(found) == 1, (section, name, found)
    return found[0]


def test_text_fits_100_columns_and_ends_with_counts():
    out = run('doctor').out
    assert max(len(x) for x in out.splitlines()) <= 100
    for heading in ('Kernel', 'CPU', 'Clock', 'Limits', 'TCP', 'Measured'):
        assert f'\n{heading}\n' in out, heading
    assert ' could not be read\n' in out


def test_json_says_a_status_and_a_reason_for_every_line():
    doc = run('doctor', '-J').json()
    assert doc['schema'] == 'whyperf.doctor/1' and doc['live'] is True
    assert doc['measured']['clock_read_ns'] > 0 and doc['measured']['syscall_ns'] > 0
    assert doc['inventory']['kernel'] == os.uname().release
    for nic in doc['nics']:
        assert nic['features'] is not None or nic['features_why'], nic
    for x in doc['lines']:
        assert x['status'] in STATES, x
        assert (x['value'] is None) == (x['status'] == 'absent'), x
        assert x['status'] == 'ok' or x['why'], x
        assert x['status'] in ('ok', 'absent') or x['try'], x
    assert sum(doc['counts'].values()) == len(doc['lines'])


def test_another_machines_tree_is_read_and_nothing_is_measured():
    doc = run('doctor', '-J', '--sysroot', os.path.join(ROOTS, 'inv-x86-2s')).json()
    assert doc['live'] is False and 'measured' not in doc and doc['hostname'] == 'rack7'
    assert line_of(doc, 'Clock', 'source')['status'] == 'bad'
    assert 'performance' in line_of(doc, 'Frequency', 'governor')['try']
    assert line_of(doc, 'NIC ens1f0', 'interrupts')['status'] == 'warn'


def test_problems_leaves_out_what_is_in_order():
    out = run('doctor', '--problems', '--sysroot', os.path.join(ROOTS, 'inv-vm')).out
    assert '  ok ' not in out and '  WARN  steal ' in out, out


def test_wrong_roots_get_one_sentence_and_exit_2():
    for root in ('/nonexistent/root', '/dev/null', ROOTS):
        r = run('doctor', '--sysroot', root, expect=2)
        assert r.out == '' and r.err.count('\n') == 1 and root in r.err, r.err


def test_it_takes_less_than_two_seconds():
    start = time.monotonic()
    run('doctor')
    assert time.monotonic() - start < 2 * PATIENCE


if __name__ == '__main__':
    main(globals())
