# SPDX-License-Identifier: GPL-2.0-or-later
"""A sweep runs every cell once a round, is stored as it goes, goes on where it was cut short, and never calls equal
cells different."""
import os
import re
import resource
import signal
import time

from wp import STATE, environment, left_behind, links_and_mounts, main, need_lab, run, start, wait_until

SHORT = ('tcp', 'loopback', '-t', '0.1', '-i', '0')


def fresh(name):
    path = os.path.join(STATE, name)
    os.makedirs(path, exist_ok=True)
    return environment(path)


def check_order(plan):
    cells = 1
    for axis in plan['axes']:
        cells *= len(axis['values'])
    assert len(plan['order']) == cells * plan['repeats'], plan
    for i in range(plan['repeats']):
        assert sorted(plan['order'][i * cells:(i + 1) * cells]) == list(range(cells)), plan['order']


def test_the_campaign_as_json():
    env = fresh('json')
    c = run('sweep', '--length', '4K,64K', '--streams', '1,2', '--repeat', '2', *SHORT, '-J', env=env).json()
    assert c['schema'] == 'whyperf.campaign/1' and c['kind'] == 'sweep' and c['state'] == 'done'
    assert [a['name'] for a in c['plan']['axes']] == ['streams', 'length']
    assert c['plan']['axes'][1]['values'] == ['4K', '64K']
    check_order(c['plan'])
    assert len(set(c['runs'])) == 8 and None not in c['runs']
    assert c['metric'] == 'received_bps' and c['unit'] == 'bit/s'
    for cell in c['cells']:
        assert cell['n'] == 2 and cell['min'] <= cell['median'] <= cell['max']
        assert cell['low'] is None and 'takes 6' in cell['low_why']
    for i, run_id in enumerate(c['runs']):
        r = run('report', run_id, '-J', env=env).json()
        cell = c['cells'][c['plan']['order'][i]]
        assert r['test']['length_bytes'] == {'4K': 4096, '64K': 65536}[cell['key']['length']]
        assert r['test']['streams'] == int(cell['key']['streams'])
        assert r['total']['received_bps'] == c['results'][i] and c['results'][i] in cell['values']
        assert r['command'] == ['whyperf', *SHORT, '-J', '--parallel', cell['key']['streams'],
                                '--length', cell['key']['length']]
    again = run('report', c['id'], '-J', env=env).json()
    assert again == c


def test_the_seed_draws_the_order():
    env = fresh('seed')
    words = ('--length', '1K,2K,4K,8K', '--repeat', '2', 'tcp', 'loopback', '-t', '0.02', '-i', '0', '-J')
    a = run('sweep', '--seed', '5', *words, env=env).json()
    b = run('sweep', '--seed', '5', *words, env=env).json()
    c = run('sweep', '--seed', '6', *words, env=env).json()
    assert a['plan']['order'] == b['plan']['order'] != c['plan']['order']
    assert a['plan']['seed'] == '5'


def test_two_cells_are_not_told_apart_in_three_rounds():
    env = fresh('two')
    r = run('sweep', '--length', '128K,256K', '--repeat', '3', *SHORT, env=env)
    assert 'no cell is told apart' in r.out and '2 cells need 6 rounds' in r.out, r.out
    assert 'faster' not in r.out and 'Best' not in r.out, r.out
    assert re.search(r'more rounds: whyperf sweep --seed \d+ --length 128K,256K --repeat 6 tcp loopback',
                     ' '.join(r.out.split())), r.out


def test_a_plain_difference_is_named():
    env = fresh('named')
    r = run('sweep', '--length', '64,1M', '--repeat', '6', *SHORT, env=env)
    assert re.search(r'^Best +length=1M', r.out, re.M) and re.search(r'^Worst +length=64:', r.out, re.M), r.out


def test_the_report_says_what_the_cpus_did():
    env = fresh('report')
    cpus = sorted(os.sched_getaffinity(0))[:2]
    words = ','.join(map(str, cpus))
    r = run('sweep', '--cpu', words, '--peer-cpu', words, '--repeat', '2', *SHORT, env=env)
    for word in ("sender's CPU", "receiver's CPU", 'median [min..max]', 'busy', 'softirq', 'trust', ' thread',
                 'Again     whyperf sweep --seed'):
        assert word in r.out, (word, r.out)
    assert re.search(r'sender: +\d+ % its CPU \d', ' '.join(r.out.split())), r.out
    mail = run('report', '--format', 'mail', env=env).out
    assert mail.isascii() and max(map(len, mail.split('\n'))) <= 76
    rows = [line for line in r.err.split('\n') if re.match(r'\[ *\d+/\d+\] round', line)]
    assert len(rows) == 2 * len(cpus) ** 2 and 'left' in rows[0], r.err
    assert f'{len(cpus) ** 2} cells' in r.err.split('\n')[0] or len(cpus) == 1


