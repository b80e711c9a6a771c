/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/opt.h"
#include "base/cleanup.h"

#define WIDTH     80 /* of the terminals that there are, the narrow ones */
#define LEFT_MAX  34 /* a longer left column puts its help on the next line */
#define LEFT_TEXT 200

/* "  -t, --time TIME": the left column. */
static void left_column(const struct wp_opt *o, struct wp_buf *out)
{
	wp_buf_reset(out);
	if (o->letter)
		wp_buf_printf(out, "  -%c, --%s", o->letter, o->name);
	else
		wp_buf_printf(out, "      --%s", o->name);
	if (o->type != WP_OPT_FLAG)
		wp_buf_printf(out, " %s", o->arg ? o->arg : "VALUE");
}

/* "how to fill the buffer: zero, random, pattern (default zero)" */
static void right_column(const struct wp_opt *o, struct wp_buf *out)
{
	wp_buf_reset(out);
	wp_buf_puts(out, o->help ? o->help : "");
	if (o->type == WP_OPT_ENUM)
		for (size_t i = 0; o->choices && o->choices[i]; i++)
			wp_buf_printf(out, "%s%s", i ? ", " : ": ", o->choices[i]);
	if (o->def && o->def[0])
		wp_buf_printf(out, " (default %s)", o->def);
}

/* Appends `text` folded at spaces to lines that begin in column `indent` and end before WIDTH. The
 * first line is taken to be there up to column `at`. */
static void fold(struct wp_buf *out, const char *text, size_t at, size_t indent)
{
	size_t len, col = at;

	while (*text) {
		len = strcspn(text, " ");
		if (col > indent && col + 1 + len > WIDTH) {
			wp_buf_puts(out, "\n");
			col = 0;
		}
		if (col < indent)
			wp_buf_printf(out, "%*s", (int)(indent - col), "");
		else if (col > indent)
			wp_buf_puts(out, " ");
		col = col > indent ? col + 1 : indent;
		wp_buf_append(out, text, len);
		col += len;
		text += len;
		text += strspn(text, " ");
	}
	wp_buf_puts(out, "\n");
}

static size_t left_width(const struct wp_opt *rows, size_t n)
{
	struct wp_buf left _cleanup_buf_ = WP_BUF(LEFT_TEXT);
	size_t width = 0;

	for (size_t i = 0; i < n; i++) {
		if (rows[i].hidden)
			continue;
		left_column(&rows[i], &left);
		if (left.len > width && left.len <= LEFT_MAX)
			width = left.len;
	}
	return width + 2;
}

static void one_row(const struct wp_opt *o, size_t width, struct wp_buf *out)
{
	struct wp_buf left _cleanup_buf_ = WP_BUF(LEFT_TEXT), right _cleanup_buf_ = WP_BUF(2000);
	size_t at;

	left_column(o, &left);
	right_column(o, &right);
	at = left.len;
	wp_buf_puts(out, wp_buf_text(&left));
	if (at + 2 > width) {
		wp_buf_puts(out, "\n");
		at = 0;
	}
	fold(out, wp_buf_text(&right), at, width);
}

static bool has_type(const struct wp_opt *rows, size_t n, enum wp_opt_type a, enum wp_opt_type b)
{
	for (size_t i = 0; i < n; i++)
		if (!rows[i].hidden && (rows[i].type == a || rows[i].type == b))
			return true;
	return false;
}

/* How sizes, rates, times and CPU lists are written, as far as this command takes any. */
static void notes(const struct wp_opt *rows, size_t n, struct wp_buf *out)
{
	static const struct {
		enum wp_opt_type a, b;
		const char *text;
	} note[] = {
		{ WP_OPT_SIZE, WP_OPT_SIZES,
		  "Sizes are bytes; K, M, G and T are powers of 1024 (128K = 131072)." },
		{ WP_OPT_RATE, WP_OPT_RATE,
		  "Rates are bits per second; K, M, G and T are powers of 1000 (200M, 1.5G)." },
		{ WP_OPT_PACE, WP_OPT_PACE,
		  "Rates are bits per second (200M, 1.5G), or packets with pps (36kpps); K, M, G and T are powers of 1000." },
		{ WP_OPT_FREQUENCY, WP_OPT_FREQUENCY,
		  "Rates are per second (0.5, 2000, 10k); k and M are powers of 1000." },
		{ WP_OPT_COUNT, WP_OPT_COUNTS,
		  "Counts take K, M, G and T as powers of 1000 (10k)." },
		{ WP_OPT_DURATION, WP_OPT_DURATION,
		  "Times are seconds unless a unit follows: ns, us, ms, s, m, h, d (250ms)." },
		{ WP_OPT_CPULIST, WP_OPT_CPULIST,
		  "CPU lists are numbers and ranges (0,2,4-7), or all." },
	};
	bool any = false;

	for (size_t i = 0; i < WP_ARRAY_SIZE(note); i++) {
		if (!has_type(rows, n, note[i].a, note[i].b))
			continue;
		if (!any)
			wp_buf_puts(out, "\n");
		any = true;
		fold(out, note[i].text, 0, 0);
	}
}

int wp_opt_help(const struct wp_opt *rows, size_t n, struct wp_buf *out)
{
	const char *group = NULL, *g;
	size_t width = left_width(rows, n);

	for (size_t i = 0; i < n; i++) {
		if (rows[i].hidden)
			continue;
		g = rows[i].group ? rows[i].group : "Options";
		if (!group || strcmp(group, g))
			wp_buf_printf(out, "%s%s:\n", group ? "\n" : "", g);
		group = g;
		one_row(&rows[i], width, out);
	}
	notes(rows, n, out);
	return wp_buf_status(out);
}
