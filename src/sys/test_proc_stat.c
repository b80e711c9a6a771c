/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/testroot.h"

#include <errno.h>

#include "sys/delta.h"
#include "sys/proc_stat.h"

static int parse(struct wp_proc_stat *s, const char *text)
{
	return wp_proc_stat_parse(text, strlen(text), s, NULL);
}

static void parse_root(struct wp_proc_stat *s, const char *root)
{
	struct wp_buf b = wp_test_file(root, "proc/stat");

	assert_int_equal(wp_proc_stat_parse(b.data, b.len, s, NULL), 0);
	wp_buf_done(&b);
}

static void reads_a_virtual_machine(void **state)
{
	struct wp_proc_stat s = { 0 };

	(void)state;
	parse_root(&s, "vm2_a");
	assert_int_equal(s.n, 2);
	assert_int_equal(s.cpu[1].cpu, 1);
	assert_int_equal(s.cpu[1].columns, 10);
	assert_int_equal(s.cpu[1].ticks[WP_CPU_USER], 1237);
	assert_int_equal(s.cpu[1].ticks[WP_CPU_IDLE], 54002);
	assert_int_equal(s.cpu[1].ticks[WP_CPU_STEAL], 7);
	assert_int_equal(s.all.ticks[WP_CPU_SYSTEM], 644 + 947);
	assert_int_equal(s.interrupts, 3119727);
	assert_int_equal(s.context_switches, 251789);
	assert_int_equal(s.boot_unix_s, 1796058971);
	assert_int_equal(s.softirqs, 84723);
	assert_int_equal(s.running, 2);
	assert_int_equal(s.has, 0x7f);
	wp_proc_stat_done(&s);
}

static void offline_cpus_leave_holes(void **state)
{
	struct wp_proc_stat s = { 0 };

	(void)state;
	parse_root(&s, "big_a");
	assert_int_equal(s.n, 63);
	assert_null(wp_proc_stat_cpu(&s, 5));
	assert_null(wp_proc_stat_cpu(&s, 16));
	assert_null(wp_proc_stat_cpu(&s, 8191));
	assert_int_equal(wp_proc_stat_cpu(&s, 0)->cpu, 0);
	assert_int_equal(wp_proc_stat_cpu(&s, 384)->cpu, 384);
	assert_int_equal(wp_proc_stat_cpu(&s, 399)->cpu, 399);
	wp_proc_stat_done(&s);
}

static void total_covers_more_than_the_online_cpus(void **state)
{
	struct wp_proc_stat s = { 0 };

	(void)state;
	parse_root(&s, "big_a");
	assert_true(s.all.ticks[WP_CPU_IDLE] == UINT64_C(9000000000000));
	assert_true(s.interrupts == UINT64_C(5000000000));
	wp_proc_stat_done(&s);
}

static void old_kernels_have_fewer_columns(void **state)
{
	struct wp_proc_stat s = { 0 };

	(void)state;
	parse_root(&s, "old2632_a");
	assert_int_equal(s.cpu[2].cpu, 3);
	assert_int_equal(s.cpu[2].columns, 9);
	assert_int_equal(s.cpu[2].ticks[WP_CPU_GUEST_NICE], 0);
	assert_int_equal(parse(&s, "cpu  1 2 3 4\ncpu0 1 2 3 4\n"), 0);
	assert_int_equal(s.cpu[0].columns, 4);
	assert_int_equal(s.cpu[0].ticks[WP_CPU_SOFTIRQ], 0);
	assert_int_equal(s.has, 0);
	wp_proc_stat_done(&s);
}

static void new_kernels_may_add_columns_and_lines(void **state)
{
	struct wp_proc_stat s = { 0 };

	(void)state;
	parse_root(&s, "newer");
	assert_int_equal(s.n, 2);
	assert_int_equal(s.cpu[1].columns, WP_CPU_COLUMNS);
	assert_int_equal(s.cpu[1].ticks[WP_CPU_GUEST_NICE], 0);
	wp_proc_stat_done(&s);
}

static void a_second_parse_starts_afresh(void **state)
{
	struct wp_proc_stat s = { 0 };

	(void)state;
	parse_root(&s, "big_a");
	parse_root(&s, "vm2_a");
	assert_int_equal(s.n, 2);
	assert_int_equal(parse(&s, "cpu0 9 9 9 9\n"), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.all.columns, 0);
	assert_int_equal(s.has, 0);
	wp_proc_stat_done(&s);
}

