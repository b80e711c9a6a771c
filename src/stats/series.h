/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * series.h - mean and variance of numbers that pass by, in constant memory (Welford, Technometrics 4 (1962); merging
 * after Chan, Golub and LeVeque 1979). The caller owns the struct; all zero is an empty series.
 */
#ifndef WP_STATS_SERIES_H
#define WP_STATS_SERIES_H

#include <stdint.h>

struct wp_series {
	uint64_t n;
	double mean;
	double m2; /* sum of squared distances from the mean */
	double min, max;
};

void wp_series_add(struct wp_series *s, double x);
/* As if everything that went into `from` had been added to `to`. */
void wp_series_merge(struct wp_series *to, const struct wp_series *from);
/* With divisor n - 1. NaN for n < 2: one number has no spread. */
double wp_series_variance(const struct wp_series *s);
double wp_series_sd(const struct wp_series *s);

#endif
