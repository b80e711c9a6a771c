/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Honest clients: directions, limits, keys, several at once, one-off, the table of peers. */
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

static void the_table_of_peers_is_well_formed(void **state)
{
	struct wp_err err = { 0 };

	(void)state;
	for (size_t i = 0; wp_peers[i]; i++) {
		assert_int_equal(wp_peer_check(wp_peers[i], &err), 0);
		assert_ptr_equal(wp_peer_find(wp_peers[i]->name), wp_peers[i]);
	}
	assert_null(wp_peer_find("no such peer"));
}

/* Both ends have the same figures, and each flow moved exactly its share. */
static void exact(struct harness *h, enum wp_direction direction, unsigned streams,
		  uint64_t limit_bytes)
{
	struct wp_plan plan = small_plan(direction, streams, limit_bytes);
	struct wp_err err = { 0 };
	struct wp_run run;
	int r = client_run(h->port, NULL, &plan, &run, &err);

	if (r)
		print_message("%s\n", err.msg);
	assert_int_equal(r, 0);
	assert_int_equal(run.n_flows, wp_plan_flows(&plan));
	for (size_t i = 0; i < run.n_flows; i++) {
		const struct wp_flow *f = &run.flows[i];

		assert_true(wp_has(f->sent.all_bytes) && wp_has(f->received.all_bytes));
		assert_true(f->sent.all_bytes.v == (double)wp_plan_connection_limit(&plan, i));
		assert_true(f->received.all_bytes.v == f->sent.all_bytes.v);
		assert_true(f->n_intervals > 0 && f->n_peer_intervals > 0);
		assert_non_null(f->congestion); /* the sender's, on whichever end */
	}
	assert_int_equal(run.n_hosts, 2);
	assert_string_equal(run.hosts[1].role, "server");
	assert_string_equal(run.hosts[1].same_machine_as, "client");
	assert_true(run.hosts[1].n_threads > 0 && run.hosts[1].inventory.kernel);
	wp_run_done(&run);
	assert_true(harness_saw(h, WP_SERVER_RESULT, 1));
}

static void forward_is_exact(void **state)
{
	exact(*state, WP_FORWARD, 3, 10000019);
}

static void reverse_is_exact(void **state)
{
	exact(*state, WP_REVERSE, 2, 10000019);
}

static void both_is_exact(void **state)
{
	exact(*state, WP_BOTH, 2, 5000011);
}

static void many_streams_work(void **state)
{
	exact(*state, WP_FORWARD, 200, 2000003);
}

static void a_timed_test_ends_in_time(void **state)
{
	struct harness *h = *state;

	for (int d = WP_FORWARD; d <= WP_BOTH; d++) {
		struct wp_plan plan = small_plan((enum wp_direction)d, 2, 0);
		int64_t start_ns = wp_now_ns();
		struct wp_err err = { 0 };
		struct wp_run run;
		int r = client_run(h->port, NULL, &plan, &run, &err);

		if (r)
			print_message("%s\n", err.msg);
		assert_int_equal(r, 0);
		assert_true(wp_now_ns() - start_ns >= plan.duration_ns);
		for (size_t i = 0; i < run.n_flows; i++)
			assert_true(run.flows[i].received.all_bytes.v > 0 &&
				    run.flows[i].sent.all_bytes.v ==
					    run.flows[i].received.all_bytes.v);
		wp_run_done(&run);
	}
}

static void a_stop_ends_the_servers_senders(void **state)
{
	struct harness *h = *state;
	struct wp_plan plan = small_plan(WP_REVERSE, 1, 0);
	struct wp_peer_session *s = NULL;
	struct wp_err err = { 0 };
	struct wp_run run;
	int64_t start_ns = wp_now_ns();

	plan.duration_ns = 60 * WP_NS_PER_S;
	wp_run_init(&run);
	assert_int_equal(client_connect(h->port, NULL, &plan, &s, &err), 0);
	assert_int_equal(s->ops->start(s, &err), 0);
	assert_int_equal(
		poll(&(struct pollfd) { .fd = s->streams[0].fd, .events = POLLIN }, 1, 10000),
		1); /* data comes */
	/* As Ctrl-C does it: the rest is the normal way to the end. */
	assert_int_equal(s->ops->stop(s), 0);
	assert_true(closes_within(s->streams[0].fd, 10 * WP_NS_PER_S));
	run.flows = wp_pool_calloc(&run.pool, 1, sizeof(*run.flows));
	run.n_flows = 1;
	assert_int_equal(s->ops->finish(s, &run, &err), 0);
	assert_true(run.flows[0].sent.all_bytes.v > 0);
	assert_true(wp_now_ns() - start_ns < 30 * WP_NS_PER_S);
	s->ops->close(s);
	wp_run_done(&run);
}

