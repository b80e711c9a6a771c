/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/history_doc.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define ID_SHOWN 8 /* digits: enough to name a run among thousands */

static bool is(const char *s, const char *word)
{
	return s && !strcmp(s, word);
}

/* "2026-11-30T17:20:05.123Z" as "2026-11-30 17:20" (UTC). */
static const char *when(struct wp_doc *doc, const char *started)
{
	if (!started || strlen(started) < 16)
		return started ? started : "";
	return wp_doc_printf(doc, "%.10s %.5s", started, started + 11);
}

/* "tcp -P 4 -R" */
static const char *what(struct wp_doc *doc, const struct wp_store_row *row)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(128);

	wp_buf_puts(&b, row->kind ? row->kind : "?");
	if (wp_num_or(row->streams, 1) > 1)
		wp_buf_printf(&b, " -P %.0f", row->streams.v);
	if (is(row->direction, "reverse"))
		wp_buf_puts(&b, " -R");
	if (is(row->direction, "both"))
		wp_buf_puts(&b, " --bidir");
	return wp_doc_printf(doc, "%s", wp_buf_text(&b));
}

static const char *result(struct wp_doc *doc, const struct wp_store_row *row)
{
	struct wp_num bps = wp_has(row->received_bps) ? row->received_bps : row->sent_bps;
	char text[64];

	if (wp_has(row->transactions_per_s)) {
		wp_doc_format(WP_DOC_COUNT, 0, 0, row->transactions_per_s.v, text, sizeof(text));
		return wp_doc_printf(doc, "%s /s", text);
	}
	if (wp_has(bps)) {
		wp_doc_format(WP_DOC_BPS, 0, 0, bps.v, text, sizeof(text));
		return wp_doc_printf(doc, "%s", text);
	}
	return row->exit_status ? "failed" : "-";
}

static const struct wp_doc_column run_columns[] = {
	{ .head = "ID", .left = true },
	{ .head = "Started (UTC)", .left = true, .gap = 2 },
	{ .head = "What", .left = true, .gap = 2 },
	{ .head = "Target", .left = true, .gap = 2 },
	{ .head = "Result", .gap = 2 },
	{ .head = "Name or cell", .left = true, .gap = 2, .min_width = 12, .wrap = true },
};

void wp_history_doc(struct wp_doc *doc, const struct wp_store_list *runs)
{
	struct wp_doc_table *t;

	if (!runs->n) {
		wp_doc_para(doc, NULL, WP_DOC_PLAIN, "no stored run fits");
		return;
	}
	t = wp_doc_table(doc, run_columns, WP_ARRAY_SIZE(run_columns));
	for (size_t i = 0; i < runs->n; i++) {
		const struct wp_store_row *row = &runs->v[i];
		struct wp_doc_cell *c = wp_doc_row(doc, t);
		size_t at = 0;

		if (!c)
			return;
		c[at++] = wp_cell(wp_doc_printf(doc, "%.*s", ID_SHOWN, row->id));
		c[at++] = wp_cell(when(doc, row->started));
		c[at++] = wp_cell(what(doc, row));
		c[at++] = wp_cell(row->target);
		c[at] = wp_cell(result(doc, row));
		c[at++].style = row->exit_status ? WP_DOC_BAD : WP_DOC_PLAIN;
		c[at] = wp_cell(row->name ? row->name : row->cell ? row->cell : row->error);
		c[at].style = row->name ? WP_DOC_STRONG : WP_DOC_DIM;
	}
	if (runs->more)
		wp_doc_para(doc, NULL, WP_DOC_DIM, "older runs were left out; --limit shows more");
}

static const struct wp_doc_column campaign_columns[] = {
	{ .head = "ID", .left = true },
	{ .head = "Started (UTC)", .left = true, .gap = 2 },
	{ .head = "Kind", .left = true, .gap = 2 },
	{ .head = "State", .left = true, .gap = 2 },
	{ .head = "Runs", .type = WP_DOC_COUNT, .gap = 2 },
	{ .head = "Name", .left = true, .gap = 2 },
	{ .head = "Command", .left = true, .gap = 2, .wrap = true },
};

