/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/testroot.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "base/clock.h"
#include "observe/sampler.h"

#define MS WP_NS_PER_MS

/* Keeps a CPU busy for that long. */
static void burn(int64_t ns)
{
	int64_t end_ns = wp_now_ns() + ns;

	while (wp_now_ns() < end_ns)
		;
}

static struct wp_sampler *start(struct wp_sampler_config config, int64_t omit_ns)
{
	struct wp_sampler *s = NULL;

	config.omit_ns = omit_ns;
	assert_int_equal(wp_sampler_new(&config, &s, NULL), 0);
	assert_int_equal(wp_sampler_start(s, wp_now_ns()), 0);
	return s;
}

static const struct wp_sampler_config every_20_ms = {
	.root_fd = -1,
	.interval_ns = 20 * MS,
	.cpus = true,
};

static void rows_join_without_gaps(void **state)
{
	struct wp_sampler *s = start(every_20_ms, 0);
	const struct wp_sampler_row *rows;
	struct wp_sampler_cost cost;
	unsigned steps = 0;
	size_t n;

	(void)state;
	burn(300 * MS);
	wp_sampler_stop(s);
	rows = wp_sampler_rows(s, &n);
	wp_sampler_cost(s, &cost);
	assert_true(n >= 2);
	for (size_t i = 0; i < n; i++) {
		steps += rows[i].cpus.steps;
		assert_true(rows[i].cpus.end_ns > rows[i].cpus.start_ns);
		assert_false(rows[i].omitted);
		if (i > 0)
			assert_true(rows[i].cpus.start_ns == rows[i - 1].cpus.end_ns);
	}
	assert_int_equal(steps + 1, cost.samples);
	assert_int_equal(wp_sampler_cpus(s)->steps, steps);
	assert_true(wp_sampler_cpus(s)->start_ns == rows[0].cpus.start_ns);
	assert_true(wp_sampler_cpus(s)->end_ns == rows[n - 1].cpus.end_ns);
	wp_sampler_free(s);
}

static void totals_equal_the_sum_of_rows(void **state)
{
	struct wp_sampler *s = start(every_20_ms, 0);
	const struct wp_sampler_row *rows;
	const struct wp_cpu_span *total;
	size_t n;

	(void)state;
	burn(200 * MS);
	wp_sampler_stop(s);
	rows = wp_sampler_rows(s, &n);
	total = wp_sampler_cpus(s);
	assert_true(total->n > 0);
	for (size_t c = 0; c < total->n; c++) {
		uint64_t interrupts = 0;
		int64_t idle = 0, wall_ns = 0;

		for (size_t i = 0; i < n; i++) {
			interrupts += rows[i].cpus.cpu[c].interrupts;
			idle += rows[i].cpus.cpu[c].ticks[WP_CPU_IDLE];
			wall_ns += rows[i].cpus.cpu[c].wall_ns;
		}
		assert_true(interrupts == total->cpu[c].interrupts);
		assert_true(idle == total->cpu[c].ticks[WP_CPU_IDLE]);
		assert_true(wall_ns == total->cpu[c].wall_ns);
	}
	wp_sampler_free(s);
}

static void a_full_table_folds(void **state)
{
	struct wp_sampler_config config = every_20_ms;
	const struct wp_sampler_row *rows;
	struct wp_sampler_cost cost;
	struct wp_sampler *s;
	unsigned steps = 0;
	size_t n;

	(void)state;
	config.interval_ns = 10 * MS;
	config.max_rows = 1; /* as few as it takes */
	s = start(config, 0);
	burn(900 * MS);
	wp_sampler_stop(s);
	rows = wp_sampler_rows(s, &n);
	wp_sampler_cost(s, &cost);
	assert_true(n <= WP_SAMPLER_ROWS_MIN);
	if (cost.samples > WP_SAMPLER_ROWS_MIN + 2)
		assert_true(cost.folds > 0);
	for (size_t i = 0; i < n; i++) {
		steps += rows[i].cpus.steps;
		if (i > 0)
			assert_true(rows[i].cpus.start_ns == rows[i - 1].cpus.end_ns);
	}
	assert_int_equal(steps + 1, cost.samples);
	wp_sampler_free(s);
}

static void warm_up_is_apart(void **state)
{
	struct wp_sampler *s = start(every_20_ms, 130 * MS);
	const struct wp_sampler_row *rows;
	size_t n, omitted = 0;
	int64_t window_ns;

	(void)state;
	burn(400 * MS);
	wp_sampler_stop(s);
	rows = wp_sampler_rows(s, &n);
	while (omitted < n && rows[omitted].omitted)
		omitted++;
	assert_true(omitted >= 1 && omitted < n);
	for (size_t i = omitted; i < n; i++)
		assert_false(rows[i].omitted);
	window_ns = wp_sampler_cpus(s)->start_ns;
	assert_true(rows[omitted].cpus.start_ns == window_ns);
	assert_true(window_ns - rows[0].cpus.start_ns >= 125 * MS);
	wp_sampler_free(s);
}

