/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/testroot.h"

#include <errno.h>

#include "sys/irq_table.h"

static int parse(struct wp_irq_table *t, const char *text)
{
	return wp_irq_table_parse(text, strlen(text), t, NULL);
}

static void parse_root(struct wp_irq_table *t, const char *root, const char *path)
{
	struct wp_buf b = wp_test_file(root, path);

	assert_int_equal(wp_irq_table_parse(b.data, b.len, t, NULL), 0);
	wp_buf_done(&b);
}

/* The count of one label on one CPU. */
static uint64_t cell(const struct wp_irq_table *t, const char *label, int cpu)
{
	size_t row = wp_irq_table_find(t, label, 0), column = wp_irq_table_column(t, cpu, 0);

	assert_true(row < t->n_rows && column < t->n_cpus);
	return wp_irq_table_counts(t, row)[column];
}

static const struct wp_irq_row *row(const struct wp_irq_table *t, const char *label)
{
	size_t i = wp_irq_table_find(t, label, 0);

	assert_true(i < t->n_rows);
	return &t->row[i];
}

static void reads_a_virtual_machine(void **state)
{
	struct wp_irq_table t = { 0 };

	(void)state;
	parse_root(&t, "vm2_b", "proc/interrupts");
	assert_int_equal(t.n_cpus, 2);
	assert_int_equal(cell(&t, "RES", 1), 135251);
	assert_int_equal(cell(&t, "41", 0), 8730);
	assert_int_equal(row(&t, "41")->irq, 41);
	assert_string_equal(row(&t, "41")->action,
			    "PCI-MSIX-0000:00:04.0   1-edge      virtio3-rx");
	assert_int_equal(row(&t, "LOC")->irq, -1);
	wp_irq_table_done(&t);
}

static void err_and_mis_have_one_number(void **state)
{
	struct wp_irq_table t = { 0 };

	(void)state;
	parse_root(&t, "vm2_a", "proc/interrupts");
	assert_true(row(&t, "ERR")->total_only);
	assert_int_equal(row(&t, "MIS")->n_counts, 1);
	assert_false(row(&t, "LOC")->total_only);
	/* On a machine with one CPU the number of columns does not tell them apart. */
	assert_int_equal(parse(&t, "  CPU0\nLOC: 5 Local\nERR: 7\n"), 0);
	assert_true(row(&t, "ERR")->total_only);
	wp_irq_table_done(&t);
}

static void header_lists_online_cpus_with_holes(void **state)
{
	struct wp_irq_table t = { 0 };

	(void)state;
	parse_root(&t, "big_b", "proc/interrupts");
	assert_int_equal(t.n_cpus, 63);
	assert_int_equal(wp_irq_table_column(&t, 5, 5), t.n_cpus);
	assert_int_equal(t.cpu[wp_irq_table_column(&t, 384, 0)], 384);
	assert_int_equal(t.cpu[wp_irq_table_column(&t, 6, 5)], 6);
	assert_int_equal(cell(&t, "LOC", 399), 1000001000);
	wp_irq_table_done(&t);
}

static void softirqs_list_possible_cpus(void **state)
{
	struct wp_irq_table t = { 0 };

	(void)state;
	parse_root(&t, "big_b", "proc/softirqs");
	assert_int_equal(t.n_cpus, 512);
	assert_int_equal(t.n_rows, 10);
	assert_int_equal(cell(&t, "NET_RX", 511), 7);
	wp_irq_table_done(&t);
}

static void a_chip_name_may_begin_with_a_digit(void **state)
{
	struct wp_irq_table t = { 0 };

	(void)state;
	parse_root(&t, "big_a", "proc/interrupts");
	assert_int_equal(row(&t, "1524")->n_counts, t.n_cpus);
	assert_memory_equal(row(&t, "1524")->action, "3w-chip", 7);
	assert_int_equal(parse(&t, " CPU0 CPU1\n9: 1 2 3 4-edge x\n"), 0);
	assert_int_equal(row(&t, "9")->n_counts, 2);
	assert_string_equal(row(&t, "9")->action, "3 4-edge x");
	wp_irq_table_done(&t);
}

static void lines_longer_than_4_kb_are_read(void **state)
{
	struct wp_irq_table t = { 0 };
	struct wp_buf b = WP_BUF(1 << 20);

	(void)state;
	for (int i = 0; i < 8192; i++)
		wp_buf_printf(&b, " CPU%-8d", i);
	wp_buf_puts(&b, "\nLOC:");
	for (int i = 0; i < 8192; i++)
		wp_buf_printf(&b, " %10d", i);
	wp_buf_puts(&b, "   Local timer interrupts\n");
	assert_int_equal(wp_buf_status(&b), 0);
	assert_int_equal(wp_irq_table_parse(b.data, b.len, &t, NULL), 0);
	assert_int_equal(cell(&t, "LOC", 8191), 8191);
	assert_string_equal(row(&t, "LOC")->action, "Local timer interrupts");
	wp_irq_table_done(&t);
	wp_buf_done(&b);
}

