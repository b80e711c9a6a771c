/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "model/json.h"
#include "store/sql.h"

#define CANDIDATES 4 /* named in the sentence about an ambiguous beginning */

static const char *noun(const char *table)
{
	return strcmp(table, "runs") ? "campaign" : "run";
}

/* One condition for each way to name a row; the first that finds something wins. */
static const char *const ways[] = {
	"?1 = 'last' ORDER BY seq DESC LIMIT 1",
	"id = ?1",
	"name = ?1",
	"substr(id, 1, length(?1)) = ?1 ORDER BY seq DESC LIMIT 5",
};

static int ambiguous(struct wp_store *s, const char *table, const char *ref, sqlite3_stmt *st,
		     const char *first, struct wp_err *err)
{
	char list[CANDIDATES * (WP_STORE_ID_DIGITS + 2) + 8];
	size_t used = (size_t)snprintf(list, sizeof(list), "%s", first);
	int n = 1, r = 1;

	/* The statement stands on the second row. */
	for (; r == 1; n++) {
		if (n < CANDIDATES && used < sizeof(list))
			used += (size_t)snprintf(list + used, sizeof(list) - used, ", %.16s",
						 sqlite3_column_text(st, 0));
		r = wp_sql_step(s, st, "search", err);
	}
	if (r < 0)
		return r;
	return wp_err_set(err, -EEXIST, "\"%s\" could be any of the %ss %s%s; give more digits",
			  ref, noun(table), list, n > CANDIDATES ? ", ..." : "");
}

static int try_way(struct wp_store *s, const char *way, const char *table, const char *ref,
		   char ret_id[static WP_STORE_ID_DIGITS + 1], struct wp_err *err)
{
	_cleanup_stmt_ sqlite3_stmt *st = NULL;
	char sql[160], id[WP_STORE_ID_DIGITS + 1];
	int r;

	snprintf(sql, sizeof(sql), "SELECT id FROM %s WHERE %s", table, way);
	r = wp_sql_prepare(s, sql, &st, "search", err);
	if (r)
		return r;
	wp_sql_text(st, 1, ref);
	r = wp_sql_step(s, st, "search", err);
	if (r <= 0)
		return r;
	snprintf(id, sizeof(id), "%s", sqlite3_column_text(st, 0));
	r = wp_sql_step(s, st, "search", err);
	if (r < 0)
		return r;
	if (r > 0)
		return ambiguous(s, table, ref, st, id, err);
	memcpy(ret_id, id, sizeof(id));
	return 1;
}

int wp_store_find(struct wp_store *s, const char *table, const char *ref,
		  char ret_id[static WP_STORE_ID_DIGITS + 1], struct wp_err *err)
{
	for (size_t i = 0; *ref && i < WP_ARRAY_SIZE(ways); i++) {
		int r = try_way(s, ways[i], table, ref, ret_id, err);

		if (r)
			return r < 0 ? r : 0;
	}
	if (!strcmp(ref, "last"))
		return wp_err_set(err, -ENOENT, "there is no stored %s yet", noun(table));
	return wp_err_set(err, -ENOENT, "no stored %s is called \"%s\"; see whyperf history",
			  noun(table), ref);
}

/* A name must not be mistaken for another way to name a run. */
int wp_store_check_name(const char *name, struct wp_err *err)
{
	_cleanup_json_ json_t *utf8 = json_string(name);
	size_t len = strlen(name);

	if (!len || len > WP_STORE_NAME_MAX)
		return wp_err_set(err, -EINVAL, "a name has 1 to %d bytes", WP_STORE_NAME_MAX);
	if (!strcmp(name, "last"))
		return wp_err_set(err, -EINVAL,
				  "\"last\" means the newest run and can't be a name");
	if (len == WP_STORE_ID_DIGITS && strspn(name, "0123456789abcdef") == len)
		return wp_err_set(err, -EINVAL, "\"%s\" looks like an id and can't be a name",
				  name);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
			return wp_err_set(err, -EINVAL, "a name has no control characters");
	if (!utf8)
		return wp_err_set(err, -EINVAL, "a name is UTF-8 text");
	if (name[0] == '-')
		return wp_err_set(err, -EINVAL, "a name can't begin with \"-\"");
	return 0;
}

int wp_store_set_name(struct wp_store *s, const char *table, const char *ref, const char *name,
		      struct wp_err *err)
{
	_cleanup_stmt_ sqlite3_stmt *st = NULL;
	char sql[96], id[WP_STORE_ID_DIGITS + 1];
	int r = name ? wp_store_check_name(name, err) : 0, code;

	if (!r)
		r = wp_store_find(s, table, ref, id, err);
	if (r)
		return r;
	snprintf(sql, sizeof(sql), "UPDATE %s SET name = ?1 WHERE id = ?2", table);
	r = wp_sql_prepare(s, sql, &st, "name it", err);
	if (r)
		return r;
	wp_sql_text(st, 1, name);
	wp_sql_text(st, 2, id);
	code = sqlite3_step(st);
	if ((code & 0xff) == SQLITE_CONSTRAINT)
		return wp_err_set(
			err, -EEXIST,
			"another %s is called \"%s\"; take another name or rename that one",
			noun(table), name);
	return code == SQLITE_DONE ? 0 : wp_sql_fail(s, code, "name it", err);
}

int wp_store_find_run(struct wp_store *s, const char *ref,
		      char ret_id[static WP_STORE_ID_DIGITS + 1], struct wp_err *err)
{
	return wp_store_find(s, "runs", ref, ret_id, err);
}

int wp_store_find_campaign(struct wp_store *s, const char *ref,
			   char ret_id[static WP_STORE_ID_DIGITS + 1], struct wp_err *err)
{
	return wp_store_find(s, "campaigns", ref, ret_id, err);
}

int wp_store_name_run(struct wp_store *s, const char *ref, const char *name, struct wp_err *err)
{
	return wp_store_set_name(s, "runs", ref, name, err);
}

int wp_store_name_campaign(struct wp_store *s, const char *ref, const char *name,
			   struct wp_err *err)
{
	return wp_store_set_name(s, "campaigns", ref, name, err);
}
