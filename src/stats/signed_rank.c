/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stats/signed_rank.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* Rounding in the sums of probabilities must not decide a case that is equal on paper. */
#define SLACK 1e-12

/* Takes one rank into the distribution p[0..top] of the sum so far: with probability 1/2 it is added. Halving on the
 * way keeps everything a probability, where counts would reach 2^500. */
static void take_rank(double *p, size_t top, size_t rank)
{
	for (size_t s = top + rank; s > top; s--)
		p[s] = s - rank <= top ? p[s - rank] / 2 : 0;
	for (size_t s = top; s >= rank; s--)
		p[s] = (p[s] + p[s - rank]) / 2;
	for (size_t s = 0; s < rank && s <= top; s++)
		p[s] /= 2;
}

/* P(T = s) for s = 0..n(n+1)/2; the caller frees. */
static double *distribution(size_t n)
{
	double *p = calloc(n * (n + 1) / 2 + 1, sizeof(*p));
	size_t top = 0;

	if (!p)
		return NULL;
	p[0] = 1;
	for (size_t rank = 1; rank <= n; rank++) {
		take_rank(p, top, rank);
		top += rank;
	}
	return p;
}

double wp_signed_rank_cdf(size_t n, size_t t)
{
	_cleanup_free_ double *p = NULL;
	double sum = 0;

	if (n < 1 || n > WP_SIGNED_RANK_MAX)
		return (double)NAN;
	if (t >= n * (n + 1) / 2)
		return 1;
	p = distribution(n);
	if (!p)
		return (double)NAN;
	for (size_t s = 0; s <= t; s++)
		sum += p[s];
	return sum;
}

int wp_signed_rank_k(size_t n, double confidence, size_t *ret_k, double *ret_achieved)
{
	_cleanup_free_ double *p = NULL;
	double half_alpha = (1 - confidence) / 2, sum = 0;
	size_t k = 0;

	if (!(confidence > 0 && confidence < 1))
		return -EDOM;
	if (n == 0)
		return -ENODATA;
	if (n > WP_SIGNED_RANK_MAX)
		return -E2BIG;
	p = distribution(n);
	if (!p)
		return -ENOMEM;
	/* Half of the distribution lies below the middle, so that k never passes the median of the averages. */
	while (k < n * (n + 1) / 4 && sum + p[k] <= half_alpha + SLACK)
		sum += p[k++];
	if (k == 0)
		return -ENODATA;
	*ret_k = k;
	*ret_achieved = 1 - 2 * sum;
	return 0;
}

static int check_values(const double *x, size_t n)
{
	if (n == 0)
		return -ENODATA;
	if (n > WP_SIGNED_RANK_MAX)
		return -E2BIG;
	for (size_t i = 0; i < n; i++)
		if (!isfinite(x[i]))
			return -EDOM;
	return 0;
}

int wp_hodges_lehmann(const double *x, size_t n, double confidence, struct wp_hodges_lehmann *ret)
{
	_cleanup_free_ double *walsh = NULL;
	struct wp_hodges_lehmann h = { .n = n };
	size_t m = 0, k = 0;
	double achieved = 0;
	int r;

	r = check_values(x, n);
	if (r < 0)
		return r;
	r = wp_signed_rank_k(n, confidence, &k, &achieved);
	if (r < 0 && r != -ENODATA)
		return r;
	walsh = calloc(n * (n + 1) / 2, sizeof(*walsh));
	if (!walsh)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j <= i; j++)
			walsh[m++] = x[i] / 2 + x[j] / 2;
	wp_sort(walsh, m);
	h.estimate = wp_median(walsh, m);
	if (r == 0) {
		h.has_interval = true;
		h.interval = (struct wp_bounds) {
			.low = walsh[k - 1],
			.high = walsh[m - k],
			.confidence = achieved,
			.k = k,
		};
	}
	*ret = h;
	return 0;
}

static int by_size(const void *a, const void *b)
{
	double x = fabs(*(const double *)a), y = fabs(*(const double *)b);

	return (x > y) - (x < y);
}

/* P(sum <= t) + P(sum >= t), the smaller doubled. */
static double two_sided(const double *p, size_t top, size_t t)
{
	double below = 0, above = 0;

	for (size_t s = 0; s <= t; s++)
		below += p[s];
	for (size_t s = t; s <= top; s++)
		above += p[s];
	return fmin(1, 2 * fmin(below, above));
}

int wp_signed_rank_p(const double *x, size_t n, double *ret)
{
	_cleanup_free_ double *v = NULL, *p = NULL;
	size_t top = 0, positive = 0, end;
	int r;

	r = check_values(x, n);
	if (r < 0)
		return r;
	v = calloc(n, sizeof(*v));
	/* Ranks are doubled: the mean rank of ties then is a whole number. */
	p = calloc(n * (n + 1) + 1, sizeof(*p));
	if (!v || !p)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		v[i] = x[i];
	qsort(v, n, sizeof(*v), by_size);
	p[0] = 1;
	for (size_t i = 0; i < n; i = end) {
		for (end = i + 1; end < n && fabs(v[end]) == fabs(v[i]); end++)
			;
		for (size_t j = i; j < end && v[j] != 0; j++) {
			take_rank(p, top, i + 1 + end);
			top += i + 1 + end;
			if (v[j] > 0)
				positive += i + 1 + end;
		}
	}
	*ret = two_sided(p, top, positive);
	return 0;
}
