/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interval rows of a record and the closing lines. TCP: rows of this end, then a line for each end of a flow. UDP: in
 * each row both ends beside each other, and one closing line. Request/response: the rows of who asks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/series.h"
#include "report/run_doc.h"

#define REPEATED_ROWS 60 /* that were on the screen once; more become a line of bars */

/* UDP: the rows of both ends of a flow over the same times; NULL where an end's are not known. */
struct ends {
	const struct wp_interval *sent, *received;
	size_t n;
};

struct part {
	struct wp_doc *doc;
	const struct wp_run *run;
	const struct wp_interval_cols *cols;
	struct wp_doc_table *table;
	size_t n[2]; /* flows that hosts[0] receives [0], sends [1] */
	size_t cursor[WP_INTERVAL_CPUS];
	bool ruled;        /* the closing lines have begun */
	struct ends *ends; /* UDP: of each flow; NULL = rows of this end only */
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

static struct ends rows_of(const struct part *p, size_t flow)
{
	const struct wp_flow *f = &p->run->flows[flow];

	if (p->ends)
		return p->ends[flow];
	return (struct ends) { .sent = sends(f) ? f->intervals : NULL,
			       .received = sends(f) ? NULL : f->intervals,
			       .n = f->n_intervals };
}

static size_t longest(const struct part *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->run->n_flows; i++)
		if (rows_of(p, i).n > n)
			n = rows_of(p, i).n;
	return n;
}

/* Lines side by side, added up. */
struct sum {
	struct wp_interval row, sent, received;
	size_t n, n_sent, n_received;
};

static void add_line(struct sum *sum, const struct wp_interval_line *line)
{
	wp_interval_add(&sum->row, &line->row, !sum->n++);
	if (line->sent)
		wp_interval_add(&sum->sent, line->sent, !sum->n_sent++);
	if (line->received)
		wp_interval_add(&sum->received, line->received, !sum->n_received++);
}

/* What one flow lacks the sum lacks. */
static struct wp_interval_line sum_line(const struct sum *sum, bool s)
{
	return (struct wp_interval_line) { .id = "SUM",
					   .sends = s,
					   .sum = true,
					   .row = sum->row,
					   .sent = sum->n_sent == sum->n ? &sum->sent : NULL,
					   .received = sum->n_received == sum->n ? &sum->received
										 : NULL };
}

static bool line_at(const struct part *p, size_t flow, size_t at, struct wp_interval_line *ret)
{
	const struct wp_flow *f = &p->run->flows[flow];
	struct ends e = rows_of(p, flow);

	if (at >= e.n)
		return false;
	*ret = (struct wp_interval_line) { .id = f->id ? f->id : "?",
					   .sends = sends(f),
					   .sent = e.sent ? &e.sent[at] : NULL,
					   .received = e.received ? &e.received[at] : NULL };
	ret->row = sends(f) == (ret->sent != NULL) && ret->sent ? *ret->sent
		   : ret->received                              ? *ret->received
								: *ret->sent;
	return true;
}

