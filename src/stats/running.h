/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * running.h - mean and variance of numbers that pass by, in constant memory (Welford, Technometrics 4 (1962); merging
 * after Chan, Golub and LeVeque 1979). The caller owns the struct; all zero is an empty one.
 */
#ifndef WP_STATS_RUNNING_H
#define WP_STATS_RUNNING_H

#include <stdint.h>

struct wp_running {
	uint64_t n;
	double mean;
	double m2; /* sum of squared distances from the mean */
	double min, max;
};

void wp_running_add(struct wp_running *s, double x);
/* As if everything that went into `from` had been added to `to`. */
void wp_running_merge(struct wp_running *to, const struct wp_running *from);
/* With divisor n - 1. NaN for n < 2: one number has no spread. */
double wp_running_variance(const struct wp_running *s);
double wp_running_sd(const struct wp_running *s);

#endif
