/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "stats/signed_rank.h"

static int near(double a, double b, double within)
{
	return fabs(a - b) <= within;
}

/* T1: the k of METHOD section 1 point 6 for n = 6..20, and from Wilcoxon's published table of critical values
 * (two-sided .05; k is the critical value plus one) for n = 21..30. */
static void table_of_k(void **state)
{
	static const size_t k[] = { 1,  3,  4,  6,  9,  11, 14, 18, 22,  26,  30,  35, 41,
				    47, 53, 59, 66, 74, 82, 90, 99, 108, 117, 127, 138 };
	double achieved, p;
	size_t got;

	(void)state;
	for (size_t n = 6; n <= 30; n++) {
		assert_int_equal(wp_signed_rank_k(n, .95, &got, &achieved), 0);
		if (got != k[n - 6])
			fail_msg("n %zu: k %zu", n, got);
		p = 2 * wp_signed_rank_cdf(n, got - 1);
		assert_true(near(1 - p, achieved, 1e-12) && achieved >= .95);
		assert_true(2 * wp_signed_rank_cdf(n, got) > .05);
		/* METHOD: real confidence 95.1 to 96.9 % (n = 6..20) */
		assert_true(n > 20 || (achieved > .9505 && achieved < .9695));
	}
}

/* P(T <= t) counted by hand: sets of distinct ranks with sum at most t, over 2^n. */
static void distribution_by_hand(void **state)
{
	static const struct {
		size_t n, t;
		double p;
	} cases[] = {
		{ 1, 0, .5 },          { 1, 1, 1 },       { 3, 0, 1. / 8 },  { 3, 3, 5. / 8 },
		{ 4, 2, 3. / 16 },     { 5, 0, 1. / 32 }, { 6, 0, 1. / 64 }, { 6, 2, 3. / 64 },
		{ 10, 8, 25. / 1024 }, { 10, 55, 1 },     { 10, 1000, 1 },   { 4, 10, 1 },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		double got = wp_signed_rank_cdf(cases[i].n, cases[i].t);

		if (!near(got, cases[i].p, 1e-15))
			fail_msg("n %zu, t %zu: %.17g", cases[i].n, cases[i].t, got);
	}
	assert_true(isnan(wp_signed_rank_cdf(0, 0)));
	assert_true(isnan(wp_signed_rank_cdf(WP_SIGNED_RANK_MAX + 1, 0)));
}

/* Symmetric, and near the normal approximation where that is good: mean M/2, variance n(n+1)(2n+1)/24. */
static void distribution_of_many(void **state)
{
	const size_t n = WP_SIGNED_RANK_MAX, m = n * (n + 1) / 2;
	double sd = sqrt((double)(n * (n + 1) * (2 * n + 1)) / 24), t, achieved;
	size_t k;

	(void)state;
	assert_true(near(wp_signed_rank_cdf(n, m / 2), .5, .001));
	assert_true(
		near(wp_signed_rank_cdf(n, 60000) + wp_signed_rank_cdf(n, m - 60001), 1, 1e-10));
	t = (double)m / 2 - 1.959964 * sd;
	assert_int_equal(wp_signed_rank_k(n, .95, &k, &achieved), 0);
	assert_true(near((double)k, t, 10) && near(achieved, .95, 1e-4));
}

static void k_says_why_not(void **state)
{
	double achieved = 99;
	size_t k = 99;

	(void)state;
	assert_int_equal(wp_signed_rank_k(5, .95, &k, &achieved), -ENODATA);
	assert_int_equal(wp_signed_rank_k(0, .95, &k, &achieved), -ENODATA);
	assert_int_equal(wp_signed_rank_k(7, .99, &k, &achieved), -ENODATA);
	assert_int_equal(wp_signed_rank_k(WP_SIGNED_RANK_MAX + 1, .95, &k, &achieved), -E2BIG);
	assert_int_equal(wp_signed_rank_k(10, 1, &k, &achieved), -EDOM);
	assert_int_equal(wp_signed_rank_k(10, (double)NAN, &k, &achieved), -EDOM);
	assert_true(k == 99 && achieved == 99);
	/* exactly reached on paper: 2 * 1/32 */
	assert_int_equal(wp_signed_rank_k(5, .9375, &k, &achieved), 0);
	assert_true(k == 1 && near(achieved, .9375, 1e-12));
}

