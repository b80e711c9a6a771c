/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The engine table, the life of a load (with the null engine), and what threads report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "load/load.h"
#include "load/thread_meter.h"

#define SECONDS(n) (wp_now_ns() + (n)*WP_NS_PER_S)

static const struct wp_plan small_plan = { .length_bytes = 1000, .streams = 3 };

static struct wp_load *new_load(const struct wp_plan *plan, const struct wp_cpulist *cpus,
				const struct wp_stream_spec *streams, size_t n)
{
	const struct wp_load_spec spec = { .engine = wp_engine_find("null"),
					   .plan = plan,
					   .cpus = cpus,
					   .streams = streams,
					   .n_streams = n };
	struct wp_load *l = NULL;
	struct wp_err err = { 0 };

	if (wp_load_new(&spec, &l, &err) < 0)
		fail_msg("%s", err.msg);
	return l;
}

static bool readable(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, timeout_ms) == 1;
}

static void engine_table_is_well_formed(void **state)
{
	(void)state;
	for (size_t i = 0; wp_engines[i]; i++) {
		struct wp_err err = { 0 };

		if (wp_engine_check(wp_engines[i], &err) < 0)
			fail_msg("%s", err.msg);
		assert_ptr_equal(wp_engine_find(wp_engines[i]->name), wp_engines[i]);
	}
	assert_non_null(wp_engine_find("null"));
	assert_non_null(wp_engine_find("tcp"));
	assert_null(wp_engine_find("carrier_pigeon"));
}

static int some_run(struct wp_worker *w)
{
	(void)w;
	return 0;
}

static void some_close(struct wp_stream *s)
{
	(void)s;
}

static void bad_engines_are_named(void **state)
{
	const struct wp_engine good = { .abi = WP_ENGINE_ABI,
					.name = "good",
					.summary = "x",
					.caps = WP_ENGINE_SEND,
					.run = some_run };
	struct wp_engine bad[10];
	size_t n = sizeof(bad) / sizeof(bad[0]);

	(void)state;
	assert_int_equal(wp_engine_check(&good, NULL), 0);
	for (size_t i = 0; i < n; i++)
		bad[i] = good;
	bad[0].abi++;
	bad[1].name = NULL;
	bad[2].name = "Not This";
	bad[3].summary = "";
	bad[4].caps = 0;
	bad[5].run = NULL;
	bad[6].caps |= WP_ENGINE_SOCKETS;
	bad[7].caps = WP_ENGINE_RECEIVE | WP_ENGINE_ZEROCOPY;
	bad[8].caps = WP_ENGINE_SEND | WP_ENGINE_DISCARD;
	bad[9].close = some_close;
	for (size_t i = 0; i < n; i++) {
		struct wp_err err = { 0 };

		assert_int_equal(wp_engine_check(&bad[i], &err), -EINVAL);
		assert_true(err.msg[0] != '\0');
	}
}

static void limits_end_a_load(void **state)
{
	const struct wp_stream_spec s[3] = { { -1, WP_STREAM_SENDS, 1 },
					     { -1, WP_STREAM_SENDS, 12345 },
					     { -1, WP_STREAM_SENDS, 2000 } };
	struct wp_load *l = new_load(&small_plan, NULL, s, 3);
	struct wp_stream_count c;

	(void)state;
	assert_false(wp_load_senders_done(l));
	assert_false(readable(wp_load_done_fd(l), 0));
	wp_load_go(l, wp_now_ns());
	assert_true(readable(wp_load_done_fd(l), 10000));
	assert_true(wp_load_senders_done(l));
	assert_int_equal(wp_load_join(l, SECONDS(5)), 0);
	assert_int_equal(wp_load_join(l, SECONDS(5)), 0);
	for (size_t i = 0; i < 3; i++) {
		wp_load_count(l, i, &c);
		assert_int_equal(c.bytes, s[i].limit_bytes);
		assert_int_equal(c.calls, (s[i].limit_bytes + 999) / 1000);
		assert_int_equal(c.error, 0);
		assert_true(c.ended);
		assert_true(c.first_ns > 0 && c.last_ns >= c.first_ns);
		assert_int_equal(c.thread, i % wp_load_threads(l));
	}
	wp_load_free(l);
}

static void stop_ends_a_load(void **state)
{
	const struct wp_stream_spec s = { -1, WP_STREAM_SENDS, 0 };
	struct wp_load *l = new_load(&small_plan, NULL, &s, 1);
	struct wp_stream_count c;

	(void)state;
	wp_load_go(l, wp_now_ns());
	do
		wp_load_count(l, 0, &c);
	while (c.bytes == 0);
	wp_load_stop(l);
	assert_int_equal(wp_load_join(l, SECONDS(5)), 0);
	wp_load_count(l, 0, &c);
	assert_true(c.ended);
	assert_int_equal(c.error, 0);
	wp_load_free(l);
}

