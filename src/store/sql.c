/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/sql.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"

/* What a person can do about an SQLite failure. */
static const struct {
	int code, error;
	const char *says;
} failures[] = {
	{ SQLITE_BUSY, -EBUSY, "another process holds it locked; wait for it and try again" },
	{ SQLITE_LOCKED, -EBUSY, "another process holds it locked; wait for it and try again" },
	{ SQLITE_READONLY, -EACCES,
	  "it can't be written; check the permissions of the file and its folder" },
	{ SQLITE_PERM, -EACCES,
	  "permission denied; check the permissions of the file and its folder" },
	{ SQLITE_CANTOPEN, -EACCES,
	  "it can't be opened; check that its folder exists and can be written" },
	{ SQLITE_FULL, -ENOSPC, "the disk is full; make room" },
	{ SQLITE_CORRUPT, -EBADMSG, "it is damaged; move it away and a new one is made" },
	{ SQLITE_NOTADB, -EBADMSG, "it is not a database; move it away and a new one is made" },
	{ SQLITE_NOMEM, -ENOMEM, "not enough memory" },
	{ SQLITE_TOOBIG, -E2BIG, "the record is too long" },
	{ SQLITE_CONSTRAINT, -EEXIST, "it is there already" },
};

int wp_sql_fail(struct wp_store *s, int code, const char *doing, struct wp_err *err)
{
	for (size_t i = 0; i < WP_ARRAY_SIZE(failures); i++)
		if ((code & 0xff) == failures[i].code)
			return wp_err_set(err, failures[i].error, "cannot %s in %s: %s", doing,
					  s->path, failures[i].says);
	return wp_err_set(err, -EIO, "cannot %s in %s: %s", doing, s->path,
			  s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(code));
}

int wp_sql_exec(struct wp_store *s, const char *sql, const char *doing, struct wp_err *err)
{
	int code = sqlite3_exec(s->db, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? 0 : wp_sql_fail(s, code, doing, err);
}

int wp_sql_prepare(struct wp_store *s, const char *sql, sqlite3_stmt **ret, const char *doing,
		   struct wp_err *err)
{
	int code = sqlite3_prepare_v2(s->db, sql, -1, ret, NULL);

	return code == SQLITE_OK ? 0 : wp_sql_fail(s, code, doing, err);
}

int wp_sql_step(struct wp_store *s, sqlite3_stmt *st, const char *doing, struct wp_err *err)
{
	int code = sqlite3_step(st);

	if (code == SQLITE_ROW)
		return 1;
	return code == SQLITE_DONE ? 0 : wp_sql_fail(s, code, doing, err);
}

void wp_sql_text(sqlite3_stmt *st, int at, const char *text)
{
	sqlite3_bind_text(st, at, text, -1, SQLITE_STATIC);
}

void wp_sql_int(sqlite3_stmt *st, int at, int64_t v)
{
	sqlite3_bind_int64(st, at, v);
}

void wp_sql_num(sqlite3_stmt *st, int at, struct wp_num n)
{
	if (wp_has(n) && isfinite(n.v))
		sqlite3_bind_double(st, at, n.v);
	else
		sqlite3_bind_null(st, at);
}

const char *wp_sql_get_text(sqlite3_stmt *st, int at, struct wp_pool *pool)
{
	return wp_pool_strdup(pool, (const char *)sqlite3_column_text(st, at));
}

struct wp_num wp_sql_get_num(sqlite3_stmt *st, int at)
{
	if (sqlite3_column_type(st, at) == SQLITE_NULL)
		return wp_absent(NULL);
	return wp_num(sqlite3_column_double(st, at));
}

/* Going over to WAL takes an exclusive lock for which SQLite does not wait by itself. */
static int switch_to_wal(struct wp_store *s, struct wp_err *err)
{
	int64_t until_ns = wp_now_ns() + WP_STORE_BUSY_MS * WP_NS_PER_MS;
	int code;

	for (;;) {
		code = sqlite3_exec(s->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
		if (code == SQLITE_OK)
			return 0;
		if ((code & 0xff) != SQLITE_BUSY || wp_now_ns() > until_ns)
			return wp_sql_fail(s, code, "start", err);
		wp_sleep_until_ns(wp_now_ns() + 10 * WP_NS_PER_MS);
	}
}

static int make_folder(const char *path, struct wp_err *err)
{
	_cleanup_free_ char *copy = strdup(path);
	int r;

	if (!copy)
		return wp_err_set(err, -ENOMEM, "not enough memory");
	r = wp_mkdir_p(dirname(copy));
	return r ? wp_err_sys(err, r, "cannot make the folder of %s", path) : 0;
}

/* What was measured here is nobody else's business. SQLite gives its other files the same mode. Only a file that is
 * not there is opened: closing one that is in use would drop SQLite's locks on it (fcntl(2)). */
static void make_private(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	(void)fd; /* SQLite tells what is wrong */
}

static int open_database(struct wp_store *s, struct wp_err *err)
{
	int code, r;

	make_private(s->path);
	code = sqlite3_open_v2(s->path, &s->db,
			       SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			       NULL);
	if (code != SQLITE_OK)
		return wp_sql_fail(s, code, "open the store", err);
	sqlite3_extended_result_codes(s->db, 1);
	sqlite3_busy_timeout(s->db, WP_STORE_BUSY_MS);
	/* A file that is no database must be refused before the first write. */
	r = wp_sql_exec(s, "PRAGMA trusted_schema = OFF; SELECT count(*) FROM sqlite_schema",
			"read the store", err);
	if (!r)
		r = wp_store_migrate(s, err);
	if (!r)
		r = switch_to_wal(s, err);
	/* After a power cut the last runs may be missing, but the file is whole. */
	if (!r)
		r = wp_sql_exec(s, "PRAGMA synchronous = NORMAL", "start", err);
	return r;
}

int wp_store_open(const char *path, struct wp_store **ret, struct wp_err *err)
{
	struct wp_store *s;
	int r = make_folder(path, err);

	if (r)
		return r;
	s = calloc(1, sizeof(*s));
	if (s)
		s->path = strdup(path);
	if (!s || !s->path)
		r = wp_err_set(err, -ENOMEM, "not enough memory");
	else
		r = open_database(s, err);
	if (r) {
		wp_store_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

void wp_store_close(struct wp_store *s)
{
	if (!s)
		return;
	sqlite3_close_v2(s->db);
	free(s->path);
	free(s);
}
