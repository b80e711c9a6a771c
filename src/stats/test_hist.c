/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "stats/hist.h"

/* Every bucket of every resolution: bounds join without a gap, give the bucket again, and the middle is within the
 * documented error of both ends. */
static void buckets_cover_all_numbers(void **state)
{
	(void)state;
	for (unsigned bits = WP_HIST_BITS_MIN; bits <= WP_HIST_BITS_MAX; bits++) {
		size_t n = WP_HIST_BUCKETS(bits);
		double error = 1 / ldexp(1, (int)bits + 1);
		uint64_t next = 0;

		for (size_t i = 0; i < n; i++) {
			uint64_t low = wp_hist_low(bits, i), high = wp_hist_high(bits, i);
			uint64_t middle = wp_hist_middle(bits, i);

			assert_true(low == next && high >= low && middle >= low && middle <= high);
			assert_true(wp_hist_index(bits, low) == i &&
				    wp_hist_index(bits, high) == i);
			assert_true((double)(middle - low) <= (double)low * error);
			assert_true((double)(high - middle) <= (double)high * error);
			next = high + 1;
		}
		assert_true(next == 0); /* the last one ends at UINT64_MAX */
	}
}

static void small_values_are_exact(void **state)
{
	struct wp_hist h;
	uint64_t v;

	(void)state;
	assert_int_equal(wp_hist_init(&h, 7, NULL), 0);
	assert_int_equal(wp_hist_quantile(&h, .5, &v), -ENODATA);
	assert_true(isnan(wp_hist_mean(&h)));
	for (uint64_t i = 1; i <= 100; i++)
		wp_hist_add(&h, i);
	for (uint64_t i = 1; i <= 100; i++) {
		assert_int_equal(wp_hist_quantile(&h, (double)i / 100, &v), 0);
		assert_int_equal(v, i);
	}
	assert_int_equal(wp_hist_quantile(&h, 0, &v), 0);
	assert_int_equal(v, 1);
	assert_int_equal(wp_hist_quantile(&h, .071, &v), 0);
	assert_int_equal(v, 8);
	assert_true(wp_hist_mean(&h) == 50.5);
	assert_int_equal(wp_hist_quantile(&h, -.1, &v), -EDOM);
	assert_int_equal(wp_hist_quantile(&h, 1.1, &v), -EDOM);
	assert_int_equal(wp_hist_quantile(&h, (double)NAN, &v), -EDOM);
	wp_hist_done(&h);
	wp_hist_done(&h);
	wp_hist_done(NULL);
}

static void extremes(void **state)
{
	struct wp_hist h;
	uint64_t v;

	(void)state;
	assert_int_equal(wp_hist_init(&h, 0, NULL), -EINVAL);
	assert_int_equal(wp_hist_init(&h, 15, NULL), -EINVAL);
	assert_int_equal(wp_hist_init(&h, 5, NULL), 0);
	wp_hist_add(&h, UINT64_MAX);
	wp_hist_add(&h, 0);
	wp_hist_add(&h, UINT64_MAX);
	wp_hist_add_n(&h, 77, 0);
	assert_true(h.n == 3 && h.min == 0 && h.max == UINT64_MAX);
	assert_int_equal(wp_hist_quantile(&h, .5, &v), 0);
	assert_true(v >= UINT64_MAX - (UINT64_MAX >> 6) - 1);
	assert_true(fabs(wp_hist_mean(&h) / (0x1p64 * 2 / 3) - 1) < 1e-15);
	wp_hist_reset(&h);
	assert_true(h.n == 0 && wp_hist_pairs(&h, NULL, 0) == 0);
	wp_hist_add(&h, 1000003);
	for (double q = 0; q <= 1; q += .125) { /* one value is never rounded */
		assert_int_equal(wp_hist_quantile(&h, q, &v), 0);
		assert_true(v == 1000003);
	}
	wp_hist_done(&h);
}

