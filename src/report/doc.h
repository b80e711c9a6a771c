/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doc.h - a small document: headings, labelled paragraphs, tables, notes, series and strips of dots. Builders
 * (run_doc.h, campaign_doc.h, ...) make one from a record; targets (text.h, mail.h) write it. A builder knows what
 * to say, a target how it looks: units, widths and colours are decided by the target, so cells hold numbers.
 *
 * The document owns everything in its pool; strings passed as "borrowed" must outlive it (the record's), all others
 * are copied. Memory failure is sticky: builders go on and wp_doc_status() tells at the end.
 *
 *	struct wp_doc doc;
 *	wp_doc_init(&doc);
 *	wp_doc_para(&doc, "Packets", WP_DOC_PLAIN, "sent %d", 7);
 *	t = wp_doc_table(&doc, columns, WP_ARRAY_SIZE(columns));
 *	if ((c = wp_doc_row(&doc, t)))
 *		c[0] = wp_cell("cpu 0");
 *	...
 *	r = wp_doc_status(&doc);
 *	wp_doc_done(&doc);
 */
#ifndef WP_REPORT_DOC_H
#define WP_REPORT_DOC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/pool.h"
#include "model/num.h"

#define WP_DOC_POOL_BYTES  (128u << 20)
#define WP_DOC_MAX_COLUMNS 4200 /* a matrix over the largest axis */
#define WP_DOC_LABEL_WIDTH 10   /* of "Packets   sent ..." */

enum wp_doc_style {
	WP_DOC_PLAIN = 0,
	WP_DOC_STRONG,
	WP_DOC_DIM,
	WP_DOC_GOOD,
	WP_DOC_WARN,
	WP_DOC_BAD,
};

/* How a number is written. */
enum wp_doc_type {
	WP_DOC_TEXT,
	WP_DOC_COUNT,       /* 225,110 */
	WP_DOC_REAL,        /* `digits` behind the point */
	WP_DOC_PERCENT,     /* 97% */
	WP_DOC_BYTES,       /* 13.7 GBytes */
	WP_DOC_SHORT_BYTES, /* 13.7 GB, of 1024 as above */
	WP_DOC_BPS,         /* bit/s: 11.8 Gbits/sec or the unit asked for by -f */
	WP_DOC_US,          /* microseconds: 48 us, 1.42 ms */
	WP_DOC_SPAN,        /* seconds from num to end: 0.00-1.00 */
};

struct wp_doc_cell {
	struct wp_num num;
	double end;       /* SPAN */
	const char *text; /* borrowed; written instead of the number when not NULL ("" = nothing) */
	enum wp_doc_style style;
};

struct wp_doc_column {
	const char *head; /* borrowed */
	enum wp_doc_type type;
	unsigned digits;
	unsigned min_width;
	unsigned gap;   /* spaces before it; the first column has none */
	bool left;      /* cells are left-aligned */
	bool head_left; /* the heading is left-aligned */
	bool wrap;      /* last column only: long text goes on below itself */
	bool explain;   /* why a number is absent is said below the table */
	unsigned drop;  /* where the table is too wide: the highest goes first; 0 = never */
};

struct wp_doc_row {
	struct wp_doc_cell *cells;
	const char *tail; /* behind the last cell: "sender", "(omitted)"; NULL */
	enum wp_doc_style style;
	bool rule; /* a dashed line goes before it */
	struct wp_doc_row *next;
};

struct wp_doc_table {
	struct wp_doc_column *columns;
	size_t n_columns;
	struct wp_doc_row *first, *last;
	size_t n_rows;
	size_t keys; /* columns repeated when a table is cut into parts that lie below each other */
	unsigned indent;
	bool headless; /* no line of headings */
	bool fixed; /* widths are the columns' minimum where cells fit, so that rows printed one by one
			    align */
};

enum wp_doc_kind {
	WP_DOC_HEADING,
	WP_DOC_PARA,
	WP_DOC_TABLE,
	WP_DOC_SERIES, /* a line of bars over time */
	WP_DOC_STRIP,  /* dots on a scale from low to high */
	WP_DOC_BLANK,
};

struct wp_doc_block {
	enum wp_doc_kind kind;
	enum wp_doc_style style;
	const char *
		label; /* borrowed; PARA, SERIES, STRIP; NULL or "" goes on under the label before */
	const char *text;
	struct wp_doc_table *table;
	const double *values; /* SERIES: in time, NAN = absent; STRIP: any order */
	size_t n_values;
	double low, high; /* SERIES, STRIP: the scale */
	enum wp_doc_type type;
	struct wp_doc_block *next;
};

struct wp_doc {
	struct wp_pool pool;
	struct wp_doc_block *first, *last;
	int status;
};

void wp_doc_init(struct wp_doc *doc);
void wp_doc_done(struct wp_doc *doc);
static inline int wp_doc_status(const struct wp_doc *doc)
{
	return doc->status;
}

void wp_doc_heading(struct wp_doc *doc, const char *fmt, ...) WP_PRINTF(2, 3);
void wp_doc_para(struct wp_doc *doc, const char *label, enum wp_doc_style style, const char *fmt,
		 ...) WP_PRINTF(4, 5);
void wp_doc_blank(struct wp_doc *doc);
/* `columns` are copied. NULL when memory is short. */
struct wp_doc_table *wp_doc_table(struct wp_doc *doc, const struct wp_doc_column *columns,
				  size_t n);
/* n_columns empty cells, or NULL when memory is short (or `table` is NULL). */
struct wp_doc_cell *wp_doc_row(struct wp_doc *doc, struct wp_doc_table *table);
void wp_doc_tail(struct wp_doc_table *table, const char *text); /* of the last row; borrowed */
/* Values are copied. */
void wp_doc_series(struct wp_doc *doc, const char *label, enum wp_doc_type type, const double *v,
		   size_t n);
void wp_doc_strip(struct wp_doc *doc, const char *label, enum wp_doc_type type, const double *v,
		  size_t n, double low, double high);
/* Text in the document's pool; "" when memory is short. */
const char *wp_doc_printf(struct wp_doc *doc, const char *fmt, ...) WP_PRINTF(2, 3);

static inline struct wp_doc_cell wp_cell(const char *text)
{
	return (struct wp_doc_cell) { .text = text ? text : "" };
}

static inline struct wp_doc_cell wp_cell_num(struct wp_num n)
{
	return (struct wp_doc_cell) { .num = n };
}

static inline struct wp_doc_cell wp_cell_span(struct wp_num start, struct wp_num end)
{
	return (struct wp_doc_cell) { .num = start, .end = wp_num_or(end, NAN) };
}

/* One number as a target writes it, for sentences: "11.8 Gbits/sec". `unit` as in struct wp_text_opts. */
void wp_doc_format(enum wp_doc_type type, unsigned digits, char unit, double v, char *out,
		   size_t size);

#endif
