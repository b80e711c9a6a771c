/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * testudp.h - pairs of UDP sockets over loopback and a load for each end, for the tests of the UDP engine.
 */
#ifndef WP_LOAD_TESTUDP_H
#define WP_LOAD_TESTUDP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "load/datagram.h"
#include "load/load.h"

#define SECONDS(n)  (wp_now_ns() + (n)*WP_NS_PER_S)
#define MS          WP_NS_PER_MS
#define PAIRS_MAX   1000
#define FDS_WANTED  2100
#define LONG_ENOUGH 60 /* s: for what must end by itself, on any machine */

/* tx[i] is the end that sends to rx[i]. */
struct pairs {
	int tx[PAIRS_MAX], rx[PAIRS_MAX];
	size_t n;
	bool v6, open_tx, open_rx; /* open_*: that end is not connected */
};

/* Both ends of a test in one process: a load for each. */
struct test {
	struct wp_plan plan;
	struct pairs p;
	struct wp_load *sender, *receiver;
	uint64_t limit;
	const struct wp_cpulist *cpus;
};

static inline struct wp_addr bound(const struct pairs *p, int fd)
{
	struct wp_addr a = { .len = sizeof(a.v4) };

	if (p->v6)
		a = (struct wp_addr) { .v6 = { .sin6_family = AF_INET6,
					       .sin6_addr = IN6ADDR_LOOPBACK_INIT },
				       .len = sizeof(a.v6) };
	else
		a.v4 = (struct sockaddr_in) { .sin_family = AF_INET,
					      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_int_equal(bind(fd, &a.sa, a.len), 0);
	assert_int_equal(wp_addr_local(fd, &a), 0);
	return a;
}

static inline void connect_pairs(struct pairs *p, size_t n)
{
	p->n = n;
	for (size_t i = 0; i < n; i++) {
		int family = p->v6 ? AF_INET6 : AF_INET;
		struct wp_addr a, b;

		p->tx[i] = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		p->rx[i] = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		assert_true(p->tx[i] >= 0 && p->rx[i] >= 0);
		a = bound(p, p->tx[i]);
		b = bound(p, p->rx[i]);
		if (!p->open_tx)
			assert_int_equal(connect(p->tx[i], &b.sa, b.len), 0);
		if (!p->open_rx)
			assert_int_equal(connect(p->rx[i], &a.sa, a.len), 0);
	}
}

static inline void close_pairs(struct pairs *p)
{
	for (size_t i = 0; i < p->n; i++) {
		wp_close_p(&p->tx[i]);
		wp_close_p(&p->rx[i]);
	}
}

static inline struct wp_load *make_load(const struct test *t, enum wp_stream_role role,
					uint64_t limit)
{
	size_t n = t->p.n;
	const int *fds = role == WP_STREAM_SENDS ? t->p.tx : t->p.rx;
	const int *others = role == WP_STREAM_SENDS ? t->p.rx : t->p.tx;
	bool open = role == WP_STREAM_SENDS ? t->p.open_tx : t->p.open_rx;
	struct wp_stream_spec *s = calloc(n, sizeof(*s));
	const struct wp_load_spec spec = { .engine = wp_engine_find("udp"),
					   .plan = &t->plan,
					   .cpus = t->cpus,
					   .streams = s,
					   .n_streams = n };
	struct wp_load *l = NULL;
	struct wp_err err = { 0 };

	assert_non_null(s);
	for (size_t i = 0; i < n; i++) {
		s[i] = (struct wp_stream_spec) { .fd = fds[i], .role = role, .limit_bytes = limit };
		if (open)
			assert_int_equal(wp_addr_local(others[i], &s[i].remote), 0);
	}
	if (wp_load_new(&spec, &l, &err) < 0)
		fail_msg("%s", err.msg);
	free(s);
	return l;
}

static inline struct wp_plan plan_of(uint64_t length)
{
	return (struct wp_plan) {
		.kind = "udp", .transport = WP_UDP, .streams = 1, .length_bytes = length, .dscp = -1
	};
}

static inline void begin(struct test *t, size_t n)
{
	t->plan.streams = (unsigned)n;
	connect_pairs(&t->p, n);
	t->receiver = make_load(t, WP_STREAM_RECEIVES, 0);
	t->sender = make_load(t, WP_STREAM_SENDS, t->limit);
	wp_load_go(t->receiver, wp_now_ns());
	wp_load_go(t->sender, wp_now_ns());
}

static inline void end(struct test *t)
{
	wp_load_free(t->sender);
	wp_load_free(t->receiver);
	close_pairs(&t->p);
}

static inline struct wp_stream_count count_of(const struct wp_load *l, size_t i)
{
	struct wp_stream_count c;

	wp_load_count(l, i, &c);
	return c;
}

static inline uint64_t total_packets(const struct wp_load *l, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += count_of(l, i).packets;
	return sum;
}

static inline void wait_for_packets(const struct wp_load *l, size_t n, uint64_t packets)
{
	int64_t deadline = SECONDS(LONG_ENOUGH);

	while (total_packets(l, n) < packets && wp_now_ns() < deadline)
		wp_sleep_until_ns(wp_now_ns() + MS);
	assert_true(total_packets(l, n) >= packets);
}

static inline uint64_t lost(const struct wp_stream_count *c)
{
	return c->expected - (c->packets - c->duplicated - c->late);
}

/* Both ends have ended well, and what was sent has arrived or is known to be lost. */
static inline void assert_ends_agree(struct test *t)
{
	assert_int_equal(wp_load_join(t->sender, SECONDS(LONG_ENOUGH)), 0);
	assert_int_equal(wp_load_join(t->receiver, SECONDS(LONG_ENOUGH)), 0);
	for (size_t i = 0; i < t->p.n; i++) {
		struct wp_stream_count tx = count_of(t->sender, i), rx = count_of(t->receiver, i);

		assert_true(tx.ended && rx.ended);
		assert_int_equal(tx.error, 0);
		assert_int_equal(rx.error, 0);
		assert_int_equal(rx.expected, tx.packets);
		assert_int_equal(lost(&rx), rx.socket_drops);
		assert_int_equal(rx.packets + rx.socket_drops, tx.packets);
		assert_int_equal(rx.duplicated + rx.late + rx.out_of_order, 0);
		if (t->limit)
			assert_int_equal(tx.bytes, t->limit);
		if (rx.packets == tx.packets)
			assert_int_equal(rx.bytes, tx.bytes);
		if (rx.packets == 0)
			continue;
		assert_true(tx.calls > 0 && rx.calls > 0);
		assert_true(tx.first_ns > 0 && tx.last_ns >= tx.first_ns);
		assert_true(rx.first_ns >= tx.first_ns && rx.last_ns >= rx.first_ns);
	}
}

static inline int raise_fd_limit(void **state)
{
	struct rlimit lim;

	(void)state;
	if (getrlimit(RLIMIT_NOFILE, &lim) < 0)
		return -1;
	if (lim.rlim_cur < FDS_WANTED)
		lim.rlim_cur = lim.rlim_max < FDS_WANTED ? lim.rlim_max : FDS_WANTED;
	return setrlimit(RLIMIT_NOFILE, &lim);
}

#endif
