/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TCP sockets over loopback: listen, connect, options and deadlines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "net/sock.h"

#define SECONDS(n) (wp_now_ns() + (n)*WP_NS_PER_S)

struct pair {
	int listener, client, server;
};

static uint16_t port_of(int fd)
{
	struct wp_addr a;

	assert_int_equal(wp_addr_local(fd, &a), 0);
	return wp_addr_port(&a);
}

static int connect_to(const char *host, uint16_t port, const struct wp_plan *plan,
		      struct wp_err *err, int *ret)
{
	const struct wp_connect c = { .host = host,
				      .port = port,
				      .family = AF_UNSPEC,
				      .timeout_ns = 5 * WP_NS_PER_S,
				      .plan = plan };

	return wp_sock_connect(&c, ret, err);
}

static struct pair connected(const char *host, const struct wp_plan *plan)
{
	struct pair p = { -1, -1, -1 };
	struct wp_err err = { 0 };

	if (wp_sock_listen(host, 0, AF_UNSPEC, &p.listener, &err) < 0)
		fail_msg("%s", err.msg);
	if (connect_to(host, port_of(p.listener), plan, &err, &p.client) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(wp_sock_accept(p.listener, SECONDS(5), &p.server, NULL), 0);
	return p;
}

static void done(struct pair *p)
{
	wp_close_p(&p->listener);
	wp_close_p(&p->client);
	wp_close_p(&p->server);
}

static bool have_ipv6(void)
{
	_cleanup_close_ int fd = -1;

	return wp_sock_listen("::1", 0, AF_UNSPEC, &fd, NULL) == 0;
}

static void sockets_are_cloexec_and_nonblocking(void **state)
{
	struct pair p = connected("127.0.0.1", NULL);
	int fds[] = { p.listener, p.client, p.server };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_true(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
		assert_true(fcntl(fds[i], F_GETFL) & O_NONBLOCK);
	}
	done(&p);
}

static void listens_on_all_addresses(void **state)
{
	_cleanup_close_ int l = -1, c4 = -1, c6 = -1, s4 = -1, s6 = -1;
	struct wp_addr from;
	char text[WP_ADDR_TEXT];

	(void)state;
	assert_int_equal(wp_sock_listen(NULL, 0, AF_UNSPEC, &l, NULL), 0);
	assert_int_equal(connect_to("127.0.0.1", port_of(l), NULL, NULL, &c4), 0);
	assert_int_equal(wp_sock_accept(l, SECONDS(5), &s4, &from), 0);
	wp_addr_format_host(&from, text);
	assert_string_equal(text, "127.0.0.1");
	if (!have_ipv6())
		return;
	assert_int_equal(connect_to("::1", port_of(l), NULL, NULL, &c6), 0);
	assert_int_equal(wp_sock_accept(l, SECONDS(5), &s6, &from), 0);
	wp_addr_format_host(&from, text);
	assert_string_equal(text, "::1");
}

static void listens_on_ipv4_alone(void **state)
{
	_cleanup_close_ int l = -1, c = -1;

	(void)state;
	assert_int_equal(wp_sock_listen(NULL, 0, AF_INET, &l, NULL), 0);
	assert_int_equal(connect_to("127.0.0.1", port_of(l), NULL, NULL, &c), 0);
	if (have_ipv6()) {
		int no = -1;

		assert_int_equal(connect_to("::1", port_of(l), NULL, NULL, &no), -ECONNREFUSED);
		assert_int_equal(no, -1);
	}
}

static void sentences_of_listen(void **state)
{
	_cleanup_close_ int l = -1;
	struct wp_err err = { 0 };
	int no = -1;

	(void)state;
	assert_int_equal(wp_sock_listen("127.0.0.1", 0, AF_UNSPEC, &l, NULL), 0);
	assert_int_equal(wp_sock_listen("127.0.0.1", port_of(l), AF_UNSPEC, &no, &err),
			 -EADDRINUSE);
	assert_non_null(strstr(err.msg, "cannot listen on 127.0.0.1:"));
	assert_non_null(strstr(err.msg, "--port"));
	err.msg[0] = '\0';
	/* TEST-NET-1 is nobody's address. */
	assert_int_equal(wp_sock_listen("192.0.2.1", 0, AF_UNSPEC, &no, &err), -EADDRNOTAVAIL);
	assert_non_null(strstr(err.msg, "no such address"));
	assert_int_equal(no, -1);
}

static void refused(void **state)
{
	_cleanup_close_ int l = -1;
	struct wp_err err = { 0 };
	uint16_t port;
	int no = -1;

	(void)state;
	assert_int_equal(wp_sock_listen("127.0.0.1", 0, AF_UNSPEC, &l, NULL), 0);
	port = port_of(l);
	wp_close_p(&l);
	assert_int_equal(connect_to("127.0.0.1", port, NULL, &err, &no), -ECONNREFUSED);
	assert_non_null(strstr(err.msg, "connection refused; is a server running there?"));
	assert_int_equal(no, -1);
}

static void binds_to_an_address(void **state)
{
	_cleanup_close_ int l = -1, c = -1, s = -1;
	struct wp_connect spec = { .host = "127.0.0.1",
				   .bind_host = "127.0.0.77",
				   .timeout_ns = 5 * WP_NS_PER_S };
	struct wp_err err = { 0 };
	struct wp_addr from;
	char text[WP_ADDR_TEXT];
	int no = -1;

	(void)state;
	assert_int_equal(wp_sock_listen("127.0.0.1", 0, AF_UNSPEC, &l, NULL), 0);
	spec.port = port_of(l);
	assert_int_equal(wp_sock_connect(&spec, &c, &err), 0);
	assert_int_equal(wp_sock_accept(l, SECONDS(5), &s, &from), 0);
	wp_addr_format_host(&from, text);
	assert_string_equal(text, "127.0.0.77");
	spec.bind_host = "192.0.2.1";
	assert_int_equal(wp_sock_connect(&spec, &no, &err), -EADDRNOTAVAIL);
	assert_non_null(strstr(err.msg, "local address 192.0.2.1"));
	err.msg[0] = '\0';
	spec.bind_host = "::1";
	assert_true(wp_sock_connect(&spec, &no, &err) < 0);
	assert_int_equal(no, -1);
}

static void accept_times_out(void **state)
{
	_cleanup_close_ int l = -1;
	int no = -1;

	(void)state;
	assert_int_equal(wp_sock_listen("127.0.0.1", 0, AF_UNSPEC, &l, NULL), 0);
	assert_int_equal(wp_sock_accept(l, wp_now_ns() + WP_NS_PER_MS, &no, NULL), -ETIMEDOUT);
	assert_int_equal(no, -1);
}

static int int_option(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int v = -1;

	assert_int_equal(getsockopt(fd, level, name, &v, &len), 0);
	return v;
}

static void options_of_a_plan(void **state)
{
	const struct wp_plan plan = { .window_bytes = 65536,
				      .mss_bytes = 1000,
				      .nodelay = true,
				      .dscp = 46,
				      .congestion = "reno" };
	struct pair p = connected("127.0.0.1", &plan);
	struct wp_sock_got got;
	char name[16] = "";
	socklen_t len = sizeof(name);

	(void)state;
	assert_int_equal(int_option(p.client, SOL_SOCKET, SO_SNDBUF), 131072);
	assert_int_equal(int_option(p.client, SOL_SOCKET, SO_RCVBUF), 131072);
	assert_true(int_option(p.client, IPPROTO_TCP, TCP_MAXSEG) <= 1000);
	assert_true(int_option(p.server, IPPROTO_TCP, TCP_MAXSEG) <= 1000);
	assert_int_equal(int_option(p.client, IPPROTO_TCP, TCP_NODELAY), 1);
	assert_int_equal(int_option(p.client, IPPROTO_IP, IP_TOS), 46 << 2);
	assert_int_equal(getsockopt(p.client, IPPROTO_TCP, TCP_CONGESTION, name, &len), 0);
	assert_string_equal(name, "reno");
	assert_int_equal(wp_sock_apply(p.server, &plan, &got, NULL), 0);
	assert_int_equal(got.sndbuf_bytes, 131072);
	assert_int_equal(got.rcvbuf_bytes, 131072);
	assert_false(got.window_short);
	done(&p);
}

static void dscp_on_ipv6(void **state)
{
	const struct wp_plan plan = { .dscp = 10 };
	struct pair p;

	(void)state;
	if (!have_ipv6())
		skip();
	p = connected("::1", &plan);
	assert_int_equal(int_option(p.client, IPPROTO_IPV6, IPV6_TCLASS), 10 << 2);
	done(&p);
}

static void an_impossible_window_is_said(void **state)
{
	const struct wp_plan plan = { .window_bytes = UINT64_MAX, .dscp = -1 };
	struct pair p = connected("127.0.0.1", NULL);
	struct wp_sock_got got;

	(void)state;
	assert_int_equal(wp_sock_apply(p.client, &plan, &got, NULL), 0);
	assert_true(got.window_short);
	assert_true(got.sndbuf_bytes > 0);
	done(&p);
}

static void sentences_of_options(void **state)
{
	struct wp_plan plan = { .dscp = -1, .congestion = "no_such_cc" };
	struct pair p = connected("127.0.0.1", NULL);
	struct wp_err err = { 0 };

	(void)state;
	assert_int_equal(wp_sock_apply(p.client, &plan, NULL, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "'no_such_cc' is not available here; there is: "));
	assert_non_null(strstr(err.msg, "reno"));
	err.msg[0] = '\0';
	plan = (struct wp_plan) { .dscp = 64 };
	assert_int_equal(wp_sock_apply(p.client, &plan, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "DSCP 64"));
	err.msg[0] = '\0';
	plan = (struct wp_plan) { .dscp = -1, .mss_bytes = 5 };
	assert_int_equal(wp_sock_apply(p.client, &plan, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "MSS"));
	done(&p);
}

static void user_timeout(void **state)
{
	struct pair p = connected("127.0.0.1", NULL);

	(void)state;
	assert_int_equal(wp_sock_set_user_timeout(p.client, 1500 * WP_NS_PER_MS), 0);
	assert_int_equal(int_option(p.client, IPPROTO_TCP, TCP_USER_TIMEOUT), 1500);
	done(&p);
}

static void whole_buffers(void **state)
{
	struct pair p = connected("127.0.0.1", NULL);
	char in[8] = "";

	(void)state;
	assert_int_equal(wp_sock_write_full(p.client, "whyperf", 8, SECONDS(5)), 0);
	assert_int_equal(wp_sock_read_full(p.server, in, 8, SECONDS(5)), 0);
	assert_string_equal(in, "whyperf");
	assert_int_equal(wp_sock_read_full(p.server, in, 1, wp_now_ns() + WP_NS_PER_MS),
			 -ETIMEDOUT);
	assert_int_equal(wp_sock_write_full(p.client, "abc", 3, SECONDS(5)), 0);
	assert_int_equal(shutdown(p.client, SHUT_WR), 0);
	assert_int_equal(wp_sock_read_full(p.server, in, 8, SECONDS(5)), -ECONNRESET);
	assert_int_equal(wp_sock_read_full(p.server, in, 8, SECONDS(5)), -ENODATA);
	done(&p);
}

static void writing_to_nobody(void **state)
{
	static const char block[1 << 16];
	struct pair p = connected("127.0.0.1", NULL);
	int r = 0;

	(void)state;
	/* Not read: the buffers fill up. */
	while (r == 0)
		r = wp_sock_write_full(p.client, block, sizeof(block),
				       wp_now_ns() + 20 * WP_NS_PER_MS);
	assert_int_equal(r, -ETIMEDOUT);
	/* Closed with unread data: the kernel resets; no SIGPIPE kills this test. */
	wp_close_p(&p.server);
	do
		r = wp_sock_write_full(p.client, block, sizeof(block), SECONDS(5));
	while (r == 0);
	assert_true(r == -ECONNRESET || r == -EPIPE);
	r = wp_sock_write_full(p.client, block, sizeof(block), SECONDS(5));
	assert_int_equal(r, -EPIPE);
	done(&p);
}

static void a_group_shares_a_port_and_no_other_group_does(void **state)
{
	enum { GROUP = 4, CONNECTIONS = 64 };
	int group[GROUP], other[GROUP], clients[CONNECTIONS], servers[CONNECTIONS], n = 0, used = 0;
	struct wp_addr at = { .v4 = { .sin_family = AF_INET }, .len = sizeof(at.v4) };
	struct wp_err err = { 0 };

	(void)state;
	at.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(wp_sock_listen_group(&at, group, GROUP, &err), 0);
	wp_addr_set_port(&at, port_of(group[0]));
	for (int i = 0; i < GROUP; i++)
		assert_int_equal(port_of(group[i]), wp_addr_port(&at));
	assert_int_equal(wp_sock_listen_group(&at, other, GROUP, &err), -EADDRINUSE);
	assert_non_null(strstr(err.msg, "in use"));
	for (int i = 0; i < CONNECTIONS; i++)
		assert_int_equal(
			connect_to("127.0.0.1", wp_addr_port(&at), NULL, NULL, &clients[i]), 0);
	for (int i = 0; i < GROUP; i++) {
		int before = n;

		while (n < CONNECTIONS && wp_sock_accept(group[i], 0, &servers[n], NULL) == 0)
			n++;
		used += n > before;
	}
	assert_int_equal(n, CONNECTIONS);
	assert_true(used > 1); /* all at one of four: 4^-63 */
	for (int i = 0; i < GROUP; i++)
		close(group[i]);
	/* Connections that go on don't keep the port from the next group. */
	assert_int_equal(wp_sock_listen_group(&at, other, GROUP, NULL), 0);
	for (int i = 0; i < GROUP; i++)
		close(other[i]);
	for (int i = 0; i < CONNECTIONS; i++) {
		close(clients[i]);
		close(servers[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sockets_are_cloexec_and_nonblocking),
		cmocka_unit_test(listens_on_all_addresses),
		cmocka_unit_test(listens_on_ipv4_alone),
		cmocka_unit_test(sentences_of_listen),
		cmocka_unit_test(refused),
		cmocka_unit_test(binds_to_an_address),
		cmocka_unit_test(accept_times_out),
		cmocka_unit_test(options_of_a_plan),
		cmocka_unit_test(dscp_on_ipv6),
		cmocka_unit_test(an_impossible_window_is_said),
		cmocka_unit_test(sentences_of_options),
		cmocka_unit_test(user_timeout),
		cmocka_unit_test(whole_buffers),
		cmocka_unit_test(writing_to_nobody),
		cmocka_unit_test(a_group_shares_a_port_and_no_other_group_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
