/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sums.h - figures of the flows added up, for totals.c and the ledger: a sum is absent, with its reason, as soon as one
 * flow lacks the figure.
 */
#ifndef WP_RUN_SUMS_H
#define WP_RUN_SUMS_H

#include <string.h>

#include "model/record.h"

static inline struct wp_num wp_sum(struct wp_num sum, struct wp_num v)
{
	if (!wp_has(sum) || !wp_has(v))
		return wp_has(sum) ? v : sum;
	return wp_num(sum.v + v.v);
}

static inline const struct wp_flow_end *wp_flow_end(const struct wp_flow *f, bool sent)
{
	return sent ? &f->sent : &f->received;
}

/* One field of sent{} or received{} over the flows that `from` sends; NULL = all flows. */
static inline struct wp_num wp_sum_from(const struct wp_run *run, const struct wp_host *from,
					bool sent, size_t offset)
{
	struct wp_num sum = run->n_flows ? wp_num(0) : wp_absent("no flow was opened");

	for (size_t i = 0; i < run->n_flows; i++) {
		const char *end = (const char *)wp_flow_end(&run->flows[i], sent);

		if (!from || wp_flow_sender(run, &run->flows[i]) == from)
			sum = wp_sum(sum, *(const struct wp_num *)(const void *)(end + offset));
	}
	return sum;
}

static inline struct wp_num wp_sum_over(const struct wp_run *run, bool sent, size_t offset)
{
	return wp_sum_from(run, NULL, sent, offset);
}

static inline bool wp_run_is(const struct wp_run *run, const char *kind)
{
	return run->test.kind && !strcmp(run->test.kind, kind);
}

#endif
