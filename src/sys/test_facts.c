/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/testroot.h"

#include "sys/facts.h"

struct fixture {
	struct wp_pool pool;
	struct wp_facts facts;
};

static struct fixture read_root(const char *name)
{
	struct fixture f = { .pool = WP_POOL(WP_FACTS_POOL_BYTES) };
	int fd = wp_test_root(name);

	wp_facts_read(fd, WP_FACTS_NICS, &f.pool, &f.facts);
	close(fd);
	return f;
}

static void drop(struct fixture *f)
{
	wp_facts_done(&f->facts);
	wp_pool_done(&f->pool);
}

static void server(void **state)
{
	struct fixture f = read_root("inv-x86-2s");
	const struct wp_facts *x = &f.facts;

	(void)state;
	assert_string_equal(x->cpufreq.governor.v, "powersave");
	assert_int_equal(x->cpufreq.slow_cpus.v, 8);
	assert_string_equal(x->cpufreq.driver.v, "intel_pstate");
	assert_string_equal(x->cpufreq.driver_mode.v, "active");
	assert_int_equal(x->cpufreq.max_khz.v, 3700000);
	assert_int_equal(x->cpufreq.current_min_khz.v, 1000000);
	assert_int_equal(x->cpufreq.current_max_khz.v, 3100000);
	assert_int_equal(x->cpufreq.turbo.v, 1);
	assert_string_equal(x->cpuidle.deepest.v, "C6");
	assert_int_equal(x->cpuidle.deepest_exit_us.v, 133);
	assert_string_equal(x->vulns.costly.v, "MDS buffer clearing, PTI, IBRS");
	assert_int_equal(wp_limit_int(&x->limits, WP_LIMIT_RMEM_MAX).v, 212992);
	assert_int_equal(wp_limit_part(&x->limits, WP_LIMIT_TCP_RMEM, 2).v, 6291456);
	assert_int_equal(wp_limit_part(&x->limits, WP_LIMIT_TCP_RMEM, 3).state, WP_INVALID);
	assert_true(wp_limit_has_word(&x->limits, WP_LIMIT_TCP_CONGESTION_AVAILABLE, "reno"));
	assert_false(wp_limit_has_word(&x->limits, WP_LIMIT_TCP_CONGESTION_AVAILABLE, "cub"));
	assert_int_equal(x->steal_ppm.v, 0);
	assert_int_equal(x->steal_ppm.state, WP_VALUE);
	assert_string_equal(x->topo.source, "sysfs");
	drop(&f);
}

static void mixed_governors_are_counted(void **state)
{
	struct fixture f = read_root("inv-arm64");

	(void)state;
	assert_string_equal(f.facts.cpufreq.governor.v, "schedutil (4 CPUs), performance (2 CPUs)");
	assert_int_equal(f.facts.cpufreq.slow_cpus.v, 4);
	assert_int_equal(f.facts.accounting.mode, WP_ACCOUNTING_IRQ_TIME);
	assert_string_equal(f.facts.vulns.costly.why, "no mitigation that slows system calls down");
	drop(&f);
}

static void vm_has_stolen_time_and_no_frequency(void **state)
{
	struct fixture f = read_root("inv-vm");

	(void)state;
	assert_int_equal(f.facts.cpufreq.governor.state, WP_ABSENT);
	assert_string_equal(f.facts.cpufreq.governor.why,
			    "no cpufreq driver (usual in a virtual machine)");
	assert_int_equal(f.facts.steal_ppm.v, 30311); /* 32000 of 1055705 ticks */
	assert_string_equal(f.facts.cpuidle.driver.v, "haltpoll");
	assert_int_equal(f.facts.accounting.mode, WP_ACCOUNTING_TICKS);
	drop(&f);
}

static void missing_files_are_absent_with_a_reason(void **state)
{
	struct fixture f = read_root("gvisor");
	const struct wp_facts *x = &f.facts;

	(void)state;
	assert_non_null(x->topo_why);
	assert_int_equal(x->steal_ppm.state, WP_INVALID);
	assert_non_null(x->vulns.costly.why);
	for (int i = 0; i < WP_LIMIT_COUNT; i++) {
		assert_int_equal(x->limits.text[i].state, WP_ABSENT);
		assert_non_null(x->limits.text[i].why);
	}
	drop(&f);
}

static void limit_table_is_well_formed(void **state)
{
	(void)state;
	for (int i = 0; i < WP_LIMIT_COUNT; i++) {
		assert_non_null(wp_limit_rows[i].name);
		assert_int_equal(strncmp(wp_limit_rows[i].path, "proc/sys/net/", 13), 0);
	}
	for (int i = 0; i < WP_NIC_FEATURES; i++)
		assert_non_null(wp_nic_feature_rows[i].kernel_name);
}

static void only_active_mitigations_cost(void **state)
{
	const char *brief = NULL;

	(void)state;
	assert_non_null(wp_vuln_cost("meltdown", "Mitigation: PTI", &brief));
	assert_string_equal(brief, "PTI");
	assert_null(wp_vuln_cost("meltdown", "Vulnerable", &brief));
	assert_null(wp_vuln_cost("meltdown", "Not affected", &brief));
	assert_null(wp_vuln_cost("spectre_v2", "Vulnerable; Retpolines", &brief));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(server),
		cmocka_unit_test(mixed_governors_are_counted),
		cmocka_unit_test(vm_has_stolen_time_and_no_frequency),
		cmocka_unit_test(missing_files_are_absent_with_a_reason),
		cmocka_unit_test(limit_table_is_well_formed),
		cmocka_unit_test(only_active_mitigations_cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
