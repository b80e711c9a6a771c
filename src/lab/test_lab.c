/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes real labs where that is allowed and skips where it isn't; only addresses inside its own
 * namespaces are used.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "lab/build.h"
#include "lab/lab.h"
#include "sys/netns.h"
#include "sys/nl_link.h"

/* Opens a lab or skips the test. */
static struct wp_lab open_or_skip(const struct wp_lab_spec *spec)
{
	struct wp_lab lab = WP_LAB_CLOSED;
	struct wp_err err = { 0 };
	int r = wp_lab_open(spec, &lab, &err);

	if (r == -EPERM) {
		print_message("# skipped: %s\n", err.msg);
		skip();
	}
	if (r)
		fail_msg("wp_lab_open: %s", err.msg);
	return lab;
}

struct sock_ask {
	int family, type;
	const char *ip;
	uint16_t port; /* 0: any; the port bound to is returned here */
	int fd;
};

static socklen_t fill(struct sockaddr_storage *ss, int family, const char *ip, uint16_t port)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ss;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ss;

	memset(ss, 0, sizeof(*ss));
	ss->ss_family = (sa_family_t)family;
	if (family == AF_INET) {
		v4->sin_port = htons(port);
		inet_pton(AF_INET, ip, &v4->sin_addr);
		return sizeof(*v4);
	}
	v6->sin6_port = htons(port);
	inet_pton(AF_INET6, ip, &v6->sin6_addr);
	return sizeof(*v6);
}

static int bound_socket(void *arg)
{
	struct sock_ask *a = arg;
	struct sockaddr_storage ss;
	socklen_t len = fill(&ss, a->family, a->ip, a->port);

	a->fd = socket(a->family, a->type | SOCK_CLOEXEC, 0);
	if (a->fd < 0 || bind(a->fd, (struct sockaddr *)&ss, len) ||
	    (a->type == SOCK_STREAM && listen(a->fd, 4)) ||
	    getsockname(a->fd, (struct sockaddr *)&ss, &len))
		return -errno;
	a->port = ntohs(a->family == AF_INET ? ((struct sockaddr_in *)&ss)->sin_port
					     : ((struct sockaddr_in6 *)&ss)->sin6_port);
	return 0;
}

static int connected_socket(void *arg)
{
	struct sock_ask *a = arg;
	struct sockaddr_storage ss;
	socklen_t len = fill(&ss, a->family, a->ip, a->port);

	a->fd = socket(a->family, a->type | SOCK_CLOEXEC, 0);
	if (a->fd < 0 || connect(a->fd, (struct sockaddr *)&ss, len))
		return -errno;
	return 0;
}

/* Eight bytes from side A to side B. */
static void send_across(const struct wp_lab *lab, int family, int type)
{
	const struct wp_lab_end *b = &lab->end[WP_LAB_B];
	struct sock_ask server = { family, type, family == AF_INET ? b->ip4 : b->ip6, 0, -1 };
	struct sock_ask client = server;
	struct pollfd pfd = { .events = POLLIN };
	char got[16];
	int data = -1;

	assert_int_equal(wp_lab_call(lab, WP_LAB_B, bound_socket, &server), 0);
	client.port = server.port;
	assert_int_equal(wp_lab_call(lab, WP_LAB_A, connected_socket, &client), 0);
	assert_int_equal(write(client.fd, "whyperf!", 8), 8);
	data = type == SOCK_STREAM ? accept4(server.fd, NULL, NULL, SOCK_CLOEXEC) : dup(server.fd);
	pfd.fd = data;
	assert_int_equal(poll(&pfd, 1, 5000), 1);
	assert_int_equal(read(data, got, sizeof(got)), 8);
	assert_memory_equal(got, "whyperf!", 8);
	close(data);
	close(client.fd);
	close(server.fd);
}

static void test_traffic_crosses(void **state)
{
	_cleanup_lab_ struct wp_lab lab = open_or_skip(NULL);

	(void)state;
	assert_string_equal(lab.end[WP_LAB_A].ip4, "10.97.0.1");
	assert_string_equal(lab.end[WP_LAB_B].ip4, "10.97.0.2");
	assert_int_equal(lab.mtu_bytes, 1500);
	send_across(&lab, AF_INET, SOCK_STREAM);
	send_across(&lab, AF_INET, SOCK_DGRAM);
	if (!lab.has_ipv6)
		return;
	assert_string_equal(lab.end[WP_LAB_B].ip6, "fd97::2");
	send_across(&lab, AF_INET6, SOCK_STREAM);
	send_across(&lab, AF_INET6, SOCK_DGRAM);
}

