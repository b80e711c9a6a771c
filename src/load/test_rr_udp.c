/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests and responses in datagrams. Every fault that a network can plant is planted by a server of the test's own:
 * what is lost, late, twice or foreign is counted as that, once, and nothing stalls.
 */
#include "load/testrr.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define LATE_MAX 4096

static const enum wp_wait waits[] = { WP_WAIT_AUTO, WP_WAIT_BLOCK, WP_WAIT_EPOLL, WP_WAIT_SPIN };

/* ---- a server with faults ---- */

enum fault {
	FAULT_NONE,
	FAULT_DROP,      /* no response */
	FAULT_TWICE,     /* two */
	FAULT_LATE,      /* with the next fault, long after its time */
	FAULT_OTHER_ID,  /* of an id that was never there */
	FAULT_OTHER_LEN, /* a datagram of another length before the response */
	FAULT_BACKWARDS, /* of every `every` requests, the last first */
};

struct faulty {
	int fd;
	size_t request, response;
	unsigned every; /* each such request has the fault */
	enum fault fault;
	int64_t late_ns;
	_Atomic bool quit;
	uint64_t seen, faults, late_sent;
	pthread_t thread;
};

static void respond(struct faulty *f, const unsigned char *id, size_t len)
{
	unsigned char out[2048] = { 0 };
	size_t copied = f->request < f->response ? f->request : f->response;

	if (copied > 8)
		copied = 8;
	/* The lower bytes of both ids; in a request of more than 8 bytes the id is its first 8. */
	memcpy(out + (f->response < 8 ? f->response : 8) - copied,
	       id + (f->request < 8 ? f->request : 8) - copied, copied);
	assert_int_equal(send(f->fd, out, len, 0), len);
}

static void *faulty_main(void *arg)
{
	struct faulty *f = arg;
	unsigned char in[2048], kept[64][8];
	struct {
		int64_t at_ns;
		unsigned char id[8];
	} *late = calloc(LATE_MAX, sizeof(*late));
	size_t first_late = 0, n_late = 0;

	while (late && !atomic_load(&f->quit)) {
		struct pollfd p = { .fd = f->fd, .events = POLLIN };
		bool faulty;

		while (first_late < n_late && late[first_late].at_ns <= wp_now_ns()) {
			respond(f, late[first_late++].id, f->response);
			f->late_sent++;
		}
		if (poll(&p, 1, 1) != 1)
			continue;
		if (recv(f->fd, in, sizeof(in), 0) != (ssize_t)f->request)
			continue;
		faulty = ++f->seen % f->every == 0;
		f->faults += faulty;
		if (f->fault == FAULT_BACKWARDS) {
			memcpy(kept[(f->seen - 1) % f->every], in, 8);
			for (unsigned i = f->every; faulty && i-- > 0;)
				respond(f, kept[i], f->response);
			continue;
		}
		if (faulty && f->fault == FAULT_LATE && n_late < LATE_MAX) {
			late[n_late].at_ns = wp_now_ns() + f->late_ns;
			memcpy(late[n_late++].id, in, 8);
		}
		if (faulty && (f->fault == FAULT_DROP || f->fault == FAULT_LATE))
			continue;
		if (faulty && f->fault == FAULT_OTHER_LEN)
			respond(f, in, f->response + 1);
		if (faulty && f->fault == FAULT_OTHER_ID) {
			static const unsigned char other[8] = { 0, 0, 0, 0, 0, 0, 0xff, 0xff };

			respond(f, other, f->response);
		}
		respond(f, in, f->response);
		if (faulty && f->fault == FAULT_TWICE)
			respond(f, in, f->response);
	}
	/* Those that are late still come. */
	for (; late && first_late < n_late; first_late++) {
		wp_sleep_until_ns(late[first_late].at_ns);
		respond(f, late[first_late].id, f->response);
		f->late_sent++;
	}
	free(late);
	return NULL;
}

static void faulty_begin(struct faulty *f, const struct test_rr *t)
{
	f->fd = t->server_fd[0];
	f->request = t->plan.length_bytes;
	f->response = t->plan.response_bytes;
	assert_int_equal(pthread_create(&f->thread, NULL, faulty_main, f), 0);
}

