/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Works on a tree of plain files that plays the machine, in a temporary directory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "place/journal.h"
#include "place/journal_file.h"
#include "place/journal_undo.h"

#define RPS  "/sys/class/net/eth0/queues/rx-0/rps_cpus"
#define IRQ  "/proc/irq/38/smp_affinity_list"
#define RMEM "/proc/sys/net/core/rmem_max"
#define LAB  "/run/netns/whyperf-t-a"

/* A process id that cannot exist: PID_MAX_LIMIT is 2^22. */
#define DEAD "8388607-1"

struct world {
	char root[32];
	char dir[64]; /* of the journals */
	char said[4096];
};

static char *in(const struct world *w, const char *path, char out[static 256])
{
	snprintf(out, 256, "%s%s", w->root, path);
	return out;
}

static void put(const struct world *w, const char *path, const char *text)
{
	char full[256], *slash;
	int fd;

	in(w, path, full);
	slash = strrchr(full, '/');
	*slash = '\0';
	assert_int_equal(wp_mkdir_p(full), 0);
	*slash = '/';
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(wp_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static void assert_value(const struct world *w, const char *path, const char *value)
{
	char now[WP_JOURNAL_VALUE_MAX + 1];

	assert_int_equal(wp_journal_read_value(w->root, path, now), 0);
	assert_string_equal(now, value);
}

static bool exists(const struct world *w, const char *path)
{
	char full[256];

	return !access(in(w, path, full), F_OK);
}

static int count_journals(const struct world *w)
{
	DIR *d = opendir(w->dir);
	struct dirent *e;
	int n = 0;

	if (!d)
		return 0;
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		return -1;
	snprintf(w->root, sizeof(w->root), "/tmp/wp-journal-XXXXXX");
	if (!mkdtemp(w->root))
		return -1;
	snprintf(w->dir, sizeof(w->dir), "%s/journal", w->root);
	put(w, RPS, "00000001\n");
	put(w, IRQ, "0-1\n");
	put(w, RMEM, "212992\n");
	*state = w;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int teardown(void **state)
{
	struct world *w = *state;

	nftw(w->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(w);
	return 0;
}

static struct wp_journal journal_of(const struct world *w)
{
	struct wp_journal j = WP_JOURNAL(w->dir);

	j.root = w->root;
	return j;
}

static void hear(void *ctx, const char *sentence)
{
	struct world *w = ctx;
	size_t n = strlen(w->said);

	snprintf(w->said + n, sizeof(w->said) - n, "%s\n", sentence);
}

static struct wp_journal_report replay(struct world *w)
{
	struct wp_journal_report report = { .runs = 99 };
	struct wp_err err = { 0 };

	w->said[0] = '\0';
	if (wp_journal_replay(w->dir, w->root, hear, w, &report, &err))
		fail_msg("replay: %s", err.msg);
	return report;
}

static void test_change_and_undo(void **state)
{
	struct world *w = *state;
	_cleanup_journal_ struct wp_journal j = journal_of(w);
	struct wp_err err = { 0 };
	uint32_t rps = 0, irq = 0, same = 7;

	assert_int_equal(wp_journal_change(&j, RPS, "1", &same, &err), 0);
	assert_int_equal(same, 0);
	/* No change, no trace. */
	assert_false(exists(w, "/journal"));
	assert_int_equal(wp_journal_change(&j, RPS, "2", &rps, &err), 0);
	assert_int_equal(wp_journal_change(&j, IRQ, "1", &irq, &err), 0);
	assert_value(w, RPS, "2");
	assert_int_equal(count_journals(w), 1);
	assert_int_equal(wp_journal_undo(&j, rps, &err), 0);
	assert_value(w, RPS, "00000001");
	assert_value(w, IRQ, "1");
	assert_int_equal(wp_journal_undo(&j, rps, NULL), -ENOENT);
	assert_int_equal(wp_journal_undo_all(&j, &err), 0);
	assert_value(w, IRQ, "0-1");
	assert_int_equal(count_journals(w), 0);
	/* Usable again. */
	assert_int_equal(wp_journal_change(&j, RMEM, "1", NULL, &err), 0);
	assert_int_equal(count_journals(w), 1);
	assert_int_equal(wp_journal_undo_all(&j, &err), 0);
	assert_value(w, RMEM, "212992");
}

/* Changed twice: the later entry is undone first, so the oldest value comes back. */
static void test_reverse_order(void **state)
{
	struct world *w = *state;
	_cleanup_journal_ struct wp_journal j = journal_of(w);

	assert_int_equal(wp_journal_change(&j, RPS, "2", NULL, NULL), 0);
	assert_int_equal(wp_journal_change(&j, RPS, "3", NULL, NULL), 0);
	assert_int_equal(wp_journal_undo_all(&j, NULL), 0);
	assert_value(w, RPS, "00000001");
}

static void test_refuses(void **state)
{
	struct world *w = *state;
	_cleanup_journal_ struct wp_journal j = journal_of(w);
	struct wp_err err = { 0 };

	assert_int_equal(wp_journal_add(&j, WP_JOURNAL_UNLINK, "/etc/passwd", NULL, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "/etc/passwd"));
	assert_int_equal(wp_journal_change(&j, "/etc/passwd", "x", NULL, NULL), -EINVAL);
	assert_int_equal(wp_journal_change(&j, "/proc/sys/net/nosuch", "x", NULL, NULL), -ENOENT);
	assert_int_equal(wp_journal_add(&j, WP_JOURNAL_WRITE, RPS, NULL, NULL), -EINVAL);
	assert_int_equal(wp_journal_forget(&j, 1, NULL), -ENOENT);
	assert_int_equal(count_journals(w), 0);
}

/* Gives our own journal a dead process's name. */
static void replay_as_if_dead(struct world *w)
{
	char from[256], to[256], name[48];
	uint64_t starttime;

	assert_int_equal(wp_journal_starttime_of((int)getpid(), &starttime), 0);
	snprintf(name, sizeof(name), "/journal/%d-%" PRIu64, (int)getpid(), starttime);
	assert_int_equal(rename(in(w, name, from), in(w, "/journal/" DEAD, to)), 0);
	assert_int_equal(replay(w).runs, 1);
}

static void test_add_all(void **state)
{
	struct world *w = *state;
	_cleanup_journal_ struct wp_journal j = journal_of(w);
	struct wp_journal_step steps[17] = { { WP_JOURNAL_UNLINK, LAB },
					     { WP_JOURNAL_UNLINK, "/run/netns/whyperf-t-b" },
					     { WP_JOURNAL_WRITE, RPS } };
	struct wp_err err = { 0 };

	put(w, LAB, "");
	put(w, "/run/netns/whyperf-t-b", "");
	assert_int_equal(wp_journal_add_all(&j, steps, 3, NULL), -EINVAL);
	assert_int_equal(wp_journal_add_all(&j, steps, 17, NULL), -E2BIG);
	assert_int_equal(wp_journal_add_all(&j, steps, 0, NULL), -E2BIG);
	assert_int_equal(count_journals(w), 0);
	assert_int_equal(wp_journal_add_all(&j, steps, 2, &err), 0);
	assert_int_equal(count_journals(w), 1);
	/* As the next start would read it. */
	wp_journal_done(&j);
	assert_int_equal(unlink(in(w, "/run/netns/whyperf-t-b", (char[256]) { 0 })), 0);
	replay_as_if_dead(w);
	assert_false(exists(w, LAB));
	assert_int_equal(count_journals(w), 0);
}

static void test_forget_all_keeps_changes(void **state)
{
	struct world *w = *state;
	_cleanup_journal_ struct wp_journal j = journal_of(w);

	assert_int_equal(wp_journal_change(&j, RPS, "2", NULL, NULL), 0);
	assert_int_equal(wp_journal_change(&j, IRQ, "1", NULL, NULL), 0);
	assert_int_equal(wp_journal_forget_all(&j, NULL), 0);
	assert_int_equal(wp_journal_undo_all(&j, NULL), 0);
	assert_value(w, RPS, "2");
	assert_value(w, IRQ, "1");
	assert_int_equal(count_journals(w), 0);
}

/* A directory in the place of the file: unlinking it fails, the rest is undone all the same. */
static void test_failed_undo_stays(void **state)
{
	struct world *w = *state;
	_cleanup_journal_ struct wp_journal j = journal_of(w);
	struct wp_err err = { 0 };
	char full[256];

	put(w, LAB "/file", "x");
	assert_int_equal(wp_journal_change(&j, RPS, "2", NULL, NULL), 0);
	assert_int_equal(wp_journal_add(&j, WP_JOURNAL_UNLINK, LAB, NULL, NULL), 0);
	assert_int_equal(wp_journal_change(&j, IRQ, "1", NULL, NULL), 0);
	assert_int_equal(wp_journal_undo_all(&j, &err), -EISDIR);
	assert_non_null(strstr(err.msg, LAB));
	assert_value(w, RPS, "00000001");
	assert_value(w, IRQ, "0-1");
	assert_int_equal(count_journals(w), 1);
	assert_int_equal(unlink(in(w, LAB "/file", full)), 0);
	assert_int_equal(rmdir(in(w, LAB, full)), 0);
	assert_int_equal(wp_journal_undo_all(&j, NULL), 0);
	assert_int_equal(count_journals(w), 0);
}

static void kill_child_after(const struct world *w, void (*work)(const struct world *w),
			     int64_t delay_ns)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		work(w);
		for (;;)
			pause();
	}
	wp_sleep_until_ns(wp_now_ns() + delay_ns);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

/* Changes everything again and again, with undoing and forgetting in between. */
static void busy_work(const struct world *w)
{
	struct wp_journal j = journal_of(w);
	char full[256];
	int fd;

	for (int i = 0; i < 1000; i++) {
		int bad = wp_journal_change(&j, RPS, i & 1 ? "2" : "3", NULL, NULL) ||
			  wp_journal_change(&j, IRQ, "1", NULL, NULL) ||
			  wp_journal_add(&j, WP_JOURNAL_UNLINK, LAB, NULL, NULL);

		fd = open(in(w, LAB, full), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		close(fd);
		if (bad || fd < 0 || wp_journal_change(&j, RMEM, "1000", NULL, NULL) ||
		    wp_journal_undo_all(&j, NULL))
			_exit(1);
	}
}

/* Unlike a setting in /proc or /sys, a plain file can be found truncated and not yet written; that is this test's tree,
 * not the journal. Puts such a file right and counts it. */
static unsigned mend(const struct world *w, const char *path, const char *value)
{
	char now[WP_JOURNAL_VALUE_MAX + 1];

	assert_int_equal(wp_journal_read_value(w->root, path, now), 0);
	if (now[0])
		return 0;
	put(w, path, value);
	return 1;
}

static void test_kill_at_any_moment(void **state)
{
	struct world *w = *state;
	struct wp_rng rng;
	unsigned undone = 0;

	put(w, "/run/netns/other", "");
	wp_rng_seed(&rng, 20261130);
	for (int round = 0; round < 100; round++) {
		struct wp_journal_report report;

		kill_child_after(w, busy_work, (int64_t)wp_rng_below(&rng, 20000) * WP_NS_PER_US);
		report = replay(w);
		undone += report.undone;
		assert_int_equal(report.bad + report.kept, 0);
		assert_int_equal(report.left, mend(w, RPS, "00000001") + mend(w, IRQ, "0-1") +
						      mend(w, RMEM, "212992"));
		assert_value(w, RPS, "00000001");
		assert_value(w, IRQ, "0-1");
		assert_value(w, RMEM, "212992");
		assert_false(exists(w, LAB));
		assert_int_equal(count_journals(w), 0);
	}
	/* It did hit the middle of things. */
	assert_true(undone > 0);
}

static void change_two(const struct world *w)
{
	struct wp_journal j = journal_of(w);

	if (wp_journal_change(&j, RPS, "2", NULL, NULL) ||
	    wp_journal_change(&j, IRQ, "1", NULL, NULL))
		_exit(1);
}

/* Waits for the child to have written both. */
static void kill_after_two_changes(struct world *w)
{
	int64_t delay_ns = 20 * WP_NS_PER_MS;

	do {
		kill_child_after(w, change_two, delay_ns);
		delay_ns *= 2;
		if (access(w->dir, F_OK) == 0 && count_journals(w) == 1) {
			char now[WP_JOURNAL_VALUE_MAX + 1];

			assert_int_equal(wp_journal_read_value(w->root, IRQ, now), 0);
			if (!strcmp(now, "1"))
				return;
		}
		replay(w);
	} while (delay_ns < 10 * WP_NS_PER_S);
	fail_msg("the child never got there");
}

static void test_what_others_changed_is_left(void **state)
{
	struct world *w = *state;
	struct wp_journal_report report;

	kill_after_two_changes(w);
	put(w, RPS, "0000000f\n");
	report = replay(w);
	assert_int_equal(report.runs, 1);
	assert_int_equal(report.undone, 1);
	assert_int_equal(report.left, 1);
	assert_non_null(strstr(w->said, RPS " was changed again"));
	assert_non_null(strstr(w->said, "undid 1 change that"));
	assert_value(w, RPS, "0000000f");
	assert_value(w, IRQ, "0-1");
	assert_int_equal(count_journals(w), 0);
}

/* A running process is not undone under its feet. */
static void test_the_living_are_left_alone(void **state)
{
	struct world *w = *state;
	_cleanup_journal_ struct wp_journal j = journal_of(w);
	struct wp_journal_report report;
	int status;
	pid_t pid;

	assert_int_equal(wp_journal_change(&j, RPS, "2", NULL, NULL), 0);
	report = replay(w);
	assert_int_equal(report.runs, 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct wp_err err = { 0 };

		if (wp_journal_replay(w->dir, w->root, NULL, NULL, &report, &err))
			_exit(1);
		_exit(report.runs ? 2 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_value(w, RPS, "2");
	assert_int_equal(wp_journal_undo_all(&j, NULL), 0);
}

static void put_journal(struct world *w, const char *name, const char *boot_id, uint64_t netns_ino,
			const char *lines)
{
	_cleanup_buf_ struct wp_buf b = WP_BUF(1 << 16);
	struct wp_journal_here here;
	char path[128];

	wp_journal_look_around(&here);
	assert_int_equal(wp_journal_put_head(&b, boot_id ? boot_id : here.boot_id, here.pidns_ino,
					     netns_ino ? netns_ino : here.netns_ino),
			 0);
	assert_int_equal(wp_buf_puts(&b, lines), 0);
	snprintf(path, sizeof(path), "/journal/%s", name);
	put(w, path, wp_buf_text(&b));
}

static void test_hostile_journal(void **state)
{
	struct world *w = *state;
	struct wp_journal_report report;

	put(w, "/etc/precious", "x");
	put(w, RPS, "2");
	put_journal(w, DEAD, NULL, 0,
		    "1\tunlink\t/etc/precious\n"
		    "2\twrite\t/etc/precious\tx\ty\n"
		    "3\tunlink\t/run/netns/whyperf-/../../etc/precious\n"
		    "garbage\n"
		    "4\twrite\t" RPS "\t2\t1\n"
		    "5\twrite\t" RPS "\t2\t7");
	put(w, "/journal/README", "not a journal");
	report = replay(w);
	assert_int_equal(report.bad, 4);
	assert_int_equal(report.undone, 1);
	assert_value(w, "/etc/precious", "x");
	assert_value(w, RPS, "1");
	assert_non_null(strstr(w->said, "make no sense"));
	assert_false(exists(w, "/journal/" DEAD));
	assert_true(exists(w, "/journal/README"));
}

static void test_hostile_files(void **state)
{
	struct world *w = *state;
	struct wp_journal_report report;
	char full[256];

	put(w, "/journal/x", "");
	assert_int_equal(mkdir(in(w, "/journal/8388607-2", full), 0700), 0);
	assert_int_equal(symlink("/proc/self/mem", in(w, "/journal/8388607-3", full)), 0);
	assert_int_equal(mkfifo(in(w, "/journal/8388607-4", full), 0600), 0);
	put(w, "/journal/8388607-5", "");
	report = replay(w);
	assert_int_equal(report.bad, 3);
	assert_int_equal(report.runs, 1);
	assert_false(exists(w, "/journal/8388607-5"));
}

static void test_earlier_boot(void **state)
{
	struct world *w = *state;
	struct wp_journal_report report;

	put(w, RPS, "2");
	put(w, LAB, "");
	put_journal(w, DEAD, "another-boot", 0, "1\twrite\t" RPS "\t2\t1\n2\tunlink\t" LAB "\n");
	report = replay(w);
	assert_int_equal(report.undone, 1);
	assert_value(w, RPS, "2");
	assert_false(exists(w, LAB));
	assert_int_equal(count_journals(w), 0);
}

static void test_other_network_namespace(void **state)
{
	struct world *w = *state;
	struct wp_journal_report report;

	put(w, RPS, "2");
	put(w, IRQ, "1");
	put_journal(w, DEAD, NULL, 1, "1\twrite\t" RPS "\t2\t1\n2\twrite\t" IRQ "\t1\t0\n");
	for (int i = 0; i < 2; i++) {
		report = replay(w);
		assert_int_equal(report.undone, i == 0);
		assert_int_equal(report.kept, 1);
		assert_non_null(strstr(w->said, "another network namespace"));
		assert_value(w, RPS, "2");
		/* Settled once and for all: the second replay must not touch what somebody set since. */
		assert_value(w, IRQ, i ? "1" : "0");
		put(w, IRQ, "1");
	}
	assert_int_equal(count_journals(w), 1);
}

static void test_directory_of_others(void **state)
{
	struct world *w = *state;
	_cleanup_journal_ struct wp_journal j = journal_of(w);
	struct wp_journal_report report;
	struct wp_err err = { 0 };

	put_journal(w, DEAD, NULL, 0, "1\twrite\t" RPS "\t00000001\t7\n");
	assert_int_equal(chmod(w->dir, 0777), 0);
	assert_int_equal(wp_journal_replay(w->dir, w->root, NULL, NULL, &report, &err), -EPERM);
	assert_non_null(strstr(err.msg, w->dir));
	assert_int_equal(wp_journal_change(&j, RPS, "2", NULL, NULL), -EPERM);
	assert_value(w, RPS, "00000001");
}

static void test_no_directory(void **state)
{
	struct world *w = *state;
	struct wp_journal_report report = replay(w);

	assert_int_equal(report.runs, 0);
	assert_false(exists(w, "/journal"));
}

/* Eight at once: every change is undone once. */
static void test_concurrent_starters(void **state)
{
	struct world *w = *state;
	unsigned undone = 0;
	int pipes[2];

	kill_after_two_changes(w);
	assert_int_equal(pipe(pipes), 0);
	for (int i = 0; i < 8; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid) {
			struct wp_journal_report report;

			if (wp_journal_replay(w->dir, w->root, NULL, NULL, &report, NULL))
				_exit(1);
			_exit(write(pipes[1], &report.undone, sizeof(report.undone)) !=
			      sizeof(report.undone));
		}
	}
	for (int i = 0; i < 8; i++) {
		int status;
		unsigned n;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
		assert_int_equal(read(pipes[0], &n, sizeof(n)), sizeof(n));
		undone += n;
	}
	close(pipes[0]);
	close(pipes[1]);
	assert_int_equal(undone, 2);
	assert_value(w, RPS, "00000001");
	assert_int_equal(count_journals(w), 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		CASE(test_change_and_undo),
		CASE(test_reverse_order),
		CASE(test_refuses),
		CASE(test_add_all),
		CASE(test_forget_all_keeps_changes),
		CASE(test_failed_undo_stays),
		CASE(test_kill_at_any_moment),
		CASE(test_what_others_changed_is_left),
		CASE(test_the_living_are_left_alone),
		CASE(test_hostile_journal),
		CASE(test_hostile_files),
		CASE(test_earlier_boot),
		CASE(test_other_network_namespace),
		CASE(test_directory_of_others),
		CASE(test_no_directory),
		CASE(test_concurrent_starters),
	};

	return cmocka_run_group_tests_name("journal", tests, NULL, NULL);
}
