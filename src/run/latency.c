/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/latency.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define NOTE_BYTES 1024

const char *wp_latency_grade(double added_us)
{
	static const struct {
		double below_us;
		const char *grade;
	} grades[] = {
		{ 5e3, "A+" }, { 30e3, "A" }, { 60e3, "B" }, { 200e3, "C" }, { 400e3, "D" },
	};

	for (size_t i = 0; i < WP_ARRAY_SIZE(grades); i++)
		if (added_us < grades[i].below_us)
			return grades[i].grade;
	return "F";
}

static const struct wp_histogram *latency_of(const struct wp_run *rr)
{
	const struct wp_histogram *h =
		rr && rr->n_hosts ? wp_host_histogram(&rr->hosts[0], "latency") : NULL;

	return h && wp_num_or(h->count, 0) > 0 ? h : NULL;
}

static void put_cpus(struct wp_buf *b, const char *who, const struct wp_host *h)
{
	const struct wp_ints *l = &h->observed_app_cpus;

	for (size_t i = 0; i < l->n; i++)
		wp_buf_printf(b, "%s%d", i ? "," : who, l->v[i]);
	if (l->n && !h->asked_app_cpus.n)
		wp_buf_puts(b, " (not pinned)");
}

/* "200 requests/s over TCP, client on CPU 1 (not pinned), server on CPU 0" */
static const char *describe(const struct wp_run *rr, struct wp_pool *pool)
{
	_cleanup_buf_ struct wp_buf b = WP_BUF(NOTE_BYTES);
	double timeouts = wp_num_or(rr->total.timeouts, 0);

	wp_buf_printf(&b, "%.6g requests/s over %s", wp_num_or(rr->test.rate_hz, 0),
		      rr->test.protocol ? rr->test.protocol : "?");
	put_cpus(&b, ", client on CPU ", &rr->hosts[0]);
	if (rr->n_hosts > 1)
		put_cpus(&b, ", server on CPU ", &rr->hosts[1]);
	if (timeouts > 0)
		wp_buf_printf(&b, "; %.0f had no response in time and are not in it", timeouts);
	return wp_pool_strdup(pool, wp_buf_text(&b));
}

static int add_histogram(struct wp_run *run, const struct wp_histogram *from, const char *name,
			 const char *note)
{
	struct wp_host *h = &run->hosts[0];
	struct wp_histogram *all, *to;

	if (h->n_histograms >= WP_MAX_HISTOGRAMS)
		return 0;
	all = wp_pool_calloc(&run->pool, h->n_histograms + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	if (h->n_histograms)
		memcpy(all, h->histograms, h->n_histograms * sizeof(*all));
	to = &all[h->n_histograms];
	*to = *from;
	to->name = name;
	to->note = note;
	to->buckets = wp_pool_calloc(&run->pool, from->n_buckets, sizeof(*to->buckets));
	if (!note || !to->buckets)
		return -ENOMEM;
	memcpy(to->buckets, from->buckets, from->n_buckets * sizeof(*to->buckets));
	h->histograms = all;
	h->n_histograms++;
	return 0;
}

struct figures {
	struct wp_num *p50, *p99, *max, *mean;
};

static int take(struct wp_run *run, const struct wp_run *rr, const char *name, const char *why,
		const struct figures *to)
{
	const struct wp_histogram *h = latency_of(rr);

	if (!h) {
		/* Nothing was asked for: the figures are left out, not missing. */
		why = why ? wp_pool_strdup(&run->pool, why) : NULL;
		*to->p50 = *to->p99 = *to->max = *to->mean = wp_absent(why);
		return 0;
	}
	*to->p50 = h->p50_us;
	*to->p99 = h->p99_us;
	*to->max = h->max_us;
	*to->mean = h->mean_us;
	return add_histogram(run, h, name, describe(rr, &run->pool));
}

static struct wp_num minus(struct wp_num a, struct wp_num b)
{
	if (!wp_has(a) || !wp_has(b))
		return wp_has(a) ? b : a;
	return wp_num(a.v - b.v);
}

int wp_run_latency(struct wp_run *run, const struct wp_run *idle, const char *idle_why,
		   const struct wp_run *loaded, const char *loaded_why)
{
	struct wp_total *t = &run->total;
	const struct figures i = { &t->idle_p50_us, &t->idle_p99_us, &t->idle_max_us,
				   &t->idle_mean_us };
	const struct figures l = { &t->loaded_p50_us, &t->loaded_p99_us, &t->loaded_max_us,
				   &t->loaded_mean_us };
	int r = take(run, idle, "latency_idle", idle_why, &i);

	if (!r)
		r = take(run, loaded, "latency_loaded", loaded_why, &l);
	if (r)
		return r;
	t->added_latency_us = minus(t->loaded_p50_us, t->idle_p50_us);
	t->added_latency_p99_us = minus(t->loaded_p99_us, t->idle_p99_us);
	t->rpm = wp_has(t->loaded_mean_us) && t->loaded_mean_us.v > 0
			 ? wp_num(60e6 / t->loaded_mean_us.v)
			 : wp_absent(t->loaded_mean_us.why);
	if (wp_has(t->added_latency_us))
		t->latency_grade = wp_latency_grade(t->added_latency_us.v);
	return 0;
}
