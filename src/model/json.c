/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/json.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/json_stall.h"

#define KEY_MAX      96
#define MAX_CPUS     8192
#define MAX_THREADS  1024
#define MAX_COUNTS   4096
#define MAX_STAGES   256
#define MAX_FINDINGS 64
#define MAX_COMMAND  256
#define MAX_WARNINGS 64
#define MAX_LIST     8192

/* ---- writing ----------------------------------------------------------------------------------
 */

/* The object that holds the last part of a dotted key, made on the way; *ret_leaf is that part. */
static json_t *descend(json_t *obj, const char *key, const char **ret_leaf)
{
	const char *dot;

	while ((dot = strchr(key, '.'))) {
		char part[KEY_MAX];
		json_t *child;

		snprintf(part, sizeof(part), "%.*s", (int)(dot - key), key);
		child = json_object_get(obj, part);
		if (!child) {
			child = json_object();
			if (json_object_set_new(obj, part, child))
				return NULL;
		}
		obj = child;
		key = dot + 1;
	}
	*ret_leaf = key;
	return obj;
}

static json_t *number(struct wp_num n, const struct wp_metric *m)
{
	if (!wp_has(n) || !isfinite(n.v))
		return json_null();
	if (!strcmp(m->unit, "bool"))
		return json_boolean(n.v != 0);
	if (n.v == floor(n.v) && fabs(n.v) < 9007199254740992.0)
		return json_integer((json_int_t)n.v);
	return json_real(n.v);
}

/* Text that is not UTF-8 (a strange host name, a word of the command line) keeps what is ASCII. */
static json_t *not_utf8(const char *s)
{
	_cleanup_free_ char *copy = strdup(s);
	json_t *j;

	for (char *c = copy; c && *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	j = copy ? json_string(copy) : NULL;
	return j ? j : json_null();
}

static json_t *string_or_null(const char *s)
{
	json_t *j = s ? json_string(s) : json_null();

	return j ? j : not_utf8(s);
}

/* A figure that this kind of test does not have: nobody gave it a value or a reason. */
static bool not_applicable(const struct wp_metric *m, const char *field)
{
	const struct wp_num *n = (const void *)field;

	if (!m->optional)
		return false;
	if (m->kind == WP_LIST)
		return !((const struct wp_ints *)(const void *)field)->n;
	return m->kind == WP_LABEL ? !*(const char *const *)(const void *)field
				   : !wp_has(*n) && !n->why;
}

static int put_field(const struct wp_metric *m, const void *base, json_t *obj)
{
	const char *field = (const char *)base + m->offset;
	const char *leaf = NULL;
	char why[KEY_MAX + 4];
	const struct wp_num *n = (const void *)field;
	const struct wp_ints *list = (const void *)field;
	json_t *array, *at;

	if (not_applicable(m, field))
		return 0;
	at = descend(obj, m->name, &leaf);
	if (!at)
		return -ENOMEM;
	switch (m->kind) {
	case WP_LABEL:
		return json_object_set_new(
			at, leaf, string_or_null(*(const char *const *)(const void *)field));
	case WP_LIST:
		array = json_array();
		for (size_t i = 0; i < list->n; i++)
			json_array_append_new(array, json_integer(list->v[i]));
		return json_object_set_new(at, leaf, array);
	case WP_COUNTER:
	case WP_GAUGE:
		break;
	}
	if (json_object_set_new(at, leaf, number(*n, m)))
		return -ENOMEM;
	if (wp_has(*n) || !n->why)
		return 0;
	snprintf(why, sizeof(why), "%s_why", leaf);
	return json_object_set_new(at, why, json_string(n->why));
}

int wp_fields_to_json(enum wp_scope scope, const void *base, json_t *obj)
{
	for (size_t i = 0; i < wp_n_metrics; i++)
		if (wp_metrics[i].scope == scope && put_field(&wp_metrics[i], base, obj))
			return -ENOMEM;
	return 0;
}

static json_t *fields(enum wp_scope scope, const void *base)
{
	json_t *obj = json_object();

	if (obj && wp_fields_to_json(scope, base, obj)) {
		json_decref(obj);
		return NULL;
	}
	return obj;
}

static json_t *rows(enum wp_scope scope, const void *base, size_t n, size_t size)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		if (json_array_append_new(array, fields(scope, (const char *)base + i * size))) {
			json_decref(array);
			return NULL;
		}
	return array;
}

