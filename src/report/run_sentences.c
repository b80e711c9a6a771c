/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets, limits, latency, why, what to try, warnings, where it is. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "report/run_doc.h"

#define SENTENCE_BYTES 4096

static struct wp_num plus(struct wp_num a, struct wp_num b)
{
	if (!wp_has(a))
		return a;
	return wp_has(b) ? wp_num(a.v + b.v) : b;
}

static void put_count(struct wp_buf *b, const char *what, struct wp_num n)
{
	char text[48] = "-";

	if (wp_has(n))
		wp_doc_format(WP_DOC_COUNT, 0, 0, n.v, text, sizeof(text));
	wp_buf_printf(b, "%s%s %s", b->len ? "   " : "", what, text);
}

struct sums {
	struct wp_num sent, received, sent_bytes, retransmits, lost, out_of_order, duplicated,
		corrupt;
};

static struct sums sum_flows(const struct wp_run *run)
{
	struct sums s = { 0 };

	for (size_t i = 0; i < run->n_flows; i++) {
		const struct wp_flow_end *out = &run->flows[i].sent, *in = &run->flows[i].received;
		struct sums one = { out->packets,     in->packets,       out->bytes,
				    out->retransmits, in->lost,          in->out_of_order,
				    in->duplicated,   in->corrupt_blocks };

		if (!i) {
			s = one;
			continue;
		}
		s.sent = plus(s.sent, one.sent);
		s.received = plus(s.received, one.received);
		s.sent_bytes = plus(s.sent_bytes, one.sent_bytes);
		s.retransmits = plus(s.retransmits, one.retransmits);
		s.lost = plus(s.lost, one.lost);
		s.out_of_order = plus(s.out_of_order, one.out_of_order);
		s.duplicated = plus(s.duplicated, one.duplicated);
		s.corrupt = plus(s.corrupt, one.corrupt);
	}
	return s;
}

static bool is(const char *s, const char *word)
{
	return s && !strcmp(s, word);
}

static void put_packets(struct wp_doc *doc, const struct wp_run *run)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(SENTENCE_BYTES);
	const struct wp_ledger *l = &run->ledger;
	struct sums s = sum_flows(run);
	struct wp_num sent = wp_has(s.sent) ? s.sent : l->sent_packets;
	struct wp_num received = wp_has(s.received) ? s.received : l->delivered_packets;
	struct wp_num mean = wp_num_ratio(s.sent_bytes, s.sent, 1);
	char text[48];

	if (!wp_has(sent) && !wp_has(received) && !wp_has(s.retransmits) && !wp_has(s.lost))
		return;
	put_count(&b, "sent", sent);
	if (wp_has(mean)) {
		wp_doc_format(WP_DOC_COUNT, 0, 0, mean.v, text, sizeof(text));
		wp_buf_printf(&b, " (mean %s bytes)", text);
	}
	put_count(&b, "received", received);
	if (is(run->test.protocol, "TCP") || wp_has(s.retransmits))
		put_count(&b, "retransmitted", s.retransmits);
	if (wp_has(s.lost))
		put_count(&b, "lost", s.lost);
	if (wp_num_or(s.out_of_order, 0) > 0)
		put_count(&b, "out of order", s.out_of_order);
	if (wp_num_or(s.duplicated, 0) > 0)
		put_count(&b, "twice", s.duplicated);
	for (size_t i = 0; i < l->n_stages; i++)
		if (wp_num_or(l->stages[i].packets, 0) > 0) {
			put_count(&b, l->stages[i].stage ? l->stages[i].stage : "dropped",
				  l->stages[i].packets);
			if (l->stages[i].host)
				wp_buf_printf(&b, " (%s)", l->stages[i].host);
		}
	if (wp_num_or(l->unexplained_packets, 0) > 0) {
		put_count(&b, "unexplained", l->unexplained_packets);
	} else if (wp_num_or(l->unexplained_packets, 0) < 0) {
		put_count(&b, "unexplained", wp_num(-l->unexplained_packets.v));
		wp_buf_puts(&b, " too many received");
	}
	wp_doc_para(doc, "Packets", WP_DOC_PLAIN, "%s", wp_buf_text(&b));
	if (wp_num_or(s.corrupt, 0) > 0)
		wp_doc_para(doc, "Content", WP_DOC_BAD,
			    "%.0f received blocks differed from what was sent", s.corrupt.v);
}

