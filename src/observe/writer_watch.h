/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * writer_watch.h - a thread that looks at a writing thread every 10 ms: what it did with its time, and what the machine
 * did during its longest pauses.
 *
 * The writer itself tells of its pauses (load/pauses.h) with exact times and what it had used of a CPU. The watch keeps
 * readings of the last 40 s to lay beside them: the thread's state and where in the kernel it sleeps, what its CPU was
 * taken for, storage and memory pressure, the CPU quota, the process that reads the other end, and, when the CPU went to
 * others, who had it (cpu_tasks.h). As soon as a pause is told it is described; the 16 longest are kept.
 *
 *	wp_writer_watch_new(&config, &w, &err);
 *	wp_writer_watch_start(w, start_ns);        the load begins
 *	... wp_writer_watch_times() at any time ...
 *	wp_writer_watch_stop(w);                   the load is over
 *	wp_writer_watch_result(w, flow, pool);
 *	wp_writer_watch_free(w);
 *
 * It looks less often where a look costs more than a hundredth of the time. What it can't read is absent. One thread owns
 * it; only times() and longest_ns() may be called by others meanwhile.
 */
#ifndef WP_OBSERVE_WRITER_WATCH_H
#define WP_OBSERVE_WRITER_WATCH_H

#include <sys/types.h>

#include "load/load.h"
#include "model/record.h"

struct wp_writer_watch;

struct wp_writer_watch_config {
	const struct wp_load *load;     /* of one stream and thread */
	int fd;                         /* that is written: whose other end a process may read */
	const struct wp_cpulist *avoid; /* CPUs under test; may be NULL */
};

/* Cumulative since some moment before the start, nanoseconds; -1 = not known. */
struct wp_writer_times {
	int64_t run_ns;   /* on a CPU */
	int64_t delay_ns; /* able to run, waiting for a CPU, also right now */
	int64_t steal_ns; /* taken by the hypervisor from the CPU that it is on; in ticks */
};

int wp_writer_watch_new(const struct wp_writer_watch_config *config, struct wp_writer_watch **ret,
			struct wp_err *err) WP_MUST_USE;
/* start_ns: zero of the record's times. */
int wp_writer_watch_start(struct wp_writer_watch *w, int64_t start_ns) WP_MUST_USE;
void wp_writer_watch_stop(struct wp_writer_watch *w);
struct wp_writer_times wp_writer_watch_times(struct wp_writer_watch *w);
/* wp_load_longest_ns() of the stream: since the last call. */
int64_t wp_writer_watch_longest_ns(struct wp_writer_watch *w);
/* After stop: fills flow->pauses. -ENOMEM. */
int wp_writer_watch_result(struct wp_writer_watch *w, struct wp_flow *flow,
			   struct wp_pool *pool) WP_MUST_USE;
void wp_writer_watch_free(struct wp_writer_watch *w);

#endif