static json_t *strings(const char *const *v, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(array, string_or_null(v[i]));
	return array;
}

static json_t *counts_to_json(const struct wp_count *counts, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(array,
				      json_pack("{s:s, s:o, s:s?}", "name", counts[i].name, "delta",
						json_integer((json_int_t)counts[i].delta), "source",
						counts[i].source));
	return array;
}

/* [low_ns, high_ns, count] each: readable without knowing how a histogram counts, and read back exactly. */
static json_t *buckets_to_json(const struct wp_histogram *h)
{
	json_t *array = json_array();

	for (size_t i = 0; i < h->n_buckets; i++)
		json_array_append_new(
			array, json_pack("[I, I, I]",
					 (json_int_t)wp_hist_low(h->bits, h->buckets[i].index),
					 (json_int_t)wp_hist_high(h->bits, h->buckets[i].index),
					 (json_int_t)h->buckets[i].count));
	return array;
}

static json_t *histograms_to_json(const struct wp_host *h)
{
	json_t *array = json_array();

	for (size_t i = 0; i < h->n_histograms; i++) {
		json_t *obj = fields(WP_SCOPE_HISTOGRAM, &h->histograms[i]);

		json_object_set_new(obj, "bits", json_integer(h->histograms[i].bits));
		json_object_set_new(obj, "buckets", buckets_to_json(&h->histograms[i]));
		json_array_append_new(array, obj);
	}
	return array;
}

json_t *wp_host_to_json(const struct wp_host *h)
{
	json_t *obj = fields(WP_SCOPE_HOST, h);

	if (!obj)
		return NULL;
	json_object_set_new(obj, "inventory", fields(WP_SCOPE_INVENTORY, &h->inventory));
	json_object_set_new(obj, "cpus", rows(WP_SCOPE_CPU, h->cpus, h->n_cpus, sizeof(*h->cpus)));
	json_object_set_new(obj, "threads",
			    rows(WP_SCOPE_THREAD, h->threads, h->n_threads, sizeof(*h->threads)));
	json_object_set_new(obj, "cpu_samples",
			    rows(WP_SCOPE_CPU_SAMPLE, h->cpu_samples, h->n_cpu_samples,
				 sizeof(*h->cpu_samples)));
	json_object_set_new(obj, "counters", counts_to_json(h->counts, h->n_counts));
	json_object_set_new(obj, "path_counters", counts_to_json(h->path_counts, h->n_path_counts));
	json_object_set_new(obj, "histograms", histograms_to_json(h));
	if (wp_host_stalls_to_json(h, obj)) {
		json_decref(obj);
		return NULL;
	}
	return obj;
}

json_t *wp_flow_to_json(const struct wp_flow *f)
{
	json_t *obj = fields(WP_SCOPE_FLOW, f);

	if (!obj)
		return NULL;
	json_object_set_new(
		obj, "intervals",
		rows(WP_SCOPE_INTERVAL, f->intervals, f->n_intervals, sizeof(*f->intervals)));
	json_object_set_new(obj, "peer_intervals",
			    rows(WP_SCOPE_INTERVAL, f->peer_intervals, f->n_peer_intervals,
				 sizeof(*f->intervals)));
	if (f->n_pauses)
		json_object_set_new(
			obj, "pauses",
			rows(WP_SCOPE_PAUSE, f->pauses, f->n_pauses, sizeof(*f->pauses)));
	json_object_set_new(obj, "sent", fields(WP_SCOPE_END, &f->sent));
	json_object_set_new(obj, "received", fields(WP_SCOPE_END, &f->received));
	return obj;
}

json_t *wp_finding_to_json(const struct wp_finding *f)
{
	json_t *evidence = json_array();

	for (size_t i = 0; i < f->n_evidence; i++)
		json_array_append_new(evidence,
				      json_pack("{s:s, s:f, s:s, s:s?}", "metric",
						f->evidence[i].metric, "value",
						f->evidence[i].value, "unit", f->evidence[i].unit,
						"source", f->evidence[i].source));
	return json_pack("{s:s, s:f, s:s, s:s, s:o, s:o}", "rule", f->rule, "share_pct",
			 f->share_pct, "confidence", f->confidence, "says", f->says, "evidence",
			 evidence, "advice", strings(f->advice, f->n_advice));
}

