/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flow_watch.h - what one flow did: interval rows from the load's counters, and what is needed for the flow's totals.
 * Used by endpoint.c, one a flow; not thread-safe, all calls come from the thread in wp_end_wait().
 *
 * A flow is one stream of the load, or (request/response) all of its streams together: the caller hands over the counts
 * in a reading. What the counts mean, and what else the kernel knows of the flow, is the business of one of four kinds,
 * chosen by the engine's flags: a TCP stream (tcp_watch.c: packets, windows and round trips from TCP_INFO), datagrams
 * (datagram_watch.c: everything from the load's counters), transactions (transaction_watch.c: counters, and latencies
 * from the load's histogram), a file that is written (write_flow.c). Figures that a kind has not are absent and say why.
 */
#ifndef WP_OBSERVE_FLOW_WATCH_H
#define WP_OBSERVE_FLOW_WATCH_H

#include "load/load.h"
#include "model/series.h"
#include "observe/writer_watch.h"
#include "sys/tcp_info.h"

/* A flow at one moment: cumulative. */
struct wp_flow_reading {
	int64_t now_ns;
	struct wp_stream_count count;  /* of its stream, or the sum over all of them */
	const struct wp_hist *latency; /* of all transactions so far, where the engine keeps it */
};

struct wp_flow_mark {
	int64_t t_ns;
	struct wp_stream_count count;
};

struct wp_tcp_mark {
	struct wp_tcp_info info;
	int64_t info_ns; /* when it was read: before the row's end where rows of many streams take turns */
	bool has_info;
};

struct wp_tcp_watch {
	struct wp_tcp_mark window, last;
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
};

struct wp_transaction_watch {
	struct wp_hist before; /* latencies up to the newest row, later those of this one */
};

struct wp_write_watch {
	struct wp_writer_watch *watch; /* borrowed; the caller sets it before the start */
	struct wp_writer_times last;   /* at the newest row */
};

struct wp_watch_ops;

struct wp_flow_spec {
	const struct wp_plan *plan;          /* borrowed for the life of the watch */
	unsigned caps;                       /* of the engine */
	const struct wp_stream_spec *stream; /* the flow's first; copied */
	size_t n_streams;                    /* of which the flow is the sum */
	size_t rows;                         /* that are kept */
};

struct wp_flow_watch {
	const struct wp_watch_ops *ops;
	const struct wp_plan *plan;
	int fd; /* of the first stream; -1 = it opens its own */
	enum wp_stream_role role;
	size_t n_streams;
	struct wp_series series;
	struct wp_flow_mark window, last; /* after the warm-up, at the newest row */
	int64_t start_ns;
	int incoming_cpu; /* newest, -1 */
	union {
		struct wp_tcp_watch tcp;
		struct wp_transaction_watch transactions;
		struct wp_write_watch writes;
	};
};

/* 0 or -ENOMEM. Packets of a TCP stream count from here. */
int wp_flow_watch_init(struct wp_flow_watch *w, const struct wp_flow_spec *spec) WP_MUST_USE;
/* Takes the first mark: time zero of the rows. */
void wp_flow_watch_start(struct wp_flow_watch *w, const struct wp_flow_reading *first);
/* Closes the row that ends with the reading and returns it. `detailed`: ask the kernel about the socket too (rows of
 * many streams take turns at that). */
struct wp_interval wp_flow_watch_row(struct wp_flow_watch *w, const struct wp_flow_reading *now,
				     bool omitted, bool detailed);
/* The warm-up ends here (just after a row). */
void wp_flow_watch_open_window(struct wp_flow_watch *w);
/* Between rows: is the sender application-limited, what is the round trip, which CPU serves it. */
void wp_flow_watch_probe(struct wp_flow_watch *w);
/* Fills the flow's intervals, its own end's totals and what the kind knows beyond. -ENOMEM. */
int wp_flow_watch_result(struct wp_flow_watch *w, const struct wp_stream_count *count,
			 struct wp_flow *flow, struct wp_pool *pool) WP_MUST_USE;
void wp_flow_watch_done(struct wp_flow_watch *w);

#endif
