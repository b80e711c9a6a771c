/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/doc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

void wp_doc_init(struct wp_doc *doc)
{
	memset(doc, 0, sizeof(*doc));
	doc->pool = WP_POOL(WP_DOC_POOL_BYTES);
}

void wp_doc_done(struct wp_doc *doc)
{
	if (!doc)
		return;
	wp_pool_done(&doc->pool);
	memset(doc, 0, sizeof(*doc));
}

static void *take(struct wp_doc *doc, size_t n, size_t size)
{
	void *p = wp_pool_calloc(&doc->pool, n ? n : 1, size);

	if (!p)
		doc->status = -ENOMEM;
	return p;
}

static struct wp_doc_block *add(struct wp_doc *doc, enum wp_doc_kind kind)
{
	struct wp_doc_block *b = take(doc, 1, sizeof(*b));

	if (!b)
		return NULL;
	b->kind = kind;
	if (doc->last)
		doc->last->next = b;
	else
		doc->first = b;
	doc->last = b;
	return b;
}

WP_PRINTF(2, 0) static const char *format(struct wp_doc *doc, const char *fmt, va_list ap)
{
	char *text = NULL, *copy;

	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	copy = wp_pool_strdup(&doc->pool, text);
	free(text);
	if (!copy)
		doc->status = -ENOMEM;
	return copy ? copy : "";
}

const char *wp_doc_printf(struct wp_doc *doc, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = format(doc, fmt, ap);
	va_end(ap);
	return text;
}

void wp_doc_heading(struct wp_doc *doc, const char *fmt, ...)
{
	struct wp_doc_block *b = add(doc, WP_DOC_HEADING);
	va_list ap;

	if (!b)
		return;
	va_start(ap, fmt);
	b->text = format(doc, fmt, ap);
	va_end(ap);
	b->style = WP_DOC_STRONG;
}

void wp_doc_para(struct wp_doc *doc, const char *label, enum wp_doc_style style, const char *fmt,
		 ...)
{
	struct wp_doc_block *b = add(doc, WP_DOC_PARA);
	va_list ap;

	if (!b)
		return;
	va_start(ap, fmt);
	b->text = format(doc, fmt, ap);
	va_end(ap);
	b->label = label;
	b->style = style;
}

void wp_doc_blank(struct wp_doc *doc)
{
	/* Never two in a row, and none at the start. */
	if (doc->last && doc->last->kind != WP_DOC_BLANK)
		add(doc, WP_DOC_BLANK);
}

struct wp_doc_table *wp_doc_table(struct wp_doc *doc, const struct wp_doc_column *columns, size_t n)
{
	struct wp_doc_block *b = add(doc, WP_DOC_TABLE);
	struct wp_doc_table *t = take(doc, 1, sizeof(*t));
	struct wp_doc_column *copy = take(doc, n, sizeof(*copy));

	if (n > WP_DOC_MAX_COLUMNS)
		doc->status = -E2BIG;
	if (!b || !t || !copy || n > WP_DOC_MAX_COLUMNS)
		return NULL;
	memcpy(copy, columns, n * sizeof(*copy));
	t->columns = copy;
	t->n_columns = n;
	t->keys = 1;
	b->table = t;
	return t;
}

struct wp_doc_cell *wp_doc_row(struct wp_doc *doc, struct wp_doc_table *table)
{
	struct wp_doc_row *row = table ? take(doc, 1, sizeof(*row)) : NULL;
	struct wp_doc_cell *cells = row ? take(doc, table->n_columns, sizeof(*cells)) : NULL;

	if (!cells)
		return NULL;
	row->cells = cells;
	if (table->last)
		table->last->next = row;
	else
		table->first = row;
	table->last = row;
	table->n_rows++;
	return cells;
}

void wp_doc_tail(struct wp_doc_table *table, const char *text)
{
	if (table && table->last)
		table->last->tail = text;
}

static struct wp_doc_block *add_values(struct wp_doc *doc, enum wp_doc_kind kind, const double *v,
				       size_t n)
{
	struct wp_doc_block *b = add(doc, kind);
	double *copy = take(doc, n, sizeof(*copy));

	if (!b || !copy)
		return NULL;
	if (n)
		memcpy(copy, v, n * sizeof(*copy));
	b->values = copy;
	b->n_values = n;
	return b;
}

void wp_doc_series(struct wp_doc *doc, const char *label, enum wp_doc_type type, const double *v,
		   size_t n)
{
	struct wp_doc_block *b = add_values(doc, WP_DOC_SERIES, v, n);

	if (!b)
		return;
	b->label = label;
	b->type = type;
	b->low = b->high = NAN;
	for (size_t i = 0; i < n; i++) {
		b->low = fmin(b->low, v[i]);
		b->high = fmax(b->high, v[i]);
	}
}

void wp_doc_strip(struct wp_doc *doc, const char *label, enum wp_doc_type type, const double *v,
		  size_t n, double low, double high)
{
	struct wp_doc_block *b = add_values(doc, WP_DOC_STRIP, v, n);

	if (!b)
		return;
	b->label = label;
	b->type = type;
	b->low = low;
	b->high = high;
}

void wp_doc_format(enum wp_doc_type type, unsigned digits, char unit, double v, char *out,
		   size_t size)
{
	if (!isfinite(v)) {
		snprintf(out, size, "-");
		return;
	}
	switch (type) {
	case WP_DOC_COUNT:
		if (v >= 0 && v < 1e18)
			wp_format_count((uint64_t)(v + .5), out, size);
		else
			snprintf(out, size, "%.0f", v);
		return;
	case WP_DOC_PERCENT:
		snprintf(out, size, "%.*f%%", (int)digits, v);
		return;
	case WP_DOC_BYTES:
		wp_format_bytes(v, out, size);
		return;
	case WP_DOC_SHORT_BYTES:
		wp_format_bytes(v, out, size);
		if (strlen(out) > 5 && !strcmp(out + strlen(out) - 5, "Bytes"))
			memcpy(out + strlen(out) - 5, "B", 2);
		return;
	case WP_DOC_BPS:
		if (unit)
			wp_format_rate_as(v, unit, out, size);
		else
			wp_format_bps(v, out, size);
		return;
	case WP_DOC_US:
		wp_format_ns(v * 1e3, out, size);
		return;
	case WP_DOC_TEXT:
	case WP_DOC_REAL:
	case WP_DOC_SPAN:
		break;
	}
	snprintf(out, size, "%.*f", (int)digits, v);
}
