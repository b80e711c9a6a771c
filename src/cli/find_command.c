/* SPDX-License-Identifier: GPL-2.0-or-later */
/* find_command.c - the search for the highest rate as a command: store, progress, report. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"
#include "cli/find_rate.h"
#include "cli/measure.h"
#include "cli/show.h"
#include "cli/stored.h"
#include "cli/study.h"

struct finder {
	const struct wp_test_config *config;
	struct wp_cli *cli;
	struct wp_rate_search search;
	struct wp_campaign meta; /* id, times, host, state */
	struct wp_store *store;  /* NULL = nothing is kept */
	bool terminal, save_failed;
};

/* ---- while it goes on ------------------------------------------------------------------------- */

static void save(struct finder *f)
{
	struct wp_campaign c;
	struct wp_err err = { 0 };

	if (!f->store || wp_rate_search_campaign(&f->search, &f->meta, &c))
		return;
	if (wp_store_save_campaign(f->store, &c, &err) && !f->save_failed) {
		f->save_failed = true;
		wp_cli_say(f->cli, "the search is not stored: %s", err.msg);
	}
	wp_campaign_done(&c);
}

static void count_text(double v, char *out, size_t size)
{
	wp_format_count((uint64_t)(v + 0.5), out, size);
}

static const char *step_words(enum wp_rate_phase phase)
{
	return phase == WP_RATE_SCOUT    ? "highest rate"
	       : phase == WP_RATE_SEARCH ? "search"
					 : "border";
}

/* On a terminal a line that changes; elsewhere a line a trial. On stderr: stdout is the report. */
static void show_next(const struct finder *f)
{
	enum wp_rate_phase phase;
	char rate[32] = "flat out", left[48];
	int64_t likely, most;
	size_t n;
	double pps;

	if (f->config->quiet || !f->terminal || !wp_find_rate_next(f->search.machine, &pps, &phase))
		return;
	if (pps > 0)
		count_text(pps, rate, sizeof(rate));
	(void)wp_find_rate_trials(f->search.machine, &n);
	wp_rate_search_times(&f->search, &likely, &most);
	wp_study_time_text(likely, left, sizeof(left));
	fprintf(f->cli->err, "\r\033[K[%zu] %s  %s%s  %s left", n + 1, step_words(phase), rate,
		pps > 0 ? " packets/s" : "", left);
	fflush(f->cli->err);
}

static const char *outcome_words(enum wp_rate_outcome outcome)
{
	static const char *const words[] = {
		[WP_RATE_PASSED] = "passed",
		[WP_RATE_LOST] = "too much",
		[WP_RATE_SHORT] = "the sender fell short",
		[WP_RATE_STARVED] = "the sender had to wait for its CPU",
	};

	return words[outcome];
}

static void show_made(const struct finder *f)
{
	const struct wp_rate_trial *t;
	char asked[32] = "flat out", sent[32];
	size_t n;

	t = wp_find_rate_trials(f->search.machine, &n);
	if (f->config->quiet || f->terminal || !n)
		return;
	t += n - 1;
	if (t->asked_pps > 0)
		count_text(t->asked_pps, asked, sizeof(asked));
	count_text(t->sent_pps, sent, sizeof(sent));
	fprintf(f->cli->err, "[%zu] %s  asked %s  sent %s/s  loss %.4g %%  %s\n", n,
		step_words(t->phase), asked, sent, 100 * t->loss, outcome_words(t->outcome));
	fflush(f->cli->err);
}

static void on_trial(struct wp_rate_search *s, struct wp_run *run)
{
	struct finder *f = s->arg;
	struct wp_store_cell where = { .campaign = f->meta.id };
	char cell[64];

	if (!run) {
		show_next(f);
		return;
	}
	if (wp_has(run->test.target_pps))
		snprintf(cell, sizeof(cell), "rate=%.6g", run->test.target_pps.v * s->plan.streams);
	else
		snprintf(cell, sizeof(cell), "rate=flat out");
	where.cell = cell;
	wp_study_note_host(&f->meta, run);
	/* The campaign first, so that its runs have something to belong to. */
	save(f);
	if (f->store)
		wp_measure_save(f->cli, run, &where);
	show_made(f);
}

