/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "study/sweep.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/rng.h"
#include "stats/order.h"
#include "study/rank.h"

#define CONFIDENCE 0.95
#define NO_RECORD  "failed" /* stands in runs[] for a run that left no record */

/* ---- the plan --------------------------------------------------------------------------------- */

static int copy_texts(struct wp_pool *pool, const char *const *from, size_t n, const char ***ret)
{
	const char **v = wp_pool_calloc(pool, n ? n : 1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		v[i] = wp_pool_strdup(pool, from[i]);
		if (!v[i])
			return -ENOMEM;
	}
	*ret = v;
	return 0;
}

static int check_axis(const struct wp_sweep_plan *plan, size_t i, struct wp_err *err)
{
	const struct wp_axis *a = &plan->axes[i];

	if (!a->n_values)
		return wp_err_set(err, -EINVAL, "--%s: no values", a->name);
	if (a->n_values > WP_MAX_AXIS_VALUES)
		return wp_err_set(err, -EINVAL, "--%s: more than %d values", a->name,
				  WP_MAX_AXIS_VALUES);
	for (size_t k = 0; k < i; k++)
		if (!strcmp(plan->axes[k].name, a->name))
			return wp_err_set(err, -EINVAL, "--%s is given twice", a->name);
	for (size_t k = 0; k < a->n_values; k++)
		for (size_t m = 0; m < k; m++)
			if (!strcmp(a->values[k], a->values[m]))
				return wp_err_set(err, -EINVAL, "--%s: %s is given twice", a->name,
						  a->values[k]);
	return 0;
}

static int copy_plan(struct wp_campaign *c, const struct wp_sweep_plan *plan, struct wp_err *err)
{
	struct wp_pool *pool = &c->pool;
	int r = 0;

	for (size_t i = 0; i < plan->n_axes && !r; i++) {
		const struct wp_axis *from = &plan->axes[i];
		struct wp_axis *to = &c->plan.axes[i];

		r = check_axis(plan, i, err);
		if (r)
			return r;
		to->name = wp_pool_strdup(pool, from->name);
		to->heading = wp_pool_strdup(pool, from->heading);
		to->n_values = from->n_values;
		r = to->name ? copy_texts(pool, from->values, from->n_values, &to->values)
			     : -ENOMEM;
	}
	c->plan.n_axes = plan->n_axes;
	c->plan.repeats = plan->repeats;
	c->plan.seed = plan->seed;
	c->plan.n_command = plan->n_command;
	if (!r)
		r = copy_texts(pool, plan->command, plan->n_command, &c->plan.command);
	c->metric = wp_pool_strdup(pool, plan->metric);
	c->unit = wp_pool_strdup(pool, plan->unit);
	c->lower_is_better = plan->lower_is_better;
	if (!r && (!c->metric || !c->unit))
		r = -ENOMEM;
	return r ? wp_err_set(err, r, "not enough memory for the sweep") : 0;
}

/* Each round: every cell once, in an order of its own. */
static int draw_order(struct wp_campaign *c, size_t cells, struct wp_err *err)
{
	struct wp_rng rng;

	c->plan.n_order = cells * c->plan.repeats;
	c->plan.order = wp_pool_calloc(&c->pool, c->plan.n_order, sizeof(*c->plan.order));
	if (!c->plan.order)
		return wp_err_set(err, -ENOMEM, "not enough memory for the sweep");
	wp_rng_seed(&rng, c->plan.seed);
	for (size_t round = 0; round < c->plan.repeats; round++) {
		uint32_t *order = &c->plan.order[round * cells];

		for (size_t i = 0; i < cells; i++)
			order[i] = (uint32_t)i;
		wp_rng_shuffle(&rng, order, cells, sizeof(*order));
	}
	return 0;
}

int wp_sweep_plan(struct wp_campaign *ret, const struct wp_sweep_plan *plan, struct wp_err *err)
{
	size_t cells;
	int r;

	wp_campaign_init(ret);
	ret->kind = "sweep";
	ret->state = "running";
	if (!plan->n_axes || plan->n_axes > WP_MAX_AXES)
		return wp_err_set(err, -EINVAL, "a sweep has 1 to %d axes, such as --cpu all",
				  WP_MAX_AXES);
	if (!plan->repeats || plan->repeats > WP_MAX_REPEATS)
		return wp_err_set(err, -EINVAL, "--repeat: 1 to %d", WP_MAX_REPEATS);
	r = copy_plan(ret, plan, err);
	if (r)
		return r;
	cells = wp_campaign_n_cells(ret);
	if (cells > WP_MAX_CAMPAIGN_RUNS / ret->plan.repeats)
		return wp_err_set(err, -EINVAL,
				  "%zu cells %zu times are more than %d runs; name fewer values",
				  cells, ret->plan.repeats, WP_MAX_CAMPAIGN_RUNS);
	if (cells) {
		r = draw_order(ret, cells, err);
		if (r)
			return r;
	}
	return wp_campaign_layout(ret, err); /* says so when there are no or too many cells */
}

