/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Named labs, in a mount namespace of the test's own with an empty /run: nothing of it can be seen from outside, and
 * nothing outlives the test. Skips where that is not allowed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "lab/build.h"
#include "lab/named.h"
#include "place/journal.h"

#define JOURNALS "/run/whyperf/journal"
#define NETNS    "/run/netns"

static void need_rights(void **state)
{
	if (!*state) {
		print_message("# skipped: no right to make a mount namespace\n");
		skip();
	}
}

static int set_up_world(void **state)
{
	static int yes = 1;

	*state = NULL;
	if (geteuid() || unshare(CLONE_NEWNS) || mount("", "/", "none", MS_PRIVATE | MS_REC, NULL))
		return 0;
	/* The machine's own named namespaces, in our copy of its mounts. */
	while (!umount2(NETNS, MNT_DETACH))
		;
	if (!mount("tmpfs", "/run", "tmpfs", 0, "mode=755"))
		*state = &yes;
	return 0;
}

static int up(const char *name, uint32_t mtu_bytes, struct wp_err *err)
{
	struct wp_lab_up u = { .name = name, .mtu_bytes = mtu_bytes, .journal_dir = JOURNALS };

	return wp_lab_up(&u, err);
}

static void assert_ok(int r, const struct wp_err *err)
{
	if (r)
		fail_msg("%s (%d)", err->msg, r);
}