static void announce(const struct finder *f)
{
	char likely_text[48], most_text[48];
	int64_t likely, most;

	if (f->config->quiet)
		return;
	wp_rate_search_times(&f->search, &likely, &most);
	wp_study_time_text(likely, likely_text, sizeof(likely_text));
	wp_study_time_text(most, most_text, sizeof(most_text));
	fprintf(f->cli->err,
		"whyperf: %s: about %zu trials of %g s, %s, at most %s; Ctrl-C keeps what is known%s%.6s\n",
		f->config->find_rate, wp_find_rate_left(f->search.machine),
		(double)f->config->trial_ns / 1e9, likely_text, most_text + strlen("about "),
		f->store ? ", as " : "", f->store ? f->meta.id : "");
}

/* ---- the whole -------------------------------------------------------------------------------- */

static int begin(struct finder *f, struct wp_err *err)
{
	int r = wp_rate_search_new(f->config, f->search.target, &f->search, err);
	struct wp_campaign *m = &f->meta;

	if (r)
		return r;
	f->search.cli = f->cli;
	f->search.on_trial = on_trial;
	f->search.arg = f;
	wp_campaign_init(m);
	m->state = "running";
	m->plan.command = (const char **)(uintptr_t)(f->cli->argv + 1); /* read only */
	m->plan.n_command = f->cli->argc ? f->cli->argc - 1 : 0;
	return wp_study_begin(m) ? wp_err_set(err, -ENOMEM, "not enough memory for the search") : 0;
}

static int report(struct finder *f)
{
	const struct wp_test_config *c = f->config;
	const struct wp_show_config how = { .format = c->json ? WP_FORMAT_JSON
							      : (enum wp_format)c->format,
					    .unit = c->unit };
	struct wp_campaign campaign;
	int r = wp_rate_search_campaign(&f->search, &f->meta, &campaign);

	if (r == -ENODATA)
		return WP_EXIT_OK;
	if (r)
		return wp_cli_usage(f->cli, "not enough memory for the report");
	r = wp_show_campaign(f->cli, &campaign, f->store, &how);
	wp_campaign_done(&campaign);
	return r;
}

static int go(struct finder *f)
{
	struct wp_rate_answer answer;
	struct wp_err err = { 0 }, late = { 0 };
	char stamp[32];
	int r, shown;

	announce(f);
	r = wp_rate_search_go(&f->search, &err);
	if (f->terminal && !f->config->quiet)
		fputs("\r\033[K", f->cli->err);
	f->meta.state = !r ? "done" : r == -EINTR ? "interrupted" : "failed";
	if (!r) {
		wp_format_rfc3339(wp_unix_now_ns(), stamp);
		f->meta.ended = wp_pool_strdup(&f->meta.pool, stamp);
	}
	save(f);
	if (f->config->name && f->store &&
	    wp_store_name_campaign(f->store, f->meta.id, f->config->name, &late))
		wp_cli_fail(f->cli, 0, &late);
	else
		f->meta.name = f->config->name;
	shown = report(f);
	if (r == -EINTR)
		return WP_EXIT_INTERRUPTED;
	if (r)
		return wp_cli_fail(f->cli, WP_EXIT_FAILED, &err);
	wp_find_rate_answer(f->search.machine, &answer);
	return answer.verdict == WP_RATE_NONE ? WP_EXIT_THRESHOLD : shown;
}

static int find(struct finder *f)
{
	struct wp_venue venue;
	struct wp_err err = { 0 };
	int r = begin(f, &err);

	if (r)
		return wp_cli_fail(f->cli, r == -EINVAL ? WP_EXIT_USAGE : WP_EXIT_FAILED, &err);
	if (!f->config->no_store && wp_stored_open(f->cli, &f->store, &err)) {
		wp_cli_say(f->cli, "nothing is stored: %s", err.msg);
		f->store = NULL;
		err.msg[0] = '\0';
	}
	r = wp_measure_open(f->config, f->search.target, &venue, &err);
	if (r)
		return wp_cli_fail(f->cli, r == -EINVAL ? WP_EXIT_USAGE : WP_EXIT_FAILED, &err);
	f->search.venue = &venue;
	r = go(f);
	wp_venue_close(&venue);
	return r;
}

int wp_find_rate_command(const struct wp_test_config *c, const char *target, struct wp_cli *cli)
{
	struct finder f = { .config = c,
			    .cli = cli,
			    .search.target = target,
			    .terminal = isatty(fileno(cli->err)) };
	int r = find(&f);

	wp_rate_search_done(&f.search);
	wp_campaign_done(&f.meta);
	wp_store_close(f.store);
	return r;
}
