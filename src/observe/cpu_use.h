/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpu_use.h - what each CPU did between two readings, and how far the kernel's word about it can be believed.
 *
 * A span (struct wp_cpu_span) holds the differences of a stretch of time; spans of neighbouring stretches add up, and
 * adding at every sample is also what keeps 32-bit counters from wrapping twice unseen. Differences are divided by the
 * time between the two reads of the same file, never by the sum of the columns: on kernels with tick accounting
 * interrupt work taken from idle is in no column, or in two.
 *
 *   busy = wall - idle - iowait         right within a few points even there, because idle is a stopwatch
 *   sum  = user + nice + system + idle + iowait + irq + softirq + steal, over wall
 *
 * Trust: `hidden` sum falls short of the wall time by more than 3 % + 2 ticks (time in no column), `doubled` it exceeds
 * it by as much, `saturated` the sum is right and the CPU was never idle (then ticks divide the time rightly), `ok` the
 * sum is right, `absent` no figures or none to believe. user includes nice; guest is inside both. A CPU that came or went
 * meanwhile, or whose columns stepped back, has invalid percentages, never negative ones.
 *
 * The caller owns a span (zeroed before its first use) and frees with wp_cpu_span_done(). Source of the rules: measured;
 * the kernel's own account of the fault is in its "tick/sched: Unify idle cputime accounting".
 */
#ifndef WP_OBSERVE_CPU_USE_H
#define WP_OBSERVE_CPU_USE_H

#include "model/record.h"
#include "observe/snapshot.h"

enum wp_softirq {
	WP_SOFTIRQ_HI,
	WP_SOFTIRQ_TIMER,
	WP_SOFTIRQ_NET_TX,
	WP_SOFTIRQ_NET_RX,
	WP_SOFTIRQ_BLOCK, /* with IRQ_POLL, BLOCK_IOPOLL */
	WP_SOFTIRQ_TASKLET,
	WP_SOFTIRQ_SCHED,
	WP_SOFTIRQ_HRTIMER,
	WP_SOFTIRQ_RCU,
	WP_SOFTIRQ_OTHER,
	WP_SOFTIRQS,
};

enum wp_softnet_count {
	WP_SOFTNET_PROCESSED,
	WP_SOFTNET_DROPPED,
	WP_SOFTNET_SQUEEZED,
	WP_SOFTNET_RPS,
	WP_SOFTNET_COUNTS,
};

#define WP_CPU_HAS_TICKS        0x001u
#define WP_CPU_HAS_INTERRUPTS   0x002u
#define WP_CPU_HAS_SOFTIRQS     0x004u
#define WP_CPU_HAS_SOFTNET      0x008u
#define WP_CPU_HAS_RPS          0x010u
#define WP_CPU_CAME_OR_WENT     0x020u /* not there all the time */
#define WP_CPU_STEPPED_BACK     0x040u /* a column other than iowait went backwards */
#define WP_CPU_RESET_INTERRUPTS 0x080u /* a count stepped back without having wrapped */
#define WP_CPU_RESET_SOFTIRQS   0x100u
#define WP_CPU_RESET_SOFTNET    0x200u
#define WP_CPU_FOREIGN          0x400u /* /proc/stat is not the kernel's */

struct wp_cpu_delta {
	int cpu;
	unsigned flags;
	unsigned columns;             /* of /proc/stat: fewer than 8 on old kernels */
	int64_t wall_ns;              /* time between the reads of /proc/stat */
	int64_t ticks[WP_CPU_SUMMED]; /* signed: idle and iowait step back at times */
	uint64_t interrupts;          /* of all kinds, the local timer's and other CPUs' included */
	uint64_t softirq[WP_SOFTIRQS];
	uint64_t softnet[WP_SOFTNET_COUNTS];
};

struct wp_cpu_span {
	int64_t start_ns, end_ns; /* read times of the first available file */
	unsigned steps;           /* readings added */
	unsigned read;            /* WP_SOURCE_BIT()s that were read in at least one step */
	const char *why[WP_SOURCE_SOFTNET + 1]; /* why one of the others is absent */
	struct wp_cpu_delta *cpu;               /* owned; ascending */
	size_t n, cap;
};

/* Adds what happened from `before` to `after`. -ENOMEM. */
int wp_cpu_span_step(struct wp_cpu_span *span, const struct wp_snapshot *before,
		     const struct wp_snapshot *after) WP_MUST_USE;
/* Adds the span that follows. -ENOMEM. */
int wp_cpu_span_merge(struct wp_cpu_span *span, const struct wp_cpu_span *next) WP_MUST_USE;
void wp_cpu_span_reset(struct wp_cpu_span *span); /* empties, keeps the memory */
void wp_cpu_span_done(struct wp_cpu_span *span);

/* ok | hidden | doubled | saturated | absent */
const char *wp_cpu_trust(const struct wp_cpu_delta *d, unsigned user_hz);
/* The i-th CPU of the span as the record has it. Strings are constants. */
void wp_cpu_use_get(const struct wp_cpu_span *span, size_t i, unsigned user_hz,
		    struct wp_cpu_use *ret);
/* The same for one sample; times relative to `origin_ns`. */
void wp_cpu_sample_get(const struct wp_cpu_span *span, size_t i, unsigned user_hz,
		       int64_t origin_ns, struct wp_cpu_sample *ret);

#endif
