/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observe/testpair.h"

#include "observe/cpu_use.h"

#define HZ 100

/* The CPUs of a recorded pair; `use` of one of them. */
struct fixture {
	struct wp_test_pair pair;
	struct wp_cpu_span span;
};

static void open_pair(struct fixture *f, const char *a, const char *b, double seconds)
{
	*f = (struct fixture) { 0 };
	wp_test_pair(a, b, seconds, &f->pair);
	assert_int_equal(wp_cpu_span_step(&f->span, &f->pair.before, &f->pair.after), 0);
}

static void close_pair(struct fixture *f)
{
	wp_test_pair_done(&f->pair);
	wp_cpu_span_done(&f->span);
}

static struct wp_cpu_use use_of(const struct fixture *f, int cpu)
{
	struct wp_cpu_use use = { 0 };

	for (size_t i = 0; i < f->span.n; i++) {
		if (f->span.cpu[i].cpu != cpu)
			continue;
		wp_cpu_use_get(&f->span, i, HZ, &use);
		return use;
	}
	fail_msg("no CPU %d", cpu);
	return use;
}

static void is(struct wp_num n, double v)
{
	if (!wp_has(n) || fabs(n.v - v) > 1e-9)
		fail_msg("%g (%s) is not %g", n.v, n.why ? n.why : "ok", v);
}

static void hidden_time_is_found(void **state)
{
	struct fixture f;
	struct wp_cpu_use u;

	(void)state;
	/* 10 s = 1000 ticks, of which 490 idle and 110 in columns: 40 % is in none. */
	open_pair(&f, "vm2_a", "vm2_b", 10);
	u = use_of(&f, 0);
	assert_string_equal(u.trust, "hidden");
	assert_string_equal(u.source, "ticks");
	is(u.busy_pct, 51);
	is(u.sum_pct, 60);
	is(u.user_pct, 0.5);
	is(u.system_pct, 10);
	is(u.irq_pct, 0);
	is(u.softirq_pct, 0.3);
	is(u.steal_pct, 0.2);
	is(u.idle_pct, 49);
	is(u.iowait_pct, 0);
	close_pair(&f);
}

static void saturated_cpu_is_found(void **state)
{
	struct fixture f;
	struct wp_cpu_use u;

	(void)state;
	open_pair(&f, "vm2_a", "vm2_b", 10);
	u = use_of(&f, 1);
	assert_string_equal(u.trust, "saturated");
	is(u.busy_pct, 100);
	is(u.sum_pct, 100);
	is(u.user_pct, 6); /* nice is in it */
	is(u.softirq_pct, 43.7);
	close_pair(&f);
}

static void wall_time_is_the_denominator(void **state)
{
	struct fixture f;

	(void)state;
	/* The same columns in 5.5 s: 600 ticks in 550 are counted twice. */
	open_pair(&f, "vm2_a", "vm2_b", 5.5);
	assert_string_equal(use_of(&f, 0).trust, "doubled");
	is(use_of(&f, 0).busy_pct, 100 * 60. / 550);
	close_pair(&f);
	open_pair(&f, "vm2_a", "vm2_b", 6);
	assert_string_equal(use_of(&f, 0).trust, "ok");
	is(use_of(&f, 0).sum_pct, 100);
	close_pair(&f);
}

static void interrupts_and_softirqs_are_counted(void **state)
{
	struct fixture f;
	struct wp_cpu_use u;

	(void)state;
	open_pair(&f, "vm2_a", "vm2_b", 10);
	u = use_of(&f, 1);
	is(u.interrupts, 12 + 2501 + 132480);
	is(u.net_rx, 132480);
	is(u.net_tx, 1);
	is(u.timer, 200);
	is(u.sched, 401);
	is(u.rcu, 9);
	is(u.block, 0);
	is(u.hrtimer, 0);
	is(u.softnet_processed, 132480);
	is(u.softnet_dropped, 17);
	is(u.softnet_squeezed, 3);
	is(u.softnet_rps, 132480);
	is(use_of(&f, 0).interrupts, 7000 + 2500 + 10);
	is(use_of(&f, 0).hrtimer, 1);
	close_pair(&f);
}

