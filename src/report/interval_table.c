/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/interval_table.h"

#include <string.h>

#include "base/cleanup.h"

static void add_cpu(struct wp_interval_cols *cols, int cpu, unsigned host)
{
	size_t kept = cols->n_cpus < WP_INTERVAL_CPUS ? cols->n_cpus : WP_INTERVAL_CPUS;

	for (size_t i = 0; i < kept; i++)
		if (cols->cpus[i].cpu == cpu && cols->cpus[i].host == host)
			return;
	if (cols->n_cpus < WP_INTERVAL_CPUS) {
		cols->cpus[cols->n_cpus].cpu = cpu;
		cols->cpus[cols->n_cpus].host = host;
	}
	cols->n_cpus++;
}

/* In order, and none where there are too many: some of them would be a choice that nobody made. */
static void finish(struct wp_interval_cols *cols)
{
	for (size_t i = 1; i < cols->n_cpus && cols->n_cpus <= WP_INTERVAL_CPUS; i++)
		for (size_t k = i; k > 0 && cols->cpus[k].host == cols->cpus[k - 1].host &&
				   cols->cpus[k].cpu < cols->cpus[k - 1].cpu;
		     k--) {
			int cpu = cols->cpus[k].cpu;

			cols->cpus[k].cpu = cols->cpus[k - 1].cpu;
			cols->cpus[k - 1].cpu = cpu;
		}
	if (cols->n_cpus > WP_INTERVAL_CPUS)
		cols->n_cpus = 0;
}

static unsigned digits_for(double interval_s)
{
	return interval_s > 0 && interval_s < 0.1 ? 3 : 2;
}

static enum wp_interval_proto proto_of(const char *kind)
{
	if (kind && !strcmp(kind, "udp"))
		return WP_INTERVAL_UDP;
	if (kind && !strcmp(kind, "write"))
		return WP_INTERVAL_WRITE;
	return kind && !strcmp(kind, "rr") ? WP_INTERVAL_RR : WP_INTERVAL_TCP;
}

void wp_interval_cols_from_plan(const struct wp_plan *plan, size_t n_online, bool same_machine,
				struct wp_interval_cols *ret)
{
	struct wp_interval_cols cols = {
		.proto = proto_of(plan->kind),
		.both = plan->direction == WP_BOTH,
		.sends = plan->direction != WP_REVERSE,
		.receives = plan->direction != WP_FORWARD,
		.own = true,
		.local_drops = plan->direction != WP_REVERSE,
		.timeouts = plan->transport == WP_UDP,
		.syncs = plan->sync != WP_SYNC_NEVER,
		.digits = digits_for((double)plan->interval_ns / 1e9),
	};

	for (size_t i = 0; i < plan->cpus.n; i++)
		add_cpu(&cols, plan->cpus.cpu[i], 0);
	for (size_t i = 0; same_machine && i < plan->peer_cpus.n; i++)
		add_cpu(&cols, plan->peer_cpus.cpu[i], 0);
	if (!plan->cpus.n && n_online <= WP_INTERVAL_CPUS)
		for (size_t i = 0; i < n_online; i++)
			add_cpu(&cols, (int)i, 0);
	finish(&cols);
	*ret = cols;
}

void wp_interval_cols_from_run(const struct wp_run *run, struct wp_interval_cols *ret)
{
	struct wp_interval_cols cols = {
		.proto = proto_of(run->test.kind),
		.digits = digits_for(wp_num_or(run->test.interval_s, 1)),
		.receives = true,
		.timeouts = run->test.protocol && !strcmp(run->test.protocol, "UDP"),
	};

	cols.syncs = run->test.fsync_policy && strcmp(run->test.fsync_policy, "never");
	cols.both = run->test.direction && !strcmp(run->test.direction, "both");
	cols.sends = cols.proto == WP_INTERVAL_UDP || !run->test.direction ||
		     strcmp(run->test.direction, "reverse");
	for (size_t i = 0; i < run->n_flows; i++)
		cols.local_drops |= wp_num_or(run->flows[i].sent.all_send_drops, 0) > 0;
	for (unsigned h = 0; h < run->n_hosts; h++) {
		const struct wp_host *host = &run->hosts[h];

		bool same = run->n_hosts == 2 &&
			    (run->hosts[0].same_machine_as || run->hosts[1].same_machine_as);
		bool sampled = same ? run->hosts[0].n_cpu_samples || run->hosts[1].n_cpu_samples
				    : host->n_cpu_samples;

		for (size_t i = 0; sampled && i < host->observed_app_cpus.n; i++)
			add_cpu(&cols, host->observed_app_cpus.v[i], same ? 0 : h);
	}
	finish(&cols);
	*ret = cols;
}

