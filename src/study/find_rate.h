/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * find_rate.h - the highest rate that a path carries with no more than a given loss: which rate to try next, and what
 * the trials say in the end. The idea is RFC 2544 section 26.1 (throughput), but for the honesty about noise.
 *
 * 1. One trial at the highest rate (flat out, or the rate asked for) shows how fast this sender is and what arrives.
 * 2. From a little below what arrived the search goes up or down in growing steps until the answer lies between two
 *    rates, then halves their ratio (geometric mean) until it is within the resolution. A trial that does not pass is repeated before it is believed: two of
 *    three decide, so that one stall does not send the search down for good.
 * 3. The border is looked at afresh, because the search picked its lower side by luck too: `border_trials` new trials
 *    of the candidate and of the next higher rate, in turns. A rate is accepted when `border_passes` of them pass. When
 *    the candidate is not accepted the border moves down, when the next higher one is it moves up, in growing steps,
 *    and is halved again.
 *
 * A trial passes when its loss is within the bound and the sender kept to the rate. One that lost little but sent
 * less than WP_RATE_REACHED of what was asked is void: it says nothing about the rate, and is made again. Where most
 * are, the sender is the limit, not the path; the answer says so. Unless it waited for its CPU meanwhile: then others
 * held it up, the trial is made again more often, and where that does not help the search gives up.
 *
 * Pure: no clock, no traffic, no random numbers. Rates are datagrams a second, over all streams.
 *
 *	wp_find_rate_new(&config, &f, &err);
 *	while (wp_find_rate_next(f, &rate_pps, &phase))
 *		wp_find_rate_result(f, &what_was_measured);
 *	wp_find_rate_answer(f, &answer);
 *	wp_find_rate_free(f);
 */
#ifndef WP_STUDY_FIND_RATE_H
#define WP_STUDY_FIND_RATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define WP_RATE_REACHED      0.98 /* of the rate asked for: pacers are far better, stalls are not */
#define WP_RATE_MAX_TRIALS   1000
#define WP_RATE_MAX_BORDER   100
#define WP_RATE_MIN_DISTANCE 0.001 /* finest resolution: 0.1 % */
#define WP_RATE_MAX_DISTANCE 0.5

struct wp_loss_bound {
	double share; /* 0.001 for 0.1 % */
	bool below;   /* loss < share; else loss <= share */
};

/* "loss<0.1%", "loss<=0.1%", "loss<0" (means none at all), blanks allowed. -EINVAL with a sentence. */
int wp_loss_bound_parse(const char *text, struct wp_loss_bound *ret,
			struct wp_err *err) WP_MUST_USE;
bool wp_loss_within(const struct wp_loss_bound *bound, double lost, double sent);

enum wp_rate_phase {
	WP_RATE_SCOUT,  /* 1 above */
	WP_RATE_SEARCH, /* 2 */
	WP_RATE_BORDER, /* 3 */
};

enum wp_rate_outcome {
	WP_RATE_PASSED,
	WP_RATE_LOST,    /* more than the bound */
	WP_RATE_SHORT,   /* within the bound, but the sender did not reach the rate: void */
	WP_RATE_STARVED, /* likewise, and something else had its CPU */
};

struct wp_find_rate_config {
	struct wp_loss_bound bound;
	double max_pps;       /* highest rate to try; 0 = flat out, whatever the sender can */
	double min_pps;       /* > 0: when this fails too, the loss does not come from the rate */
	double resolution;    /* ratio of two neighbouring rates less 1: 0.01 */
	size_t border_trials; /* 1..WP_RATE_MAX_BORDER */
	size_t border_passes; /* 1..border_trials */
	size_t max_trials;    /* then the search ends as it stands; 1..WP_RATE_MAX_TRIALS */
};

/* What a trial gave. All figures are of the whole trial, so that what is lost is exact. */
struct wp_rate_result {
	double sent, lost; /* datagrams; lost = sent - distinct received */
	double seconds;    /* of sending */
	bool starved;      /* the sender waited for its CPU, or the hypervisor took it */
};

struct wp_rate_trial {
	enum wp_rate_phase phase;
	enum wp_rate_outcome outcome;
	double asked_pps; /* 0 = flat out */
	double sent_pps, received_pps, loss;
	double sent, lost;
};

enum wp_rate_verdict {
	WP_RATE_FOUND,      /* accepted, and the next higher rate is not */
	WP_RATE_AT_LEAST,   /* the highest rate that could be tried is accepted */
	WP_RATE_NONE,       /* the lowest rate fails too */
	WP_RATE_UNFINISHED, /* cut short: `confirmed` says whether rate_pps was looked at afresh */
};

enum wp_rate_limit {
	WP_RATE_LIMIT_UNKNOWN,
	WP_RATE_LIMIT_LOSS,    /* the next higher rate loses more than the bound */
	WP_RATE_LIMIT_SENDER,  /* the sender can't send more */
	WP_RATE_LIMIT_ASKED,   /* no higher rate was asked for */
	WP_RATE_LIMIT_STARVED, /* others take the sender's CPU: given up */
};

struct wp_rate_spread {
	double min, median, max;
};

struct wp_rate_answer {
	enum wp_rate_verdict verdict;
	enum wp_rate_limit limit;
	bool confirmed;
	double rate_pps; /* asked for; 0 = flat out, or no answer */
	size_t trials, passed,
		void_trials; /* at that rate, afresh (step 3); void ones are not in trials */
	struct wp_rate_spread sent_pps;     /* over those trials */
	struct wp_rate_spread received_pps; /* distinct datagrams that arrived */
	struct wp_rate_spread loss;         /* shares */
	double sent, lost;                  /* pooled over those trials */
	double next_pps;                    /* the lowest rate that is not accepted; 0 = none */
	size_t next_trials, next_passed, next_void;
	double lowest_failed_pps;  /* of all trials with too much loss; 0 = none did */
	double highest_passed_pps; /* sent in a trial that passed; 0 = none did */
	size_t dips; /* trials with too much loss clearly below rate_pps, against which it was accepted */
};

struct wp_find_rate;

/* -EINVAL with a sentence for a config that makes no sense; -ENOMEM. */
int wp_find_rate_new(const struct wp_find_rate_config *config, struct wp_find_rate **ret,
		     struct wp_err *err) WP_MUST_USE;
/* True with the rate to try (0 = flat out) and where the search is; false when it is over. */
bool wp_find_rate_next(const struct wp_find_rate *f, double *ret_pps,
		       enum wp_rate_phase *ret_phase);
/* Takes what the trial of wp_find_rate_next() gave. -EINVAL, and the trial is still to be made, when nothing was sent
 * or the figures contradict each other. */
int wp_find_rate_result(struct wp_find_rate *f, const struct wp_rate_result *result) WP_MUST_USE;
/* Trials so far, in the order they were made; borrowed until the next result. */
const struct wp_rate_trial *wp_find_rate_trials(const struct wp_find_rate *f, size_t *ret_n);
/* Trials that are likely to come, from here; 0 when it is over. Before the first: of a whole search. */
size_t wp_find_rate_left(const struct wp_find_rate *f);
/* At any time; before the end the verdict is WP_RATE_UNFINISHED. */
void wp_find_rate_answer(const struct wp_find_rate *f, struct wp_rate_answer *ret);
void wp_find_rate_free(struct wp_find_rate *f);

#endif
