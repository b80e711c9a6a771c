/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "study/find_rate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "stats/order.h"

#define MAX_POINTS   128  /* rates looked at in step 3: each takes a trial at least */
#define FIRST_GUESS  0.95 /* of what arrived flat out */
#define FIRST_STRIDE 1.15 /* squared with each step in the same direction */
#define MAX_SHORT    4    /* void trials of one rate: then the sender is the limit */
#define MAX_STARVED  10   /* ... that others held up: then nothing can be found out here */
#define LIKELY_STEPS 3    /* trials from the first guess to two rates that enclose the answer */

/* A rate on trial. */
struct point {
	double pps; /* for comparing: of the flat-out point what the first trial sent */
	size_t n;   /* passed + lost; the others were void */
	size_t passed, lost, shorts, starved;
};

struct wp_find_rate {
	struct wp_find_rate_config c;
	enum wp_rate_phase phase;
	bool over, starved;
	enum wp_rate_verdict verdict;
	struct wp_rate_trial trials[WP_RATE_MAX_TRIALS];
	size_t n_trials;
	double top_pps; /* the highest rate that can be tried */
	/* Step 2: `at` is on trial; `low` passed (0 = nothing did), `high` did not. */
	struct point at;
	double low, high, stride;
	/* Step 3. accepted, rejected: points, -1 = none. */
	struct point points[MAX_POINTS];
	size_t n_points;
	long candidate, partner, now, accepted, rejected;
	unsigned step;
};

int wp_find_rate_new(const struct wp_find_rate_config *config, struct wp_find_rate **ret,
		     struct wp_err *err)
{
	struct wp_find_rate *f;

	if (!(config->min_pps > 0) || config->max_pps < 0 ||
	    (config->max_pps > 0 && config->max_pps < config->min_pps))
		return wp_err_set(err, -EINVAL,
				  "the search has no range: %g to %g datagrams a second",
				  config->min_pps, config->max_pps);
	if (!(config->resolution >= WP_RATE_MIN_DISTANCE) ||
	    !(config->resolution <= WP_RATE_MAX_DISTANCE))
		return wp_err_set(err, -EINVAL, "the resolution must be between %g %% and %g %%",
				  100 * WP_RATE_MIN_DISTANCE, 100 * WP_RATE_MAX_DISTANCE);
	if (config->border_trials < 1 || config->border_trials > WP_RATE_MAX_BORDER ||
	    config->border_passes < 1 || config->border_passes > config->border_trials)
		return wp_err_set(err, -EINVAL, "the trials at the border must be between 1 and %d",
				  WP_RATE_MAX_BORDER);
	if (config->max_trials < 1 || config->max_trials > WP_RATE_MAX_TRIALS)
		return wp_err_set(err, -EINVAL,
				  "the search must be allowed between 1 and %d trials",
				  WP_RATE_MAX_TRIALS);
	f = calloc(1, sizeof(*f));
	if (!f)
		return wp_err_set(err, -ENOMEM, "no memory for the search");
	f->c = *config;
	f->high = INFINITY;
	f->stride = FIRST_STRIDE;
	f->candidate = f->partner = f->now = f->accepted = f->rejected = -1;
	f->step = 1;
	f->verdict = WP_RATE_UNFINISHED;
	*ret = f;
	return 0;
}

void wp_find_rate_free(struct wp_find_rate *f)
{
	free(f);
}

/* ---- what to ask for -------------------------------------------------------------------------- */

/* The flat-out point is asked for as such. */
static double asked(const struct wp_find_rate *f, double pps)
{
	return pps >= f->top_pps ? f->c.max_pps : pps;
}

bool wp_find_rate_next(const struct wp_find_rate *f, double *ret_pps, enum wp_rate_phase *ret_phase)
{
	if (f->over)
		return false;
	*ret_phase = f->phase;
	if (f->phase == WP_RATE_SCOUT)
		*ret_pps = f->c.max_pps;
	else
		*ret_pps = asked(f, f->phase == WP_RATE_SEARCH ? f->at.pps : f->points[f->now].pps);
	return true;
}

static void finish(struct wp_find_rate *f, enum wp_rate_verdict verdict)
{
	f->over = true;
	f->verdict = verdict;
}

static void give_up(struct wp_find_rate *f)
{
	f->starved = true;
	finish(f, WP_RATE_UNFINISHED);
}