/* ---- what was made ---------------------------------------------------------------------------- */

size_t wp_sweep_made(const struct wp_campaign *c)
{
	size_t n = 0;

	while (c->runs && n < c->plan.n_order && c->runs[n])
		n++;
	return n;
}

size_t wp_sweep_whole_rounds(const struct wp_campaign *c)
{
	return c->n_cells ? wp_sweep_made(c) / c->n_cells : 0;
}

/* A campaign from the store may say anything: rounds must be whole, and runs made in order. */
static int check_campaign(const struct wp_campaign *c, struct wp_err *err)
{
	static const char wrong[] = "this campaign cannot go on: its plan is not that of a sweep";
	_cleanup_free_ unsigned char *seen = calloc(c->n_cells ? c->n_cells : 1, 1);

	if (!seen)
		return wp_err_set(err, -ENOMEM, "not enough memory for the sweep");
	if (!c->kind || strcmp(c->kind, "sweep") || !c->n_cells || !c->runs || !c->results ||
	    c->plan.n_order != c->n_cells * c->plan.repeats)
		return wp_err_set(err, -EINVAL, wrong);
	for (size_t i = 0; i < c->plan.n_order; i++) {
		size_t round = i / c->n_cells;

		if (seen[c->plan.order[i]] != (unsigned char)(round & 1))
			return wp_err_set(err, -EINVAL, wrong);
		seen[c->plan.order[i]] ^= 1;
	}
	for (size_t i = wp_sweep_made(c); i < c->plan.n_order; i++)
		if (c->runs[i])
			return wp_err_set(err, -EINVAL, wrong);
	return 0;
}

/* Gives every cell room for all its values, and fills in those of the runs that were made. */
static int make_room(struct wp_campaign *c, struct wp_err *err)
{
	for (size_t i = 0; i < c->n_cells; i++) {
		c->cells[i].values = wp_pool_calloc(&c->pool, c->plan.repeats, sizeof(double));
		if (!c->cells[i].values)
			return wp_err_set(err, -ENOMEM, "not enough memory for the sweep");
		c->cells[i].n = c->cells[i].n_values = c->cells[i].failed = 0;
	}
	for (size_t i = 0; i < c->plan.n_order && c->runs[i]; i++) {
		struct wp_cell *cell = &c->cells[c->plan.order[i]];

		if (isfinite(c->results[i]))
			cell->values[cell->n_values++] = c->results[i];
		else
			cell->failed++;
		cell->n = cell->n_values;
	}
	return 0;
}

/* ---- going ------------------------------------------------------------------------------------ */

struct going {
	struct wp_campaign *c;
	const struct wp_sweep_hooks *h;
	int64_t start_ns;
	size_t first, made; /* runs at the start and now */
};

static int64_t now(const struct going *g)
{
	return g->h->now_ns ? g->h->now_ns(g->h->arg) : wp_now_ns();
}

static void tell(const struct going *g, size_t i, bool starting,
		 const struct wp_sweep_result *result, const char *error)
{
	const struct wp_campaign *c = g->c;
	size_t here = g->made - g->first, left = c->plan.n_order - g->made;
	int64_t elapsed = now(g) - g->start_ns;
	int64_t each = here ? elapsed / (int64_t)here : g->h->expected_run_ns;
	struct wp_sweep_progress p = {
		.done = g->made,
		.total = c->plan.n_order,
		.round = i / c->n_cells + 1,
		.rounds = c->plan.repeats,
		.cell = c->plan.order[i],
		.starting = starting,
		.result = error ? NULL : result,
		.error = error,
		.elapsed_ns = elapsed,
		.left_ns = each > 0 && (int64_t)left <= INT64_MAX / each ? each * (int64_t)left : 0,
	};

	if (g->h->progress)
		g->h->progress(g->h->arg, c, &p);
}

/* Notes why a run of the cell failed, once for each cell. */
static void note_failure(struct wp_campaign *c, size_t at, const char *reason)
{
	struct wp_cell *cell = &c->cells[at];
	char name[200];

	if (cell->failed++)
		return;
	wp_campaign_cell_name(c, at, name, sizeof(name));
	wp_campaign_say(c, WP_CAMPAIGN_NOTES, "%s failed: %s", name, reason);
	if (!cell->n_values)
		cell->why = wp_pool_printf(&c->pool, "failed: %s", reason);
}

