/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/study.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/rng.h"

int wp_study_begin(struct wp_campaign *c)
{
	unsigned char id[8];
	char stamp[32];

	if (wp_random_bytes(id, sizeof(id)))
		return -EIO;
	c->id = wp_pool_printf(&c->pool, "%02x%02x%02x%02x%02x%02x%02x%02x", id[0], id[1], id[2],
			       id[3], id[4], id[5], id[6], id[7]);
	wp_format_rfc3339(wp_unix_now_ns(), stamp);
	c->started = wp_pool_strdup(&c->pool, stamp);
	c->version = WP_VERSION;
	return c->id && c->started ? 0 : -ENOMEM;
}

void wp_study_note_host(struct wp_campaign *c, const struct wp_run *run)
{
	const struct wp_inventory *inv = &run->hosts[0].inventory;

	if (c->host || !run->n_hosts || !inv->kernel)
		return;
	c->host = wp_pool_printf(
		&c->pool, "Linux %s, %.0f CPUs, %s, clock %s%s%s", inv->kernel,
		wp_num_or(inv->cpus_online, 0), inv->cpu_model ? inv->cpu_model : "unknown CPU",
		inv->clocksource ? inv->clocksource : "unknown",
		run->flows && run->flows[0].congestion ? ", " : "",
		run->flows && run->flows[0].congestion ? run->flows[0].congestion : "");
}

bool wp_study_lost(int r)
{
	return r == -ECONNREFUSED || r == -EHOSTUNREACH || r == -ENETUNREACH || r == -ETIMEDOUT ||
	       r == -ECONNRESET;
}

bool wp_study_cancelled(const struct wp_cli *cli)
{
	struct pollfd p = { .fd = cli->cancel_fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

void wp_study_time_text(int64_t ns, char *out, size_t size)
{
	int64_t s = (ns + WP_NS_PER_S - 1) / WP_NS_PER_S;

	if (s < 90)
		snprintf(out, size, "about %" PRId64 " s", s);
	else if (s < 5400)
		snprintf(out, size, "about %" PRId64 " min", (s + 30) / 60);
	else
		snprintf(out, size, "about %.1f h", (double)s / 3600);
}
