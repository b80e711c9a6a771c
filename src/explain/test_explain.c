/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The signatures of planted bottlenecks, as measured: the rule that must come first. And how findings are ranked. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "explain/explain.h"
#include "explain/rules.h"
#include "explain/testplanted.h"

static void explain(const struct test_run *t, struct wp_run *run)
{
	test_run_make(t, run);
	assert_int_equal(wp_explain(run), 0);
}

static void test_planted_first(void **state)
{
	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(planted); i++) {
		struct test_run t = test_run_base();
		struct wp_run run;

		planted[i].change(&t);
		explain(&t, &run);
		if (!run.n_findings || strcmp(run.findings[0].rule, planted[i].first)) {
			print_error("%s: %s is not first\n", planted[i].name, planted[i].first);
			for (size_t k = 0; k < run.n_findings; k++)
				print_error("  %s %.1f: %s\n", run.findings[k].rule,
					    run.findings[k].share_pct, run.findings[k].says);
			fail();
		}
		wp_run_done(&run);
	}
}

/* The same, when the server sends. */
static void test_planted_reverse(void **state)
{
	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(planted); i++) {
		struct test_run t = test_run_base();
		struct wp_run run;

		planted[i].change(&t);
		t.direction = "reverse";
		explain(&t, &run);
		assert_true(run.n_findings > 0);
		assert_string_equal(run.findings[0].rule, planted[i].first);
		wp_run_done(&run);
	}
}

/* A cause that is clear is alone, and nothing stays open. */
static void test_clear_cause_is_alone(void **state)
{
	struct test_run t = test_run_base();
	struct wp_run run;

	(void)state;
	slow_reader(&t);
	explain(&t, &run);
	assert_int_equal(run.n_findings, 1); /* receiver_cpu and receive_window say the same */
	assert_string_equal(run.findings[0].confidence, "high");
	assert_true(run.findings[0].share_pct > 99);
	wp_run_done(&run);
}

static void test_tie_names_both(void **state)
{
	struct test_run t = test_run_base();
	struct wp_run run;

	(void)state;
	sender_full(&t);
	t.receiver.on_cpu = 96;
	t.cpu[1].busy = 97;
	explain(&t, &run);
	assert_int_equal(run.n_findings, 2);
	assert_string_equal(run.findings[0].rule, "sender_cpu");
	assert_string_equal(run.findings[1].rule, "receiver_cpu");
	assert_non_null(strstr(run.findings[0].says, "the next cause weighs about as much"));
	wp_run_done(&run);
}

static void small_writes_and_hog(struct test_run *t)
{
	sender_hog(t);
	t->sender.call_bytes = 256;
}

static void three_hogs_hold_both(struct test_run *t)
{
	receiver_starved(t);
	t->sender.delay = 40;
}

/* As measured with others on that CPU. */
static void one_cpu_starved(struct test_run *t)
{
	one_cpu_of_others(t);
	t->sender.on_cpu = t->receiver.on_cpu = 16;
	t->sender.delay = 76;
	t->receiver.delay = 74;
}

/* What stands second; NULL = nothing does. */
static void test_second(void **state)
{
	static const struct {
		void (*change)(struct test_run *t);
		const char *first, *second;
	} cases[] = {
		{ sender_hog, "sender_run_queue", "sender_cpu" },
		{ receiver_hog, "receiver_run_queue", "receiver_cpu" },
		{ small_writes_and_hog, "small_writes", "sender_run_queue" },
		{ small_writes_starved, "receiver_run_queue", "small_writes" },
		{ small_rcvbuf_busy, "receive_window", "receiver_run_queue" },
		{ bulk_loaded, "sender_cpu", "sender_run_queue" },
		{ three_hogs_hold_both, "receiver_run_queue", "receiver_cpu" },
		{ one_cpu_starved, "sender_run_queue", "shared_cpu" },
		{ discard_full, "sender_cpu", NULL },
		{ small_rcvbuf_discard, "receive_window", NULL },
		{ target_missed_loaded, "target_rate", "sender_run_queue" },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		struct test_run t = test_run_base();
		struct wp_run run;
		const char *second;

		cases[i].change(&t);
		explain(&t, &run);
		second = run.n_findings > 1 ? run.findings[1].rule : "nothing";
		if (strcmp(run.findings[0].rule, cases[i].first) ||
		    strcmp(second, cases[i].second ? cases[i].second : "nothing"))
			fail_msg("case %zu: %s, %s", i, run.findings[0].rule, second);
		wp_run_done(&run);
	}
}

