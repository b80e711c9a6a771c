/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/testroot.h"

#include <errno.h>

#include "sys/accounting.h"
#include "sys/procfile.h"

#define VERSION_6_18 0x061200u

static struct wp_accounting decide(struct wp_accounting_facts facts)
{
	struct wp_accounting a;

	wp_accounting_decide(&facts, &a);
	assert_true(a.evidence[0] != '\0');
	return a;
}

static void each_fact_decides(void **state)
{
	static const struct {
		const char *name;
		struct wp_accounting_facts facts;
		enum wp_accounting_mode mode;
		bool certain;
	} cases[] = {
		{ "pressure/irq counts",
		  { .version = VERSION_6_18,
		    .pressure = WP_YES,
		    .pressure_irq = WP_YES,
		    .pressure_irq_us = 5 },
		  WP_ACCOUNTING_IRQ_TIME,
		  true },
		{ "pressure/irq can't be read",
		  { .version = VERSION_6_18,
		    .pressure = WP_YES,
		    .pressure_irq = WP_YES,
		    .pressure_irq_status = -EOPNOTSUPP,
		    .built_irqtime = WP_YES },
		  WP_ACCOUNTING_TICKS,
		  true },
		{ "pressure/irq is missing",
		  { .version = VERSION_6_18, .pressure = WP_YES, .pressure_irq = WP_NO },
		  WP_ACCOUNTING_TICKS,
		  true },
		{ "pressure/irq did not exist in 5.15, the column moves",
		  { .version = 0x050f00,
		    .pressure = WP_YES,
		    .pressure_irq = WP_NO,
		    .has_irq_column = true,
		    .irq_ticks = 9 },
		  WP_ACCOUNTING_IRQ_TIME,
		  true },
		{ "pressure/irq counts nothing and the column stays 0",
		  { .version = VERSION_6_18,
		    .pressure = WP_YES,
		    .pressure_irq = WP_YES,
		    .built_irqtime = WP_YES,
		    .has_irq_column = true,
		    .interrupts = 2000000 },
		  WP_ACCOUNTING_TICKS,
		  true },
		{ "BTF without the function",
		  { .version = VERSION_6_18, .built_irqtime = WP_NO },
		  WP_ACCOUNTING_TICKS,
		  true },
		{ "BTF with the function",
		  { .version = VERSION_6_18, .built_irqtime = WP_YES },
		  WP_ACCOUNTING_IRQ_TIME,
		  false },
		{ "switched off on the command line",
		  { .version = VERSION_6_18,
		    .built_irqtime = WP_YES,
		    .forced_off = "tsc=noirqtime" },
		  WP_ACCOUNTING_TICKS,
		  true },
		{ "column 0 after a million interrupts",
		  { .version = VERSION_6_18, .has_irq_column = true, .interrupts = 1000001 },
		  WP_ACCOUNTING_TICKS,
		  true },
		{ "column 0 after few interrupts",
		  { .version = VERSION_6_18, .has_irq_column = true, .interrupts = 1000 },
		  WP_ACCOUNTING_TICKS,
		  false },
		{ "older than interrupt time",
		  { .version = 0x020620, .has_irq_column = true, .irq_ticks = 7 },
		  WP_ACCOUNTING_TICKS,
		  true },
		{ "s390", { .s390 = true }, WP_ACCOUNTING_FULL, true },
		{ "native", { .built_native = WP_YES }, WP_ACCOUNTING_FULL, true },
		{ "nothing known", { 0 }, WP_ACCOUNTING_TICKS, false },
		{ "most CPUs in nohz_full",
		  { .built_irqtime = WP_NO, .n_online = 8, .n_nohz_full = 7, .nohz_full = "1-7" },
		  WP_ACCOUNTING_FULL,
		  true },
		{ "some CPUs in nohz_full",
		  { .built_irqtime = WP_NO, .n_online = 8, .n_nohz_full = 2, .nohz_full = "6-7" },
		  WP_ACCOUNTING_TICKS,
		  true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wp_accounting a = decide(cases[i].facts);

		if (a.mode != cases[i].mode || a.certain != cases[i].certain)
			fail_msg("%s: %s, %s", cases[i].name, wp_accounting_name(a.mode),
				 a.evidence);
	}
}

static void nohz_full_is_in_the_evidence(void **state)
{
	struct wp_accounting a = decide((struct wp_accounting_facts) {
		.n_online = 8,
		.n_nohz_full = 2,
		.nohz_full = "6-7",
	});

	(void)state;
	assert_non_null(strstr(a.evidence, "CPUs 6-7 (nohz_full)"));
	assert_string_equal(a.nohz_full, "6-7");
}

static void recorded_roots_are_recognised(void **state)
{
	static const struct {
		const char *root;
		enum wp_accounting_mode mode;
	} cases[] = {
		{ "vm2_a", WP_ACCOUNTING_TICKS },     { "arm64_a", WP_ACCOUNTING_IRQ_TIME },
		{ "old2632_a", WP_ACCOUNTING_TICKS }, { "big_b", WP_ACCOUNTING_IRQ_TIME },
		{ "big_a", WP_ACCOUNTING_TICKS },     { "container_a", WP_ACCOUNTING_TICKS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wp_accounting a;
		int root = wp_test_root(cases[i].root);

		wp_accounting_detect(root, &a);
		close(root);
		if (a.mode != cases[i].mode)
			fail_msg("%s: %s", cases[i].root, a.evidence);
		assert_string_equal(a.nohz_full, "");
	}
}

static void this_machine_has_an_answer(void **state)
{
	struct wp_accounting a;
	int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_true(root >= 0);
	wp_accounting_detect(root, &a);
	close(root);
	assert_true(a.user_hz > 0);
	assert_true(a.evidence[0] != '\0');
	print_message("# %s: %s\n", wp_accounting_name(a.mode), a.evidence);
}

static size_t make_btf(char *out, const char *strings, size_t len)
{
	const uint32_t header[6] = { 0x0001eb9f, 24, 0, 4, 4, (uint32_t)len };

	memcpy(out, header, sizeof(header));
	memset(out + sizeof(header), 0, 4);
	memcpy(out + sizeof(header) + 4, strings, len);
	return sizeof(header) + 4 + len;
}

static void btf_names_are_found_whole(void **state)
{
	static const char strings[] = "\0xirqtime_account_irq\0irqtime_account_irq2\0vtime_flush";
	char blob[256];
	size_t len = make_btf(blob, strings, sizeof(strings));
	uint32_t huge = 0xffffffff;

	(void)state;
	assert_int_equal(wp_btf_has_name(blob, len, "vtime_flush"), WP_YES);
	assert_int_equal(wp_btf_has_name(blob, len, "irqtime_account_irq"), WP_NO);
	assert_int_equal(wp_btf_has_name(blob, len - 1, "vtime_flush"), WP_UNKNOWN);
	assert_int_equal(wp_btf_has_name(blob, 10, "vtime_flush"), WP_UNKNOWN);
	memcpy(blob + 16, &huge, sizeof(huge));
	assert_int_equal(wp_btf_has_name(blob, len, "vtime_flush"), WP_UNKNOWN);
	blob[0] = 0;
	assert_int_equal(wp_btf_has_name(blob, len, "vtime_flush"), WP_UNKNOWN);
}

static void missing_files_are_no_error_of_open(void **state)
{
	struct wp_procfile f;
	int root = wp_test_root("container_a");

	(void)state;
	assert_int_equal(wp_procfile_open(&f, root, "proc/interrupts"), -ENOENT);
	assert_int_equal(wp_procfile_read(&f), -ENOENT);
	wp_procfile_done(&f);
	assert_int_equal(wp_procfile_open_net(&f, root, "snmp"), 0);
	assert_int_equal(wp_procfile_read(&f), 0);
	assert_int_equal(wp_procfile_read(&f), 0);
	assert_true(f.text.len > 100);
	assert_true(f.read_ns > 0 && f.cost_ns >= 0);
	assert_false(f.fuse);
	wp_procfile_done(&f);
	wp_procfile_done(&f);
	close(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_fact_decides),
		cmocka_unit_test(nohz_full_is_in_the_evidence),
		cmocka_unit_test(recorded_roots_are_recognised),
		cmocka_unit_test(this_machine_has_an_answer),
		cmocka_unit_test(btf_names_are_found_whole),
		cmocka_unit_test(missing_files_are_no_error_of_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
