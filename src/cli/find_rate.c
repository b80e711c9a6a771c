/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/find_rate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/measure.h"
#include "cli/study.h"

#define POOL_BYTES     (16u << 20)
#define DEFAULT_TRIALS 100
#define OVERHEAD_NS \
	(250 * WP_NS_PER_MS) /* of a trial: connecting, the last packets, both ends' figures */
#define STARVED_PCT 1        /* of the time waiting for a CPU, or stolen */
#define MIN_PACKETS 100 /* of a trial at the lowest rate: fewer pass by luck where 3 % are lost */

/* ---- what was asked for ----------------------------------------------------------------------- */

int wp_find_rate_check(const struct wp_test_config *c, struct wp_err *err)
{
	static const char meant[] =
		"--find-rate makes whole trials of --trial-time in one direction";
	struct wp_loss_bound bound;

	if (!c->find_rate && (c->trial_set || c->resolution_set || c->border_set || c->search_set))
		return wp_err_set(err, -EINVAL, "%s is for --find-rate",
				  c->trial_set        ? "--trial-time"
				  : c->resolution_set ? "--resolution"
				  : c->border_set     ? "--border-trials"
						      : "--search-time");
	if (!c->find_rate)
		return 0;
	if (wp_loss_bound_parse(c->find_rate, &bound, err)) {
		wp_err_prefix(err, "--find-rate");
		return -EINVAL;
	}
	if (c->bidir)
		return wp_err_set(err, -EINVAL, "%s; leave out --bidir", meant);
	if (c->limit_bytes || c->blocks)
		return wp_err_set(err, -EINVAL, "%s; leave out -n and -k", meant);
	if (c->duration_set)
		return wp_err_set(err, -EINVAL, "%s; leave out -t", meant);
	if (c->omit_ns)
		return wp_err_set(err, -EINVAL, "%s; leave out -O", meant);
	if (c->with)
		return wp_err_set(err, -EINVAL, "--find-rate and --with exclude each other");
	if (c->json_stream)
		return wp_err_set(err, -EINVAL,
				  "--json-stream shows a single run; a search has -J");
	return 0;
}

static double pps_of(const struct wp_plan *p)
{
	return (double)p->rate_bps / 8 / (double)p->length_bytes * p->streams;
}

static int make_machine(struct wp_rate_search *s, struct wp_err *err)
{
	const struct wp_test_config *c = &s->config;
	int64_t each = c->trial_ns + OVERHEAD_NS;
	double trial_s = (double)c->trial_ns / 1e9;
	struct wp_find_rate_config f = {
		.bound = s->bound,
		.max_pps = c->pace_set ? pps_of(&s->plan) : 0,
		.min_pps = fmax(s->plan.streams, MIN_PACKETS / trial_s),
		.resolution = c->resolution_pct / 100,
		.border_trials = c->border_trials,
		.border_passes = (4 * c->border_trials + 4) / 5,
		.max_trials = DEFAULT_TRIALS,
	};

	if (c->search_set)
		f.max_trials =
			(size_t)(c->search_ns / each > WP_RATE_MAX_TRIALS ? WP_RATE_MAX_TRIALS
									  : c->search_ns / each);
	if (!f.max_trials)
		return wp_err_set(err, -EINVAL,
				  "--search-time is too short for one trial (--trial-time)");
	if (f.max_pps > 0 && f.max_pps < f.min_pps)
		return wp_err_set(
			err, -EINVAL,
			"-b: a trial of %g s at that rate has fewer than %d packets; lengthen --trial-time",
			trial_s, MIN_PACKETS);
	return wp_find_rate_new(&f, &s->machine, err);
}

int wp_rate_search_new(const struct wp_test_config *config, const char *target,
		       struct wp_rate_search *ret, struct wp_err *err)
{
	struct wp_rate_search s = { .config = *config,
				    .target = target,
				    .pool = WP_POOL(POOL_BYTES) };
	int r = wp_find_rate_check(config, err);

	if (!r)
		r = wp_loss_bound_parse(config->find_rate, &s.bound, err);
	s.config.duration_ns = config->trial_ns;
	s.config.interval_ns = 0;
	s.config.name = NULL; /* the search's, not each trial's */
	if (!r)
		r = wp_test_plan(&s.config, "udp", &s.plan, err);
	if (!r)
		r = make_machine(&s, err);
	s.config.pace_set = true; /* each trial has a rate */
	s.notes = r ? NULL : calloc(WP_RATE_MAX_TRIALS, sizeof(*s.notes));
	if (!r && !s.notes)
		r = wp_err_set(err, -ENOMEM, "no memory for the search");
	if (r) {
		wp_rate_search_done(&s);
		return r;
	}
	*ret = s;
	return 0;
}

void wp_rate_search_done(struct wp_rate_search *s)
{
	wp_find_rate_free(s->machine);
	s->machine = NULL;
	free(s->notes);
	s->notes = NULL;
	wp_pool_done(&s->pool);
}