static void big_machine_with_holes(void **state)
{
	struct fixture f;
	struct wp_cpu_use u;

	(void)state;
	open_pair(&f, "big_a", "big_b", 1);
	assert_int_equal(f.span.n, 63); /* though softirqs lists 512 */
	u = use_of(&f, 265);
	is(u.busy_pct, 75);
	is(u.sum_pct, 100);
	is(u.irq_pct, 5);
	is(u.interrupts, 1077);
	is(u.net_rx, 900);
	is(u.softnet_processed, 900);
	is(use_of(&f, 399).busy_pct, 0);
	is(use_of(&f, 399).interrupts, 1000);
	close_pair(&f);
}

static void arm64_irq_column_counts(void **state)
{
	struct fixture f;
	struct wp_cpu_use u;

	(void)state;
	open_pair(&f, "arm64_a", "arm64_b", 10);
	u = use_of(&f, 0);
	assert_string_equal(u.trust, "ok");
	is(u.irq_pct, 4);
	is(u.busy_pct, 40);
	is(u.interrupts, 9 + 4000 + 20); /* Err is no interrupt, FIQ has no number */
	close_pair(&f);
}

static void old_kernel_lacks_columns_not_zeros(void **state)
{
	struct fixture f;
	struct wp_cpu_use u;

	(void)state;
	open_pair(&f, "old2632_a", "old2632_b", 10);
	assert_int_equal(f.span.n, 3);
	u = use_of(&f, 1);
	is(u.steal_pct, 0);
	is(u.softnet_processed, 100); /* its line has no CPU number */
	is(u.softnet_squeezed, 1);
	is(u.net_rx, 100);
	assert_int_equal(u.softnet_rps.state, WP_NUM_ABSENT);
	assert_non_null(u.softnet_rps.why);
	close_pair(&f);
}

static void missing_columns_are_absent(void **state)
{
	struct wp_cpu_delta d = {
		.flags = WP_CPU_HAS_TICKS,
		.columns = 7,
		.wall_ns = WP_NS_PER_S,
		.ticks = { [WP_CPU_IDLE] = 100 },
	};
	struct wp_cpu_span span = { .read = 1, .cpu = &d, .n = 1, .steps = 1 };
	struct wp_cpu_use u;

	(void)state;
	wp_cpu_use_get(&span, 0, HZ, &u);
	assert_int_equal(u.steal_pct.state, WP_NUM_ABSENT);
	is(u.softirq_pct, 0);
	is(u.busy_pct, 0);
}

static void container_figures_are_not_believed(void **state)
{
	struct fixture f;
	struct wp_cpu_use u;

	(void)state;
	open_pair(&f, "container_a", "container_b", 10);
	for (int cpu = 0; cpu < 2; cpu++) {
		u = use_of(&f, cpu);
		assert_string_equal(u.trust, "absent");
		assert_int_equal(u.busy_pct.state, WP_NUM_INVALID);
		assert_non_null(u.busy_pct.why);
	}
	assert_int_equal(u.interrupts.state, WP_NUM_ABSENT);
	assert_string_equal(u.interrupts.why, "/proc/interrupts is missing");
	assert_int_equal(u.net_rx.state, WP_NUM_ABSENT);
	assert_int_equal(u.softnet_dropped.state, WP_NUM_ABSENT);
	close_pair(&f);
}

static void one_odd_list_of_cpus_is_hotplug(void **state)
{
	struct fixture f = { 0 };

	(void)state;
	wp_test_pair("vm2_a", "vm2_b", 10, &f.pair);
	f.pair.after.foreign_stat = true;
	assert_int_equal(wp_cpu_span_step(&f.span, &f.pair.before, &f.pair.after), 0);
	is(use_of(&f, 0).busy_pct, 51);
	close_pair(&f);
}

static void zeros_are_absent(void **state)
{
	struct fixture f;

	(void)state;
	open_pair(&f, "gvisor", "gvisor", 10);
	assert_int_equal(f.span.n, 0);
	assert_string_equal(f.span.why[WP_SOURCE_STAT], "/proc/stat is all zeros");
	close_pair(&f);
}

