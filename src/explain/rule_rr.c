/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rule_rr.c - requests and responses: what a transaction's time goes into. The client's end is the facts' sender, the
 * server's their receiver.
 *
 * A closed loop with one request under way is a chain: the client's CPU, the way there, the server's wake-up and CPU, the
 * way back, the client's wake-up. What neither thread executed is waiting: wake-ups and the way. With many requests under
 * way the busier end decides.
 */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "explain/say.h"

#define RATE_MET   0.98 /* of the requests that were due */
#define WAITS_PCT  10.0
#define WAKES_EACH 0.5 /* voluntary switches a transaction: its threads sleep in between */
#define SMALL_BYTES \
	16384.0 /* a request and its response: moving them costs less than waking two threads */
#define TAIL_TIMES     10.0 /* the median: a transaction that took longer is held up by something */
#define TAIL_PCT       20.0 /* of all transactions' time */
#define LOST_PCT       1.0
#define CONNECT_SHARE  60.0 /* of a transaction with its own connection: typical, 50 to 80 % */
#define RETRANSMIT_MIN 3.0

static const struct wp_flow *flow_of(const struct wp_facts *f)
{
	return f->run->n_flows ? &f->run->flows[0] : NULL;
}

static struct wp_num per_second(const struct wp_facts *f)
{
	return f->run->total.transactions_per_s;
}

/* Requests that can be under way at once. */
static double under_way(const struct wp_facts *f)
{
	return wp_num_or(f->run->test.streams, 1) * wp_num_or(f->run->test.outstanding, 1);
}

static bool spins(const struct wp_facts *f)
{
	return f->run->test.wait && !strcmp(f->run->test.wait, "spin");
}

static bool open_loop(const struct wp_facts *f)
{
	return wp_has(f->run->test.rate_hz) && f->run->test.rate_hz.v > 0;
}

static void latency_evidence(const struct wp_facts *f, struct wp_finding *ret)
{
	const struct wp_total *t = &f->run->total;

	wp_evidence(f, ret, NULL, WP_SCOPE_TOTAL, "transactions_per_s", t->transactions_per_s);
	wp_evidence(f, ret, NULL, WP_SCOPE_TOTAL, "latency_us.p50", t->latency_p50_us);
	wp_evidence(f, ret, NULL, WP_SCOPE_TOTAL, "latency_us.p99", t->latency_p99_us);
}

static void threads_evidence(const struct wp_facts *f, struct wp_finding *ret)
{
	wp_evidence(f, ret, f->sender.word, WP_SCOPE_THREAD, "cpu_pct", f->sender.on_cpu_pct);
	wp_evidence(f, ret, f->receiver.word, WP_SCOPE_THREAD, "cpu_pct", f->receiver.on_cpu_pct);
}

/* Times that an end's threads went to sleep, for each transaction. */
static struct wp_num sleeps_each(const struct wp_facts *f, const struct wp_side *s)
{
	struct wp_num sum = wp_absent("no thread was measured");

	for (size_t i = 0; s->host && i < s->host->n_threads; i++) {
		struct wp_num n = s->host->threads[i].voluntary_switches;

		if (!wp_has(n))
			return n;
		sum = wp_num(wp_num_or(sum, 0) + n.v);
	}
	return wp_num_ratio(sum, f->run->total.transactions, 1);
}

static enum wp_rule_answer no_rate(const struct wp_facts *f, struct wp_finding *ret)
{
	return wp_lacks(f, ret, "how many transactions were completed", per_second(f));
}

/* ---- open loop --------------------------------------------------------------------------------- */

enum wp_rule_answer wp_rule_rr_overload(const struct wp_facts *f, struct wp_finding *ret)
{
	struct wp_num rate = f->run->test.rate_hz, done = per_second(f);
	char median[32];

	if (!open_loop(f))
		return WP_RULE_NO;
	if (!wp_has(done))
		return no_rate(f, ret);
	if (done.v >= RATE_MET * rate.v)
		return WP_RULE_NO;
	wp_format_ns(wp_num_or(f->run->total.latency_p50_us, 0) * 1e3, median, sizeof(median));
	wp_evidence(f, ret, "test", WP_SCOPE_TEST, "rate_hz", rate);
	latency_evidence(f, ret);
	threads_evidence(f, ret);
	wp_advise_command(f, ret, "rate", "--rate %.0f", 0.8 * done.v);
	wp_advise_command(f, ret, "parallel P", "-P %.0f", 2 * wp_num_or(f->run->test.streams, 1));
	return wp_find(
		f, ret, 100, "high",
		"more is asked than is answered: %.0f requests a second fell due and %.0f were completed, so they "
		"queued, and the latency (median %s) is mostly that of the queue",
		rate.v, done.v, median);
}