int64_t wp_find_rate_likely_ns(const struct wp_test_config *config)
{
	struct wp_rate_search s;
	int64_t likely = 0, most;

	if (!wp_rate_search_new(config, NULL, &s, NULL)) {
		wp_rate_search_times(&s, &likely, &most);
		wp_rate_search_done(&s);
	}
	return likely;
}

void wp_rate_search_times(const struct wp_rate_search *s, int64_t *ret_likely_ns,
			  int64_t *ret_most_ns)
{
	int64_t each = s->config.trial_ns + OVERHEAD_NS;

	*ret_likely_ns = (int64_t)wp_find_rate_left(s->machine) * each;
	*ret_most_ns = s->config.search_set ? s->config.search_ns : DEFAULT_TRIALS * each;
}

/* ---- one trial -------------------------------------------------------------------------------- */

/* The rate of one stream. At least a packet a second each, as the plan wants it. */
static uint64_t stream_bps(const struct wp_rate_search *s, double pps)
{
	double least = 8 * (double)s->plan.length_bytes;

	return pps > 0 ? (uint64_t)llround(fmax(least, pps / s->plan.streams * least)) : 0;
}

/* Options of the search, which a single trial does not have. */
static bool is_ours(const char *word, bool *ret_value_follows)
{
	static const char *const names[] = { "find-rate", "trial-time", "resolution",
					     "border-trials", "search-time" };

	for (size_t i = 0; i < WP_ARRAY_SIZE(names); i++) {
		size_t n = strlen(names[i]);

		if (strncmp(word, "--", 2) || strncmp(word + 2, names[i], n) ||
		    (word[2 + n] && word[2 + n] != '='))
			continue;
		*ret_value_follows = !word[2 + n];
		return true;
	}
	return false;
}

/* The command line that would make this one trial: the last -b and -t count. */
static int trial_argv(const struct wp_rate_search *s, double pps, struct wp_pool *pool,
		      const char ***ret, size_t *ret_n)
{
	const char **argv = wp_pool_calloc(pool, s->cli->argc + 4, sizeof(*argv));
	size_t n = 0;

	for (size_t i = 0; argv && i < s->cli->argc; i++) {
		bool value_follows;

		if (!is_ours(s->cli->argv[i], &value_follows))
			argv[n++] = s->cli->argv[i];
		else
			i += value_follows;
	}
	if (!argv)
		return -ENOMEM;
	argv[n++] = "-t";
	argv[n] = wp_pool_printf(pool, "%g", (double)s->config.trial_ns / 1e9);
	n += argv[n] != NULL;
	argv[n++] = "-b";
	/* Of each stream; --total, if given, makes it all streams'. */
	if (s->config.pace_total)
		pps *= s->plan.streams;
	argv[n] = pps > 0 ? wp_pool_printf(pool, "%.3fpps", pps / s->plan.streams) : "0";
	n += argv[n] != NULL;
	*ret = argv;
	*ret_n = n;
	return 0;
}

static void consider(struct wp_trial_note *note, struct wp_pool *pool, const char *stage,
		     const char *host, double packets)
{
	if (packets <= note->where_packets)
		return;
	note->where_packets = packets;
	note->where =
		host ? wp_pool_printf(pool, "%s (%s)", stage, host) : wp_pool_strdup(pool, stage);
}

/* Where most of the loss was. */
static void take_place(struct wp_trial_note *note, struct wp_pool *pool, const struct wp_run *run)
{
	const struct wp_ledger *l = &run->ledger;

	for (size_t i = 0; i < l->n_stages; i++)
		consider(note, pool, l->stages[i].stage ? l->stages[i].stage : "?",
			 l->stages[i].host, wp_num_or(l->stages[i].packets, 0));
	consider(note, pool, "the sender's own queue", l->refused_by,
		 wp_num_or(l->refused_packets, 0));
	consider(note, pool, "the path, where no counter of the two ends sees it", NULL,
		 wp_num_or(l->unexplained_packets, 0));
}

/* Was something else on the CPU of a sending thread? */
static bool is_starved(const struct wp_run *run)
{
	const struct wp_host *h = run->n_flows ? wp_flow_sender(run, &run->flows[0]) : NULL;

	for (size_t i = 0; h && i < h->n_threads; i++) {
		const struct wp_thread_use *t = &h->threads[i];
		const struct wp_cpu_use *cpu = wp_host_cpu(h, (int)wp_num_or(t->last_cpu, -1));

		if (wp_num_or(t->run_delay_pct, 0) >= STARVED_PCT ||
		    (cpu && wp_num_or(cpu->steal_pct, 0) >= STARVED_PCT))
			return true;
	}
	return false;
}

