/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * write_flow.c - a file that is written: bytes and calls from the load's counters, and what the writing thread did with
 * the time. Running and waiting for a CPU come from the writer's watch (writer_watch.h), waiting for the other side, for
 * the disk in fsync(2) and for the pace from the engine's own clocks. What is left of the time it was asleep in the
 * write call itself, or the hypervisor had its CPU.
 */
#include <string.h>

#include "observe/watch_ops.h"

static const char NOT_A_SOCKET[] = "not a connection";
static const char NOBODY_TELLS[] = "nobody tells how much the other side took";

static struct wp_num share(int64_t from_ns, int64_t to_ns, double wall_s)
{
	double pct = to_ns > from_ns && wall_s > 0 ? (double)(to_ns - from_ns) / wall_s / 1e7 : 0;

	return wp_num(pct > 100 ? 100 : pct);
}

static struct wp_num known_share(int64_t from_ns, int64_t to_ns, double wall_s, const char *why)
{
	return from_ns < 0 || to_ns < 0 ? wp_absent(why) : share(from_ns, to_ns, wall_s);
}

static void write_start(struct wp_flow_watch *w, const struct wp_flow_reading *first)
{
	(void)first;
	w->writes.last = wp_writer_watch_times(w->writes.watch);
	/* What came before is not of the first row. */
	(void)wp_writer_watch_longest_ns(w->writes.watch);
}

static void write_row(struct wp_flow_watch *w, const struct wp_flow_reading *now, bool detailed,
		      struct wp_interval *row)
{
	const struct wp_stream_count *a = &w->last.count, *b = &now->count;
	double wall_s = (double)(now->now_ns - w->last.t_ns) / 1e9;
	struct wp_writer_times t = wp_writer_watch_times(w->writes.watch), *last = &w->writes.last;

	(void)detailed;
	wp_watch_no_tcp_row(row, NOT_A_SOCKET);
	row->packets = row->lost = row->jitter_us = wp_absent(NOT_A_SOCKET);
	row->on_cpu_pct = known_share(last->run_ns, t.run_ns, wall_s, "not measured");
	row->run_delay_pct =
		known_share(last->delay_ns, t.delay_ns, wall_s, "the kernel keeps no schedstat");
	row->steal_pct = known_share(last->steal_ns, t.steal_ns, wall_s, "/proc/stat has no steal");
	row->taker_wait_pct = share(a->taker_ns, b->taker_ns, wall_s);
	row->sync_pct = share(a->sync_ns, b->sync_ns, wall_s);
	row->paced_pct = share(a->pace_ns, b->pace_ns, wall_s);
	row->longest_us = wp_num((double)wp_writer_watch_longest_ns(w->writes.watch) / 1e3);
	*last = t;
}

static void write_end(const struct wp_flow_watch *w, const struct wp_stream_count *count,
		      struct wp_flow_end *end)
{
	const struct wp_stream_count *a = &w->window.count, *b = &w->last.count;
	double wall_s = (double)(w->last.t_ns - w->window.t_ns) / 1e9;

	end->packets = end->all_packets = wp_absent(NOT_A_SOCKET);
	end->retransmits = end->all_retransmits = wp_absent(NOT_A_SOCKET);
	end->lost = end->out_of_order = end->duplicated = end->jitter_us = wp_absent(NOT_A_SOCKET);
	end->corrupt_blocks = wp_absent("not read back");
	end->shortfall_bytes =
		w->plan->rate_bps ? wp_num((double)count->shortfall_bytes) : wp_absent("not paced");
	end->syncs = wp_num((double)WP_MOVED(a, b, syncs));
	end->taker_wait_pct = share(a->taker_ns, b->taker_ns, wall_s);
	end->sync_pct = share(a->sync_ns, b->sync_ns, wall_s);
	end->paced_pct = share(a->pace_ns, b->pace_ns, wall_s);
}

static void write_flow(struct wp_flow_watch *w, const struct wp_stream_count *count,
		       struct wp_flow *f, struct wp_pool *pool)
{
	struct wp_flow_end *r = &f->received;

	(void)w;
	(void)count; /* an error is the run's */
	(void)pool;
	wp_watch_no_tcp_flow(f, NOT_A_SOCKET);
	f->sndbuf_bytes = f->rcvbuf_bytes = wp_absent(NOT_A_SOCKET);
	f->receive_cpu = f->receive_softirq_cpu = wp_absent(NOBODY_TELLS);
	r->bytes = r->packets = r->seconds = r->bits_per_second = wp_absent(NOBODY_TELLS);
	r->retransmits = r->lost = r->out_of_order = r->duplicated = wp_absent(NOT_A_SOCKET);
	r->all_bytes = r->all_packets = r->calls = r->mean_call_bytes = wp_absent(NOBODY_TELLS);
	r->jitter_us = r->all_retransmits = wp_absent(NOT_A_SOCKET);
	r->shortfall_bytes = wp_absent("known to the sender");
	r->corrupt_blocks = wp_absent("not read back");
}

const struct wp_watch_ops wp_watch_writes = {
	.start = write_start,
	.row = write_row,
	.end = write_end,
	.flow = write_flow,
};
