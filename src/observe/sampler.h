/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sampler.h - a thread that reads the kernel's counters at absolute times, without disturbing the
 * run.
 *
 * Sources: /proc/stat, /proc/interrupts, /proc/softirqs, /proc/net/softnet_stat (of the machine)
 * and net/snmp, net/netstat, net/snmp6, net/dev of the network namespace of the thread that calls
 * wp_sampler_new(). Files are opened once and re-read from offset 0. A missing file makes its
 * figures absent with a reason.
 *
 *	wp_sampler_new(&config, &s, &err);
 *	wp_sampler_start(s, start_ns);   reads "before"; rows begin
 *	...                              wp_sampler_latest() at any time
 *	wp_sampler_stop(s);              reads "after"; joins the thread
 *	wp_sampler_result(s, host, pool);
 *	wp_sampler_free(s);
 *
 * The totals (host->cpus, counts) cover the measured window: from the end of the warm-up to the
 * stop. Rows begin with the warm-up; one that belongs to it ends where the window begins. Without
 * an interval it reads only at the start, at the end of the warm-up and at the stop.
 *
 * Rows are bounded: when full, neighbours are folded in pairs and later rows cover twice the time,
 * so a day needs no more memory than ten minutes. Sampling itself goes on at its pace, which keeps
 * 32-bit counters from wrapping unseen. Deadlines are absolute: a late sample does not move the
 * next one, and every row carries its true times.
 *
 * It measures what it costs. When reading would take more than WP_SAMPLER_COST_MAX of one CPU
 * (on large machines a reading takes milliseconds) its interval becomes a multiple of the one asked
 * for; sample_interval_s and wp_sampler_cost() say so.
 *
 * One thread owns a sampler; only wp_sampler_latest() may be called by others meanwhile.
 */
#ifndef WP_OBSERVE_SAMPLER_H
#define WP_OBSERVE_SAMPLER_H

#include <stdint.h>

#include "base/cpuset.h"
#include "base/err.h"
#include "model/record.h"
#include "observe/cpu_use.h"
#include "observe/net_use.h"

#define WP_SAMPLER_INTERVAL_MIN_NS (10 * INT64_C(1000000))
#define WP_SAMPLER_INTERVAL_MAX_NS (3600 * INT64_C(1000000000))
#define WP_SAMPLER_COST_MAX        0.005 /* share of one CPU */
/* Fewer on machines with many CPUs: rows x CPUs stays below WP_MAX_CPU_SAMPLE_ROWS. */
#define WP_SAMPLER_ROWS_MAX 1024
#define WP_SAMPLER_ROWS_MIN 8

struct wp_sampler;

struct wp_sampler_config {
	int64_t interval_ns; /* 0 = only before and after; shorter than 10 ms counts as 10 ms */
	int64_t omit_ns;     /* length of the warm-up, which the totals leave out */
	const struct wp_cpulist
		*avoid; /* CPUs under test: run elsewhere if there is an elsewhere; may be NULL */
	const struct wp_cpulist *on; /* run on these CPUs only; NULL or empty = anywhere */
	bool cpus;       /* machine-wide sources; false where the other end records them */
	int root_fd;     /* directory that holds "proc"; -1 = the live root; duplicated */
	size_t max_rows; /* 0 = WP_SAMPLER_ROWS_MAX */
};

struct wp_sampler_cost {
	unsigned samples;
	unsigned late;             /* by more than a fifth of the interval */
	int64_t wall_ns;           /* start to last reading */
	int64_t cpu_ns;            /* CPU time of all readings */
	uint64_t bytes;            /* read */
	int64_t asked_interval_ns; /* as configured */
	int64_t interval_ns;       /* in the end: larger when readings were too expensive */
	unsigned slowdowns;        /* times the interval was made larger */
	unsigned folds;            /* times that rows were folded: a row covers interval << folds */
	int64_t file_mean_ns[WP_SOURCES]; /* wall time of reading and parsing each */
	int64_t file_max_ns[WP_SOURCES];
	unsigned reset_counters; /* network counters left out because they were reset */
	const char *note;        /* where it ran although asked otherwise; NULL; string constant */
};

struct wp_sampler_row {
	bool omitted; /* in the warm-up */
	struct wp_cpu_span cpus;
};

/* -EINVAL with a sentence for an interval above the maximum, -ENOMEM, or what opening the root
 * gave. Missing files are no error. */
int wp_sampler_new(const struct wp_sampler_config *config, struct wp_sampler **ret,
		   struct wp_err *err) WP_MUST_USE;
/* start_ns: zero of the rows' times; when it is in the future, sampling begins then. -EALREADY the
 * second time. */
int wp_sampler_start(struct wp_sampler *s, int64_t start_ns) WP_MUST_USE;
void wp_sampler_stop(struct wp_sampler *s); /* nothing happens when it was not started */
/* The CPUs over the newest sample, for the live display: copies at most `max` rows, returns how
 * many. Thread-safe. */
size_t wp_sampler_latest(struct wp_sampler *s, struct wp_cpu_sample *rows, size_t max);
/* After stop: fills host->cpus, cpu_samples, counts (only those that moved), wall_s, self_cpu_pct,
 * sample_interval_s, samples_folded. Arrays go to `pool`. */
int wp_sampler_result(const struct wp_sampler *s, struct wp_host *host,
		      struct wp_pool *pool) WP_MUST_USE;
void wp_sampler_free(struct wp_sampler *s);

/* After stop; borrowed until free: the sums over the measured window, and the rows. */
const struct wp_cpu_span *wp_sampler_cpus(const struct wp_sampler *s);
const struct wp_net_span *wp_sampler_net(const struct wp_sampler *s);
const struct wp_sampler_row *wp_sampler_rows(const struct wp_sampler *s, size_t *ret_n);
void wp_sampler_cost(const struct wp_sampler *s, struct wp_sampler_cost *ret);

/* The interval that keeps sampling below WP_SAMPLER_COST_MAX when one sample takes `cost_ns` of CPU
 * time: `asked_ns` or a multiple of it. */
int64_t wp_sampler_affordable_ns(int64_t asked_ns, int64_t cost_ns);

#endif
