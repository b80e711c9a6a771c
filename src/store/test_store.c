/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "store/sql.h"

struct fixture {
	char dir[64];
	char path[128];
	char fallback[PATH_MAX];
	struct wp_err err;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	snprintf(f->dir, sizeof(f->dir), "/tmp/wp-store-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/state/whyperf.db", f->dir);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	pid_t pid = fork();

	if (!pid) {
		execlp("rm", "rm", "-rf", f->dir, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
	free(f);
	return 0;
}

/* Constant strings, so nothing to free but the pool. */
static struct wp_run make_run(const char *id)
{
	struct wp_run run;

	wp_run_init(&run);
	run.id = id;
	run.started = "2026-11-30T17:20:05.123Z";
	run.version = "0.1.0";
	run.test.kind = "tcp";
	run.test.peer = "whyperf";
	run.test.target = "lab";
	run.test.direction = "forward";
	run.test.streams = wp_num(4);
	run.total.sent_bps = wp_num(11.8e9);
	run.hosts[0].role = "client";
	run.hosts[0].inventory.kernel = "6.18.44";
	run.n_hosts = 1;
	return run;
}

static void put(struct wp_store *s, const char *id, const char *kind, const char *target,
		const char *started)
{
	struct wp_run run = make_run(id);

	run.test.kind = kind;
	run.test.target = target;
	run.started = started;
	assert_int_equal(wp_store_put_run(s, &run, NULL, NULL), 0);
	wp_run_done(&run);
}

static struct wp_store *open_store(struct fixture *f)
{
	struct wp_store *s = NULL;

	if (wp_store_open(f->path, &s, &f->err))
		fail_msg("%s", f->err.msg);
	return s;
}

static int64_t ask(struct fixture *f, const char *sql)
{
	sqlite3_stmt *st;
	sqlite3 *db;
	int64_t v;

	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	v = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return v;
}

static void tell(struct fixture *f, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void test_new_database_has_version_wal_and_strict_tables(void **state)
{
	struct fixture *f = *state;
	struct stat st;

	wp_store_close(open_store(f));
	assert_int_equal(ask(f, "PRAGMA user_version"), WP_STORE_VERSION);
	assert_int_equal(ask(f, "SELECT journal_mode = 'wal' FROM pragma_journal_mode"), 1);
	assert_int_equal(
		ask(f, "SELECT count(*) FROM pragma_table_list WHERE name IN ('runs', 'campaigns') "
		       "AND strict"),
		2);
	/* What was measured is nobody else's business. */
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	*strrchr(f->path, '/') = '\0';
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
}

static void test_run_comes_back_as_it_was_saved(void **state)
{
	struct fixture *f = *state;
	struct wp_run run = make_run("00000000000000a1"), back;
	struct wp_store *s;

	assert_int_equal(
		wp_store_save_run(f->path, &run, NULL, f->fallback, sizeof(f->fallback), &f->err),
		0);
	s = open_store(f);
	assert_int_equal(wp_store_load_run(s, "last", &back, NULL), 0);
	assert_string_equal(back.id, run.id);
	assert_string_equal(back.test.target, "lab");
	assert_true(back.total.sent_bps.v == 11.8e9);
	assert_false(wp_has(back.total.received_bps));
	assert_null(back.name);
	wp_run_done(&back);
	wp_run_done(&run);
	wp_store_close(s);
}

static void test_saving_again_replaces_and_keeps_the_name(void **state)
{
	struct fixture *f = *state;
	struct wp_run run = make_run("00000000000000a1"), back;
	struct wp_store *s = open_store(f);

	assert_int_equal(wp_store_put_run(s, &run, NULL, NULL), 0);
	assert_int_equal(wp_store_name_run(s, run.id, "before", NULL), 0);
	run.exit_status = 1;
	run.error = "the peer vanished";
	assert_int_equal(wp_store_put_run(s, &run, NULL, NULL), 0);
	assert_int_equal(wp_store_load_run(s, "before", &back, NULL), 0);
	assert_int_equal(back.exit_status, 1);
	assert_string_equal(back.name, "before");
	assert_int_equal(ask(f, "SELECT count(*) FROM runs"), 1);
	wp_run_done(&back);
	wp_run_done(&run);
	wp_store_close(s);
}

static void test_name_of_a_new_run_is_given_or_refused_with_a_sentence(void **state)
{
	struct fixture *f = *state;
	struct wp_run a = make_run("00000000000000a1"), b = make_run("00000000000000b2");
	struct wp_store *s;
	char id[WP_STORE_ID_DIGITS + 1];

	a.name = b.name = "before";
	assert_int_equal(
		wp_store_save_run(f->path, &a, NULL, f->fallback, sizeof(f->fallback), &f->err), 0);
	assert_string_equal(f->err.msg, "");
	assert_int_equal(
		wp_store_save_run(f->path, &b, NULL, f->fallback, sizeof(f->fallback), &f->err), 0);
	assert_non_null(strstr(f->err.msg, "stored without its name"));
	s = open_store(f);
	assert_int_equal(wp_store_find_run(s, "before", id, NULL), 0);
	assert_string_equal(id, a.id);
	assert_int_equal(wp_store_find_run(s, b.id, id, NULL), 0);
	wp_store_close(s);
	wp_run_done(&a);
	wp_run_done(&b);
}

static void test_references(void **state)
{
	static const struct {
		const char *ref, *id;
		int error;
	} cases[] = {
		{ "last", "abcd000000000003", 0 },
		{ "abcd000000000001", "abcd000000000001", 0 },
		{ "base line", "abcd000000000001", 0 },
		{ "ffff", "ffff000000000002", 0 },
		{ "f", "ffff000000000002", 0 },
		{ "abcd", NULL, -EEXIST },
		{ "", NULL, -ENOENT },
		{ "%", NULL, -ENOENT },
		{ "abcd00000000000100", NULL, -ENOENT },
		{ "nothing' OR 1=1 --", NULL, -ENOENT },
	};
	struct fixture *f = *state;
	struct wp_store *s = open_store(f);
	char id[WP_STORE_ID_DIGITS + 1];

	assert_int_equal(wp_store_find_run(s, "last", id, &f->err), -ENOENT);
	assert_non_null(strstr(f->err.msg, "no stored run yet"));
	put(s, "abcd000000000001", "tcp", "lab", "2026-01-01T00:00:00.000Z");
	put(s, "ffff000000000002", "tcp", "lab", "2026-01-02T00:00:00.000Z");
	put(s, "abcd000000000003", "tcp", "lab", "2026-01-03T00:00:00.000Z");
	assert_int_equal(wp_store_name_run(s, "abcd000000000001", "base line", NULL), 0);
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		struct wp_err err = { 0 };

		assert_int_equal(wp_store_find_run(s, cases[i].ref, id, &err), cases[i].error);
		if (cases[i].id)
			assert_string_equal(id, cases[i].id);
		else
			assert_true(err.msg[0]);
		if (cases[i].error == -EEXIST)
			assert_non_null(strstr(err.msg, "abcd000000000003, abcd000000000001"));
	}
	wp_store_close(s);
}

static void test_names_are_checked(void **state)
{
	static const char *const bad[] = {
		"",
		"last",
		"0123456789abcdef",
		"-x",
		"two\nlines",
		"\033[2J",
		"a name of more than the sixty-four bytes that the store has for one"
	};
	struct fixture *f = *state;
	struct wp_store *s = open_store(f);
	struct wp_run back;

	put(s, "abcd000000000001", "tcp", "lab", "2026");
	put(s, "abcd000000000002", "tcp", "lab", "2026");
	for (size_t i = 0; i < WP_ARRAY_SIZE(bad); i++)
		assert_int_equal(wp_store_name_run(s, "last", bad[i], NULL), -EINVAL);
	assert_int_equal(wp_store_name_run(s, "last", "a name", NULL), 0);
	assert_int_equal(wp_store_name_run(s, "abcd000000000001", "a name", &f->err), -EEXIST);
	assert_non_null(strstr(f->err.msg, "another run is called"));
	assert_int_equal(wp_store_name_run(s, "a name", NULL, NULL), 0);
	assert_int_equal(wp_store_load_run(s, "last", &back, NULL), 0);
	assert_null(back.name);
	wp_run_done(&back);
	wp_store_close(s);
}

static void test_list_filters(void **state)
{
	static const struct {
		struct wp_store_filter filter;
		size_t n;
		const char *first;
		bool more;
	} cases[] = {
		{ { 0 }, 4, "0000000000000004", false },
		{ { .kind = "udp" }, 1, "0000000000000002", false },
		{ { .target = "10.0.0.1" }, 2, "0000000000000003", false },
		{ { .since = "2026-03" }, 2, "0000000000000004", false },
		{ { .limit = 2 }, 2, "0000000000000004", true },
		{ { .limit = 4 }, 4, "0000000000000004", false },
		{ { .single = true }, 3, "0000000000000003", false },
		{ { .campaign = "ca00000000000001" }, 1, "0000000000000004", false },
		{ { .kind = "rr" }, 0, NULL, false },
	};
	struct wp_store_cell cell = { "ca00000000000001", "cpu=0" };
	struct fixture *f = *state;
	struct wp_store *s = open_store(f);
	struct wp_run run = make_run("0000000000000004");

	put(s, "0000000000000001", "tcp", "lab", "2026-01-01T00:00:00.000Z");
	put(s, "0000000000000002", "udp", "10.0.0.1", "2026-02-01T00:00:00.000Z");
	put(s, "0000000000000003", "tcp", "10.0.0.1", "2026-03-01T00:00:00.000Z");
	assert_int_equal(wp_store_put_run(s, &run, &cell, NULL), 0);
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		struct wp_store_list list;

		assert_int_equal(wp_store_list_runs(s, &cases[i].filter, &list, NULL), 0);
		assert_int_equal(list.n, cases[i].n);
		assert_int_equal(list.more, cases[i].more);
		if (list.n)
			assert_string_equal(list.v[0].id, cases[i].first);
		if (cases[i].filter.campaign) {
			assert_string_equal(list.v[0].cell, "cpu=0");
			assert_string_equal(list.v[0].kernel, "6.18.44");
			assert_true(list.v[0].sent_bps.v == 11.8e9);
			assert_false(wp_has(list.v[0].received_bps));
		}
		wp_store_list_done(&list);
	}
	wp_run_done(&run);
	wp_store_close(s);
}

static void test_delete(void **state)
{
	struct fixture *f = *state;
	struct wp_store *s = open_store(f);

	put(s, "abcd000000000001", "tcp", "lab", "2026");
	assert_int_equal(wp_store_delete_run(s, "abcd", NULL), 0);
	assert_int_equal(wp_store_delete_run(s, "abcd", NULL), -ENOENT);
	assert_int_equal(ask(f, "SELECT count(*) FROM runs"), 0);
	wp_store_close(s);
}

static struct wp_campaign make_campaign(void)
{
	static const char *values[] = { "0", "1" };
	static const char *command[] = { "tcp", "lab" };
	static uint32_t order[] = { 1, 0 };
	struct wp_campaign c;

