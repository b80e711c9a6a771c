/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slow_interval.c - the slowest interval of a write, beside the usual ones. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "explain/pause.h"
#include "model/metric.h"
#include "stats/order.h"

#define STANDS_OUT     0.8 /* of the usual rate: slower is worth a word */
#define LEAST_ROWS     3   /* for a usual rate */
#define SLIVER         0.5 /* of the usual length: a row that was cut short is none */
#define LEAST_PAUSE_US 1000.0
#define EXTRA_PCT      10.0 /* of the interval more than usual went into it */
#define PART_OF_LOSS   0.25 /* ... or this part of what was lost */
#define NEARLY_ALL_PCT 90.0
#define MOST_PCT       50.0
#define SENTENCE_MAX   2048

/* What an interval's time goes into, in per cent of it. */
static const struct kind {
	const char *metric, *says;
	size_t offset; /* of struct wp_interval */
} kinds[] = {
	{ "run_delay_pct", "was able to run but waited for a CPU",
	  offsetof(struct wp_interval, run_delay_pct) },
	{ "taker_wait_pct", "waited for room at the other end",
	  offsetof(struct wp_interval, taker_wait_pct) },
	{ "sync_pct", "was in fsync(2)", offsetof(struct wp_interval, sync_pct) },
	{ "steal_pct", "had its CPU taken by the hypervisor",
	  offsetof(struct wp_interval, steal_pct) },
};

#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct view {
	const struct wp_run *run;
	const struct wp_flow *flow;
	const struct wp_interval **rows; /* owned: those that count */
	size_t n;
	const struct wp_interval *slow;
	double usual_bps;
};

static double length_s(const struct wp_interval *row)
{
	return wp_num_or(row->end_s, 0) - wp_num_or(row->start_s, 0);
}

static struct wp_num figure(const struct wp_interval *row, size_t offset)
{
	return *(const struct wp_num *)(const void *)((const char *)row + offset);
}

/* The middle of a figure of the rows; NAN where none has it. */
static double middle(const struct view *v, size_t offset)
{
	_cleanup_free_ double *x = calloc(v->n, sizeof(*x));
	size_t n = 0;

	for (size_t i = 0; x && i < v->n; i++)
		if (wp_has(figure(v->rows[i], offset)))
			x[n++] = figure(v->rows[i], offset).v;
	if (!n)
		return NAN;
	wp_sort(x, n);
	return wp_median(x, n);
}

static bool gather(const struct wp_run *run, struct view *v)
{
	const struct wp_flow *f = &run->flows[0];
	double longest_s = 0;

	*v = (struct view) { .run = run, .flow = f };
	v->rows = calloc(f->n_intervals, sizeof(*v->rows));
	for (size_t i = 0; i < f->n_intervals; i++)
		longest_s = fmax(longest_s, length_s(&f->intervals[i]));
	for (size_t i = 0; v->rows && i < f->n_intervals; i++) {
		const struct wp_interval *row = &f->intervals[i];

		if (wp_num_or(row->omitted, 0) > 0 || !wp_has(row->bits_per_second) ||
		    length_s(row) < SLIVER * longest_s)
			continue;
		v->rows[v->n++] = row;
		if (!v->slow || row->bits_per_second.v < v->slow->bits_per_second.v)
			v->slow = row;
	}
	if (v->n < LEAST_ROWS)
		return false;
	v->usual_bps = middle(v, offsetof(struct wp_interval, bits_per_second));
	return v->slow->bits_per_second.v < STANDS_OUT * v->usual_bps;
}

/* The longest of the pauses that lie in the interval for the most part, or fill it. */
static const struct wp_pause_view *pause_in(const struct view *v)
{
	double from = wp_num_or(v->slow->start_s, 0), to = wp_num_or(v->slow->end_s, 0), most = 0;
	const struct wp_pause_view *best = NULL;

	for (size_t i = 0; i < v->flow->n_pauses; i++) {
		const struct wp_pause_view *p = &v->flow->pauses[i];
		double a = wp_num_or(p->start_s, 0), b = a + wp_num_or(p->length_us, 0) / 1e6;
		double within = fmin(b, to) - fmax(a, from);

		if (within > most) {
			most = within;
			best = p;
		}
	}
	return best;
}

