/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observe/flow_watch.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>

static const char SENDERS_OWN[] = "known to the sender";
static const char NO_INFO[] = "TCP_INFO could not be read";
static const char NOT_THIS_ROW[] = "rows of many streams take turns";
static const char OLD_KERNEL[] = "this kernel's TCP_INFO has no such field";
static const char NOT_TCP[] = "not counted by TCP";

static void count_segments(struct wp_flow_watch *w, const struct wp_tcp_info *info)
{
	uint32_t segments = w->role == WP_STREAM_SENDS ? info->data_segs_out : info->data_segs_in;

	w->segments += segments - w->seen_segments;
	w->retransmits += info->total_retrans - w->seen_retransmits;
	w->seen_segments = segments;
	w->seen_retransmits = info->total_retrans;
}

int wp_flow_watch_init(struct wp_flow_watch *w, const struct wp_stream_spec *spec, bool paced,
		       size_t rows)
{
	struct wp_tcp_info info;

	memset(w, 0, sizeof(*w));
	w->fd = spec->fd;
	w->role = spec->role;
	w->paced = paced;
	w->incoming_cpu = -1;
	/* Segments count from here: the other end may start, and its first data arrive, before we do. */
	if (!wp_tcp_info_read(w->fd, &info)) {
		count_segments(w, &info);
		w->segments = w->retransmits = 0;
	}
	return wp_series_init(&w->series, rows);
}

void wp_flow_watch_done(struct wp_flow_watch *w)
{
	wp_series_done(&w->series);
}

static struct wp_flow_mark mark(struct wp_flow_watch *w, const struct wp_stream_count *count,
				int64_t now_ns, bool with_info)
{
	struct wp_flow_mark m = {
		.t_ns = now_ns, .bytes = count->bytes, .calls = count->calls, .info_ns = now_ns
	};

	m.has_info = with_info && !wp_tcp_info_read(w->fd, &m.info);
	if (m.has_info)
		count_segments(w, &m.info);
	return m;
}

void wp_flow_watch_start(struct wp_flow_watch *w, const struct wp_stream_count *count,
			 int64_t now_ns)
{
	w->start_ns = now_ns;
	w->window = w->last = mark(w, count, now_ns, true);
}

static struct wp_num share(uint64_t later_us, uint64_t earlier_us, double wall_s)
{
	double pct = later_us >= earlier_us && wall_s > 0
			     ? (double)(later_us - earlier_us) / wall_s / 1e4
			     : 0;

	/* The kernel's clock of these is the jiffy: a full interval may read as a little more than 100 %. */
	return wp_num(pct > 100 ? 100 : pct);
}

/* What TCP_INFO says of the sender's side of a row, or of a whole run. */
static void sender_gauges(const struct wp_tcp_info *i, struct wp_interval *row)
{
	row->cwnd_bytes = wp_num((double)i->snd_cwnd * i->snd_mss_bytes);
	row->rtt_us = wp_num(i->rtt_us);
	row->rttvar_us = wp_num(i->rttvar_us);
	row->unacked = wp_num(i->unacked);
	row->min_rtt_us = i->has_segments ? wp_num(i->min_rtt_us) : wp_absent(OLD_KERNEL);
	row->notsent_bytes = i->has_segments ? wp_num(i->notsent_bytes) : wp_absent(OLD_KERNEL);
	row->delivery_bps =
		i->has_delivery ? wp_num((double)i->delivery_bps) : wp_absent(OLD_KERNEL);
	row->app_limited = i->has_delivery ? wp_num(i->app_limited) : wp_absent(OLD_KERNEL);
	row->snd_wnd_bytes = i->has_snd_wnd ? wp_num(i->snd_wnd_bytes) : wp_absent(OLD_KERNEL);
	if (!i->has_pacing)
		row->pacing_bps = wp_absent(OLD_KERNEL);
	else
		row->pacing_bps = i->pacing_bps == UINT64_MAX ? wp_absent("not paced")
							      : wp_num((double)i->pacing_bps);
}

/*
 * The queue comes and goes: its mean. A sender that has ended has nothing under way any more: the row says how it was
 * while it sent.
 */
static void put_probed(struct wp_flow_watch *w, const struct wp_tcp_info *now,
		       struct wp_interval *row)
{
	if (!w->row_probes)
		return;
	if (w->probed.has_segments)
		row->notsent_bytes = wp_num(w->row_notsent_bytes / w->row_probes);
	if (now->state == TCP_ESTABLISHED)
		return;
	row->unacked = wp_num(w->probed.unacked);
	if (w->probed.has_delivery)
		row->app_limited = wp_num(w->probed.app_limited);
}