static int count_files(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	int n = 0;

	if (!d)
		return -1;
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static bool is_mounted(const char *word)
{
	_cleanup_buf_ struct wp_buf b = WP_BUF(1 << 20);

	assert_int_equal(wp_read_file_at(AT_FDCWD, "/proc/self/mountinfo", &b), 0);
	return strstr(wp_buf_text(&b), word) != NULL;
}

/* The machine is as before the first lab, but for the journal's directory and the lock in it. */
static void assert_clean(void)
{
	assert_int_equal(access(NETNS, F_OK), -1);
	assert_false(is_mounted("/run/netns"));
	assert_int_equal(count_files(JOURNALS), 1);
	assert_int_equal(count_files(JOURNALS "/lab"), 0);
}

static void test_up_status_down(void **state)
{
	struct wp_err err = { 0 };
	struct wp_lab_status st;
	int64_t now_ns;

	need_rights(state);
	assert_ok(up("one", 0, &err), &err);
	assert_ok(up("two", 9000, &err), &err);
	assert_int_equal(count_files(JOURNALS), 1);
	assert_ok(wp_lab_status("two", &st, &err), &err);
	assert_string_equal(st.name, "two");
	assert_true(st.complete && st.has_maker);
	assert_int_equal(st.maker_uid, getuid());
	assert_int_equal(st.maker_pid, getpid());
	now_ns = wp_unix_now_ns();
	assert_true(st.since_unix_ns <= now_ns && st.since_unix_ns > now_ns - 60 * WP_NS_PER_S);
	for (int i = 0; i < WP_LAB_SIDES; i++) {
		const struct wp_lab_side_status *s = &st.side[i];

		assert_true(s->present && s->readable && s->has_link && s->up && s->carrier);
		assert_string_equal(s->path,
				    i ? "/run/netns/whyperf-two-b" : "/run/netns/whyperf-two-a");
		assert_string_equal(s->ifname, i ? "wpb" : "wpa");
		assert_int_equal(s->mtu_bytes, 9000);
		assert_true(s->n_addrs >= 1);
		assert_string_equal(s->addrs[0], i ? "10.97.0.2/24" : "10.97.0.1/24");
		assert_int_equal(s->users.processes, 0);
	}
	assert_int_equal(up("two", 0, &err), -EEXIST);
	assert_non_null(strstr(err.msg, "lab:name=two"));
	assert_ok(wp_lab_down("one", false, JOURNALS, &err), &err);
	assert_int_equal(access("/run/netns/whyperf-one-a", F_OK), -1);
	assert_int_equal(access("/run/netns/whyperf-two-a", F_OK), 0);
	assert_ok(wp_lab_down("two", false, JOURNALS, &err), &err);
	assert_clean();
}

static void test_list(void **state)
{
	_cleanup_lab_names_ struct wp_lab_names l = { 0 };
	struct wp_err err = { 0 };

	need_rights(state);
	assert_ok(wp_lab_list(&l, &err), &err);
	assert_int_equal(l.n, 0);
	assert_ok(up("bb", 0, &err), &err);
	assert_ok(up("a-b", 0, &err), &err);
	close(open(NETNS "/whyperf-Bad-a", O_CREAT | O_CLOEXEC, 0600));
	close(open(NETNS "/whyperf--a", O_CREAT | O_CLOEXEC, 0600));
	close(open(NETNS "/someone", O_CREAT | O_CLOEXEC, 0600));
	wp_lab_names_done(&l);
	assert_ok(wp_lab_list(&l, &err), &err);
	assert_int_equal(l.n, 2);
	assert_string_equal(l.v[0], "a-b");
	assert_string_equal(l.v[1], "bb");
	assert_ok(wp_lab_down("bb", false, JOURNALS, &err), &err);
	assert_ok(wp_lab_down("a-b", false, JOURNALS, &err), &err);
	/* Other people's files keep the directory. */
	assert_int_equal(count_files(NETNS), 3);
	assert_int_equal(unlink(NETNS "/whyperf-Bad-a") | unlink(NETNS "/whyperf--a") |
				 unlink(NETNS "/someone"),
			 0);
	assert_ok(up("x", 0, &err), &err);
	assert_ok(wp_lab_down("x", false, JOURNALS, &err), &err);
	/* ... and what was there before the lab was made is there after it. */
	assert_int_equal(count_files(NETNS), 0);
	assert_int_equal(umount(NETNS) | rmdir(NETNS), 0);
	assert_clean();
}

static void test_names_that_are_not_there(void **state)
{
	struct wp_err err = { 0 };
	struct wp_lab_status st;
	struct wp_lab lab;

	need_rights(state);
	assert_int_equal(wp_lab_status("gone", &st, &err), -ENOENT);
	assert_string_equal(err.msg, "there is no lab 'gone'; make it with: whyperf lab up gone");
	assert_int_equal(wp_lab_down("gone", false, JOURNALS, NULL), -ENOENT);
	assert_int_equal(wp_lab_open_named("gone", &lab, NULL), -ENOENT);
	assert_int_equal(up("Bad Name", 0, NULL), -EINVAL);
	assert_int_equal(wp_lab_down("../x", false, JOURNALS, NULL), -EINVAL);
	assert_int_equal(wp_lab_status("", &st, NULL), -EINVAL);
	err.msg[0] = '\0';
	assert_ok(up("alpha", 0, &err), &err);
	assert_int_equal(wp_lab_down("alhpa", false, JOURNALS, &err), -ENOENT);
	assert_string_equal(err.msg, "there is no lab 'alhpa'; did you mean 'alpha'?");
	assert_int_equal(wp_lab_down("alpha", false, JOURNALS, NULL), 0);
	assert_clean();
}

static void test_open_by_spec(void **state)
{
	_cleanup_lab_ struct wp_lab lab = WP_LAB_CLOSED;
	struct wp_lab_spec spec;
	struct wp_err err = { 0 };

	need_rights(state);
	assert_ok(up("open", 4000, &err), &err);
	assert_ok(wp_lab_spec_parse("lab:name=open", &spec, &err), &err);
	assert_ok(wp_lab_open(&spec, &lab, &err), &err);
	assert_string_equal(lab.name, "open");
	assert_int_equal(lab.mtu_bytes, 4000);
	assert_string_equal(lab.end[WP_LAB_A].ip4, "10.97.0.1");
	assert_string_equal(lab.end[WP_LAB_B].ip4, "10.97.0.2");
	if (lab.has_ipv6)
		assert_string_equal(lab.end[WP_LAB_B].ip6, "fd97::2");
	assert_string_equal(lab.end[WP_LAB_B].ifname, "wpb");
	wp_lab_close(&lab);
	assert_ok(wp_lab_down("open", false, JOURNALS, &err), &err);
	assert_clean();
}

static int run_in(const char *where, const char *script)
{
	char sh[] = "/bin/sh", c[] = "-c", *text = strdup(script);
	char *argv[] = { sh, c, text, NULL };
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		struct wp_err err = { 0 };

		(void)!wp_lab_exec(where, argv, &err);
		fprintf(stderr, "# %s\n", err.msg);
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	free(text);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_exec(void **state)
{
	char nosuch[] = "/no/such/program";
	char *argv[] = { nosuch, NULL };
	struct wp_err err = { 0 };
	int status;
	pid_t pid;

	need_rights(state);
	assert_ok(up("run", 0, &err), &err);
	assert_int_equal(
		run_in("run:a", "test -d /sys/class/net/wpa && ! test -e /sys/class/net/wpb"), 0);
	assert_int_equal(
		run_in("run:b", "grep -q wpb: /proc/net/dev && ! grep -q wpa: /proc/net/dev"), 0);
	assert_int_equal(run_in("run:b", "exit 7"), 7);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(wp_lab_exec("run:a", argv, &err) != -ENOENT ||
		      !strstr(err.msg, "cannot run '/no/such/program'"));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(wp_lab_exec("walk:a", argv, NULL), -ENOENT);
	assert_int_equal(wp_lab_exec("run:c", argv, NULL), -EINVAL);
	/* Its mounts were its own. */
	assert_int_equal(access("/sys/class/net/wpa", F_OK), -1);
	assert_ok(wp_lab_down("run", false, JOURNALS, &err), &err);
	assert_clean();
}

static void test_in_use(void **state)
{
	char path[] = "/bin/sleep", arg[] = "60";
	char *argv[] = { path, arg, NULL };
	struct wp_err err = { 0 };
	struct wp_lab_status st;
	pid_t pid;

	need_rights(state);
	assert_ok(up("used", 0, &err), &err);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(wp_lab_exec("used:b", argv, NULL) ? 1 : 0);
	for (int i = 0; i < 500; i++) {
		assert_ok(wp_lab_status("used", &st, &err), &err);
		if (st.side[WP_LAB_B].users.processes &&
		    !strcmp(st.side[WP_LAB_B].users.first_name, "sleep"))
			break;
		wp_sleep_until_ns(wp_now_ns() + 10 * WP_NS_PER_MS);
	}
	assert_int_equal(st.side[WP_LAB_A].users.processes, 0);
	assert_int_equal(st.side[WP_LAB_B].users.processes, 1);
	assert_int_equal(st.side[WP_LAB_B].users.first_pid, pid);
	assert_int_equal(wp_lab_down("used", false, JOURNALS, &err), -EBUSY);
	assert_non_null(strstr(err.msg, "1 process runs in the lab 'used'"));
	assert_non_null(strstr(err.msg, "sleep"));
	assert_int_equal(access("/run/netns/whyperf-used-a", F_OK), 0);
	assert_int_equal(wp_lab_down("used", true, JOURNALS, NULL), 0);
	assert_clean();
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_one_of_many_wins(void **state)
{
	int won = 0, lost = 0;

	need_rights(state);
	for (int i = 0; i < 8; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid)
			_exit(up("race", 0, NULL) == 0         ? 0
			      : up("race", 0, NULL) == -EEXIST ? 1
							       : 2);
	}
	for (int i = 0; i < 8; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
		won += WEXITSTATUS(status) == 0;
		lost += WEXITSTATUS(status) == 1;
	}
	assert_int_equal(won, 1);
	assert_int_equal(lost, 7);
	assert_int_equal(wp_lab_down("race", false, JOURNALS, NULL), 0);
	assert_clean();
}

/* Where /run is on disk, a reboot leaves the files but not the namespaces. */
static void test_after_a_reboot(void **state)
{
	struct wp_err err = { 0 };

	need_rights(state);
	assert_int_equal(wp_mkdir_p(NETNS), 0);
	close(open(NETNS "/whyperf-old-a", O_CREAT | O_CLOEXEC, 0));
	close(open(NETNS "/whyperf-old-b", O_CREAT | O_CLOEXEC, 0));
	assert_ok(up("old", 0, &err), &err);
	assert_ok(wp_lab_down("old", false, JOURNALS, &err), &err);
	assert_int_equal(count_files(NETNS), 0);
	assert_int_equal(rmdir(NETNS), 0);
	assert_clean();
}

enum act {
	ACT_UP,
	ACT_DOWN,
};

static void do_act(enum act act)
{
	if (act == ACT_UP)
		_exit(up("kill", 0, NULL) ? 1 : 0);
	_exit(wp_lab_down("kill", false, JOURNALS, NULL) ? 1 : 0);
}

static void kill_during(enum act act, int64_t delay_ns)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		do_act(act);
	wp_sleep_until_ns(wp_now_ns() + delay_ns);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int64_t time_of(enum act act)
{
	int64_t start_ns = wp_now_ns();
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		do_act(act);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return wp_now_ns() - start_ns;
}

static void start_again(void)
{
	struct wp_journal_report report;
	struct wp_err err = { 0 };

	assert_ok(wp_journal_replay(JOURNALS, "", NULL, NULL, &report, &err), &err);
	assert_int_equal(report.bad + report.kept, 0);
}

/* After the next start there is either the whole lab (it was finished, or its removal not begun) or nothing at all.
 * Returns which, and removes it. */
static bool whole_or_nothing(void)
{
	struct wp_lab_status st;
	struct wp_err err = { 0 };
	bool whole;

	start_again();
	whole = wp_lab_status("kill", &st, NULL) == 0;
	if (whole) {
		assert_true(st.complete && st.side[0].carrier && st.side[1].carrier);
		assert_ok(wp_lab_down("kill", false, JOURNALS, &err), &err);
	}
	/* Killed before it had made a directory: that is clean too. */
	if (access(JOURNALS "/lab", F_OK) == 0)
		assert_clean();
	return whole;
}

static void test_kill_by_the_clock(void **state)
{
	struct wp_rng rng;
	int64_t span_ns;

	need_rights(state);
	wp_rng_seed(&rng, 7);
	for (enum act act = ACT_UP; act <= ACT_DOWN; act++) {
		struct wp_err err = { 0 };
		int whole = 0;

		if (act == ACT_DOWN)
			assert_ok(up("kill", 0, &err), &err);
		span_ns = time_of(act);
		whole_or_nothing();
		for (int round = 0; round < 30; round++) {
			if (act == ACT_DOWN)
				assert_ok(up("kill", 0, &err), &err);
			kill_during(act, (int64_t)wp_rng_below(&rng, (uint64_t)span_ns));
			whole += whole_or_nothing();
		}
		print_message("# killed during %s: %d labs of 30 were whole\n",
			      act == ACT_UP ? "up" : "down", whole);
	}
}

static bool next_stop(pid_t pid)
{
	int status;

	assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSTOPPED(status);
}

/* Stops at system calls until there is a journal, then kills after `calls` more. False: it ended by itself. */
static bool kill_at_call(enum act act, int calls)
{
	pid_t pid = fork();
	int status;
	bool runs;

	assert_true(pid >= 0);
	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) || raise(SIGSTOP))
			_exit(2);
		do_act(act);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSTOPPED(status)) {
		print_message("# skipped: no right to trace a process\n");
		skip();
	}
	do
		runs = next_stop(pid) && next_stop(pid); /* in and out */
	while (runs && count_files(JOURNALS) < 2);
	while (runs && calls--)
		runs = next_stop(pid) && next_stop(pid);
	if (!runs)
		return false;
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return true;
}

