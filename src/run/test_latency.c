/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two distributions of round trips set beside each other in a load's record; the plan of the requests beside it. */
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
#include "base/clock.h"
#include "run/latency.h"
#include "run/with.h"

/* The record of a request/response test whose n round trips all took so long. */
static void make_rr(struct wp_run *rr, double us, uint64_t n)
{
	struct wp_hist h;

	wp_run_init(rr);
	assert_int_equal(wp_hist_init(&h, WP_RECORD_HIST_BITS, NULL), 0);
	wp_hist_add_n(&h, (uint64_t)(us * 1e3), n);
	rr->n_hosts = 2;
	rr->test.protocol = "TCP";
	rr->test.rate_hz = wp_num(200);
	rr->hosts[0].histograms = wp_pool_calloc(&rr->pool, 1, sizeof(struct wp_histogram));
	assert_non_null(rr->hosts[0].histograms);
	assert_int_equal(wp_histogram_from(&h, "latency", &rr->hosts[0].histograms[0], &rr->pool),
			 0);
	rr->hosts[0].n_histograms = 1;
	wp_hist_done(&h);
}

static void assert_about(struct wp_num n, double want)
{
	assert_true(wp_has(n));
	if (!(fabs(n.v - want) <= 0.005 * want))
		fail_msg("%g is not about %g", n.v, want);
}

static void test_what_the_load_adds_is_the_difference(void **state)
{
	struct wp_run run, idle, loaded;
	const struct wp_histogram *h;
	struct wp_hist back;

	(void)state;
	wp_run_init(&run);
	make_rr(&idle, 40, 600);
	make_rr(&loaded, 6040, 2000);
	assert_int_equal(wp_run_latency(&run, &idle, NULL, &loaded, NULL), 0);
	/* The records of the parts are not needed any more. */
	wp_run_done(&idle);
	wp_run_done(&loaded);
	assert_about(run.total.idle_p50_us, 40);
	assert_about(run.total.loaded_p99_us, 6040);
	assert_about(run.total.added_latency_us, 6000);
	assert_about(run.total.added_latency_p99_us, 6000);
	assert_about(run.total.rpm, 60e6 / 6040);
	assert_string_equal(run.total.latency_grade, "A");
	assert_int_equal(run.hosts[0].n_histograms, 2);
	h = wp_host_histogram(&run.hosts[0], "latency_loaded");
	assert_non_null(h);
	assert_non_null(strstr(h->note, "200 requests/s over TCP"));
	assert_int_equal(wp_histogram_load(h, &back), 0);
	assert_int_equal(back.n, 2000);
	wp_hist_done(&back);
	assert_non_null(wp_host_histogram(&run.hosts[0], "latency_idle"));
	wp_run_done(&run);
}

static void test_other_distributions_of_the_load_stay(void **state)
{
	struct wp_run run, idle, loaded;

	(void)state;
	make_rr(&run, 3, 10);
	run.hosts[0].histograms[0].name = "send_gap";
	make_rr(&idle, 40, 600);
	make_rr(&loaded, 50, 600);
	assert_int_equal(wp_run_latency(&run, &idle, NULL, &loaded, NULL), 0);
	assert_int_equal(run.hosts[0].n_histograms, 3);
	assert_non_null(wp_host_histogram(&run.hosts[0], "send_gap"));
	assert_non_null(wp_host_histogram(&run.hosts[0], "latency_idle"));
	wp_run_done(&run);
	wp_run_done(&idle);
	wp_run_done(&loaded);
}

