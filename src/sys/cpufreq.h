/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpufreq.h - clock frequency control and idle states: what makes a CPU slower when nobody looks.
 * Texts live in the pool. In virtual machines there is usually neither; both are then absent with that reason.
 *
 * Sources: Documentation/admin-guide/pm/{cpufreq,intel_pstate,amd-pstate,cpuidle}.rst.
 */
#ifndef WP_SYS_CPUFREQ_H
#define WP_SYS_CPUFREQ_H

#include "base/cpuset.h"
#include "sys/maybe.h"

struct wp_cpufreq {
	struct wp_maybe_text
		governor; /* "performance", or "powersave (4 CPUs), performance (4 CPUs)" */
	struct wp_maybe_int
		slow_cpus; /* CPUs whose governor is neither performance nor userspace */
	struct wp_maybe_text driver;
	struct wp_maybe_text driver_mode;       /* intel_pstate/status or amd_pstate/status */
	struct wp_maybe_text energy_preference; /* energy_performance_preference, joined likewise */
	struct wp_maybe_int min_khz,
		max_khz; /* allowed range: scaling_min/max_freq over the CPUs */
	struct wp_maybe_int hardware_max_khz;                 /* cpuinfo_max_freq, highest */
	struct wp_maybe_int current_min_khz, current_max_khz; /* scaling_cur_freq */
	struct wp_maybe_int turbo;                            /* 1 on, 0 off */
};

struct wp_cpuidle {
	struct wp_maybe_text driver, governor;
	struct wp_maybe_text deepest; /* name of the deepest enabled state of the first CPU */
	struct wp_maybe_int deepest_exit_us; /* its worst exit latency */
};

/* `online` are the CPUs to look at. */
void wp_cpufreq_read(int rootfd, const struct wp_cpulist *online, struct wp_pool *pool,
		     struct wp_cpufreq *ret);
void wp_cpuidle_read(int rootfd, const struct wp_cpulist *online, struct wp_pool *pool,
		     struct wp_cpuidle *ret);

/* Frequency of one CPU now (scaling_cur_freq), in kHz; -ENOENT where the kernel has no cpufreq for it. */
int wp_cpufreq_now_khz(int rootfd, int cpu, uint64_t *ret) WP_MUST_USE;

#endif
