/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rule_app.c - how the application sends: in small pieces, at a rate that was asked for, or not enough. */
#include <string.h>

#include "base/units.h"
#include "explain/say.h"

#define RATE_MET           0.95 /* of the rate asked for */
#define RATE_STALLED       0.5
#define NEVER_FULL_PCT     50.0
#define MOSTLY_LIMITED_PCT 70.0 /* samples in which the sender had nothing queued */
#define OFFLOAD_SEGMENTS \
	4.0 /* fewer segments a packet than this: they cross the stack one by one */
#define ETHERNET_MSS_BYTES 9000.0

static bool is_full(const struct wp_side *s)
{
	return wp_has(s->on_cpu_pct) && s->runnable_pct.v >= WP_NEAR_FULL_PCT &&
	       wp_num_or(s->delay_pct, 0) < WP_DELAY_MAIN_PCT;
}

enum wp_rule_answer wp_rule_small_writes(const struct wp_facts *f, struct wp_finding *ret)
{
	const struct wp_side *s = &f->sender;
	double calls_per_s;

	if (!wp_has(s->call_bytes))
		return wp_lacks(f, ret, "how much the sender writes a call", s->call_bytes);
	if (s->call_bytes.v >= WP_SMALL_CALL_BYTES)
		return WP_RULE_NO;
	if (!wp_has(s->on_cpu_pct))
		return wp_lacks(f, ret, "the CPU use of the sender's threads", s->on_cpu_pct);
	/* Others may take the CPU from either end: then the calls still are what the sender's own time goes into. */
	if (!wp_facts_small_writes(f))
		return WP_RULE_NO;
	calls_per_s = s->call_bytes.v > 0 ? f->rate_bps / 8 / s->call_bytes.v : 0;
	wp_evidence(f, ret, s->word, WP_SCOPE_END, "mean_call_bytes", s->call_bytes);
	wp_evidence(f, ret, s->word, WP_SCOPE_THREAD, "cpu_pct", s->on_cpu_pct);
	if (s->use)
		wp_evidence(f, ret, s->word, WP_SCOPE_CPU, "system_pct", s->use->system_pct);
	wp_advise_command(f, ret, "length l", "-l 128K");
	return wp_find(
		f, ret, s->on_cpu_pct.v, is_full(s) ? "high" : "medium",
		"the sender writes in small pieces: %.0f bytes a call, %.0f calls a second; its thread ran %.0f "
		"%% of the time, and at this size the calls cost more than the bytes",
		s->call_bytes.v, calls_per_s, s->on_cpu_pct.v);
}

/* Segments that the receiving stack takes at once, from what its CPU counted. */
static struct wp_num segments_per_packet(const struct wp_facts *f,
					 const struct wp_cpu_use **ret_use)
{
	const struct wp_side *r = &f->receiver;
	const struct wp_cpu_use *u =
		wp_has(r->rx_cpu) && r->cpus ? wp_host_cpu(r->cpus, (int)r->rx_cpu.v) : NULL;

	*ret_use = u;
	if (!u)
		return wp_absent("the CPU that processes the receiver's packets is not known");
	if (!wp_has(u->softnet_processed))
		return u->softnet_processed;
	if (!wp_has(f->mss_bytes) || f->mss_bytes.v <= 0 || u->softnet_processed.v <= 0)
		return wp_absent("no packet was counted");
	return wp_num(f->all_bytes / f->mss_bytes.v / u->softnet_processed.v);
}

enum wp_rule_answer wp_rule_segment_offload(const struct wp_facts *f, struct wp_finding *ret)
{
	const struct wp_cpu_use *u;
	struct wp_num segments = segments_per_packet(f, &u);
	const struct wp_side *full = is_full(&f->sender)     ? &f->sender
				     : is_full(&f->receiver) ? &f->receiver
							     : NULL;
	double share;

