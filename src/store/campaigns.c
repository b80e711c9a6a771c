/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "store/sql.h"

static const char insert_campaign[] =
	"INSERT INTO campaigns (id, started, kind, state, command, document) VALUES (?1, ?2, ?3, ?4, ?5, ?6) "
	"ON CONFLICT (id) DO UPDATE SET started = ?2, kind = ?3, state = ?4, command = ?5, document = ?6";

static char *command_line(const struct wp_campaign *c)
{
	struct wp_buf b = WP_BUF(16 << 10);

	for (size_t i = 0; i < c->plan.n_command; i++)
		wp_buf_printf(&b, "%s%s", i ? " " : "", c->plan.command[i]);
	return b.data; /* the buffer's memory moves to the caller; NULL without a command */
}

int wp_store_save_campaign(struct wp_store *s, const struct wp_campaign *c, struct wp_err *err)
{
	_cleanup_stmt_ sqlite3_stmt *st = NULL;
	_cleanup_json_ json_t *json = wp_campaign_to_json(c);
	_cleanup_free_ char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	_cleanup_free_ char *command = command_line(c);
	int r;

	if (!c->id || strlen(c->id) != WP_STORE_ID_DIGITS)
		return wp_err_set(err, -EINVAL, "the campaign has no id of %d digits",
				  WP_STORE_ID_DIGITS);
	if (!text)
		return wp_err_set(err, -ENOMEM, "not enough memory to write the campaign as JSON");
	r = wp_sql_prepare(s, insert_campaign, &st, "save the campaign", err);
	if (r)
		return r;
	wp_sql_text(st, 1, c->id);
	wp_sql_text(st, 2, c->started ? c->started : "");
	wp_sql_text(st, 3, c->kind);
	wp_sql_text(st, 4, c->state ? c->state : "running");
	wp_sql_text(st, 5, command);
	wp_sql_text(st, 6, text);
	return wp_sql_step(s, st, "save the campaign", err);
}

int wp_store_load_campaign(struct wp_store *s, const char *ref, struct wp_campaign *ret,
			   struct wp_err *err)
{
	_cleanup_stmt_ sqlite3_stmt *st = NULL;
	_cleanup_json_ json_t *json = NULL;
	char id[WP_STORE_ID_DIGITS + 1];
	const char *name;
	int r = wp_store_find(s, "campaigns", ref, id, err);

	if (!r)
		r = wp_sql_prepare(s, "SELECT document, name FROM campaigns WHERE id = ?1", &st,
				   "read the campaign", err);
	if (r)
		return r;
	wp_sql_text(st, 1, id);
	r = wp_sql_step(s, st, "read the campaign", err);
	if (r <= 0)
		return r ? r : wp_err_set(err, -ENOENT, "campaign %s was deleted meanwhile", id);
	json = json_loadb((const char *)sqlite3_column_blob(st, 0),
			  (size_t)sqlite3_column_bytes(st, 0), 0, NULL);
	if (!json)
		return wp_err_set(err, -EBADMSG, "campaign %s in %s is damaged", id, s->path);
	name = (const char *)sqlite3_column_text(st, 1);
	if (json_object_set_new(json, "name", name ? json_string(name) : json_null()))
		return wp_err_set(err, -ENOMEM, "not enough memory");
	return wp_campaign_from_json(json, ret, err);
}

static int count_rows(struct wp_store *s, size_t *ret, struct wp_err *err)
{
	_cleanup_stmt_ sqlite3_stmt *st = NULL;
	int r = wp_sql_prepare(s, "SELECT count(*) FROM campaigns", &st, "list the campaigns", err);

	if (!r)
		r = wp_sql_step(s, st, "list the campaigns", err);
	if (r < 0)
		return r;
	*ret = (size_t)sqlite3_column_int64(st, 0);
	return 0;
}

static int read_campaigns(struct wp_store *s, size_t limit, struct wp_store_campaign_list *list,
			  struct wp_err *err)
{
	static const char sql[] = "SELECT id, name, started, kind, state, command, "
				  "(SELECT count(*) FROM runs WHERE runs.campaign = campaigns.id) "
				  "FROM campaigns ORDER BY seq DESC LIMIT ?1";
	_cleanup_stmt_ sqlite3_stmt *st = NULL;
	int r = wp_sql_prepare(s, sql, &st, "list the campaigns", err);

	if (r)
		return r;
	list->v = wp_pool_calloc(&list->pool, limit ? limit : 1, sizeof(*list->v));
	if (!list->v)
		return wp_err_set(err, -ENOMEM, "not enough memory to list the campaigns");
	wp_sql_int(st, 1, (int64_t)limit);
	while ((r = wp_sql_step(s, st, "list the campaigns", err)) == 1) {
		struct wp_store_campaign_row *row = &list->v[list->n++];
		const char **texts[] = { &row->id,   &row->name,  &row->started,
					 &row->kind, &row->state, &row->command };

		for (int i = 0; i < (int)WP_ARRAY_SIZE(texts); i++)
			*texts[i] = wp_sql_get_text(st, i, &list->pool);
		row->n_runs = (size_t)sqlite3_column_int64(st, (int)WP_ARRAY_SIZE(texts));
	}
	return r;
}

int wp_store_list_campaigns(struct wp_store *s, size_t limit, struct wp_store_campaign_list *ret,
			    struct wp_err *err)
{
	struct wp_store_campaign_list list = { .pool = WP_POOL(WP_CAMPAIGN_POOL_BYTES) };
	size_t rows;
	int r = count_rows(s, &rows, err);

	if (r)
		return r;
	if (!limit || limit > WP_STORE_MAX_ROWS)
		limit = WP_STORE_MAX_ROWS;
	r = read_campaigns(s, rows < limit ? rows : limit, &list, err);
	if (r)
		wp_store_campaigns_done(&list);
	else
		*ret = list;
	return r;
}

void wp_store_campaigns_done(struct wp_store_campaign_list *l)
{
	if (!l)
		return;
	wp_pool_done(&l->pool);
	memset(l, 0, sizeof(*l));
}

static int delete_where(struct wp_store *s, const char *sql, const char *id, struct wp_err *err)
{
	_cleanup_stmt_ sqlite3_stmt *st = NULL;
	int r = wp_sql_prepare(s, sql, &st, "delete the campaign", err);

	if (r)
		return r;
	wp_sql_text(st, 1, id);
	return wp_sql_step(s, st, "delete the campaign", err);
}

int wp_store_delete_campaign(struct wp_store *s, const char *ref, struct wp_err *err)
{
	char id[WP_STORE_ID_DIGITS + 1];
	int r = wp_store_find(s, "campaigns", ref, id, err);

	if (!r)
		r = wp_sql_exec(s, "BEGIN IMMEDIATE", "delete the campaign", err);
	if (r)
		return r;
	r = delete_where(s, "DELETE FROM runs WHERE campaign = ?1", id, err);
	if (!r)
		r = delete_where(s, "DELETE FROM campaigns WHERE id = ?1", id, err);
	if (!r)
		r = wp_sql_exec(s, "COMMIT", "delete the campaign", err);
	if (r)
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}
