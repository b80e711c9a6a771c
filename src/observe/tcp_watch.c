/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tcp_watch.c - a TCP stream: packets, retransmits, windows and round trips come from TCP_INFO; shares of time (busy,
 * rwnd limited, sndbuf limited) are deltas of its cumulative microseconds.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>

#include "observe/watch_ops.h"

static const char SENDERS_OWN[] = "known to the sender";
static const char NO_INFO[] = "TCP_INFO could not be read";
static const char NOT_THIS_ROW[] = "rows of many streams take turns";
static const char OLD_KERNEL[] = "this kernel's TCP_INFO has no such field";
static const char NOT_TCP[] = "not counted by TCP";

static bool sends(const struct wp_flow_watch *w)
{
	return w->role == WP_STREAM_SENDS;
}

static void count_segments(struct wp_flow_watch *w, const struct wp_tcp_info *info)
{
	uint32_t segments = sends(w) ? info->data_segs_out : info->data_segs_in;
	struct wp_tcp_watch *x = &w->tcp;

	x->segments += segments - x->seen_segments;
	x->retransmits += info->total_retrans - x->seen_retransmits;
	x->seen_segments = segments;
	x->seen_retransmits = info->total_retrans;
}

static int tcp_init(struct wp_flow_watch *w)
{
	struct wp_tcp_info info;

	/* Segments count from here: the other end may start, and its first data arrive, before we do. */
	if (!wp_tcp_info_read(w->fd, &info)) {
		count_segments(w, &info);
		w->tcp.segments = w->tcp.retransmits = 0;
	}
	return 0;
}

static struct wp_tcp_mark mark(struct wp_flow_watch *w, int64_t now_ns, bool with_info)
{
	struct wp_tcp_mark m = { .info_ns = now_ns };

	m.has_info = with_info && !wp_tcp_info_read(w->fd, &m.info);
	if (m.has_info)
		count_segments(w, &m.info);
	return m;
}

