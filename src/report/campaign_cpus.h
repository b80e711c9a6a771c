/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * campaign_cpus.h - what each CPU did in some cells of a sweep, and what the ends' time went into: a run stands for its
 * cell. The document borrows the runs' strings; they must outlive it.
 */
#ifndef WP_REPORT_CAMPAIGN_CPUS_H
#define WP_REPORT_CAMPAIGN_CPUS_H

#include "model/campaign.h"
#include "model/record.h"
#include "report/doc.h"

struct wp_cell_run {
	size_t cell;
	const struct wp_run *run;
	const char *
		label; /* "Best", "Worst": its why is said below the table; NULL = only in the table */
};

/* A table with a row for each end, then a paragraph for each labelled cell. Nothing with n = 0. */
void wp_campaign_cpus_doc(struct wp_doc *doc, const struct wp_campaign *c,
			  const struct wp_cell_run *runs, size_t n);

#endif
