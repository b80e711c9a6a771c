/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/testroot.h"

#include <errno.h>

#include "sys/cpuinfo.h"

static struct wp_cpuinfo parse(const char *text)
{
	struct wp_cpuinfo ci = { 0 };

	assert_int_equal(wp_cpuinfo_parse(text, strlen(text), &ci), 0);
	return ci;
}

static struct wp_cpuinfo parse_root(const char *root)
{
	_cleanup_buf_ struct wp_buf b = wp_test_file(root, "proc/cpuinfo");
	struct wp_cpuinfo ci = { 0 };

	assert_int_equal(wp_cpuinfo_parse(wp_buf_text(&b), b.len, &ci), 0);
	return ci;
}

static void x86_has_model_frequency_and_flags(void **state)
{
	struct wp_cpuinfo ci = parse_root("inv-x86-2s");

	(void)state;
	assert_int_equal(ci.form, WP_CPUINFO_X86);
	assert_int_equal(ci.cpus, 8);
	assert_int_equal(ci.n_models, 1);
	assert_string_equal(ci.models[0].name, "Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz");
	assert_int_equal(ci.models[0].cpus, 8);
	assert_string_equal(ci.vendor, "GenuineIntel");
	assert_true(ci.has_flags);
	assert_true(ci.flags & WP_CPUINFO_NONSTOP_TSC);
	assert_true(ci.flags & WP_CPUINFO_PTI);
	assert_false(ci.flags & WP_CPUINFO_HYPERVISOR);
	assert_true(ci.mhz_min > 999.9 && ci.mhz_min < 1000.1);
	assert_true(ci.mhz_max > 3099.9 && ci.mhz_max < 3100.1);
}

static void big_little_has_two_models(void **state)
{
	struct wp_cpuinfo ci = parse_root("inv-arm64");

	(void)state;
	assert_int_equal(ci.form, WP_CPUINFO_ARM);
	assert_int_equal(ci.cpus, 6);
	assert_int_equal(ci.n_models, 2);
	assert_string_equal(ci.models[0].name, "Arm Cortex-A53");
	assert_int_equal(ci.models[0].cpus, 4);
	assert_string_equal(ci.models[1].name, "Arm Cortex-A72");
	assert_int_equal(ci.models[1].cpus, 2);
	assert_false(ci.has_flags);
	assert_true(ci.mhz_max <= 0);
}

static void unknown_arm_part_is_shown_by_number(void **state)
{
	struct wp_cpuinfo ci =
		parse("processor\t: 0\nCPU implementer\t: 0x99\nCPU part\t: 0x123\n\n");

	(void)state;
	assert_string_equal(ci.models[0].name, "Arm implementer 0x99 part 0x123");
}

static void old_arm_names_the_cpu_once(void **state)
{
	struct wp_cpuinfo ci = parse("Processor\t: ARM926EJ-S rev 5 (v5l)\nBogoMIPS\t: 226.09\n"
				     "Hardware\t: Some board\n");

	(void)state;
	assert_int_equal(ci.form, WP_CPUINFO_ARM);
	assert_int_equal(ci.cpus, 1);
	assert_string_equal(ci.models[0].name, "ARM926EJ-S rev 5 (v5l)");
}

static void ppc_names_the_cpu_by_cpu(void **state)
{
	struct wp_cpuinfo ci = parse("processor\t: 0\ncpu\t\t: POWER9, altivec supported\n"
				     "clock\t\t: 3800.000000MHz\nrevision\t: 2.2\n\n"
				     "processor\t: 4\ncpu\t\t: POWER9, altivec supported\n"
				     "clock\t\t: 2300.000000MHz\n\ntimebase\t: 512000000\n"
				     "platform\t: PowerNV\n");

	(void)state;
	assert_int_equal(ci.form, WP_CPUINFO_PPC);
	assert_int_equal(ci.cpus, 2);
	assert_string_equal(ci.models[0].name, "POWER9");
	assert_true(ci.mhz_min < 2301 && ci.mhz_max > 3799);
}

