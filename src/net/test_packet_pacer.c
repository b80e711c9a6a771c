/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The packet pacer against a fake clock: exact over time, smooth, and no burst after a stall. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/rng.h"
#include "net/packet_pacer.h"

#define MS         WP_NS_PER_MS
#define GROUP_NS   (MS / 4)
#define MOST_GROUP 64
#define LENGTH     64
#define NO_END     UINT64_MAX
#define NAPS       4096 /* sends of the last millisecond that a sim remembers */

struct sim {
	struct wp_packet_pacer p;
	int64_t start, now;
	uint64_t pps, sent, sends, largest_send;
	/* What was sent when, for the busiest millisecond. */
	int64_t at[NAPS];
	uint64_t n[NAPS];
	uint64_t in_window, from, peak;
};

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t whole_packets(uint64_t pps, int64_t ns)
{
	return (uint64_t)((unsigned __int128)pps * (uint64_t)ns / WP_NS_PER_S);
}

static void start(struct sim *s, uint64_t pps, int64_t at)
{
	*s = (struct sim) { .start = at, .now = at, .pps = pps };
	wp_packet_pacer_init(&s->p, pps * 8 * LENGTH, LENGTH, GROUP_NS, MOST_GROUP, at);
}

static void note(struct sim *s, uint64_t n)
{
	s->at[s->sends % NAPS] = s->now;
	s->n[s->sends % NAPS] = n;
	s->sends++;
	s->sent += n;
	s->in_window += n;
	for (; s->now - s->at[s->from % NAPS] >= MS; s->from++)
		s->in_window -= s->n[s->from % NAPS];
	assert_true(s->sends - s->from <= NAPS);
	s->peak = larger(s->peak, s->in_window);
	s->largest_send = larger(s->largest_send, n);
}

/* Sends whatever is due until `until`; every wake-up is `late` ns after its time, plus up to `jitter`. */
static void run(struct sim *s, int64_t until, int64_t late, struct wp_rng *jitter, uint64_t most)
{
	while (s->now < until) {
		uint64_t n = wp_packet_pacer_due(&s->p, s->now, NO_END);
		int64_t next;

		if (n > 0) {
			wp_packet_pacer_sent(&s->p, n, s->now);
			note(s, n);
			continue;
		}
		next = wp_packet_pacer_next_ns(&s->p, NO_END);
		assert_true(next > s->now);
		s->now = next + late + (jitter ? (int64_t)wp_rng_below(jitter, most) : 0);
	}
}

/* Nothing was lost or gained but what stands in the shortfall, and the line holds to a group. */
static void assert_on_the_line(struct sim *s)
{
	uint64_t line = whole_packets(s->pps, s->now - s->start) + 1;
	/* What is due now may be held back by the faster line, but not more than a millisecond's. */
	uint64_t held = whole_packets(s->pps, MS) + s->p.group + 2;

	(void)wp_packet_pacer_due(&s->p, s->now, NO_END);
	assert_in_range(s->sent + s->p.shortfall_packets, line > held ? line - held : 0, line + 1);
}

static const uint64_t rates[] = { 1,      2,      7,       10,      99,      100,     333,
				  1000,   1001,   1500,    8928,    10000,   36000,   89286,
				  100000, 500000, 1000000, 1488095, 5000000, 10000000 };

#define N_RATES (sizeof(rates) / sizeof(rates[0]))

static int64_t window_of(uint64_t pps)
{
	/* Ten seconds or ten packets, but not more than a million of them. */
	if (pps > 100000)
		return WP_NS_PER_S * 1000000 / (int64_t)pps;
	return 10 * WP_NS_PER_S;
}

static void keeps_every_rate(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_RATES; i++) {
		struct sim s;
		int64_t window = window_of(rates[i]);
		uint64_t want = whole_packets(rates[i], window);

		start(&s, rates[i], 7 * WP_NS_PER_S);
		run(&s, s.start + window, 0, NULL, 0);
		assert_int_equal(s.p.shortfall_packets, 0);
		assert_in_range(s.sent, want - s.p.group, want + s.p.group + 1);
		assert_on_the_line(&s);
		/* One by one up to 8,000 a second, else in groups of a quarter of a millisecond. */
		assert_in_range(s.largest_send, 1, larger(1, rates[i] / 4000 + 1));
	}
}

