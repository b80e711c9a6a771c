/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The TCP engine over loopback and socket pairs: both ends agree to the byte in every mode, and every
 * state can be stopped, cut and broken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "load/fill.h"
#include "load/load.h"
#include "net/sock.h"

#define SECONDS(n)  (wp_now_ns() + (n)*WP_NS_PER_S)
#define PAIRS_MAX   300
#define FDS_WANTED  700 /* for PAIRS_MAX pairs */
#define MS          WP_NS_PER_MS
#define LONG_ENOUGH 60 /* s: for what must end by itself, on any machine */

enum transport {
	OVER_TCP,
	OVER_UNIX,
};

/* Connected sockets; tx[i] is the end that sends to rx[i]. */
struct pairs {
	int tx[PAIRS_MAX], rx[PAIRS_MAX];
	size_t n;
};

/* Both ends of a test in one process: a load for each. */
struct test {
	struct wp_plan plan;
	struct pairs p;
	struct wp_load *sender, *receiver;
	uint64_t limit;
};

static void connect_pairs(struct pairs *p, size_t n, enum transport how)
{
	_cleanup_close_ int listener = -1;
	struct wp_connect c = { .host = "127.0.0.1", .timeout_ns = 10 * WP_NS_PER_S };
	struct wp_addr a;

	p->n = n;
	if (how == OVER_TCP) {
		assert_int_equal(wp_sock_listen("127.0.0.1", 0, AF_INET, &listener, NULL), 0);
		assert_int_equal(wp_addr_local(listener, &a), 0);
		c.port = wp_addr_port(&a);
	}
	for (size_t i = 0; i < n; i++) {
		int fds[2];

		if (how == OVER_UNIX) {
			assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds),
					 0);
			p->tx[i] = fds[0];
			p->rx[i] = fds[1];
			continue;
		}
		assert_int_equal(wp_sock_connect(&c, &p->tx[i], NULL), 0);
		assert_int_equal(wp_sock_accept(listener, SECONDS(10), &p->rx[i], NULL), 0);
	}
}

static void close_pairs(struct pairs *p)
{
	for (size_t i = 0; i < p->n; i++) {
		wp_close_p(&p->tx[i]);
		wp_close_p(&p->rx[i]);
	}
}

static struct wp_load *make_load(const struct wp_plan *plan, const int *fds, size_t n,
				 enum wp_stream_role role, uint64_t limit)
{
	struct wp_stream_spec *s = calloc(n, sizeof(*s));
	const struct wp_load_spec spec = {
		.engine = wp_engine_find("tcp"), .plan = plan, .streams = s, .n_streams = n
	};
	struct wp_load *l = NULL;
	struct wp_err err = { 0 };

	assert_non_null(s);
	for (size_t i = 0; i < n; i++)
		s[i] = (struct wp_stream_spec) { fds[i], role, limit };
	if (wp_load_new(&spec, &l, &err) < 0)
		fail_msg("%s", err.msg);
	free(s);
	return l;
}

static struct wp_plan plan_of(uint64_t length)
{
	return (struct wp_plan) { .kind = "tcp", .streams = 1, .length_bytes = length, .dscp = -1 };
}

static void begin(struct test *t, size_t n, enum transport how)
{
	t->plan.streams = (unsigned)n;
	connect_pairs(&t->p, n, how);
	t->receiver = make_load(&t->plan, t->p.rx, n, WP_STREAM_RECEIVES, 0);
	t->sender = make_load(&t->plan, t->p.tx, n, WP_STREAM_SENDS, t->limit);
	wp_load_go(t->receiver, wp_now_ns());
	wp_load_go(t->sender, wp_now_ns());
}

static void end(struct test *t)
{
	wp_load_free(t->sender);
	wp_load_free(t->receiver);
	close_pairs(&t->p);
}

static bool wait_done(const struct wp_load *l)
{
	struct pollfd p = { .fd = wp_load_done_fd(l), .events = POLLIN };

	return poll(&p, 1, LONG_ENOUGH * 1000) == 1;
}

static uint64_t total(const struct wp_load *l, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		struct wp_stream_count c;

		wp_load_count(l, i, &c);
		sum += c.bytes;
	}
	return sum;
}

