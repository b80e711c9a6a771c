/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/json.h"
#include "report/interval_table.h"

static void json_decref_p(json_t **j)
{
	json_decref(*j);
}

#define _cleanup_json_ WP_CLEANUP(json_decref_p)

/* Steals `data`. */
static json_t *event(const char *name, json_t *data)
{
	_cleanup_json_ json_t *o = json_object();

	if (!o || json_object_set_new(o, "event", json_string(name))) {
		json_decref(data);
		return NULL;
	}
	if (json_object_set_new(o, "data", data))
		return NULL;
	return json_incref(o);
}

static json_t *text(const char *s)
{
	json_t *j = s ? json_string(s) : json_null();

	/* Not UTF-8. */
	return j ? j : json_string("?");
}

static json_t *flow_names(const struct wp_run *run)
{
	_cleanup_json_ json_t *a = json_array();

	for (size_t i = 0; a && i < run->n_flows; i++) {
		const struct wp_flow *f = &run->flows[i];
		json_t *o = json_object();

		if (!o || json_array_append_new(a, o) ||
		    json_object_set_new(o, "id", text(f->id)) ||
		    json_object_set_new(o, "local", text(f->local)) ||
		    json_object_set_new(o, "remote", text(f->remote)) ||
		    json_object_set_new(o, "role", text(f->role)))
			return NULL;
	}
	return json_incref(a);
}

static json_t *command(const struct wp_run *run)
{
	_cleanup_json_ json_t *a = json_array();

	for (size_t i = 0; a && i < run->n_command; i++)
		if (json_array_append_new(a, text(run->command[i])))
			return NULL;
	return json_incref(a);
}

json_t *wp_event_start(const struct wp_run *run)
{
	_cleanup_json_ json_t *o = json_object(), *test = json_object();

	if (!o || !test || wp_fields_to_json(WP_SCOPE_TEST, &run->test, test) ||
	    json_object_set_new(o, "schema", json_string(WP_RUN_SCHEMA)) ||
	    json_object_set_new(o, "id", text(run->id)) ||
	    json_object_set_new(o, "started", text(run->started)) ||
	    json_object_set_new(o, "version", text(run->version)) ||
	    json_object_set_new(o, "command", command(run)) || json_object_set(o, "test", test) ||
	    json_object_set_new(o, "flows", flow_names(run)))
		return NULL;
	return event("start", json_incref(o));
}

json_t *wp_event_idle(const struct wp_run *rr)
{
	const struct wp_histogram *h =
		rr->n_hosts ? wp_host_histogram(&rr->hosts[0], "latency") : NULL;
	_cleanup_json_ json_t *o = json_object();

	if (!o || !h || wp_fields_to_json(WP_SCOPE_HISTOGRAM, h, o) ||
	    json_object_set_new(o, "name", json_string("latency_idle")))
		return NULL;
	return event("idle", json_incref(o));
}

static bool sends(const struct wp_flow *f)
{
	return !f->role || strcmp(f->role, "receiver") != 0;
}

static json_t *interval_fields(const struct wp_interval *row)
{
	json_t *o = json_object();

	if (o && wp_fields_to_json(WP_SCOPE_INTERVAL, row, o)) {
		json_decref(o);
		return NULL;
	}
	return o;
}

/* The sums of both directions as "sent" and "received", those that there are. */
static json_t *sums(const struct wp_run *run, const struct wp_end_tick *tick)
{
	static const char *const names[] = { "received", "sent" };
	struct wp_interval sum[2] = { 0 };
	_cleanup_json_ json_t *o = json_object();
	size_t n[2] = { 0, 0 };

	for (size_t i = 0; i < tick->n_rows && i < run->n_flows; i++) {
		bool s = sends(&run->flows[i]);

		wp_interval_add(&sum[s], &tick->rows[i], !n[s]++);
	}
	for (int s = 0; o && s < 2; s++)
		if (n[s] && json_object_set_new(o, names[s], interval_fields(&sum[s])))
			return NULL;
	return json_incref(o);
}

static json_t *rows(const struct wp_run *run, const struct wp_end_tick *tick)
{
	_cleanup_json_ json_t *a = json_array();

	for (size_t i = 0; a && i < tick->n_rows && i < run->n_flows; i++) {
		json_t *o = interval_fields(&tick->rows[i]);

		if (!o || json_array_append_new(a, o) ||
		    json_object_set_new(o, "id", text(run->flows[i].id)) ||
		    json_object_set_new(o, "role", text(run->flows[i].role)))
			return NULL;
	}
	return json_incref(a);
}

static json_t *cpus(const struct wp_end_tick *tick)
{
	_cleanup_json_ json_t *a = json_array();

	for (size_t i = 0; a && i < tick->n_cpus; i++) {
		json_t *o = json_object();

		if (!o || json_array_append_new(a, o) ||
		    wp_fields_to_json(WP_SCOPE_CPU_SAMPLE, &tick->cpus[i], o))
			return NULL;
	}
	return json_incref(a);
}

json_t *wp_event_interval(const struct wp_run *run, const struct wp_end_tick *tick)
{
	_cleanup_json_ json_t *o = json_object();

	if (!o || json_object_set_new(o, "flows", rows(run, tick)) ||
	    json_object_set_new(o, "sum", sums(run, tick)) ||
	    json_object_set_new(o, "cpus", cpus(tick)))
		return NULL;
	return event("interval", json_incref(o));
}

json_t *wp_event_end(const struct wp_run *run)
{
	return event("end", wp_run_to_json(run));
}

json_t *wp_event_error(const char *message, int exit_status)
{
	_cleanup_json_ json_t *o = json_object();

	if (!o || json_object_set_new(o, "message", text(message)) ||
	    json_object_set_new(o, "exit", json_integer(exit_status)))
		return NULL;
	return event("error", json_incref(o));
}

static int put(json_t *json, size_t flags, struct wp_buf *out)
{
	_cleanup_free_ char *s = json ? json_dumps(json, flags) : NULL;

	json_decref(json);
	if (!s)
		return -ENOMEM;
	wp_buf_puts(out, s);
	return wp_buf_puts(out, "\n");
}

int wp_json_line(json_t *json, struct wp_buf *out)
{
	return put(json, JSON_COMPACT, out);
}

int wp_json_text(json_t *json, struct wp_buf *out)
{
	return put(json, JSON_INDENT(2), out);
}