/* Means over flows; absent when no flow has the figure. */
static struct wp_num mean_of(const struct wp_run *run,
			     struct wp_num (*get)(const struct wp_flow *f))
{
	double sum = 0, n = 0;
	struct wp_num last = { 0 };

	for (size_t i = 0; i < run->n_flows; i++) {
		last = get(&run->flows[i]);
		if (wp_has(last)) {
			sum += last.v;
			n++;
		}
	}
	return n > 0 ? wp_num(sum / n) : last;
}

/* The kernel's shares are of the time with data under way; those of the findings and of this line, of all the time. */
static struct wp_num of_all(const struct wp_flow *f, struct wp_num share_pct)
{
	if (!wp_has(share_pct) || !wp_has(f->busy_pct))
		return wp_has(share_pct) ? f->busy_pct : share_pct;
	return wp_num(share_pct.v * f->busy_pct.v / 100);
}

static struct wp_num get_rwnd(const struct wp_flow *f)
{
	return of_all(f, f->rwnd_limited_pct);
}

static struct wp_num get_sndbuf(const struct wp_flow *f)
{
	return of_all(f, f->sndbuf_limited_pct);
}

static struct wp_num get_app(const struct wp_flow *f)
{
	return f->app_limited_pct;
}

static struct wp_num get_rtt(const struct wp_flow *f)
{
	return f->mean_rtt_us;
}

static struct wp_num get_min_rtt(const struct wp_flow *f)
{
	return f->min_rtt_us;
}

static struct wp_num get_cwnd(const struct wp_flow *f)
{
	const struct wp_interval *rows = f->intervals;
	size_t n = f->n_intervals;

	if (f->role && !strcmp(f->role, "receiver")) {
		rows = f->peer_intervals;
		n = f->n_peer_intervals;
	}
	while (n--)
		if (wp_has(rows[n].cwnd_bytes))
			return rows[n].cwnd_bytes;
	return wp_absent("not sampled");
}

static void put_limits(struct wp_doc *doc, const struct wp_run *run)
{
	static const struct {
		const char *what;
		struct wp_num (*get)(const struct wp_flow *f);
	} shares[] = {
		{ "stopped by the receiver's window", get_rwnd },
		{ "by the send buffer", get_sndbuf },
	};
	struct wp_buf b _cleanup_buf_ = WP_BUF(SENTENCE_BYTES);
	struct wp_num cwnd = mean_of(run, get_cwnd), rtt = mean_of(run, get_rtt),
		      min = mean_of(run, get_min_rtt), app = mean_of(run, get_app);
	char text[48];

	for (size_t i = 0; i < WP_ARRAY_SIZE(shares); i++) {
		struct wp_num v = mean_of(run, shares[i].get);

		if (wp_has(v))
			wp_buf_printf(&b, "%s%s %.1f %%", b.len ? ", " : "", shares[i].what, v.v);
	}
	if (b.len)
		wp_buf_puts(&b, " of the time");
	/* Not a share of time: TCP_INFO tells the state of a moment. */
	if (wp_has(app))
		wp_buf_printf(&b, "%snothing queued in %.0f %% of the samples", b.len ? "; " : "",
			      app.v);
	if (wp_has(cwnd)) {
		wp_format_bytes(cwnd.v, text, sizeof(text));
		wp_buf_printf(&b, "%slast cwnd %s", b.len ? "; " : "", text);
	}
	if (wp_has(rtt)) {
		wp_format_ns(rtt.v * 1e3, text, sizeof(text));
		wp_buf_printf(&b, "%smean RTT %s", wp_has(cwnd) ? ", " : b.len ? "; " : "", text);
	}
	if (wp_has(rtt) && wp_has(min)) {
		wp_format_ns(min.v * 1e3, text, sizeof(text));
		wp_buf_printf(&b, " (min %s)", text);
	}
	if (b.len && run->n_flows > 1)
		wp_buf_printf(&b, "; means of %zu streams", run->n_flows);
	if (b.len)
		wp_doc_para(doc, "Limits", WP_DOC_PLAIN, "%s", wp_buf_text(&b));
}