/* Every moment that differs for the machine: between any two system calls from the first line of the journal on. */
static void test_kill_at_every_call(void **state)
{
	static const int too_many = 200;

	need_rights(state);
	for (enum act act = ACT_UP; act <= ACT_DOWN; act++) {
		struct wp_err err = { 0 };
		bool killed = true;
		int calls = 0, whole = 0;

		for (; killed && calls < too_many; calls++) {
			if (act == ACT_DOWN)
				assert_ok(up("kill", 0, &err), &err);
			killed = kill_at_call(act, calls);
			whole += whole_or_nothing();
		}
		print_message("# killed at each of %d calls of %s: whole after %d\n", calls,
			      act == ACT_UP ? "up" : "down", whole);
		assert_true(calls > 10 && calls < too_many);
	}
}

static void test_where(void **state)
{
	static const struct {
		const char *where, *name;
		enum wp_lab_side side;
	} good[] = { { "lab:a", "lab", WP_LAB_A }, { "my-lab-2:b", "my-lab-2", WP_LAB_B } };
	static const char *const bad[] = {
		"",       "lab",   "lab:",  "lab:c",  ":a",
		"lab:ab", "Lab:a", "a:b:a", "../x:a", "abcdefghijklmnopqrstuvwxy:a"
	};
	char name[WP_LAB_NAME_SIZE] = "untouched";
	enum wp_lab_side side;

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(bad); i++) {
		struct wp_err err = { 0 };

		if (wp_lab_where_parse(bad[i], name, &side, &err) != -EINVAL || !err.msg[0])
			fail_msg("'%s' accepted", bad[i]);
		assert_string_equal(name, "untouched");
	}
	for (size_t i = 0; i < WP_ARRAY_SIZE(good); i++) {
		assert_int_equal(wp_lab_where_parse(good[i].where, name, &side, NULL), 0);
		assert_string_equal(name, good[i].name);
		assert_int_equal(side, good[i].side);
	}
}

