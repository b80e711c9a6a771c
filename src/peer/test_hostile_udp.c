/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Datagrams that are garbage, forged, repeated or far too many, and clients of a UDP test that fall
 * silent or vanish: nobody gets an answer that has not shown the token, and the server goes on serving.
 */
#include "peer/testing.h"

static int start(void **state)
{
	static struct harness h;

	harness_start(&h, &(struct wp_server_config) { .max_clients = 1,
						       .idle_timeout_ns = 400 * WP_NS_PER_MS });
	*state = &h;
	return 0;
}

static int stop(void **state)
{
	harness_stop(*state);
	return 0;
}

static void assert_serves_udp(uint16_t port)
{
	struct wp_plan plan = small_udp_plan(WP_FORWARD, 2, 20000);
	int64_t until_ns = wp_now_ns() + 5 * WP_NS_PER_S;
	struct wp_err err;
	struct wp_run run;
	int r;

	do {
		err = (struct wp_err) { 0 };
		r = client_run(port, NULL, &plan, &run, &err);
		if (!r)
			assert_true(run.flows[0].received.all_bytes.v > 0);
		wp_run_done(&run);
	} while (r == -ECONNABORTED && strstr(err.msg, "busy") && wp_now_ns() < until_ns);
	if (r)
		print_message("%s\n", err.msg);
	assert_int_equal(r, 0);
}

static bool is_answered(int fd)
{
	char byte;

	return recv(fd, &byte, sizeof(byte), MSG_DONTWAIT) >= 0;
}

static void a_client_vanishes_in_any_state(void **state)
{
	struct harness *h = *state;

	for (int stage = STAGE_ACCEPTED; stage < STAGE_N; stage++)
		for (int reset = 0; reset < 2; reset++) {
			struct raw r;

			raw_go_with(&r, h->port, (enum stage)stage, true);
			raw_close(&r, reset);
			assert_serves_udp(h->port);
		}
}

static void a_client_falls_silent_in_any_state(void **state)
{
	struct harness *h = *state;

	for (int stage = STAGE_ACCEPTED; stage < STAGE_FINISH; stage++) {
		char name[16] = "";
		struct raw r;

		raw_go_with(&r, h->port, (enum stage)stage, true);
		assert_int_equal(raw_recv(&r, name, NULL), 0);
		assert_string_equal(name, "error");
		assert_serves_udp(h->port);
		raw_close(&r, false);
	}
}

static void a_finish_without_end_markers_is_answered_soon(void **state)
{
	struct harness *h = *state;
	int64_t start_ns = wp_now_ns();
	struct raw r;

	raw_go_with(&r, h->port, STAGE_FINISH, true);
	raw_expect(&r, "result");
	assert_true(wp_now_ns() - start_ns < 10 * WP_NS_PER_S);
	raw_close(&r, false);
	assert_serves_udp(h->port);
}

/* Data that comes keeps a session alive beyond the idle timeout. */
static void a_sending_client_is_kept(void **state)
{
	struct harness *h = *state;
	int64_t until_ns;
	struct raw r;

	raw_go_with(&r, h->port, STAGE_RUNNING, true);
	until_ns = wp_now_ns() + 1500 * WP_NS_PER_MS;
	for (uint64_t n = 0; wp_now_ns() < until_ns; n++) {
		uint8_t bytes[100] = { [6] = (uint8_t)(n >> 8), [7] = (uint8_t)n };

		assert_int_equal(send(r.data[0], bytes, sizeof(bytes), 0), sizeof(bytes));
		wp_sleep_until_ns(wp_now_ns() + 50 * WP_NS_PER_MS);
	}
	assert_int_equal(raw_send(&r, wp_message_new(WP_MSG_FINISH)), 0);
	raw_expect(&r, "result");
	raw_close(&r, false);
}

static void garbage_is_never_answered(void **state)
{
	static const uint8_t garbage[2000] = "WPD1 but what follows is no preamble";
	static const size_t lengths[] = { 0, 1, 4, 31, 32, 33, 64, 65, 1472, 2000 };
	struct harness *h = *state;
	int fd = raw_udp(h->port, NULL);
	struct raw r;

	raw_go_with(&r, h->port, STAGE_ACCEPTED, true);
	for (size_t i = 0; i < WP_ARRAY_SIZE(lengths); i++)
		assert_int_equal(send(fd, garbage, lengths[i], 0), (ssize_t)lengths[i]);
	assert_true(harness_saw(h, WP_SERVER_REFUSED, 1));
	assert_non_null(strstr(h->text[WP_SERVER_REFUSED], "not whyperf's"));
	r.data[0] = raw_stream(&r, h->port, 0);
	r.data[1] = raw_stream(&r, h->port, 1);
	raw_expect(&r, "ready"); /* behind the garbage */
	assert_false(is_answered(fd));
	raw_close(&r, false);
	close(fd);
	assert_serves_udp(h->port);
}

