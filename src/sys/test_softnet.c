/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/testroot.h"

#include <errno.h>

#include "sys/delta.h"
#include "sys/softnet.h"

static int parse(struct wp_softnet *s, const char *text)
{
	return wp_softnet_parse(text, strlen(text), s, NULL);
}

static void parse_root(struct wp_softnet *s, const char *root)
{
	struct wp_buf b = wp_test_file(root, "proc/net/softnet_stat");

	assert_int_equal(wp_softnet_parse(b.data, b.len, s, NULL), 0);
	wp_buf_done(&b);
}

static void fifteen_columns_name_the_cpu(void **state)
{
	struct wp_softnet s = { 0 };

	(void)state;
	parse_root(&s, "vm2_b");
	assert_int_equal(s.n, 2);
	assert_int_equal(s.row[1].cpu, 1);
	assert_int_equal(s.row[1].columns, 15);
	assert_int_equal(s.row[1].processed, 0x294 + 132480);
	assert_int_equal(s.row[1].dropped, 17);
	assert_int_equal(s.row[1].squeezed, 3);
	assert_int_equal(s.row[1].received_rps, 132480);
	wp_softnet_done(&s);
}

static void thirteen_columns_skip_offline_cpus(void **state)
{
	struct wp_softnet s = { 0 };

	(void)state;
	parse_root(&s, "big_b");
	assert_int_equal(s.n, 63);
	assert_null(wp_softnet_cpu(&s, 5, 5));
	assert_int_equal(wp_softnet_cpu(&s, 264, 0)->cpu, 264);
	assert_int_equal(wp_softnet_cpu(&s, 264, 0)->processed, 5);
	wp_softnet_done(&s);
}

static void nine_columns_get_the_online_cpus(void **state)
{
	const int online[] = { 0, 1, 3 };
	struct wp_softnet s = { 0 };

	(void)state;
	parse_root(&s, "old2632_b");
	assert_int_equal(s.row[2].cpu, -1);
	assert_int_equal(s.row[2].columns, 9);
	assert_int_equal(wp_softnet_assign(&s, online, 3), 0);
	assert_int_equal(s.row[2].cpu, 3);
	assert_int_equal(wp_softnet_cpu(&s, 1, 1)->squeezed, 1);
	assert_null(wp_softnet_cpu(&s, 2, 2));
	wp_softnet_done(&s);
}

static void rows_stay_unnamed_when_the_online_cpus_do_not_match(void **state)
{
	const int online[] = { 0, 1 };
	struct wp_softnet s = { 0 };

	(void)state;
	parse_root(&s, "old2632_a");
	assert_int_equal(wp_softnet_assign(&s, online, 2), -ESTALE);
	assert_int_equal(s.row[0].cpu, -1);
	parse_root(&s, "vm2_a");
	assert_int_equal(wp_softnet_assign(&s, online, 1), 0);
	assert_int_equal(s.row[1].cpu, 1);
	wp_softnet_done(&s);
}

static void more_columns_are_passed_over(void **state)
{
	struct wp_softnet s = { 0 };

	(void)state;
	parse_root(&s, "newer");
	assert_int_equal(s.row[1].columns, 17);
	assert_int_equal(s.row[1].cpu, 1);
	assert_int_equal(s.row[0].squeezed, 7);
	wp_softnet_done(&s);
}

static void counts_wrap_at_32_bits(void **state)
{
	struct wp_softnet a = { 0 }, b = { 0 };
	uint64_t processed = 0, dropped = 0;

	(void)state;
	parse_root(&a, "wrap_a");
	parse_root(&b, "wrap_b");
	assert_int_equal(
		wp_counter_delta(a.row[0].processed, b.row[0].processed, WP_WIDTH_32, &processed),
		0);
	assert_int_equal(
		wp_counter_delta(a.row[0].dropped, b.row[0].dropped, WP_WIDTH_32, &dropped), 0);
	assert_int_equal(processed, 8000);
	assert_int_equal(dropped, 3);
	wp_softnet_done(&a);
	wp_softnet_done(&b);
}

static void malformed_text_is_refused(void **state)
{
	static const struct {
		const char *name, *text;
		int code;
	} cases[] = {
		{ "empty", "", -ENODATA },
		{ "eight columns", "1 2 3 4 5 6 7 8\n", -EBADMSG },
		{ "not hexadecimal", "1 2 3 4 5 6 7 8 g\n", -EBADMSG },
		{ "33 bits", "100000000 2 3 4 5 6 7 8 9\n", -EBADMSG },
		{ "17 digits", "00000000000000001 2 3 4 5 6 7 8 9\n", -EBADMSG },
		{ "CPU number too large", "1 2 3 4 5 6 7 8 9 a b c 2000\n", -EBADMSG },
	};
	struct wp_softnet s = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (parse(&s, cases[i].text) != cases[i].code)
			fail_msg("%s", cases[i].name);
	wp_softnet_done(&s);
}

static void parse_cut(const char *data, size_t len)
{
	struct wp_softnet s = { 0 };
	int r = wp_softnet_parse(data, len, &s, NULL);

	assert_true(r == 0 || r == -EBADMSG || r == -ENODATA);
	wp_softnet_done(&s);
}

static void every_truncation_is_safe(void **state)
{
	struct wp_buf b = wp_test_file("vm2_a", "proc/net/softnet_stat");

	(void)state;
	wp_test_truncations(b.data, b.len, b.len, parse_cut);
	wp_buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fifteen_columns_name_the_cpu),
		cmocka_unit_test(thirteen_columns_skip_offline_cpus),
		cmocka_unit_test(nine_columns_get_the_online_cpus),
		cmocka_unit_test(rows_stay_unnamed_when_the_online_cpus_do_not_match),
		cmocka_unit_test(more_columns_are_passed_over),
		cmocka_unit_test(counts_wrap_at_32_bits),
		cmocka_unit_test(malformed_text_is_refused),
		cmocka_unit_test(every_truncation_is_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
