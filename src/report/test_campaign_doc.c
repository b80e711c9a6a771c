/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sweeps and lists as documents, against golden files and as letters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "report/campaign_doc.h"
#include "report/csv.h"
#include "report/history_doc.h"
#include "report/testgolden.h"

static const char *cpus[] = { "0", "1" };
static const char *lengths[] = { "1K", "64K", "1M" };
static const char *command[] = { "tcp", "lab", "-t", "1" };
static uint32_t order[64];

static void make(struct wp_campaign *c, size_t n_axes)
{
	static const struct wp_axis axes[] = {
		{ .name = "cpu", .values = cpus, .n_values = 2 },
		{ .name = "peer-cpu", .values = cpus, .n_values = 2 },
		{ .name = "length", .heading = "write size", .values = lengths, .n_values = 3 },
	};

	wp_campaign_init(c);
	c->id = "00112233445566aa";
	c->kind = "sweep";
	c->version = "0.1.0";
	c->started = "2026-11-30T17:20:05.123Z";
	c->state = "done";
	c->metric = "received_bps";
	c->unit = "bit/s";
	c->host = "Linux 6.18.44, 2 CPUs, AMD EPYC, clock kvm-clock";
	for (size_t i = 0; i < n_axes; i++)
		c->plan.axes[i] = axes[n_axes == 1 ? 2 : i];
	c->plan.n_axes = n_axes;
	c->plan.repeats = 3;
	c->plan.seed = 42;
	c->plan.order = order;
	c->plan.n_order = 3 * wp_campaign_n_cells(c);
	c->plan.command = command;
	c->plan.n_command = WP_ARRAY_SIZE(command);
	assert_int_equal(wp_campaign_layout(c, NULL), 0);
}

/* `n` values around a middle. */
static void fill(struct wp_campaign *c, size_t cell, double middle, size_t n)
{
	struct wp_cell *to = &c->cells[cell];

	to->values = wp_pool_calloc(&c->pool, n, sizeof(double));
	for (size_t i = 0; i < n; i++)
		to->values[i] = middle * (0.97 + 0.03 * (double)i);
	to->n = to->n_values = n;
	to->median = wp_num(middle);
	to->min = wp_num(middle * 0.97);
	to->max = wp_num(middle * 1.03);
}

static void check(const char *name, const struct wp_campaign *c)
{
	const struct wp_campaign_doc_opts opts = { 0 };
	const struct wp_text_opts text = { .width = 100, .utf8 = true };
	struct wp_buf out _cleanup_buf_ = WP_BUF(WP_TEXT_MAX_BYTES);
	struct wp_doc doc;

	wp_doc_init(&doc);
	wp_campaign_doc(&doc, c, &opts);
	assert_int_equal(wp_doc_to_text(&doc, &text, &out), 0);
	expect_golden(name, "txt", &out);
	wp_buf_reset(&out);
	assert_int_equal(wp_doc_to_mail(&doc, 0, &out), 0);
	assert_letter(name, wp_buf_text(&out));
	expect_golden(name, "mail", &out);
	wp_buf_reset(&out);
	assert_int_equal(wp_campaign_to_csv(c, &out), 0);
	expect_golden(name, "csv", &out);
	wp_doc_done(&doc);
}

static void test_two_axes_make_a_matrix(void **state)
{
	struct wp_campaign c;

	(void)state;
	make(&c, 2);
	fill(&c, 0, 5.93e9, 3);
	fill(&c, 1, 11.8e9, 3);
	fill(&c, 2, 11.6e9, 3);
	fill(&c, 3, 6.1e9, 3);
	c.best = 1;
	c.worst = 0;
	c.cells[1].like_best = c.cells[2].like_best = true;
	c.cells[0].like_worst = c.cells[3].like_worst = true;
	c.cells[0].why = "CPU 0 is the limit for both ends";
	wp_campaign_say(&c, WP_CAMPAIGN_WHY,
			"sender: 97 %% of the limit is its CPU (71 %% system, 27 %% softirq)");
	wp_campaign_say(&c, WP_CAMPAIGN_WHY, "receiver: not explained");
	wp_campaign_say(&c, WP_CAMPAIGN_ADVICE, "whyperf tcp lab --cpu 0 --peer-cpu 1");
	check("campaign-matrix", &c);
	wp_campaign_done(&c);
}

static void test_three_axes_make_a_table(void **state)
{
	struct wp_campaign c;

	(void)state;
	make(&c, 3);
	for (size_t i = 0; i < 11; i++)
		fill(&c, i, 1e9 + 1e9 * (double)i, 3);
	c.cells[11].failed = 3;
	c.cells[11].median = wp_absent("every run failed");
	c.cells[5].why =
		"the receiver's window was full 40 % of the time, because its buffer is smaller than the product of "
		"delay and rate";
	c.state = "interrupted";
	c.runs[0] = "a";
	c.best = 10;
	c.worst = 0;
	check("campaign-table", &c);
	wp_campaign_done(&c);
}