static int keep(struct wp_campaign *c, size_t i, const struct wp_sweep_result *result,
		const char *error)
{
	size_t at = c->plan.order[i];
	struct wp_cell *cell = &c->cells[at];

	c->runs[i] = wp_pool_strdup(&c->pool, result->id[0] ? result->id : NO_RECORD);
	if (!c->runs[i])
		return -ENOMEM;
	if (!error && wp_has(result->value) && isfinite(result->value.v)) {
		c->results[i] = result->value.v;
		if (!cell->n_values)
			cell->why = result->why[0] ? wp_pool_strdup(&c->pool, result->why) : NULL;
		cell->values[cell->n_values++] = result->value.v;
		cell->n = cell->n_values;
		return 0;
	}
	if (!error)
		error = result->value.why ? result->value.why : "the run gave no figure";
	note_failure(c, at, error);
	return 0;
}

/* Run i of the plan. -EINTR and -ESHUTDOWN end the sweep. */
static int make_run(struct going *g, size_t i, struct wp_err *err)
{
	struct wp_sweep_result result = { 0 };
	struct wp_err reason = { 0 };
	const char *error = NULL;
	int r;

	tell(g, i, true, NULL, NULL);
	r = g->h->run(g->h->arg, g->c, g->c->plan.order[i], &result, &reason);
	if (r == -EINTR || r == -ESHUTDOWN)
		return r == -EINTR ? r : wp_err_set(err, r, "%s", reason.msg);
	if (r)
		error = reason.msg[0] ? reason.msg : "the run failed";
	r = keep(g->c, i, &result, error);
	if (r)
		return wp_err_set(err, r, "not enough memory for the sweep");
	g->made++;
	tell(g, i, false, &result, error);
	if (g->h->save)
		g->h->save(g->h->arg, g->c);
	return 0;
}

int wp_sweep_go(struct wp_campaign *c, const struct wp_sweep_hooks *hooks, struct wp_err *err)
{
	struct going g = {
		.c = c, .h = hooks, .first = wp_sweep_made(c), .made = wp_sweep_made(c)
	};
	int r = check_campaign(c, err), ranked;

	if (!r)
		r = make_room(c, err);
	if (r)
		return r;
	g.start_ns = now(&g);
	c->state = "running";
	for (size_t i = g.first; i < c->plan.n_order && !r; i++)
		r = hooks->cancelled && hooks->cancelled(hooks->arg) ? -EINTR
								     : make_run(&g, i, err);
	c->state = !r ? "done" : r == -EINTR ? "interrupted" : "failed";
	ranked = wp_sweep_rank(c, err);
	if (hooks->save)
		hooks->save(hooks->arg, c);
	if (r && r != -EINTR)
		return r;
	return ranked;
}

/* ---- summing up ------------------------------------------------------------------------------- */

static void clear_cell(struct wp_cell *cell)
{
	cell->median = cell->min = cell->max =
		wp_absent(cell->failed ? "every run failed" : "no whole round yet");
	cell->low = cell->high = cell->median;
	cell->like_best = cell->like_worst = false;
}

/* Over the values of the whole rounds, which come first in each cell. */
static void sum_up_cell(struct wp_campaign *c, struct wp_cell *cell, size_t n, double *scratch)
{
	struct wp_bounds interval;

	if (!n)
		return;
	memcpy(scratch, cell->values, n * sizeof(*scratch));
	wp_sort(scratch, n);
	cell->median = wp_num(wp_median(scratch, n));
	cell->min = wp_num(scratch[0]);
	cell->max = wp_num(scratch[n - 1]);
	if (!wp_median_interval(scratch, n, CONFIDENCE, &interval)) {
		cell->low = wp_num(interval.low);
		cell->high = wp_num(interval.high);
		return;
	}
	cell->low = cell->high = wp_absent(
		wp_pool_printf(&c->pool, "%zu runs are too few for a 95 %% interval; it takes %zu",
			       n, wp_median_interval_min_n(CONFIDENCE)));
}

static void say_first(struct wp_campaign *c, const char *sentence)
{
	c->n_why = 0; /* an earlier summing up's */
	wp_campaign_say(c, WP_CAMPAIGN_WHY, "%s", sentence);
}

static void say_not_apart(struct wp_campaign *c, const struct wp_rank *rank, size_t rounds,
			  size_t cells)
{
	size_t need = wp_rank_min_rounds(cells);
	char text[400];

	if (rounds < need)
		snprintf(
			text, sizeof(text),
			"no cell is told apart from another: %zu cells need %zu rounds or more for that, and %zu %s "
			"whole",
			cells, need, rounds, rounds == 1 ? "is" : "are");
	else if (rank->p > WP_RANK_ALPHA)
		snprintf(
			text, sizeof(text),
			"no cell is told apart from another: orders as uneven as these come up by chance in %.0f of "
			"100 sweeps of equal cells",
			100 * rank->p);
	else
		snprintf(
			text, sizeof(text),
			"the cells differ (p = %.3f), but less than their spread: the ranges of the best and the worst "
			"overlap, so none is named",
			rank->p);
	say_first(c, text);
}

