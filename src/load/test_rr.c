/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests and responses over TCP in a closed loop: both ends agree to the byte and to the transaction in every way of
 * waiting, and every state can be stopped, cut and broken.
 */
#include "load/testrr.h"

#include <string.h>

static const enum wp_wait waits[] = { WP_WAIT_AUTO, WP_WAIT_BLOCK, WP_WAIT_EPOLL, WP_WAIT_SPIN };

static void every_size_is_exact_both_ways(void **state)
{
	static const uint64_t sizes[] = { 1, 2, 1000, 4097, 65536, 1048576 };

	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++)
		for (size_t i = 0; i < WP_ARRAY_SIZE(sizes); i++)
			for (size_t j = 0; j < WP_ARRAY_SIZE(sizes); j++) {
				struct test_rr t = { .plan = test_plan(sizes[i], sizes[j]) };

				t.plan.wait = waits[w];
				t.requests = sizes[i] + sizes[j] > 100000
						     ? 3
						     : test_requests(waits[w], 20);
				test_begin(&t, 1, TEST_TCP);
				assert_true(test_wait_done(t.client));
				test_ends_agree(&t);
				test_end(&t);
			}
}

static void requests_under_way_are_exact(void **state)
{
	static const unsigned outstanding[] = { 1, 2, 7, 64 };
	static const uint64_t sizes[][2] = {
		{ 1, 1 }, { 1, 5000 }, { 5000, 1 }, { 300000, 300000 }
	};

	(void)state;
	for (int how = TEST_TCP; how <= TEST_UNIX; how++)
		for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++)
			for (size_t i = 0; i < WP_ARRAY_SIZE(outstanding); i++)
				for (size_t j = 0; j < WP_ARRAY_SIZE(sizes); j++) {
					struct test_rr t = { .plan = test_plan(sizes[j][0],
									       sizes[j][1]) };

					t.plan.wait = waits[w];
					t.plan.outstanding = outstanding[i];
					t.requests = test_requests(waits[w],
								   sizes[j][0] > 5000 ? 70 : 200);
					test_begin(&t, 1, (enum test_sockets)how);
					assert_true(test_wait_done(t.client));
					test_ends_agree(&t);
					test_end(&t);
				}
}

/* More than all socket buffers hold is on its way in both directions. */
static void full_buffers_do_not_lock(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++) {
		struct test_rr t = { .plan = test_plan(4 << 20, 4 << 20), .requests = 12 };

		t.plan.wait = waits[w];
		t.plan.outstanding = 6;
		test_begin(&t, 2, TEST_UNIX);
		assert_true(test_wait_done(t.client));
		test_ends_agree(&t);
		test_end(&t);
	}
}

static void a_thousand_connections(void **state)
{
	(void)state;
	if (!test_fds(TEST_FDS))
		skip();
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++) {
		struct test_rr t = { .plan = test_plan(10, 100), .requests = 5 };

		t.plan.wait = waits[w];
		test_begin(&t, TEST_PAIRS_MAX, TEST_TCP);
		assert_true(test_wait_done(t.client));
		test_ends_agree(&t);
		test_end(&t);
	}
}

static void stop_finishes_what_is_under_way(void **state)
{
	static const size_t connections[] = { 1, 3, 20 };

	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++)
		for (size_t i = 0; i < WP_ARRAY_SIZE(connections); i++)
			for (unsigned outstanding = 1; outstanding <= 8; outstanding += 7) {
				struct test_rr t = { .plan = test_plan(100, 200) };

				t.plan.wait = waits[w];
				t.plan.outstanding = outstanding;
				test_begin(&t, connections[i], TEST_TCP);
				test_wait_transactions(&t, test_requests(waits[w], 200));
				wp_load_stop(t.client);
				/* Stopping the server changes nothing for it. */
				wp_load_stop(t.server);
				test_ends_agree(&t);
				assert_int_equal(test_sum(t.client, t.n).unanswered, 0);
				test_end(&t);
			}
}