	if (!wp_has(segments))
		return wp_lacks(f, ret, "how many packets the receiver's stack took", segments);
	/* A rate that a CPU reaches segment by segment is needed for this to be a limit, and writes that offload could
	 * make large packets of; beyond Ethernet's largest segments there is nothing to gain. */
	if (segments.v >= OFFLOAD_SEGMENTS || f->mss_bytes.v > ETHERNET_MSS_BYTES ||
	    wp_num_or(f->sender.call_bytes, 0) < WP_SMALL_CALL_BYTES)
		return WP_RULE_NO;
	if (!full && (wp_num_or(u->busy_pct, 0) < WP_NEAR_FULL_PCT ||
		      wp_num_or(u->softirq_pct, 0) < WP_SOFTIRQ_SHARE * u->busy_pct.v))
		return WP_RULE_NO; /* the CPU may be busy with anything */
	share = full ? full->on_cpu_pct.v : u->busy_pct.v;
	wp_evidence(f, ret, "receiver", WP_SCOPE_CPU, "softnet.processed", u->softnet_processed);
	wp_evidence(f, ret, "flow", WP_SCOPE_FLOW, "mss_bytes", f->mss_bytes);
	wp_evidence(f, ret, "receiver", WP_SCOPE_CPU, "busy_pct", u->busy_pct);
	wp_evidence(f, ret, "receiver", WP_SCOPE_CPU, "softirq_pct", u->softirq_pct);
	wp_advise(
		f, ret,
		"look at the offloads of both ends' interfaces (ethtool -k IFACE): tcp-segmentation-offload, "
		"generic-receive-offload");
	return wp_find(
		f, ret, share, "medium",
		"segments cross the stack almost one by one (%.1f of %.0f bytes a packet) and fill a CPU: "
		"segmentation offload (TSO, GSO) of the sender or GRO of the receiver seems to be off",
		segments.v, f->mss_bytes.v);
}

enum wp_rule_answer wp_rule_target_rate(const struct wp_facts *f, struct wp_finding *ret)
{
	struct wp_num target = f->run->test.target_bps;
	char asked[32], got[32];
	bool stalled;
	double met;

	if (!wp_has(target) || target.v <= 0)
		return WP_RULE_NO;
	if (!wp_has(f->flow_bps))
		return wp_lacks(f, ret, "the rate that was reached", f->flow_bps);
	met = f->flow_bps.v / target.v;
	stalled = met < RATE_MET;
	/* Below it, the sender that still has nothing queued lost its time to stalls: the pacer never makes up for one. */
	if (stalled &&
	    (met < RATE_STALLED || wp_num_or(f->app_limited_pct, 0) < MOSTLY_LIMITED_PCT))
		return WP_RULE_NO;
	wp_format_bps(target.v, asked, sizeof(asked));
	wp_format_bps(f->flow_bps.v, got, sizeof(got));
	wp_evidence(f, ret, "test", WP_SCOPE_TEST, "target_bps", target);
	wp_evidence(f, ret, "flow", WP_SCOPE_END, "bits_per_second", f->flow_bps);
	wp_evidence(f, ret, "sender", WP_SCOPE_THREAD, "cpu_pct", f->sender.on_cpu_pct);
	wp_advise_command(f, ret, "bitrate b", "%s", "");
	if (!stalled)
		return wp_find(
			f, ret, 100, "high",
			"it sends as fast as asked and no faster: %s a stream with -b, reached %s",
			asked, got);
	return wp_find(
		f, ret, wp_num_or(f->wait_pct, 100 * met), "high",
		"the rate asked for, %s a stream with -b, left the sender idle %.0f %% of the time; it reached "
		"%s because stalls are not made up for",
		asked, wp_num_or(f->wait_pct, 100 * met), got);
}

enum wp_rule_answer wp_rule_app_limited(const struct wp_facts *f, struct wp_finding *ret)
{
	double share;

	if (wp_has(f->run->test.target_bps))
		return WP_RULE_NO; /* it was asked to */
	if (!wp_has(f->app_limited_pct) || !wp_has(f->busy_pct))
		return wp_lacks(f, ret, "whether the sender had data queued",
				wp_has(f->busy_pct) ? f->app_limited_pct : f->busy_pct);
	if (!wp_has(f->sender.on_cpu_pct))
		return wp_lacks(f, ret, "the CPU use of the sender's threads",
				f->sender.on_cpu_pct);
	if (f->app_limited_pct.v < MOSTLY_LIMITED_PCT || f->busy_pct.v >= NEVER_FULL_PCT ||
	    f->sender.runnable_pct.v >= NEVER_FULL_PCT)
		return WP_RULE_NO;
	share = 100 - f->busy_pct.v < f->wait_pct.v ? 100 - f->busy_pct.v : f->wait_pct.v;
	wp_evidence(f, ret, "flow", WP_SCOPE_FLOW, "app_limited_pct", f->app_limited_pct);
	wp_evidence(f, ret, "flow", WP_SCOPE_FLOW, "busy_pct", f->busy_pct);
	wp_evidence(f, ret, "sender", WP_SCOPE_THREAD, "cpu_pct", f->sender.on_cpu_pct);
	return wp_find(
		f, ret, share, wp_confidence(f->app_limited_pct.v >= WP_NEAR_FULL_PCT, -1),
		"the sending program gives too little, and not for want of CPU: nothing was queued in %.0f %% of "
		"the samples, data was under way %.0f %% of the time, its thread ran %.0f %%",
		f->app_limited_pct.v, f->busy_pct.v, f->sender.on_cpu_pct.v);
}
