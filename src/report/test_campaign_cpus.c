/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the CPUs did in the cells of a sweep, against golden files and as letters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "explain/explain.h"
#include "explain/testplanted.h"
#include "report/campaign_cpus.h"
#include "report/testgolden.h"

static const char *cpus[] = { "0", "1" };
static uint32_t order[] = { 0, 1 };

static void make(struct wp_campaign *c)
{
	wp_campaign_init(c);
	c->kind = "sweep";
	c->metric = "received_bps";
	c->unit = "bit/s";
	c->plan.axes[0] = (struct wp_axis) { .name = "cpu", .values = cpus, .n_values = 2 };
	c->plan.n_axes = 1;
	c->plan.repeats = 1;
	c->plan.order = order;
	c->plan.n_order = 2;
	assert_int_equal(wp_campaign_layout(c, NULL), 0);
	c->cells[0].median = wp_num(18e9);
	c->cells[1].median = wp_num(20e9);
}

static void make_run(struct wp_run *run, void (*change)(struct test_run *t), double migrations)
{
	struct test_run t = test_run_base();

	change(&t);
	t.receiver.migrations = migrations;
	test_run_make(&t, run);
	assert_int_equal(wp_explain(run), 0);
}

static void check(const char *name, const struct wp_campaign *c, const struct wp_cell_run *runs,
		  size_t n)
{
	const struct wp_text_opts text = { .width = 100, .utf8 = true };
	struct wp_buf out _cleanup_buf_ = WP_BUF(WP_TEXT_MAX_BYTES);
	struct wp_doc doc;

	wp_doc_init(&doc);
	wp_campaign_cpus_doc(&doc, c, runs, n);
	assert_int_equal(wp_doc_to_text(&doc, &text, &out), 0);
	if (name) {
		expect_golden(name, "txt", &out);
		wp_buf_reset(&out);
		assert_int_equal(wp_doc_to_mail(&doc, 0, &out), 0);
		assert_letter(name, wp_buf_text(&out));
		expect_golden(name, "mail", &out);
	} else {
		assert_int_equal(out.len, 0);
	}
	wp_doc_done(&doc);
}

/* The one that is better comes first, and a thread that moved has no CPU of its own. */
static void test_ends_that_are_not_told_apart(void **state)
{
	struct wp_run hog, full;
	struct wp_campaign c;

	(void)state;
	make(&c);
	make_run(&hog, sender_hog, 0);
	make_run(&full, sender_full, 3);
	check("campaign-cpus", &c,
	      (struct wp_cell_run[]) { { 0, &hog, "Lowest" }, { 1, &full, "Highest" } }, 2);
	wp_run_done(&hog);
	wp_run_done(&full);
	wp_campaign_done(&c);
}

/* What holds best and worst is said with them; here only the times are left. */
static void test_named_ends(void **state)
{
	struct wp_run hog, full;
	struct wp_campaign c;

	(void)state;
	make(&c);
	c.best = 1;
	c.worst = 0;
	c.cells[0].why = c.cells[1].why = "said elsewhere";
	make_run(&hog, sender_hog, 0);
	make_run(&full, sender_full, 0);
	check("campaign-cpus-named", &c,
	      (struct wp_cell_run[]) { { 0, &hog, "Worst" }, { 1, &full, "Best" } }, 2);
	wp_run_done(&hog);
	wp_run_done(&full);
	wp_campaign_done(&c);
}

static void test_no_runs(void **state)
{
	struct wp_campaign c;

	(void)state;
	make(&c);
	check(NULL, &c, NULL, 0);
	wp_campaign_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends_that_are_not_told_apart),
		cmocka_unit_test(test_named_ends),
		cmocka_unit_test(test_no_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
