/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_order.c - order.h, jain.h and running.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "stats/jain.h"
#include "stats/order.h"
#include "stats/running.h"

static int near(double a, double b, double within)
{
	return fabs(a - b) <= within;
}

/* Type 7 by hand from its definition: x_(j) + g (x_(j+1) - x_(j)), (n - 1) q = j - 1 + g. The values for 1..10 are
 * those that R prints for quantile(1:10). */
static void quantiles_are_type_7(void **state)
{
	static const struct {
		const char *name;
		size_t n;
		double q, value;
		double v[10];
	} cases[] = {
		{ "one value", 1, .3, 5, { 5 } },
		{ "two, middle", 2, .5, 1.5, { 1, 2 } },
		{ "R, 25 %", 10, .25, 3.25, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 } },
		{ "R, 75 %", 10, .75, 7.75, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 } },
		{ "R, 90 %", 10, .9, 9.1, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 } },
		{ "minimum", 3, 0, -4, { -4, 0, 9 } },
		{ "maximum", 3, 1, 9, { -4, 0, 9 } },
		{ "below 0", 3, -1, -4, { -4, 0, 9 } },
		{ "above 1", 3, 2, 9, { -4, 0, 9 } },
		{ "not a number", 3, (double)NAN, -4, { -4, 0, 9 } },
		{ "huge, no overflow", 2, .5, 0, { -DBL_MAX, DBL_MAX } },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		double got = wp_quantile(cases[i].v, cases[i].n, cases[i].q);

		if (!near(got, cases[i].value, 1e-12))
			fail_msg("%s: %.17g", cases[i].name, got);
	}
}

static void summary_of_unsorted_values(void **state)
{
	static const double v[] = { 7, 1, 4, 10, 2 }, bad[] = { 1, (double)NAN },
			    inf[] = { (double)INFINITY };
	static const double big[] = { DBL_MAX, DBL_MAX };
	struct wp_order_summary s = { .n = 99 };

	(void)state;
	assert_int_equal(wp_order_summary(v, 0, &s), -ENODATA);
	assert_int_equal(wp_order_summary(bad, 2, &s), -EDOM);
	assert_int_equal(wp_order_summary(inf, 1, &s), -EDOM);
	assert_int_equal(s.n, 99);
	assert_int_equal(wp_order_summary(v, 5, &s), 0);
	assert_true(s.n == 5 && s.min == 1 && s.max == 10 && s.range == 9 && s.median == 4);
	assert_true(s.q1 == 2 && s.q3 == 7);
	assert_true(v[0] == 7);
	assert_int_equal(wp_order_summary(v, 4, &s), 0);
	assert_true(s.median == 5.5);
	assert_int_equal(wp_order_summary(big, 2, &s), 0);
	assert_true(s.median == DBL_MAX && s.range == 0);
}

/* The ranks of the sign test's table (Conover). The real confidence was computed apart, in integers:
 * 1 - 2 sum_(i<k) C(n, i) / 2^n. */
static void median_interval_table(void **state)
{
	static const struct {
		size_t n, k;
		double asked, achieved;
	} cases[] = {
		{ 6, 1, .95, .96875 },        { 7, 1, .95, .984375 },
		{ 8, 1, .95, .9921875 },      { 9, 2, .95, .9609375 },
		{ 10, 2, .95, .978515625 },   { 11, 2, .95, .98828125 },
		{ 12, 3, .95, .96142578125 }, { 15, 4, .95, .96484375 },
		{ 20, 6, .95, .95861053 },    { 25, 8, .95, .95671475 },
		{ 30, 10, .95, .95722605 },   { 8, 1, .99, .9921875 },
		{ 20, 4, .99, .99742317 },    { 3, 1, .75, .75 },
		{ 100, 40, .95, .96479980 },
	};
	double v[100];
	struct wp_bounds got;

	(void)state;
	for (size_t i = 0; i < 100; i++)
		v[i] = (double)(i + 1);
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		size_t n = cases[i].n, k = cases[i].k;

		assert_int_equal(wp_median_interval(v, n, cases[i].asked, &got), 0);
		if (got.k != k || !near(got.confidence, cases[i].achieved, 1e-8))
			fail_msg("n %zu: k %zu, %.9f", n, got.k, got.confidence);
		assert_true(got.low == v[k - 1] && got.high == v[n - k]);
	}
}

