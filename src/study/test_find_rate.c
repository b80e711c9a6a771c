/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rate search on made-up paths whose answer is known, and the parser of its bound. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/rng.h"
#include "stats/order.h"
#include "study/find_rate.h"

#define TRIAL_S 2.0

/* A path that carries `capacity_pps` and drops the rest, of which a share gets lost anyway, and a sender. */
struct path {
	double capacity_pps; /* INFINITY = no limit */
	double jitter;       /* capacity of a trial differs by up to this share */
	double floor_loss;   /* at any rate */
	double stall_chance; /* of a trial: 5 % of its packets are lost */
	double slow_chance;  /* of a trial: the sender is off its CPU for a twentieth of the time */
	double lucky_chance; /* of a trial: nothing is lost whatever the rate */
	double flat_pps;     /* the sender without pacing */
	double paced_max_pps;    /* and with it */
	double gap_from, gap_to; /* rates between lose 10 % */
	struct wp_rng rng;
	size_t made;
};

static struct path path_of(double capacity_pps)
{
	struct path p = { .capacity_pps = capacity_pps,
			  .flat_pps = 400000,
			  .paced_max_pps = 400000 };

	wp_rng_seed(&p.rng, 7);
	return p;
}

static struct wp_find_rate_config config_of(double loss)
{
	return (struct wp_find_rate_config) { .bound = { .share = loss, .below = loss > 0 },
					      .min_pps = 10,
					      .resolution = 0.01,
					      .border_trials = 5,
					      .border_passes = 4,
					      .max_trials = 200 };
}

static struct wp_rate_result try_rate(struct path *p, double pps)
{
	double sent = pps > 0 ? fmin(pps, p->paced_max_pps) : p->flat_pps;
	double capacity = p->capacity_pps * (1 + p->jitter * (2 * wp_rng_unit(&p->rng) - 1)), lost;

	bool starved = pps > 0 && wp_rng_unit(&p->rng) < p->slow_chance;

	p->made++;
	sent *= starved ? 0.95 : 1;
	lost = fmax(0, sent - capacity);
	if (pps > p->gap_from && pps < p->gap_to)
		lost = fmax(lost, sent / 10);
	lost += (sent - lost) * p->floor_loss;
	if (wp_rng_unit(&p->rng) < p->stall_chance)
		lost = fmax(lost, sent / 20);
	if (wp_rng_unit(&p->rng) < p->lucky_chance)
		lost = 0;
	return (struct wp_rate_result) { .sent = round(sent * TRIAL_S),
					 .lost = round(lost * TRIAL_S),
					 .seconds = TRIAL_S,
					 .starved = starved };
}

static struct wp_rate_answer search(struct path *p, const struct wp_find_rate_config *c)
{
	struct wp_find_rate *f;
	struct wp_rate_answer a;
	enum wp_rate_phase phase;
	double pps;

	assert_int_equal(wp_find_rate_new(c, &f, NULL), 0);
	while (wp_find_rate_next(f, &pps, &phase)) {
		struct wp_rate_result r = try_rate(p, pps);

		assert_true(wp_find_rate_left(f) >= 1);
		assert_int_equal(wp_find_rate_result(f, &r), 0);
	}
	assert_int_equal(wp_find_rate_left(f), 0);
	wp_find_rate_answer(f, &a);
	wp_find_rate_free(f);
	return a;
}

static void assert_near(double v, double want, double share)
{
	if (!(fabs(v - want) <= share * want))
		fail_msg("%g is not within %g %% of %g", v, 100 * share, want);
}

/* ---- paths ------------------------------------------------------------------------------------ */

static void test_a_hard_limit_is_found_within_the_resolution(void **state)
{
	const double limits[] = { 123, 1000, 36000, 139000, 390000 };

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(limits); i++) {
		struct path p = path_of(limits[i]);
		struct wp_find_rate_config c = config_of(0);
		struct wp_rate_answer a = search(&p, &c);

		assert_int_equal(a.verdict, WP_RATE_FOUND);
		assert_int_equal(a.limit, WP_RATE_LIMIT_LOSS);
		assert_true(a.confirmed && a.rate_pps <= limits[i] + 0.5); /* half a datagram */
		assert_near(a.rate_pps, limits[i], 0.011);
		assert_true(a.next_pps > limits[i] - 0.5 && a.next_pps <= a.rate_pps * 1.0101);
		assert_true(a.trials == 5 && a.passed == 5 && a.lost <= 0);
		assert_true(a.next_passed == 0 && a.next_trials == 2);
		assert_true(p.made <= 30);
	}
}

