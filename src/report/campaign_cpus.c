/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/campaign_cpus.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "explain/explain.h"
#include "report/run_doc.h"

#define PER_CENT(name, leaves)                                                           \
	{                                                                                \
		.head = name, .type = WP_DOC_REAL, .digits = 1, .gap = 2, .drop = leaves \
	}

/* Behind the axes' columns. A CPU that is not known is said in its column, so dashes need no explanation. */
static const struct wp_doc_column columns[] = {
	{ .head = "end", .min_width = 8, .gap = 2, .left = true },
	{ .head = "CPU", .gap = 2 },
	PER_CENT("busy", 0),
	PER_CENT("user", 0),
	PER_CENT("sys", 0),
	PER_CENT("irq", 2),
	PER_CENT("softirq", 0),
	PER_CENT("steal", 1),
	PER_CENT("sum", 0),
	{ .head = "trust", .gap = 2, .left = true },
	PER_CENT("thread", 3),
};

/* One end of a cell; true: its thread moved between CPUs and has no single row to show. */
static bool put_end(struct wp_doc *doc, const struct wp_campaign *c, struct wp_doc_table *table,
		    const struct wp_cell_run *r, size_t host)
{
	const struct wp_host *cpus = wp_doc_cpus_of(r->run, &r->run->hosts[host]);
	const struct wp_cpu_use *use;
	struct wp_end_time t;
	struct wp_doc_cell *cells;
	size_t at = 0;

	if (wp_explain_time(r->run, host, &t))
		return false;
	cells = wp_doc_row(doc, table);
	if (!cells)
		return false;
	use = t.cpu >= 0 && cpus ? wp_host_cpu(cpus, t.cpu) : NULL;
	for (; at < c->plan.n_axes; at++)
		cells[at] = wp_cell(host ? "" : c->plan.axes[at].values[c->cells[r->cell].key[at]]);
	cells[at++] = wp_cell(wp_doc_end_word(r->run, host));
	cells[at++] = t.cpu >= 0 ? wp_cell(wp_doc_printf(doc, "%d", t.cpu)) : wp_cell("moved");
	cells[at++] = wp_cell_num(t.busy_pct);
	cells[at++] = wp_cell_num(t.user_pct);
	cells[at++] = wp_cell_num(t.system_pct);
	cells[at++] = wp_cell_num(t.irq_pct);
	cells[at++] = wp_cell_num(t.softirq_pct);
	cells[at++] = wp_cell_num(use ? use->steal_pct : t.busy_pct);
	cells[at++] = wp_cell_num(use ? use->sum_pct : t.busy_pct);
	cells[at++] = wp_cell(use ? use->trust : "");
	cells[at] = wp_cell_num(t.on_cpu_pct);
	return t.cpu < 0;
}

static void put_table(struct wp_doc *doc, const struct wp_campaign *c,
		      const struct wp_cell_run *runs, size_t n)
{
	struct wp_doc_column heads[WP_MAX_AXES + WP_ARRAY_SIZE(columns)];
	size_t axes = c->plan.n_axes;
	struct wp_doc_table *t;
	bool moved = false;

	for (size_t i = 0; i < axes; i++)
		heads[i] = (struct wp_doc_column) { .head = c->plan.axes[i].name,
						    .gap = 2,
						    .left = true };
	memcpy(&heads[axes], columns, sizeof(columns));
	wp_doc_para(doc, NULL, WP_DOC_STRONG, "%s",
		    "What the CPUs did, % of wall time, in the run nearest to each cell's median");
	t = wp_doc_table(doc, heads, axes + WP_ARRAY_SIZE(columns));
	if (t)
		t->indent = 1;
	for (size_t i = 0; i < n; i++)
		for (size_t h = 0; h < runs[i].run->n_hosts; h++)
			moved |= put_end(doc, c, t, &runs[i], h);
	if (moved)
		wp_doc_para(
			doc, NULL, WP_DOC_DIM,
			"moved: its thread ran on more than one CPU, so no CPU's columns are its own");
}

/* The sentence stands with best and worst already, where they may be named. */
static bool is_said(const struct wp_campaign *c, size_t cell)
{
	return c->best >= 0 && ((long)cell == c->best || (long)cell == c->worst) &&
	       c->cells[cell].why;
}

static void put_why(struct wp_doc *doc, const struct wp_campaign *c, const struct wp_cell_run *r)
{
	const struct wp_run *run = r->run;
	const char *label = r->label;
	char name[512], time[400];

	wp_campaign_cell_name(c, r->cell, name, sizeof(name));
	if (!is_said(c, r->cell)) {
		wp_doc_para(doc, label, WP_DOC_PLAIN, "%s: %s", name,
			    run->n_findings ? run->findings[0].says : "no findings");
		label = "";
	}
	for (size_t h = 0; h < run->n_hosts; h++) {
		struct wp_end_time t;

		if (wp_explain_time(run, h, &t))
			continue;
		wp_end_time_format(&t, time, sizeof(time));
		wp_doc_para(doc, label, WP_DOC_PLAIN, "%s: %s", wp_doc_end_word(run, h), time);
		label = "";
	}
}

static bool comes_before(const struct wp_campaign *c, const struct wp_cell_run *a,
			 const struct wp_cell_run *b)
{
	double x = wp_num_or(c->cells[a->cell].median, 0),
	       y = wp_num_or(c->cells[b->cell].median, 0);

	return c->lower_is_better ? x < y : x > y;
}

/* The good end first. */
static void put_whys(struct wp_doc *doc, const struct wp_campaign *c,
		     const struct wp_cell_run *runs, size_t n)
{
	const struct wp_cell_run *first = NULL, *second = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!runs[i].label)
			continue;
		if (!first)
			first = &runs[i];
		else
			second = &runs[i];
	}
	if (first && second && comes_before(c, second, first)) {
		const struct wp_cell_run *swap = first;

		first = second;
		second = swap;
	}
	if (first)
		put_why(doc, c, first);
	if (second)
		put_why(doc, c, second);
}

void wp_campaign_cpus_doc(struct wp_doc *doc, const struct wp_campaign *c,
			  const struct wp_cell_run *runs, size_t n)
{
	if (!n)
		return;
	wp_doc_blank(doc);
	put_table(doc, c, runs, n);
	wp_doc_blank(doc);
	wp_doc_para(doc, NULL, WP_DOC_STRONG, "Where the time of each end went, in these runs");
	put_whys(doc, c, runs, n);
}
