/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flow_watch.h - what one socket did: interval rows from the load's counters and TCP_INFO, and what is needed for the
 * flow's totals. Used by endpoint.c, one a stream; not thread-safe, all calls come from the thread in wp_end_wait().
 *
 * Bytes are what the application handed over or took; packets, retransmits, windows and round trips come from
 * TCP_INFO; shares of time (busy, rwnd limited, sndbuf limited) are deltas of its cumulative microseconds.
 */
#ifndef WP_OBSERVE_FLOW_WATCH_H
#define WP_OBSERVE_FLOW_WATCH_H

#include "load/load.h"
#include "model/series.h"
#include "sys/tcp_info.h"

struct wp_flow_mark { /* cumulative values at one moment */
	int64_t t_ns;
	uint64_t bytes, calls;
	struct wp_tcp_info info;
	int64_t info_ns; /* when it was read: before t_ns where rows of many streams take turns */
	bool has_info;
};

struct wp_flow_watch {
	int fd;
	enum wp_stream_role role;
	bool paced;
	struct wp_series series;
	struct wp_flow_mark window, last; /* after the warm-up, at the newest row */
	int64_t start_ns;
	uint64_t window_bytes, window_calls; /* moved in the measured window */
	/* The kernel counts segments in 32 bits, which wrap within minutes at 60 Gbit/s: summed up here. */
	uint32_t seen_segments, seen_retransmits;
	uint64_t segments, retransmits, window_segments,
		window_retransmits; /* window_: at its start */
	/* from the probes */
	unsigned probes, app_limited;
	double rtt_sum_us;
	/* of them, those of a sender in this row and before its half-close */
	unsigned row_probes;
	double row_notsent_bytes;  /* sum */
	struct wp_tcp_info probed; /* the newest, if row_probes */
	int incoming_cpu;          /* newest, -1 */
};

int wp_flow_watch_init(struct wp_flow_watch *w, const struct wp_stream_spec *spec, bool paced,
		       size_t rows) WP_MUST_USE;
/* Takes the first mark: time zero of the rows. */
void wp_flow_watch_start(struct wp_flow_watch *w, const struct wp_stream_count *count,
			 int64_t now_ns);
/* Closes the row that ends at now_ns and returns it. `with_info`: read TCP_INFO (else the row goes without). */
struct wp_interval wp_flow_watch_row(struct wp_flow_watch *w, const struct wp_stream_count *count,
				     int64_t now_ns, bool omitted, bool with_info);
/* The warm-up ends here (just after a row). */
void wp_flow_watch_open_window(struct wp_flow_watch *w);
/* Between rows: is the sender application-limited, what is the round trip, which CPU serves it. */
void wp_flow_watch_probe(struct wp_flow_watch *w);
/* Fills the flow's intervals, its own end's totals and the TCP shares. */
int wp_flow_watch_result(struct wp_flow_watch *w, const struct wp_stream_count *count,
			 struct wp_flow *flow, struct wp_pool *pool) WP_MUST_USE;
void wp_flow_watch_done(struct wp_flow_watch *w);

#endif