static void memory_of_the_caller(void **state)
{
	uint64_t storage[WP_HIST_BUCKETS(1) + 1];
	struct wp_hist h;

	(void)state;
	memset(storage, 0xee, sizeof(storage));
	assert_int_equal(wp_hist_init(&h, 1, storage), 0);
	for (unsigned i = 0; i < 64; i++)
		wp_hist_add(&h, UINT64_C(1) << i);
	wp_hist_add(&h, UINT64_MAX);
	assert_ptr_equal(h.bucket, storage);
	assert_true(storage[WP_HIST_BUCKETS(1)] == UINT64_C(0xeeeeeeeeeeeeeeee));
	wp_hist_done(&h);
}

static int by_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* T16: uniform, exponential, heavy-tailed and two-moded values against the sorted values themselves. */
static void quantiles_of_known_distributions(void **state)
{
	static const double qs[] = { .001, .01, .1, .25, .5, .75, .9, .99, .999, .9999, 1 };
	enum { COUNT = 20001, KINDS = 4 };
	uint64_t *v = test_calloc(COUNT, sizeof(*v));
	struct wp_rng r;

	(void)state;
	wp_rng_seed(&r, 16);
	for (int kind = 0; kind < KINDS; kind++)
		for (unsigned bits = 3; bits <= 11; bits += 4) {
			struct wp_hist h;

			assert_int_equal(wp_hist_init(&h, bits, NULL), 0);
			for (int i = 0; i < COUNT; i++) {
				double u = 1 - wp_rng_unit(&r);

				v[i] = (uint64_t)(kind == 0   ? u * 1e6
						  : kind == 1 ? -log(u) * 50000
						  : kind == 2 ? 1000 / (u * u)
							      : (u < .6 ? 30000 : 9e6) + u * 1000);
				wp_hist_add(&h, v[i]);
			}
			qsort(v, COUNT, sizeof(*v), by_u64);
			for (size_t i = 0; i < WP_ARRAY_SIZE(qs); i++) {
				uint64_t got, want = v[(size_t)ceil(qs[i] * COUNT) - 1];

				assert_int_equal(wp_hist_quantile(&h, qs[i], &got), 0);
				if (fabs((double)got - (double)want) >
				    (double)want / ldexp(1, (int)bits + 1))
					fail_msg("kind %d, %u bits, q %g: %lu for %lu", kind, bits,
						 qs[i], (unsigned long)got, (unsigned long)want);
			}
			assert_true(h.min == v[0] && h.max == v[COUNT - 1]);
			wp_hist_done(&h);
		}
	test_free(v);
}

static void same(const struct wp_hist *a, const struct wp_hist *b)
{
	assert_true(a->n == b->n && a->min == b->min && a->max == b->max && a->sum == b->sum);
	assert_memory_equal(a->bucket, b->bucket, WP_HIST_BUCKETS(a->bits) * sizeof(*a->bucket));
}

