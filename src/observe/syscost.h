/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * syscost.h - what this machine's basic operations cost right now, measured on the calling thread's CPU. These bound
 * every figure that a test can give: a clock that costs 1 us a reading cannot time a 2 us transaction.
 *
 * Each figure is absent with a reason when its measurement did not work. All of wp_syscosts_measure() takes less than
 * WP_SYSCOST_BUDGET_MS on a machine that lets us run.
 */
#ifndef WP_OBSERVE_SYSCOST_H
#define WP_OBSERVE_SYSCOST_H

#include "model/num.h"

#define WP_SYSCOST_BUDGET_MS 300

struct wp_syscosts {
	struct wp_num clock_read_ns;  /* clock_gettime(CLOCK_MONOTONIC), median of batches */
	struct wp_num syscall_ns;     /* getppid(2) by syscall(2), median of batches */
	struct wp_num timer_slack_ns; /* PR_GET_TIMERSLACK */
	/* clock_nanosleep(2) to an absolute time 1 ms ahead: how late this thread ran again */
	struct wp_num wakeup_p50_us, wakeup_p99_us;
	/* Of a loop that only reads the clock: share of time, and longest piece, in which something else ran on
	 * this CPU (interrupts, other tasks, the hypervisor); pieces below 5 us are not counted. */
	struct wp_num taken_pct, taken_longest_us;
};

void wp_syscosts_measure(struct wp_syscosts *ret);
/* Only the clock: about 2 ms. */
struct wp_num wp_clock_read_cost_ns(void);

#endif
