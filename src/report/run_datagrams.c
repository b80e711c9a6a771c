/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What became of the datagrams of a UDP test: both ends' totals, the ledger by stage, the receiver's buffer, gaps and
 * delays. */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "report/run_doc.h"

#define SENTENCE_BYTES 4096
#define TIMED_BYTES    16 /* number and send time */
#define NUMBERED_BYTES 8
#define PLACED_BYTES   4 /* enough of the number to find loss, order and duplicates */

static bool is(const char *s, const char *word)
{
	return s && !strcmp(s, word);
}

static bool client_sends(const struct wp_flow *f)
{
	return !is(f->role, "receiver");
}

static const char *text_of(struct wp_doc *doc, enum wp_doc_type type, char unit, struct wp_num n)
{
	char text[64];

	if (!wp_has(n))
		return "-";
	wp_doc_format(type, 0, unit, n.v, text, sizeof(text));
	return wp_doc_printf(doc, "%s", text);
}

static const char *count_text(struct wp_doc *doc, struct wp_num n)
{
	return text_of(doc, WP_DOC_COUNT, 0, n);
}

/* A share that is not 0 never reads as 0. */
static const char *share_text(struct wp_doc *doc, double pct)
{
	return wp_doc_printf(doc, pct >= .01 || pct <= 0 ? "%.2f %%" : "%.2g %%", pct);
}

static struct wp_num plus(struct wp_num a, struct wp_num b)
{
	if (!wp_has(a))
		return a;
	return wp_has(b) ? wp_num(a.v + b.v) : b;
}

/* ---- both ends' totals ------------------------------------------------------------------------ */

struct totals {
	struct wp_num packets, bytes, seconds, bps, lost, order, twice, late, jitter_us, refused,
		shortfall;
	size_t n;
	const char *way; /* "client to server: " where there are two; "" */
};

static void add_end(struct totals *t, const struct wp_flow_end *e)
{
	if (!t->n++) {
		*t = (struct totals) {
			e->packets,   e->bytes,        e->seconds,           e->bits_per_second,
			e->lost,      e->out_of_order, e->duplicated,        e->late,
			e->jitter_us, e->send_drops,   e->shortfall_packets, 1
		};
		return;
	}
	t->packets = plus(t->packets, e->packets);
	t->bytes = plus(t->bytes, e->bytes);
	if (wp_has(e->seconds) && wp_has(t->seconds) && e->seconds.v > t->seconds.v)
		t->seconds = e->seconds;
	t->bps = plus(t->bps, e->bits_per_second);
	t->lost = plus(t->lost, e->lost);
	t->order = plus(t->order, e->out_of_order);
	t->twice = plus(t->twice, e->duplicated);
	t->late = plus(t->late, e->late);
	t->jitter_us = plus(t->jitter_us, e->jitter_us);
	t->refused = plus(t->refused, e->send_drops);
	t->shortfall = plus(t->shortfall, e->shortfall_packets);
}

static void put_amounts(struct wp_buf *b, struct wp_doc *doc, const struct totals *t, char unit)
{
	wp_buf_printf(b, "%s%s packets, %s", t->way, count_text(doc, t->packets),
		      text_of(doc, WP_DOC_BYTES, 0, t->bytes));
	if (wp_has(t->seconds))
		wp_buf_printf(b, " in %.2f s", t->seconds.v);
	wp_buf_printf(b, ": %s/s, %s", count_text(doc, wp_num_ratio(t->packets, t->seconds, 1)),
		      text_of(doc, WP_DOC_BPS, unit, t->bps));
}

static void put_sent(struct wp_doc *doc, const struct totals *t, char unit)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(SENTENCE_BYTES);

	put_amounts(&b, doc, t, unit);
	if (wp_num_or(t->refused, 0) > 0)
		wp_buf_printf(&b, "; %s more were refused by its own kernel (ENOBUFS)",
			      count_text(doc, t->refused));
	if (wp_num_or(t->shortfall, 0) > 0)
		wp_buf_printf(&b,
			      "; %s fell due and were not sent: after a stall nothing is caught up",
			      count_text(doc, t->shortfall));
	wp_doc_para(doc, "Sent", WP_DOC_PLAIN, "%s", wp_buf_text(&b));
}