static void wait_for_bytes(const struct wp_load *l, size_t n, uint64_t bytes)
{
	int64_t deadline = SECONDS(LONG_ENOUGH);

	while (total(l, n) < bytes && wp_now_ns() < deadline)
		wp_sleep_until_ns(wp_now_ns() + MS);
	assert_true(total(l, n) >= bytes);
}

/* Both ends have ended well and have counted the same. */
static void assert_equal_ends(struct test *t)
{
	assert_int_equal(wp_load_join(t->sender, SECONDS(LONG_ENOUGH)), 0);
	assert_int_equal(wp_load_join(t->receiver, SECONDS(LONG_ENOUGH)), 0);
	for (size_t i = 0; i < t->p.n; i++) {
		struct wp_stream_count tx, rx;

		wp_load_count(t->sender, i, &tx);
		wp_load_count(t->receiver, i, &rx);
		assert_true(tx.ended && rx.ended);
		assert_int_equal(tx.error, 0);
		assert_int_equal(rx.error, 0);
		assert_int_equal(tx.bytes, rx.bytes);
		assert_int_equal(rx.corrupt_blocks, 0);
		if (t->limit)
			assert_int_equal(tx.bytes, t->limit);
		if (tx.bytes == 0)
			continue;
		assert_true(tx.calls > 0 && rx.calls > 0);
		assert_true(tx.first_ns > 0 && tx.last_ns >= tx.first_ns);
		assert_true(rx.first_ns > 0 && rx.last_ns >= rx.first_ns);
	}
}

static void limits_are_exact(void **state)
{
	static const uint64_t limits[] = { 1, 4095, 4096, 1000003, 30000001 };
	static const uint64_t lengths[] = { 777, 131072, 1048576 };

	(void)state;
	for (int how = OVER_TCP; how <= OVER_UNIX; how++)
		for (size_t i = 0; i < WP_ARRAY_SIZE(limits); i++)
			for (size_t j = 0; j < WP_ARRAY_SIZE(lengths); j++) {
				struct test t = { .plan = plan_of(lengths[j]), .limit = limits[i] };

				begin(&t, 1, (enum transport)how);
				assert_true(wait_done(t.sender));
				assert_true(wp_load_senders_done(t.sender));
				assert_equal_ends(&t);
				end(&t);
			}
}

static void stop_flushes(void **state)
{
	static const size_t streams[] = { 1, 2, 7 };

	(void)state;
	for (int how = OVER_TCP; how <= OVER_UNIX; how++)
		for (size_t i = 0; i < WP_ARRAY_SIZE(streams); i++) {
			struct test t = { .plan = plan_of(65536) };

			begin(&t, streams[i], (enum transport)how);
			wait_for_bytes(t.receiver, streams[i], 10 << 20);
			wp_load_stop(t.sender);
			/* Stopping receivers changes nothing for them. */
			wp_load_stop(t.receiver);
			assert_equal_ends(&t);
			end(&t);
		}
}

static void stop_before_the_start_sends_nothing(void **state)
{
	struct test t = { .plan = plan_of(65536) };

	(void)state;
	t.plan.streams = 1;
	connect_pairs(&t.p, 1, OVER_TCP);
	t.receiver = make_load(&t.plan, t.p.rx, 1, WP_STREAM_RECEIVES, 0);
	t.sender = make_load(&t.plan, t.p.tx, 1, WP_STREAM_SENDS, 0);
	wp_load_go(t.receiver, wp_now_ns());
	wp_load_stop(t.sender);
	wp_load_go(t.sender, wp_now_ns());
	assert_equal_ends(&t);
	assert_int_equal(total(t.receiver, 1), 0);
	end(&t);
}

static void many_streams_on_few_threads(void **state)
{
	struct test t = { .plan = plan_of(131072), .limit = 500001 };
	struct rlimit lim = { 0 };

	(void)state;
	getrlimit(RLIMIT_NOFILE, &lim);
	if (lim.rlim_cur < FDS_WANTED) {
		print_message("%d file descriptors are needed\n", FDS_WANTED);
		skip();
	}
	begin(&t, PAIRS_MAX, OVER_TCP);
	assert_equal_ends(&t);
	end(&t);
}