static void test_a_bound_lets_that_much_more_through(void **state)
{
	struct path p = path_of(100000);
	struct wp_find_rate_config c = config_of(0.10);
	struct wp_rate_answer a = search(&p, &c);

	(void)state;
	assert_near(a.rate_pps, 100000 / 0.9, 0.011);
	assert_true(a.loss.max < 0.10);
	assert_near(a.received_pps.median, 100000, 0.011);
}

static void test_a_noisy_limit_is_found_and_its_spread_is_told(void **state)
{
	double answers[40];

	(void)state;
	for (uint64_t seed = 0; seed < WP_ARRAY_SIZE(answers); seed++) {
		struct path p = path_of(50000);
		struct wp_find_rate_config c = config_of(0.001);
		struct wp_rate_answer a;

		p.jitter = 0.03;
		wp_rng_seed(&p.rng, seed);
		a = search(&p, &c);
		assert_int_equal(a.verdict, WP_RATE_FOUND);
		assert_near(a.rate_pps, 50000, 0.04);
		assert_true(a.passed >= 4 && a.passed <= a.trials && a.trials == 5);
		assert_true(a.loss.min <= a.loss.median && a.loss.median <= a.loss.max);
		/* What fails sometimes and what passes sometimes overlap. */
		assert_true(a.lowest_failed_pps <= a.highest_passed_pps * 1.05);
		answers[seed] = a.rate_pps;
	}
	wp_sort(answers, WP_ARRAY_SIZE(answers));
	/* At least 4 of 5 pass: rates at which most trials do, so a little below the middle of the noise. */
	assert_near(wp_median(answers, WP_ARRAY_SIZE(answers)), 49200, 0.02);
}

static void test_stalls_do_not_send_the_search_down(void **state)
{
	size_t good = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct path p = path_of(50000);
		struct wp_find_rate_config c = config_of(0.001);
		struct wp_rate_answer a;

		p.stall_chance = 0.05;
		wp_rng_seed(&p.rng, seed);
		a = search(&p, &c);
		good += a.verdict == WP_RATE_FOUND && fabs(a.rate_pps - 50000) < 0.02 * 50000;
	}
	assert_true(good >= 95);
}

static void test_a_sender_off_its_cpu_now_and_then_is_not_the_limit(void **state)
{
	size_t good = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct path p = path_of(50000);
		struct wp_find_rate_config c = config_of(0.001);
		struct wp_rate_answer a;

		p.slow_chance = 0.3;
		wp_rng_seed(&p.rng, seed);
		a = search(&p, &c);
		good += a.verdict == WP_RATE_FOUND && a.limit == WP_RATE_LIMIT_LOSS &&
			fabs(a.rate_pps - 50000) < 0.02 * 50000;
		assert_true(a.trials == 5 && a.sent_pps.median > 0.98 * a.rate_pps);
	}
	assert_true(good >= 95);
}

static void test_a_sender_that_others_starve_gives_up_soon(void **state)
{
	struct path p = path_of(50000);
	struct wp_find_rate_config c = config_of(0.001);
	struct wp_rate_answer a;

	(void)state;
	p.slow_chance = 1;
	a = search(&p, &c);
	assert_int_equal(a.verdict, WP_RATE_UNFINISHED);
	assert_int_equal(a.limit, WP_RATE_LIMIT_STARVED);
	assert_true(p.made <= 12 && !a.confirmed && a.rate_pps <= 0);
}

static void test_luck_does_not_send_the_search_up(void **state)
{
	size_t good = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct path p = path_of(50000);
		struct wp_find_rate_config c = config_of(0.001);
		struct wp_rate_answer a;

		p.lucky_chance = 0.05;
		wp_rng_seed(&p.rng, seed);
		a = search(&p, &c);
		good += a.verdict == WP_RATE_FOUND && fabs(a.rate_pps - 50000) < 0.02 * 50000;
	}
	assert_true(good >= 95);
}

