/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/doctor_text.h"

#include <stdio.h>
#include <string.h>

#define NAME_COLUMN  8
#define VALUE_COLUMN 28

static const char *mark_of(enum wp_doctor_status s)
{
	static const char *const marks[] = { "ok", "note", "WARN", "BAD", "-" };

	return (size_t)s < sizeof(marks) / sizeof(marks[0]) ? marks[s] : "-";
}

/* Bytes of `s` that fit into `room` columns, ending at a blank where there is one. */
static size_t fitting(const char *s, size_t room)
{
	size_t n = strlen(s), cut;

	if (n <= room)
		return n;
	for (cut = room; cut > 0 && s[cut] != ' '; cut--)
		;
	if (cut)
		return cut;
	/* one long word: never in the middle of a UTF-8 sequence */
	for (cut = room; cut > 1 && ((unsigned char)s[cut] & 0xc0) == 0x80; cut--)
		;
	return cut;
}

/* The text from column `column` on (where the cursor is), continued there on the next lines. */
static void put_wrapped(struct wp_buf *out, const char *s, size_t column, size_t width)
{
	for (bool first = true; first || *s; first = false) {
		size_t n = fitting(s, width - column);

		if (!first)
			wp_buf_printf(out, "%*s", (int)column, "");
		wp_buf_append(out, s, n);
		wp_buf_puts(out, "\n");
		s += n;
		while (*s == ' ')
			s++;
	}
}

static void put_line(struct wp_buf *out, const struct wp_doctor_line *l, size_t width)
{
	bool absent = l->status == WP_DOCTOR_ABSENT;
	const char *value = absent ? l->why : l->value;

	wp_buf_printf(out, "  %-*s%-*s", NAME_COLUMN - 2, mark_of(l->status),
		      VALUE_COLUMN - NAME_COLUMN, l->name);
	if (strlen(l->name) >= VALUE_COLUMN - NAME_COLUMN)
		wp_buf_printf(out, "\n%*s", VALUE_COLUMN, "");
	put_wrapped(out, value ? value : "?", VALUE_COLUMN, width);
	if (!absent && l->why) {
		wp_buf_printf(out, "%*s", VALUE_COLUMN, "spoils  ");
		put_wrapped(out, l->why, VALUE_COLUMN, width);
	}
	if (l->advice) {
		wp_buf_printf(out, "%*s", VALUE_COLUMN, "try     ");
		put_wrapped(out, l->advice, VALUE_COLUMN, width);
	}
}

int wp_doctor_text(const struct wp_doctor *d, bool problems, size_t width, struct wp_buf *out)
{
	const char *section = "";

	if (!width || width > WP_DOCTOR_COLUMNS)
		width = WP_DOCTOR_COLUMNS;
	if (width < WP_DOCTOR_LEAST)
		width = WP_DOCTOR_LEAST;

	wp_buf_printf(out, "whyperf doctor  %s%s\n",
		      d->hostname ? d->hostname : "host without a name",
		      d->live ? "" : " (recorded tree: nothing is measured)");
	for (size_t i = 0; i < d->n; i++) {
		if (problems &&
		    (d->v[i].status == WP_DOCTOR_OK || d->v[i].status == WP_DOCTOR_ABSENT))
			continue;
		if (strcmp(section, d->v[i].section)) {
			section = d->v[i].section;
			wp_buf_printf(out, "\n%s\n", section);
		}
		put_line(out, &d->v[i], width);
	}
	wp_buf_printf(out,
		      "\n%zu bad, %zu warnings, %zu notes, %zu ok; %zu could not be read\n"
		      "BAD spoils most measurements, WARN some, a note is for reading results.\n",
		      d->count[WP_DOCTOR_BAD], d->count[WP_DOCTOR_WARN], d->count[WP_DOCTOR_NOTE],
		      d->count[WP_DOCTOR_OK], d->count[WP_DOCTOR_ABSENT]);
	return wp_buf_status(out);
}
