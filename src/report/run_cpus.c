/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What each CPU did: the ones that took part or were busy, the rest in one line. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "report/run_doc.h"

#define BUSY_PCT 5.0 /* a CPU that took no part is shown from here on */
#define MAX_ROWS 32  /* the busiest of a large machine */

/* Shares in per cent, "100.0" at most. */
#define SHARE(name, width)                                                                    \
	{                                                                                     \
		.head = name, .type = WP_DOC_REAL, .digits = 1, .min_width = width, .gap = 2, \
		.explain = true                                                               \
	}

static const struct wp_doc_column cpu_columns[] = {
	{ .head = "", .min_width = 7, .left = true },
	SHARE("busy", 5),
	SHARE("user", 5),
	SHARE("sys", 5),
	SHARE("irq", 5),
	SHARE("softirq", 7),
	SHARE("steal", 5),
	SHARE("sum", 5),
	{ .head = "trust", .min_width = 6, .gap = 2, .left = true },
	{ .head = "threads", .gap = 2, .left = true, .wrap = true },
};

struct machine {
	struct wp_doc *doc;
	const struct wp_run *run;
	const struct wp_host *host; /* whose cpus[] these are */
	bool shared;                /* both ends are on it */
	bool *shown;                /* of host->cpus */
};

static bool has(const struct wp_ints *l, int v)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i] == v)
			return true;
	return false;
}

static bool on_machine(const struct machine *m, size_t host)
{
	return m->shared || &m->run->hosts[host] == m->host;
}

static bool is(const char *s, const char *word)
{
	return s && !strcmp(s, word);
}

static bool took_part(const struct machine *m, int cpu)
{
	for (size_t i = 0; i < m->run->n_hosts; i++)
		if (on_machine(m, i) && (has(&m->run->hosts[i].observed_app_cpus, cpu) ||
					 has(&m->run->hosts[i].observed_rx_cpus, cpu)))
			return true;
	return false;
}

/* Marks the rows to show: part-takers, then the busiest, at most MAX_ROWS. */
static void choose(struct machine *m)
{
	const struct wp_host *h = m->host;
	size_t n = 0;

	for (size_t i = 0; i < h->n_cpus && n < MAX_ROWS; i++)
		if (h->n_cpus <= 2 || took_part(m, wp_cpu_number(h->cpus[i].cpu))) {
			m->shown[i] = true;
			n++;
		}
	while (n < MAX_ROWS) {
		size_t best = h->n_cpus;

		for (size_t i = 0; i < h->n_cpus; i++)
			if (!m->shown[i] && wp_num_or(h->cpus[i].busy_pct, 0) > BUSY_PCT &&
			    (best == h->n_cpus || h->cpus[i].busy_pct.v > h->cpus[best].busy_pct.v))
				best = i;
		if (best == h->n_cpus)
			return;
		m->shown[best] = true;
		n++;
	}
}

/* "sender", "sender, receiver", "receiver's softirq" */
static const char *threads_on(struct machine *m, int cpu)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(512);

	for (size_t i = 0; i < m->run->n_hosts; i++)
		if (on_machine(m, i) && has(&m->run->hosts[i].observed_app_cpus, cpu))
			wp_buf_printf(&b, "%s%s", b.len ? ", " : "", wp_doc_end_word(m->run, i));
	for (size_t i = 0; !b.len && i < m->run->n_hosts; i++)
		if (on_machine(m, i) && has(&m->run->hosts[i].observed_rx_cpus, cpu))
			wp_buf_printf(&b, "%s's softirq", wp_doc_end_word(m->run, i));
	if (on_machine(m, 0) && has(&m->run->test.hog_cpus, cpu))
		wp_buf_printf(&b, "%shog", b.len ? ", " : "");
	return wp_doc_printf(m->doc, "%s", wp_buf_text(&b));
}

static enum wp_doc_style trust_style(const char *trust)
{
	return !trust || is(trust, "ok") ? WP_DOC_PLAIN : WP_DOC_WARN;
}

