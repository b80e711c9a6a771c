/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/found.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* A key of the JSON and where it is. */
struct key {
	const char *name;
	size_t offset;
	bool text;
};

#define T(field)                                        \
	{                                               \
#field, offsetof(struct S, field), true \
	}
#define N(field)                                         \
	{                                                \
#field, offsetof(struct S, field), false \
	}

#define S wp_rate_tried
static const struct key tried_keys[] = {
	T(step),         T(outcome),  T(where),        T(run),          N(asked_pps), N(sent_pps),
	N(received_pps), N(loss_pct), N(sent_packets), N(lost_packets), N(where_pct),
};
#undef S
#define S wp_found
static const struct key keys[] = {
	T(bound),
	T(verdict),
	T(limited_by),
	T(lost_at),
	N(confirmed),
	N(payload_bytes),
	N(trial_s),
	N(resolution_pct),
	N(asked_pps),
	N(sent_pps),
	N(sent_min_pps),
	N(sent_max_pps),
	N(received_pps),
	N(payload_bps),
	N(ethernet_bps),
	N(loss_pct),
	N(loss_max_pct),
	N(sent_packets),
	N(lost_packets),
	N(trials),
	N(passed),
	N(void_trials),
	N(next_void),
	N(next_pps),
	N(next_trials),
	N(next_passed),
	N(lost_at_pct),
	N(lowest_failed_pps),
	N(highest_passed_pps),
	N(dips),
};
#undef S

static json_t *text_or_null(const char *s)
{
	json_t *j = s ? json_string(s) : json_null();

	return j ? j : json_string("?");
}

static int put_num(json_t *obj, const char *key, struct wp_num n)
{
	char why[64];

	if (wp_has(n) && isfinite(n.v))
		return json_object_set_new(obj, key, json_real(n.v));
	if (!n.why)
		return json_object_set_new(obj, key, json_null());
	snprintf(why, sizeof(why), "%s_why", key);
	return json_object_set_new(obj, key, json_null()) |
	       json_object_set_new(obj, why, text_or_null(n.why));
}

static json_t *to_json(const void *base, const struct key *k, size_t n)
{
	json_t *o = json_object();
	int bad = !o;

	for (size_t i = 0; i < n && !bad; i++) {
		const char *at = (const char *)base + k[i].offset;

		if (k[i].text)
			bad |= json_object_set_new(
				o, k[i].name, text_or_null(*(const char *const *)(const void *)at));
		else
			bad |= put_num(o, k[i].name, *(const struct wp_num *)(const void *)at);
	}
	if (!bad)
		return o;
	json_decref(o);
	return NULL;
}

json_t *wp_found_to_json(const struct wp_found *f)
{
	json_t *o = to_json(f, keys, WP_ARRAY_SIZE(keys)), *a = json_array();
	int bad = !o || !a;

	for (size_t i = 0; i < f->n_tried && !bad; i++)
		bad |= json_array_append_new(
			a, to_json(&f->tried[i], tried_keys, WP_ARRAY_SIZE(tried_keys)));
	if (!bad && !json_object_set(o, "tried", a)) {
		json_decref(a);
		return o;
	}
	json_decref(a);
	json_decref(o);
	return NULL;
}

static int wrong(const char *what, struct wp_err *err)
{
	return wp_err_set(err, -EINVAL, "the campaign's \"found.%s\" is of the wrong type", what);
}

static int get_text(const json_t *obj, const char *key, struct wp_pool *pool, const char **ret,
		    struct wp_err *err)
{
	const json_t *j = json_object_get(obj, key);

	if (!j || json_is_null(j))
		return 0;
	if (!json_is_string(j))
		return wrong(key, err);
	*ret = wp_pool_strdup(pool, json_string_value(j));
	return *ret ? 0 : wp_err_set(err, -ENOMEM, "no memory for the campaign");
}

static int get_num(const json_t *obj, const char *key, struct wp_pool *pool, struct wp_num *ret,
		   struct wp_err *err)
{
	const json_t *j = json_object_get(obj, key);
	const char *reason = NULL;
	char why[64];
	int r;

	if (json_is_number(j)) {
		*ret = wp_num(json_number_value(j));
		return 0;
	}
	if (j && !json_is_null(j))
		return wrong(key, err);
	snprintf(why, sizeof(why), "%s_why", key);
	r = get_text(obj, why, pool, &reason, err);
	*ret = wp_absent(reason);
	return r;
}

static int from_json(const json_t *json, void *base, const struct key *k, size_t n,
		     struct wp_pool *pool, struct wp_err *err)
{
	int r = json_is_object(json) ? 0 : wrong("tried", err);

	for (size_t i = 0; i < n && !r; i++) {
		char *at = (char *)base + k[i].offset;

		if (k[i].text)
			r = get_text(json, k[i].name, pool, (const char **)(void *)at, err);
		else
			r = get_num(json, k[i].name, pool, (struct wp_num *)(void *)at, err);
	}
	return r;
}

int wp_found_from_json(const json_t *json, struct wp_pool *pool, struct wp_found *ret,
		       struct wp_err *err)
{
	const json_t *tried = json_object_get(json, "tried");
	struct wp_found f = { 0 };
	size_t n = json_array_size(tried);
	int r = from_json(json, &f, keys, WP_ARRAY_SIZE(keys), pool, err);

	if (!r && tried && (!json_is_array(tried) || n > WP_MAX_RATE_TRIALS))
		r = wrong("tried", err);
	if (r)
		return r;
	f.tried = wp_pool_calloc(pool, n ? n : 1, sizeof(*f.tried));
	if (!f.tried)
		return wp_err_set(err, -ENOMEM, "no memory for the campaign");
	for (; f.n_tried < n && !r; f.n_tried++)
		r = from_json(json_array_get(tried, f.n_tried), &f.tried[f.n_tried], tried_keys,
			      WP_ARRAY_SIZE(tried_keys), pool, err);
	if (!r)
		*ret = f;
	return r;
}
