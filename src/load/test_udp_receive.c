/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The UDP receiver, fed with datagrams of the test's own: what was lost, doubled, reordered or too late is found exactly,
 * and what is not of the test is not counted.
 */
#include "load/testudp.h"

/* ---- datagrams of the test's own ---- */

static void feed_bytes(const struct test *t, const void *at, size_t len)
{
	assert_int_equal(send(t->p.tx[0], at, len, 0), (ssize_t)len);
}

static void feed(const struct test *t, uint64_t number, int64_t sent_ns)
{
	uint8_t at[2000] = { 0 };

	assert_true(t->plan.length_bytes <= sizeof(at));
	wp_datagram_write(at, t->plan.length_bytes, number, sent_ns);
	feed_bytes(t, at, t->plan.length_bytes);
}

static void feed_end(const struct test *t, uint64_t total)
{
	uint8_t at[WP_DATAGRAM_CONTROL_BYTES];

	wp_datagram_write_end(at, total);
	feed_bytes(t, at, sizeof(at));
}

/* A receiver that the test feeds. */
static void receive(struct test *t)
{
	t->plan.streams = 1;
	connect_pairs(&t->p, 1);
	t->receiver = make_load(t, WP_STREAM_RECEIVES, 0);
	wp_load_go(t->receiver, wp_now_ns());
}

static struct wp_stream_count received(struct test *t)
{
	struct wp_stream_count c;

	assert_int_equal(wp_load_join(t->receiver, SECONDS(LONG_ENOUGH)), 0);
	c = count_of(t->receiver, 0);
	assert_true(c.ended);
	assert_int_equal(c.error, 0);
	assert_int_equal(c.socket_drops, 0);
	return c;
}

static void assert_counts(const struct wp_stream_count *c, uint64_t packets, uint64_t expected,
			  uint64_t out_of_order, uint64_t duplicated, uint64_t late)
{
	assert_int_equal(c->packets, packets);
	assert_int_equal(c->expected, expected);
	assert_int_equal(c->out_of_order, out_of_order);
	assert_int_equal(c->duplicated, duplicated);
	assert_int_equal(c->late, late);
}

static void planted_disorder_is_found_exactly(void **state)
{
	static const uint64_t lengths[] = { 4, 7, 8, 16, 1400 };
	static const uint64_t bases[] = { 0, 65534, 4294967290 };

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(lengths); i++)
		for (size_t j = 0; j < WP_ARRAY_SIZE(bases); j++) {
			struct test t = { .plan = plan_of(lengths[i]) };
			uint64_t sent = 0;
			struct wp_stream_count c;

			receive(&t);
			/* Of ten: one lost, one twice, two swapped. */
			for (uint64_t n = 0; n < 1000; n += 10) {
				static const uint8_t order[] = { 0, 1, 3, 2, 4, 4, 5, 7, 8, 9 };

				for (size_t k = 0; k < sizeof(order); k++, sent++)
					feed(&t, bases[j] + n + order[k], wp_now_ns());
				wait_for_packets(t.receiver, 1, sent);
			}
			feed_end(&t, bases[j] + 1000);
			c = received(&t);
			assert_counts(&c, 1000, bases[j] + 1000, 100, 100, 0);
			assert_int_equal(lost(&c), bases[j] + 100);
			assert_int_equal(c.bytes, 1000 * lengths[i]);
			end(&t);
		}
}

static void a_very_late_one_is_not_lost_and_found(void **state)
{
	struct test t = { .plan = plan_of(16) };
	struct wp_stream_count c;

	(void)state;
	receive(&t);
	for (uint64_t n = 0; n < 10; n++)
		if (n != 3)
			feed(&t, n, wp_now_ns());
	feed(&t, 1000000, wp_now_ns());
	feed(&t, 3, wp_now_ns());
	feed(&t, 4, wp_now_ns());
	feed_end(&t, 1000001);
	c = received(&t);
	assert_counts(&c, 12, 1000001, 0, 0, 2);
	assert_int_equal(lost(&c), 1000001 - 10);
	end(&t);
}

