/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Honest clients of tests over UDP: directions, many streams, several at once, servers without the port. */
#include "net/sock.h"
#include "peer/testing.h"

static int start(void **state)
{
	static struct harness h;

	harness_start(&h, NULL);
	*state = &h;
	return 0;
}

static int stop(void **state)
{
	harness_stop(*state);
	return 0;
}

static void measured(uint16_t port, const struct wp_plan *plan, struct wp_run *run)
{
	struct wp_err err = { 0 };
	int r = client_run(port, NULL, plan, run, &err);

	if (r)
		print_message("%s\n", err.msg);
	assert_int_equal(r, 0);
	assert_int_equal(run->n_flows, wp_plan_flows(plan));
	assert_int_equal(run->n_hosts, 2);
	assert_true(run->hosts[1].n_threads > 0);
}

/* What was sent, and what of it came: on loopback, slowly, all of it. */
static void exact(uint16_t port, const struct wp_plan *plan)
{
	struct wp_run run;

	measured(port, plan, &run);
	for (size_t i = 0; i < run.n_flows; i++) {
		const struct wp_flow *f = &run.flows[i];
		double packets = (double)wp_plan_connection_limit(plan, i) / 1000;

		assert_true(f->sent.all_packets.v == packets);
		assert_true(f->received.all_packets.v == packets);
		assert_true(f->sent.all_bytes.v == packets * 1000 &&
			    f->received.all_bytes.v == packets * 1000);
		assert_true(f->received.all_lost.v == 0 && f->received.all_duplicated.v == 0);
		assert_true(f->n_intervals > 0 && f->n_peer_intervals > 0);
	}
	wp_run_done(&run);
}

static void every_direction_is_exact(void **state)
{
	struct harness *h = *state;

	for (int d = WP_FORWARD; d <= WP_BOTH; d++)
		for (int unconnected = 0; unconnected < 2; unconnected++) {
			struct wp_plan plan = small_udp_plan((enum wp_direction)d, 2, 40000);

			plan.unconnected = unconnected;
			exact(h->port, &plan);
		}
	assert_true(harness_saw(h, WP_SERVER_RESULT, 6));
}

static void many_streams_work(void **state)
{
	struct harness *h = *state;
	struct wp_plan plan = small_udp_plan(WP_FORWARD, 200, 200 * 5000);

	exact(h->port, &plan);
	plan.direction = WP_REVERSE;
	exact(h->port, &plan);
}

static void a_timed_test_ends_in_time(void **state)
{
	struct harness *h = *state;

	for (int d = WP_FORWARD; d <= WP_BOTH; d++) {
		struct wp_plan plan = small_udp_plan((enum wp_direction)d, 2, 0);
		int64_t start_ns = wp_now_ns();
		struct wp_run run;

		measured(h->port, &plan, &run);
		assert_true(wp_now_ns() - start_ns >= plan.duration_ns);
		for (size_t i = 0; i < run.n_flows; i++)
			assert_true(run.flows[i].sent.all_packets.v > 0 &&
				    run.flows[i].sent.all_packets.v ==
					    run.flows[i].received.all_packets.v);
		wp_run_done(&run);
	}
}

struct client {
	pthread_t thread;
	struct wp_plan plan;
	uint16_t port;
	int result;
	double sent, received;
};

static void *one_client(void *arg)
{
	struct client *c = arg;
	struct wp_err err = { 0 };
	struct wp_run run;

	c->result = client_run(c->port, NULL, &c->plan, &run, &err);
	for (size_t i = 0; i < run.n_flows; i++) {
		c->sent += wp_num_or(run.flows[i].sent.all_bytes, 0);
		c->received += wp_num_or(run.flows[i].received.all_bytes, 0);
	}
	wp_run_done(&run);
	return NULL;
}

static void clients_do_not_get_each_others_datagrams(void **state)
{
	struct harness *h = *state;
	struct client clients[6] = { 0 };

	for (size_t i = 0; i < WP_ARRAY_SIZE(clients); i++) {
		clients[i].port = h->port;
		clients[i].plan = i % 3 ? small_udp_plan(i % 2 ? WP_BOTH : WP_FORWARD, 3, 60000)
					: small_plan(WP_BOTH, 2, 60000); /* TCP beside them */
		assert_int_equal(pthread_create(&clients[i].thread, NULL, one_client, &clients[i]),
				 0);
	}
	for (size_t i = 0; i < WP_ARRAY_SIZE(clients); i++) {
		pthread_join(clients[i].thread, NULL);
		assert_int_equal(clients[i].result, 0);
		assert_true(clients[i].sent > 0 && clients[i].sent == clients[i].received);
	}
}

/* ---- the port --------------------------------------------------------------------------------- */

static int bound_udp(uint16_t port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* A listening TCP socket, and a UDP socket on the same port. */
static void two_sockets(int ret[2])
{
	for (int i = 0; i < 100; i++) {
		struct wp_addr at;

		assert_int_equal(wp_sock_listen("127.0.0.1", 0, AF_INET, &ret[0], NULL), 0);
		assert_int_equal(wp_addr_local(ret[0], &at), 0);
		ret[1] = bound_udp(wp_addr_port(&at));
		if (ret[1] >= 0)
			return;
		close(ret[0]);
	}
	fail_msg("no port is free for both");
}

static void without_the_port_tcp_is_served_and_it_is_said(void **state)
{
	struct wp_plan plan = small_udp_plan(WP_FORWARD, 1, 1000);
	struct wp_peer_session *s = NULL;
	struct wp_err err = { 0 };
	struct harness h;
	int fds[2];

	(void)state;
	two_sockets(fds);
	harness_start(&h, &(struct wp_server_config) { .listen_fds = fds, .n_listen_fds = 1 });
	assert_true(harness_saw(&h, WP_SERVER_FAILED, 1));
	assert_non_null(strstr(h.text[WP_SERVER_FAILED], "taken by another program"));
	assert_int_equal(client_connect(h.port, NULL, &plan, &s, &err), -ECONNABORTED);
	assert_non_null(strstr(err.msg, "takes no UDP"));
	assert_serves(h.port);
	harness_stop(&h);
	close(fds[0]);
	close(fds[1]);
}

static void an_inherited_udp_socket_is_served(void **state)
{
	struct wp_plan plan = small_udp_plan(WP_FORWARD, 2, 20000);
	struct harness h;
	int fds[2];

	(void)state;
	two_sockets(fds);
	harness_start(&h, &(struct wp_server_config) { .listen_fds = fds, .n_listen_fds = 2 });
	exact(h.port, &plan);
	assert_serves(h.port);
	harness_stop(&h);
	assert_int_equal(close(fds[0]), 0); /* they stay the caller's */
	assert_int_equal(close(fds[1]), 0);
}

static void an_inherited_tcp_socket_gets_its_udp_port(void **state)
{
	struct wp_plan plan = small_udp_plan(WP_FORWARD, 2, 20000);
	struct harness h;
	int fds[2];

	(void)state;
	two_sockets(fds);
	close(fds[1]);
	harness_start(&h, &(struct wp_server_config) { .listen_fds = fds, .n_listen_fds = 1 });
	exact(h.port, &plan);
	harness_stop(&h);
	close(fds[0]);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(every_direction_is_exact),
		CASE(many_streams_work),
		CASE(a_timed_test_ends_in_time),
		CASE(clients_do_not_get_each_others_datagrams),
		cmocka_unit_test(without_the_port_tcp_is_served_and_it_is_said),
		cmocka_unit_test(an_inherited_udp_socket_is_served),
		cmocka_unit_test(an_inherited_tcp_socket_gets_its_udp_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
