# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: help on one screen, one clear sentence for every mistake."""
import time

from wp import main, run

COMMANDS = ['tcp', 'udp', 'rr', 'serve', 'sweep', 'history', 'report', 'doctor', 'lab']


def one_sentence(result, *words):
    """Exit 2, nothing on stdout, one line on stderr that holds the words."""
    assert result.out == '', result.out
    lines = result.err.strip().split('\n')
    assert len(lines) == 1 and lines[0].startswith('whyperf: '), result.err
    for word in words:
        assert word in lines[0], (word, lines[0])


def test_help_fits_on_one_screen():
    out = run('--help').out
    assert out == run().out == run('help').out
    lines = out.split('\n')
    assert len(lines) <= 40 and max(map(len, lines)) <= 80, (len(lines), max(map(len, lines)))
    for command in COMMANDS:
        assert f'\n  {command} ' in out, command


def test_every_command_explains_itself():
    for command in COMMANDS:
        out = run(command, '--help').out
        assert out == run('help', command).out
        assert out.startswith(f'whyperf {command}: ') and 'Usage: ' in out and 'Examples' in out
        assert max(map(len, out.split('\n'))) <= 80


def test_version_is_quick():
    run('--version')
    times = []
    for _ in range(5):
        begin = time.monotonic()
        out = run('--version').out
        times.append(time.monotonic() - begin)
    assert out.startswith('whyperf 0.'), out
    assert 'engines:' in out and 'peers: whyperf' in out


def test_engines_say_what_they_need():
    out = run('--engines').out
    assert 'tcp' in out and 'null' in out and 'needs:' in out


def test_unknown_words_get_a_suggestion():
    one_sentence(run('tpc', expect=2), "'tpc'", "'tcp'")
    one_sentence(run('tcp', 'lab', '--tiem', '1', expect=2), '--tiem', '--time')
    one_sentence(run('swep', expect=2), 'sweep')
    one_sentence(run('xyzzy', expect=2), 'xyzzy', '--help')
    one_sentence(run('--frobnicate', expect=2), '--frobnicate')
    one_sentence(run('-c', '127.0.0.1', expect=2), 'whyperf tcp HOST')
    one_sentence(run('-s', expect=2), 'whyperf serve')


def test_bad_values_are_named():
    one_sentence(run('tcp', 'lab', '-t', 'soon', expect=2), '-t', 'soon')
    one_sentence(run('tcp', 'lab', '-t', '-1', expect=2), '-t')
    one_sentence(run('tcp', 'lab', '-P', '0', expect=2), '-P', '1000')
    one_sentence(run('tcp', 'lab', '--parallel', '1001', expect=2), '--parallel', '1000')
    one_sentence(run('tcp', 'lab', '-l', '0', expect=2), '-l')
    one_sentence(run('tcp', 'lab', '-l', '1X', expect=2), '-l', '1X')
    one_sentence(run('tcp', 'lab', '-b', '10furlongs', expect=2), '-b', 'furlongs')
    one_sentence(run('tcp', 'lab', '-i', '0.001', expect=2), '0.01')
    one_sentence(run('tcp', 'lab', '--cpu', 'a', expect=2), 'cpu')
    one_sentence(run('tcp', 'lab', '--fill', 'zeros', expect=2), 'fill', 'zero')
    one_sentence(run('tcp', 'lab', '--dscp', 'ef1', expect=2), 'dscp')
    one_sentence(run('tcp', 'lab', '-f', 'x', expect=2), "'x'")
    one_sentence(run('tcp', 'lab', '-p', '0', expect=2), '-p')


def test_bad_values_of_datagrams_and_transactions():
    for size in ('0', '65508'):
        one_sentence(run('udp', 'lab', '-l', size, expect=2), '-l', size, '1 to 65507')
    one_sentence(run('udp', 'lab', '-b', '0.1pps', expect=2), '-b', '1pps')
    one_sentence(run('udp', 'lab', '-b', '101T', expect=2), '-b', '100T')
    one_sentence(run('udp', 'lab', '-b', '36kpp', expect=2), '36kpp', '36kpps')
    one_sentence(run('udp', 'lab', '-b', '100', expect=2), 'one packet a second')
    one_sentence(run('udp', 'lab', '-M', '1400', expect=2), '-M')
    one_sentence(run('udp', 'lab', '--unconected', expect=2), '--unconnected')
    one_sentence(run('udp', expect=2), 'udp needs HOST')
    one_sentence(run('rr', 'lab', '-R', expect=2), '-R', 'there and back')
    one_sentence(run('rr', 'lab', '--bidir', expect=2), '--bidir', 'there and back')
    one_sentence(run('rr', 'lab', '--rate', '0', expect=2), '--rate', '0.001')
    one_sentence(run('rr', 'lab', '-P', '10001', expect=2), '-P', '10000')
    one_sentence(run('rr', 'lab', '--udp', '--request', '65508', expect=2), '65507')
    one_sentence(run('rr', 'lab', '--udp', '--connect', expect=2), '--connect')
    one_sentence(run('rr', 'lab', '--wait', 'poll', expect=2), '--wait', 'epoll')
    one_sentence(run('sweep', '--batch', '1,2', 'tcp', 'lab', expect=2), 'tcp has no --batch')
    one_sentence(run('sweep', '--length', '1K', '--metric', 'lots', 'tcp', 'lab', expect=2), '--metric', "'lots'")
    one_sentence(run('sweep', '--bitrate', '1G,,2G', 'tcp', 'lab', expect=2), '--bitrate')


def test_switches_that_exclude_each_other():
    for args in (['-4', '-6'], ['-R', '--bidir'], ['-n', '1M', '-k', '3'], ['-O', '1', '-n', '1M'], ['--check'],
                 ['--check', '--fill', 'pattern', '--rx-discard']):
        one_sentence(run('tcp', 'lab', *args, expect=2))


def test_operands_are_counted():
    one_sentence(run('tcp', expect=2), 'HOST')
    one_sentence(run('tcp', 'lab', 'lab', expect=2), "'lab'")
    one_sentence(run('tcp', '192.0.2.7', '--loopback', expect=2), "'192.0.2.7'")


def test_a_bad_host_is_one_sentence():
    one_sentence(run('tcp', 'lab:bogus=1', '-t', '1', expect=2), 'bogus', 'mtu')
    one_sentence(run('tcp', '127.0.0.1', '-6', '-t', '1', expect=2), '127.0.0.1', 'IPv6')
    one_sentence(run('tcp', '127.0.0.1:99999', '-t', '1', expect=2), '99999')
    one_sentence(run('tcp', 'a' * 300, '-t', '1', expect=2))
    # Without a name server nobody can say that a name is wrong: then it is the test that failed.
    for host in ('no-such-host.invalid', 'lba'):
        result = run('tcp', host, '-t', '1', expect=None)
        assert result.status in (1, 2) and result.err.count('\n') == 1 and host in result.err, result.err
    assert "'lab'" in result.err, result.err


def test_nobody_listens_is_one_sentence():
    refused = run('tcp', '127.0.0.1', '-p', '1', '-t', '1', expect=1)
    assert refused.err.count('\n') == 1 and 'refused' in refused.err, refused.err


if __name__ == '__main__':
    main(globals())
