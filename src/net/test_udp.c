/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One UDP port for strangers and for connected peers, over loopback. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "net/sock.h"
#include "net/udp.h"

static struct wp_addr v4(const char *text, uint16_t port)
{
	struct wp_addr a = { .v4 = { .sin_family = AF_INET, .sin_port = htons(port) },
			     .len = sizeof(a.v4) };

	assert_int_equal(inet_pton(AF_INET, text, &a.v4.sin_addr), 1);
	return a;
}

static struct wp_addr v6(const char *text, uint16_t port)
{
	struct wp_addr a = { .v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) },
			     .len = sizeof(a.v6) };

	assert_int_equal(inet_pton(AF_INET6, text, &a.v6.sin6_addr), 1);
	return a;
}

static int listening(const struct wp_addr *local, struct wp_addr *ret)
{
	struct wp_err err = { 0 };
	int fd = -1;

	if (wp_udp_listen(local, &fd, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(wp_addr_local(fd, ret), 0);
	return fd;
}

static int client(const struct wp_addr *to)
{
	int fd = socket(to->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, &to->sa, to->len), 0);
	return fd;
}

static void says(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), 0), (ssize_t)strlen(text));
}

static void hears(int fd, const char *text)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char got[100] = "";

	assert_int_equal(poll(&p, 1, 5000), 1);
	assert_int_equal(recv(fd, got, sizeof(got) - 1, 0), (ssize_t)strlen(text));
	assert_string_equal(got, text);
}

static size_t take(int fd, struct wp_udp_first *ret, size_t n)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, 5000), 1);
	return wp_udp_take(fd, ret, n);
}

/* From a stranger's first datagram to a socket of his own; `listener` of either family. */
static void a_peer_gets_its_own_socket(const struct wp_addr *local, const struct wp_addr *server)
{
	_cleanup_close_ int fd = -1, one = -1, two = -1, peer = -1;
	struct wp_udp_first first[WP_UDP_TAKE];
	struct wp_addr at, to = *server, own;

	fd = listening(local, &at);
	wp_addr_set_port(&to, wp_addr_port(&at));
	one = client(&to);
	two = client(&to);
	says(one, "first");
	assert_int_equal(take(fd, first, WP_UDP_TAKE), 1);
	assert_int_equal(first[0].len, 5);
	assert_memory_equal(first[0].bytes, "first", 5);
	assert_int_equal(wp_addr_local(one, &own), 0);
	assert_memory_equal(&first[0].from.storage, &own.storage, own.len);
	assert_memory_equal(&first[0].to.storage, &to.storage, to.len);
	assert_int_equal(wp_udp_answer(fd, &first[0].to, &first[0].from, &peer, NULL), 0);

	says(two, "stranger");
	says(one, "again");
	hears(peer, "again");
	assert_int_equal(wp_udp_drain(peer, 10), 0); /* nobody else's */
	assert_int_equal(take(fd, first, WP_UDP_TAKE), 1);
	assert_memory_equal(first[0].bytes, "stranger", 8);
	says(peer, "answer");
	hears(one, "answer");
}

static void a_peer_gets_its_own_socket_on_either_family(void **state)
{
	struct wp_addr any4 = v4("0.0.0.0", 0), one4 = v4("127.0.0.1", 0),
		       two4 = v4("127.0.0.2", 0);
	struct wp_addr any6 = v6("::", 0), one6 = v6("::1", 0);
	_cleanup_close_ int probe = -1;

	(void)state;
	a_peer_gets_its_own_socket(&any4, &one4);
	a_peer_gets_its_own_socket(&any4, &two4); /* the answer comes from where it was asked */
	a_peer_gets_its_own_socket(&one4, &one4);
	if (wp_sock_listen("::1", 0, AF_UNSPEC, &probe, NULL) < 0) {
		print_message("no IPv6 here\n");
		return;
	}
	a_peer_gets_its_own_socket(&any6, &one6);
	a_peer_gets_its_own_socket(&any6, &two4);
	a_peer_gets_its_own_socket(&one6, &one6);
}

