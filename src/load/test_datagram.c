/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is in a datagram, whole and truncated, and which numbers have arrived. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "load/datagram.h"
#include "load/udp_sequence.h"
#include "load/udp_timers.h"

#define BEYOND (UINT64_C(1) << 32)

static void bytes_are_as_documented(void **state)
{
	static const uint8_t whole[] = { 1,    2,    3,    4,    5,    6,    7,    8,
					 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18 };
	static const struct {
		size_t len, written, from;
	} cases[] = { { 1, 0, 0 }, { 3, 0, 0 },  { 4, 4, 4 },   { 5, 5, 3 },    { 7, 7, 1 },
		      { 8, 8, 0 }, { 15, 8, 0 }, { 16, 16, 0 }, { 1400, 16, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t out[1400], filled[1400];

		memset(filled, 0xee, sizeof(filled));
		memcpy(out, filled, sizeof(out));
		wp_datagram_write(out, cases[i].len, 0x0102030405060708, 0x1112131415161718);
		assert_memory_equal(out, whole + cases[i].from, cases[i].written);
		/* The rest stays as it was. */
		assert_memory_equal(out + cases[i].written, filled, sizeof(out) - cases[i].written);
	}
	assert_int_equal(wp_datagram_number(whole, sizeof(whole), 0), 0x0102030405060708);
	assert_int_equal(wp_datagram_sent_ns(whole), 0x1112131415161718);
}

static void a_run_is_datagram_by_datagram(void **state)
{
	(void)state;
	for (size_t len = 1; len <= 100; len++) {
		uint8_t run[700], single[700];

		memset(run, 0xee, sizeof(run));
		memset(single, 0xee, sizeof(single));
		wp_datagram_write_run(run, len, 7, BEYOND - 3, 0x1112131415161718);
		for (size_t i = 0; i < 7; i++)
			wp_datagram_write(single + i * len, len, BEYOND - 3 + i,
					  0x1112131415161718);
		assert_memory_equal(run, single, sizeof(run));
	}
}

static void end_markers(void **state)
{
	static const uint8_t marker[32] = {
		'W', 'P', 'E', '1', 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6
	};
	static const uint8_t preamble[32] = "WPD1 whatever follows, 32 bytes";
	uint8_t out[32], data[32];

	(void)state;
	wp_datagram_write_end(out, 0x010203040506);
	assert_memory_equal(out, marker, sizeof(out));
	assert_int_equal(wp_datagram_kind(out), WP_DATAGRAM_END);
	assert_int_equal(wp_datagram_end_total(out), 0x010203040506);
	assert_int_equal(wp_datagram_kind(preamble), WP_DATAGRAM_PREAMBLE);
	/* The highest number that a century of the fastest sender reaches is still data. */
	memset(data, 0, sizeof(data));
	wp_datagram_write(data, sizeof(data), UINT64_C(1) << 60, 0);
	assert_int_equal(wp_datagram_kind(data), WP_DATAGRAM_DATA);
}

static void truncated_numbers_are_extended_to_the_nearest(void **state)
{
	struct wp_rng rng;

	(void)state;
	wp_rng_seed(&rng, 1);
	for (size_t len = 4; len <= 7; len++) {
		uint64_t span = UINT64_C(1) << (8 * len),
			 near[] = { 0,    1,        span / 2,     span - 1,
				    span, span + 1, 5 * span - 3, span * 9 / 2 };

		for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++)
			for (int k = 0; k < 200; k++) {
				uint64_t away = wp_rng_below(&rng, span / 2), number;
				uint8_t out[8];

				number = k % 2 || away > near[i] ? near[i] + away : near[i] - away;
				wp_datagram_write(out, len, number, 0);
				assert_int_equal(wp_datagram_number(out, len, near[i]), number);
			}
	}
}

/* ---- sequences ---- */

struct seen {
	struct udp_sequence q;
	uint64_t packets;
};