static void stop_before_the_start_asks_nothing(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++) {
		struct test_rr t = { .plan = test_plan(100, 100) };

		t.plan.wait = waits[w];
		test_connect(&t, 2, TEST_TCP);
		t.server = test_load(&t.plan, t.server_fd, 2, WP_STREAM_RECEIVES, 0);
		t.client = test_load(&t.plan, t.client_fd, 2, WP_STREAM_SENDS, 0);
		wp_load_go(t.server, wp_now_ns());
		wp_load_go(t.client, wp_now_ns() + 3600 * WP_NS_PER_S);
		wp_load_stop(t.client);
		test_ends_agree(&t);
		assert_int_equal(test_sum(t.client, 2).bytes, 0);
		test_end(&t);
	}
}

static void methods_are_named(void **state)
{
	static const struct {
		enum wp_wait wait;
		size_t connections; /* more than there can be CPUs: several a thread */
		unsigned outstanding;
		const char *method;
	} cases[] = {
		{ WP_WAIT_AUTO, 1, 1, "blocking" }, { WP_WAIT_BLOCK, 1, 1, "blocking" },
		{ WP_WAIT_EPOLL, 1, 1, "epoll" },   { WP_WAIT_SPIN, 1, 1, "spin" },
		{ WP_WAIT_AUTO, 1, 2, "epoll" },    { WP_WAIT_BLOCK, 1, 2, "epoll" },
		{ WP_WAIT_AUTO, 1000, 1, "epoll" }, { WP_WAIT_BLOCK, 1000, 1, "epoll" },
		{ WP_WAIT_SPIN, 1000, 1, "spin" },
	};

	(void)state;
	if (!test_fds(TEST_FDS))
		skip();
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		struct test_rr t = { .plan = test_plan(1, 1), .requests = 1 };

		t.plan.wait = cases[i].wait;
		t.plan.outstanding = cases[i].outstanding;
		test_begin(&t, cases[i].connections, TEST_TCP);
		test_ends_agree(&t);
		assert_string_equal(wp_load_method(t.client, WP_STREAM_SENDS), cases[i].method);
		assert_string_equal(wp_load_method(t.server, WP_STREAM_RECEIVES), cases[i].method);
		assert_null(wp_load_method(t.client, WP_STREAM_RECEIVES));
		test_end(&t);
	}
}

/* A server that never answers: what is under way is cut, and counted. */
static void what_is_cut_is_counted(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++)
		for (unsigned outstanding = 1; outstanding <= 3; outstanding += 2) {
			struct test_rr t = { .plan = test_plan(1, 1) };
			int64_t before;

			t.plan.wait = waits[w];
			t.plan.outstanding = outstanding;
			test_connect(&t, 3, TEST_TCP);
			test_begin_client(&t);
			test_sleep(20 * TEST_MS);
			wp_load_stop(t.client);
			before = wp_now_ns();
			assert_int_equal(wp_load_join(t.client, before + 50 * TEST_MS), -ETIMEDOUT);
			assert_true(wp_now_ns() < before + TEST_LONG_S * WP_NS_PER_S);
			for (size_t i = 0; i < 3; i++) {
				struct wp_stream_count c = test_count(t.client, i);

				assert_int_equal(c.error, -ECANCELED);
				assert_int_equal(c.transactions, 0);
				assert_int_equal(c.unanswered, c.bytes);
				assert_true(c.unanswered == outstanding || c.unanswered == 0);
			}
			test_end(&t);
		}
}

static void a_client_that_cannot_write_is_cut(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++) {
		struct test_rr t = { .plan = test_plan(32 << 20, 1) };

		t.plan.wait = waits[w];
		test_connect(&t, 1, TEST_UNIX);
		test_begin_client(&t);
		test_sleep(20 * TEST_MS);
		assert_int_equal(wp_load_join(t.client, wp_now_ns()), -ETIMEDOUT);
		assert_int_equal(test_count(t.client, 0).unanswered, 1);
		assert_true(test_count(t.client, 0).bytes < 32 << 20);
		test_end(&t);
	}
}

