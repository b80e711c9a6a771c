/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observe/flow_watch.h"

#include <errno.h>
#include <string.h>

#include "observe/watch_ops.h"

static const struct wp_watch_ops *kind_of(unsigned caps)
{
	if (caps & WP_ENGINE_WRITES)
		return &wp_watch_writes;
	if (caps & WP_ENGINE_TRANSACTIONS)
		return &wp_watch_transactions;
	return caps & WP_ENGINE_DATAGRAMS ? &wp_watch_datagrams : &wp_watch_tcp;
}

int wp_flow_watch_init(struct wp_flow_watch *w, const struct wp_flow_spec *spec)
{
	int r;

	memset(w, 0, sizeof(*w));
	w->ops = kind_of(spec->caps);
	w->plan = spec->plan;
	w->fd = spec->stream->fd;
	w->role = spec->stream->role;
	w->n_streams = spec->n_streams;
	w->incoming_cpu = -1;
	r = wp_series_init(&w->series, spec->rows);
	return !r && w->ops->init ? w->ops->init(w) : r;
}

void wp_flow_watch_done(struct wp_flow_watch *w)
{
	if (w->ops && w->ops->done)
		w->ops->done(w);
	wp_series_done(&w->series);
}

void wp_flow_watch_start(struct wp_flow_watch *w, const struct wp_flow_reading *first)
{
	w->start_ns = first->now_ns;
	w->window = w->last = (struct wp_flow_mark) { first->now_ns, first->count };
	if (w->ops->start)
		w->ops->start(w, first);
}

struct wp_interval wp_flow_watch_row(struct wp_flow_watch *w, const struct wp_flow_reading *now,
				     bool omitted, bool detailed)
{
	double wall_s = (double)(now->now_ns - w->last.t_ns) / 1e9;
	struct wp_interval row = {
		.start_s = wp_num((double)(w->last.t_ns - w->start_ns) / 1e9),
		.end_s = wp_num((double)(now->now_ns - w->start_ns) / 1e9),
		.omitted = wp_num(omitted),
		.bytes = wp_num((double)WP_MOVED(&w->last.count, &now->count, bytes)),
	};

	row.bits_per_second =
		wall_s > 0 ? wp_num(row.bytes.v * 8 / wall_s) : wp_absent("empty interval");
	w->ops->row(w, now, detailed, &row);
	if (detailed && w->fd >= 0)
		w->incoming_cpu = wp_socket_incoming_cpu(w->fd);
	row.incoming_cpu = w->incoming_cpu >= 0 ? wp_num(w->incoming_cpu)
						: wp_absent("SO_INCOMING_CPU knows none");
	w->last = (struct wp_flow_mark) { now->now_ns, now->count };
	wp_series_add(&w->series, &row);
	return row;
}

void wp_flow_watch_open_window(struct wp_flow_watch *w)
{
	w->window = w->last;
	if (w->ops->open_window)
		w->ops->open_window(w);
}

void wp_flow_watch_probe(struct wp_flow_watch *w)
{
	if (w->fd >= 0)
		w->incoming_cpu = wp_socket_incoming_cpu(w->fd);
	if (w->ops->probe)
		w->ops->probe(w);
}

void wp_watch_no_tcp_row(struct wp_interval *row, const char *why)
{
	row->retransmits = row->cwnd_bytes = row->rtt_us = row->rttvar_us = row->min_rtt_us =
		wp_absent(why);
	row->delivery_bps = row->pacing_bps = row->busy_pct = row->rwnd_limited_pct =
		wp_absent(why);
	row->sndbuf_limited_pct = row->unacked = row->notsent_bytes = row->snd_wnd_bytes =
		wp_absent(why);
	row->app_limited = wp_absent(why);
}

void wp_watch_no_tcp_flow(struct wp_flow *f, const char *why)
{
	f->mss_bytes = f->busy_pct = f->rwnd_limited_pct = f->sndbuf_limited_pct = wp_absent(why);
	f->app_limited_pct = f->min_rtt_us = f->mean_rtt_us = f->dsacks = wp_absent(why);
	f->reordering = wp_absent(why);
}

/* ---- the result ------------------------------------------------------------------------------- */

static void put_end(const struct wp_flow_watch *w, const struct wp_stream_count *count,
		    struct wp_flow_end *end)
{
	end->bytes = wp_num((double)WP_MOVED(&w->window.count, &w->last.count, bytes));
	end->all_bytes = wp_num((double)count->bytes);
	end->seconds = wp_num((double)(w->last.t_ns - w->window.t_ns) / 1e9);
	end->bits_per_second = wp_num_ratio(end->bytes, end->seconds, 8);
	end->calls = wp_num((double)WP_MOVED(&w->window.count, &w->last.count, calls));
	end->mean_call_bytes = wp_num_ratio(end->bytes, end->calls, 1);
	w->ops->end(w, count, end);
}

static struct wp_num buffer_bytes(const struct wp_flow_watch *w, bool send)
{
	uint64_t bytes = w->fd >= 0 ? wp_socket_buffer_bytes(w->fd, send) : 0;

	if (bytes)
		return wp_num((double)bytes);
	return wp_absent(send ? "SO_SNDBUF could not be read" : "SO_RCVBUF could not be read");
}

static int put_rows(struct wp_flow_watch *w, struct wp_flow *f, struct wp_pool *pool)
{
	wp_series_finish(&w->series);
	f->intervals = wp_pool_calloc(pool, w->series.n, sizeof(*f->intervals));
	if (w->series.n && !f->intervals)
		return -ENOMEM;
	if (w->series.n)
		memcpy(f->intervals, w->series.rows, w->series.n * sizeof(*f->intervals));
	f->n_intervals = w->series.n;
	f->intervals_folded = wp_num(w->series.folds);
	return 0;
}

int wp_flow_watch_result(struct wp_flow_watch *w, const struct wp_stream_count *count,
			 struct wp_flow *f, struct wp_pool *pool)
{
	bool sends = w->role == WP_STREAM_SENDS;

	if (!f->role)
		f->role = sends ? "sender" : "receiver";
	put_end(w, count, sends ? &f->sent : &f->received);
	if (sends)
		f->sndbuf_bytes = buffer_bytes(w, true);
	else
		f->rcvbuf_bytes = buffer_bytes(w, false);
	w->ops->flow(w, count, f, pool);
	return put_rows(w, f, pool);
}
