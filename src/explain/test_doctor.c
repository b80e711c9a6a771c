/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/testroot.h"

#include <errno.h>

#include "explain/doctor.h"
#include "explain/doctor_check.h"

struct fixture {
	struct wp_pool pool;
	struct wp_doctor d;
};

static struct fixture examine(const char *root)
{
	struct fixture f = { .pool = WP_POOL(WP_FACTS_POOL_BYTES) };
	int fd = wp_test_root(root);

	assert_int_equal(wp_doctor_read(fd, false, &f.pool, &f.d, NULL), 0);
	close(fd);
	return f;
}

static void expect(const struct wp_doctor *d, const char *section, const char *name,
		   enum wp_doctor_status status)
{
	const struct wp_doctor_line *l = wp_doctor_find(d, section, name);

	if (!l)
		fail_msg("no line %s / %s", section, name);
	if (l->status != status)
		fail_msg("%s / %s is %s: %s", section, name, wp_doctor_status_name(l->status),
			 l->value ? l->value : l->why);
	if (status == WP_DOCTOR_OK || status == WP_DOCTOR_ABSENT)
		assert_null(l->advice);
	else
		assert_non_null(l->advice);
	if (status != WP_DOCTOR_OK)
		assert_non_null(l->why);
	assert_true((l->value != NULL) == (status != WP_DOCTOR_ABSENT));
}

static void server_with_every_sin(void **state)
{
	struct fixture f = examine("inv-x86-2s");

	(void)state;
	expect(&f.d, "Kernel", "CPU accounting", WP_DOCTOR_WARN);
	expect(&f.d, "Kernel", "parameters", WP_DOCTOR_NOTE);
	expect(&f.d, "CPU", "topology", WP_DOCTOR_WARN);
	expect(&f.d, "CPU", "SMT", WP_DOCTOR_WARN);
	expect(&f.d, "CPU", "isolated", WP_DOCTOR_NOTE);
	expect(&f.d, "CPU", "mitigations", WP_DOCTOR_NOTE);
	expect(&f.d, "CPU", "autogroup", WP_DOCTOR_NOTE);
	expect(&f.d, "CPU", "quota", WP_DOCTOR_OK);
	expect(&f.d, "Clock", "source", WP_DOCTOR_BAD);
	expect(&f.d, "Frequency", "governor", WP_DOCTOR_WARN);
	expect(&f.d, "Frequency", "turbo", WP_DOCTOR_NOTE);
	expect(&f.d, "Frequency", "idle states", WP_DOCTOR_WARN);
	expect(&f.d, "Virtualisation", "hypervisor", WP_DOCTOR_OK);
	expect(&f.d, "Virtualisation", "steal", WP_DOCTOR_OK);
	expect(&f.d, "Interrupts", "irqbalance", WP_DOCTOR_WARN);
	expect(&f.d, "Limits", "rmem_max", WP_DOCTOR_WARN);
	expect(&f.d, "TCP", "congestion control", WP_DOCTOR_OK);
	expect(&f.d, "NIC ens1f0", "NUMA node", WP_DOCTOR_NOTE);
	expect(&f.d, "NIC ens1f0", "queues", WP_DOCTOR_OK);
	expect(&f.d, "NIC ens1f0", "interrupts", WP_DOCTOR_WARN); /* two on the other node */
	assert_null(wp_doctor_find(&f.d, "NIC ens1f0", "rings")); /* needs a live machine */
	assert_null(wp_doctor_find(&f.d, "Measured", "clock reading"));
	wp_pool_done(&f.pool);
}

static void virtual_machine(void **state)
{
	struct fixture f = examine("inv-vm");

	(void)state;
	expect(&f.d, "Clock", "source", WP_DOCTOR_OK);
	expect(&f.d, "Frequency", "governor", WP_DOCTOR_ABSENT);
	expect(&f.d, "Virtualisation", "hypervisor", WP_DOCTOR_NOTE);
	expect(&f.d, "Virtualisation", "steal", WP_DOCTOR_WARN);
	expect(&f.d, "TCP", "congestion control", WP_DOCTOR_WARN);
	expect(&f.d, "Interrupts", "irqbalance", WP_DOCTOR_OK);
	expect(&f.d, "NIC eth0", "queues", WP_DOCTOR_OK); /* one queue, but RPS is on */
	expect(&f.d, "NIC eth0", "RPS", WP_DOCTOR_OK);
	wp_pool_done(&f.pool);
}

