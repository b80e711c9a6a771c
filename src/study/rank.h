/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rank.h - may one of several cells be called the best?
 *
 * With many cells the best of equal ones looks good by luck (16 equal ones, 5 rounds: 1.6 % "better"; the claim is wrong
 * in 13 of 100 sweeps). So two things must hold before best and worst are named:
 *
 *   1. The cells differ at all. Within each round the values are ranked, and Friedman's statistic says how far the cells'
 *      rank sums are from each other (Friedman, Journal of the American Statistical Association 32 (1937)). Under "the
 *      cells are equal" every order within a round is as likely as any other, so orders are drawn anew,
 *      WP_RANK_MAX_DRAWS times or fewer, and p = (1 + those at least as far apart) / (1 + draws). It must be at most
 *      .05. Drift between rounds does not matter. Two cells need 6 rounds for that, three cells 3, more cells 2.
 *   2. The difference is larger than the spread: the ranges of best and worst do not overlap.
 *
 * A cell whose range overlaps the best's (worst's) is not told apart from it. What is named is the best of this sweep;
 * it is not a verdict: that takes fresh runs (`compare`).
 */
#ifndef WP_STUDY_RANK_H
#define WP_STUDY_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define WP_RANK_ALPHA     0.05
#define WP_RANK_MAX_DRAWS 999
#define WP_RANK_MIN_DRAWS 99
#define WP_RANK_MAX_WORK  200000000 /* values ranked over all draws: some seconds */

struct wp_rank {
	size_t best, worst; /* by median; best has the largest */
	double p;           /* of "the cells are equal"; 1 with one round */
	bool told_apart;    /* both conditions hold */
	bool overlap;       /* the ranges of best and worst overlap */
};

/* values[round * n_cells + cell], all finite. n_cells >= 2, n_rounds >= 1. The draws come from `seed`. -ENOMEM. */
int wp_rank_cells(const double *values, size_t n_rounds, size_t n_cells, uint64_t seed,
		  struct wp_rank *ret) WP_MUST_USE;

/* The fewest rounds in which n cells can be told apart at all: the same order every time has p = (n!)^-(rounds - 1). */
size_t wp_rank_min_rounds(size_t n_cells);

#endif
