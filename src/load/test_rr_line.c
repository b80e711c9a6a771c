/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Due times: what the threads of an end have together is the line that was asked for, to the nanosecond.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "load/rr_line.h"

#define START  INT64_C(1000000000123)
#define SECOND UINT64_C(1000) /* in mHz */

static const struct {
	uint64_t rate_mhz, streams, threads;
} ends[] = {
	{ 1000 * SECOND, 1, 1 },
	{ 1000 * SECOND, 7, 3 },
	{ 333333, 10, 4 },
	{ 7777777777, 10000, 64 },
	{ 3, 2, 2 },
	{ 1000000 * SECOND, 3, 2 },
	{ 2000 * SECOND, 8, 8 },
};

static struct rr_line_share share_of(uint64_t streams, uint64_t threads, uint64_t thread)
{
	return (struct rr_line_share) { .n_streams = streams,
					.first = thread,
					.stride = threads,
					.mine = (streams - thread + threads - 1) / threads };
}

static int by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void threads_together_are_even(void **state)
{
	enum { EACH = 500 };

	(void)state;
	for (size_t e = 0; e < WP_ARRAY_SIZE(ends); e++) {
		uint64_t threads = ends[e].threads, rounds = EACH / ends[e].streams + 2, n = 0;
		int64_t *due = calloc(ends[e].streams * rounds, sizeof(*due));

		assert_non_null(due);
		for (uint64_t t = 0; t < threads; t++) {
			const struct rr_line_share share = share_of(ends[e].streams, threads, t);
			struct rr_line l;

			rr_line_init(&l, ends[e].rate_mhz, &share, START);
			for (uint64_t i = 0; i < share.mine * rounds; i++) {
				due[n++] = l.due_ns;
				rr_line_next(&l);
			}
		}
		assert_int_equal(n, ends[e].streams * rounds);
		qsort(due, n, sizeof(*due), by_time);
		for (uint64_t j = 0; j < n; j++)
			assert_int_equal(due[j], START + (int64_t)((unsigned __int128)j * 1000 *
								   WP_NS_PER_S / ends[e].rate_mhz));
		free(due);
	}
}

/* What rr_line_end() says against stepping through the line. */
static void what_is_overdue_is_counted_exactly(void **state)
{
	struct wp_rng rng;

	(void)state;
	wp_rng_seed(&rng, 1);
	for (size_t e = 0; e < WP_ARRAY_SIZE(ends); e++)
		for (int round = 0; round < 50; round++) {
			uint64_t threads = ends[e].threads, t = wp_rng_below(&rng, threads);
			const struct rr_line_share share = share_of(ends[e].streams, threads, t);
			uint64_t taken = wp_rng_below(&rng, 50), n = 0;
			struct rr_line l, steps;
			int64_t now;

			rr_line_init(&l, ends[e].rate_mhz, &share, START);
			for (uint64_t i = 0; i < taken; i++)
				rr_line_next(&l);
			steps = l;
			/* A random time, and the edges of a due time. */
			for (uint64_t i = wp_rng_below(&rng, 200); i > 0; i--)
				rr_line_next(&steps);
			now = steps.due_ns + (int64_t)wp_rng_below(&rng, 3) - 1;
			steps = l;
			for (; steps.due_ns <= now; rr_line_next(&steps))
				n++;
			assert_int_equal(rr_line_end(&l, now), n);
			assert_int_equal(l.due_ns, RR_NEVER);
			assert_int_equal(rr_line_end(&l, INT64_MAX), 0);
			rr_line_next(&l);
			assert_int_equal(l.due_ns, RR_NEVER);
		}
}

static void nothing_is_overdue_before_the_start(void **state)
{
	const struct rr_line_share share = share_of(2, 1, 0);
	struct rr_line l;

	(void)state;
	rr_line_init(&l, 1000 * SECOND, &share, START);
	assert_int_equal(rr_line_end(&l, START - 1), 0);
	rr_line_init(&l, 1000 * SECOND, &share, START);
	assert_int_equal(rr_line_end(&l, START), 1);
	rr_line_init_poisson(&l, 1000 * SECOND, &share, START, 1);
	assert_int_equal(rr_line_end(&l, START - 1), 0);
}