static void container(void **state)
{
	struct fixture f = examine("inv-container");

	(void)state;
	expect(&f.d, "CPU", "quota", WP_DOCTOR_BAD);
	expect(&f.d, "CPU", "CPUs", WP_DOCTOR_WARN);
	expect(&f.d, "CPU", "caches", WP_DOCTOR_NOTE);
	expect(&f.d, "Virtualisation", "faked files", WP_DOCTOR_BAD);
	expect(&f.d, "Virtualisation", "container", WP_DOCTOR_NOTE);
	expect(&f.d, "Virtualisation", "steal", WP_DOCTOR_ABSENT);
	expect(&f.d, "Limits", "rmem_max", WP_DOCTOR_ABSENT);
	expect(&f.d, "NIC eth0", "queues", WP_DOCTOR_OK); /* a veth: no queue to spread */
	wp_pool_done(&f.pool);
}

static void board_and_old_kernel(void **state)
{
	struct fixture arm = examine("inv-arm64"), old = examine("inv-old");

	(void)state;
	expect(&arm.d, "CPU", "model", WP_DOCTOR_WARN);
	expect(&arm.d, "Kernel", "CPU accounting", WP_DOCTOR_OK);
	expect(&arm.d, "Limits", "rmem_max", WP_DOCTOR_OK);
	expect(&arm.d, "NIC end0", "queues", WP_DOCTOR_WARN);
	expect(&old.d, "Clock", "source", WP_DOCTOR_BAD);
	expect(&old.d, "CPU", "mitigations", WP_DOCTOR_ABSENT);
	expect(&old.d, "NIC eth0", "queues", WP_DOCTOR_ABSENT);
	wp_pool_done(&arm.pool);
	wp_pool_done(&old.pool);
}

static void nothing_to_read_is_absent_not_fine(void **state)
{
	struct fixture f = examine("gvisor");

	(void)state;
	expect(&f.d, "Kernel", "release", WP_DOCTOR_ABSENT);
	expect(&f.d, "CPU", "topology", WP_DOCTOR_ABSENT);
	expect(&f.d, "Clock", "source", WP_DOCTOR_ABSENT);
	expect(&f.d, "NIC", "interfaces", WP_DOCTOR_ABSENT);
	assert_int_equal(f.d.count[WP_DOCTOR_OK] + f.d.count[WP_DOCTOR_NOTE] +
				 f.d.count[WP_DOCTOR_WARN] + f.d.count[WP_DOCTOR_BAD] +
				 f.d.count[WP_DOCTOR_ABSENT],
			 f.d.n);
	wp_pool_done(&f.pool);
}

static void json_holds_every_line(void **state)
{
	struct fixture f = examine("inv-x86-2s");
	json_t *o = wp_doctor_json(&f.d), *line, *nic;

	(void)state;
	assert_non_null(o);
	assert_string_equal(json_string_value(json_object_get(o, "schema")), WP_DOCTOR_SCHEMA);
	assert_string_equal(json_string_value(json_object_get(o, "hostname")), "rack7");
	assert_true(json_is_false(json_object_get(o, "live")));
	assert_null(json_object_get(o, "measured"));
	assert_int_equal(json_array_size(json_object_get(o, "lines")), f.d.n);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(o, "counts"), "bad")),
			 f.d.count[WP_DOCTOR_BAD]);
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(o, "inventory"), "clocksource")),
		"hpet");
	nic = json_array_get(json_object_get(o, "nics"), 0);
	assert_string_equal(json_string_value(json_object_get(nic, "driver")), "ixgbe");
	assert_int_equal(json_integer_value(json_object_get(nic, "speed_mbps")), 10000);
	assert_int_equal(json_array_size(json_object_get(nic, "rx_queues")), 4);
	assert_int_equal(json_array_size(json_object_get(nic, "irqs")), 5);
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(json_object_get(nic, "irqs"), 2),
						  "effective_cpus")),
		"2");
	nic = json_array_get(json_object_get(o, "nics"), 1);
	assert_true(json_is_null(json_object_get(nic, "irqs")));
	assert_string_equal(json_string_value(json_object_get(nic, "irqs_why")),
			    "no device behind the interface");
	line = json_array_get(json_object_get(o, "lines"), 0);
	assert_string_equal(json_string_value(json_object_get(line, "section")), "Kernel");
	assert_true(json_is_null(json_object_get(line, "why")));
	json_decref(o);
	wp_pool_done(&f.pool);
}

static void live_machine_is_measured(void **state)
{
	struct fixture f = { .pool = WP_POOL(WP_FACTS_POOL_BYTES) };
	json_t *o;

	(void)state;
	assert_int_equal(wp_doctor_read(-1, true, &f.pool, &f.d, NULL), 0);
	assert_non_null(wp_doctor_find(&f.d, "Measured", "clock reading"));
	assert_non_null(wp_doctor_find(&f.d, "Measured", "system call"));
	o = wp_doctor_json(&f.d);
	assert_true(json_real_value(
			    json_object_get(json_object_get(o, "measured"), "clock_read_ns")) > 0);
	json_decref(o);
	wp_pool_done(&f.pool);
}

