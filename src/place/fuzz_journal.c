/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is accepted names allowed paths only, and survives being written and read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "place/journal_file.h"
#include "place/journal_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct wp_journal_text *t)
{
	_cleanup_journal_text_ struct wp_journal_text again = { 0 };
	_cleanup_buf_ struct wp_buf out = WP_BUF(WP_JOURNAL_FILE_MAX);

	for (size_t i = 0; i < t->n; i++) {
		if (!wp_journal_path_allowed(t->v[i].verb, t->v[i].path))
			abort();
		if (wp_journal_put_entry(&out, &t->v[i]))
			return;
	}
	if (wp_journal_text_parse(wp_buf_text(&out), out.len, &again) || again.bad ||
	    again.n != t->n)
		abort();
	for (size_t i = 0; i < t->n; i++) {
		const struct wp_journal_entry *a = &t->v[i], *b = &again.v[i];

		if (a->id != b->id || a->verb != b->verb || strcmp(a->path, b->path) != 0)
			abort();
		if (a->verb == WP_JOURNAL_WRITE &&
		    (strcmp(a->set, b->set) != 0 || strcmp(a->restore, b->restore) != 0))
			abort();
		if (a->verb == WP_JOURNAL_WRITE && !wp_journal_same_value(a->set, b->set))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_journal_text_ struct wp_journal_text t = { 0 };
	struct wp_journal_name name;
	uint64_t starttime;
	char *text;

	if (!wp_journal_text_parse((const char *)data, size, &t))
		check(&t);
	if (!wp_journal_parse_starttime((const char *)data, size, &starttime) &&
	    !memchr(data, ')', size))
		abort();
	text = malloc(size + 1);
	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	if (wp_journal_name_parse(text, &name) && name.pid <= 0)
		abort();
	free(text);
	return 0;
}
