/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sql.h - what the files of store/ share: the handle, a prepared statement that is freed at the end
 * of its scope, and SQLite's failures as errno and a sentence.
 */
#ifndef WP_STORE_SQL_H
#define WP_STORE_SQL_H

#include <sqlite3.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "store/store.h"

struct wp_store {
	sqlite3 *db;
	char *path;
};

/* The error of the last call on the handle: negative errno, with "cannot <doing> in <path>: why;
 * what to do". */
int wp_sql_fail(struct wp_store *s, int code, const char *doing, struct wp_err *err);
/* Runs statements without results. */
int wp_sql_exec(struct wp_store *s, const char *sql, const char *doing,
		struct wp_err *err) WP_MUST_USE;
int wp_sql_prepare(struct wp_store *s, const char *sql, sqlite3_stmt **ret, const char *doing,
		   struct wp_err *err) WP_MUST_USE;
/* 1 row, 0 done, or negative. */
int wp_sql_step(struct wp_store *s, sqlite3_stmt *st, const char *doing,
		struct wp_err *err) WP_MUST_USE;

/* Binding can only fail for want of memory, which the next step reports; NULL and absent become
 * NULL. Text is borrowed until the statement is freed. */
void wp_sql_text(sqlite3_stmt *st, int at, const char *text);
void wp_sql_int(sqlite3_stmt *st, int at, int64_t v);
void wp_sql_num(sqlite3_stmt *st, int at, struct wp_num n);
/* Column as text in the pool; NULL for NULL. */
const char *wp_sql_get_text(sqlite3_stmt *st, int at, struct wp_pool *pool);
struct wp_num wp_sql_get_num(sqlite3_stmt *st, int at);

static inline void wp_sql_free_p(sqlite3_stmt **st)
{
	sqlite3_finalize(*st);
}

static inline void wp_json_free_p(json_t **j)
{
	json_decref(*j);
}

#define _cleanup_stmt_ WP_CLEANUP(wp_sql_free_p)
#define _cleanup_json_ WP_CLEANUP(wp_json_free_p)

/* Brings the schema to WP_STORE_VERSION (schema.c). */
int wp_store_migrate(struct wp_store *s, struct wp_err *err) WP_MUST_USE;

/* Resolving a reference is the same for both tables (refs.c); `table` is "runs" or "campaigns",
 * never a user's word. */
int wp_store_find(struct wp_store *s, const char *table, const char *ref,
		  char ret_id[static WP_STORE_ID_DIGITS + 1], struct wp_err *err) WP_MUST_USE;
int wp_store_set_name(struct wp_store *s, const char *table, const char *ref, const char *name,
		      struct wp_err *err) WP_MUST_USE;

#endif
