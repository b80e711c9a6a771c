/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The UDP engine over loopback: both ends agree to the datagram, and every state can be stopped, cut and disturbed.
 * Where a test must not lose any, the sender's limit is less than the receive buffer holds.
 */
#include "load/testudp.h"

static void limits_are_exact(void **state)
{
	static const uint64_t lengths[] = { 1, 3, 4, 7, 8, 15, 16, 32, 64, 1400, 9000, 65507 };
	static const uint64_t packets[] = { 1, 64, 130 };

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(lengths); i++)
		for (size_t j = 0; j < WP_ARRAY_SIZE(packets); j++)
			for (uint64_t cut = 0; cut < lengths[i] && cut < 14; cut += 13) {
				struct test t = { .plan = plan_of(lengths[i]),
						  .limit = packets[j] * lengths[i] - cut };
				struct wp_stream_count tx;

				begin(&t, 1);
				assert_ends_agree(&t);
				tx = count_of(t.sender, 0);
				assert_int_equal(tx.packets, packets[j]);
				end(&t);
			}
}

static void stop_ends_both(void **state)
{
	static const size_t streams[] = { 1, 2, 7 };

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(streams); i++) {
		struct test t = { .plan = plan_of(64) };

		begin(&t, streams[i]);
		wait_for_packets(t.receiver, streams[i], 20000);
		wp_load_stop(t.sender);
		/* Stopping receivers changes nothing for them while the end marker comes. */
		wp_load_stop(t.receiver);
		assert_ends_agree(&t);
		end(&t);
	}
}

static void unconnected_ends_work_alike(void **state)
{
	(void)state;
	for (int k = 0; k < 8; k++) {
		struct test t = { .plan = plan_of(100),
				  .limit = 50000,
				  .p = { .v6 = k & 1, .open_tx = k & 2, .open_rx = k & 4 } };
		int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		bool can = fd >= 0;

		t.plan.unconnected = t.p.open_tx;
		wp_close_p(&fd);
		if (t.p.v6 && !can)
			continue;
		begin(&t, 1);
		assert_ends_agree(&t);
		assert_int_equal(count_of(t.receiver, 0).packets, 500);
		end(&t);
	}
}

static bool segments_well(enum wp_stream_role role)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), one = 1;
	int option = role == WP_STREAM_SENDS ? UDP_SEGMENT : UDP_GRO;
	bool can = fd >= 0 && setsockopt(fd, IPPROTO_UDP, option, &one, sizeof(one)) == 0;

	wp_close_p(&fd);
	return can;
}

static void super_packets_are_counted_in_datagrams(void **state)
{
	static const uint64_t lengths[] = { 1, 5, 18, 32, 64, 1400, 20000 };

	(void)state;
	if (!segments_well(WP_STREAM_SENDS) || !segments_well(WP_STREAM_RECEIVES)) {
		print_message("no UDP_SEGMENT or UDP_GRO in this kernel\n");
		skip();
	}
	for (size_t i = 0; i < WP_ARRAY_SIZE(lengths); i++)
		for (int k = 1; k < 4; k++) {
			struct test t = { .plan = plan_of(lengths[i]),
					  .limit = 200 * lengths[i] + lengths[i] / 2 };
			uint64_t packets = 200 + (lengths[i] / 2 > 0);

			t.plan.gso = k & 1;
			t.plan.gro = k & 2;
			begin(&t, 1);
			assert_ends_agree(&t);
			assert_int_equal(count_of(t.sender, 0).packets, packets);
			if (t.plan.gso && lengths[i] < 1000)
				assert_in_range(count_of(t.sender, 0).calls, 1, 3);
			assert_string_equal(wp_load_method(t.sender, WP_STREAM_SENDS),
					    t.plan.gso ? "sendmmsg (GSO)" : "sendmmsg");
			end(&t);
		}
}

