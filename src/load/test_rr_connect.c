/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A connection for each transaction, over loopback and, where ports run out, in a network namespace of the test's own.
 */
#include "load/testrr.h"

#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#define CLIENTS_MAX 300

static const enum wp_wait waits[] = { WP_WAIT_AUTO, WP_WAIT_BLOCK, WP_WAIT_EPOLL, WP_WAIT_SPIN };

struct test {
	struct wp_plan plan;
	uint64_t requests;
	size_t clients, listeners;
	const struct wp_cpulist *server_cpus;
	struct wp_addr address;
	int listen_fd;
	struct wp_load *client, *server;
};

static struct wp_load *make_load(struct test *t, enum wp_stream_role role)
{
	bool asks = role == WP_STREAM_SENDS;
	struct wp_stream_spec s[CLIENTS_MAX];
	const struct wp_load_spec spec = { .engine = wp_engine_find("rr"),
					   .plan = &t->plan,
					   .cpus = asks ? NULL : t->server_cpus,
					   .streams = s,
					   .n_streams = asks ? t->clients : t->listeners };
	struct wp_load *l = NULL;
	struct wp_err err = { 0 };

	for (size_t i = 0; i < spec.n_streams; i++) {
		s[i] = (struct wp_stream_spec) { .fd = asks ? -1 : t->listen_fd, .role = role };
		if (!asks)
			continue;
		s[i].limit_bytes = t->requests * t->plan.length_bytes;
		s[i].remote = t->address;
	}
	if (wp_load_new(&spec, &l, &err) < 0)
		fail_msg("%s", err.msg);
	return l;
}

static void listen_at(struct test *t, const char *host)
{
	t->plan.connect_each = true;
	assert_int_equal(wp_sock_listen(host, 0, AF_UNSPEC, &t->listen_fd, NULL), 0);
	assert_int_equal(wp_addr_local(t->listen_fd, &t->address), 0);
}

static void begin(struct test *t, size_t clients, size_t listeners)
{
	t->clients = clients;
	t->listeners = listeners;
	t->plan.streams = (unsigned)clients;
	if (t->address.len == 0)
		listen_at(t, "127.0.0.1");
	t->server = make_load(t, WP_STREAM_RECEIVES);
	t->client = make_load(t, WP_STREAM_SENDS);
	wp_load_go(t->server, wp_now_ns());
	wp_load_go(t->client, wp_now_ns());
}

static void end(struct test *t)
{
	wp_load_free(t->client);
	wp_load_free(t->server);
	wp_close_p(&t->listen_fd);
}

static void assert_ends_agree(struct test *t)
{
	struct wp_stream_count c, s;
	struct wp_hist h;

	test_join(t->client);
	wp_load_stop(t->server);
	test_join(t->server);
	c = test_sum(t->client, t->clients);
	s = test_sum(t->server, t->listeners);
	for (size_t i = 0; i < t->clients; i++) {
		assert_int_equal(test_count(t->client, i).error, 0);
		if (t->requests)
			assert_int_equal(test_count(t->client, i).transactions, t->requests);
	}
	for (size_t i = 0; i < t->listeners; i++)
		assert_int_equal(test_count(t->server, i).error, 0);
	assert_int_equal(c.transactions, s.transactions);
	assert_int_equal(c.bytes, c.transactions * t->plan.length_bytes);
	assert_int_equal(c.bytes, s.bytes);
	assert_int_equal(c.response_bytes, c.transactions * t->plan.response_bytes);
	assert_int_equal(c.response_bytes, s.response_bytes);
	assert_int_equal(c.unanswered + s.unanswered, 0);
	test_latency(t->client, &h);
	assert_int_equal(h.n, c.transactions);
	wp_hist_done(&h);
}

static void every_size_is_exact(void **state)
{
	static const uint64_t sizes[][2] = {
		{ 1, 1 }, { 1, 100000 }, { 100000, 1 }, { 1 << 20, 1 << 20 }
	};

	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++)
		for (size_t i = 0; i < WP_ARRAY_SIZE(sizes); i++) {
			struct test t = { .plan = test_plan(sizes[i][0], sizes[i][1]),
					  .requests = 10 };

			t.plan.wait = waits[w];
			begin(&t, 1, 1);
			assert_ends_agree(&t);
			end(&t);
		}
}

