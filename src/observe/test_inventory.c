/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/testroot.h"

#include <errno.h>

#include "observe/inventory.h"
#include "observe/syscost.h"

static struct wp_inventory read_root(const char *name, struct wp_pool *pool)
{
	struct wp_inventory inv = { 0 };
	int fd = wp_test_root(name);

	assert_int_equal(wp_inventory_read(fd, false, &inv, pool), 0);
	close(fd);
	return inv;
}

static void recorded_server(void **state)
{
	struct wp_pool pool = WP_POOL(1u << 20);
	struct wp_inventory inv = read_root("inv-x86-2s", &pool);

	(void)state;
	assert_string_equal(inv.hostname, "rack7");
	assert_string_equal(inv.kernel, "6.1.0-18-amd64");
	assert_string_equal(inv.cpu_model, "Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz");
	assert_string_equal(inv.clocksource, "hpet");
	assert_string_equal(inv.governor, "powersave");
	assert_string_equal(inv.virtualization, "none");
	assert_string_equal(inv.cpu_accounting, "ticks");
	assert_string_equal(inv.irqbalance, "running");
	assert_string_equal(inv.congestion_default, "cubic");
	assert_true(wp_num_or(inv.sockets, 0) == 2);
	assert_true(wp_num_or(inv.cores, 0) == 4);
	assert_true(wp_num_or(inv.numa_nodes, 0) == 2);
	assert_true(wp_num_or(inv.tcp_wmem_max_bytes, 0) == 4194304);
	assert_true(wp_num_or(inv.steal_since_boot_pct, -1) == 0);
	assert_int_equal(inv.clock_read_ns.state, WP_NUM_ABSENT);
	wp_pool_done(&pool);
}

static void recorded_vm_and_container(void **state)
{
	struct wp_pool pool = WP_POOL(1u << 20);
	struct wp_inventory vm = read_root("inv-vm", &pool);
	struct wp_inventory box = read_root("inv-container", &pool);
	struct wp_inventory arm = read_root("inv-arm64", &pool);

	(void)state;
	assert_string_equal(vm.virtualization, "KVM (QEMU)");
	assert_true(vm.steal_since_boot_pct.v > 3.0 && vm.steal_since_boot_pct.v < 3.1);
	assert_null(vm.governor);
	assert_string_equal(vm.mitigations, "return thunks, retpolines");
	assert_string_equal(box.virtualization, "docker");
	assert_int_equal(box.rmem_max_bytes.state, WP_NUM_ABSENT);
	assert_string_equal(box.rmem_max_bytes.why, "/proc/sys/net/core/rmem_max does not exist");
	assert_string_equal(arm.cpu_model, "Arm Cortex-A53 (4 CPUs), Arm Cortex-A72 (2 CPUs)");
	assert_null(arm.virtualization);
	assert_string_equal(arm.cpu_accounting, "irq_time");
	wp_pool_done(&pool);
}

static void a_pool_that_is_too_small_is_an_error(void **state)
{
	struct wp_pool pool = WP_POOL(64);
	struct wp_inventory inv = { .kernel = "untouched" };
	int fd = wp_test_root("inv-vm");

	(void)state;
	assert_int_equal(wp_inventory_read(fd, false, &inv, &pool), -ENOMEM);
	assert_string_equal(inv.kernel, "untouched");
	close(fd);
	wp_pool_done(&pool);
}

static void live_machine(void **state)
{
	struct wp_pool pool = WP_POOL(1u << 20);
	struct wp_inventory inv = { 0 };

	(void)state;
	assert_int_equal(wp_inventory_read(-1, true, &inv, &pool), 0);
	assert_non_null(inv.kernel);
	assert_non_null(inv.cpu_accounting);
	assert_true(wp_has(inv.clock_read_ns) && inv.clock_read_ns.v > 0);
	wp_pool_done(&pool);
}

static void costs_are_measured(void **state)
{
	struct wp_syscosts c;

	(void)state;
	wp_syscosts_measure(&c);
	assert_true(wp_has(c.clock_read_ns) && c.clock_read_ns.v > 0);
	assert_true(wp_has(c.syscall_ns) && c.syscall_ns.v > 0);
	assert_true(wp_has(c.wakeup_p50_us) && c.wakeup_p50_us.v >= 0);
	assert_true(c.wakeup_p99_us.v >= c.wakeup_p50_us.v);
	assert_true(wp_has(c.taken_pct) && c.taken_pct.v >= 0 && c.taken_pct.v <= 100);
	assert_true(c.taken_longest_us.v >= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_server),
		cmocka_unit_test(recorded_vm_and_container),
		cmocka_unit_test(a_pool_that_is_too_small_is_an_error),
		cmocka_unit_test(live_machine),
		cmocka_unit_test(costs_are_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
