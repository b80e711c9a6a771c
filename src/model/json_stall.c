/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/json_stall.h"

#include <errno.h>

/* Rows of one scope as obj[key]; no key where there are none. */
static int put_rows(json_t *obj, const char *key, enum wp_scope scope, const void *rows, size_t n,
		    size_t size)
{
	json_t *array = n ? json_array() : NULL;

	if (!n)
		return 0;
	if (json_object_set_new(obj, key, array))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		json_t *row = json_object();

		if (json_array_append_new(array, row) ||
		    wp_fields_to_json(scope, (const char *)rows + i * size, row))
			return -ENOMEM;
	}
	return 0;
}

int wp_host_stalls_to_json(const struct wp_host *h, json_t *obj)
{
	json_t *array;
	int r = put_rows(obj, "stalls", WP_SCOPE_STALL_VIEW, h->stalls, h->n_stalls,
			 sizeof(*h->stalls));

	array = json_object_get(obj, "stalls");
	for (size_t i = 0; !r && i < h->n_stalls; i++) {
		const struct wp_stall_view *v = &h->stalls[i];
		json_t *row = json_array_get(array, i);

		r = put_rows(row, "readings", WP_SCOPE_STALL_READING, v->readings, v->n_readings,
			     sizeof(*v->readings));
		if (!r)
			r = put_rows(row, "lines", WP_SCOPE_STALL_LINE, v->lines, v->n_lines,
				     sizeof(*v->lines));
	}
	return r;
}

int wp_run_stalls_to_json(const struct wp_run *run, json_t *obj)
{
	return put_rows(obj, "stalls", WP_SCOPE_STALL, run->stalls, run->n_stalls,
			sizeof(*run->stalls));
}

static int get_rows(const json_t *obj, const char *key, enum wp_scope scope, size_t max,
		    size_t size, struct wp_pool *pool, void **ret, size_t *ret_n,
		    struct wp_err *err)
{
	const json_t *array = json_object_get(obj, key);
	size_t n = json_array_size(array);
	void *rows;
	int r = 0;

	if (!array || json_is_null(array))
		return 0;
	if (!json_is_array(array) || n > max)
		return wp_err_set(err, -EPROTO, "%s is not an array of at most %zu", key, max);
	rows = wp_pool_calloc(pool, n, size);
	if (!rows)
		return wp_err_set(err, -ENOMEM, "the record is too large");
	for (size_t i = 0; !r && i < n; i++)
		r = wp_fields_from_json(scope, json_array_get(array, i), (char *)rows + i * size,
					pool, err);
	if (r)
		return r;
	*ret = rows;
	*ret_n = n;
	return 0;
}

int wp_host_stalls_from_json(const json_t *obj, struct wp_host *h, struct wp_pool *pool,
			     struct wp_err *err)
{
	void *rows = NULL;
	int r = get_rows(obj, "stalls", WP_SCOPE_STALL_VIEW, WP_MAX_STALLS, sizeof(*h->stalls),
			 pool, &rows, &h->n_stalls, err);

	h->stalls = rows;
	for (size_t i = 0; !r && i < h->n_stalls; i++) {
		const json_t *row = json_array_get(json_object_get(obj, "stalls"), i);
		struct wp_stall_view *v = &h->stalls[i];
		void *readings = NULL, *lines = NULL;

		r = get_rows(row, "readings", WP_SCOPE_STALL_READING, WP_MAX_STALL_READINGS,
			     sizeof(*v->readings), pool, &readings, &v->n_readings, err);
		v->readings = readings;
		if (!r)
			r = get_rows(row, "lines", WP_SCOPE_STALL_LINE, WP_MAX_STALL_LINES,
				     sizeof(*v->lines), pool, &lines, &v->n_lines, err);
		v->lines = lines;
		if (!r && !v->role)
			r = wp_err_set(err, -EPROTO, "a stall lacks its role");
	}
	return r;
}

int wp_run_stalls_from_json(const json_t *obj, struct wp_run *run, struct wp_err *err)
{
	void *rows = NULL;
	int r = get_rows(obj, "stalls", WP_SCOPE_STALL, WP_MAX_STALLS, sizeof(*run->stalls),
			 &run->pool, &rows, &run->n_stalls, err);

	run->stalls = rows;
	return r;
}