static json_t *ledger_to_json(const struct wp_ledger *l)
{
	json_t *obj = fields(WP_SCOPE_LEDGER, l), *stages = json_array();

	for (size_t i = 0; i < l->n_stages; i++) {
		const struct wp_stage *s = &l->stages[i];

		json_array_append_new(stages,
				      json_pack("{s:s, s:s?, s:o, s:s?}", "stage", s->stage, "host",
						s->host, "packets",
						wp_has(s->packets)
							? json_integer((json_int_t)s->packets.v)
							: json_null(),
						"source", s->source));
	}
	if (obj)
		json_object_set_new(obj, "stages", stages);
	else
		json_decref(stages);
	return obj;
}

json_t *wp_run_to_json(const struct wp_run *run)
{
	json_t *hosts = json_array(), *flows = json_array(), *findings = json_array();
	json_t *obj;

	for (size_t i = 0; i < run->n_hosts; i++)
		json_array_append_new(hosts, wp_host_to_json(&run->hosts[i]));
	for (size_t i = 0; i < run->n_flows; i++)
		json_array_append_new(flows, wp_flow_to_json(&run->flows[i]));
	for (size_t i = 0; i < run->n_findings; i++)
		json_array_append_new(findings, wp_finding_to_json(&run->findings[i]));
	obj = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:i, s:o}", "schema", WP_RUN_SCHEMA, "id",
			string_or_null(run->id), "name", string_or_null(run->name), "started",
			string_or_null(run->started), "version", string_or_null(run->version),
			"command", strings(run->command, run->n_command), "exit", run->exit_status,
			"error", string_or_null(run->error));
	if (!obj) {
		json_decref(hosts);
		json_decref(flows);
		json_decref(findings);
		return NULL;
	}
	json_object_set_new(obj, "test", fields(WP_SCOPE_TEST, &run->test));
	json_object_set_new(obj, "total", fields(WP_SCOPE_TOTAL, &run->total));
	json_object_set_new(obj, "findings", findings);
	json_object_set_new(obj, "ledger", ledger_to_json(&run->ledger));
	json_object_set_new(obj, "warnings", strings(run->warnings, run->n_warnings));
	json_object_set_new(obj, "hosts", hosts);
	json_object_set_new(obj, "flows", flows);
	if (wp_run_stalls_to_json(run, obj)) {
		json_decref(obj);
		return NULL;
	}
	return obj;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

static const json_t *lookup(const json_t *obj, const char *key, const char *suffix)
{
	char part[KEY_MAX];
	const char *dot;

	while (obj && (dot = strchr(key, '.'))) {
		snprintf(part, sizeof(part), "%.*s", (int)(dot - key), key);
		obj = json_object_get(obj, part);
		key = dot + 1;
	}
	snprintf(part, sizeof(part), "%s%s", key, suffix);
	return json_object_get(obj, part);
}

static int wrong_type(const struct wp_metric *m, const char *expected, struct wp_err *err)
{
	return wp_err_set(err, -EPROTO, "%s.%s is not %s", wp_scope_name(m->scope), m->name,
			  expected);
}

static int get_list(const json_t *j, struct wp_ints *ret, struct wp_pool *pool)
{
	size_t n = json_array_size(j);

	if (!json_is_array(j) || n > MAX_LIST)
		return -EPROTO;
	ret->v = wp_pool_calloc(pool, n, sizeof(int));
	if (n && !ret->v)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		json_int_t v = json_integer_value(json_array_get(j, i));

		if (v < INT_MIN || v > INT_MAX)
			return -EPROTO;
		ret->v[i] = (int)v;
	}
	ret->n = n;
	return 0;
}

static int get_number(const struct wp_metric *m, const json_t *obj, const json_t *j,
		      struct wp_num *ret, struct wp_pool *pool, struct wp_err *err)
{
	const char *why;

