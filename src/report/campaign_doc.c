/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/campaign_doc.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "report/found_doc.h"

#define SENTENCE_BYTES 4096
#define STRIP_CELLS    12 /* more would be a picture of its own */
#define TIES_NAMED     4

/* One unit for all cells, so that they can be compared by eye. */
struct scale {
	double divisor;
	const char *unit;
	int digits;
};

struct part {
	struct wp_doc *doc;
	const struct wp_campaign *c;
	struct scale scale;
};

/* The largest and the smallest median, but 0. */
static void bounds(const struct wp_campaign *c, double *ret_max, double *ret_min)
{
	double max = 0, min = INFINITY;

	for (size_t i = 0; i < c->n_cells; i++) {
		double v = fabs(wp_num_or(c->cells[i].median, 0));

		max = fmax(max, v);
		if (v > 0)
			min = fmin(min, v);
	}
	*ret_max = max;
	*ret_min = min < INFINITY ? min : max;
}

static int digits_for(double v)
{
	return v < 9.995 ? 2 : v < 99.95 ? 1 : 0;
}

static struct scale choose_scale(const struct wp_campaign *c, char unit)
{
	static const struct {
		char letter;
		double divisor;
		const char *unit;
	} rates[] = {
		{ 'T', 0x1p43, "TBytes/sec" }, { 'G', 0x1p33, "GBytes/sec" },
		{ 'M', 0x1p23, "MBytes/sec" }, { 'K', 0x1p13, "KBytes/sec" },
		{ 't', 1e12, "Tbits/sec" },    { 'g', 1e9, "Gbits/sec" },
		{ 'm', 1e6, "Mbits/sec" },     { 'k', 1e3, "Kbits/sec" },
	};
	struct scale s = { 1, c->unit ? c->unit : "", 0 };
	double max, min;
	bool rate = c->unit && !strcmp(c->unit, "bit/s");

	bounds(c, &max, &min);
	if (c->unit && !strcmp(c->unit, "1/s")) {
		s.divisor = max >= 1e6 ? 1e6 : max >= 1e4 ? 1e3 : 1;
		s.unit = max >= 1e6 ? "million/s" : max >= 1e4 ? "thousand/s" : "per second";
	}
	for (size_t i = 0; rate && i < WP_ARRAY_SIZE(rates); i++) {
		bool wanted = unit ? rates[i].letter == unit
				   : rates[i].letter >= 'a' && max >= rates[i].divisor;

		if (wanted) {
			s.divisor = rates[i].divisor;
			s.unit = rates[i].unit;
			break;
		}
	}
	/* Three digits of the smallest. */
	s.digits = digits_for(min / s.divisor);
	return s;
}

static void put_value(struct wp_buf *b, const struct part *p, struct wp_num n)
{
	if (wp_has(n))
		wp_buf_printf(b, "%.*f", p->scale.digits, n.v / p->scale.divisor);
	else
		wp_buf_puts(b, "-");
}

/* "11.8 [11.2..12.3]" */
static void put_range(struct wp_buf *b, const struct part *p, const struct wp_cell *cell)
{
	put_value(b, p, cell->median);
	if (!wp_has(cell->median) || cell->n < 2)
		return;
	wp_buf_puts(b, " [");
	put_value(b, p, cell->min);
	wp_buf_puts(b, "..");
	put_value(b, p, cell->max);
	wp_buf_puts(b, "]");
}

static const char *mark_of(const struct wp_campaign *c, size_t i)
{
	if ((long)i == c->best)
		return "*";
	if ((long)i == c->worst)
		return "-";
	return c->cells[i].like_best ? "=" : " ";
}

static const char *heading_of(const struct wp_axis *a)
{
	return a->heading ? a->heading : a->name;
}

/* What the cells' figure is, in words. */
static const char *metric_words(const struct wp_campaign *c)
{
	static const struct {
		const char *metric, *words;
	} known[] = {
		{ "received_bps", "Received" },
		{ "sent_bps", "Sent" },
		{ "transactions_per_s", "Transactions" },
		{ "received_packets_per_s", "Packets received" },
		{ "sent_packets_per_s", "Packets sent" },
		{ "lost_pct", "Packets lost" },
		{ "latency_us.p50", "Median latency" },
		{ "latency_us.p99", "99 % latency" },
		{ "latency_us.p999", "99.9 % latency" },
	};

	for (size_t i = 0; i < WP_ARRAY_SIZE(known); i++)
		if (c->metric && !strcmp(c->metric, known[i].metric))
			return known[i].words;
	return c->metric ? c->metric : "Result";
}

