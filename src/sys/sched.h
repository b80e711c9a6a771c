/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sched.h - what the scheduler says: /proc/PID/task/TID/schedstat (a thread's time on a CPU and
 * waiting for one, in ns; there on every kernel with SCHED_INFO), /proc/PID/task/TID/stat (its last
 * CPU and its ticks), /proc/schedstat (the same per CPU; absent without SCHEDSTATS) and
 * /proc/pressure/NAME.
 *
 * The figures of a running thread move at ticks and switches only: for an exact time of the own
 * thread use CLOCK_THREAD_CPUTIME_ID. A thread's run time includes interrupts and softirqs that ran
 * on top of it, unless the kernel accounts them apart (sys/accounting.h). Sources:
 * Documentation/scheduler/sched-stats.rst, Documentation/accounting/psi.rst, proc(5).
 */
#ifndef WP_SYS_SCHED_H
#define WP_SYS_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct wp_thread_sched {
	uint64_t run_ns;  /* on a CPU */
	uint64_t wait_ns; /* runnable, waiting for one */
	uint64_t slices;  /* times it was put on a CPU */
};

struct wp_thread_stat {
	int tid;
	char name[64]; /* comm; may hold blanks and parentheses */
	char state;
	int parent;                        /* 0 = none or not said */
	int threads;                       /* of its process */
	uint64_t user_ticks, system_ticks; /* USER_HZ */
	int cpu;                           /* where it ran last; -1 on kernels that do not say */
	unsigned policy;                   /* SCHED_* */
};

struct wp_cpu_sched {
	int cpu;
	uint64_t run_ns, wait_ns, slices; /* of all tasks on that CPU */
};

struct wp_schedstat {
	struct wp_cpu_sched *cpu; /* owned */
	size_t n, cap;
};

struct wp_pressure {
	bool has_full; /* "full" of cpu: since 5.13; irq has no "some" */
	bool has_some;
	double some_avg10_pct, full_avg10_pct;
	uint64_t some_us, full_us; /* totals since boot */
};

/* -EBADMSG for text of another form. */
int wp_thread_sched_parse(const char *data, size_t len, struct wp_thread_sched *ret) WP_MUST_USE;
int wp_thread_stat_parse(const char *data, size_t len, struct wp_thread_stat *ret) WP_MUST_USE;
int wp_pressure_parse(const char *data, size_t len, struct wp_pressure *ret) WP_MUST_USE;
/* Versions 14 (2.6.20) and later; -ENOTSUP before. Zeroed before its first use; free with
 * wp_schedstat_done(). */
int wp_schedstat_parse(const char *data, size_t len, struct wp_schedstat *s) WP_MUST_USE;
void wp_schedstat_done(struct wp_schedstat *s);

#endif
