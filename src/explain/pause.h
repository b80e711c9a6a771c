/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pause.h - what held a writer up: the cause of each of its longest pauses, and the slowest interval explained.
 *
 * A pause has the cause that took at least half of it; the kinds of time are measured and do not overlap much, so order
 * matters only where a process that was stopped looks like one that waits. What none explains is said to be so.
 *
 * Reads nothing but the record; all text goes to the run's pool.
 */
#ifndef WP_EXPLAIN_PAUSE_H
#define WP_EXPLAIN_PAUSE_H

#include <stdbool.h>

#include "base/err.h"
#include "model/record.h"

/* flows[].pauses[].cause */
#define WP_PAUSE_STOPPED     "process_stopped"
#define WP_PAUSE_QUOTA       "cpu_quota"
#define WP_PAUSE_OFF_CPU     "off_cpu"
#define WP_PAUSE_READER      "reader"
#define WP_PAUSE_FSYNC       "fsync"
#define WP_PAUSE_STEAL       "steal"
#define WP_PAUSE_INTERRUPTS  "interrupts"
#define WP_PAUSE_CALL        "write_call"
#define WP_PAUSE_HIDDEN      "hidden"
#define WP_PAUSE_MEMORY      "memory"
#define WP_PAUSE_STORAGE     "storage"
#define WP_PAUSE_ASLEEP      "asleep"
#define WP_PAUSE_UNEXPLAINED "not_explained"

struct wp_pause_cause {
	const char *name, *sign;
};

/* What each means and by what it is known, for docs/rules.md; in the order in which they are asked. */
#define WP_N_PAUSE_CAUSES 13
extern const struct wp_pause_cause wp_pause_causes[WP_N_PAUSE_CAUSES];

#define WP_RULE_SLOW_INTERVAL "slowest_interval"
#define WP_RULE_LONGEST_PAUSE "longest_pause"

/* Fills cause and says of every pause; 0 or -ENOMEM. */
int wp_pauses_judge(struct wp_run *run) WP_MUST_USE;
/* Of a write: the slowest interval where one stands out from the rest, else the longest pause where it was long; false
 * where neither is worth a word. Its share is the part of the run's time that it took. */
bool wp_pauses_finding(struct wp_run *run, struct wp_finding *ret);

#endif
