/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hundreds of TCP streams in both directions on one thread an end: each has its share. Nothing here depends on how fast
 * the machine is: the test goes on until so many bytes have arrived.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cpuset.h"
#include "load/load.h"
#include "net/sock.h"
#include "stats/jain.h"

#define PAIRS       300 /* the first half sends one way, the second the other */
#define FDS_WANTED  700
#define LENGTH      ((uint64_t)1 << 20)
#define SHARE_BYTES (64 << 10)            /* of a turn, for so many streams on one thread */
#define ENOUGH      ((uint64_t)256 << 20) /* in all: a dozen turns a stream */
#define FEW         4
#define LONG_ENOUGH 120 /* s, on any machine */
#define SECONDS(n)  (wp_now_ns() + (n)*WP_NS_PER_S)

struct ends {
	int fd[2][PAIRS];
	size_t n;
	struct wp_plan plan;
	struct wp_load *load[2];
};

static void connect_all(struct ends *e, size_t n)
{
	_cleanup_close_ int listener = -1;
	struct wp_connect c = { .host = "127.0.0.1", .timeout_ns = 10 * WP_NS_PER_S };
	struct wp_addr a;

	assert_int_equal(wp_sock_listen("127.0.0.1", 0, AF_INET, &listener, NULL), 0);
	assert_int_equal(wp_addr_local(listener, &a), 0);
	c.port = wp_addr_port(&a);
	for (e->n = 0; e->n < n; e->n++) {
		assert_int_equal(wp_sock_connect(&c, &e->fd[0][e->n], NULL), 0);
		assert_int_equal(wp_sock_accept(listener, SECONDS(10), &e->fd[1][e->n], NULL), 0);
	}
}

static void begin(struct ends *e, size_t n)
{
	struct wp_stream_spec streams[PAIRS];
	struct wp_cpulist cpus _cleanup_cpulist_ = { 0 };
	struct wp_load_spec spec = {
		.engine = wp_engine_find("tcp"), .plan = &e->plan, .cpus = &cpus, .streams = streams
	};

	e->plan = (struct wp_plan) {
		.kind = "tcp", .streams = (unsigned)n, .length_bytes = LENGTH, .dscp = -1
	};
	connect_all(e, n);
	assert_int_equal(wp_cpulist_allowed(&cpus), 0);
	cpus.n = 1;
	spec.n_streams = n;
	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < n; i++)
			streams[i] = (struct wp_stream_spec) {
				.fd = e->fd[side][i],
				.role = (i < n / 2) == (side == 0) ? WP_STREAM_SENDS
								   : WP_STREAM_RECEIVES,
			};
		assert_int_equal(wp_load_new(&spec, &e->load[side], NULL), 0);
	}
	for (int side = 0; side < 2; side++)
		wp_load_go(e->load[side], wp_now_ns());
}

static struct wp_stream_count count_at(const struct ends *e, size_t i, enum wp_stream_role role)
{
	int sender = i < e->n / 2 ? 0 : 1;
	struct wp_stream_count c;

	wp_load_count(e->load[role == WP_STREAM_SENDS ? sender : !sender], i, &c);
	return c;
}

static void run_for(struct ends *e, uint64_t bytes)
{
	int64_t deadline = SECONDS(LONG_ENOUGH);
	uint64_t sum = 0;

	while (sum < bytes && wp_now_ns() < deadline) {
		wp_sleep_until_ns(wp_now_ns() + WP_NS_PER_MS);
		sum = 0;
		for (size_t i = 0; i < e->n; i++)
			sum += count_at(e, i, WP_STREAM_RECEIVES).bytes;
	}
	assert_true(sum >= bytes);
	for (int side = 0; side < 2; side++)
		wp_load_stop(e->load[side]);
	for (int side = 0; side < 2; side++)
		assert_int_equal(wp_load_join(e->load[side], SECONDS(LONG_ENOUGH)), 0);
}

static void end(struct ends *e)
{
	for (int side = 0; side < 2; side++) {
		wp_load_free(e->load[side]);
		for (size_t i = 0; i < e->n; i++)
			wp_close_p(&e->fd[side][i]);
	}
}

static void assert_shared(const struct ends *e, size_t from, size_t to)
{
	double bytes[PAIRS], sum = 0, jain;
	size_t n = 0;

	for (size_t i = from; i < to; i++) {
		bytes[n] = (double)count_at(e, i, WP_STREAM_RECEIVES).bytes;
		sum += bytes[n++];
	}
	for (size_t i = 0; i < n; i++)
		if (bytes[i] < sum / (double)n / 50)
			fail_msg("stream %zu got %.0f bytes, the mean is %.0f", from + i, bytes[i],
				 sum / (double)n);
	assert_int_equal(wp_jain_index(bytes, n, &jain), 0);
	if (jain < 0.5)
		fail_msg("Jain's index is %.3f", jain);
}

static void many_streams_share_both_directions(void **state)
{
	struct ends e = { 0 };
	struct rlimit lim = { 0 };

	(void)state;
	getrlimit(RLIMIT_NOFILE, &lim);
	if (lim.rlim_cur < FDS_WANTED) {
		print_message("%d file descriptors are needed\n", FDS_WANTED);
		skip();
	}
	begin(&e, PAIRS);
	run_for(&e, ENOUGH);
	assert_shared(&e, 0, PAIRS / 2);
	assert_shared(&e, PAIRS / 2, PAIRS);
	for (size_t i = 0; i < PAIRS; i++)
		for (int role = 0; role < 2; role++) {
			struct wp_stream_count c = count_at(&e, i, (enum wp_stream_role)role);

			assert_int_equal(c.error, 0);
			assert_true(c.bytes <= c.calls * SHARE_BYTES);
		}
	end(&e);
}

static void few_streams_move_whole_writes(void **state)
{
	struct ends e = { 0 };
	uint64_t longest = 0;

	(void)state;
	begin(&e, FEW);
	run_for(&e, ENOUGH);
	for (size_t i = 0; i < FEW; i++) {
		struct wp_stream_count c = count_at(&e, i, WP_STREAM_SENDS);

		assert_int_equal(c.error, 0);
		if (c.calls && c.bytes / c.calls > longest)
			longest = c.bytes / c.calls;
	}
	assert_true(longest > SHARE_BYTES);
	end(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_streams_share_both_directions),
		cmocka_unit_test(few_streams_move_whole_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
