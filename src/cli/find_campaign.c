/* SPDX-License-Identifier: GPL-2.0-or-later */
/* find_campaign.c - what a search for the highest rate knows, as a campaign. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/find_rate.h"
#include "stats/order.h"

#define IP4_BYTES      20
#define IP6_BYTES      40
#define UDP_BYTES      8
#define ETHERNET_BYTES 18 /* addresses, type, check sequence */
#define ETHERNET_LEAST 64
#define GAP_BYTES      20 /* preamble and gap between frames */
#define ETHERNET_MTU   1500

static const char *step_name(enum wp_rate_phase phase)
{
	return phase == WP_RATE_SCOUT ? "first" : phase == WP_RATE_SEARCH ? "search" : "border";
}

static const char *outcome_name(enum wp_rate_outcome outcome)
{
	return outcome == WP_RATE_PASSED  ? "passed"
	       : outcome == WP_RATE_LOST  ? "lost"
	       : outcome == WP_RATE_SHORT ? "short"
					  : "starved";
}

static struct wp_num or_flat_out(double pps)
{
	return pps > 0 ? wp_num(pps) : wp_absent("flat out");
}

static int add_tried(const struct wp_rate_search *s, const struct wp_rate_trial *t, size_t n,
		     struct wp_found *f, struct wp_pool *pool)
{
	f->tried = wp_pool_calloc(pool, n, sizeof(*f->tried));
	if (!f->tried)
		return -ENOMEM;
	f->n_tried = n;
	for (size_t i = 0; i < n; i++) {
		const struct wp_trial_note *note = &s->notes[i];

		f->tried[i] = (struct wp_rate_tried) {
			.step = step_name(t[i].phase),
			.outcome = outcome_name(t[i].outcome),
			.where = note->where,
			.run = note->run[0] ? note->run : NULL,
			.asked_pps = or_flat_out(t[i].asked_pps),
			.sent_pps = wp_num(t[i].sent_pps),
			.received_pps = wp_num(t[i].received_pps),
			.loss_pct = wp_num(100 * t[i].loss),
			.sent_packets = wp_num(t[i].sent),
			.lost_packets = wp_num(t[i].lost),
			.where_pct = t[i].lost > 0 && note->where_packets > 0
					     ? wp_num(100 * note->where_packets / t[i].lost)
					     : wp_absent("nothing was lost"),
		};
	}
	return 0;
}

/* ---- where it was lost ------------------------------------------------------------------------ */

static bool at_rate(const struct wp_rate_trial *t, double pps)
{
	double asked = t->asked_pps > 0 ? t->asked_pps : t->sent_pps;

	return t->outcome == WP_RATE_LOST && fabs(asked - pps) <= 1e-6 * pps;
}

/* The place that took most, over the trials that lost too much at the rate above the answer; where there are none,
 * over all that did. */
static void take_place(const struct wp_rate_search *s, const struct wp_rate_trial *t, size_t n,
		       double next_pps, struct wp_found *f)
{
	double most = 0, lost = 0;
	bool any = false;

	for (size_t i = 0; i < n; i++)
		any |= at_rate(&t[i], next_pps);
	for (size_t i = 0; i < n; i++) {
		double here = 0;

		if (t[i].outcome != WP_RATE_LOST || (any && !at_rate(&t[i], next_pps)))
			continue;
		lost += t[i].lost;
		for (size_t k = 0; k < n && s->notes[i].where; k++)
			if (t[k].outcome == WP_RATE_LOST && (!any || at_rate(&t[k], next_pps)) &&
			    s->notes[k].where && !strcmp(s->notes[k].where, s->notes[i].where))
				here += s->notes[k].where_packets;
		if (here > most) {
			most = here;
			f->lost_at = s->notes[i].where;
		}
	}
	if (f->lost_at)
		f->lost_at_pct = wp_num(100 * most / lost);
}

/* ---- the answer ------------------------------------------------------------------------------- */