static void without_interval_it_reads_at_both_ends(void **state)
{
	struct wp_sampler_config config = every_20_ms;
	struct wp_sampler_cost cost;
	struct wp_pool pool = WP_POOL(8 << 20);
	struct wp_host host = { 0 };
	struct wp_sampler *s;
	size_t n;

	(void)state;
	config.interval_ns = 0;
	s = start(config, 0);
	burn(150 * MS);
	wp_sampler_stop(s);
	wp_sampler_cost(s, &cost);
	wp_sampler_rows(s, &n);
	assert_int_equal(cost.samples, 2);
	assert_int_equal(n, 0);
	assert_int_equal(wp_sampler_result(s, &host, &pool), 0);
	assert_true(host.n_cpus > 0);
	assert_true(wp_has(host.cpus[0].busy_pct));
	assert_true(host.wall_s.v >= 0.14);
	assert_int_equal(host.n_cpu_samples, 0);
	assert_int_equal(host.sample_interval_s.state, WP_NUM_ABSENT);
	wp_pool_done(&pool);
	wp_sampler_free(s);
}

static void warm_up_without_interval(void **state)
{
	struct wp_sampler_config config = every_20_ms;
	struct wp_sampler_cost cost;
	struct wp_sampler *s;

	(void)state;
	config.interval_ns = 0;
	s = start(config, 60 * MS);
	burn(200 * MS);
	wp_sampler_stop(s);
	wp_sampler_cost(s, &cost);
	assert_int_equal(cost.samples, 3);
	assert_int_equal(wp_sampler_cpus(s)->steps, 1);
	wp_sampler_free(s);
}

static void host_gets_everything(void **state)
{
	struct wp_sampler *s = start(every_20_ms, 0);
	struct wp_pool pool = WP_POOL(8 << 20);
	struct wp_host host = { 0 };

	(void)state;
	burn(250 * MS);
	wp_sampler_stop(s);
	assert_int_equal(wp_sampler_result(s, &host, &pool), 0);
	assert_true(host.n_cpus > 0);
	assert_true(wp_has(host.cpus[0].cpu));
	assert_non_null(host.cpus[0].trust);
	assert_true(host.n_cpu_samples >= host.n_cpus);
	assert_true(host.cpu_samples[0].start_s.v < 0.1);
	assert_true(wp_has(host.self_cpu_pct) && host.self_cpu_pct.v > 0);
	assert_true(wp_has(host.sample_interval_s) && host.sample_interval_s.v >= 0.02);
	assert_true(wp_has(host.samples_folded));
	for (size_t i = 0; i < host.n_counts; i++)
		assert_true(host.counts[i].delta > 0);
	wp_pool_done(&pool);
	wp_sampler_free(s);
}

static void busy_cpu_shows(void **state)
{
	struct wp_sampler_config config = every_20_ms;
	struct wp_cpulist allowed = { 0 };
	struct wp_cpu_use use;
	const struct wp_cpu_span *cpus;
	struct wp_sampler *s;
	cpu_set_t old;
	int cpu;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(old), &old), 0);
	assert_int_equal(wp_cpulist_allowed(&allowed), 0);
	cpu = allowed.cpu[allowed.n - 1];
	assert_int_equal(wp_pin_self(cpu), 0);
	config.interval_ns = 0;
	s = start(config, 0);
	burn(600 * MS);
	wp_sampler_stop(s);
	assert_int_equal(sched_setaffinity(0, sizeof(old), &old), 0);
	cpus = wp_sampler_cpus(s);
	for (size_t i = 0; i < cpus->n; i++) {
		if (cpus->cpu[i].cpu != cpu)
			continue;
		wp_cpu_use_get(cpus, i, (unsigned)sysconf(_SC_CLK_TCK), &use);
		if (!wp_has(use.busy_pct))
			print_message("# %s\n", use.busy_pct.why);
		else
			assert_true(use.busy_pct.v > 80);
	}
	wp_cpulist_done(&allowed);
	wp_sampler_free(s);
}

static void it_runs_where_it_is_told(void **state)
{
	const int nowhere[] = { WP_CPU_MAX - 1 };
	const struct wp_cpulist off = { .cpu = (int *)nowhere, .n = 1 };
	struct wp_sampler_config config = every_20_ms;
	struct wp_cpulist allowed = { 0 };
	struct wp_sampler_cost cost;
	struct wp_sampler *s;

	(void)state;
	assert_int_equal(wp_cpulist_allowed(&allowed), 0);
	allowed.n = 1;
	config.on = &allowed;
	s = start(config, 0);
	wp_sampler_stop(s);
	wp_sampler_cost(s, &cost);
	assert_null(cost.note);
	wp_sampler_free(s);
	config.on = &off;
	s = start(config, 0);
	wp_sampler_stop(s);
	wp_sampler_cost(s, &cost);
	assert_non_null(cost.note);
	wp_sampler_free(s);
	wp_cpulist_done(&allowed);
}

