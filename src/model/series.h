/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * series.h - interval rows with a bound: when full, neighbours are folded in pairs, so a 24 h run
 * needs no more memory than one of 10 minutes. Counters add, gauges take the later value or the
 * time-weighted mean, limits (min_rtt) the minimum; warm-up rows are never folded with measured
 * ones.
 */
#ifndef WP_MODEL_SERIES_H
#define WP_MODEL_SERIES_H

#include "model/record.h"

struct wp_series {
	struct wp_interval *rows; /* owned */
	size_t n, cap;
	unsigned folds;             /* each doubles the width of the rows */
	struct wp_interval pending; /* open row while folding; use wp_series_finish() */
	unsigned pending_n;
};

int wp_series_init(struct wp_series *s, size_t cap) WP_MUST_USE; /* cap >= 4 */
void wp_series_add(struct wp_series *s, const struct wp_interval *row);
void wp_series_finish(struct wp_series *s); /* closes the open row */
void wp_series_done(struct wp_series *s);
/* b follows a: the folded row. */
struct wp_interval wp_interval_fold(const struct wp_interval *a, const struct wp_interval *b);

#endif
