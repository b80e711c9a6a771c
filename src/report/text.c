/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/clean.h"
#include "report/layout.h"

#define FOOTNOTES      6 /* distinct reasons told below a table */
#define STRIP_COLUMNS  40
#define SERIES_COLUMNS 60
#define HEADING_INDENT 2  /* of a heading's second line */
#define RULE_DASHES    25 /* as iperf3 has them */
#define UNIT_MAX       10 /* bytes: "Gbits/sec," */

struct writer {
	const struct wp_text_opts *opts;
	struct wp_pool *pool;
	struct wp_buf *out;
	unsigned at;      /* columns on this line */
	unsigned pending; /* blanks owed; never written at the end of a line */
};

static unsigned limit(const struct writer *w)
{
	return w->opts->width ? w->opts->width : WP_TEXT_PARA_WIDTH;
}

static void newline(struct writer *w)
{
	wp_buf_puts(w->out, "\n");
	w->at = w->pending = 0;
}

static void pad_to(struct writer *w, unsigned column)
{
	if (column > w->at + w->pending)
		w->pending = column - w->at;
}

static void pad(struct writer *w, unsigned n)
{
	w->pending += n;
}

static const char *style_on(enum wp_doc_style style)
{
	switch (style) {
	case WP_DOC_STRONG:
		return "\033[1m";
	case WP_DOC_DIM:
		return "\033[2m";
	case WP_DOC_GOOD:
		return "\033[32m";
	case WP_DOC_WARN:
		return "\033[33m";
	case WP_DOC_BAD:
		return "\033[31m";
	case WP_DOC_PLAIN:
		break;
	}
	return "";
}

/* `n` bytes of cleaned text on this line. A letter's lines are broken rather than too long, whatever is in them. */
static void put_bytes(struct writer *w, enum wp_doc_style style, const char *text, size_t n)
{
	bool colored = w->opts->color && style != WP_DOC_PLAIN;
	unsigned trailing = 0;

	for (; n && text[n - 1] == ' '; n--)
		trailing++;
	if (!n) {
		pad(w, trailing);
		return;
	}
	if (w->opts->compact && w->at + w->pending >= limit(w))
		newline(w);
	wp_buf_printf(w->out, "%*s", (int)w->pending, "");
	w->at += w->pending;
	w->pending = 0;
	if (colored)
		wp_buf_puts(w->out, style_on(style));
	for (size_t done = 0; done < n;) {
		size_t len = n - done;

		if (w->opts->compact) {
			if (w->at >= limit(w))
				newline(w);
			len = wp_width_bytes(text + done, limit(w) - w->at);
			len = len < n - done ? len : n - done;
		}
		wp_buf_append(w->out, text + done, len);
		for (size_t i = done; i < done + len; i++)
			w->at += ((unsigned char)text[i] & 0xc0) != 0x80;
		done += len;
	}
	if (colored)
		wp_buf_puts(w->out, "\033[0m");
	pad(w, trailing);
}

static void put(struct writer *w, enum wp_doc_style style, const char *text)
{
	put_bytes(w, style, text, strlen(text));
}

/* Bytes up to the blank where a line may end: a number stays with its unit ("57.9 %", "2 s"), "CPU" with its number. */
static size_t word_length(const char *text)
{
	size_t len = strcspn(text, " "), from = 0;

	while (text[len] == ' ' && text[len + 1] != ' ') {
		size_t next = strcspn(text + len + 1, " ");
		bool number = len > from && text[len - 1] >= '0' && text[len - 1] <= '9' &&
			      strspn(text + from, "0123456789.,") == len - from;
		bool unit = text[len + 1] == '%' || (next && strchr("KMGTkmgtsun", text[len + 1]));

		if (!(number && unit && next <= UNIT_MAX) &&
		    !(len - from == 3 && !memcmp(text + from, "CPU", 3) && next <= 4))
			break;
		from = len + 1;
		len += 1 + next;
	}
	return len;
}

