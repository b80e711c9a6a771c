/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "model/campaign.h"

static const char *cpus[] = { "0", "1" };
static const char *lengths[] = { "1K", "64K", "1M" };
static const char *command[] = { "tcp", "lab", "-t", "1" };

static void plan_two_by_three(struct wp_campaign *c, size_t repeats)
{
	static uint32_t order[6];

	wp_campaign_init(c);
	c->id = "00112233445566aa";
	c->kind = "sweep";
	c->started = "2026-11-30T17:20:05.123Z";
	c->state = "running";
	c->metric = "received_bps";
	c->unit = "bit/s";
	c->plan.axes[0] = (struct wp_axis) { .name = "cpu", .values = cpus, .n_values = 2 };
	c->plan.axes[1] = (struct wp_axis) {
		.name = "length", .heading = "write size", .values = lengths, .n_values = 3
	};
	c->plan.n_axes = 2;
	c->plan.repeats = repeats;
	c->plan.seed = UINT64_MAX;
	for (uint32_t i = 0; i < 6; i++)
		order[i] = 5 - i;
	c->plan.order = order;
	c->plan.n_order = 6;
	c->plan.command = command;
	c->plan.n_command = 4;
	assert_int_equal(wp_campaign_layout(c, NULL), 0);
}

static void fill(struct wp_campaign *c)
{
	static double values[2] = { 11.5e9, 12.5e9 };

	c->cells[4].values = values;
	c->cells[4].n = c->cells[4].n_values = 2;
	c->cells[4].median = wp_num(12e9);
	c->cells[4].min = wp_num(11.5e9);
	c->cells[4].max = wp_num(12.5e9);
	c->cells[4].low = wp_absent("2 values are too few");
	c->cells[4].like_best = true;
	c->cells[4].why = "CPU 1 is the limit";
	c->cells[0].failed = 1;
	c->best = 4;
	c->runs[1] = "deadbeef00000001";
	c->results[1] = 11.5e9;
	c->state = "done";
	wp_campaign_say(c, WP_CAMPAIGN_WHY, "because of %d", 7);
	wp_campaign_say(c, WP_CAMPAIGN_NOTES, "a note");
}

static void test_cells_are_numbered_last_axis_fastest(void **state)
{
	struct wp_campaign c;
	char name[64];

	(void)state;
	plan_two_by_three(&c, 1);
	assert_int_equal(c.n_cells, 6);
	assert_int_equal(c.cells[4].key[0], 1);
	assert_int_equal(c.cells[4].key[1], 1);
	for (size_t i = 0; i < c.n_cells; i++)
		assert_int_equal(wp_campaign_cell_index(&c, c.cells[i].key), i);
	wp_campaign_cell_name(&c, 4, name, sizeof(name));
	assert_string_equal(name, "cpu=1 length=64K");
	wp_campaign_done(&c);
}

static void test_axes_without_values_or_with_too_many_are_refused(void **state)
{
	static const char *many[WP_MAX_AXIS_VALUES];
	struct wp_err err = { 0 };
	struct wp_campaign c;

	(void)state;
	wp_campaign_init(&c);
	assert_int_equal(wp_campaign_n_cells(&c), 0);
	c.plan.n_axes = 1;
	assert_int_equal(wp_campaign_layout(&c, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "fewer values"));
	c.plan.n_axes = 2;
	c.plan.axes[0] = c.plan.axes[1] =
		(struct wp_axis) { .name = "x", .values = many, .n_values = WP_MAX_AXIS_VALUES };
	assert_int_equal(wp_campaign_n_cells(&c), 0);
	wp_campaign_done(&c);
}

static void test_json_round_trip_keeps_everything(void **state)
{
	struct wp_campaign c, back;
	json_t *json, *again;

	(void)state;
	plan_two_by_three(&c, 1);
	fill(&c);
	json = wp_campaign_to_json(&c);
	assert_non_null(json);
	assert_int_equal(wp_campaign_from_json(json, &back, NULL), 0);
	again = wp_campaign_to_json(&back);
	assert_true(json_equal(json, again));
	assert_true(back.plan.seed == UINT64_MAX);
	assert_null(back.runs[0]);
	assert_string_equal(back.runs[1], "deadbeef00000001");
	assert_true(back.results[1] == 11.5e9);
	assert_true(isnan(back.results[0]));
	assert_int_equal(back.best, 4);
	assert_int_equal(back.worst, -1);
	assert_false(wp_has(back.cells[4].low));
	assert_string_equal(back.cells[4].low.why, "2 values are too few");
	assert_string_equal(back.why[0], "because of 7");
	assert_string_equal(
		json_string_value(json_object_get(
			json_object_get(json_array_get(json_object_get(json, "cells"), 4), "key"),
			"length")),
		"64K");
	json_decref(json);
	json_decref(again);
	wp_campaign_done(&back);
	wp_campaign_done(&c);
}

