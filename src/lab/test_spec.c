/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <errno.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lab/spec.h"

static void test_good(void **state)
{
	static const struct {
		const char *text, *name;
		uint32_t mtu_bytes;
	} cases[] = {
		{ "lab", "", 0 },
		{ "lab:mtu=9000", "", 9000 },
		{ "lab:mtu=68", "", 68 },
		{ "lab:mtu=65535", "", 65535 },
		{ "lab:name=two", "two", 0 },
		{ "lab:name=abcdefghijklmnopqrstuvw9", "abcdefghijklmnopqrstuvw9", 0 },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		struct wp_lab_spec spec;
		struct wp_err err = { 0 };

		if (wp_lab_spec_parse(cases[i].text, &spec, &err))
			fail_msg("%s: %s", cases[i].text, err.msg);
		assert_string_equal(spec.name, cases[i].name);
		assert_int_equal(spec.mtu_bytes, cases[i].mtu_bytes);
	}
}

static void test_bad(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "host", "is not a lab" },
		{ "labs", "is not a lab" },
		{ "lab:", "a key is missing" },
		{ "lab:mtu=9000,", "a key is missing" },
		{ "lab:,mtu=9000", "a key is missing" },
		{ "lab:=9000", "a key is missing" },
		{ "lab:mtu", "wants a value: mtu=BYTES" },
		{ "lab:mtu=", "wants a value: mtu=BYTES" },
		{ "lab:mtu=67", "68 to 65535" },
		{ "lab:mtu=65536", "68 to 65535" },
		{ "lab:mtu=-1", "68 to 65535" },
		{ "lab:mtu=9000x", "68 to 65535" },
		{ "lab:mtu=1500,mtu=1500", "given twice" },
		{ "lab:mut=9000", "did you mean mtu=?" },
		{ "lab:zzzzzzzz=1", "it takes name= mtu=" },
		{ "lab:name=Up", "bad lab name" },
		{ "lab:name=a/b", "bad lab name" },
		{ "lab:name=..", "bad lab name" },
		{ "lab:name=abcdefghijklmnopqrstuvwxy", "bad lab name" },
		{ "lab:name=x,mtu=9000", "does not go with name=" },
		{ "lab:mtu=9000,name=x", "does not go with name=" },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		struct wp_lab_spec spec = { .mtu_bytes = 77 };
		struct wp_err err = { 0 };

		if (wp_lab_spec_parse(cases[i].text, &spec, &err) != -EINVAL)
			fail_msg("%s: accepted", cases[i].text);
		if (!strstr(err.msg, cases[i].says))
			fail_msg("%s: '%s' does not say '%s'", cases[i].text, err.msg,
				 cases[i].says);
		assert_int_equal(spec.mtu_bytes, 77);
	}
}

static void test_too_long(void **state)
{
	char text[WP_LAB_SPEC_MAX + 8] = "lab:mtu=";
	struct wp_lab_spec spec;
	struct wp_err err = { 0 };

	(void)state;
	memset(text + 8, '0', sizeof(text) - 9);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(wp_lab_spec_parse(text, &spec, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "longer than"));
}

static void test_help_names_every_key(void **state)
{
	_cleanup_buf_ struct wp_buf b = WP_BUF(4096);

	(void)state;
	assert_int_equal(wp_lab_spec_help(&b), 0);
	assert_non_null(strstr(wp_buf_text(&b), "name=NAME"));
	assert_non_null(strstr(wp_buf_text(&b), "mtu=BYTES"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_help_names_every_key),
	};

	return cmocka_run_group_tests_name("lab spec", tests, NULL, NULL);
}
