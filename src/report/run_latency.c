/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Latency under load (--with): round trips without and beside the load, and what it adds. */
#include <string.h>

#include "base/cleanup.h"
#include "report/run_doc.h"

static const struct wp_doc_column columns[] = {
	{ .head = "Round trips", .left = true, .min_width = 12 },
	{ .head = "p50", .type = WP_DOC_US, .gap = 2, .min_width = 7, .explain = true },
	{ .head = "p99", .type = WP_DOC_US, .gap = 2, .min_width = 7 },
	{ .head = "max", .type = WP_DOC_US, .gap = 2, .min_width = 7 },
	{ .head = "mean", .type = WP_DOC_US, .gap = 2, .min_width = 7 },
	{ .head = "requests", .type = WP_DOC_COUNT, .gap = 2 },
};

static void put_row(struct wp_doc *doc, struct wp_doc_table *t, const char *what,
		    const struct wp_num figures[static 4], const struct wp_histogram *h)
{
	struct wp_doc_cell *c = wp_doc_row(doc, t);

	if (!c)
		return;
	c[0] = wp_cell(what);
	for (size_t i = 0; i < 4; i++)
		c[1 + i] = wp_cell_num(figures[i]);
	c[5] = h ? wp_cell_num(h->count) : wp_cell("");
}

static const char *us_text(struct wp_doc *doc, double us)
{
	char text[48];

	wp_doc_format(WP_DOC_US, 0, 0, us, text, sizeof(text));
	return wp_doc_printf(doc, "%s", text);
}

static void put_verdict(struct wp_doc *doc, const struct wp_total *t)
{
	const char *grade;
	char rpm[48];

	if (!wp_has(t->added_latency_us) || !wp_has(t->rpm))
		return;
	wp_doc_format(WP_DOC_COUNT, 0, 0, t->rpm.v, rpm, sizeof(rpm));
	grade = t->latency_grade ? t->latency_grade : "-";
	if (t->added_latency_us.v <= 0)
		wp_doc_para(
			doc, "Latency", WP_DOC_PLAIN,
			"the load adds nothing to the median round trip: grade %s; %s round trips a minute",
			grade, rpm);
	else if (wp_num_or(t->added_latency_p99_us, 0) > 0)
		wp_doc_para(
			doc, "Latency", WP_DOC_PLAIN,
			"the load adds %s to the median round trip, %s to the 99 %%: grade %s; %s round trips a minute",
			us_text(doc, t->added_latency_us.v),
			us_text(doc, t->added_latency_p99_us.v), grade, rpm);
	else
		wp_doc_para(
			doc, "Latency", WP_DOC_PLAIN,
			"the load adds %s to the median round trip: grade %s; %s round trips a minute",
			us_text(doc, t->added_latency_us.v), grade, rpm);
}

void wp_run_doc_latency(struct wp_doc *doc, const struct wp_run *run)
{
	const struct wp_total *t = &run->total;
	const struct wp_num idle[4] = { t->idle_p50_us, t->idle_p99_us, t->idle_max_us,
					t->idle_mean_us };
	const struct wp_num loaded[4] = { t->loaded_p50_us, t->loaded_p99_us, t->loaded_max_us,
					  t->loaded_mean_us };
	const struct wp_histogram *i, *l;
	struct wp_doc_table *table;

	if (!run->test.with || !run->n_hosts)
		return;
	i = wp_host_histogram(&run->hosts[0], "latency_idle");
	l = wp_host_histogram(&run->hosts[0], "latency_loaded");
	if (!i && !l)
		return;
	table = wp_doc_table(doc, columns, WP_ARRAY_SIZE(columns));
	if (!table)
		return;
	put_row(doc, table, " idle", idle, i);
	put_row(doc, table, " under load", loaded, l);
	wp_doc_para(doc, NULL, WP_DOC_DIM, "%s",
		    l && l->note   ? l->note
		    : i && i->note ? i->note
				   : "");
	wp_doc_blank(doc);
	put_verdict(doc, t);
}