static void malformed_text_is_refused(void **state)
{
	static const struct {
		const char *name, *text;
		int code;
	} cases[] = {
		{ "empty", "", -ENODATA },
		{ "no cpu line", "intr 5 4\n", -ENODATA },
		{ "total only", "cpu 1 2 3 4\n", -ENODATA },
		{ "three columns", "cpu0 1 2 3\n", -EBADMSG },
		{ "a word among numbers", "cpu0 1 x 3 4\n", -EBADMSG },
		{ "negative", "cpu0 1 -2 3 4\n", -EBADMSG },
		{ "65 bits", "cpu0 18446744073709551616 2 3 4\n", -EBADMSG },
		{ "CPU number too large", "cpu8192 1 2 3 4\n", -EBADMSG },
		{ "CPU number not a number", "cpux 1 2 3 4\n", -EBADMSG },
		{ "the same CPU twice", "cpu0 1 2 3 4\ncpu0 1 2 3 4\n", -EBADMSG },
	};
	struct wp_proc_stat s = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (parse(&s, cases[i].text) != cases[i].code)
			fail_msg("%s", cases[i].name);
	wp_proc_stat_done(&s);
}

static void a_line_cut_short_is_not_used(void **state)
{
	struct wp_proc_stat s = { 0 };

	(void)state;
	assert_int_equal(parse(&s, "cpu0 1 2 3 4\ncpu1 1 2 3 4567"), 0);
	assert_int_equal(s.n, 1);
	wp_proc_stat_done(&s);
}

static void largest_numbers_are_kept(void **state)
{
	struct wp_proc_stat s = { 0 };

	(void)state;
	assert_int_equal(parse(&s, "cpu8191 18446744073709551615 2 3 4\n"), 0);
	assert_int_equal(s.cpu[0].cpu, 8191);
	assert_true(s.cpu[0].ticks[0] == UINT64_MAX);
	wp_proc_stat_done(&s);
}

static void parse_cut(const char *data, size_t len)
{
	struct wp_proc_stat s = { 0 };
	int r = wp_proc_stat_parse(data, len, &s, NULL);

	assert_true(r == 0 || r == -EBADMSG || r == -ENODATA);
	wp_proc_stat_done(&s);
}

static void every_truncation_is_safe(void **state)
{
	struct wp_buf b = wp_test_file("vm2_a", "proc/stat");

	(void)state;
	wp_test_truncations(b.data, b.len, b.len, parse_cut);
	wp_buf_done(&b);
}

static void deltas_know_wrap_and_reset(void **state)
{
	static const struct {
		const char *name;
		uint64_t before, after;
		enum wp_width width;
		int code;
		uint64_t delta;
	} cases[] = {
		{ "forward", 5, 12, WP_WIDTH_64, 0, 7 },
		{ "no move", 5, 5, WP_WIDTH_32, 0, 0 },
		{ "32 bits wrap", 4294967290, 4, WP_WIDTH_32, 0, 10 },
		{ "32 bits reset", 1000, 4, WP_WIDTH_32, -ESTALE, 0 },
		{ "64 bits never wrap", 4294967290, 4, WP_WIDTH_64, -ESTALE, 0 },
		{ "above 32 bits never wraps", UINT64_C(1) << 33, 4, WP_WIDTH_32, -ESTALE, 0 },
		{ "64 bits at the top", 0, UINT64_MAX, WP_WIDTH_64, 0, UINT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t delta = 0;
		int r = wp_counter_delta(cases[i].before, cases[i].after, cases[i].width, &delta);

		if (r != cases[i].code || delta != cases[i].delta)
			fail_msg("%s", cases[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_virtual_machine),
		cmocka_unit_test(offline_cpus_leave_holes),
		cmocka_unit_test(total_covers_more_than_the_online_cpus),
		cmocka_unit_test(old_kernels_have_fewer_columns),
		cmocka_unit_test(new_kernels_may_add_columns_and_lines),
		cmocka_unit_test(a_second_parse_starts_afresh),
		cmocka_unit_test(malformed_text_is_refused),
		cmocka_unit_test(a_line_cut_short_is_not_used),
		cmocka_unit_test(largest_numbers_are_kept),
		cmocka_unit_test(every_truncation_is_safe),
		cmocka_unit_test(deltas_know_wrap_and_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
