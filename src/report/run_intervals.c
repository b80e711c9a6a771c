/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interval rows of a record and the closing lines of both ends. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/run_doc.h"

struct part {
	struct wp_doc *doc;
	const struct wp_run *run;
	const struct wp_interval_cols *cols;
	struct wp_doc_table *table;
	size_t n[2]; /* flows that hosts[0] receives [0], sends [1] */
	size_t cursor[WP_INTERVAL_CPUS];
};

static bool sends(const struct wp_flow *f)
{
	return !f->role || strcmp(f->role, "receiver") != 0;
}

/* Busy share of one CPU between two times: its samples, weighted by overlap. Rows are asked for in order of time, so
 * the search goes on where it ended. */
static struct wp_num busy_between(struct part *p, size_t column, struct wp_num from,
				  struct wp_num to)
{
	const struct wp_host *h = &p->run->hosts[p->cols->cpus[column].host];
	size_t *at = &p->cursor[column];
	double sum = 0, seconds = 0;

	h = wp_doc_cpus_of(p->run, h) ? wp_doc_cpus_of(p->run, h) : h;
	if (!wp_has(from) || !wp_has(to))
		return wp_absent("the interval has no bounds");
	while (*at < h->n_cpu_samples && wp_num_or(h->cpu_samples[*at].end_s, 0) <= from.v)
		(*at)++;
	for (size_t i = *at; i < h->n_cpu_samples && wp_num_or(h->cpu_samples[i].start_s, 0) < to.v;
	     i++) {
		const struct wp_cpu_sample *s = &h->cpu_samples[i];
		double part = fmin(s->end_s.v, to.v) - fmax(s->start_s.v, from.v);

		if (wp_cpu_number(s->cpu) != p->cols->cpus[column].cpu || !wp_has(s->busy_pct) ||
		    !(part > 0))
			continue;
		sum += part * s->busy_pct.v;
		seconds += part;
	}
	return seconds > 0 ? wp_num(sum / seconds)
			   : wp_absent("no sample of this CPU in the interval");
}

static void put_line(struct part *p, struct wp_interval_line *line)
{
	for (size_t i = 0; !line->total && i < p->cols->n_cpus; i++)
		line->cpu_busy_pct[i] = busy_between(p, i, line->row.start_s, line->row.end_s);
	wp_interval_put(p->doc, p->table, p->cols, line);
}

/* Row `at` of every flow, then their sum for each direction. */
static void put_rows_at(struct part *p, size_t at)
{
	struct wp_interval sum[2];
	size_t n[2] = { 0, 0 };

	for (size_t i = 0; i < p->run->n_flows; i++) {
		const struct wp_flow *f = &p->run->flows[i];
		bool s = sends(f);
		struct wp_interval_line line = { .id = f->id ? f->id : "?", .sends = s };

		if (at >= f->n_intervals)
			continue;
		line.row = f->intervals[at];
		wp_interval_add(&sum[s], &line.row, !n[s]++);
		if (p->n[s] <= WP_INTERVAL_MAX_STREAMS)
			put_line(p, &line);
	}
	for (int s = 1; s >= 0; s--)
		if (p->n[s] > 1 && n[s]) {
			struct wp_interval_line line = {
				.id = "SUM", .sends = s, .sum = true, .row = sum[s]
			};

			put_line(p, &line);
		}
}

static size_t longest(const struct wp_run *run)
{
	size_t n = 0;

	for (size_t i = 0; i < run->n_flows; i++)
		if (run->flows[i].n_intervals > n)
			n = run->flows[i].n_intervals;
	return n;
}

static struct wp_interval as_interval(const struct wp_run *run, const struct wp_flow_end *end)
{
	double omit = wp_num_or(run->test.omit_s, 0);

	return (struct wp_interval) {
		.start_s = wp_num(omit),
		.end_s = wp_has(end->seconds) ? wp_num(omit + end->seconds.v) : end->seconds,
		.bytes = end->bytes,
		.bits_per_second = end->bits_per_second,
		.packets = end->packets,
		.retransmits = end->retransmits,
		.lost = end->lost,
		.jitter_us = end->jitter_us,
	};
}

static void put_total(struct part *p, const char *id, bool s, bool sum, struct wp_interval row,
		      bool at_receiver, const char *tail)
{
	struct wp_interval_line line = { .id = id,
					 .sends = s,
					 .sum = sum,
					 .total = true,
					 .at_receiver = at_receiver,
					 .row = row,
					 .tail = tail };

	if (!wp_has(row.end_s))
		line.row.start_s = row.end_s;
	put_line(p, &line);
}

static void put_flow_total(struct part *p, const struct wp_flow *f)
{
	const char *id = f->id ? f->id : "?";

	put_total(p, id, sends(f), false, as_interval(p->run, &f->sent), false, "sender");
	put_total(p, id, sends(f), false, as_interval(p->run, &f->received), true, "receiver");
}

