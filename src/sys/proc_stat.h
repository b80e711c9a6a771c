/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proc_stat.h - /proc/stat: what the kernel says each CPU spent its time on, in ticks of USER_HZ.
 *
 * What real files do: the "cpu" line sums the possible CPUs but cpuN lines exist for online CPUs
 * only, with holes, so nothing goes by line number. Kernels write 4 to 10 columns (iowait, irq,
 * softirq 2.6.0; steal 2.6.11; guest 2.6.24; guest_nice 2.6.33); more are accepted and passed over,
 * fewer leave zeros and say so in `columns`. guest time is inside user, guest_nice inside nice.
 * idle and iowait may step back. The intr line has thousands of numbers; only its total is kept,
 * which is a sum of 32-bit counts and may step back as well.
 *
 * The caller owns the struct (zeroed before its first use) and frees with wp_proc_stat_done(); a
 * second parse into the same struct uses its memory again. Source:
 * Documentation/filesystems/proc.rst, fs/proc/stat.c.
 */
#ifndef WP_SYS_PROC_STAT_H
#define WP_SYS_PROC_STAT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum wp_cpu_column {
	WP_CPU_USER,
	WP_CPU_NICE,
	WP_CPU_SYSTEM,
	WP_CPU_IDLE,
	WP_CPU_IOWAIT,
	WP_CPU_IRQ,
	WP_CPU_SOFTIRQ,
	WP_CPU_STEAL,
	WP_CPU_GUEST,
	WP_CPU_GUEST_NICE,
	WP_CPU_COLUMNS,
};
/* The columns that together make up a CPU's time; guest and guest_nice are inside the first two. */
#define WP_CPU_SUMMED 8

struct wp_cpu_ticks {
	int cpu;          /* -1 in `all` */
	unsigned columns; /* how many the kernel wrote, of those known here */
	uint64_t ticks[WP_CPU_COLUMNS];
};

struct wp_proc_stat {
	struct wp_cpu_ticks all;  /* every possible CPU; columns == 0 when the line is missing */
	struct wp_cpu_ticks *cpu; /* owned; online CPUs, ascending */
	size_t n;
	size_t cap;
	uint64_t interrupts; /* total of the intr line */
	uint64_t context_switches;
	uint64_t boot_unix_s; /* moves with clock steps: metadata only */
	uint64_t forks;
	uint64_t running;
	uint64_t blocked;
	uint64_t softirqs; /* total of the softirq line (2.6.31) */
	unsigned has;      /* WP_PROC_STAT_HAS_*: lines that were there */
};

#define WP_PROC_STAT_HAS_INTR     0x01u
#define WP_PROC_STAT_HAS_CTXT     0x02u
#define WP_PROC_STAT_HAS_BTIME    0x04u
#define WP_PROC_STAT_HAS_FORKS    0x08u
#define WP_PROC_STAT_HAS_RUNNING  0x10u
#define WP_PROC_STAT_HAS_BLOCKED  0x20u
#define WP_PROC_STAT_HAS_SOFTIRQS 0x40u

/* -EBADMSG when a cpu line is not what the kernel writes (named in err), -ENODATA when no cpu line
 * is there, -ENOMEM. After a failure the content is unspecified but may be parsed into again. */
int wp_proc_stat_parse(const char *data, size_t len, struct wp_proc_stat *s,
		       struct wp_err *err) WP_MUST_USE;
/* The row of one CPU or NULL. */
const struct wp_cpu_ticks *wp_proc_stat_cpu(const struct wp_proc_stat *s, int cpu);
void wp_proc_stat_done(struct wp_proc_stat *s);

#endif