static void both_directions_on_one_thread(void **state)
{
	struct wp_plan plan = plan_of(65536);
	struct wp_stream_spec a[4], b[4];
	struct wp_cpulist cpus = { 0 };
	struct wp_load_spec spec = { .engine = wp_engine_find("tcp"),
				     .plan = &plan,
				     .n_streams = 4 };
	struct wp_load *la = NULL, *lb = NULL;
	struct pairs p;

	(void)state;
	plan.streams = 2;
	plan.fill = WP_FILL_PATTERN;
	plan.check = true;
	assert_int_equal(wp_cpulist_allowed(&cpus), 0);
	cpus.n = 1;
	spec.cpus = &cpus;
	connect_pairs(&p, 4, OVER_TCP);
	for (size_t i = 0; i < 4; i++) {
		a[i] = (struct wp_stream_spec) { p.tx[i],
						 i < 2 ? WP_STREAM_SENDS : WP_STREAM_RECEIVES,
						 i < 2 ? 3000017 : 0 };
		b[i] = (struct wp_stream_spec) { p.rx[i],
						 i < 2 ? WP_STREAM_RECEIVES : WP_STREAM_SENDS,
						 i < 2 ? 0 : 3000017 };
	}
	spec.streams = a;
	assert_int_equal(wp_load_new(&spec, &la, NULL), 0);
	spec.streams = b;
	assert_int_equal(wp_load_new(&spec, &lb, NULL), 0);
	wp_load_go(la, wp_now_ns());
	wp_load_go(lb, wp_now_ns());
	assert_int_equal(wp_load_join(la, SECONDS(LONG_ENOUGH)), 0);
	assert_int_equal(wp_load_join(lb, SECONDS(LONG_ENOUGH)), 0);
	for (size_t i = 0; i < 4; i++) {
		struct wp_stream_count ca, cb;

		wp_load_count(la, i, &ca);
		wp_load_count(lb, i, &cb);
		assert_int_equal(ca.bytes, 3000017);
		assert_int_equal(cb.bytes, 3000017);
		assert_int_equal(ca.error | cb.error, 0);
		assert_int_equal(ca.corrupt_blocks + cb.corrupt_blocks, 0);
	}
	wp_load_free(la);
	wp_load_free(lb);
	wp_cpulist_done(&cpus);
	close_pairs(&p);
}

static void content_arrives(void **state)
{
	static const enum wp_send_method methods[] = { WP_SEND_WRITE, WP_SEND_ZEROCOPY };

	(void)state;
	for (int how = OVER_TCP; how <= OVER_UNIX; how++)
		for (size_t i = 0; i < WP_ARRAY_SIZE(methods); i++)
			for (size_t n = 1; n <= 3; n += 2) {
				struct test t = { .plan = plan_of(99991), .limit = 5000003 };

				t.plan.fill = WP_FILL_PATTERN;
				t.plan.check = true;
				t.plan.send_method = methods[i];
				begin(&t, n, (enum transport)how);
				assert_equal_ends(&t);
				end(&t);
			}
}

static void a_flipped_byte_is_caught(void **state)
{
	enum { LEN = 3000000, BAD = 1234567 };
	struct wp_plan plan = plan_of(65536);
	unsigned char *data = malloc(LEN);
	struct wp_stream_count c;
	struct wp_load *l;
	struct pairs p;

	(void)state;
	assert_non_null(data);
	plan.fill = WP_FILL_PATTERN;
	plan.check = true;
	wp_fill_pattern(data, LEN, 0);
	data[BAD] ^= 0x10;
	connect_pairs(&p, 1, OVER_TCP);
	l = make_load(&plan, p.rx, 1, WP_STREAM_RECEIVES, 0);
	wp_load_go(l, wp_now_ns());
	assert_int_equal(wp_sock_write_full(p.tx[0], data, LEN, SECONDS(LONG_ENOUGH)), 0);
	assert_int_equal(shutdown(p.tx[0], SHUT_WR), 0);
	assert_int_equal(wp_load_join(l, SECONDS(LONG_ENOUGH)), 0);
	wp_load_count(l, 0, &c);
	assert_int_equal(c.bytes, LEN);
	assert_int_equal(c.corrupt_blocks, 1);
	assert_int_equal(c.corrupt_at, BAD);
	wp_load_free(l);
	close_pairs(&p);
	free(data);
}

