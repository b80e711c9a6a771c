/* SPDX-License-Identifier: GPL-2.0-or-later */
/* testplanted.h - records with the signatures of planted bottlenecks, as measured on veth between two namespaces, and
 * the rule that must come first. For tests. */
#ifndef WP_EXPLAIN_TESTPLANTED_H
#define WP_EXPLAIN_TESTPLANTED_H

#include "explain/testrun.h"

static inline void sender_full(struct test_run *t)
{
	t->sender.on_cpu = 99.2;
	t->cpu[0] = (struct test_cpu) { 99.8, 0.9, 71.2, 27.7, 0, 100, 80e3, "saturated" };
}

static inline void receiver_full(struct test_run *t)
{
	t->receiver.on_cpu = 99;
	t->cpu[1] = (struct test_cpu) { 99.5, 0.7, 90, 8.8, 0, 100, 20e3, "saturated" };
	t->sender.on_cpu = 62;
	t->busy = 99;
	t->app = 10;
}

static inline void sender_hog(struct test_run *t)
{
	sender_full(t);
	t->rate_bps = 18.1e9;
	t->sender.on_cpu = 49;
	t->sender.delay = 51;
	t->busy = 45;
	t->receiver.on_cpu = 30;
}

static inline void receiver_hog(struct test_run *t)
{
	t->rate_bps = 26e9;
	t->receiver.on_cpu = 50;
	t->receiver.delay = 49.5;
	t->cpu[1].busy = 100;
	t->sender.on_cpu = 52;
	t->busy = 95;
	t->app = 30;
}

static inline void receiver_three_hogs(struct test_run *t)
{
	receiver_hog(t);
	t->rate_bps = 17e9;
	t->receiver.on_cpu = 24;
	t->receiver.delay = 76;
	t->rwnd = 17;
	t->sender.on_cpu = 34;
	t->zero_windows = 184;
}

static inline void cpu_quota(struct test_run *t)
{
	t->rate_bps = 12.1e9;
	t->sender.on_cpu = 40;
	t->sender.delay = 58;
	t->cpu[0].busy = 42;
	t->receiver.on_cpu = 25;
	t->busy = 35;
}

static inline void small_rcvbuf(struct test_run *t)
{
	t->rate_bps = 15.5e9;
	t->window_bytes = 16384;
	t->rcvbuf_bytes = 32768;
	t->rwnd = 100;
	t->busy = 99;
	t->app = 0;
	t->mean_rtt_us = 20;
	t->sender.on_cpu = 55;
	t->receiver.on_cpu = 70;
}

static inline void slow_reader(struct test_run *t)
{
	t->rate_bps = 2.8e9;
	t->rwnd = 99.4;
	t->busy = 99.8;
	t->app = 0;
	t->mean_rtt_us = 3253;
	t->min_rtt_us = 2;
	t->cwnd_packets = 611;
	t->unacked = 74;
	t->notsent = 2.7e6;
	t->zero_windows = 3987;
	t->receiver.on_cpu = 100;
	t->receiver.call_bytes = 512;
	t->sender.on_cpu = 8;
	t->cpu[1] = (struct test_cpu) { 100, 20, 78, 2, 0, 100, 20e3, "saturated" };
}

static inline void sleeping_reader(struct test_run *t)
{
	slow_reader(t);
	t->receiver.on_cpu = 3;
	t->rate_bps = 0.1e9;
	t->mean_rtt_us = 40;
}

static inline void small_sndbuf(struct test_run *t)
{
	t->rate_bps = 14.1e9;
	t->window_bytes = 16384;
	t->sndbuf_bytes = 32768;
	t->busy = 78;
	t->app = 100;
	t->mean_rtt_us = 107;
	t->min_rtt_us = 2;
	t->cwnd_packets = 171;
	t->unacked = 45;
	t->notsent = 0;
	t->sender.on_cpu = 55;
	t->receiver.on_cpu = 60;
}

static inline void small_sndbuf_idle(struct test_run *t)
{
	small_sndbuf(t);
	t->window_bytes = NAN;
	t->busy = 33;
	t->cwnd_packets = 108;
	t->unacked = 5;
	t->sender.on_cpu = 40;
}

static inline void counted_sndbuf(struct test_run *t)
{
	t->sndbuf = 60;
	t->busy = 98;
	t->app = 0;
	t->sender.on_cpu = 5;
	t->rate_bps = 0.8e9;
	t->mean_rtt_us = 40000;
	t->min_rtt_us = 39000;
	t->receiver.on_cpu = 4;
}