static void a_day_does_not_drift(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_RATES; i++) {
		struct wp_packet_pacer p;
		int64_t day = 86400 * WP_NS_PER_S;

		wp_packet_pacer_init(&p, rates[i] * 8 * 1400, 1400, GROUP_NS, 1, 12345);
		wp_packet_pacer_sent(&p, rates[i] * 86400, 12345);
		/* Within a thousandth of a ppm. */
		assert_in_range((int64_t)(p.due >> 32), day - 86400, day + 86400);
	}
}

static void the_busiest_millisecond(void **state)
{
	struct wp_rng rng;

	(void)state;
	wp_rng_seed(&rng, 7);
	for (size_t i = 0; i < N_RATES; i++)
		for (int64_t late = 0; late <= 3 * MS; late = late * 4 + 20 * WP_NS_PER_US) {
			struct sim s;
			uint64_t mean = rates[i] / 1000 + 1;

			start(&s, rates[i], 0);
			run(&s, window_of(rates[i]) / 4 + 10 * MS, late / 2, &rng,
			    (uint64_t)late + 1);
			assert_in_range(s.peak, 1, larger(2, mean + mean / 2 + 2));
			assert_on_the_line(&s);
		}
}

static void late_wakeups_do_not_slow_it(void **state)
{
	struct wp_rng rng;

	(void)state;
	wp_rng_seed(&rng, 42);
	for (size_t i = 0; i < N_RATES; i++) {
		struct sim s;
		uint64_t want;

		start(&s, rates[i], 0);
		run(&s, window_of(rates[i]), 30 * WP_NS_PER_US, &rng, 100000);
		want = whole_packets(rates[i], s.now);
		assert_int_equal(s.p.shortfall_packets, 0);
		assert_in_range(s.sent, want - larger(want / 1000, whole_packets(rates[i], MS)) - 1,
				want + 2);
	}
}

static void a_short_stall_is_made_up_for_gently(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_RATES; i++) {
		struct sim s;
		int64_t stalled;
		uint64_t want;

		start(&s, rates[i], 0);
		run(&s, 20 * MS, 0, NULL, 0);
		s.now += MS / 2;
		stalled = s.now;
		s.peak = 0;
		run(&s, stalled + 20 * MS, 0, NULL, 0);
		want = whole_packets(rates[i], s.now);
		assert_int_equal(s.p.shortfall_packets, 0);
		assert_in_range(s.sent, want - s.p.group - 1 < want ? want - s.p.group - 1 : 0,
				want + 2);
		assert_in_range(s.peak, 0, larger(1, rates[i] / 1000 * 3 / 2 + 2));
	}
}

static void no_burst_after_a_long_stall(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_RATES; i++) {
		struct sim s;
		uint64_t missed, before;

		start(&s, rates[i], 0);
		run(&s, 20 * MS, 0, NULL, 0);
		before = s.sent;
		s.now += 3 * WP_NS_PER_S;
		s.peak = 0;
		missed = whole_packets(rates[i], 3 * WP_NS_PER_S);
		run(&s, s.now + 1, 0, NULL, 0);
		/* At once: no more than the millisecond may have. */
		assert_in_range(s.sent - before, 1, larger(2, rates[i] * 14 / 10000 + 1));
		assert_in_range(s.p.shortfall_packets,
				missed - whole_packets(rates[i], MS) - s.p.group - 2 < missed
					? missed - whole_packets(rates[i], MS) - s.p.group - 2
					: 0,
				missed + 1);
		/* ... and goes on at its rate. */
		before = s.p.shortfall_packets;
		run(&s, s.now + window_of(rates[i]), 0, NULL, 0);
		assert_int_equal(s.p.shortfall_packets, before);
		assert_in_range(s.peak, 0, larger(2, rates[i] / 1000 * 3 / 2 + 2));
		assert_on_the_line(&s);
	}
}

static void the_first_is_due_at_once_and_none_before(void **state)
{
	struct wp_packet_pacer p;

	(void)state;
	wp_packet_pacer_init(&p, 8 * LENGTH, LENGTH, GROUP_NS, MOST_GROUP, WP_NS_PER_S);
	assert_int_equal(wp_packet_pacer_due(&p, 0, NO_END), 0);
	assert_int_equal(wp_packet_pacer_due(&p, WP_NS_PER_S - 1, NO_END), 0);
	assert_int_equal(wp_packet_pacer_next_ns(&p, NO_END), WP_NS_PER_S);
	assert_int_equal(wp_packet_pacer_due(&p, WP_NS_PER_S, NO_END), 1);
	wp_packet_pacer_sent(&p, 1, WP_NS_PER_S);
	assert_int_equal(wp_packet_pacer_due(&p, WP_NS_PER_S, NO_END), 0);
	assert_int_equal(wp_packet_pacer_next_ns(&p, NO_END), 2 * WP_NS_PER_S);
	assert_int_equal(wp_packet_pacer_due(&p, 2 * WP_NS_PER_S - 1, NO_END), 0);
	assert_int_equal(wp_packet_pacer_due(&p, 2 * WP_NS_PER_S, NO_END), 1);
	assert_int_equal(p.shortfall_packets, 0);
}

