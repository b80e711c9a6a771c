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

void wp_interval_cols_from_plan(const struct wp_plan *plan, size_t n_online, bool same_machine,
				struct wp_interval_cols *ret)
{
	struct wp_interval_cols cols = {
		.proto = plan->kind && !strcmp(plan->kind, "udp") ? WP_INTERVAL_UDP
								  : WP_INTERVAL_TCP,
		.both = plan->direction == WP_BOTH,
		.sends = plan->direction != WP_REVERSE,
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
	struct wp_interval_cols cols = { .digits = digits_for(wp_num_or(run->test.interval_s, 1)) };

	if (run->test.kind && !strcmp(run->test.kind, "udp"))
		cols.proto = WP_INTERVAL_UDP;
	cols.both = run->test.direction && !strcmp(run->test.direction, "both");
	cols.sends = !run->test.direction || strcmp(run->test.direction, "reverse");
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

static const struct wp_doc_column id_column = { .head = "[ ID]", .min_width = 5, .left = true };
static const struct wp_doc_column tag_column = { .head = "[Role]", .min_width = 6, .left = true };
static const struct wp_doc_column moved_columns[] = {
	{ .head = "Interval", .type = WP_DOC_SPAN, .min_width = 17, .gap = 1, .head_left = true },
	{ .head = "Transfer", .type = WP_DOC_BYTES, .min_width = 11, .gap = 2, .head_left = true },
	{ .head = "Bitrate", .type = WP_DOC_BPS, .min_width = 14, .gap = 2, .head_left = true },
};
static const struct wp_doc_column retr_column = {
	.head = "Retr", .type = WP_DOC_COUNT, .min_width = 5, .gap = 2, .explain = true
};
static const struct wp_doc_column sender_columns[] = {
	{ .head = "Cwnd",
	  .type = WP_DOC_SHORT_BYTES,
	  .min_width = 7,
	  .gap = 2,
	  .head_left = true,
	  .drop = 2,
	  .explain = true },
	{ .head = "RTT", .type = WP_DOC_US, .min_width = 7, .gap = 2, .drop = 3, .explain = true },
};
static const struct wp_doc_column udp_columns[] = {
	{ .head = "Jitter", .type = WP_DOC_US, .min_width = 7, .gap = 2, .drop = 2 },
	{ .head = "Lost", .type = WP_DOC_COUNT, .min_width = 6, .gap = 2 },
	{ .head = "Datagrams", .type = WP_DOC_COUNT, .min_width = 9, .gap = 2 },
};
static const struct wp_doc_column cpu_column = {
	.type = WP_DOC_PERCENT, .min_width = 4, .gap = 2, .drop = 1
};

struct columns {
	struct wp_doc_column v[16];
	size_t n;
};

static void add(struct columns *c, const struct wp_doc_column *columns, size_t n)
{
	memcpy(&c->v[c->n], columns, n * sizeof(*columns));
	c->n += n;
}

struct wp_doc_table *wp_interval_table(struct wp_doc *doc, const struct wp_interval_cols *cols)
{
	struct columns c = { 0 };
	struct wp_doc_table *t;

	add(&c, &id_column, 1);
	if (cols->both)
		add(&c, &tag_column, 1);
	add(&c, moved_columns, WP_ARRAY_SIZE(moved_columns));
	for (size_t i = c.n - WP_ARRAY_SIZE(moved_columns); i < c.n; i++)
		if (c.v[i].type == WP_DOC_SPAN) {
			c.v[i].digits = cols->digits;
			c.v[i].min_width += 4 * (cols->digits - 2);
		}
	if (cols->proto == WP_INTERVAL_UDP)
		add(&c, udp_columns, WP_ARRAY_SIZE(udp_columns));
	else
		add(&c, &retr_column, 1);
	if (cols->proto == WP_INTERVAL_TCP && cols->sends)
		add(&c, sender_columns, WP_ARRAY_SIZE(sender_columns));
	for (size_t i = 0; i < cols->n_cpus; i++) {
		add(&c, &cpu_column, 1);
		c.v[c.n - 1].head = wp_doc_printf(doc, "%sCPU%d", cols->cpus[i].host ? "peer " : "",
						  cols->cpus[i].cpu);
	}
	t = wp_doc_table(doc, c.v, c.n);
	if (t) {
		t->fixed = true;
		t->keys = cols->both ? 3 : 2;
	}
	return t;
}

static struct wp_doc_cell blank_unless(bool shown, struct wp_num n)
{
	return shown ? wp_cell_num(n) : wp_cell("");
}

/* A flow that this end receives has no congestion window here, and its sender's retransmissions are in the closing
 * lines. */
static size_t put_tcp(struct wp_doc_cell *c, const struct wp_interval_cols *cols,
		      const struct wp_interval_line *line)
{
	bool flow = !line->sum && !line->total && line->sends;

	c[0] = blank_unless(line->total ? !line->at_receiver : line->sends, line->row.retransmits);
	if (!cols->sends)
		return 1;
	c[1] = blank_unless(flow, line->row.cwnd_bytes);
	c[2] = blank_unless(flow, line->row.rtt_us);
	return 1 + WP_ARRAY_SIZE(sender_columns);
}

static size_t put_udp(struct wp_doc_cell *c, const struct wp_interval_line *line)
{
	bool receiver = line->total ? line->at_receiver : !line->sends;

	c[0] = blank_unless(receiver && !line->sum, line->row.jitter_us);
	c[1] = blank_unless(receiver, line->row.lost);
	c[2] = wp_cell_num(line->row.packets);
	return WP_ARRAY_SIZE(udp_columns);
}

void wp_interval_put(struct wp_doc *doc, struct wp_doc_table *table,
		     const struct wp_interval_cols *cols, const struct wp_interval_line *line)
{
	struct wp_doc_cell *c = wp_doc_row(doc, table);
	size_t at = 0;

	if (!c)
		return;
	c[at++] = wp_cell(wp_doc_printf(doc, "[%3s]", line->id));
	if (cols->both)
		c[at++] = wp_cell(line->sends ? "[TX-C]" : "[RX-C]");
	c[at++] = wp_cell_span(line->row.start_s, line->row.end_s);
	c[at++] = wp_cell_num(line->row.bytes);
	c[at++] = wp_cell_num(line->row.bits_per_second);
	at += cols->proto == WP_INTERVAL_UDP ? put_udp(&c[at], line) : put_tcp(&c[at], cols, line);
	for (size_t i = 0; i < cols->n_cpus; i++)
		c[at++] = blank_unless(!line->total, line->cpu_busy_pct[i]);
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
		};
		return;
	}
	sum->bytes = plus(sum->bytes, row->bytes);
	sum->bits_per_second = plus(sum->bits_per_second, row->bits_per_second);
	sum->packets = plus(sum->packets, row->packets);
	sum->retransmits = plus(sum->retransmits, row->retransmits);
	sum->lost = plus(sum->lost, row->lost);
	if (wp_has(row->end_s) && wp_has(sum->end_s) && row->end_s.v > sum->end_s.v)
		sum->end_s = row->end_s;
}