static void figures_faster_than_time_are_invalid(void **state)
{
	struct wp_cpu_delta d = {
		.flags = WP_CPU_HAS_TICKS,
		.columns = 10,
		.wall_ns = WP_NS_PER_S,
		.ticks = { [WP_CPU_IDLE] = 5000000 },
	};
	struct wp_cpu_span span = { .read = 1, .cpu = &d, .n = 1, .steps = 1 };
	struct wp_cpu_use u;

	(void)state;
	wp_cpu_use_get(&span, 0, HZ, &u);
	assert_int_equal(u.busy_pct.state, WP_NUM_INVALID);
	assert_string_equal(u.trust, "absent");
}

static void wrapped_counts_go_on(void **state)
{
	struct fixture f;
	struct wp_cpu_use u;

	(void)state;
	open_pair(&f, "wrap_a", "wrap_b", 1);
	u = use_of(&f, 0);
	is(u.net_rx, 1000);
	is(u.softnet_processed, 8000);
	is(u.softnet_dropped, 3);
	/* IRQ 40 wrapped (110), LOC was reset: the sum is a lower bound. */
	assert_int_equal(u.interrupts.state, WP_NUM_INVALID);
	is(wp_num(u.interrupts.v), 110);
	close_pair(&f);
}

static void cpu_that_went_is_invalid(void **state)
{
	struct fixture f;
	struct wp_cpu_use u;

	(void)state;
	open_pair(&f, "unplug_a", "unplug_b", 10);
	assert_int_equal(f.span.n, 5);
	u = use_of(&f, 2);
	assert_int_equal(u.busy_pct.state, WP_NUM_INVALID);
	assert_int_equal(u.interrupts.state, WP_NUM_INVALID);
	assert_string_equal(u.trust, "absent");
	close_pair(&f);
}

static void cpu_that_came_is_invalid(void **state)
{
	struct fixture f;
	struct wp_cpu_use u;

	(void)state;
	open_pair(&f, "unplug_a", "unplug_b", 10);
	u = use_of(&f, 5);
	assert_int_equal(u.busy_pct.state, WP_NUM_INVALID);
	assert_int_equal(u.interrupts.state, WP_NUM_INVALID);
	assert_string_equal(u.trust, "absent");
	close_pair(&f);
}

static void idle_that_steps_back_is_invalid_not_negative(void **state)
{
	struct fixture f;
	struct wp_cpu_use u;

	(void)state;
	open_pair(&f, "unplug_a", "unplug_b", 10);
	u = use_of(&f, 1);
	assert_int_equal(u.busy_pct.state, WP_NUM_INVALID);
	assert_int_equal(u.idle_pct.state, WP_NUM_INVALID);
	assert_true(u.idle_pct.v >= 0);
	assert_string_equal(u.trust, "absent");
	close_pair(&f);
}

static void iowait_that_steps_back_spoils_nothing_else(void **state)
{
	struct fixture f;
	struct wp_cpu_use u;

	(void)state;
	open_pair(&f, "unplug_a", "unplug_b", 10);
	u = use_of(&f, 0);
	is(u.busy_pct, 50);
	is(u.sum_pct, 100);
	assert_int_equal(u.iowait_pct.state, WP_NUM_INVALID);
	assert_string_equal(u.trust, "ok");
	close_pair(&f);
}

static void untouched_cpu_stays_right_beside_hotplug(void **state)
{
	struct fixture f;
	struct wp_cpu_use u;

	(void)state;
	open_pair(&f, "unplug_a", "unplug_b", 10);
	u = use_of(&f, 3);
	is(u.busy_pct, 1);
	is(u.interrupts, 11);       /* its column moved */
	is(u.softnet_processed, 9); /* ten columns: named by the online CPUs of each reading */
	is(u.net_rx, 5);
	close_pair(&f);
}

static void no_time_gives_no_figures(void **state)
{
	struct fixture f;
	struct wp_cpu_use u;

	(void)state;
	open_pair(&f, "vm2_a", "vm2_a", 0);
	u = use_of(&f, 0);
	assert_int_equal(u.busy_pct.state, WP_NUM_ABSENT);
	assert_string_equal(u.trust, "absent");
	is(u.interrupts, 0);
	close_pair(&f);
}

