/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * latency.h - what a load does to the round trips of others: a request/response test (rr) ran alone and then beside
 * the load, and its two distributions are set beside each other in the load's record. Pure.
 *
 * added = loaded - idle, of the medians and of the 99 % each. Differences of a few microseconds are noise.
 *
 * RPM, round trips a minute: 60 s over the mean loaded round trip. The idea is from the IETF draft "Responsiveness
 * under Working Conditions" (ippm), which takes HTTPS requests over fresh connections into the mean too; here it is
 * the round trip of one small request on a connection that is open.
 *
 * The grade is of the added median: A+ below 5 ms, A below 30, B below 60, C below 200, D below 400, F above. These
 * are the bounds that tests of access lines made common; they say how calls and games feel, not what a LAN can do.
 */
#ifndef WP_RUN_LATENCY_H
#define WP_RUN_LATENCY_H

#include "model/record.h"

/* Reads the histogram "latency" of hosts[0] of both records of rr tests (NULL, or without one: absent, and
 * `idle_why` or `loaded_why` says why) and writes total.{idle,loaded,added...} and the histograms latency_idle and
 * latency_loaded of hosts[0]. -ENOMEM. */
int wp_run_latency(struct wp_run *run, const struct wp_run *idle, const char *idle_why,
		   const struct wp_run *loaded, const char *loaded_why) WP_MUST_USE;

/* "A+" .. "F" */
const char *wp_latency_grade(double added_us);

#endif