static void forged_and_repeated_preambles_get_nothing(void **state)
{
	struct harness *h = *state;
	uint8_t wrong[WP_TOKEN_BYTES] = { 0 };
	int bad[8], n = 0, second, tcp;
	struct raw r;

	raw_go_with(&r, h->port, STAGE_HALF_CONNECTED, true);
	bad[n] = raw_udp(h->port, NULL);
	raw_preamble(bad[n++], wrong, 1, WP_STREAM_SENDS);
	bad[n] = raw_udp(h->port, "127.0.0.2"); /* another address */
	raw_preamble(bad[n++], r.token, 1, WP_STREAM_SENDS);
	bad[n] = raw_udp(h->port, NULL);
	raw_preamble(bad[n++], r.token, 2, WP_STREAM_SENDS); /* there are two streams */
	bad[n] = raw_udp(h->port, NULL);
	raw_preamble(bad[n++], r.token, 1, WP_STREAM_RECEIVES); /* that is the server's part */
	second = raw_udp(h->port, NULL);
	for (int i = 0; i < 100; i++)
		raw_preamble(second, r.token, 0, WP_STREAM_SENDS); /* stream 0 is there */
	bad[n++] = second;
	tcp = raw_data(h->port, NULL, r.token, 1);
	assert_true(closes_within(tcp, 3 * WP_NS_PER_S));
	close(tcp);
	for (int i = 0; i < 2000; i++) /* more than are thrown away before the start */
		raw_preamble(r.data[0], r.token, 0, WP_STREAM_SENDS);
	/* None of it has taken the place of stream 1. */
	r.data[1] = raw_stream(&r, h->port, 1);
	raw_expect(&r, "ready");
	assert_int_equal(raw_send(&r, wp_message_new(WP_MSG_START)), 0);
	raw_expect(&r, "started");
	assert_int_equal(raw_send(&r, wp_message_new(WP_MSG_FINISH)), 0);
	raw_expect(&r, "result");
	for (int i = 0; i < n; i++) {
		assert_false(is_answered(bad[i]));
		close(bad[i]);
	}
	raw_close(&r, false);
	assert_serves_udp(h->port);
}

static void a_preamble_does_not_enter_a_tcp_test(void **state)
{
	struct harness *h = *state;
	struct raw r;
	int fd;

	raw_go(&r, h->port, STAGE_HALF_CONNECTED);
	fd = raw_udp(h->port, NULL);
	raw_preamble(fd, r.token, 1, WP_STREAM_SENDS);
	r.data[1] = raw_stream(&r, h->port, 1);
	raw_expect(&r, "ready");
	assert_false(is_answered(fd));
	close(fd);
	raw_close(&r, false);
	assert_serves_udp(h->port);
}

/* ---- floods ----------------------------------------------------------------------------------- */

struct flood {
	pthread_t thread;
	uint16_t port;
	_Atomic bool stop;
};

static void *flood_main(void *arg)
{
	struct flood *f = arg;
	int fd = raw_udp(f->port, "127.0.0.3");
	uint8_t bytes[WP_PREAMBLE_BYTES];
	struct wp_preamble p = { .stream = 0 };

	wp_preamble_encode(&p, bytes);
	for (unsigned i = 0; !f->stop; i++) {
		bytes[4 + i % WP_TOKEN_BYTES]++; /* another token each */
		(void)!send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
		if (i % 64 == 0) /* the machine may have two CPUs, and the test needs one */
			wp_sleep_until_ns(wp_now_ns() + WP_NS_PER_MS);
	}
	close(fd);
	return NULL;
}

static void a_flood_of_preambles_keeps_nobody_out(void **state)
{
	struct harness *h = *state;
	struct flood f = { .port = h->port };
	unsigned refused;

	assert_int_equal(pthread_create(&f.thread, NULL, flood_main, &f), 0);
	for (int i = 0; i < 3; i++) {
		assert_serves_udp(h->port);
		assert_serves(h->port);
	}
	f.stop = true;
	pthread_join(f.thread, NULL);
	pthread_mutex_lock(&h->lock);
	refused = h->count[WP_SERVER_REFUSED];
	pthread_mutex_unlock(&h->lock);
	assert_true(refused < 100); /* thousands were, but they are told together */
}

static void old_datagrams_do_not_disturb_a_new_test(void **state)
{
	struct harness *h = *state;
	int fd = raw_udp(h->port, NULL);
	static const char junk[100];

	for (int i = 0; i < 20000; i++)
		(void)!send(fd, junk, sizeof(junk), MSG_DONTWAIT | MSG_NOSIGNAL);
	assert_serves_udp(h->port);
	assert_false(is_answered(fd));
	close(fd);
}

static void sigterm_ends_in_any_state(void **state)
{
	(void)state;
	for (int stage = STAGE_ACCEPTED; stage < STAGE_N; stage++) {
		struct harness h;
		struct raw r;

		harness_start(&h, NULL);
		raw_go_with(&r, h.port, (enum stage)stage, true);
		harness_stop(&h);
		raw_close(&r, false);
	}
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_client_vanishes_in_any_state),
		CASE(a_client_falls_silent_in_any_state),
		CASE(a_finish_without_end_markers_is_answered_soon),
		CASE(a_sending_client_is_kept),
		CASE(garbage_is_never_answered),
		CASE(forged_and_repeated_preambles_get_nothing),
		CASE(a_preamble_does_not_enter_a_tcp_test),
		CASE(a_flood_of_preambles_keeps_nobody_out),
		CASE(old_datagrams_do_not_disturb_a_new_test),
		cmocka_unit_test(sigterm_ends_in_any_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
