/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "study/rank.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "stats/order.h"

struct item {
	double value;
	size_t cell;
};

static int by_value(const void *a, const void *b)
{
	double x = ((const struct item *)a)->value, y = ((const struct item *)b)->value;

	return (x > y) - (x < y);
}

/* Mean ranks for ties, as Friedman's test has them; from 1. */
static void rank_round(const double *values, size_t n, struct item *scratch, double *ranks)
{
	for (size_t i = 0; i < n; i++)
		scratch[i] = (struct item) { values[i], i };
	qsort(scratch, n, sizeof(*scratch), by_value);
	for (size_t i = 0; i < n;) {
		size_t end = i + 1;

		while (end < n && scratch[end].value <= scratch[i].value)
			end++;
		for (size_t k = i; k < end; k++)
			ranks[scratch[k].cell] = (double)(i + 1 + end) / 2;
		i = end;
	}
}

/* Friedman's statistic but for constants: how far the rank sums are from their mean, squared. */
static double apart(const double *ranks, size_t n_rounds, size_t n_cells, double *sums)
{
	double mean = (double)n_rounds * (double)(n_cells + 1) / 2, sum = 0;

	memset(sums, 0, n_cells * sizeof(*sums));
	for (size_t r = 0; r < n_rounds; r++)
		for (size_t c = 0; c < n_cells; c++)
			sums[c] += ranks[r * n_cells + c];
	for (size_t c = 0; c < n_cells; c++)
		sum += (sums[c] - mean) * (sums[c] - mean);
	return sum;
}

static size_t draws_for(size_t n_values)
{
	size_t draws = WP_RANK_MAX_WORK / n_values;

	if (draws > WP_RANK_MAX_DRAWS)
		return WP_RANK_MAX_DRAWS;
	return draws < WP_RANK_MIN_DRAWS ? WP_RANK_MIN_DRAWS : draws;
}

static double p_of_equal(double *ranks, size_t n_rounds, size_t n_cells, uint64_t seed,
			 double *sums)
{
	double seen = apart(ranks, n_rounds, n_cells, sums);
	size_t draws = draws_for(n_rounds * n_cells), as_far = 0;
	struct wp_rng rng;

	wp_rng_seed(&rng, seed);
	for (size_t d = 0; d < draws; d++) {
		for (size_t r = 0; r < n_rounds; r++)
			wp_rng_shuffle(&rng, &ranks[r * n_cells], n_cells, sizeof(*ranks));
		/* Rank sums and their mean are multiples of a quarter: no rounding to fear. */
		as_far += apart(ranks, n_rounds, n_cells, sums) >= seen;
	}
	return (double)(1 + as_far) / (double)(1 + draws);
}

static double cell_median(const double *values, size_t n_rounds, size_t n_cells, size_t cell,
			  double *scratch)
{
	for (size_t r = 0; r < n_rounds; r++)
		scratch[r] = values[r * n_cells + cell];
	wp_sort(scratch, n_rounds);
	return wp_median(scratch, n_rounds);
}

static void find_ends(const double *values, size_t n_rounds, size_t n_cells, double *scratch,
		      struct wp_rank *ret)
{
	double best = 0, worst = 0, best_min, worst_max;

	for (size_t c = 0; c < n_cells; c++) {
		double m = cell_median(values, n_rounds, n_cells, c, scratch);

		if (!c || m > best)
			best = m, ret->best = c;
		if (!c || m < worst)
			worst = m, ret->worst = c;
	}
	best_min = values[ret->best];
	worst_max = values[ret->worst];
	for (size_t r = 1; r < n_rounds; r++) {
		double b = values[r * n_cells + ret->best], w = values[r * n_cells + ret->worst];

		best_min = b < best_min ? b : best_min;
		worst_max = w > worst_max ? w : worst_max;
	}
	ret->overlap = best_min <= worst_max;
}

size_t wp_rank_min_rounds(size_t n_cells)
{
	double orders = 1, p = 1;
	size_t rounds = 1;

	if (n_cells < 2)
		return 1;
	for (size_t i = 2; i <= n_cells && orders < 1 / WP_RANK_ALPHA; i++)
		orders *= (double)i;
	for (; p > WP_RANK_ALPHA; rounds++)
		p /= orders;
	return rounds;
}

int wp_rank_cells(const double *values, size_t n_rounds, size_t n_cells, uint64_t seed,
		  struct wp_rank *ret)
{
	_cleanup_free_ struct item *items = calloc(n_cells, sizeof(*items));
	_cleanup_free_ double *ranks = calloc(n_rounds * n_cells, sizeof(*ranks));
	_cleanup_free_ double *scratch =
		calloc(n_rounds > n_cells ? n_rounds : n_cells, sizeof(*scratch));
	struct wp_rank rank = { .p = 1 };

	if (!items || !ranks || !scratch)
		return -ENOMEM;
	find_ends(values, n_rounds, n_cells, scratch, &rank);
	for (size_t r = 0; r < n_rounds; r++)
		rank_round(&values[r * n_cells], n_cells, items, &ranks[r * n_cells]);
	if (n_rounds > 1)
		rank.p = p_of_equal(ranks, n_rounds, n_cells, seed, scratch);
	rank.told_apart = rank.p <= WP_RANK_ALPHA && !rank.overlap;
	*ret = rank;
	return 0;
}