static size_t runs_made(const struct wp_campaign *c)
{
	size_t n = 0;

	for (size_t i = 0; c->runs && i < c->plan.n_order; i++)
		n += c->runs[i] != NULL;
	return n;
}

static void put_heading(struct part *p)
{
	const struct wp_campaign *c = p->c;
	struct wp_buf b _cleanup_buf_ = WP_BUF(SENTENCE_BYTES);
	size_t made = runs_made(c);

	for (size_t i = 0; i < c->plan.n_axes; i++)
		wp_buf_printf(&b, "%s%s", i ? " x " : "", c->plan.axes[i].name);
	wp_doc_heading(p->doc, "whyperf %s  %s over %s  %zu cell%s, %zu run%s each, seed %llu",
		       c->version ? c->version : "", c->kind ? c->kind : "sweep", wp_buf_text(&b),
		       c->n_cells, c->n_cells == 1 ? "" : "s", c->plan.repeats,
		       c->plan.repeats == 1 ? "" : "s", (unsigned long long)c->plan.seed);
	wp_buf_reset(&b);
	for (size_t i = 0; i < c->plan.n_command; i++)
		wp_buf_printf(&b, "%s%s", i ? " " : "", c->plan.command[i]);
	if (b.len)
		wp_doc_para(p->doc, "Command", WP_DOC_PLAIN, "%s", wp_buf_text(&b));
	if (c->started)
		wp_doc_para(p->doc, "Started", WP_DOC_PLAIN, "%s", c->started);
	if (c->host)
		wp_doc_para(p->doc, "Machine", WP_DOC_PLAIN, "%s", c->host);
	if (c->state && strcmp(c->state, "done") != 0)
		wp_doc_para(p->doc, "State", WP_DOC_WARN, "%s: %zu of %zu runs made", c->state,
			    made, c->plan.n_order);
	wp_doc_blank(p->doc);
}

static const char *cell_text(struct part *p, size_t i)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(256);

	put_range(&b, p, &p->c->cells[i]);
	wp_buf_printf(&b, " %s", mark_of(p->c, i));
	return wp_doc_printf(p->doc, "%s", wp_buf_text(&b));
}

static enum wp_doc_style cell_style(const struct wp_campaign *c, size_t i)
{
	return (long)i == c->best ? WP_DOC_GOOD : (long)i == c->worst ? WP_DOC_WARN : WP_DOC_PLAIN;
}

static void put_caption(struct part *p)
{
	bool range = p->c->plan.repeats > 1;

	wp_doc_para(p->doc, NULL, WP_DOC_STRONG, "%s%s%s%s", metric_words(p->c),
		    p->scale.unit[0] ? ", " : "", p->scale.unit,
		    range ? ": median [min..max]" : "");
}

/* Rows are the first axis, columns the second. */
static void put_matrix(struct part *p)
{
	const struct wp_axis *rows = &p->c->plan.axes[0], *columns = &p->c->plan.axes[1];
	struct wp_doc_column *heads =
		wp_pool_calloc(&p->doc->pool, columns->n_values + 1, sizeof(*heads));
	struct wp_doc_table *t;

	if (!heads)
		return;
	heads[0] = (struct wp_doc_column) { .head = heading_of(rows), .left = true };
	for (size_t i = 0; i < columns->n_values; i++)
		heads[i + 1] = (struct wp_doc_column) { .head = wp_doc_printf(p->doc, "%s %s  ",
									      heading_of(columns),
									      columns->values[i]),
							.gap = 3 };
	put_caption(p);
	t = wp_doc_table(p->doc, heads, columns->n_values + 1);
	if (t)
		t->indent = 1;
	for (size_t r = 0; r < rows->n_values; r++) {
		struct wp_doc_cell *cells = wp_doc_row(p->doc, t);

		if (!cells)
			return;
		cells[0] = wp_cell(rows->values[r]);
		for (size_t i = 0; i < columns->n_values; i++) {
			size_t at = r * columns->n_values + i;

			cells[i + 1] = wp_cell(cell_text(p, at));
			cells[i + 1].style = cell_style(p->c, at);
		}
	}
}