static void datagrams_without_a_number_are_counted(void **state)
{
	(void)state;
	for (uint64_t length = 1; length <= 3; length++) {
		struct test t = { .plan = plan_of(length) };
		struct wp_stream_count c;

		receive(&t);
		for (int k = 0; k < 70; k++)
			feed(&t, 0, 0);
		wait_for_packets(t.receiver, 1, 70);
		/* Nothing is missed while the total is not known. */
		c = count_of(t.receiver, 0);
		assert_counts(&c, 70, 70, 0, 0, 0);
		feed_end(&t, 75);
		c = received(&t);
		assert_counts(&c, 70, 75, 0, 0, 0);
		end(&t);
	}
}

static void a_short_last_one_is_known_by_its_length(void **state)
{
	struct test t = { .plan = plan_of(20) };
	struct wp_stream_count c;

	(void)state;
	receive(&t);
	feed(&t, 0, wp_now_ns());
	feed_bytes(&t, "\0\0", 2);
	feed(&t, 1, wp_now_ns());
	feed_bytes(&t, "\0\0", 2);
	feed_end(&t, 3);
	c = received(&t);
	assert_counts(&c, 4, 3, 0, 1, 0);
	assert_int_equal(lost(&c), 0);
	end(&t);
}

static void garbage_is_not_counted(void **state)
{
	static const uint64_t lengths[] = { 1, 8, 16, 32, 100 };

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(lengths); i++) {
		struct test t = { .plan = plan_of(lengths[i]) };
		uint8_t noise[300];
		struct wp_stream_count c;

		receive(&t);
		memset(noise, 0xff, sizeof(noise));
		/* A preamble that is left over, one of no length, too long ones, absurd numbers. */
		feed_bytes(&t, "WPD1 of the connection, 32 bytes", 32);
		feed_bytes(&t, noise, 0);
		for (size_t len = lengths[i] + 1; len <= sizeof(noise); len++)
			feed_bytes(&t, noise, len);
		if (lengths[i] >= 8)
			feed_bytes(&t, noise, lengths[i]);
		feed(&t, 0, wp_now_ns());
		feed_end(&t, 1);
		c = received(&t);
		assert_counts(&c, 1, 1, 0, 0, 0);
		assert_int_equal(c.bytes, lengths[i]);
		end(&t);
	}
}

static void strangers_are_not_heard(void **state)
{
	struct test t = { .plan = plan_of(16), .p.open_rx = true };
	int stranger = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct wp_stream_count c;
	uint8_t at[16];
	struct wp_addr a;

	(void)state;
	assert_true(stranger >= 0);
	receive(&t);
	assert_int_equal(wp_addr_local(t.p.rx[0], &a), 0);
	for (uint64_t n = 0; n < 100; n++) {
		wp_datagram_write(at, sizeof(at), 1000 + n, 0);
		assert_int_equal(sendto(stranger, at, sizeof(at), 0, &a.sa, a.len), sizeof(at));
		feed(&t, n, wp_now_ns());
	}
	feed_end(&t, 100);
	c = received(&t);
	assert_counts(&c, 100, 100, 0, 0, 0);
	wp_close_p(&stranger);
	end(&t);
}

static void those_after_the_end_marker_still_count(void **state)
{
	struct test t = { .plan = plan_of(16) };
	struct wp_stream_count c;

	(void)state;
	receive(&t);
	feed(&t, 0, wp_now_ns());
	feed_end(&t, 4);
	feed(&t, 3, wp_now_ns());
	feed(&t, 2, wp_now_ns());
	feed_end(&t, 4);
	feed(&t, 2, wp_now_ns());
	c = received(&t);
	assert_counts(&c, 4, 4, 1, 1, 0);
	assert_int_equal(lost(&c), 1);
	end(&t);
}

static void without_an_end_marker_silence_after_the_stop_ends(void **state)
{
	struct test t = { .plan = plan_of(16) };
	struct wp_stream_count c;
	int64_t before;

	(void)state;
	receive(&t);
	feed(&t, 0, wp_now_ns());
	feed(&t, 5, wp_now_ns());
	wait_for_packets(t.receiver, 1, 2);
	before = wp_now_ns();
	wp_load_stop(t.receiver);
	c = received(&t);
	assert_counts(&c, 2, 6, 0, 0, 0);
	/* The end is when the last one came, not when the waiting was over. */
	assert_true(c.last_ns <= before);
	end(&t);
}