static void test_maker(void **state)
{
	static const char *const bad[] = {
		"",
		"whyperf-lab",
		"whyperf-lab since=1 uid=2 pid=3",
		"whyperf-lab since=1 uid=2 pid=3 dir=4",
		"whyperf-lab since=1 uid=2 pid=3 dir=1 more",
		"whyperf-lab since=-1 uid=2 pid=3 dir=0",
		"whyperf-lab since=9223372037 uid=2 pid=3 dir=0",
		"whyperf-lab since=1 uid=4294967296 pid=3 dir=0",
		"whyperf-lab since=1 uid=2 pid=2147483648 dir=0",
		"whyperf-lab since= uid=2 pid=3 dir=0",
		"other since=1 uid=2 pid=3 dir=0",
		"whyperf-lab uid=2 since=1 pid=3 dir=0",
	};
	struct wp_lab_maker maker = { 0 };

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(bad); i++)
		if (wp_lab_maker_parse(bad[i], &maker))
			fail_msg("'%s' accepted", bad[i]);
	assert_true(
		wp_lab_maker_parse("whyperf-lab since=1764523205 uid=1000 pid=4711 dir=3", &maker));
	assert_true(maker.since_s == 1764523205);
	assert_int_equal(maker.uid, 1000);
	assert_int_equal(maker.pid, 4711);
	assert_int_equal(maker.dir_flags, WP_LAB_DIR_MADE | WP_LAB_DIR_MOUNTED);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_where),
		cmocka_unit_test(test_maker),
		cmocka_unit_test(test_up_status_down),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_names_that_are_not_there),
		cmocka_unit_test(test_open_by_spec),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_in_use),
		cmocka_unit_test(test_one_of_many_wins),
		cmocka_unit_test(test_after_a_reboot),
		cmocka_unit_test(test_kill_by_the_clock),
		cmocka_unit_test(test_kill_at_every_call),
	};

	return cmocka_run_group_tests_name("lab named", tests, set_up_world, NULL);
}
