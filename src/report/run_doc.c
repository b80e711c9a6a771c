/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/run_doc.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/units.h"

#define SENTENCE_BYTES 4096

static bool is(const char *s, const char *word)
{
	return s && !strcmp(s, word);
}

/* "Intel(R) Xeon(R) Processor" without what lawyers put there. */
static void put_model(struct wp_buf *b, const char *model)
{
	while (*model) {
		size_t mark = !strncmp(model, "(R)", 3) ? 3 : !strncmp(model, "(TM)", 4) ? 4 : 0;

		if (mark)
			model += mark;
		else
			wp_buf_append(b, model++, 1);
	}
}

const char *wp_doc_machine(struct wp_doc *doc, const struct wp_inventory *inv)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(SENTENCE_BYTES);

	if (inv->kernel)
		wp_buf_printf(&b, "Linux %s", inv->kernel);
	if (wp_has(inv->cpus_online))
		wp_buf_printf(&b, "%s%.0f CPU%s", b.len ? ", " : "", inv->cpus_online.v,
			      inv->cpus_online.v == 1 ? "" : "s");
	if (inv->cpu_model) {
		wp_buf_puts(&b, b.len ? ", " : "");
		put_model(&b, inv->cpu_model);
	}
	if (inv->clocksource)
		wp_buf_printf(&b, "%sclock %s", b.len ? ", " : "", inv->clocksource);
	return wp_doc_printf(doc, "%s",
			     b.len ? wp_buf_text(&b) : "nothing known about this machine");
}

/* "0-3,8": ascending CPUs, runs folded. */
static void put_cpus(struct wp_buf *b, const struct wp_ints *l)
{
	for (size_t i = 0, to; i < l->n; i = to + 1) {
		for (to = i; to + 1 < l->n && l->v[to] < INT_MAX && l->v[to + 1] == l->v[to] + 1;)
			to++;
		if (to - i == 1)
			to = i;
		wp_buf_printf(b, i ? ",%d" : "%d", l->v[i]);
		if (to > i)
			wp_buf_printf(b, "-%d", l->v[to]);
	}
}

static bool same_ints(const struct wp_ints *a, const struct wp_ints *b)
{
	return a->n == b->n && (!a->n || !memcmp(a->v, b->v, a->n * sizeof(*a->v)));
}

/* "cpu 0", "cpu 1 (asked 0)", "cpus 0,1 (not pinned)" */
static const char *placement(struct wp_doc *doc, const struct wp_host *h)
{
	const struct wp_ints *asked = &h->asked_app_cpus, *observed = &h->observed_app_cpus;
	struct wp_buf b _cleanup_buf_ = WP_BUF(SENTENCE_BYTES);
	const struct wp_ints *shown = observed->n ? observed : asked;

	if (!shown->n)
		return "cpu not known";
	wp_buf_puts(&b, shown->n == 1 ? "cpu " : "cpus ");
	put_cpus(&b, shown);
	if (!observed->n) {
		wp_buf_puts(&b, " asked for");
	} else if (!asked->n) {
		wp_buf_puts(&b, " (not pinned)");
	} else if (!same_ints(asked, observed)) {
		wp_buf_puts(&b, " (asked ");
		put_cpus(&b, asked);
		wp_buf_puts(&b, ")");
	}
	return wp_doc_printf(doc, "%s", wp_buf_text(&b));
}

static const struct wp_doc_column host_columns[] = {
	{ .left = true },
	{ .left = true, .gap = 1 },
	{ .left = true, .gap = 3, .wrap = true },
};

const char *wp_doc_end_word(const struct wp_run *run, size_t i)
{
	if (is(run->test.kind, "write"))
		return "writer";
	if (is(run->test.direction, "both") || is(run->test.kind, "rr") || run->n_hosts < 2)
		return run->hosts[i].role ? run->hosts[i].role : "this end";
	return (i == 0) == !is(run->test.direction, "reverse") ? "sender" : "receiver";
}

static void put_hosts(struct wp_doc *doc, const struct wp_run *run)
{
	struct wp_doc_table *t = wp_doc_table(doc, host_columns, WP_ARRAY_SIZE(host_columns));
	bool reverse = is(run->test.direction, "reverse"), told = false;

	if (!t)
		return;
	t->headless = true;
	t->indent = 2;
	for (size_t i = 0; i < run->n_hosts; i++) {
		/* The sender first. */
		size_t at = reverse && run->n_hosts == 2 ? 1 - i : i;
		const struct wp_host *h = &run->hosts[at], *other = &run->hosts[1 - at];
		const struct wp_inventory *inv = h->inventory.kernel || !h->same_machine_as
							 ? &h->inventory
							 : &other->inventory;
		bool same = run->n_hosts == 2 && (h->same_machine_as || other->same_machine_as);
		struct wp_doc_cell *c = wp_doc_row(doc, t);

		if (!c)
			return;
		c[0] = wp_cell(wp_doc_end_word(run, at));
		c[1] = wp_cell(placement(doc, h));
		if (same && told)
			c[2] = wp_cell(run->test.target && !strncmp(run->test.target, "lab", 3)
					       ? "same machine (lab)"
					       : "same machine");
		else
			c[2] = wp_cell(wp_doc_printf(doc, "%s%s%s", same || !h->name ? "" : h->name,
						     same || !h->name ? "" : ": ",
						     wp_doc_machine(doc, inv)));
		told = true;
	}
}

