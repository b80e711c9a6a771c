/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "store/sql.h"

/* "wprf": marks the file as ours, so that --store on somebody else's database does not add tables
 * to it. */
#define APPLICATION_ID 0x77707266

/* Step i brings the schema from version i to i + 1. Steps are never changed once released, only
 * added. */
static const char *const steps[WP_STORE_VERSION] = {
	"CREATE TABLE campaigns ("
	"  seq INTEGER PRIMARY KEY AUTOINCREMENT,"
	"  id TEXT NOT NULL UNIQUE,"
	"  name TEXT UNIQUE,"
	"  started TEXT NOT NULL,"
	"  kind TEXT,"
	"  state TEXT NOT NULL,"
	"  command TEXT,"
	"  document TEXT NOT NULL"
	") STRICT;"
	"CREATE TABLE runs ("
	"  seq INTEGER PRIMARY KEY AUTOINCREMENT," /* order of saving: what \"last\" means */
	"  id TEXT NOT NULL UNIQUE,"
	"  name TEXT UNIQUE,"
	"  started TEXT NOT NULL,"
	"  kind TEXT,"
	"  peer TEXT,"
	"  target TEXT,"
	"  direction TEXT,"
	"  streams INTEGER,"
	"  duration_s REAL,"
	"  sent_bps REAL,"
	"  received_bps REAL,"
	"  transactions_per_s REAL,"
	"  exit INTEGER NOT NULL,"
	"  error TEXT,"
	"  campaign TEXT," /* its row may come later than the first run's */
	"  cell TEXT,"
	"  host TEXT,"
	"  kernel TEXT,"
	"  cpu_model TEXT,"
	"  clocksource TEXT,"
	"  version TEXT,"
	"  document TEXT NOT NULL"
	") STRICT;"
	"CREATE INDEX runs_started ON runs (started);"
	"CREATE INDEX runs_campaign ON runs (campaign) WHERE campaign IS NOT NULL;",
};

static int pragma_int(struct wp_store *s, const char *sql, int64_t *ret, struct wp_err *err)
{
	_cleanup_stmt_ sqlite3_stmt *st = NULL;
	int r = wp_sql_prepare(s, sql, &st, "read the version", err);

	if (!r)
		r = wp_sql_step(s, st, "read the version", err);
	if (r < 0)
		return r;
	*ret = sqlite3_column_int64(st, 0);
	return 0;
}

/* Whether the steps are needed: 1 yes, 0 no. */
static int examine(struct wp_store *s, int64_t *ret_version, struct wp_err *err)
{
	int64_t id, version, tables;
	int r = pragma_int(s, "PRAGMA application_id", &id, err);

	if (!r)
		r = pragma_int(s, "PRAGMA user_version", &version, err);
	if (!r)
		r = pragma_int(s, "SELECT count(*) FROM sqlite_schema", &tables, err);
	if (r)
		return r;
	if (id != APPLICATION_ID && (id || version || tables))
		return wp_err_set(
			err, -EBADMSG,
			"%s is a database of another program; name another file or move it away",
			s->path);
	if (version > WP_STORE_VERSION)
		return wp_err_set(err, -ENOTSUP,
				  "%s was made by a newer whyperf (schema %" PRId64
				  ", this one knows %d); update whyperf",
				  s->path, version, WP_STORE_VERSION);
	*ret_version = version;
	return version < WP_STORE_VERSION;
}

static int run_steps(struct wp_store *s, int64_t version, struct wp_err *err)
{
	char pragma[96];
	int r = 0;

	for (; !r && version < WP_STORE_VERSION; version++)
		r = wp_sql_exec(s, steps[version], "make tables", err);
	if (r)
		return r;
	/* A pragma takes no bound parameter; both are constants. */
	snprintf(pragma, sizeof(pragma), "PRAGMA application_id = %d; PRAGMA user_version = %d",
		 APPLICATION_ID, WP_STORE_VERSION);
	return wp_sql_exec(s, pragma, "set the version", err);
}

int wp_store_migrate(struct wp_store *s, struct wp_err *err)
{
	int64_t version;
	int r = examine(s, &version, err);

	if (r <= 0)
		return r;
	r = wp_sql_exec(s, "BEGIN IMMEDIATE", "lock the database", err);
	if (r)
		return r;
	/* Another process may have done it while this one waited for the lock. */
	r = examine(s, &version, err);
	if (r > 0)
		r = run_steps(s, version, err);
	if (!r)
		r = wp_sql_exec(s, "COMMIT", "make tables", err);
	if (r)
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}
