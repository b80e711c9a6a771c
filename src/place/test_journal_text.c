/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "place/journal_file.h"
#include "place/journal_text.h"

static void test_round_trip(void **state)
{
	_cleanup_buf_ struct wp_buf b = WP_BUF(1 << 16);
	_cleanup_journal_text_ struct wp_journal_text t = { 0 };
	char lab_a[] = "/run/netns/whyperf-x-a", irq[] = "/proc/irq/38/smp_affinity_list";
	char rmem[] = "/proc/sys/net/ipv4/tcp_rmem", three[] = "4096\t131072\t6291456",
	     odd[] = " %\n\x7f"
		     "e",
	     empty[] = "";
	struct wp_journal_entry e[] = {
		{ 1, WP_JOURNAL_UNLINK, lab_a, NULL, NULL },
		{ 2, WP_JOURNAL_UNMOUNT, lab_a, NULL, NULL },
		{ 5, WP_JOURNAL_WRITE, rmem, three, odd },
		{ 6, WP_JOURNAL_WRITE, irq, empty, empty },
	};

	(void)state;
	assert_int_equal(wp_journal_put_head(&b, "some-boot", 12, 34), 0);
	for (size_t i = 0; i < WP_ARRAY_SIZE(e); i++)
		assert_int_equal(wp_journal_put_entry(&b, &e[i]), 0);
	assert_int_equal(wp_journal_put_now(&b, 6, "0-1"), 0);
	assert_int_equal(wp_journal_put_forget(&b, 1), 0);
	assert_int_equal(wp_journal_text_parse(b.data, b.len, &t), 0);
	assert_true(t.has_head);
	assert_string_equal(t.boot_id, "some-boot");
	assert_int_equal(t.pidns_ino, 12);
	assert_int_equal(t.netns_ino, 34);
	assert_int_equal(t.bad, 0);
	assert_int_equal(t.n, 3);
	assert_int_equal(t.v[0].id, 2);
	assert_string_equal(t.v[1].set, three);
	assert_string_equal(t.v[1].restore, odd);
	assert_string_equal(t.v[2].set, "0-1");
	assert_string_equal(t.v[2].restore, "");
}

/* A crash can cut the file anywhere: whole lines count, the cut one does not, and is not called bad. */
static void test_every_truncation(void **state)
{
	static const char text[] = "head\t1\tboot\t1\t2\n"
				   "1\tunlink\t/run/netns/whyperf-x-a\n"
				   "2\twrite\t/proc/irq/3/smp_affinity\t2\t3\n";
	size_t first = strlen("head\t1\tboot\t1\t2\n1\tunlink\t/run/netns/whyperf-x-a\n");

	(void)state;
	for (size_t cut = 0; cut <= strlen(text); cut++) {
		_cleanup_journal_text_ struct wp_journal_text t = { 0 };
		char *copy = malloc(cut ? cut : 1);

		assert_non_null(copy);
		memcpy(copy, text, cut);
		assert_int_equal(wp_journal_text_parse(copy, cut, &t), 0);
		assert_int_equal(t.bad, 0);
		assert_int_equal(t.n, (size_t)(cut >= first) + (size_t)(cut == strlen(text)));
		free(copy);
	}
}

static void test_groups(void **state)
{
	static const char text[] = "1\tunlink\t/run/netns/whyperf-x-a\n"
				   "group\t2\n"
				   "2\tunlink\t/run/netns/whyperf-y-a\n"
				   "3\tunlink\t/run/netns/whyperf-y-b\n"
				   "4\trmdir\t/run/netns\n";
	size_t first = (size_t)(strstr(text, "group") - text),
	       group = (size_t)(strstr(text, "4\t") - text);
	static const char odd[] = "group\t0\ngroup\t2\nforget\t1\n1\trmdir\t/run/netns\n";
	_cleanup_journal_text_ struct wp_journal_text bad = { 0 };

	(void)state;
	for (size_t cut = 0; cut <= strlen(text); cut++) {
		_cleanup_journal_text_ struct wp_journal_text t = { 0 };
		size_t want;

		assert_int_equal(wp_journal_text_parse(text, cut, &t), 0);
		assert_int_equal(t.bad, 0);
		want = cut < first ? 0 : cut < group ? 1 : cut < strlen(text) ? 3 : 4;
		if (t.n != want)
			fail_msg("cut at %zu: %zu entries, not %zu", cut, t.n, want);
	}
	/* A line that makes no sense is one of the group's; a group of nothing is no group. */
	assert_int_equal(wp_journal_text_parse(odd, strlen(odd), &bad), 0);
	assert_int_equal(bad.bad, 2);
	assert_int_equal(bad.n, 1);
}

