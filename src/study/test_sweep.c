/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sweeps with a made-up run: order, determinism, stopping anywhere and going on, failures, ties. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "study/sweep.h"

static const char *cpus[] = { "0", "1" };
static const char *lengths[] = { "1K", "64K", "1M" };
static const char *command[] = { "tcp", "lab", "-t", "1" };

static struct wp_sweep_plan plan_of(size_t repeats, uint64_t seed)
{
	return (struct wp_sweep_plan) {
		.axes = { { .name = "cpu",
			    .heading = "sender's CPU",
			    .values = cpus,
			    .n_values = 2 },
			  { .name = "length", .values = lengths, .n_values = 3 } },
		.n_axes = 2,
		.repeats = repeats,
		.seed = seed,
		.command = command,
		.n_command = 4,
		.metric = "received_bps",
		.unit = "bit/s",
	};
}

static void make(struct wp_campaign *c, size_t repeats, uint64_t seed)
{
	struct wp_sweep_plan plan = plan_of(repeats, seed);

	assert_int_equal(wp_sweep_plan(c, &plan, NULL), 0);
}

/* A machine whose cell i gives values[i], a little more in each round. */
struct machine {
	double values[6];
	size_t runs, stop_after, saves, told;
	int fail_cell;    /* -1 = none */
	size_t fail_from; /* from this visit of the cell on */
	size_t visits[6];
	bool cancel_inside, gone;
	int64_t clock_ns;
	int64_t last_left_ns;
	char last_error[100];
};

static int run_cell(void *arg, const struct wp_campaign *c, size_t cell,
		    struct wp_sweep_result *ret, struct wp_err *err)
{
	struct machine *m = arg;

	(void)c;
	if (m->gone)
		return wp_err_set(err, -ESHUTDOWN, "the server is gone");
	if (m->cancel_inside && m->runs == m->stop_after)
		return -EINTR;
	m->runs++;
	m->clock_ns += 1000;
	snprintf(ret->id, sizeof(ret->id), "%016zx", m->runs);
	snprintf(ret->why, sizeof(ret->why), "because of cell %zu", cell);
	if ((int)cell == m->fail_cell && m->visits[cell]++ >= m->fail_from)
		return wp_err_set(err, -EIO, "no such CPU");
	ret->value = wp_num(m->values[cell] + 0.01 * (double)m->visits[cell]);
	return 0;
}

static void save(void *arg, const struct wp_campaign *c)
{
	struct machine *m = arg;

	assert_non_null(c->state);
	m->saves++;
}

static void progress(void *arg, const struct wp_campaign *c, const struct wp_sweep_progress *p)
{
	struct machine *m = arg;

	assert_true(p->total == c->plan.n_order && p->rounds == c->plan.repeats);
	assert_true(p->round >= 1 && p->round <= p->rounds && p->cell < c->n_cells);
	assert_true(p->starting ? !p->result && !p->error : !p->result != !p->error);
	m->told++;
	m->last_left_ns = p->left_ns;
	if (p->error)
		snprintf(m->last_error, sizeof(m->last_error), "%s", p->error);
}

static bool cancelled(void *arg)
{
	struct machine *m = arg;

	return !m->cancel_inside && m->runs >= m->stop_after;
}

static int64_t clock_now(void *arg)
{
	return ((struct machine *)arg)->clock_ns;
}

static struct machine machine_of(void)
{
	return (struct machine) { .values = { 10, 20, 30, 40, 50, 60 },
				  .stop_after = SIZE_MAX,
				  .fail_cell = -1 };
}

static struct wp_sweep_hooks hooks_of(struct machine *m)
{
	return (struct wp_sweep_hooks) { .run = run_cell,
					 .save = save,
					 .progress = progress,
					 .cancelled = cancelled,
					 .now_ns = clock_now,
					 .arg = m,
					 .expected_run_ns = 500 };
}

static void go(struct wp_campaign *c, struct machine *m)
{
	struct wp_sweep_hooks h = hooks_of(m);

	assert_int_equal(wp_sweep_go(c, &h, NULL), 0);
}

