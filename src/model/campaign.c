/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/campaign.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"

static void json_decref_p(json_t **j)
{
	json_decref(*j);
}

#define _cleanup_json_ WP_CLEANUP(json_decref_p)

void wp_campaign_init(struct wp_campaign *c)
{
	memset(c, 0, sizeof(*c));
	c->pool = WP_POOL(WP_CAMPAIGN_POOL_BYTES);
	c->best = c->worst = -1;
}

void wp_campaign_done(struct wp_campaign *c)
{
	if (!c)
		return;
	wp_pool_done(&c->pool);
	memset(c, 0, sizeof(*c));
	c->best = c->worst = -1;
}

size_t wp_campaign_n_cells(const struct wp_campaign *c)
{
	size_t n = 1;

	if (!c->plan.n_axes)
		return 0;
	for (size_t i = 0; i < c->plan.n_axes; i++) {
		size_t len = c->plan.axes[i].n_values;

		if (!len || len > WP_MAX_CELLS || n > WP_MAX_CELLS / len)
			return 0;
		n *= len;
	}
	return n;
}

size_t wp_campaign_cell_index(const struct wp_campaign *c, const size_t key[static WP_MAX_AXES])
{
	size_t at = 0;

	for (size_t i = 0; i < c->plan.n_axes; i++)
		at = at * c->plan.axes[i].n_values + key[i];
	return at;
}

void wp_campaign_cell_key(const struct wp_campaign *c, size_t cell,
			  size_t ret_key[static WP_MAX_AXES])
{
	memset(ret_key, 0, WP_MAX_AXES * sizeof(*ret_key));
	for (size_t i = c->plan.n_axes; i-- > 0;) {
		size_t len = c->plan.axes[i].n_values;

		ret_key[i] = len ? cell % len : 0;
		cell = len ? cell / len : 0;
	}
}

int wp_campaign_layout(struct wp_campaign *c, struct wp_err *err)
{
	size_t n = wp_campaign_n_cells(c);

	if (!n)
		return wp_err_set(err, -EINVAL,
				  "the axes give no combination or more than %d; name fewer values",
				  WP_MAX_CELLS);
	c->cells = wp_pool_calloc(&c->pool, n, sizeof(*c->cells));
	c->runs = wp_pool_calloc(&c->pool, c->plan.n_order ? c->plan.n_order : 1, sizeof(*c->runs));
	c->results = wp_pool_calloc(&c->pool, c->plan.n_order ? c->plan.n_order : 1,
				    sizeof(*c->results));
	if (!c->cells || !c->runs || !c->results)
		return wp_err_set(err, -ENOMEM, "not enough memory for %zu cells", n);
	c->n_cells = n;
	for (size_t i = 0; i < c->plan.n_order; i++)
		c->results[i] = NAN;
	for (size_t i = 0; i < n; i++)
		wp_campaign_cell_key(c, i, c->cells[i].key);
	return 0;
}

void wp_campaign_say(struct wp_campaign *c, enum wp_campaign_list list, const char *fmt, ...)
{
	const char ***items = list == WP_CAMPAIGN_WHY      ? &c->why
			      : list == WP_CAMPAIGN_ADVICE ? &c->advice
							   : &c->notes;
	size_t *n = list == WP_CAMPAIGN_WHY      ? &c->n_why
		    : list == WP_CAMPAIGN_ADVICE ? &c->n_advice
						 : &c->n_notes;
	char text[512];
	va_list ap;

	if (*n >= WP_MAX_CAMPAIGN_STRINGS)
		return;
	if (!*items)
		*items = wp_pool_calloc(&c->pool, WP_MAX_CAMPAIGN_STRINGS, sizeof(char *));
	if (!*items)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (*n == WP_MAX_CAMPAIGN_STRINGS - 1)
		snprintf(text, sizeof(text), "more was left out");
	(*items)[*n] = wp_pool_strdup(&c->pool, text);
	if ((*items)[*n])
		(*n)++;
}