static void count(struct point *p, enum wp_rate_outcome outcome)
{
	p->n += outcome == WP_RATE_PASSED || outcome == WP_RATE_LOST;
	p->passed += outcome == WP_RATE_PASSED;
	p->lost += outcome == WP_RATE_LOST;
	p->shorts += outcome == WP_RATE_SHORT;
	p->starved += outcome == WP_RATE_STARVED;
}

/* A trial that fell short says nothing about the rate, and is made again. Too many of them do: about the sender. */
static bool falls_short(const struct point *p)
{
	return p->shorts >= MAX_SHORT && p->shorts > 2 * p->n;
}

/* Others take the sender's CPU so often that no rate can be held. */
static bool is_hopeless(const struct point *p)
{
	return p->starved >= MAX_STARVED && p->starved > 2 * p->n;
}

/* ---- step 3: the border ----------------------------------------------------------------------- */

static bool is_accepted(const struct wp_find_rate *f, const struct point *p)
{
	return p->n >= f->c.border_trials && p->passed >= f->c.border_passes;
}

/* As soon as it can't be accepted any more. */
static bool is_rejected(const struct wp_find_rate *f, const struct point *p)
{
	return p->lost > f->c.border_trials - f->c.border_passes || falls_short(p);
}

static bool is_decided(const struct wp_find_rate *f, const struct point *p)
{
	return is_accepted(f, p) || is_rejected(f, p);
}

static long add_point(struct wp_find_rate *f, double pps)
{
	if (f->n_points == MAX_POINTS)
		return -1;
	f->points[f->n_points] = (struct point) { .pps = pps };
	return (long)f->n_points++;
}

static double pps_of(const struct wp_find_rate *f, long point)
{
	return f->points[point].pps;
}

/* Another candidate, after a decision; or the end. */
static void move_border(struct wp_find_rate *f)
{
	double stride = pow(1 + f->c.resolution, f->step), pps;

	f->partner = -1;
	if (f->accepted >= 0 && f->rejected >= 0) {
		double low = pps_of(f, f->accepted), high = pps_of(f, f->rejected);

		if (high / low <= 1 + f->c.resolution * 1.0001) {
			finish(f, WP_RATE_FOUND);
			return;
		}
		pps = sqrt(low * high);
	} else if (f->accepted >= 0) {
		if (pps_of(f, f->accepted) >= f->top_pps) {
			finish(f, WP_RATE_AT_LEAST);
			return;
		}
		pps = fmin(f->top_pps, pps_of(f, f->accepted) * stride);
		f->step *= 2;
	} else {
		if (pps_of(f, f->rejected) <= f->c.min_pps) {
			finish(f, WP_RATE_NONE);
			return;
		}
		pps = fmax(f->c.min_pps, pps_of(f, f->rejected) / stride);
		f->step *= 2;
	}
	f->candidate = add_point(f, pps);
	if (f->candidate < 0)
		finish(f, WP_RATE_UNFINISHED);
}

/* Which of the two is tried next; decisions move the border. */
static void choose(struct wp_find_rate *f)
{
	while (!f->over) {
		const struct point *c = &f->points[f->candidate],
				   *p = f->partner >= 0 ? &f->points[f->partner] : NULL;

		if (is_rejected(f, c)) {
			f->rejected = f->candidate;
		} else if (is_accepted(f, c) && !p) {
			f->accepted = f->candidate;
		} else if (is_accepted(f, c) && is_decided(f, p)) {
			f->accepted = is_accepted(f, p) ? f->partner : f->candidate;
			if (is_rejected(f, p))
				f->rejected = f->partner;
		} else {
			bool turn = p && !is_decided(f, p) && (is_accepted(f, c) || p->n < c->n);

			f->now = turn ? f->partner : f->candidate;
			return;
		}
		move_border(f);
	}
}

static void begin_border(struct wp_find_rate *f, double pps, double next_pps)
{
	f->phase = WP_RATE_BORDER;
	f->candidate = add_point(f, pps);
	f->partner = next_pps > pps ? add_point(f, next_pps) : -1;
	choose(f);
}

static void take_border(struct wp_find_rate *f, enum wp_rate_outcome outcome)
{
	count(&f->points[f->now], outcome);
	if (is_hopeless(&f->points[f->now]))
		give_up(f);
	else
		choose(f);
}

/* ---- steps 1 and 2: the search ---------------------------------------------------------------- */

static void search_at(struct wp_find_rate *f, double pps)
{
	f->at = (struct point) { .pps = fmin(fmax(pps, f->c.min_pps), f->high) };
}

