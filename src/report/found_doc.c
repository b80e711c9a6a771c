/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/found_doc.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "study/find_rate.h"

#define SENTENCE_BYTES 4096
#define FEW_PACKETS \
	3 /* / bound: with fewer, no loss at all does not prove the bound (95 %, rule of three) */

static bool is(const char *s, const char *word)
{
	return s && !strcmp(s, word);
}

static const char *count(struct wp_doc *doc, struct wp_num n)
{
	char text[48] = "-";

	if (wp_has(n))
		wp_doc_format(WP_DOC_COUNT, 0, 0, n.v, text, sizeof(text));
	return wp_doc_printf(doc, "%s", text);
}

static const char *rate(struct wp_doc *doc, struct wp_num n, char unit)
{
	char text[48] = "-";

	if (wp_has(n))
		wp_doc_format(WP_DOC_BPS, 0, unit, n.v, text, sizeof(text));
	return wp_doc_printf(doc, "%s", text);
}

/* Loss is told to 3 digits: 0.0125 % and 12.5 %. */
static const char *percent(struct wp_doc *doc, struct wp_num n)
{
	return wp_has(n) ? wp_doc_printf(doc, "%.3g %%", n.v) : "-";
}

/* ---- the trials ------------------------------------------------------------------------------- */

static const struct wp_doc_column columns[] = {
	{ .head = "trial", .type = WP_DOC_COUNT },
	{ .head = "step", .gap = 2, .left = true, .drop = 1 },
	{ .head = "asked/s", .type = WP_DOC_COUNT, .gap = 2 },
	{ .head = "offered/s", .type = WP_DOC_COUNT, .gap = 2 },
	{ .head = "received/s", .type = WP_DOC_COUNT, .gap = 2, .drop = 2 },
	{ .head = "loss", .gap = 2 },
	{ .head = "", .gap = 2, .left = true, .min_width = 6 },
	{ .head = "most of it at", .gap = 2, .left = true, .wrap = true },
};

static void put_trials(struct wp_doc *doc, const struct wp_found *f)
{
	struct wp_doc_table *t = wp_doc_table(doc, columns, WP_ARRAY_SIZE(columns));

	if (t)
		t->indent = 1;
	for (size_t i = 0; i < f->n_tried; i++) {
		const struct wp_rate_tried *tried = &f->tried[i];
		struct wp_doc_cell *c = wp_doc_row(doc, t);

		if (!c)
			return;
		c[0] = wp_cell_num(wp_num((double)i + 1));
		c[1] = wp_cell(tried->step);
		c[2] = wp_has(tried->asked_pps) ? wp_cell_num(tried->asked_pps)
						: wp_cell("flat out");
		c[3] = wp_cell_num(tried->sent_pps);
		c[4] = wp_cell_num(tried->received_pps);
		c[5] = wp_cell(percent(doc, tried->loss_pct));
		c[6] = wp_cell(tried->outcome);
		c[6].style = is(tried->outcome, "passed") ? WP_DOC_GOOD : WP_DOC_WARN;
		c[7] = wp_cell(wp_num_or(tried->lost_packets, 0) > 0 ? tried->where : "");
	}
	wp_doc_para(
		doc, NULL, WP_DOC_DIM,
		"lost: more than allowed; short: the sender offered less than 98 %% of what was asked, so it does not count; starved: likewise, and other work had its CPU");
}

/* ---- the answer ------------------------------------------------------------------------------- */

const char *wp_found_answer(struct wp_doc *doc, const struct wp_found *f, char unit)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(SENTENCE_BYTES);

	if (!wp_has(f->received_pps)) {
		if (is(f->verdict, "none"))
			return wp_doc_printf(doc, "no rate: even %s packets/s lose more (%s)",
					     count(doc, f->lowest_failed_pps),
					     f->bound ? f->bound : "?");
		return wp_doc_printf(doc, "not known: the search was cut short");
	}
	wp_buf_printf(&b, "%s%s packets/s", is(f->verdict, "at_least") ? "at least " : "",
		      count(doc, f->received_pps));
	wp_buf_printf(&b, ": %s of payload", rate(doc, f->payload_bps, unit));
	if (wp_has(f->ethernet_bps))
		wp_buf_printf(&b, ", %s on Ethernet with preamble and gap",
			      rate(doc, f->ethernet_bps, unit));
	if (is(f->verdict, "unfinished"))
		wp_buf_puts(&b, wp_num_or(f->confirmed, 0) > 0
					? " (the search was cut short: it may be more)"
					: " (the search was cut short: not confirmed)");
	return wp_doc_printf(doc, "%s", wp_buf_text(&b));
}

static void put_confirmation(struct wp_doc *doc, const struct wp_found *f)
{
	if (!wp_has(f->trials) || f->trials.v < 1)
		return;
	wp_doc_para(
		doc, "", WP_DOC_PLAIN,
		"%s of %s trials of %g s passed%s; loss %s in the median, %s at most; %s of %s packets lost in all",
		count(doc, f->passed), count(doc, f->trials), wp_num_or(f->trial_s, 0),
		wp_num_or(f->void_trials, 0) > 0
			? wp_doc_printf(doc, ", %s more fell short", count(doc, f->void_trials))
			: "",
		percent(doc, f->loss_pct), percent(doc, f->loss_max_pct),
		count(doc, f->lost_packets), count(doc, f->sent_packets));
}

