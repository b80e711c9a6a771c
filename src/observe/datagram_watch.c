/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * datagram_watch.c - a stream of UDP datagrams: all of it is what the load counted. A receiver knows what became of them:
 *
 *	lost = expected - (packets - duplicated - late)
 *
 * where `packets` is every arrival. It is a difference of two counters that are read while both grow, and falls again
 * when a late datagram arrives, so that of a row may be negative; all rows together, and the totals, are exact. The
 * totals of the measured window may differ from the sender's by what was on its way when either opened its own; the
 * all_ figures do not. Datagrams below 16 bytes carry no send time, those below 4 no sequence number.
 */
#include <errno.h>
#include <string.h>

#include "observe/watch_ops.h"

#define TIMED_BYTES    16 /* sequence number and send time */
#define NUMBERED_BYTES 4  /* a part of the sequence number, enough to place a datagram */

static const char NOT_UDP[] = "not with UDP";
static const char SENDERS_OWN[] = "known to the sender";
static const char RECEIVERS_OWN[] = "known to the receiver";
static const char NOT_PACED[] = "not paced";
static const char NO_NUMBER[] = "below 4 bytes there is no sequence number";
static const char NO_TIME[] = "below 16 bytes there is no send time";

/* What a span of time, between two readings, says of the datagrams. Fields as in the record. */
struct span {
	struct wp_num packets, lost, out_of_order, duplicated, late, jitter_us, socket_drops,
		send_drops, shortfall_packets;
};

/* Signed: the counters behind it are not read at one moment. */
static double lost(const struct wp_stream_count *a, const struct wp_stream_count *b)
{
	int64_t moved = (int64_t)WP_MOVED(a, b, expected) - (int64_t)WP_MOVED(a, b, packets) +
			(int64_t)WP_MOVED(a, b, duplicated) + (int64_t)WP_MOVED(a, b, late);

	return (double)moved;
}

static struct wp_num moved(uint64_t count)
{
	return wp_num((double)count);
}

static void receiver_span(const struct wp_flow_watch *w, const struct wp_stream_count *a,
			  const struct wp_stream_count *b, struct span *s)
{
	bool numbered = w->plan->length_bytes >= NUMBERED_BYTES;

	s->send_drops = s->shortfall_packets = wp_absent(SENDERS_OWN);
	s->socket_drops = moved(WP_MOVED(a, b, socket_drops));
	s->lost = wp_num(lost(a, b));
	s->out_of_order = numbered ? moved(WP_MOVED(a, b, out_of_order)) : wp_absent(NO_NUMBER);
	s->duplicated = numbered ? moved(WP_MOVED(a, b, duplicated)) : wp_absent(NO_NUMBER);
	s->late = numbered ? moved(WP_MOVED(a, b, late)) : wp_absent(NO_NUMBER);
	s->jitter_us = w->plan->length_bytes >= TIMED_BYTES ? wp_num((double)b->jitter_ns / 1e3)
							    : wp_absent(NO_TIME);
}

static void sender_span(const struct wp_flow_watch *w, const struct wp_stream_count *a,
			const struct wp_stream_count *b, struct span *s)
{
	s->lost = s->out_of_order = s->duplicated = s->late = s->jitter_us = s->socket_drops =
		wp_absent(RECEIVERS_OWN);
	s->send_drops = moved(WP_MOVED(a, b, send_drops));
	s->shortfall_packets =
		w->plan->rate_bps ? moved(WP_MOVED(a, b, shortfall_packets)) : wp_absent(NOT_PACED);
}

static void span_of(const struct wp_flow_watch *w, const struct wp_stream_count *a,
		    const struct wp_stream_count *b, struct span *s)
{
	s->packets = moved(WP_MOVED(a, b, packets));
	if (w->role == WP_STREAM_SENDS)
		sender_span(w, a, b, s);
	else
		receiver_span(w, a, b, s);
}

static void datagram_row(struct wp_flow_watch *w, const struct wp_flow_reading *now, bool detailed,
			 struct wp_interval *row)
{
	struct span s;

	(void)detailed; /* the kernel is not asked */
	span_of(w, &w->last.count, &now->count, &s);
	wp_watch_no_tcp_row(row, NOT_UDP);
	row->packets = s.packets;
	row->lost = s.lost;
	row->jitter_us = s.jitter_us;
	/* What is the other end's to know is left out of rows: there are many. */
	if (w->role == WP_STREAM_SENDS) {
		row->send_drops = s.send_drops;
		row->shortfall_packets = s.shortfall_packets;
		return;
	}
	/* Without numbers, how many were to come is known at the end only. */
	if (w->plan->length_bytes < NUMBERED_BYTES)
		row->lost = wp_absent(NO_NUMBER);
	row->out_of_order = s.out_of_order;
	row->duplicated = s.duplicated;
	row->socket_drops = s.socket_drops;
}

static void datagram_end(const struct wp_flow_watch *w, const struct wp_stream_count *count,
			 struct wp_flow_end *end)
{
	static const struct wp_stream_count none;
	struct span s, all;

	span_of(w, &w->window.count, &w->last.count, &s);
	span_of(w, &none, count, &all);
	end->packets = s.packets;
	end->lost = s.lost;
	end->out_of_order = s.out_of_order;
	end->duplicated = s.duplicated;
	end->late = s.late;
	end->jitter_us = s.jitter_us;
	end->socket_drops = s.socket_drops;
	end->send_drops = s.send_drops;
	end->shortfall_packets = s.shortfall_packets;
	end->shortfall_bytes =
		wp_num_ratio(s.shortfall_packets, wp_num(1), (double)w->plan->length_bytes);
	end->all_packets = all.packets;
	end->all_lost = all.lost;
	end->all_duplicated = all.duplicated;
	end->all_late = all.late;
	end->all_socket_drops = all.socket_drops;
	end->all_send_drops = all.send_drops;
	end->retransmits = end->all_retransmits = wp_absent("UDP sends nothing again");
	end->corrupt_blocks = wp_absent("not checked: UDP has a checksum");
}

static void datagram_flow(struct wp_flow_watch *w, const struct wp_stream_count *count,
			  struct wp_flow *f, struct wp_pool *pool)
{
	wp_watch_no_tcp_flow(f, NOT_UDP);
	if (w->role == WP_STREAM_RECEIVES)
		f->rcvbuf_asked_bytes = wp_num((double)wp_plan_receive_buffer_bytes(w->plan));
	if (count->error)
		f->note = wp_pool_printf(pool, "the stream ended with an error: %s",
					 strerror(-count->error));
}

const struct wp_watch_ops wp_watch_datagrams = {
	.row = datagram_row,
	.end = datagram_end,
	.flow = datagram_flow,
};