static void a_full_socket_buffer_is_counted(void **state)
{
	static const uint64_t windows[] = { 4096, 65536 };

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(windows); i++) {
		struct test t = { .plan = plan_of(64), .limit = 64 * 20000 };
		struct wp_stream_count rx;

		t.plan.window_bytes = windows[i];
		t.plan.streams = 1;
		connect_pairs(&t.p, 1);
		t.receiver = make_load(&t, WP_STREAM_RECEIVES, 0);
		t.sender = make_load(&t, WP_STREAM_SENDS, t.limit);
		/* The receiver comes too late for most; the end markers are repeated for so long. */
		wp_load_go(t.sender, wp_now_ns());
		wait_for_packets(t.sender, 1, 20000);
		wp_load_go(t.receiver, wp_now_ns());
		wp_load_stop(t.receiver);
		assert_int_equal(wp_load_join(t.receiver, SECONDS(LONG_ENOUGH)), 0);
		rx = count_of(t.receiver, 0);
		assert_in_range(rx.packets, 1, windows[i]);
		/* Markers may have been dropped too: five. */
		assert_in_range(rx.socket_drops, 20000 - rx.packets, 20005 - rx.packets);
		end(&t);
	}
}

/* ---- pacing ---- */

static void paced_datagrams_follow_the_rate(void **state)
{
	static const size_t streams[] = { 1, 4 };
	static const uint64_t rates[] = { 100, 20000 };

	(void)state;
	for (size_t k = 0; k < WP_ARRAY_SIZE(streams) * WP_ARRAY_SIZE(rates); k++) {
		struct test t = { .plan = plan_of(100) };
		size_t n = streams[k / 2];
		uint64_t pps = rates[k % 2], sent = 0;
		struct wp_hist h;

		t.plan.rate_bps = pps * 800;
		t.plan.spin = k % 4 == 3;
		begin(&t, n);
		wp_sleep_until_ns(wp_now_ns() + 300 * MS);
		wp_load_stop(t.sender);
		assert_ends_agree(&t);
		for (size_t i = 0; i < n; i++) {
			struct wp_stream_count c = count_of(t.sender, i);
			double seconds = (double)(c.last_ns - c.first_ns) / 1e9;
			double due = seconds * (double)pps + 1;
			double gone = (double)(c.packets + c.shortfall_packets);

			/* The line holds whatever the machine does; a millisecond's worth of play. */
			assert_true(gone > due - 3 - (double)pps / 1000);
			assert_true((double)c.packets < due + 3 + (double)pps / 1000);
			assert_int_equal(c.shortfall_bytes, c.shortfall_packets * 100);
			sent += c.packets;
		}
		assert_int_equal(wp_hist_init(&h, WP_RECORD_HIST_BITS, NULL), 0);
		wp_load_hist(t.sender, WP_HIST_SEND_GAP, &h);
		assert_int_equal(h.n, sent - n);
		wp_hist_done(&h);
		end(&t);
	}
}

static void a_paced_limit_is_exact(void **state)
{
	(void)state;
	for (int gso = 0; gso <= segments_well(WP_STREAM_SENDS); gso++) {
		struct test t = { .plan = plan_of(1000), .limit = 1000003 };

		t.plan.gso = gso;
		t.plan.rate_bps = 50000000;
		begin(&t, 2);
		assert_ends_agree(&t);
		end(&t);
	}
}

static void a_thousand_paced_streams_on_one_cpu(void **state)
{
	int cpu = 0;
	const struct wp_cpulist first = { &cpu, 1 };
	struct test t = { .plan = plan_of(64), .limit = 64 * 10 };
	struct wp_cpulist allowed _cleanup_cpulist_ = { 0 };

	(void)state;
	assert_int_equal(wp_cpulist_allowed(&allowed), 0);
	cpu = allowed.cpu[0];
	t.cpus = &first;
	t.plan.rate_bps = 20 * 64 * 8;
	t.plan.window_bytes = 65536;
	begin(&t, PAIRS_MAX);
	assert_ends_agree(&t);
	for (size_t i = 0; i < PAIRS_MAX; i++)
		assert_int_equal(count_of(t.receiver, i).packets, 10);
	end(&t);
}

/* ---- errors and the end ---- */

static void paced_senders_are_cut(void **state)
{
	(void)state;
	for (size_t n = 1; n <= 3; n += 2) {
		struct test t = { .plan = plan_of(64) };

		t.plan.rate_bps = 64 * 8;
		begin(&t, n);
		wait_for_packets(t.receiver, n, 1);
		assert_int_equal(wp_load_join(t.sender, wp_now_ns() + 20 * MS), -ETIMEDOUT);
		assert_int_equal(count_of(t.sender, 0).error, -ECANCELED);
		/* Without an end marker the receivers go on until they are cut too. */
		assert_int_equal(wp_load_join(t.receiver, wp_now_ns() + 20 * MS), -ETIMEDOUT);
		assert_int_equal(count_of(t.receiver, 0).error, -ECANCELED);
		end(&t);
	}
}

