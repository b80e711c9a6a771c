/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * testkinds.h - for tests: records of datagram and request/response tests, made from those of testrun.h (same machine,
 * CPUs and threads) with the figures that such tests have instead of TCP's.
 */
#ifndef WP_EXPLAIN_TESTKINDS_H
#define WP_EXPLAIN_TESTKINDS_H

#include "explain/testrun.h"

#define TEST_STAGES 4

struct test_udp {
	struct test_run t;
	double target_bps, target_pps, spin;
	double sent, refused, arrived, duplicated, socket_drops, shortfall, rmem_max;
	const char *refused_by;
	struct {
		const char *stage, *host, *source;
		double packets;
	} stages[TEST_STAGES];
	bool no_receiver; /* the other end's figures are missing */
};

struct test_rr {
	struct test_run t;
	const char *wait, *protocol;
	double connections, outstanding, rate_hz, connect, request_bytes;
	double transactions, timeouts; /* in t.seconds */
	double client_sleeps, server_sleeps;
	double p50_us, tail_us,
		tail_n; /* so many of the transactions took tail_us, the rest p50_us */
	double retransmits;
	bool no_threads;
};

/* 64 bytes flat out, sender on CPU 0 and receiver on CPU 1, nothing lost. */
static inline struct test_udp test_udp_base(void)
{
	struct test_udp u = { .t = test_run_base(),
			      .target_bps = NAN,
			      .target_pps = NAN,
			      .spin = 0,
			      .sent = 1.1e6,
			      .arrived = 1.1e6,
			      .shortfall = NAN,
			      .rmem_max = 212992 };

	u.t.rate_bps = 1.1e6 / 2 * 64 * 8;
	u.t.rcvbuf_bytes = 16777216;
	u.t.sndbuf_bytes = 212992;
	u.t.sender.on_cpu = 99;
	u.t.sender.call_bytes = 4096;
	u.t.receiver.on_cpu = 70;
	u.t.cpu[0] = (struct test_cpu) { 99.8, 2, 70, 27, 0, 100, 1.1e6, "saturated" };
	return u;
}

/* One byte each way over TCP, blocking, on two CPUs: 31.8 k/s. */
static inline struct test_rr test_rr_base(void)
{
	struct test_rr r = { .t = test_run_base(),
			     .wait = "auto",
			     .protocol = "TCP",
			     .connections = 1,
			     .outstanding = 1,
			     .rate_hz = NAN,
			     .request_bytes = 1,
			     .transactions = 63600,
			     .client_sleeps = 63600,
			     .server_sleeps = 63600,
			     .p50_us = 30,
			     .tail_us = 40,
			     .tail_n = 600,
			     .retransmits = 0 };

	r.t.rate_bps = 63600 / 2 * 8;
	r.t.sender.on_cpu = 34;
	r.t.receiver.on_cpu = 31;
	r.t.cpu[0] = (struct test_cpu) { 55, 5, 40, 10, 0, 100, 64e3, "ok" };
	r.t.cpu[1] = (struct test_cpu) { 52, 5, 38, 9, 0, 100, 64e3, "ok" };
	return r;
}

static inline void test_no_tcp(struct wp_flow *f)
{
	const struct wp_num none = wp_absent("not with UDP");

	f->congestion = NULL;
	f->mss_bytes = f->busy_pct = f->rwnd_limited_pct = f->sndbuf_limited_pct = none;
	f->app_limited_pct = f->min_rtt_us = f->mean_rtt_us = f->dsacks = none;
	f->sent.retransmits = none;
	for (size_t i = 0; i < f->n_intervals; i++)
		f->intervals[i] = (struct wp_interval) { .omitted = wp_num(0) };
}