static void deadline_cuts_a_load(void **state)
{
	const struct wp_stream_spec s = { -1, WP_STREAM_SENDS, 0 };
	struct wp_load *l = new_load(&small_plan, NULL, &s, 1);
	struct wp_stream_count c;

	(void)state;
	wp_load_go(l, wp_now_ns());
	assert_int_equal(wp_load_join(l, wp_now_ns() + WP_NS_PER_MS), -ETIMEDOUT);
	wp_load_count(l, 0, &c);
	assert_true(c.ended);
	assert_int_equal(c.error, -ECANCELED);
	assert_true(readable(wp_load_done_fd(l), 0));
	wp_load_free(l);
}

static void start_time_is_waited_for(void **state)
{
	const struct wp_stream_spec s = { -1, WP_STREAM_SENDS, 1 };
	struct wp_load *l = new_load(&small_plan, NULL, &s, 1);
	int64_t start = wp_now_ns() + 30 * WP_NS_PER_MS;
	struct wp_stream_count c;

	(void)state;
	wp_load_go(l, start);
	assert_true(readable(wp_load_done_fd(l), 10000));
	wp_load_count(l, 0, &c);
	assert_true(c.first_ns >= start);
	wp_load_free(l);
}

static void stop_ends_the_wait_for_the_start(void **state)
{
	const struct wp_stream_spec s = { -1, WP_STREAM_SENDS, 0 };
	struct wp_load *l = new_load(&small_plan, NULL, &s, 1);

	(void)state;
	wp_load_go(l, SECONDS(3600));
	wp_load_stop(l);
	assert_int_equal(wp_load_join(l, SECONDS(20)), 0);
	wp_load_free(l);
}

static void freed_in_every_state(void **state)
{
	const struct wp_stream_spec s[2] = { { -1, WP_STREAM_SENDS, 0 },
					     { -1, WP_STREAM_RECEIVES, 0 } };

	(void)state;
	wp_load_free(NULL);
	wp_load_free(new_load(&small_plan, NULL, s, 2));
	for (int k = 0; k < 3; k++) {
		struct wp_load *l = new_load(&small_plan, NULL, s, 2);

		wp_load_go(l, k == 0 ? wp_now_ns() : SECONDS(3600));
		if (k == 2)
			wp_load_stop(l);
		wp_load_free(l);
	}
}

static void threads_by_cpu_list(void **state)
{
	struct wp_cpulist allowed = { 0 }, list = { 0 };
	struct wp_stream_spec s[5] = { 0 };
	int twice[2];
	struct wp_load *l;

	(void)state;
	assert_int_equal(wp_cpulist_allowed(&allowed), 0);
	twice[0] = twice[1] = allowed.cpu[0];
	list = (struct wp_cpulist) { twice, 2 };
	l = new_load(&small_plan, NULL, s, 5);
	assert_int_equal(wp_load_threads(l), allowed.n < 5 ? allowed.n : 5);
	wp_load_free(l);
	l = new_load(&small_plan, &list, s, 5);
	assert_int_equal(wp_load_threads(l), 2);
	wp_load_go(l, wp_now_ns());
	for (size_t i = 0; i < 2; i++) {
		struct wp_thread_use use;

		assert_int_equal(wp_load_thread_cpu(l, i) < 0 ? twice[0] : wp_load_thread_cpu(l, i),
				 twice[0]);
		wp_load_thread_use(l, i, &use);
		assert_true(wp_has(use.asked_cpu) && (int)use.asked_cpu.v == twice[0]);
	}
	wp_load_free(l);
	l = new_load(&small_plan, &list, s, 1);
	assert_int_equal(wp_load_threads(l), 1);
	wp_load_free(l);
	wp_cpulist_done(&allowed);
}

static void an_impossible_cpu_is_named(void **state)
{
	const struct wp_stream_spec s = { -1, WP_STREAM_SENDS, 0 };
	int cpu = WP_CPU_MAX - 1;
	struct wp_cpulist list = { &cpu, 1 };
	const struct wp_load_spec spec = { .engine = wp_engine_find("null"),
					   .plan = &small_plan,
					   .cpus = &list,
					   .streams = &s,
					   .n_streams = 1 };
	struct wp_load *l = NULL;
	struct wp_err err = { 0 };

	(void)state;
	assert_int_equal(wp_load_new(&spec, &l, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "cannot run a thread on CPU 8191"));
	assert_null(l);
}

static void bad_specs_are_refused(void **state)
{
	const struct wp_stream_spec s = { -1, WP_STREAM_SENDS, 0 };
	struct wp_plan plan = small_plan;
	struct wp_load_spec spec = {
		.engine = wp_engine_find("null"), .plan = &plan, .streams = &s, .n_streams = 0
	};
	struct wp_load *l = NULL;

	(void)state;
	assert_int_equal(wp_load_new(&spec, &l, NULL), -EINVAL);
	spec.n_streams = WP_MAX_CONNECTIONS + 1;
	assert_int_equal(wp_load_new(&spec, &l, NULL), -EINVAL);
	spec.n_streams = 1;
	plan.length_bytes = 0;
	assert_int_equal(wp_load_new(&spec, &l, NULL), -EINVAL);
	plan.length_bytes = WP_MAX_LENGTH_BYTES + 1;
	assert_int_equal(wp_load_new(&spec, &l, NULL), -EINVAL);
	assert_null(l);
}

