/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/sweep_show.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/sweep_test.h"
#include "report/campaign_cpus.h"

#define COMMAND_MAX_BYTES (64u << 10)

const char *wp_sweep_typical_run(const struct wp_campaign *c, size_t cell)
{
	const char *best = NULL;
	double nearest = INFINITY;

	for (size_t i = 0; i < c->plan.n_order; i++) {
		double off = fabs(c->results[i] - wp_num_or(c->cells[cell].median, NAN));

		if (c->plan.order[i] == cell && c->runs[i] && off < nearest) {
			nearest = off;
			best = c->runs[i];
		}
	}
	return best;
}

/* Cells with the largest and the smallest median, where none may be called best. */
static bool find_ends(const struct wp_campaign *c, size_t *ret_high, size_t *ret_low)
{
	bool any = false;

	for (size_t i = 0; i < c->n_cells; i++) {
		if (!wp_has(c->cells[i].median))
			continue;
		if (!any || c->cells[i].median.v > c->cells[*ret_high].median.v)
			*ret_high = i;
		if (!any || c->cells[i].median.v < c->cells[*ret_low].median.v)
			*ret_low = i;
		any = true;
	}
	return any;
}

struct picker {
	const struct wp_campaign *c;
	struct wp_store *store;
	struct wp_sweep_shown *shown;
	struct wp_cell_run cells[WP_SWEEP_CELLS_SHOWN];
};

static void add(struct picker *p, size_t cell, const char *label)
{
	const char *id = wp_sweep_typical_run(p->c, cell);
	struct wp_sweep_shown *s = p->shown;

	for (size_t i = 0; i < s->n; i++)
		if (p->cells[i].cell == cell) {
			p->cells[i].label = label ? label : p->cells[i].label;
			return;
		}
	if (!id || s->n == WP_SWEEP_CELLS_SHOWN ||
	    wp_store_load_run(p->store, id, &s->runs[s->n], NULL))
		return;
	p->cells[s->n] =
		(struct wp_cell_run) { .cell = cell, .run = &s->runs[s->n], .label = label };
	s->n++;
}

static void put_cells(struct wp_doc *doc, const struct wp_campaign *c, struct wp_store *store,
		      struct wp_sweep_shown *shown)
{
	struct picker p = { .c = c, .store = store, .shown = shown };
	size_t high = 0, low = 0;

	if (!find_ends(c, &high, &low))
		return;
	for (size_t i = 0; i < c->n_cells && c->n_cells <= WP_SWEEP_CELLS_SHOWN; i++)
		add(&p, i, NULL);
	if (c->best >= 0) {
		add(&p, (size_t)c->best, "Best");
		if (c->worst >= 0)
			add(&p, (size_t)c->worst, "Worst");
	} else {
		add(&p, high, "Highest");
		add(&p, low, "Lowest");
	}
	wp_campaign_cpus_doc(doc, c, p.cells, shown->n);
}

static void put_word(struct wp_buf *out, const char *word)
{
	bool plain = *word && !word[strcspn(word, " \t\n'\"\\$`;&|<>()*?[]{}~#!")];

	if (plain)
		wp_buf_printf(out, " %s", word);
	else if (!strchr(word, '\''))
		wp_buf_printf(out, " '%s'", word);
	else
		wp_buf_printf(out, " \"%s\"", word);
}

void wp_sweep_command_line(const struct wp_campaign *c, size_t repeats, struct wp_buf *out)
{
	const char *default_metric =
		wp_sweep_default_metric(c->plan.n_command ? c->plan.command[0] : NULL);

	wp_buf_printf(out, "whyperf sweep --seed %" PRIu64, c->plan.seed);
	for (size_t i = 0; i < c->plan.n_axes; i++) {
		const struct wp_axis *a = &c->plan.axes[i];

		wp_buf_printf(out, " --%s ", a->name);
		for (size_t k = 0; k < a->n_values; k++)
			wp_buf_printf(out, "%s%s", k ? "," : "", a->values[k]);
	}
	wp_buf_printf(out, " --repeat %zu", repeats);
	if (c->metric && default_metric && strcmp(c->metric, default_metric))
		wp_buf_printf(out, " --metric %s", c->metric);
	for (size_t i = 0; i < c->plan.n_command; i++)
		put_word(out, c->plan.command[i]);
}

void wp_sweep_show(struct wp_doc *doc, const struct wp_campaign *c, struct wp_store *store,
		   struct wp_sweep_shown *shown)
{
	_cleanup_buf_ struct wp_buf b = WP_BUF(COMMAND_MAX_BYTES);

	if (!c->kind || strcmp(c->kind, "sweep"))
		return;
	if (store)
		put_cells(doc, c, store, shown);
	wp_doc_blank(doc);
	wp_sweep_command_line(c, c->plan.repeats, &b);
	wp_doc_para(doc, "Again", WP_DOC_DIM, "%s", wp_buf_text(&b));
	if (store && c->id && c->state && strcmp(c->state, "done"))
		wp_doc_para(doc, "Go on", WP_DOC_PLAIN, "whyperf sweep --resume %.6s", c->id);
}

void wp_sweep_shown_done(struct wp_sweep_shown *shown)
{
	for (size_t i = 0; i < shown->n; i++)
		wp_run_done(&shown->runs[i]);
	shown->n = 0;
}