static struct wp_hist delays(const struct test *t)
{
	struct wp_hist h;

	assert_int_equal(wp_hist_init(&h, WP_RECORD_HIST_BITS, NULL), 0);
	wp_load_hist(t->receiver, WP_HIST_DELAY, &h);
	return h;
}

static void delays_are_relative_to_the_smallest(void **state)
{
	/* The sender's clock is a year ahead, or began a year ago. */
	static const int64_t clocks[] = { 0, 365 * 86400 * WP_NS_PER_S,
					  -365 * 86400 * WP_NS_PER_S };

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(clocks); i++)
		for (uint64_t n = 5; n <= 500; n += 495) {
			struct test t = { .plan = plan_of(16) };
			struct wp_stream_count c;
			struct wp_hist h;

			receive(&t);
			/* They seem to take longer and longer, a second each. */
			for (uint64_t k = 0; k < n; k++) {
				feed(&t, k, wp_now_ns() + clocks[i] - (int64_t)k * WP_NS_PER_S);
				wait_for_packets(t.receiver, 1, k + 1);
			}
			feed_end(&t, n);
			c = received(&t);
			h = delays(&t);
			assert_int_equal(h.n, n);
			assert_in_range(h.min, 0, WP_NS_PER_S / 2);
			assert_in_range(h.max, (n - 1) * WP_NS_PER_S - WP_NS_PER_S / 2,
					(n - 1) * WP_NS_PER_S + LONG_ENOUGH * WP_NS_PER_S);
			/* |D| is a second from each to the next; after n of them the sixteenth
			 * parts sum up to all but (15/16)^n of it. */
			if (n == 500)
				assert_in_range(c.jitter_ns, WP_NS_PER_S / 2, 2 * WP_NS_PER_S);
			wp_hist_done(&h);
			end(&t);
		}
}

static void times_that_are_none_do_no_harm(void **state)
{
	static const int64_t times[] = { INT64_MIN, INT64_MAX, 0, -1, INT64_MIN + 1, INT64_MAX };
	struct test t = { .plan = plan_of(16) };
	struct wp_hist h;

	(void)state;
	receive(&t);
	for (size_t i = 0; i < WP_ARRAY_SIZE(times); i++)
		feed(&t, i, times[i]);
	feed_end(&t, WP_ARRAY_SIZE(times));
	received(&t);
	h = delays(&t);
	assert_int_equal(h.n, WP_ARRAY_SIZE(times));
	wp_hist_done(&h);
	end(&t);
}

static void datagrams_without_a_time_have_no_delay(void **state)
{
	struct test t = { .plan = plan_of(15), .limit = 15 * 100 };
	struct wp_hist h;

	(void)state;
	begin(&t, 1);
	assert_ends_agree(&t);
	h = delays(&t);
	assert_int_equal(h.n, 0);
	assert_int_equal(count_of(t.receiver, 0).jitter_ns, 0);
	wp_hist_done(&h);
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(planted_disorder_is_found_exactly),
		cmocka_unit_test(a_very_late_one_is_not_lost_and_found),
		cmocka_unit_test(datagrams_without_a_number_are_counted),
		cmocka_unit_test(a_short_last_one_is_known_by_its_length),
		cmocka_unit_test(garbage_is_not_counted),
		cmocka_unit_test(strangers_are_not_heard),
		cmocka_unit_test(those_after_the_end_marker_still_count),
		cmocka_unit_test(without_an_end_marker_silence_after_the_stop_ends),
		cmocka_unit_test(delays_are_relative_to_the_smallest),
		cmocka_unit_test(times_that_are_none_do_no_harm),
		cmocka_unit_test(datagrams_without_a_time_have_no_delay),
	};

	return cmocka_run_group_tests(tests, raise_fd_limit, NULL);
}