/* ---- the columns ------------------------------------------------------------------------------ */

static const char NO_ROWS[] = "this end's rows are not known";
static const char OF_FLOWS[] = "a figure of each flow";

static struct wp_doc_cell blank_unless(bool shown, struct wp_num n)
{
	return shown ? wp_cell_num(n) : wp_cell("");
}

static struct wp_num per_second(const struct wp_interval *row, struct wp_num amount)
{
	if (!wp_has(row->start_s) || !wp_has(row->end_s))
		return row->end_s;
	return wp_num_ratio(amount, wp_num(row->end_s.v - row->start_s.v), 1);
}

struct wp_num wp_interval_pps(const struct wp_interval *row)
{
	return per_second(row, row->packets);
}

struct wp_num wp_interval_tps(const struct wp_interval *row)
{
	return per_second(row, row->transactions);
}

struct wp_num wp_interval_lost_pct(const struct wp_interval *row)
{
	if (!wp_has(row->lost) || !wp_has(row->packets))
		return wp_has(row->lost) ? row->packets : row->lost;
	return wp_num_ratio(row->lost,
			    wp_num(row->lost.v + row->packets.v - wp_num_or(row->duplicated, 0)),
			    100);
}

static struct wp_doc_cell cell_id(struct wp_doc *doc, const struct wp_interval_line *line)
{
	return wp_cell(wp_doc_printf(doc, "[%3s]", line->id));
}

static struct wp_doc_cell cell_tag(struct wp_doc *doc, const struct wp_interval_line *line)
{
	(void)doc;
	return wp_cell(line->sends ? "[TX-C]" : "[RX-C]");
}

static struct wp_doc_cell cell_span(struct wp_doc *doc, const struct wp_interval_line *line)
{
	(void)doc;
	return wp_cell_span(line->row.start_s, line->row.end_s);
}

/* A flow that this end receives has no congestion window here, and its sender's retransmissions are in the closing
 * lines. */
static struct wp_doc_cell cell_retr(struct wp_doc *doc, const struct wp_interval_line *line)
{
	(void)doc;
	return blank_unless(line->total ? !line->at_receiver : line->sends, line->row.retransmits);
}

static bool is_sent_flow(const struct wp_interval_line *line)
{
	return line->sends && !line->sum && !line->total;
}

static struct wp_doc_cell cell_cwnd(struct wp_doc *doc, const struct wp_interval_line *line)
{
	(void)doc;
	return blank_unless(is_sent_flow(line), line->row.cwnd_bytes);
}

static struct wp_doc_cell cell_rtt(struct wp_doc *doc, const struct wp_interval_line *line)
{
	(void)doc;
	return blank_unless(is_sent_flow(line), line->row.rtt_us);
}

static struct wp_doc_cell cell_sent(struct wp_doc *doc, const struct wp_interval_line *line)
{
	(void)doc;
	return wp_cell_num(line->sent ? wp_interval_pps(line->sent) : wp_absent(NO_ROWS));
}

static struct wp_doc_cell cell_received(struct wp_doc *doc, const struct wp_interval_line *line)
{
	(void)doc;
	return wp_cell_num(line->received ? wp_interval_pps(line->received) : wp_absent(NO_ROWS));
}

/* What arrived: a sender's rate is no throughput. */
static struct wp_doc_cell cell_goodput(struct wp_doc *doc, const struct wp_interval_line *line)
{
	(void)doc;
	return wp_cell_num(line->received ? line->received->bits_per_second : wp_absent(NO_ROWS));
}