/* Over the whole trial: everything that was offered to the kernel, and what of it never arrived. */
static int take_figures(const struct wp_run *run, struct wp_rate_result *ret, struct wp_err *err)
{
	const struct wp_ledger *l = &run->ledger;
	double refused = wp_num_or(l->refused_packets, 0), seconds = 0;

	for (size_t i = 0; i < run->n_flows; i++)
		seconds = fmax(seconds, wp_num_or(run->flows[i].sent.seconds, 0));
	if (!wp_has(l->sent_packets) || !wp_has(l->delivered_packets) || seconds <= 0 ||
	    l->sent_packets.v + refused <= 0)
		return wp_err_set(err, -ENODATA, "the trial gave no figures: %s",
				  l->sent_packets.why        ? l->sent_packets.why
				  : l->delivered_packets.why ? l->delivered_packets.why
							     : "nothing was sent");
	*ret = (struct wp_rate_result) {
		.sent = l->sent_packets.v + refused,
		.lost = fmax(0, l->sent_packets.v - l->delivered_packets.v) + refused,
		.seconds = seconds,
		.starved = is_starved(run),
	};
	return 0;
}

static int make_trial(struct wp_rate_search *s, double pps, struct wp_err *err)
{
	struct wp_pool words = WP_POOL(POOL_BYTES);
	struct wp_cli cli = *s->cli;
	struct wp_plan plan = s->plan;
	struct wp_rate_result result;
	struct wp_trial_note *note;
	const char **argv;
	struct wp_run run;
	size_t n;
	int r = trial_argv(s, pps, &words, &argv, &cli.argc);

	if (r) {
		wp_pool_done(&words);
		return r;
	}
	cli.argv = argv;
	plan.rate_bps = stream_bps(s, pps);
	r = wp_measure_run(&s->config, &plan, s->venue, &cli, &run, err);
	if (!r)
		r = take_figures(&run, &result, err);
	if (!r) {
		(void)wp_find_rate_trials(s->machine, &n);
		note = &s->notes[n];
		*note = (struct wp_trial_note) { 0 };
		take_place(note, &s->pool, &run);
		s->ip6 = run.n_flows && run.flows[0].local && run.flows[0].local[0] == '[';
		if (run.id)
			snprintf(note->run, sizeof(note->run), "%s", run.id);
		r = wp_find_rate_result(s->machine, &result);
	}
	if (r != -EINTR && s->on_trial)
		s->on_trial(s, &run);
	wp_run_done(&run);
	wp_pool_done(&words);
	return r;
}

static void note_failure(struct wp_rate_search *s, const struct wp_err *err)
{
	if (s->n_failures < WP_ARRAY_SIZE(s->failures))
		s->failures[s->n_failures++] = wp_pool_strdup(&s->pool, err->msg);
}

int wp_rate_search_go(struct wp_rate_search *s, struct wp_err *err)
{
	enum wp_rate_phase phase;
	size_t in_a_row = 0;
	double pps;

	while (wp_find_rate_next(s->machine, &pps, &phase)) {
		struct wp_err why = { 0 };
		int r;

		if (wp_study_cancelled(s->cli))
			return -EINTR;
		if (wp_venue_check(s->venue, err))
			return -ESHUTDOWN;
		if (s->on_trial)
			s->on_trial(s, NULL);
		r = make_trial(s, pps, &why);
		if (r == -EINTR)
			return r;
		in_a_row = r ? in_a_row + 1 : 0;
		if (r)
			note_failure(s, &why);
		if (in_a_row == WP_STUDY_MAX_LOST)
			return wp_err_set(err, r, "%zu trials in a row gave no figures: %s",
					  in_a_row, why.msg);
	}
	return 0;
}

/* ---- one search of many ----------------------------------------------------------------------- */

/* A run that was made at the rate of the answer. */
static const char *run_at(const struct wp_rate_search *s, const struct wp_rate_answer *a)
{
	const char *id = NULL;
	const struct wp_rate_trial *t;
	size_t n;

	t = wp_find_rate_trials(s->machine, &n);
	for (size_t i = 0; i < n; i++)
		if (a->trials && fabs(t[i].asked_pps - a->rate_pps) <= 1e-9 * a->rate_pps)
			id = s->notes[i].run;
	return id;
}

int wp_find_rate_cell(const struct wp_test_config *config, const char *target,
		      const struct wp_find_cell *cell, struct wp_sweep_result *ret,
		      struct wp_err *err)
{
	struct wp_rate_search s;
	struct wp_rate_answer a;
	const char *id;
	int r = wp_rate_search_new(config, target, &s, err);

	if (r)
		return r;
	s.venue = cell->venue;
	s.cli = cell->cli;
	s.on_trial = cell->on_trial;
	s.arg = cell->arg;
	r = wp_rate_search_go(&s, err);
	wp_find_rate_answer(s.machine, &a);
	id = run_at(&s, &a);
	if (id)
		snprintf(ret->id, sizeof(ret->id), "%s", id);
	if (!r && a.trials)
		ret->value = wp_num(a.received_pps.median);
	else if (!r)
		r = wp_err_set(err, -ERANGE, "no rate has a loss within %s", config->find_rate);
	if (a.limit == WP_RATE_LIMIT_SENDER)
		snprintf(ret->why, sizeof(ret->why), "the sender is the limit, not the path");
	else if (a.limit == WP_RATE_LIMIT_LOSS)
		snprintf(ret->why, sizeof(ret->why), "loss above it, %.4g packets/s", a.next_pps);
	wp_rate_search_done(&s);
	return r;
}