static void seen_begin(struct seen *s)
{
	*s = (struct seen) { 0 };
	assert_int_equal(udp_sequence_init(&s->q), 0);
}

static void arrive(struct seen *s, uint64_t number)
{
	assert_true(udp_sequence_arrived(&s->q, number));
	s->packets++;
}

static void assert_seen(const struct seen *s, uint64_t next, uint64_t out_of_order,
			uint64_t duplicated, uint64_t late)
{
	assert_int_equal(s->q.next, next);
	assert_int_equal(s->q.out_of_order, out_of_order);
	assert_int_equal(s->q.duplicated, duplicated);
	assert_int_equal(s->q.late, late);
}

static uint64_t lost(const struct seen *s)
{
	return s->q.next - (s->packets - s->q.duplicated - s->q.late);
}

static void in_order_across_the_window_and_beyond_2_32(void **state)
{
	static const uint64_t starts[] = { 0, UDP_WINDOW - 5, BEYOND - 3, UINT64_C(1) << 59 };

	(void)state;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		struct seen s;

		seen_begin(&s);
		s.q.next = starts[i];
		for (uint64_t n = 0; n < 3 * UDP_WINDOW; n++)
			arrive(&s, starts[i] + n);
		assert_seen(&s, starts[i] + 3 * UDP_WINDOW, 0, 0, 0);
		udp_sequence_done(&s.q);
	}
}

static void gaps_are_lost_until_they_are_filled(void **state)
{
	struct seen s;

	(void)state;
	seen_begin(&s);
	arrive(&s, 3); /* the first three are missing */
	assert_int_equal(lost(&s), 3);
	arrive(&s, 1);
	assert_int_equal(lost(&s), 2);
	arrive(&s, 1);
	arrive(&s, 3);
	assert_int_equal(lost(&s), 2);
	arrive(&s, 0);
	arrive(&s, 2);
	assert_int_equal(lost(&s), 0);
	assert_seen(&s, 4, 3, 2, 0);
	arrive(&s, 200);
	assert_int_equal(lost(&s), 196);
	for (uint64_t n = 4; n < 200; n++)
		arrive(&s, n);
	assert_int_equal(lost(&s), 0);
	assert_seen(&s, 201, 199, 2, 0);
	udp_sequence_done(&s.q);
}

static void very_late_ones_stay_lost(void **state)
{
	struct seen s;

	(void)state;
	seen_begin(&s);
	for (uint64_t n = 0; n < 10; n++)
		if (n != 4)
			arrive(&s, n);
	arrive(&s, 2 * UDP_WINDOW);
	/* Below the window: 4 is new, 5 is not, and neither can be told. */
	arrive(&s, 4);
	arrive(&s, 5);
	assert_seen(&s, 2 * UDP_WINDOW + 1, 0, 0, 2);
	assert_int_equal(lost(&s), 2 * UDP_WINDOW + 1 - 10);
	/* The oldest that the window still has, and the one before it. */
	arrive(&s, UDP_WINDOW + 64);
	arrive(&s, UDP_WINDOW + 64);
	assert_seen(&s, 2 * UDP_WINDOW + 1, 1, 1, 2);
	arrive(&s, UDP_WINDOW + 63);
	assert_seen(&s, 2 * UDP_WINDOW + 1, 1, 1, 3);
	udp_sequence_done(&s.q);
}

static void jumps_leave_no_old_marks(void **state)
{
	static const uint64_t jumps[] = { 63,
					  64,
					  65,
					  UDP_WINDOW - 64,
					  UDP_WINDOW - 1,
					  UDP_WINDOW,
					  UDP_WINDOW + 1,
					  UDP_WINDOW * 5 + 77,
					  BEYOND - 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
		struct seen s;
		uint64_t top = UDP_WINDOW - 1 + jumps[i], back = jumps[i];

		seen_begin(&s);
		for (uint64_t n = 0; n < UDP_WINDOW; n++)
			arrive(&s, n);
		arrive(&s, top);
		/* All that were skipped and are still in the window are new when they come. */
		if (back > UDP_WINDOW - 64)
			back = UDP_WINDOW - 64;
		for (uint64_t n = top - back + 1; n < top; n++)
			arrive(&s, n);
		assert_seen(&s, top + 1, back - 1, 0, 0);
		udp_sequence_done(&s.q);
	}
}