static void faulty_end(struct faulty *f)
{
	atomic_store(&f->quit, true);
	pthread_join(f->thread, NULL);
}

/* ---- without faults ---- */

/* Nothing is lost on loopback while the socket buffers hold what is under way. */
static void assert_nothing_lost(struct test_rr *t)
{
	struct wp_stream_count c, s;
	struct wp_hist h;

	test_join(t->client);
	wp_load_stop(t->server);
	test_join(t->server);
	c = test_sum(t->client, t->n);
	s = test_sum(t->server, t->n);
	for (size_t i = 0; i < t->n; i++) {
		assert_int_equal(test_count(t->client, i).error, 0);
		assert_int_equal(test_count(t->server, i).error, 0);
	}
	if (t->requests)
		assert_int_equal(c.transactions, t->requests * t->n);
	assert_int_equal(c.timeouts + c.unanswered + c.late + c.duplicated + c.send_drops, 0);
	assert_int_equal(c.bytes, c.transactions * t->plan.length_bytes);
	assert_int_equal(c.response_bytes, c.transactions * t->plan.response_bytes);
	assert_int_equal(s.transactions, c.transactions);
	assert_int_equal(s.bytes, c.bytes);
	assert_int_equal(s.response_bytes, c.response_bytes);
	test_latency(t->client, &h);
	assert_int_equal(h.n, c.transactions);
	wp_hist_done(&h);
}

static void every_size_is_exact_both_ways(void **state)
{
	static const uint64_t sizes[] = { 1, 2, 4, 7, 8, 32, 1000, 60000 };

	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++)
		for (size_t i = 0; i < WP_ARRAY_SIZE(sizes); i++)
			for (size_t j = 0; j < WP_ARRAY_SIZE(sizes); j++) {
				struct test_rr t = { .plan = test_plan(sizes[i], sizes[j]) };

				t.plan.wait = waits[w];
				t.requests = test_requests(waits[w], 20);
				t.plan.response_timeout_ns = TEST_LONG_S * WP_NS_PER_S;
				test_begin(&t, 1, TEST_UDP);
				assert_nothing_lost(&t);
				test_end(&t);
			}
}

static void requests_under_way_are_exact(void **state)
{
	static const unsigned outstanding[] = { 1, 2, 7, 64 };
	static const size_t connections[] = { 1, 3, 50 };

	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++)
		for (size_t i = 0; i < WP_ARRAY_SIZE(outstanding); i++)
			for (size_t j = 0; j < WP_ARRAY_SIZE(connections); j++) {
				/* One byte: 256 ids, 4 for each of 64; each is used again many times. */
				struct test_rr t = { .plan = test_plan(1, 1) };

				t.plan.wait = waits[w];
				t.requests = test_requests(waits[w], 300);
				t.plan.outstanding = outstanding[i];
				t.plan.response_timeout_ns = TEST_LONG_S * WP_NS_PER_S;
				test_begin(&t, connections[j], TEST_UDP);
				assert_nothing_lost(&t);
				test_end(&t);
			}
}

static void stop_finishes_what_is_under_way(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++)
		for (unsigned outstanding = 1; outstanding <= 8; outstanding += 7) {
			struct test_rr t = { .plan = test_plan(100, 200) };

			t.plan.wait = waits[w];
			t.plan.outstanding = outstanding;
			t.plan.response_timeout_ns = TEST_LONG_S * WP_NS_PER_S;
			test_begin(&t, 3, TEST_UDP);
			test_wait_transactions(&t, test_requests(waits[w], 100));
			wp_load_stop(t.client);
			assert_nothing_lost(&t);
			test_end(&t);
		}
}

/* ---- planted faults ---- */

struct outcome {
	uint64_t transactions, timeouts, late, duplicated;
};

