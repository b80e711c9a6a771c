/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text.h - a document as lines of text: for a terminal, a file or (mail.h) a letter. Everything printed goes
 * through clean.h, so no text from another machine can move the cursor.
 */
#ifndef WP_REPORT_TEXT_H
#define WP_REPORT_TEXT_H

#include "base/buf.h"
#include "report/doc.h"

#define WP_TEXT_MAX_BYTES  (64u << 20)
#define WP_TEXT_PARA_WIDTH 100 /* paragraphs are wrapped here where the width has no limit */

struct wp_text_opts {
	unsigned width; /* columns; 0 = no limit, paragraphs at WP_TEXT_PARA_WIDTH */
	bool utf8;      /* else ASCII only */
	bool color;     /* ECMA-48 attributes */
	bool compact;   /* no wider than needed: a letter */
	char unit;      /* -f: one of k m g t K M G T; 0 = what suits the number */
};

/* 0, -ENOMEM, -E2BIG. */
int wp_doc_to_text(const struct wp_doc *doc, const struct wp_text_opts *opts,
		   struct wp_buf *out) WP_MUST_USE;

/* The live display: the heading of a table (if wanted) and its rows, laid out as wp_doc_to_text() does. */
int wp_table_to_text(const struct wp_doc_table *table, const struct wp_text_opts *opts, bool head,
		     struct wp_buf *out) WP_MUST_USE;

#endif
