/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When progress stopped, why, and what interrupts, queues and the interface did before, during and after. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "report/run_doc.h"

#define MAX_SHOWN 10 /* stalls in words; the record has all */
#define MAX_LINES 8  /* interrupts and softirqs in the table */
#define PHASES    3

static const char *const phases[PHASES] = { "before", "during", "after" };

static const struct wp_doc_column columns[] = {
	{ .head = "", .min_width = 24, .left = true },
	{ .head = "before", .min_width = 10, .gap = 2 },
	{ .head = "during", .min_width = 10, .gap = 2 },
	{ .head = "after", .min_width = 10, .gap = 2 },
};

static bool is(const char *s, const char *word)
{
	return s && !strcmp(s, word);
}

/* The view of the longest stall that has readings; the sender's where both have. */
static const struct wp_stall_view *detailed_view(const struct wp_run *run,
						 const struct wp_host **ret_host)
{
	const struct wp_stall_view *best = NULL;

	for (size_t h = 0; h < run->n_hosts; h++)
		for (size_t i = 0; i < run->hosts[h].n_stalls; i++) {
			const struct wp_stall_view *v = &run->hosts[h].stalls[i];
			double longer =
				best ? wp_num_or(v->length_s, 0) - wp_num_or(best->length_s, 0) : 1;

			if (!v->n_readings || is(v->role, "process"))
				continue;
			/* Ends see the same stall a little longer or shorter. */
			if (best && longer < wp_num_or(v->length_s, 0) / 2 &&
			    !(is(v->role, "sender") && !is(best->role, "sender") &&
			      longer > -wp_num_or(best->length_s, 0) / 2))
				continue;
			best = v;
			*ret_host = &run->hosts[h];
		}
	return best;
}

static void put_stall(struct wp_doc *doc, const struct wp_run *run, const struct wp_stall *s)
{
	char length[32], flows[48] = "";

	wp_format_ns(wp_num_or(s->length_s, 0) * 1e9, length, sizeof(length));
	if (wp_num_or(s->flows, 1) > 1)
		snprintf(flows, sizeof(flows), ", %.0f streams", s->flows.v);
	else if (run->n_flows > 1 && s->flow)
		snprintf(flows, sizeof(flows), ", stream %.16s", s->flow);
	wp_doc_para(doc, "", WP_DOC_PLAIN, "from %.2f s for %s until %s%s: %s%s%s%s",
		    wp_num_or(s->start_s, 0), length,
		    is(s->ended, "progress")       ? "it went on"
		    : is(s->ended, "stream ended") ? "the stream's end"
						   : "the end of the test",
		    flows, s->says ? s->says : "", is(s->confidence, "high") ? "" : " (",
		    is(s->confidence, "high") || !s->confidence ? "" : s->confidence,
		    is(s->confidence, "high") ? "" : " confidence)");
}

/* ---- around it -------------------------------------------------------------------------------- */

/* A second of the phase, from the readings' sums; negative where there is no such time or no figure. */
static double per_s(const struct wp_stall_view *v, const char *phase, size_t offset)
{
	double sum = 0, seconds = 0;

	for (size_t i = 0; i < v->n_readings; i++) {
		const struct wp_stall_reading *r = &v->readings[i];
		const struct wp_num *n = (const void *)((const char *)r + offset);

		if (!is(r->phase, phase))
			continue;
		if (!wp_has(*n))
			return -1;
		sum += n->v;
		seconds += wp_num_or(r->end_s, 0) - wp_num_or(r->start_s, 0);
	}
	return seconds > 0 ? sum / seconds : -1;
}

/* The most of the phase. */
static double most(const struct wp_stall_view *v, const char *phase, size_t offset)
{
	double m = -1;

	for (size_t i = 0; i < v->n_readings; i++) {
		const struct wp_num *n = (const void *)((const char *)&v->readings[i] + offset);

		if (is(v->readings[i].phase, phase) && wp_num_or(*n, -1) > m)
			m = n->v;
	}
	return m;
}

static const char *count_text(struct wp_doc *doc, double v)
{
	char text[48];

	if (v < 0)
		return "-";
	wp_doc_format(v < 10 && v > 0 ? WP_DOC_REAL : WP_DOC_COUNT, 1, 0, v, text, sizeof(text));
	return wp_doc_printf(doc, "%s", text);
}

static void put_row(struct wp_doc *doc, struct wp_doc_table *t, const char *what,
		    const double v[PHASES], bool bytes)
{
	struct wp_doc_cell *c = wp_doc_row(doc, t);
	char text[48];

	if (!c)
		return;
	c[0] = wp_cell(what);
	for (size_t i = 0; i < PHASES; i++) {
		if (!bytes || v[i] < 0) {
			c[i + 1] = wp_cell(count_text(doc, v[i]));
			continue;
		}
		wp_doc_format(WP_DOC_SHORT_BYTES, 0, 0, v[i], text, sizeof(text));
		c[i + 1] = wp_cell(wp_doc_printf(doc, "%s", text));
	}
}