void wp_campaign_cell_name(const struct wp_campaign *c, size_t cell, char *out, size_t size)
{
	size_t key[WP_MAX_AXES], used = 0;

	if (!size)
		return;
	out[0] = '\0';
	wp_campaign_cell_key(c, cell, key);
	for (size_t i = 0; i < c->plan.n_axes && used < size; i++) {
		const struct wp_axis *a = &c->plan.axes[i];
		int n;

		if (key[i] >= a->n_values)
			return;
		n = snprintf(out + used, size - used, "%s%s=%s", i ? " " : "", a->name,
			     a->values[key[i]]);
		if (n < 0)
			return;
		used += (size_t)n;
	}
}

/* To JSON. Every helper takes the memory failure into account by returning it; the caller drops the
 * whole. */

static json_t *text_or_null(const char *s)
{
	json_t *j = s ? json_string(s) : json_null();

	/* Text of a foreign machine that is not UTF-8. */
	return j ? j : json_string("?");
}

static json_t *strings_to_json(const char *const *v, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; a && i < n; i++)
		if (json_array_append_new(a, text_or_null(v[i]))) {
			json_decref(a);
			return NULL;
		}
	return a;
}

static int put_num(json_t *obj, const char *key, struct wp_num n)
{
	char why[64];

	if (wp_has(n) && isfinite(n.v))
		return json_object_set_new(obj, key, json_real(n.v));
	snprintf(why, sizeof(why), "%s_why", key);
	return json_object_set_new(obj, key, json_null()) |
	       json_object_set_new(obj, why, text_or_null(n.why ? n.why : "not read"));
}

static json_t *cell_to_json(const struct wp_campaign *c, const struct wp_cell *cell)
{
	_cleanup_json_ json_t *o = json_object(), *key = json_object(), *values = json_array();
	int bad = !o || !key || !values;

	for (size_t i = 0; !bad && i < c->plan.n_axes; i++)
		bad |= json_object_set_new(key, c->plan.axes[i].name,
					   text_or_null(c->plan.axes[i].values[cell->key[i]]));
	for (size_t i = 0; !bad && i < cell->n_values; i++)
		bad |= json_array_append_new(values, json_real(cell->values[i]));
	if (bad)
		return NULL;
	bad |= json_object_set(o, "key", key) | json_object_set(o, "values", values) |
	       json_object_set_new(o, "metric", text_or_null(c->metric)) |
	       json_object_set_new(o, "n", json_integer((json_int_t)cell->n)) |
	       json_object_set_new(o, "failed", json_integer((json_int_t)cell->failed)) |
	       put_num(o, "median", cell->median) | put_num(o, "min", cell->min) |
	       put_num(o, "max", cell->max) | put_num(o, "low", cell->low) |
	       put_num(o, "high", cell->high) |
	       json_object_set_new(o, "like_best", json_boolean(cell->like_best)) |
	       json_object_set_new(o, "like_worst", json_boolean(cell->like_worst)) |
	       json_object_set_new(o, "why", text_or_null(cell->why));
	return bad ? NULL : json_incref(o);
}

static json_t *plan_to_json(const struct wp_campaign *c)
{
	_cleanup_json_ json_t *o = json_object(), *axes = json_array(), *order = json_array();
	char seed[24];
	int bad = !o || !axes || !order;

	for (size_t i = 0; !bad && i < c->plan.n_axes; i++) {
		const struct wp_axis *a = &c->plan.axes[i];

		bad |= json_array_append_new(
			axes, json_pack("{s:s, s:s?, s:o}", "name", a->name, "heading", a->heading,
					"values", strings_to_json(a->values, a->n_values)));
	}
	for (size_t i = 0; !bad && i < c->plan.n_order; i++)
		bad |= json_array_append_new(order, json_integer(c->plan.order[i]));
	if (bad)
		return NULL;
	/* As text: 64 bits do not fit into the numbers of every reader of JSON. */
	snprintf(seed, sizeof(seed), "%" PRIu64, c->plan.seed);
	bad |= json_object_set(o, "axes", axes) | json_object_set(o, "order", order) |
	       json_object_set_new(o, "repeats", json_integer((json_int_t)c->plan.repeats)) |
	       json_object_set_new(o, "seed", json_string(seed)) |
	       json_object_set_new(o, "command",
				   strings_to_json(c->plan.command, c->plan.n_command));
	return bad ? NULL : json_incref(o);
}

