/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clients that are silent, lie, flood or vanish, in every state: each costs at most its timeout, and
 * the server goes on serving.
 */
#include <sys/resource.h>

#include "peer/testing.h"

static int start(void **state)
{
	static struct harness h;

	/* One slot: a session that does not end would keep everybody out. */
	harness_start(&h, &(struct wp_server_config) { .max_clients = 1,
						       .idle_timeout_ns = 800 * WP_NS_PER_MS });
	*state = &h;
	return 0;
}

static int stop(void **state)
{
	harness_stop(*state);
	return 0;
}

/* ---- vanishing -------------------------------------------------------------------------------- */

static void a_client_vanishes_in_any_state(void **state)
{
	struct harness *h = *state;

	for (int stage = STAGE_CONNECTED; stage < STAGE_N; stage++)
		for (int reset = 0; reset < 2; reset++) {
			struct raw r;

			raw_go(&r, h->port, (enum stage)stage);
			raw_close(&r, reset);
			assert_serves(h->port);
		}
}

static void a_client_falls_silent_in_any_state(void **state)
{
	struct harness *h = *state;

	for (int stage = STAGE_HELLO; stage < STAGE_FINISH; stage++) {
		char name[16] = "";
		struct raw r;

		raw_go(&r, h->port, (enum stage)stage);
		/* No word, no answer to pings: it is told why it is let go. */
		assert_int_equal(raw_recv(&r, name, NULL), 0);
		assert_string_equal(name, "error");
		assert_serves(h->port);
		raw_close(&r, false);
	}
}

static void a_finish_without_the_end_of_data_is_answered(void **state)
{
	struct harness *h = *state;
	struct raw r;

	raw_go(&r, h->port, STAGE_FINISH);
	raw_expect(&r, "result");
	raw_close(&r, false);
	assert_serves(h->port);
}

/* Only the control connection closes; the data connections stay open. */
static void a_half_open_client_is_let_go(void **state)
{
	struct harness *h = *state;

	for (int stage = STAGE_HALF_CONNECTED; stage < STAGE_FINISH; stage++) {
		struct raw r;
		int last;

		raw_go(&r, h->port, (enum stage)stage);
		last = stage == STAGE_HALF_CONNECTED ? r.data[0] : r.data[1];
		wp_channel_free(r.c);
		r.c = NULL;
		assert_true(closes_within(last, 10 * WP_NS_PER_S));
		assert_serves(h->port);
		wp_close_p(&r.data[0]);
		wp_close_p(&r.data[1]);
	}
}

/* Answers that come and data that moves keep a session alive beyond the idle timeout. */
static void an_answering_client_is_kept(void **state)
{
	struct harness *h = *state;
	int64_t until_ns;
	struct raw r;

	raw_go(&r, h->port, STAGE_RUNNING);
	until_ns = wp_now_ns() + 1500 * WP_NS_PER_MS;
	while (wp_now_ns() < until_ns) {
		assert_int_equal(raw_send(&r, wp_message_new(WP_MSG_PONG)), 0);
		wp_sleep_until_ns(wp_now_ns() + 100 * WP_NS_PER_MS);
	}
	until_ns += 1500 * WP_NS_PER_MS;
	while (wp_now_ns() < until_ns) { /* data only */
		assert_int_equal(send(r.data[0], "data", 4, MSG_NOSIGNAL), 4);
		wp_sleep_until_ns(wp_now_ns() + 100 * WP_NS_PER_MS);
	}
	assert_int_equal(raw_send(&r, wp_message_new(WP_MSG_FINISH)), 0);
	shutdown(r.data[0], SHUT_WR);
	shutdown(r.data[1], SHUT_WR);
	raw_expect(&r, "result");
	raw_close(&r, false);
}

/* ---- first bytes ------------------------------------------------------------------------------ */

static void first_bytes_that_are_nobodys_are_dropped(void **state)
{
	static const char *const first[] = {
		"GET / HTTP/1.1\r\n\r\n",
		"SSH-2.0-x\r\n",
		"\n",
		"abcdefghijklmnopqrstuvwxyz0123456789a",
		"WPD2 this is no preamble of this version",
		"WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW",
	};
	struct harness *h = *state;

	for (size_t i = 0; i < WP_ARRAY_SIZE(first); i++) {
		int fd = raw_connect(h->port, NULL);

		assert_true(send(fd, first[i], strlen(first[i]), MSG_NOSIGNAL) > 0);
		assert_true(closes_within(fd, 3 * WP_NS_PER_S));
		close(fd);
	}
	assert_true(harness_saw(h, WP_SERVER_REFUSED, WP_ARRAY_SIZE(first)));
	assert_serves(h->port);
}

static void silent_connections_cost_five_seconds(void **state)
{
	static const char *const first[] = { "", "WPD1half", "{", "{\"type\":\"hello\"" };
	struct harness *h = *state;
	int fds[WP_ARRAY_SIZE(first)];

	for (size_t i = 0; i < WP_ARRAY_SIZE(first); i++) {
		fds[i] = raw_connect(h->port, NULL);
		if (first[i][0])
			assert_true(send(fds[i], first[i], strlen(first[i]), MSG_NOSIGNAL) > 0);
	}
	assert_serves(h->port);
	for (size_t i = 0; i < WP_ARRAY_SIZE(first); i++) {
		assert_true(closes_within(fds[i], 3 * WP_PEER_HELLO_NS));
		close(fds[i]);
	}
	assert_serves(h->port);
}