static struct wp_doc_cell cell_lost_pct(struct wp_doc *doc, const struct wp_interval_line *line)
{
	(void)doc;
	return line->received ? wp_cell_num(wp_interval_lost_pct(line->received)) : wp_cell("");
}

static struct wp_doc_cell cell_tps(struct wp_doc *doc, const struct wp_interval_line *line)
{
	(void)doc;
	return wp_cell_num(wp_interval_tps(&line->row));
}

/* When a column is there. */
enum {
	ALWAYS = 1 << 0,
	STREAMS = 1 << 1, /* flows have numbers */
	TWO_WAYS = 1 << 2,
	TCP = 1 << 3,
	TCP_SENDER = 1 << 4,
	UDP_SENT = 1 << 5,
	UDP_LOCAL = 1 << 6,
	UDP_RECEIVED = 1 << 7,
	UDP_ENDS = 1 << 8,    /* what both ends say of a flow */
	UDP_ONE_END = 1 << 9, /* what this end says */
	RR = 1 << 10,
	RR_UDP = 1 << 11,
	WRITE = 1 << 12,
	WRITE_SYNC = 1 << 13,
};

struct figure {
	unsigned when;
	/* Whose row has it, and where; or a function. */
	enum { OF_ROW, OF_SENDER, OF_RECEIVER, BY_CALL } from;
	size_t offset;
	struct wp_doc_cell (*cell)(struct wp_doc *doc, const struct wp_interval_line *line);
	struct wp_doc_column column;
};

#define ROW(field)                OF_ROW, offsetof(struct wp_interval, field), NULL
#define SENDER(field)             OF_SENDER, offsetof(struct wp_interval, field), NULL
#define RECEIVER(field)           OF_RECEIVER, offsetof(struct wp_interval, field), NULL
#define CALL(function)            BY_CALL, 0, function
#define COLUMN(name, kind, width) .head = name, .type = kind, .min_width = width, .gap = 2