static json_t *index_or_null(long i)
{
	return i < 0 ? json_null() : json_integer(i);
}

static json_t *results_to_json(const struct wp_campaign *c)
{
	json_t *a = json_array();

	for (size_t i = 0; a && c->results && i < c->plan.n_order; i++)
		if (json_array_append_new(a, isfinite(c->results[i]) ? json_real(c->results[i])
								     : json_null())) {
			json_decref(a);
			return NULL;
		}
	return a;
}

json_t *wp_campaign_to_json(const struct wp_campaign *c)
{
	_cleanup_json_ json_t *o = json_object(), *cells = json_array();
	int bad = !o || !cells;

	for (size_t i = 0; !bad && i < c->n_cells; i++)
		bad |= json_array_append_new(cells, cell_to_json(c, &c->cells[i]));
	if (bad)
		return NULL;
	bad |= json_object_set_new(o, "schema", json_string(WP_CAMPAIGN_SCHEMA)) |
	       json_object_set_new(o, "id", text_or_null(c->id)) |
	       json_object_set_new(o, "name", text_or_null(c->name)) |
	       json_object_set_new(o, "kind", text_or_null(c->kind)) |
	       json_object_set_new(o, "started", text_or_null(c->started)) |
	       json_object_set_new(o, "ended", text_or_null(c->ended)) |
	       json_object_set_new(o, "version", text_or_null(c->version)) |
	       json_object_set_new(o, "state", text_or_null(c->state)) |
	       json_object_set_new(o, "plan", plan_to_json(c)) |
	       json_object_set_new(o, "metric", text_or_null(c->metric)) |
	       json_object_set_new(o, "unit", text_or_null(c->unit)) |
	       json_object_set_new(o, "better",
				   json_string(c->lower_is_better ? "lower" : "higher")) |
	       json_object_set_new(o, "runs",
				   strings_to_json(c->runs, c->runs ? c->plan.n_order : 0)) |
	       json_object_set_new(o, "results", results_to_json(c)) |
	       json_object_set(o, "cells", cells) |
	       json_object_set_new(o, "best", index_or_null(c->best)) |
	       json_object_set_new(o, "worst", index_or_null(c->worst)) |
	       json_object_set_new(o, "verdict", text_or_null(c->verdict)) |
	       json_object_set_new(o, "host", text_or_null(c->host)) |
	       json_object_set_new(o, "host_fitness", text_or_null(c->host_fitness)) |
	       json_object_set_new(o, "why", strings_to_json(c->why, c->n_why)) |
	       json_object_set_new(o, "advice", strings_to_json(c->advice, c->n_advice)) |
	       json_object_set_new(o, "notes", strings_to_json(c->notes, c->n_notes));
	if (!bad && c->found)
		bad |= json_object_set_new(o, "found", wp_found_to_json(c->found));
	return bad ? NULL : json_incref(o);
}

/* From JSON. */

struct reader {
	struct wp_campaign *c;
	struct wp_err *err;
};

static int wrong(struct reader *r, const char *what)
{
	return wp_err_set(r->err, -EINVAL, "the campaign's \"%s\" is missing or of the wrong type",
			  what);
}

static int no_memory(struct reader *r)
{
	return wp_err_set(r->err, -ENOMEM, "the campaign needs more memory than allowed");
}