static void add_evidence(struct wp_finding *f, enum wp_scope scope, const char *name, double value)
{
	const struct wp_metric *m = wp_metric_find(scope, name);

	if (m && f->n_evidence < WP_FINDING_EVIDENCE)
		f->evidence[f->n_evidence++] = (struct wp_evidence) {
			.metric = m->name, .unit = m->unit, .source = m->source, .value = value
		};
}

static void put_rate(struct wp_buf *b, double bps)
{
	char text[48];

	wp_format_rate_as(bps, 'A', text, sizeof(text));
	wp_buf_puts(b, text);
}

static void put_us(struct wp_buf *b, double us)
{
	char text[32];

	wp_format_ns(us * 1e3, text, sizeof(text));
	wp_buf_puts(b, text);
}

/* What more than usual of its time went into; how much of the loss that explains, 0..1. */
static double put_kinds(const struct view *v, struct wp_buf *b, struct wp_finding *ret)
{
	double lost_pct = 100 * (1 - v->slow->bits_per_second.v / v->usual_bps), sum = 0, all = 0;
	double least = fmin(EXTRA_PCT, PART_OF_LOSS * lost_pct);
	const char *before = ": the thread ";

	for (size_t i = 0; i < N_KINDS; i++) {
		double usual = middle(v, kinds[i].offset), pct;

		if (!wp_has(figure(v->slow, kinds[i].offset)))
			continue;
		pct = figure(v->slow, kinds[i].offset).v;
		if (pct - (isfinite(usual) ? usual : 0) < least)
			continue;
		wp_buf_printf(b, "%s%s %.0f %% of it", before, kinds[i].says, pct);
		add_evidence(ret, WP_SCOPE_INTERVAL, kinds[i].metric, pct);
		sum += pct - (isfinite(usual) ? usual : 0);
		all += pct;
		before = ", ";
	}
	if (all >= NEARLY_ALL_PCT)
		return 1;
	return lost_pct > 0 ? fmin(1, sum / lost_pct) : 1;
}

/* A kind that took most of the interval, as it does of the others: then what it waits for was slower. */
static bool put_as_usual(const struct view *v, struct wp_buf *b, struct wp_finding *ret)
{
	for (size_t i = 0; i < N_KINDS; i++) {
		struct wp_num pct = figure(v->slow, kinds[i].offset);

		if (wp_num_or(pct, 0) < MOST_PCT)
			continue;
		wp_buf_printf(b, ": as ever the thread %s, %.0f %% of it, and that was slower",
			      kinds[i].says, pct.v);
		add_evidence(ret, WP_SCOPE_INTERVAL, kinds[i].metric, pct.v);
		return true;
	}
	return false;
}

/* Neither of the kinds: it slept in the write call, or its writes took longer although it ran. */
static void put_rest(const struct view *v, struct wp_buf *b, struct wp_finding *ret)
{
	double on_cpu = wp_num_or(v->slow->on_cpu_pct, NAN),
	       paced = wp_num_or(v->slow->paced_pct, 0);
	double rest = 100 - on_cpu - paced;

	for (size_t i = 0; i < N_KINDS; i++)
		rest -= wp_num_or(figure(v->slow, kinds[i].offset), 0);
	if (!isfinite(on_cpu))
		return;
	add_evidence(ret, WP_SCOPE_INTERVAL, "on_cpu_pct", on_cpu);
	if (rest >= EXTRA_PCT)
		wp_buf_printf(b, ": the thread slept in the write call %.0f %% of it", rest);
	else
		wp_buf_printf(
			b,
			": the thread ran %.0f %% of it, so the writes themselves took longer, or the CPU did less",
			on_cpu);
}

static void put_pause(const struct wp_pause_view *p, struct wp_buf *b)
{
	if (!p || wp_num_or(p->length_us, 0) < LEAST_PAUSE_US || !p->says)
		return;
	wp_buf_puts(b, "; its longest pause, ");
	put_us(b, p->length_us.v);
	wp_buf_printf(b, " at %.3f s: %s", wp_num_or(p->start_s, 0), p->says);
}

