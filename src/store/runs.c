/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/json.h"
#include "store/sql.h"

/* The columns that lists show, in the order of read_row() and bind_run(). */
#define LIST_COLUMNS                                                                                                  \
	"id, name, started, kind, peer, target, direction, error, campaign, cell, host, kernel, cpu_model, streams, " \
	"duration_s, sent_bps, received_bps, transactions_per_s, exit"

static const char insert_run[] =
	"INSERT INTO runs (" LIST_COLUMNS ", clocksource, version, document) VALUES "
	"(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22) "
	"ON CONFLICT (id) DO UPDATE SET started = ?3, kind = ?4, peer = ?5, target = ?6, direction = ?7, error = ?8, "
	"campaign = ?9, cell = ?10, host = ?11, kernel = ?12, cpu_model = ?13, streams = ?14, duration_s = ?15, "
	"sent_bps = ?16, received_bps = ?17, transactions_per_s = ?18, exit = ?19, clocksource = ?20, version = ?21, "
	"document = ?22";

static const struct wp_inventory *inventory(const struct wp_run *run)
{
	static const struct wp_inventory none;

	return run->n_hosts ? &run->hosts[0].inventory : &none;
}

static void bind_run(sqlite3_stmt *st, const struct wp_run *run, const struct wp_store_cell *cell,
		     const char *text)
{
	const struct wp_inventory *inv = inventory(run);
	const char *texts[] = {
		run->id,
		NULL, /* the name: UNIQUE could refuse it; wp_store_put_run() */
		run->started ? run->started : "",
		run->test.kind,
		run->test.peer,
		run->test.target,
		run->test.direction,
		run->error,
		cell ? cell->campaign : NULL,
		cell ? cell->cell : NULL,
		inv->hostname,
		inv->kernel,
		inv->cpu_model,
	};
	int at = 1;

	for (size_t i = 0; i < WP_ARRAY_SIZE(texts); i++)
		wp_sql_text(st, at++, texts[i]);
	if (wp_has(run->test.streams) && fabs(run->test.streams.v) < 1e9)
		wp_sql_int(st, at, (int64_t)run->test.streams.v);
	at++;
	wp_sql_num(st, at++, run->test.duration_s);
	wp_sql_num(st, at++, run->total.sent_bps);
	wp_sql_num(st, at++, run->total.received_bps);
	wp_sql_num(st, at++, run->total.transactions_per_s);
	wp_sql_int(st, at++, run->exit_status);
	wp_sql_text(st, at++, inv->clocksource);
	wp_sql_text(st, at++, run->version);
	wp_sql_text(st, at++, text);
}

int wp_store_put_run(struct wp_store *s, const struct wp_run *run, const struct wp_store_cell *cell,
		     struct wp_err *err)
{
	_cleanup_stmt_ sqlite3_stmt *st = NULL;
	_cleanup_json_ json_t *json = wp_run_to_json(run);
	_cleanup_free_ char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
	int r;

	if (!run->id || strlen(run->id) != WP_STORE_ID_DIGITS)
		return wp_err_set(err, -EINVAL, "the run has no id of %d digits",
				  WP_STORE_ID_DIGITS);
	if (!text)
		return wp_err_set(err, -ENOMEM, "not enough memory to write the run as JSON");
	r = wp_sql_prepare(s, insert_run, &st, "save the run", err);
	if (r)
		return r;
	bind_run(st, run, cell, text);
	r = wp_sql_step(s, st, "save the run", err);
	/* A name that can't be given is no reason to lose the run: err tells. */
	if (!r && run->name && wp_store_name_run(s, run->id, run->name, err))
		wp_err_prefix(err, "the run is stored without its name");
	return r;
}

static void read_row(sqlite3_stmt *st, struct wp_pool *pool, struct wp_store_row *row)
{
	const char **texts[] = {
		&row->id,     &row->name,      &row->started,   &row->kind,     &row->peer,
		&row->target, &row->direction, &row->error,     &row->campaign, &row->cell,
		&row->host,   &row->kernel,    &row->cpu_model,
	};
	struct wp_num *nums[] = {
		&row->streams,      &row->duration_s,         &row->sent_bps,
		&row->received_bps, &row->transactions_per_s,
	};
	int at = 0;

	for (size_t i = 0; i < WP_ARRAY_SIZE(texts); i++)
		*texts[i] = wp_sql_get_text(st, at++, pool);
	for (size_t i = 0; i < WP_ARRAY_SIZE(nums); i++)
		*nums[i] = wp_sql_get_num(st, at++);
	row->exit_status = sqlite3_column_int(st, at);
}

/* Doubles an array in a pool; the old one stays behind until the pool goes. */
static void *grow(struct wp_pool *pool, const void *old, size_t n, size_t cap, size_t size)
{
	void *v = wp_pool_calloc(pool, cap, size);

	if (v && n)
		memcpy(v, old, n * size);
	return v;
}

