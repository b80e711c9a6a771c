/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpuset.h - lists of CPU numbers.
 *
 * Two notions: an ordered list (what --cpu takes: "0,2,4-6" gives one CPU a thread, order and repetition
 * matter) and its kernel text form. CPU numbers are below WP_CPU_MAX, which is the largest NR_CPUS that
 * Linux distributions build with (8192).
 */
#ifndef WP_BASE_CPUSET_H
#define WP_BASE_CPUSET_H

#include <stddef.h>

#include "base/err.h"

#define WP_CPU_MAX 8192

struct wp_cpulist {
	int *cpu; /* owned */
	size_t n;
};

/* Parses "0-3,8,10-14:2" (the kernel's cpulist format; a stride as taskset has it, and the kernel's own
 * "0-15:2/8", which is 2 of every 8). Empty text, "\n" and "(null)" give an
 * empty list. -EINVAL on anything else that is not a list, -ERANGE for a number >= WP_CPU_MAX, -E2BIG for a list
 * of more than WP_CPU_MAX entries. Free with wp_cpulist_done(). */
int wp_cpulist_parse(const char *s, struct wp_cpulist *ret) WP_MUST_USE;
/* CPUs that the calling thread may run on (sched_getaffinity), ascending. */
int wp_cpulist_allowed(struct wp_cpulist *ret) WP_MUST_USE;
int wp_cpulist_copy(const struct wp_cpulist *from, struct wp_cpulist *ret) WP_MUST_USE;
int wp_cpulist_has(const struct wp_cpulist *l, int cpu);
/* Writes "0-3,8"; runs are folded only where ascending by one. Truncated text ends in "...". */
void wp_cpulist_format(const struct wp_cpulist *l, char *out, size_t size);
void wp_cpulist_done(struct wp_cpulist *l);

/* Pins the calling thread to one CPU; 0 or -errno (-EINVAL: not online or not allowed). */
int wp_pin_self(int cpu) WP_MUST_USE;

#define _cleanup_cpulist_ __attribute__((cleanup(wp_cpulist_done)))

#endif