/* RFC 894 framing; a payload that needs fragments has none of its own. */
static struct wp_num ethernet_bps(const struct wp_rate_search *s, double pps)
{
	double packet = (double)s->plan.length_bytes + UDP_BYTES + (s->ip6 ? IP6_BYTES : IP4_BYTES);

	if (packet > ETHERNET_MTU)
		return wp_absent("the packets are larger than Ethernet's 1500 bytes");
	return wp_num(8 * pps * (fmax(packet + ETHERNET_BYTES, ETHERNET_LEAST) + GAP_BYTES));
}

static void take_answer(const struct wp_rate_search *s, const struct wp_rate_answer *a,
			struct wp_found *f)
{
	f->confirmed = wp_num(a->confirmed);
	f->next_pps = a->next_pps > 0 ? wp_num(a->next_pps) : wp_absent("no higher rate was tried");
	f->next_trials = wp_num((double)a->next_trials);
	f->next_passed = wp_num((double)a->next_passed);
	f->next_void = wp_num((double)a->next_void);
	f->lowest_failed_pps = a->lowest_failed_pps > 0 ? wp_num(a->lowest_failed_pps)
							: wp_absent("no trial lost so much");
	f->highest_passed_pps = a->highest_passed_pps > 0 ? wp_num(a->highest_passed_pps)
							  : wp_absent("no trial passed");
	f->dips = wp_num((double)a->dips);
	if (!a->trials) {
		f->asked_pps = f->sent_pps = f->sent_min_pps = f->sent_max_pps = f->received_pps =
			f->payload_bps = f->ethernet_bps = f->loss_pct = f->loss_max_pct =
				wp_absent("no rate was found");
		return;
	}
	f->asked_pps = or_flat_out(a->rate_pps);
	f->sent_pps = wp_num(a->sent_pps.median);
	f->sent_min_pps = wp_num(a->sent_pps.min);
	f->sent_max_pps = wp_num(a->sent_pps.max);
	f->received_pps = wp_num(a->received_pps.median);
	f->payload_bps = wp_num(8 * a->received_pps.median * (double)s->plan.length_bytes);
	f->ethernet_bps = ethernet_bps(s, a->received_pps.median);
	f->loss_pct = wp_num(100 * a->loss.median);
	f->loss_max_pct = wp_num(100 * a->loss.max);
	f->sent_packets = wp_num(a->sent);
	f->lost_packets = wp_num(a->lost);
	f->trials = wp_num((double)a->trials);
	f->passed = wp_num((double)a->passed);
	f->void_trials = wp_num((double)a->void_trials);
}

static const char *verdict_name(enum wp_rate_verdict v)
{
	static const char *const names[] = {
		[WP_RATE_FOUND] = "found",
		[WP_RATE_AT_LEAST] = "at_least",
		[WP_RATE_NONE] = "none",
		[WP_RATE_UNFINISHED] = "unfinished",
	};

	return names[v];
}

static const char *limit_name(enum wp_rate_limit l)
{
	static const char *const names[] = {
		[WP_RATE_LIMIT_UNKNOWN] = "unknown", [WP_RATE_LIMIT_LOSS] = "loss",
		[WP_RATE_LIMIT_SENDER] = "sender",   [WP_RATE_LIMIT_ASKED] = "asked",
		[WP_RATE_LIMIT_STARVED] = "starved",
	};

	return names[l];
}

static int add_found(const struct wp_rate_search *s, struct wp_campaign *c)
{
	struct wp_found *f = wp_pool_calloc(&c->pool, 1, sizeof(*f));
	const struct wp_rate_trial *t;
	struct wp_rate_answer a;
	size_t n;

	if (!f)
		return -ENOMEM;
	t = wp_find_rate_trials(s->machine, &n);
	wp_find_rate_answer(s->machine, &a);
	f->bound = s->config.find_rate;
	f->verdict = verdict_name(a.verdict);
	f->limited_by = limit_name(a.limit);
	f->payload_bytes = wp_num((double)s->plan.length_bytes);
	f->trial_s = wp_num((double)s->config.trial_ns / 1e9);
	f->resolution_pct = wp_num(s->config.resolution_pct);
	take_answer(s, &a, f);
	take_place(s, t, n, a.next_pps, f);
	c->found = f;
	return add_tried(s, t, n, f, &c->pool);
}

