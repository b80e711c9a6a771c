/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * with.h - a run with a request/response test beside it, which first ran alone: latency under load (`--with rr`).
 *
 * The request/response test has its own control connection and session on the same server and its own thread here. It
 * is an open loop of a few hundred requests a second, each counted from when it was due, so it neither loads the path
 * nor waits politely while the path is stuck. It begins with the load, leaves out the load's warm-up (-O) and at least
 * the first 100 ms (a tenth of a shorter run), and is ended when this end's part of the load is over.
 *
 * Where the load is pinned, the request/response threads are pinned to the CPUs that it does not use (on one machine:
 * that neither end uses); where there are none left, or the load is not pinned, the scheduler places them. The
 * histograms' notes say where they ran.
 *
 * Its failure costs a warning in the load's record, never the load. What was found is in total.{idle,loaded,added...}
 * and in the histograms latency_idle and latency_loaded of hosts[0] (run/latency.h).
 */
#ifndef WP_RUN_WITH_H
#define WP_RUN_WITH_H

#include "run/run.h"

#define WP_WITH_RATE_MHZ \
	UINT64_C(200000) /* 200 requests a second: 1 packet in 5 ms, 2,000 values in 10 s */

struct wp_with {
	const struct wp_engine *engine; /* rr */
	enum wp_transport transport;
	uint64_t rate_mhz;
	int64_t idle_ns; /* alone, before the load; 0 = not at all */
	/* Called before the requests run alone, with NULL, and after with their record. May be NULL. */
	void (*on_idle)(void *arg, const struct wp_run *idle);
	void *arg;
};

/* How long to measure without load when nobody said: 3 s, a third of a shorter run, at least 0.5 s. */
int64_t wp_with_idle_ns(const struct wp_plan *load);

/* The plan of the request/response test beside `load`: what the two share is borrowed. For a check beforehand. */
void wp_with_plan(const struct wp_with *with, const struct wp_plan *load, struct wp_plan *ret);

/* As wp_run_execute(), whose hooks are called as ever. */
int wp_run_with(const struct wp_run_config *config, const struct wp_with *with, struct wp_run *run,
		struct wp_err *err) WP_MUST_USE;

#endif