static void three_threads_accept_from_one_queue(void **state)
{
	static const size_t clients[] = { 1, 3, 30, CLIENTS_MAX };
	struct wp_cpulist allowed _cleanup_cpulist_ = { 0 };
	int cpu[3];
	const struct wp_cpulist three = { cpu, 3 };

	(void)state;
	assert_int_equal(wp_cpulist_allowed(&allowed), 0);
	for (size_t i = 0; i < 3; i++)
		cpu[i] = allowed.cpu[i % allowed.n];
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++)
		for (size_t i = 0; i < WP_ARRAY_SIZE(clients); i++) {
			struct test t = { .plan = test_plan(10, 200), .requests = 5 };

			t.plan.wait = waits[w];
			t.server_cpus = &three;
			begin(&t, clients[i], 3);
			assert_int_equal(wp_load_threads(t.server), 3);
			assert_ends_agree(&t);
			end(&t);
		}
}

static void ipv6_and_a_local_address(void **state)
{
	(void)state;
	for (int v6 = 0; v6 < 2; v6++) {
		struct test t = { .plan = test_plan(1, 1), .requests = 20 };

		if (v6 && access("/proc/net/if_inet6", F_OK) < 0)
			continue;
		listen_at(&t, v6 ? "::1" : "127.0.0.1");
		t.plan.bind_host = v6 ? "::1" : "127.0.0.3";
		t.plan.window_bytes = 20000;
		begin(&t, 3, 1);
		assert_ends_agree(&t);
		end(&t);
	}
}

static void methods_are_named(void **state)
{
	static const char *const names[][2] = { { "blocking", "epoll" },
						{ "blocking", "epoll" },
						{ "epoll", "epoll" },
						{ "spin", "spin" } };

	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++) {
		struct test t = { .plan = test_plan(1, 1), .requests = 1 };

		t.plan.wait = waits[w];
		begin(&t, 1, 1);
		assert_ends_agree(&t);
		assert_string_equal(wp_load_method(t.client, WP_STREAM_SENDS), names[w][0]);
		assert_string_equal(wp_load_method(t.server, WP_STREAM_RECEIVES), names[w][1]);
		end(&t);
	}
}

static void stop_finishes_what_is_under_way(void **state)
{
	static const size_t clients[] = { 1, 20 };

	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++)
		for (size_t i = 0; i < WP_ARRAY_SIZE(clients); i++) {
			struct test t = { .plan = test_plan(1, 1) };

			t.plan.wait = waits[w];
			begin(&t, clients[i], 1);
			test_sleep(50 * TEST_MS);
			wp_load_stop(t.client);
			assert_ends_agree(&t);
			end(&t);
		}
}

/* Its queue holds connections that nobody accepts. */
static void what_is_cut_is_counted(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++)
		for (size_t clients = 1; clients <= 8; clients += 7) {
			struct test t = { .plan = test_plan(1, 1) };

			t.plan.wait = waits[w];
			t.clients = clients;
			t.plan.streams = (unsigned)clients;
			listen_at(&t, "127.0.0.1");
			t.client = make_load(&t, WP_STREAM_SENDS);
			wp_load_go(t.client, wp_now_ns());
			test_sleep(20 * TEST_MS);
			wp_load_stop(t.client);
			assert_int_equal(wp_load_join(t.client, wp_now_ns() + 20 * TEST_MS),
					 -ETIMEDOUT);
			for (size_t i = 0; i < clients; i++) {
				assert_int_equal(test_count(t.client, i).error, -ECANCELED);
				assert_int_equal(test_count(t.client, i).unanswered,
						 test_count(t.client, i).bytes);
			}
			end(&t);
		}
}

static void a_refused_connection_ends_the_stream(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++) {
		struct test t = { .plan = test_plan(1, 1), .clients = 2 };

		t.plan.wait = waits[w];
		t.plan.streams = 2;
		listen_at(&t, "127.0.0.1");
		wp_close_p(&t.listen_fd);
		t.client = make_load(&t, WP_STREAM_SENDS);
		wp_load_go(t.client, wp_now_ns());
		test_join(t.client);
		for (size_t i = 0; i < 2; i++) {
			assert_int_equal(test_count(t.client, i).error, -ECONNREFUSED);
			assert_int_equal(test_count(t.client, i).unanswered, 1);
		}
		end(&t);
	}
}

