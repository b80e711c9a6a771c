/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The open loop: requests are due on a line that nothing moves, and none is forgotten. A server of the test's own
 * records when it answers each request; the test knows when each was due.
 */
#include "load/testrr.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static const enum wp_wait waits[] = { WP_WAIT_AUTO, WP_WAIT_BLOCK, WP_WAIT_EPOLL, WP_WAIT_SPIN };

static void set_rate(struct test_rr *t, uint64_t rate_hz)
{
	t->plan.rate_mhz = 1000 * rate_hz;
}

static uint64_t due_by(const struct test_rr *t, int64_t start_ns, int64_t at_ns)
{
	unsigned __int128 ns = (unsigned __int128)(at_ns - start_ns) + 1;
	unsigned __int128 line = ns * t->plan.rate_mhz;

	return (uint64_t)((line + UINT64_C(999999999999)) / UINT64_C(1000000000000));
}

/* ---- a server that stops ---- */

#define SAMPLES_MAX 2000

struct stopping {
	int fd;
	enum test_sockets how; /* TEST_UNIX: a listening socket, a connection for each */
	uint64_t stop_at;      /* request before whose answer it stops */
	int64_t stop_ns;
	uint64_t n; /* requests in all */
	int64_t answered_ns[SAMPLES_MAX];
	bool listens;
	pthread_t thread;
};

static void *stopping_main(void *arg)
{
	struct stopping *f = arg;

	for (uint64_t i = 0; i < f->n; i++) {
		int fd = f->fd;
		char id[8];

		if (f->listens)
			assert_int_equal(wp_sock_accept(f->fd, test_deadline(), &fd, NULL), 0);
		assert_true(wp_fd_wait(fd, POLLIN, test_deadline()) > 0);
		assert_int_equal(wp_sock_read_full(fd, id, sizeof(id), test_deadline()), 0);
		if (i == f->stop_at)
			test_sleep(f->stop_ns);
		f->answered_ns[i] = wp_now_ns();
		assert_int_equal(wp_sock_write_full(fd, id, sizeof(id), test_deadline()), 0);
		if (f->listens)
			close(fd);
	}
	return NULL;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/*
 * The server's list against the client's histogram. A response is there after it was sent, so each of the client's values
 * is at least the list's; how much more is up to the machine, but not a second. A tool that measured from the time of
 * sending would see one slow request, and fail at the median of the stop.
 */
static void assert_percentiles(const struct stopping *f, const struct test_rr *t, int64_t start_ns)
{
	static const double quantiles[] = { 0, .1, .25, .5, .75, .9, .95, .99, .999, 1 };
	double samples[SAMPLES_MAX], sum = 0;
	uint64_t slow = 0, slow_seen = 0;
	struct wp_hist h;

	for (uint64_t j = 0; j < f->n; j++) {
		int64_t due = start_ns + (int64_t)(j * UINT64_C(1000000000000) / t->plan.rate_mhz);

		samples[j] = (double)(f->answered_ns[j] - due);
		assert_true(samples[j] > 0);
		sum += samples[j];
		slow += samples[j] > (double)f->stop_ns / 2;
	}
	qsort(samples, f->n, sizeof(*samples), by_size);
	test_latency(t->client, &h);
	assert_int_equal(h.n, f->n);
	for (size_t i = 0; i < WP_ARRAY_SIZE(quantiles); i++) {
		double rank = ceil(quantiles[i] * (double)f->n);
		double raw = samples[rank < 1 ? 0 : (size_t)rank - 1];
		double seen = test_quantile_ns(&h, quantiles[i]);

		assert_true(seen >= raw * (1 - .004));
		assert_true(seen <= raw + 1e9);
	}
	assert_true(wp_hist_mean(&h) >= sum / (double)f->n);
	/* Every request that was due in the first half of the stop waited for half of it. */
	for (size_t i = 0; i < WP_HIST_BUCKETS(WP_RECORD_HIST_BITS); i++)
		if (wp_hist_high(WP_RECORD_HIST_BITS, i) >= (uint64_t)f->stop_ns / 2)
			slow_seen += h.bucket[i];
	assert_true(slow >= (uint64_t)f->stop_ns / 2 * t->plan.rate_mhz / 1000000000000 - 1);
	assert_true(slow_seen >= slow);
	wp_hist_done(&h);
}

static void stop_seen_by(enum test_sockets how, bool listens, enum wp_wait wait,
			 unsigned outstanding)
{
	struct test_rr t = { .plan = test_plan(8, 8), .requests = 500, .n = 1 };
	static struct stopping f;
	const struct wp_stream_spec none = { .fd = -1, .role = WP_STREAM_SENDS };
	struct wp_stream_spec s = none;
	const struct wp_load_spec spec = {
		.engine = wp_engine_find("rr"), .plan = &t.plan, .streams = &s, .n_streams = 1
	};
	int64_t start;

	set_rate(&t, 1000);
	t.plan.wait = wait;
	t.plan.outstanding = outstanding;
	t.plan.response_timeout_ns = TEST_LONG_S * WP_NS_PER_S;
	f = (struct stopping) { .stop_at = 100,
				.stop_ns = 200 * TEST_MS,
				.n = t.requests,
				.how = how,
				.listens = listens };
	s.limit_bytes = t.requests * 8;
	if (listens) {
		t.plan.connect_each = true;
		t.client_fd[0] = -1;
		assert_int_equal(wp_sock_listen("127.0.0.1", 0, AF_INET, &t.server_fd[0], NULL), 0);
		assert_int_equal(wp_addr_local(t.server_fd[0], &s.remote), 0);
	} else {
		test_connect(&t, 1, how);
		s.fd = t.client_fd[0];
	}
	f.fd = t.server_fd[0];
	assert_int_equal(wp_load_new(&spec, &t.client, NULL), 0);
	assert_int_equal(pthread_create(&f.thread, NULL, stopping_main, &f), 0);
	start = wp_now_ns() + 10 * TEST_MS;
	wp_load_go(t.client, start);
	test_join(t.client);
	pthread_join(f.thread, NULL);
	assert_int_equal(test_count(t.client, 0).error, 0);
	assert_int_equal(test_count(t.client, 0).transactions, t.requests);
	assert_int_equal(test_count(t.client, 0).unanswered, 0);
	assert_int_equal(test_count(t.client, 0).timeouts, 0);
	assert_percentiles(&f, &t, start);
	test_end(&t);
}

static void a_server_that_stops_shows_in_every_request(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++) {
		/* With one under way the others queue up here; with 300 they queue up there. */
		stop_seen_by(TEST_TCP, false, waits[w], 1);
		stop_seen_by(TEST_TCP, false, waits[w], 300);
		stop_seen_by(TEST_UDP, false, waits[w], 1);
	}
	stop_seen_by(TEST_UDP, false, WP_WAIT_EPOLL, 64);
	stop_seen_by(TEST_TCP, true, WP_WAIT_BLOCK, 1);
	stop_seen_by(TEST_TCP, true, WP_WAIT_EPOLL, 1);
}

