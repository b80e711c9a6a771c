/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observe/stall_episode.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define EDGE_NS \
	(2 * WP_NS_PER_MS) /* a reading of the machine follows that of the streams at once */

static const char NO_INTERFACE[] = "the stream's interface is not known";
static const char NO_QUEUE[] = "the interface has no queue, or it can't be read";
static const char NO_CHANGES[] = "this kernel does not count them";
static const char UNREADABLE[] = "could not be read";
static const char NOT_KEPT[] = "not kept while all is well";
static const char SENDERS_OWN[] = "known to the sender";
static const char NO_TIME[] = "there was no such time";

/* ---- collecting ------------------------------------------------------------------------------- */

static void add_cells(struct wp_stall_episode *e, const struct wp_stall_cell *cells, size_t n,
		      enum wp_stall_phase phase)
{
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < e->n_sums &&
		       (e->sums[k].line != cells[i].line || e->sums[k].cpu != cells[i].cpu))
			k++;
		if (k == WP_STALL_SUMS)
			continue;
		if (k == e->n_sums)
			e->sums[e->n_sums++] = (struct wp_stall_sum) { .line = cells[i].line,
								       .cpu = cells[i].cpu };
		e->sums[k].count[phase] += cells[i].count;
	}
}

static void join(struct wp_stall_row *a, const struct wp_stall_row *b)
{
	wp_stall_moment_join(&a->moment, &b->moment);
	a->moved_bytes += b->moved_bytes;
	a->cpu_ns = a->cpu_ns < 0 || b->cpu_ns < 0 ? -1 : a->cpu_ns + b->cpu_ns;
	a->delay_ns = a->delay_ns < 0 || b->delay_ns < 0 ? -1 : a->delay_ns + b->delay_ns;
	a->has_info = b->has_info;
	a->info = b->info;
}

/* Makes room: neighbours within the stall become one; what is just before and after it stays as fine as it is. */
static void fold(struct wp_stall_episode *e)
{
	size_t to = 0;

	for (size_t from = 0; from < e->n_rows; to++) {
		struct wp_stall_row row = e->rows[from++];

		if (from < e->n_rows && row.phase == WP_STALL_DURING &&
		    e->rows[from].phase == WP_STALL_DURING)
			join(&row, &e->rows[from++]);
		e->rows[to] = row;
	}
	/* Nothing of it was within: many short ones with calm times between. The oldest goes. */
	if (to == WP_MAX_STALL_READINGS)
		memmove(e->rows, e->rows + 1, --to * sizeof(e->rows[0]));
	e->n_rows = to;
}

static void take(struct wp_stall_episode *e, const struct wp_stall_row *row,
		 const struct wp_stall_cell *cells, size_t n_cells, enum wp_stall_phase phase)
{
	if (e->n_rows == WP_MAX_STALL_READINGS)
		fold(e);
	e->rows[e->n_rows] = *row;
	e->rows[e->n_rows++].phase = phase;
	e->phase_ns[phase] += row->moment.to_ns - row->moment.from_ns;
	add_cells(e, cells, n_cells, phase);
}

void wp_stall_episode_begin(struct wp_stall_episode *e, int64_t since_ns)
{
	e->open = true;
	e->after = 0;
	for (size_t i = 0; i < e->n_ring; i++) {
		size_t at = (e->next + WP_STALL_AROUND - e->n_ring + i) % WP_STALL_AROUND;
		const struct wp_stall_moment *m = &e->ring[at].moment;
		/* Of a reading that the begin cuts, the larger part decides. */
		bool within = since_ns - m->from_ns < m->to_ns - since_ns;

		take(e, &e->ring[at], e->ring_cells[at], e->ring_n_cells[at],
		     within ? WP_STALL_DURING : WP_STALL_BEFORE);
	}
	e->n_ring = e->next = 0;
}

void wp_stall_episode_add(struct wp_stall_episode *e, const struct wp_stall_row *row,
			  const struct wp_stall_cell *cells, size_t n_cells, bool still)
{
	if (e->open) {
		e->after = still ? 0 : e->after + 1;
		take(e, row, cells, n_cells, still ? WP_STALL_DURING : WP_STALL_AFTER);
		return;
	}
	e->ring[e->next] = *row;
	memcpy(e->ring_cells[e->next], cells, n_cells * sizeof(*cells));
	e->ring_n_cells[e->next] = n_cells;
	e->next = (e->next + 1) % WP_STALL_AROUND;
	if (e->n_ring < WP_STALL_AROUND)
		e->n_ring++;
}

void wp_stall_episode_end(struct wp_stall_episode *e)
{
	e->open = false;
	e->n_rows = e->n_sums = 0;
	e->after = 0;
	memset(e->phase_ns, 0, sizeof(e->phase_ns));
}

/* ---- telling ---------------------------------------------------------------------------------- */

