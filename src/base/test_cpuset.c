/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cpuset.h"

static void parses_lists(void **state)
{
	static const struct {
		const char *name, *text;
		int code;
		const char *again; /* as formatted */
		size_t n;
	} cases[] = {
		{ "empty", "", 0, "", 0 },
		{ "newline", "\n", 0, "", 0 },
		{ "kernel's null", "(null)", 0, "", 0 },
		{ "kernel's null, newline", "(null)\n", 0, "", 0 },
		{ "one", "0", 0, "0", 1 },
		{ "range", "0-3", 0, "0-3", 4 },
		{ "range of one", "5-5\n", 0, "5", 1 },
		{ "mixed", "0-3,8,10-12", 0, "0-3,8,10-12", 8 },
		{ "stride", "10-14:2", 0, "10,12,14", 3 },
		{ "stride beyond the end", "3-5:100", 0, "3", 1 },
		{ "kernel's used/group", "0-15:2/8", 0, "0-1,8-9", 4 },
		{ "order kept", "4,2,0", 0, "4,2,0", 3 },
		{ "repetition kept", "1,1,1-2", 0, "1,1,1-2", 4 },
		{ "last number", "8191", 0, "8191", 1 },
		{ "all there can be", "0-8191", 0, "0-8191", 8192 },
		{ "leading zeros", "007", 0, "7", 1 },
		{ "too large", "8192", -ERANGE, NULL, 0 },
		{ "end too large", "0-8192", -ERANGE, NULL, 0 },
		{ "overflow", "99999999999999999999", -ERANGE, NULL, 0 },
		{ "too many", "0-8191,0", -E2BIG, NULL, 0 },
		{ "falling", "3-1", -EINVAL, NULL, 0 },
		{ "negative", "-1", -EINVAL, NULL, 0 },
		{ "stride 0", "0-4:0", -EINVAL, NULL, 0 },
		{ "group 0", "0-4:0/0", -EINVAL, NULL, 0 },
		{ "used more than group", "0-4:3/2", -EINVAL, NULL, 0 },
		{ "used 0", "0-4:0/2", -EINVAL, NULL, 0 },
		{ "stride without range", "4:2", -EINVAL, NULL, 0 },
		{ "open range", "0-", -EINVAL, NULL, 0 },
		{ "open stride", "0-4:", -EINVAL, NULL, 0 },
		{ "open group", "0-4:2/", -EINVAL, NULL, 0 },
		{ "trailing comma", "0,", -EINVAL, NULL, 0 },
		{ "leading comma", ",0", -EINVAL, NULL, 0 },
		{ "double comma", "0,,1", -EINVAL, NULL, 0 },
		{ "space", "0, 1", -EINVAL, NULL, 0 },
		{ "word", "all", -EINVAL, NULL, 0 },
		{ "hex", "0x1", -EINVAL, NULL, 0 },
		{ "text behind", "0 x", -EINVAL, NULL, 0 },
		{ "second line", "0\n1", -EINVAL, NULL, 0 },
		{ "null and more", "(null)0", -EINVAL, NULL, 0 },
		{ "no string", NULL, -EINVAL, NULL, 0 },
	};
	static int mark;
	char out[100];

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		struct wp_cpulist l = { .cpu = &mark, .n = 77 };
		int r = wp_cpulist_parse(cases[i].text, &l);

		if (r != cases[i].code)
			fail_msg("%s: %d", cases[i].name, r);
		if (r < 0) {
			assert_ptr_equal(l.cpu, &mark);
			assert_int_equal(l.n, 77);
			continue;
		}
		wp_cpulist_format(&l, out, sizeof(out));
		if (strcmp(out, cases[i].again) || l.n != cases[i].n)
			fail_msg("%s: \"%s\", %zu", cases[i].name, out, l.n);
		wp_cpulist_done(&l);
		assert_int_equal(l.n, 0);
	}
}

static void format_says_when_it_is_cut(void **state)
{
	static const struct {
		size_t size;
		const char *text;
	} cases[] = {
		{ 16, "10,12,14-15,200" },
		{ 15, "10,12,14-15..." },
		{ 14, "10,12..." },
		{ 9, "10,12..." },
		{ 8, "10..." },
		{ 6, "10..." },
		{ 5, "..." },
		{ 4, "..." },
		{ 3, ".." },
		{ 1, "" },
	};
	_cleanup_cpulist_ struct wp_cpulist l = { 0 };
	char out[32];

	(void)state;
	assert_int_equal(wp_cpulist_parse("10,12,14-15,200", &l), 0);
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		memset(out, '#', sizeof(out));
		wp_cpulist_format(&l, out, cases[i].size);
		assert_string_equal(out, cases[i].text);
		assert_int_equal(out[cases[i].size], '#');
	}
	wp_cpulist_format(&l, out, 0);
	assert_string_equal(out, "");
}

static void copies_and_finds(void **state)
{
	_cleanup_cpulist_ struct wp_cpulist a = { 0 }, b = { 0 }, none = { 0 };

	(void)state;
	assert_int_equal(wp_cpulist_parse("3,1", &a), 0);
	assert_int_equal(wp_cpulist_copy(&a, &b), 0);
	assert_true(b.n == 2 && b.cpu != a.cpu && b.cpu[0] == 3 && b.cpu[1] == 1);
	assert_true(wp_cpulist_has(&b, 1) && wp_cpulist_has(&b, 3));
	assert_false(wp_cpulist_has(&b, 0));
	assert_false(wp_cpulist_has(&none, 0));
	wp_cpulist_done(&b);
	assert_int_equal(wp_cpulist_copy(&none, &b), 0);
	assert_null(b.cpu);
	wp_cpulist_done(NULL);
}

static void pins_to_each_allowed_cpu(void **state)
{
	_cleanup_cpulist_ struct wp_cpulist all = { 0 };
	cpu_set_t before;

	(void)state;
	assert_int_equal(wp_cpulist_allowed(&all), 0);
	assert_true(all.n >= 1);
	for (size_t i = 1; i < all.n; i++)
		assert_true(all.cpu[i - 1] < all.cpu[i]);
	assert_int_equal(wp_pin_self(-1), -EINVAL);
	assert_int_equal(wp_pin_self(WP_CPU_MAX), -EINVAL);
	if (all.n > 1000 || sched_getaffinity(0, sizeof(before), &before) < 0)
		skip();
	for (size_t i = 0; i < all.n; i++) {
		_cleanup_cpulist_ struct wp_cpulist now = { 0 };

		assert_int_equal(wp_pin_self(all.cpu[i]), 0);
		assert_int_equal(sched_getcpu(), all.cpu[i]);
		assert_int_equal(wp_cpulist_allowed(&now), 0);
		assert_true(now.n == 1 && now.cpu[0] == all.cpu[i]);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_lists),
		cmocka_unit_test(format_says_when_it_is_cut),
		cmocka_unit_test(copies_and_finds),
		cmocka_unit_test(pins_to_each_allowed_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