static void absurd_numbers_change_nothing(void **state)
{
	struct seen s;

	(void)state;
	seen_begin(&s);
	arrive(&s, 0);
	assert_false(udp_sequence_arrived(&s.q, BEYOND + 1));
	assert_false(udp_sequence_arrived(&s.q, UINT64_MAX));
	assert_seen(&s, 1, 0, 0, 0);
	arrive(&s, BEYOND);
	assert_seen(&s, BEYOND + 1, 0, 0, 0);
	udp_sequence_done(&s.q);
}

/* Against a plain list of what has arrived. */
static void any_order_is_counted_exactly(void **state)
{
	enum { N = 20000 };
	static uint8_t times[N];
	struct wp_rng rng;

	(void)state;
	for (uint64_t seed = 0; seed < 5; seed++) {
		uint64_t top = 0, reordered = 0, again = 0, base = seed * (BEYOND / 2 - N / 4);
		struct seen s;

		seen_begin(&s);
		s.q.next = base;
		memset(times, 0, sizeof(times));
		wp_rng_seed(&rng, seed);
		for (int k = 0; k < 2 * N; k++) {
			uint64_t n = (uint64_t)k / 2 + wp_rng_below(&rng, 300);

			n = n < N ? n : N - 1;
			again += times[n] > 0;
			reordered += times[n] == 0 && n + 1 < top;
			times[n] = 1;
			top = n + 1 > top ? n + 1 : top;
			arrive(&s, base + n);
		}
		assert_seen(&s, base + top, reordered, again, 0);
		udp_sequence_done(&s.q);
	}
}

/* ---- timers ---- */

static void timers_come_in_order(void **state)
{
	enum { N = 500 };
	static struct udp_timer t[N];
	static struct udp_timer *heap[N];
	struct udp_timers all = { .heap = heap };
	struct wp_rng rng;
	int64_t before = 0;
	size_t in = 0;

	(void)state;
	wp_rng_seed(&rng, 3);
	memset(t, 0, sizeof(t));
	for (int k = 0; k < 20000; k++) {
		struct udp_timer *one = &t[wp_rng_below(&rng, N)];
		int64_t due = (int64_t)wp_rng_below(&rng, 1000);

		udp_timers_set(&all, one, due < 100 ? UDP_NEVER : due);
	}
	for (size_t i = 0; i < N; i++)
		in += t[i].at > 0;
	assert_int_equal(in, all.n);
	while (all.n > 0) {
		struct udp_timer *first = udp_timers_first(&all);

		assert_true(first->due_ns >= before);
		before = first->due_ns;
		udp_timers_set(&all, first, UDP_NEVER);
		assert_int_equal(first->at, 0);
		in--;
	}
	assert_int_equal(in, 0);
	assert_null(udp_timers_first(&all));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_as_documented),
		cmocka_unit_test(a_run_is_datagram_by_datagram),
		cmocka_unit_test(end_markers),
		cmocka_unit_test(truncated_numbers_are_extended_to_the_nearest),
		cmocka_unit_test(in_order_across_the_window_and_beyond_2_32),
		cmocka_unit_test(gaps_are_lost_until_they_are_filled),
		cmocka_unit_test(very_late_ones_stay_lost),
		cmocka_unit_test(jumps_leave_no_old_marks),
		cmocka_unit_test(absurd_numbers_change_nothing),
		cmocka_unit_test(any_order_is_counted_exactly),
		cmocka_unit_test(timers_come_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
