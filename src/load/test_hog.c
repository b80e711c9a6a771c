/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Busy loops take CPU time where they are asked to, and end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "load/hog.h"

static void they_burn_and_end(void **state)
{
	struct wp_cpulist allowed = { 0 };
	struct wp_hogs *h = NULL;

	(void)state;
	assert_int_equal(wp_cpulist_allowed(&allowed), 0);
	assert_int_equal(wp_hogs_start(&allowed, &h, NULL), 0);
	wp_sleep_until_ns(wp_now_ns() + 200 * WP_NS_PER_MS);
	wp_hogs_stop(h);
	/* On a machine with other work it may be a small part of the time. */
	assert_true(wp_hogs_cpu_ns(h) > WP_NS_PER_MS);
	wp_hogs_stop(h);
	wp_hogs_free(h);
	/* Freed while they run: they end too. */
	assert_int_equal(wp_hogs_start(&allowed, &h, NULL), 0);
	wp_hogs_free(h);
	wp_hogs_free(NULL);
	wp_cpulist_done(&allowed);
}

static void a_cpu_that_is_not_there_is_a_sentence(void **state)
{
	int cpu = WP_CPU_MAX - 1;
	const struct wp_cpulist list = { &cpu, 1 };
	struct wp_hogs *h = NULL;
	struct wp_err err = { 0 };

	(void)state;
	assert_true(wp_hogs_start(&list, &h, &err) < 0);
	assert_non_null(strstr(err.msg, "--hog thread on CPU 8191"));
	assert_null(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_burn_and_end),
		cmocka_unit_test(a_cpu_that_is_not_there_is_a_sentence),
	};

	return cmocka_run_group_tests_name("hog", tests, NULL, NULL);
}
