/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients of request/response tests: over TCP, over UDP, and with a connection for each transaction. */
#include <sys/resource.h>

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

enum way {
	OVER_TCP,
	OVER_UDP,
	CONNECT,
	WAYS,
};

/* `requests` on each of the connections. */
static struct wp_plan rr_plan(enum way way, unsigned connections, unsigned requests)
{
	struct wp_plan plan = small_plan(WP_FORWARD, connections, 0);

	plan.kind = "rr";
	plan.transport = way == OVER_UDP ? WP_UDP : WP_TCP;
	plan.connect_each = way == CONNECT;
	plan.length_bytes = 100;
	plan.response_bytes = 200;
	plan.outstanding = 1;
	plan.response_timeout_ns = way == OVER_UDP ? 10 * WP_NS_PER_S : 0;
	plan.limit_bytes = (uint64_t)connections * requests * plan.length_bytes;
	plan.duration_ns = requests ? 0 : plan.duration_ns;
	return plan;
}

static void measured(uint16_t port, const struct wp_plan *plan, struct wp_run *run)
{
	struct wp_err err = { 0 };
	int r = client_run(port, NULL, plan, run, &err);

	if (r)
		print_message("%s\n", err.msg);
	assert_int_equal(r, 0);
	assert_int_equal(run->n_flows, 1);
	assert_int_equal(run->n_hosts, 2);
}

static void both_ends_count_the_same_transactions(void **state)
{
	struct harness *h = *state;

	for (int way = 0; way < WAYS; way++) {
		struct wp_plan plan = rr_plan((enum way)way, 3, 20);
		const struct wp_histogram *latency;
		const struct wp_flow *f;
		struct wp_run run;

		measured(h->port, &plan, &run);
		f = &run.flows[0];
		latency = wp_host_histogram(&run.hosts[0], "latency");
		assert_true(f->sent.transactions.v == 60 && f->received.transactions.v == 60);
		assert_true(f->connections.v == 3);
		assert_true(latency && latency->count.v == 60);
		assert_true(f->n_intervals > 0 && f->n_peer_intervals > 0);
		wp_run_done(&run);
	}
	assert_true(harness_saw(h, WP_SERVER_RESULT, WAYS));
	assert_non_null(strstr(h->text[WP_SERVER_RESULT], "answered 60 requests"));
}

static void a_timed_test_ends_in_time(void **state)
{
	struct harness *h = *state;

	for (int way = 0; way < WAYS; way++) {
		struct wp_plan plan = rr_plan((enum way)way, 2, 0);
		int64_t start_ns = wp_now_ns(), took_ns;
		struct wp_run run;

		measured(h->port, &plan, &run);
		took_ns = wp_now_ns() - start_ns;
		assert_true(took_ns >= plan.duration_ns && took_ns < 20 * WP_NS_PER_S);
		assert_true(run.flows[0].sent.transactions.v > 0);
		/* Of datagrams one may be lost at the end; of connections one may be cut. */
		assert_true(run.flows[0].received.transactions.v >=
			    run.flows[0].sent.transactions.v);
		wp_run_done(&run);
	}
}

/* As many as the limit of open files lets this process have at both ends. */
static unsigned most_connections(void)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	return limit.rlim_cur > 5000 ? 2000 : (unsigned)(limit.rlim_cur - 500) / 2;
}

static void thousands_of_connections_are_one_flow(void **state)
{
	struct harness *h = *state;
	unsigned n = most_connections();

	for (int way = 0; way < WAYS; way++) {
		struct wp_plan plan = rr_plan((enum way)way, n, 2);
		struct wp_run run;

		measured(h->port, &plan, &run);
		assert_true(run.flows[0].connections.v == n);
		assert_true(run.flows[0].sent.transactions.v == 2.0 * n &&
			    run.flows[0].received.transactions.v == 2.0 * n);
		wp_run_done(&run);
	}
}

/* ---- refusals --------------------------------------------------------------------------------- */

static void refused(uint16_t port, const struct wp_plan *plan, const char *says)
{
	struct wp_peer_session *s = NULL;
	struct wp_err err = { 0 };

	assert_true(client_connect(port, NULL, plan, &s, &err) < 0);
	assert_null(s);
	if (!strstr(err.msg, says))
		print_message("%s\n", err.msg);
	assert_non_null(strstr(err.msg, says));
}

static void a_limit_of_the_rate_wants_an_open_loop(void **state)
{
	struct wp_server_config config = { .max_rate_bps = 1000000 };
	struct wp_plan plan = rr_plan(OVER_TCP, 2, 10);
	struct wp_run run;
	struct harness h;

	(void)state;
	harness_start(&h, &config);
	refused(h.port, &plan, "--rate");
	plan.rate_mhz = 2000000; /* 1,000/s and 200 bytes a connection: 1.6 Mbit/s */
	refused(h.port, &plan, "--rate");
	plan.rate_mhz = 1000000;
	measured(h.port, &plan, &run);
	wp_run_done(&run);
	harness_stop(&h);
}

