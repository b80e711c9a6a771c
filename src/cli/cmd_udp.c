/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_udp.c - `whyperf udp HOST`: datagrams. */
#include "cli/commands.h"
#include "cli/measure.h"

static int run(const void *config, const struct wp_operands *operands, struct wp_cli *cli)
{
	return wp_measure_host(config, "udp", operands, cli);
}

const struct wp_command wp_cmd_udp = {
	.name = "udp",
	.group = "Measure",
	.operands = "HOST[:PORT]",
	.summary = "datagrams: sent, received, and where the rest went",
	.about =
		"Sender and receiver stand side by side, packets a second, and every packet that\n"
		"was sent and not received is named by the stage that dropped it: this host's\n"
		"queue, the path, the receiver's socket. Loss, order and duplicates are counted\n"
		"by 64-bit sequence numbers; a late packet is never lost and found twice.\n"
		"UDP has no congestion control: -b 0 sends as fast as the CPU can, which is right\n"
		"for a lab and a flood on a path that others use. The default of 10 Mbit/s is\n"
		"harmless and says nothing about the path. HOST as for tcp: `lab`, `loopback`,\n"
		"or a host where `whyperf serve` runs. -u -c HOST of iperf is udp HOST here.\n"
		"--find-rate looks for the highest rate with so little loss (RFC 2544): a trial\n"
		"flat out (or at -b), a search, then 5 trials each of the rate found and of the\n"
		"next higher one, in turns. A trial that fails is made again before it counts.\n"
		"Where the sender is the limit, that is said, and no rate of the path is named.\n"
		"Exit status 3: no rate has so little loss. Several sizes (frames of 64 to 1518):\n"
		"whyperf sweep --length 18,82,210,466,978,1234,1472 udp HOST --find-rate ...",
	.examples = "  whyperf udp lab -b 0 -l 64               small packets, flat out\n"
		    "  whyperf udp lab -b 0 -l 64 --gso --gro   in trains, as QUIC stacks send\n"
		    "  whyperf udp 192.0.2.7 -b 36kpps -l 64    36,000 packets a second\n"
		    "  whyperf udp lab -b 1G --total -P 4       1 Gbit/s over four streams\n"
		    "  whyperf udp 192.0.2.7 -b 100M -R         from there to here\n"
		    "  whyperf udp 192.0.2.7 -l 64 --find-rate 'loss<0.1%'\n"
		    "  whyperf udp lab -b 100M --with rr        what it does to others' latency\n"
		    "  whyperf sweep --length 64,512,1400 udp lab -b 0 -t 1\n",
	.options = wp_udp_options,
	.n_options = WP_N_UDP_OPTIONS,
	.config_size = sizeof(struct wp_test_config),
	.max_operands = 1,
	.run = run,
};
