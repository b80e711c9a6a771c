/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * thread_meter.h - what one thread costs: CPU time, time it waited for a CPU, where it ran.
 *
 * The metered thread calls start and stop on itself; any thread reads between and after, under a lock
 * of the caller's (the readings use kept-open files of /proc/thread-self and disturb nobody). CPU time
 * is the thread's CPU clock, which is exact to the moment; run delay is the second number of
 * /proc/<pid>/task/<tid>/schedstat; the last CPU is field 39 of .../stat (proc(5)).
 */
#ifndef WP_LOAD_THREAD_METER_H
#define WP_LOAD_THREAD_METER_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "model/record.h"

struct wp_thread_meter {
	int stat_fd, schedstat_fd; /* owned; -1 where /proc lacks them */
	clockid_t clock;
	bool running, ended;
	int64_t start_ns, end_ns;
	int64_t start_cpu_ns, end_cpu_ns;
	int64_t start_delay_ns, end_delay_ns; /* -1 unknown */
	int64_t voluntary, involuntary;
	int last_cpu; /* -1 unknown */
	unsigned migrations;
};

void wp_thread_meter_init(struct wp_thread_meter *m);
/* Called by the thread to be metered; start again moves the beginning. */
void wp_thread_meter_start(struct wp_thread_meter *m);
void wp_thread_meter_stop(struct wp_thread_meter *m);
/* CPU the thread runs on or last ran on, -1 unknown; counts a migration when it has changed. */
int wp_thread_meter_cpu(struct wp_thread_meter *m);
/* Everything of `ret` but name and asked_cpu. */
void wp_thread_meter_read(struct wp_thread_meter *m, struct wp_thread_use *ret);
void wp_thread_meter_done(struct wp_thread_meter *m);

/* Pure parsers; -EINVAL. */
int wp_parse_stat_cpu(const char *text, int *ret);
int wp_parse_schedstat_delay(const char *text, int64_t *ret_ns);

#endif
