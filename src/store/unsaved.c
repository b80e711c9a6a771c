/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs that the database did not take: written as JSON beside it, and brought home when it works
 * again. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "model/json.h"
#include "store/sql.h"

#define FOLDER "runs-unsaved"

/* An unsaved file keeps the cell of its campaign in these keys, which a record does not have. */
#define KEY_CAMPAIGN "unsaved_campaign"
#define KEY_CELL     "unsaved_cell"

/* "<directory of path>/runs-unsaved" */
static int folder_of(const char *path, char *out, size_t size)
{
	const char *slash = strrchr(path, '/');
	int n = slash ? snprintf(out, size, "%.*s/%s", (int)(slash - path), path, FOLDER)
		      : snprintf(out, size, "%s", FOLDER);

	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

static bool is_id(const char *id)
{
	return id && strlen(id) == WP_STORE_ID_DIGITS &&
	       strspn(id, "0123456789abcdef") == WP_STORE_ID_DIGITS;
}

static char *run_text(const struct wp_run *run, const struct wp_store_cell *cell)
{
	_cleanup_json_ json_t *json = wp_run_to_json(run);

	if (!json)
		return NULL;
	if (cell && cell->campaign)
		json_object_set_new(json, KEY_CAMPAIGN, json_string(cell->campaign));
	if (cell && cell->cell)
		json_object_set_new(json, KEY_CELL, json_string(cell->cell));
	return json_dumps(json, JSON_INDENT(1));
}

static int write_to(const char *folder, const char *prefix, const struct wp_run *run,
		    const char *text, char *out, size_t size)
{
	int n = snprintf(out, size, "%s/%s%s.json", folder, prefix, run->id);

	if (n < 0 || (size_t)n >= size)
		return -ENAMETOOLONG;
	return wp_replace_file_at(AT_FDCWD, out, text);
}

/* Beside the database; where that disk is full or can't be written, in the folder for temporary
 * files, which wp_store_import_unsaved() does not look at, but the run is not lost. */
static int write_file(const char *path, const struct wp_run *run, const struct wp_store_cell *cell,
		      char *out, size_t size)
{
	_cleanup_free_ char *text = run_text(run, cell);
	char folder[PATH_MAX];
	int r;

	if (!is_id(run->id))
		return -EINVAL;
	if (!text)
		return -ENOMEM;
	r = folder_of(path, folder, sizeof(folder));
	if (!r)
		r = wp_mkdir_p(folder);
	if (!r)
		r = write_to(folder, "", run, text, out, size);
	return r ? write_to(P_tmpdir, "whyperf-run-", run, text, out, size) : 0;
}

int wp_store_save_run(const char *path, const struct wp_run *run, const struct wp_store_cell *cell,
		      char *fallback, size_t fallback_size, struct wp_err *err)
{
	struct wp_err why = { 0 };
	struct wp_store *s = NULL;
	int r = wp_store_open(path, &s, &why), w;

	if (!r)
		r = wp_store_put_run(s, run, cell, &why);
	wp_store_close(s);
	if (!r) {
		if (why.msg[0])
			wp_err_set(err, r, "%s", why.msg);
		return 0;
	}
	w = write_file(path, run, cell, fallback, fallback_size);
	if (w) {
		if (fallback_size)
			fallback[0] = '\0';
		return wp_err_set(err, r, "%.300s; nor could it be written as a file (%s)", why.msg,
				  strerror(-w));
	}
	wp_err_set(err, r, "%s", why.msg);
	return 1;
}

static int import_file(struct wp_store *s, int dirfd, const char *name, struct wp_err *err)
{
	struct wp_buf text _cleanup_buf_ = WP_BUF(WP_RUN_POOL_BYTES);
	_cleanup_json_ json_t *json = NULL;
	struct wp_store_cell cell;
	struct wp_run run;
	int r = wp_read_file_at(dirfd, name, &text);

	if (r)
		return wp_err_sys(err, r, "cannot read %s/%s", FOLDER, name);
	json = json_loadb(wp_buf_text(&text), text.len, 0, NULL);
	if (!json)
		return wp_err_set(err, -EBADMSG, "%s/%s is not JSON; it is left there", FOLDER,
				  name);
	r = wp_run_from_json(json, &run, err);
	if (r)
		return r;
	cell.campaign = json_string_value(json_object_get(json, KEY_CAMPAIGN));
	cell.cell = json_string_value(json_object_get(json, KEY_CELL));
	r = wp_store_put_run(s, &run, &cell, err);
	wp_run_done(&run);
	if (!r && unlinkat(dirfd, name, 0))
		r = wp_err_sys(err, -errno, "cannot remove %s/%s", FOLDER, name);
	return r;
}

static bool is_json(const char *name)
{
	size_t len = strlen(name);

	return len > 5 && name[0] != '.' && !strcmp(name + len - 5, ".json");
}

static void closedir_p(DIR **d)
{
	if (*d)
		closedir(*d);
}

int wp_store_import_unsaved(struct wp_store *s, size_t *ret_n, struct wp_err *err)
{
	WP_CLEANUP(closedir_p) DIR *dir = NULL;
	char folder[PATH_MAX];
	struct dirent *e;
	size_t n = 0;
	int r = folder_of(s->path, folder, sizeof(folder)), failed = 0;

	if (r)
		return r;
	dir = opendir(folder);
	if (!dir && errno != ENOENT)
		return wp_err_sys(err, -errno, "cannot read %s", folder);
	while (dir && (e = readdir(dir))) {
		if (!is_json(e->d_name))
			continue;
		r = import_file(s, dirfd(dir), e->d_name, err);
		if (r)
			failed = r;
		else
			n++;
	}
	*ret_n = n;
	return failed;
}