/* Words from the present column on, later lines from `indent` on. */
static void put_wrapped(struct writer *w, enum wp_doc_style style, const char *text,
			unsigned indent, unsigned right)
{
	if (right < indent + 8)
		right = indent + 8;
	while (*text) {
		size_t len = word_length(text), width = 0;

		for (size_t i = 0; i < len; i++)
			width += ((unsigned char)text[i] & 0xc0) != 0x80;
		if (len && w->at + w->pending > indent && w->at + w->pending + width > right) {
			newline(w);
			pad_to(w, indent);
		}
		/* A word longer than a line. */
		while (len && w->at + w->pending + width > right && right > w->at + w->pending) {
			size_t part = wp_width_bytes(text, right - w->at - w->pending);

			width -= right - w->at - w->pending;
			put_bytes(w, style, text, part);
			text += part;
			len -= part;
			newline(w);
			pad_to(w, indent);
		}
		put_bytes(w, style, text, len);
		text += len;
		while (*text == ' ') {
			pad(w, 1);
			text++;
		}
	}
}

static void put_heading(struct writer *w, const struct wp_doc_block *b)
{
	put_wrapped(w, b->style, wp_clean(w->pool, b->text, w->opts->utf8), HEADING_INDENT,
		    limit(w));
	newline(w);
}

static void put_label(struct writer *w, const struct wp_doc_block *b)
{
	const char *label = wp_clean(w->pool, b->label, w->opts->utf8);

	if (!b->label)
		return;
	put(w, b->style == WP_DOC_PLAIN ? WP_DOC_STRONG : b->style, label);
	if (wp_width(label) >= WP_DOC_LABEL_WIDTH)
		pad(w, 1);
	pad_to(w, WP_DOC_LABEL_WIDTH);
}

static void put_para(struct writer *w, const struct wp_doc_block *b)
{
	put_label(w, b);
	put_wrapped(w, b->style, wp_clean(w->pool, b->text, w->opts->utf8),
		    b->label ? WP_DOC_LABEL_WIDTH : 0, limit(w));
	newline(w);
}

static void format(struct writer *w, enum wp_doc_type type, double v, char *out, size_t size)
{
	wp_doc_format(type, 2, w->opts->unit, v, out, size);
}

/* Mean of the values that fall into column i of n. */
static double bucket(const struct wp_doc_block *b, size_t i, size_t n)
{
	size_t from = i * b->n_values / n, to = (i + 1) * b->n_values / n;
	double sum = 0;

	if (to <= from)
		to = from + 1;
	for (size_t k = from; k < to; k++)
		sum += b->values[k];
	return sum / (double)(to - from);
}

static void put_series(struct writer *w, const struct wp_doc_block *b)
{
	static const char *const blocks[] = { "\u2581", "\u2582", "\u2583", "\u2584",
					      "\u2585", "\u2586", "\u2587", "\u2588" };
	static const char *const ascii[] = { "_", ".", ":", "-", "=", "+", "*", "#" };
	size_t n = b->n_values < SERIES_COLUMNS ? b->n_values : SERIES_COLUMNS;
	char low[64], high[64], scale[160];

	put_label(w, b);
	for (size_t i = 0; i < n; i++) {
		double v = bucket(b, i, n), share = b->high > 0 ? v / b->high : 0;
		int level = share >= 1 ? 7 : share > 0 ? (int)(share * 8) : 0;

		/* From 0, not from the minimum: a bar that looks half as high is half as much. */
		put(w, WP_DOC_PLAIN, isfinite(v) ? (w->opts->utf8 ? blocks : ascii)[level] : " ");
	}
	format(w, b->type, b->low, low, sizeof(low));
	format(w, b->type, b->high, high, sizeof(high));
	snprintf(scale, sizeof(scale), "min %s, max %s, bars from 0", low, high);
	if (w->at + 2 + strlen(scale) > limit(w)) {
		newline(w);
		pad_to(w, WP_DOC_LABEL_WIDTH);
	} else {
		pad(w, 2);
	}
	put_wrapped(w, WP_DOC_DIM, scale, WP_DOC_LABEL_WIDTH, limit(w));
	newline(w);
}