/* `ids` are the ranked cells' numbers. */
static void name_ends(struct wp_campaign *c, const struct wp_rank *rank, const size_t *ids,
		      size_t n)
{
	const struct wp_cell *best, *worst;
	char text[320];

	c->best = (long)ids[c->lower_is_better ? rank->worst : rank->best];
	c->worst = (long)ids[c->lower_is_better ? rank->best : rank->worst];
	best = &c->cells[c->best];
	worst = &c->cells[c->worst];
	for (size_t i = 0; i < n; i++) {
		struct wp_cell *cell = &c->cells[ids[i]];

		cell->like_best = cell->max.v >= best->min.v && cell->min.v <= best->max.v;
		cell->like_worst = cell->max.v >= worst->min.v && cell->min.v <= worst->max.v;
	}
	snprintf(
		text, sizeof(text),
		"best and worst are named because their ranges do not overlap and equal cells would look this uneven "
		"in %.1f of 100 sweeps; the best of many is flattered, so confirm it on fresh runs",
		100 * rank->p);
	say_first(c, text);
}

/* The values of the cells that have one of every whole round, in the order of rounds. */
static void fill_table(const struct wp_campaign *c, size_t rounds, const size_t *column, size_t n,
		       double *table)
{
	for (size_t i = 0; i < rounds * c->n_cells; i++) {
		size_t at = column[c->plan.order[i]];

		if (at != SIZE_MAX)
			table[i / c->n_cells * n + at] = c->results[i];
	}
}

static int rank_cells(struct wp_campaign *c, size_t rounds, size_t *column, size_t *ids,
		      struct wp_err *err)
{
	_cleanup_free_ double *table = NULL;
	struct wp_rank rank;
	size_t n = 0;

	for (size_t i = 0; i < c->n_cells; i++)
		if (column[i] != SIZE_MAX) {
			column[i] = n;
			ids[n++] = i;
		}
	if (n < 2) {
		say_first(c, n ? "one cell only has figures: nothing to compare it with"
			       : "no cell has figures of a whole round");
		return 0;
	}
	table = calloc(rounds * n, sizeof(*table));
	if (!table)
		return wp_err_set(err, -ENOMEM, "not enough memory for the sweep");
	fill_table(c, rounds, column, n, table);
	if (wp_rank_cells(table, rounds, n, c->plan.seed, &rank))
		return wp_err_set(err, -ENOMEM, "not enough memory for the sweep");
	if (rank.told_apart)
		name_ends(c, &rank, ids, n);
	else
		say_not_apart(c, &rank, rounds, n);
	return 0;
}

/* Values of each cell within the first `runs` runs. */
static void count_values(const struct wp_campaign *c, size_t runs, size_t *ret)
{
	memset(ret, 0, c->n_cells * sizeof(*ret));
	for (size_t i = 0; i < runs; i++)
		ret[c->plan.order[i]] += isfinite(c->results[i]) ? 1 : 0;
}

int wp_sweep_rank(struct wp_campaign *c, struct wp_err *err)
{
	size_t made = wp_sweep_made(c), rounds = wp_sweep_whole_rounds(c);
	_cleanup_free_ double *scratch =
		calloc(c->plan.repeats ? c->plan.repeats : 1, sizeof(*scratch));
	_cleanup_free_ size_t *column = calloc(c->n_cells ? c->n_cells : 1, sizeof(*column));
	_cleanup_free_ size_t *ids = calloc(c->n_cells ? c->n_cells : 1, sizeof(*ids));
	int r;

	if (!scratch || !column || !ids)
		return wp_err_set(err, -ENOMEM, "not enough memory for the sweep");
	c->best = c->worst = -1;
	/* Before the first round is whole there is nothing better than what was made. */
	count_values(c, rounds ? rounds * c->n_cells : made, column);
	for (size_t i = 0; i < c->n_cells; i++) {
		clear_cell(&c->cells[i]);
		sum_up_cell(c, &c->cells[i], column[i], scratch);
		column[i] = rounds && column[i] == rounds ? 0 : SIZE_MAX;
	}
	r = rank_cells(c, rounds, column, ids, err);
	if (!r && made > rounds * c->n_cells)
		wp_campaign_say(
			c, WP_CAMPAIGN_WHY, "%zu runs of a round that is not whole are stored%s",
			made - rounds * c->n_cells,
			rounds ? ", and not in these figures" : "; their figures are single runs");
	return r;
}