	if (json_is_boolean(j)) {
		*ret = wp_num(json_is_true(j));
		return 0;
	}
	if (json_is_number(j)) {
		*ret = wp_num(json_number_value(j));
		return 0;
	}
	if (!json_is_null(j))
		return wrong_type(m, "a number", err);
	why = json_string_value(lookup(obj, m->name, "_why"));
	*ret = wp_absent(wp_pool_strdup(pool, why));
	return 0;
}

static int get_field(const struct wp_metric *m, const json_t *obj, void *base, struct wp_pool *pool,
		     struct wp_err *err)
{
	char *field = (char *)base + m->offset;
	const json_t *j = lookup(obj, m->name, "");

	if (!j)
		return 0;
	switch (m->kind) {
	case WP_LABEL:
		if (!json_is_string(j) && !json_is_null(j))
			return wrong_type(m, "a string", err);
		*(const char **)(void *)field = wp_pool_strdup(pool, json_string_value(j));
		return 0;
	case WP_LIST:
		return get_list(j, (struct wp_ints *)(void *)field, pool)
			       ? wrong_type(m, "a list of integers", err)
			       : 0;
	case WP_COUNTER:
	case WP_GAUGE:
		break;
	}
	return get_number(m, obj, j, (struct wp_num *)(void *)field, pool, err);
}

int wp_fields_from_json(enum wp_scope scope, const json_t *obj, void *base, struct wp_pool *pool,
			struct wp_err *err)
{
	if (!json_is_object(obj))
		return wp_err_set(err, -EPROTO, "%s is not an object", wp_scope_name(scope));
	for (size_t i = 0; i < wp_n_metrics; i++) {
		int r;

		if (wp_metrics[i].scope != scope)
			continue;
		r = get_field(&wp_metrics[i], obj, base, pool, err);
		if (r)
			return r;
	}
	return 0;
}

/* Allocates room for the elements of obj[key]; a missing key is an empty array. */
static int get_array(const json_t *obj, const char *key, size_t max, size_t size,
		     struct wp_pool *pool, void **ret, size_t *ret_n, struct wp_err *err)
{
	const json_t *j = json_object_get(obj, key);
	size_t n = json_array_size(j);

	*ret_n = 0;
	if (!j || json_is_null(j))
		return 0;
	if (!json_is_array(j))
		return wp_err_set(err, -EPROTO, "%s is not an array", key);
	if (n > max)
		return wp_err_set(err, -EPROTO, "%s has %zu elements; at most %zu are allowed", key,
				  n, max);
	*ret = n ? wp_pool_calloc(pool, n, size) : NULL;
	if (n && !*ret)
		return wp_err_set(err, -ENOMEM, "the record is too large");
	*ret_n = n;
	return 0;
}

static int get_rows(const json_t *obj, const char *key, enum wp_scope scope, size_t max,
		    size_t size, struct wp_pool *pool, void *ret_rows, size_t *ret_n,
		    struct wp_err *err)
{
	void *base = NULL;
	size_t n;
	int r = get_array(obj, key, max, size, pool, &base, &n, err);

	for (size_t i = 0; !r && i < n; i++)
		r = wp_fields_from_json(scope, json_array_get(json_object_get(obj, key), i),
					(char *)base + i * size, pool, err);
	if (r)
		return r;
	memcpy(ret_rows, &base, sizeof(base));
	*ret_n = n;
	return 0;
}

static int get_strings(const json_t *obj, const char *key, size_t max, struct wp_pool *pool,
		       const char ***ret, size_t *ret_n, struct wp_err *err)
{
	void *base = NULL;
	int r = get_array(obj, key, max, sizeof(char *), pool, &base, ret_n, err);

	*ret = base;
	for (size_t i = 0; !r && i < *ret_n; i++) {
		const char *s = json_string_value(json_array_get(json_object_get(obj, key), i));

		(*ret)[i] = wp_pool_strdup(pool, s ? s : "");
	}
	return r;
}

static const char *get_string(const json_t *obj, const char *key, struct wp_pool *pool)
{
	return wp_pool_strdup(pool, json_string_value(json_object_get(obj, key)));
}

