/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rule_latency.c - what a load does to the round trips of others (--with rr). */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "explain/say.h"

#define QUEUE_US       1000.0 /* added: less may be a CPU that is busy */
#define QUEUE_TIMES    5.0    /* the loaded round trip of the idle one, ... */
#define BLOAT_US       5000.0 /* ... but where this much is added */
#define WAITS_PCT      10.0   /* of the time that an end waits for a CPU: so may the requests */
#define LOSSLESS_SHARE 1e-4
#define DISTANT_US     1000.0   /* below it bbr is no help */
#define WINDOW_LEAST   131072.0 /* bytes; a smaller one is not worth asking for */
#define WINDOW_MOST    1073741824.0

/* Lost on the path, of what was sent; absent where nobody counted. */
static struct wp_num lost_share(const struct wp_facts *f)
{
	const struct wp_ledger *l = &f->run->ledger;
	struct wp_num sent = f->kind == WP_KIND_UDP ? l->sent_packets : f->packets, lost;

	lost = f->kind != WP_KIND_UDP ? wp_facts_lost(f)
	       : wp_has(l->sent_packets) && wp_has(l->delivered_packets)
		       ? wp_num(l->sent_packets.v - l->delivered_packets.v)
		       : wp_absent("not counted");
	return wp_num_ratio(lost, sent, 1);
}

static const char *loss_words(const struct wp_facts *f)
{
	struct wp_num share = lost_share(f);

	if (!wp_has(share))
		return "";
	if (share.v < LOSSLESS_SHARE)
		return ", and nothing is lost";
	return wp_pool_printf(f->pool, ", and %.2g %% are lost", 100 * share.v);
}

/* Twice what the path holds without a queue, as a power of two that -w takes. */
static double fitting_window(const struct wp_facts *f, double idle_us)
{
	double want = 2 * f->rate_bps / 8 * idle_us / 1e6, bytes = WINDOW_LEAST;

	while (bytes < want && bytes < WINDOW_MOST)
		bytes *= 2;
	return bytes;
}

static void advise(const struct wp_facts *f, struct wp_finding *ret, double queued_bytes)
{
	double idle_us = f->run->total.idle_p50_us.v, window = fitting_window(f, idle_us);

	wp_advise(
		f, ret,
		"where the slow link begins, a queue that keeps itself short: tc qdisc replace dev DEV root "
		"fq_codel (behind a shaper: as its child)");
	if (f->kind == WP_KIND_UDP) {
		wp_advise(f, ret, "a lower rate (-b): datagrams do not slow down for a queue");
		return;
	}
	if (window < queued_bytes)
		wp_advise_command(f, ret, "window w", "-w %.0fK", window / 1024);
	if (idle_us >= DISTANT_US && f->congestion && strncmp(f->congestion, "bbr", 3) != 0)
		wp_advise_command(f, ret, "congestion C", "-C bbr");
}

static void evidence(const struct wp_facts *f, struct wp_finding *ret)
{
	const struct wp_total *t = &f->run->total;

	wp_evidence(f, ret, NULL, WP_SCOPE_TOTAL, "latency_idle_us.p50", t->idle_p50_us);
	wp_evidence(f, ret, NULL, WP_SCOPE_TOTAL, "latency_loaded_us.p50", t->loaded_p50_us);
	wp_evidence(f, ret, NULL, WP_SCOPE_TOTAL, "added_latency_p99_us", t->added_latency_p99_us);
	wp_evidence(f, ret, "flow", WP_SCOPE_INTERVAL, "cwnd_bytes", f->cwnd_bytes);
	wp_evidence(f, ret, "flow", WP_SCOPE_FLOW, "sndbuf_bytes", f->sndbuf_bytes);
	wp_evidence(f, ret, "sender", WP_SCOPE_THREAD, "run_delay_pct", f->sender.delay_pct);
	wp_evidence(f, ret, "receiver", WP_SCOPE_THREAD, "run_delay_pct", f->receiver.delay_pct);
}

enum wp_rule_answer wp_rule_bufferbloat(const struct wp_facts *f, struct wp_finding *ret)
{
	const struct wp_total *t = &f->run->total;
	double added = wp_num_or(t->added_latency_us, 0), queued = f->rate_bps / 8 * added / 1e6;
	bool waits = wp_num_or(f->sender.delay_pct, 0) >= WAITS_PCT ||
		     wp_num_or(f->receiver.delay_pct, 0) >= WAITS_PCT;
	char idle[32], loaded[32], bytes[32];

	if (!f->run->test.with || added < QUEUE_US || f->rate_bps <= 0)
		return WP_RULE_NO;
	if (added < BLOAT_US && t->loaded_p50_us.v < QUEUE_TIMES * t->idle_p50_us.v)
		return WP_RULE_NO;
	wp_format_ns(t->idle_p50_us.v * 1e3, idle, sizeof(idle));
	wp_format_ns(t->loaded_p50_us.v * 1e3, loaded, sizeof(loaded));
	wp_format_bytes(queued, bytes, sizeof(bytes));
	evidence(f, ret);
	advise(f, ret, queued);
	return wp_find(
		f, ret, 0, waits ? "medium" : "high",
		"the load keeps a queue of about %s on the path: the median round trip of small "
		"requests beside it takes %s instead of %s%s%s",
		bytes, loaded, idle, loss_words(f),
		waits ? "; a part of it may be waiting for a CPU" : "");
}