/* The rate on trial is decided: what comes next. */
static void narrow(struct wp_find_rate *f)
{
	double ratio = f->low > 0 ? f->high / f->low : INFINITY;

	if (f->low <= 0) {
		if (f->high <= f->c.min_pps) {
			finish(f, WP_RATE_NONE);
			return;
		}
		search_at(f, f->high / f->stride);
		f->stride *= f->stride;
	} else if (ratio <= 1 + f->c.resolution) {
		begin_border(f, f->low, f->high);
	} else {
		search_at(f, fmin(f->low * f->stride, sqrt(f->low * f->high)));
		f->stride *= f->stride;
	}
}

/* Two of three decide against a rate, one trial that passes at once decides for it. */
static void take_search(struct wp_find_rate *f, enum wp_rate_outcome outcome)
{
	struct point *p = &f->at;

	count(p, outcome);
	if (is_hopeless(p)) {
		give_up(f);
		return;
	}
	if (p->passed > p->lost)
		f->low = p->pps;
	else if (p->lost >= 2 || falls_short(p))
		f->high = p->pps;
	else
		return;
	narrow(f);
}

static void take_scout(struct wp_find_rate *f, const struct wp_rate_trial *t)
{
	f->top_pps = f->c.max_pps > 0 ? f->c.max_pps : fmax(t->sent_pps, f->c.min_pps);
	f->phase = WP_RATE_SEARCH;
	if (t->outcome == WP_RATE_PASSED) {
		begin_border(f, f->top_pps, 0);
		return;
	}
	f->high = f->top_pps;
	if (f->high <= f->c.min_pps) {
		begin_border(f, f->top_pps, 0);
		return;
	}
	/* What came through under overload is a good guess: a link, a shaper or a policer carries so much. */
	search_at(f, fmin(FIRST_GUESS * t->received_pps, f->high / (1 + f->c.resolution)));
}

int wp_find_rate_result(struct wp_find_rate *f, const struct wp_rate_result *r)
{
	struct wp_rate_trial t = { .phase = f->phase };

	if (f->over || !(r->sent > 0) || !(r->seconds > 0) || !(r->lost >= 0) || r->lost > r->sent)
		return -EINVAL;
	if (!wp_find_rate_next(f, &t.asked_pps, &t.phase))
		return -EINVAL;
	t.sent = r->sent;
	t.lost = r->lost;
	t.loss = r->lost / r->sent;
	t.sent_pps = r->sent / r->seconds;
	t.received_pps = (r->sent - r->lost) / r->seconds;
	t.outcome = !wp_loss_within(&f->c.bound, r->lost, r->sent) ? WP_RATE_LOST
		    : t.sent_pps >= WP_RATE_REACHED * t.asked_pps  ? WP_RATE_PASSED
		    : r->starved                                   ? WP_RATE_STARVED
								   : WP_RATE_SHORT;
	f->trials[f->n_trials++] = t;
	if (t.phase == WP_RATE_SCOUT)
		take_scout(f, &t);
	else if (t.phase == WP_RATE_SEARCH)
		take_search(f, t.outcome);
	else
		take_border(f, t.outcome);
	if (!f->over && f->n_trials >= f->c.max_trials)
		finish(f, WP_RATE_UNFINISHED);
	return 0;
}

const struct wp_rate_trial *wp_find_rate_trials(const struct wp_find_rate *f, size_t *ret_n)
{
	*ret_n = f->n_trials;
	return f->trials;
}

/* ---- how long it takes ------------------------------------------------------------------------ */

/* Half of the rates that are halved in between fail, and are tried twice. */
static size_t halvings(double ratio, double resolution)
{
	double steps = ratio > 1 + resolution ? ceil(log2(log(ratio) / log1p(resolution))) : 0;

	return (size_t)ceil(1.5 * steps);
}

size_t wp_find_rate_left(const struct wp_find_rate *f)
{
	size_t border = 2 * f->c.border_trials - f->c.border_passes + 1, left;

	if (f->over)
		return 0;
	if (f->phase == WP_RATE_SCOUT) {
		left = 1 + LIKELY_STEPS + halvings(FIRST_STRIDE, f->c.resolution) + border;
	} else if (f->phase == WP_RATE_SEARCH) {
		left = f->low > 0 ? halvings(f->high / f->low, f->c.resolution)
				  : LIKELY_STEPS + halvings(FIRST_STRIDE, f->c.resolution);
		left += border;
	} else {
		size_t made =
			f->points[f->candidate].n + (f->partner >= 0 ? f->points[f->partner].n : 0);

		border = f->partner >= 0 ? border : f->c.border_trials;
		left = border > made ? border - made : 1;
	}
	return left < f->c.max_trials - f->n_trials ? left : f->c.max_trials - f->n_trials;
}

