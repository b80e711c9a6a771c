/* SPDX-License-Identifier: GPL-2.0-or-later */
/* beside.h - where threads that watch run: not on the CPUs that are watched. */
#ifndef WP_OBSERVE_BESIDE_H
#define WP_OBSERVE_BESIDE_H

#include <stdbool.h>

#include "base/cpuset.h"

/* The calling thread from now on runs on its allowed CPUs without those of `avoid`, and on those of `on` only when that
 * is not empty. Either may be NULL. -ENOENT: none is left, so nothing was changed; or another negative errno. */
int wp_run_beside(const struct wp_cpulist *avoid, const struct wp_cpulist *on) WP_MUST_USE;

#endif
