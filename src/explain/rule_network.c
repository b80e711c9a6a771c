/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rule_network.c - between the two sockets: congestion control, loss, a queue, pacing. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "explain/say.h"

#define HOLDS_PCT         20.0 /* of wall time that the network holds the sender: worth a finding */
#define MAINLY_PCT        50.0
#define BUSY_CPU_PCT      90.0
#define IDLE_CPU_PCT      60.0
#define BUSY_RECEIVER_PCT 80.0
#define QUEUE_RTT_US      1000.0
#define QUEUE_RTT_TIMES   10.0
#define BLOAT_US          5000.0
#define NEEDLESS_MIN      20 /* fewer say nothing */
#define SPURIOUS_SHARE    0.7 /* of the retransmissions reported as duplicates: they were not needed */
#define LOSS_CLEAR_SHARE  0.005 /* a shaper's queue loses 0.1 to 0.2 % to cubic */
#define LOSS_SEVERE_SHARE 0.01
#define PACED_LOW         0.9
#define PACED_HIGH        1.05
#define WINDOW_FULL       0.9
#define QUEUED_BYTES      65536.0 /* as many wait in the send buffer on the mean */

static bool is_bbr(const struct wp_facts *f)
{
	return f->congestion && !strncmp(f->congestion, "bbr", 3);
}

/* How long the network held a sender that wanted to go on. A thread that is busy most of the time is not held. */
static double held_pct(const struct wp_facts *f)
{
	double pct;

	/* Data that is queued all the time is not short for want of the thread, whatever that does. */
	if (wp_has(f->network_pct) && is_bbr(f) && wp_num_or(f->notsent_bytes, 0) >= QUEUED_BYTES &&
	    wp_num_or(f->app_limited_pct, 100) < HOLDS_PCT)
		return f->busy_pct.v - wp_num_or(f->rwnd_wall_pct, 0) -
		       wp_num_or(f->sndbuf_wall_pct, 0);
	if (!wp_has(f->network_pct) || wp_num_or(f->sender.runnable_pct, 0) >= BUSY_CPU_PCT)
		return wp_num_or(f->network_pct, 0);
	/* Below that, data is queued and waits while the thread makes more of it: the wait need not be the thread's. */
	pct = f->busy_pct.v - wp_num_or(f->rwnd_wall_pct, 0) - wp_num_or(f->sndbuf_wall_pct, 0);
	pct *= 1 - wp_num_or(f->app_limited_pct, 0) / 100;
	return pct > f->network_pct.v ? pct : f->network_pct.v;
}

static bool window_holds(const struct wp_facts *f)
{
	return wp_num_or(f->rwnd_limited_pct, 0) >= WP_LIMITED_PCT ||
	       wp_num_or(f->sndbuf_limited_pct, 0) >= WP_LIMITED_PCT;
}

/*
 * Where a pacing timer fires on another CPU than the one that writes, packets overtake each other and are sent again
 * though none was lost: the receiver says so by DSACK. A sender whose CPU is full at the same time is slow because of
 * it: the same path takes several times as much with cubic.
 */
static bool resends_needlessly(const struct wp_facts *f)
{
	return wp_num_or(f->dsacks, 0) >= NEEDLESS_MIN &&
	       wp_num_or(f->dsacks, 0) >= SPURIOUS_SHARE * wp_num_or(f->retransmits, 0);
}

static bool really_loses(const struct wp_facts *f)
{
	struct wp_num lost = wp_facts_lost(f);

	return wp_has(lost) && wp_has(f->packets) && lost.v > WP_LOSS_SHARE * f->packets.v &&
	       lost.v > (1 - SPURIOUS_SHARE) * f->retransmits.v;
}

static enum wp_rule_answer need_busy(const struct wp_facts *f, struct wp_finding *ret)
{
	return wp_lacks(f, ret, "how long the connection had data under way", f->busy_pct);
}

