/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_tcp.c - `whyperf tcp HOST`: bulk TCP. */
#include "cli/commands.h"
#include "cli/measure.h"

static int run(const void *config, const struct wp_operands *operands, struct wp_cli *cli)
{
	return wp_measure_host(config, "tcp", operands, cli);
}

const struct wp_command wp_cmd_tcp = {
	.name = "tcp",
	.group = "Measure",
	.operands = "HOST[:PORT]",
	.summary = "bulk TCP: how fast, and what held it down",
	.about =
		"HOST is a host where `whyperf serve` runs; `loopback`; or `lab`, two hosts\n"
		"inside this machine (lab:mtu=9000 for another MTU, lab:name=NAME for a lab that\n"
		"`whyperf lab up NAME` made). -c HOST of iperf is plain HOST here.\n"
		"Totals are exact: the receiver reads to the end of the stream, so both ends\n"
		"count the same bytes. In the CPU table `busy` is measured; the other columns are\n"
		"samples where the kernel counts by timer ticks, and `sum` and `trust` say\n"
		"whether they add up. MBytes, MB and MiB are 1024 x 1024 bytes, Mbits 10^6 bits.",
	.examples =
		"  whyperf tcp lab                         two namespaces of this machine, 10 s\n"
		"  whyperf tcp 192.0.2.7 -R -P 4           four streams from there to here\n"
		"  whyperf tcp lab --cpu 0 --peer-cpu 1    where the two ends run\n"
		"  whyperf tcp lab -n 1G -J                exactly 1 GiB, the record as JSON\n"
		"  whyperf tcp lab -b 200M -i 0.1          paced, a row each 100 ms\n"
		"  whyperf tcp 192.0.2.7 --with rr         what the load does to others' latency\n"
		"  whyperf tcp lab --format mail           a report to paste into a letter\n",
	.options = wp_tcp_options,
	.n_options = WP_N_TCP_OPTIONS,
	.config_size = sizeof(struct wp_test_config),
	.max_operands = 1,
	.run = run,
};