static int counts_from_json(const json_t *obj, const char *key, struct wp_count **ret,
			    size_t *ret_n, struct wp_pool *pool, struct wp_err *err)
{
	void *base = NULL;
	int r = get_array(obj, key, MAX_COUNTS, sizeof(**ret), pool, &base, ret_n, err);
	struct wp_count *counts = base;

	*ret = counts;
	for (size_t i = 0; !r && i < *ret_n; i++) {
		const json_t *row = json_array_get(json_object_get(obj, key), i);

		counts[i].name = get_string(row, "name", pool);
		counts[i].source = get_string(row, "source", pool);
		counts[i].delta = json_number_value(json_object_get(row, "delta"));
		if (!counts[i].name)
			r = wp_err_set(err, -EPROTO, "a counter has no name");
	}
	return r;
}

/* One row of "buckets". Indices ascend and counts are not 0; that the rest fits is wp_histogram_load()'s to say. */
static int bucket_from_json(const json_t *row, unsigned bits, const struct wp_hist_pair *before,
			    struct wp_hist_pair *ret)
{
	const json_t *low = json_array_get(row, 0), *count = json_array_get(row, 2);

	if (!json_is_integer(low) || json_integer_value(low) < 0 || !json_is_integer(count) ||
	    json_integer_value(count) <= 0)
		return -EPROTO;
	ret->index = (uint32_t)wp_hist_index(bits, (uint64_t)json_integer_value(low));
	ret->count = (uint64_t)json_integer_value(count);
	return before && before->index >= ret->index ? -EPROTO : 0;
}

static int histogram_from_json(const json_t *json, struct wp_histogram *ret, struct wp_pool *pool,
			       struct wp_err *err)
{
	json_int_t bits = json_integer_value(json_object_get(json, "bits"));
	void *base = NULL;
	int r = wp_fields_from_json(WP_SCOPE_HISTOGRAM, json, ret, pool, err);

	if (r)
		return r;
	if (!ret->name || bits < WP_HIST_BITS_MIN || bits > WP_HIST_BITS_MAX)
		return wp_err_set(err, -EPROTO, "a histogram lacks its name or bits");
	ret->bits = (unsigned)bits;
	r = get_array(json, "buckets", WP_HIST_BUCKETS(bits), sizeof(*ret->buckets), pool, &base,
		      &ret->n_buckets, err);
	ret->buckets = base;
	for (size_t i = 0; !r && i < ret->n_buckets; i++)
		if (bucket_from_json(json_array_get(json_object_get(json, "buckets"), i), ret->bits,
				     i ? &ret->buckets[i - 1] : NULL, &ret->buckets[i]))
			r = wp_err_set(err, -EPROTO, "a bucket of histogram %.32s is wrong",
				       ret->name);
	return r;
}

static int histograms_from_json(const json_t *obj, struct wp_host *h, struct wp_pool *pool,
				struct wp_err *err)
{
	void *base = NULL;
	int r = get_array(obj, "histograms", WP_MAX_HISTOGRAMS, sizeof(*h->histograms), pool, &base,
			  &h->n_histograms, err);

	h->histograms = base;
	for (size_t i = 0; !r && i < h->n_histograms; i++)
		r = histogram_from_json(json_array_get(json_object_get(obj, "histograms"), i),
					&h->histograms[i], pool, err);
	return r;
}

int wp_host_from_json(const json_t *json, struct wp_host *ret, struct wp_pool *pool,
		      struct wp_err *err)
{
	const json_t *inventory = json_object_get(json, "inventory");
	int r;

	memset(ret, 0, sizeof(*ret));
	r = wp_fields_from_json(WP_SCOPE_HOST, json, ret, pool, err);
	if (!r && inventory && !json_is_null(inventory))
		r = wp_fields_from_json(WP_SCOPE_INVENTORY, inventory, &ret->inventory, pool, err);
	if (!r)
		r = get_rows(json, "cpus", WP_SCOPE_CPU, MAX_CPUS, sizeof(*ret->cpus), pool,
			     &ret->cpus, &ret->n_cpus, err);
	if (!r)
		r = get_rows(json, "threads", WP_SCOPE_THREAD, MAX_THREADS, sizeof(*ret->threads),
			     pool, &ret->threads, &ret->n_threads, err);
	if (!r)
		r = get_rows(json, "cpu_samples", WP_SCOPE_CPU_SAMPLE, WP_MAX_CPU_SAMPLE_ROWS,
			     sizeof(*ret->cpu_samples), pool, &ret->cpu_samples,
			     &ret->n_cpu_samples, err);
	if (!r)
		r = histograms_from_json(json, ret, pool, err);
	if (!r)
		r = wp_host_stalls_from_json(json, ret, pool, err);
	if (!r)
		r = counts_from_json(json, "counters", &ret->counts, &ret->n_counts, pool, err);
	if (!r)
		r = counts_from_json(json, "path_counters", &ret->path_counts, &ret->n_path_counts,
				     pool, err);
	return r;
}

