/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When one of several cells may be called the best: seeded simulations with written bands, and the edges. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "study/rank.h"

/* Box and Muller 1958. */
static double gauss(struct wp_rng *r)
{
	double u = 1 - wp_rng_unit(r), v = wp_rng_unit(r);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

struct sample {
	size_t cells, rounds;
	double sd, drift; /* of 1; drift: added from one round to the next, random walk */
	double faster;    /* cell 0 by this */
};

/* Of `n` simulated sweeps, how many name a best; *ret_right: how many name cell 0. */
static size_t simulate(const struct sample *s, size_t n, size_t *ret_p, size_t *ret_right)
{
	_cleanup_free_ double *values = calloc(s->cells * s->rounds, sizeof(*values));
	size_t named = 0;
	struct wp_rng rng;

	assert_non_null(values);
	wp_rng_seed(&rng, 42);
	*ret_p = *ret_right = 0;
	for (size_t i = 0; i < n; i++) {
		double level = 1;
		struct wp_rank rank;

		for (size_t r = 0; r < s->rounds; r++) {
			level *= 1 + s->drift * gauss(&rng);
			for (size_t c = 0; c < s->cells; c++)
				values[r * s->cells + c] =
					level * (1 + s->sd * gauss(&rng) + (c ? 0 : s->faster));
		}
		assert_int_equal(wp_rank_cells(values, s->rounds, s->cells, i, &rank), 0);
		named += rank.told_apart;
		*ret_p += rank.p <= WP_RANK_ALPHA;
		*ret_right += rank.told_apart && rank.best == 0;
	}
	return named;
}

/* 99.9 % binomial limit of 5 % in 400 draws: 8.9 %. The ranges make it fewer still. */
static void test_equal_cells_are_rarely_named(void **state)
{
	static const struct sample samples[] = {
		{ 4, 3, .02, 0, 0 },   { 4, 5, .25, 0, 0 },     { 16, 5, .02, 0, 0 },
		{ 16, 3, .02, .1, 0 }, { 32, 10, .02, .05, 0 }, { 2, 6, .02, 0, 0 },
		{ 9, 2, .05, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(samples); i++) {
		size_t small, right, named = simulate(&samples[i], 400, &small, &right);

		if (small > 36 || named > 36)
			fail_msg("%zu equal cells, %zu rounds: %zu of 400 with small p, %zu named",
				 samples[i].cells, samples[i].rounds, small, named);
	}
}

static void test_a_clear_best_is_named(void **state)
{
	static const struct sample clear = { 4, 5, .02, 0, .25 }, drifting = { 16, 5, .02, .05, 0 };
	size_t small, right, named = simulate(&clear, 200, &small, &right);

	(void)state;
	assert_true(named >= 190);
	assert_int_equal(right, named);
	/* Rounds on different levels take the power to see a small difference, not the honesty. */
	named = simulate(&drifting, 200, &small, &right);
	assert_true(named <= 20);
}

static void test_needed_rounds(void **state)
{
	(void)state;
	assert_int_equal(wp_rank_min_rounds(2), 6);
	assert_int_equal(wp_rank_min_rounds(3), 3);
	assert_int_equal(wp_rank_min_rounds(4), 2);
	assert_int_equal(wp_rank_min_rounds(5), 2);
	assert_int_equal(wp_rank_min_rounds(60000), 2);
}

/* With those rounds and always the same order p is small, with one fewer it is not. For four cells p is 1/24 in two
 * rounds, too near to alpha for every seed. */
static void test_fewest_rounds_are_enough(void **state)
{
	double values[7 * 6];

	(void)state;
	for (size_t cells = 2; cells <= 6; cells++) {
		size_t need = wp_rank_min_rounds(cells) + (cells == 4);
		struct wp_rank rank;

		for (size_t i = 0; i < need * cells; i++)
			values[i] = (double)(i % cells + 1);
		assert_int_equal(wp_rank_cells(values, need, cells, 1, &rank), 0);
		assert_true(rank.told_apart);
		assert_int_equal(rank.best, cells - 1);
		assert_int_equal(rank.worst, 0);
		assert_int_equal(wp_rank_cells(values, need - 1, cells, 1, &rank), 0);
		if (cells != 4)
			assert_false(rank.told_apart);
	}
}

/* Exact p of Friedman's statistic Q from published tables (Hollander, Wolfe and Chicken, table A.22); the draws must be
 * within four standard deviations. Rounds are lists of ranks. */
static void test_published_table(void **state)
{
	static const struct {
		size_t cells, rounds;
		double ranks[20];
		double p;
	} rows[] = {
		{ 3, 3, { 1, 2, 3, 1, 2, 3, 1, 2, 3 }, .028 },                   /* Q = 6 */
		{ 3, 4, { 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 3, 2 }, .042 },          /* Q = 6.5 */
		{ 3, 5, { 1, 2, 3, 1, 2, 3, 1, 2, 3, 2, 1, 3, 1, 3, 2 }, .039 }, /* Q = 6.4 */
		{ 4, 2, { 1, 2, 3, 4, 1, 2, 3, 4 }, .042 },                      /* Q = 6 */
		{ 4, 3, { 1, 2, 3, 4, 1, 2, 4, 3, 2, 1, 4, 3 }, .033 },          /* Q = 7.4 */
		{ 4, 3, { 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 4, 3 }, .017 },          /* Q = 8.2 */
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(rows); i++) {
		double sd = sqrt(rows[i].p * (1 - rows[i].p) / WP_RANK_MAX_DRAWS);
		struct wp_rank rank;

		assert_int_equal(
			wp_rank_cells(rows[i].ranks, rows[i].rounds, rows[i].cells, 3, &rank), 0);
		if (fabs(rank.p - rows[i].p) >
		    4 * sd + .0015) /* the table has three digits, and p counts itself */
			fail_msg("row %zu: p %.4f instead of %.3f", i, rank.p, rows[i].p);
	}
}

/* Two good placements and two bad ones, as a machine of two CPUs has them: which of the two good ones comes first
 * changes from round to round, and the difference between good and bad is plain. */
static void test_two_clusters(void **state)
{
	static const double values[] = { 47.1, 31.3, 35.8, 46.7, 45.3, 33.3,
					 29.6, 47.2, 47.1, 32.1, 31.6, 49.6 };
	struct wp_rank rank;

	(void)state;
	assert_int_equal(wp_rank_cells(values, 3, 4, 1909022030, &rank), 0);
	assert_true(rank.told_apart);
	assert_int_equal(rank.best, 3);
	assert_int_equal(rank.worst, 2);
}

static void test_one_round_tells_nothing(void **state)
{
	static const double values[] = { 1, 100, 1000, 10000 };
	struct wp_rank rank;

	(void)state;
	assert_int_equal(wp_rank_cells(values, 1, 4, 1, &rank), 0);
	assert_true(rank.p == 1);
	assert_false(rank.told_apart);
	assert_int_equal(rank.best, 3);
}

static void test_all_equal(void **state)
{
	static const double values[12];
	struct wp_rank rank;

	(void)state;
	assert_int_equal(wp_rank_cells(values, 3, 4, 1, &rank), 0);
	assert_true(rank.p == 1);
	assert_true(rank.overlap);
	assert_false(rank.told_apart);
}

static void test_overlapping_ranges_are_not_named(void **state)
{
	/* The same order in every round, on levels that move more than the cells differ. */
	static const double values[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
	struct wp_rank rank;

	(void)state;
	assert_int_equal(wp_rank_cells(values, 3, 4, 1, &rank), 0);
	assert_true(rank.p <= WP_RANK_ALPHA);
	assert_true(rank.overlap);
	assert_false(rank.told_apart);
}

static void test_same_seed_same_p(void **state)
{
	static const double values[] = { 1, 2, 3, 4, 2, 1, 4, 3, 4, 3, 2, 1 };
	struct wp_rank a, b;

	(void)state;
	assert_int_equal(wp_rank_cells(values, 3, 4, 7, &a), 0);
	assert_int_equal(wp_rank_cells(values, 3, 4, 7, &b), 0);
	assert_true(a.p == b.p && a.p > WP_RANK_ALPHA);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_cells_are_rarely_named),
		cmocka_unit_test(test_a_clear_best_is_named),
		cmocka_unit_test(test_needed_rounds),
		cmocka_unit_test(test_fewest_rounds_are_enough),
		cmocka_unit_test(test_published_table),
		cmocka_unit_test(test_two_clusters),
		cmocka_unit_test(test_one_round_tells_nothing),
		cmocka_unit_test(test_all_equal),
		cmocka_unit_test(test_overlapping_ranges_are_not_named),
		cmocka_unit_test(test_same_seed_same_p),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