/* ---- the order -------------------------------------------------------------------------------- */

static void test_every_round_has_every_cell_once(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 50; seed++) {
		struct wp_campaign c;
		bool differs = false;

		make(&c, 5, seed);
		assert_int_equal(c.plan.n_order, 30);
		for (size_t round = 0; round < 5; round++) {
			bool seen[6] = { false };

			for (size_t i = 0; i < 6; i++) {
				size_t cell = c.plan.order[round * 6 + i];

				assert_false(seen[cell]);
				seen[cell] = true;
				differs |= cell != c.plan.order[i];
			}
		}
		assert_true(differs); /* rounds have orders of their own */
		wp_campaign_done(&c);
	}
}

/* Each cell comes first in a round about as often as any other: 2000 rounds, 6 cells, 333 expected; 99.99 % within
 * 333 +- 65. */
static void test_order_is_fair(void **state)
{
	size_t first[6] = { 0 };

	(void)state;
	for (uint64_t seed = 0; seed < 2; seed++) {
		struct wp_campaign c;

		make(&c, 1000, seed);
		for (size_t round = 0; round < 1000; round++)
			first[c.plan.order[round * 6]]++;
		wp_campaign_done(&c);
	}
	for (size_t i = 0; i < 6; i++)
		assert_in_range(first[i], 268, 398);
}

static void test_the_seed_decides(void **state)
{
	struct wp_campaign a, b, other;

	(void)state;
	make(&a, 4, 7);
	make(&b, 4, 7);
	make(&other, 4, 8);
	assert_memory_equal(a.plan.order, b.plan.order, 24 * sizeof(uint32_t));
	assert_memory_not_equal(a.plan.order, other.plan.order, 24 * sizeof(uint32_t));
	wp_campaign_done(&a);
	wp_campaign_done(&b);
	wp_campaign_done(&other);
}

/* The order of a seed is part of the contract: a campaign can be drawn again from its seed on any machine. */
static void test_the_order_of_a_seed_stays(void **state)
{
	static const uint32_t first_round[] = { 0, 3, 1, 5, 2, 4 };
	struct wp_campaign c;

	(void)state;
	make(&c, 1, 1);
	assert_memory_equal(c.plan.order, first_round, sizeof(first_round));
	wp_campaign_done(&c);
}

static void test_bad_plans_are_refused(void **state)
{
	static const char *twice[] = { "0", "1", "0" };
	struct wp_sweep_plan plan;
	struct wp_campaign c;
	struct wp_err err;

	(void)state;
	plan = plan_of(3, 1);
	plan.n_axes = 0;
	err = (struct wp_err) { 0 };
	assert_int_equal(wp_sweep_plan(&c, &plan, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "axes"));
	wp_campaign_done(&c);
	plan = plan_of(0, 1);
	assert_int_equal(wp_sweep_plan(&c, &plan, NULL), -EINVAL);
	wp_campaign_done(&c);
	plan = plan_of(3, 1);
	plan.axes[1].name = "cpu";
	err = (struct wp_err) { 0 };
	assert_int_equal(wp_sweep_plan(&c, &plan, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "--cpu is given twice"));
	wp_campaign_done(&c);
	plan = plan_of(3, 1);
	plan.axes[0].values = twice;
	plan.axes[0].n_values = 3;
	err = (struct wp_err) { 0 };
	assert_int_equal(wp_sweep_plan(&c, &plan, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "--cpu: 0 is given twice"));
	wp_campaign_done(&c);
	plan = plan_of(3, 1);
	plan.axes[0].n_values = 0;
	assert_int_equal(wp_sweep_plan(&c, &plan, NULL), -EINVAL);
	wp_campaign_done(&c);
}

