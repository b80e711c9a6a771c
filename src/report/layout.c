/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/layout.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "report/clean.h"

#define WRAP_MIN  24 /* a wrapping column never gets narrower, unless its min_width says so */
#define TAIL_ROOM 10 /* "  receiver" */

struct sizer {
	const struct wp_doc_table *t;
	const struct wp_text_opts *opts;
	struct wp_layout *l;
	struct wp_pool *pool;
	unsigned *natural; /* widest cell or heading of each column */
};

static bool is_fixed(const struct sizer *z)
{
	return z->t->fixed && !z->opts->compact;
}

static void format_span(const struct wp_doc_cell *c, const struct wp_doc_column *col, bool compact,
			char *out, size_t size)
{
	int digits = (int)col->digits;

	if (compact)
		snprintf(out, size, "%.*f-%.*f s", digits, c->num.v, digits, c->end);
	else
		snprintf(out, size, "%*.*f-%-*.*f sec", digits + 4, digits, c->num.v, digits + 4,
			 digits, c->end);
}

static const char *cell_text(struct sizer *z, const struct wp_doc_cell *c,
			     const struct wp_doc_column *col)
{
	char text[96];

	if (c->text || col->type == WP_DOC_TEXT)
		return wp_clean(z->pool, c->text, z->opts->utf8);
	if (!wp_has(c->num))
		return c->num.state == WP_NUM_INVALID ? "!" : "-";
	if (col->type == WP_DOC_SPAN)
		format_span(c, col, z->opts->compact, text, sizeof(text));
	else
		wp_doc_format(col->type, col->digits, z->opts->unit, c->num.v, text, sizeof(text));
	return wp_clean(z->pool, text, z->opts->utf8);
}

static int make_texts(struct sizer *z)
{
	const struct wp_doc_table *t = z->t;
	struct wp_layout *l = z->l;
	size_t n = t->n_columns, r = 0;

	l->columns = wp_pool_calloc(z->pool, n, sizeof(*l->columns));
	l->heads = wp_pool_calloc(z->pool, n, sizeof(*l->heads));
	l->cells = wp_pool_calloc(z->pool, t->n_rows ? t->n_rows * n : 1, sizeof(*l->cells));
	l->tails = wp_pool_calloc(z->pool, t->n_rows ? t->n_rows : 1, sizeof(*l->tails));
	z->natural = wp_pool_calloc(z->pool, n, sizeof(*z->natural));
	if (!l->columns || !l->heads || !l->cells || !l->tails || !z->natural)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		l->heads[i] =
			wp_clean(z->pool, t->headless ? "" : t->columns[i].head, z->opts->utf8);
		z->natural[i] = (unsigned)wp_width(l->heads[i]);
	}
	for (const struct wp_doc_row *row = t->first; row; row = row->next, r++) {
		for (size_t i = 0; i < n; i++) {
			const char *text = cell_text(z, &row->cells[i], &t->columns[i]);
			unsigned width = (unsigned)wp_width(text);

			l->cells[r * n + i] = text;
			if (width > z->natural[i])
				z->natural[i] = width;
		}
		l->tails[r] = wp_clean(z->pool, row->tail, z->opts->utf8);
	}
	return 0;
}

static void set_widths(struct sizer *z, bool roomy, unsigned max_gap)
{
	for (size_t i = 0; i < z->t->n_columns; i++) {
		const struct wp_doc_column *col = &z->t->columns[i];
		struct wp_layout_column *c = &z->l->columns[i];
		/* Rows printed one by one don't know the cells of the others. */
		unsigned need = is_fixed(z) ? (unsigned)wp_width(z->l->heads[i]) : z->natural[i];

		c->width = roomy && col->min_width > need ? col->min_width : need;
		c->gap = i ? (col->gap < max_gap ? col->gap : max_gap) : 0;
	}
}

static bool wraps(const struct sizer *z)
{
	return z->t->columns[z->t->n_columns - 1].wrap;
}

static unsigned wrap_min(const struct sizer *z)
{
	unsigned own = z->t->columns[z->t->n_columns - 1].min_width;

	return own ? own : WRAP_MIN;
}

/* Columns from `from` to `to` together, with the indent; a wrapping column counts with its least. */
static unsigned span_width(const struct sizer *z, size_t from, size_t to)
{
	unsigned sum = 0;

	for (size_t i = from; i < to; i++) {
		const struct wp_layout_column *c = &z->l->columns[i];
		unsigned width = c->width;

		if (!c->shown)
			continue;
		if (i + 1 == z->t->n_columns && wraps(z) && width > wrap_min(z))
			width = wrap_min(z);
		sum += width + (i ? c->gap : 0);
	}
	return sum;
}

/* End of the last cell of row `r` that has something in it. */
static unsigned row_end(const struct sizer *z, size_t r)
{
	unsigned at = z->t->indent, end = 0;

	for (size_t i = 0; i < z->t->n_columns; i++) {
		if (!z->l->columns[i].shown)
			continue;
		at += z->l->columns[i].width + (i ? z->l->columns[i].gap : 0);
		if (z->l->cells[r * z->t->n_columns + i][0])
			end = at;
	}
	return end;
}