/* clang-format off */
static const struct figure figures[] = {
	{ STREAMS, CALL(cell_id), { .head = "[ ID]", .min_width = 5, .left = true } },
	{ TWO_WAYS, CALL(cell_tag), { .head = "[Role]", .min_width = 6, .left = true } },
	{ ALWAYS, CALL(cell_span),
	  { .head = "Interval", .type = WP_DOC_SPAN, .min_width = 17, .gap = 1, .head_left = true } },

	{ TCP, ROW(bytes), { COLUMN("Transfer", WP_DOC_BYTES, 11), .head_left = true } },
	{ TCP, ROW(bits_per_second), { COLUMN("Bitrate", WP_DOC_BPS, 14), .head_left = true } },
	{ TCP, CALL(cell_retr), { COLUMN("Retr", WP_DOC_COUNT, 5), .explain = true } },
	{ TCP_SENDER, CALL(cell_cwnd),
	  { COLUMN("Cwnd", WP_DOC_SHORT_BYTES, 7), .head_left = true, .drop = 2, .explain = true } },
	{ TCP_SENDER, CALL(cell_rtt), { COLUMN("RTT", WP_DOC_US, 7), .drop = 3, .explain = true } },

	{ UDP_SENT, CALL(cell_sent), { COLUMN("Sent/s", WP_DOC_COUNT, 9) } },
	{ UDP_LOCAL, SENDER(send_drops), { COLUMN("Refused", WP_DOC_COUNT, 7) } },
	{ UDP_RECEIVED, CALL(cell_received), { COLUMN("Received/s", WP_DOC_COUNT, 10) } },
	{ UDP_ENDS, CALL(cell_goodput), { COLUMN("Bitrate", WP_DOC_BPS, 14) } },
	{ UDP_ONE_END, ROW(bits_per_second), { COLUMN("Bitrate", WP_DOC_BPS, 14) } },
	{ UDP_RECEIVED, RECEIVER(lost), { COLUMN("Lost", WP_DOC_COUNT, 6), .explain = true } },
	{ UDP_RECEIVED, CALL(cell_lost_pct),
	  { .head = "%", .type = WP_DOC_PERCENT, .digits = 2, .min_width = 6, .gap = 1, .drop = 1 } },
	{ UDP_RECEIVED, RECEIVER(out_of_order), { COLUMN("Order", WP_DOC_COUNT, 5), .drop = 4 } },
	{ UDP_RECEIVED, RECEIVER(duplicated), { COLUMN("Twice", WP_DOC_COUNT, 5), .drop = 5 } },
	{ UDP_RECEIVED, RECEIVER(jitter_us), { COLUMN("Jitter", WP_DOC_US, 7), .drop = 3 } },
	{ UDP_RECEIVED, RECEIVER(socket_drops), { COLUMN("Socket", WP_DOC_COUNT, 6), .drop = 2 } },

	{ RR, CALL(cell_tps), { COLUMN("Trans/s", WP_DOC_COUNT, 9) } },
	{ RR, ROW(latency_p50_us), { COLUMN("p50", WP_DOC_US, 8), .explain = true } },
	{ RR, ROW(latency_p99_us), { COLUMN("p99", WP_DOC_US, 8) } },
	{ RR, ROW(latency_max_us), { COLUMN("max", WP_DOC_US, 8) } },
	{ RR_UDP, ROW(timeouts), { COLUMN("Timeouts", WP_DOC_COUNT, 8) } },

	{ WRITE, ROW(bytes), { COLUMN("Transfer", WP_DOC_BYTES, 11), .head_left = true } },
	{ WRITE, ROW(bits_per_second), { COLUMN("Rate", WP_DOC_BPS, 15), .head_left = true } },
	{ WRITE, ROW(longest_us), { COLUMN("Longest", WP_DOC_US, 8) } },
	{ WRITE, ROW(on_cpu_pct), { COLUMN("on CPU", WP_DOC_PERCENT, 6), .drop = 2 } },
	{ WRITE, ROW(run_delay_pct),
	  { COLUMN("no CPU", WP_DOC_PERCENT, 6), .drop = 2, .explain = true } },
	{ WRITE, ROW(taker_wait_pct), { COLUMN("reader", WP_DOC_PERCENT, 6), .drop = 3 } },
	{ WRITE_SYNC, ROW(sync_pct), { COLUMN("fsync", WP_DOC_PERCENT, 6), .drop = 2 } },
};
/* clang-format on */

static struct wp_doc_cell make_cell(struct wp_doc *doc, const struct figure *f,
				    const struct wp_interval_line *line)
{
	const struct wp_interval *row = f->from == OF_ROW      ? &line->row
					: f->from == OF_SENDER ? line->sent
							       : line->received;

	if (f->from == BY_CALL)
		return f->cell(doc, line);
	if (!row)
		return wp_cell("");
	return wp_cell_num(*(const struct wp_num *)(const void *)((const char *)row + f->offset));
}

static const struct wp_doc_column cpu_column = { .type = WP_DOC_PERCENT, .min_width = 4, .gap = 2 };

static unsigned shown(const struct wp_interval_cols *c)
{
	unsigned set = ALWAYS | (c->both ? TWO_WAYS : 0);

	if (c->proto == WP_INTERVAL_RR)
		return set | RR | (c->timeouts ? RR_UDP : 0);
	if (c->proto == WP_INTERVAL_WRITE)
		return set | WRITE | (c->syncs ? WRITE_SYNC : 0);
	set |= STREAMS;
	if (c->proto == WP_INTERVAL_TCP)
		return set | TCP | (c->sends ? TCP_SENDER : 0);
	return set | (c->sends ? UDP_SENT : 0) | (c->receives ? UDP_RECEIVED : 0) |
	       (c->local_drops ? UDP_LOCAL : 0) |
	       (c->sends && c->receives && !c->own ? UDP_ENDS : UDP_ONE_END);
}

struct wp_doc_table *wp_interval_table(struct wp_doc *doc, const struct wp_interval_cols *cols)
{
	struct wp_doc_column columns[WP_ARRAY_SIZE(figures) + WP_INTERVAL_CPUS];
	unsigned set = shown(cols);
	struct wp_doc_table *t;
	size_t n = 0;