static void discarding_counts_every_byte(void **state)
{
	(void)state;
	for (int how = OVER_TCP; how <= OVER_UNIX; how++)
		for (size_t n = 1; n <= 3; n += 2) {
			struct test t = { .plan = plan_of(262144), .limit = 20000003 };

			t.plan.receive_method = WP_RECEIVE_DISCARD;
			begin(&t, n, (enum transport)how);
			assert_equal_ends(&t);
			assert_non_null(
				strstr(wp_load_method(t.receiver, WP_STREAM_RECEIVES), "discard"));
			end(&t);
		}
}

static void zero_copy_sends_are_accounted_for(void **state)
{
	(void)state;
	for (size_t n = 1; n <= 3; n += 2) {
		struct test t = { .plan = plan_of(131072), .limit = 20000003 };

		t.plan.send_method = WP_SEND_ZEROCOPY;
		begin(&t, n, OVER_TCP);
		assert_equal_ends(&t);
		if (strcmp(wp_load_method(t.sender, WP_STREAM_SENDS), "zerocopy") != 0) {
			assert_non_null(strstr(wp_load_method(t.sender, WP_STREAM_SENDS),
					       "zero copy was refused"));
			end(&t);
			print_message("no locked memory for zero copy (ulimit -l)\n");
			skip();
		}
		for (size_t i = 0; i < n; i++) {
			struct wp_stream_count c;

			wp_load_count(t.sender, i, &c);
			assert_true(c.zerocopy_sends > 0 && c.zerocopy_sends <= c.calls);
			assert_true(c.zerocopy_copied <= c.zerocopy_sends);
		}
		end(&t);
	}
}

static void methods_are_named(void **state)
{
	struct test t = { .plan = plan_of(4096), .limit = 1 };

	(void)state;
	begin(&t, 1, OVER_TCP);
	assert_equal_ends(&t);
	assert_string_equal(wp_load_method(t.sender, WP_STREAM_SENDS), "write");
	assert_string_equal(wp_load_method(t.receiver, WP_STREAM_RECEIVES), "read");
	end(&t);
	/* A socket pair knows no zero copy: it is written, and said so. */
	t = (struct test) { .plan = plan_of(4096), .limit = 1 };
	t.plan.send_method = WP_SEND_ZEROCOPY;
	begin(&t, 1, OVER_UNIX);
	assert_equal_ends(&t);
	assert_string_equal(wp_load_method(t.sender, WP_STREAM_SENDS), "write");
	end(&t);
}

static void paced_bytes_follow_the_rate(void **state)
{
	static const size_t streams[] = { 1, 4 };

	(void)state;
	for (size_t k = 0; k < WP_ARRAY_SIZE(streams); k++) {
		struct test t = { .plan = plan_of(1 << 20) };
		double due, seconds, sent;

		t.plan.rate_bps = 80000000;
		begin(&t, streams[k], OVER_TCP);
		wp_sleep_until_ns(wp_now_ns() + 300 * MS);
		wp_load_stop(t.sender);
		assert_equal_ends(&t);
		for (size_t i = 0; i < streams[k]; i++) {
			struct wp_stream_count c;

			wp_load_count(t.sender, i, &c);
			seconds = (double)(c.last_ns - c.first_ns) / 1e9;
			due = seconds * 10e6;
			sent = (double)c.bytes + (double)c.shortfall_bytes;
			/* The line holds whatever the machine does; a millisecond's worth of play. */
			assert_true(sent > due - 15000 && sent < due + 30000);
			assert_true((double)c.bytes <= due + 30000);
		}
		end(&t);
	}
}

static void a_paced_limit_is_exact(void **state)
{
	struct test t = { .plan = plan_of(1 << 20), .limit = 1000003 };

	(void)state;
	t.plan.rate_bps = 100000000;
	begin(&t, 2, OVER_TCP);
	assert_equal_ends(&t);
	end(&t);
}