/* The ledger wants to count only the test's own packets. */
static void test_wire_is_quiet(void **state)
{
	_cleanup_lab_ struct wp_lab lab = open_or_skip(NULL);
	_cleanup_nl_ struct wp_nl nl = { 0 };
	struct rtnl_link_stats64 st;
	struct wp_err err = { 0 };

	(void)state;
	assert_int_equal(wp_nl_open_in(lab.end[WP_LAB_B].netns_fd, &nl, &err), 0);
	/* A router solicitation would come within the first second. */
	wp_sleep_until_ns(wp_now_ns() + 1500 * WP_NS_PER_MS);
	send_across(&lab, AF_INET, SOCK_DGRAM);
	assert_int_equal(wp_nl_link_stats(&nl, lab.end[WP_LAB_B].ifname, &st, &err), 0);
	assert_int_equal(st.rx_packets, 1);
	assert_int_equal(st.tx_packets, 0);
	assert_int_equal(st.rx_bytes, 14 + 20 + 8 + 8);
}

static void test_two_at_once(void **state)
{
	_cleanup_lab_ struct wp_lab one = open_or_skip(NULL);
	_cleanup_lab_ struct wp_lab two = open_or_skip(NULL);
	uint64_t ino[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(wp_netns_ino((i < 2 ? &one : &two)->end[i % 2].netns_fd, &ino[i]),
				 0);
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < i; j++)
			assert_true(ino[i] != ino[j]);
	send_across(&one, AF_INET, SOCK_STREAM);
	send_across(&two, AF_INET, SOCK_STREAM);
}

static void test_mtu(void **state)
{
	struct wp_lab_spec jumbo = { .mtu_bytes = 9000 }, tiny = { .mtu_bytes = 576 };
	_cleanup_lab_ struct wp_lab big = open_or_skip(&jumbo);
	_cleanup_lab_ struct wp_lab small = open_or_skip(&tiny);
	struct wp_err err = { 0 };
	struct wp_nl_link link;

	(void)state;
	for (int i = 0; i < WP_LAB_SIDES; i++) {
		_cleanup_nl_ struct wp_nl nl = { 0 };

		assert_int_equal(wp_nl_open_in(big.end[i].netns_fd, &nl, &err), 0);
		assert_int_equal(wp_nl_link_get(&nl, big.end[i].ifname, &link, &err), 0);
		assert_int_equal(link.mtu_bytes, 9000);
	}
	/* IPv6 needs 1280. */
	assert_false(small.has_ipv6);
	assert_string_equal(small.end[WP_LAB_A].ip6, "");
	send_across(&small, AF_INET, SOCK_STREAM);
}

static void test_enter_moves_one_thread(void **state)
{
	_cleanup_lab_ struct wp_lab lab = open_or_skip(NULL);
	_cleanup_close_ int home = -1;
	uint64_t home_ino, there_ino, end_ino;
	struct wp_err err = { 0 };
	int there = -1;

	(void)state;
	if (lab.in_user_ns) {
		print_message("# skipped: without root there is no way back\n");
		skip();
	}
	assert_int_equal(wp_netns_self(&home), 0);
	assert_int_equal(wp_lab_enter(&lab, WP_LAB_A, &err), 0);
	assert_int_equal(wp_netns_self(&there), 0);
	assert_int_equal(wp_netns_enter(home), 0);
	assert_int_equal(wp_netns_ino(home, &home_ino), 0);
	assert_int_equal(wp_netns_ino(there, &there_ino), 0);
	assert_int_equal(wp_netns_ino(lab.end[WP_LAB_A].netns_fd, &end_ino), 0);
	close(there);
	assert_true(there_ino == end_ino);
	assert_true(there_ino != home_ino);
}