static void fifty_scanners_disturb_nobody(void **state)
{
	struct harness *h = *state;

	for (int i = 0; i < 50; i++) {
		int fd = raw_connect(h->port, NULL);

		if (i % 3 == 0)
			reset_on_close(fd);
		if (i % 5 == 0)
			assert_true(send(fd, "\x16\x03\x01", 3, MSG_NOSIGNAL) == 3);
		close(fd);
	}
	assert_serves(h->port);
}

static void more_silent_connections_than_there_is_room(void **state)
{
	struct harness *h = *state;
	int fds[WP_PEER_MAX_PENDING + 50];

	for (size_t i = 0; i < WP_ARRAY_SIZE(fds); i++)
		fds[i] = raw_connect(h->port, NULL);
	assert_serves(h->port);
	for (size_t i = 0; i < WP_ARRAY_SIZE(fds); i++)
		close(fds[i]);
}

/* Each opens an object and says no more: threads are bounded, and an honest client gets in once the
 * first have timed out. */
static void more_greeters_than_there_is_room(void **state)
{
	struct harness *h = *state;
	int fds[WP_PEER_MAX_GREETING + 20];

	for (size_t i = 0; i < WP_ARRAY_SIZE(fds); i++) {
		fds[i] = raw_connect(h->port, NULL);
		assert_int_equal(send(fds[i], "{", 1, MSG_NOSIGNAL), 1);
	}
	assert_true(harness_saw(h, WP_SERVER_REFUSED, WP_ARRAY_SIZE(fds)));
	assert_serves(h->port);
	for (size_t i = 0; i < WP_ARRAY_SIZE(fds); i++)
		close(fds[i]);
}

/* ---- lines ------------------------------------------------------------------------------------ */

static long peak_kb(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return use.ru_maxrss;
}

static void a_gigabyte_line_takes_no_memory(void **state)
{
	struct harness *h = *state;
	static char block[1 << 20];
	long before_kb = peak_kb();
	uint64_t sent = 0;
	struct raw r;
	int fd;

	memset(block, 'x', sizeof(block));
	raw_go(&r, h->port, STAGE_HELLO);
	fd = wp_channel_fd(r.c);
	assert_int_equal(send(fd, "{\"type\":\"", 9, MSG_NOSIGNAL), 9);
	while (sent < (UINT64_C(1) << 30)) {
		ssize_t n = send(fd, block, sizeof(block), MSG_NOSIGNAL);

		if (n < 0)
			break;
		sent += (uint64_t)n;
	}
	assert_true(sent < (64u << 20)); /* the socket buffers and what is thrown away */
	assert_true(peak_kb() - before_kb < 32 << 10);
	raw_close(&r, false);
	assert_serves(h->port);
}

static void a_flood_of_messages_is_ended(void **state)
{
	struct harness *h = *state;
	_cleanup_buf_ struct wp_buf flood = WP_BUF(1 << 20);
	struct raw r;

	while (wp_buf_puts(&flood, "{\"type\":\"pong\"}\n") == 0)
		;
	raw_go(&r, h->port, STAGE_RUNNING);
	(void)!send(wp_channel_fd(r.c), flood.data, flood.len, MSG_NOSIGNAL);
	assert_true(closes_within(wp_channel_fd(r.c), 10 * WP_NS_PER_S));
	raw_close(&r, false);
	assert_serves(h->port);
}

static void a_message_in_the_wrong_state_ends_the_session(void **state)
{
	static const struct {
		enum stage stage;
		enum wp_message message;
	} rows[] = {
		{ STAGE_CONNECTED, WP_MSG_TEST }, { STAGE_CONNECTED, WP_MSG_PONG },
		{ STAGE_HELLO, WP_MSG_START },    { STAGE_HELLO, WP_MSG_FINISH },
		{ STAGE_ACCEPTED, WP_MSG_START }, { STAGE_ACCEPTED, WP_MSG_STOP },
		{ STAGE_READY, WP_MSG_FINISH },   { STAGE_READY, WP_MSG_STOP },
		{ STAGE_RUNNING, WP_MSG_START },  { STAGE_RUNNING, WP_MSG_RESULT },
		{ STAGE_FINISH, WP_MSG_FINISH },  { STAGE_RUNNING, WP_MSG_READY },
	};
	struct harness *h = *state;

	for (size_t i = 0; i < WP_ARRAY_SIZE(rows); i++) {
		struct raw r;

		raw_go(&r, h->port, rows[i].stage);
		assert_int_equal(raw_send(&r, wp_message_new(rows[i].message)), 0);
		raw_expect(&r, "error");
		raw_close(&r, false);
		assert_serves(h->port);
	}
}