static void test_what_a_search_found_is_kept(void **state)
{
	static struct wp_rate_tried tried[] = {
		{ .step = "first",
		  .outcome = "lost",
		  .where = "socket buffer (server)",
		  .loss_pct = { .v = 66 } },
		{ .step = "border", .outcome = "passed", .run = "00112233445566ab" },
	};
	struct wp_found found = {
		.bound = "loss<0.1%", .verdict = "found", .tried = tried, .n_tried = 2
	};
	struct wp_campaign c, back;
	json_t *json, *again, *broken;

	(void)state;
	tried[0].asked_pps = wp_absent("flat out");
	tried[0].loss_pct = wp_num(66.5);
	tried[1].asked_pps = found.received_pps = wp_num(139000);
	plan_two_by_three(&c, 1);
	c.kind = "find-rate";
	c.found = &found;
	json = wp_campaign_to_json(&c);
	assert_int_equal(wp_campaign_from_json(json, &back, NULL), 0);
	again = wp_campaign_to_json(&back);
	assert_true(json_equal(json, again));
	assert_non_null(back.found);
	assert_int_equal(back.found->n_tried, 2);
	assert_string_equal(back.found->tried[0].asked_pps.why, "flat out");
	assert_true(back.found->tried[1].asked_pps.v == 139000 &&
		    back.found->received_pps.v == 139000);
	assert_null(back.found->tried[0].run);
	json_decref(again);
	wp_campaign_done(&back);
	/* Wrong types and too many trials. */
	static const char *const wrong[] = { "7", "{\"tried\": 3}", "{\"tried\": [4]}",
					     "{\"verdict\": 1}", "{\"next_pps\": \"fast\"}" };

	for (size_t i = 0; i <= WP_ARRAY_SIZE(wrong); i++) {
		struct wp_err err = { 0 };

		broken = i < WP_ARRAY_SIZE(wrong) ? json_loads(wrong[i], JSON_DECODE_ANY, NULL)
						  : json_object();
		if (i == WP_ARRAY_SIZE(wrong)) {
			json_t *many = json_array();

			for (int k = 0; k <= WP_MAX_RATE_TRIALS; k++)
				json_array_append_new(many, json_object());
			json_object_set_new(broken, "tried", many);
		}
		json_object_set_new(json, "found", broken);
		assert_int_equal(wp_campaign_from_json(json, &back, &err), -EINVAL);
		assert_non_null(strstr(err.msg, "found"));
	}
	json_decref(json);
	wp_campaign_done(&c);
}

static void test_wrong_documents_are_refused_with_a_sentence(void **state)
{
	/* Key to break, what to put there (JSON), a word of the sentence. */
	static const struct {
		const char *path[3], *value, *word;
	} cases[] = {
		{ { "schema" }, "\"whyperf.run/1\"", "schema" },
		{ { "plan" }, "7", "plan" },
		{ { "plan", "axes" }, "[]", "axes" },
		{ { "plan", "axes" }, "[{\"name\":\"x\",\"values\":[]}]", "axes" },
		{ { "plan", "order" }, "[6,0,0,0,0,0]", "order" },
		{ { "plan", "order" }, "[-1,0,0,0,0,0]", "order" },
		{ { "plan", "seed" }, "\"12x\"", "seed" },
		{ { "plan", "seed" }, "\"99999999999999999999\"", "seed" },
		{ { "plan", "repeats" }, "1001", "repeats" },
		{ { "cells" }, "[]", "cells" },
		{ { "runs" }, "[null]", "runs" },
		{ { "runs" }, "[1,2,3,4,5,6]", "runs" },
		{ { "best" }, "6", "best" },
		{ { "name" }, "[]", "name" },
		{ { "why" }, "[null]", "why" },
		{ { "results" }, "[\"fast\"]", "results" },
		{ { "results" }, "[1, 2, 3, 4, 5, 6, 7]", "results" },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		struct wp_campaign c, back;
		struct wp_err err = { 0 };
		json_t *json, *at;
		size_t k = 0;

		plan_two_by_three(&c, 1);
		fill(&c);
		json = at = wp_campaign_to_json(&c);
		for (; cases[i].path[k + 1]; k++)
			at = json_object_get(at, cases[i].path[k]);
		json_object_set_new(at, cases[i].path[k],
				    json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
		assert_int_equal(wp_campaign_from_json(json, &back, &err), -EINVAL);
		assert_non_null(strstr(err.msg, cases[i].word));
		json_decref(json);
		wp_campaign_done(&c);
	}
}

static void test_sentences_beyond_the_limit_are_announced(void **state)
{
	struct wp_campaign c;

	(void)state;
	wp_campaign_init(&c);
	for (int i = 0; i < 100; i++)
		wp_campaign_say(&c, WP_CAMPAIGN_ADVICE, "%d", i);
	assert_int_equal(c.n_advice, WP_MAX_CAMPAIGN_STRINGS);
	assert_string_equal(c.advice[WP_MAX_CAMPAIGN_STRINGS - 1], "more was left out");
	wp_campaign_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cells_are_numbered_last_axis_fastest),
		cmocka_unit_test(test_axes_without_values_or_with_too_many_are_refused),
		cmocka_unit_test(test_json_round_trip_keeps_everything),
		cmocka_unit_test(test_what_a_search_found_is_kept),
		cmocka_unit_test(test_wrong_documents_are_refused_with_a_sentence),
		cmocka_unit_test(test_sentences_beyond_the_limit_are_announced),
	};

	return cmocka_run_group_tests_name("campaign", tests, NULL, NULL);
}