static void threads_are_named_by_what_they_do(void **state)
{
	const struct wp_stream_spec one[] = { { -1, WP_STREAM_RECEIVES, 0 } };
	const struct wp_stream_spec both[] = { { -1, WP_STREAM_SENDS, 0 },
					       { -1, WP_STREAM_RECEIVES, 0 } };
	int cpu = 0;
	const struct wp_cpulist first = { &cpu, 1 };
	struct wp_load *receiver = new_load(&small_plan, NULL, one, 1);
	struct wp_load *mixed = new_load(&small_plan, &first, both, 2);
	struct wp_thread_use use;

	(void)state;
	wp_load_thread_use(receiver, 0, &use);
	assert_string_equal(use.name, "receiver");
	wp_load_thread_use(mixed, 0, &use);
	assert_string_equal(use.name, "sender and receiver");
	wp_load_free(receiver);
	wp_load_free(mixed);
}

static void thread_use_is_measured(void **state)
{
	const struct wp_stream_spec s = { -1, WP_STREAM_SENDS, 0 };
	struct wp_load *l = new_load(&small_plan, NULL, &s, 1);
	struct wp_thread_use before, during, after;
	struct wp_stream_count c;

	(void)state;
	wp_load_thread_use(l, 0, &before);
	assert_false(wp_has(before.cpu_s));
	wp_load_go(l, wp_now_ns());
	do
		wp_load_count(l, 0, &c);
	while (c.bytes == 0);
	wp_sleep_until_ns(wp_now_ns() + 20 * WP_NS_PER_MS);
	wp_load_thread_use(l, 0, &during);
	assert_true(wp_has(during.cpu_s) && during.cpu_s.v >= 0);
	assert_false(wp_has(during.voluntary_switches));
	assert_true(wp_load_thread_cpu(l, 0) >= 0);
	wp_load_stop(l);
	assert_int_equal(wp_load_join(l, SECONDS(5)), 0);
	wp_load_thread_use(l, 0, &after);
	assert_string_equal(after.name, "sender");
	assert_true(after.cpu_s.v >= during.cpu_s.v && after.cpu_s.v > 0);
	assert_true(after.cpu_pct.v > 0 && after.cpu_pct.v < 101);
	assert_true(wp_has(after.voluntary_switches) && wp_has(after.last_cpu));
	assert_true(wp_load_thread_cpu(l, 0) >= 0);
	wp_load_free(l);
}

static void stat_texts(void **state)
{
	static const struct {
		const char *text;
		int r, cpu;
	} cases[] = {
		{ "7 (a) S 1 1 1 0 -1 1 1 1 1 1 1 1 1 1 20 0 1 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 17 "
		  "3 0 0\n",
		  0, 3 },
		{ "7 (a ) b) S 1 1 1 0 -1 1 1 1 1 1 1 1 1 1 20 0 1 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 "
		  "17 8191",
		  0, 8191 },
		{ "7 (a) S 1 1 1 0 -1 1 1 1 1 1 1 1 1 1 20 0 1 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 17 "
		  "8192 0",
		  -EINVAL, 0 },
		{ "7 (a) S 1 1 1 0 -1 1 1 1 1 1 1 1 1 1 20 0 1 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 17 ",
		  -EINVAL, 0 },
		{ "7 (a) S 1", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int cpu = -7;

		assert_int_equal(wp_parse_stat_cpu(cases[i].text, &cpu), cases[i].r);
		assert_int_equal(cpu, cases[i].r == 0 ? cases[i].cpu : -7);
	}
}

static void schedstat_texts(void **state)
{
	int64_t ns = -7;

	(void)state;
	assert_int_equal(wp_parse_schedstat_delay("12345 678 9\n", &ns), 0);
	assert_int_equal(ns, 678);
	assert_int_equal(wp_parse_schedstat_delay("12345", &ns), -EINVAL);
	assert_int_equal(wp_parse_schedstat_delay("1 -2 3", &ns), -EINVAL);
	assert_int_equal(wp_parse_schedstat_delay("1 99999999999999999999 3", &ns), -EINVAL);
	assert_int_equal(wp_parse_schedstat_delay("", &ns), -EINVAL);
	assert_int_equal(ns, 678);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(engine_table_is_well_formed),
		cmocka_unit_test(bad_engines_are_named),
		cmocka_unit_test(limits_end_a_load),
		cmocka_unit_test(stop_ends_a_load),
		cmocka_unit_test(deadline_cuts_a_load),
		cmocka_unit_test(start_time_is_waited_for),
		cmocka_unit_test(stop_ends_the_wait_for_the_start),
		cmocka_unit_test(freed_in_every_state),
		cmocka_unit_test(threads_by_cpu_list),
		cmocka_unit_test(an_impossible_cpu_is_named),
		cmocka_unit_test(bad_specs_are_refused),
		cmocka_unit_test(threads_are_named_by_what_they_do),
		cmocka_unit_test(thread_use_is_measured),
		cmocka_unit_test(stat_texts),
		cmocka_unit_test(schedstat_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