enum wp_rule_answer wp_rule_rr_rate(const struct wp_facts *f, struct wp_finding *ret)
{
	struct wp_num rate = f->run->test.rate_hz, done = per_second(f);

	if (!open_loop(f))
		return WP_RULE_NO;
	if (!wp_has(done))
		return no_rate(f, ret);
	if (done.v < RATE_MET * rate.v)
		return WP_RULE_NO;
	wp_evidence(f, ret, "test", WP_SCOPE_TEST, "rate_hz", rate);
	latency_evidence(f, ret);
	threads_evidence(f, ret);
	wp_advise_command(f, ret, "rate", "--rate %.0f", 2 * rate.v);
	return wp_find(
		f, ret, 100, "high",
		"as many requests are answered as are asked: %.0f a second with --rate; the client's thread ran "
		"%.0f %% of the time, the server's %.0f %%",
		rate.v, wp_num_or(f->sender.on_cpu_pct, 0), wp_num_or(f->receiver.on_cpu_pct, 0));
}

/* ---- what the time of a closed loop goes into --------------------------------------------------- */

/* A CPU that one end has, for the advice to run both there. */
static int common_cpu(const struct wp_facts *f)
{
	if (!f->same_machine || f->one_cpu)
		return -1;
	return wp_has(f->sender.cpu) ? (int)f->sender.cpu.v : 0;
}

static bool small_messages(const struct wp_facts *f)
{
	return wp_num_or(f->run->test.request_bytes, 1) +
		       wp_num_or(f->run->test.response_bytes, 1) <=
	       SMALL_BYTES;
}

/*
 * Time in which wake-ups hold the transactions, in per cent. Time waited for a CPU that others use is another rule's. Of one
 * small request at a time between two CPUs it is all the rest: what the threads ran is then mostly the cost of waking each
 * other's CPU, which in a virtual machine takes ten times as long as moving the message.
 */
static double waited_pct(const struct wp_facts *f, double chain)
{
	const struct wp_side *c = &f->sender, *s = &f->receiver;
	double busiest =
		c->runnable_pct.v > s->runnable_pct.v ? c->runnable_pct.v : s->runnable_pct.v;

	if (chain > 1)
		return 100 - busiest;
	if (f->same_machine && !f->one_cpu && small_messages(f))
		return 100 - wp_num_or(c->delay_pct, 0) - wp_num_or(s->delay_pct, 0);
	return 100 - c->runnable_pct.v - s->runnable_pct.v;
}

enum wp_rule_answer wp_rule_rr_wakeup(const struct wp_facts *f, struct wp_finding *ret)
{
	const struct wp_side *c = &f->sender, *s = &f->receiver;
	struct wp_num done = per_second(f), mine = sleeps_each(f, c), its = sleeps_each(f, s);
	double waits, each_us, chain = under_way(f);

	if (open_loop(f) || spins(f) || wp_num_or(f->run->test.connect, 0) > 0)
		return WP_RULE_NO;
	if (!wp_has(done))
		return no_rate(f, ret);
	if (!wp_has(c->on_cpu_pct) || !wp_has(s->on_cpu_pct))
		return wp_lacks(f, ret, "the CPU use of both ends' threads",
				wp_has(c->on_cpu_pct) ? s->on_cpu_pct : c->on_cpu_pct);
	if (!wp_has(mine) || !wp_has(its))
		return wp_lacks(f, ret, "how often the threads slept", wp_has(mine) ? its : mine);
	waits = waited_pct(f, chain);
	if (waits < WAITS_PCT || (mine.v < WAKES_EACH && its.v < WAKES_EACH) || done.v <= 0)
		return WP_RULE_NO;
	each_us = 1e6 / done.v * chain;
	wp_evidence(f, ret, NULL, WP_SCOPE_TOTAL, "transactions_per_s", done);
	wp_evidence(f, ret, c->word, WP_SCOPE_THREAD, "voluntary_switches",
		    c->thread ? c->thread->voluntary_switches : wp_absent(NULL));
	wp_evidence(f, ret, s->word, WP_SCOPE_THREAD, "voluntary_switches",
		    s->thread ? s->thread->voluntary_switches : wp_absent(NULL));
	threads_evidence(f, ret);
	wp_advise_command(f, ret, "wait", "--wait spin");
	if (common_cpu(f) >= 0)
		wp_advise_command(f, ret, "cpu peer-cpu", "--cpu %d --peer-cpu %d", common_cpu(f),
				  common_cpu(f));
	if (chain == 1)
		return wp_find(
			f, ret, waits, f->same_machine ? "high" : "medium",
			"each transaction wakes threads up (%.1f sleeps of the client, %.1f of the server): of its %.1f us "
			"the client's thread ran %.1f and the server's %.1f, waking the other included%s",
			mine.v, its.v, each_us, c->on_cpu_pct.v / 100 * each_us,
			s->on_cpu_pct.v / 100 * each_us,
			f->same_machine ? "" : "; the rest passes in wake-ups and on the way");
	return wp_find(
		f, ret, waits, "medium",
		"with %.0f requests under way both ends sleep: the client's busiest thread ran %.0f %% of the "
		"time, the server's %.0f %%; the rest passes in wake-ups%s (%.1f and %.1f sleeps a transaction)",
		chain, c->on_cpu_pct.v, s->on_cpu_pct.v, f->same_machine ? "" : " and on the way",
		mine.v, its.v);
}