static void test_too_many_runs_are_refused(void **state)
{
	static char texts[4096][8];
	static const char *values[4096];
	struct wp_sweep_plan plan = plan_of(1000, 1);
	struct wp_campaign c;
	struct wp_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < 4096; i++) {
		snprintf(texts[i], sizeof(texts[i]), "%zu", i);
		values[i] = texts[i];
	}
	plan.axes[0].values = values;
	plan.axes[0].n_values = 4096;
	assert_int_equal(wp_sweep_plan(&c, &plan, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "fewer values"));
	wp_campaign_done(&c);
}

/* ---- going ------------------------------------------------------------------------------------ */

static void test_a_whole_sweep(void **state)
{
	struct machine m = machine_of();
	struct wp_campaign c;

	(void)state;
	make(&c, 3, 1);
	go(&c, &m);
	assert_string_equal(c.state, "done");
	assert_int_equal(m.runs, 18);
	assert_int_equal(m.saves, 19);
	assert_int_equal(m.told, 36);
	assert_int_equal(wp_sweep_made(&c), 18);
	assert_int_equal(wp_sweep_whole_rounds(&c), 3);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(c.cells[i].n, 3);
		assert_true(c.cells[i].median.v == m.values[i]);
		assert_false(wp_has(c.cells[i].low));
		assert_non_null(strstr(c.cells[i].low.why, "takes 6"));
		assert_non_null(c.cells[i].why);
	}
	assert_int_equal(c.best, 5);
	assert_int_equal(c.worst, 0);
	assert_true(c.cells[5].like_best && !c.cells[4].like_best);
	assert_true(c.cells[0].like_worst && !c.cells[1].like_worst);
	assert_non_null(strstr(c.why[0], "ranges do not overlap"));
	wp_campaign_done(&c);
}

static void test_lower_is_better(void **state)
{
	struct machine m = machine_of();
	struct wp_campaign c;

	(void)state;
	make(&c, 3, 1);
	c.lower_is_better = true;
	go(&c, &m);
	assert_int_equal(c.best, 0);
	assert_int_equal(c.worst, 5);
	wp_campaign_done(&c);
}

static void test_six_rounds_give_an_interval(void **state)
{
	struct machine m = machine_of();
	struct wp_campaign c;

	(void)state;
	make(&c, 6, 1);
	go(&c, &m);
	assert_true(wp_has(c.cells[2].low) && wp_has(c.cells[2].high));
	assert_true(c.cells[2].low.v <= c.cells[2].median.v &&
		    c.cells[2].median.v <= c.cells[2].high.v);
	wp_campaign_done(&c);
}

static void test_equal_cells_are_not_named(void **state)
{
	struct machine m = machine_of();
	struct wp_campaign c;

	(void)state;
	for (size_t i = 0; i < 6; i++)
		m.values[i] = 10;
	make(&c, 5, 1);
	go(&c, &m);
	assert_int_equal(c.best, -1);
	assert_int_equal(c.worst, -1);
	assert_int_equal(c.n_why, 1);
	assert_non_null(strstr(c.why[0], "no cell is told apart"));
	wp_campaign_done(&c);
}

static void test_one_round_names_none(void **state)
{
	struct machine m = machine_of();
	struct wp_campaign c;

	(void)state;
	make(&c, 1, 1);
	go(&c, &m);
	assert_int_equal(c.best, -1);
	assert_non_null(strstr(c.why[0], "6 cells need 2 rounds"));
	assert_true(wp_has(c.cells[0].median));
	wp_campaign_done(&c);
}

/* ---- stopping and going on -------------------------------------------------------------------- */

/* To JSON and back, as a store would. */
static void reload(struct wp_campaign *c)
{
	json_t *json = wp_campaign_to_json(c);

	assert_non_null(json);
	wp_campaign_done(c);
	assert_int_equal(wp_campaign_from_json(json, c, NULL), 0);
	json_decref(json);
}

