/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * interval_table.h - the table that iperf users look at: [ ID] Interval Transfer Bitrate ..., one place for the live
 * display and the report, so that the screen reads as one.
 */
#ifndef WP_REPORT_INTERVAL_TABLE_H
#define WP_REPORT_INTERVAL_TABLE_H

#include "base/cpuset.h"
#include "model/plan.h"
#include "model/record.h"
#include "report/doc.h"

#define WP_INTERVAL_CPUS        4  /* columns for CPUs; beyond, the CPU table has to do */
#define WP_INTERVAL_MAX_STREAMS 16 /* in a direction; beyond, only sums are printed */

enum wp_interval_proto {
	WP_INTERVAL_TCP,
	WP_INTERVAL_UDP,
	WP_INTERVAL_RR,
	WP_INTERVAL_WRITE,
};

/* Which columns there are. */
struct wp_interval_cols {
	enum wp_interval_proto proto;
	bool both; /* both directions: a tag [TX-C], [RX-C] */
	bool sends; /* TCP: some flow is sent by hosts[0]: its TCP state is known; UDP: what senders say */
	bool receives;    /* UDP: what receivers say */
	bool own;         /* UDP: each row is what one end says, while the test runs */
	bool local_drops; /* UDP: a column for what the sender's own host dropped */
	bool timeouts;    /* RR: over UDP */
	bool syncs;       /* WRITE: fsync(2) is called while it runs */
	unsigned digits;  /* of the bounds in seconds */
	size_t n_cpus;
	struct {
		int cpu;
		unsigned host; /* 0: hosts[0]'s machine, 1: the other one */
	} cpus[WP_INTERVAL_CPUS];
};

struct wp_interval_line {
	const char *id;   /* "1", "SUM"; borrowed */
	bool sends;       /* for the tag */
	bool sum;         /* cwnd and RTT are of a flow; blank here */
	bool total;       /* a closing line: only amounts and rate */
	bool at_receiver; /* ... as the receiver counted them */
	struct wp_interval row;
	/* UDP: the same time as the sender and as the receiver saw it; NULL = that end's rows are not known. */
	const struct wp_interval *sent, *received;
	struct wp_num cpu_busy_pct[WP_INTERVAL_CPUS];
	const char *tail;
};

/* Before the run, for the live display: `n_online` CPUs of this machine; `same_machine`: the peer's CPUs are among
 * them. CPUs asked for get a column, else all where they are few. */
void wp_interval_cols_from_plan(const struct wp_plan *plan, size_t n_online, bool same_machine,
				struct wp_interval_cols *ret);
/* From a record: the CPUs that the threads ran on. UDP: both ends' columns. */
void wp_interval_cols_from_run(const struct wp_run *run, struct wp_interval_cols *ret);

/* A record's CPU number as an integer; -1 for what is none. */
static inline int wp_cpu_number(struct wp_num n)
{
	return wp_has(n) && n.v >= 0 && n.v < WP_CPU_MAX ? (int)n.v : -1;
}

struct wp_doc_table *wp_interval_table(struct wp_doc *doc, const struct wp_interval_cols *cols);
void wp_interval_put(struct wp_doc *doc, struct wp_doc_table *table,
		     const struct wp_interval_cols *cols, const struct wp_interval_line *line);
/* Packets a second of a row, and the share of them that was lost on the way there, in per cent. */
struct wp_num wp_interval_pps(const struct wp_interval *row);
struct wp_num wp_interval_lost_pct(const struct wp_interval *row);
struct wp_num wp_interval_tps(const struct wp_interval *row); /* transactions a second */
/* Adds the amounts of `row` to `sum` (whose bounds and warm-up mark are the first row's). What one of them lacks is
 * absent in the sum. `first`: `sum` is empty. */
void wp_interval_add(struct wp_interval *sum, const struct wp_interval *row, bool first);

#endif
