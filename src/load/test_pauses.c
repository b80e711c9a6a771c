/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The longest pauses are told, whatever comes between; nothing is lost unsaid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "load/pauses.h"

static int64_t length_of(const struct wp_pause *p)
{
	return p->end_ns - p->start_ns;
}

static void add(struct wp_pause_log *log, int64_t at_ns, int64_t length_ns)
{
	wp_pause_add(log, &(struct wp_pause) { .start_ns = at_ns, .end_ns = at_ns + length_ns });
}

static struct wp_pause_log *new_log(void)
{
	struct wp_pause_log *log = aligned_alloc(64, sizeof(*log));

	assert_non_null(log);
	memset(log, 0, sizeof(*log));
	return log;
}

static void the_floor_rises_to_the_shortest_of_the_longest(void **state)
{
	struct wp_pause_log *log = new_log();

	(void)state;
	assert_int_equal(wp_pause_floor_ns(log), WP_PAUSE_MIN_NS);
	/* 7 is a generator of the numbers below 17. */
	for (int64_t i = 1, v = 1; i <= WP_PAUSES; i++, v = v * 7 % 17)
		add(log, i, v * 1000000);
	assert_int_equal(wp_pause_floor_ns(log), 1000000);
	add(log, 100, 500000000);
	assert_int_equal(wp_pause_floor_ns(log), 2000000);
	add(log, 101, 2500000);
	assert_int_equal(wp_pause_floor_ns(log), 2500000);
	for (int i = 0; i < WP_PAUSES; i++)
		add(log, 200 + i, 900000000);
	assert_int_equal(wp_pause_floor_ns(log), 900000000);
	free(log);
}

static void pauses_come_out_in_order(void **state)
{
	struct wp_pause_log *log = new_log();
	struct wp_pause out[8];

	(void)state;
	assert_int_equal(wp_pause_take(log, out, 8), 0);
	for (int i = 1; i <= 10; i++)
		add(log, i, 1000 * i);
	assert_int_equal(wp_pause_take(log, out, 8), 8);
	assert_int_equal(out[0].start_ns, 1);
	assert_int_equal(length_of(&out[7]), 8000);
	assert_int_equal(wp_pause_take(log, out, 8), 2);
	assert_int_equal(out[1].start_ns, 10);
	free(log);
}

static void what_nobody_takes_is_counted(void **state)
{
	struct wp_pause_log *log = new_log();
	struct wp_pause out[WP_PAUSE_QUEUE + 8];

	(void)state;
	for (int i = 0; i < WP_PAUSE_QUEUE + 5; i++)
		add(log, i, 1000);
	assert_int_equal(log->dropped, 5);
	assert_int_equal(wp_pause_take(log, out, WP_PAUSE_QUEUE + 8), WP_PAUSE_QUEUE);
	assert_int_equal(out[WP_PAUSE_QUEUE - 1].start_ns, WP_PAUSE_QUEUE - 1);
	free(log);
}

#define MANY 20000

static void *add_many(void *arg)
{
	for (int i = 1; i <= MANY; i++)
		add(arg, i, i);
	return NULL;
}

static void one_thread_adds_while_another_takes(void **state)
{
	struct wp_pause_log *log = new_log();
	struct wp_pause out[16];
	uint64_t taken = 0;
	int64_t last = 0;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, add_many, log), 0);
	while (taken + atomic_load(&log->dropped) < MANY) {
		size_t n = wp_pause_take(log, out, 16);

		for (size_t i = 0; i < n; i++) {
			assert_int_equal(length_of(&out[i]), out[i].start_ns);
			assert_true(out[i].start_ns > last);
			last = out[i].start_ns;
		}
		taken += n;
	}
	pthread_join(thread, NULL);
	assert_int_equal(taken + atomic_load(&log->dropped), MANY);
	free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_floor_rises_to_the_shortest_of_the_longest),
		cmocka_unit_test(pauses_come_out_in_order),
		cmocka_unit_test(what_nobody_takes_is_counted),
		cmocka_unit_test(one_thread_adds_while_another_takes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