/* Absent and null give NULL. */
static int get_text(struct reader *r, const json_t *obj, const char *key, const char **ret)
{
	const json_t *j = json_object_get(obj, key);

	*ret = NULL;
	if (!j || json_is_null(j))
		return 0;
	if (!json_is_string(j))
		return wrong(r, key);
	*ret = wp_pool_strdup(&r->c->pool, json_string_value(j));
	return *ret ? 0 : no_memory(r);
}

static int get_count(struct reader *r, const json_t *obj, const char *key, size_t limit,
		     size_t *ret)
{
	const json_t *j = json_object_get(obj, key);
	json_int_t v = json_integer_value(j);

	if (!j || json_is_null(j)) {
		*ret = 0;
		return 0;
	}
	if (!json_is_integer(j) || v < 0 || (unsigned long long)v > limit)
		return wrong(r, key);
	*ret = (size_t)v;
	return 0;
}

static int get_num(struct reader *r, const json_t *obj, const char *key, struct wp_num *ret)
{
	const json_t *j = json_object_get(obj, key);
	char why[64];
	const char *text;
	int e;

	if (json_is_number(j)) {
		*ret = wp_num(json_number_value(j));
		return 0;
	}
	if (j && !json_is_null(j))
		return wrong(r, key);
	snprintf(why, sizeof(why), "%s_why", key);
	e = get_text(r, obj, why, &text);
	*ret = wp_absent(text);
	return e;
}

/* `nulls`: null entries are allowed and become NULL. */
static int get_strings(struct reader *r, const json_t *obj, const char *key, size_t limit,
		       bool nulls, const char ***ret, size_t *ret_n)
{
	const json_t *a = json_object_get(obj, key), *j;
	size_t i, n = json_array_size(a);
	const char **v;

	*ret = NULL;
	*ret_n = 0;
	if (!a || json_is_null(a))
		return 0;
	if (!json_is_array(a) || n > limit)
		return wrong(r, key);
	v = wp_pool_calloc(&r->c->pool, n ? n : 1, sizeof(*v));
	if (!v)
		return no_memory(r);
	json_array_foreach(a, i, j)
	{
		if (nulls && json_is_null(j))
			continue;
		if (!json_is_string(j))
			return wrong(r, key);
		v[i] = wp_pool_strdup(&r->c->pool, json_string_value(j));
		if (!v[i])
			return no_memory(r);
	}
	*ret = v;
	*ret_n = n;
	return 0;
}

static int get_axes(struct reader *r, const json_t *plan)
{
	const json_t *axes = json_object_get(plan, "axes"), *j;
	size_t i;
	int e;

	if (!json_is_array(axes) || !json_array_size(axes) || json_array_size(axes) > WP_MAX_AXES)
		return wrong(r, "plan.axes");
	json_array_foreach(axes, i, j)
	{
		struct wp_axis *a = &r->c->plan.axes[i];

		e = get_text(r, j, "name", &a->name);
		if (!e)
			e = get_text(r, j, "heading", &a->heading);
		if (!e)
			e = get_strings(r, j, "values", WP_MAX_AXIS_VALUES, false, &a->values,
					&a->n_values);
		if (!e && (!a->name || !a->n_values))
			e = wrong(r, "plan.axes");
		if (e)
			return e;
	}
	r->c->plan.n_axes = json_array_size(axes);
	return 0;
}

static int get_order(struct reader *r, const json_t *plan)
{
	const json_t *a = json_object_get(plan, "order"), *j;
	size_t i, n = json_array_size(a), cells = wp_campaign_n_cells(r->c);

	if (!json_is_array(a) || n > WP_MAX_CAMPAIGN_RUNS)
		return wrong(r, "plan.order");
	r->c->plan.order = wp_pool_calloc(&r->c->pool, n ? n : 1, sizeof(uint32_t));
	if (!r->c->plan.order)
		return no_memory(r);
	json_array_foreach(a, i, j)
	{
		json_int_t v = json_integer_value(j);

		if (!json_is_integer(j) || v < 0 || (size_t)v >= cells)
			return wrong(r, "plan.order");
		r->c->plan.order[i] = (uint32_t)v;
	}
	r->c->plan.n_order = n;
	return 0;
}

