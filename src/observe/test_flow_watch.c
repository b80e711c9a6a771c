/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows and totals of datagrams and transactions, from counts as the load has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "observe/flow_watch.h"

static void open_watch(struct wp_flow_watch *w, const struct wp_plan *plan, unsigned caps,
		       enum wp_stream_role role, size_t n_streams)
{
	const struct wp_stream_spec stream = { .fd = -1, .role = role };
	const struct wp_flow_spec spec = {
		.plan = plan, .caps = caps, .stream = &stream, .n_streams = n_streams, .rows = 16
	};
	const struct wp_flow_reading first = { .now_ns = WP_NS_PER_S };

	assert_int_equal(wp_flow_watch_init(w, &spec), 0);
	wp_flow_watch_start(w, &first);
}

/* The row that ends `s` seconds after the start. */
static struct wp_interval row_at(struct wp_flow_watch *w, double s, struct wp_stream_count count,
				 bool omitted)
{
	const struct wp_flow_reading now = { .now_ns = WP_NS_PER_S + (int64_t)(s * 1e9),
					     .count = count };

	return wp_flow_watch_row(w, &now, omitted, true);
}

static void is(struct wp_num n, double want)
{
	if (!wp_has(n) || n.v != want)
		fail_msg("%g (%s) instead of %g", n.v, n.why ? n.why : "a value", want);
}

static void absent(struct wp_num n, const char *why)
{
	assert_int_equal(n.state, WP_NUM_ABSENT);
	if (!n.why || !strstr(n.why, why))
		fail_msg("'%s' instead of '%s'", n.why ? n.why : "no reason", why);
}

/* A key that a row or an end leaves out. */
static void left_out(struct wp_num n)
{
	assert_int_equal(n.state, WP_NUM_ABSENT);
	assert_null(n.why);
}

static void a_receiver_of_datagrams_knows_what_became_of_them(void **state)
{
	const struct wp_plan plan = { .kind = "udp", .transport = WP_UDP, .length_bytes = 64 };
	struct wp_pool pool = WP_POOL(1 << 20);
	struct wp_flow_watch w;
	struct wp_interval row;
	struct wp_flow f = { 0 };
	struct wp_stream_count last = { 0 };

	(void)state;
	open_watch(&w, &plan, WP_ENGINE_DATAGRAMS, WP_STREAM_RECEIVES, 1);
	/* warm-up: 100 sent, 90 came, 5 of them twice, 2 dropped at the socket */
	row = row_at(&w, 1,
		     (struct wp_stream_count) { .bytes = 95 * 64,
						.packets = 95,
						.expected = 100,
						.duplicated = 5,
						.socket_drops = 2,
						.jitter_ns = 1500 },
		     true);
	is(row.packets, 95);
	is(row.lost, 10);
	is(row.duplicated, 5);
	is(row.socket_drops, 2);
	is(row.jitter_us, 1.5);
	is(row.bits_per_second, 95 * 64 * 8);
	absent(row.cwnd_bytes, "not with UDP");
	absent(row.retransmits, "not with UDP");
	left_out(row.send_drops);
	left_out(row.transactions);
	wp_flow_watch_open_window(&w);
	/* four of the lost come after all, out of order, and nothing is new: a row that gives back */
	row = row_at(&w, 2,
		     (struct wp_stream_count) { .bytes = 99 * 64,
						.packets = 99,
						.expected = 100,
						.duplicated = 5,
						.out_of_order = 4,
						.socket_drops = 2,
						.jitter_ns = 1000 },
		     false);
	is(row.lost, -4);
	is(row.out_of_order, 4);
	/* 100 more, of which 97 come, and one so late that it may be a duplicate */
	last = (struct wp_stream_count) { .bytes = 197 * 64,
					  .packets = 197,
					  .expected = 200,
					  .duplicated = 5,
					  .out_of_order = 5,
					  .late = 1,
					  .socket_drops = 3,
					  .calls = 40,
					  .jitter_ns = 2000 };
	row = row_at(&w, 3, last, false);
	is(row.packets, 98);
	is(row.lost, 3);
	assert_int_equal(wp_flow_watch_result(&w, &last, &f, &pool), 0);
	assert_string_equal(f.role, "receiver");
	is(f.received.packets, 102);
	is(f.received.lost, -1);
	is(f.received.all_lost, 9); /* 200 - (197 - 5 - 1): as the rows together */
	is(f.received.late, 1);
	is(f.received.all_duplicated, 5);
	is(f.received.duplicated, 0);
	is(f.received.out_of_order, 5);
	is(f.received.socket_drops, 1);
	is(f.received.all_socket_drops, 3);
	is(f.received.all_packets, 197);
	is(f.received.jitter_us, 2);
	is(f.received.seconds, 2);
	absent(f.received.send_drops, "known to the sender");
	absent(f.received.retransmits, "UDP sends nothing again");
	absent(f.min_rtt_us, "not with UDP");
	absent(f.busy_pct, "not with UDP");
	assert_int_equal(f.n_intervals, 3);
	wp_flow_watch_done(&w);
	wp_pool_done(&pool);
}

