/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sweep.h - the same test over every combination of some options' values, so that the answer does not depend on the
 * order in which they were tried: every round runs each cell once, in a random order of its own from a stored seed.
 * Never all runs of one cell first: a machine that gets slower meanwhile would make the later cells look slow.
 *
 * A sweep is a struct wp_campaign (model/campaign.h): wp_sweep_plan() draws the order, wp_sweep_go() makes the runs
 * that are missing and calls `save` after each, so one that was cut short goes on with the same order after it was
 * loaded again. Failed runs are counted and their reason noted; the sweep goes on. An interrupted run is not kept.
 *
 *	wp_sweep_plan(&campaign, &plan, &err);
 *	wp_sweep_go(&campaign, &hooks, &err);
 *	wp_sweep_rank(&campaign, &err);          also done at the end of wp_sweep_go()
 *
 * This floor makes no runs, stores nothing and prints nothing: `hooks` do.
 */
#ifndef WP_STUDY_SWEEP_H
#define WP_STUDY_SWEEP_H

#include "model/campaign.h"

struct wp_sweep_plan {
	struct wp_axis axes[WP_MAX_AXES]; /* copied, with their texts */
	size_t n_axes;
	size_t repeats; /* rounds, 1..WP_MAX_REPEATS */
	uint64_t seed;
	const char *const *command; /* copied: what is repeated, without the axes */
	size_t n_command;
	const char *metric, *unit; /* copied */
	bool lower_is_better;
};

/* One run, as the hook reports it. */
struct wp_sweep_result {
	char id[17];         /* of the stored run; "" = it left no record */
	struct wp_num value; /* the campaign's metric */
	char why[400];       /* what held it down, one sentence; "" = not known */
};

struct wp_sweep_progress {
	size_t done, total;   /* runs */
	size_t round, rounds; /* of the run that comes now or was just made; from 1 */
	size_t cell;
	bool starting; /* before the run; false: after it, `result` and `error` are set */
	const struct wp_sweep_result *result; /* NULL before the run and when it failed */
	const char *error;                    /* why it failed; NULL */
	int64_t elapsed_ns;                   /* of this call of wp_sweep_go() */
	int64_t left_ns; /* from the runs made so far; before the first from expected_run_ns */
};

struct wp_sweep_hooks {
	/* Makes one run with the axis values of `cell` (wp_campaign_cell_key()). 0 with `ret` filled. -EINTR: it was
	 * interrupted; the sweep ends and the run is made again next time. -ESHUTDOWN: no run can be made any more; the
	 * sweep ends. Any other negative errno: this run failed, err says why; ret->id may be set. */
	int (*run)(void *arg, const struct wp_campaign *c, size_t cell, struct wp_sweep_result *ret,
		   struct wp_err *err);
	/* The campaign changed: after every run and at the end. May be NULL. */
	void (*save)(void *arg, const struct wp_campaign *c);
	void (*progress)(void *arg, const struct wp_campaign *c,
			 const struct wp_sweep_progress *p); /* may be NULL */
	bool (*cancelled)(void *arg); /* asked before each run; may be NULL */
	int64_t (*now_ns)(void *arg); /* for tests; NULL = wp_now_ns() */
	void *arg;
	int64_t expected_run_ns;
};

/* Makes a campaign of kind "sweep", state "running", without id and times (the caller's). `ret` is initialised by the
 * call; free with wp_campaign_done(). -EINVAL with a sentence for axes without values, twice the same axis or value,
 * or too many runs; -ENOMEM. */
int wp_sweep_plan(struct wp_campaign *ret, const struct wp_sweep_plan *plan,
		  struct wp_err *err) WP_MUST_USE;

/* Makes the runs that are missing, in the planned order. state becomes "done", "interrupted" (0 is returned: what was
 * made is whole) or "failed" (-ESHUTDOWN). Cells are summed up in every case. -EINVAL for a campaign that is no sweep
 * or whose order is not made of whole rounds; -ENOMEM. */
int wp_sweep_go(struct wp_campaign *c, const struct wp_sweep_hooks *hooks,
		struct wp_err *err) WP_MUST_USE;

/* Runs that were made, failed ones included; rounds that are whole. */
size_t wp_sweep_made(const struct wp_campaign *c);
size_t wp_sweep_whole_rounds(const struct wp_campaign *c);

/* Sums up each cell over the whole rounds and names best and worst where that is justified (rank.h). why[] gets the
 * sentence about it, in place of an earlier one. */
int wp_sweep_rank(struct wp_campaign *c, struct wp_err *err) WP_MUST_USE;

#endif