/* Where tails begin: behind the last cell of every row that has one, and all below each other. */
static unsigned tails_begin(const struct sizer *z, unsigned *ret_longest)
{
	unsigned at = 0;

	*ret_longest = 0;
	for (size_t r = 0; r < z->t->n_rows; r++) {
		unsigned width = (unsigned)wp_width(z->l->tails[r]), end = row_end(z, r) + 2;

		if (width && end > at)
			at = end;
		if (width > *ret_longest)
			*ret_longest = width;
	}
	return at;
}

static unsigned tail_width(const struct sizer *z)
{
	unsigned longest, at = tails_begin(z, &longest);

	return is_fixed(z) ? 0 : at + longest;
}

static bool fits(const struct sizer *z)
{
	unsigned width = z->t->indent + span_width(z, 0, z->t->n_columns), tails = tail_width(z);

	return !z->opts->width || (width <= z->opts->width && tails <= z->opts->width);
}

/* Takes away the column that matters least; false when there is none. */
static bool drop_one(struct sizer *z)
{
	size_t worst = 0;
	unsigned rank = 0;

	for (size_t i = 0; i < z->t->n_columns; i++)
		if (z->l->columns[i].shown && z->t->columns[i].drop >= rank &&
		    z->t->columns[i].drop) {
			rank = z->t->columns[i].drop;
			worst = i;
		}
	if (!rank)
		return false;
	z->l->columns[worst].shown = false;
	z->l->dropped = true;
	return true;
}

/* The last resort: cells are cut, so that at least one column fits beside the keys. */
static void cut_into_parts(struct sizer *z)
{
	size_t n = z->t->n_columns, keys = z->t->keys < n ? z->t->keys : n - 1;
	unsigned room, used, part = 0;

	for (size_t i = 0; i < keys; i++)
		if (z->l->columns[i].width > z->opts->width / (2 * (unsigned)keys))
			z->l->columns[i].width = z->opts->width / (2 * (unsigned)keys);
	used = z->t->indent + span_width(z, 0, keys);
	room = z->opts->width > used + 4 ? z->opts->width - used : 4;
	used = 0;
	for (size_t i = keys; i < n; i++) {
		struct wp_layout_column *c = &z->l->columns[i];
		bool last_wraps = i + 1 == n && wraps(z);
		unsigned width;

		if (c->width + c->gap > room && !last_wraps)
			c->width = room - c->gap;
		width = (last_wraps && c->width > wrap_min(z) ? wrap_min(z) : c->width) + c->gap;
		if (used && used + width > room) {
			part++;
			used = 0;
		}
		c->part = part;
		used += width;
	}
	z->l->parts = part + 1;
}

static void fit(struct sizer *z)
{
	bool fixed = is_fixed(z);

	for (size_t i = 0; i < z->t->n_columns; i++)
		z->l->columns[i].shown = true;
	set_widths(z, !z->opts->compact, UINT_MAX);
	if (!fixed) {
		if (!fits(z))
			set_widths(z, false, UINT_MAX);
		if (!fits(z))
			set_widths(z, false, 1);
	}
	while (!fits(z))
		if (!drop_one(z)) {
			if (!fixed)
				cut_into_parts(z);
			return;
		}
}

/* What stands left of the last column, in the part that it is printed in. */
static unsigned width_before_last(const struct sizer *z)
{
	size_t last = z->t->n_columns - 1;
	unsigned sum = z->l->columns[last].gap;

	for (size_t i = 0; i < last; i++) {
		const struct wp_layout_column *c = &z->l->columns[i];

		if (c->shown && (i < z->t->keys || c->part == z->l->columns[last].part))
			sum += c->width + (i ? c->gap : 0);
	}
	return sum;
}

int wp_layout_table(const struct wp_doc_table *table, const struct wp_text_opts *opts,
		    struct wp_pool *pool, struct wp_layout *ret)
{
	struct wp_layout l = { .parts = 1 };
	struct sizer z = { .t = table, .opts = opts, .l = &l, .pool = pool };
	unsigned all, limit = opts->width ? opts->width : WP_TEXT_PARA_WIDTH, before;
	int r;

	if (!table->n_columns)
		return -EINVAL;
	r = make_texts(&z);
	if (r)
		return r;
	fit(&z);
	all = table->indent + span_width(&z, 0, table->n_columns);
	if (is_fixed(&z))
		l.tail_at = all > TAIL_ROOM - 2 ? all - (TAIL_ROOM - 2) : 0;
	else
		l.tail_at = tails_begin(&z, &before);
	if (wraps(&z)) {
		before = table->indent + width_before_last(&z);
		l.width = limit > before + wrap_min(&z) ? limit - before : wrap_min(&z);
	}
	*ret = l;
	return 0;
}
