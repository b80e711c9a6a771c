/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * testrun.h - hand-made records for tests: a struct of the figures that rules read, filled with those of an unlimited
 * run (TCP over veth, cubic, sender on CPU 0, receiver on CPU 1), to be changed by a test and made into a record.
 * NAN = absent.
 */
#ifndef WP_EXPLAIN_TESTRUN_H
#define WP_EXPLAIN_TESTRUN_H

#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/record.h"

#define TEST_ROWS 5

struct test_cpu {
	double busy, user, system, softirq, steal, sum, processed;
	const char *trust;
};

struct test_side {
	double cpu, on_cpu, delay, migrations, call_bytes;
};

struct test_run {
	const char *target, *congestion, *direction, *receive_method;
	bool one_host, two_machines, no_threads;
	double target_bps, window_bytes, seconds, rate_bps, mss;
	double busy, rwnd, sndbuf, app, min_rtt_us, mean_rtt_us;
	double sndbuf_bytes, rcvbuf_bytes, packets, retransmits, dsacks;
	double cwnd_packets, unacked, notsent, pacing_bps;
	double rx_cpu, zero_windows, self_pct, clock_ns;
	size_t streams;
	const char *app_to_rx;
	double idle_us, loaded_us; /* medians of requests beside the load */
	struct test_side sender, receiver;
	struct test_cpu cpu[3];
};

static inline struct test_run test_run_base(void)
{
	return (struct test_run) {
		.target = "lab",
		.congestion = "cubic",
		.direction = "forward",
		.receive_method = "read",
		.target_bps = NAN,
		.window_bytes = NAN,
		.seconds = 2,
		.rate_bps = 20e9,
		.mss = 1448,
		.busy = 57,
		.rwnd = 0,
		.sndbuf = 0,
		.app = 85,
		.min_rtt_us = 1,
		.mean_rtt_us = 324,
		.sndbuf_bytes = 4194304,
		.rcvbuf_bytes = 6291456,
		.packets = 3.4e6,
		.retransmits = 0,
		.dsacks = 0,
		.cwnd_packets = 2954,
		.unacked = 485,
		.notsent = 112,
		.pacing_bps = NAN,
		.rx_cpu = 0,
		.zero_windows = NAN,
		.self_pct = 0.1,
		.clock_ns = 30,
		.streams = 1,
		.app_to_rx = "same cache",
		.idle_us = NAN,
		.loaded_us = NAN,
		.sender = { 0, 80, 0.3, 0, 1048576 },
		.receiver = { 1, 70, 0.3, 0, 262144 },
		.cpu = { { 82, 1, 55, 26, 0, 100, 80e3, "ok" },
			 { 72, 1, 62, 9, 0, 100, 20e3, "ok" },
			 { 2, 1, 1, 0, 0, 100, 10, "ok" } },
	};
}

static inline struct wp_num test_num(double v)
{
	return isnan(v) ? wp_absent("not in this test") : wp_num(v);
}

static inline void test_host(struct wp_run *run, int i, const struct test_run *t,
			     const struct test_side *s)
{
	struct wp_host *h = &run->hosts[i];

	h->role = i ? "server" : "client";
	h->name = "vm";
	h->same_machine_as = t->two_machines ? NULL : i ? "client" : "server";
	h->inventory.cpus_online = wp_num(3);
	h->inventory.clock_read_ns = test_num(t->clock_ns);
	h->inventory.clocksource = "kvm-clock";
	h->inventory.tcp_rmem_max_bytes = wp_num(6291456);
	h->self_cpu_pct = test_num(t->self_pct);
	h->sample_interval_s = wp_num(0.1);
	h->app_to_rx = t->app_to_rx;
	h->wall_s = wp_num(t->seconds);
	if (!t->no_threads) {
		h->threads = wp_pool_calloc(&run->pool, 1, sizeof(*h->threads));
		h->n_threads = 1;
		h->threads[0] = (struct wp_thread_use) {
			.name = i ? "receiver" : "sender",
			.last_cpu = test_num(s->cpu),
			.migrations = test_num(s->migrations),
			.cpu_pct = test_num(s->on_cpu),
			.run_delay_pct = test_num(s->delay),
			.involuntary_switches = wp_num(247),
		};
	}
	if (i && !t->two_machines)
		return;
	h->n_cpus = WP_ARRAY_SIZE(t->cpu);
	h->cpus = wp_pool_calloc(&run->pool, h->n_cpus, sizeof(*h->cpus));
	for (size_t c = 0; c < h->n_cpus; c++)
		h->cpus[c] = (struct wp_cpu_use) {
			.cpu = wp_num((double)c),
			.busy_pct = test_num(t->cpu[c].busy),
			.user_pct = test_num(t->cpu[c].user),
			.system_pct = test_num(t->cpu[c].system),
			.irq_pct = wp_num(0),
			.softirq_pct = test_num(t->cpu[c].softirq),
			.steal_pct = test_num(t->cpu[c].steal),
			.sum_pct = test_num(t->cpu[c].sum),
			.trust = t->cpu[c].trust,
			.source = "ticks",
			.net_rx = wp_num(5000),
			.softnet_processed = test_num(t->cpu[c].processed),
			.softnet_squeezed = wp_num(0),
		};
}