static void test_a_path_without_a_limit_shows_the_senders(void **state)
{
	struct path p = path_of(INFINITY);
	struct wp_find_rate_config c = config_of(0);
	struct wp_rate_answer a = search(&p, &c);

	(void)state;
	assert_int_equal(a.verdict, WP_RATE_AT_LEAST);
	assert_int_equal(a.limit, WP_RATE_LIMIT_SENDER);
	assert_true(a.rate_pps <= 0 && a.trials == 5);
	assert_near(a.sent_pps.median, 400000, 1e-6);
	assert_true(p.made <= 6);
}

static void test_the_highest_rate_asked_for_is_not_exceeded(void **state)
{
	struct path p = path_of(INFINITY);
	struct wp_find_rate_config c = config_of(0);
	struct wp_rate_answer a;

	(void)state;
	c.max_pps = 20000;
	a = search(&p, &c);
	assert_int_equal(a.verdict, WP_RATE_AT_LEAST);
	assert_int_equal(a.limit, WP_RATE_LIMIT_ASKED);
	assert_near(a.rate_pps, 20000, 1e-6);
}

static void test_a_paced_sender_that_falls_short_is_the_limit(void **state)
{
	/* Flat out overruns the path, and pacing reaches less than the path carries. */
	struct path p = path_of(200000);
	struct wp_find_rate_config c = config_of(0.001);
	struct wp_rate_answer a;

	(void)state;
	p.paced_max_pps = 150000;
	a = search(&p, &c);
	assert_int_equal(a.verdict, WP_RATE_FOUND);
	assert_int_equal(a.limit, WP_RATE_LIMIT_SENDER);
	/* Up to 2 % more is asked for than is sent, and what was sent is what counts. */
	assert_near(a.sent_pps.median, 150000, 1e-6);
	assert_true(a.rate_pps <= 150000 / WP_RATE_REACHED);
}

static void test_loss_at_every_rate_is_no_rate(void **state)
{
	struct path p = path_of(INFINITY);
	struct wp_find_rate_config c = config_of(0.001);
	struct wp_rate_answer a;

	(void)state;
	p.floor_loss = 0.05;
	a = search(&p, &c);
	assert_int_equal(a.verdict, WP_RATE_NONE);
	assert_true(a.rate_pps <= 0 && !a.confirmed && a.highest_passed_pps <= 0);
	assert_near(a.lowest_failed_pps, c.min_pps, 1e-9);
	assert_true(p.made <= 20);
}

static void test_a_path_that_carries_nothing_is_told_soon(void **state)
{
	struct path p = path_of(0);
	struct wp_find_rate_config c = config_of(0.001);
	struct wp_rate_answer a = search(&p, &c);

	(void)state;
	assert_int_equal(a.verdict, WP_RATE_NONE);
	assert_true(p.made <= 4);
}

static void test_a_lossy_rate_below_the_answer_is_told(void **state)
{
	struct path p = path_of(50000);
	struct wp_find_rate_config c = config_of(0.001);
	struct wp_rate_answer a;

	(void)state;
	/* Where the search begins: a little below what came through flat out. */
	p.gap_from = 47000;
	p.gap_to = 48000;
	a = search(&p, &c);
	assert_int_equal(a.verdict, WP_RATE_FOUND);
	assert_true(a.rate_pps <= 47000 || a.dips >= 2);
	assert_true(a.rate_pps > 46000);
}

static void test_a_cap_on_trials_leaves_what_is_known(void **state)
{
	(void)state;
	for (size_t cap = 1; cap < 20; cap++) {
		struct path p = path_of(50000);
		struct wp_find_rate_config c = config_of(0.001);
		struct wp_rate_answer a;

		c.max_trials = cap;
		a = search(&p, &c);
		assert_true(p.made <= cap);
		if (a.verdict != WP_RATE_FOUND) {
			assert_int_equal(p.made, cap);
			assert_int_equal(a.verdict, WP_RATE_UNFINISHED);
			assert_int_equal(a.limit, a.next_trials ? WP_RATE_LIMIT_LOSS
								: WP_RATE_LIMIT_UNKNOWN);
		}
		assert_true(a.rate_pps <= 50050);
		assert_true(a.next_pps > 50000 || cap == 1);
	}
}