static void put_strip(struct writer *w, const struct wp_doc_block *b)
{
	unsigned count[STRIP_COLUMNS] = { 0 };
	double range = b->high - b->low;

	put_label(w, b);
	for (size_t i = 0; i < b->n_values; i++) {
		double at = range > 0 ? (b->values[i] - b->low) / range * (STRIP_COLUMNS - 1) : 0;

		if (at >= 0 && at <= STRIP_COLUMNS - 1)
			count[(size_t)(at + .5)]++;
	}
	put(w, WP_DOC_DIM, "|");
	for (size_t i = 0; i < STRIP_COLUMNS; i++)
		if (!count[i])
			pad(w, 1);
		else if (count[i] == 1)
			put(w, WP_DOC_PLAIN, w->opts->utf8 ? "\u2022" : "o");
		else
			put(w, WP_DOC_PLAIN,
			    (char[]) { count[i] < 10 ? (char)('0' + count[i]) : '*', '\0' });
	put(w, WP_DOC_DIM, "|");
	newline(w);
}

/* A cell that ends where its column ends, or begins where it begins: columns stay below each other although an earlier
 * cell of the row was too wide. `at` is the column's first column of text; `cut`: longer text is cut and marked. */
static void put_cell(struct writer *w, unsigned at, unsigned room, enum wp_doc_style style,
		     const char *text, bool left, bool cut)
{
	unsigned width = (unsigned)wp_width(text);

	if (width > room && cut) {
		text = wp_pool_printf(w->pool, "%.*s~",
				      (int)wp_width_bytes(text, room > 1 ? room - 1 : 0), text);
		text = text ? text : "";
		width = (unsigned)wp_width(text);
	}
	if (!width)
		return;
	if (w->at + w->pending > at)
		pad(w, 1);
	pad_to(w, left || width > room ? at : at + room - width);
	put(w, style, text);
}

static bool in_part(const struct wp_doc_table *t, const struct wp_layout *l, size_t i,
		    unsigned part)
{
	return l->columns[i].shown && (i < t->keys || l->columns[i].part == part);
}

static void put_heads(struct writer *w, const struct wp_doc_table *t, const struct wp_layout *l,
		      unsigned part)
{
	unsigned at = t->indent;

	for (size_t i = 0; i < t->n_columns; i++) {
		if (!in_part(t, l, i, part))
			continue;
		at += l->columns[i].gap;
		put_cell(w, at, l->columns[i].width, WP_DOC_STRONG, l->heads[i],
			 t->columns[i].left || t->columns[i].head_left, l->parts > 1);
		at += l->columns[i].width;
	}
	newline(w);
}

static void put_row(struct writer *w, const struct wp_doc_table *t, const struct wp_layout *l,
		    size_t r, const struct wp_doc_row *row, unsigned part)
{
	unsigned at = t->indent;

	for (size_t i = 0; i < t->n_columns; i++) {
		const char *text = l->cells[r * t->n_columns + i];
		enum wp_doc_style style = row->cells[i].style ? row->cells[i].style : row->style;

		if (!in_part(t, l, i, part))
			continue;
		at += l->columns[i].gap;
		if (l->width && i + 1 == t->n_columns) {
			pad_to(w, at);
			put_wrapped(w, style, text, at, at + l->width);
		} else {
			put_cell(w, at, l->columns[i].width, style, text, t->columns[i].left,
				 l->parts > 1);
		}
		at += l->columns[i].width;
	}
	if (l->tails[r][0] && part + 1 == l->parts) {
		w->pending = 2;
		pad_to(w, l->tail_at);
		put(w, WP_DOC_DIM, l->tails[r]);
	}
	newline(w);
}

static void put_rule(struct writer *w)
{
	unsigned n = limit(w) < 2 * RULE_DASHES ? limit(w) / 2 : RULE_DASHES;

	for (unsigned i = 0; i < n; i++)
		put(w, WP_DOC_DIM, i + 1 < n ? "- " : "-");
	newline(w);
}

