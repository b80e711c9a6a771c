/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd_rr.c - `whyperf rr HOST`: requests and responses. */
#include "cli/commands.h"
#include "cli/measure.h"

static int run(const void *config, const struct wp_operands *operands, struct wp_cli *cli)
{
	return wp_measure_host(config, "rr", operands, cli);
}

const struct wp_command wp_cmd_rr = {
	.name = "rr",
	.group = "Measure",
	.operands = "HOST[:PORT]",
	.summary = "request and response: transactions a second, latency",
	.about = "Closed loop: the next request waits for a response, so a server that stops is\n"
		 "asked less, and the stop hides in one value. Open loop (--rate): requests fall\n"
		 "due by the clock, and latency counts from then: what users of the server see.\n"
		 "Percentiles come from one histogram of all connections; a bucket is at most\n"
		 "0.4 % off, minimum, maximum and mean are exact. HOST as for tcp: `lab`,\n"
		 "`loopback`, or a host where `whyperf serve` runs.",
	.examples = "  whyperf rr lab                           one byte there and back, TCP\n"
		    "  whyperf rr lab --wait spin               what the path can do at best\n"
		    "  whyperf rr lab --connect                 a connection for each (CRR)\n"
		    "  whyperf rr lab --udp --request 64 --response 1K\n"
		    "  whyperf rr 192.0.2.7 -P 1000 --rate 20k  open loop over 1,000 connections\n"
		    "  whyperf sweep --wait block,spin rr lab -t 1\n",
	.options = wp_rr_options,
	.n_options = WP_N_RR_OPTIONS,
	.config_size = sizeof(struct wp_test_config),
	.max_operands = 1,
	.run = run,
};