/* ---- the line ---- */

static void limits_are_exact_at_any_rate(void **state)
{
	static const uint64_t rates[] = { 500, 1000000 };
	static const size_t connections[] = { 1, 7 };

	(void)state;
	for (int how = TEST_TCP; how <= TEST_UDP; how++)
		for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++)
			for (size_t r = 0; r < WP_ARRAY_SIZE(rates); r++)
				for (size_t i = 0; i < WP_ARRAY_SIZE(connections); i++) {
					struct test_rr t = { .plan = test_plan(10, 10),
							     .requests = 14 / connections[i] };
					int64_t start = wp_now_ns();

					set_rate(&t, rates[r]);
					t.plan.wait = waits[w];
					t.plan.poisson = r > 0 && i > 0;
					t.plan.response_timeout_ns = TEST_LONG_S * WP_NS_PER_S;
					test_begin(&t, connections[i], (enum test_sockets)how);
					assert_true(test_wait_done(t.client));
					/* 14 requests: 13 gaps */
					if (!t.plan.poisson)
						assert_true(wp_now_ns() - start >=
							    13 * WP_NS_PER_S / (int64_t)rates[r]);
					if (how == TEST_UDP)
						wp_load_stop(t.server);
					test_ends_agree(&t);
					test_end(&t);
				}
}

/* Every request that was due is in one of the counts. Even arrivals: exactly; Poisson ones: five standard deviations. */
static void assert_none_is_forgotten(const struct test_rr *t, int64_t start, int64_t stopped,
				     int64_t joined)
{
	struct wp_stream_count c = test_sum(t->client, t->n);
	double least = (double)due_by(t, start, stopped), most = (double)due_by(t, start, joined);
	double asked = (double)(c.transactions + c.timeouts + c.unanswered);

	if (t->plan.poisson) {
		least -= 5 * sqrt(least);
		most += 5 * sqrt(most);
	}
	assert_true(asked >= least);
	assert_true(asked <= most);
}