/* ---- the answer ------------------------------------------------------------------------------- */

static struct wp_rate_spread spread(double *v, size_t n)
{
	wp_sort(v, n);
	return (struct wp_rate_spread) { v[0], wp_median(v, n), v[n - 1] };
}

/* Figures of the fresh trials at that rate. */
static void sum_up(const struct wp_find_rate *f, double pps, struct wp_rate_answer *a)
{
	double sent[WP_RATE_MAX_TRIALS], received[WP_RATE_MAX_TRIALS], loss[WP_RATE_MAX_TRIALS];
	double rate = asked(f, pps);
	enum wp_rate_phase phase = WP_RATE_BORDER;
	size_t n = 0;

	/* A search that was cut short before has only those that it chose by. */
	if (f->phase != WP_RATE_BORDER)
		phase = WP_RATE_SEARCH;
	for (size_t i = 0; i < f->n_trials; i++) {
		const struct wp_rate_trial *t = &f->trials[i];

		if (t->phase != phase || fabs(t->asked_pps - rate) > 1e-9 * rate)
			continue;
		if (t->outcome == WP_RATE_SHORT || t->outcome == WP_RATE_STARVED) {
			a->void_trials++;
			continue;
		}
		sent[n] = t->sent_pps;
		received[n] = t->received_pps;
		loss[n++] = t->loss;
		a->sent += t->sent;
		a->lost += t->lost;
		a->passed += t->outcome == WP_RATE_PASSED;
	}
	a->rate_pps = rate;
	a->trials = n;
	if (!n)
		return;
	a->sent_pps = spread(sent, n);
	a->received_pps = spread(received, n);
	a->loss = spread(loss, n);
}

static void find_zone(const struct wp_find_rate *f, double pps, struct wp_rate_answer *a)
{
	for (size_t i = 0; i < f->n_trials; i++) {
		const struct wp_rate_trial *t = &f->trials[i];
		double rate = t->asked_pps > 0 ? t->asked_pps : t->sent_pps;

		if (t->outcome == WP_RATE_PASSED)
			a->highest_passed_pps = fmax(a->highest_passed_pps, t->sent_pps);
		if (t->outcome != WP_RATE_LOST)
			continue;
		if (a->lowest_failed_pps <= 0 || rate < a->lowest_failed_pps)
			a->lowest_failed_pps = rate;
		a->dips += rate * (1 + f->c.resolution) < pps;
	}
}

static enum wp_rate_limit limit_of(const struct wp_find_rate *f)
{
	const struct point *p = f->rejected >= 0 ? &f->points[f->rejected] : NULL;

	if (f->verdict == WP_RATE_AT_LEAST)
		return f->c.max_pps > 0 ? WP_RATE_LIMIT_ASKED : WP_RATE_LIMIT_SENDER;
	if (f->verdict == WP_RATE_NONE)
		return WP_RATE_LIMIT_LOSS;
	if (f->starved)
		return WP_RATE_LIMIT_STARVED;
	if (!p)
		return WP_RATE_LIMIT_UNKNOWN;
	return falls_short(p) && p->shorts > p->lost ? WP_RATE_LIMIT_SENDER : WP_RATE_LIMIT_LOSS;
}

void wp_find_rate_answer(const struct wp_find_rate *f, struct wp_rate_answer *ret)
{
	struct wp_rate_answer a = { .verdict = f->verdict };
	double pps = 0;

	if (f->accepted >= 0 && f->verdict != WP_RATE_NONE) {
		pps = pps_of(f, f->accepted);
		a.confirmed = true;
	} else if (f->verdict == WP_RATE_UNFINISHED && f->rejected < 0) {
		pps = f->low;
	}
	if (pps > 0)
		sum_up(f, pps, &a);
	if (f->rejected >= 0) {
		const struct point *p = &f->points[f->rejected];

		a.next_pps = p->pps;
		a.next_trials = p->n;
		a.next_void = p->shorts + p->starved;
		a.next_passed = p->passed;
	} else if (isfinite(f->high) && f->phase != WP_RATE_SCOUT) {
		a.next_pps = f->high;
	}
	find_zone(f, pps, &a);
	a.limit = limit_of(f);
	*ret = a;
}
