/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/testroot.h"

#include <errno.h>

#include "sys/cpumask.h"

static void masks_become_lists(void **state)
{
	static const struct {
		const char *mask, *list;
	} cases[] = {
		{ "f", "0-3" },
		{ "00\n", "" },
		{ "", "" },
		{ "00000000,00000005", "0,2" },
		{ "1,00000000", "32" },
		{ "80000000,00000000,00000001", "0,95" },
		{ "0x3", "0-1" },
		{ "1ffffffff", "0-32" },
		{ "FF", "0-7" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_cpulist_ struct wp_cpulist l = { 0 };
		char text[64];

		assert_int_equal(wp_cpumask_parse(cases[i].mask, strlen(cases[i].mask), &l), 0);
		wp_cpulist_format(&l, text, sizeof(text));
		assert_string_equal(l.n ? text : "", cases[i].list);
	}
}

static void other_text_is_no_mask(void **state)
{
	static const char *const bad[] = { "g",  "1,1", "1,", ",00000001", "123456789,00000000",
					   "0x", "1 2" };
	struct wp_cpulist l = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(wp_cpumask_parse(bad[i], strlen(bad[i]), &l), -EINVAL);
	assert_null(l.cpu);
}

static void bits_beyond_the_largest_kernel_are_refused(void **state)
{
	char text[WP_CPU_MAX / 4 + 2];
	struct wp_cpulist l = { 0 };

	(void)state;
	memset(text, '0', sizeof(text));
	text[0] = '1';
	assert_int_equal(wp_cpumask_parse(text, WP_CPU_MAX / 4 + 1, &l), -ERANGE);
	text[0] = '0';
	assert_int_equal(wp_cpumask_parse(text, WP_CPU_MAX / 4 + 1, &l), 0);
	assert_int_equal(l.n, 0);
}

static void lists_become_masks(void **state)
{
	int cpus[] = { 0, 33, 64 };
	struct wp_cpulist l = { .cpu = cpus, .n = 3 };
	char text[64];

	(void)state;
	assert_int_equal(wp_cpumask_format(&l, text, sizeof(text)), 0);
	assert_string_equal(text, "1,00000002,00000001");
	l.n = 1;
	assert_int_equal(wp_cpumask_format(&l, text, sizeof(text)), 0);
	assert_string_equal(text, "1");
	l.n = 3;
	assert_int_equal(wp_cpumask_format(&l, text, 10), -ENOSPC);
	cpus[1] = WP_CPU_MAX;
	assert_int_equal(wp_cpumask_format(&l, text, sizeof(text)), -ERANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(masks_become_lists),
		cmocka_unit_test(other_text_is_no_mask),
		cmocka_unit_test(bits_beyond_the_largest_kernel_are_refused),
		cmocka_unit_test(lists_become_masks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