static void test_stopped_anywhere_it_goes_on_to_the_same(void **state)
{
	struct machine whole = machine_of();
	struct wp_campaign want;
	json_t *want_json;

	(void)state;
	make(&want, 3, 5);
	go(&want, &whole);
	want_json = wp_campaign_to_json(&want);
	for (size_t stop = 0; stop <= 18; stop++)
		for (int inside = 0; inside < 2; inside++) {
			struct machine m = machine_of();
			struct wp_campaign c;
			json_t *json;

			m.stop_after = stop;
			m.cancel_inside = inside;
			make(&c, 3, 5);
			go(&c, &m);
			assert_string_equal(c.state, stop < 18 ? "interrupted" : "done");
			assert_int_equal(wp_sweep_made(&c), stop);
			reload(&c);
			m.stop_after = SIZE_MAX;
			go(&c, &m);
			json = wp_campaign_to_json(&c);
			assert_true(json_equal(json, want_json));
			json_decref(json);
			wp_campaign_done(&c);
		}
	json_decref(want_json);
	wp_campaign_done(&want);
}

static void test_only_whole_rounds_are_summed_up(void **state)
{
	struct machine m = machine_of();
	struct wp_campaign c;

	(void)state;
	m.stop_after = 15;
	make(&c, 3, 5);
	go(&c, &m);
	assert_int_equal(wp_sweep_whole_rounds(&c), 2);
	assert_non_null(strstr(c.why[1], "3 runs of a round that is not whole"));
	for (size_t i = 0; i < 6; i++)
		assert_true(c.cells[i].max.v - c.cells[i].median.v <
			    0.006); /* two values, not three */
	wp_campaign_done(&c);
}

static void test_stopped_in_the_first_round(void **state)
{
	struct machine m = machine_of();
	struct wp_campaign c;
	size_t with = 0;

	(void)state;
	m.stop_after = 4;
	make(&c, 3, 5);
	go(&c, &m);
	for (size_t i = 0; i < 6; i++)
		with += wp_has(c.cells[i].median);
	assert_int_equal(with, 4);
	assert_int_equal(c.best, -1);
	wp_campaign_done(&c);
}

/* Going on with what is done makes no run. */
static void test_nothing_left(void **state)
{
	struct machine m = machine_of();
	struct wp_campaign c;

	(void)state;
	make(&c, 2, 5);
	go(&c, &m);
	go(&c, &m);
	assert_int_equal(m.runs, 12);
	assert_int_equal(c.n_why, 1);
	assert_int_equal(c.cells[3].n, 2);
	wp_campaign_done(&c);
}

static void test_plans_that_are_no_sweep_do_not_go(void **state)
{
	struct machine m = machine_of();
	struct wp_sweep_hooks h = hooks_of(&m);
	struct wp_campaign c;

	(void)state;
	make(&c, 2, 5);
	c.plan.order[3] = c.plan.order[4]; /* a cell twice in a round */
	assert_int_equal(wp_sweep_go(&c, &h, NULL), -EINVAL);
	wp_campaign_done(&c);
	make(&c, 2, 5);
	c.plan.n_order = 11;
	assert_int_equal(wp_sweep_go(&c, &h, NULL), -EINVAL);
	wp_campaign_done(&c);
	make(&c, 2, 5);
	c.runs[5] = "0000000000000001"; /* a hole before it */
	assert_int_equal(wp_sweep_go(&c, &h, NULL), -EINVAL);
	wp_campaign_done(&c);
	make(&c, 2, 5);
	c.kind = "compare";
	assert_int_equal(wp_sweep_go(&c, &h, NULL), -EINVAL);
	assert_int_equal(m.runs, 0);
	wp_campaign_done(&c);
}

/* ---- failures --------------------------------------------------------------------------------- */

static void test_a_failing_cell_does_not_end_the_sweep(void **state)
{
	struct machine m = machine_of();
	struct wp_campaign c;

	(void)state;
	m.fail_cell = 5;
	make(&c, 3, 1);
	go(&c, &m);
	assert_string_equal(c.state, "done");
	assert_int_equal(m.runs, 18);
	assert_int_equal(c.cells[5].failed, 3);
	assert_int_equal(c.cells[5].n, 0);
	assert_false(wp_has(c.cells[5].median));
	assert_string_equal(c.cells[5].why, "failed: no such CPU");
	assert_int_equal(c.n_notes, 1); /* once, not three times */
	assert_string_equal(c.notes[0], "cpu=1 length=1M failed: no such CPU");
	assert_string_equal(m.last_error, "no such CPU");
	assert_int_equal(c.best, 4); /* of those that have figures */
	wp_campaign_done(&c);
}

