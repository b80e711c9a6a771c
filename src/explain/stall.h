/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stall.h - what stopped the progress: both ends' views of each stall become one, with its most likely cause.
 *
 * Causes are asked in the order below, the ones that are certain first: a carrier that was lost also makes TCP back
 * off, and a process that was stopped closes its window. What no figure explains is said to be so, with what is missing.
 *
 * Reads nothing but the record; all text goes to the run's pool.
 */
#ifndef WP_EXPLAIN_STALL_H
#define WP_EXPLAIN_STALL_H

#include <stdbool.h>

#include "base/err.h"
#include "model/record.h"

/* stalls[].cause */
#define WP_STALL_CARRIER     "carrier_lost"
#define WP_STALL_STOPPED     "process_stopped"
#define WP_STALL_VANISHED    "peer_vanished"
#define WP_STALL_INTERRUPTS  "interrupts_stopped"
#define WP_STALL_QUEUE       "queue_stuck"
#define WP_STALL_WINDOW      "window_closed"
#define WP_STALL_OFF_CPU     "off_cpu"
#define WP_STALL_LOST        "packets_lost"
#define WP_STALL_NO_ANSWER   "no_answer"
#define WP_STALL_UNEXPLAINED "not_explained"

/* What each means and by what it is known, for docs/rules.md; in the order in which they are asked. */
struct wp_stall_cause {
	const char *name, *sign;
};

#define WP_N_STALL_CAUSES 10
extern const struct wp_stall_cause wp_stall_causes[WP_N_STALL_CAUSES];

/* The finding's rule. */
#define WP_RULE_STALLED "stalled"

/* Replaces run->stalls; 0 or -ENOMEM. Nothing happens to a run without --stall. */
int wp_stalls_judge(struct wp_run *run) WP_MUST_USE;
/* One finding about all of run->stalls, led by the longest; false when there are none. */
bool wp_stalls_finding(struct wp_run *run, struct wp_finding *ret);

#endif
