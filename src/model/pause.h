/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pause.h - part of the run record: the longest stretches in which a writer completed nothing (flows[].pauses[]).
 *
 * The length and what the thread itself spent it on are measured by the thread, exactly. What the machine did meanwhile
 * comes from readings every 10 ms or so (`samples` of them lie within), and so reaches a little beyond both ends. The
 * cause is explain/pause.h's word, made from these figures alone.
 */
#ifndef WP_MODEL_PAUSE_H
#define WP_MODEL_PAUSE_H

#include "model/num.h"

#define WP_MAX_PAUSES 16 /* the longest of a run */

struct wp_pause_view {
	const char *
		what; /* write: between two completed ones | fsync | late: woken after it was due */
	const char *cause; /* one of explain/pause.h; NULL before it was asked */
	const char *says;  /* a sentence */
	struct wp_num start_s, length_us;
	struct wp_num offset_bytes; /* written before */
	struct wp_num cpu;          /* where the thread was afterwards */
	/* The thread: on a CPU, able to run but waiting for one, waiting for room at the other side. */
	struct wp_num run_us, run_delay_us, taker_wait_us;
	struct wp_num voluntary_switches, involuntary_switches;
	struct wp_num samples;
	const char *state;     /* of the thread in most of them: R, S, D, T */
	const char *waited_in; /* kernel function, where it slept; NULL = not readable */
	/* That CPU meanwhile. */
	struct wp_num steal_us, irq_us, softirq_us;
	const char *
		ran_there; /* "stress (pid 7)": the task that had most of that CPU; NULL = none was seen */
	struct wp_num
		ran_there_pct;    /* of the time between the two readings of all tasks around it */
	struct wp_num others_pct; /* all tasks together that were there in the end */
	struct wp_num throttled_us; /* the control group's CPU quota */
	struct wp_num
		unseen_us; /* longest time in which whyperf's own watcher did not run, waiting for a CPU left out */
	/* Whoever reads the other end of the pipe. */
	const char *taker, *taker_state, *taker_waited_in;
	struct wp_num taker_run_pct, taker_delay_pct;
	/* The machine's storage and memory. */
	struct wp_num io_pressure_pct, memory_pressure_pct; /* time with some task stalled */
	struct wp_num dirty_bytes, writeback_bytes;         /* largest */
};

#endif
