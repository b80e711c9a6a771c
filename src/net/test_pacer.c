/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pacer against a fake clock: exact over time, smooth, and no burst after a stall. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/rng.h"
#include "net/pacer.h"

#define KBIT   1000ull
#define MBIT   (1000 * KBIT)
#define GBIT   (1000 * MBIT)
#define NO_END UINT64_MAX

struct sim {
	uint64_t sent, largest_write, writes;
	int64_t now;
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t worth(uint64_t rate_bps, int64_t ns)
{
	return (uint64_t)((unsigned __int128)rate_bps * (uint64_t)ns / 8000000000u);
}

/* Writes whatever is due from `from` to `until`; every wake-up is `late` ns after its deadline. */
static void run(struct wp_pacer *p, struct sim *s, int64_t until, uint64_t length, int64_t late)
{
	while (s->now < until) {
		uint64_t n = wp_pacer_due(p, s->now, length);
		int64_t next;

		if (n > 0) {
			assert_true(n <= length);
			wp_pacer_sent(p, n);
			s->sent += n;
			s->writes++;
			if (n > s->largest_write)
				s->largest_write = n;
			continue;
		}
		next = wp_pacer_next_ns(p, length);
		assert_true(next > s->now);
		s->now = next + late;
	}
}

static void keeps_every_rate(void **state)
{
	static const uint64_t rates[] = {
		1 * KBIT,   10 * KBIT, 100 * KBIT, 1 * MBIT,   10 * MBIT,
		100 * MBIT, 1 * GBIT,  10 * GBIT,  100 * GBIT, 400 * GBIT
	};
	static const uint64_t lengths[] = { 1, 1400, 16384, 131072, 1048576, 64 << 20 };

	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		for (size_t j = 0; j < sizeof(lengths) / sizeof(lengths[0]); j++) {
			struct sim s = { .now = 7 * WP_NS_PER_S };
			int64_t window = 10 * WP_NS_PER_S;
			uint64_t grain, slack, want;
			struct wp_pacer p;

			/* Not more than a million writes a case. */
			if (rates[i] / 8 / lengths[j] * 10 > 1000000)
				window = (int64_t)(1000000.0 * 8e9 * (double)lengths[j] /
						   (double)rates[i]);
			wp_pacer_init(&p, rates[i], lengths[j], s.now);
			run(&p, &s, s.now + window, lengths[j], 0);
			want = worth(rates[i], window);
			grain = p.grain_bytes;
			/* The clock ticks in whole ns, in which several bytes may fall due. */
			slack = grain + 1 + worth(rates[i], 2);
			assert_true(grain >= 1 && grain <= lengths[j]);
			assert_true(grain == 1 || grain < worth(rates[i], WP_NS_PER_MS));
			assert_int_equal(p.shortfall_bytes, 0);
			assert_in_range(s.sent, want - least(want, slack), want + slack + grain);
			/* Smooth: nothing was written in lumps of more than one grain. */
			assert_in_range(s.largest_write, 1, grain + worth(rates[i], 100));
		}
}

static void late_wakeups_do_not_slow_it(void **state)
{
	struct sim s = { .now = 0 };
	struct wp_pacer p;

	(void)state;
	wp_pacer_init(&p, 100 * MBIT, 131072, 0);
	run(&p, &s, 10 * WP_NS_PER_S, 131072, 300 * WP_NS_PER_US);
	assert_int_equal(p.shortfall_bytes, 0);
	assert_in_range(s.sent, 125000000 - 13000, 125000000 + 13000);
}

static void no_burst_after_a_stall(void **state)
{
	struct sim s = { .now = 0 };
	struct wp_pacer p;
	uint64_t before, ms = worth(100 * MBIT, WP_NS_PER_MS);

	(void)state;
	wp_pacer_init(&p, 100 * MBIT, 131072, 0);
	run(&p, &s, WP_NS_PER_S, 131072, 0);
	before = s.sent;
	s.now += 2 * WP_NS_PER_S;
	run(&p, &s, s.now + 1, 131072, 0);
	assert_in_range(s.sent - before, 1, ms);
	assert_in_range(p.shortfall_bytes, 25000000 - 2 * ms, 25000000 + ms);
	/* ... and goes on at its rate. */
	before = s.sent;
	run(&p, &s, s.now + WP_NS_PER_S, 131072, 0);
	assert_in_range(s.sent - before, 12500000 - 2 * ms, 12500000 + 2 * ms);
}

static void short_stall_is_made_up(void **state)
{
	struct sim s = { .now = 0 };
	struct wp_pacer p;

	(void)state;
	wp_pacer_init(&p, 1 * GBIT, 131072, 0);
	run(&p, &s, WP_NS_PER_S, 131072, 0);
	s.now += WP_NS_PER_MS / 4;
	run(&p, &s, 2 * WP_NS_PER_S, 131072, 0);
	assert_int_equal(p.shortfall_bytes, 0);
	assert_in_range(s.sent, 250000000 - 65000, 250000000 + 65000);
}

static void last_bytes_of_a_limit(void **state)
{
	struct wp_pacer p;
	int64_t at;

	(void)state;
	wp_pacer_init(&p, 8 * MBIT, 131072, 1000);
	assert_int_equal(wp_pacer_due(&p, 1000, 3), 0);
	at = wp_pacer_next_ns(&p, 3);
	assert_int_equal(at, 1000 + 3000);
	assert_int_equal(wp_pacer_due(&p, at - 1, 3), 0);
	assert_int_equal(wp_pacer_due(&p, at, 3), 3);
}

static void partial_writes_stay_due(void **state)
{
	struct wp_pacer p;

	(void)state;
	wp_pacer_init(&p, 800 * MBIT, 1 << 20, 0);
	assert_int_equal(wp_pacer_due(&p, WP_NS_PER_MS / 2, NO_END), 50000);
	wp_pacer_sent(&p, 20000);
	assert_int_equal(wp_pacer_due(&p, WP_NS_PER_MS / 2, NO_END), 0);
	assert_int_equal(wp_pacer_next_ns(&p, NO_END), 700 * WP_NS_PER_US);
	assert_int_equal(wp_pacer_due(&p, 700 * WP_NS_PER_US, NO_END), 50000);
}

static void time_before_the_start(void **state)
{
	struct wp_pacer p;

	(void)state;
	wp_pacer_init(&p, GBIT, 1000, 5 * WP_NS_PER_S);
	assert_int_equal(wp_pacer_due(&p, 0, NO_END), 0);
	assert_int_equal(p.shortfall_bytes, 0);
}

static void far_deadlines_do_not_overflow(void **state)
{
	struct wp_pacer p;

	(void)state;
	wp_pacer_init(&p, 1, 64 << 20, INT64_MAX - 10);
	wp_pacer_sent(&p, UINT64_MAX / 2);
	assert_int_equal(wp_pacer_next_ns(&p, NO_END), INT64_MAX);
	/* A day at 1 Tbit/s. */
	wp_pacer_init(&p, 1000 * GBIT, 64 << 20, 0);
	assert_int_equal(wp_pacer_due(&p, 86400 * WP_NS_PER_S, NO_END), 125000000);
	assert_int_equal(p.shortfall_bytes, 86400ull * 125000000000 - 125000000);
}

static void jittery_clock_keeps_the_mean(void **state)
{
	struct sim s = { .now = 0 };
	struct wp_pacer p;
	struct wp_rng rng;

	(void)state;
	wp_rng_seed(&rng, 42);
	wp_pacer_init(&p, 50 * MBIT, 65536, 0);
	while (s.now < 5 * WP_NS_PER_S) {
		run(&p, &s, s.now + 1, 65536, 0);
		s.now += (int64_t)wp_rng_below(&rng, 400000);
	}
	assert_int_equal(p.shortfall_bytes, 0);
	assert_in_range(s.sent, 31250000 - 20000, 31250000 + 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_every_rate),
		cmocka_unit_test(late_wakeups_do_not_slow_it),
		cmocka_unit_test(no_burst_after_a_stall),
		cmocka_unit_test(short_stall_is_made_up),
		cmocka_unit_test(last_bytes_of_a_limit),
		cmocka_unit_test(partial_writes_stay_due),
		cmocka_unit_test(time_before_the_start),
		cmocka_unit_test(far_deadlines_do_not_overflow),
		cmocka_unit_test(jittery_clock_keeps_the_mean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
