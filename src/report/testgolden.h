/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * testgolden.h - for tests only: golden files in tests/golden, and what a letter may contain. After a wanted change:
 * WP_UPDATE_GOLDEN=1 meson test -C build --suite unit, then read the difference before committing it.
 */
#ifndef WP_REPORT_TESTGOLDEN_H
#define WP_REPORT_TESTGOLDEN_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "report/mail.h"
#include "report/text.h"

/* "<source>/PATH" */
static inline void source_path(const char *path, char out[static 512])
{
	const char *root = getenv("WP_SOURCE_ROOT");

	if (!root) {
		print_message("WP_SOURCE_ROOT is not set; run by meson test\n");
		skip();
	}
	snprintf(out, 512, "%s/%s", root, path);
}

static inline void path_of(const char *folder, const char *name, const char *ext,
			   char out[static 512])
{
	char path[256];

	snprintf(path, sizeof(path), "tests/%s/%s.%s", folder, name, ext);
	source_path(path, out);
}

/* Prints the first line that differs. */
static inline void compare(const char *path, const char *want, const char *got)
{
	for (int line = 1; *want || *got; line++) {
		size_t w = strcspn(want, "\n"), g = strcspn(got, "\n");

		if (w != g || memcmp(want, got, w) != 0)
			fail_msg("%s line %d:\nwant: %.*s\n got: %.*s\n", path, line, (int)w, want,
				 (int)g, got);
		want += w + (want[w] == '\n');
		got += g + (got[g] == '\n');
	}
}

static inline void expect_file(const char *name, const struct wp_buf *got)
{
	struct wp_buf want _cleanup_buf_ = WP_BUF(WP_TEXT_MAX_BYTES);
	char path[512];

	source_path(name, path);
	if (getenv("WP_UPDATE_GOLDEN")) {
		assert_int_equal(wp_replace_file_at(AT_FDCWD, path, wp_buf_text(got)), 0);
		return;
	}
	assert_int_equal(wp_read_file_at(AT_FDCWD, path, &want), 0);
	compare(path, wp_buf_text(&want), wp_buf_text(got));
}

static inline void expect_golden(const char *name, const char *ext, const struct wp_buf *got)
{
	char path[256];

	snprintf(path, sizeof(path), "tests/golden/%s.%s", name, ext);
	expect_file(path, got);
}

static inline void assert_letter(const char *name, const char *text)
{
	for (int line = 1; *text; line++) {
		size_t len = strcspn(text, "\n");

		if (len > WP_MAIL_WIDTH)
			fail_msg("%s line %d has %zu columns: %.*s", name, line, len, (int)len,
				 text);
		if (len && text[len - 1] == ' ')
			fail_msg("%s line %d ends in a blank", name, line);
		for (size_t i = 0; i < len; i++)
			if ((unsigned char)text[i] < ' ' || (unsigned char)text[i] > '~')
				fail_msg("%s line %d is not plain ASCII", name, line);
		text += len + (text[len] == '\n');
	}
}

#endif