static void put_command(struct wp_doc *doc, const struct wp_run *run)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(SENTENCE_BYTES);

	for (size_t i = 0; i < run->n_command; i++)
		wp_buf_printf(&b, "%s%s", i ? " " : "", run->command[i]);
	if (b.len)
		wp_doc_para(doc, "Command", WP_DOC_PLAIN, "%s", wp_buf_text(&b));
	if (run->started)
		wp_doc_para(doc, "Started", WP_DOC_PLAIN, "%s", run->started);
}

static void put_label(struct wp_buf *b, const char *what, const char *value)
{
	if (value)
		wp_buf_printf(b, "%s%s %s", b->len ? ", " : "", what, value);
}

static void put_number(struct wp_buf *b, const char *what, struct wp_num n)
{
	if (wp_has(n))
		wp_buf_printf(b, "%s%s %.6g", b->len ? ", " : "", what, n.v);
}

static void put_bytes(struct wp_buf *b, const char *what, struct wp_num n)
{
	if (!wp_has(n))
		return;
	wp_buf_printf(b, "%s%s ", b->len ? ", " : "", what);
	wp_doc_put_size(b, n.v);
}

/* What a maintainer asks for when a letter lacks it. */
static void put_machine(struct wp_doc *doc, const struct wp_run *run)
{
	for (size_t i = 0; i < run->n_hosts; i++) {
		const struct wp_host *h = &run->hosts[i];
		const struct wp_inventory *inv = &h->inventory;
		struct wp_buf b _cleanup_buf_ = WP_BUF(SENTENCE_BYTES);

		if (h->same_machine_as && i)
			continue;
		put_label(&b, "virtualization", inv->virtualization);
		put_number(&b, "sockets", inv->sockets);
		put_number(&b, "cores", inv->cores);
		put_number(&b, "NUMA nodes", inv->numa_nodes);
		put_label(&b, "governor", inv->governor);
		put_label(&b, "CPU time by", inv->cpu_accounting);
		put_label(&b, "irqbalance", inv->irqbalance);
		put_label(&b, "default congestion control", inv->congestion_default);
		put_label(&b, "default qdisc", inv->qdisc_default);
		put_label(&b, "mitigations", inv->mitigations);
		put_bytes(&b, "tcp_rmem max", inv->tcp_rmem_max_bytes);
		put_bytes(&b, "tcp_wmem max", inv->tcp_wmem_max_bytes);
		if (b.len)
			wp_doc_para(doc,
				    run->n_hosts == 1 || run->hosts[1].same_machine_as ? "Machine"
										       : h->role,
				    WP_DOC_PLAIN, "%s", wp_buf_text(&b));
	}
}

const struct wp_host *wp_doc_cpus_of(const struct wp_run *run, const struct wp_host *h)
{
	bool same = run->n_hosts == 2 &&
		    (run->hosts[0].same_machine_as || run->hosts[1].same_machine_as);

	if (!h)
		return NULL;
	if (h->n_cpus || !same)
		return h->n_cpus ? h : NULL;
	h = h == &run->hosts[0] ? &run->hosts[1] : &run->hosts[0];
	return h->n_cpus ? h : NULL;
}

static void put_top(struct wp_doc *doc, const struct wp_run *run,
		    const struct wp_run_doc_opts *opts)
{
	if (run->n_hosts)
		put_hosts(doc, run);
	if (opts->detail || opts->stored_run)
		put_command(doc, run);
	if (opts->detail)
		put_machine(doc, run);
}

/* False for a run that failed before its first byte: tables of dashes say nothing. */
static bool has_figures(const struct wp_run *run)
{
	for (size_t i = 0; i < run->n_flows; i++)
		if (!run->error || run->flows[i].n_intervals || wp_has(run->flows[i].sent.bytes) ||
		    wp_has(run->flows[i].received.bytes))
			return true;
	return false;
}

void wp_run_doc(struct wp_doc *doc, const struct wp_run *run, const struct wp_run_doc_opts *opts)
{
	bool figures = has_figures(run);

	if (!opts->no_header) {
		wp_run_doc_heading(doc, run);
		put_top(doc, run, opts);
		if ((opts->detail || opts->stored_run) && figures)
			wp_doc_blank(doc);
	}
	if (figures)
		wp_run_doc_intervals(doc, run, opts);
	wp_doc_blank(doc);
	/* Where the threads ran is known at the end only. */
	if (opts->no_header) {
		put_top(doc, run, opts);
		wp_doc_blank(doc);
	}
	if (figures || !run->n_flows)
		wp_run_doc_cpus(doc, run);
	wp_run_doc_latency(doc, run);
	wp_run_doc_stalls(doc, run);
	wp_run_doc_soak(doc, run);
	wp_run_doc_sentences(doc, run, opts);
}