static void sender_deltas(const struct wp_tcp_info *a, const struct wp_tcp_info *b, double wall_s,
			  struct wp_interval *row)
{
	row->retransmits = wp_num(b->total_retrans -
				  a->total_retrans); /* u32: the difference survives a wrap */
	row->packets = b->has_segments ? wp_num(b->data_segs_out - a->data_segs_out)
				       : wp_absent(OLD_KERNEL);
	if (!b->has_limits) {
		row->busy_pct = row->rwnd_limited_pct = row->sndbuf_limited_pct =
			wp_absent(OLD_KERNEL);
		return;
	}
	row->busy_pct = share(b->busy_us, a->busy_us, wall_s);
	row->rwnd_limited_pct = share(b->rwnd_limited_us, a->rwnd_limited_us, wall_s);
	row->sndbuf_limited_pct = share(b->sndbuf_limited_us, a->sndbuf_limited_us, wall_s);
}

static void sender_absent(struct wp_interval *row, const char *why)
{
	row->cwnd_bytes = row->rtt_us = row->rttvar_us = row->unacked = row->min_rtt_us =
		wp_absent(why);
	row->notsent_bytes = row->delivery_bps = row->app_limited = row->snd_wnd_bytes =
		wp_absent(why);
	row->pacing_bps = row->retransmits = row->busy_pct = row->rwnd_limited_pct = wp_absent(why);
	row->sndbuf_limited_pct = wp_absent(why);
}

struct wp_interval wp_flow_watch_row(struct wp_flow_watch *w, const struct wp_stream_count *count,
				     int64_t now_ns, bool omitted, bool with_info)
{
	struct wp_flow_mark now = mark(w, count, now_ns, with_info);
	double wall_s = (double)(now_ns - w->last.t_ns) / 1e9;
	struct wp_interval row = {
		.start_s = wp_num((double)(w->last.t_ns - w->start_ns) / 1e9),
		.end_s = wp_num((double)(now_ns - w->start_ns) / 1e9),
		.omitted = wp_num(omitted),
		.bytes = wp_num((double)(now.bytes - w->last.bytes)),
		.lost = wp_absent(NOT_TCP),
		.jitter_us = wp_absent(NOT_TCP),
	};
	const char *why = with_info ? NO_INFO : NOT_THIS_ROW;

	row.bits_per_second =
		wall_s > 0 ? wp_num(row.bytes.v * 8 / wall_s) : wp_absent("empty interval");
	row.packets = wp_absent(why);
	if (w->role == WP_STREAM_RECEIVES) {
		sender_absent(&row, SENDERS_OWN);
		if (now.has_info && w->last.has_info && now.info.has_segments)
			row.packets = wp_num(now.info.data_segs_in - w->last.info.data_segs_in);
	} else if (now.has_info && w->last.has_info) {
		sender_gauges(&now.info, &row);
		put_probed(w, &now.info, &row);
		sender_deltas(&w->last.info, &now.info, (double)(now_ns - w->last.info_ns) / 1e9,
			      &row);
	} else {
		sender_absent(&row, why);
	}
	if (with_info)
		w->incoming_cpu = wp_socket_incoming_cpu(w->fd);
	row.incoming_cpu = w->incoming_cpu >= 0 ? wp_num(w->incoming_cpu)
						: wp_absent("SO_INCOMING_CPU knows none");
	if (!omitted) {
		w->window_bytes += now.bytes - w->last.bytes;
		w->window_calls += now.calls - w->last.calls;
	}
	/* A row without TCP_INFO leaves the older one as the base of the next delta. */
	if (!now.has_info) {
		now.info = w->last.info;
		now.info_ns = w->last.info_ns;
		now.has_info = w->last.has_info;
	}
	w->last = now;
	w->row_probes = 0;
	w->row_notsent_bytes = 0;
	wp_series_add(&w->series, &row);
	return row;
}

void wp_flow_watch_open_window(struct wp_flow_watch *w)
{
	w->window = w->last;
	w->window_segments = w->segments;
	w->window_retransmits = w->retransmits;
}

void wp_flow_watch_probe(struct wp_flow_watch *w)
{
	struct wp_tcp_info info;

	w->incoming_cpu = wp_socket_incoming_cpu(w->fd);
	if (wp_tcp_info_read(w->fd, &info))
		return;
	count_segments(w, &info);
	if (w->role != WP_STREAM_SENDS)
		return;
	w->probes++;
	if (info.state == TCP_ESTABLISHED) {
		w->probed = info;
		w->row_probes++;
		w->row_notsent_bytes += info.notsent_bytes;
	}
	w->app_limited += info.app_limited;
	w->rtt_sum_us += info.rtt_us;
}

/* ---- the result ------------------------------------------------------------------------------- */

static void put_end(const struct wp_flow_watch *w, const struct wp_stream_count *count,
		    struct wp_flow_end *end)
{
	bool sends = w->role == WP_STREAM_SENDS;