/* Both ends of one machine disturbed: one finding, with the figures of both. */
static void test_foreign_load_is_one_finding(void **state)
{
	struct test_run t = test_run_base();
	struct wp_run run;

	(void)state;
	three_hogs_hold_both(&t);
	explain(&t, &run);
	for (size_t i = 0; i < run.n_findings; i++)
		assert_string_not_equal(run.findings[i].rule, "sender_run_queue");
	assert_non_null(strstr(run.findings[0].says, "; the sender waited 40 %"));
	wp_run_done(&run);
}

static void four_full(struct test_run *t)
{
	receiver_starved(t);
	t->sender.on_cpu = 18;
	t->sender.delay = 78;
	t->receiver.on_cpu = 14;
	t->receiver.delay = 86;
}

/* Of two disturbed ends only the one that works longer is named, and no advice is given twice. */
static void test_nothing_is_said_twice(void **state)
{
	struct test_run t = test_run_base();
	struct wp_run run;

	(void)state;
	four_full(&t);
	explain(&t, &run);
	assert_int_equal(run.n_findings, 2);
	assert_string_equal(run.findings[0].rule, "receiver_run_queue");
	assert_string_equal(run.findings[1].rule, "sender_cpu");
	wp_run_done(&run);
	t = test_run_base();
	sender_full(&t);
	t.receiver.on_cpu = 96;
	explain(&t, &run);
	assert_int_equal(run.n_findings, 2);
	assert_true(run.findings[0].n_advice > 0);
	for (size_t i = 0; i < run.findings[0].n_advice; i++)
		for (size_t k = 0; k < run.findings[1].n_advice; k++)
			assert_string_not_equal(run.findings[0].advice[i],
						run.findings[1].advice[k]);
	wp_run_done(&run);
}

/* Shares are of wall time: those of an end's own work and of its waiting add up. */
static void test_shares_are_time(void **state)
{
	struct test_run t = test_run_base();
	struct wp_run run;

	(void)state;
	sender_hog(&t);
	explain(&t, &run);
	assert_true(fabs(run.findings[0].share_pct - 51) < 0.01);
	assert_true(fabs(run.findings[1].share_pct - 49) < 0.01);
	assert_int_equal(run.n_findings, 2);
	wp_run_done(&run);
}

static void test_no_tie_beyond_ten_points(void **state)
{
	struct test_run t = test_run_base();
	struct wp_run run;

	(void)state;
	sender_full(&t);
	t.receiver.delay = 15;
	explain(&t, &run);
	assert_int_equal(run.n_findings, 2);
	assert_string_equal(run.findings[1].rule, "receiver_run_queue");
	assert_null(strstr(run.findings[0].says, "as much"));
	wp_run_done(&run);
}

static void test_not_explained_names_what_is_missing(void **state)
{
	struct test_run t = test_run_base();
	struct wp_run run;

	(void)state;
	nothing(&t);
	t.one_host = true;
	t.two_machines = true;
	t.rx_cpu = NAN;
	t.app_to_rx = NULL;
	explain(&t, &run);
	assert_string_equal(run.findings[0].rule, WP_NOT_EXPLAINED);
	assert_non_null(strstr(run.findings[0].says, "the CPU use of the receiver's threads"));
	assert_non_null(strstr(run.findings[0].advice[0], "whyperf serve"));
	assert_true(run.findings[0].share_pct > 99);
	wp_run_done(&run);
}

static void test_part_explained(void **state)
{
	struct test_run t = test_run_base();
	struct wp_run run;

	(void)state;
	nothing(&t);
	t.sender.delay = 12;
	explain(&t, &run);
	assert_int_equal(run.n_findings, 2);
	assert_string_equal(run.findings[0].rule, "sender_run_queue");
	assert_string_equal(run.findings[1].rule, WP_NOT_EXPLAINED);
	assert_true(run.findings[1].share_pct > 87 && run.findings[1].share_pct < 89);
	wp_run_done(&run);
}

static void test_notes_come_last(void **state)
{
	struct test_run t = test_run_base();
	struct wp_run run;

	(void)state;
	sender_full(&t);
	t.self_pct = 2;
	t.seconds = 0.2;
	t.cpu[1].trust = "hidden";
	t.cpu[1].sum = 63;
	explain(&t, &run);
	assert_int_equal(run.n_findings, 4);
	assert_string_equal(run.findings[0].rule, "sender_cpu");
	assert_string_equal(run.findings[1].rule, "accounting");
	assert_string_equal(run.findings[2].rule, "short_run");
	assert_string_equal(run.findings[3].rule, "sampler");
	for (size_t i = 1; i < 4; i++)
		assert_true(run.findings[i].share_pct == 0);
	wp_run_done(&run);
}

