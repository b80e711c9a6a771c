/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * explain.h - names what held a run down: every rule of the table (explain/rules.h) reads the record, and the causes
 * are ranked by the share of the limit that each explains.
 *
 * The share is of wall time and means: for so long the path was held by this. A sender that is on its CPU 99 % of the
 * time is held by that CPU; one that waits 51 % of the time for a CPU is held by whoever else runs there, and for the
 * other 49 % by that CPU. Shares of different rules may overlap (a closed window and the slow reader behind it); causes
 * within 10 points of the largest stand in the table's order, and the first says that the next weighs about as much.
 *
 *	wp_explain(&run);                   fills run->findings: at most 3 causes, what is not explained, notes
 *	wp_explain_time(&run, 0, &t);       what the client's time went into
 *
 * All text goes to the run's pool. Nothing is read but the record.
 */
#ifndef WP_EXPLAIN_EXPLAIN_H
#define WP_EXPLAIN_EXPLAIN_H

#include "base/err.h"
#include "model/record.h"

#define WP_EXPLAIN_CAUSES 3
#define WP_EXPLAIN_NOTES  5
#define WP_EXPLAIN_MAX    (1 + WP_EXPLAIN_CAUSES + 1 + WP_EXPLAIN_NOTES)

/* The finding that stands where the causes leave more than a quarter of the time open. */
#define WP_NOT_EXPLAINED "not_explained"

/* Replaces run->findings and run->stalls; 0 or -ENOMEM. A run without flows or that moved nothing gets no finding, but
 * for its stalls (explain/stall.h), which come first. */
int wp_explain(struct wp_run *run) WP_MUST_USE;

/* The wall time of one end's busiest thread, in per cent; the parts add up to 100. Absent where the record does not
 * say. In a test of both directions it is the end's thread as a sender. */
struct wp_end_time {
	bool sends;
	bool answered;               /* requests and responses: it waits for the other end's */
	int cpu;                     /* the CPU that it ran on; -1 = not known or several */
	struct wp_num on_cpu_pct;    /* executing, softirqs on top of it included */
	struct wp_num run_queue_pct; /* able to run, waiting for a CPU */
	struct wp_num window_pct;    /* sender: stopped by the receive window or the send buffer */
	struct wp_num path_pct;      /* sender: stopped by congestion control, pacing or a queue */
	struct wp_num asked_pct;     /* sender: waiting because a rate was asked for */
	struct wp_num
		peer_pct; /* waiting for the other end's data (receiver) or reading (sender) */
	struct wp_num unexplained_pct; /* the rest */
	/* How that CPU's time divides, of wall time; absent where the thread moved between CPUs. */
	struct wp_num user_pct, system_pct, irq_pct, softirq_pct, busy_pct;
};

/* `host`: index into run->hosts. -ENOENT when the record lacks it. */
int wp_explain_time(const struct wp_run *run, size_t host, struct wp_end_time *ret) WP_MUST_USE;
/* "sender 98 % its CPU 0 (user 1, system 70, softirq 27), 2 % not explained", for tables and letters. Truncated where
 * `out` is too small. */
void wp_end_time_format(const struct wp_end_time *t, char *out, size_t size);

#endif
