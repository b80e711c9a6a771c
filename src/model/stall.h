/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stall.h - part of the run record: when progress stopped although data waited (--stall), as each end saw it
 * (hosts[].stalls[], struct wp_stall_view) and what both views together say (stalls[], struct wp_stall).
 *
 * A view holds the figures of the time in which nothing moved, the kernel's counters in short readings before, during
 * and after it, and every interrupt line and softirq that worked around that time, CPU by CPU, as rates before, during
 * and after. Times are seconds from the start of the test at that end and exact to grain_s: progress stopped not more
 * than so much before start_s, and was back not more than so much before start_s + length_s.
 */
#ifndef WP_MODEL_STALL_H
#define WP_MODEL_STALL_H

#include <stddef.h>

#include "model/num.h"

/* Later stalls of an end are counted, not described; a run keeps as many of both ends together. */
#define WP_MAX_STALLS         64
#define WP_MAX_STALL_READINGS 40 /* of one stall; neighbours are joined when it goes on */
#define WP_MAX_STALL_LINES    32 /* busiest ones of one stall */
#define WP_STALLS_IN_DETAIL   8  /* the first ones of an end keep readings and lines */

struct wp_stall_reading {
	const char *phase; /* before | during | after */
	struct wp_num start_s, end_s;
	struct wp_num moved_bytes; /* by all streams of this end: acknowledged, received */
	/* The socket of the stream that stood still first, and its thread. */
	struct wp_num unacked, notsent_bytes, snd_wnd_bytes, cwnd_bytes, rto_us, backoff, timeouts,
		probes;
	struct wp_num cpu_pct, run_delay_pct;
	/* The machine. */
	struct wp_num interrupts, net_rx, net_tx, softnet_processed, softnet_dropped,
		softnet_squeezed;
	/* The interface. */
	struct wp_num carrier, carrier_changes, tx_packets, rx_packets, tx_dropped, rx_dropped;
	struct wp_num queued_packets, dequeued_packets, queue_drops, requeues;
};

struct wp_stall_line {
	const char *name; /* "38 eth0-TxRx-1", "NET_RX" */
	struct wp_num cpu, before_per_s, during_per_s, after_per_s;
	struct wp_num device; /* 1 = an interrupt of the interface that the stream uses */
};

struct wp_stall_view {
	const char *
		role; /* sender | receiver: of the stream here; process: this process did not run */
	const char *flow;      /* id of the one that stood still longest; NULL = process */
	const char *ended;     /* progress | stream ended | test ended */
	const char *interface; /* that the stream leaves through; NULL = not known */
	const char *qdisc;     /* at its root */
	const char *
		stuck_queue; /* transmit queue whose watchdog fired, or that kept packets and sent none */
	const char *tcp_state; /* in the end */
	struct wp_num flows;   /* streams that stood still together */
	struct wp_num start_s, length_s, grain_s;
	struct wp_num
		gap_s; /* longest time without a reading: this process did not run, or hardly */
	/* The socket: newest of the stall, but for rto and those that say otherwise. */
	struct wp_num unacked, notsent_bytes, unread_bytes, cwnd_bytes, mss_bytes;
	struct wp_num snd_wnd_bytes, snd_wnd_before_bytes;
	struct wp_num rto_us, rto_before_us;     /* rto_us: largest */
	struct wp_num backoff, timeouts, probes; /* largest */
	struct wp_num retransmits;               /* segments sent again while it stood still */
	struct wp_num
		called_bytes; /* moved by system calls of the program while nothing got through */
	/* Its thread: of the stall's time. */
	struct wp_num cpu_pct, run_delay_pct;
	/* The interface and its root queue, while it stood still. */
	struct wp_num carrier_changes, carrier_down_s;
	struct wp_num tx_packets, rx_packets, tx_dropped, rx_dropped, tx_timeouts;
	struct wp_num least_queued_packets, most_queued_packets, dequeued_packets, queue_drops,
		requeues;
	struct wp_num softnet_dropped, softnet_squeezed;
	struct wp_stall_reading *readings;
	size_t n_readings;
	struct wp_stall_line *lines;
	size_t n_lines;
};

/* What both ends' views of one stall say together. */
struct wp_stall {
	const char *flow;
	const char *seen_by;    /* client | server | both */
	const char *ended;      /* as above */
	const char *cause;      /* carrier_lost, ...: explain/stall.h */
	const char *confidence; /* high | medium | low */
	const char *says;       /* a sentence */
	struct wp_num flows, start_s, length_s;
};

#endif