/* Slow machines are judged by the measured figures alone. */
static void measured_thresholds(void **state)
{
	static const struct {
		double clock_ns, syscall_ns, wakeup_us, taken_pct;
		enum wp_doctor_status clock, syscall, wakeup, taken;
	} cases[] = {
		{ 25, 80, 60, 0.1, WP_DOCTOR_OK, WP_DOCTOR_OK, WP_DOCTOR_OK, WP_DOCTOR_OK },
		{ 100, 400, 300, 2, WP_DOCTOR_NOTE, WP_DOCTOR_NOTE, WP_DOCTOR_NOTE,
		  WP_DOCTOR_NOTE },
		{ 500, 1500, 2000, 9, WP_DOCTOR_WARN, WP_DOCTOR_WARN, WP_DOCTOR_WARN,
		  WP_DOCTOR_WARN },
		{ 4000, 1500, 2000, 9, WP_DOCTOR_BAD, WP_DOCTOR_WARN, WP_DOCTOR_WARN,
		  WP_DOCTOR_WARN },
	};
	struct wp_pool pool = WP_POOL(WP_FACTS_POOL_BYTES);
	struct wp_facts facts;
	int fd = wp_test_root("inv-vm");

	(void)state;
	wp_facts_read(fd, 0, &pool, &facts);
	close(fd);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wp_syscosts costs = {
			.clock_read_ns = wp_num(cases[i].clock_ns),
			.syscall_ns = wp_num(cases[i].syscall_ns),
			.timer_slack_ns = wp_num(50000),
			.wakeup_p50_us = wp_num(55),
			.wakeup_p99_us = wp_num(cases[i].wakeup_us),
			.taken_pct = wp_num(cases[i].taken_pct),
			.taken_longest_us = wp_num(500),
		};
		struct wp_doctor d;

		assert_int_equal(wp_doctor_examine(&facts, &costs, &pool, &d), 0);
		expect(&d, "Measured", "clock reading", cases[i].clock);
		expect(&d, "Measured", "system call", cases[i].syscall);
		expect(&d, "Measured", "wake-up", cases[i].wakeup);
		expect(&d, "Measured", "taken by others", cases[i].taken);
	}
	wp_facts_done(&facts);
	wp_pool_done(&pool);
}

static void short_memory_is_an_error(void **state)
{
	struct wp_pool pool = WP_POOL(16 << 10);
	struct wp_doctor d = { .n = 77 };
	int fd = wp_test_root("inv-vm");

	(void)state;
	assert_int_equal(wp_doctor_read(fd, false, &pool, &d, NULL), -ENOMEM);
	assert_int_equal(d.n, 77);
	close(fd);
	wp_pool_done(&pool);
}

static void tables_are_well_formed(void **state)
{
	const struct {
		const struct wp_doctor_check *v;
		size_t n;
	} tables[] = {
		{ wp_doctor_machine_checks, wp_n_doctor_machine_checks },
		{ wp_doctor_limit_checks, wp_n_doctor_limit_checks },
		{ wp_doctor_nic_checks, wp_n_doctor_nic_checks },
		{ wp_doctor_measured_checks, wp_n_doctor_measured_checks },
	};

	(void)state;
	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
		for (size_t i = 0; i < tables[t].n; i++) {
			const struct wp_doctor_check *c = &tables[t].v[i];

			assert_non_null(c->run);
			assert_true(strlen(c->name) < 20); /* the text's column */
			for (size_t k = i + 1; k < tables[t].n; k++)
				assert_true(strcmp(c->section, tables[t].v[k].section) ||
					    strcmp(c->name, tables[t].v[k].name));
			/* lines of one section stand together */
			for (size_t k = i + 2; k < tables[t].n; k++)
				if (!strcmp(c->section, tables[t].v[k].section))
					assert_string_equal(c->section, tables[t].v[k - 1].section);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(server_with_every_sin),
		cmocka_unit_test(virtual_machine),
		cmocka_unit_test(container),
		cmocka_unit_test(board_and_old_kernel),
		cmocka_unit_test(nothing_to_read_is_absent_not_fine),
		cmocka_unit_test(json_holds_every_line),
		cmocka_unit_test(live_machine_is_measured),
		cmocka_unit_test(measured_thresholds),
		cmocka_unit_test(short_memory_is_an_error),
		cmocka_unit_test(tables_are_well_formed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