void wp_campaigns_doc(struct wp_doc *doc, const struct wp_store_campaign_list *campaigns)
{
	struct wp_doc_table *t;

	if (!campaigns->n) {
		wp_doc_para(doc, NULL, WP_DOC_PLAIN, "no stored sweep");
		return;
	}
	t = wp_doc_table(doc, campaign_columns, WP_ARRAY_SIZE(campaign_columns));
	for (size_t i = 0; i < campaigns->n; i++) {
		const struct wp_store_campaign_row *row = &campaigns->v[i];
		struct wp_doc_cell *c = wp_doc_row(doc, t);
		size_t at = 0;

		if (!c)
			return;
		c[at++] = wp_cell(wp_doc_printf(doc, "%.*s", ID_SHOWN, row->id));
		c[at++] = wp_cell(when(doc, row->started));
		c[at++] = wp_cell(row->kind);
		c[at++] = wp_cell(row->state);
		c[at++] = wp_cell_num(wp_num((double)row->n_runs));
		c[at++] = wp_cell(row->name);
		c[at] = wp_cell(row->command);
	}
}

static int set_text(json_t *o, const char *key, const char *s)
{
	json_t *j = s ? json_string(s) : json_null();

	/* Not UTF-8. */
	return json_object_set_new(o, key, j ? j : json_string("?"));
}

static int set_num(json_t *o, const char *key, struct wp_num n)
{
	return json_object_set_new(o, key, wp_has(n) ? json_real(n.v) : json_null());
}

static int set_count(json_t *o, const char *key, struct wp_num n)
{
	return json_object_set_new(o, key, wp_has(n) ? json_integer((json_int_t)n.v) : json_null());
}

static json_t *row_to_json(const struct wp_store_row *r)
{
	json_t *o = json_object();

	if (o && (set_text(o, "id", r->id) | set_text(o, "name", r->name) |
		  set_text(o, "started", r->started) | set_text(o, "kind", r->kind) |
		  set_text(o, "peer", r->peer) | set_text(o, "target", r->target) |
		  set_text(o, "direction", r->direction) | set_count(o, "streams", r->streams) |
		  set_num(o, "duration_s", r->duration_s) | set_num(o, "sent_bps", r->sent_bps) |
		  set_num(o, "received_bps", r->received_bps) |
		  set_num(o, "transactions_per_s", r->transactions_per_s) |
		  json_object_set_new(o, "exit", json_integer(r->exit_status)) |
		  set_text(o, "error", r->error) | set_text(o, "campaign", r->campaign) |
		  set_text(o, "cell", r->cell) | set_text(o, "host", r->host) |
		  set_text(o, "kernel", r->kernel) | set_text(o, "cpu_model", r->cpu_model))) {
		json_decref(o);
		return NULL;
	}
	return o;
}

json_t *wp_history_to_json(const struct wp_store_list *runs)
{
	json_t *a = json_array();

	for (size_t i = 0; a && i < runs->n; i++)
		if (json_array_append_new(a, row_to_json(&runs->v[i]))) {
			json_decref(a);
			return NULL;
		}
	return a;
}

static json_t *campaign_row_to_json(const struct wp_store_campaign_row *r)
{
	json_t *o = json_object();

	if (o && (set_text(o, "id", r->id) | set_text(o, "name", r->name) |
		  set_text(o, "started", r->started) | set_text(o, "kind", r->kind) |
		  set_text(o, "state", r->state) | set_text(o, "command", r->command) |
		  json_object_set_new(o, "runs", json_integer((json_int_t)r->n_runs)))) {
		json_decref(o);
		return NULL;
	}
	return o;
}

json_t *wp_campaigns_to_json(const struct wp_store_campaign_list *campaigns)
{
	json_t *a = json_array();

	for (size_t i = 0; a && i < campaigns->n; i++)
		if (json_array_append_new(a, campaign_row_to_json(&campaigns->v[i]))) {
			json_decref(a);
			return NULL;
		}
	return a;
}