/* The sliver between the last sample and the stop joins its neighbour: no row is shorter than half an interval, and
 * the rows reach to the end. */
static void a_sliver_at_the_stop_is_no_row_of_its_own(void **state)
{
	struct wp_sampler_config config = { .interval_ns = 200 * WP_NS_PER_MS,
					    .cpus = true,
					    .root_fd = -1 };
	const struct wp_sampler_row *rows;
	struct wp_sampler *s = start(config, 0);
	size_t n;

	(void)state;
	wp_sleep_until_ns(wp_now_ns() + 450 * WP_NS_PER_MS);
	wp_sampler_stop(s);
	rows = wp_sampler_rows(s, &n);
	assert_true(n >= 1);
	for (size_t i = 0; i < n; i++)
		assert_true(rows[i].cpus.end_ns - rows[i].cpus.start_ns >= 95 * WP_NS_PER_MS);
	assert_true(rows[n - 1].cpus.end_ns == wp_sampler_cpus(s)->end_ns);
	wp_sampler_free(s);
}

static void signals_stay_with_the_caller(void **state)
{
	struct wp_sampler *s = start(every_20_ms, 0);
	sigset_t now;

	(void)state;
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
	assert_int_equal(sigismember(&now, SIGTERM), 0);
	wp_sampler_stop(s);
	wp_sampler_free(s);
}

static void it_keeps_off_the_cpus_under_test(void **state)
{
	struct wp_sampler_config config = every_20_ms;
	struct wp_cpulist allowed = { 0 };
	struct wp_sampler_cost cost;
	struct wp_sampler *s;

	(void)state;
	assert_int_equal(wp_cpulist_allowed(&allowed), 0);
	config.avoid = &allowed;
	s = start(config, 0);
	wp_sampler_stop(s);
	wp_sampler_cost(s, &cost);
	assert_non_null(cost.note); /* all of them are under test */
	wp_sampler_free(s);
	if (allowed.n > 1) {
		allowed.n--;
		s = start(config, 0);
		wp_sampler_stop(s);
		wp_sampler_cost(s, &cost);
		assert_null(cost.note);
		wp_sampler_free(s);
	}
	wp_cpulist_done(&allowed);
}

static void a_start_in_the_future_waits(void **state)
{
	struct wp_sampler *s = NULL;
	int64_t at_ns = wp_now_ns() + 80 * MS;

	(void)state;
	assert_int_equal(wp_sampler_new(&every_20_ms, &s, NULL), 0);
	assert_int_equal(wp_sampler_start(s, at_ns), 0);
	assert_int_equal(wp_sampler_start(s, at_ns), -EALREADY);
	wp_sleep_until_ns(at_ns + 100 * MS);
	wp_sampler_stop(s);
	assert_true(wp_sampler_cpus(s)->start_ns >= at_ns);
	wp_sampler_free(s);
}

static void stopped_before_the_start_measures_nothing(void **state)
{
	struct wp_pool pool = WP_POOL(1 << 20);
	struct wp_host host = { 0 };
	struct wp_sampler *s = NULL;

	(void)state;
	assert_int_equal(wp_sampler_new(&every_20_ms, &s, NULL), 0);
	assert_int_equal(wp_sampler_start(s, wp_now_ns() + 3600 * WP_NS_PER_S), 0);
	wp_sampler_stop(s);
	assert_int_equal(wp_sampler_result(s, &host, &pool), 0);
	assert_int_equal(host.n_cpus, 0);
	assert_int_equal(host.wall_s.state, WP_NUM_ABSENT);
	wp_pool_done(&pool);
	wp_sampler_free(s);
	wp_sampler_free(NULL);
}

static void intervals_out_of_bounds_are_refused(void **state)
{
	struct wp_sampler_config config = every_20_ms;
	struct wp_sampler *s = NULL;
	struct wp_sampler_cost cost;
	struct wp_err err = { 0 };

	(void)state;
	config.interval_ns = -1;
	assert_int_equal(wp_sampler_new(&config, &s, &err), -EINVAL);
	assert_true(err.msg[0] != '\0');
	config.interval_ns = 3601 * WP_NS_PER_S;
	assert_int_equal(wp_sampler_new(&config, &s, NULL), -EINVAL);
	assert_null(s);
	config.interval_ns = 1;
	s = start(config, 0);
	wp_sampler_stop(s);
	wp_sampler_cost(s, &cost);
	assert_true(cost.asked_interval_ns == 1);
	assert_true(cost.interval_ns >= WP_SAMPLER_INTERVAL_MIN_NS);
	wp_sampler_free(s);
}