static void slow_rates_arrive_at_once(void **state)
{
	struct test t = { .plan = plan_of(1 << 20) };

	(void)state;
	/* 100 bytes/s: nothing may sit in the receiver's socket waiting for more. */
	t.plan.rate_bps = 8000;
	begin(&t, 1, OVER_TCP);
	wait_for_bytes(t.receiver, 1, 50);
	wp_load_stop(t.sender);
	assert_equal_ends(&t);
	end(&t);
}

/* A receiver that never reads: the sender fills the buffers and waits. */
static struct wp_load *blocked_sender(struct test *t, size_t n)
{
	uint64_t before, now = 0;

	t->plan.streams = (unsigned)n;
	connect_pairs(&t->p, n, OVER_TCP);
	t->sender = make_load(&t->plan, t->p.tx, n, WP_STREAM_SENDS, t->limit);
	wp_load_go(t->sender, wp_now_ns());
	do {
		before = now;
		wp_sleep_until_ns(wp_now_ns() + 50 * MS);
		now = total(t->sender, n);
	} while (now == 0 || now != before);
	return t->sender;
}

static uint64_t drain(int fd)
{
	static char block[1 << 16];
	uint64_t sum = 0;
	ssize_t n;

	while ((n = wp_sock_read_some(fd, block, sizeof(block), SECONDS(LONG_ENOUGH))) > 0)
		sum += (uint64_t)n;
	assert_int_equal(n, 0);
	return sum;
}

static void a_blocked_sender_stops(void **state)
{
	(void)state;
	for (size_t n = 1; n <= 3; n += 2)
		for (int zerocopy = 0; zerocopy <= 1; zerocopy++) {
			struct test t = { .plan = plan_of(1 << 20) };

			t.plan.send_method = zerocopy ? WP_SEND_ZEROCOPY : WP_SEND_AUTO;
			blocked_sender(&t, n);
			wp_load_stop(t.sender);
			if (!zerocopy)
				assert_int_equal(wp_load_join(t.sender, SECONDS(LONG_ENOUGH)), 0);
			for (size_t i = 0; i < n; i++) {
				struct wp_stream_count c;
				uint64_t got = drain(t.p.rx[i]);

				wp_load_count(t.sender, i, &c);
				assert_int_equal(got, c.bytes);
			}
			assert_int_equal(wp_load_join(t.sender, SECONDS(LONG_ENOUGH)), 0);
			end(&t);
		}
}

static void a_blocked_sender_is_cut(void **state)
{
	(void)state;
	for (size_t n = 1; n <= 3; n += 2)
		for (int zerocopy = 0; zerocopy <= 1; zerocopy++) {
			struct test t = { .plan = plan_of(1 << 20) };
			struct wp_stream_count c;

			t.plan.send_method = zerocopy ? WP_SEND_ZEROCOPY : WP_SEND_AUTO;
			blocked_sender(&t, n);
			assert_int_equal(wp_load_join(t.sender, 0), -ETIMEDOUT);
			wp_load_count(t.sender, 0, &c);
			assert_true(c.ended);
			assert_int_equal(c.error, -ECANCELED);
			end(&t);
		}
}

static void a_zero_copy_sender_that_finishes_is_cut(void **state)
{
	struct test t = { .plan = plan_of(1 << 20) };
	struct wp_stream_count c;

	(void)state;
	t.plan.send_method = WP_SEND_ZEROCOPY;
	blocked_sender(&t, 1);
	if (strcmp(wp_load_method(t.sender, WP_STREAM_SENDS), "zerocopy") != 0) {
		end(&t);
		print_message("no locked memory for zero copy (ulimit -l)\n");
		skip();
	}
	wp_load_stop(t.sender);
	/* Nobody reads, so the kernel keeps the memory: the stream can't end. */
	wp_sleep_until_ns(wp_now_ns() + 20 * MS);
	assert_int_equal(wp_load_join(t.sender, 0), -ETIMEDOUT);
	wp_load_count(t.sender, 0, &c);
	assert_int_equal(c.error, -ECANCELED);
	end(&t);
}