static void put_sums(struct part *p, bool s)
{
	struct wp_interval sum[2] = { 0 };
	bool first = true;

	for (size_t i = 0; i < p->run->n_flows; i++) {
		const struct wp_flow *f = &p->run->flows[i];
		struct wp_interval sent = as_interval(p->run, &f->sent),
				   received = as_interval(p->run, &f->received);

		if (sends(f) != s)
			continue;
		wp_interval_add(&sum[0], &sent, first);
		wp_interval_add(&sum[1], &received, first);
		first = false;
	}
	put_total(p, "SUM", s, true, sum[0], false, "sender");
	put_total(p, "SUM", s, true, sum[1], true, "receiver");
}

/* The slowest and the fastest of many, as received. */
static void put_extremes(struct part *p, bool s)
{
	const struct wp_flow *slow = NULL, *fast = NULL;

	for (size_t i = 0; i < p->run->n_flows; i++) {
		const struct wp_flow *f = &p->run->flows[i];

		if (sends(f) != s || !wp_has(f->received.bits_per_second))
			continue;
		if (!slow || f->received.bits_per_second.v < slow->received.bits_per_second.v)
			slow = f;
		if (!fast || f->received.bits_per_second.v > fast->received.bits_per_second.v)
			fast = f;
	}
	if (!slow)
		return;
	put_total(p, slow->id ? slow->id : "?", s, false, as_interval(p->run, &slow->received),
		  true, "slowest");
	put_total(p, fast->id ? fast->id : "?", s, false, as_interval(p->run, &fast->received),
		  true, "fastest");
}

static void put_totals(struct part *p)
{
	for (size_t i = 0; i < p->run->n_flows; i++)
		if (p->n[sends(&p->run->flows[i])] <= WP_INTERVAL_MAX_STREAMS)
			put_flow_total(p, &p->run->flows[i]);
	for (int s = 1; s >= 0; s--) {
		if (p->n[s] > WP_INTERVAL_MAX_STREAMS)
			put_extremes(p, s);
		if (p->n[s] > 1)
			put_sums(p, s);
	}
}

/* Instead of very many rows: the rate over time. */
static void put_series(struct part *p, bool s, size_t n)
{
	_cleanup_free_ double *rate = calloc(n, sizeof(*rate));
	size_t used = 0;

	for (size_t at = 0; rate && at < n; at++) {
		double sum = 0;
		bool any = false, omitted = false;

		for (size_t i = 0; i < p->run->n_flows; i++) {
			const struct wp_flow *f = &p->run->flows[i];

			if (sends(f) != s || at >= f->n_intervals)
				continue;
			any = true;
			omitted |= f->intervals[at].omitted.v > 0;
			sum += wp_num_or(f->intervals[at].bits_per_second, NAN);
		}
		if (any && !omitted)
			rate[used++] = sum;
	}
	if (used)
		wp_doc_series(p->doc, p->cols->both ? s ? "Rate TX" : "Rate RX" : "Rate",
			      WP_DOC_BPS, rate, used);
}

/* Rows that the table would have. */
static size_t count_rows(const struct part *p, size_t n)
{
	size_t rows = 0;

	for (int s = 0; s < 2; s++) {
		size_t each = p->n[s] > WP_INTERVAL_MAX_STREAMS ? 1
			      : p->n[s] > 1                     ? p->n[s] + 1
								: p->n[s];

		rows += each * n;
	}
	return rows;
}

void wp_run_doc_intervals(struct wp_doc *doc, const struct wp_run *run,
			  const struct wp_run_doc_opts *opts)
{
	struct wp_interval_cols cols;
	struct part p = { .doc = doc, .run = run, .cols = &cols };
	size_t n = longest(run), from;
	bool series, folded = false;

	if (opts->cols)
		cols = *opts->cols;
	else
		wp_interval_cols_from_run(run, &cols);
	for (size_t i = 0; i < run->n_flows; i++)
		p.n[sends(&run->flows[i])]++;
	for (size_t i = 0; i < run->n_flows; i++)
		folded |= wp_num_or(run->flows[i].intervals_folded, 0) > 0;
	/* Folded rows are others than those on the screen; the last one was too late for it. */
	from = folded && opts->rows_printed ? n : opts->rows_printed;
	series = opts->max_rows && from < n && count_rows(&p, n - from) > opts->max_rows;
	for (int s = 1; series && s >= 0; s--)
		if (p.n[s])
			put_series(&p, s, n);
	if (series)
		wp_doc_para(doc, "", WP_DOC_DIM,
			    "%zu intervals; all of them: whyperf report %s --format csv", n,
			    run->id ? run->id : "RUN");
	p.table = wp_interval_table(doc, &cols);
	if (!p.table)
		return;
	p.table->headless = opts->rows_printed > 0;
	for (size_t at = from; !series && at < n; at++)
		put_rows_at(&p, at);
	put_totals(&p);
}