static void a_sender_of_datagrams_knows_what_was_refused(void **state)
{
	struct wp_plan plan = {
		.kind = "udp", .transport = WP_UDP, .length_bytes = 100, .rate_bps = 80000
	};
	const struct wp_stream_count last = { .bytes = 9000,
					      .calls = 90,
					      .packets = 90,
					      .send_drops = 7,
					      .shortfall_packets = 3,
					      .error = -ECONNREFUSED };
	struct wp_pool pool = WP_POOL(1 << 20);
	struct wp_flow_watch w;
	struct wp_interval row;
	struct wp_flow f = { 0 };

	(void)state;
	open_watch(&w, &plan, WP_ENGINE_DATAGRAMS, WP_STREAM_SENDS, 1);
	row = row_at(&w, 1, last, false);
	is(row.packets, 90);
	is(row.send_drops, 7);
	is(row.shortfall_packets, 3);
	absent(row.lost, "known to the receiver");
	left_out(row.out_of_order);
	left_out(row.socket_drops);
	assert_int_equal(wp_flow_watch_result(&w, &last, &f, &pool), 0);
	is(f.sent.send_drops, 7);
	is(f.sent.all_send_drops, 7);
	is(f.sent.shortfall_packets, 3);
	is(f.sent.shortfall_bytes, 300);
	is(f.sent.mean_call_bytes, 100);
	absent(f.sent.socket_drops, "known to the receiver");
	assert_non_null(strstr(f.note, "Connection refused"));
	wp_flow_watch_done(&w);

	plan.rate_bps = 0;
	open_watch(&w, &plan, WP_ENGINE_DATAGRAMS, WP_STREAM_SENDS, 1);
	row = row_at(&w, 1, last, false);
	absent(row.shortfall_packets, "not paced");
	wp_flow_watch_done(&w);
	wp_pool_done(&pool);
}

static void short_datagrams_say_what_they_cannot_tell(void **state)
{
	struct wp_plan plan = { .kind = "udp", .transport = WP_UDP, .length_bytes = 8 };
	const struct wp_stream_count count = {
		.bytes = 24, .packets = 3, .expected = 4, .jitter_ns = 1
	};
	struct wp_pool pool = WP_POOL(1 << 20);
	struct wp_flow_watch w;
	struct wp_interval row;
	struct wp_flow f = { 0 };

	(void)state;
	open_watch(&w, &plan, WP_ENGINE_DATAGRAMS, WP_STREAM_RECEIVES, 1);
	row = row_at(&w, 1, count, false);
	is(row.lost, 1);
	is(row.duplicated, 0);
	absent(row.jitter_us, "16 bytes");
	wp_flow_watch_done(&w);

	plan.length_bytes = 3;
	open_watch(&w, &plan, WP_ENGINE_DATAGRAMS, WP_STREAM_RECEIVES, 1);
	row = row_at(&w, 1, count, false);
	absent(row.lost, "4 bytes");
	absent(row.out_of_order, "4 bytes");
	absent(row.duplicated, "4 bytes");
	assert_int_equal(wp_flow_watch_result(&w, &count, &f, &pool), 0);
	is(f.received.lost, 1); /* the sender's total has come with its end marker */
	absent(f.received.duplicated, "4 bytes");
	wp_flow_watch_done(&w);
	wp_pool_done(&pool);
}