static struct wp_num count_or(bool has, uint64_t v, const char *why)
{
	return has ? wp_num((double)v) : wp_absent(why);
}

/* Readings within, as one. The one that sees it begin holds what moved before, and the one that sees it go on what went on
 * with; `loose`: those whose larger part is within, where there are no others. */
static bool sum_of(const struct wp_stall_episode *e, int64_t from_ns, int64_t to_ns, bool loose,
		   struct wp_stall_moment *ret)
{
	bool any = false;

	for (size_t i = 0; i < e->n_rows; i++) {
		const struct wp_stall_moment *m = &e->rows[i].moment;
		int64_t middle_ns = m->from_ns + (m->to_ns - m->from_ns) / 2;
		bool within =
			loose ? middle_ns > from_ns && middle_ns <= to_ns
			      : m->from_ns >= from_ns - EDGE_NS && m->to_ns <= to_ns + EDGE_NS;

		if (!within || e->rows[i].phase != WP_STALL_DURING)
			continue;
		if (any)
			wp_stall_moment_join(ret, m);
		else
			*ret = *m;
		any = true;
	}
	return any;
}

/* Of every reading that is partly within: the carrier goes a moment before the last byte gets through. */
static void carrier_of(const struct wp_stall_episode *e, int64_t from_ns, int64_t to_ns,
		       struct wp_stall_moment *ret)
{
	ret->carrier_changes = 0;
	ret->down_ns = 0;
	for (size_t i = 0; i < e->n_rows; i++) {
		const struct wp_stall_moment *m = &e->rows[i].moment;

		if (m->to_ns <= from_ns || m->from_ns >= to_ns)
			continue;
		ret->carrier_changes += m->carrier_changes;
		ret->down_ns += m->down_ns;
	}
}

void wp_stall_episode_view(const struct wp_stall_episode *e, int64_t from_ns, int64_t to_ns,
			   struct wp_stall_view *ret)
{
	struct wp_stall_moment m = { 0 };

	/* Without any all of it is absent. */
	if (!sum_of(e, from_ns, to_ns, false, &m))
		(void)sum_of(e, from_ns, to_ns, true, &m);
	carrier_of(e, from_ns, to_ns, &m);
	ret->carrier_changes = count_or(m.has_link && m.has_changes, m.carrier_changes,
					m.has_link ? NO_CHANGES : NO_INTERFACE);
	ret->carrier_down_s =
		m.has_link ? wp_num((double)m.down_ns / 1e9) : wp_absent(NO_INTERFACE);
	ret->tx_packets = count_or(m.has_stats, m.tx_packets, NO_INTERFACE);
	ret->rx_packets = count_or(m.has_stats, m.rx_packets, NO_INTERFACE);
	ret->tx_dropped = count_or(m.has_stats, m.tx_dropped, NO_INTERFACE);
	ret->rx_dropped = count_or(m.has_stats, m.rx_dropped, NO_INTERFACE);
	ret->least_queued_packets = count_or(m.has_queue, m.least_queued, NO_QUEUE);
	ret->most_queued_packets = count_or(m.has_queue, m.most_queued, NO_QUEUE);
	ret->dequeued_packets = count_or(m.has_queue, m.dequeued, NO_QUEUE);
	ret->queue_drops = count_or(m.has_queue, m.queue_drops, NO_QUEUE);
	ret->requeues = count_or(m.has_queue, m.requeues, NO_QUEUE);
	ret->softnet_dropped = count_or(m.has_softnet, m.dropped, UNREADABLE);
	ret->softnet_squeezed = count_or(m.has_softnet, m.squeezed, UNREADABLE);
}

static void put_socket(const struct wp_stall_row *row, bool sends, struct wp_stall_reading *r)
{
	const struct wp_tcp_info *i = &row->info;

	if (!sends || !row->has_info) {
		r->unacked = r->notsent_bytes = r->snd_wnd_bytes = r->cwnd_bytes = r->rto_us =
			r->backoff = r->timeouts = r->probes =
				wp_absent(sends ? NOT_KEPT : SENDERS_OWN);
		return;
	}
	r->unacked = wp_num(i->unacked);
	r->notsent_bytes = count_or(i->has_segments, i->notsent_bytes, NO_CHANGES);
	r->snd_wnd_bytes = count_or(i->has_snd_wnd, i->snd_wnd_bytes, NO_CHANGES);
	r->cwnd_bytes = wp_num((double)i->snd_cwnd * i->snd_mss_bytes);
	r->rto_us = wp_num(i->rto_us);
	r->backoff = wp_num(i->backoff);
	r->timeouts = wp_num(i->retransmits);
	r->probes = wp_num(i->probes);
}

static struct wp_num share(int64_t part_ns, int64_t wall_ns)
{
	double pct = part_ns < 0 || wall_ns <= 0 ? -1 : 100.0 * (double)part_ns / (double)wall_ns;