static bool say_interval(struct wp_run *run, const struct view *v, struct wp_finding *ret)
{
	_cleanup_buf_ struct wp_buf b = WP_BUF(SENTENCE_MAX);
	const struct wp_pause_view *p = pause_in(v);
	double ratio = v->slow->bits_per_second.v / v->usual_bps, explained;
	double all_s = wp_num_or(v->flow->sent.seconds, 0);
	bool fine = length_s(v->slow) < .1;

	*ret = (struct wp_finding) { .rule = WP_RULE_SLOW_INTERVAL };
	add_evidence(ret, WP_SCOPE_INTERVAL, "bits_per_second", v->slow->bits_per_second.v);
	wp_buf_printf(&b,
		      fine ? "the slowest interval, %.3f-%.3f s, made "
			   : "the slowest interval, %.2f-%.2f s, made ",
		      v->slow->start_s.v, v->slow->end_s.v);
	if (v->slow->bits_per_second.v > 0) {
		put_rate(&b, v->slow->bits_per_second.v);
		wp_buf_printf(&b, ", %.*f %% of the usual ",
			      ratio < .001 ? 4
			      : ratio < .1 ? 1
					   : 0,
			      100 * ratio);
		put_rate(&b, v->usual_bps);
	} else {
		wp_buf_puts(&b, "nothing, where ");
		put_rate(&b, v->usual_bps);
		wp_buf_puts(&b, " is usual");
	}
	explained = put_kinds(v, &b, ret);
	if (explained < PART_OF_LOSS && put_as_usual(v, &b, ret))
		explained = PART_OF_LOSS;
	else if (explained < PART_OF_LOSS)
		put_rest(v, &b, ret);
	put_pause(p, &b);
	if (p)
		add_evidence(ret, WP_SCOPE_PAUSE, "length_us", wp_num_or(p->length_us, 0));
	ret->confidence = explained >= .7 ? "high" : explained >= PART_OF_LOSS ? "medium" : "low";
	ret->share_pct = all_s > 0 ? fmin(100, 100 * (1 - ratio) * length_s(v->slow) / all_s) : 0;
	ret->says = wp_pool_strdup(&run->pool, wp_buf_text(&b));
	return ret->says;
}

static bool say_pause(struct wp_run *run, const struct wp_flow *f, struct wp_finding *ret)
{
	const struct wp_pause_view *p = &f->pauses[0];
	_cleanup_buf_ struct wp_buf b = WP_BUF(SENTENCE_MAX);
	double all_s = wp_num_or(f->sent.seconds, 0);

	*ret = (struct wp_finding) { .rule = WP_RULE_LONGEST_PAUSE };
	add_evidence(ret, WP_SCOPE_PAUSE, "length_us", p->length_us.v);
	add_evidence(ret, WP_SCOPE_PAUSE, "run_delay_us", wp_num_or(p->run_delay_us, 0));
	add_evidence(ret, WP_SCOPE_PAUSE, "taker_wait_us", wp_num_or(p->taker_wait_us, 0));
	wp_buf_puts(&b, "the longest pause between two writes, ");
	put_us(&b, p->length_us.v);
	wp_buf_printf(&b, " at %.3f s: %s", wp_num_or(p->start_s, 0), p->says);
	ret->confidence = p->cause && !strcmp(p->cause, WP_PAUSE_UNEXPLAINED) ? "low" : "high";
	ret->share_pct = all_s > 0 ? fmin(100, 100 * p->length_us.v / 1e6 / all_s) : 0;
	ret->says = wp_pool_strdup(&run->pool, wp_buf_text(&b));
	return ret->says;
}

bool wp_pauses_finding(struct wp_run *run, struct wp_finding *ret)
{
	const struct wp_flow *f = run->n_flows ? &run->flows[0] : NULL;
	struct view v;
	bool found;

	if (!f || !run->test.kind || strcmp(run->test.kind, "write"))
		return false;
	found = gather(run, &v) && say_interval(run, &v, ret);
	free(v.rows);
	if (!found && f->n_pauses && f->pauses[0].says &&
	    wp_num_or(f->pauses[0].length_us, 0) >= LEAST_PAUSE_US)
		found = say_pause(run, f, ret);
	return found;
}
