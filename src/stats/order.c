/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stats/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void wp_sort(double *v, size_t n)
{
	if (n > 1)
		qsort(v, n, sizeof(*v), by_value);
}

double wp_median(const double *sorted, size_t n)
{
	/* Halves first: the sum of two large numbers may not be finite. */
	return n % 2 ? sorted[n / 2] : sorted[n / 2 - 1] / 2 + sorted[n / 2] / 2;
}

double wp_quantile(const double *sorted, size_t n, double q)
{
	double at, part;
	size_t i;

	if (!(q > 0))
		return sorted[0];
	if (q >= 1)
		return sorted[n - 1];
	at = (double)(n - 1) * q;
	i = (size_t)at;
	part = at - (double)i;
	if (i + 1 >= n)
		return sorted[n - 1];
	return sorted[i] * (1 - part) + sorted[i + 1] * part;
}

int wp_order_summary(const double *v, size_t n, struct wp_order_summary *ret)
{
	_cleanup_free_ double *sorted = NULL;

	if (n == 0)
		return -ENODATA;
	for (size_t i = 0; i < n; i++)
		if (!isfinite(v[i]))
			return -EDOM;
	sorted = calloc(n, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, v, n * sizeof(*sorted));
	wp_sort(sorted, n);
	*ret = (struct wp_order_summary) {
		.n = n,
		.min = sorted[0],
		.max = sorted[n - 1],
		.range = sorted[n - 1] - sorted[0],
		.median = wp_median(sorted, n),
		.q1 = wp_quantile(sorted, n, .25),
		.q3 = wp_quantile(sorted, n, .75),
	};
	return 0;
}

/* P(Binomial(n, 1/2) = i), by logarithms: 2^-n alone is 0 from n = 1075 on. */
static double half_binomial(size_t n, size_t i)
{
	int sign;
	double m = (double)n, k = (double)i;

	return exp(lgamma_r(m + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(m - k + 1, &sign) -
		   m * log(2.0));
}

/* Rounding in the sum of up to n terms must not decide a case that is equal on paper. */
#define SLACK 1e-12

int wp_median_interval(const double *sorted, size_t n, double confidence, struct wp_bounds *ret)
{
	double half_alpha = (1 - confidence) / 2, sum = 0, tail = 0, p;
	size_t k = 0;

	if (!(confidence > 0 && confidence < 1))
		return -EDOM;
	if (n == 0)
		return -ENODATA;
	while (k < n / 2) {
		p = half_binomial(n, k);
		if (sum + p > half_alpha + SLACK)
			break;
		sum += p;
		tail = sum;
		k++;
	}
	if (k == 0)
		return -ENODATA;
	*ret = (struct wp_bounds) {
		.low = sorted[k - 1],
		.high = sorted[n - k],
		.confidence = 1 - 2 * tail,
		.k = k,
	};
	return 0;
}

size_t wp_median_interval_min_n(double confidence)
{
	double left = 1; /* 2 * 2^-n: both sides miss */
	size_t n = 1;

	if (!(confidence > 0 && confidence < 1))
		return 0;
	while (left > 1 - confidence + 2 * SLACK) {
		left /= 2;
		n++;
	}
	return n;
}
