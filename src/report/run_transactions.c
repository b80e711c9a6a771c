/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a request/response test measured: rate, latency, and its distribution as bars. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "report/run_doc.h"

#define SENTENCE_BYTES 4096
#define MAX_LINES      20 /* of a histogram */
#define BAR_COLUMNS    32
#define MAX_NS         1e18 /* 30 years */

static const char *count_text(struct wp_doc *doc, double v)
{
	char text[48];

	wp_doc_format(WP_DOC_COUNT, 0, 0, v, text, sizeof(text));
	return wp_doc_printf(doc, "%s", text);
}

/* "0.5", "20,000": rates below 100 are not whole. */
static const char *rate_text(struct wp_doc *doc, double v)
{
	return v < 100 && v != rint(v) ? wp_doc_printf(doc, "%.3g", v) : count_text(doc, v);
}

static void put_rate(struct wp_doc *doc, const struct wp_run *run)
{
	const struct wp_test *t = &run->test;
	struct wp_buf b _cleanup_buf_ = WP_BUF(SENTENCE_BYTES);
	struct wp_num rate = run->total.transactions_per_s, lost = run->total.timeouts,
		      made = run->total.transactions;

	if (!wp_has(rate))
		return;
	wp_buf_printf(&b, "%s transactions a second%s", rate_text(doc, rate.v),
		      wp_num_or(t->connect, 0) > 0 ? ", a connection each" : "");
	if (wp_num_or(t->rate_hz, 0) > 0) {
		wp_buf_printf(&b, "; asked for %s: ", rate_text(doc, t->rate_hz.v));
		if (rate.v >= .995 * t->rate_hz.v)
			wp_buf_puts(&b, "kept");
		else
			wp_buf_printf(&b, "%.1f %% of it", rate.v / t->rate_hz.v * 100);
	}
	wp_doc_para(doc, "Rate", WP_DOC_PLAIN, "%s", wp_buf_text(&b));
	if (wp_num_or(lost, 0) > 0 && wp_has(made))
		wp_doc_para(doc, "Lost", WP_DOC_BAD,
			    "%s of %s transactions (%.3g %%) had no response within %.6g s",
			    count_text(doc, lost.v), count_text(doc, lost.v + made.v),
			    lost.v / (lost.v + made.v) * 100, wp_num_or(t->response_timeout_s, 0));
	else if (wp_has(lost))
		wp_doc_para(doc, "Lost", WP_DOC_PLAIN, "none");
	if (wp_num_or(run->total.unanswered, 0) > 0)
		wp_doc_para(
			doc, "Unanswered", WP_DOC_BAD,
			"%s requests were due or under way when the test, or their connection, ended; they are "
			"in no latency",
			count_text(doc, run->total.unanswered.v));
}

static const struct wp_histogram *latency_of(const struct wp_run *run)
{
	const struct wp_histogram *h = NULL;

	for (size_t i = 0; !h && i < run->n_hosts; i++)
		h = wp_host_histogram(&run->hosts[i], "latency");
	return h;
}

static const struct wp_doc_column latency_columns[] = {
	{ .head = "Latency ", .min_width = WP_DOC_LABEL_WIDTH - 2, .left = true },
	{ .head = "min", .type = WP_DOC_US, .min_width = 7, .gap = 2 },
	{ .head = "p50", .type = WP_DOC_US, .min_width = 7, .gap = 2 },
	{ .head = "p90", .type = WP_DOC_US, .min_width = 7, .gap = 2 },
	{ .head = "p99", .type = WP_DOC_US, .min_width = 7, .gap = 2 },
	{ .head = "p99.9", .type = WP_DOC_US, .min_width = 7, .gap = 2 },
	{ .head = "p99.99", .type = WP_DOC_US, .min_width = 7, .gap = 2 },
	{ .head = "max", .type = WP_DOC_US, .min_width = 7, .gap = 2 },
	{ .head = "mean", .type = WP_DOC_US, .min_width = 7, .gap = 2 },
};

/* A percentile that no value lies behind is the maximum by another name: left blank. */
static void put_latency(struct wp_doc *doc, const struct wp_run *run, const struct wp_histogram *h)
{
	const struct wp_total *t = &run->total;
	const struct {
		struct wp_num us;
		double least; /* values that it takes */
	} figures[] = {
		{ t->latency_min_us, 0 },    { t->latency_p50_us, 2 },
		{ t->latency_p90_us, 10 },   { t->latency_p99_us, 100 },
		{ t->latency_p999_us, 1e3 }, { t->latency_p9999_us, 1e4 },
		{ t->latency_max_us, 0 },    { t->latency_mean_us, 0 },
	};
	double n = h ? wp_num_or(h->count, INFINITY) : INFINITY;
	struct wp_doc_table *table;
	struct wp_doc_cell *c;

	if (!wp_has(t->latency_max_us))
		return;
	table = wp_doc_table(doc, latency_columns, WP_ARRAY_SIZE(latency_columns));
	c = wp_doc_row(doc, table);
	if (!c)
		return;
	for (size_t i = 0; i < WP_ARRAY_SIZE(figures); i++)
		c[1 + i] = n < figures[i].least ? wp_cell("") : wp_cell_num(figures[i].us);
	if (h && h->note)
		wp_doc_para(doc, "", WP_DOC_DIM, "%s", h->note);
}