static void s390_has_the_machine_type(void **state)
{
	struct wp_cpuinfo ci =
		parse("vendor_id       : IBM/S390\n# processors    : 2\nbogomips per cpu: 3033.00\n"
		      "features\t: esan3 zarch stfle\n"
		      "processor 0: version = FF,  identification = 0133E8,  machine = 3906\n"
		      "processor 1: version = FF,  identification = 0133E8,  machine = 3906\n\n"
		      "cpu number      : 0\ncpu MHz dynamic : 5208\ncpu MHz static  : 5208\n");

	(void)state;
	assert_int_equal(ci.form, WP_CPUINFO_S390);
	assert_int_equal(ci.cpus, 2);
	assert_string_equal(ci.vendor, "IBM/S390");
	assert_string_equal(ci.models[0].name, "IBM Z machine type 3906");
	assert_true(ci.mhz_max > 5207);
}

static void riscv_takes_uarch_or_isa(void **state)
{
	struct wp_cpuinfo ci = parse("processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc\n"
				     "mmu\t\t: sv39\nuarch\t\t: sifive,u74-mc\n\n"
				     "processor\t: 1\nhart\t\t: 2\nisa\t\t: rv64imafdc\n\n");

	(void)state;
	assert_int_equal(ci.form, WP_CPUINFO_RISCV);
	assert_int_equal(ci.cpus, 2);
	assert_string_equal(ci.models[0].name, "sifive,u74-mc");
	assert_string_equal(ci.models[1].name, "rv64imafdc");
}

static void more_models_than_fit_are_counted(void **state)
{
	struct wp_buf b = WP_BUF(4096);
	struct wp_cpuinfo ci = { 0 };

	(void)state;
	for (int i = 0; i < WP_CPUINFO_MODELS_MAX + 3; i++)
		assert_int_equal(
			wp_buf_printf(&b, "processor : %d\nmodel name : model %d\nflags : tsc\n", i,
				      i),
			0);
	assert_int_equal(wp_cpuinfo_parse(wp_buf_text(&b), b.len, &ci), 0);
	assert_int_equal(ci.n_models, WP_CPUINFO_MODELS_MAX);
	assert_int_equal(ci.unlisted_cpus, 3);
	wp_buf_done(&b);
}

static void text_without_processors_is_no_cpuinfo(void **state)
{
	struct wp_cpuinfo ci = { .cpus = 77 };

	(void)state;
	assert_int_equal(wp_cpuinfo_parse("", 0, &ci), -ENODATA);
	assert_int_equal(wp_cpuinfo_parse("hello\nworld: 1\n", 15, &ci), -ENODATA);
	assert_int_equal(ci.cpus, 77);
}

static void try_parse(const char *data, size_t len)
{
	struct wp_cpuinfo ci = { 0 };

	if (wp_cpuinfo_parse(data, len, &ci) == 0)
		assert_true(ci.cpus > 0);
}

static void no_byte_beyond_the_end_is_read(void **state)
{
	_cleanup_buf_ struct wp_buf b = wp_test_file("inv-arm64", "proc/cpuinfo");

	(void)state;
	wp_test_truncations(wp_buf_text(&b), b.len, 600, try_parse);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86_has_model_frequency_and_flags),
		cmocka_unit_test(big_little_has_two_models),
		cmocka_unit_test(unknown_arm_part_is_shown_by_number),
		cmocka_unit_test(old_arm_names_the_cpu_once),
		cmocka_unit_test(ppc_names_the_cpu_by_cpu),
		cmocka_unit_test(s390_has_the_machine_type),
		cmocka_unit_test(riscv_takes_uarch_or_isa),
		cmocka_unit_test(more_models_than_fit_are_counted),
		cmocka_unit_test(text_without_processors_is_no_cpuinfo),
		cmocka_unit_test(no_byte_beyond_the_end_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