struct client {
	pthread_t thread;
	uint16_t port;
	int result;
};

static void *one_client(void *arg)
{
	struct client *c = arg;
	struct wp_plan plan = small_plan(WP_BOTH, 2, 0);
	struct wp_err err = { 0 };
	struct wp_run run;

	c->result = client_run(c->port, NULL, &plan, &run, &err);
	wp_run_done(&run);
	return NULL;
}

static void many_clients_at_once(void **state)
{
	struct harness *h = *state;
	struct client clients[6];

	for (size_t i = 0; i < WP_ARRAY_SIZE(clients); i++) {
		clients[i].port = h->port;
		assert_int_equal(pthread_create(&clients[i].thread, NULL, one_client, &clients[i]),
				 0);
	}
	for (size_t i = 0; i < WP_ARRAY_SIZE(clients); i++) {
		pthread_join(clients[i].thread, NULL);
		assert_int_equal(clients[i].result, 0);
	}
}

/* ---- what a server refuses -------------------------------------------------------------------- */

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

static void limits_are_named(void **state)
{
	struct wp_server_config config = { .max_duration_ns = 2 * WP_NS_PER_S,
					   .max_rate_bps = 1000000 };
	struct wp_plan plan = small_plan(WP_FORWARD, 1, 0);
	struct harness h;
	int no_cpu[] = { WP_CPU_MAX - 1 };

	(void)state;
	harness_start(&h, &config);
	plan.duration_ns = 3 * WP_NS_PER_S;
	plan.rate_bps = 1000;
	refused(h.port, &plan, "--max-duration");
	plan.duration_ns = 1 * WP_NS_PER_S;
	plan.omit_ns = 2 * WP_NS_PER_S;
	refused(h.port, &plan, "--max-duration");
	plan.omit_ns = 0;
	plan.rate_bps = 0;
	refused(h.port, &plan, "--max-rate");
	plan.rate_bps = 2000000;
	refused(h.port, &plan, "--max-rate");
	plan.rate_bps = 1000000;
	plan.peer_cpus = (struct wp_cpulist) { .cpu = no_cpu, .n = 1 };
	refused(h.port, &plan, "CPU 8191 can't be used on the server");
	plan.peer_cpus.n = 0;
	plan.congestion = "no_such_cc";
	refused(h.port, &plan, "no_such_cc");
	assert_true(harness_saw(&h, WP_SERVER_REFUSED, 5));
	harness_stop(&h);
}

static void a_test_without_end_is_ended_by_the_limit(void **state)
{
	struct wp_server_config config = { .max_duration_ns = 300 * WP_NS_PER_MS };
	struct wp_plan plan = small_plan(WP_REVERSE, 1, UINT64_C(1) << 50);
	struct wp_err err = { 0 };
	struct harness h;
	struct wp_run run;

	(void)state;
	harness_start(&h, &config);
	assert_int_equal(client_run(h.port, NULL, &plan, &run, &err), -ECONNABORTED);
	assert_non_null(strstr(err.msg, "--max-duration"));
	assert_int_equal(run.n_hosts, 2); /* with what was measured */
	assert_true(run.flows[0].sent.all_bytes.v > 0);
	wp_run_done(&run);
	harness_stop(&h);
}

static void one_client_too_many_is_told(void **state)
{
	struct wp_server_config config = { .max_clients = 2 };
	struct wp_plan plan = small_plan(WP_FORWARD, 1, 1000);
	struct harness h;
	struct raw a, b;

	(void)state;
	harness_start(&h, &config);
	raw_go(&a, h.port, STAGE_RUNNING);
	raw_go(&b, h.port, STAGE_ACCEPTED);
	refused(h.port, &plan, "busy with 2 clients");
	raw_close(&a, false);
	assert_serves(h.port);
	raw_close(&b, true);
	harness_stop(&h);
}

