/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/totals.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "stats/jain.h"

static struct wp_num add(struct wp_num sum, struct wp_num v)
{
	if (!wp_has(sum) || !wp_has(v))
		return wp_has(sum) ? v : sum;
	return wp_num(sum.v + v.v);
}

static const struct wp_flow_end *end_of(const struct wp_flow *f, bool sent)
{
	return sent ? &f->sent : &f->received;
}

/* Sum of one field of sent{} or received{} over the flows; absent as soon as one lacks it. */
static struct wp_num sum_over(const struct wp_run *run, bool sent, size_t offset)
{
	struct wp_num sum = run->n_flows ? wp_num(0) : wp_absent("no flow was opened");

	for (size_t i = 0; i < run->n_flows; i++)
		sum = add(sum,
			  *(const struct wp_num *)(const void *)((const char *)end_of(
									 &run->flows[i], sent) +
								 offset));
	return sum;
}

static struct wp_num packets_per_s(const struct wp_run *run, bool sent)
{
	struct wp_num sum = run->n_flows ? wp_num(0) : wp_absent("no flow was opened");

	for (size_t i = 0; i < run->n_flows; i++) {
		const struct wp_flow_end *e = end_of(&run->flows[i], sent);

		sum = add(sum, wp_num_ratio(e->packets, e->seconds, 1));
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

		sum = add(sum, wp_flow_sender(run, f) == h ? f->sent.bytes : f->received.bytes);
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

/*
 * TCP delivers or retransmits, so the ledger of a stream is of segments: tcpi_data_segs_out of the senders (which counts
 * retransmissions) against tcpi_data_segs_in of the receivers. What is lost on the way is what had to be sent again and
 * did not arrive twice.
 */
static void ledger(struct wp_run *run)
{
	struct wp_ledger *l = &run->ledger;
	struct wp_num difference, retransmits;

	l->sent_packets = sum_over(run, true, offsetof(struct wp_flow_end, all_packets));
	l->delivered_packets = sum_over(run, false, offsetof(struct wp_flow_end, all_packets));
	difference =
		add(l->sent_packets, wp_has(l->delivered_packets) ? wp_num(-l->delivered_packets.v)
								  : l->delivered_packets);
	retransmits = sum_over(run, true, offsetof(struct wp_flow_end, all_retransmits));
	if (!wp_has(retransmits) || !wp_has(difference)) {
		l->unexplained_packets = wp_has(difference) ? retransmits : difference;
		return;
	}
	l->stages = wp_pool_calloc(&run->pool, 1, sizeof(*l->stages));
	if (!l->stages)
		return;
	/* At most as many as were sent again can have been lost on the way. */
	l->stages[0] = (struct wp_stage) {
		.stage = "retransmitted",
		.host = "sender",
		.source = "TCP_INFO tcpi_total_retrans",
		.packets = wp_num(difference.v < 0               ? 0
				  : difference.v < retransmits.v ? difference.v
								 : retransmits.v),
	};
	l->n_stages = 1;
	l->unexplained_packets = wp_num(difference.v - l->stages[0].packets.v);
}

void wp_run_totals(struct wp_run *run)
{
	struct wp_total *t = &run->total;

	t->sent_bytes = sum_over(run, true, offsetof(struct wp_flow_end, bytes));
	t->received_bytes = sum_over(run, false, offsetof(struct wp_flow_end, bytes));
	t->sent_bps = sum_over(run, true, offsetof(struct wp_flow_end, bits_per_second));
	t->received_bps = sum_over(run, false, offsetof(struct wp_flow_end, bits_per_second));
	t->retransmits = sum_over(run, true, offsetof(struct wp_flow_end, retransmits));
	t->sent_packets_per_s = packets_per_s(run, true);
	t->received_packets_per_s = packets_per_s(run, false);
	t->transactions_per_s = wp_absent("not a request/response test");
	t->latency_min_us = t->latency_p50_us = t->latency_p90_us = t->latency_p99_us =
		t->latency_p999_us = t->latency_p9999_us = t->latency_max_us = t->latency_mean_us =
			wp_absent("not a request/response test");
	t->fairness_jain = fairness(run);
	costs(run);
	ledger(run);
}