static void idle_receivers_are_cut(void **state)
{
	(void)state;
	for (int discard = 0; discard <= 1; discard++)
		for (size_t n = 1; n <= 3; n += 2) {
			struct test t = { .plan = plan_of(1 << 20) };
			struct wp_stream_count c;

			t.plan.streams = (unsigned)n;
			t.plan.receive_method = discard ? WP_RECEIVE_DISCARD : WP_RECEIVE_AUTO;
			connect_pairs(&t.p, n, OVER_TCP);
			t.receiver = make_load(&t.plan, t.p.rx, n, WP_STREAM_RECEIVES, 0);
			wp_load_go(t.receiver, wp_now_ns());
			wp_load_stop(t.receiver);
			assert_int_equal(wp_load_join(t.receiver, wp_now_ns() + 20 * MS),
					 -ETIMEDOUT);
			wp_load_count(t.receiver, 0, &c);
			assert_int_equal(c.error, -ECANCELED);
			assert_int_equal(c.bytes, 0);
			end(&t);
		}
}

static void paced_senders_are_cut(void **state)
{
	(void)state;
	for (size_t n = 1; n <= 3; n += 2) {
		struct test t = { .plan = plan_of(1 << 20) };

		t.plan.rate_bps = 1000;
		begin(&t, n, OVER_TCP);
		assert_int_equal(wp_load_join(t.sender, wp_now_ns() + 20 * MS), -ETIMEDOUT);
		assert_int_equal(wp_load_join(t.receiver, SECONDS(LONG_ENOUGH)), 0);
		end(&t);
	}
}

