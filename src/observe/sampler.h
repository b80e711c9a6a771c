/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sampler.h - a thread that reads the kernel's counters at absolute times, without disturbing the
 *run.
 *
 * Sources: /proc/stat, /proc/interrupts, /proc/softirqs, /proc/net/softnet_stat (of the machine)
 *and net/snmp, net/netstat, net/snmp6, net/dev of the network namespace that the creating thread is
 *in. Files are opened once and re-read from offset 0. A missing file makes its figures absent with
 *a reason.
 *
 *	wp_sampler_new(&config, &s, &err);
 *	wp_sampler_start(s, start_ns);   reads "before"; rows begin
 *	wp_sampler_stop(s);              reads "after"; joins the thread
 *	wp_sampler_result(s, host, pool);
 *	wp_sampler_free(s);
 *
 * Without an interval there is no thread: start and stop read the two ends. Rows are bounded: when
 *full, neighbours are folded. The sampler lowers its own rate when reading would take more than 0.5
 *% of one CPU, and says so.
 */
#ifndef WP_OBSERVE_SAMPLER_H
#define WP_OBSERVE_SAMPLER_H

#include <stdint.h>

#include "base/cpuset.h"
#include "base/err.h"
#include "model/record.h"

struct wp_sampler;

struct wp_sampler_config {
	int64_t interval_ns; /* 0 = only before and after */
	const struct wp_cpulist
		*avoid; /* CPUs under test: run elsewhere if there is an elsewhere; may be NULL */
	bool cpus;      /* machine-wide sources; false where the other end records them */
	int root_fd;    /* directory that holds "proc"; -1 = the live root */
};

int wp_sampler_new(const struct wp_sampler_config *config, struct wp_sampler **ret,
		   struct wp_err *err) WP_MUST_USE;
int wp_sampler_start(struct wp_sampler *s,
		     int64_t start_ns) WP_MUST_USE; /* start_ns: zero of the rows' times */
void wp_sampler_stop(struct wp_sampler *s);
/* The CPUs over the newest sample, for the live display: copies at most `max` rows, returns how
 * many. Thread-safe. */
size_t wp_sampler_latest(struct wp_sampler *s, struct wp_cpu_sample *rows, size_t max);
/* After stop: fills host->cpus, cpu_samples, counts (only those that moved), wall_s, self_cpu_pct,
 * sample_interval_s, samples_folded. Arrays go to `pool`. */
int wp_sampler_result(const struct wp_sampler *s, struct wp_host *host,
		      struct wp_pool *pool) WP_MUST_USE;
void wp_sampler_free(struct wp_sampler *s);

#endif
