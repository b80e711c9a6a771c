/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any record that is accepted makes a letter of at most 76 columns of ASCII, and every other form. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/json.h"
#include "report/csv.h"
#include "report/mail.h"
#include "report/run_doc.h"
#include "report/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_letter(const char *s)
{
	while (*s) {
		size_t len = strcspn(s, "\n");

		if (len > WP_MAIL_WIDTH)
			abort();
		for (size_t i = 0; i < len; i++)
			if (s[i] < ' ' || s[i] > '~')
				abort();
		s += len + (s[len] == '\n');
	}
}

static void write_all(const struct wp_run *run)
{
	const struct wp_run_doc_opts opts = { .detail = true, .max_rows = 60 };
	const struct wp_text_opts text = { .width = 80, .utf8 = true, .color = true };
	struct wp_buf out _cleanup_buf_ = WP_BUF(16 << 20);
	struct wp_doc doc;

	wp_doc_init(&doc);
	wp_run_doc(&doc, run, &opts);
	if (!wp_doc_to_mail(&doc, 0, &out))
		check_letter(wp_buf_text(&out));
	wp_buf_reset(&out);
	if (wp_doc_to_text(&doc, &text, &out))
		wp_buf_reset(&out);
	wp_buf_reset(&out);
	if (wp_run_to_csv_all(run, &out))
		wp_buf_reset(&out);
	wp_doc_done(&doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *json = json_loadb((const char *)data, size, 0, NULL);
	struct wp_run run;

	if (json && !wp_run_from_json(json, &run, NULL)) {
		write_all(&run);
		wp_run_done(&run);
	}
	json_decref(json);
	return 0;
}