static void put_figures(struct wp_doc *doc, struct wp_doc_table *t, const struct wp_stall_view *v)
{
#define AT(field) offsetof(struct wp_stall_reading, field)
	const char *interface = v->interface ? v->interface : "interface";
	const struct {
		const char *what;
		size_t offset;
		bool level, bytes, always; /* always: also where it is 0 all the time */
	} rows[] = {
		{ "got through /s", AT(moved_bytes), false, true, true },
		{ wp_doc_printf(doc, "%s sent packets/s", interface), AT(tx_packets), false, false,
		  true },
		{ wp_doc_printf(doc, "%s received packets/s", interface), AT(rx_packets), false,
		  false, true },
		{ wp_doc_printf(doc, "%s dropped/s", interface), AT(tx_dropped), false, false,
		  false },
		{ "queued packets, most", AT(queued_packets), true, false, false },
		{ "left the queue/s", AT(dequeued_packets), false, false, false },
		{ "dropped by the queue/s", AT(queue_drops), false, false, false },
		{ "requeued/s", AT(requeues), false, false, false },
		{ "softnet dropped/s", AT(softnet_dropped), false, false, false },
		{ "softnet squeezed/s", AT(softnet_squeezed), false, false, false },
		{ "unacknowledged, most", AT(unacked), true, false, false },
		{ "timeouts in a row, most", AT(timeouts), true, false, false },
		{ "window probes, most", AT(probes), true, false, false },
	};
#undef AT

	for (size_t i = 0; i < WP_ARRAY_SIZE(rows); i++) {
		double n[PHASES];
		bool any = rows[i].always;

		for (size_t p = 0; p < PHASES; p++) {
			n[p] = rows[i].level ? most(v, phases[p], rows[i].offset)
					     : per_s(v, phases[p], rows[i].offset);
			any |= n[p] > 0;
		}
		if (any)
			put_row(doc, t, rows[i].what, n, rows[i].bytes);
	}
}

/* NET_RX on one CPU, an interrupt of the interface on another: the busiest, as the record has them. */
static void put_lines(struct wp_doc *doc, struct wp_doc_table *t, const struct wp_stall_view *v)
{
	for (size_t i = 0; i < v->n_lines && i < MAX_LINES; i++) {
		const struct wp_stall_line *l = &v->lines[i];
		const double n[PHASES] = { wp_num_or(l->before_per_s, -1),
					   wp_num_or(l->during_per_s, -1),
					   wp_num_or(l->after_per_s, -1) };

		put_row(doc, t,
			wp_doc_printf(doc, "%s, CPU %.0f /s", l->name ? l->name : "?",
				      wp_num_or(l->cpu, 0)),
			n, false);
	}
}

static void put_around(struct wp_doc *doc, const struct wp_run *run)
{
	const struct wp_host *host = NULL;
	const struct wp_stall_view *v = detailed_view(run, &host);
	struct wp_doc_column head[WP_ARRAY_SIZE(columns)];
	struct wp_doc_table *t;

	if (!v)
		return;
	memcpy(head, columns, sizeof(head));
	head[0].head = wp_doc_printf(doc, "around second %.2f, %s", wp_num_or(v->start_s, 0),
				     host->role ? host->role : "this end");
	t = wp_doc_table(doc, head, WP_ARRAY_SIZE(head));
	if (!t)
		return;
	t->indent = 1;
	put_figures(doc, t, v);
	put_lines(doc, t, v);
}

void wp_run_doc_stalls(struct wp_doc *doc, const struct wp_run *run)
{
	double sum = 0, left_out = 0;
	char bound[32], all[32];

	if (!wp_has(run->test.stall_s))
		return;
	wp_format_ns(run->test.stall_s.v * 1e9, bound, sizeof(bound));
	for (size_t h = 0; h < run->n_hosts; h++)
		left_out += wp_num_or(run->hosts[h].stalls_left_out, 0);
	for (size_t i = 0; i < run->n_stalls; i++)
		sum += wp_num_or(run->stalls[i].length_s, 0);
	if (!run->n_stalls) {
		wp_doc_para(doc, "Stalls", WP_DOC_GOOD, "none of %s or longer", bound);
		return;
	}
	wp_format_ns(sum * 1e9, all, sizeof(all));
	wp_doc_para(doc, "Stalls", WP_DOC_BAD, "%zu of %s or longer, %s in all", run->n_stalls,
		    bound, all);
	for (size_t i = 0; i < run->n_stalls && i < MAX_SHOWN; i++)
		put_stall(doc, run, &run->stalls[i]);
	if (run->n_stalls > MAX_SHOWN)
		wp_doc_para(doc, "", WP_DOC_PLAIN, "and %zu more in the record (-J)",
			    run->n_stalls - MAX_SHOWN);
	if (left_out > 0)
		wp_doc_para(doc, "", WP_DOC_WARN,
			    "%.0f more were seen at the two ends and are not described", left_out);
	put_around(doc, run);
	wp_doc_blank(doc);
}

void wp_run_doc_soak(struct wp_doc *doc, const struct wp_run *run)
{
	bool first = true;

	for (size_t i = 0; i < run->n_hosts; i++) {
		const struct wp_host *h = &run->hosts[i];
		char base[32], end[32], peak[32];

		if (!wp_has(h->soak_rss_base_bytes))
			continue;
		wp_format_bytes(h->soak_rss_base_bytes.v, base, sizeof(base));
		wp_format_bytes(wp_num_or(h->soak_rss_end_bytes, 0), end, sizeof(end));
		wp_format_bytes(wp_num_or(h->soak_rss_peak_bytes, 0), peak, sizeof(peak));
		wp_doc_para(
			doc, first ? "Soak" : "", WP_DOC_PLAIN,
			"%s's own memory %s after a tenth of the run, %s at its end, %s at most; files "
			"%.0f, %.0f, %.0f; threads %.0f, %.0f, %.0f; %.0f readings",
			h->role ? h->role : "this end", base, end, peak, h->soak_fds_base.v,
			wp_num_or(h->soak_fds_end, 0), wp_num_or(h->soak_fds_peak, 0),
			wp_num_or(h->soak_threads_base, 0), wp_num_or(h->soak_threads_end, 0),
			wp_num_or(h->soak_threads_peak, 0), wp_num_or(h->soak_readings, 0));
		first = false;
	}
}