/* Idle, and with a response that nobody reads. */
static void servers_are_cut(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++)
		for (int busy = 0; busy < 2; busy++) {
			struct test_rr t = { .plan = test_plan(1, 32 << 20) };

			t.plan.wait = waits[w];
			test_connect(&t, 1, TEST_UNIX);
			if (busy)
				assert_int_equal(write(t.client_fd[0], "?", 1), 1);
			t.server = test_load(&t.plan, t.server_fd, 1, WP_STREAM_RECEIVES, 0);
			wp_load_go(t.server, wp_now_ns());
			test_sleep(20 * TEST_MS);
			wp_load_stop(t.server);
			assert_int_equal(wp_load_join(t.server, wp_now_ns() + TEST_MS), -ETIMEDOUT);
			assert_int_equal(test_count(t.server, 0).error, -ECANCELED);
			assert_int_equal(test_count(t.server, 0).transactions, 0);
			test_end(&t);
		}
}

/* Of three servers one closes after half a response. */
static void a_server_that_closes_ends_that_client_only(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++) {
		struct test_rr t = { .plan = test_plan(1, 2) };
		char request;

		t.plan.wait = waits[w];
		test_connect(&t, 3, TEST_TCP);
		t.server = test_load(&t.plan, t.server_fd, 2, WP_STREAM_RECEIVES, 0);
		wp_load_go(t.server, wp_now_ns());
		test_begin_client(&t);
		assert_int_equal(wp_sock_read_full(t.server_fd[2], &request, 1, test_deadline()),
				 0);
		assert_int_equal(write(t.server_fd[2], "!", 1), 1);
		wp_close_p(&t.server_fd[2]);
		test_wait_transactions(&t, test_requests(waits[w], 100));
		while (!test_count(t.client, 2).ended)
			test_sleep(TEST_MS);
		assert_int_equal(test_count(t.client, 2).error, -ECONNRESET);
		assert_int_equal(test_count(t.client, 2).unanswered, 1);
		assert_int_equal(test_count(t.client, 2).transactions, 0);
		wp_load_stop(t.client);
		test_join(t.client);
		test_join(t.server);
		for (size_t i = 0; i < 2; i++) {
			assert_int_equal(test_count(t.client, i).error, 0);
			assert_int_equal(test_count(t.client, i).transactions,
					 test_count(t.server, i).transactions);
		}
		test_end(&t);
	}
}

static void a_client_that_dies_in_a_request_ends_the_server(void **state)
{
	static const struct {
		const char *request;
		int error;
		uint64_t answers;
	} cases[] = {
		{ "", 0, 0 },
		{ "ab", -ECONNRESET, 0 },
		{ "abc", 0, 1 },
		{ "abcd", -ECONNRESET, 1 },
	};

	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++)
		for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
			struct test_rr t = { .plan = test_plan(3, 5) };
			size_t len = strlen(cases[i].request);

			t.plan.wait = waits[w];
			test_connect(&t, 1, TEST_TCP);
			t.server = test_load(&t.plan, t.server_fd, 1, WP_STREAM_RECEIVES, 0);
			wp_load_go(t.server, wp_now_ns());
			assert_int_equal(write(t.client_fd[0], cases[i].request, len), len);
			assert_int_equal(shutdown(t.client_fd[0], SHUT_WR), 0);
			test_join(t.server);
			assert_int_equal(test_count(t.server, 0).error, cases[i].error);
			/* What came at once with the beginning of the next request is answered all the same
			 * unless the end is there already. */
			assert_true(test_count(t.server, 0).transactions <= cases[i].answers);
			if (cases[i].error == 0)
				assert_int_equal(test_count(t.server, 0).transactions,
						 cases[i].answers);
			test_end(&t);
		}
}