static void connection_evidence(const struct wp_facts *f, struct wp_finding *ret)
{
	wp_evidence(f, ret, "flow", WP_SCOPE_FLOW, "busy_pct", f->busy_pct);
	wp_evidence(f, ret, "flow", WP_SCOPE_FLOW, "mean_rtt_us", f->mean_rtt_us);
	wp_evidence(f, ret, "flow", WP_SCOPE_FLOW, "min_rtt_us", f->min_rtt_us);
	wp_evidence(f, ret, "flow", WP_SCOPE_END, "retransmits", f->retransmits);
	wp_evidence(f, ret, "flow", WP_SCOPE_FLOW, "dsacks", f->dsacks);
	wp_evidence(f, ret, "sender", WP_SCOPE_THREAD, "cpu_pct", f->sender.on_cpu_pct);
	wp_evidence(f, ret, "flow", WP_SCOPE_INTERVAL, "cwnd_bytes", f->cwnd_bytes);
}

/* Round trips of milliseconds on a path without distance are a queue's, unless an end had to wait for its CPU. */
static bool long_queue(const struct wp_facts *f)
{
	return wp_num_or(f->mean_rtt_us, 0) >= QUEUE_RTT_US &&
	       wp_num_or(f->sender.delay_pct, 0) < WP_DELAY_PCT &&
	       wp_num_or(f->receiver.delay_pct, 0) < WP_DELAY_PCT;
}

enum wp_rule_answer wp_rule_congestion_control(const struct wp_facts *f, struct wp_finding *ret)
{
	char resent[96] = "";
	double held, spurious;

	if (!f->congestion)
		return wp_lacks(f, ret, "the sender's congestion control", wp_absent(NULL));
	if (!is_bbr(f))
		return WP_RULE_NO;
	if (!wp_has(f->busy_pct) || !wp_has(f->min_rtt_us))
		return need_busy(f, ret);
	held = held_pct(f);
	if (f->min_rtt_us.v >= WP_ZERO_RTT_US || long_queue(f) || window_holds(f) ||
	    really_loses(f))
		return WP_RULE_NO;
	if (held < HOLDS_PCT && !resends_needlessly(f))
		return WP_RULE_NO;
	connection_evidence(f, ret);
	wp_advise_command(f, ret, "congestion C", "-C cubic");
	if (held < HOLDS_PCT)
		return wp_find(
			f, ret, wp_num_or(f->sender.on_cpu_pct, held), "medium",
			"congestion control %s sends by timer, on a path without distance "
			"(smallest round trip %.0f us): packets overtake each other, %.0f "
			"retransmissions were not needed (DSACK), and the sender's thread is "
			"busy %.0f %% of the time at that rate",
			f->congestion, f->min_rtt_us.v, f->dsacks.v,
			wp_num_or(f->sender.on_cpu_pct, 0));
	spurious = wp_num_or(f->retransmits, 0) > 0
			   ? 100 * wp_num_or(f->dsacks, 0) / f->retransmits.v
			   : 0;
	if (wp_num_or(f->retransmits, 0) > 0)
		snprintf(resent, sizeof(resent),
			 "; %.0f retransmissions, %.0f %% of them not needed", f->retransmits.v,
			 spurious > 100 ? 100 : spurious);
	return wp_find(
		f, ret, held,
		wp_confidence(wp_num_or(f->sender.on_cpu_pct, 100) < BUSY_CPU_PCT, -1),
		"congestion control %s held data back %.0f %% of the time, on a path without distance (smallest "
		"round trip %.0f us, mean %.0f us)%s",
		f->congestion, held, f->min_rtt_us.v, wp_num_or(f->mean_rtt_us, f->min_rtt_us.v),
		resent);
}

/* Where packets were dropped, as far as counters tell. */
static void drop_evidence(const struct wp_facts *f, struct wp_finding *ret)
{
	for (size_t h = 0; h < f->run->n_hosts; h++) {
		const struct wp_host *host = &f->run->hosts[h];

		for (size_t i = 0; i < host->n_counts; i++) {
			const struct wp_count *c = &host->counts[i];

			if (c->name && (strstr(c->name, "drop") || strstr(c->name, "Drop")) &&
			    c->delta > 0)
				wp_evidence_count(f, ret, host->role ? host->role : "host", c);
		}
	}
}

enum wp_rule_answer wp_rule_loss(const struct wp_facts *f, struct wp_finding *ret)
{
	struct wp_num lost = wp_facts_lost(f);
	double share, held;