static void test_a_border_that_is_looked_at_moves_up_and_down(void **state)
{
	struct wp_find_rate_config c = config_of(0.001);
	struct wp_find_rate *f;
	struct wp_rate_answer a;
	enum wp_rate_phase phase;
	size_t border = 0;
	double pps;

	(void)state;
	/* The path gets better once the search is at its border: the answer follows. */
	assert_int_equal(wp_find_rate_new(&c, &f, NULL), 0);
	while (wp_find_rate_next(f, &pps, &phase)) {
		struct path p = path_of(phase == WP_RATE_BORDER ? 60000 : 50000);
		struct wp_rate_result r = try_rate(&p, pps);

		border += phase == WP_RATE_BORDER;
		assert_int_equal(wp_find_rate_result(f, &r), 0);
	}
	wp_find_rate_answer(f, &a);
	assert_near(a.rate_pps, 60000, 0.011);
	assert_true(border < 80);
	wp_find_rate_free(f);
	/* And the other way. */
	assert_int_equal(wp_find_rate_new(&c, &f, NULL), 0);
	while (wp_find_rate_next(f, &pps, &phase)) {
		struct path p = path_of(phase == WP_RATE_BORDER ? 40000 : 50000);
		struct wp_rate_result r = try_rate(&p, pps);

		assert_int_equal(wp_find_rate_result(f, &r), 0);
	}
	wp_find_rate_answer(f, &a);
	assert_near(a.rate_pps, 40000, 0.011);
	wp_find_rate_free(f);
}

static void test_what_is_likely_to_come_is_told_before(void **state)
{
	struct path p = path_of(50000);
	struct wp_find_rate_config c = config_of(0.001);
	struct wp_find_rate *f;
	size_t likely;

	(void)state;
	assert_int_equal(wp_find_rate_new(&c, &f, NULL), 0);
	likely = wp_find_rate_left(f);
	wp_find_rate_free(f);
	(void)search(&p, &c);
	assert_true(likely >= p.made / 2 && likely <= 2 * p.made);
	c.max_trials = 3;
	assert_int_equal(wp_find_rate_new(&c, &f, NULL), 0);
	assert_int_equal(wp_find_rate_left(f), 3);
	wp_find_rate_free(f);
}

static void test_a_trial_without_figures_is_refused_and_made_again(void **state)
{
	struct wp_find_rate_config c = config_of(0.001);
	const struct wp_rate_result bad[] = {
		{ .sent = 0, .lost = 0, .seconds = 1 },   { .sent = 10, .lost = 11, .seconds = 1 },
		{ .sent = 10, .lost = -1, .seconds = 1 }, { .sent = 10, .lost = 0, .seconds = 0 },
		{ .sent = NAN, .lost = 0, .seconds = 1 }, { .sent = 10, .lost = NAN, .seconds = 1 }
	};
	struct wp_find_rate *f;
	enum wp_rate_phase phase;
	double pps;
	size_t n;

	(void)state;
	assert_int_equal(wp_find_rate_new(&c, &f, NULL), 0);
	for (size_t i = 0; i < WP_ARRAY_SIZE(bad); i++)
		assert_int_equal(wp_find_rate_result(f, &bad[i]), -EINVAL);
	assert_true(wp_find_rate_next(f, &pps, &phase) && phase == WP_RATE_SCOUT && pps <= 0);
	(void)wp_find_rate_trials(f, &n);
	assert_int_equal(n, 0);
	wp_find_rate_free(f);
	wp_find_rate_free(NULL);
}

static void test_a_senseless_config_is_refused(void **state)
{
	struct wp_find_rate *f;
	struct wp_err err;

	(void)state;
	for (int i = 0; i < 8; i++) {
		struct wp_find_rate_config c = config_of(0.001);

		err.msg[0] = '\0';
		c.min_pps = i == 0 ? 0 : c.min_pps;
		c.max_pps = i == 1 ? 5 : i == 2 ? -1 : c.max_pps;
		c.resolution = i == 3 ? 0 : i == 4 ? 0.9 : c.resolution;
		c.border_trials = i == 5 ? 0 : c.border_trials;
		c.border_passes = i == 6 ? 6 : c.border_passes;
		c.max_trials = i == 7 ? 0 : c.max_trials;
		assert_int_equal(wp_find_rate_new(&c, &f, &err), -EINVAL);
		assert_true(err.msg[0]);
	}
}