static void test_a_part_that_failed_is_absent_with_its_reason(void **state)
{
	struct wp_run run, idle, loaded;

	(void)state;
	wp_run_init(&run);
	wp_run_init(&idle);
	make_rr(&loaded, 500, 100);
	assert_int_equal(wp_run_latency(&run, &idle, "the server was busy", &loaded, NULL), 0);
	assert_false(wp_has(run.total.idle_p50_us));
	assert_string_equal(run.total.idle_p50_us.why, "the server was busy");
	assert_about(run.total.loaded_p50_us, 500);
	assert_false(wp_has(run.total.added_latency_us));
	assert_string_equal(run.total.added_latency_us.why, "the server was busy");
	assert_null(run.total.latency_grade);
	assert_about(run.total.rpm, 120000);
	assert_int_equal(run.hosts[0].n_histograms, 1);
	wp_run_done(&run);

	wp_run_init(&run);
	assert_int_equal(wp_run_latency(&run, NULL, "off", NULL, "no thread"), 0);
	assert_false(wp_has(run.total.rpm));
	assert_string_equal(run.total.rpm.why, "no thread");
	assert_int_equal(run.hosts[0].n_histograms, 0);
	wp_run_done(&run);
	wp_run_done(&idle);
	wp_run_done(&loaded);
}

static void test_requests_without_a_response_are_told(void **state)
{
	struct wp_run run, idle, loaded;
	static int cpus[] = { 1 };

	(void)state;
	wp_run_init(&run);
	make_rr(&idle, 40, 600);
	make_rr(&loaded, 50, 600);
	loaded.total.timeouts = wp_num(7);
	loaded.hosts[0].observed_app_cpus = (struct wp_ints) { cpus, 1 };
	loaded.hosts[1].observed_app_cpus = (struct wp_ints) { cpus, 1 };
	loaded.hosts[1].asked_app_cpus = (struct wp_ints) { cpus, 1 };
	assert_int_equal(wp_run_latency(&run, &idle, NULL, &loaded, NULL), 0);
	assert_string_equal(
		wp_host_histogram(&run.hosts[0], "latency_loaded")->note,
		"200 requests/s over TCP, client on CPU 1 (not pinned), server on CPU 1; 7 had no response in time "
		"and are not in it");
	wp_run_done(&run);
	wp_run_done(&idle);
	wp_run_done(&loaded);
}

static void test_grades(void **state)
{
	static const struct {
		double us;
		const char *grade;
	} cases[] = {
		{ -3, "A+" },    { 0, "A+" },     { 4999, "A+" }, { 5000, "A" },
		{ 29999, "A" },  { 30000, "B" },  { 60000, "C" }, { 199999, "C" },
		{ 200000, "D" }, { 400000, "F" }, { 1e9, "F" },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++)
		assert_string_equal(wp_latency_grade(cases[i].us), cases[i].grade);
}

static void test_the_requests_beside_any_load_make_a_valid_plan(void **state)
{
	static const struct {
		int64_t duration_ns, omit_ns, idle_ns;
	} cases[] = {
		{ 10 * WP_NS_PER_S, 0, 3 * WP_NS_PER_S },
		{ 6 * WP_NS_PER_S, WP_NS_PER_S, 2 * WP_NS_PER_S },
		{ WP_NS_PER_MS, 0, WP_NS_PER_S / 2 },
		{ 0, 0, 3 * WP_NS_PER_S },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++)
		for (int transport = WP_TCP; transport <= WP_UDP; transport++) {
			struct wp_with with = { .transport = (enum wp_transport)transport,
						.rate_mhz = WP_WITH_RATE_MHZ };
			struct wp_plan load = { .duration_ns = cases[i].duration_ns,
						.omit_ns = cases[i].omit_ns,
						.dscp = 46 },
				       rr;
			struct wp_err err = { 0 };

			wp_with_plan(&with, &load, &rr);
			if (wp_plan_check(&rr, &err))
				fail_msg("%s", err.msg);
			assert_int_equal(rr.dscp, 46);
			assert_true(rr.omit_ns > load.omit_ns);
			assert_true(rr.omit_ns - load.omit_ns <= rr.duration_ns / 10);
			assert_int_equal(wp_with_idle_ns(&load), cases[i].idle_ns);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_the_load_adds_is_the_difference),
		cmocka_unit_test(test_other_distributions_of_the_load_stay),
		cmocka_unit_test(test_a_part_that_failed_is_absent_with_its_reason),
		cmocka_unit_test(test_requests_without_a_response_are_told),
		cmocka_unit_test(test_grades),
		cmocka_unit_test(test_the_requests_beside_any_load_make_a_valid_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