static void trust_allows_two_ticks(void **state)
{
	static const struct {
		const char *name;
		int64_t wall_ms, busy, idle;
		const char *trust;
	} cases[] = {
		{ "exact", 1000, 50, 50, "ok" },
		{ "5 % less in 1 s is 3 % and 2 ticks", 1000, 46, 50, "ok" },
		{ "6 % less", 1000, 44, 50, "hidden" },
		{ "6 % more", 1000, 56, 50, "doubled" },
		{ "4 % less in 10 s", 10000, 460, 500, "hidden" },
		{ "saturated", 1000, 99, 1, "saturated" },
		{ "saturated but hidden", 1000, 60, 0, "hidden" },
		{ "a short window can't tell", 100, 8, 1, "ok" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wp_cpu_delta d = {
			.flags = WP_CPU_HAS_TICKS,
			.columns = 10,
			.wall_ns = cases[i].wall_ms * WP_NS_PER_MS,
			.ticks = { [WP_CPU_SYSTEM] = cases[i].busy, [WP_CPU_IDLE] = cases[i].idle },
		};
		const char *trust = wp_cpu_trust(&d, HZ);

		if (strcmp(trust, cases[i].trust) != 0)
			fail_msg("%s: %s", cases[i].name, trust);
	}
}

static void spans_add_up(void **state)
{
	struct fixture f;
	struct wp_cpu_span sum = { 0 }, step = { 0 };
	struct wp_cpu_use u;

	(void)state;
	open_pair(&f, "vm2_a", "vm2_b", 10);
	for (int i = 0; i < 3; i++)
		assert_int_equal(wp_cpu_span_merge(&sum, &f.span), 0);
	wp_cpu_use_get(&sum, 1, HZ, &u);
	is(u.busy_pct, 100);
	is(u.net_rx, 3 * 132480);
	assert_int_equal(sum.steps, 3);
	assert_true(sum.start_ns == WP_NS_PER_S && sum.end_ns == 11 * WP_NS_PER_S);
	assert_int_equal(wp_cpu_span_merge(&sum, &step), 0);
	assert_int_equal(sum.steps, 3);
	assert_true(sum.end_ns == 11 * WP_NS_PER_S);
	wp_cpu_span_reset(&sum);
	assert_int_equal(sum.n, 0);
	wp_cpu_span_done(&sum);
	close_pair(&f);
}

static void samples_have_relative_times(void **state)
{
	struct fixture f;
	struct wp_cpu_sample s;

	(void)state;
	open_pair(&f, "vm2_a", "vm2_b", 10);
	wp_cpu_sample_get(&f.span, 0, HZ, WP_NS_PER_S / 2, &s);
	is(s.start_s, 0.5);
	is(s.end_s, 10.5);
	is(s.cpu, 0);
	is(s.busy_pct, 51);
	is(s.sum_pct, 60);
	close_pair(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hidden_time_is_found),
		cmocka_unit_test(saturated_cpu_is_found),
		cmocka_unit_test(wall_time_is_the_denominator),
		cmocka_unit_test(interrupts_and_softirqs_are_counted),
		cmocka_unit_test(big_machine_with_holes),
		cmocka_unit_test(arm64_irq_column_counts),
		cmocka_unit_test(old_kernel_lacks_columns_not_zeros),
		cmocka_unit_test(missing_columns_are_absent),
		cmocka_unit_test(container_figures_are_not_believed),
		cmocka_unit_test(one_odd_list_of_cpus_is_hotplug),
		cmocka_unit_test(zeros_are_absent),
		cmocka_unit_test(figures_faster_than_time_are_invalid),
		cmocka_unit_test(wrapped_counts_go_on),
		cmocka_unit_test(cpu_that_went_is_invalid),
		cmocka_unit_test(cpu_that_came_is_invalid),
		cmocka_unit_test(idle_that_steps_back_is_invalid_not_negative),
		cmocka_unit_test(iowait_that_steps_back_spoils_nothing_else),
		cmocka_unit_test(untouched_cpu_stays_right_beside_hotplug),
		cmocka_unit_test(no_time_gives_no_figures),
		cmocka_unit_test(trust_allows_two_ticks),
		cmocka_unit_test(spans_add_up),
		cmocka_unit_test(samples_have_relative_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