static int get_seed(struct reader *r, const json_t *plan)
{
	const json_t *j = json_object_get(plan, "seed");
	const char *s = json_string_value(j);

	if (json_is_integer(j) && json_integer_value(j) >= 0) {
		r->c->plan.seed = (uint64_t)json_integer_value(j);
		return 0;
	}
	return s && !wp_parse_u64(s, &r->c->plan.seed) ? 0 : wrong(r, "plan.seed");
}

static int get_cell(struct reader *r, const json_t *j, struct wp_cell *cell)
{
	const json_t *values = json_object_get(j, "values"), *v;
	size_t i, n = json_array_size(values);
	int e;

	if (!json_is_object(j) || (values && !json_is_array(values)) || n > WP_MAX_REPEATS)
		return wrong(r, "cells");
	cell->values = wp_pool_calloc(&r->c->pool, n ? n : 1, sizeof(double));
	if (!cell->values)
		return no_memory(r);
	json_array_foreach(values, i, v)
	{
		if (!json_is_number(v))
			return wrong(r, "cells.values");
		cell->values[i] = json_number_value(v);
	}
	cell->n_values = n;
	cell->like_best = json_is_true(json_object_get(j, "like_best"));
	cell->like_worst = json_is_true(json_object_get(j, "like_worst"));
	e = get_count(r, j, "n", WP_MAX_REPEATS, &cell->n);
	if (!e)
		e = get_count(r, j, "failed", WP_MAX_REPEATS, &cell->failed);
	if (!e)
		e = get_num(r, j, "median", &cell->median);
	if (!e)
		e = get_num(r, j, "min", &cell->min);
	if (!e)
		e = get_num(r, j, "max", &cell->max);
	if (!e)
		e = get_num(r, j, "low", &cell->low);
	if (!e)
		e = get_num(r, j, "high", &cell->high);
	return e ? e : get_text(r, j, "why", &cell->why);
}

static int get_cells(struct reader *r, const json_t *json)
{
	const json_t *cells = json_object_get(json, "cells"), *j;
	size_t i;
	int e = wp_campaign_layout(r->c, r->err);

	if (e)
		return e;
	if (!json_is_array(cells) || json_array_size(cells) != r->c->n_cells)
		return wrong(r, "cells");
	json_array_foreach(cells, i, j)
	{
		e = get_cell(r, j, &r->c->cells[i]);
		if (e)
			return e;
	}
	return 0;
}

/* A document without results (none was kept) leaves them all NAN, as the layout made them. */
static int get_results(struct reader *r, const json_t *json)
{
	const json_t *a = json_object_get(json, "results"), *j;
	size_t i;

	if (!a || json_is_null(a))
		return 0;
	if (!json_is_array(a) || json_array_size(a) > r->c->plan.n_order)
		return wrong(r, "results");
	json_array_foreach(a, i, j)
	{
		if (!json_is_number(j) && !json_is_null(j))
			return wrong(r, "results");
		if (json_is_number(j))
			r->c->results[i] = json_number_value(j);
	}
	return 0;
}

static int get_cell_index(struct reader *r, const json_t *json, const char *key, long *ret)
{
	const json_t *j = json_object_get(json, key);
	json_int_t v = json_integer_value(j);

	*ret = -1;
	if (!j || json_is_null(j))
		return 0;
	if (!json_is_integer(j) || v < 0 || (size_t)v >= r->c->n_cells)
		return wrong(r, key);
	*ret = (long)v;
	return 0;
}

static int get_found(struct reader *r, const json_t *json)
{
	const json_t *j = json_object_get(json, "found");

	if (!j || json_is_null(j))
		return 0;
	r->c->found = wp_pool_calloc(&r->c->pool, 1, sizeof(*r->c->found));
	return r->c->found ? wp_found_from_json(j, &r->c->pool, r->c->found, r->err) : no_memory(r);
}