static void put_cpu(struct machine *m, struct wp_doc_table *t, const struct wp_cpu_use *u)
{
	const struct wp_num values[] = { u->busy_pct,    u->user_pct,  u->system_pct, u->irq_pct,
					 u->softirq_pct, u->steal_pct, u->sum_pct };
	struct wp_doc_cell *c = wp_doc_row(m->doc, t);
	size_t at = 0;

	if (!c)
		return;
	c[at++] = wp_cell(wp_doc_printf(m->doc, "cpu %.0f", wp_num_or(u->cpu, -1)));
	for (size_t i = 0; i < WP_ARRAY_SIZE(values); i++)
		c[at++] = wp_cell_num(values[i]);
	if (wp_num_or(u->busy_pct, 0) > 95)
		c[1].style = WP_DOC_STRONG;
	c[at] = wp_cell(u->trust ? u->trust : "-");
	c[at++].style = trust_style(u->trust);
	c[at] = wp_cell(threads_on(m, wp_cpu_number(u->cpu)));
}

static void put_others(struct machine *m)
{
	const struct wp_host *h = m->host;
	size_t n = 0, known = 0;
	double sum = 0, max = 0;

	for (size_t i = 0; i < h->n_cpus; i++) {
		if (m->shown[i])
			continue;
		n++;
		if (!wp_has(h->cpus[i].busy_pct))
			continue;
		known++;
		sum += h->cpus[i].busy_pct.v;
		max = fmax(max, h->cpus[i].busy_pct.v);
	}
	if (!n)
		return;
	if (known)
		wp_doc_para(m->doc, NULL, WP_DOC_DIM,
			    "%zu other CPU%s: mean busy %.1f %%, at most %.1f %%", n,
			    n == 1 ? "" : "s", sum / (double)known, max);
	else
		wp_doc_para(m->doc, NULL, WP_DOC_DIM, "%zu other CPU%s: busy -", n,
			    n == 1 ? "" : "s");
}

/* What a word in the trust column means, each once. */
static void put_trust(struct machine *m)
{
	static const struct {
		const char *trust, *says;
	} words[] = {
		{ "hidden",
		  "the ticks missed part of the busy time, so the columns behind busy are too low" },
		{ "doubled",
		  "the kernel counted some time twice, so the columns behind busy are too high" },
		{ "saturated", "never idle: the columns are shares of a full CPU" },
		{ "absent", "this kernel gave no figures for it" },
	};

	for (size_t w = 0; w < WP_ARRAY_SIZE(words); w++)
		for (size_t i = 0; i < m->host->n_cpus; i++)
			if (m->shown[i] && is(m->host->cpus[i].trust, words[w].trust)) {
				wp_doc_para(m->doc, NULL, WP_DOC_DIM, "%s: %s", words[w].trust,
					    words[w].says);
				break;
			}
}

static void put_machine(struct machine *m, const char *head)
{
	struct wp_doc_column columns[WP_ARRAY_SIZE(cpu_columns)];
	struct wp_doc_table *t;

	memcpy(columns, cpu_columns, sizeof(columns));
	columns[0].head = head;
	m->shown = wp_pool_calloc(&m->doc->pool, m->host->n_cpus, sizeof(*m->shown));
	t = wp_doc_table(m->doc, columns, WP_ARRAY_SIZE(columns));
	if (!m->shown || !t)
		return;
	t->indent = 1;
	choose(m);
	for (size_t i = 0; i < m->host->n_cpus; i++)
		if (m->shown[i])
			put_cpu(m, t, &m->host->cpus[i]);
	put_others(m);
	put_trust(m);
	if (is(m->host->inventory.cpu_accounting, "ticks"))
		wp_doc_para(
			m->doc, NULL, WP_DOC_DIM,
			"counted by ticks: only busy is measured; the columns behind it are samples, even where trust is ok");
}

void wp_run_doc_cpus(struct wp_doc *doc, const struct wp_run *run)
{
	bool shared = run->n_hosts == 2 &&
		      (run->hosts[0].same_machine_as || run->hosts[1].same_machine_as);
	bool reverse = is(run->test.direction, "reverse"), any = false;

	for (size_t i = 0; i < run->n_hosts; i++) {
		size_t at = reverse && run->n_hosts == 2 ? 1 - i : i;
		struct machine m = {
			.doc = doc, .run = run, .host = &run->hosts[at], .shared = shared
		};

		if (!m.host->n_cpus)
			continue;
		put_machine(&m, shared || run->n_hosts < 2 ? "" : wp_doc_end_word(run, at));
		any = true;
		if (shared)
			break;
	}
	if (any)
		wp_doc_blank(doc);
	else if (run->n_flows)
		wp_doc_para(doc, "CPUs", WP_DOC_DIM, "- (no figures about CPUs in this run)");
}