def test_interrupted_it_goes_on():
    env = fresh('interrupted')
    p = start('sweep', '--length', '4K,16K,64K', '--repeat', '3', 'tcp', 'loopback', '-t', '0.3', env=env)
    lines = [p.stderr.readline() for _ in range(5)]  # what will be done, and four runs
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=30)
    assert p.returncode == 130, (p.returncode, out, err)
    assert 'interrupted: ' in out and 'whyperf sweep --resume' in out, out
    ident = re.search(r'Stored +([0-9a-f]{16})', out).group(1)
    before = run('report', ident, '-J', env=env).json()
    assert before['state'] == 'interrupted'
    made = sum(r is not None for r in before['runs'])
    assert 4 <= made < 9, (made, lines)
    after = run('sweep', '-J', '--resume', env=env).json()
    assert after['id'] == ident and after['state'] == 'done'
    assert after['plan'] == before['plan']
    assert after['runs'][:made] == before['runs'][:made] and None not in after['runs']
    assert after['results'][:made] == before['results'][:made]
    assert all(cell['n'] == 3 for cell in after['cells'])


def test_killed_it_goes_on_and_leaves_nothing():
    need_lab()
    env = fresh('killed')
    clean = links_and_mounts()
    p = start('sweep', '--length', '4K,64K', '--repeat', '4', 'tcp', 'lab', '-t', '0.3', env=env)
    for _ in range(4):
        p.stderr.readline()
    time.sleep(0.1)
    p.kill()
    p.communicate()
    wait_until(lambda: not left_behind(clean, STATE), what='a clean machine')
    before = run('report', '-J', env=env).json()
    assert before['state'] == 'running' and 3 <= sum(r is not None for r in before['runs']) < 8
    after = run('sweep', '-q', '-J', '--resume', before['id'][:8], env=env).json()
    assert after['state'] == 'done' and after['plan'] == before['plan'] and None not in after['runs']
    assert not left_behind(clean, STATE)


def test_nothing_to_resume():
    env = fresh('nothing')
    r = run('sweep', '--resume', expect=1, env=env)
    assert r.err.count('\n') == 1 and 'unfinished' in r.err, r.err
    run('sweep', '--resume', 'feed', expect=1, env=env)


def few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))


def test_failing_cells_are_shown_and_the_sweep_goes_on():
    env = fresh('failing')
    r = run('sweep', '--streams', '1,900', '--repeat', '2', *SHORT, '-J', expect=None, env=env, preexec_fn=few_files)
    c = r.json()
    assert r.status == 0 and c['state'] == 'done'
    assert c['cells'][0]['n'] == 2 and c['cells'][1]['n'] == 0 and c['cells'][1]['failed'] == 2
    assert c['cells'][1]['median'] is None and c['cells'][1]['why'].startswith('failed: ')
    assert any('streams=900' in note for note in c['notes']), c['notes']
    assert 'failed' in r.err


def test_a_cpu_that_is_not_there_is_told_before_the_first_run():
    absent = max(os.sched_getaffinity(0)) + 1000
    r = run('sweep', '--cpu', f'{min(os.sched_getaffinity(0))},{absent}', *SHORT, '-J', expect=2)
    assert r.err.count('\n') == 1 and str(absent) in r.err and not r.out, r.err


def test_all_cells_fail():
    env = fresh('allfail')
    r = run('sweep', '--length', '4K,8K', '--repeat', '9', 'tcp', '127.0.0.1', '-p', '1', '-t', '0.1', expect=1, env=env)
    assert r.err.strip().split('\n')[-1].startswith('whyperf: '), r.err
    assert len(re.findall(r'failed', r.err)) < 12, 'a server that is not there is tried for ever'


def test_wrong_command_lines():
    env = fresh('wrong')
    for args, word in (((), 'axes'), (('--cpu', 'all'), 'needs'), (('--cpu', 'all', 'tpc', 'lab'), 'did you mean tcp'),
                       (SHORT, 'axes'), (('--cpu', '0,0', *SHORT), 'twice'), (('--cpu', 'x', *SHORT), '--cpu'),
                       (('--peer-cpu', 'all', 'tcp', '192.0.2.1'), 'give a list'),
                       (('--length', '4K', 'tcp'), 'HOST'), (('--length', '4K', *SHORT, '--tmie', '3'), '--time'),
                       (('--length', '4K', '--seed', 'x', *SHORT), '--seed'),
                       (('--length', '4K', '--repeat', '0', *SHORT), '--repeat')):
        r = run('sweep', *args, expect=2, env=env)
        assert r.err.count('\n') == 1 and word in r.err, (args, r.err)


def test_no_store_keeps_nothing():
    env = fresh('nostore')
    r = run('sweep', '--length', '4K,8K', '--repeat', '1', '--no-store', *SHORT, env=env)
    assert 'resume' not in r.err and 'Received' in r.out
    run('report', expect=1, env=env)


if __name__ == '__main__':
    main(globals())