static inline void small_writes(struct test_run *t)
{
	sender_full(t);
	t->rate_bps = 0.48e9;
	t->sender.call_bytes = 256;
	t->sender.on_cpu = 100;
	t->receiver.on_cpu = 60;
	t->receiver.call_bytes = 515;
}

static inline void shaper(struct test_run *t)
{
	t->rate_bps = 0.191e9;
	t->busy = 100;
	t->app = 0;
	t->min_rtt_us = 36;
	t->mean_rtt_us = 3100;
	t->packets = 33e3;
	t->retransmits = 46;
	t->cwnd_packets = 163;
	t->unacked = 81;
	t->notsent = 0.6e6;
	t->sender.on_cpu = 2;
	t->receiver.on_cpu = 3;
	t->cpu[0].busy = t->cpu[1].busy = 5;
}

static inline void shaper_bbr(struct test_run *t)
{
	shaper(t);
	t->congestion = "bbr";
	t->mean_rtt_us = 7345;
	t->min_rtt_us = 18;
	t->retransmits = 4305;
}

static inline void shaper_deep(struct test_run *t)
{
	shaper(t);
	t->mean_rtt_us = 6200;
	t->retransmits = 0;
}

static inline void bbr(struct test_run *t)
{
	t->congestion = "bbr";
	t->rate_bps = 5.3e9;
	t->busy = 88;
	t->rwnd = 2;
	t->app = 8;
	t->mean_rtt_us = 436;
	t->cwnd_packets = 776;
	t->unacked = 350;
	t->notsent = 1.1e6;
	t->retransmits = 16000;
	t->dsacks = 15600;
	t->packets = 0.9e6;
	t->sender.on_cpu = 45;
	t->receiver.on_cpu = 40;
	t->cpu[0].busy = 60;
}

static inline void loss_cubic(struct test_run *t)
{
	t->rate_bps = 27e9;
	t->busy = 92;
	t->app = 2;
	t->mean_rtt_us = 117;
	t->min_rtt_us = 2;
	t->cwnd_packets = 172;
	t->unacked = 127;
	t->notsent = 2e6;
	t->retransmits = 14000;
	t->dsacks = 10;
	t->packets = 4.6e6;
	t->sender.on_cpu = 55;
	t->receiver.on_cpu = 60;
}

static inline void loss_bbr(struct test_run *t)
{
	loss_cubic(t);
	t->congestion = "bbr";
	t->rate_bps = 11e9;
	t->packets = 1.9e6;
	t->retransmits = 8800;
	t->dsacks = 5274;
	t->rwnd = 10;
}

static inline void paced(struct test_run *t)
{
	t->rate_bps = 39.9e6;
	t->pacing_bps = 40.0e6;
	t->busy = 100;
	t->app = 0;
	t->mean_rtt_us = 188;
	t->min_rtt_us = 7;
	t->cwnd_packets = 77;
	t->unacked = 1;
	t->notsent = 377e3;
	t->packets = 7e3;
	t->sender.on_cpu = 1;
	t->receiver.on_cpu = 1;
}

static inline void target_rate(struct test_run *t)
{
	t->target_bps = 1e9;
	t->rate_bps = 0.999e9;
	t->busy = 20;
	t->app = 95;
	t->sender.on_cpu = 12;
	t->receiver.on_cpu = 10;
}

static inline void app_slow(struct test_run *t)
{
	t->rate_bps = 16e6;
	t->busy = 3;
	t->app = 100;
	t->mean_rtt_us = 114;
	t->min_rtt_us = 5;
	t->cwnd_packets = 81;
	t->unacked = 0;
	t->notsent = 0;
	t->sender.on_cpu = 2;
	t->receiver.on_cpu = 1;
}

static inline void no_tso(struct test_run *t)
{
	sender_full(t);
	t->rate_bps = 7e9;
	t->cpu[0].processed = 1.3e6;
	t->receiver.on_cpu = 60;
}

static inline void one_cpu(struct test_run *t)
{
	t->receiver.cpu = 0;
	t->sender.on_cpu = 55;
	t->sender.delay = 40;
	t->receiver.on_cpu = 44;
	t->receiver.delay = 38;
	t->cpu[0].busy = 100;
}