static void put_limit(struct wp_doc *doc, const struct wp_found *f)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(SENTENCE_BYTES);

	if (is(f->limited_by, "sender") && is(f->verdict, "at_least"))
		wp_buf_puts(&b,
			    "the sender: flat out it offers no more, and the path carries that; "
			    "what the path could carry is not known");
	else if (is(f->limited_by, "sender"))
		wp_buf_printf(
			&b,
			"the sender: asked for %s packets/s it falls short without much loss; what the path could carry is not known",
			count(doc, f->next_pps));
	else if (is(f->limited_by, "asked"))
		wp_buf_puts(&b, "the highest rate that was asked for (-b)");
	else if (is(f->limited_by, "starved"))
		wp_buf_puts(
			&b,
			"this machine: other work takes the sender's CPU so often that it can't hold a "
			"rate; pin it to a free one (--cpu), or try again when the machine is quiet");
	else if (is(f->limited_by, "loss") && is(f->verdict, "found"))
		wp_buf_printf(&b, "loss: at %s packets/s %s of %s trials passed",
			      count(doc, f->next_pps), count(doc, f->next_passed),
			      count(doc, f->next_trials));
	if (f->lost_at && !is(f->limited_by, "sender") && !is(f->limited_by, "asked") &&
	    !is(f->limited_by, "starved"))
		wp_buf_printf(&b, "%s%.0f %% of the loss at: %s", b.len ? "; " : "",
			      wp_num_or(f->lost_at_pct, 0), f->lost_at);
	if (b.len)
		wp_doc_para(doc, "Limit", WP_DOC_PLAIN, "%s", wp_buf_text(&b));
}

static void put_spread(struct wp_doc *doc, const struct wp_found *f)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(SENTENCE_BYTES);

	if (!wp_has(f->sent_min_pps))
		return;
	wp_buf_printf(&b, "%s..%s packets/s offered in those trials", count(doc, f->sent_min_pps),
		      count(doc, f->sent_max_pps));
	if (wp_has(f->highest_passed_pps))
		wp_buf_printf(&b, "; the fastest trial that passed offered %s",
			      count(doc, f->highest_passed_pps));
	if (wp_has(f->lowest_failed_pps))
		wp_buf_printf(&b, ", the slowest that lost too much %s",
			      count(doc, f->lowest_failed_pps));
	wp_doc_para(doc, "Spread", WP_DOC_PLAIN, "%s", wp_buf_text(&b));
}

static void put_notes(struct wp_doc *doc, const struct wp_found *f)
{
	struct wp_loss_bound bound = { 0 };
	double share = f->bound && !wp_loss_bound_parse(f->bound, &bound, NULL) ? bound.share : 0;

	if (share > 0 && wp_has(f->sent_packets) && f->sent_packets.v < FEW_PACKETS / share)
		wp_doc_para(
			doc, "Note", WP_DOC_WARN,
			"%s packets are too few to tell a loss of %.3g %% from none; lengthen --trial-time",
			count(doc, f->sent_packets), 100 * share);
	if (wp_num_or(f->dips, 0) > 0)
		wp_doc_para(
			doc, "Note", WP_DOC_WARN,
			"%s slower trial%s lost more than allowed: loss here does not come from the rate alone",
			count(doc, f->dips), f->dips.v == 1 ? "" : "s");
	if (is(f->verdict, "none"))
		wp_doc_para(
			doc, "Note", WP_DOC_WARN,
			"loss here does not come from the rate: look at the link's errors and at what drops packets");
}

static void put_heading(struct wp_doc *doc, const struct wp_campaign *c)
{
	struct wp_buf b _cleanup_buf_ = WP_BUF(SENTENCE_BYTES);
	const struct wp_found *f = c->found;

	wp_doc_heading(
		doc,
		"whyperf %s  highest rate with %s  %s-byte datagrams, trials of %g s, %g %% apart",
		c->version ? c->version : "", f->bound ? f->bound : "?",
		count(doc, f->payload_bytes), wp_num_or(f->trial_s, 0),
		wp_num_or(f->resolution_pct, 0));
	for (size_t i = 0; i < c->plan.n_command; i++)
		wp_buf_printf(&b, "%s%s", i ? " " : "", c->plan.command[i]);
	if (b.len)
		wp_doc_para(doc, "Command", WP_DOC_PLAIN, "%s", wp_buf_text(&b));
	if (c->started)
		wp_doc_para(doc, "Started", WP_DOC_PLAIN, "%s", c->started);
	if (c->host)
		wp_doc_para(doc, "Machine", WP_DOC_PLAIN, "%s", c->host);
	if (c->state && strcmp(c->state, "done") != 0)
		wp_doc_para(doc, "State", WP_DOC_WARN, "%s", c->state);
	wp_doc_blank(doc);
}

void wp_found_doc(struct wp_doc *doc, const struct wp_campaign *c, char unit)
{
	const struct wp_found *f = c->found;

	put_heading(doc, c);
	put_trials(doc, f);
	wp_doc_blank(doc);
	wp_doc_para(doc, "Answer", WP_DOC_STRONG, "%s", wp_found_answer(doc, f, unit));
	put_confirmation(doc, f);
	put_limit(doc, f);
	put_spread(doc, f);
	put_notes(doc, f);
}