/* A client that says nothing keeps nobody else waiting, and the server ends all the same. */
static void silent_clients_are_cut_off_by_the_stop(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++) {
		struct test t = { .plan = test_plan(10, 1), .requests = 50 };
		int silent[3], half;
		char byte;

		t.plan.wait = waits[w];
		listen_at(&t, "127.0.0.1");
		for (size_t i = 0; i < 3; i++) {
			silent[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
			assert_int_equal(connect(silent[i], &t.address.sa, t.address.len), 0);
		}
		half = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(connect(half, &t.address.sa, t.address.len), 0);
		assert_int_equal(write(half, "12345", 5), 5);
		begin(&t, 2, 1);
		test_join(t.client);
		assert_int_equal(test_sum(t.client, 2).transactions, 100);
		while (test_count(t.server, 0).bytes < 1005)
			test_sleep(TEST_MS);
		wp_load_stop(t.server);
		test_join(t.server);
		assert_int_equal(test_count(t.server, 0).error, 0);
		assert_int_equal(test_count(t.server, 0).transactions, 100);
		assert_int_equal(test_count(t.server, 0).unanswered, 1);
		for (size_t i = 0; i < 3; i++) {
			assert_true(read(silent[i], &byte, 1) <= 0);
			close(silent[i]);
		}
		close(half);
		end(&t);
	}
}

static void idle_servers_are_cut(void **state)
{
	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++) {
		struct test t = { .plan = test_plan(1, 1), .listeners = 1 };

		t.plan.wait = waits[w];
		listen_at(&t, "127.0.0.1");
		t.server = make_load(&t, WP_STREAM_RECEIVES);
		wp_load_go(t.server, wp_now_ns());
		test_sleep(20 * TEST_MS);
		assert_int_equal(wp_load_join(t.server, 0), -ETIMEDOUT);
		assert_int_equal(test_count(t.server, 0).error, -ECANCELED);
		end(&t);
	}
}

/* A server of the test's own: what it does to each connection. */
enum misdeed {
	CLOSES_AT_ONCE,
	CLOSES_IN_THE_RESPONSE,
	SAYS_TOO_MUCH,
};

struct misbehaving {
	int listen_fd;
	enum misdeed misdeed;
	pthread_t thread;
};

static void *misbehave(void *arg)
{
	struct misbehaving *m = arg;
	char request[8];
	int fd;

	assert_int_equal(wp_sock_accept(m->listen_fd, test_deadline(), &fd, NULL), 0);
	assert_int_equal(wp_sock_read_full(fd, request, sizeof(request), test_deadline()), 0);
	if (m->misdeed != CLOSES_AT_ONCE)
		assert_true(write(fd, "!!!", m->misdeed == SAYS_TOO_MUCH ? 3 : 1) > 0);
	close(fd);
	return NULL;
}

static void servers_that_misbehave_end_the_stream(void **state)
{
	static const int errors[] = { -ECONNRESET, -ECONNRESET, -EPROTO };

	(void)state;
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++)
		for (int i = CLOSES_AT_ONCE; i <= SAYS_TOO_MUCH; i++) {
			struct test t = { .plan = test_plan(8, 2), .clients = 1 };
			struct misbehaving m = { .misdeed = (enum misdeed)i };

			t.plan.wait = waits[w];
			listen_at(&t, "127.0.0.1");
			m.listen_fd = t.listen_fd;
			assert_int_equal(pthread_create(&m.thread, NULL, misbehave, &m), 0);
			t.client = make_load(&t, WP_STREAM_SENDS);
			wp_load_go(t.client, wp_now_ns());
			test_join(t.client);
			pthread_join(m.thread, NULL);
			assert_int_equal(test_count(t.client, 0).error, errors[i]);
			assert_int_equal(test_count(t.client, 0).unanswered, 1);
			end(&t);
		}
}

/* ---- no port is free ---- */

static bool write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	return f && fputs(text, f) >= 0 && fclose(f) == 0;
}

/* A network namespace with two ports for clients. */
static bool enter_narrow_namespace(void)
{
	struct ifreq lo = { .ifr_name = "lo" };
	int fd;

	if (unshare(CLONE_NEWNET) < 0)
		return false;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	lo.ifr_flags = IFF_UP | IFF_RUNNING;
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
		return false;
	close(fd);
	return write_file("/proc/sys/net/ipv4/ip_local_port_range", "40000 40001");
}

