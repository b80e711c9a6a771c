/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout.h - how a table fits into a width. In this order, until it does: the columns' usual widths; no wider than
 * the cells need; one blank between columns; without the columns that may go; cut into parts below each other that
 * repeat the key columns. A fixed table (rows printed one by one) keeps its widths and only drops columns.
 */
#ifndef WP_REPORT_LAYOUT_H
#define WP_REPORT_LAYOUT_H

#include "report/text.h"

struct wp_layout_column {
	unsigned width, gap;
	unsigned part; /* which part it is printed in; key columns in each */
	bool shown;
};

struct wp_layout {
	struct wp_layout_column *columns; /* in the pool given */
	const char **cells;               /* n_rows x n_columns cleaned texts */
	const char **heads;               /* n_columns */
	const char **tails;               /* n_rows, "" = none */
	unsigned parts;
	unsigned tail_at; /* where tails begin at the earliest */
	unsigned width;   /* of the wrapping last column; 0 = not wrapped */
	bool dropped;
};

int wp_layout_table(const struct wp_doc_table *table, const struct wp_text_opts *opts,
		    struct wp_pool *pool, struct wp_layout *ret) WP_MUST_USE;

#endif
