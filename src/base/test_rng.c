/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_rng.c - rng.h and clock.h. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/rng.h"

/* First outputs for the state {1, 2, 3, 4}, computed apart from the definition; 11520, 0, 1509978240 are those that
 * other implementations publish. */
static void published_sequence(void **state)
{
	static const uint64_t expect[] = {
		11520,
		0,
		1509978240,
		UINT64_C(1215971899390074240),
		UINT64_C(1216172134540287360),
		UINT64_C(607988272756665600),
		UINT64_C(16172922978634559625),
		UINT64_C(8476171486693032832),
		UINT64_C(10595114339597558777),
		UINT64_C(2904607092377533576),
	};
	struct wp_rng r = { { 1, 2, 3, 4 } };

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(expect); i++)
		assert_true(wp_rng_u64(&r) == expect[i]);
}

static void seeding_is_splitmix64(void **state)
{
	static const uint64_t expect[] = {
		UINT64_C(0xe220a8397b1dcdaf),
		UINT64_C(0x6e789e6aa1b965f4),
		UINT64_C(0x06c45d188009454f),
		UINT64_C(0xf88bb8a8724c81ec),
	};
	struct wp_rng r;

	(void)state;
	wp_rng_seed(&r, 0);
	for (size_t i = 0; i < 4; i++)
		assert_true(r.s[i] == expect[i]);
}

/* 6 values, 60,000 draws: each count is binomial with mean 10,000 and sd 91; five sd allowed. */
static void below_is_uniform(void **state)
{
	unsigned count[6] = { 0 };
	struct wp_rng r;

	(void)state;
	wp_rng_seed(&r, 42);
	for (int i = 0; i < 60000; i++)
		count[wp_rng_below(&r, 6)]++;
	for (int i = 0; i < 6; i++)
		assert_in_range(count[i], 10000 - 457, 10000 + 457);
	for (int i = 0; i < 100; i++) {
		assert_true(wp_rng_below(&r, 1) == 0);
		assert_true(wp_rng_below(&r, UINT64_MAX) < UINT64_MAX);
		assert_true(wp_rng_below(&r, (UINT64_C(1) << 63) + 1) <= UINT64_C(1) << 63);
	}
}

/* Mean of 100,000 uniforms: .5 with sd .00091; five sd allowed. */
static void unit_is_in_range(void **state)
{
	double sum = 0, v;
	struct wp_rng r;

	(void)state;
	wp_rng_seed(&r, 7);
	for (int i = 0; i < 100000; i++) {
		v = wp_rng_unit(&r);
		assert_true(v >= 0 && v < 1);
		sum += v;
	}
	assert_true(sum / 100000 > .5 - .0046 && sum / 100000 < .5 + .0046);
}

/* All 24 orders of 4 items, 24,000 shuffles: mean 1,000, sd 31; five sd allowed. */
static void shuffle_gives_every_order(void **state)
{
	unsigned count[256] = { 0 }, seen = 0;
	struct wp_rng r;

	(void)state;
	wp_rng_seed(&r, 2026);
	for (int i = 0; i < 24000; i++) {
		unsigned char v[4] = { 0, 1, 2, 3 };

		wp_rng_shuffle(&r, v, 4, 1);
		count[v[0] << 6 | v[1] << 4 | v[2] << 2 | v[3]]++;
	}
	for (int i = 0; i < 256; i++) {
		if (!count[i])
			continue;
		seen++;
		assert_in_range(count[i], 1000 - 155, 1000 + 155);
	}
	assert_int_equal(seen, 24);
}