static struct wp_doc_cell value_cell(struct part *p, struct wp_num n)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(64);

	put_value(&b, p, n);
	return wp_cell(wp_doc_printf(p->doc, "%s", wp_buf_text(&b)));
}

/* The columns behind the axes. */
static const struct wp_doc_column value_columns[] = {
	{ .head = "median", .gap = 3 },
	{ .head = "min", .gap = 2 },
	{ .head = "max", .gap = 2 },
	{ .head = "runs", .type = WP_DOC_COUNT, .gap = 2, .drop = 1 },
	{ .head = "", .gap = 1, .left = true },
	{ .head = "why", .gap = 1, .left = true, .wrap = true },
};

static void put_table(struct part *p)
{
	const struct wp_campaign *c = p->c;
	struct wp_doc_column heads[WP_MAX_AXES + WP_ARRAY_SIZE(value_columns)];
	size_t n = c->plan.n_axes;
	struct wp_doc_table *t;

	for (size_t i = 0; i < n; i++)
		heads[i] = (struct wp_doc_column) { .head = heading_of(&c->plan.axes[i]),
						    .gap = 2,
						    .left = true };
	memcpy(&heads[n], value_columns, sizeof(value_columns));
	put_caption(p);
	t = wp_doc_table(p->doc, heads, n + WP_ARRAY_SIZE(value_columns));
	if (t) {
		t->indent = 1;
		t->keys = n;
	}
	for (size_t k = 0; k < c->n_cells; k++) {
		struct wp_doc_cell *cells = wp_doc_row(p->doc, t);
		const struct wp_cell *cell = &c->cells[k];
		size_t at = 0;

		if (!cells)
			return;
		for (; at < n; at++)
			cells[at] = wp_cell(c->plan.axes[at].values[cell->key[at]]);
		cells[at] = value_cell(p, cell->median);
		cells[at++].style = cell_style(c, k);
		cells[at++] = value_cell(p, cell->min);
		cells[at++] = value_cell(p, cell->max);
		cells[at++] = wp_cell_num(wp_num((double)cell->n));
		cells[at++] = wp_cell(mark_of(c, k));
		cells[at] = wp_cell(cell->why);
	}
}

static void put_legend(struct part *p)
{
	bool ties = false;

	for (size_t i = 0; i < p->c->n_cells; i++)
		ties |= p->c->cells[i].like_best && (long)i != p->c->best;
	if (p->c->best >= 0 && p->c->n_cells > 1)
		wp_doc_para(
			p->doc, NULL, WP_DOC_DIM, "* best, - worst%s",
			ties ? ", = can't be told from the best: the difference is less than the spread"
			     : "");
}

/* All values of every cell on one scale. */
static void put_strips(struct part *p)
{
	const struct wp_campaign *c = p->c;
	double low = INFINITY, high = -INFINITY;
	struct wp_buf b _cleanup_buf_ = WP_BUF(256);

	for (size_t i = 0; i < c->n_cells; i++)
		for (size_t k = 0; k < c->cells[i].n_values; k++) {
			low = fmin(low, c->cells[i].values[k]);
			high = fmax(high, c->cells[i].values[k]);
		}
	if (!(low < high) || c->n_cells > STRIP_CELLS || c->plan.repeats < 2)
		return;
	wp_doc_blank(p->doc);
	for (size_t i = 0; i < c->n_cells; i++) {
		wp_buf_reset(&b);
		for (size_t k = 0; k < c->plan.n_axes; k++)
			wp_buf_printf(&b, "%s%s", k ? " " : "",
				      c->plan.axes[k].values[c->cells[i].key[k]]);
		wp_doc_strip(p->doc, wp_doc_printf(p->doc, "%s", wp_buf_text(&b)), WP_DOC_REAL,
			     c->cells[i].values, c->cells[i].n_values, low, high);
	}
	wp_doc_para(p->doc, "", WP_DOC_DIM, "each dot a run, from %.*f to %.*f %s", p->scale.digits,
		    low / p->scale.divisor, p->scale.digits, high / p->scale.divisor,
		    p->scale.unit);
}

static void put_cell_line(struct part *p, const char *label, long at, const char *than)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(SENTENCE_BYTES);
	const struct wp_cell *cell = &p->c->cells[at];
	char name[512];

	wp_campaign_cell_name(p->c, (size_t)at, name, sizeof(name));
	wp_buf_printf(&b, "%s: ", name);
	put_range(&b, p, cell);
	wp_buf_printf(&b, " %s%s", p->scale.unit, than);
	if (cell->why)
		wp_buf_printf(&b, "; %s", cell->why);
	wp_doc_para(p->doc, label, WP_DOC_PLAIN, "%s", wp_buf_text(&b));
}

