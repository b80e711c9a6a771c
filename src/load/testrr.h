/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * testrr.h - for tests only: both ends of a request/response test in one process, a load for each, and what must be
 * true of their accounts.
 */
#ifndef WP_LOAD_TESTRR_H
#define WP_LOAD_TESTRR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "load/load.h"
#include "net/sock.h"

#define TEST_MS        WP_NS_PER_MS
#define TEST_PAIRS_MAX 1200
#define TEST_FDS       2600 /* for TEST_PAIRS_MAX pairs */
#define TEST_LONG_S    60   /* for what must end by itself, on any machine */

enum test_sockets {
	TEST_TCP,
	TEST_UNIX,
	TEST_UDP,
};

struct test_rr {
	struct wp_plan plan;
	uint64_t requests; /* of each connection; 0 = no limit */
	int client_fd[TEST_PAIRS_MAX], server_fd[TEST_PAIRS_MAX];
	size_t n;
	struct wp_load *client, *server;
};

static inline struct wp_plan test_plan(uint64_t request, uint64_t response)
{
	return (struct wp_plan) { .kind = "rr",
				  .streams = 1,
				  .length_bytes = request,
				  .response_bytes = response,
				  .outstanding = 1,
				  .response_timeout_ns = WP_NS_PER_S,
				  .dscp = -1 };
}

/* Spinning ends that share a CPU exchange one message a time slice: on a busy machine a few must do. */
static inline uint64_t test_requests(enum wp_wait wait, uint64_t n)
{
	return wait == WP_WAIT_SPIN ? (n + 9) / 10 : n;
}

static inline int64_t test_deadline(void)
{
	return wp_now_ns() + TEST_LONG_S * WP_NS_PER_S;
}

static inline void test_sleep(int64_t ns)
{
	wp_sleep_until_ns(wp_now_ns() + ns);
}

/* Two UDP sockets of 127.0.0.1, each connected to the other. */
static inline void test_udp_pair(int *a, int *b)
{
	int fds[2];
	struct wp_addr addr[2];

	for (int i = 0; i < 2; i++) {
		struct wp_addr any = { .v4 = { .sin_family = AF_INET,
					       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) },
				       .len = sizeof(any.v4) };

		fds[i] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		assert_true(fds[i] >= 0);
		assert_int_equal(bind(fds[i], &any.sa, any.len), 0);
		assert_int_equal(wp_addr_local(fds[i], &addr[i]), 0);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(connect(fds[i], &addr[!i].sa, addr[!i].len), 0);
	*a = fds[0];
	*b = fds[1];
}

static inline void test_connect(struct test_rr *t, size_t n, enum test_sockets how)
{
	_cleanup_close_ int listener = -1;
	struct wp_connect c = { .host = "127.0.0.1", .timeout_ns = 10 * WP_NS_PER_S };
	struct wp_addr a;

	t->n = n;
	t->plan.streams = (unsigned)n;
	t->plan.transport = how == TEST_UDP ? WP_UDP : WP_TCP;
	if (how == TEST_TCP) {
		assert_int_equal(wp_sock_listen("127.0.0.1", 0, AF_INET, &listener, NULL), 0);
		assert_int_equal(wp_addr_local(listener, &a), 0);
		c.port = wp_addr_port(&a);
	}
	for (size_t i = 0; i < n; i++) {
		int fds[2];

		if (how == TEST_UDP) {
			test_udp_pair(&t->client_fd[i], &t->server_fd[i]);
		} else if (how == TEST_UNIX) {
			assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds),
					 0);
			t->client_fd[i] = fds[0];
			t->server_fd[i] = fds[1];
		} else {
			assert_int_equal(wp_sock_connect(&c, &t->client_fd[i], NULL), 0);
			assert_int_equal(
				wp_sock_accept(listener, test_deadline(), &t->server_fd[i], NULL),
				0);
		}
	}
}

static inline struct wp_load *test_load(const struct wp_plan *plan, const int *fds, size_t n,
					enum wp_stream_role role, uint64_t requests)
{
	struct wp_stream_spec *s = calloc(n, sizeof(*s));
	const struct wp_load_spec spec = {
		.engine = wp_engine_find("rr"), .plan = plan, .streams = s, .n_streams = n
	};
	struct wp_load *l = NULL;
	struct wp_err err = { 0 };

	assert_non_null(s);
	for (size_t i = 0; i < n; i++)
		s[i] = (struct wp_stream_spec) { .fd = fds[i],
						 .role = role,
						 .limit_bytes = requests * plan->length_bytes };
	if (wp_load_new(&spec, &l, &err) < 0)
		fail_msg("%s", err.msg);
	free(s);
	return l;
}

static inline void test_begin_client(struct test_rr *t)
{
	t->client = test_load(&t->plan, t->client_fd, t->n, WP_STREAM_SENDS, t->requests);
	wp_load_go(t->client, wp_now_ns());
}