static void in_the_narrow_namespace(bool hopeless)
{
	for (size_t w = 0; w < WP_ARRAY_SIZE(waits); w++) {
		struct test t = { .plan = test_plan(1, 1), .requests = 20 };

		t.plan.wait = waits[w];
		t.plan.connect_each = true;
		assert_int_equal(wp_sock_listen("127.0.0.1", 5000, AF_UNSPEC, &t.listen_fd, NULL),
				 0);
		assert_int_equal(wp_addr_local(t.listen_fd, &t.address), 0);
		if (!hopeless) {
			/* Ten at once with two ports. */
			begin(&t, 10, 1);
			assert_ends_agree(&t);
		} else {
			/* Nobody answers, so no port is ever free again: the stop is seen all the same. */
			t.clients = 10;
			t.plan.streams = 10;
			t.client = make_load(&t, WP_STREAM_SENDS);
			wp_load_go(t.client, wp_now_ns());
			test_sleep(50 * TEST_MS);
			wp_load_stop(t.client);
			assert_int_equal(wp_load_join(t.client, wp_now_ns() + 200 * TEST_MS),
					 -ETIMEDOUT);
			assert_int_equal(test_sum(t.client, 10).unanswered, 10);
			assert_int_equal(test_sum(t.client, 10).bytes, 2);
		}
		end(&t);
	}
}

static void transactions_wait_for_a_port(void **state)
{
	int before = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(before >= 0);
	if (!enter_narrow_namespace()) {
		(void)!setns(before, CLONE_NEWNET);
		close(before);
		print_message("a network namespace cannot be made\n");
		skip();
	}
	in_the_narrow_namespace(false);
	in_the_narrow_namespace(true);
	assert_int_equal(setns(before, CLONE_NEWNET), 0);
	close(before);
}

static void what_cannot_be_is_refused(void **state)
{
	struct test t = { .plan = test_plan(1, 1) };
	struct wp_stream_spec s = { .fd = -1, .role = WP_STREAM_SENDS };
	const struct wp_load_spec spec = {
		.engine = wp_engine_find("rr"), .plan = &t.plan, .streams = &s, .n_streams = 1
	};
	struct wp_load *l = NULL;
	struct wp_err err = { 0 };
	int fds[2];

	(void)state;
	t.plan.connect_each = true;
	/* no address */
	assert_int_equal(wp_load_new(&spec, &l, &err), -EINVAL);
	assert_true(err.msg[0] != '\0');
	/* a local address of the other family */
	err = (struct wp_err) { 0 };
	listen_at(&t, "127.0.0.1");
	s.remote = t.address;
	t.plan.bind_host = "::1";
	assert_true(wp_load_new(&spec, &l, &err) < 0);
	assert_true(err.msg[0] != '\0');
	/* a server's socket that does not listen */
	err = (struct wp_err) { 0 };
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	s = (struct wp_stream_spec) { .fd = fds[0], .role = WP_STREAM_RECEIVES };
	assert_int_equal(wp_load_new(&spec, &l, &err), -EINVAL);
	assert_true(err.msg[0] != '\0');
	close(fds[0]);
	close(fds[1]);
	wp_close_p(&t.listen_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_size_is_exact),
		cmocka_unit_test(three_threads_accept_from_one_queue),
		cmocka_unit_test(ipv6_and_a_local_address),
		cmocka_unit_test(methods_are_named),
		cmocka_unit_test(stop_finishes_what_is_under_way),
		cmocka_unit_test(what_is_cut_is_counted),
		cmocka_unit_test(a_refused_connection_ends_the_stream),
		cmocka_unit_test(silent_clients_are_cut_off_by_the_stop),
		cmocka_unit_test(idle_servers_are_cut),
		cmocka_unit_test(servers_that_misbehave_end_the_stream),
		cmocka_unit_test(what_cannot_be_is_refused),
		/* Last: were it to fail it would leave this thread in its namespace. */
		cmocka_unit_test(transactions_wait_for_a_port),
	};

	return cmocka_run_group_tests(tests, test_raise_fd_limit, NULL);
}