static void test_files_of_one_end(void **state)
{
	_cleanup_lab_ struct wp_lab lab = open_or_skip(NULL);
	_cleanup_buf_ struct wp_buf b = WP_BUF(1 << 20);
	int fd = -1;

	(void)state;
	assert_int_equal(
		wp_lab_open_file(&lab, WP_LAB_B, "/proc/thread-self/net/dev", O_RDONLY, &fd), 0);
	assert_int_equal(wp_reread_fd(fd, &b), 0);
	close(fd);
	assert_non_null(strstr(wp_buf_text(&b), "wpb:"));
	assert_null(strstr(wp_buf_text(&b), "wpa:"));
	if (lab.end[WP_LAB_A].sys_fd < 0) {
		print_message("# skipped: this kernel gives no sysfs of its own\n");
		skip();
	}
	assert_int_equal(
		faccessat(lab.end[WP_LAB_A].sys_fd, "class/net/wpa/queues/rx-0/rps_cpus", F_OK, 0),
		0);
	assert_int_equal(faccessat(lab.end[WP_LAB_A].sys_fd, "class/net/wpb", F_OK, 0), -1);
}

/* A killed owner leaves nothing: the fds were all that held the lab. The veth's other end, which
 * the test looks at through a namespace that it holds itself, is gone with it. */
static void test_kill_leaves_nothing(void **state)
{
	_cleanup_close_ int watch = -1;
	_cleanup_nl_ struct wp_nl nl = { 0 };
	struct wp_err err = { 0 };
	struct wp_nl_link link;
	char path[64], go;
	int pipes[2], r;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct wp_lab lab;

		r = wp_lab_open(NULL, &lab, NULL);
		if (!r)
			r = wp_lab_enter(&lab, WP_LAB_B, NULL);
		go = r ? 'n' : 'y';
		if (write(pipes[1], &go, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &go, 1), 1);
	close(pipes[0]);
	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	r = go == 'y' ? wp_netns_open(path, &watch) : -EPERM;
	if (!r)
		r = wp_nl_open_in(watch, &nl, &err);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	if (r == -EPERM) {
		print_message("# skipped: no right to make or enter network namespaces\n");
		skip();
	}
	assert_int_equal(r, 0);
	/* The kernel takes namespaces apart in the background. */
	for (int i = 0; i < 500; i++) {
		r = wp_nl_link_get(&nl, "wpb", &link, NULL);
		if (r)
			break;
		wp_sleep_until_ns(wp_now_ns() + 10 * WP_NS_PER_MS);
	}
	assert_int_equal(r, -ENODEV);
}

/* As nobody: a lab in a user namespace, or the sentence. */
static int open_as_nobody(void)
{
	struct wp_lab lab;
	struct wp_err err = { 0 };
	int r;

	if (!geteuid() && (setgid(65534) || setuid(65534)))
		return 1;
	/* A user's own program is dumpable; one that gave up root is not, and may not write its
	 * uid_map. */
	prctl(PR_SET_DUMPABLE, 1);
	r = wp_lab_open(NULL, &lab, &err);
	if (!r) {
		struct sock_ask a = { AF_INET, SOCK_STREAM, "10.97.0.2", 0, -1 };

		if (!lab.in_user_ns || getuid() == 0)
			return 2;
		if (wp_lab_call(&lab, WP_LAB_B, bound_socket, &a) ||
		    wp_lab_enter(&lab, WP_LAB_A, NULL))
			return 3;
		return connected_socket(&a) ? 4 : 0;
	}
	return r == -EPERM && strstr(err.msg, "run as root") && strstr(err.msg, "--loopback") ? 77
											      : 5;
}

static void test_without_root(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (!pid)
		_exit(open_as_nobody());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		print_message("# the kernel does not allow it; the sentence was given\n");
	else
		assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_root),
		cmocka_unit_test(test_kill_leaves_nothing),
		cmocka_unit_test(test_traffic_crosses),
		cmocka_unit_test(test_wire_is_quiet),
		cmocka_unit_test(test_two_at_once),
		cmocka_unit_test(test_mtu),
		cmocka_unit_test(test_enter_moves_one_thread),
		cmocka_unit_test(test_files_of_one_end),
	};

	return cmocka_run_group_tests_name("lab", tests, NULL, NULL);
}