static void flat_out_senders_are_cut(void **state)
{
	(void)state;
	for (size_t n = 1; n <= 3; n += 2) {
		struct test t = { .plan = plan_of(64) };

		begin(&t, n);
		assert_int_equal(wp_load_join(t.sender, wp_now_ns() + 20 * MS), -ETIMEDOUT);
		assert_int_equal(count_of(t.sender, 0).error, -ECANCELED);
		assert_int_equal(wp_load_join(t.receiver, 0), -ETIMEDOUT);
		end(&t);
	}
}

static void slow_paced_senders_stop_at_once(void **state)
{
	(void)state;
	for (size_t n = 1; n <= 3; n += 2) {
		struct test t = { .plan = plan_of(64) };
		int64_t before;

		t.plan.rate_bps = 64 * 8 / 60; /* one a minute */
		begin(&t, n);
		wait_for_packets(t.receiver, n, 1);
		before = wp_now_ns();
		wp_load_stop(t.sender);
		assert_ends_agree(&t);
		assert_true(wp_now_ns() - before < 50 * WP_NS_PER_S);
		end(&t);
	}
}

static void both_directions_on_one_thread(void **state)
{
	struct test t = { .plan = plan_of(64), .limit = 64 * 5000 };
	struct wp_stream_spec s[2];
	int cpu;
	struct wp_cpulist allowed _cleanup_cpulist_ = { 0 };
	const struct wp_cpulist first = { &cpu, 1 };
	const struct wp_load_spec spec = { .engine = wp_engine_find("udp"),
					   .plan = &t.plan,
					   .cpus = &first,
					   .streams = s,
					   .n_streams = 2 };
	struct wp_load *l = NULL;

	(void)state;
	assert_int_equal(wp_cpulist_allowed(&allowed), 0);
	cpu = allowed.cpu[0];
	connect_pairs(&t.p, 1);
	s[0] = (struct wp_stream_spec) { .fd = t.p.tx[0],
					 .role = WP_STREAM_SENDS,
					 .limit_bytes = t.limit };
	s[1] = (struct wp_stream_spec) { .fd = t.p.rx[0], .role = WP_STREAM_RECEIVES };
	assert_int_equal(wp_load_new(&spec, &l, NULL), 0);
	wp_load_go(l, wp_now_ns());
	assert_int_equal(wp_load_join(l, SECONDS(LONG_ENOUGH)), 0);
	assert_int_equal(count_of(l, 0).packets, 5000);
	assert_int_equal(count_of(l, 1).packets + count_of(l, 1).socket_drops, 5000);
	wp_load_free(l);
	close_pairs(&t.p);
}

static void a_port_that_stays_closed_ends_the_sender(void **state)
{
	static const uint64_t rates[] = { 0, 1000 * 64 * 8 };

	(void)state;
	for (size_t n = 1; n <= 3; n += 2)
		for (size_t k = 0; k < WP_ARRAY_SIZE(rates); k++) {
			struct test t = { .plan = plan_of(64) };
			struct pollfd p;

			t.plan.streams = (unsigned)n;
			t.plan.rate_bps = rates[k];
			connect_pairs(&t.p, n);
			for (size_t i = 0; i < n; i++)
				wp_close_p(&t.p.rx[i]);
			t.sender = make_load(&t, WP_STREAM_SENDS, 0);
			wp_load_go(t.sender, wp_now_ns());
			p = (struct pollfd) { wp_load_done_fd(t.sender), POLLIN, 0 };
			assert_int_equal(poll(&p, 1, LONG_ENOUGH * 1000), 1);
			for (size_t i = 0; i < n; i++)
				assert_int_equal(count_of(t.sender, i).error, -ECONNREFUSED);
			end(&t);
		}
}