static void put_received(struct wp_doc *doc, const struct totals *t, struct wp_num sent, char unit)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(SENTENCE_BYTES);
	struct wp_num pct = wp_num_ratio(t->lost, sent, 100);
	char text[48];

	put_amounts(&b, doc, t, unit);
	wp_buf_printf(&b, "; lost %s", count_text(doc, t->lost));
	if (wp_has(pct))
		wp_buf_printf(&b, " (%s)", share_text(doc, pct.v));
	wp_buf_printf(&b, ", out of order %s, twice %s", count_text(doc, t->order),
		      count_text(doc, t->twice));
	if (wp_num_or(t->late, 0) > 0)
		wp_buf_printf(&b, ", too late to tell new from twice %s", count_text(doc, t->late));
	if (wp_has(t->jitter_us)) {
		wp_format_ns(t->jitter_us.v * 1e3 / (double)t->n, text, sizeof(text));
		wp_buf_printf(&b, ", jitter %s", text);
	}
	wp_doc_para(doc, "Received", WP_DOC_PLAIN, "%s", wp_buf_text(&b));
}

/* One line for each end; of each direction, where there are two. */
static void put_totals(struct wp_doc *doc, const struct wp_run *run, char unit)
{
	static const char *const ways[] = { "server to client: ", "client to server: " };
	bool both = is(run->test.direction, "both");

	for (int s = 1; s >= 0; s--) {
		struct totals sent = { 0 }, received = { 0 };

		for (size_t i = 0; i < run->n_flows; i++)
			if (client_sends(&run->flows[i]) == s) {
				add_end(&sent, &run->flows[i].sent);
				add_end(&received, &run->flows[i].received);
			}
		if (!sent.n)
			continue;
		sent.way = received.way = both ? ways[s] : "";
		put_sent(doc, &sent, unit);
		put_received(doc, &received, sent.packets, unit);
	}
}

/* ---- the ledger ------------------------------------------------------------------------------- */

/* Who dropped them, as sentences know the hosts. */
static const char *end_word(const struct wp_run *run, const char *role)
{
	if (!role || is(run->test.direction, "both"))
		return role ? role : "host";
	return is(role, "client") == !is(run->test.direction, "reverse") ? "sender" : "receiver";
}

static const char *stage_words(struct wp_doc *doc, const struct wp_run *run,
			       const struct wp_stage *s)
{
	static const struct {
		const char *stage, *words;
	} known[] = {
		{ "socket buffer", "socket: its buffer was full" },
		{ "socket error", "socket: damaged or without memory" },
		{ "qdisc", "queueing discipline" },
		{ "device", "device" },
		{ "backlog", "backlog: its CPU did not take them in time" },
		{ "ingress filter", "ingress filter" },
		{ "IP", "IP layer" },
		{ "fragments", "IP layer: fragments were missing" },
		{ "no socket", "host: no socket for the port" },
		{ "too late to place", "count: so late that new and twice can't be told apart" },
	};
	const char *stage = s->stage ? s->stage : "stage not named", *words = stage;

	for (size_t i = 0; i < WP_ARRAY_SIZE(known); i++)
		if (!strcmp(stage, known[i].stage))
			words = known[i].words;
	return wp_doc_printf(doc, "the %s's %s%s%s%s", end_word(run, s->host), words,
			     s->source && *s->source ? " (" : "", s->source ? s->source : "",
			     s->source && *s->source ? ")" : "");
}

static const struct wp_doc_column ledger_columns[] = {
	{ .head = "", .min_width = WP_DOC_LABEL_WIDTH - 1, .left = true },
	{ .head = "", .type = WP_DOC_COUNT, .gap = 1 },
	{ .head = "", .gap = 2, .min_width = 7 },
	{ .head = "", .gap = 2, .left = true, .wrap = true },
};

struct ledger {
	struct wp_doc *doc;
	struct wp_doc_table *table;
	double sent;
};