static inline void test_udp_make(const struct test_udp *u, struct wp_run *run)
{
	static const char *command[] = { "./whyperf", "udp", "lab",   "-b", "0",
					 "-l",        "64",  "--cpu", "0",  "--peer-cpu=1" };
	struct wp_flow *f;
	double explained = 0;

	test_run_make(&u->t, run);
	run->command = command;
	run->n_command = WP_ARRAY_SIZE(command);
	run->test.kind = "udp";
	run->test.protocol = "UDP";
	run->test.target_bps = test_num(u->target_bps);
	run->test.target_pps = test_num(u->target_pps);
	run->test.spin = test_num(u->spin);
	run->hosts[0].path_device = "wpa";
	run->hosts[1].path_device = "wpb";
	for (int h = 0; h < 2; h++) {
		run->hosts[h].inventory.rmem_max_bytes = wp_num(u->rmem_max);
		run->hosts[h].inventory.netdev_max_backlog = wp_num(1000);
	}
	f = &run->flows[0];
	test_no_tcp(f);
	f->sent.packets = f->sent.all_packets = wp_num(u->sent);
	f->sent.all_send_drops = wp_num(u->refused);
	f->sent.shortfall_packets = test_num(u->shortfall);
	f->sent.bytes = wp_num(u->sent * 64);
	f->received.packets = f->received.all_packets =
		u->no_receiver ? wp_absent("the server is gone") : wp_num(u->arrived);
	f->received.all_duplicated = wp_num(u->duplicated);
	f->received.all_late = wp_num(0);
	f->received.all_socket_drops = wp_num(u->socket_drops);
	run->ledger.stages = wp_pool_calloc(&run->pool, TEST_STAGES, sizeof(struct wp_stage));
	for (size_t i = 0; i < TEST_STAGES && u->stages[i].stage; i++) {
		run->ledger.stages[run->ledger.n_stages++] =
			(struct wp_stage) { u->stages[i].stage, u->stages[i].host,
					    u->stages[i].source, wp_num(u->stages[i].packets) };
		explained += u->stages[i].packets;
	}
	run->ledger.sent_packets = wp_num(u->sent);
	run->ledger.refused_packets = wp_num(u->refused);
	run->ledger.refused_by = u->refused_by;
	run->ledger.unexplained_packets =
		u->no_receiver ? wp_absent("the server is gone")
			       : wp_num(u->sent - u->arrived + u->duplicated - explained);
}

static inline void test_rr_make(const struct test_rr *r, struct wp_run *run)
{
	static const char *command[] = { "./whyperf", "rr", "lab",          "-t", "2",
					 "--cpu",     "0",  "--peer-cpu=1", "-J" };
	struct wp_total *t = &run->total;
	struct wp_histogram *h;
	struct wp_count *count;
	struct wp_hist hist;
	struct wp_flow *f;
	uint64_t slow = (uint64_t)r->tail_n, fast = (uint64_t)(r->transactions - r->tail_n);

	test_run_make(&r->t, run);
	run->command = command;
	run->n_command = WP_ARRAY_SIZE(command);
	run->test.kind = "rr";
	run->test.protocol = r->protocol;
	run->test.wait = r->wait;
	run->test.streams = wp_num(r->connections);
	run->test.outstanding = wp_num(r->outstanding);
	run->test.rate_hz = test_num(r->rate_hz);
	run->test.connect = wp_num(r->connect);
	run->test.request_bytes = run->test.response_bytes = wp_num(r->request_bytes);
	run->test.response_timeout_s = wp_num(1);
	f = &run->flows[0];
	test_no_tcp(f);
	f->role = "both";
	f->sent.transactions = f->received.transactions = wp_num(r->transactions);
	t->transactions = test_num(r->transactions);
	t->timeouts =
		!strcmp(r->protocol, "UDP") ? wp_num(r->timeouts) : wp_absent("TCP loses none");
	t->transactions_per_s = wp_num_ratio(t->transactions, wp_num(r->t.seconds), 1);
	for (int i = 0; i < 2 && run->hosts[i].n_threads; i++)
		run->hosts[i].threads[0].voluntary_switches =
			test_num(i ? r->server_sleeps : r->client_sleeps);
	if (wp_hist_init(&hist, WP_RECORD_HIST_BITS, NULL))
		return;
	wp_hist_add_n(&hist, (uint64_t)(r->p50_us * 1e3), fast);
	wp_hist_add_n(&hist, (uint64_t)(r->tail_us * 1e3), slow);
	h = wp_pool_calloc(&run->pool, 1, sizeof(*h));
	if (!wp_histogram_from(&hist, "latency", h, &run->pool)) {
		run->hosts[0].histograms = h;
		run->hosts[0].n_histograms = 1;
		t->latency_p50_us = h->p50_us;
		t->latency_p99_us = h->p99_us;
		t->latency_p999_us = h->p999_us;
		t->latency_max_us = h->max_us;
	}
	wp_hist_done(&hist);
	if (r->retransmits <= 0)
		return;
	count = wp_pool_calloc(&run->pool, 1, sizeof(*count));
	*count = (struct wp_count) { "TcpRetransSegs", "net/snmp", r->retransmits };
	run->hosts[0].counts = count;
	run->hosts[0].n_counts = 1;
}

#endif