	return pct < 0 ? wp_absent(UNREADABLE) : wp_num(pct > 100 ? 100 : pct);
}

static struct wp_stall_reading reading_of(const struct wp_stall_row *row, int64_t zero_ns,
					  bool sends)
{
	static const char *const phases[] = { "before", "during", "after" };
	const struct wp_stall_moment *m = &row->moment;
	struct wp_stall_reading r = {
		.phase = phases[row->phase],
		.start_s = wp_num((double)(m->from_ns - zero_ns) / 1e9),
		.end_s = wp_num((double)(m->to_ns - zero_ns) / 1e9),
		.moved_bytes = wp_num((double)row->moved_bytes),
		.cpu_pct = share(row->cpu_ns, m->to_ns - m->from_ns),
		.run_delay_pct = share(row->delay_ns, m->to_ns - m->from_ns),
		.interrupts = count_or(m->has_interrupts, m->interrupts, UNREADABLE),
		.net_rx = count_or(m->has_softirqs, m->net_rx, UNREADABLE),
		.net_tx = count_or(m->has_softirqs, m->net_tx, UNREADABLE),
		.softnet_processed = count_or(m->has_softnet, m->processed, UNREADABLE),
		.softnet_dropped = count_or(m->has_softnet, m->dropped, UNREADABLE),
		.softnet_squeezed = count_or(m->has_softnet, m->squeezed, UNREADABLE),
		.carrier = count_or(m->has_link, m->carrier, NO_INTERFACE),
		.carrier_changes = count_or(m->has_link && m->has_changes, m->carrier_changes,
					    m->has_link ? NO_CHANGES : NO_INTERFACE),
		.tx_packets = count_or(m->has_stats, m->tx_packets, NO_INTERFACE),
		.rx_packets = count_or(m->has_stats, m->rx_packets, NO_INTERFACE),
		.tx_dropped = count_or(m->has_stats, m->tx_dropped, NO_INTERFACE),
		.rx_dropped = count_or(m->has_stats, m->rx_dropped, NO_INTERFACE),
		.queued_packets = count_or(m->has_queue, m->queued, NO_QUEUE),
		.dequeued_packets = count_or(m->has_queue, m->dequeued, NO_QUEUE),
		.queue_drops = count_or(m->has_queue, m->queue_drops, NO_QUEUE),
		.requeues = count_or(m->has_queue, m->requeues, NO_QUEUE),
	};

	put_socket(row, sends, &r);
	return r;
}

size_t wp_stall_episode_readings(const struct wp_stall_episode *e, int64_t zero_ns, bool sends,
				 struct wp_stall_reading *ret)
{
	for (size_t i = 0; i < e->n_rows; i++)
		ret[i] = reading_of(&e->rows[i], zero_ns, sends);
	return e->n_rows;
}

static struct wp_num rate(uint64_t count, int64_t ns)
{
	return ns > 0 ? wp_num((double)count * 1e9 / (double)ns) : wp_absent(NO_TIME);
}

/* What makes a line worth a row: an interrupt of the interface, then how much it did. */
static double weight(const struct wp_stall_line *l)
{
	double most = wp_num_or(l->before_per_s, 0);

	if (wp_num_or(l->during_per_s, 0) > most)
		most = l->during_per_s.v;
	if (wp_num_or(l->after_per_s, 0) > most)
		most = l->after_per_s.v;
	return most + (wp_num_or(l->device, 0) > 0 ? 1e12 : 0);
}

static int heavier(const void *a, const void *b)
{
	double x = weight(a), y = weight(b);

	return (x < y) - (x > y);
}

size_t wp_stall_episode_lines(const struct wp_stall_episode *e, const struct wp_stall_machine *m,
			      struct wp_stall_line *ret)
{
	struct wp_stall_line all[WP_STALL_SUMS];
	size_t n = e->n_sums < WP_MAX_STALL_LINES ? e->n_sums : WP_MAX_STALL_LINES;

	for (size_t i = 0; i < e->n_sums; i++) {
		const struct wp_stall_sum *s = &e->sums[i];
		bool device;

		all[i] = (struct wp_stall_line) {
			.name = wp_stall_machine_line(m, s->line, &device),
			.cpu = wp_num(s->cpu),
			.before_per_s =
				rate(s->count[WP_STALL_BEFORE], e->phase_ns[WP_STALL_BEFORE]),
			.during_per_s =
				rate(s->count[WP_STALL_DURING], e->phase_ns[WP_STALL_DURING]),
			.after_per_s = rate(s->count[WP_STALL_AFTER], e->phase_ns[WP_STALL_AFTER]),
		};
		all[i].device = wp_num(device);
	}
	qsort(all, e->n_sums, sizeof(all[0]), heavier);
	memcpy(ret, all, n * sizeof(all[0]));
	return n;
}