enum wp_rule_answer wp_rule_rr_spin(const struct wp_facts *f, struct wp_finding *ret)
{
	struct wp_num done = per_second(f);
	double share;

	if (open_loop(f) || !spins(f))
		return WP_RULE_NO;
	if (!wp_has(done))
		return no_rate(f, ret);
	share = wp_num_or(f->sender.on_cpu_pct, 0) < wp_num_or(f->receiver.on_cpu_pct, 0)
			? wp_num_or(f->sender.on_cpu_pct, 0)
			: wp_num_or(f->receiver.on_cpu_pct, 0);
	if (f->one_cpu || share <= 0)
		return WP_RULE_NO;
	latency_evidence(f, ret);
	threads_evidence(f, ret);
	wp_advise_command(f, ret, "parallel P", "-P %.0f", 2 * wp_num_or(f->run->test.streams, 1));
	return wp_find(
		f, ret, share, "medium",
		"both ends poll and nobody sleeps: %.1f us a transaction is what the two system calls at each end "
		"and the way between them take",
		done.v > 0 ? 1e6 / done.v * under_way(f) : 0);
}

enum wp_rule_answer wp_rule_rr_one_cpu(const struct wp_facts *f, struct wp_finding *ret)
{
	const struct wp_side *c = &f->sender, *s = &f->receiver;
	double both;

	if (!f->same_machine)
		return WP_RULE_NO;
	if (!wp_has(c->cpu) || !wp_has(s->cpu) || !wp_has(c->on_cpu_pct) || !wp_has(s->on_cpu_pct))
		return wp_lacks(f, ret, "the CPUs that both ends ran on",
				wp_has(c->cpu) ? s->cpu : c->cpu);
	both = c->on_cpu_pct.v + s->on_cpu_pct.v;
	if (!f->one_cpu || both < WAITS_PCT)
		return WP_RULE_NO;
	threads_evidence(f, ret);
	latency_evidence(f, ret);
	if (spins(f)) {
		wp_advise_command(f, ret, "wait", "--wait block");
		return wp_find(
			f, ret, both, "high",
			"both ends poll on one CPU (%d): each has to wait until the other's turn is over",
			(int)c->cpu.v);
	}
	wp_advise_command(f, ret, "cpu peer-cpu parallel P", "--cpu 0 --peer-cpu 1 -P 4");
	return wp_find(
		f, ret, both, "high",
		"both ends take turns on CPU %d: the client's thread ran %.0f %% of the time, the server's %.0f "
		"%%; for one request at a time that is often faster than waking another CPU",
		(int)c->cpu.v, c->on_cpu_pct.v, s->on_cpu_pct.v);
}

enum wp_rule_answer wp_rule_rr_connect(const struct wp_facts *f, struct wp_finding *ret)
{
	if (wp_num_or(f->run->test.connect, 0) == 0)
		return WP_RULE_NO;
	if (!wp_has(per_second(f)))
		return no_rate(f, ret);
	latency_evidence(f, ret);
	threads_evidence(f, ret);
	wp_advise(f, ret, "the same command without --connect shows what the connections cost");
	return wp_find(
		f, ret, CONNECT_SHARE, "low",
		"each of the %.0f transactions a second makes and closes a connection of its own: that is most of "
		"its work typically",
		per_second(f).v);
}

/* ---- what was lost or late --------------------------------------------------------------------- */

/* Time that the latencies above `TAIL_TIMES` the median hold of all, in per cent. */
static struct wp_num tail_pct(const struct wp_facts *f)
{
	const struct wp_histogram *h =
		f->run->n_hosts ? wp_host_histogram(&f->run->hosts[0], "latency") : NULL;
	double all = 0, tail = 0, from;