/* A machine that others keep busy, both ends on one CPU of it. */
static inline void one_cpu_of_others(struct test_run *t)
{
	t->receiver.cpu = 0;
	t->sender.on_cpu = t->receiver.on_cpu = 20;
	t->sender.delay = t->receiver.delay = 50;
	t->cpu[0] = (struct test_cpu) { 100, 78, 21, 0.5, 0, 100, 1.5e6, "saturated" };
	t->sender.call_bytes = 1048576;
}

static inline void softirq_cpu(struct test_run *t)
{
	t->two_machines = true;
	t->target = "10.0.0.2";
	t->rx_cpu = 2;
	t->cpu[2] = (struct test_cpu) { 97, 0, 4, 92, 0, 100, 500e3, "saturated" };
	t->sender.on_cpu = 40;
	t->receiver.on_cpu = 50;
	t->busy = 99;
	t->app = 10;
	t->mean_rtt_us = 900;
	t->min_rtt_us = 200;
}

static inline void full_window(struct test_run *t)
{
	t->two_machines = true;
	t->target = "10.0.0.2";
	t->rate_bps = 0.2e9;
	t->busy = 100;
	t->app = 0;
	t->min_rtt_us = 40000;
	t->mean_rtt_us = 41000;
	t->cwnd_packets = 700;
	t->unacked = 690;
	t->notsent = 1e6;
	t->sender.on_cpu = 3;
	t->receiver.on_cpu = 3;
	t->cpu[0].busy = t->cpu[1].busy = 5;
}

/* The same on a machine that others keep busy; both ends pinned, as measured. */
static inline void small_rcvbuf_loaded(struct test_run *t)
{
	small_rcvbuf(t);
	t->rate_bps = 6.5e9;
	t->busy = 69;
	t->rwnd = 76;
	t->app = 10;
	t->mean_rtt_us = 40;
	t->sender.on_cpu = 49;
	t->sender.delay = 9;
	t->receiver.on_cpu = 57;
	t->receiver.delay = 11;
	t->cpu[1] = (struct test_cpu) { 100, 10, 52, 38, 0, 100, 20e3, "saturated" };
}

static inline void small_rcvbuf_busy(struct test_run *t)
{
	small_rcvbuf_loaded(t);
	t->busy = 66;
	t->rwnd = 91;
	t->sender.on_cpu = 18;
	t->sender.delay = 23;
	t->receiver.on_cpu = 30;
	t->receiver.delay = 34;
}

static inline void bulk_loaded(struct test_run *t)
{
	t->rate_bps = 36e9;
	t->busy = 77;
	t->rwnd = 1;
	t->app = 29;
	t->mean_rtt_us = 900;
	t->rcvbuf_bytes = 33554432;
	t->sender.on_cpu = 51;
	t->sender.delay = 27;
	t->receiver.on_cpu = 46;
	t->receiver.delay = 27;
	t->cpu[0].busy = t->cpu[1].busy = 100;
}

static inline void receiver_starved(struct test_run *t)
{
	bulk_loaded(t);
	t->busy = 85;
	t->app = 10;
	t->mean_rtt_us = 2500;
	t->sender.on_cpu = 35;
	t->sender.delay = 3;
	t->receiver.on_cpu = 31;
	t->receiver.delay = 68;
}

static inline void small_writes_loaded(struct test_run *t)
{
	t->rate_bps = 0.93e9;
	t->sender.call_bytes = 64;
	t->rcvbuf_bytes = 6e6;
	t->busy = 94;
	t->rwnd = 44;
	t->app = 57;
	t->sender.on_cpu = 70;
	t->sender.delay = 15;
	t->receiver.on_cpu = 64;
	t->receiver.delay = 28;
}

static inline void small_writes_starved(struct test_run *t)
{
	small_writes_loaded(t);
	t->rate_bps = 0.28e9;
	t->rcvbuf_bytes = 0.3e6;
	t->busy = 100;
	t->rwnd = 99;
	t->app = 0;
	t->sender.on_cpu = 17;
	t->sender.delay = 72;
	t->receiver.on_cpu = 17;
	t->receiver.delay = 83;
}

static inline void discard_full(struct test_run *t)
{
	sender_full(t);
	t->receive_method = "discard (MSG_TRUNC)";
	t->receiver.on_cpu = 97;
	t->cpu[1].busy = 99;
}

