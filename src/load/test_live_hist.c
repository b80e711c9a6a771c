/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load/live_hist.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#define VALUES 200000

static uint64_t value(uint64_t i)
{
	return i * i % 1000003 + 17;
}

static void reads_what_a_plain_histogram_has(void **state)
{
	struct wp_live_hist *live = calloc(1, sizeof(*live));
	struct wp_hist plain, read;

	(void)state;
	assert_non_null(live);
	assert_int_equal(wp_hist_init(&plain, WP_RECORD_HIST_BITS, NULL), 0);
	assert_int_equal(wp_hist_init(&read, WP_RECORD_HIST_BITS, NULL), 0);
	wp_live_hist_read(live, &read);
	assert_true(read.n == 0);
	for (uint64_t i = 0; i < 1000; i++) {
		wp_live_hist_add(live, value(i));
		wp_hist_add(&plain, value(i));
	}
	wp_live_hist_read(live, &read);
	assert_memory_equal(read.bucket, plain.bucket,
			    WP_LIVE_HIST_BUCKETS * sizeof(*plain.bucket));
	assert_true(read.n == plain.n && read.min == plain.min && read.max == plain.max);
	assert_true(read.sum == plain.sum);
	wp_hist_done(&plain);
	wp_hist_done(&read);
	free(live);
}

static void *fill(void *arg)
{
	for (uint64_t i = 0; i < VALUES; i++)
		wp_live_hist_add(arg, value(i));
	return NULL;
}

static void readings_meanwhile_only_grow(void **state)
{
	struct wp_live_hist *live = calloc(1, sizeof(*live));
	struct wp_hist read;
	pthread_t thread;
	uint64_t before = 0;

	(void)state;
	assert_non_null(live);
	assert_int_equal(wp_hist_init(&read, WP_RECORD_HIST_BITS, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, fill, live), 0);
	for (int i = 0; i < 50; i++) {
		wp_hist_reset(&read);
		wp_live_hist_read(live, &read);
		assert_true(read.n >= before);
		before = read.n;
	}
	pthread_join(thread, NULL);
	wp_hist_reset(&read);
	wp_live_hist_read(live, &read);
	assert_true(read.n == VALUES);
	wp_hist_done(&read);
	free(live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_a_plain_histogram_has),
		cmocka_unit_test(readings_meanwhile_only_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
