/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpu_tasks.h - which task had a CPU: readings of every task's run time (schedstat) and of the CPU that it was on last,
 * and the task with the most between two of them.
 *
 * A reading costs about 15 us a task, which cost_ns tells. Of a machine with very many only the first WP_CPU_TASKS_MAX
 * are read. A task that came and went between two readings is not seen; one that moved counts for the CPU where it ended.
 *
 *	wp_cpu_tasks_open(&t, AT_FDCWD or a root fd);
 *	wp_cpu_tasks_read(&t);
 *	...
 *	wp_cpu_tasks_read(&t);
 *	wp_cpu_tasks_most(&t, cpu, own_tid, &task, &pct);
 *	wp_cpu_tasks_done(&t);
 */
#ifndef WP_OBSERVE_CPU_TASKS_H
#define WP_OBSERVE_CPU_TASKS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define WP_CPU_TASKS_MAX 16384

struct wp_task_run {
	int tid, pid;
	int cpu;
	uint64_t run_ns; /* in its life */
	char name[16];
};

struct wp_task_list {
	struct wp_task_run *v; /* owned; ascending by tid */
	size_t n, cap;
	int64_t read_ns; /* CLOCK_MONOTONIC in the middle of the reading; 0 = none */
};

struct wp_cpu_tasks {
	DIR *proc; /* owned; NULL = not there */
	struct wp_task_list now, before;
	int64_t cost_ns; /* CPU time of the newest reading */
};

/* -errno when there is no proc directory. */
int wp_cpu_tasks_open(struct wp_cpu_tasks *t, int root) WP_MUST_USE;
/* The reading before it moves to `before`. -ENOMEM. */
int wp_cpu_tasks_read(struct wp_cpu_tasks *t) WP_MUST_USE;
/* The task other than `not_tid` that ran most between the two readings and was on `cpu` in the end, its run time there in
 * ret->run_ns, and that as a share of the time between them; also that of all such tasks together. False when none ran at all, or there are no two readings. */
bool wp_cpu_tasks_most(const struct wp_cpu_tasks *t, int cpu, int not_tid, struct wp_task_run *ret,
		       double *ret_pct, double *ret_all_pct);
void wp_cpu_tasks_done(struct wp_cpu_tasks *t);

#endif
