/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * history_doc.h - lists of stored runs and campaigns, as documents and as JSON.
 */
#ifndef WP_REPORT_HISTORY_DOC_H
#define WP_REPORT_HISTORY_DOC_H

#include <jansson.h>

#include "report/doc.h"
#include "store/store.h"

/* The documents borrow the lists' strings. */
void wp_history_doc(struct wp_doc *doc, const struct wp_store_list *runs);
void wp_campaigns_doc(struct wp_doc *doc, const struct wp_store_campaign_list *campaigns);
/* New references: arrays of objects with the store's column names. NULL when memory is short. */
json_t *wp_history_to_json(const struct wp_store_list *runs);
json_t *wp_campaigns_to_json(const struct wp_store_campaign_list *campaigns);

#endif
