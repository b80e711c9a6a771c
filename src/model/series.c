/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int wp_series_init(struct wp_series *s, size_t cap)
{
	memset(s, 0, sizeof(*s));
	if (cap < 4)
		return -EINVAL;
	s->cap = cap & ~(size_t)1;
	s->rows = calloc(s->cap, sizeof(*s->rows));
	return s->rows ? 0 : -ENOMEM;
}

static struct wp_num sum(struct wp_num a, struct wp_num b)
{
	if (!wp_has(a) || !wp_has(b))
		return wp_has(a) ? b : a;
	return wp_num(a.v + b.v);
}

/* A delta that one row lacks is in the other's: it counts from the last reading, rows of many streams take turns. */
static struct wp_num joined(struct wp_num a, struct wp_num b)
{
	if (!wp_has(a) || !wp_has(b))
		return wp_has(a) ? a : b;
	return wp_num(a.v + b.v);
}

static struct wp_num weighted(struct wp_num a, struct wp_num b, double wa, double wb)
{
	if (!wp_has(a) || !wp_has(b))
		return wp_has(a) ? a : b;
	return wa + wb > 0 ? wp_num((a.v * wa + b.v * wb) / (wa + wb)) : b;
}

static struct wp_num greater(struct wp_num a, struct wp_num b)
{
	if (!wp_has(a) || !wp_has(b))
		return wp_has(a) ? a : b;
	return a.v > b.v ? a : b;
}

static struct wp_num later(struct wp_num a, struct wp_num b)
{
	return wp_has(b) ? b : a;
}

struct wp_interval wp_interval_fold(const struct wp_interval *a, const struct wp_interval *b)
{
	double wa = wp_num_or(a->end_s, 0) - wp_num_or(a->start_s, 0);
	double wb = wp_num_or(b->end_s, 0) - wp_num_or(b->start_s, 0);
	struct wp_interval f = *b;

	f.start_s = a->start_s;
	f.bytes = sum(a->bytes, b->bytes);
	f.packets = joined(a->packets, b->packets);
	f.retransmits = joined(a->retransmits, b->retransmits);
	f.lost = sum(a->lost, b->lost);
	f.out_of_order = sum(a->out_of_order, b->out_of_order);
	f.duplicated = sum(a->duplicated, b->duplicated);
	f.socket_drops = sum(a->socket_drops, b->socket_drops);
	f.send_drops = sum(a->send_drops, b->send_drops);
	f.shortfall_packets = sum(a->shortfall_packets, b->shortfall_packets);
	f.transactions = sum(a->transactions, b->transactions);
	f.timeouts = sum(a->timeouts, b->timeouts);
	f.jitter_us = later(a->jitter_us, b->jitter_us);
	if (wp_has(a->latency_p50_us) && wp_has(b->latency_p50_us))
		f.latency_p50_us = f.latency_p99_us =
			wp_absent("rows were joined: percentiles of two rows can't be");
	f.latency_max_us = greater(a->latency_max_us, b->latency_max_us);
	f.longest_us = greater(a->longest_us, b->longest_us);
	f.on_cpu_pct = weighted(a->on_cpu_pct, b->on_cpu_pct, wa, wb);
	f.run_delay_pct = weighted(a->run_delay_pct, b->run_delay_pct, wa, wb);
	f.taker_wait_pct = weighted(a->taker_wait_pct, b->taker_wait_pct, wa, wb);
	f.sync_pct = weighted(a->sync_pct, b->sync_pct, wa, wb);
	f.paced_pct = weighted(a->paced_pct, b->paced_pct, wa, wb);
	f.steal_pct = weighted(a->steal_pct, b->steal_pct, wa, wb);
	f.bits_per_second = wa + wb > 0 && wp_has(f.bytes) ? wp_num(f.bytes.v * 8 / (wa + wb))
							   : b->bits_per_second;
	f.busy_pct = weighted(a->busy_pct, b->busy_pct, wa, wb);
	f.rwnd_limited_pct = weighted(a->rwnd_limited_pct, b->rwnd_limited_pct, wa, wb);
	f.sndbuf_limited_pct = weighted(a->sndbuf_limited_pct, b->sndbuf_limited_pct, wa, wb);
	f.app_limited = weighted(a->app_limited, b->app_limited, wa, wb);
	f.cwnd_bytes = later(a->cwnd_bytes, b->cwnd_bytes);
	f.rtt_us = weighted(a->rtt_us, b->rtt_us, wa, wb);
	f.rttvar_us = weighted(a->rttvar_us, b->rttvar_us, wa, wb);
	f.delivery_bps = later(a->delivery_bps, b->delivery_bps);
	f.pacing_bps = later(a->pacing_bps, b->pacing_bps);
	f.unacked = later(a->unacked, b->unacked);
	f.notsent_bytes = weighted(a->notsent_bytes, b->notsent_bytes, wa, wb);
	f.snd_wnd_bytes = later(a->snd_wnd_bytes, b->snd_wnd_bytes);
	f.incoming_cpu = later(a->incoming_cpu, b->incoming_cpu);
	f.min_rtt_us = later(a->min_rtt_us, b->min_rtt_us);
	if (wp_has(a->min_rtt_us) && wp_has(b->min_rtt_us) && a->min_rtt_us.v < b->min_rtt_us.v)
		f.min_rtt_us = a->min_rtt_us;
	return f;
}

static bool same_phase(const struct wp_interval *a, const struct wp_interval *b)
{
	return wp_num_or(a->omitted, 0) == wp_num_or(b->omitted, 0);
}

/* Joins neighbours; rows of different phases stay apart, so the result may be longer than half. */
static void halve(struct wp_series *s)
{
	size_t to = 0;

	for (size_t from = 0; from < s->n; from++) {
		if (from + 1 < s->n && same_phase(&s->rows[from], &s->rows[from + 1])) {
			s->rows[to++] = wp_interval_fold(&s->rows[from], &s->rows[from + 1]);
			from++;
		} else {
			s->rows[to++] = s->rows[from];
		}
	}
	s->n = to;
	s->folds++;
}

static void push(struct wp_series *s, const struct wp_interval *row)
{
	if (s->n == s->cap)
		halve(s);
	s->rows[s->n++] = *row;
}

void wp_series_finish(struct wp_series *s)
{
	if (s->pending_n)
		push(s, &s->pending);
	s->pending_n = 0;
}

void wp_series_add(struct wp_series *s, const struct wp_interval *row)
{
	if (s->pending_n && !same_phase(&s->pending, row))
		wp_series_finish(s);
	s->pending = s->pending_n ? wp_interval_fold(&s->pending, row) : *row;
	if (++s->pending_n >= 1u << s->folds)
		wp_series_finish(s);
}

void wp_series_done(struct wp_series *s)
{
	if (!s)
		return;
	free(s->rows);
	memset(s, 0, sizeof(*s));
}