static void put_rows(struct writer *w, const struct wp_doc_table *t, const struct wp_layout *l,
		     bool head)
{
	for (unsigned part = 0; part < l->parts; part++) {
		size_t r = 0;

		if (part)
			newline(w);
		if (head && !t->headless)
			put_heads(w, t, l, part);
		for (const struct wp_doc_row *row = t->first; row; row = row->next, r++) {
			if (row->rule)
				put_rule(w);
			put_row(w, t, l, r, row, part);
		}
	}
}

/* Why numbers of column `i` are absent: each reason once, as many as there is room for. */
static void put_reasons(struct writer *w, const struct wp_doc_table *t, const struct wp_layout *l,
			size_t i, size_t *n)
{
	const char *told[FOOTNOTES];
	size_t from = *n;

	for (const struct wp_doc_row *row = t->first; row && *n < FOOTNOTES; row = row->next) {
		const struct wp_doc_cell *c = &row->cells[i];
		bool again = false;

		if (c->text || wp_has(c->num) || !c->num.why)
			continue;
		for (size_t k = from; k < *n; k++)
			again |= !strcmp(told[k], c->num.why);
		if (again)
			continue;
		told[*n] = c->num.why;
		(*n)++;
		pad_to(w, t->indent);
		put(w, WP_DOC_DIM, c->num.state == WP_NUM_INVALID ? "! " : "- ");
		put_wrapped(w, WP_DOC_DIM,
			    wp_clean(w->pool,
				     wp_pool_printf(w->pool, "in %s: %s", l->heads[i], c->num.why),
				     w->opts->utf8),
			    t->indent + 2, limit(w));
		newline(w);
	}
}

static void put_footnotes(struct writer *w, const struct wp_doc_table *t, const struct wp_layout *l)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_columns; i++)
		if (t->columns[i].explain && l->columns[i].shown)
			put_reasons(w, t, l, i, &n);
	if (!l->dropped || t->headless)
		return;
	pad_to(w, t->indent);
	put_wrapped(w, WP_DOC_DIM, "columns left out at this width:", 2, limit(w));
	for (size_t i = 0; i < t->n_columns; i++)
		if (!l->columns[i].shown) {
			pad(w, 1);
			put_wrapped(w, WP_DOC_DIM, l->heads[i], 2, limit(w));
		}
	newline(w);
}

static int put_table(struct writer *w, const struct wp_doc_table *t)
{
	struct wp_layout l;
	int r;

	if (!t || !t->n_rows)
		return 0;
	r = wp_layout_table(t, w->opts, w->pool, &l);
	if (r)
		return r;
	put_rows(w, t, &l, true);
	put_footnotes(w, t, &l);
	return 0;
}

int wp_doc_to_text(const struct wp_doc *doc, const struct wp_text_opts *opts, struct wp_buf *out)
{
	struct wp_pool pool WP_CLEANUP(wp_pool_done) = WP_POOL(WP_DOC_POOL_BYTES);
	struct writer w = { .opts = opts, .pool = &pool, .out = out };
	int r = doc->status;

	for (const struct wp_doc_block *b = doc->first; b && !r; b = b->next)
		switch (b->kind) {
		case WP_DOC_HEADING:
			put_heading(&w, b);
			break;
		case WP_DOC_PARA:
			put_para(&w, b);
			break;
		case WP_DOC_TABLE:
			r = put_table(&w, b->table);
			break;
		case WP_DOC_SERIES:
			put_series(&w, b);
			break;
		case WP_DOC_STRIP:
			put_strip(&w, b);
			break;
		case WP_DOC_BLANK:
			newline(&w);
			break;
		}
	return r ? r : wp_buf_status(out);
}

int wp_table_to_text(const struct wp_doc_table *table, const struct wp_text_opts *opts, bool head,
		     struct wp_buf *out)
{
	struct wp_pool pool WP_CLEANUP(wp_pool_done) = WP_POOL(WP_DOC_POOL_BYTES);
	struct writer w = { .opts = opts, .pool = &pool, .out = out };
	struct wp_layout l;
	int r = table ? wp_layout_table(table, opts, &pool, &l) : -ENOMEM;

	if (r)
		return r;
	put_rows(&w, table, &l, head);
	return wp_buf_status(out);
}