	if (!wp_has(lost) || !wp_has(f->packets))
		return wp_lacks(f, ret, "retransmissions against segments sent",
				wp_has(lost) ? f->packets : lost);
	if (!really_loses(f))
		return WP_RULE_NO;
	if (!wp_has(f->busy_pct))
		return need_busy(f, ret);
	held = held_pct(f);
	if (held < HOLDS_PCT)
		return WP_RULE_NO;
	share = f->packets.v > 0 ? lost.v / f->packets.v : 1;
	wp_evidence(f, ret, "flow", WP_SCOPE_END, "packets", f->packets);
	wp_evidence(f, ret, "flow", WP_SCOPE_END, "retransmits", f->retransmits);
	wp_evidence(f, ret, "flow", WP_SCOPE_FLOW, "dsacks", f->dsacks);
	wp_evidence(f, ret, "flow", WP_SCOPE_INTERVAL, "cwnd_bytes", f->cwnd_bytes);
	wp_evidence(f, ret, "flow", WP_SCOPE_FLOW, "busy_pct", f->busy_pct);
	drop_evidence(f, ret);
	if (is_bbr(f))
		wp_advise_command(f, ret, "congestion C", "-C cubic");
	else
		wp_advise_command(f, ret, "congestion C", "-C bbr");
	wp_advise(f, ret,
		  "see where packets are dropped, on both ends: tc -s qdisc; ip -s link; nstat");
	return wp_find(
		f, ret, held, wp_confidence(share >= LOSS_SEVERE_SHARE || wp_has(f->dsacks), -1),
		"packets are lost: %.0f of %.0f segments (%.2f %%) had to be sent again, and data waited for the "
		"congestion window %.0f %% of the time",
		lost.v, f->packets.v, 100 * share, held);
}

static bool queue_builds(const struct wp_facts *f)
{
	double grown = f->mean_rtt_us.v - f->min_rtt_us.v;
	bool many_times = f->mean_rtt_us.v >= QUEUE_RTT_US &&
			  f->mean_rtt_us.v > QUEUE_RTT_TIMES * f->min_rtt_us.v;

	/* A receiver that always wants to run and does not get its CPU is what the data queues for. */
	if (wp_num_or(f->receiver.runnable_pct, 0) >= BUSY_RECEIVER_PCT &&
	    wp_num_or(f->receiver.delay_pct, 0) >= WP_DELAY_MAIN_PCT)
		return false;
	/* Loss is the better word where round trips may be long because the ends wait for CPUs. */
	if (wp_num_or(wp_facts_lost(f), 0) > LOSS_CLEAR_SHARE * wp_num_or(f->packets, 0) &&
	    (wp_num_or(f->receiver.delay_pct, 0) >= WP_DELAY_MAIN_PCT ||
	     wp_num_or(f->sender.delay_pct, 0) >= WP_DELAY_MAIN_PCT))
		return false;
	return many_times || (grown > BLOAT_US && grown > 2 * f->min_rtt_us.v);
}

enum wp_rule_answer wp_rule_path_queue(const struct wp_facts *f, struct wp_finding *ret)
{
	char rate[32];

	if (!wp_has(f->busy_pct))
		return need_busy(f, ret);
	if (!wp_has(f->mean_rtt_us) || !wp_has(f->min_rtt_us))
		return wp_lacks(f, ret, "the round trips of the connection",
				wp_has(f->min_rtt_us) ? f->mean_rtt_us : f->min_rtt_us);
	if (!queue_builds(f) || window_holds(f) || f->network_pct.v < MAINLY_PCT ||
	    wp_num_or(f->sender.runnable_pct, 0) >= IDLE_CPU_PCT)
		return WP_RULE_NO;
	wp_format_bps(f->rate_bps, rate, sizeof(rate));
	connection_evidence(f, ret);
	wp_evidence(f, ret, "flow", WP_SCOPE_INTERVAL, "notsent_bytes", f->notsent_bytes);
	wp_advise(
		f, ret,
		"look for a shaper on both ends (tc -s qdisc show) and for the slowest link between them");
	return wp_find(
		f, ret, held_pct(f),
		wp_confidence(wp_num_or(f->receiver.runnable_pct, 100) < IDLE_CPU_PCT, -1),
		"data queues on the path: a link or shaper lets %s through; the round trip grew from %.0f us to "
		"%.0f us, and the sender's thread ran only %.0f %% of the time",
		rate, f->min_rtt_us.v, f->mean_rtt_us.v, wp_num_or(f->sender.on_cpu_pct, 0));
}