/* ---- bars ------------------------------------------------------------------------------------- */

/* Bounds of the lines, the same in each decade; coarser ones for distributions that are wide. */
static const double steps[][25] = {
	{ 1,   1.1, 1.2, 1.3, 1.5, 1.6, 1.8, 2,   2.2, 2.4, 2.7, 3,
	  3.3, 3.6, 3.9, 4.3, 4.7, 5.1, 5.6, 6.2, 6.8, 7.5, 8.2, 9.1 },
	{ 1, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 3.9, 4.7, 5.6, 6.8, 8.2 },
	{ 1, 1.5, 2, 3, 5, 7 },
	{ 1, 2, 5 },
	{ 1, 3 },
	{ 1 },
};

struct bars {
	double from[MAX_LINES], to[MAX_LINES]; /* nanoseconds */
	double count[MAX_LINES];
	size_t n;
};

/* Where the next line may begin. */
struct ruler {
	const double *steps, *at;
	double decade;
};

static double next_bound(struct ruler *r)
{
	double bound = *r->at * r->decade;

	if (*++r->at <= 0) {
		r->at = r->steps;
		r->decade *= 10;
	}
	return bound;
}

/* Lines at those steps; neighbours without a value become one. False when there are too many. */
static bool make_bars(const struct wp_histogram *h, const double *step, struct bars *ret)
{
	struct ruler ruler = { step, step, 1 };
	double from = 0, to = next_bound(&ruler);
	size_t at = 0;

	*ret = (struct bars) { .n = 0 };
	while (at < h->n_buckets && ruler.decade < MAX_NS) {
		double count = 0;

		/* Buckets ascend and are far narrower than a line. */
		for (; at < h->n_buckets; at++) {
			if ((double)wp_hist_middle(h->bits, h->buckets[at].index) >= to)
				break;
			count += (double)h->buckets[at].count;
		}
		if (count > 0 || (ret->n && ret->count[ret->n - 1] > 0)) {
			if (ret->n == MAX_LINES)
				return false;
			ret->from[ret->n] = from;
			ret->count[ret->n++] = count;
		}
		if (ret->n)
			ret->to[ret->n - 1] = to;
		from = to;
		to = next_bound(&ruler);
	}
	return at == h->n_buckets && ret->n;
}

static bool fill_bars(const struct wp_histogram *h, struct bars *ret)
{
	for (size_t i = 0; i < WP_ARRAY_SIZE(steps); i++)
		if (make_bars(h, steps[i], ret))
			return true;
	return false;
}

static const char *bar_text(struct wp_doc *doc, double count, double most)
{
	int n = most > 0 ? (int)(count / most * BAR_COLUMNS + .5) : 0;

	if (n)
		return wp_doc_printf(doc, "%.*s", n, "################################");
	return count > 0 ? "." : "";
}

static const char *ns_text(struct wp_doc *doc, double ns)
{
	char text[48];

	wp_format_ns(ns, text, sizeof(text));
	return wp_doc_printf(doc, "%s", text);
}

static const struct wp_doc_column bar_columns[] = {
	{ .head = "from", .min_width = 8 },
	{ .head = "to", .min_width = 8, .gap = 2 },
	{ .head = "count", .type = WP_DOC_COUNT, .min_width = 10, .gap = 2 },
	{ .head = "so far", .type = WP_DOC_PERCENT, .digits = 3, .min_width = 8, .gap = 2 },
	{ .head = "", .gap = 2, .left = true, .drop = 1 },
};

void wp_run_doc_bars(struct wp_doc *doc, const struct wp_histogram *h)
{
	struct wp_doc_table *t;
	double most = 0, all = 0, sum = 0;
	struct bars bars;

	if (!h->n_buckets || !fill_bars(h, &bars))
		return;
	for (size_t i = 0; i < bars.n; i++) {
		most = fmax(most, bars.count[i]);
		all += bars.count[i];
	}
	t = wp_doc_table(doc, bar_columns, WP_ARRAY_SIZE(bar_columns));
	if (t)
		t->indent = 2;
	for (size_t i = 0; i < bars.n; i++) {
		struct wp_doc_cell *c = wp_doc_row(doc, t);

		if (!c)
			return;
		sum += bars.count[i];
		c[0] = wp_cell(ns_text(doc, bars.from[i]));
		c[1] = wp_cell(ns_text(doc, bars.to[i]));
		c[2] = wp_cell_num(wp_num(bars.count[i]));
		c[3] = wp_cell_num(wp_num(sum / all * 100));
		c[4] = wp_cell(bar_text(doc, bars.count[i], most));
	}
}

void wp_run_doc_transactions(struct wp_doc *doc, const struct wp_run *run)
{
	const struct wp_histogram *h = latency_of(run);
	struct wp_num fair = run->n_flows ? run->flows[0].connection_fairness : wp_absent(NULL);

	put_rate(doc, run);
	put_latency(doc, run, h);
	if (h)
		wp_run_doc_bars(doc, h);
	if (wp_has(fair))
		wp_doc_para(doc, "Fairness", WP_DOC_PLAIN,
			    "%.3f (Jain's index: 1 = all connections alike)", fair.v);
}