static void tcp_start(struct wp_flow_watch *w, const struct wp_flow_reading *first)
{
	w->tcp.window = w->tcp.last = mark(w, first->now_ns, true);
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
static void put_probed(const struct wp_tcp_watch *x, const struct wp_tcp_info *now,
		       struct wp_interval *row)
{
	if (!x->row_probes)
		return;
	if (x->probed.has_segments)
		row->notsent_bytes = wp_num(x->row_notsent_bytes / x->row_probes);
	if (now->state == TCP_ESTABLISHED)
		return;
	row->unacked = wp_num(x->probed.unacked);
	if (x->probed.has_delivery)
		row->app_limited = wp_num(x->probed.app_limited);
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

static void tcp_row(struct wp_flow_watch *w, const struct wp_flow_reading *r, bool detailed,
		    struct wp_interval *row)
{
	const char *why = detailed ? NO_INFO : NOT_THIS_ROW;
	struct wp_tcp_mark now = mark(w, r->now_ns, detailed);
	struct wp_tcp_watch *x = &w->tcp;

	row->lost = row->jitter_us = wp_absent(NOT_TCP);
	row->packets = wp_absent(why);
	if (!sends(w)) {
		wp_watch_no_tcp_row(row, SENDERS_OWN);
		if (now.has_info && x->last.has_info && now.info.has_segments)
			row->packets = wp_num(now.info.data_segs_in - x->last.info.data_segs_in);
	} else if (now.has_info && x->last.has_info) {
		sender_gauges(&now.info, row);
		put_probed(x, &now.info, row);
		sender_deltas(&x->last.info, &now.info, (double)(r->now_ns - x->last.info_ns) / 1e9,
			      row);
	} else {
		wp_watch_no_tcp_row(row, why);
	}
	/* A row without TCP_INFO leaves the older one as the base of the next delta. */
	if (now.has_info)
		x->last = now;
	x->row_probes = 0;
	x->row_notsent_bytes = 0;
}

static void tcp_open_window(struct wp_flow_watch *w)
{
	w->tcp.window = w->tcp.last;
	w->tcp.window_segments = w->tcp.segments;
	w->tcp.window_retransmits = w->tcp.retransmits;
}

static void tcp_probe(struct wp_flow_watch *w)
{
	struct wp_tcp_watch *x = &w->tcp;
	struct wp_tcp_info info;

	if (wp_tcp_info_read(w->fd, &info))
		return;
	count_segments(w, &info);
	if (!sends(w))
		return;
	x->probes++;
	if (info.state == TCP_ESTABLISHED) {
		x->probed = info;
		x->row_probes++;
		x->row_notsent_bytes += info.notsent_bytes;
	}
	x->app_limited += info.app_limited;
	x->rtt_sum_us += info.rtt_us;
}

/* ---- the result ------------------------------------------------------------------------------- */

static void tcp_end(const struct wp_flow_watch *w, const struct wp_stream_count *count,
		    struct wp_flow_end *end)
{
	const struct wp_tcp_watch *x = &w->tcp;

	end->lost = end->out_of_order = end->duplicated = end->jitter_us = wp_absent(NOT_TCP);
	end->corrupt_blocks = wp_num((double)count->corrupt_blocks);
	end->shortfall_bytes = !sends(w)           ? wp_absent(SENDERS_OWN)
			       : w->plan->rate_bps ? wp_num((double)count->shortfall_bytes)
						   : wp_absent("not paced");
	if (x->last.has_info && x->last.info.has_segments) {
		end->packets = wp_num((double)(x->segments - x->window_segments));
		end->all_packets = wp_num((double)x->segments);
	} else {
		end->packets = end->all_packets =
			wp_absent(x->last.has_info ? OLD_KERNEL : NO_INFO);
	}
	if (sends(w) && x->last.has_info) {
		end->retransmits = wp_num((double)(x->retransmits - x->window_retransmits));
		end->all_retransmits = wp_num((double)x->retransmits);
	} else {
		end->retransmits = end->all_retransmits =
			wp_absent(sends(w) ? NO_INFO : SENDERS_OWN);
	}
}

static void put_limits(const struct wp_flow_watch *w, struct wp_flow *f)
{
	const struct wp_tcp_info *a = &w->tcp.window.info, *b = &w->tcp.last.info;
	double wall_s = (double)(w->last.t_ns - w->window.t_ns) / 1e9;

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

static void put_sender(const struct wp_flow_watch *w, struct wp_flow *f, struct wp_pool *pool)
{
	const struct wp_tcp_info *a = &w->tcp.window.info, *b = &w->tcp.last.info;
	char name[16];

	f->congestion = wp_tcp_congestion(w->fd, name) ? NULL : wp_pool_strdup(pool, name);
	if (!w->tcp.last.has_info) {
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
	put_limits(w, f);
}

static void tcp_flow(struct wp_flow_watch *w, const struct wp_stream_count *count,
		     struct wp_flow *f, struct wp_pool *pool)
{
	const struct wp_tcp_watch *x = &w->tcp;

	if (sends(w))
		put_sender(w, f, pool);
	if (sends(w) && x->probes) {
		f->app_limited_pct = wp_num(100.0 * x->app_limited / x->probes);
		f->mean_rtt_us = wp_num(x->rtt_sum_us / x->probes);
	} else {
		f->app_limited_pct = f->mean_rtt_us =
			wp_absent(sends(w) ? "not sampled" : SENDERS_OWN);
	}
	if (count->zerocopy_sends)
		f->note = wp_pool_printf(pool,
					 "the kernel copied %llu of %llu zero-copy sends after all",
					 (unsigned long long)count->zerocopy_copied,
					 (unsigned long long)count->zerocopy_sends);
	if (count->error)
		f->note = wp_pool_printf(pool, "the connection ended with an error: %s",
					 strerror(-count->error));
}

const struct wp_watch_ops wp_watch_tcp = {
	.init = tcp_init,
	.start = tcp_start,
	.row = tcp_row,
	.open_window = tcp_open_window,
	.probe = tcp_probe,
	.end = tcp_end,
	.flow = tcp_flow,
};