static void the_last_ones_wait_for_no_group(void **state)
{
	struct wp_packet_pacer p;

	(void)state;
	/* A million a second: groups of 64, when the 64th is due. */
	wp_packet_pacer_init(&p, 8000000ull * LENGTH, LENGTH, GROUP_NS, MOST_GROUP, 0);
	assert_int_equal(p.group, 64);
	assert_int_equal(wp_packet_pacer_next_ns(&p, NO_END), 63000);
	assert_int_equal(wp_packet_pacer_due(&p, 62999, NO_END), 0);
	assert_int_equal(wp_packet_pacer_due(&p, 63000, NO_END), 64);
	/* Three that are left of a limit go when the third is due. */
	assert_int_equal(wp_packet_pacer_next_ns(&p, 3), 2000);
	assert_int_equal(wp_packet_pacer_due(&p, 1999, 3), 0);
	assert_int_equal(wp_packet_pacer_due(&p, 2000, 3), 3);
}

static void groups_are_as_long_as_asked_but_a_millisecond_at_most(void **state)
{
	static const struct {
		uint64_t pps;
		int64_t group_ns;
		uint64_t group;
	} cases[] = {
		{ 8929, 700000, 6 },     { 8929, 0, 1 },        { 8929, 10 * MS, 9 },
		{ 1000, 700000, 1 },     { 100000, 4000, 1 },   { 1000000, 4000, 4 },
		{ 1000000, 900000, 64 }, { 20000, 900000, 18 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sim s = { .pps = cases[i].pps };

		wp_packet_pacer_init(&s.p, s.pps * 8 * LENGTH, LENGTH, cases[i].group_ns,
				     MOST_GROUP, 0);
		assert_int_equal(s.p.group, cases[i].group);
		/* Whatever they are, the rate is kept. */
		run(&s, WP_NS_PER_S, 0, NULL, 0);
		assert_int_equal(s.p.shortfall_packets, 0);
		assert_in_range(s.sent, s.pps - s.p.group, s.pps + 1);
	}
}

static void extremes_do_not_overflow(void **state)
{
	struct wp_packet_pacer p;

	(void)state;
	/* A bit a second with the longest datagram: the next one in six days. */
	wp_packet_pacer_init(&p, 1, 65507, GROUP_NS, 1, 0);
	assert_int_equal(wp_packet_pacer_due(&p, 0, NO_END), 1);
	wp_packet_pacer_sent(&p, 1, 0);
	assert_true(wp_packet_pacer_next_ns(&p, NO_END) > WP_NS_PER_S);
	/* 100 Tbit/s of single bytes, a stall of a year, and the end of time. */
	wp_packet_pacer_init(&p, 100000000000000ull, 1, GROUP_NS, 1024, 0);
	assert_true(wp_packet_pacer_due(&p, 365 * 86400 * WP_NS_PER_S, NO_END) > 0);
	assert_true(p.shortfall_packets > 1ull << 60);
	wp_packet_pacer_init(&p, 8, 1, GROUP_NS, 1, INT64_MAX - 10);
	wp_packet_pacer_sent(&p, 1, INT64_MAX - 10);
	assert_int_equal(wp_packet_pacer_next_ns(&p, NO_END), INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_every_rate),
		cmocka_unit_test(a_day_does_not_drift),
		cmocka_unit_test(the_busiest_millisecond),
		cmocka_unit_test(late_wakeups_do_not_slow_it),
		cmocka_unit_test(a_short_stall_is_made_up_for_gently),
		cmocka_unit_test(no_burst_after_a_long_stall),
		cmocka_unit_test(the_first_is_due_at_once_and_none_before),
		cmocka_unit_test(the_last_ones_wait_for_no_group),
		cmocka_unit_test(groups_are_as_long_as_asked_but_a_millisecond_at_most),
		cmocka_unit_test(extremes_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