static void median_interval_says_when_n_is_too_small(void **state)
{
	static const double v[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct wp_bounds got = { .k = 99 };

	(void)state;
	assert_int_equal(wp_median_interval(v, 5, .95, &got), -ENODATA);
	assert_int_equal(wp_median_interval(v, 1, .5, &got), -ENODATA);
	assert_int_equal(wp_median_interval(v, 0, .95, &got), -ENODATA);
	assert_int_equal(wp_median_interval(v, 7, .99, &got), -ENODATA);
	assert_int_equal(wp_median_interval(v, 8, 1, &got), -EDOM);
	assert_int_equal(wp_median_interval(v, 8, 0, &got), -EDOM);
	assert_int_equal(wp_median_interval(v, 8, (double)NAN, &got), -EDOM);
	assert_int_equal(got.k, 99);
	assert_int_equal(wp_median_interval_min_n(.95), 6);
	assert_int_equal(wp_median_interval_min_n(.99), 8);
	assert_int_equal(wp_median_interval_min_n(.5), 2);
	assert_int_equal(wp_median_interval_min_n(.75), 3);
	assert_int_equal(wp_median_interval_min_n(1), 0);
	assert_int_equal(wp_median_interval_min_n(-1), 0);
}

/* Two million values, where 2^-n is 0: k from the normal approximation n/2 - 1.96 sqrt(n)/2, within 3. */
static void median_interval_of_very_many(void **state)
{
	enum { MANY = 2000000 };
	double *v = test_calloc(MANY, sizeof(*v));
	struct wp_bounds got;

	(void)state;
	assert_int_equal(wp_median_interval(v, MANY, .95, &got), 0);
	assert_true(near((double)got.k, MANY / 2 - 1.959964 * sqrt(MANY) / 2, 3));
	assert_true(got.confidence >= .95 && got.confidence < .9512);
	test_free(v);
}

/* Seeded simulation: 4,000 samples of 10 from an exponential distribution. The real confidence is 97.85 %; the band
 * is 99.9 % binomial: 97.0 to 98.6 %. */
static void median_interval_covers(void **state)
{
	struct wp_bounds got;
	struct wp_rng r;
	unsigned in = 0;
	double v[10];

	(void)state;
	wp_rng_seed(&r, 1984);
	for (int i = 0; i < 4000; i++) {
		for (int j = 0; j < 10; j++)
			v[j] = -log(1 - wp_rng_unit(&r));
		wp_sort(v, 10);
		assert_int_equal(wp_median_interval(v, 10, .95, &got), 0);
		in += got.low <= log(2.0) && log(2.0) <= got.high;
	}
	assert_in_range(in, 3880, 3944);
}

static void jain(void **state)
{
	static const struct {
		const char *name;
		size_t n;
		int code;
		double index;
		double x[6];
	} cases[] = {
		{ "equal", 4, 0, 1, { 5, 5, 5, 5 } },
		{ "one", 1, 0, 1, { 3 } },
		{ "one has all", 5, 0, .2, { 0, 0, 7, 0, 0 } },
		{ "2 of 4", 4, 0, .5, { 1, 1, 0, 0 } },
		{ "1 and 3", 2, 0, .8, { 1, 3 } },
		{ "huge", 2, 0, .8, { DBL_MAX / 3, DBL_MAX } },
		{ "tiny", 2, 0, 1, { DBL_TRUE_MIN, DBL_TRUE_MIN } },
		{ "none", 0, -ENODATA, 0, { 0 } },
		{ "all 0", 3, -ENODATA, 0, { 0 } },
		{ "negative", 2, -EDOM, 0, { 1, -1 } },
		{ "not a number", 2, -EDOM, 0, { 1, (double)NAN } },
		{ "infinite", 2, -EDOM, 0, { 1, (double)INFINITY } },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		double got = 99;
		int r = wp_jain_index(cases[i].x, cases[i].n, &got);

		if (r != cases[i].code || !near(got, r ? 99 : cases[i].index, 1e-12))
			fail_msg("%s: %d, %g", cases[i].name, r, got);
	}
}

static void running_mean_and_variance(void **state)
{
	/* A large mean with a small spread: the textbook case where sum of squares minus square of sum fails. */
	static const double v[] = { 1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16 };
	struct wp_running s = { 0 };

	(void)state;
	assert_true(isnan(wp_running_variance(&s)));
	wp_running_add(&s, v[0]);
	assert_true(s.mean == v[0] && isnan(wp_running_sd(&s)));
	for (size_t i = 1; i < 4; i++)
		wp_running_add(&s, v[i]);
	assert_true(s.n == 4 && near(s.mean, 1e9 + 10, 1e-6) &&
		    near(wp_running_variance(&s), 30, 1e-6));
	assert_true(near(wp_running_sd(&s), sqrt(30), 1e-6));
	assert_true(s.min == 1e9 + 4 && s.max == 1e9 + 16);
}

static void series_merge_is_pooling(void **state)
{
	struct wp_running all = { 0 }, part[3] = { { 0 } }, merged = { 0 }, none = { 0 };
	struct wp_rng r;
	double x;

	(void)state;
	wp_rng_seed(&r, 5);
	for (int i = 0; i < 3000; i++) {
		x = wp_rng_unit(&r) * 100 - 20;
		wp_running_add(&all, x);
		wp_running_add(&part[i < 100 ? 0 : i < 1500 ? 1 : 2], x);
	}
	for (int i = 0; i < 3; i++)
		wp_running_merge(&merged, &part[i]);
	wp_running_merge(&merged, &none);
	assert_true(merged.n == all.n && near(merged.mean, all.mean, 1e-10));
	assert_true(near(wp_running_variance(&merged), wp_running_variance(&all), 1e-8));
	assert_true(merged.min == all.min && merged.max == all.max);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_are_type_7),
		cmocka_unit_test(summary_of_unsorted_values),
		cmocka_unit_test(median_interval_table),
		cmocka_unit_test(median_interval_says_when_n_is_too_small),
		cmocka_unit_test(median_interval_of_very_many),
		cmocka_unit_test(median_interval_covers),
		cmocka_unit_test(jain),
		cmocka_unit_test(running_mean_and_variance),
		cmocka_unit_test(series_merge_is_pooling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