/* "0.195": three digits that stand for something, trailing zeros too. */
static void put_real(struct wp_buf *b, double v)
{
	wp_buf_printf(b, "%.*f", v < .09995 ? 4 : v < .9995 ? 3 : v < 9.995 ? 2 : 1, v);
}

/* What an end's CPU time is counted for. */
struct cost {
	const char *unit;
	size_t threads, machine; /* offsets in struct wp_host; machine 0 = not there */
};

static struct wp_num figure_of(const struct wp_host *h, size_t offset)
{
	return *(const struct wp_num *)(const void *)((const char *)h + offset);
}

static const struct cost *cost_of(const struct wp_run *run)
{
	static const struct cost kb = { "us/KB", offsetof(struct wp_host, cost_us_per_kb),
					offsetof(struct wp_host, machine_cost_us_per_kb) },
				 packet = { "us a packet",
					    offsetof(struct wp_host, cost_us_per_packet), 0 },
				 transaction = { "us a transaction",
						 offsetof(struct wp_host, cost_us_per_transaction),
						 offsetof(struct wp_host,
							  machine_cost_us_per_transaction) };

	if (is(run->test.kind, "rr"))
		return &transaction;
	return is(run->test.kind, "udp") ? &packet : &kb;
}

/* The way of waiting is half of what a transaction costs. */
static const char *waiting(struct wp_doc *doc, const struct wp_run *run)
{
	const char *asks = run->test.send_method, *answers = run->test.receive_method;

	if (!is(run->test.kind, "rr") || !asks)
		return "";
	if (!answers || is(asks, answers))
		return wp_doc_printf(doc, "; waiting: %s", asks);
	return wp_doc_printf(doc, "; waiting: client %s, server %s", asks, answers);
}

/* CPU time a KB, packet or transaction: of each end's threads, and of all that each machine's CPUs did meanwhile. */
static void put_cost(struct wp_doc *doc, const struct wp_run *run)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(SENTENCE_BYTES);
	const struct cost *cost = cost_of(run);
	bool shared = false;
	size_t told = 0;

	for (size_t i = 0; i < run->n_hosts; i++)
		shared |= run->hosts[i].same_machine_as != NULL;
	for (size_t i = 0; i < run->n_hosts; i++) {
		struct wp_num v = figure_of(&run->hosts[i], cost->threads);

		if (!wp_has(v))
			continue;
		wp_buf_printf(&b, "%s%s's%s ", b.len ? ", " : "", wp_doc_end_word(run, i),
			      b.len ? "" : " threads");
		put_real(&b, v.v);
	}
	for (size_t i = 0; cost->machine && i < run->n_hosts && !(shared && told); i++) {
		struct wp_num v = figure_of(&run->hosts[i], cost->machine);

		if (!wp_has(v))
			continue;
		wp_buf_printf(&b, "%sall CPUs%s%s ", b.len ? ", " : "", shared ? "" : " of the ",
			      shared ? "" : wp_doc_end_word(run, i));
		put_real(&b, v.v);
		told++;
	}
	if (b.len)
		wp_doc_para(doc, "CPU cost", WP_DOC_PLAIN, "%s %s%s", wp_buf_text(&b), cost->unit,
			    waiting(doc, run));
}

static void put_fairness(struct wp_doc *doc, const struct wp_run *run)
{
	if (run->n_flows > 1 && wp_has(run->total.fairness_jain))
		wp_doc_para(doc, "Fairness", WP_DOC_PLAIN,
			    "%.3f (Jain's index: 1 = all streams alike)",
			    run->total.fairness_jain.v);
}

