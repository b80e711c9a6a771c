/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * transaction_watch.c - request/response: one flow is all connections (or UDP sockets) of a test together. Counts come
 * from the load, summed over its streams; the latencies of a row are what its histogram has gained since the row before.
 * Who asks measures them; who answers counts.
 */
#include <errno.h>
#include <string.h>

#include "observe/watch_ops.h"

static const char MANY[] = "a sum of connections";
static const char NOT_UDP[] = "not with UDP";
static const char CLIENTS_OWN[] = "known to the client";
static const char NO_PACKETS[] = "not counted";
static const char NO_LOSS[] = "TCP loses none";

static bool asks(const struct wp_flow_watch *w)
{
	return w->role == WP_STREAM_SENDS;
}

static const char *no_tcp(const struct wp_flow_watch *w)
{
	return w->plan->transport == WP_UDP ? NOT_UDP : MANY;
}

static int transaction_init(struct wp_flow_watch *w)
{
	return wp_hist_init(&w->transactions.before, WP_RECORD_HIST_BITS, NULL);
}

static void transaction_done(struct wp_flow_watch *w)
{
	wp_hist_done(&w->transactions.before);
}

static struct wp_num quantile_us(const struct wp_hist *h, double q)
{
	uint64_t ns;

	return wp_hist_quantile(h, q, &ns) ? wp_absent("no transaction was completed")
					   : wp_num((double)ns / 1e3);
}

/* The histogram of before becomes that of the row, and then that of now. */
static void put_latency(struct wp_flow_watch *w, const struct wp_hist *now, struct wp_interval *row)
{
	struct wp_hist *h = &w->transactions.before;

	if (!now || wp_hist_difference(now, h, h)) {
		row->latency_p50_us = row->latency_p99_us = row->latency_max_us =
			wp_absent("not measured");
		return;
	}
	row->latency_p50_us = quantile_us(h, .5);
	row->latency_p99_us = quantile_us(h, .99);
	row->latency_max_us = quantile_us(h, 1);
	wp_hist_reset(h);
	(void)!wp_hist_merge(h, now); /* of the same resolution */
}

/* Timeouts: who answers can't know; TCP has none. */
static struct wp_num timeouts(const struct wp_flow_watch *w, uint64_t count)
{
	if (w->plan->transport != WP_UDP)
		return wp_absent(NO_LOSS);
	return asks(w) ? wp_num((double)count) : wp_absent(CLIENTS_OWN);
}

static void transaction_row(struct wp_flow_watch *w, const struct wp_flow_reading *now,
			    bool detailed, struct wp_interval *row)
{
	const struct wp_stream_count *a = &w->last.count, *b = &now->count;

	(void)detailed;
	wp_watch_no_tcp_row(row, no_tcp(w));
	row->packets = row->lost = row->jitter_us = wp_absent(NO_PACKETS);
	row->transactions = wp_num((double)WP_MOVED(a, b, transactions));
	if (w->plan->transport == WP_UDP && asks(w))
		row->timeouts = timeouts(w, WP_MOVED(a, b, timeouts));
	if (asks(w))
		put_latency(w, now->latency, row);
}

static void transaction_end(const struct wp_flow_watch *w, const struct wp_stream_count *count,
			    struct wp_flow_end *end)
{
	const struct wp_stream_count *a = &w->window.count, *b = &w->last.count;

	end->transactions = wp_num((double)WP_MOVED(a, b, transactions));
	end->timeouts = timeouts(w, WP_MOVED(a, b, timeouts));
	/* Counted when the streams end, which may be after the newest row. */
	end->unanswered = asks(w) ? wp_num((double)count->unanswered) : wp_absent(CLIENTS_OWN);
	end->packets = end->all_packets = wp_absent(NO_PACKETS);
	end->lost = end->out_of_order = end->duplicated = end->jitter_us = wp_absent(NO_PACKETS);
	end->retransmits = end->all_retransmits = wp_absent(no_tcp(w));
	end->shortfall_bytes = wp_absent("not paced by bytes");
	end->corrupt_blocks = wp_absent("not checked");
}

static void transaction_flow(struct wp_flow_watch *w, const struct wp_stream_count *count,
			     struct wp_flow *f, struct wp_pool *pool)
{
	char name[16];

	wp_watch_no_tcp_flow(f, no_tcp(w));
	f->role = "both";
	f->connections = wp_num((double)w->n_streams);
	if (w->plan->transport == WP_TCP && asks(w) && w->fd >= 0 &&
	    !wp_tcp_congestion(w->fd, name))
		f->congestion = wp_pool_strdup(pool, name);
	if (count->error)
		f->note = wp_pool_printf(pool, "%s ended with an error: %s",
					 w->n_streams > 1 ? "a connection" : "the connection",
					 strerror(-count->error));
}

const struct wp_watch_ops wp_watch_transactions = {
	.init = transaction_init,
	.row = transaction_row,
	.end = transaction_end,
	.flow = transaction_flow,
	.done = transaction_done,
};