static void what_a_stop_leaves_is_counted(void **state)
{
	static const struct {
		size_t connections;
		unsigned outstanding;
		bool poisson, answers;
	} cases[] = {
		{ 1, 1, false, true }, { 1, 1, true, true },   { 7, 3, false, true },
		{ 7, 3, true, true },  { 1, 1, false, false }, { 7, 3, false, false },
		{ 7, 3, true, false },
	};

	(void)state;
	for (int how = TEST_TCP; how <= TEST_UDP; how++)
		for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++)
			for (size_t i = 0; i < WP_ARRAY_SIZE(cases); i++) {
				struct test_rr t = { .plan = test_plan(8, 8) };
				int64_t start, stopped;

				set_rate(&t, 20000);
				t.plan.wait = waits[w];
				t.plan.outstanding = cases[i].outstanding;
				t.plan.poisson = cases[i].poisson;
				t.plan.response_timeout_ns = 20 * TEST_MS;
				test_connect(&t, cases[i].connections, (enum test_sockets)how);
				if (cases[i].answers) {
					t.server = test_load(&t.plan, t.server_fd, t.n,
							     WP_STREAM_RECEIVES, 0);
					wp_load_go(t.server, wp_now_ns());
				}
				t.client = test_load(&t.plan, t.client_fd, t.n, WP_STREAM_SENDS, 0);
				start = wp_now_ns();
				wp_load_go(t.client, start);
				test_sleep(50 * TEST_MS);
				stopped = wp_now_ns();
				wp_load_stop(t.client);
				/* TCP waits for answers that never come, and is cut. */
				(void)!wp_load_join(t.client, cases[i].answers || how == TEST_UDP
								      ? test_deadline()
								      : stopped + 10 * TEST_MS);
				assert_none_is_forgotten(&t, start, stopped, wp_now_ns());
				if (!cases[i].answers)
					assert_int_equal(test_sum(t.client, t.n).transactions, 0);
				test_end(&t);
			}
}

/* The next request is due in a quarter of an hour. */
static void a_stop_and_a_cut_do_not_wait_for_a_due_time(void **state)
{
	(void)state;
	for (int how = TEST_TCP; how <= TEST_UDP; how++)
		for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++)
			for (int cut = 0; cut < 2; cut++) {
				struct test_rr t = { .plan = test_plan(8, 8) };

				t.plan.rate_mhz = 1;
				t.plan.wait = waits[w];
				test_begin(&t, 1, (enum test_sockets)how);
				test_wait_transactions(&t, 1);
				if (!cut)
					wp_load_stop(t.client);
				assert_int_equal(wp_load_join(t.client, cut ? 0 : test_deadline()),
						 cut ? -ETIMEDOUT : 0);
				assert_int_equal(test_count(t.client, 0).transactions, 1);
				assert_int_equal(test_count(t.client, 0).unanswered, 0);
				assert_int_equal(test_count(t.client, 0).error,
						 cut ? -ECANCELED : 0);
				test_end(&t);
			}
}

/* One of three connections breaks: the others take what is due. */
static void the_others_take_over(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++) {
		struct test_rr t = { .plan = test_plan(8, 8) };
		int64_t start, stopped;

		set_rate(&t, 2000);
		t.plan.wait = waits[w];
		test_connect(&t, 3, TEST_TCP);
		t.server = test_load(&t.plan, t.server_fd, 2, WP_STREAM_RECEIVES, 0);
		wp_load_go(t.server, wp_now_ns());
		wp_close_p(&t.server_fd[2]);
		t.client = test_load(&t.plan, t.client_fd, 3, WP_STREAM_SENDS, 0);
		start = wp_now_ns();
		wp_load_go(t.client, start);
		test_sleep(50 * TEST_MS);
		stopped = wp_now_ns();
		wp_load_stop(t.client);
		test_join(t.client);
		assert_int_equal(test_count(t.client, 0).error, 0);
		assert_int_equal(test_count(t.client, 1).error, 0);
		/* With a CPU for each connection it has a thread of its own, whose requests nobody takes over. */
		if (wp_load_threads(t.client) < 3) {
			assert_true(test_count(t.client, 2).error < 0);
			assert_true(test_count(t.client, 2).unanswered <= 1);
			assert_none_is_forgotten(&t, start, stopped, wp_now_ns());
		}
		test_end(&t);
	}
}

/* Lost datagrams keep their connection busy for their time, and nobody else. */
static void timeouts_do_not_stop_the_line(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++) {
		struct test_rr t = { .plan = test_plan(8, 8), .requests = 40 };

		set_rate(&t, 2000);
		t.plan.wait = waits[w];
		t.plan.outstanding = 4;
		t.plan.response_timeout_ns = 20 * TEST_MS;
		test_connect(&t, 2, TEST_UDP);
		t.server = test_load(&t.plan, t.server_fd, 1, WP_STREAM_RECEIVES, 0);
		wp_load_go(t.server, wp_now_ns());
		test_begin_client(&t);
		test_join(t.client);
		assert_int_equal(test_count(t.client, 1).timeouts, 40);
		assert_int_equal(test_count(t.client, 0).transactions +
					 test_count(t.client, 0).timeouts,
				 40);
		assert_true(test_count(t.client, 0).transactions > 0);
		test_end(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_that_stops_shows_in_every_request),
		cmocka_unit_test(limits_are_exact_at_any_rate),
		cmocka_unit_test(what_a_stop_leaves_is_counted),
		cmocka_unit_test(a_stop_and_a_cut_do_not_wait_for_a_due_time),
		cmocka_unit_test(the_others_take_over),
		cmocka_unit_test(timeouts_do_not_stop_the_line),
	};

	return cmocka_run_group_tests(tests, test_raise_fd_limit, NULL);
}