static int get_plan(struct reader *r, const json_t *json)
{
	const json_t *plan = json_object_get(json, "plan");
	struct wp_campaign *c = r->c;
	int e;

	if (!json_is_object(plan))
		return wrong(r, "plan");
	e = get_axes(r, plan);
	if (!e)
		e = get_count(r, plan, "repeats", WP_MAX_REPEATS, &c->plan.repeats);
	if (!e)
		e = get_seed(r, plan);
	if (!e)
		e = get_order(r, plan);
	if (!e)
		e = get_strings(r, plan, "command", WP_MAX_AXIS_VALUES, false, &c->plan.command,
				&c->plan.n_command);
	return e;
}

static int get_labels(struct reader *r, const json_t *json)
{
	struct wp_campaign *c = r->c;
	const struct {
		const char *key, **to;
	} labels[] = {
		{ "id", &c->id },       { "name", &c->name },
		{ "kind", &c->kind },   { "started", &c->started },
		{ "ended", &c->ended }, { "version", &c->version },
		{ "state", &c->state }, { "metric", &c->metric },
		{ "unit", &c->unit },   { "verdict", &c->verdict },
		{ "host", &c->host },   { "host_fitness", &c->host_fitness },
	};
	const char *better;
	int e;

	for (size_t i = 0; i < WP_ARRAY_SIZE(labels); i++) {
		e = get_text(r, json, labels[i].key, labels[i].to);
		if (e)
			return e;
	}
	e = get_text(r, json, "better", &better);
	c->lower_is_better = better && !strcmp(better, "lower");
	return e;
}

static int get_campaign(struct reader *r, const json_t *json)
{
	struct wp_campaign *c = r->c;
	const char **runs;
	size_t n;
	int e = get_labels(r, json);

	if (!e)
		e = get_plan(r, json);
	if (!e)
		e = get_cells(r, json);
	if (!e)
		e = get_strings(r, json, "runs", WP_MAX_CAMPAIGN_RUNS, true, &runs, &n);
	if (e)
		return e;
	if (n != c->plan.n_order)
		return wrong(r, "runs");
	if (n)
		c->runs = runs;
	e = get_results(r, json);
	if (!e)
		e = get_cell_index(r, json, "best", &c->best);
	if (!e)
		e = get_cell_index(r, json, "worst", &c->worst);
	if (!e)
		e = get_found(r, json);
	/* Full-size arrays, so that wp_campaign_say() can go on. */
	const struct {
		const char *key;
		enum wp_campaign_list list;
	} lists[] = {
		{ "why", WP_CAMPAIGN_WHY },
		{ "advice", WP_CAMPAIGN_ADVICE },
		{ "notes", WP_CAMPAIGN_NOTES },
	};
	for (size_t i = 0; !e && i < WP_ARRAY_SIZE(lists); i++) {
		const char **v;

		e = get_strings(r, json, lists[i].key, WP_MAX_CAMPAIGN_STRINGS, false, &v, &n);
		for (size_t k = 0; !e && k < n; k++)
			wp_campaign_say(c, lists[i].list, "%s", v[k]);
	}
	return e;
}

int wp_campaign_from_json(const json_t *json, struct wp_campaign *ret, struct wp_err *err)
{
	struct reader r = { .c = ret, .err = err };
	const char *schema = json_string_value(json_object_get(json, "schema"));
	int e;

	wp_campaign_init(ret);
	if (!schema || strcmp(schema, WP_CAMPAIGN_SCHEMA))
		return wp_err_set(err, -EINVAL, "this is not a campaign of schema %s",
				  WP_CAMPAIGN_SCHEMA);
	e = get_campaign(&r, json);
	if (e)
		wp_campaign_done(ret);
	return e;
}