int wp_flow_from_json(const json_t *json, struct wp_flow *ret, struct wp_pool *pool,
		      struct wp_err *err)
{
	const json_t *sent = json_object_get(json, "sent"),
		     *received = json_object_get(json, "received");
	int r;

	memset(ret, 0, sizeof(*ret));
	r = wp_fields_from_json(WP_SCOPE_FLOW, json, ret, pool, err);
	if (!r)
		r = get_rows(json, "intervals", WP_SCOPE_INTERVAL, WP_MAX_INTERVAL_ROWS,
			     sizeof(*ret->intervals), pool, &ret->intervals, &ret->n_intervals,
			     err);
	if (!r)
		r = get_rows(json, "peer_intervals", WP_SCOPE_INTERVAL, WP_MAX_INTERVAL_ROWS,
			     sizeof(*ret->intervals), pool, &ret->peer_intervals,
			     &ret->n_peer_intervals, err);
	if (!r)
		r = get_rows(json, "pauses", WP_SCOPE_PAUSE, WP_MAX_PAUSES, sizeof(*ret->pauses),
			     pool, &ret->pauses, &ret->n_pauses, err);
	if (!r && sent)
		r = wp_fields_from_json(WP_SCOPE_END, sent, &ret->sent, pool, err);
	if (!r && received)
		r = wp_fields_from_json(WP_SCOPE_END, received, &ret->received, pool, err);
	return r;
}

static int finding_from_json(const json_t *j, struct wp_finding *ret, struct wp_pool *pool,
			     struct wp_err *err)
{
	const json_t *evidence = json_object_get(j, "evidence"),
		     *advice = json_object_get(j, "advice");

	ret->rule = get_string(j, "rule", pool);
	ret->confidence = get_string(j, "confidence", pool);
	ret->says = get_string(j, "says", pool);
	ret->share_pct = json_number_value(json_object_get(j, "share_pct"));
	if (!ret->rule || !ret->says)
		return wp_err_set(err, -EPROTO, "a finding lacks rule or says");
	for (size_t i = 0; i < json_array_size(evidence) && i < WP_FINDING_EVIDENCE; i++) {
		const json_t *e = json_array_get(evidence, i);
		struct wp_evidence *to = &ret->evidence[ret->n_evidence++];

		to->metric = get_string(e, "metric", pool);
		to->unit = get_string(e, "unit", pool);
		to->source = get_string(e, "source", pool);
		to->value = json_number_value(json_object_get(e, "value"));
		if (!to->metric)
			return wp_err_set(err, -EPROTO, "a finding's evidence lacks its metric");
		if (!to->unit)
			to->unit = "";
	}
	for (size_t i = 0; i < json_array_size(advice) && i < WP_FINDING_ADVICE; i++) {
		const char *s = json_string_value(json_array_get(advice, i));

		if (s)
			ret->advice[ret->n_advice++] = wp_pool_strdup(pool, s);
	}
	return 0;
}

static int findings_from_json(const json_t *json, struct wp_run *run, struct wp_err *err)
{
	void *base = NULL;
	int r = get_array(json, "findings", MAX_FINDINGS, sizeof(*run->findings), &run->pool, &base,
			  &run->n_findings, err);

	run->findings = base;
	for (size_t i = 0; !r && i < run->n_findings; i++)
		r = finding_from_json(json_array_get(json_object_get(json, "findings"), i),
				      &run->findings[i], &run->pool, err);
	return r;
}