static void arm64_labels_are_text(void **state)
{
	struct wp_irq_table t = { 0 };

	(void)state;
	parse_root(&t, "arm64_b", "proc/interrupts");
	assert_int_equal(cell(&t, "IPI1", 7), 29);
	assert_true(row(&t, "Err")->total_only);
	assert_string_equal(row(&t, "38")->action, "GICv3 142 Level     eth0, wol irq");
	wp_irq_table_done(&t);
}

static void fiq_has_a_name_and_no_number(void **state)
{
	struct wp_irq_table t = { 0 };

	(void)state;
	parse_root(&t, "arm64_a", "proc/interrupts");
	assert_int_equal(row(&t, "FIQ")->n_counts, 0);
	assert_string_equal(row(&t, "FIQ")->action, "usb_fiq");
	assert_int_equal(cell(&t, "FIQ", 3), 0);
	wp_irq_table_done(&t);
}

static void s390_aggregates_are_marked(void **state)
{
	struct wp_irq_table t = { 0 };

	(void)state;
	assert_int_equal(parse(&t, "           CPU0       CPU1\n"
				   "EXT:         30         40\n"
				   "I/O:          5          6\n"
				   "AIO:          0          0\n"
				   "CLK:         30         40  [EXT] Clock Comparator\n"),
			 0);
	assert_true(row(&t, "EXT")->aggregate && row(&t, "I/O")->aggregate);
	assert_false(row(&t, "CLK")->aggregate);
	wp_irq_table_done(&t);
}

static void columns_follow_the_header_of_each_reading(void **state)
{
	struct wp_irq_table t = { 0 };

	(void)state;
	parse_root(&t, "unplug_a", "proc/interrupts");
	assert_int_equal(cell(&t, "40", 3), 300);
	parse_root(&t, "unplug_b", "proc/interrupts");
	assert_int_equal(cell(&t, "40", 3), 311);
	assert_int_equal(cell(&t, "40", 5), 511);
	assert_int_equal(wp_irq_table_column(&t, 2, 2), t.n_cpus);
	wp_irq_table_done(&t);
}

static void rows_are_found_wherever_they_moved(void **state)
{
	struct wp_irq_table t = { 0 };

	(void)state;
	parse_root(&t, "vm2_a", "proc/interrupts");
	assert_int_equal(wp_irq_table_find(&t, "RES", 0), 4);
	assert_int_equal(wp_irq_table_find(&t, "RES", 4), 4);
	assert_int_equal(wp_irq_table_find(&t, "RES", 99), 4);
	assert_int_equal(wp_irq_table_find(&t, "nothing", 0), t.n_rows);
	wp_irq_table_done(&t);
}

static void malformed_headers_are_refused(void **state)
{
	static const struct {
		const char *name, *text;
		int code;
	} cases[] = {
		{ "empty", "", -ENODATA },
		{ "unfinished header", "  CPU0  CPU1", -ENODATA },
		{ "blank header", "    \n", -EBADMSG },
		{ "no CPUs", "nothing here\n", -EBADMSG },
		{ "no number", "CPUx\n", -EBADMSG },
		{ "number too large", "CPU8192\n", -EBADMSG },
		{ "the same CPU twice", "CPU0 CPU0\n", -EBADMSG },
	};
	struct wp_irq_table t = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (parse(&t, cases[i].text) != cases[i].code)
			fail_msg("%s", cases[i].name);
	wp_irq_table_done(&t);
}

static void odd_rows_are_passed_over(void **state)
{
	struct wp_irq_table t = { 0 };

	(void)state;
	assert_int_equal(parse(&t, " CPU0 CPU1\nno colon\n: 1 2\nlabel that is far too long: 1 2\n"
				   "\n7: 1\n8: 3 4 x\n9: 5 6"),
			 0);
	assert_int_equal(t.n_rows, 2);
	assert_int_equal(row(&t, "7")->n_counts, 1);
	assert_int_equal(cell(&t, "7", 1), 0);
	assert_int_equal(cell(&t, "8", 1), 4);
	wp_irq_table_done(&t);
}

static void parse_cut(const char *data, size_t len)
{
	struct wp_irq_table t = { 0 };
	int r = wp_irq_table_parse(data, len, &t, NULL);

	assert_true(r == 0 || r == -EBADMSG || r == -ENODATA);
	wp_irq_table_done(&t);
}

static void every_truncation_is_safe(void **state)
{
	struct wp_buf b = wp_test_file("arm64_a", "proc/interrupts");

	(void)state;
	wp_test_truncations(b.data, b.len, b.len, parse_cut);
	wp_buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_virtual_machine),
		cmocka_unit_test(err_and_mis_have_one_number),
		cmocka_unit_test(header_lists_online_cpus_with_holes),
		cmocka_unit_test(softirqs_list_possible_cpus),
		cmocka_unit_test(a_chip_name_may_begin_with_a_digit),
		cmocka_unit_test(lines_longer_than_4_kb_are_read),
		cmocka_unit_test(arm64_labels_are_text),
		cmocka_unit_test(fiq_has_a_name_and_no_number),
		cmocka_unit_test(s390_aggregates_are_marked),
		cmocka_unit_test(columns_follow_the_header_of_each_reading),
		cmocka_unit_test(rows_are_found_wherever_they_moved),
		cmocka_unit_test(malformed_headers_are_refused),
		cmocka_unit_test(odd_rows_are_passed_over),
		cmocka_unit_test(every_truncation_is_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
