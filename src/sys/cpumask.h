/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpumask.h - the kernel's other text form of a set of CPUs: hexadecimal words of 32 bits, most significant
 * first, separated by commas ("00000000,0000000f"): rps_cpus, xps_cpus, smp_affinity, shared_cpu_map.
 */
#ifndef WP_SYS_CPUMASK_H
#define WP_SYS_CPUMASK_H

#include <stddef.h>

#include "base/cpuset.h"

/* Words of at most 8 digits; a single word without comma may be longer (some drivers print so). Empty or all
 * zero gives an empty list. -EINVAL for other text, -ERANGE for a bit >= WP_CPU_MAX. Free the list with
 * wp_cpulist_done(). */
int wp_cpumask_parse(const char *text, size_t len, struct wp_cpulist *ret) WP_MUST_USE;
/* Writes the mask of `l` ("f", "1,00000000"). -ENOSPC when it does not fit, -ERANGE for a CPU >= WP_CPU_MAX. */
int wp_cpumask_format(const struct wp_cpulist *l, char *out, size_t size) WP_MUST_USE;

#endif