static void a_reset_ends_both(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++) {
		const struct linger at_once = { 1, 0 };
		struct test_rr t = { .plan = test_plan(1, 1) };

		t.plan.wait = waits[w];
		test_connect(&t, 1, TEST_TCP);
		test_begin_client(&t);
		test_sleep(10 * TEST_MS);
		assert_int_equal(setsockopt(t.server_fd[0], SOL_SOCKET, SO_LINGER, &at_once,
					    sizeof(at_once)),
				 0);
		wp_close_p(&t.server_fd[0]);
		test_join(t.client);
		assert_true(test_count(t.client, 0).error == -ECONNRESET ||
			    test_count(t.client, 0).error == -EPIPE);
		assert_int_equal(test_count(t.client, 0).unanswered, 1);
		test_end(&t);
	}
}

static void a_server_that_says_too_much_is_an_error(void **state)
{
	struct test_rr t = { .plan = test_plan(1, 1) };

	(void)state;
	t.plan.wait = WP_WAIT_EPOLL;
	t.plan.rate_mhz = 1; /* the next is due in 1000 s */
	test_connect(&t, 1, TEST_TCP);
	test_begin_client(&t);
	assert_int_equal(write(t.server_fd[0], "!!", 2), 2);
	test_join(t.client);
	assert_int_equal(test_count(t.client, 0).error, -EPROTO);
	test_end(&t);
}

static void what_cannot_be_is_refused(void **state)
{
	static const struct {
		uint64_t response, limit;
		unsigned streams, outstanding;
		int fd, error;
	} cases[] = {
		{ 0, 0, 1, 1, 0, -EINVAL },
		{ WP_MAX_LENGTH_BYTES + UINT64_C(1), 0, 1, 1, 0, -EINVAL },
		{ 1, 0, 1, 0, 0, -EINVAL },
		{ 1, 0, 1, WP_MAX_OUTSTANDING + 1, 0, -EINVAL },
		{ 1, 0, WP_MAX_CONNECTIONS, WP_MAX_OUTSTANDING, 0, -EINVAL },
		{ 1, 15, 1, 1, 0, -EINVAL },
		{ 1, 0, 1, 1, -1, -EBADF },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		struct test_rr t = { .plan = test_plan(10, cases[i].response) };
		struct wp_stream_spec s = { .role = WP_STREAM_SENDS,
					    .limit_bytes = cases[i].limit };
		const struct wp_load_spec spec = { .engine = wp_engine_find("rr"),
						   .plan = &t.plan,
						   .streams = &s,
						   .n_streams = 1 };
		struct wp_load *l = NULL;
		struct wp_err err = { 0 };

		test_connect(&t, 1, TEST_TCP);
		t.plan.streams = cases[i].streams;
		t.plan.outstanding = cases[i].outstanding;
		s.fd = cases[i].fd < 0 ? -1 : t.client_fd[0];
		assert_int_equal(wp_load_new(&spec, &l, &err), cases[i].error);
		assert_true(err.msg[0] != '\0');
		test_end(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_size_is_exact_both_ways),
		cmocka_unit_test(requests_under_way_are_exact),
		cmocka_unit_test(full_buffers_do_not_lock),
		cmocka_unit_test(a_thousand_connections),
		cmocka_unit_test(stop_finishes_what_is_under_way),
		cmocka_unit_test(stop_before_the_start_asks_nothing),
		cmocka_unit_test(methods_are_named),
		cmocka_unit_test(what_is_cut_is_counted),
		cmocka_unit_test(a_client_that_cannot_write_is_cut),
		cmocka_unit_test(servers_are_cut),
		cmocka_unit_test(a_server_that_closes_ends_that_client_only),
		cmocka_unit_test(a_client_that_dies_in_a_request_ends_the_server),
		cmocka_unit_test(a_reset_ends_both),
		cmocka_unit_test(a_server_that_says_too_much_is_an_error),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, test_raise_fd_limit, NULL);
}