static void with_fault(struct test_rr *t, struct faulty *f, struct outcome *out)
{
	struct wp_stream_count c;
	struct wp_hist h;

	test_connect(t, 1, TEST_UDP);
	faulty_begin(f, t);
	test_begin_client(t);
	test_join(t->client);
	faulty_end(f);
	c = test_count(t->client, 0);
	assert_int_equal(c.error, 0);
	assert_int_equal(c.unanswered, 0);
	assert_int_equal(c.transactions + c.timeouts, t->requests);
	assert_int_equal(c.bytes, t->requests * t->plan.length_bytes);
	assert_int_equal(f->seen, t->requests);
	test_latency(t->client, &h);
	assert_int_equal(h.n, c.transactions);
	wp_hist_done(&h);
	*out = (struct outcome) { c.transactions, c.timeouts, c.late, c.duplicated };
	test_end(t);
}

static void every_seventh_is_lost(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++)
		for (unsigned outstanding = 1; outstanding <= 5; outstanding += 4) {
			struct test_rr t = { .plan = test_plan(16, 16), .requests = 15 };
			struct faulty f = { .every = 7, .fault = FAULT_DROP };
			struct outcome o;

			t.plan.wait = waits[w];
			t.plan.outstanding = outstanding;
			t.plan.response_timeout_ns = 150 * TEST_MS;
			with_fault(&t, &f, &o);
			/* A response that a slow machine makes late would be lost, too: at least these. */
			assert_int_equal(f.faults, 15 / 7);
			assert_int_equal(o.timeouts - o.late, 15 / 7);
			assert_int_equal(o.duplicated, 0);
		}
}

static void late_responses_are_known_and_counted_once(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++)
		for (unsigned outstanding = 1; outstanding <= 5; outstanding += 4)
			for (unsigned size = 1; size <= 8; size += 7) {
				struct test_rr t = { .plan = test_plan(size, size),
						     .requests = outstanding == 1 ? 40 : 160 };
				struct faulty f = { .every = 10, .fault = FAULT_LATE };
				struct outcome o;

				t.plan.wait = waits[w];
				t.plan.outstanding = outstanding;
				t.plan.response_timeout_ns = 40 * TEST_MS;
				f.late_ns = 80 * TEST_MS;
				with_fault(&t, &f, &o);
				assert_int_equal(f.faults, t.requests / 10);
				/* Faults stop all five at once, and go on when the first have timed out; the late
				 * responses to the last ones may come when nobody listens any more. What was late but
				 * there when a slow machine looked is a transaction. */
				assert_true(o.late + o.duplicated <= o.timeouts);
				assert_true(o.late >= 1);
			}
}

static void responses_that_come_twice_count_once(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++)
		for (unsigned outstanding = 1; outstanding <= 5; outstanding += 4)
			for (unsigned size = 1; size <= 8; size += 7) {
				struct test_rr t = { .plan = test_plan(size, size),
						     .requests = 500 };
				struct faulty f = { .every = 3, .fault = FAULT_TWICE };
				struct outcome o;

				t.plan.wait = waits[w];
				t.plan.outstanding = outstanding;
				t.plan.response_timeout_ns = TEST_LONG_S * WP_NS_PER_S;
				with_fault(&t, &f, &o);
				assert_int_equal(o.transactions, 500);
				assert_int_equal(o.late, 0);
				/* The copies of the last few are not read. */
				assert_true(o.duplicated <= f.faults);
				assert_true(o.duplicated + outstanding + 1 >= f.faults);
			}
}

static void responses_may_come_in_any_order(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++) {
		struct test_rr t = { .plan = test_plan(1, 3), .requests = 512 };
		struct faulty f = { .every = 16, .fault = FAULT_BACKWARDS };
		struct outcome o;

		t.plan.wait = waits[w];
		t.plan.outstanding = 16;
		t.plan.response_timeout_ns = TEST_LONG_S * WP_NS_PER_S;
		with_fault(&t, &f, &o);
		assert_int_equal(o.transactions, 512);
		assert_int_equal(o.late + o.duplicated, 0);
	}
}

