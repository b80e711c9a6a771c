/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stall_watch.h - one end's look-out for stalls (--stall): a thread that reads, ten times in the time that makes a
 * stall, how far each stream got, and what the machine did meanwhile (stall_machine.h), and keeps the readings around
 * a time in which a stream stood still (stall_episode.h).
 *
 * Progress is, of a TCP sender, bytes acknowledged; of a receiver, bytes or datagrams that its program took; of a
 * request/response client, transactions. The end that answers requests has none of its own: it can't tell a client that
 * asks nothing from one that is not heard. Where there are many streams their TCP_INFO is read in turns, so a stall of
 * theirs is told a little less exactly.
 *
 * Costs below 1 % of a CPU; where reading the machine's counters is slow they are read less often. The thread stays off
 * the CPUs under test where there are others.
 *
 *	wp_stall_watch_new(&config, &w, &err);   in the streams' network namespace
 *	wp_stall_watch_start(w, zero_ns);
 *	wp_stall_watch_senders_stop(w);          what this end's senders do from now on is no stall
 *	wp_stall_watch_stop(w);
 *	wp_stall_watch_result(w, host, pool);
 *	wp_stall_watch_free(w);                  before the load
 *
 * One thread owns it; wp_stall_watch_senders_stop() may be called by any.
 */
#ifndef WP_OBSERVE_STALL_WATCH_H
#define WP_OBSERVE_STALL_WATCH_H

#include "load/load.h"
#include "model/record.h"

struct wp_stall_watch;

struct wp_stall_watch_config {
	const struct wp_plan *plan; /* stall_ns > 0; borrowed, as all others */
	const struct wp_load *load;
	const struct wp_stream_spec *streams;
	size_t n_streams;
	bool one_flow; /* all streams are flow "1" of the record, else stream i is flow i + 1 */
	const struct wp_cpulist *avoid; /* copied; may be NULL */
};

int wp_stall_watch_new(const struct wp_stall_watch_config *config, struct wp_stall_watch **ret,
		       struct wp_err *err) WP_MUST_USE;
/* zero_ns: of the record's times. */
int wp_stall_watch_start(struct wp_stall_watch *w, int64_t zero_ns) WP_MUST_USE;
void wp_stall_watch_senders_stop(struct wp_stall_watch *w);
void wp_stall_watch_stop(struct wp_stall_watch *w);
/* After stop: host->stalls, stalls_left_out, stall_cpu_pct. */
int wp_stall_watch_result(struct wp_stall_watch *w, struct wp_host *host,
			  struct wp_pool *pool) WP_MUST_USE;
void wp_stall_watch_free(struct wp_stall_watch *w);

/* Time between two looks for a stall of that length: a tenth, from 5 to 100 ms. */
int64_t wp_stall_grain_ns(int64_t stall_ns);

#endif
