/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * order.h - order statistics of a few to a few million doubles: median, quantiles, range, and an interval for the
 * median that assumes nothing but independent runs.
 *
 * Functions on `sorted` want ascending finite numbers (wp_sort()) and n >= 1; wp_order_summary() takes them as they
 * come and checks. Nothing is kept, nothing is dropped.
 */
#ifndef WP_STATS_ORDER_H
#define WP_STATS_ORDER_H

#include <stddef.h>

#include "base/err.h"

/* An interval and how sure it really is: order statistics reach only some confidences, so `confidence` is the
 * achieved one, at least what was asked for. */
struct wp_bounds {
	double low, high;
	double confidence; /* 0..1 */
	size_t k; /* the ends are the k-th smallest and the k-th largest (of values, or of Walsh averages) */
};

struct wp_order_summary {
	size_t n;
	double min, max, range; /* range = max - min */
	double median;
	double q1, q3; /* quartiles */
};

void wp_sort(double *v, size_t n);

double wp_median(const double *sorted, size_t n);

/* Quantile `q` (0..1, clamped) of type 7 in Hyndman and Fan, The American Statistician 50 (1996): linear between the
 * order statistics around (n - 1) q + 1. It is what R, NumPy and spreadsheets give by default. */
double wp_quantile(const double *sorted, size_t n, double q);

/* -ENODATA for n = 0, -EDOM when a value is not finite, -ENOMEM. */
int wp_order_summary(const double *v, size_t n, struct wp_order_summary *ret) WP_MUST_USE;

/* Interval [x_(k), x_(n+1-k)] for the median, with the largest k for which P(Binomial(n, 1/2) <= k - 1) is at most
 * (1 - confidence) / 2 (Conover, Practical Nonparametric Statistics, section 3.2). -ENODATA when n is too small for
 * that confidence: wp_median_interval_min_n() says how many it takes. -EDOM for a confidence outside (0, 1). */
int wp_median_interval(const double *sorted, size_t n, double confidence,
		       struct wp_bounds *ret) WP_MUST_USE;

/* The smallest n that reaches `confidence`: 6 for .95, 8 for .99. 0 for a confidence outside (0, 1). */
size_t wp_median_interval_min_n(double confidence);

#endif