static void what_is_no_response_counts_as_none(void **state)
{
	static const enum fault faults[] = { FAULT_OTHER_ID, FAULT_OTHER_LEN };

	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++)
		for (size_t i = 0; i < WP_ARRAY_SIZE(faults); i++) {
			struct test_rr t = { .plan = test_plan(8, 8), .requests = 300 };
			struct faulty f = { .every = 3, .fault = faults[i] };
			struct outcome o;

			t.plan.wait = waits[w];
			t.plan.outstanding = 3;
			t.plan.response_timeout_ns = TEST_LONG_S * WP_NS_PER_S;
			with_fault(&t, &f, &o);
			assert_int_equal(o.transactions, 300);
			assert_int_equal(o.late + o.duplicated, 0);
		}
}

/* Nobody is there: each request is refused by ICMP, waits for its time, and the next one follows. */
static void a_refused_port_is_a_loss_and_no_end(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++) {
		struct test_rr t = { .plan = test_plan(8, 8), .requests = 5 };
		int64_t start = wp_now_ns();
		struct wp_stream_count c;

		t.plan.wait = waits[w];
		t.plan.response_timeout_ns = 10 * TEST_MS;
		test_connect(&t, 1, TEST_UDP);
		wp_close_p(&t.server_fd[0]);
		test_begin_client(&t);
		test_join(t.client);
		c = test_count(t.client, 0);
		assert_int_equal(c.error, 0);
		assert_int_equal(c.timeouts, 5);
		assert_int_equal(c.transactions, 0);
		/* Neither a stall nor a spin. */
		assert_true(wp_now_ns() - start >= 50 * TEST_MS);
		test_end(&t);
	}
}

/* A client that is gone does not end the server; it goes on for whoever comes next. */
static void a_server_outlives_refusals(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++) {
		struct test_rr t = { .plan = test_plan(8, 8) };
		struct wp_addr client;

		t.plan.wait = waits[w];
		test_connect(&t, 1, TEST_UDP);
		assert_int_equal(wp_addr_local(t.client_fd[0], &client), 0);
		for (int i = 0; i < 3; i++)
			assert_int_equal(send(t.client_fd[0], "12345678", 8, 0), 8);
		wp_close_p(&t.client_fd[0]);
		t.server = test_load(&t.plan, t.server_fd, 1, WP_STREAM_RECEIVES, 0);
		wp_load_go(t.server, wp_now_ns());
		test_sleep(20 * TEST_MS);
		assert_false(test_count(t.server, 0).ended);
		wp_load_stop(t.server);
		test_join(t.server);
		assert_int_equal(test_count(t.server, 0).error, 0);
		assert_int_equal(test_count(t.server, 0).bytes, 24);
		test_end(&t);
	}
}

/* The marks of a UDP test are as long as these requests, and get no answer. */
static void marks_are_not_answered(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++) {
		struct test_rr t = { .plan = test_plan(32, 8), .requests = 10 };
		static const char mark[32] = "WPD1";

		t.plan.wait = waits[w];
		t.plan.response_timeout_ns = TEST_LONG_S * WP_NS_PER_S;
		test_connect(&t, 1, TEST_UDP);
		assert_int_equal(send(t.client_fd[0], mark, sizeof(mark), 0), sizeof(mark));
		t.server = test_load(&t.plan, t.server_fd, 1, WP_STREAM_RECEIVES, 0);
		wp_load_go(t.server, wp_now_ns());
		test_begin_client(&t);
		assert_nothing_lost(&t);
		test_end(&t);
	}
}

static void stop_waits_for_the_time_of_what_is_under_way(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++)
		for (unsigned outstanding = 1; outstanding <= 3; outstanding += 2) {
			struct test_rr t = { .plan = test_plan(8, 8) };

			t.plan.wait = waits[w];
			t.plan.outstanding = outstanding;
			t.plan.response_timeout_ns = 100 * TEST_MS;
			test_connect(&t, 1, TEST_UDP);
			test_begin_client(&t);
			test_sleep(20 * TEST_MS);
			wp_load_stop(t.client);
			test_join(t.client);
			assert_int_equal(test_count(t.client, 0).error, 0);
			assert_int_equal(test_count(t.client, 0).unanswered, 0);
			assert_int_equal(test_count(t.client, 0).timeouts % outstanding, 0);
			assert_true(test_count(t.client, 0).timeouts > 0);
			test_end(&t);
		}
}