static inline void test_begin(struct test_rr *t, size_t n, enum test_sockets how)
{
	test_connect(t, n, how);
	t->server = test_load(&t->plan, t->server_fd, n, WP_STREAM_RECEIVES, 0);
	wp_load_go(t->server, wp_now_ns());
	test_begin_client(t);
}

static inline void test_end(struct test_rr *t)
{
	wp_load_free(t->client);
	wp_load_free(t->server);
	for (size_t i = 0; i < t->n; i++) {
		wp_close_p(&t->client_fd[i]);
		wp_close_p(&t->server_fd[i]);
	}
}

static inline struct wp_stream_count test_count(const struct wp_load *l, size_t i)
{
	struct wp_stream_count c;

	wp_load_count(l, i, &c);
	return c;
}

/* Over all streams. */
static inline struct wp_stream_count test_sum(const struct wp_load *l, size_t n)
{
	struct wp_stream_count sum = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct wp_stream_count c = test_count(l, i);

		sum.bytes += c.bytes;
		sum.response_bytes += c.response_bytes;
		sum.calls += c.calls;
		sum.transactions += c.transactions;
		sum.timeouts += c.timeouts;
		sum.unanswered += c.unanswered;
		sum.late += c.late;
		sum.duplicated += c.duplicated;
		sum.send_drops += c.send_drops;
	}
	return sum;
}

static inline void test_wait_transactions(const struct test_rr *t, uint64_t n)
{
	int64_t deadline = test_deadline();

	while (test_sum(t->client, t->n).transactions < n && wp_now_ns() < deadline)
		test_sleep(TEST_MS);
	assert_true(test_sum(t->client, t->n).transactions >= n);
}

static inline bool test_wait_done(const struct wp_load *l)
{
	struct pollfd p = { .fd = wp_load_done_fd(l), .events = POLLIN };

	return poll(&p, 1, TEST_LONG_S * 1000) == 1;
}

static inline void test_join(struct wp_load *l)
{
	assert_int_equal(wp_load_join(l, test_deadline()), 0);
}

/* Latencies of a client; end with wp_hist_done(). */
static inline void test_latency(const struct wp_load *l, struct wp_hist *h)
{
	assert_int_equal(wp_hist_init(h, WP_RECORD_HIST_BITS, NULL), 0);
	wp_load_hist(l, WP_HIST_LATENCY, h);
}

static inline double test_quantile_ns(const struct wp_hist *h, double q)
{
	uint64_t v = 0;

	assert_int_equal(wp_hist_quantile(h, q, &v), 0);
	return (double)v;
}

/* Both ends of a TCP test have ended well and agree on everything. */
static inline void test_ends_agree(struct test_rr *t)
{
	struct wp_hist h;
	struct wp_stream_count sum;

	test_join(t->client);
	test_join(t->server);
	for (size_t i = 0; i < t->n; i++) {
		struct wp_stream_count c = test_count(t->client, i), s = test_count(t->server, i);

		assert_true(c.ended && s.ended);
		assert_int_equal(c.error, 0);
		assert_int_equal(s.error, 0);
		assert_int_equal(c.transactions, s.transactions);
		assert_int_equal(c.bytes, c.transactions * t->plan.length_bytes);
		assert_int_equal(c.response_bytes, c.transactions * t->plan.response_bytes);
		assert_int_equal(c.bytes, s.bytes);
		assert_int_equal(c.response_bytes, s.response_bytes);
		assert_int_equal(c.timeouts, 0);
		if (t->requests)
			assert_int_equal(c.transactions, t->requests);
		if (c.transactions == 0)
			continue;
		assert_true(c.first_ns > 0 && c.last_ns >= c.first_ns);
		assert_true(s.first_ns > 0 && s.last_ns >= s.first_ns);
	}
	sum = test_sum(t->client, t->n);
	test_latency(t->client, &h);
	assert_int_equal(h.n, sum.transactions);
	wp_hist_done(&h);
	test_latency(t->server, &h);
	assert_int_equal(h.n, 0);
	wp_hist_done(&h);
}

/* Whether so many descriptors may be open; says so if not. */
static inline bool test_fds(unsigned wanted)
{
	struct rlimit lim = { 0 };

	getrlimit(RLIMIT_NOFILE, &lim);
	if (lim.rlim_cur >= wanted)
		return true;
	print_message("%u file descriptors are needed\n", wanted);
	return false;
}

static inline int test_raise_fd_limit(void **state)
{
	struct rlimit lim;

	(void)state;
	if (getrlimit(RLIMIT_NOFILE, &lim) < 0)
		return -1;
	if (lim.rlim_cur < TEST_FDS)
		lim.rlim_cur = lim.rlim_max < TEST_FDS ? lim.rlim_max : TEST_FDS;
	return setrlimit(RLIMIT_NOFILE, &lim);
}

#endif