static inline void small_rcvbuf_discard(struct test_run *t)
{
	small_rcvbuf(t);
	t->receive_method = "discard (MSG_TRUNC)";
	t->receiver.on_cpu = 99;
	t->cpu[1].busy = 100;
}

static inline void target_missed_loaded(struct test_run *t)
{
	t->target_bps = 200e6;
	t->rate_bps = 140e6;
	t->busy = 10;
	t->app = 95;
	t->sender.on_cpu = 7;
	t->sender.delay = 32;
	t->receiver.on_cpu = 5;
	t->receiver.delay = 4;
}

static inline void bbr_full(struct test_run *t)
{
	bbr(t);
	t->rate_bps = 17.7e9;
	t->busy = 99;
	t->app = 0;
	t->sender.on_cpu = 89;
	t->sender.delay = 7;
	t->cpu[0].busy = 99;
}

static inline void loss_loaded(struct test_run *t)
{
	loss_cubic(t);
	t->rate_bps = 3.7e9;
	t->packets = 0.65e6;
	t->retransmits = 6400; /* 0.99 % */
	t->busy = 64;
	t->app = 0;
	t->mean_rtt_us = 2541;
	t->sender.on_cpu = 8;
	t->sender.delay = 38;
	t->receiver.on_cpu = 7;
	t->receiver.delay = 32;
}

static inline void nothing(struct test_run *t)
{
	t->busy = 60;
	t->app = 60;
	t->sender.on_cpu = 70;
	t->receiver.on_cpu = 65;
}

static const struct {
	const char *name;
	void (*change)(struct test_run *t);
	const char *first;
} planted[] = {
	{ "sender's CPU full of copying", sender_full, "sender_cpu" },
	{ "receiver's CPU full", receiver_full, "receiver_cpu" },
	{ "hog on the sender's CPU", sender_hog, "sender_run_queue" },
	{ "hog on the receiver's CPU", receiver_hog, "receiver_run_queue" },
	{ "three hogs on the receiver's CPU", receiver_three_hogs, "receiver_run_queue" },
	{ "CPU quota", cpu_quota, "sender_run_queue" },
	{ "small receive buffer", small_rcvbuf, "receive_window" },
	{ "reader of 512 bytes a call", slow_reader, "slow_reader" },
	{ "reader that sleeps", sleeping_reader, "slow_reader" },
	{ "small send buffer", small_sndbuf, "send_buffer" },
	{ "small send buffer, mostly idle", small_sndbuf_idle, "send_buffer" },
	{ "send buffer counted by the kernel", counted_sndbuf, "send_buffer" },
	{ "writes of 256 bytes", small_writes, "small_writes" },
	{ "tbf 200 Mbit/s, cubic", shaper, "path_queue" },
	{ "tbf 200 Mbit/s, bbr", shaper_bbr, "path_queue" },
	{ "tbf with a deep queue", shaper_deep, "path_queue" },
	{ "bbr without distance", bbr, "congestion_control" },
	{ "0.5 % loss, cubic", loss_cubic, "loss" },
	{ "0.5 % loss, bbr", loss_bbr, "loss" },
	{ "SO_MAX_PACING_RATE", paced, "pacing" },
	{ "-b", target_rate, "target_rate" },
	{ "program that sends 2 MB/s", app_slow, "app_limited" },
	{ "TSO off", no_tso, "segment_offload" },
	{ "both ends on one CPU", one_cpu, "shared_cpu" },
	{ "receive softirqs on a third CPU", softirq_cpu, "softirq_cpu" },
	{ "window full over a distance", full_window, "congestion_window" },
	{ "nothing full", nothing, "not_explained" },
	{ "small receive buffer, some foreign load", small_rcvbuf_loaded, "receive_window" },
	{ "small receive buffer, much foreign load", small_rcvbuf_busy, "receive_window" },
	{ "small receive buffer, receiver polls", small_rcvbuf_discard, "receive_window" },
	{ "bbr, sender's thread full", bbr_full, "congestion_control" },
	{ "loss, foreign load", loss_loaded, "loss" },
	{ "bulk, foreign load", bulk_loaded, "sender_cpu" },
	{ "bulk, receiver starved", receiver_starved, "receiver_run_queue" },
	{ "writes of 64 bytes, foreign load", small_writes_loaded, "small_writes" },
	{ "sender's CPU full, receiver polls", discard_full, "sender_cpu" },
	{ "-b, missed under foreign load", target_missed_loaded, "target_rate" },
};

#endif