	wp_campaign_init(&c);
	c.id = "ca00000000000001";
	c.kind = "sweep";
	c.started = "2026-11-30T17:20:05.123Z";
	c.state = "running";
	c.plan.axes[0] = (struct wp_axis) { .name = "cpu", .values = values, .n_values = 2 };
	c.plan.n_axes = 1;
	c.plan.order = order;
	c.plan.n_order = 2;
	c.plan.command = command;
	c.plan.n_command = 2;
	assert_int_equal(wp_campaign_layout(&c, NULL), 0);
	return c;
}

static void test_campaign_is_saved_updated_listed_and_deleted_with_its_runs(void **state)
{
	struct wp_store_cell cell = { "ca00000000000001", "cpu=1" };
	struct fixture *f = *state;
	struct wp_store *s = open_store(f);
	struct wp_campaign c = make_campaign(), back;
	struct wp_run run = make_run("0000000000000004");
	struct wp_store_campaign_list list;

	assert_int_equal(wp_store_save_campaign(s, &c, NULL), 0);
	assert_int_equal(wp_store_put_run(s, &run, &cell, NULL), 0);
	put(s, "0000000000000005", "tcp", "lab", "2026");
	c.runs[0] = run.id;
	c.state = "interrupted";
	assert_int_equal(wp_store_save_campaign(s, &c, NULL), 0);
	assert_int_equal(wp_store_name_campaign(s, "last", "placement", NULL), 0);
	assert_int_equal(wp_store_load_campaign(s, "placement", &back, NULL), 0);
	assert_string_equal(back.state, "interrupted");
	assert_string_equal(back.name, "placement");
	assert_string_equal(back.runs[0], run.id);
	assert_null(back.runs[1]);
	assert_int_equal(wp_store_list_campaigns(s, 0, &list, NULL), 0);
	assert_int_equal(list.n, 1);
	assert_int_equal(list.v[0].n_runs, 1);
	assert_string_equal(list.v[0].command, "tcp lab");
	wp_store_campaigns_done(&list);
	assert_int_equal(wp_store_delete_campaign(s, "ca", NULL), 0);
	assert_int_equal(ask(f, "SELECT count(*) FROM campaigns"), 0);
	assert_int_equal(ask(f, "SELECT count(*) FROM runs"), 1);
	wp_campaign_done(&back);
	wp_campaign_done(&c);
	wp_run_done(&run);
	wp_store_close(s);
}

static void test_newer_database_is_refused_and_left_alone(void **state)
{
	struct fixture *f = *state;
	struct wp_store *s = open_store(f);

	put(s, "abcd000000000001", "tcp", "lab", "2026");
	wp_store_close(s);
	tell(f, "PRAGMA user_version = 99; ALTER TABLE runs ADD COLUMN future TEXT");
	assert_int_equal(wp_store_open(f->path, &s, &f->err), -ENOTSUP);
	assert_non_null(strstr(f->err.msg, "newer whyperf"));
	assert_int_equal(ask(f, "PRAGMA user_version"), 99);
	assert_int_equal(ask(f, "SELECT count(*) FROM runs WHERE future IS NULL"), 1);
}

static void test_database_of_another_program_is_refused(void **state)
{
	struct fixture *f = *state;
	struct wp_store *s = NULL;

	snprintf(f->path, sizeof(f->path), "%s/other.db", f->dir);
	tell(f, "CREATE TABLE moz_places (id INTEGER)");
	assert_int_equal(wp_store_open(f->path, &s, &f->err), -EBADMSG);
	assert_non_null(strstr(f->err.msg, "another program"));
	assert_int_equal(ask(f, "SELECT count(*) FROM sqlite_schema"), 1);
}

/* Saves one run where the database does not work; it must end in a file that can be brought home.
 */
static void expect_fallback(struct fixture *f, const char *word)
{
	struct wp_run run = make_run("00000000000000f1");
	struct wp_store_cell cell = { "ca00000000000001", "cpu=0" };
	struct stat st;

	f->err.msg[0] = '\0';
	assert_int_equal(
		wp_store_save_run(f->path, &run, &cell, f->fallback, sizeof(f->fallback), &f->err),
		1);
	assert_non_null(strstr(f->err.msg, word));
	assert_non_null(strstr(f->fallback, "/00000000000000f1.json"));
	assert_int_equal(stat(f->fallback, &st), 0);
	assert_true(st.st_size > 100);
	wp_run_done(&run);
}

static void expect_import(struct fixture *f)
{
	struct wp_store_filter filter = { .campaign = "ca00000000000001" };
	struct wp_store_list list;
	struct wp_store *s = open_store(f);
	size_t n = 0;

	assert_int_equal(wp_store_import_unsaved(s, &n, NULL), 0);
	assert_int_equal(n, 1);
	assert_int_equal(access(f->fallback, F_OK), -1);
	assert_int_equal(wp_store_list_runs(s, &filter, &list, NULL), 0);
	assert_int_equal(list.n, 1);
	assert_string_equal(list.v[0].cell, "cpu=0");
	wp_store_list_done(&list);
	wp_store_close(s);
}

static void test_locked_database_costs_a_file_and_it_comes_home(void **state)
{
	struct fixture *f = *state;
	sqlite3 *db;

	wp_store_close(open_store(f));
	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	expect_fallback(f, "locked");
	sqlite3_close(db);
	expect_import(f);
}

static void test_damaged_database_costs_a_file(void **state)
{
	struct fixture *f = *state;
	char away[160];
	int fd;

	wp_store_close(open_store(f));
	fd = open(f->path, O_WRONLY | O_TRUNC);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(write(fd, "this is no database\n", 20), 20);
	close(fd);
	expect_fallback(f, "move it away");
	snprintf(away, sizeof(away), "%s.damaged", f->path);
	assert_int_equal(rename(f->path, away), 0);
	expect_import(f);
}

static void test_damage_inside_is_told_and_costs_a_file(void **state)
{
	struct fixture *f = *state;
	struct wp_store *s = open_store(f);
	char junk[4096];
	int fd;

	put(s, "abcd000000000001", "tcp", "lab", "2026");
	wp_store_close(s);
	memset(junk, 0xa5, sizeof(junk));
	fd = open(f->path, O_WRONLY);
	/* Every page but the first, which holds the schema. */
	for (off_t at = 4096; at < 10 * 4096; at += 4096)
		assert_int_equal(pwrite(fd, junk, sizeof(junk), at), sizeof(junk));
	close(fd);
	expect_fallback(f, "damaged");
}

static void test_unreadable_unsaved_file_stays(void **state)
{
	struct fixture *f = *state;
	struct wp_store *s = open_store(f);
	char path[160];
	size_t n = 7;
	int fd;

	snprintf(path, sizeof(path), "%s/state/runs-unsaved", f->dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/state/runs-unsaved/x.json", f->dir);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, "{", 1), 1);
	close(fd);
	assert_int_equal(wp_store_import_unsaved(s, &n, &f->err), -EBADMSG);
	assert_int_equal(n, 0);
	assert_int_equal(access(path, F_OK), 0);
	wp_store_close(s);
}

/* Runs `body` in a child, because it gives up rights; 0 good, 77 can't be tried here. */
static int in_child(int (*body)(struct fixture *f), struct fixture *f)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(body(f));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int save_in_read_only_folder(struct fixture *f)
{
	struct wp_run run = make_run("00000000000000f2");
	int r;

	if (!geteuid() && (setgid(65534) || setuid(65534)))
		return 77;
	r = wp_store_save_run(f->path, &run, NULL, f->fallback, sizeof(f->fallback), &f->err);
	if (r != 1 || !strstr(f->err.msg, "check the permissions"))
		return 1;
	/* Nothing can be written beside it, so it is in the folder for temporary files. */
	return unlink(f->fallback) || strncmp(f->fallback, "/tmp/whyperf-run-", 17) ? 2 : 0;
}

static void test_read_only_folder_costs_a_file_elsewhere(void **state)
{
	struct fixture *f = *state;
	char folder[96];
	int r;

	wp_store_close(open_store(f));
	assert_int_equal(chmod(f->path, 0444), 0);
	snprintf(folder, sizeof(folder), "%s/state", f->dir);
	assert_int_equal(chmod(folder, 0555), 0);
	assert_int_equal(chmod(f->dir, 0555), 0);
	r = in_child(save_in_read_only_folder, f);
	chmod(f->dir, 0700);
	chmod(folder, 0700);
	if (r == 77) {
		print_message("cannot give up root's rights\n");
		skip();
	}
	assert_int_equal(r, 0);
}

static int save_on_full_disk(struct fixture *f)
{
	struct wp_run run = make_run("00000000000000f3");
	char id[WP_STORE_ID_DIGITS + 1];
	int r = 0;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", f->dir, "tmpfs", 0, "size=256k"))
		return 77;
	for (int i = 0; !r && i < 2000; i++) {
		snprintf(id, sizeof(id), "%016x", i);
		run.id = id;
		r = wp_store_save_run(f->path, &run, NULL, f->fallback, sizeof(f->fallback),
				      &f->err);
	}
	if (r != 1 || !f->err.msg[0])
		return 1;
	if (unlink(f->fallback))
		return 2;
	/* What was stored before is whole. */
	return ask(f, "SELECT count(*) > 0 FROM runs") == 1 &&
			       ask(f,
				   "SELECT integrity_check = 'ok' FROM pragma_integrity_check") == 1
		       ? 0
		       : 3;
}

static void test_full_disk_costs_a_file(void **state)
{
	int r = in_child(save_on_full_disk, *state);

	if (r == 77) {
		print_message("cannot mount a small tmpfs here\n");
		skip();
	}
	assert_int_equal(r, 0);
}

#define WRITERS      4
#define EACH         25
#define WRITE_FAILED 100

/* How many of them became files of their own, because the others held the database for too long; WRITE_FAILED. */
static int write_many(struct fixture *f, int writer)
{
	char id[WP_STORE_ID_DIGITS + 1] = "";
	struct wp_run run = make_run(id);
	int files = 0;

	for (int i = 0; i < EACH; i++) {
		int r;

		snprintf(id, sizeof(id), "%08x%08x", writer, i);
		r = wp_store_save_run(f->path, &run, NULL, f->fallback, sizeof(f->fallback), NULL);
		if (r < 0 || (r == 1 && unlink(f->fallback) < 0))
			return WRITE_FAILED;
		files += r;
	}
	return files;
}

/* From the first moment on: all make the database at once. */
static void test_concurrent_writers_lose_nothing(void **state)
{
	struct fixture *f = *state;
	pid_t pids[WRITERS];
	int status, files = 0;

	for (int i = 0; i < WRITERS; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (!pids[i])
			_exit(write_many(f, i));
	}
	for (int i = 0; i < WRITERS; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFEXITED(status));
		assert_in_range(WEXITSTATUS(status), 0, EACH);
		files += WEXITSTATUS(status);
	}
	assert_int_equal(ask(f, "SELECT count(*) FROM runs"), WRITERS * EACH - files);
}

static void test_run_without_id_is_refused(void **state)
{
	struct fixture *f = *state;
	struct wp_run run = make_run(NULL);

	assert_int_equal(
		wp_store_save_run(f->path, &run, NULL, f->fallback, sizeof(f->fallback), &f->err),
		-EINVAL);
	run.id = "../../../etc/pas";
	assert_int_equal(strlen(run.id), WP_STORE_ID_DIGITS);
	tell(f, "PRAGMA user_version = 99");
	assert_true(wp_store_save_run(f->path, &run, NULL, f->fallback, sizeof(f->fallback), NULL) <
		    0);
	assert_string_equal(f->fallback, "");
	wp_run_done(&run);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_new_database_has_version_wal_and_strict_tables),
		CASE(test_run_comes_back_as_it_was_saved),
		CASE(test_saving_again_replaces_and_keeps_the_name),
		CASE(test_name_of_a_new_run_is_given_or_refused_with_a_sentence),
		CASE(test_references),
		CASE(test_names_are_checked),
		CASE(test_list_filters),
		CASE(test_delete),
		CASE(test_campaign_is_saved_updated_listed_and_deleted_with_its_runs),
		CASE(test_newer_database_is_refused_and_left_alone),
		CASE(test_database_of_another_program_is_refused),
		CASE(test_locked_database_costs_a_file_and_it_comes_home),
		CASE(test_damaged_database_costs_a_file),
		CASE(test_damage_inside_is_told_and_costs_a_file),
		CASE(test_unreadable_unsaved_file_stays),
		CASE(test_read_only_folder_costs_a_file_elsewhere),
		CASE(test_full_disk_costs_a_file),
		CASE(test_concurrent_writers_lose_nothing),
		CASE(test_run_without_id_is_refused),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
