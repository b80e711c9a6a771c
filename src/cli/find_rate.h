/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * find_rate.h - `udp --find-rate 'loss<0.1%'`: trials as real runs in one venue, each stored, and a campaign of them.
 */
#ifndef WP_CLI_FIND_RATE_H
#define WP_CLI_FIND_RATE_H

#include "cli/command.h"
#include "cli/options.h"
#include "model/campaign.h"
#include "run/venue.h"
#include "study/find_rate.h"
#include "study/sweep.h"

struct wp_rate_search;

/* What became of a trial. */
struct wp_trial_note {
	char run[17]; /* id; "" = not stored */
	const char *
		where; /* in the search's pool: "socket buffer (server)"; NULL = nothing was lost */
	double where_packets; /* lost there */
};

struct wp_rate_search {
	struct wp_test_config config; /* of a trial; lists are borrowed from the caller's */
	const char *target;
	struct wp_venue *venue;   /* the caller's, before wp_rate_search_go() */
	const struct wp_cli *cli; /* likewise */
	struct wp_plan plan;      /* of a trial, but for its rate */
	struct wp_loss_bound bound;
	struct wp_find_rate *machine;
	struct wp_trial_note *notes; /* one a trial of the machine */
	struct wp_pool pool;
	const char *failures[8]; /* sentences about runs that gave no figures */
	size_t n_failures;
	/* Called before each trial, when `run` is NULL, and after it with its record, to be stored. May be NULL. */
	void (*on_trial)(struct wp_rate_search *s, struct wp_run *run);
	void *arg;
	bool ip6; /* as the flows turned out */
};

/* The options of a search against each other and the rest; nothing to say where none is asked for. */
int wp_find_rate_check(const struct wp_test_config *config, struct wp_err *err) WP_MUST_USE;
/* How long a whole search with these options is likely to take. */
int64_t wp_find_rate_likely_ns(const struct wp_test_config *config);

/* Checks the options and makes the plan and the machine. -EINVAL with a sentence. */
int wp_rate_search_new(const struct wp_test_config *config, const char *target,
		       struct wp_rate_search *ret, struct wp_err *err) WP_MUST_USE;
/* Makes the trials. 0 when the search is over; -EINTR interrupted; any other negative errno: it can't go on, err says
 * why. In every case wp_find_rate_answer() has what is known. */
int wp_rate_search_go(struct wp_rate_search *s, struct wp_err *err) WP_MUST_USE;
/* How long a whole search is likely to take, and at most. */
void wp_rate_search_times(const struct wp_rate_search *s, int64_t *ret_likely_ns,
			  int64_t *ret_most_ns);
void wp_rate_search_done(struct wp_rate_search *s);

/* Initialises `ret` as a campaign with what the search knows by now (axis, cells, runs, found) and with id, name,
 * times, host and state of `from`, whose strings it borrows. -ENODATA before the first trial; -ENOMEM. */
int wp_rate_search_campaign(const struct wp_rate_search *s, const struct wp_campaign *from,
			    struct wp_campaign *ret) WP_MUST_USE;

/* A search as one run of a sweep: the value is the packets a second that arrived at the rate found. -ERANGE where no
 * rate has so little loss; else as wp_rate_search_go(). */
struct wp_find_cell {
	struct wp_venue *venue;
	const struct wp_cli *cli; /* argv of the cell */
	void (*on_trial)(struct wp_rate_search *s, struct wp_run *run);
	void *arg;
};
int wp_find_rate_cell(const struct wp_test_config *config, const char *target,
		      const struct wp_find_cell *cell, struct wp_sweep_result *ret,
		      struct wp_err *err) WP_MUST_USE;

/* The whole of the command: an enum wp_exit, 3 where no rate has so little loss. */
int wp_find_rate_command(const struct wp_test_config *config, const char *target,
			 struct wp_cli *cli);

#endif