static void merge_is_pooling(void **state)
{
	struct wp_hist all, part[3], other;
	struct wp_rng r;
	uint64_t v;

	(void)state;
	wp_rng_seed(&r, 9);
	assert_int_equal(wp_hist_init(&all, 6, NULL), 0);
	assert_int_equal(wp_hist_init(&other, 5, NULL), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(wp_hist_init(&part[i], 6, NULL), 0);
	for (int i = 0; i < 5000; i++) {
		v = wp_rng_u64(&r) >> wp_rng_below(&r, 64);
		wp_hist_add(&all, v);
		wp_hist_add(&part[1 + i % 2], v);
	}
	for (int i = 1; i < 3; i++)
		assert_int_equal(wp_hist_merge(&part[0], &part[i]), 0);
	same(&part[0], &all);
	wp_hist_reset(&part[1]);
	assert_int_equal(wp_hist_merge(&part[0], &part[1]), 0);
	same(&part[0], &all);
	assert_int_equal(wp_hist_merge(&part[0], &other), -EINVAL);
	wp_hist_add_n(&part[1], 5, UINT64_MAX - 100);
	assert_int_equal(wp_hist_merge(&part[0], &part[1]), -EOVERFLOW);
	same(&part[0], &all);
	for (int i = 0; i < 3; i++)
		wp_hist_done(&part[i]);
	wp_hist_done(&all);
	wp_hist_done(&other);
}

static void pairs_there_and_back(void **state)
{
	struct wp_hist_pair *pairs;
	struct wp_hist a, b;
	struct wp_rng r;
	size_t n;

	(void)state;
	wp_rng_seed(&r, 10);
	assert_int_equal(wp_hist_init(&a, 7, NULL), 0);
	assert_int_equal(wp_hist_init(&b, 7, NULL), 0);
	wp_hist_add(&b, 5); /* is replaced */
	for (int i = 0; i < 1000; i++)
		wp_hist_add(&a, 20000 + wp_rng_below(&r, 100000));
	n = wp_hist_pairs(&a, NULL, 0);
	assert_in_range(n, 100, 1000);
	pairs = test_calloc(n, sizeof(*pairs));
	assert_true(wp_hist_pairs(&a, pairs, n) == n);
	assert_int_equal(wp_hist_from_pairs(&b, pairs, n, a.min, a.max, wp_hist_mean(&a)), 0);
	same(&a, &b);
	assert_int_equal(wp_hist_from_pairs(&b, NULL, 0, 0, 0, (double)NAN), 0);
	assert_true(b.n == 0);
	test_free(pairs);
	wp_hist_done(&a);
	wp_hist_done(&b);
}

static void pairs_from_a_hostile_peer(void **state)
{
	static const struct {
		const char *name;
		size_t n;
		uint64_t min, max;
		double mean;
		struct wp_hist_pair p[3];
	} cases[] = {
		{ "index out of range",
		  2,
		  5,
		  UINT64_MAX,
		  1e10,
		  { { 5, 1 }, { WP_HIST_BUCKETS(5), 1 } } },
		{ "index twice", 2, 5, 5, 5, { { 5, 1 }, { 5, 1 } } },
		{ "falling", 2, 5, 4, 5, { { 5, 1 }, { 4, 1 } } },
		{ "count 0", 1, 5, 5, 5, { { 5, 0 } } },
		{ "wraps", 2, 5, 6, 5.5, { { 5, UINT64_MAX }, { 6, 1 } } },
		{ "minimum elsewhere", 2, 4, 6, 5.5, { { 5, 1 }, { 6, 1 } } },
		{ "maximum elsewhere", 2, 5, 7, 5.5, { { 5, 1 }, { 6, 1 } } },
		{ "minimum above maximum", 1, 129, 128, 128, { { 160, 1 } } },
		{ "mean below", 2, 5, 6, 4.9, { { 5, 1 }, { 6, 1 } } },
		{ "mean above", 2, 5, 6, 6.1, { { 5, 1 }, { 6, 1 } } },
		{ "mean not a number", 2, 5, 6, (double)NAN, { { 5, 1 }, { 6, 1 } } },
		{ "mean infinite", 2, 5, 6, (double)INFINITY, { { 5, 1 }, { 6, 1 } } },
	};
	static const struct wp_hist_pair most = { 0, UINT64_MAX };
	struct wp_hist h;

	(void)state;
	assert_int_equal(wp_hist_init(&h, 5, NULL), 0);
	wp_hist_add(&h, 42);
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		int r = wp_hist_from_pairs(&h, cases[i].p, cases[i].n, cases[i].min, cases[i].max,
					   cases[i].mean);

		if (r != -EINVAL || h.n != 1 || h.min != 42)
			fail_msg("%s: %d", cases[i].name, r);
	}
	assert_int_equal(wp_hist_from_pairs(&h, &most, WP_HIST_BUCKETS(5) + 1, 0, 0, 0), -EINVAL);
	assert_int_equal(wp_hist_from_pairs(&h, &most, 1, 0, 0, 0), 0);
	assert_true(h.n == UINT64_MAX && wp_hist_mean(&h) == 0);
	wp_hist_done(&h);
}

