/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * host.h - which machine this is: kernel, distribution, command line, CPUs by number, clock source, memory,
 * scheduler settings. All texts live in the pool that is given to wp_sys_host_read(). Reading never fails as a
 * whole; what is missing is absent and says why.
 *
 * Sources: proc/sys/kernel/{osrelease,version,hostname,arch}, proc/version, etc/os-release (os-release(5)),
 * sys/devices/system/{cpu,clocksource}, proc/meminfo (proc(5)).
 */
#ifndef WP_SYS_HOST_H
#define WP_SYS_HOST_H

#include "sys/cpuinfo.h"
#include "sys/maybe.h"

struct wp_sys_host {
	struct wp_maybe_text hostname, release, version, arch, os;
	struct wp_maybe_text cmdline;
	struct wp_maybe_text
		preemption; /* "PREEMPT_DYNAMIC", "PREEMPT_RT"...; "none or voluntary" */

	/* kernel lists ("0-3,8"); empty text means none */
	struct wp_maybe_text online, possible, present, isolated, nohz_full;
	struct wp_maybe_int cpus_online, cpus_possible;
	struct wp_maybe_int smt_active;

	struct wp_cpuinfo cpuinfo;
	const char *cpuinfo_why; /* NULL when `cpuinfo` is good */

	struct wp_maybe_text clocksource, clocksource_available;
	struct wp_maybe_int memory_bytes, memory_available_bytes, swap_bytes;
	struct wp_maybe_text thp; /* the chosen one of "always [madvise] never" */
	struct wp_maybe_int autogroup, numa_balancing, nmi_watchdog, timer_migration;
	struct wp_maybe_text cpu_pressure; /* "some avg10=..." */
};

void wp_sys_host_read(int rootfd, bool live, struct wp_pool *pool, struct wp_sys_host *ret);

/* The value of a kernel parameter ("tsc" in "quiet tsc=unstable"); the last one wins, words behind a "--" are not
 * the kernel's. -ENOENT when it is not given; a parameter without value gives "". */
int wp_cmdline_get(const char *cmdline, const char *name, char *out, size_t size) WP_MUST_USE;
/* PRETTY_NAME, or NAME and VERSION_ID; quotes and backslashes undone. -ENODATA. */
int wp_os_release_parse(const char *text, size_t len, char *out, size_t size) WP_MUST_USE;
/* One "Name:   123 kB" line of proc/meminfo in bytes. -ENODATA, -EINVAL, -ERANGE. */
int wp_meminfo_get(const char *text, size_t len, const char *name, uint64_t *ret_bytes) WP_MUST_USE;
/* The bracketed word of "always [madvise] never". -ENODATA. */
int wp_bracketed(const char *text, size_t len, char *out, size_t size) WP_MUST_USE;
/* The preemption model from the kernel's version string ("#1 SMP PREEMPT_DYNAMIC ..."). */
const char *wp_preemption_of(const char *version);

#endif