/* Row `at` of every flow, then their sum for each direction. */
static void put_rows_at(struct part *p, size_t at)
{
	struct sum sum[2] = { 0 };

	for (size_t i = 0; i < p->run->n_flows; i++) {
		struct wp_interval_line line;

		if (!line_at(p, i, at, &line))
			continue;
		add_line(&sum[line.sends], &line);
		if (p->n[line.sends] <= WP_INTERVAL_MAX_STREAMS)
			put_line(p, &line);
	}
	for (int s = 1; s >= 0; s--)
		if (p->n[s] > 1 && sum[s].n) {
			struct wp_interval_line line = sum_line(&sum[s], s);

			put_line(p, &line);
		}
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
		.out_of_order = end->out_of_order,
		.duplicated = end->duplicated,
		.socket_drops = end->socket_drops,
		.send_drops = end->send_drops,
		.transactions = end->transactions,
		.timeouts = end->timeouts,
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

/* A line that closes the rows above it, where nothing but a rule tells it from them. */
static void put_closing(struct part *p, struct wp_interval_line *line)
{
	line->total = true;
	if (!wp_has(line->row.end_s))
		line->row.start_s = line->row.end_s;
	put_line(p, line);
	if ((p->table->n_rows > 1 || p->table->headless) && !p->ruled)
		p->table->last->rule = true;
	p->ruled = true;
}

/* UDP: both ends of a flow or of several, in one line. */
static void put_ends_total(struct part *p, const char *id, bool s, const struct wp_interval *sent,
			   const struct wp_interval *received, bool sum)
{
	struct wp_interval_line line = { .id = id,
					 .sends = s,
					 .sum = sum,
					 .row = s ? *sent : *received,
					 .sent = wp_has(sent->packets) ? sent : NULL,
					 .received = wp_has(received->packets) ? received : NULL };

	put_closing(p, &line);
}

static void put_transactions_total(struct part *p, const struct wp_flow *f)
{
	const struct wp_total *t = &p->run->total;
	struct wp_interval_line line = { .id = f->id, .row = as_interval(p->run, &f->sent) };

	line.row.latency_p50_us = t->latency_p50_us;
	line.row.latency_p99_us = t->latency_p99_us;
	line.row.latency_max_us = t->latency_max_us;
	put_closing(p, &line);
}

static void put_write_total(struct part *p, const struct wp_flow *f)
{
	const struct wp_host *h = p->run->n_hosts ? &p->run->hosts[0] : NULL;
	const struct wp_thread_use *t = h && h->n_threads ? &h->threads[0] : NULL;
	struct wp_interval_line line = { .id = f->id, .row = as_interval(p->run, &f->sent) };

	line.row.on_cpu_pct = t ? t->cpu_pct : wp_absent("not measured");
	line.row.run_delay_pct = t ? t->run_delay_pct : wp_absent("not measured");
	line.row.taker_wait_pct = f->sent.taker_wait_pct;
	line.row.sync_pct = f->sent.sync_pct;
	line.row.longest_us = wp_absent("no interval has it");
	for (size_t i = 0; i < f->n_intervals; i++)
		if (wp_has(f->intervals[i].longest_us) &&
		    !(f->intervals[i].longest_us.v <= line.row.longest_us.v))
			line.row.longest_us = f->intervals[i].longest_us;
	put_closing(p, &line);
}

static void put_flow_total(struct part *p, const struct wp_flow *f)
{
	const char *id = f->id ? f->id : "?";

	if (p->cols->proto == WP_INTERVAL_RR) {
		put_transactions_total(p, f);
		return;
	}
	if (p->cols->proto == WP_INTERVAL_WRITE) {
		put_write_total(p, f);
		return;
	}
	if (p->cols->proto == WP_INTERVAL_UDP) {
		struct wp_interval sent = as_interval(p->run, &f->sent),
				   received = as_interval(p->run, &f->received);

		put_ends_total(p, id, sends(f), &sent, &received, false);
		return;
	}
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
	if (p->cols->proto == WP_INTERVAL_UDP) {
		put_ends_total(p, "SUM", s, &sum[0], &sum[1], true);
		return;
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
	if (!slow || p->cols->proto == WP_INTERVAL_RR)
		return;
	if (p->cols->proto == WP_INTERVAL_UDP) {
		put_flow_total(p, slow);
		wp_doc_tail(p->table, "slowest");
		put_flow_total(p, fast);
		wp_doc_tail(p->table, "fastest");
		return;
	}
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

/* What the bars of a row stand for. */
static double height(const struct part *p, const struct wp_interval_line *line)
{
	if (p->cols->proto == WP_INTERVAL_RR)
		return wp_num_or(wp_interval_tps(&line->row), NAN);
	if (p->cols->proto == WP_INTERVAL_UDP)
		return wp_num_or(wp_interval_pps(line->received ? line->received : line->sent),
				 NAN);
	return wp_num_or(line->row.bits_per_second, NAN);
}

/* Instead of very many rows: the rate over time. */
static void put_series(struct part *p, bool s, size_t n)
{
	static const char *const labels[][3] = { { "Rate", "Rate RX", "Rate TX" },
						 { "Packets/s", "RX pkt/s", "TX pkt/s" },
						 { "Trans/s", "Trans/s", "Trans/s" },
						 { "Rate", "Rate", "Rate" } };
	_cleanup_free_ double *rate = calloc(n, sizeof(*rate));
	size_t used = 0;

	for (size_t at = 0; rate && at < n; at++) {
		double sum = 0;
		bool any = false, omitted = false;

		for (size_t i = 0; i < p->run->n_flows; i++) {
			struct wp_interval_line line;

			if (sends(&p->run->flows[i]) != s || !line_at(p, i, at, &line))
				continue;
			any = true;
			omitted |= line.row.omitted.v > 0;
			sum += height(p, &line);
		}
		if (any && !omitted)
			rate[used++] = sum;
	}
	if (used)
		wp_doc_series(p->doc, labels[p->cols->proto][p->cols->both ? 1 + s : 0],
			      p->cols->proto == WP_INTERVAL_TCP ||
					      p->cols->proto == WP_INTERVAL_WRITE
				      ? WP_DOC_BPS
				      : WP_DOC_COUNT,
			      rate, used);
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

/* Base rows, and the other end's of the same time each: those whose middle lies in it. The clocks of the two ends
 * started a round trip apart, so rows of equal number differ by little; an end may have joined rows that the other
 * still has apart. What came after the last base row is its tail. */
static const struct wp_interval *resample(struct wp_pool *pool, const struct wp_interval *base,
					  size_t n_base, const struct wp_interval *other, size_t n)
{
	struct wp_interval *rows = wp_pool_calloc(pool, n_base, sizeof(*rows));
	size_t at = 0;

	for (size_t i = 0; rows && i < n_base; i++) {
		rows[i].start_s = base[i].start_s;
		rows[i].end_s = base[i].end_s;
		rows[i].packets = rows[i].bits_per_second =
			wp_absent("the other end has no row of this time");
		for (bool first = true; at < n; at++, first = false) {
			double middle =
				(wp_num_or(other[at].start_s, 0) + wp_num_or(other[at].end_s, 0)) /
				2;

			if (i + 1 < n_base && middle >= wp_num_or(base[i].end_s, 0))
				break;
			rows[i] = first ? other[at] : wp_interval_fold(&rows[i], &other[at]);
		}
	}
	return rows;
}

/* The end with fewer rows decides their times. */
static void join_ends(struct part *p, size_t flow)
{
	const struct wp_flow *f = &p->run->flows[flow];
	const struct wp_interval *mine = f->intervals, *theirs = f->peer_intervals;
	size_t n = f->n_intervals, m = f->n_peer_intervals;
	struct ends *e = &p->ends[flow];

	if (n && m && m < n)
		mine = resample(&p->doc->pool, theirs, m, mine, n);
	else if (n && m)
		theirs = resample(&p->doc->pool, mine, n, theirs, m);
	e->n = n && m ? (m < n ? m : n) : n + m;
	if (e->n && n && m && (!mine || !theirs)) {
		p->doc->status = -ENOMEM;
		e->n = 0;
	}
	e->sent = sends(f) ? (n ? mine : NULL) : (m ? theirs : NULL);
	e->received = sends(f) ? (m ? theirs : NULL) : (n ? mine : NULL);
}

static bool has_both_ends(const struct wp_run *run)
{
	for (size_t i = 0; i < run->n_flows; i++)
		if (run->flows[i].n_peer_intervals ||
		    (wp_has(run->flows[i].sent.packets) && wp_has(run->flows[i].received.packets)))
			return true;
	return false;
}

/* UDP: what was on the screen while the test ran is one end's word; now both are known, so all rows come again. */
static bool prepare_ends(struct part *p, struct wp_interval_cols *cols)
{
	wp_interval_cols_from_run(p->run, cols);
	if (cols->proto != WP_INTERVAL_UDP || !has_both_ends(p->run))
		return false;
	p->ends = wp_pool_calloc(&p->doc->pool, p->run->n_flows, sizeof(*p->ends));
	if (!p->ends)
		p->doc->status = -ENOMEM;
	for (size_t i = 0; p->ends && i < p->run->n_flows; i++)
		join_ends(p, i);
	cols->n_cpus =
		0; /* no room; they were beside the live rows, and have a table of their own */
	return p->ends != NULL;
}

static const char *both_ends_legend(const struct wp_interval_cols *cols)
{
	if (cols->local_drops)
		return "Refused: not taken by the sender's own kernel; Order: out of order; Twice: received again; "
		       "Socket: of those lost, dropped at the receiver's socket";
	return "Order: out of order; Twice: received again; Socket: of those lost, dropped at the receiver's socket";
}

void wp_run_doc_intervals(struct wp_doc *doc, const struct wp_run *run,
			  const struct wp_run_doc_opts *opts)
{
	struct wp_interval_cols cols;
	struct part p = { .doc = doc, .run = run, .cols = &cols };
	bool both_ends = prepare_ends(&p, &cols), series, folded = false;
	size_t n = longest(&p), from = both_ends ? 0 : opts->rows_printed,
	       max_rows = opts->max_rows;

	if (opts->cols && !both_ends)
		cols = *opts->cols;
	if (both_ends && opts->rows_printed) {
		wp_doc_para(doc, NULL, WP_DOC_STRONG, "The same at both ends:");
		max_rows = max_rows ? max_rows : REPEATED_ROWS;
	}
	for (size_t i = 0; i < run->n_flows; i++) {
		p.n[sends(&run->flows[i])]++;
		folded |= wp_num_or(run->flows[i].intervals_folded, 0) > 0;
	}
	/* Folded rows are others than those on the screen; the last one was too late for it. */
	if (folded && from)
		from = n;
	series = max_rows && from < n && count_rows(&p, n - from) > max_rows;
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
	p.table->headless = from > 0;
	p.table->fixed &= !both_ends;
	for (size_t at = from; !series && at < n; at++)
		put_rows_at(&p, at);
	put_totals(&p);
	if (both_ends)
		wp_doc_para(doc, NULL, WP_DOC_DIM, "%s", both_ends_legend(&cols));
}
