/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * end_inside.h - inside of endpoint.h: what endpoint.c makes and runs, and end_result.c turns into the record.
 */
#ifndef WP_OBSERVE_END_INSIDE_H
#define WP_OBSERVE_END_INSIDE_H

#include "load/hog.h"
#include "observe/endpoint.h"
#include "observe/flow_watch.h"
#include "observe/path_watch.h"
#include "observe/sampler.h"
#include "observe/soak.h"
#include "observe/stall_watch.h"

#define SEEN_CPUS 64 /* different CPUs remembered as observed */

struct wp_seen_cpus {
	int cpu[SEEN_CPUS];
	size_t n;
};

struct wp_end {
	const struct wp_plan *plan;
	struct wp_end_spec spec;
	struct wp_load *load;
	struct wp_sampler *sampler;
	struct wp_path_watch *path;     /* UDP; NULL = the other end's address is not known */
	struct wp_stall_watch *stalls;  /* NULL without --stall */
	struct wp_writer_watch *writer; /* of a file; NULL = not its kind */
	struct wp_soak soak;            /* off without --soak */
	struct wp_hogs *hogs;           /* NULL without --hog */
	int64_t hogs_ns;                /* how long they ran */
	struct wp_flow_watch *flows;
	struct wp_interval *rows; /* of the newest tick */
	struct wp_cpu_sample *cpu_rows;
	size_t n_flows; /* as many as streams; of transactions one */
	size_t info_turn, next_probed;
	struct wp_hist
		latency; /* of all transactions so far, read for a row; where the engine keeps it */
	struct wp_hist warm_up[WP_LOAD_HIST_N]; /* what the measured window is to be without */
	bool sends, receives, in_window, stopping, finished;
	int64_t start_ns, window_ns,
		stop_ns; /* window_ns: end of the warm-up; stop_ns: senders end, 0 = never */
	int64_t next_row_ns, next_probe_ns, last_row_ns;
	int64_t tell_ns; /* when the newest row is told: the sampler reads at the same moment and needs a little */
	int64_t stopped_ns; /* the senders were told to end; 0 = not yet */
	int64_t done_ns;    /* every stream was seen to have ended; 0 = not yet */
	struct wp_seen_cpus app_cpus, rx_cpus;
	int *thread_cpu; /* newest of each thread, to count migrations */
	unsigned *migrations;
	int result; /* of finish */
};

/* The counts of a flow's stream, or the sum over its streams. */
void wp_end_count(const struct wp_end *e, size_t flow, struct wp_stream_count *ret);

#endif
