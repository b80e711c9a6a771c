/* SPDX-License-Identifier: GPL-2.0-or-later */
/* found_doc.h - a search for the highest rate as a document: the trials, the answer with its spread, and what held. */
#ifndef WP_REPORT_FOUND_DOC_H
#define WP_REPORT_FOUND_DOC_H

#include "model/campaign.h"
#include "report/doc.h"

/* Of a campaign with `found`; `unit` as in struct wp_text_opts. Strings are borrowed from the campaign. */
void wp_found_doc(struct wp_doc *doc, const struct wp_campaign *c, char unit);
/* "139,000 packets/s: 71.2 Mbits/sec of payload, ..." in the document's pool; for a search without an answer why. */
const char *wp_found_answer(struct wp_doc *doc, const struct wp_found *f, char unit);

#endif