static void one_off_ends_after_its_test(void **state)
{
	struct wp_server_config config = { .one_off = true };
	struct harness h;

	(void)state;
	harness_start(&h, &config);
	close(raw_connect(h.port, NULL)); /* a scanner is no test */
	assert_serves(h.port);
	harness_join(&h);
	assert_int_equal(h.result, 0);
}

static void an_inherited_socket_is_served(void **state)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct wp_server_config config = { .listen_fds = &fd, .n_listen_fds = 1 };
	struct harness h;

	(void)state;
	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
	assert_int_equal(listen(fd, 10), 0);
	harness_start(&h, &config);
	assert_serves(h.port);
	harness_stop(&h);
	assert_int_equal(close(fd), 0); /* it stays the caller's */
}

static void a_port_in_use_is_said(void **state)
{
	struct harness *h = *state;
	struct wp_server_config config = { .bind_host = "127.0.0.1",
					   .port = h->port,
					   .stop_fd = -1 };
	struct wp_err err = { 0 };

	assert_int_equal(wp_server_run(&config, &err), -EADDRINUSE);
	assert_non_null(strstr(err.msg, "in use"));
}

/* ---- keys ------------------------------------------------------------------------------------- */

static void key_file(char path[static 40], const char *text)
{
	int fd;

	snprintf(path, 40, "/tmp/wp-test-key-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void a_key_opens_and_the_wrong_one_does_not(void **state)
{
	struct wp_plan plan = small_plan(WP_BOTH, 1, 300000);
	struct wp_peer_session *s = NULL;
	char right[40], wrong[40];
	struct wp_err err = { 0 };
	struct harness h;
	struct wp_run run;

	(void)state;
	key_file(right, "a key of some length\n");
	key_file(wrong, "another key of length\n");
	harness_start(&h, &(struct wp_server_config) { .key_file = right });
	assert_int_equal(client_run(h.port, right, &plan, &run, &err), 0);
	assert_true(run.flows[0].received.all_bytes.v == 300000);
	wp_run_done(&run);

	assert_int_equal(client_connect(h.port, wrong, &plan, &s, &err), -EACCES);
	assert_non_null(strstr(err.msg, "another key"));
	assert_true(harness_saw(&h, WP_SERVER_REFUSED, 1));
	assert_non_null(strstr(h.text[WP_SERVER_REFUSED], "another key"));

	err = (struct wp_err) { 0 };
	assert_true(client_connect(h.port, NULL, &plan, &s, &err) < 0);
	assert_non_null(strstr(err.msg, "give --key"));
	harness_stop(&h);
	unlink(right);
	unlink(wrong);
}

static void a_key_for_a_server_without_one_is_told(void **state)
{
	struct harness *h = *state;
	struct wp_plan plan = small_plan(WP_FORWARD, 1, 1000);
	struct wp_peer_session *s = NULL;
	struct wp_err err = { 0 };
	char path[40];

	key_file(path, "a key of some length\n");
	assert_true(client_connect(h->port, path, &plan, &s, &err) < 0);
	assert_non_null(strstr(err.msg, "has no key"));
	unlink(path);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_of_peers_is_well_formed),
		CASE(forward_is_exact),
		CASE(reverse_is_exact),
		CASE(both_is_exact),
		CASE(many_streams_work),
		CASE(a_timed_test_ends_in_time),
		CASE(a_stop_ends_the_servers_senders),
		CASE(many_clients_at_once),
		cmocka_unit_test(limits_are_named),
		cmocka_unit_test(a_test_without_end_is_ended_by_the_limit),
		cmocka_unit_test(one_client_too_many_is_told),
		cmocka_unit_test(one_off_ends_after_its_test),
		cmocka_unit_test(an_inherited_socket_is_served),
		CASE(a_port_in_use_is_said),
		cmocka_unit_test(a_key_opens_and_the_wrong_one_does_not),
		CASE(a_key_for_a_server_without_one_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