static void estimate_and_interval(void **state)
{
	/* Depression scores, Hollander and Wolfe, example 3.1: differences of nine patients, published estimate
	 * -.46 and 96.1 % interval (-.786, -.010). */
	static const double hw[] = { -.952, .147, -1.022, -.430, -.620, -.590, -.490, .080, -.010 };
	static const double few[] = { 3, 1, 2 }, bad[] = { 1, (double)NAN };
	static const double huge[] = { 1e308, 1.5e308, 1.6e308, 1e308, 1e308, 1.7e308, 1e308 };
	struct wp_hodges_lehmann h = { .n = 99 };

	(void)state;
	assert_int_equal(wp_hodges_lehmann(few, 0, .95, &h), -ENODATA);
	assert_int_equal(wp_hodges_lehmann(bad, 2, .95, &h), -EDOM);
	assert_int_equal(wp_hodges_lehmann(few, 3, 1.5, &h), -EDOM);
	assert_int_equal(h.n, 99);
	assert_int_equal(wp_hodges_lehmann(hw, 9, .95, &h), 0);
	assert_true(near(h.estimate, -.46, .0051) && h.has_interval && h.interval.k == 6);
	assert_true(near(h.interval.low, -.786, .0006) && near(h.interval.high, -.010, .0006));
	assert_true(near(h.interval.confidence, .961, .0005));
	assert_int_equal(wp_hodges_lehmann(few, 3, .95, &h), 0);
	assert_true(h.estimate == 2 && !h.has_interval && h.n == 3);
	assert_int_equal(wp_hodges_lehmann(huge, 7, .95, &h), 0);
	assert_true(isfinite(h.estimate) && isfinite(h.interval.high));
}

/* The exact p by trying every assignment of signs. */
static double p_by_enumeration(const double *x, unsigned n)
{
	double rank[16] = { 0 }, t = 0, below = 0, above = 0;

	for (unsigned i = 0; i < n; i++) {
		double less = 0, equal = 0;

		for (unsigned j = 0; j < n; j++) {
			less += fabs(x[j]) < fabs(x[i]);
			equal += fabs(x[j]) == fabs(x[i]);
		}
		rank[i] = x[i] != 0 ? less + (equal + 1) / 2 : 0;
		t += x[i] > 0 ? rank[i] : 0;
	}
	for (unsigned signs = 0; signs < 1u << n; signs++) {
		double s = 0;

		for (unsigned i = 0; i < n; i++)
			s += signs >> i & 1 ? rank[i] : 0;
		below += s <= t;
		above += s >= t;
	}
	return fmin(1, 2 * fmin(below, above) / ldexp(1, (int)n));
}

static void p_is_exact(void **state)
{
	static const struct {
		const char *name;
		unsigned n;
		double x[10];
	} cases[] = {
		{ "no ties", 8, { 1, -2, 3, 4, 5, -6, 7, 8 } },
		{ "all positive", 6, { 1, 2, 3, 4, 5, 6 } },
		{ "all negative", 6, { -1, -2, -3, -4, -5, -6 } },
		{ "ties", 9, { 1, 1, -1, 2, 2, 2, -3, 3, 4 } },
		{ "zeros", 7, { 0, 0, 1, -2, 3, 3, 4 } },
		{ "all equal", 10, { 2, 2, 2, 2, 2, 2, 2, 2, 2, 2 } },
		{ "all zero", 4, { 0 } },
		{ "one", 1, { 5 } },
	};
	static const double bad[] = { (double)INFINITY };
	double x[12], p = 99;
	struct wp_rng r;

	(void)state;
	assert_int_equal(wp_signed_rank_p(bad, 1, &p), -EDOM);
	assert_int_equal(wp_signed_rank_p(bad, 0, &p), -ENODATA);
	assert_int_equal(wp_signed_rank_p(bad, WP_SIGNED_RANK_MAX + 1, &p), -E2BIG);
	assert_true(p == 99);
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		assert_int_equal(wp_signed_rank_p(cases[i].x, cases[i].n, &p), 0);
		if (!near(p, p_by_enumeration(cases[i].x, cases[i].n), 1e-12))
			fail_msg("%s: %.17g", cases[i].name, p);
	}
	wp_rng_seed(&r, 12);
	for (int i = 0; i < 50; i++) {
		for (int j = 0; j < 12; j++)
			x[j] = (double)wp_rng_below(&r, 9) - 3;
		assert_int_equal(wp_signed_rank_p(x, 12, &p), 0);
		assert_true(near(p, p_by_enumeration(x, 12), 1e-12));
	}
}

/* Without ties, p and interval say the same: p <= 1 - achieved confidence when 0 lies outside, else above. */
static void p_agrees_with_the_interval(void **state)
{
	struct wp_hodges_lehmann h;
	struct wp_rng r;
	double x[14], p;
	bool outside;

	(void)state;
	wp_rng_seed(&r, 77);
	for (int i = 0; i < 300; i++) {
		size_t n = 6 + (size_t)i % 9;

		for (size_t j = 0; j < n; j++)
			x[j] = wp_rng_unit(&r) - .3;
		assert_int_equal(wp_hodges_lehmann(x, n, .95, &h), 0);
		assert_int_equal(wp_signed_rank_p(x, n, &p), 0);
		outside = h.interval.low > 0 || h.interval.high < 0;
		assert_true(outside == (p <= .05));
	}
}

/* What the machine does to run number `run` of 2 n (METHOD section 5). */
enum noise { GAUSS, AR1, LINEAR, TAIL, PINNED_MODES, REGIME };