static void transactions_have_the_latencies_of_their_row(void **state)
{
	const struct wp_plan plan = { .kind = "rr", .transport = WP_UDP, .length_bytes = 1 };
	struct wp_stream_count count = { .bytes = 200, .transactions = 100 };
	struct wp_flow_reading now = { .now_ns = 2 * WP_NS_PER_S, .count = count };
	struct wp_pool pool = WP_POOL(1 << 20);
	struct wp_hist h;
	struct wp_flow_watch w;
	struct wp_interval row;
	struct wp_flow f = { .role = "sender" };

	(void)state;
	assert_int_equal(wp_hist_init(&h, WP_RECORD_HIST_BITS, NULL), 0);
	open_watch(&w, &plan, WP_ENGINE_TRANSACTIONS, WP_STREAM_SENDS, 40);
	wp_hist_add_n(&h, 20000, 99);
	wp_hist_add(&h, 7000000);
	now.latency = &h;
	row = wp_flow_watch_row(&w, &now, true, true);
	is(row.transactions, 100);
	is(row.timeouts, 0);
	assert_true(row.latency_p50_us.v > 19.8 && row.latency_p50_us.v < 20.2);
	is(row.latency_max_us, 7000);
	absent(row.cwnd_bytes, "not with UDP");
	left_out(row.out_of_order);
	wp_flow_watch_open_window(&w);

	/* In the second row nothing took so long, and two requests were lost. */
	wp_hist_add_n(&h, 40000, 50);
	now.count.transactions = 150;
	now.count.timeouts = 2;
	now.now_ns += WP_NS_PER_S;
	row = wp_flow_watch_row(&w, &now, false, true);
	is(row.transactions, 50);
	is(row.timeouts, 2);
	assert_true(row.latency_p50_us.v > 39.7 && row.latency_p50_us.v < 40.3);
	assert_true(row.latency_max_us.v >= 40 && row.latency_max_us.v < 40.4);

	now.now_ns += WP_NS_PER_S;
	row = wp_flow_watch_row(&w, &now, false, true);
	is(row.transactions, 0);
	absent(row.latency_p99_us, "no transaction was completed");

	assert_int_equal(wp_flow_watch_result(&w, &now.count, &f, &pool), 0);
	assert_string_equal(f.role, "both");
	is(f.connections, 40);
	is(f.sent.transactions, 50);
	is(f.sent.timeouts, 2);
	is(f.sent.seconds, 2);
	wp_flow_watch_done(&w);
	wp_hist_done(&h);
	wp_pool_done(&pool);
}

static void who_answers_counts_but_does_not_time(void **state)
{
	const struct wp_plan plan = { .kind = "rr", .transport = WP_TCP, .length_bytes = 1 };
	struct wp_stream_count count = { .bytes = 200, .transactions = 100 };
	struct wp_pool pool = WP_POOL(1 << 20);
	struct wp_flow_watch w;
	struct wp_interval row;
	struct wp_flow f = { 0 };

	(void)state;
	open_watch(&w, &plan, WP_ENGINE_TRANSACTIONS, WP_STREAM_RECEIVES, 1);
	row = row_at(&w, 1, count, false);
	is(row.transactions, 100);
	left_out(row.latency_p50_us);
	left_out(row.timeouts);
	absent(row.rtt_us, "a sum of connections");
	assert_int_equal(wp_flow_watch_result(&w, &count, &f, &pool), 0);
	is(f.received.transactions, 100);
	absent(f.received.timeouts, "TCP loses none");
	wp_flow_watch_done(&w);
	wp_pool_done(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_receiver_of_datagrams_knows_what_became_of_them),
		cmocka_unit_test(a_sender_of_datagrams_knows_what_was_refused),
		cmocka_unit_test(short_datagrams_say_what_they_cannot_tell),
		cmocka_unit_test(transactions_have_the_latencies_of_their_row),
		cmocka_unit_test(who_answers_counts_but_does_not_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