static void garbage_lines_end_the_session(void **state)
{
	static const char *const lines[] = { "{}\n",
					     "{\"type\":1}\n",
					     "{\"type\":\"nuke\"}\n",
					     "[]\n",
					     "{\"type\":\"test\",\"plan\":{}}\n",
					     "{{{{{{{{{{{{{{{{{{{{{{{{{{\n",
					     "\n" };
	struct harness *h = *state;

	for (size_t i = 0; i < WP_ARRAY_SIZE(lines); i++) {
		struct raw r;

		raw_go(&r, h->port, STAGE_HELLO);
		assert_true(send(wp_channel_fd(r.c), lines[i], strlen(lines[i]), MSG_NOSIGNAL) > 0);
		raw_expect(&r, "error");
		raw_close(&r, false);
	}
	assert_serves(h->port);
}

/* ---- data connections ------------------------------------------------------------------------- */

static void data_without_the_right_token_is_refused(void **state)
{
	struct harness *h = *state;
	uint8_t wrong[WP_TOKEN_BYTES] = { 0 };
	struct raw r;
	int fd;

	raw_go(&r, h->port, STAGE_ACCEPTED);
	fd = raw_data(h->port, NULL, wrong, 0);
	assert_true(closes_within(fd, 3 * WP_NS_PER_S));
	close(fd);
	fd = raw_data(h->port, "127.0.0.2", r.token, 0); /* another address */
	assert_true(closes_within(fd, 3 * WP_NS_PER_S));
	close(fd);
	fd = raw_data(h->port, NULL, r.token, 2); /* there are two streams */
	assert_true(closes_within(fd, 3 * WP_NS_PER_S));
	close(fd);
	r.data[0] = raw_data(h->port, NULL, r.token, 0);
	fd = raw_data(h->port, NULL, r.token, 0); /* twice */
	assert_true(closes_within(fd, 3 * WP_NS_PER_S));
	close(fd);
	/* None of it harms the session. */
	r.data[1] = raw_data(h->port, NULL, r.token, 1);
	raw_expect(&r, "ready");
	fd = raw_data(h->port, NULL, r.token, 1); /* too late */
	assert_true(closes_within(fd, 3 * WP_NS_PER_S));
	close(fd);
	raw_close(&r, false);
}

/* ---- the end ---------------------------------------------------------------------------------- */

static void sigterm_ends_in_any_state(void **state)
{
	(void)state;
	for (int stage = STAGE_CONNECTED; stage < STAGE_N; stage++) {
		struct harness h;
		char name[16] = "";
		int64_t start_ns;
		struct raw r;

		harness_start(&h, NULL);
		raw_go(&r, h.port, (enum stage)stage);
		start_ns = wp_now_ns();
		harness_signal(&h);
		if (stage != STAGE_CONNECTED) {
			raw_expect(&r, "error");
			if (stage >= STAGE_RUNNING) {
				assert_int_equal(raw_recv(&r, name, NULL), 0);
				assert_string_equal(name, "result"); /* what was measured so far */
			}
		}
		/* It does not wait for this client, which never closes. */
		harness_join(&h);
		assert_int_equal(h.result, 0);
		assert_true(h.ended_ns - start_ns < 8 * WP_NS_PER_S);
		raw_close(&r, false);
	}
}

static void sigterm_tells_a_whole_client(void **state)
{
	struct wp_plan plan = small_plan(WP_BOTH, 2, 0);
	struct wp_peer_session *s = NULL;
	struct wp_err err = { 0 };
	struct harness h;
	struct wp_run run;

	(void)state;
	harness_start(&h, NULL);
	plan.duration_ns = 60 * WP_NS_PER_S;
	wp_run_init(&run);
	assert_int_equal(client_connect(h.port, NULL, &plan, &s, &err), 0);
	harness_signal(&h); /* it comes between ready and the run, or in the run */
	assert_true(client_measure(s, &plan, &run, &err) < 0);
	if (!strstr(err.msg, "shutting down"))
		print_message("%s\n", err.msg);
	assert_non_null(strstr(err.msg, "shutting down"));
	s->ops->close(s);
	wp_run_done(&run);
	harness_join(&h);
	assert_int_equal(h.result, 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_client_vanishes_in_any_state),
		CASE(a_client_falls_silent_in_any_state),
		CASE(a_finish_without_the_end_of_data_is_answered),
		CASE(a_half_open_client_is_let_go),
		CASE(an_answering_client_is_kept),
		CASE(first_bytes_that_are_nobodys_are_dropped),
		CASE(silent_connections_cost_five_seconds),
		CASE(fifty_scanners_disturb_nobody),
		CASE(more_silent_connections_than_there_is_room),
		CASE(more_greeters_than_there_is_room),
		CASE(a_gigabyte_line_takes_no_memory),
		CASE(a_flood_of_messages_is_ended),
		CASE(a_message_in_the_wrong_state_ends_the_session),
		CASE(garbage_lines_end_the_session),
		CASE(data_without_the_right_token_is_refused),
		cmocka_unit_test(sigterm_ends_in_any_state),
		cmocka_unit_test(sigterm_tells_a_whole_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
