/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * writer_reading.h - inside of writer_watch.h: one look at the writing thread and at the machine, and what the looks that
 * surround a pause say together. The latter is pure.
 *
 * Files are opened once by wp_writer_files_open() and read again and again; what is missing stays at its "not known".
 * What moves slowly or costs more (memory, pressure) is read when asked for, else carried on from the look before.
 */
#ifndef WP_OBSERVE_WRITER_READING_H
#define WP_OBSERVE_WRITER_READING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "load/pauses.h"
#include "model/record.h"
#include "observe/pipe_taker.h"
#include "sys/proc_stat.h"
#include "sys/procfile.h"

/* Cumulative figures are nanoseconds; -1 = not known. */
struct wp_writer_reading {
	int64_t t_ns;
	int64_t unseen_ns; /* since the look before, less what the watch waited for a CPU; 0 = at once */
	/* The thread */
	char state;
	int cpu;
	int64_t run_ns, delay_ns;
	char waited_in[32];
	/* Its CPU: sums of the steps, each of the CPU that it was on */
	int64_t steal_ns, irq_ns, softirq_ns;
	int64_t throttled_ns;
	/* The other end */
	struct wp_taker_state taker; /* state 0 = not looked at */
	/* The machine */
	int64_t io_ns, memory_ns; /* /proc/pressure: some */
	int64_t dirty_bytes, writeback_bytes;
};

struct wp_writer_files {
	struct wp_procfile stat, wchan, cpus, io, memory, meminfo, quota, own_schedstat;
	bool quota_is_v1;
	int64_t tick_ns; /* of /proc/stat */
	struct wp_proc_stat cpu_ticks[2];
	unsigned newest; /* of the two */
	bool has_ticks;
};

/* `thread`: id of a thread of this process. */
void wp_writer_files_open(struct wp_writer_files *f, pid_t thread);
/* By the watching thread itself: its own schedstat. */
void wp_writer_files_open_own(struct wp_writer_files *f);
/* Completes `ret`, which has t_ns, run_ns and delay_ns; `last` is the look before (NULL = none). */
void wp_writer_files_read(struct wp_writer_files *f, const struct wp_writer_reading *last,
			  bool machine_too, struct wp_writer_reading *ret);
/* Nanoseconds that the watching thread has waited for a CPU; -1. */
int64_t wp_writer_files_own_delay(struct wp_writer_files *f);
void wp_writer_files_done(struct wp_writer_files *f);

/*
 * Fills the figures of `ret` from what the writer told and the readings: r[0] is the last look before the pause (or the
 * first that there is), r[n - 1] the first after it, n >= 2. origin_ns: zero of the record's times. Texts go to `pool`;
 * -ENOMEM.
 */
int wp_writer_describe(const struct wp_pause *p, const struct wp_writer_reading *r, size_t n,
		       int64_t origin_ns, struct wp_pause_view *ret,
		       struct wp_pool *pool) WP_MUST_USE;

#endif