static void test_one_axis_single_runs_and_smaller_is_better(void **state)
{
	struct wp_campaign c;

	(void)state;
	make(&c, 1);
	c.plan.repeats = 1;
	c.metric = "latency_us.p99";
	c.unit = "us";
	c.lower_is_better = true;
	fill(&c, 0, 48.2, 1);
	fill(&c, 1, 61.0, 1);
	c.best = 0;
	c.worst = 1;
	check("campaign-latency", &c);
	wp_campaign_done(&c);
}

static void test_wide_matrix_is_cut_into_parts(void **state)
{
	const struct wp_campaign_doc_opts opts = { 0 };
	const char *many[64];
	char names[64][4];
	struct wp_buf out _cleanup_buf_ = WP_BUF(WP_TEXT_MAX_BYTES);
	struct wp_campaign c;
	struct wp_doc doc;

	(void)state;
	for (int i = 0; i < 64; i++) {
		snprintf(names[i], sizeof(names[i]), "%d", i);
		many[i] = names[i];
	}
	make(&c, 2);
	for (size_t i = 0; i < 2; i++) {
		c.plan.axes[i].values = many;
		c.plan.axes[i].n_values = 64;
	}
	c.plan.n_order = 0;
	assert_int_equal(wp_campaign_layout(&c, NULL), 0);
	for (size_t i = 0; i < c.n_cells; i++)
		fill(&c, i, 1e9 + (double)i * 1e6, 2);
	wp_doc_init(&doc);
	wp_campaign_doc(&doc, &c, &opts);
	assert_int_equal(wp_doc_to_mail(&doc, 0, &out), 0);
	assert_letter("wide", wp_buf_text(&out));
	assert_non_null(strstr(wp_buf_text(&out), "peer-cpu 63"));
	assert_non_null(strstr(wp_buf_text(&out), "[4.94..5.25]"));
	wp_doc_done(&doc);
	wp_campaign_done(&c);
}

static void test_lists(void **state)
{
	struct wp_store_row rows[] = {
		{ .id = "0011223344556677",
		  .started = "2026-11-30T17:20:05.123Z",
		  .kind = "tcp",
		  .target = "lab",
		  .streams = wp_num(4),
		  .direction = "reverse",
		  .received_bps = wp_num(11.8e9),
		  .name = "base line" },
		{ .id = "0011223344556678",
		  .started = "2026-11-30T17:21:05.123Z",
		  .kind = "tcp",
		  .target = "2001:db8:1234:5678:9abc:def0:1234:5678",
		  .exit_status = 1,
		  .error =
			  "cannot connect to 2001:db8:1234:5678:9abc:def0:1234:5678 port 9497: connection refused" },
		{ .id = "0011223344556679",
		  .started = "now",
		  .kind = "rr",
		  .target = "lab",
		  .transactions_per_s = wp_num(38123.4),
		  .cell = "cpu=0 peer-cpu=1" },
	};
	struct wp_store_campaign_row campaigns[] = {
		{ .id = "0011223344556677",
		  .started = "2026-11-30T17:20:05.123Z",
		  .kind = "sweep",
		  .state = "done",
		  .command = "tcp lab -t 1",
		  .n_runs = 12 },
	};
	const struct wp_store_list list = { .v = rows, .n = WP_ARRAY_SIZE(rows), .more = true };
	const struct wp_store_campaign_list sweeps = { .v = campaigns, .n = 1 };
	const struct wp_text_opts text = { .width = 100 };
	struct wp_buf out _cleanup_buf_ = WP_BUF(WP_TEXT_MAX_BYTES);
	struct wp_doc doc;
	json_t *json;

	(void)state;
	wp_doc_init(&doc);
	wp_history_doc(&doc, &list);
	wp_doc_blank(&doc);
	wp_campaigns_doc(&doc, &sweeps);
	assert_int_equal(wp_doc_to_text(&doc, &text, &out), 0);
	expect_golden("history", "txt", &out);
	wp_buf_reset(&out);
	assert_int_equal(wp_doc_to_mail(&doc, 0, &out), 0);
	assert_letter("history", wp_buf_text(&out));
	json = wp_history_to_json(&list);
	assert_int_equal(json_array_size(json), 3);
	assert_string_equal(json_string_value(json_object_get(json_array_get(json, 0), "name")),
			    "base line");
	assert_true(json_is_null(json_object_get(json_array_get(json, 1), "received_bps")));
	json_decref(json);
	json = wp_campaigns_to_json(&sweeps);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(json, 0), "runs")), 12);
	json_decref(json);
	wp_doc_done(&doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_axes_make_a_matrix),
		cmocka_unit_test(test_three_axes_make_a_table),
		cmocka_unit_test(test_one_axis_single_runs_and_smaller_is_better),
		cmocka_unit_test(test_wide_matrix_is_cut_into_parts),
		cmocka_unit_test(test_lists),
	};

	return cmocka_run_group_tests_name("campaign_doc", tests, NULL, NULL);
}