/* ---- the bound -------------------------------------------------------------------------------- */

static void test_bounds_as_people_write_them(void **state)
{
	static const struct {
		const char *text;
		double share;
		bool below;
	} good[] = {
		{ "loss<0.1%", 0.001, true },  { "loss<=0.1%", 0.001, false },
		{ "loss<0", 0, false },        { "loss<=0", 0, false },
		{ "loss<0%", 0, false },       { " loss < 0.1 % ", 0.001, true },
		{ "LOSS<=5%", 0.05, false },   { "loss<1e-3%", 1e-5, true },
		{ "loss<99.9%", 0.999, true },
	};
	static const char *const bad[] = {
		"",
		"loss",
		"loss<",
		"loss>1%",
		"0.1%",
		"loss<0.001",
		"loss<-1%",
		"loss<100%",
		"loss<1%%",
		"loss<1%x",
		"loss<x%",
		"loss=0",
		"loss<nan%",
		"loss<1 0%",
		"jitter<1%",
		"loss<=",
		"loss<<1%",
		"loss<inf%",
		"loss<0.0000000000000000000000000000000000000001%x",
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(good); i++) {
		struct wp_loss_bound b;

		assert_int_equal(wp_loss_bound_parse(good[i].text, &b, NULL), 0);
		assert_true(fabs(b.share - good[i].share) < 1e-12);
		assert_int_equal(b.below, good[i].below);
	}
	for (size_t i = 0; i < WP_ARRAY_SIZE(bad); i++) {
		struct wp_err err = { 0 };
		struct wp_loss_bound b;

		assert_int_equal(wp_loss_bound_parse(bad[i], &b, &err), -EINVAL);
		assert_non_null(strstr(err.msg, "loss<0.1%"));
	}
}

static void test_less_than_and_at_most_differ_at_the_bound(void **state)
{
	const struct wp_loss_bound below = { 0.25, true }, most = { 0.25, false },
				   none = { 0, false };

	(void)state;
	assert_false(wp_loss_within(&below, 25, 100));
	assert_true(wp_loss_within(&below, 24, 100));
	assert_true(wp_loss_within(&most, 25, 100));
	assert_false(wp_loss_within(&most, 26, 100));
	assert_true(wp_loss_within(&none, 0, 100));
	assert_false(wp_loss_within(&none, 1, 1e9));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_hard_limit_is_found_within_the_resolution),
		cmocka_unit_test(test_a_bound_lets_that_much_more_through),
		cmocka_unit_test(test_a_noisy_limit_is_found_and_its_spread_is_told),
		cmocka_unit_test(test_stalls_do_not_send_the_search_down),
		cmocka_unit_test(test_a_sender_off_its_cpu_now_and_then_is_not_the_limit),
		cmocka_unit_test(test_a_sender_that_others_starve_gives_up_soon),
		cmocka_unit_test(test_luck_does_not_send_the_search_up),
		cmocka_unit_test(test_a_path_without_a_limit_shows_the_senders),
		cmocka_unit_test(test_the_highest_rate_asked_for_is_not_exceeded),
		cmocka_unit_test(test_a_paced_sender_that_falls_short_is_the_limit),
		cmocka_unit_test(test_loss_at_every_rate_is_no_rate),
		cmocka_unit_test(test_a_path_that_carries_nothing_is_told_soon),
		cmocka_unit_test(test_a_lossy_rate_below_the_answer_is_told),
		cmocka_unit_test(test_a_cap_on_trials_leaves_what_is_known),
		cmocka_unit_test(test_a_border_that_is_looked_at_moves_up_and_down),
		cmocka_unit_test(test_what_is_likely_to_come_is_told_before),
		cmocka_unit_test(test_a_trial_without_figures_is_refused_and_made_again),
		cmocka_unit_test(test_a_senseless_config_is_refused),
		cmocka_unit_test(test_bounds_as_people_write_them),
		cmocka_unit_test(test_less_than_and_at_most_differ_at_the_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