static void test_bad_lines_are_skipped(void **state)
{
	static const char *const bad[] = {
		"",
		"\t",
		"1",
		"1\tunlink",
		"1\tunlink\t",
		"1\tunlink\t/run/netns/whyperf-x-a\textra",
		"1\twrite\t/proc/irq/3/smp_affinity\t2",
		"1\twrite\t/proc/irq/3/smp_affinity\t2\t3\t4",
		"1\texec\t/run/netns/whyperf-x-a",
		"0\tunlink\t/run/netns/whyperf-x-a",
		"-1\tunlink\t/run/netns/whyperf-x-a",
		"4294967296\tunlink\t/run/netns/whyperf-x-a",
		"1\tunlink\t/run/netns/whyperf-%",
		"1\tunlink\t/run/netns/whyperf-%4",
		"1\tunlink\t/run/netns/whyperf-%00",
		"1\tunlink\t/run/netns/whyperf-%0a",
		"1\tunlink\t/etc/passwd",
		"now\t7\t1",
		"forget\t7",
		"forget",
		"head\t2\tboot\t1\t2",
		"head\t1\tboot\t1",
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(bad); i++) {
		_cleanup_journal_text_ struct wp_journal_text t = { 0 };
		_cleanup_buf_ struct wp_buf b = WP_BUF(4096);

		assert_int_equal(
			wp_buf_printf(&b, "%s\n9\tunlink\t/run/netns/whyperf-ok\n", bad[i]), 0);
		assert_int_equal(wp_journal_text_parse(b.data, b.len, &t), 0);
		if (t.bad != 1 || t.n != 1)
			fail_msg("'%s': %u bad, %zu good", bad[i], t.bad, t.n);
		assert_int_equal(t.v[0].id, 9);
	}
}

static void test_limits(void **state)
{
	_cleanup_journal_text_ struct wp_journal_text t = { 0 };
	_cleanup_buf_ struct wp_buf b = WP_BUF(WP_JOURNAL_FILE_MAX);
	char *big = calloc(1, WP_JOURNAL_FILE_MAX + 1);

	(void)state;
	assert_non_null(big);
	assert_int_equal(wp_journal_text_parse(big, WP_JOURNAL_FILE_MAX + 1, &t), -E2BIG);
	assert_int_equal(wp_journal_text_parse(big, WP_JOURNAL_FILE_MAX, &t), 0);
	free(big);
	for (unsigned i = 1; i <= WP_JOURNAL_ENTRIES_MAX + 1; i++)
		assert_int_equal(wp_buf_printf(&b, "%u\trmdir\t/run/netns\n", i), 0);
	wp_journal_text_done(&t);
	assert_int_equal(wp_journal_text_parse(b.data, b.len, &t), -E2BIG);
}

static void test_allowed_paths(void **state)
{
	static const struct {
		enum wp_journal_verb verb;
		const char *path;
		bool allowed;
	} cases[] = {
		{ WP_JOURNAL_UNMOUNT, "/run/netns/whyperf-lab-a", true },
		{ WP_JOURNAL_UNMOUNT, "/run/netns", true },
		{ WP_JOURNAL_UNMOUNT, "/run", false },
		{ WP_JOURNAL_UNLINK, "/run/netns", false },
		{ WP_JOURNAL_UNLINK, "/run/netns/whyperf-lab-b", true },
		{ WP_JOURNAL_UNLINK, "/run/netns/whyperf-", false },
		{ WP_JOURNAL_UNLINK, "/run/netns/other", false },
		{ WP_JOURNAL_UNLINK, "/run/netns/whyperf-a/b", false },
		{ WP_JOURNAL_UNLINK, "/run/netns/whyperf-a/../../x", false },
		{ WP_JOURNAL_UNLINK, "run/netns/whyperf-a", false },
		{ WP_JOURNAL_UNLINK, "", false },
		{ WP_JOURNAL_UNLINK, "/", false },
		{ WP_JOURNAL_UNLINK, "/proc/sys/net/x", false },
		{ WP_JOURNAL_RMDIR, "/run/netns", true },
		{ WP_JOURNAL_RMDIR, "/run", false },
		{ WP_JOURNAL_RMDIR, "/run/netns/", false },
		{ WP_JOURNAL_WRITE, "/proc/sys/net/core/rmem_max", true },
		{ WP_JOURNAL_WRITE, "/proc/irq/38/smp_affinity", true },
		{ WP_JOURNAL_WRITE, "/sys/class/net/eth0/queues/rx-0/rps_cpus", true },
		{ WP_JOURNAL_WRITE, "/sys/devices/virtual/net/x/queues/tx-0/xps_cpus", true },
		{ WP_JOURNAL_WRITE, "/sys/kernel/debug/x", false },
		{ WP_JOURNAL_WRITE, "/proc/sysrq-trigger", false },
		{ WP_JOURNAL_WRITE, "/proc/sys/", false },
		{ WP_JOURNAL_WRITE, "/proc/sys/net//x", false },
		{ WP_JOURNAL_WRITE, "/proc/sys/./x", false },
		{ WP_JOURNAL_WRITE, "/proc/sys/../sysrq-trigger", false },
		{ WP_JOURNAL_WRITE, "/proc/sys/x/..", false },
		{ WP_JOURNAL_WRITE, "/proc/sys/a\nb", false },
		{ WP_JOURNAL_WRITE, "/run/netns/whyperf-lab-a", false },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++)
		if (wp_journal_path_allowed(cases[i].verb, cases[i].path) != cases[i].allowed)
			fail_msg("%s %s", wp_journal_verb_name(cases[i].verb), cases[i].path);
}