static void put_entry(struct ledger *l, const char *label, struct wp_num packets, const char *what,
		      enum wp_doc_style style)
{
	struct wp_doc_cell *c = wp_doc_row(l->doc, l->table);

	if (!c)
		return;
	c[0] = wp_cell(label);
	c[0].style = WP_DOC_STRONG;
	c[1] = wp_cell_num(packets);
	c[2] = wp_cell(l->sent > 0 && wp_has(packets)
			       ? share_text(l->doc, packets.v / l->sent * 100)
			       : "");
	c[3] = wp_cell(what);
	c[1].style = c[2].style = c[3].style = style;
}

static void put_ledger(struct wp_doc *doc, const struct wp_run *run)
{
	const struct wp_ledger *g = &run->ledger;
	struct ledger l = { .doc = doc, .sent = wp_num_or(g->sent_packets, 0) };
	bool warmed = wp_num_or(run->test.omit_s, 0) > 0;

	if (!wp_has(g->sent_packets) || !wp_has(g->delivered_packets))
		return;
	l.table = wp_doc_table(doc, ledger_columns, WP_ARRAY_SIZE(ledger_columns));
	if (!l.table)
		return;
	l.table->headless = true;
	put_entry(&l, "Packets  ", g->sent_packets,
		  warmed ? "sent in all, the warm-up included" : "sent in all", WP_DOC_PLAIN);
	put_entry(&l, "", g->delivered_packets, "received, each counted once", WP_DOC_PLAIN);
	for (size_t i = 0; i < g->n_stages; i++)
		if (wp_num_or(g->stages[i].packets, 0) > 0)
			put_entry(&l, "", g->stages[i].packets,
				  stage_words(doc, run, &g->stages[i]), WP_DOC_WARN);
	if (wp_num_or(g->unexplained_packets, 0) < 0)
		put_entry(&l, "", wp_num(-g->unexplained_packets.v),
			  "received more than sent and counted; no counter explains them",
			  WP_DOC_BAD);
	else if (wp_has(g->unexplained_packets))
		put_entry(&l, "", g->unexplained_packets, "lost where no counter saw it",
			  g->unexplained_packets.v > 0 ? WP_DOC_WARN : WP_DOC_PLAIN);
	if (wp_num_or(g->refused_packets, 0) > 0)
		wp_doc_para(doc, "Refused", WP_DOC_WARN,
			    "%s more were never sent: the sender's kernel did not take them%s%s%s",
			    count_text(doc, g->refused_packets), g->refused_by ? " (" : "",
			    g->refused_by ? g->refused_by : "", g->refused_by ? ")" : "");
}

/* ---- the receiver's buffer, gaps and delays --------------------------------------------------- */

static struct wp_num stage_packets(const struct wp_run *run, const char *stage)
{
	double sum = 0;

	for (size_t i = 0; i < run->ledger.n_stages; i++)
		if (is(run->ledger.stages[i].stage, stage))
			sum += wp_num_or(run->ledger.stages[i].packets, 0);
	return wp_num(sum);
}