static void what_is_cut_is_counted(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++) {
		struct test_rr t = { .plan = test_plan(8, 8) };

		t.plan.wait = waits[w];
		t.plan.outstanding = 3;
		t.plan.response_timeout_ns = 3600 * WP_NS_PER_S;
		test_connect(&t, 2, TEST_UDP);
		test_begin_client(&t);
		test_sleep(20 * TEST_MS);
		assert_int_equal(wp_load_join(t.client, wp_now_ns()), -ETIMEDOUT);
		for (size_t i = 0; i < 2; i++) {
			assert_int_equal(test_count(t.client, i).error, -ECANCELED);
			assert_int_equal(test_count(t.client, i).unanswered * 8,
					 test_count(t.client, i).bytes);
			assert_int_equal(test_count(t.client, i).timeouts, 0);
		}
		test_end(&t);
	}
}

static void idle_servers_are_cut_and_stopped(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++)
		for (int cut = 0; cut < 2; cut++) {
			struct test_rr t = { .plan = test_plan(8, 8) };

			t.plan.wait = waits[w];
			test_connect(&t, 2, TEST_UDP);
			t.server = test_load(&t.plan, t.server_fd, 2, WP_STREAM_RECEIVES, 0);
			wp_load_go(t.server, wp_now_ns());
			test_sleep(20 * TEST_MS);
			if (!cut)
				wp_load_stop(t.server);
			assert_int_equal(wp_load_join(t.server, cut ? 0 : test_deadline()),
					 cut ? -ETIMEDOUT : 0);
			assert_int_equal(test_count(t.server, 1).error, cut ? -ECANCELED : 0);
			test_end(&t);
		}
}

static void what_cannot_be_is_refused(void **state)
{
	static const struct {
		uint64_t request, response;
		unsigned outstanding;
		int error;
	} cases[] = {
		{ 65508, 1, 1, -EINVAL }, { 1, 65508, 1, -EINVAL }, { 1, 8, 65, -EINVAL },
		{ 8, 1, 65, -EINVAL },    { 2, 2, 1024, 0 },        { 1, 1, 64, 0 },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
		struct test_rr t = { .plan = test_plan(cases[i].request, cases[i].response) };
		struct wp_stream_spec s = { .role = WP_STREAM_SENDS };
		const struct wp_load_spec spec = { .engine = wp_engine_find("rr"),
						   .plan = &t.plan,
						   .streams = &s,
						   .n_streams = 1 };
		struct wp_load *l = NULL;
		struct wp_err err = { 0 };

		test_connect(&t, 1, TEST_UDP);
		t.plan.outstanding = cases[i].outstanding;
		s.fd = t.client_fd[0];
		assert_int_equal(wp_load_new(&spec, &l, &err), cases[i].error);
		assert_true((cases[i].error < 0) == (err.msg[0] != '\0'));
		wp_load_free(l);
		test_end(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_size_is_exact_both_ways),
		cmocka_unit_test(requests_under_way_are_exact),
		cmocka_unit_test(stop_finishes_what_is_under_way),
		cmocka_unit_test(every_seventh_is_lost),
		cmocka_unit_test(late_responses_are_known_and_counted_once),
		cmocka_unit_test(responses_that_come_twice_count_once),
		cmocka_unit_test(responses_may_come_in_any_order),
		cmocka_unit_test(what_is_no_response_counts_as_none),
		cmocka_unit_test(a_refused_port_is_a_loss_and_no_end),
		cmocka_unit_test(a_server_outlives_refusals),
		cmocka_unit_test(marks_are_not_answered),
		cmocka_unit_test(stop_waits_for_the_time_of_what_is_under_way),
		cmocka_unit_test(what_is_cut_is_counted),
		cmocka_unit_test(idle_servers_are_cut_and_stopped),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, test_raise_fd_limit, NULL);
}
