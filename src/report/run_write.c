/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a write measured beyond its rate: how long writes took, the longest pauses and why, what became of the command. */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "report/run_doc.h"

#define SENTENCE_BYTES 4096
#define SHOWN_PAUSES   8
#define LEAST_US       500.0 /* shorter pauses are not worth a line */

static bool is(const char *s, const char *word)
{
	return s && !strcmp(s, word);
}

static void put_us(struct wp_buf *b, const char *what, struct wp_num us)
{
	char text[32];

	if (!wp_has(us))
		return;
	wp_format_ns(us.v * 1e3, text, sizeof(text));
	wp_buf_printf(b, ", %s %s", what, text);
}

/* "305,175, median 131 ns, 99 % 152 ns, 99.99 % 20.1 us, longest 3.98 ms" */
static void put_times(struct wp_doc *doc, const struct wp_run *run, const char *name,
		      const char *label)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(SENTENCE_BYTES);
	const struct wp_histogram *h =
		run->n_hosts ? wp_host_histogram(&run->hosts[0], name) : NULL;
	char text[48];

	if (!h || !wp_has(h->count))
		return;
	wp_doc_format(WP_DOC_COUNT, 0, 0, h->count.v, text, sizeof(text));
	wp_buf_puts(&b, text);
	put_us(&b, "median", h->p50_us);
	if (h->count.v >= 100)
		put_us(&b, "99 %", h->p99_us);
	if (h->count.v >= 10000)
		put_us(&b, "99.99 %", h->p9999_us);
	put_us(&b, "longest", h->max_us);
	put_us(&b, "mean", h->mean_us);
	wp_doc_para(doc, label, WP_DOC_PLAIN, "%s", wp_buf_text(&b));
}

static const struct wp_doc_column pause_columns[] = {
	{ .head = "Pauses", .type = WP_DOC_REAL, .digits = 3, .min_width = 9 },
	{ .head = "length", .type = WP_DOC_US, .gap = 2, .min_width = 7 },
	{ .head = "what held it up", .gap = 2, .left = true, .head_left = true, .wrap = true },
};

static void put_pauses(struct wp_doc *doc, const struct wp_flow *f)
{
	struct wp_doc_table *t = NULL;
	size_t n = 0, more = 0;

	for (size_t i = 0; i < f->n_pauses; i++) {
		const struct wp_pause_view *p = &f->pauses[i];
		struct wp_doc_cell *c;

		if (wp_num_or(p->length_us, 0) < LEAST_US)
			break;
		if (n == SHOWN_PAUSES) {
			more++;
			continue;
		}
		if (!t)
			t = wp_doc_table(doc, pause_columns, WP_ARRAY_SIZE(pause_columns));
		c = t ? wp_doc_row(doc, t) : NULL;
		if (!c)
			return;
		c[0] = wp_cell_num(p->start_s);
		c[1] = wp_cell_num(p->length_us);
		c[2] = wp_cell(p->says ? p->says : is(p->what, "fsync") ? "fsync(2)" : "-");
		n++;
	}
	if (more)
		wp_doc_para(doc, NULL, WP_DOC_DIM,
			    "%zu more of the 16 longest are in the record (-J, --format csv)",
			    more);
	if (wp_num_or(f->pauses_left_out, 0) > 0)
		wp_doc_para(doc, NULL, WP_DOC_DIM,
			    "%.0f more came too fast to be looked at; the histogram has them",
			    f->pauses_left_out.v);
	if (n)
		wp_doc_blank(doc);
}

static void put_command(struct wp_doc *doc, const struct wp_flow *f)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(SENTENCE_BYTES);

	if (!f->taker)
		return;
	if (wp_num_or(f->taker_exit, 0) > 128)
		wp_buf_printf(&b, "ended by signal %.0f", f->taker_exit.v - 128);
	else if (wp_has(f->taker_exit))
		wp_buf_printf(&b, "exit status %.0f", f->taker_exit.v);
	else
		wp_buf_puts(&b, "exit status not known");
	put_us(&b, "after the end of its input it went on for",
	       wp_num_ratio(f->taker_end_s, wp_num(1), 1e6));
	wp_doc_para(doc, "Fed", wp_num_or(f->taker_exit, 1) == 0 ? WP_DOC_PLAIN : WP_DOC_WARN,
		    "%s: %s", f->taker, wp_buf_text(&b));
}

void wp_run_doc_write(struct wp_doc *doc, const struct wp_run *run)
{
	if (!run->n_flows)
		return;
	put_pauses(doc, &run->flows[0]);
	put_times(doc, run, "write", "Writes");
	put_times(doc, run, "fsync", "Fsync");
	if (wp_num_or(run->flows[0].sent.shortfall_bytes, 0) > 0) {
		char text[32];

		wp_format_bytes(run->flows[0].sent.shortfall_bytes.v, text, sizeof(text));
		wp_doc_para(doc, "Shortfall", WP_DOC_PLAIN,
			    "%s fell due but were not written: after a pause nothing is caught up",
			    text);
	}
	put_command(doc, &run->flows[0]);
}