static void extremes_do_not_wrap(void **state)
{
	const struct rr_line_share one = share_of(1, 1, 0), last = share_of(10000, 10000, 9999);
	struct rr_line l;

	(void)state;
	/* 10^9 a second for a year */
	rr_line_init(&l, UINT64_C(1000000000000), &one, START);
	assert_int_equal(rr_line_end(&l, START + 365 * 86400 * WP_NS_PER_S),
			 365 * 86400 * UINT64_C(1000000000) + 1);
	/* one in 1000 s, dealt out to 10,000: the last one's turn is after 115 days */
	rr_line_init(&l, 1, &last, START);
	assert_int_equal(l.due_ns, START + 9999 * 1000 * WP_NS_PER_S);
	for (int i = 0; i < 2000; i++) {
		int64_t before = l.due_ns;

		rr_line_next(&l);
		assert_true(l.due_ns > before || l.due_ns == RR_NEVER);
	}
	assert_int_equal(l.due_ns, RR_NEVER);
	/* Poisson, 10^9 a second: what was never taken in a minute */
	rr_line_init_poisson(&l, UINT64_C(1000000000000), &one, START, 7);
	assert_true(fabs((double)rr_line_end(&l, START + 60 * WP_NS_PER_S) / 60e9 - 1) < 1e-4);
}

/* Mean and spread of exponential gaps; of a thread's share of the rate. The seeds are fixed: no luck is needed. */
static void poisson_gaps_are_exponential(void **state)
{
	enum { N = 200000 };

	(void)state;
	for (size_t e = 0; e < WP_ARRAY_SIZE(ends); e++) {
		const struct rr_line_share share = share_of(ends[e].streams, ends[e].threads, 0);
		double mean = 1e12 / (double)ends[e].rate_mhz * (double)share.n_streams /
			      (double)share.mine;
		double sum = 0, squares = 0;
		uint64_t above = 0;
		struct rr_line l;
		int64_t before = START;

		if (mean * N > 4e18)
			continue;
		rr_line_init_poisson(&l, ends[e].rate_mhz, &share, START, e + 1);
		for (int i = 0; i < N; i++) {
			double gap = (double)(l.due_ns - before);

			assert_true(gap >= 0);
			sum += gap;
			squares += gap * gap;
			above += gap > mean;
			before = l.due_ns;
			rr_line_next(&l);
		}
		/* Standard errors: of the mean 1/sqrt(N) = 0.22 %, of the variance sqrt(8/N) = 0.63 %, of the share
		 * above the mean (1/e) 0.11 %; bands of four of them. */
		assert_true(fabs(sum / N / mean - 1) < .009);
		assert_true(fabs((squares / N - sum / N * (sum / N)) / (mean * mean) - 1) < .026);
		if (mean > 1000) /* else whole nanoseconds are coarse */
			assert_true(fabs((double)above / N - exp(-1)) < .0045);
	}
}

static void poisson_overdue_is_what_would_have_come(void **state)
{
	const struct rr_line_share share = share_of(3, 2, 1);
	struct rr_line l, steps;
	uint64_t n = 0;

	(void)state;
	rr_line_init_poisson(&l, 5000 * SECOND, &share, START, 3);
	steps = l;
	for (; steps.due_ns <= START + 10 * WP_NS_PER_S; rr_line_next(&steps))
		n++;
	assert_int_equal(rr_line_end(&l, START + 10 * WP_NS_PER_S), n);
	assert_true(n > 15000 && n < 18000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_together_are_even),
		cmocka_unit_test(what_is_overdue_is_counted_exactly),
		cmocka_unit_test(nothing_is_overdue_before_the_start),
		cmocka_unit_test(extremes_do_not_wrap),
		cmocka_unit_test(poisson_gaps_are_exponential),
		cmocka_unit_test(poisson_overdue_is_what_would_have_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