static void test_same_value(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} cases[] = {
		{ "2", "2\n", true },
		{ "2", "00000002", true },
		{ "2", "00000000,00000002", true },
		{ "100000000", "1,00000000", true },
		{ "F", "0f", true },
		{ "0", "00000000", true },
		{ "4096\t131072", "4096 131072\n", true },
		{ "", "\n", true },
		{ "", "0", false },
		{ "2", "3", false },
		{ "2", "20", false },
		{ "1 2", "1 2 3", false },
		{ "cubic", "bbr", false },
		{ "cubic", "cubic", true },
		{ "0-1", "0-1", true },
		{ "0-1", "1", false },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++)
		if (wp_journal_same_value(cases[i].a, cases[i].b) != cases[i].same ||
		    wp_journal_same_value(cases[i].b, cases[i].a) != cases[i].same)
			fail_msg("'%s' and '%s'", cases[i].a, cases[i].b);
}

static void test_names(void **state)
{
	static const char *const bad[] = { "",         ".",    "..",      "1",
					   "-",        "1-",   "-1",      "0-1",
					   "a-b",      "1-2x", "1-2-3-4", "4294967296-1",
					   "lab.lock", "1-2/3" };
	struct wp_journal_name name;

	(void)state;
	assert_true(wp_journal_name_parse("4711-99", &name));
	assert_int_equal(name.pid, 4711);
	assert_int_equal(name.starttime, 99);
	assert_true(wp_journal_name_parse("4711-99-3", &name));
	for (size_t i = 0; i < WP_ARRAY_SIZE(bad); i++)
		if (wp_journal_name_parse(bad[i], &name))
			fail_msg("'%s' accepted", bad[i]);
}

static void test_starttime(void **state)
{
	static const char stat[] =
		"42 (a) b (c) S 1 42 42 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98765 1 2";
	size_t enough = strlen(stat) - strlen("1 2");
	uint64_t v = 0, again = 0;

	(void)state;
	for (size_t cut = 0; cut < enough; cut++) {
		char *copy = malloc(cut ? cut : 1);

		assert_non_null(copy);
		memcpy(copy, stat, cut);
		assert_int_equal(wp_journal_parse_starttime(copy, cut, &v), -EBADMSG);
		free(copy);
	}
	assert_int_equal(wp_journal_parse_starttime(stat, enough, &v), 0);
	assert_int_equal(v, 98765);
	assert_int_equal(wp_journal_starttime_of((int)getpid(), &v), 0);
	assert_int_equal(wp_journal_starttime_of((int)getpid(), &again), 0);
	assert_true(v && v == again);
	/* Above PID_MAX_LIMIT. */
	assert_int_equal(wp_journal_starttime_of(1 << 23, &v), -ENOENT);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_every_truncation),
		cmocka_unit_test(test_bad_lines_are_skipped),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_allowed_paths),
		cmocka_unit_test(test_same_value),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_starttime),
	};

	return cmocka_run_group_tests_name("journal text", tests, NULL, NULL);
}
