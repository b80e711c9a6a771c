/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rr_line.h - when the requests of an open loop are due: arrivals on an absolute line, so that nothing that happens to
 * the earlier ones moves the later ones.
 *
 * Even: request j of the whole end is due at start + j / rate and belongs to connection j modulo their number. A worker
 * thread asks those of its connections; together the threads give exactly the rate, evenly spaced, without talking to
 * each other. Poisson: each thread has a process of its own with its connections' share of the rate, and independent
 * Poisson processes add up to one.
 *
 * A line only knows the next due time. What waits in the queue is what the line is behind the clock, so a queue of any
 * length takes no memory. Pure: time is passed in; the random numbers are seeded.
 */
#ifndef WP_LOAD_RR_LINE_H
#define WP_LOAD_RR_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"

#define RR_NEVER INT64_MAX

struct rr_line {
	int64_t due_ns; /* of the next request; RR_NEVER = no more */
	int64_t start_ns;
	uint64_t rate_mhz;        /* of the whole end */
	uint64_t n_streams;       /* of the whole end */
	uint64_t first, stride;   /* the thread's connections: first, first + stride, ... */
	uint64_t mine;            /* how many of them */
	uint64_t round, position; /* even: the next request is of connection `position` of mine */
	bool poisson;
	double mean_ns,
		offset_ns; /* Poisson: mean gap; of the next one, exactly, since the start */
	struct wp_rng rng;
};

struct rr_line_share {
	uint64_t n_streams;           /* of the whole end, at least 1 */
	uint64_t first, stride, mine; /* the thread's: `mine` at least 1 */
};

/* rate_mhz: requests in 1000 s of the whole end, at least 1. */
void rr_line_init(struct rr_line *l, uint64_t rate_mhz, const struct rr_line_share *share,
		  int64_t start_ns);
/* The same with exponential gaps. */
void rr_line_init_poisson(struct rr_line *l, uint64_t rate_mhz, const struct rr_line_share *share,
			  int64_t start_ns, uint64_t seed);
/* The request that was due next is taken. */
void rr_line_next(struct rr_line *l);
/*
 * Ends the line: how many requests are due by `now_ns` and were not taken. Exact for even arrivals; of Poisson ones the
 * first million is drawn, and beyond that the mean of the rest is taken.
 */
uint64_t rr_line_end(struct rr_line *l, int64_t now_ns);

#endif