static void test_both_directions_are_named(void **state)
{
	struct test_run t = test_run_base();
	struct wp_run run;

	(void)state;
	sender_full(&t);
	t.direction = "both";
	explain(&t, &run);
	assert_string_equal(run.findings[0].rule, "sender_cpu");
	assert_non_null(strstr(run.findings[0].says, "client to server: "));
	wp_run_done(&run);
}

static void test_empty_records(void **state)
{
	struct test_run t = test_run_base();
	struct wp_run run;

	(void)state;
	wp_run_init(&run);
	assert_int_equal(wp_explain(&run), 0);
	assert_int_equal(run.n_findings, 0);
	wp_run_done(&run);
	t.rate_bps = 0; /* connected, moved nothing */
	explain(&t, &run);
	assert_int_equal(run.n_findings, 0);
	wp_run_done(&run);
}

/* Twice the same: findings are replaced, not added to. */
static void test_repeatable(void **state)
{
	struct test_run t = test_run_base();
	struct wp_run run;
	size_t n;

	(void)state;
	sender_full(&t);
	explain(&t, &run);
	n = run.n_findings;
	assert_int_equal(wp_explain(&run), 0);
	assert_int_equal(run.n_findings, n);
	wp_run_done(&run);
}

static double parts(const struct wp_end_time *t)
{
	return wp_num_or(t->on_cpu_pct, 0) + wp_num_or(t->run_queue_pct, 0) +
	       wp_num_or(t->window_pct, 0) + wp_num_or(t->path_pct, 0) +
	       wp_num_or(t->asked_pct, 0) + wp_num_or(t->peer_pct, 0) +
	       wp_num_or(t->unexplained_pct, 0);
}

static void test_times_add_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(planted); i++)
		for (size_t h = 0; h < 2; h++) {
			struct test_run t = test_run_base();
			struct wp_end_time time;
			struct wp_run run;

			planted[i].change(&t);
			test_run_make(&t, &run);
			assert_int_equal(wp_explain_time(&run, h, &time), 0);
			assert_true(fabs(parts(&time) - 100) < 1e-6);
			assert_int_equal(time.sends, h == 0);
			wp_run_done(&run);
		}
}

static void test_time_of_ends(void **state)
{
	struct test_run t = test_run_base();
	struct wp_end_time time;
	struct wp_run run;
	char text[256];

	(void)state;
	slow_reader(&t);
	test_run_make(&t, &run);
	assert_int_equal(wp_explain_time(&run, 0, &time), 0);
	wp_end_time_format(&time, text, sizeof(text));
	assert_string_equal(text,
			    "8 % its CPU 0 (user 1, system 55, softirq 26), 92 % the receiver");
	assert_int_equal(wp_explain_time(&run, 1, &time), 0);
	wp_end_time_format(&time, text, sizeof(text));
	assert_string_equal(text, "100 % its CPU 1 (user 20, system 78, softirq 2)");
	wp_run_done(&run);

	t = test_run_base();
	shaper(&t);
	t.sender.migrations = 4;
	test_run_make(&t, &run);
	assert_int_equal(wp_explain_time(&run, 0, &time), 0);
	wp_end_time_format(&time, text, sizeof(text));
	assert_string_equal(text, "2 % its CPU, 98 % the path");
	assert_int_equal(wp_explain_time(&run, 1, &time), 0);
	assert_true(time.peer_pct.v > 96);
	assert_int_equal(wp_explain_time(&run, 2, &time), -ENOENT);
	wp_run_done(&run);

	t = test_run_base();
	t.no_threads = true;
	test_run_make(&t, &run);
	assert_int_equal(wp_explain_time(&run, 0, &time), 0);
	assert_false(wp_has(time.on_cpu_pct));
	wp_run_done(&run);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_planted_first),
		cmocka_unit_test(test_planted_reverse),
		cmocka_unit_test(test_clear_cause_is_alone),
		cmocka_unit_test(test_tie_names_both),
		cmocka_unit_test(test_second),
		cmocka_unit_test(test_foreign_load_is_one_finding),
		cmocka_unit_test(test_nothing_is_said_twice),
		cmocka_unit_test(test_shares_are_time),
		cmocka_unit_test(test_no_tie_beyond_ten_points),
		cmocka_unit_test(test_not_explained_names_what_is_missing),
		cmocka_unit_test(test_part_explained),
		cmocka_unit_test(test_notes_come_last),
		cmocka_unit_test(test_both_directions_are_named),
		cmocka_unit_test(test_empty_records),
		cmocka_unit_test(test_repeatable),
		cmocka_unit_test(test_times_add_up),
		cmocka_unit_test(test_time_of_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