static void put_ties(struct part *p)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(SENTENCE_BYTES);
	size_t n = 0;
	char name[512];

	for (size_t i = 0; i < p->c->n_cells; i++) {
		if (!p->c->cells[i].like_best || (long)i == p->c->best)
			continue;
		wp_campaign_cell_name(p->c, i, name, sizeof(name));
		if (n++ < TIES_NAMED)
			wp_buf_printf(&b, "%s%s", n > 1 ? "; " : "", name);
	}
	if (n > TIES_NAMED)
		wp_buf_printf(&b, "; and %zu more", n - TIES_NAMED);
	if (n)
		wp_doc_para(p->doc, "", WP_DOC_PLAIN, "as good, as far as these runs can tell: %s",
			    wp_buf_text(&b));
}

static void put_best_and_worst(struct part *p)
{
	const struct wp_campaign *c = p->c;
	struct wp_num ratio;
	const char *than = "";

	if (c->best < 0)
		return;
	if (c->worst >= 0 && c->worst != c->best && !c->cells[c->worst].like_best) {
		ratio = c->lower_is_better ? wp_num_ratio(c->cells[c->worst].median,
							  c->cells[c->best].median, 1)
					   : wp_num_ratio(c->cells[c->best].median,
							  c->cells[c->worst].median, 1);
		if (wp_has(ratio))
			than = c->lower_is_better
				       ? wp_doc_printf(p->doc, ", the worst is %.2f times that",
						       ratio.v)
				       : wp_doc_printf(p->doc, ", %.2f times the worst", ratio.v);
	}
	put_cell_line(p, "Best", c->best, than);
	put_ties(p);
	if (c->worst >= 0 && c->worst != c->best)
		put_cell_line(p, "Worst", c->worst, "");
}

static void put_failures(struct part *p)
{
	size_t failed = 0, cells = 0;

	for (size_t i = 0; i < p->c->n_cells; i++) {
		failed += p->c->cells[i].failed;
		cells += p->c->cells[i].failed > 0;
	}
	if (failed)
		wp_doc_para(p->doc, "Failed", WP_DOC_BAD, "%zu run%s in %zu cell%s gave no figure",
			    failed, failed == 1 ? "" : "s", cells, cells == 1 ? "" : "s");
}

static void put_list(struct wp_doc *doc, const char *label, enum wp_doc_style style,
		     const char *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		wp_doc_para(doc, i ? "" : label, style, "%s", v[i]);
}

static void put_sweep(struct part *p, const struct wp_campaign_doc_opts *opts)
{
	put_heading(p);
	if (p->c->plan.n_axes == 2)
		put_matrix(p);
	else if (p->c->plan.n_axes)
		put_table(p);
	put_legend(p);
	if (!opts->no_strips)
		put_strips(p);
	wp_doc_blank(p->doc);
	if (p->c->verdict)
		wp_doc_para(p->doc, "Verdict", WP_DOC_STRONG, "%s", p->c->verdict);
	put_best_and_worst(p);
	put_failures(p);
}

void wp_campaign_doc(struct wp_doc *doc, const struct wp_campaign *c,
		     const struct wp_campaign_doc_opts *opts)
{
	struct part p = { .doc = doc, .c = c, .scale = choose_scale(c, opts->unit) };

	if (c->found)
		wp_found_doc(doc, c, opts->unit);
	else
		put_sweep(&p, opts);
	put_list(doc, "Why", WP_DOC_PLAIN, c->why, c->n_why);
	put_list(doc, "Try", WP_DOC_PLAIN, c->advice, c->n_advice);
	if (c->host_fitness)
		wp_doc_para(doc, "Host", WP_DOC_PLAIN, "%s", c->host_fitness);
	put_list(doc, "Note", WP_DOC_PLAIN, c->notes, c->n_notes);
	if (opts->stored && *opts->stored)
		wp_doc_para(doc, "Stored", WP_DOC_DIM, "%s", opts->stored);
	else if (!opts->stored && c->id)
		wp_doc_para(doc, "Stored", WP_DOC_DIM, "%s%s%s (whyperf report %.6s)", c->id,
			    c->name ? " " : "", c->name ? c->name : "", c->id);
}
