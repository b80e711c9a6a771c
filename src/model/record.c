/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/record.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/metric.h"

#define MAX_WARNINGS 64

void wp_run_init(struct wp_run *run)
{
	memset(run, 0, sizeof(*run));
	run->pool = WP_POOL(WP_RUN_POOL_BYTES);
}

void wp_run_done(struct wp_run *run)
{
	if (!run)
		return;
	wp_pool_done(&run->pool);
	memset(run, 0, sizeof(*run));
}

void wp_run_warn(struct wp_run *run, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (run->n_warnings >= MAX_WARNINGS)
		return;
	if (!run->warnings)
		run->warnings = wp_pool_calloc(&run->pool, MAX_WARNINGS, sizeof(char *));
	if (!run->warnings)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (run->n_warnings == MAX_WARNINGS - 1)
		snprintf(text, sizeof(text), "more warnings were left out");
	run->warnings[run->n_warnings] = wp_pool_strdup(&run->pool, text);
	if (run->warnings[run->n_warnings])
		run->n_warnings++;
}

static const struct wp_host *host_at(const struct wp_run *run, size_t i)
{
	return i < run->n_hosts ? &run->hosts[i] : NULL;
}

static bool first_host_sends(const struct wp_flow *f)
{
	return !f->role || strcmp(f->role, "receiver") != 0;
}

const struct wp_host *wp_flow_sender(const struct wp_run *run, const struct wp_flow *f)
{
	return host_at(run, first_host_sends(f) ? 0 : 1);
}

const struct wp_host *wp_flow_receiver(const struct wp_run *run, const struct wp_flow *f)
{
	return host_at(run, first_host_sends(f) ? 1 : 0);
}

const struct wp_cpu_use *wp_host_cpu(const struct wp_host *h, int cpu)
{
	for (size_t i = 0; h && i < h->n_cpus; i++)
		if (wp_has(h->cpus[i].cpu) && (int)h->cpus[i].cpu.v == cpu)
			return &h->cpus[i];
	return NULL;
}

/* Copies each figure of `scope` that `to` lacks and `from` has. */
static void complete(enum wp_scope scope, void *to, const void *from)
{
	for (size_t i = 0; i < wp_n_metrics; i++) {
		const struct wp_metric *m = &wp_metrics[i];
		char *dst = (char *)to + m->offset;
		const char *src = (const char *)from + m->offset;

		if (m->scope != scope)
			continue;
		if (m->kind == WP_LABEL) {
			const char **label = (const char **)(void *)dst;

			if (!*label)
				*label = *(const char *const *)(const void *)src;
		} else if (m->kind != WP_LIST) {
			struct wp_num *n = (struct wp_num *)(void *)dst;

			struct wp_num theirs = *(const struct wp_num *)(const void *)src;

			if (!wp_has(*n) && (wp_has(theirs) || !n->why))
				*n = theirs;
		}
	}
}

void wp_flow_merge_peer(struct wp_flow *mine, const struct wp_flow *theirs)
{
	complete(WP_SCOPE_FLOW, mine, theirs);
	complete(WP_SCOPE_END, &mine->sent, &theirs->sent);
	complete(WP_SCOPE_END, &mine->received, &theirs->received);
	mine->peer_intervals = theirs->intervals;
	mine->n_peer_intervals = theirs->n_intervals;
}

void wp_flow_settle_losses(struct wp_flow *f)
{
	bool here = !first_host_sends(f);
	struct wp_interval *rows = here ? f->intervals : f->peer_intervals;
	size_t n_rows = here ? f->n_intervals : f->n_peer_intervals;
	struct wp_flow_end *r = &f->received;
	double once, missed;

	if (!wp_has(f->sent.all_packets) || !wp_has(r->all_packets) || !wp_has(r->all_lost))
		return;
	/* Without sequence numbers there are no duplicates that one could know of. */
	once = r->all_packets.v - wp_num_or(r->all_duplicated, 0) - wp_num_or(r->all_late, 0);
	missed = f->sent.all_packets.v - once - r->all_lost.v;
	if (missed <= 0)
		return;
	r->all_lost.v += missed;
	if (wp_has(r->lost))
		r->lost.v += missed;
	if (n_rows && wp_has(rows[n_rows - 1].lost))
		rows[n_rows - 1].lost.v += missed;
}

int wp_inventory_copy(const struct wp_inventory *from, struct wp_inventory *ret,
		      struct wp_pool *pool)
{
	*ret = *from;
	for (size_t i = 0; i < wp_n_metrics; i++) {
		const char **label = (const char **)(void *)((char *)ret + wp_metrics[i].offset);

		if (wp_metrics[i].scope != WP_SCOPE_INVENTORY || wp_metrics[i].kind != WP_LABEL ||
		    !*label)
			continue;
		*label = wp_pool_strdup(pool, *label);
		if (!*label)
			return -ENOMEM;
	}
	return 0;
}

/* ---- distributions --------------------------------------------------------------------------- */

static struct wp_num quantile_us(const struct wp_hist *h, double q)
{
	uint64_t ns;

	return wp_hist_quantile(h, q, &ns) ? wp_absent("nothing was measured")
					   : wp_num((double)ns / 1e3);
}

int wp_histogram_from(const struct wp_hist *h, const char *name, struct wp_histogram *ret,
		      struct wp_pool *pool)
{
	size_t n = wp_hist_pairs(h, NULL, 0);

	*ret = (struct wp_histogram) {
		.name = name,
		.bits = h->bits,
		.count = wp_num((double)h->n),
		.min_us = quantile_us(h, 0),
		.p50_us = quantile_us(h, .5),
		.p90_us = quantile_us(h, .9),
		.p99_us = quantile_us(h, .99),
		.p999_us = quantile_us(h, .999),
		.p9999_us = quantile_us(h, .9999),
		.max_us = quantile_us(h, 1),
		.mean_us = h->n ? wp_num(wp_hist_mean(h) / 1e3) : wp_absent("nothing was measured"),
	};
	ret->buckets = wp_pool_calloc(pool, n, sizeof(*ret->buckets));
	if (n && !ret->buckets)
		return -ENOMEM;
	ret->n_buckets = n ? wp_hist_pairs(h, ret->buckets, n) : 0;
	return 0;
}

int wp_histogram_load(const struct wp_histogram *from, struct wp_hist *ret)
{
	int r = wp_hist_init(ret, from->bits, NULL);

	if (!r)
		r = wp_hist_from_pairs(ret, from->buckets, from->n_buckets,
				       (uint64_t)llround(wp_num_or(from->min_us, 0) * 1e3),
				       (uint64_t)llround(wp_num_or(from->max_us, 0) * 1e3),
				       wp_num_or(from->mean_us, 0) * 1e3);
	if (r)
		wp_hist_done(ret);
	return r;
}

const struct wp_histogram *wp_host_histogram(const struct wp_host *h, const char *name)
{
	for (size_t i = 0; i < h->n_histograms; i++)
		if (!strcmp(h->histograms[i].name, name))
			return &h->histograms[i];
	return NULL;
}