	for (size_t i = 0; i < WP_ARRAY_SIZE(figures); i++)
		if (figures[i].when & set) {
			columns[n] = figures[i].column;
			if (columns[n].type == WP_DOC_SPAN) {
				columns[n].digits = cols->digits;
				columns[n].min_width += 4 * (cols->digits - 2);
			}
			n++;
		}
	for (size_t i = 0; i < cols->n_cpus; i++) {
		columns[n] = cpu_column;
		columns[n].drop = cols->proto == WP_INTERVAL_TCP ? 1 : 9;
		columns[n++].head = wp_doc_printf(doc, "%sCPU%d", cols->cpus[i].host ? "peer " : "",
						  cols->cpus[i].cpu);
	}
	t = wp_doc_table(doc, columns, n);
	if (t) {
		t->fixed = true;
		t->keys = 1u + (set & STREAMS ? 1 : 0) + cols->both;
	}
	return t;
}

void wp_interval_put(struct wp_doc *doc, struct wp_doc_table *table,
		     const struct wp_interval_cols *cols, const struct wp_interval_line *line)
{
	struct wp_doc_cell *c = wp_doc_row(doc, table);
	unsigned set = shown(cols);

	if (!c)
		return;
	for (size_t i = 0; i < WP_ARRAY_SIZE(figures); i++)
		if (figures[i].when & set)
			*c++ = make_cell(doc, &figures[i], line);
	for (size_t i = 0; i < cols->n_cpus; i++)
		*c++ = blank_unless(!line->total, line->cpu_busy_pct[i]);
	if (line->row.omitted.v > 0) {
		table->last->style = WP_DOC_DIM;
		wp_doc_tail(table, "(omitted)");
	} else {
		wp_doc_tail(table, line->tail);
	}
}

static struct wp_num plus(struct wp_num a, struct wp_num b)
{
	if (!wp_has(a))
		return a;
	return wp_has(b) ? wp_num(a.v + b.v) : b;
}

void wp_interval_add(struct wp_interval *sum, const struct wp_interval *row, bool first)
{
	if (first) {
		*sum = (struct wp_interval) {
			.start_s = row->start_s,
			.end_s = row->end_s,
			.omitted = row->omitted,
			.bytes = row->bytes,
			.bits_per_second = row->bits_per_second,
			.packets = row->packets,
			.retransmits = row->retransmits,
			.lost = row->lost,
			.out_of_order = row->out_of_order,
			.duplicated = row->duplicated,
			.jitter_us = row->jitter_us,
			.socket_drops = row->socket_drops,
			.send_drops = row->send_drops,
			.shortfall_packets = row->shortfall_packets,
			.transactions = row->transactions,
			.timeouts = row->timeouts,
			.latency_p50_us = row->latency_p50_us,
			.latency_p99_us = row->latency_p99_us,
			.latency_max_us = row->latency_max_us,
		};
		return;
	}
	sum->bytes = plus(sum->bytes, row->bytes);
	sum->bits_per_second = plus(sum->bits_per_second, row->bits_per_second);
	sum->packets = plus(sum->packets, row->packets);
	sum->retransmits = plus(sum->retransmits, row->retransmits);
	sum->lost = plus(sum->lost, row->lost);
	sum->out_of_order = plus(sum->out_of_order, row->out_of_order);
	sum->duplicated = plus(sum->duplicated, row->duplicated);
	sum->socket_drops = plus(sum->socket_drops, row->socket_drops);
	sum->send_drops = plus(sum->send_drops, row->send_drops);
	sum->shortfall_packets = plus(sum->shortfall_packets, row->shortfall_packets);
	sum->transactions = plus(sum->transactions, row->transactions);
	sum->timeouts = plus(sum->timeouts, row->timeouts);
	if (wp_has(sum->jitter_us))
		sum->jitter_us = wp_absent(OF_FLOWS);
	if (wp_has(sum->latency_p50_us))
		sum->latency_p50_us = sum->latency_p99_us = sum->latency_max_us =
			wp_absent(OF_FLOWS);
	if (wp_has(row->end_s) && wp_has(sum->end_s) && row->end_s.v > sum->end_s.v)
		sum->end_s = row->end_s;
}
