/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Documents of the records in tests/records against tests/golden: text at 100 columns, mail, csv. testgolden.h says
 * how to update them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "model/json.h"
#include "report/clean.h"
#include "report/csv.h"
#include "report/mail.h"
#include "report/run_doc.h"
#include "report/testgolden.h"
#include "report/text.h"

static const char *const records[] = { "bulk",  "four",    "bidir",   "thousand",
				       "large", "absent",  "failed",  "hostile",
				       "long",  "reverse", "with_rr", "flood",
				       "paced", "tiny",    "rr",      "rr_open" };

static void load(const char *name, struct wp_run *run)
{
	struct wp_err err = { 0 };
	char path[512];
	json_t *json;

	path_of("records", name, "json", path);
	json = json_load_file(path, 0, NULL);
	assert_non_null(json);
	if (wp_run_from_json(json, run, &err))
		fail_msg("%s: %s", path, err.msg);
	json_decref(json);
}

static void make_doc(struct wp_doc *doc, const struct wp_run *run, bool detail)
{
	const struct wp_run_doc_opts opts = { .detail = detail, .max_rows = 60 };

	wp_doc_init(doc);
	wp_run_doc(doc, run, &opts);
	assert_int_equal(wp_doc_status(doc), 0);
}

static void test_text(void **state)
{
	const struct wp_text_opts opts = { .width = 100, .utf8 = true };

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(records); i++) {
		struct wp_buf out _cleanup_buf_ = WP_BUF(WP_TEXT_MAX_BYTES);
		struct wp_doc doc;
		struct wp_run run;

		load(records[i], &run);
		make_doc(&doc, &run, false);
		assert_int_equal(wp_doc_to_text(&doc, &opts, &out), 0);
		expect_golden(records[i], "txt", &out);
		wp_doc_done(&doc);
		wp_run_done(&run);
	}
}

static void test_mail_has_76_columns_of_ascii(void **state)
{
	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(records); i++) {
		struct wp_buf out _cleanup_buf_ = WP_BUF(WP_TEXT_MAX_BYTES);
		struct wp_doc doc;
		struct wp_run run;

		load(records[i], &run);
		make_doc(&doc, &run, true);
		assert_int_equal(wp_doc_to_mail(&doc, 0, &out), 0);
		assert_letter(records[i], wp_buf_text(&out));
		expect_golden(records[i], "mail", &out);
		wp_doc_done(&doc);
		wp_run_done(&run);
	}
}

/* Fields of a line without quoted commas. */
static size_t fields(const char *line, size_t len)
{
	size_t n = 1;
	bool quoted = false;

	for (size_t i = 0; i < len; i++) {
		quoted ^= line[i] == '"';
		n += line[i] == ',' && !quoted;
	}
	return n;
}

/* Every row has as many fields as its heading. */
static void assert_rectangular(const char *name, const char *text)
{
	size_t want = 0;
	bool heading = true;

	while (*text) {
		size_t len = strcspn(text, "\n");

		for (size_t quotes = 0;; len += 1 + strcspn(text + len + 1, "\n")) {
			quotes = 0;
			for (size_t i = 0; i < len; i++)
				quotes += text[i] == '"';
			if (quotes % 2 == 0)
				break;
		}
		if (!len || *text == '#') {
			heading = true;
		} else if (heading) {
			want = fields(text, len);
			heading = false;
		} else if (fields(text, len) != want) {
			fail_msg("%s: %zu fields, wanted %zu: %.*s", name, fields(text, len), want,
				 (int)len, text);
		}
		text += len + (text[len] == '\n');
	}
	assert_true(want > 1);
}

static void test_csv(void **state)
{
	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(records); i++) {
		struct wp_buf out _cleanup_buf_ = WP_BUF(WP_CSV_MAX_BYTES);
		struct wp_run run;

		load(records[i], &run);
		assert_int_equal(wp_run_to_csv_all(&run, &out), 0);
		assert_rectangular(records[i], wp_buf_text(&out));
		/* One is enough to see a change: a new metric changes them all. */
		if (!strcmp(records[i], "bulk"))
			expect_golden(records[i], "csv", &out);
		wp_run_done(&run);
	}
}

/* At any width the lines stay within it where they can be wrapped or cut, and nothing breaks. */
static void test_every_width(void **state)
{
	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(records); i++) {
		struct wp_doc doc;
		struct wp_run run;

		load(records[i], &run);
		make_doc(&doc, &run, true);
		for (unsigned width = 1; width < 140; width += width < 20 ? 1 : 7) {
			const struct wp_text_opts letter = { .width = width, .compact = true };
			const struct wp_text_opts terminal = {
				.width = width, .utf8 = true, .color = true, .unit = 'm'
			};
			struct wp_buf out _cleanup_buf_ = WP_BUF(WP_TEXT_MAX_BYTES);

			assert_int_equal(wp_doc_to_text(&doc, &letter, &out), 0);
			for (const char *s = wp_buf_text(&out); *s; s += strcspn(s, "\n") + 1)
				if (strcspn(s, "\n") > width)
					fail_msg("%s at %u: %.*s", records[i], width,
						 (int)strcspn(s, "\n"), s);
			wp_buf_reset(&out);
			assert_int_equal(wp_doc_to_text(&doc, &terminal, &out), 0);
			assert_null(strstr(wp_buf_text(&out), "\033[2J"));
		}
		wp_doc_done(&doc);
		wp_run_done(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_mail_has_76_columns_of_ascii),
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_every_width),
	};

	return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
