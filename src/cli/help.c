/* SPDX-License-Identifier: GPL-2.0-or-later */
/* help.c - every help text, generated from the tables of commands, options, engines and peers. */
#include <string.h>

#include "base/cleanup.h"
#include "cli/command.h"
#include "load/engine.h"
#include "peer/peer.h"

static const char *const groups[] = { "Measure", "Experiment", "Look", "Practise" };

int wp_help_program(struct wp_buf *out)
{
	wp_buf_puts(out, "whyperf " WP_VERSION
			 " measures how fast a network path moves data, and says why.\n\n"
			 "Usage: whyperf COMMAND [options] [HOST]\n");
	for (size_t g = 0; g < WP_ARRAY_SIZE(groups); g++) {
		wp_buf_printf(out, "\n%s\n", groups[g]);
		for (size_t i = 0; wp_commands[i]; i++) {
			const struct wp_command *c = wp_commands[i];

			if (!strcmp(c->group, groups[g]))
				wp_buf_printf(out, "  %-8s %-13s %s\n", c->name, c->operands,
					      c->summary);
		}
	}
	wp_buf_puts(
		out,
		"\nHOST[:PORT] is a host where `whyperf serve` runs, or\n"
		"  lab        two hosts inside this machine: namespaces joined by a veth pair\n"
		"  loopback   127.0.0.1 in this namespace; needs no privilege\n"
		"\nTry\n"
		"  whyperf tcp lab\n"
		"  whyperf sweep --cpu all --peer-cpu all tcp lab -t 1\n"
		"  whyperf doctor\n"
		"\n`whyperf COMMAND --help` explains a command; --version and --engines say what\n"
		"this build can do. Exit status: 0 done, 1 failed, 2 the command line is wrong,\n"
		"3 a threshold was not met (--stall), 130 interrupted (what was measured until\n"
		"then is printed and stored).\n");
	return wp_buf_status(out);
}

int wp_help_command(const struct wp_command *c, struct wp_buf *out)
{
	wp_buf_printf(out, "whyperf %s: %s\n\nUsage: whyperf %s [options]%s%s\n", c->name,
		      c->summary, c->name, c->operands[0] ? " " : "", c->operands);
	if (c->about)
		wp_buf_printf(out, "\n%s\n", c->about);
	if (c->n_options) {
		wp_buf_puts(out, "\n");
		wp_opt_help(c->options, c->n_options, out);
	}
	if (c->examples)
		wp_buf_printf(out, "\nExamples\n%s", c->examples);
	return wp_buf_status(out);
}

int wp_help_engines(struct wp_buf *out)
{
	static const struct {
		unsigned cap;
		const char *word;
	} caps[] = {
		{ WP_ENGINE_SEND, "send" },           { WP_ENGINE_RECEIVE, "receive" },
		{ WP_ENGINE_PACED, "paced" },         { WP_ENGINE_CONTENT, "content" },
		{ WP_ENGINE_ZEROCOPY, "zerocopy" },   { WP_ENGINE_DISCARD, "discard" },
		{ WP_ENGINE_DATAGRAMS, "datagrams" }, { WP_ENGINE_TRANSACTIONS, "transactions" },
	};

	for (size_t i = 0; wp_engines[i]; i++) {
		const struct wp_engine *e = wp_engines[i];
		struct wp_err err = { 0 };

		wp_buf_printf(out, "%-8s %s\n         can:", e->name, e->summary);
		for (size_t c = 0; c < WP_ARRAY_SIZE(caps); c++)
			if (e->caps & caps[c].cap)
				wp_buf_printf(out, " %s", caps[c].word);
		wp_buf_printf(out, "\n         needs: %s\n",
			      e->needs ? e->needs : "nothing special");
		if (e->probe && e->probe(&err))
			wp_buf_printf(out, "         not here: %s\n", err.msg);
	}
	return wp_buf_status(out);
}

int wp_help_version(struct wp_buf *out)
{
	wp_buf_puts(out, "whyperf " WP_VERSION
			 "\nfeatures: lab tcp udp rr serve sweep store tls-psk\npeers:");
	for (size_t i = 0; wp_peers[i]; i++)
		wp_buf_printf(out, " %s", wp_peers[i]->name);
	wp_buf_puts(out, "\nengines:");
	for (size_t i = 0; wp_engines[i]; i++)
		wp_buf_printf(out, " %s", wp_engines[i]->name);
	wp_buf_puts(out, "\nLicence GPL-2.0-or-later\n");
	return wp_buf_status(out);
}