	if (!h || !wp_has(h->p50_us))
		return wp_absent("no latencies were recorded");
	from = TAIL_TIMES * h->p50_us.v * 1e3;
	for (size_t i = 0; i < h->n_buckets; i++) {
		double ns = (double)wp_hist_middle(h->bits, h->buckets[i].index);

		all += ns * (double)h->buckets[i].count;
		if (ns >= from)
			tail += ns * (double)h->buckets[i].count;
	}
	return all > 0 ? wp_num(100 * tail / all) : wp_absent("no latencies were recorded");
}

enum wp_rule_answer wp_rule_rr_retransmits(const struct wp_facts *f, struct wp_finding *ret)
{
	struct wp_num again = wp_facts_count(f, "TcpRetransSegs"), tail = tail_pct(f);
	struct wp_num timeouts = wp_facts_count(f, "TcpExtTCPTimeouts");

	if (f->run->test.protocol && strcmp(f->run->test.protocol, "TCP"))
		return WP_RULE_NO;
	if (wp_num_or(again, 0) < RETRANSMIT_MIN)
		return WP_RULE_NO;
	if (!wp_has(tail))
		return wp_lacks(f, ret, "how the latencies are distributed", tail);
	if (tail.v < TAIL_PCT)
		return WP_RULE_NO;
	wp_evidence(f, ret, NULL, WP_SCOPE_TOTAL, "latency_us.p50", f->run->total.latency_p50_us);
	wp_evidence(f, ret, NULL, WP_SCOPE_TOTAL, "latency_us.p999", f->run->total.latency_p999_us);
	wp_evidence(f, ret, NULL, WP_SCOPE_TOTAL, "latency_us.max", f->run->total.latency_max_us);
	wp_advise(f, ret,
		  "see where packets are dropped, on both ends: tc -s qdisc; ip -s link; nstat");
	return wp_find(
		f, ret, tail.v, "medium",
		"packets are lost: %.0f segments had to be sent again (%.0f after a timeout), and transactions that "
		"took more than ten times the median hold %.0f %% of the time",
		again.v, wp_num_or(timeouts, 0), tail.v);
}

static void lost_evidence(const struct wp_facts *f, struct wp_finding *ret)
{
	for (size_t h = 0; h < f->run->n_hosts; h++) {
		const struct wp_host *host = &f->run->hosts[h];

		for (size_t i = 0; i < host->n_path_counts; i++) {
			const struct wp_count *c = &host->path_counts[i];

			if (strstr(c->name, "drop") || strstr(c->name, "Errors"))
				wp_evidence_count(f, ret, host->role ? host->role : "host", c);
		}
	}
}

enum wp_rule_answer wp_rule_rr_timeouts(const struct wp_facts *f, struct wp_finding *ret)
{
	const struct wp_flow *flow = flow_of(f);
	struct wp_num lost = f->run->total.timeouts, done = f->run->total.transactions;
	struct wp_num patience = f->run->test.response_timeout_s;
	double asked, held, share;

	if (!f->run->test.protocol || strcmp(f->run->test.protocol, "UDP"))
		return WP_RULE_NO;
	if (!wp_has(lost) || !wp_has(done) || !flow)
		return wp_lacks(f, ret, "how many requests got no response",
				wp_has(lost) ? done : lost);
	asked = lost.v + done.v;
	if (lost.v <= 0 || asked <= 0)
		return WP_RULE_NO;
	/* In a closed loop each loss holds one of the requests that may be under way for so long. */
	held = open_loop(f) || f->seconds <= 0
		       ? 0
		       : 100 * lost.v * wp_num_or(patience, 0) / (f->seconds * under_way(f));
	share = 100 * lost.v / asked >= LOST_PCT ? 100 : 100 * lost.v / asked / LOST_PCT * 100;
	share = held > share ? held : share;
	wp_evidence(f, ret, NULL, WP_SCOPE_TOTAL, "timeouts", lost);
	wp_evidence(f, ret, NULL, WP_SCOPE_TOTAL, "transactions", done);
	wp_evidence(f, ret, "test", WP_SCOPE_TEST, "response_timeout_s", patience);
	lost_evidence(f, ret);
	wp_advise(
		f, ret,
		"see where packets are dropped, on both ends: nstat -az | grep -i udp; ip -s link");
	return wp_find(f, ret, share, "high", "%.0f of %.0f requests got no response within %g s%s",
		       lost.v, asked, wp_num_or(patience, 0),
		       held >= WAITS_PCT ? ", and the connections waited for them meanwhile" : "");
}