static void shuffle_is_the_same_for_the_same_seed(void **state)
{
	struct item {
		int a;
		char text[20];
	} x[50], y[50];
	struct wp_rng r;
	int sum = 0;

	(void)state;
	memset(x, 0, sizeof(x));
	for (int i = 0; i < 50; i++)
		x[i].a = i;
	memcpy(y, x, sizeof(y));
	wp_rng_seed(&r, 3);
	wp_rng_shuffle(&r, x, 50, sizeof(x[0]));
	assert_memory_not_equal(x, y, sizeof(x));
	wp_rng_seed(&r, 3);
	wp_rng_shuffle(&r, y, 50, sizeof(y[0]));
	assert_memory_equal(x, y, sizeof(x));
	for (int i = 0; i < 50; i++)
		sum += x[i].a;
	assert_int_equal(sum, 1225);
	wp_rng_shuffle(&r, x, 0, sizeof(x[0]));
	wp_rng_shuffle(&r, x, 1, sizeof(x[0]));
}

static void random_bytes_differ(void **state)
{
	unsigned char a[1000] = { 0 }, b[1000] = { 0 };

	(void)state;
	assert_int_equal(wp_random_bytes(a, sizeof(a)), 0);
	assert_int_equal(wp_random_bytes(b, sizeof(b)), 0);
	assert_memory_not_equal(a, b, sizeof(a));
	assert_int_equal(wp_random_bytes(a, 0), 0);
}

static void rfc3339(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "1970-01-01T00:00:00.000Z" },
		{ INT64_C(1796059205123456789), "2026-11-30T17:20:05.123Z" },
		{ INT64_C(951782400000000000), "2000-02-29T00:00:00.000Z" },
		{ -1, "1969-12-31T23:59:59.999Z" },
		{ INT64_MAX, "2262-04-11T23:47:16.854Z" },
		{ INT64_MIN, "1677-09-21T00:12:43.145Z" },
	};
	char out[32];

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		wp_format_rfc3339(cases[i].ns, out);
		assert_string_equal(out, cases[i].text);
	}
	assert_true(wp_unix_now_ns() > INT64_C(1700000000) * WP_NS_PER_S);
}

static void timespec_has_no_negative_fraction(void **state)
{
	static const struct {
		int64_t ns;
		time_t sec;
		long nsec;
	} cases[] = {
		{ 0, 0, 0 },
		{ 1, 0, 1 },
		{ -1, -1, 999999999 },
		{ 1500000000, 1, 500000000 },
		{ -1000000000, -1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		struct timespec ts = wp_ns_to_timespec(cases[i].ns);

		assert_true(ts.tv_sec == cases[i].sec && ts.tv_nsec == cases[i].nsec);
	}
}

static void on_signal(int sig)
{
	(void)sig;
}

static void sleeps_until(void **state)
{
	struct sigaction act = { .sa_handler = on_signal }, old;
	struct itimerspec once = { .it_value.tv_nsec = 5 * WP_NS_PER_MS };
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	int64_t until = wp_now_ns() + 20 * WP_NS_PER_MS;
	timer_t timer;

	(void)state;
	wp_sleep_until_ns(until);
	assert_true(wp_now_ns() >= until);
	wp_sleep_until_ns(until);
	wp_sleep_until_ns(-5);
	assert_int_equal(wp_sleep_until_ns_intr(0), 0);
	assert_int_equal(sigaction(SIGUSR1, &act, &old), 0);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &ev, &timer), 0);
	assert_int_equal(timer_settime(timer, 0, &once, NULL), 0);
	assert_int_equal(wp_sleep_until_ns_intr(wp_now_ns() + 20 * WP_NS_PER_S), -EINTR);
	until = wp_now_ns() + 20 * WP_NS_PER_MS;
	assert_int_equal(timer_settime(timer, 0, &once, NULL), 0);
	wp_sleep_until_ns(until);
	assert_true(wp_now_ns() >= until);
	timer_delete(timer);
	sigaction(SIGUSR1, &old, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_sequence),
		cmocka_unit_test(seeding_is_splitmix64),
		cmocka_unit_test(below_is_uniform),
		cmocka_unit_test(unit_is_in_range),
		cmocka_unit_test(shuffle_gives_every_order),
		cmocka_unit_test(shuffle_is_the_same_for_the_same_seed),
		cmocka_unit_test(random_bytes_differ),
		cmocka_unit_test(rfc3339),
		cmocka_unit_test(timespec_has_no_negative_fraction),
		cmocka_unit_test(sleeps_until),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