static void a_port_that_opens_late_ends_nothing(void **state)
{
	(void)state;
	for (size_t n = 1; n <= 2; n++) {
		struct test t = { .plan = plan_of(64), .limit = 64 * 300 };
		struct wp_stream_count tx, rx;
		struct wp_addr a;

		t.plan.streams = (unsigned)n;
		t.plan.rate_bps = 1000 * 64 * 8;
		connect_pairs(&t.p, n);
		assert_int_equal(wp_addr_local(t.p.rx[0], &a), 0);
		wp_close_p(&t.p.rx[0]);
		t.sender = make_load(&t, WP_STREAM_SENDS, t.limit);
		wp_load_go(t.sender, wp_now_ns());
		wait_for_packets(t.sender, 1, 10);
		t.p.rx[0] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		assert_int_equal(bind(t.p.rx[0], &a.sa, a.len), 0);
		assert_int_equal(wp_addr_local(t.p.tx[0], &a), 0);
		assert_int_equal(connect(t.p.rx[0], &a.sa, a.len), 0);
		t.receiver = make_load(&t, WP_STREAM_RECEIVES, 0);
		wp_load_go(t.receiver, wp_now_ns());
		assert_int_equal(wp_load_join(t.sender, SECONDS(LONG_ENOUGH)), 0);
		assert_int_equal(wp_load_join(t.receiver, SECONDS(LONG_ENOUGH)), 0);
		tx = count_of(t.sender, 0);
		rx = count_of(t.receiver, 0);
		assert_int_equal(tx.error, 0);
		assert_int_equal(tx.packets, 300);
		/* Those refused by the closed port were sent, and are lost. */
		assert_int_equal(rx.expected, 300);
		assert_in_range(rx.packets, 1, 299);
		end(&t);
	}
}

static void other_sockets_are_refused(void **state)
{
	const struct wp_plan plan = plan_of(64);
	struct wp_stream_spec s = { .fd = -1, .role = WP_STREAM_SENDS };
	const struct wp_load_spec spec = {
		.engine = wp_engine_find("udp"), .plan = &plan, .streams = &s, .n_streams = 1
	};
	struct wp_load *l = NULL;
	struct wp_err err = { 0 };

	(void)state;
	assert_int_equal(wp_load_new(&spec, &l, &err), -EBADF);
	assert_true(err.msg[0] != '\0');
	s.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(wp_load_new(&spec, &l, NULL), -EPROTOTYPE);
	assert_null(l);
	wp_close_p(&s.fd);
}

static void the_receive_buffer_is_large_or_as_asked(void **state)
{
	struct test t = { .plan = plan_of(64) };
	int before = 0, after = 0;
	socklen_t len = sizeof(int);

	(void)state;
	connect_pairs(&t.p, 1);
	assert_int_equal(getsockopt(t.p.rx[0], SOL_SOCKET, SO_RCVBUF, &before, &len), 0);
	t.receiver = make_load(&t, WP_STREAM_RECEIVES, 0);
	assert_int_equal(getsockopt(t.p.rx[0], SOL_SOCKET, SO_RCVBUF, &after, &len), 0);
	assert_true(after >= before);
	wp_load_free(t.receiver);
	t.plan.window_bytes = 50000;
	t.receiver = make_load(&t, WP_STREAM_RECEIVES, 0);
	assert_int_equal(getsockopt(t.p.rx[0], SOL_SOCKET, SO_RCVBUF, &after, &len), 0);
	assert_int_equal(after, 100000);
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_exact),
		cmocka_unit_test(stop_ends_both),
		cmocka_unit_test(unconnected_ends_work_alike),
		cmocka_unit_test(super_packets_are_counted_in_datagrams),
		cmocka_unit_test(a_full_socket_buffer_is_counted),
		cmocka_unit_test(paced_datagrams_follow_the_rate),
		cmocka_unit_test(a_paced_limit_is_exact),
		cmocka_unit_test(a_thousand_paced_streams_on_one_cpu),
		cmocka_unit_test(paced_senders_are_cut),
		cmocka_unit_test(flat_out_senders_are_cut),
		cmocka_unit_test(slow_paced_senders_stop_at_once),
		cmocka_unit_test(both_directions_on_one_thread),
		cmocka_unit_test(a_port_that_stays_closed_ends_the_sender),
		cmocka_unit_test(a_port_that_opens_late_ends_nothing),
		cmocka_unit_test(other_sockets_are_refused),
		cmocka_unit_test(the_receive_buffer_is_large_or_as_asked),
	};

	return cmocka_run_group_tests(tests, raise_fd_limit, NULL);
}
