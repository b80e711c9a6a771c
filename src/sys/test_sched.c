/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/testroot.h"

#include <errno.h>

#include "sys/procfile.h"
#include "sys/sched.h"

static void thread_schedstat_has_three_numbers(void **state)
{
	struct wp_thread_sched s = { 0 };

	(void)state;
	assert_int_equal(wp_thread_sched_parse("36886 43245 1\n", 14, &s), 0);
	assert_int_equal(s.run_ns, 36886);
	assert_int_equal(s.wait_ns, 43245);
	assert_int_equal(s.slices, 1);
	assert_int_equal(wp_thread_sched_parse("36886 43245\n", 12, &s), -EBADMSG);
	assert_int_equal(wp_thread_sched_parse("36886 43245 1", 13, &s), -EBADMSG);
	assert_int_equal(wp_thread_sched_parse("", 0, &s), -EBADMSG);
}

static const char thread_line[] =
	"4964 (a) b (c) R 4954 4954 2978 0 -1 4194304 104 0 0 0 11 22 0 0 20 0 1 0 56767 3133440 380 "
	"18446744073709551615 1 2 3 0 0 0 0 0 0 0 0 0 17 7 0 6 0 0 0 1 2 3 4 5 6 7 0\n";

static void thread_name_may_hold_parentheses(void **state)
{
	struct wp_thread_stat s = { 0 };

	(void)state;
	assert_int_equal(wp_thread_stat_parse(thread_line, sizeof(thread_line) - 1, &s), 0);
	assert_int_equal(s.tid, 4964);
	assert_string_equal(s.name, "a) b (c");
	assert_int_equal(s.state, 'R');
	assert_int_equal(s.user_ticks, 11);
	assert_int_equal(s.system_ticks, 22);
	assert_int_equal(s.cpu, 7);
	assert_int_equal(s.policy, 6);
}

static void thread_stat_without_cpu_says_so(void **state)
{
	static const char text[] = "1 (x) S 1 2 3\n";
	struct wp_thread_stat s = { 0 };

	(void)state;
	assert_int_equal(wp_thread_stat_parse(text, sizeof(text) - 1, &s), 0);
	assert_int_equal(s.cpu, -1);
}

static void own_thread_is_read(void **state)
{
	struct wp_procfile f;
	struct wp_thread_sched sched = { 0 };
	struct wp_thread_stat stat = { 0 };

	(void)state;
	if (wp_procfile_open(&f, AT_FDCWD, "/proc/thread-self/schedstat") == 0) {
		assert_int_equal(wp_procfile_read(&f), 0);
		assert_int_equal(wp_thread_sched_parse(wp_buf_text(&f.text), f.text.len, &sched),
				 0);
		/* run_ns of a running thread moves at ticks only and may still be 0. */
		assert_true(sched.slices > 0);
	}
	wp_procfile_done(&f);
	if (wp_procfile_open(&f, AT_FDCWD, "/proc/thread-self/stat") < 0) {
		wp_procfile_done(&f);
		skip();
	}
	assert_int_equal(wp_procfile_read(&f), 0);
	assert_int_equal(wp_thread_stat_parse(wp_buf_text(&f.text), f.text.len, &stat), 0);
	assert_int_equal(stat.tid, getpid());
	assert_true(stat.cpu >= 0);
	wp_procfile_done(&f);
}

static void schedstat_keeps_the_last_three(void **state)
{
	static const char text[] = "version 15\ntimestamp 4295\n"
				   "cpu0 0 0 1 2 3 4 500 600 7\ndomain0 ff 1 2 3\n"
				   "cpu9 0 0 1 2 3 4 501 601 8\n";
	struct wp_schedstat s = { 0 };

	(void)state;
	assert_int_equal(wp_schedstat_parse(text, sizeof(text) - 1, &s), 0);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.cpu[1].cpu, 9);
	assert_int_equal(s.cpu[1].run_ns, 501);
	assert_int_equal(s.cpu[1].wait_ns, 601);
	assert_int_equal(s.cpu[1].slices, 8);
	assert_int_equal(wp_schedstat_parse("version 10\n", 11, &s), -ENOTSUP);
	assert_int_equal(wp_schedstat_parse("version x\n", 10, &s), -EBADMSG);
	assert_int_equal(wp_schedstat_parse("version 15\ncpu0 1\n", 18, &s), -EBADMSG);
	assert_int_equal(wp_schedstat_parse("version 15\ncpu9999 1 2 3 4 5 6 7 8 9\n", 37, &s),
			 -EBADMSG);
	wp_schedstat_done(&s);
}

static int pressure(const char *text, struct wp_pressure *p)
{
	return wp_pressure_parse(text, strlen(text), p);
}

static void pressure_is_read(void **state)
{
	struct wp_pressure p = { 0 };
	struct wp_buf b = wp_test_file("newer", "proc/pressure/cpu");

	(void)state;
	assert_int_equal(wp_pressure_parse(b.data, b.len, &p), 0);
	assert_int_equal(p.some_us, 4);
	assert_true(p.has_full);
	wp_buf_done(&b);
	assert_int_equal(pressure("full avg10=12.34 avg60=0.00 avg300=0.00 total=99\n", &p), 0);
	assert_false(p.has_some);
	assert_true(p.full_avg10_pct > 12.339 && p.full_avg10_pct < 12.341);
	assert_int_equal(p.full_us, 99);
}

static void malformed_pressure_is_refused(void **state)
{
	static const char *const cases[] = {
		"",
		"other avg10=0.00 total=1\n",
		"some avg10=0.00\n",
		"some avg10=x total=1\n",
		"some avg10=0.1 total=1\n",
		"some avg10=101.00 total=1\n",
		"some total=18446744073709551616\n",
	};
	struct wp_pressure p;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (pressure(cases[i], &p) != -EBADMSG)
			fail_msg("%s", cases[i]);
}

static void parse_cut(const char *data, size_t len)
{
	struct wp_thread_stat s;
	struct wp_pressure p;
	struct wp_thread_sched t;
	int r = wp_thread_stat_parse(data, len, &s);

	assert_true(r == 0 || r == -EBADMSG);
	assert_int_equal(wp_pressure_parse(data, len, &p), -EBADMSG);
	assert_int_equal(wp_thread_sched_parse(data, len, &t), -EBADMSG);
}

static void every_truncation_is_safe(void **state)
{
	(void)state;
	wp_test_truncations(thread_line, sizeof(thread_line) - 1, sizeof(thread_line), parse_cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thread_schedstat_has_three_numbers),
		cmocka_unit_test(thread_name_may_hold_parentheses),
		cmocka_unit_test(thread_stat_without_cpu_says_so),
		cmocka_unit_test(own_thread_is_read),
		cmocka_unit_test(schedstat_keeps_the_last_three),
		cmocka_unit_test(pressure_is_read),
		cmocka_unit_test(malformed_pressure_is_refused),
		cmocka_unit_test(every_truncation_is_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