static void put_buffer(struct wp_doc *doc, const struct wp_run *run)
{
	struct wp_num got = wp_absent(NULL), asked = wp_absent(NULL), drops = wp_num(0);
	struct wp_buf b _cleanup_buf_ = WP_BUF(SENTENCE_BYTES);
	const struct wp_host *h;
	const char *each;
	bool enough;

	for (size_t i = 0; i < run->n_flows; i++) {
		const struct wp_flow *f = &run->flows[i];

		if (wp_has(f->rcvbuf_bytes) && (!wp_has(got) || f->rcvbuf_bytes.v < got.v))
			got = f->rcvbuf_bytes;
		if (wp_has(f->rcvbuf_asked_bytes))
			asked = f->rcvbuf_asked_bytes;
		drops = plus(drops, f->received.all_socket_drops);
	}
	if (!wp_has(got))
		return;
	/* The ledger leaves out what is no data: marks of the beginning and the end. */
	if (wp_has(drops) && wp_has(run->ledger.unexplained_packets))
		drops = stage_packets(run, "socket buffer");
	/* The kernel doubles what it is asked for: half is for its own account of each packet. */
	got.v /= 2;
	enough = !wp_has(asked) || got.v >= asked.v;
	each = run->n_flows > 1 ? " a stream" : "";
	if (enough)
		wp_buf_printf(&b, "the receiver's socket holds %s%s%s",
			      text_of(doc, WP_DOC_BYTES, 0, got), each,
			      wp_has(asked) ? ", as it asked for" : "");
	else
		wp_buf_printf(&b, "the receiver's socket asked for %s%s and got %s",
			      text_of(doc, WP_DOC_BYTES, 0, asked), each,
			      text_of(doc, WP_DOC_BYTES, 0, got));
	h = run->n_flows ? wp_flow_receiver(run, &run->flows[0]) : NULL;
	if (!enough && h && wp_has(h->inventory.rmem_max_bytes))
		wp_buf_printf(&b, " (net.core.rmem_max there is %.0f; root may exceed it)",
			      h->inventory.rmem_max_bytes.v);
	if (wp_num_or(drops, 0) > 0)
		wp_buf_printf(&b, "; it was full, and %s packets were lost there",
			      count_text(doc, drops));
	else if (wp_has(drops))
		wp_buf_puts(&b, "; it never ran over");
	wp_doc_para(doc, "Buffer", wp_num_or(drops, 0) > 0 ? WP_DOC_WARN : WP_DOC_PLAIN, "%s",
		    wp_buf_text(&b));
}

static void put_distribution(struct wp_doc *doc, const struct wp_run *run, const char *name,
			     const char *label, const char *what)
{
	for (size_t i = 0; i < run->n_hosts; i++) {
		const struct wp_histogram *h = wp_host_histogram(&run->hosts[i], name);

		if (!h || wp_num_or(h->count, 0) <= 0)
			continue;
		wp_doc_para(doc, label, WP_DOC_PLAIN, "%s%sp50 %s, p99 %s, max %s%s%s",
			    run->n_hosts > 1 && is(run->test.direction, "both") &&
					    run->hosts[i].role
				    ? run->hosts[i].role
				    : "",
			    is(run->test.direction, "both") ? ": " : "",
			    text_of(doc, WP_DOC_US, 0, h->p50_us),
			    text_of(doc, WP_DOC_US, 0, h->p99_us),
			    text_of(doc, WP_DOC_US, 0, h->max_us), h->note ? "; " : what,
			    h->note ? h->note : "");
		label = "";
	}
}

/* What payloads too short for number and time leave out. */
static void put_short(struct wp_doc *doc, const struct wp_run *run)
{
	double bytes = wp_num_or(run->test.length_bytes, TIMED_BYTES);

	if (bytes >= TIMED_BYTES)
		return;
	wp_doc_para(
		doc, "Note", WP_DOC_PLAIN, "%.0f byte%s hold %s: %s", bytes, bytes == 1 ? "" : "s",
		bytes < PLACED_BYTES     ? "neither number nor send time"
		: bytes < NUMBERED_BYTES ? "a part of the number and no send time"
					 : "a number and no send time",
		bytes < PLACED_BYTES
			? "loss is known by counts only; order and duplicates (from 4 bytes on), jitter and delay (from 16) are not measurable"
			: "jitter and delay (from 16 bytes on) are not measurable");
}

void wp_run_doc_datagrams(struct wp_doc *doc, const struct wp_run *run, char unit)
{
	put_totals(doc, run, unit);
	put_ledger(doc, run);
	put_buffer(doc, run);
	put_distribution(doc, run, "send_gap", "Send gap",
			 wp_num_or(run->test.target_pps, 0) > 0
				 ? wp_doc_printf(doc, "; the rate means %s",
						 text_of(doc, WP_DOC_US, 0,
							 wp_num(1e6 / run->test.target_pps.v)))
				 : "");
	put_distribution(doc, run, "delay", "Delay", " above the shortest");
	put_short(doc, run);
}