static int ledger_from_json(const json_t *json, struct wp_run *run, struct wp_err *err)
{
	struct wp_ledger *l = &run->ledger;
	void *base = NULL;
	int r;

	if (!json || json_is_null(json))
		return 0;
	r = wp_fields_from_json(WP_SCOPE_LEDGER, json, l, &run->pool, err);
	if (!r)
		r = get_array(json, "stages", MAX_STAGES, sizeof(*l->stages), &run->pool, &base,
			      &l->n_stages, err);
	l->stages = base;
	for (size_t i = 0; !r && i < l->n_stages; i++) {
		const json_t *row = json_array_get(json_object_get(json, "stages"), i);
		const json_t *packets = json_object_get(row, "packets");

		l->stages[i].stage = get_string(row, "stage", &run->pool);
		l->stages[i].host = get_string(row, "host", &run->pool);
		l->stages[i].source = get_string(row, "source", &run->pool);
		if (json_is_number(packets))
			l->stages[i].packets = wp_num(json_number_value(packets));
		if (!l->stages[i].stage)
			r = wp_err_set(err, -EPROTO, "a stage of the ledger has no name");
	}
	return r;
}

static int hosts_and_flows_from_json(const json_t *json, struct wp_run *run, struct wp_err *err)
{
	const json_t *hosts = json_object_get(json, "hosts"),
		     *flows = json_object_get(json, "flows");
	size_t n_hosts = json_array_size(hosts);
	void *base = NULL;
	int r = 0;

	if (n_hosts > WP_ARRAY_SIZE(run->hosts))
		return wp_err_set(err, -EPROTO, "a run has at most 2 hosts, not %zu", n_hosts);
	for (; !r && run->n_hosts < n_hosts; run->n_hosts++)
		r = wp_host_from_json(json_array_get(hosts, run->n_hosts),
				      &run->hosts[run->n_hosts], &run->pool, err);
	if (!r)
		r = get_array(json, "flows", WP_MAX_FLOWS, sizeof(*run->flows), &run->pool, &base,
			      &run->n_flows, err);
	run->flows = base;
	for (size_t i = 0; !r && i < run->n_flows; i++)
		r = wp_flow_from_json(json_array_get(flows, i), &run->flows[i], &run->pool, err);
	return r;
}

static int run_from_json(const json_t *json, struct wp_run *run, struct wp_err *err)
{
	const json_t *test = json_object_get(json, "test"), *total = json_object_get(json, "total");
	int r;

	run->id = get_string(json, "id", &run->pool);
	run->name = get_string(json, "name", &run->pool);
	run->started = get_string(json, "started", &run->pool);
	run->version = get_string(json, "version", &run->pool);
	run->error = get_string(json, "error", &run->pool);
	run->exit_status = (int)json_integer_value(json_object_get(json, "exit"));
	r = get_strings(json, "command", MAX_COMMAND, &run->pool, &run->command, &run->n_command,
			err);
	if (!r)
		r = get_strings(json, "warnings", MAX_WARNINGS, &run->pool, &run->warnings,
				&run->n_warnings, err);
	if (!r && test)
		r = wp_fields_from_json(WP_SCOPE_TEST, test, &run->test, &run->pool, err);
	if (!r && total)
		r = wp_fields_from_json(WP_SCOPE_TOTAL, total, &run->total, &run->pool, err);
	if (!r)
		r = ledger_from_json(json_object_get(json, "ledger"), run, err);
	if (!r)
		r = findings_from_json(json, run, err);
	if (!r)
		r = wp_run_stalls_from_json(json, run, err);
	return r ? r : hosts_and_flows_from_json(json, run, err);
}

int wp_run_from_json(const json_t *json, struct wp_run *ret, struct wp_err *err)
{
	const char *schema = json_string_value(json_object_get(json, "schema"));
	int r;

	wp_run_init(ret);
	if (!schema || strcmp(schema, WP_RUN_SCHEMA))
		return wp_err_set(err, -EPROTO,
				  "this is not a run record: schema is '%s', not '%s'",
				  schema ? schema : "(none)", WP_RUN_SCHEMA);
	r = run_from_json(json, ret, err);
	if (r)
		wp_run_done(ret);
	return r;
}
