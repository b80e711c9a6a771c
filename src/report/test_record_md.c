/* SPDX-License-Identifier: GPL-2.0-or-later */
/* docs/record.md is what the metric table says, and has every key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "model/metric.h"
#include "report/record_md.h"
#include "report/testgolden.h"

static void test_document_is_up_to_date(void **state)
{
	struct wp_buf out _cleanup_buf_ = WP_BUF(1 << 20);

	(void)state;
	assert_int_equal(wp_record_md(&out), 0);
	expect_file("docs/record.md", &out);
}

static void test_every_key_has_a_row(void **state)
{
	struct wp_buf out _cleanup_buf_ = WP_BUF(1 << 20);
	size_t rows = 0;

	(void)state;
	assert_int_equal(wp_record_md(&out), 0);
	for (const char *s = wp_buf_text(&out); (s = strstr(s, "\n| `")); s++)
		rows++;
	assert_true(rows > wp_n_metrics);
	for (size_t i = 0; i < wp_n_metrics; i++) {
		char row[128];

		snprintf(row, sizeof(row), "\n| `%s`%s | %s |", wp_metrics[i].name,
			 wp_metrics[i].optional ? " (optional)" : "", wp_metrics[i].unit);
		if (!strstr(wp_buf_text(&out), row))
			fail_msg("no row of %s", wp_metrics[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_document_is_up_to_date),
		cmocka_unit_test(test_every_key_has_a_row),
	};

	return cmocka_run_group_tests_name("record_md", tests, NULL, NULL);
}
