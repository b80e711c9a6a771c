/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * found.h - what a campaign of kind "find-rate" found: the highest rate of datagrams whose loss stays within a bound,
 * and every trial that led to it ("found" in "whyperf.campaign/1"). How it is searched for is study/find_rate.h.
 *
 * Rates are datagrams a second over all streams. Strings and arrays live in the campaign's pool.
 */
#ifndef WP_MODEL_FOUND_H
#define WP_MODEL_FOUND_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/pool.h"
#include "model/num.h"

#define WP_MAX_RATE_TRIALS 1000

struct wp_rate_tried {
	const char *step; /* flat out | search | border */
	const char *
		outcome; /* passed | lost | short (of the rate asked for, without such a loss) | starved (short, and other work had its CPU) */
	const char
		*where; /* the stage of the ledger that lost most: "socket buffer (server)"; NULL */
	const char *run;         /* id; NULL = not stored */
	struct wp_num asked_pps; /* absent = flat out */
	struct wp_num sent_pps, received_pps, loss_pct;
	struct wp_num sent_packets, lost_packets;
	struct wp_num where_pct; /* of what was lost */
};

struct wp_found {
	const char *bound;       /* "loss<0.1%" */
	const char *verdict;     /* found | at_least | none | unfinished */
	const char *limited_by;  /* loss | sender | asked | starved | unknown */
	const char *lost_at;     /* where the trials at the next higher rate lost most; NULL */
	struct wp_num confirmed; /* 1 = by trials of its own */
	struct wp_num payload_bytes, trial_s, resolution_pct;
	/* The answer: what was sent in the trials at that rate, and what of it arrived. */
	struct wp_num asked_pps; /* absent = flat out, or no answer */
	struct wp_num sent_pps, sent_min_pps, sent_max_pps, received_pps;
	struct wp_num payload_bps, ethernet_bps;  /* of received_pps; with preamble and gap */
	struct wp_num loss_pct, loss_max_pct;     /* median, largest */
	struct wp_num sent_packets, lost_packets; /* pooled */
	struct wp_num trials, passed,
		void_trials; /* void: the sender fell short, so they do not count */
	struct wp_num next_pps, next_trials, next_passed,
		next_void; /* the lowest rate that did not do */
	struct wp_num lost_at_pct;
	struct wp_num lowest_failed_pps, highest_passed_pps; /* of all trials */
	struct wp_num
		dips; /* trials that lost more although they were clearly slower than the answer */
	struct wp_rate_tried *tried;
	size_t n_tried;
};

/* New reference; NULL when memory is short. */
json_t *wp_found_to_json(const struct wp_found *f);
/* -EINVAL with a sentence for wrong types and more than WP_MAX_RATE_TRIALS; -ENOMEM. */
int wp_found_from_json(const json_t *json, struct wp_pool *pool, struct wp_found *ret,
		       struct wp_err *err) WP_MUST_USE;

#endif