static void test_a_cell_that_failed_once_is_not_ranked(void **state)
{
	struct machine m = machine_of();
	struct wp_campaign c;

	(void)state;
	m.fail_cell = 5;
	m.fail_from = 2;
	make(&c, 3, 1);
	go(&c, &m);
	assert_int_equal(c.cells[5].failed, 1);
	assert_int_equal(c.cells[5].n, 2);
	assert_true(wp_has(c.cells[5].median));
	assert_int_equal(c.best, 4);
	assert_false(c.cells[5].like_best);
	wp_campaign_done(&c);
}

static void test_failures_survive_going_on(void **state)
{
	struct machine m = machine_of();
	struct wp_campaign c;

	(void)state;
	m.fail_cell = 2;
	m.stop_after = 9;
	make(&c, 3, 1);
	go(&c, &m);
	reload(&c);
	m.stop_after = SIZE_MAX;
	go(&c, &m);
	assert_int_equal(c.cells[2].failed, 3);
	assert_int_equal(c.n_notes, 1);
	wp_campaign_done(&c);
}

static void test_all_fail(void **state)
{
	struct machine m = machine_of();
	struct wp_sweep_hooks h = hooks_of(&m);
	struct wp_campaign c;
	struct wp_err err = { 0 };

	(void)state;
	m.gone = true;
	make(&c, 3, 1);
	assert_int_equal(wp_sweep_go(&c, &h, &err), -ESHUTDOWN);
	assert_string_equal(err.msg, "the server is gone");
	assert_string_equal(c.state, "failed");
	assert_int_equal(wp_sweep_made(&c), 0);
	assert_string_equal(c.why[0], "no cell has figures of a whole round");
	wp_campaign_done(&c);
}

static void test_time_left(void **state)
{
	struct machine m = machine_of();
	struct wp_campaign c;

	(void)state;
	m.stop_after = 0;
	m.cancel_inside = true;
	make(&c, 3, 1);
	go(&c, &m);
	assert_true(m.last_left_ns == 18 * 500); /* as expected, before the first */
	m.stop_after = 6;
	go(&c, &m);
	assert_true(m.last_left_ns == 12 * 1000); /* as measured */
	wp_campaign_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_round_has_every_cell_once),
		cmocka_unit_test(test_order_is_fair),
		cmocka_unit_test(test_the_seed_decides),
		cmocka_unit_test(test_the_order_of_a_seed_stays),
		cmocka_unit_test(test_bad_plans_are_refused),
		cmocka_unit_test(test_too_many_runs_are_refused),
		cmocka_unit_test(test_a_whole_sweep),
		cmocka_unit_test(test_lower_is_better),
		cmocka_unit_test(test_six_rounds_give_an_interval),
		cmocka_unit_test(test_equal_cells_are_not_named),
		cmocka_unit_test(test_one_round_names_none),
		cmocka_unit_test(test_stopped_anywhere_it_goes_on_to_the_same),
		cmocka_unit_test(test_only_whole_rounds_are_summed_up),
		cmocka_unit_test(test_stopped_in_the_first_round),
		cmocka_unit_test(test_nothing_left),
		cmocka_unit_test(test_plans_that_are_no_sweep_do_not_go),
		cmocka_unit_test(test_a_failing_cell_does_not_end_the_sweep),
		cmocka_unit_test(test_a_cell_that_failed_once_is_not_ranked),
		cmocka_unit_test(test_failures_survive_going_on),
		cmocka_unit_test(test_all_fail),
		cmocka_unit_test(test_time_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
