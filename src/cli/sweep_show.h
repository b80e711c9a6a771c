/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sweep_show.h - what stands behind a sweep's matrix: what the CPUs did in its cells, and how to make it again. */
#ifndef WP_CLI_SWEEP_SHOW_H
#define WP_CLI_SWEEP_SHOW_H

#include "base/buf.h"
#include "model/campaign.h"
#include "model/record.h"
#include "report/doc.h"
#include "store/store.h"

#define WP_SWEEP_CELLS_SHOWN 8 /* all cells of a small sweep, else its ends */

struct wp_sweep_shown {
	struct wp_run runs[WP_SWEEP_CELLS_SHOWN];
	size_t n;
};

/* Adds to a campaign's document. `shown` holds the records that the document borrows from: free with
 * wp_sweep_shown_done() after it was printed. `store` may be NULL: then only the last part. */
void wp_sweep_show(struct wp_doc *doc, const struct wp_campaign *c, struct wp_store *store,
		   struct wp_sweep_shown *shown);
void wp_sweep_shown_done(struct wp_sweep_shown *shown);

/* The id of the run whose figure is nearest to its cell's median; NULL where none gave one. */
const char *wp_sweep_typical_run(const struct wp_campaign *c, size_t cell);

/* "whyperf sweep --seed 42 --cpu 0,1 --repeat 3 tcp lab -t 1" into `out`. */
void wp_sweep_command_line(const struct wp_campaign *c, size_t repeats, struct wp_buf *out);

#endif