	end->bytes = wp_num((double)w->window_bytes);
	end->all_bytes = wp_num((double)count->bytes);
	end->seconds = wp_num((double)(w->last.t_ns - w->window.t_ns) / 1e9);
	end->bits_per_second = wp_num_ratio(end->bytes, end->seconds, 8);
	end->calls = wp_num((double)w->window_calls);
	end->mean_call_bytes = wp_num_ratio(end->bytes, end->calls, 1);
	end->lost = end->out_of_order = end->duplicated = end->jitter_us = wp_absent(NOT_TCP);
	end->corrupt_blocks = wp_num((double)count->corrupt_blocks);
	end->shortfall_bytes = !sends     ? wp_absent(SENDERS_OWN)
			       : w->paced ? wp_num((double)count->shortfall_bytes)
					  : wp_absent("not paced");
	if (w->last.has_info && w->last.info.has_segments) {
		end->packets = wp_num((double)(w->segments - w->window_segments));
		end->all_packets = wp_num((double)w->segments);
	} else {
		end->packets = end->all_packets =
			wp_absent(w->last.has_info ? OLD_KERNEL : NO_INFO);
	}
	if (sends && w->last.has_info) {
		end->retransmits = wp_num((double)(w->retransmits - w->window_retransmits));
		end->all_retransmits = wp_num((double)w->retransmits);
	} else {
		end->retransmits = end->all_retransmits = wp_absent(sends ? NO_INFO : SENDERS_OWN);
	}
}

static void put_sender(const struct wp_flow_watch *w, struct wp_flow *f, struct wp_pool *pool)
{
	const struct wp_tcp_info *a = &w->window.info, *b = &w->last.info;
	double wall_s = (double)(w->last.t_ns - w->window.t_ns) / 1e9;
	uint64_t sndbuf = wp_socket_buffer_bytes(w->fd, true);
	char name[16];

	f->congestion = wp_tcp_congestion(w->fd, name) ? NULL : wp_pool_strdup(pool, name);
	f->sndbuf_bytes =
		sndbuf ? wp_num((double)sndbuf) : wp_absent("SO_SNDBUF could not be read");
	if (!w->last.has_info) {
		f->mss_bytes = f->busy_pct = f->rwnd_limited_pct = f->sndbuf_limited_pct =
			wp_absent(NO_INFO);
		f->min_rtt_us = f->dsacks = f->reordering = wp_absent(NO_INFO);
		return;
	}
	f->mss_bytes = wp_num(b->snd_mss_bytes);
	f->reordering = wp_num(b->reordering);
	f->min_rtt_us = b->has_segments ? wp_num(b->min_rtt_us) : wp_absent(OLD_KERNEL);
	f->dsacks = b->has_retrans_bytes ? wp_num(b->dsack_dups - a->dsack_dups)
					 : wp_absent(OLD_KERNEL);
	if (!b->has_limits) {
		f->busy_pct = f->rwnd_limited_pct = f->sndbuf_limited_pct = wp_absent(OLD_KERNEL);
		return;
	}
	f->busy_pct = share(b->busy_us, a->busy_us, wall_s);
	if (b->busy_us <= a->busy_us) {
		f->rwnd_limited_pct = f->sndbuf_limited_pct = wp_absent("never busy");
		return;
	}
	wall_s = (double)(b->busy_us - a->busy_us) / 1e6; /* these two are shares of busy time */
	f->rwnd_limited_pct = share(b->rwnd_limited_us, a->rwnd_limited_us, wall_s);
	f->sndbuf_limited_pct = share(b->sndbuf_limited_us, a->sndbuf_limited_us, wall_s);
}

static void put_receiver(const struct wp_flow_watch *w, struct wp_flow *f)
{
	uint64_t rcvbuf = wp_socket_buffer_bytes(w->fd, false);

	f->rcvbuf_bytes =
		rcvbuf ? wp_num((double)rcvbuf) : wp_absent("SO_RCVBUF could not be read");
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
		put_sender(w, f, pool);
	else
		put_receiver(w, f);
	if (sends && w->probes) {
		f->app_limited_pct = wp_num(100.0 * w->app_limited / w->probes);
		f->mean_rtt_us = wp_num(w->rtt_sum_us / w->probes);
	} else {
		f->app_limited_pct = f->mean_rtt_us =
			wp_absent(sends ? "not sampled" : SENDERS_OWN);
	}
	if (count->zerocopy_sends)
		f->note = wp_pool_printf(pool,
					 "the kernel copied %llu of %llu zero-copy sends after all",
					 (unsigned long long)count->zerocopy_copied,
					 (unsigned long long)count->zerocopy_sends);
	if (count->error)
		f->note = wp_pool_printf(pool, "the connection ended with an error: %s",
					 strerror(-count->error));
	return put_rows(w, f, pool);
}
