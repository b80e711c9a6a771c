/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * signed_rank.h - the estimate and the interval behind every "B is faster than A": Hodges and Lehmann's estimate from
 * paired differences, with an interval from the exact signed-rank distribution (Hodges and Lehmann 1963; Hollander,
 * Wolfe and Chicken, Nonparametric Statistical Methods, sections 3.1 to 3.3).
 *
 * `x` are per-block effects, such as ln(B/A). The Walsh averages are W = sorted { (x_i + x_j)/2, i <= j }, M =
 * n(n+1)/2 of them. The estimate is their median; the interval is [W_(k), W_(M+1-k)] with the largest k for which
 * 2 P(T <= k-1) <= 1 - confidence, T being the sum of the positive ranks when every sign is a coin toss. Exact by
 * dynamic programming, not by a normal approximation.
 */
#ifndef WP_STATS_SIGNED_RANK_H
#define WP_STATS_SIGNED_RANK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "stats/order.h"

#define WP_SIGNED_RANK_MAX 500 /* blocks; M is then 125,250 and the distribution takes some 10 ms */

struct wp_hodges_lehmann {
	size_t n;
	double estimate;
	bool has_interval; /* false: n is too small for the confidence (5 or fewer for .95) */
	struct wp_bounds interval;
};

/* P(T <= t) for n values without ties or zeros, 1 <= n <= WP_SIGNED_RANK_MAX. NaN for n out of bounds, -ENOMEM
 * included. */
double wp_signed_rank_cdf(size_t n, size_t t);

/* The k of the interval, and the confidence that it achieves. -ENODATA when n is too small, -E2BIG beyond
 * WP_SIGNED_RANK_MAX, -EDOM for a confidence outside (0, 1), -ENOMEM. */
int wp_signed_rank_k(size_t n, double confidence, size_t *ret_k, double *ret_achieved) WP_MUST_USE;

/* Estimate and, where n allows, interval. -ENODATA for n = 0, -E2BIG, -EDOM (a value that is not finite, or the
 * confidence), -ENOMEM. */
int wp_hodges_lehmann(const double *x, size_t n, double confidence,
		      struct wp_hodges_lehmann *ret) WP_MUST_USE;

/* Two-sided p of "the signs are coin tosses", exact with ties (mean ranks) and zeros (they take part in the ranking
 * and have no sign: Pratt 1959): the same as trying all 2^n signs, at the cost of n^3 / 2 additions. All zero gives
 * 1. Errors as above. */
int wp_signed_rank_p(const double *x, size_t n, double *ret) WP_MUST_USE;

#endif
