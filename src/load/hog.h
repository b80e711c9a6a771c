/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hog.h - busy loops that take CPUs away from a test on purpose (--hog): one thread a listed CPU, pinned to it, with the
 * ordinary scheduling policy. They touch no memory and make no system call, so all they take is time.
 *
 *	wp_hogs_start(&cpus, &hogs, &err);      they run when this returns
 *	wp_hogs_stop(hogs);                     joined; wp_hogs_cpu_ns() is final
 *	wp_hogs_free(hogs);
 */
#ifndef WP_LOAD_HOG_H
#define WP_LOAD_HOG_H

#include <stdint.h>

#include "base/cpuset.h"

struct wp_hogs;

/* -EINVAL and the like with a sentence that names the CPU; then none is left running. */
int wp_hogs_start(const struct wp_cpulist *cpus, struct wp_hogs **ret,
		  struct wp_err *err) WP_MUST_USE;
void wp_hogs_stop(struct wp_hogs *h);
/* CPU time of all of them together, after stop. */
int64_t wp_hogs_cpu_ns(const struct wp_hogs *h);
void wp_hogs_free(struct wp_hogs *h); /* stops them where they run */

#endif
