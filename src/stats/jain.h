/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jain.h - how evenly streams share: Jain's fairness index (Jain, Chiu and Hawe, DEC-TR-301, 1984),
 * (sum x)^2 / (n sum x^2). 1 = all the same, 1/n = one has everything; k of n with equal shares and the others with
 * none give k/n.
 */
#ifndef WP_STATS_JAIN_H
#define WP_STATS_JAIN_H

#include <stddef.h>

#include "base/err.h"

/* `x` in any unit (bytes, bits/s). -ENODATA for n = 0 and when all are 0 (nothing was shared); -EDOM when one is
 * negative or not finite. */
int wp_jain_index(const double *x, size_t n, double *ret) WP_MUST_USE;

#endif