/* Readings of a growing histogram: what came between two of them, down to the last value. */
static void difference_is_what_came_between(void **state)
{
	struct wp_hist h, before, d;
	uint64_t v;

	(void)state;
	assert_int_equal(wp_hist_init(&h, 7, NULL), 0);
	assert_int_equal(wp_hist_init(&before, 7, NULL), 0);
	assert_int_equal(wp_hist_init(&d, 7, NULL), 0);
	wp_hist_add(&h, 100000);
	wp_hist_add(&h, 20);
	assert_int_equal(wp_hist_merge(&before, &h), 0);
	assert_int_equal(wp_hist_difference(&h, &before, &d), 0);
	assert_true(d.n == 0 && isnan(wp_hist_mean(&d)));
	wp_hist_add(&h, 50);
	wp_hist_add(&h, 5000);
	wp_hist_add(&h, 5001);
	assert_int_equal(wp_hist_difference(&h, &before, &d), 0);
	assert_int_equal(d.n, 3);
	assert_int_equal(d.min, 50); /* a bucket of its own */
	/* The whole's maximum is older: the bound of the bucket, at most 0.79 % above the value. */
	assert_true(d.max >= 5001 && (double)d.max <= 5001 * 1.0079);
	assert_true(wp_hist_mean(&d) == (50 + 5000 + 5001) / 3.0);
	assert_int_equal(wp_hist_quantile(&d, .5, &v), 0);
	assert_true(v >= 4980 && v <= 5020);
	wp_hist_add(&h, 200000);
	assert_int_equal(wp_hist_difference(&h, &before, &before), 0); /* in place */
	assert_true(before.n == 4 && before.max == 200000);
	wp_hist_done(&h);
	wp_hist_done(&before);
	wp_hist_done(&d);
}

static void difference_of_others_is_refused(void **state)
{
	struct wp_hist a, b, coarse;

	(void)state;
	assert_int_equal(wp_hist_init(&a, 7, NULL), 0);
	assert_int_equal(wp_hist_init(&b, 7, NULL), 0);
	assert_int_equal(wp_hist_init(&coarse, 5, NULL), 0);
	wp_hist_add(&a, 3);
	wp_hist_add(&b, 4);
	wp_hist_add(&b, 4);
	assert_int_equal(wp_hist_difference(&a, &b, &b), -EINVAL);
	assert_int_equal(wp_hist_difference(&a, &coarse, &b), -EINVAL);
	assert_int_equal(b.n, 2);
	wp_hist_done(&a);
	wp_hist_done(&b);
	wp_hist_done(&coarse);
}

/* A reading taken in the middle of an addition may lack the value's part of the sum, or the newest maximum. */
static void difference_of_torn_readings_is_whole(void **state)
{
	struct wp_hist h, before, d;

	(void)state;
	assert_int_equal(wp_hist_init(&h, 7, NULL), 0);
	assert_int_equal(wp_hist_init(&before, 7, NULL), 0);
	assert_int_equal(wp_hist_init(&d, 7, NULL), 0);
	wp_hist_add(&h, 70000);
	h.sum = 0;
	h.min = h.max = 5;
	assert_int_equal(wp_hist_difference(&h, &before, &d), 0);
	assert_true(d.min <= 70000 && d.max >= 70000);
	assert_true(wp_hist_mean(&d) >= (double)d.min && wp_hist_mean(&d) <= (double)d.max);
	wp_hist_done(&h);
	wp_hist_done(&before);
	wp_hist_done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_cover_all_numbers),
		cmocka_unit_test(small_values_are_exact),
		cmocka_unit_test(extremes),
		cmocka_unit_test(memory_of_the_caller),
		cmocka_unit_test(quantiles_of_known_distributions),
		cmocka_unit_test(merge_is_pooling),
		cmocka_unit_test(difference_is_what_came_between),
		cmocka_unit_test(difference_of_others_is_refused),
		cmocka_unit_test(difference_of_torn_readings_is_whole),
		cmocka_unit_test(pairs_there_and_back),
		cmocka_unit_test(pairs_from_a_hostile_peer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