struct machine {
	struct wp_rng rng;
	double drift;
	bool slow;
};

/* Box and Muller. */
static double gauss(struct wp_rng *r)
{
	double u = 1 - wp_rng_unit(r), v = wp_rng_unit(r);

	return sqrt(-2 * log(u)) * cos(2 * M_PI * v);
}

/* ln of what the machine makes of one run. */
static double one_run(struct machine *m, enum noise noise, size_t run, size_t runs)
{
	switch (noise) {
	case GAUSS:
		return .02 * gauss(&m->rng);
	case AR1:
		m->drift = .9 * m->drift + .03 * sqrt(1 - .81) * gauss(&m->rng);
		return m->drift + .01 * gauss(&m->rng);
	case LINEAR:
		return log(1 - .06 * (double)run / (double)runs) + .01 * gauss(&m->rng);
	case TAIL:
		return (wp_rng_unit(&m->rng) < .1 ? log(.8) : 0) + .01 * gauss(&m->rng);
	case PINNED_MODES:
		if (run % 2 == 0)
			m->slow = wp_rng_unit(&m->rng) < .4;
		return (m->slow ? log(.75) : 0) + .01 * gauss(&m->rng);
	case REGIME:
		if (wp_rng_unit(&m->rng) < .1)
			m->slow = !m->slow;
		return (m->slow ? log(.9) : 0) + .01 * gauss(&m->rng);
	}
	return 0;
}

/* One experiment: n blocks, both arms in random order in each; B is better by `effect`. */
static void experiment(struct machine *m, enum noise noise, size_t n, double effect, double *x)
{
	double y[2];
	uint64_t first;

	m->drift = .03 * gauss(&m->rng);
	m->slow = wp_rng_unit(&m->rng) < .5;
	for (size_t b = 0; b < n; b++) {
		first = wp_rng_below(&m->rng, 2);
		y[first] = one_run(m, noise, 2 * b, 2 * n);
		y[!first] = one_run(m, noise, 2 * b + 1, 2 * n);
		x[b] = y[1] + log(1 + effect) - y[0];
	}
}

struct tally {
	unsigned excludes_zero, covers;
};

static struct tally simulate(enum noise noise, unsigned experiments, size_t n, double effect,
			     uint64_t seed)
{
	struct wp_hodges_lehmann h;
	struct machine m = { 0 };
	struct tally t = { 0 };
	double x[40];

	wp_rng_seed(&m.rng, seed);
	for (unsigned i = 0; i < experiments; i++) {
		experiment(&m, noise, n, effect, x);
		assert_int_equal(wp_hodges_lehmann(x, n, .95, &h), 0);
		t.excludes_zero += h.interval.low > 0 || h.interval.high < 0;
		t.covers += h.interval.low <= log(1 + effect) && log(1 + effect) <= h.interval.high;
	}
	return t;
}

/* T2: 92.6 to 97.1 % of 1,000. */
static void coverage(void **state)
{
	(void)state;
	assert_in_range(simulate(GAUSS, 1000, 10, .02, 2).covers, 926, 971);
}

/* T3: 3.9 to 6.2 % of 4,000; a linear trend up to 7.5 %; fewer is allowed (conservative). */
static void false_alarms(void **state)
{
	static const struct {
		const char *name;
		enum noise noise;
		unsigned min, max;
	} cases[] = {
		{ "gauss", GAUSS, 156, 248 },
		{ "slow drift", AR1, 0, 248 },
		{ "linear fall", LINEAR, 0, 300 },
		{ "tail", TAIL, 0, 248 },
		{ "modes pinned to the block", PINNED_MODES, 156, 248 },
		{ "regime", REGIME, 0, 248 },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		unsigned got = simulate(cases[i].noise, 4000, 10, 0, 3).excludes_zero;

		print_message("# %s: %u of 4000\n", cases[i].name, got);
		if (got < cases[i].min || got > cases[i].max)
			fail_msg("%s: %u of 4000", cases[i].name, got);
	}
}

/* T4: slow drift, 1,000 experiments. 2 %: at least 75 % at n = 10 and 96 % at 20; 5 %: at least 99 %. */
static void power(void **state)
{
	(void)state;
	assert_in_range(simulate(AR1, 1000, 10, .02, 4).excludes_zero, 750, 1000);
	assert_in_range(simulate(AR1, 1000, 20, .02, 4).excludes_zero, 960, 1000);
	assert_in_range(simulate(AR1, 1000, 10, .05, 4).excludes_zero, 990, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_of_k),
		cmocka_unit_test(distribution_by_hand),
		cmocka_unit_test(distribution_of_many),
		cmocka_unit_test(k_says_why_not),
		cmocka_unit_test(estimate_and_interval),
		cmocka_unit_test(p_is_exact),
		cmocka_unit_test(p_agrees_with_the_interval),
		cmocka_unit_test(coverage),
		cmocka_unit_test(false_alarms),
		cmocka_unit_test(power),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
