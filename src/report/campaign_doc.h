/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * campaign_doc.h - a sweep as a document: a matrix for two axes, a table for one or more than two, best and worst,
 * why, what to try. Every figure is a median with its range, and cells that can't be told from the best are marked
 * as such: the word "faster" is for comparisons, not for sweeps.
 */
#ifndef WP_REPORT_CAMPAIGN_DOC_H
#define WP_REPORT_CAMPAIGN_DOC_H

#include "model/campaign.h"
#include "report/doc.h"

struct wp_campaign_doc_opts {
	char unit;          /* as in struct wp_text_opts; 0 = what suits the best cell */
	bool no_strips;     /* without the dots of every value */
	const char *stored; /* as in struct wp_run_doc_opts */
};

/* `doc` is initialised by the caller and borrows the campaign's strings. */
void wp_campaign_doc(struct wp_doc *doc, const struct wp_campaign *c,
		     const struct wp_campaign_doc_opts *opts);

#endif