static inline struct wp_interval *test_rows(struct wp_run *run, const struct test_run *t)
{
	struct wp_interval *rows = wp_pool_calloc(&run->pool, TEST_ROWS, sizeof(*rows));

	for (size_t i = 0; i < TEST_ROWS; i++)
		rows[i] = (struct wp_interval) {
			.omitted = wp_num(0),
			.cwnd_bytes = test_num(t->cwnd_packets * t->mss),
			.unacked = test_num(t->unacked),
			.notsent_bytes = test_num(t->notsent),
			.pacing_bps = test_num(t->pacing_bps),
			.busy_pct = test_num(t->busy),
			.rwnd_limited_pct = test_num(t->rwnd * t->busy / 100),
			.sndbuf_limited_pct = test_num(t->sndbuf * t->busy / 100),
		};
	return rows;
}

static inline void test_flow(struct wp_run *run, struct wp_flow *f, const struct test_run *t,
			     bool forward)
{
	double n = (double)t->streams;

	f->id = "1";
	f->role = forward ? "sender" : "receiver";
	f->congestion = t->congestion;
	f->mss_bytes = test_num(t->mss);
	f->sndbuf_bytes = test_num(t->sndbuf_bytes);
	f->rcvbuf_bytes = test_num(t->rcvbuf_bytes);
	f->send_cpu = test_num(t->sender.cpu);
	f->receive_cpu = test_num(t->receiver.cpu);
	f->receive_softirq_cpu = test_num(t->rx_cpu);
	f->busy_pct = test_num(t->busy);
	f->rwnd_limited_pct = test_num(t->rwnd);
	f->sndbuf_limited_pct = test_num(t->sndbuf);
	f->app_limited_pct = test_num(t->app);
	f->min_rtt_us = test_num(t->min_rtt_us);
	f->mean_rtt_us = test_num(t->mean_rtt_us);
	f->dsacks = test_num(t->dsacks);
	if (forward) {
		f->intervals = test_rows(run, t);
		f->n_intervals = TEST_ROWS;
	} else {
		f->peer_intervals = test_rows(run, t);
		f->n_peer_intervals = TEST_ROWS;
	}
	f->sent.seconds = f->received.seconds = test_num(t->seconds);
	f->sent.bits_per_second = f->received.bits_per_second = test_num(t->rate_bps / n);
	f->sent.bytes = f->received.bytes = test_num(t->rate_bps / 8 * t->seconds / n);
	f->sent.all_bytes = f->received.all_bytes = f->sent.bytes;
	f->sent.packets = test_num(t->packets / n);
	f->sent.retransmits = test_num(t->retransmits / n);
	f->sent.mean_call_bytes = test_num(t->sender.call_bytes);
	f->received.mean_call_bytes = test_num(t->receiver.call_bytes);
}

/* Free with wp_run_done(). */
static inline void test_run_make(const struct test_run *t, struct wp_run *run)
{
	static const char *command[] = { "./whyperf", "tcp", "lab",          "-t", "2",
					 "--cpu",     "0",   "--peer-cpu=1", "-J" };
	bool both = !strcmp(t->direction, "both"), reverse = !strcmp(t->direction, "reverse");
	struct wp_count *count;

	wp_run_init(run);
	run->id = "00112233445566aa";
	run->command = command;
	run->n_command = WP_ARRAY_SIZE(command);
	run->test.kind = "tcp";
	run->test.target = t->target;
	run->test.direction = t->direction;
	run->test.receive_method = t->receive_method;
	run->test.streams = wp_num((double)t->streams);
	run->test.target_bps = test_num(t->target_bps);
	run->test.window_bytes = test_num(t->window_bytes);
	run->test.with = isnan(t->idle_us) ? NULL : "TCP";
	run->total.idle_p50_us = test_num(t->idle_us);
	run->total.loaded_p50_us = test_num(t->loaded_us);
	run->total.added_latency_us = test_num(t->loaded_us - t->idle_us);
	run->n_hosts = t->one_host ? 1 : 2;
	test_host(run, 0, t, reverse ? &t->receiver : &t->sender);
	test_host(run, 1, t, reverse ? &t->sender : &t->receiver);
	run->n_flows = both ? 2 * t->streams : t->streams;
	run->flows = wp_pool_calloc(&run->pool, run->n_flows, sizeof(*run->flows));
	for (size_t i = 0; i < run->n_flows; i++)
		test_flow(run, &run->flows[i], t, reverse ? false : !both || i % 2 == 0);
	if (isnan(t->zero_windows))
		return;
	count = wp_pool_calloc(&run->pool, 1, sizeof(*count));
	*count = (struct wp_count) { "TcpExtTCPToZeroWindowAdv", "net/netstat", t->zero_windows };
	run->hosts[1].counts = count;
	run->hosts[1].n_counts = 1;
}

#endif