static int read_rows(struct wp_store *s, sqlite3_stmt *st, size_t limit, struct wp_store_list *list,
		     struct wp_err *err)
{
	size_t cap = 0;
	int r;

	while ((r = wp_sql_step(s, st, "list the runs", err)) == 1) {
		if (list->n == limit) {
			list->more = true;
			return 0;
		}
		if (list->n == cap) {
			cap = cap ? cap * 2 : 64;
			list->v = grow(&list->pool, list->v, list->n, cap, sizeof(*list->v));
			if (!list->v)
				return wp_err_set(
					err, -ENOMEM,
					"not enough memory to list the runs; give --limit");
		}
		read_row(st, &list->pool, &list->v[list->n]);
		if (!list->v[list->n].id)
			return wp_err_set(err, -ENOMEM,
					  "not enough memory to list the runs; give --limit");
		list->n++;
	}
	return r;
}

int wp_store_list_runs(struct wp_store *s, const struct wp_store_filter *filter,
		       struct wp_store_list *ret, struct wp_err *err)
{
	static const char sql[] =
		"SELECT " LIST_COLUMNS " FROM runs WHERE (?1 IS NULL OR kind = ?1) "
		"AND (?2 IS NULL OR target = ?2) AND (?3 IS NULL OR campaign = ?3) "
		"AND (?4 IS NULL OR started >= ?4) AND (?5 = 0 OR campaign IS NULL) "
		"ORDER BY seq DESC LIMIT ?6";
	_cleanup_stmt_ sqlite3_stmt *st = NULL;
	struct wp_store_list list = { .pool = WP_POOL(WP_RUN_POOL_BYTES) };
	size_t limit = filter->limit && filter->limit < WP_STORE_MAX_ROWS ? filter->limit
									  : WP_STORE_MAX_ROWS;
	int r = wp_sql_prepare(s, sql, &st, "list the runs", err);

	if (r)
		return r;
	wp_sql_text(st, 1, filter->kind);
	wp_sql_text(st, 2, filter->target);
	wp_sql_text(st, 3, filter->campaign);
	wp_sql_text(st, 4, filter->since);
	wp_sql_int(st, 5, filter->single);
	wp_sql_int(st, 6, (int64_t)limit + 1);
	r = read_rows(s, st, limit, &list, err);
	if (r)
		wp_store_list_done(&list);
	else
		*ret = list;
	return r;
}

void wp_store_list_done(struct wp_store_list *l)
{
	if (!l)
		return;
	wp_pool_done(&l->pool);
	memset(l, 0, sizeof(*l));
}

int wp_store_load_run_json(struct wp_store *s, const char *ref, json_t **ret, struct wp_err *err)
{
	_cleanup_stmt_ sqlite3_stmt *st = NULL;
	_cleanup_json_ json_t *json = NULL;
	char id[WP_STORE_ID_DIGITS + 1];
	const char *name;
	json_error_t where;
	int r = wp_store_find(s, "runs", ref, id, err);

	if (!r)
		r = wp_sql_prepare(s, "SELECT document, name FROM runs WHERE id = ?1", &st,
				   "read the run", err);
	if (r)
		return r;
	wp_sql_text(st, 1, id);
	r = wp_sql_step(s, st, "read the run", err);
	if (r <= 0)
		return r ? r : wp_err_set(err, -ENOENT, "run %s was deleted meanwhile", id);
	json = json_loadb((const char *)sqlite3_column_blob(st, 0),
			  (size_t)sqlite3_column_bytes(st, 0), 0, &where);
	if (!json)
		return wp_err_set(err, -EBADMSG, "run %s in %s is damaged (%s)", id, s->path,
				  where.text);
	name = (const char *)sqlite3_column_text(st, 1);
	if (json_object_set_new(json, "name", name ? json_string(name) : json_null()))
		return wp_err_set(err, -ENOMEM, "not enough memory");
	*ret = wp_steal_ptr(&json);
	return 0;
}

int wp_store_load_run(struct wp_store *s, const char *ref, struct wp_run *ret, struct wp_err *err)
{
	_cleanup_json_ json_t *json = NULL;
	int r = wp_store_load_run_json(s, ref, &json, err);

	return r ? r : wp_run_from_json(json, ret, err);
}

int wp_store_delete_run(struct wp_store *s, const char *ref, struct wp_err *err)
{
	_cleanup_stmt_ sqlite3_stmt *st = NULL;
	char id[WP_STORE_ID_DIGITS + 1];
	int r = wp_store_find(s, "runs", ref, id, err);

	if (!r)
		r = wp_sql_prepare(s, "DELETE FROM runs WHERE id = ?1", &st, "delete the run", err);
	if (r)
		return r;
	wp_sql_text(st, 1, id);
	return wp_sql_step(s, st, "delete the run", err);
}