static void expensive_files_slow_it_down(void **state)
{
	static const struct {
		const char *name;
		int64_t asked_ns, cost_ns, ns;
	} cases[] = {
		{ "cheap", 100 * MS, 100000, 100 * MS },
		{ "just affordable", 100 * MS, 500000, 100 * MS },
		{ "one multiple", 100 * MS, 500001, 200 * MS },
		{ "big iron", 100 * MS, 9000000, 1800 * MS },
		{ "at 10 ms here", 10 * MS, 110000, 30 * MS },
		{ "sampling off", 0, 9000000, 0 },
		{ "beyond the maximum", 100 * MS, 3600 * WP_NS_PER_S, 3600 * WP_NS_PER_S },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t ns = wp_sampler_affordable_ns(cases[i].asked_ns, cases[i].cost_ns);

		if (ns != cases[i].ns)
			fail_msg("%s: %lld", cases[i].name, (long long)ns);
	}
}

static void recorded_root_of_a_container_is_survived(void **state)
{
	struct wp_sampler_config config = every_20_ms;
	struct wp_pool pool = WP_POOL(8 << 20);
	struct wp_host host = { 0 };
	struct wp_sampler *s;

	(void)state;
	config.root_fd = wp_test_root("container_a");
	s = start(config, 0);
	close(config.root_fd);
	wp_sleep_until_ns(wp_now_ns() + 60 * MS);
	wp_sampler_stop(s);
	assert_int_equal(wp_sampler_result(s, &host, &pool), 0);
	assert_int_equal(host.n_cpus, 2);
	assert_int_equal(host.cpus[0].busy_pct.state, WP_NUM_INVALID);
	assert_int_equal(host.cpus[0].interrupts.state, WP_NUM_ABSENT);
	assert_int_equal(host.n_counts, 0);
	wp_pool_done(&pool);
	wp_sampler_free(s);
}

static void the_other_end_reads_its_network_only(void **state)
{
	struct wp_sampler_config config = every_20_ms;
	struct wp_pool pool = WP_POOL(8 << 20);
	struct wp_host host = { 0 };
	struct wp_sampler *s;
	size_t n;

	(void)state;
	config.cpus = false;
	s = start(config, 0);
	wp_sleep_until_ns(wp_now_ns() + 60 * MS);
	wp_sampler_stop(s);
	assert_int_equal(wp_sampler_result(s, &host, &pool), 0);
	assert_null(host.cpus);
	wp_sampler_rows(s, &n);
	assert_int_equal(n, 0);
	assert_int_equal(wp_net_use_get(wp_sampler_net(s), WP_SOURCE_SOFTNET, "", "dropped").state,
			 WP_NUM_ABSENT);
	wp_pool_done(&pool);
	wp_sampler_free(s);
}

static void *watch_newest(void *arg)
{
	struct wp_cpu_sample newest[4];

	for (int i = 0; i < 200; i++) {
		size_t n = wp_sampler_latest(arg, newest, 4);

		for (size_t c = 0; c < n; c++)
			assert_true(wp_has(newest[c].cpu));
		sched_yield();
	}
	return NULL;
}

static void newest_may_be_read_by_other_threads(void **state)
{
	struct wp_sampler *s = start(every_20_ms, 0);
	pthread_t watcher;

	(void)state;
	assert_int_equal(pthread_create(&watcher, NULL, watch_newest, s), 0);
	burn(150 * MS);
	assert_int_equal(pthread_join(watcher, NULL), 0);
	wp_sampler_stop(s);
	wp_sampler_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_join_without_gaps),
		cmocka_unit_test(totals_equal_the_sum_of_rows),
		cmocka_unit_test(a_full_table_folds),
		cmocka_unit_test(warm_up_is_apart),
		cmocka_unit_test(without_interval_it_reads_at_both_ends),
		cmocka_unit_test(warm_up_without_interval),
		cmocka_unit_test(host_gets_everything),
		cmocka_unit_test(busy_cpu_shows),
		cmocka_unit_test(it_runs_where_it_is_told),
		cmocka_unit_test(signals_stay_with_the_caller),
		cmocka_unit_test(it_keeps_off_the_cpus_under_test),
		cmocka_unit_test(a_start_in_the_future_waits),
		cmocka_unit_test(stopped_before_the_start_measures_nothing),
		cmocka_unit_test(intervals_out_of_bounds_are_refused),
		cmocka_unit_test(expensive_files_slow_it_down),
		cmocka_unit_test(recorded_root_of_a_container_is_survived),
		cmocka_unit_test(the_other_end_reads_its_network_only),
		cmocka_unit_test(a_sliver_at_the_stop_is_no_row_of_its_own),
		cmocka_unit_test(newest_may_be_read_by_other_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