static void lengths_are_those_of_the_datagrams(void **state)
{
	static const char block[200] = "long";
	struct wp_addr local = v4("127.0.0.1", 0), at;
	struct wp_udp_first first[WP_UDP_TAKE];
	_cleanup_close_ int fd = listening(&local, &at), one = client(&at);

	(void)state;
	assert_int_equal(send(one, block, sizeof(block), 0), sizeof(block));
	assert_int_equal(send(one, block, 0, 0), 0);
	for (int i = 0; i < 70; i++)
		says(one, "x");
	assert_int_equal(take(fd, first, WP_UDP_TAKE), WP_UDP_TAKE);
	assert_int_equal(first[0].len, sizeof(block));
	assert_int_equal(first[1].len, 0);
	assert_int_equal(first[63].len, 1);
	assert_int_equal(take(fd, first, 3), 3);
	assert_int_equal(wp_udp_drain(fd, 2), 2);
	assert_int_equal(wp_udp_drain(fd, 100), 3);
	assert_int_equal(wp_udp_take(fd, first, WP_UDP_TAKE), 0);
}

static void a_port_that_is_taken_is_said(void **state)
{
	struct wp_addr local = v4("127.0.0.1", 0), at;
	_cleanup_close_ int other = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), fd = -1;
	struct wp_err err = { 0 };

	(void)state;
	assert_int_equal(bind(other, &local.sa, local.len), 0);
	assert_int_equal(wp_addr_local(other, &at), 0);
	assert_int_equal(wp_udp_listen(&at, &fd, &err), -EADDRINUSE);
	assert_non_null(strstr(err.msg, "taken"));
	assert_int_equal(fd, -1);
}

static void an_inherited_socket_serves_too(void **state)
{
	struct wp_addr local = v4("127.0.0.1", 0), at;
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM, 0), one = -1, peer = -1;
	struct wp_udp_first first[1];

	(void)state;
	assert_int_equal(bind(fd, &local.sa, local.len), 0);
	assert_int_equal(wp_udp_adopt(fd, NULL), 0);
	assert_int_equal(wp_addr_local(fd, &at), 0);
	one = client(&at);
	says(one, "first");
	assert_int_equal(take(fd, first, 1), 1);
	assert_int_equal(wp_udp_answer(fd, &first[0].to, &first[0].from, &peer, NULL), 0);
	says(one, "again");
	hears(peer, "again");
	assert_int_equal(wp_udp_adopt(STDIN_FILENO, NULL) < 0, 1);
}

/* Each gets what its client says. */
static void four_hundred_peers_share_the_port(void **state)
{
	enum { N = 400, BATCH = 50 };
	static int clients[N], peers[N];
	struct wp_addr any = v4("0.0.0.0", 0), at, to;
	_cleanup_close_ int fd = listening(&any, &at);
	char text[16];

	(void)state;
	to = v4("127.0.0.1", wp_addr_port(&at));
	for (int i = 0; i < N; i += BATCH) {
		struct wp_udp_first first[WP_UDP_TAKE];
		int have = 0;

		for (int k = i; k < i + BATCH; k++) {
			clients[k] = client(&to);
			says(clients[k], "first");
		}
		while (have < BATCH) {
			size_t n = take(fd, first, WP_UDP_TAKE);

			for (size_t k = 0; k < n; k++, have++)
				assert_int_equal(wp_udp_answer(fd, &first[k].to, &first[k].from,
							       &peers[i + have], NULL),
						 0);
		}
	}
	for (int i = 0; i < N; i++) {
		snprintf(text, sizeof(text), "to %d", i);
		says(peers[i], text);
		hears(clients[i], text); /* loopback keeps the order, so the numbers agree */
		says(clients[i], text);
		hears(peers[i], text);
		close(peers[i]);
		close(clients[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peer_gets_its_own_socket_on_either_family),
		cmocka_unit_test(lengths_are_those_of_the_datagrams),
		cmocka_unit_test(a_port_that_is_taken_is_said),
		cmocka_unit_test(an_inherited_socket_serves_too),
		cmocka_unit_test(four_hundred_peers_share_the_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