static void files_that_another_test_may_need_are_not_promised(void **state)
{
	struct harness *h = *state;
	struct wp_plan plan = rr_plan(OVER_TCP, 600, 1);
	struct rlimit before, limit;
	struct raw r;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	raw_go(&r, h->port, STAGE_ACCEPTED); /* two connections are set aside */
	limit = before;
	limit.rlim_cur = 600 + WP_PEER_SPARE_FDS + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	refused(h->port, &plan, "beside those of other clients");
	limit.rlim_cur = 600;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	refused(h->port, &plan, "more open files than the limit of 600"); /* this end's */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	raw_close(&r, false);
}

/* ---- a connection each ------------------------------------------------------------------------ */

static uint16_t free_port(void)
{
	struct wp_addr at;
	int fd;

	assert_int_equal(wp_sock_listen("127.0.0.1", 0, AF_INET, &fd, NULL), 0);
	assert_int_equal(wp_addr_local(fd, &at), 0);
	close(fd);
	return wp_addr_port(&at);
}

static void raw_connect_each(struct raw *r, uint16_t port)
{
	struct wp_hello hello = { .protocol = 1, .version = "test", .kinds = wp_hello_kinds() };
	struct wp_plan plan = rr_plan(CONNECT, 3, 0);

	plan.duration_ns = 60 * WP_NS_PER_S;
	*r = (struct raw) { .data = { -1, -1 } };
	assert_int_equal(wp_channel_new(raw_connect(port, NULL), WP_PEER_RESULT_BYTES,
					WP_PEER_RESULT_VALUES, &r->c, NULL),
			 0);
	assert_int_equal(raw_send(r, wp_message_hello(&hello)), 0);
	raw_expect(r, "hello");
	assert_int_equal(raw_send(r, wp_message_test(&plan)), 0);
	raw_expect(r, "accept");
	assert_int_not_equal(r->data_port, 0);
	raw_expect(r, "ready");
	assert_int_equal(raw_send(r, wp_message_new(WP_MSG_START)), 0);
	raw_expect(r, "started");
}

static bool is_answered(uint16_t port, const char *from)
{
	static const char request[100];
	struct timeval patience = { .tv_sec = 10 };
	char response[200];
	int fd = raw_connect(port, from);
	bool answered;

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	answered = send(fd, request, sizeof(request), MSG_NOSIGNAL) == sizeof(request) &&
		   recv(fd, response, sizeof(response), MSG_WAITALL) == sizeof(response);
	close(fd);
	return answered;
}

static void strangers_at_the_data_port_get_nothing(void **state)
{
	struct harness *h = *state;
	struct raw r;

	raw_connect_each(&r, h->port);
	assert_true(is_answered(r.data_port, NULL));
	assert_false(is_answered(r.data_port, "127.0.0.2"));
	assert_true(is_answered(r.data_port, NULL));
	assert_int_equal(raw_send(&r, wp_message_new(WP_MSG_FINISH)), 0);
	raw_expect(&r, "result");
	raw_close(&r, false);
}

static void a_fixed_data_port_serves_one_test_at_a_time(void **state)
{
	struct wp_server_config config = { .data_port = free_port() };
	struct wp_plan plan = rr_plan(CONNECT, 2, 5);
	struct wp_run run;
	struct harness h;
	struct raw r;

	(void)state;
	harness_start(&h, &config);
	raw_connect_each(&r, h.port);
	assert_int_equal(r.data_port, config.data_port);
	refused(h.port, &plan, "--data-port");
	assert_int_equal(raw_send(&r, wp_message_new(WP_MSG_FINISH)), 0);
	raw_expect(&r, "result");
	for (int i = 0; i < 2; i++) { /* while the first client still reads */
		measured(h.port, &plan, &run);
		wp_run_done(&run);
	}
	raw_close(&r, false);
	harness_stop(&h);
}

static void a_client_of_such_a_test_vanishes(void **state)
{
	struct wp_server_config config = { .data_port = free_port(),
					   .idle_timeout_ns = 400 * WP_NS_PER_MS };
	struct wp_plan plan = rr_plan(CONNECT, 2, 5);
	struct wp_run run;
	struct harness h;
	struct raw r;

	(void)state;
	harness_start(&h, &config);
	for (unsigned silent = 0; silent < 2; silent++) {
		raw_connect_each(&r, h.port);
		if (silent)
			raw_expect(&r, "error"); /* let go after the idle timeout */
		raw_close(&r, true);
		assert_true(harness_saw(&h, WP_SERVER_FAILED, silent + 1));
		measured(h.port, &plan, &run);
		wp_run_done(&run);
	}
	harness_stop(&h);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(both_ends_count_the_same_transactions),
		CASE(a_timed_test_ends_in_time),
		CASE(thousands_of_connections_are_one_flow),
		cmocka_unit_test(a_limit_of_the_rate_wants_an_open_loop),
		CASE(files_that_another_test_may_need_are_not_promised),
		CASE(strangers_at_the_data_port_get_nothing),
		cmocka_unit_test(a_fixed_data_port_serves_one_test_at_a_time),
		cmocka_unit_test(a_client_of_such_a_test_vanishes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
