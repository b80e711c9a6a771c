/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Golden texts of doctor: tests/golden/doctor-NAME.txt. Run with WP_UPDATE_GOLDEN=1 to write them anew, then read the
 * difference before committing it. */
#include "sys/testroot.h"

#include "report/doctor_text.h"

static void golden_path(const char *root, char out[static 4096])
{
	snprintf(out, 4096, "%s/tests/golden/doctor-%s.txt", getenv("WP_SOURCE_ROOT"), root);
}

static void write_golden(const char *root, const struct wp_buf *text)
{
	char path[4096];
	FILE *f;

	golden_path(root, path);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(wp_buf_text(text), 1, text->len, f), text->len);
	assert_int_equal(fclose(f), 0);
}

static void check_columns(const char *text)
{
	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\n");

		if (n > WP_DOCTOR_COLUMNS)
			fail_msg("%zu columns: %.*s", n, (int)n, line);
		if (n && line[n - 1] == ' ')
			fail_msg("blank at the end of: %.*s", (int)n, line);
		line += n + (line[n] == '\n');
	}
}

static void check_root(const char *root)
{
	struct wp_pool pool = WP_POOL(WP_FACTS_POOL_BYTES);
	struct wp_buf text = WP_BUF(1u << 20), want = WP_BUF(1u << 20);
	struct wp_doctor d;
	char path[4096];
	int fd = wp_test_root(root);

	assert_int_equal(wp_doctor_read(fd, false, &pool, &d, NULL), 0);
	close(fd);
	assert_int_equal(wp_doctor_text(&d, false, 0, &text), 0);
	check_columns(wp_buf_text(&text));
	if (getenv("WP_UPDATE_GOLDEN"))
		write_golden(root, &text);
	golden_path(root, path);
	assert_int_equal(wp_read_file_at(AT_FDCWD, path, &want), 0);
	assert_string_equal(wp_buf_text(&text), wp_buf_text(&want));
	wp_buf_done(&text);
	wp_buf_done(&want);
	wp_pool_done(&pool);
}

static void x86_server(void **state)
{
	(void)state;
	check_root("inv-x86-2s");
}

static void arm_board(void **state)
{
	(void)state;
	check_root("inv-arm64");
}

static void virtual_machine(void **state)
{
	(void)state;
	check_root("inv-vm");
}

static void container(void **state)
{
	(void)state;
	check_root("inv-container");
}

static void old_kernel(void **state)
{
	(void)state;
	check_root("inv-old");
}

static void problems_only_leaves_out_what_is_in_order(void **state)
{
	struct wp_doctor_line lines[] = {
		{ .section = "A", .name = "fine", .value = "1", .status = WP_DOCTOR_OK },
		{ .section = "B", .name = "gone", .status = WP_DOCTOR_ABSENT, .why = "no file" },
		{ .section = "B",
		  .name = "sick",
		  .value = "2",
		  .status = WP_DOCTOR_BAD,
		  .why = "rates",
		  .advice = "rest" },
	};
	struct wp_doctor d = {
		.v = lines, .n = 3, .hostname = "h", .live = true, .count = { 1, 0, 0, 1, 1 }
	};
	struct wp_buf text = WP_BUF(4096);

	(void)state;
	assert_int_equal(wp_doctor_text(&d, true, 0, &text), 0);
	assert_string_equal(
		wp_buf_text(&text),
		"whyperf doctor  h\n\nB\n  BAD   sick                2\n"
		"                    spoils  rates\n                    try     rest\n"
		"\n1 bad, 0 warnings, 0 notes, 1 ok; 1 could not be read\n"
		"BAD spoils most measurements, WARN some, a note is for reading results.\n");
	wp_buf_done(&text);
}

static void long_words_are_cut_between_characters(void **state)
{
	struct wp_doctor_line line = { .section = "S", .name = "n", .status = WP_DOCTOR_OK };
	struct wp_doctor d = { .v = &line, .n = 1 };
	struct wp_buf text = WP_BUF(4096);
	char word[200];

	(void)state;
	for (size_t i = 0; i + 2 < sizeof(word); i += 2)
		memcpy(word + i, "\xc3\xa9", 3); /* e with acute */
	line.value = word;
	assert_int_equal(wp_doctor_text(&d, false, 0, &text), 0);
	check_columns(wp_buf_text(&text));
	for (const char *p = wp_buf_text(&text); (p = strchr(p, '\xc3')); p++)
		assert_int_equal((unsigned char)p[1], 0xa9);
	wp_buf_done(&text);
}

static void live_machine_fits_the_columns(void **state)
{
	struct wp_pool pool = WP_POOL(WP_FACTS_POOL_BYTES);
	struct wp_buf text = WP_BUF(1u << 20);
	struct wp_doctor d;

	(void)state;
	assert_int_equal(wp_doctor_read(-1, true, &pool, &d, NULL), 0);
	assert_int_equal(wp_doctor_text(&d, false, 0, &text), 0);
	check_columns(wp_buf_text(&text));
	assert_non_null(strstr(wp_buf_text(&text), "\nMeasured\n"));
	wp_buf_done(&text);
	wp_pool_done(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86_server),
		cmocka_unit_test(arm_board),
		cmocka_unit_test(virtual_machine),
		cmocka_unit_test(container),
		cmocka_unit_test(old_kernel),
		cmocka_unit_test(problems_only_leaves_out_what_is_in_order),
		cmocka_unit_test(long_words_are_cut_between_characters),
		cmocka_unit_test(live_machine_fits_the_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