static void put_findings(struct wp_doc *doc, const struct wp_run *run)
{
	const char *label = "Why";

	for (size_t i = 0; i < run->n_findings; i++) {
		const struct wp_finding *f = &run->findings[i];
		bool sure = !f->confidence || is(f->confidence, "high");

		if (!f->says)
			continue;
		wp_doc_para(doc, label, WP_DOC_PLAIN, "%s%s%s%s", f->says, sure ? "" : " (",
			    sure ? "" : f->confidence, sure ? "" : " confidence)");
		label = "";
	}
	label = "Try";
	for (size_t i = 0; i < run->n_findings; i++)
		for (size_t k = 0; k < run->findings[i].n_advice; k++) {
			wp_doc_para(doc, label, WP_DOC_PLAIN, "%s", run->findings[i].advice[k]);
			label = "";
		}
}

static void put_notes(struct wp_doc *doc, const struct wp_run *run)
{
	const char *told = NULL;

	for (size_t i = 0; i < run->n_hosts; i++)
		if (run->hosts[i].placement_note)
			wp_doc_para(doc, "Placement", WP_DOC_WARN, "%s",
				    run->hosts[i].placement_note);
	for (size_t i = 0; i < run->n_hosts; i++)
		if (run->hosts[i].sampling_note)
			wp_doc_para(doc, "Sampling", WP_DOC_WARN, "%s",
				    run->hosts[i].sampling_note);
	/* 1,000 streams tend to have the same to say. */
	for (size_t i = 0; i < run->n_flows; i++) {
		const char *note = run->flows[i].note;

		if (note && (!told || (strcmp(told, note) != 0 && i < WP_INTERVAL_MAX_STREAMS))) {
			wp_doc_para(doc, "Note", WP_DOC_PLAIN, "%s%s%s",
				    run->n_flows > 1 ? "stream " : "",
				    run->n_flows > 1 && run->flows[i].id ? run->flows[i].id : "",
				    wp_doc_printf(doc, "%s%s", run->n_flows > 1 ? ": " : "", note));
			told = note;
		}
	}
	for (size_t i = 0; i < run->n_warnings; i++)
		wp_doc_para(doc, "Warning", WP_DOC_WARN, "%s", run->warnings[i]);
}

static void put_end(struct wp_doc *doc, const struct wp_run *run,
		    const struct wp_run_doc_opts *opts)
{
	if (run->error)
		wp_doc_para(doc, run->exit_status == 130 ? "Stopped" : "Failed", WP_DOC_BAD, "%s",
			    run->error);
	else if (run->exit_status == 3 && run->n_stalls)
		wp_doc_para(doc, "Threshold", WP_DOC_BAD,
			    "progress stopped: exit status 3 (--stall)");
	else if (run->exit_status)
		wp_doc_para(doc, "Failed", WP_DOC_BAD, "exit status %d", run->exit_status);
	if (opts->stored && *opts->stored)
		wp_doc_para(doc, "Stored", WP_DOC_DIM, "%s", opts->stored);
	else if (!opts->stored && run->id)
		wp_doc_para(doc, "Stored", WP_DOC_DIM, "%s%s%s (whyperf report %.6s)", run->id,
			    run->name ? " " : "", run->name ? run->name : "", run->id);
}

void wp_run_doc_sentences(struct wp_doc *doc, const struct wp_run *run,
			  const struct wp_run_doc_opts *opts)
{
	if (is(run->test.kind, "rr"))
		wp_run_doc_transactions(doc, run);
	else if (is(run->test.kind, "udp"))
		wp_run_doc_datagrams(doc, run, opts->unit);
	else if (is(run->test.kind, "write"))
		wp_run_doc_write(doc, run);
	put_fairness(doc, run);
	put_cost(doc, run);
	if (!is(run->test.kind, "rr") && !is(run->test.kind, "udp") &&
	    !is(run->test.kind, "write")) {
		put_packets(doc, run);
		put_limits(doc, run);
	}
	put_findings(doc, run);
	put_notes(doc, run);
	put_end(doc, run, opts);
}
