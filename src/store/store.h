/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store.h - runs and campaigns on disk, in one SQLite database at a path that the caller names
 * (cli/ decides where). STRICT tables, WAL, schema changes as a table of steps counted by
 * user_version, bound parameters only.
 *
 * A run is saved before it is printed. wp_store_save_run() opens, saves and closes by itself,
 * because its failure must never cost the result: where the database is locked, full, damaged or
 * newer than this program, the run goes to <directory of the database>/runs-unsaved/<id>.json, or to
 * the folder for temporary files, and the caller gets a sentence to print as a warning.
 * wp_store_import_unsaved() brings such files home later.
 *
 *	r = wp_store_save_run(path, &run, NULL, saved, sizeof(saved), &err);
 *	if (r)		1: warn err.msg, the run is in `saved`; < 0: warn err.msg, it is nowhere
 *
 *	wp_store_open(path, &store, &err);
 *	wp_store_load_run(store, "last", &run, &err);
 *	wp_store_close(store);
 *
 * A run or campaign is named by "last", its whole id, its name, or the beginning of its id where
 * that is unique. One handle must not be used by two threads at once; several processes may use the
 * database at once.
 */
#ifndef WP_STORE_STORE_H
#define WP_STORE_STORE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "model/campaign.h"
#include "model/record.h"

#define WP_STORE_VERSION   1      /* user_version that this program writes */
#define WP_STORE_BUSY_MS   3000   /* how long another process's write is waited for */
#define WP_STORE_MAX_ROWS  100000 /* a list never has more */
#define WP_STORE_NAME_MAX  64     /* bytes of a name */
#define WP_STORE_ID_DIGITS 16

struct wp_store;

/* Where a run belongs in a campaign. */
struct wp_store_cell {
	const char *campaign; /* id */
	const char *cell;     /* "cpu=0 peer-cpu=1"; NULL = none */
};

/* One line of a list. Strings live in the list's pool; a column without a value is NULL or absent.
 */
struct wp_store_row {
	const char *id, *name, *started, *kind, *peer, *target, *direction, *error, *campaign,
		*cell;
	const char *host, *kernel, *cpu_model;
	struct wp_num streams, duration_s, sent_bps, received_bps, transactions_per_s;
	int exit_status;
};

struct wp_store_list {
	struct wp_pool pool;
	struct wp_store_row *v; /* newest first */
	size_t n;
	bool more; /* the limit left some out */
};

struct wp_store_filter {
	const char *kind, *target, *campaign; /* NULL = any; campaign = id */
	const char *since; /* RFC 3339 or its beginning ("2026-11"); NULL = any */
	bool single;       /* only runs that belong to no campaign */
	size_t limit;      /* 0 = WP_STORE_MAX_ROWS */
};

struct wp_store_campaign_row {
	const char *id, *name, *started, *kind, *state, *command;
	size_t n_runs;
};

struct wp_store_campaign_list {
	struct wp_pool pool;
	struct wp_store_campaign_row *v; /* newest first */
	size_t n;
};

/* Opens or makes the database and its folders (0700), and brings its schema up to date.
 * -EPERM/-EACCES/-EROFS, -EBUSY locked, -EBADMSG damaged or no database of ours, -ENOTSUP made by a
 * newer version (left as it is), -ENOSPC. Free with wp_store_close(). */
int wp_store_open(const char *path, struct wp_store **ret, struct wp_err *err) WP_MUST_USE;
void wp_store_close(struct wp_store *s);

/* 0: in the database. 1: in the JSON file whose path is in `fallback`, err says why. Negative:
 * nowhere, err says why. run->id must be set. A run of the same id is replaced. With 0, err may still
 * say that run->name could not be given. */
int wp_store_save_run(const char *path, const struct wp_run *run, const struct wp_store_cell *cell,
		      char *fallback, size_t fallback_size, struct wp_err *err) WP_MUST_USE;
/* The same on an open store, without the fallback. */
int wp_store_put_run(struct wp_store *s, const struct wp_run *run, const struct wp_store_cell *cell,
		     struct wp_err *err) WP_MUST_USE;
/* Moves runs-unsaved/ *.json into the database; *ret_n = how many. Files that can't be read stay.
 */
int wp_store_import_unsaved(struct wp_store *s, size_t *ret_n, struct wp_err *err) WP_MUST_USE;

/* Resolves what a person wrote to an id. -ENOENT, -EEXIST ambiguous; the sentence says which ids
 * fit. */
int wp_store_find_run(struct wp_store *s, const char *ref,
		      char ret_id[static WP_STORE_ID_DIGITS + 1], struct wp_err *err) WP_MUST_USE;
int wp_store_find_campaign(struct wp_store *s, const char *ref,
			   char ret_id[static WP_STORE_ID_DIGITS + 1],
			   struct wp_err *err) WP_MUST_USE;
/* `ret` is initialised by the call; free with wp_run_done(). The name is the one in the database.
 */
int wp_store_load_run(struct wp_store *s, const char *ref, struct wp_run *ret,
		      struct wp_err *err) WP_MUST_USE;
/* The record's document, keys that this version does not know included. New reference. */
int wp_store_load_run_json(struct wp_store *s, const char *ref, json_t **ret,
			   struct wp_err *err) WP_MUST_USE;
/* Free with wp_store_list_done(). */
int wp_store_list_runs(struct wp_store *s, const struct wp_store_filter *filter,
		       struct wp_store_list *ret, struct wp_err *err) WP_MUST_USE;
void wp_store_list_done(struct wp_store_list *l);
/* Whether a run or campaign may be called so, to be asked before the work is done: -EINVAL as below. */
int wp_store_check_name(const char *name, struct wp_err *err) WP_MUST_USE;
/* NULL takes the name away. -EINVAL for an empty, overlong or confusing name (one that looks like
 * an id, "last"), -EEXIST where another run has it. */
int wp_store_name_run(struct wp_store *s, const char *ref, const char *name,
		      struct wp_err *err) WP_MUST_USE;
int wp_store_delete_run(struct wp_store *s, const char *ref, struct wp_err *err) WP_MUST_USE;

/* Inserts or replaces by id. */
int wp_store_save_campaign(struct wp_store *s, const struct wp_campaign *c,
			   struct wp_err *err) WP_MUST_USE;
int wp_store_load_campaign(struct wp_store *s, const char *ref, struct wp_campaign *ret,
			   struct wp_err *err) WP_MUST_USE;
/* Free with wp_store_campaigns_done(). */
int wp_store_list_campaigns(struct wp_store *s, size_t limit, struct wp_store_campaign_list *ret,
			    struct wp_err *err) WP_MUST_USE;
void wp_store_campaigns_done(struct wp_store_campaign_list *l);
int wp_store_name_campaign(struct wp_store *s, const char *ref, const char *name,
			   struct wp_err *err) WP_MUST_USE;
/* With its runs. */
int wp_store_delete_campaign(struct wp_store *s, const char *ref, struct wp_err *err) WP_MUST_USE;

#endif