static void reset(int *fd)
{
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	assert_int_equal(setsockopt(*fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	wp_close_p(fd);
}

static void a_reset_ends_the_sender(void **state)
{
	(void)state;
	for (size_t n = 1; n <= 3; n += 2)
		for (int mode = 0; mode < 3; mode++) {
			struct test t = { .plan = plan_of(1 << 20) };

			if (mode == 1)
				t.plan.send_method = WP_SEND_ZEROCOPY;
			if (mode == 2)
				t.plan.rate_bps = 1000;
			t.plan.streams = (unsigned)n;
			connect_pairs(&t.p, n, OVER_TCP);
			t.sender = make_load(&t.plan, t.p.tx, n, WP_STREAM_SENDS, 0);
			wp_load_go(t.sender, wp_now_ns());
			wp_sleep_until_ns(wp_now_ns() + 20 * MS);
			for (size_t i = 0; i < n; i++)
				reset(&t.p.rx[i]);
			assert_true(wait_done(t.sender));
			assert_int_equal(wp_load_join(t.sender, SECONDS(5)), 0);
			for (size_t i = 0; i < n; i++) {
				struct wp_stream_count c;

				wp_load_count(t.sender, i, &c);
				assert_true(c.error == -ECONNRESET || c.error == -EPIPE);
			}
			end(&t);
		}
}

static void a_reset_ends_the_receiver(void **state)
{
	(void)state;
	for (int discard = 0; discard <= 1; discard++)
		for (size_t n = 1; n <= 3; n += 2) {
			struct test t = { .plan = plan_of(1 << 20) };

			t.plan.streams = (unsigned)n;
			t.plan.receive_method = discard ? WP_RECEIVE_DISCARD : WP_RECEIVE_AUTO;
			connect_pairs(&t.p, n, OVER_TCP);
			t.receiver = make_load(&t.plan, t.p.rx, n, WP_STREAM_RECEIVES, 0);
			wp_load_go(t.receiver, wp_now_ns());
			for (size_t i = 0; i < n; i++) {
				assert_int_equal(wp_sock_write_full(t.p.tx[i], "x", 1, SECONDS(5)),
						 0);
				wait_for_bytes(t.receiver, n, i + 1);
				reset(&t.p.tx[i]);
			}
			assert_true(wait_done(t.receiver));
			for (size_t i = 0; i < n; i++) {
				struct wp_stream_count c;

				wp_load_count(t.receiver, i, &c);
				assert_int_equal(c.error, -ECONNRESET);
				assert_int_equal(c.bytes, 1);
			}
			end(&t);
		}
}

static void one_broken_stream_leaves_the_others(void **state)
{
	struct test t = { .plan = plan_of(65536) };
	struct wp_stream_count c;

	(void)state;
	t.plan.streams = 3;
	t.limit = 2000003;
	connect_pairs(&t.p, 3, OVER_TCP);
	reset(&t.p.rx[1]);
	t.sender = make_load(&t.plan, t.p.tx, 3, WP_STREAM_SENDS, t.limit);
	wp_load_go(t.sender, wp_now_ns());
	assert_int_equal(drain(t.p.rx[0]), t.limit);
	assert_int_equal(drain(t.p.rx[2]), t.limit);
	assert_int_equal(wp_load_join(t.sender, SECONDS(LONG_ENOUGH)), 0);
	wp_load_count(t.sender, 1, &c);
	assert_true(c.error == -ECONNRESET || c.error == -EPIPE);
	wp_load_count(t.sender, 2, &c);
	assert_int_equal(c.error, 0);
	end(&t);
}

static void streams_share_fairly(void **state)
{
	struct test t = { .plan = plan_of(65536) };
	uint64_t least = UINT64_MAX;

	(void)state;
	begin(&t, 20, OVER_TCP);
	wait_for_bytes(t.receiver, 20, 200 << 20);
	wp_load_stop(t.sender);
	assert_equal_ends(&t);
	for (size_t i = 0; i < 20; i++) {
		struct wp_stream_count c;

		wp_load_count(t.sender, i, &c);
		if (c.bytes < least)
			least = c.bytes;
	}
	/* Nobody starves: a tenth of the mean is far below what sharing gives. */
	assert_true(least > (200 << 20) / 20 / 10);
	end(&t);
}

static void a_bad_fd_is_an_error(void **state)
{
	const struct wp_plan plan = plan_of(4096);
	const struct wp_stream_spec s = { -1, WP_STREAM_SENDS, 0 };
	const struct wp_load_spec spec = {
		.engine = wp_engine_find("tcp"), .plan = &plan, .streams = &s, .n_streams = 1
	};
	struct wp_load *l = NULL;
	struct wp_err err = { 0 };

	(void)state;
	assert_int_equal(wp_load_new(&spec, &l, &err), -EBADF);
	assert_true(err.msg[0] != '\0');
	assert_null(l);
}

static int raise_fd_limit(void **state)
{
	struct rlimit lim;

	(void)state;
	if (getrlimit(RLIMIT_NOFILE, &lim) < 0)
		return -1;
	if (lim.rlim_cur < FDS_WANTED)
		lim.rlim_cur = lim.rlim_max < FDS_WANTED ? lim.rlim_max : FDS_WANTED;
	return setrlimit(RLIMIT_NOFILE, &lim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_exact),
		cmocka_unit_test(stop_flushes),
		cmocka_unit_test(stop_before_the_start_sends_nothing),
		cmocka_unit_test(many_streams_on_few_threads),
		cmocka_unit_test(both_directions_on_one_thread),
		cmocka_unit_test(content_arrives),
		cmocka_unit_test(a_flipped_byte_is_caught),
		cmocka_unit_test(discarding_counts_every_byte),
		cmocka_unit_test(zero_copy_sends_are_accounted_for),
		cmocka_unit_test(methods_are_named),
		cmocka_unit_test(paced_bytes_follow_the_rate),
		cmocka_unit_test(a_paced_limit_is_exact),
		cmocka_unit_test(slow_rates_arrive_at_once),
		cmocka_unit_test(a_blocked_sender_stops),
		cmocka_unit_test(a_blocked_sender_is_cut),
		cmocka_unit_test(a_zero_copy_sender_that_finishes_is_cut),
		cmocka_unit_test(idle_receivers_are_cut),
		cmocka_unit_test(paced_senders_are_cut),
		cmocka_unit_test(a_reset_ends_the_sender),
		cmocka_unit_test(a_reset_ends_the_receiver),
		cmocka_unit_test(one_broken_stream_leaves_the_others),
		cmocka_unit_test(streams_share_fairly),
		cmocka_unit_test(a_bad_fd_is_an_error),
	};

	return cmocka_run_group_tests(tests, raise_fd_limit, NULL);
}