/* ---- axis and cells --------------------------------------------------------------------------- */

static const char *rate_text(double pps, struct wp_pool *pool)
{
	return pps > 0 ? wp_pool_printf(pool, "%.6g", pps) : "flat out";
}

/* One value a rate, in the order in which they were first tried. */
static int add_axis(struct wp_campaign *c, const struct wp_rate_trial *t, size_t n)
{
	struct wp_axis *a = &c->plan.axes[0];

	a->name = "rate";
	a->heading = "packets/s asked";
	a->values = wp_pool_calloc(&c->pool, n, sizeof(*a->values));
	c->plan.order = wp_pool_calloc(&c->pool, n, sizeof(*c->plan.order));
	if (!a->values || !c->plan.order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const char *text = rate_text(t[i].asked_pps, &c->pool);
		size_t k = 0;

		if (!text)
			return -ENOMEM;
		while (k < a->n_values && strcmp(a->values[k], text) != 0)
			k++;
		if (k == a->n_values)
			a->values[a->n_values++] = text;
		c->plan.order[i] = (uint32_t)k;
	}
	c->plan.n_axes = 1;
	c->plan.n_order = n;
	return 0;
}

static int fill_cell(struct wp_campaign *c, size_t cell)
{
	struct wp_cell *to = &c->cells[cell];
	struct wp_order_summary sum;

	to->values = wp_pool_calloc(&c->pool, c->plan.n_order, sizeof(double));
	if (!to->values)
		return -ENOMEM;
	for (size_t i = 0; i < c->plan.n_order; i++)
		if (c->plan.order[i] == cell)
			to->values[to->n_values++] = c->results[i];
	to->n = to->n_values;
	if (wp_order_summary(to->values, to->n_values, &sum))
		return -ENOMEM;
	to->median = wp_num(sum.median);
	to->min = wp_num(sum.min);
	to->max = wp_num(sum.max);
	to->low = to->high = wp_absent("not computed for trials of a search");
	return 0;
}

static int add_cells(const struct wp_rate_search *s, struct wp_campaign *c,
		     const struct wp_rate_trial *t, size_t n)
{
	int r = add_axis(c, t, n);

	if (!r)
		r = wp_campaign_layout(c, NULL);
	for (size_t i = 0; i < n && !r; i++) {
		c->runs[i] = s->notes[i].run[0] ? s->notes[i].run : NULL;
		c->results[i] = 100 * t[i].loss;
	}
	for (size_t i = 0; i < c->n_cells && !r; i++)
		r = fill_cell(c, i);
	return r;
}

int wp_rate_search_campaign(const struct wp_rate_search *s, const struct wp_campaign *from,
			    struct wp_campaign *ret)
{
	struct wp_campaign c;
	const struct wp_rate_trial *t;
	size_t n;
	int r;

	t = wp_find_rate_trials(s->machine, &n);
	if (!n)
		return -ENODATA;
	wp_campaign_init(&c);
	c.id = from->id;
	c.name = from->name;
	c.kind = "find-rate";
	c.started = from->started;
	c.ended = from->ended;
	c.version = from->version;
	c.state = from->state;
	c.host = from->host;
	c.plan.repeats = 1;
	c.plan.command = from->plan.command;
	c.plan.n_command = from->plan.n_command;
	c.metric = "lost_pct";
	c.unit = "%";
	c.lower_is_better = true;
	r = add_cells(s, &c, t, n);
	if (!r)
		r = add_found(s, &c);
	for (size_t i = 0; i < s->n_failures && !r; i++)
		wp_campaign_say(&c, WP_CAMPAIGN_NOTES, "a trial gave no figures: %s",
				s->failures[i]);
	if (r)
		wp_campaign_done(&c);
	else
		*ret = c;
	return r;
}