enum wp_rule_answer wp_rule_pacing(const struct wp_facts *f, struct wp_finding *ret)
{
	char rate[32];
	double ratio;

	if (is_bbr(f) || wp_has(f->run->test.target_bps))
		return WP_RULE_NO; /* bbr always paces; a rate that was asked for has its own rule */
	if (!wp_has(f->busy_pct))
		return need_busy(f, ret);
	if (!wp_has(f->pacing_bps) || !wp_has(f->flow_bps))
		return WP_RULE_NO; /* not paced */
	ratio = f->pacing_bps.v > 0 ? f->flow_bps.v / f->pacing_bps.v : 0;
	if (ratio < PACED_LOW || ratio > PACED_HIGH || f->network_pct.v < MAINLY_PCT ||
	    wp_num_or(f->notsent_bytes, 0) <= 0 || window_holds(f))
		return WP_RULE_NO;
	wp_format_bps(f->pacing_bps.v, rate, sizeof(rate));
	wp_evidence(f, ret, "flow", WP_SCOPE_INTERVAL, "pacing_bps", f->pacing_bps);
	wp_evidence(f, ret, "flow", WP_SCOPE_END, "bits_per_second", f->flow_bps);
	wp_evidence(f, ret, "flow", WP_SCOPE_INTERVAL, "notsent_bytes", f->notsent_bytes);
	wp_evidence(f, ret, "flow", WP_SCOPE_INTERVAL, "unacked", f->unacked);
	wp_evidence(f, ret, "flow", WP_SCOPE_INTERVAL, "cwnd_bytes", f->cwnd_bytes);
	wp_evidence(f, ret, "sender", WP_SCOPE_THREAD, "cpu_pct", f->sender.on_cpu_pct);
	wp_advise(
		f, ret,
		"look for a pacing limit on the sender: maxrate of a fq qdisc (tc -d qdisc show), "
		"SO_MAX_PACING_RATE, net.ipv4.tcp_pacing_ca_ratio");
	return wp_find(
		f, ret, f->network_pct.v, "medium",
		"the connection is paced: its pacing rate is %s and it sends at %.0f %% of that, with data "
		"waiting",
		rate, 100 * ratio);
}

enum wp_rule_answer wp_rule_congestion_window(const struct wp_facts *f, struct wp_finding *ret)
{
	double used;
	char window[32];

	if (!wp_has(f->busy_pct))
		return need_busy(f, ret);
	if (!wp_has(f->cwnd_bytes) || !wp_has(f->unacked) || !wp_has(f->mss_bytes))
		return wp_lacks(f, ret, "what is under way against the congestion window",
				wp_has(f->cwnd_bytes) ? f->unacked : f->cwnd_bytes);
	used = f->cwnd_bytes.v > 0 ? f->unacked.v * f->mss_bytes.v / f->cwnd_bytes.v : 0;
	if (used < WINDOW_FULL || f->network_pct.v < MAINLY_PCT ||
	    wp_num_or(f->notsent_bytes, 0) <= 0 || window_holds(f))
		return WP_RULE_NO;
	wp_format_bytes(f->cwnd_bytes.v, window, sizeof(window));
	wp_evidence(f, ret, "flow", WP_SCOPE_INTERVAL, "cwnd_bytes", f->cwnd_bytes);
	wp_evidence(f, ret, "flow", WP_SCOPE_INTERVAL, "unacked", f->unacked);
	wp_evidence(f, ret, "flow", WP_SCOPE_INTERVAL, "notsent_bytes", f->notsent_bytes);
	wp_evidence(f, ret, "flow", WP_SCOPE_FLOW, "mean_rtt_us", f->mean_rtt_us);
	wp_evidence(f, ret, "flow", WP_SCOPE_END, "retransmits", f->retransmits);
	wp_advise_command(f, ret, "time t omit O", "-t 30 -O 5");
	wp_advise_command(f, ret, "parallel P", "-P 4");
	return wp_find(
		f, ret, f->network_pct.v, "medium",
		"the congestion window is full: %.0f %% of %s under way while data waits, over a round trip of "
		"%.0f us; it may still have been growing",
		100 * (used > 1 ? 1 : used), window, wp_num_or(f->mean_rtt_us, 0));
}
