/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/totals.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "run/ledger.h"
#include "run/sums.h"
#include "stats/jain.h"

static const char NO_TRANSACTIONS[] = "not a request/response test";

static struct wp_num packets_per_s(const struct wp_run *run, bool sent)
{
	struct wp_num sum = run->n_flows ? wp_num(0) : wp_absent("no flow was opened");

	for (size_t i = 0; i < run->n_flows; i++) {
		const struct wp_flow_end *e = wp_flow_end(&run->flows[i], sent);

		sum = wp_sum(sum, wp_num_ratio(e->packets, e->seconds, 1));
	}
	return sum;
}

/* Over the receivers' rates, in each direction apart; the smaller of the two. */
static struct wp_num fairness(const struct wp_run *run)
{
	_cleanup_free_ double *rates = calloc(run->n_flows ? run->n_flows : 1, sizeof(double));
	struct wp_num worst = wp_absent("one flow only");

	if (!rates)
		return wp_absent("out of memory");
	for (int direction = 0; direction < 2; direction++) {
		const char *role = direction ? "receiver" : "sender";
		size_t n = 0;

		for (size_t i = 0; i < run->n_flows; i++) {
			const struct wp_flow *f = &run->flows[i];

			if (!f->role || strcmp(f->role, role))
				continue;
			if (!wp_has(f->received.bits_per_second))
				return f->received.bits_per_second;
			rates[n++] = f->received.bits_per_second.v;
		}
		if (n >= 2) {
			double jain;

			if (wp_jain_index(rates, n, &jain))
				return wp_absent("no flow received anything");
			if (!wp_has(worst) || jain < worst.v)
				worst = wp_num(jain);
		}
	}
	return worst;
}

static double busy_us(const struct wp_host *h)
{
	double sum = 0;

	for (size_t i = 0; i < h->n_cpus; i++)
		sum += wp_num_or(h->cpus[i].busy_pct, 0) / 100 * wp_num_or(h->wall_s, 0) * 1e6;
	return sum;
}

/* Bytes that passed this host in either direction in the measured window, which the CPU figures cover too. */
static struct wp_num bytes_of(const struct wp_run *run, const struct wp_host *h)
{
	struct wp_num sum = run->n_flows ? wp_num(0) : wp_absent("no flow was opened");

	for (size_t i = 0; i < run->n_flows; i++) {
		const struct wp_flow *f = &run->flows[i];

		sum = wp_sum(sum, wp_flow_sender(run, f) == h ? f->sent.bytes : f->received.bytes);
	}
	return sum;
}

static void costs(struct wp_run *run)
{
	for (size_t i = 0; i < run->n_hosts; i++) {
		struct wp_host *h = &run->hosts[i];
		struct wp_num bytes = bytes_of(run, h);

		if (!h->n_cpus)
			h->machine_cost_us_per_kb =
				wp_absent("this end's CPUs are not in the record");
		else if (!wp_has(bytes) || bytes.v <= 0)
			h->machine_cost_us_per_kb = wp_absent("no byte was moved");
		else
			h->machine_cost_us_per_kb = wp_num(busy_us(h) / (bytes.v / 1024));
	}
}

/* ---- datagrams -------------------------------------------------------------------------------- */

/* Of each receiver the newest: their mean. */
static struct wp_num mean_jitter(const struct wp_run *run)
{
	struct wp_num sum = wp_sum_over(run, false, offsetof(struct wp_flow_end, jitter_us));

	return wp_num_ratio(sum, wp_num((double)run->n_flows), 1);
}

static void datagrams(struct wp_run *run, struct wp_total *t)
{
	struct wp_num sent = wp_sum_over(run, true, offsetof(struct wp_flow_end, packets));

	t->lost_packets = wp_sum_over(run, false, offsetof(struct wp_flow_end, lost));
	t->lost_pct = wp_num_ratio(t->lost_packets, sent, 100);
	t->out_of_order = wp_sum_over(run, false, offsetof(struct wp_flow_end, out_of_order));
	t->duplicated = wp_sum_over(run, false, offsetof(struct wp_flow_end, duplicated));
	t->jitter_us = mean_jitter(run);
}

/* ---- transactions ----------------------------------------------------------------------------- */

static void no_latency(struct wp_total *t, const char *why)
{
	t->latency_min_us = t->latency_p50_us = t->latency_p90_us = t->latency_p99_us =
		t->latency_p999_us = t->latency_p9999_us = t->latency_max_us = t->latency_mean_us =
			wp_absent(why);
}

/* All of them are in one histogram, of the end that asks: nothing to merge or to average. */
static void latencies(const struct wp_run *run, struct wp_total *t)
{
	const struct wp_histogram *h =
		run->n_hosts ? wp_host_histogram(&run->hosts[0], "latency") : NULL;

	if (!h) {
		no_latency(t, "no transaction was completed");
		return;
	}
	t->latency_min_us = h->min_us;
	t->latency_p50_us = h->p50_us;
	t->latency_p90_us = h->p90_us;
	t->latency_p99_us = h->p99_us;
	t->latency_p999_us = h->p999_us;
	t->latency_p9999_us = h->p9999_us;
	t->latency_max_us = h->max_us;
	t->latency_mean_us = h->mean_us;
}

static void transactions(struct wp_run *run, struct wp_total *t)
{
	const struct wp_flow *f = run->n_flows ? &run->flows[0] : NULL;

	t->transactions = wp_sum_over(run, true, offsetof(struct wp_flow_end, transactions));
	t->timeouts = wp_sum_over(run, true, offsetof(struct wp_flow_end, timeouts));
	t->unanswered = wp_sum_over(run, true, offsetof(struct wp_flow_end, unanswered));
	t->transactions_per_s = f ? wp_num_ratio(t->transactions, f->sent.seconds, 1)
				  : wp_absent("no flow was opened");
	t->fairness_jain = f ? f->connection_fairness : wp_absent("no flow was opened");
	latencies(run, t);
	for (size_t i = 0; i < run->n_hosts; i++) {
		struct wp_host *h = &run->hosts[i];

		if (!h->n_cpus)
			h->machine_cost_us_per_transaction =
				wp_absent("this end's CPUs are not in the record");
		else if (wp_num_or(t->transactions, 0) <= 0)
			h->machine_cost_us_per_transaction =
				wp_absent("no transaction was completed");
		else
			h->machine_cost_us_per_transaction = wp_num(busy_us(h) / t->transactions.v);
	}
}

void wp_run_totals(struct wp_run *run)
{
	struct wp_total *t = &run->total;

	t->sent_bytes = wp_sum_over(run, true, offsetof(struct wp_flow_end, bytes));
	t->received_bytes = wp_sum_over(run, false, offsetof(struct wp_flow_end, bytes));
	t->sent_bps = wp_sum_over(run, true, offsetof(struct wp_flow_end, bits_per_second));
	t->received_bps = wp_sum_over(run, false, offsetof(struct wp_flow_end, bits_per_second));
	t->retransmits = wp_sum_over(run, true, offsetof(struct wp_flow_end, retransmits));
	t->sent_packets_per_s = packets_per_s(run, true);
	t->received_packets_per_s = packets_per_s(run, false);
	t->transactions_per_s = wp_absent(NO_TRANSACTIONS);
	no_latency(t, NO_TRANSACTIONS);
	t->fairness_jain = fairness(run);
	if (wp_run_is(run, "udp"))
		datagrams(run, t);
	if (wp_run_is(run, "rr"))
		transactions(run, t);
	costs(run);
	wp_run_ledger(run);
}
