/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The client half against servers that are silent, lie, flood or vanish: one sentence, in time. */
#include "net/sock.h"
#include "peer/testing.h"

/* A server of one connection that plays a script. */
struct fake {
	pthread_t thread;
	int listen_fd;
	uint16_t port;
	const char *const *lines; /* sent one by one, each after a line of the client; NULL ends */
	bool speaks_first, stays, floods;
};

static void fake_line(int fd)
{
	char c = 0;

	while (c != '\n' && recv(fd, &c, 1, 0) == 1)
		;
}

static void *fake_main(void *arg)
{
	struct fake *f = arg;
	int fd = accept(f->listen_fd, NULL, NULL);
	static char block[1 << 16];

	for (size_t i = 0; f->lines && f->lines[i]; i++) {
		if (i || !f->speaks_first)
			fake_line(fd);
		(void)!send(fd, f->lines[i], strlen(f->lines[i]), MSG_NOSIGNAL);
	}
	memset(block, 'x', sizeof(block));
	while (f->floods && send(fd, block, sizeof(block), MSG_NOSIGNAL) > 0)
		;
	if (f->stays)
		(void)!closes_within(fd, 20 * WP_NS_PER_S);
	close(fd);
	return NULL;
}

static void fake_start(struct fake *f)
{
	struct wp_addr addr;
	int flags = 0;

	assert_int_equal(wp_sock_listen("127.0.0.1", 0, AF_INET, &f->listen_fd, NULL), 0);
	assert_int_equal(ioctl(f->listen_fd, FIONBIO, &flags), 0);
	assert_int_equal(wp_addr_local(f->listen_fd, &addr), 0);
	f->port = wp_addr_port(&addr);
	assert_int_equal(pthread_create(&f->thread, NULL, fake_main, f), 0);
}

static void fake_end(struct fake *f)
{
	pthread_join(f->thread, NULL);
	close(f->listen_fd);
}

#define HELLO \
	"{\"type\":\"hello\",\"protocol\":1,\"version\":\"9\",\"boot\":\"\",\"caps\":[\"tcp\"]}\n"
#define ACCEPT  "{\"type\":\"accept\",\"token\":\"00112233445566778899aabbccddeeff\"}\n"
#define READY   "{\"type\":\"ready\"}\n"
#define STARTED "{\"type\":\"started\"}\n"

static int try_plan(struct fake *f, struct wp_plan plan, struct wp_err *err)
{
	struct wp_peer_target target = { .host = "127.0.0.1", .timeout_ns = 500 * WP_NS_PER_MS };
	struct wp_peer_session *s = NULL;
	int r;

	fake_start(f);
	target.port = f->port;
	r = wp_peer_find("whyperf")->connect(&target, &plan, &s, err);
	assert_null(s);
	fake_end(f);
	return r;
}

static int try_connect(struct fake *f, struct wp_err *err)
{
	return try_plan(f, small_plan(WP_FORWARD, 1, 1000), err);
}

static void an_older_server_is_asked_for_what_it_knows_only(void **state)
{
	static const char *const lines[] = { HELLO, NULL };
	struct fake f = { .lines = lines, .stays = true };
	struct wp_err err = { 0 };

	(void)state;
	assert_int_equal(try_plan(&f, small_udp_plan(WP_FORWARD, 1, 1000), &err), -EOPNOTSUPP);
	assert_string_equal(err.msg, "the server can't run a udp test");
}

/* It takes the datagrams but is never ready. */
static void a_server_that_is_never_ready_is_given_up(void **state)
{
	static const char *const lines[] = { "{\"type\":\"hello\",\"protocol\":1,\"version\":\"9\","
					     "\"caps\":[\"udp\"]}\n",
					     ACCEPT "{\"type\":\"error\",\"says\":\"none came\"}\n",
					     NULL };
	struct fake f = { .lines = lines, .stays = true };
	struct wp_err err = { 0 };

	(void)state;
	assert_int_equal(try_plan(&f, small_udp_plan(WP_FORWARD, 3, 3000), &err), -ECONNABORTED);
	assert_string_equal(err.msg, "none came");
}

static void bad_servers_get_a_sentence(void **state)
{
	static const struct {
		const char *lines[4];
		bool first, stays, floods;
		int result;
		const char *says;
	} rows[] = {
		{ .stays = true, .result = -ETIMEDOUT, .says = "does not answer" },
		{ { "SSH-2.0-OpenSSH_9.2\r\n" },
		  .first = true,
		  .stays = true,
		  .result = -EBADMSG,
		  .says = "another program's port" },
		{ { "HTTP/1.1 400 Bad Request\r\n\r\n" },
		  .result = -EBADMSG,
		  .says = "another program's port" },
		{ { "" }, .result = -EPIPE, .says = "closed the connection" },
		{ { "{\"type\":\"hello\",\"proto" }, .result = -ECONNRESET, .says = "middle" },
		{ { "{\"type\":\"hello\",\"protocol\":2,\"version\":\"9\",\"caps\":[]}\n" },
		  .result = -EPROTO,
		  .says = "protocol version 2" },
		{ { "{\"type\":\"error\",\"says\":\"go \\u001b[31maway\"}\n" },
		  .result = -ECONNABORTED,
		  .says = "go ?[31maway" },
		{ { READY }, .result = -EPROTO, .says = "wrong time" },
		{ { "{\"type\":\"hello\",\"protocol\":1,\"version\":\"9\",\"caps\":[\"udp\"]}\n" },
		  .stays = true,
		  .result = -EOPNOTSUPP,
		  .says = "can't run a tcp test" },
		{ { HELLO, "{\"type\":\"accept\",\"token\":\"short\"}\n" },
		  .result = -EBADMSG,
		  .says = "token" },
		{ { HELLO, "{\"type\":\"test\",\"plan\":{}}\n" },
		  .result = -EPROTO,
		  .says = "does not send" },
		{ { HELLO, "{\"type\":\"error\",\"says\":\"busy\"}\n" },
		  .result = -ECONNABORTED,
		  .says = "busy" },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(rows); i++) {
		struct fake f = { .lines = rows[i].lines,
				  .speaks_first = rows[i].first,
				  .stays = rows[i].stays,
				  .floods = rows[i].floods };
		struct wp_err err = { 0 };
		int r = try_connect(&f, &err);

		if (r != rows[i].result || !strstr(err.msg, rows[i].says))
			print_message("row %zu: %d, %s\n", i, r, err.msg);
		assert_int_equal(r, rows[i].result);
		assert_non_null(strstr(err.msg, rows[i].says));
	}
}

static void an_endless_line_is_refused(void **state)
{
	static const char *const lines[] = { "{\"type\":\"", NULL };
	struct fake f = { .lines = lines, .floods = true };
	struct wp_err err = { 0 };

	(void)state;
	assert_int_equal(try_connect(&f, &err), -E2BIG);
	assert_non_null(strstr(err.msg, "another program's port"));
}

static void nobody_listens_is_said(void **state)
{
	struct fake f = { 0 };
	struct wp_plan plan = small_plan(WP_FORWARD, 1, 1000);
	struct wp_peer_session *s = NULL;
	struct wp_err err = { 0 };
	struct wp_addr addr;
	int fd;

	(void)state;
	/* A port that was free a moment ago. */
	assert_int_equal(wp_sock_listen("127.0.0.1", 0, AF_INET, &fd, NULL), 0);
	assert_int_equal(wp_addr_local(fd, &addr), 0);
	f.port = wp_addr_port(&addr);
	close(fd);
	assert_int_equal(client_connect(f.port, NULL, &plan, &s, &err), -ECONNREFUSED);
	assert_non_null(strstr(err.msg, "is a server running"));
}

static void a_missing_key_file_is_said(void **state)
{
	struct wp_plan plan = small_plan(WP_FORWARD, 1, 1000);
	struct wp_peer_session *s = NULL;
	struct wp_err err = { 0 };

	(void)state;
	assert_int_equal(client_connect(1, "/no/such/key", &plan, &s, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "/no/such/key"));
}

/* ---- a real server up to the run, then a script ----------------------------------------------- */

/* A server whose data connections nobody reads: it accepts them and plays its lines after start. */
struct stage_two {
	struct fake f;
	const char *after_start;
	bool closes;
};

static void *second_main(void *arg)
{
	struct stage_two *x = arg;
	int c = accept(x->f.listen_fd, NULL, NULL), d;

	fake_line(c);
	(void)!send(c, HELLO, strlen(HELLO), MSG_NOSIGNAL);
	fake_line(c);
	(void)!send(c, ACCEPT, strlen(ACCEPT), MSG_NOSIGNAL);
	d = accept(x->f.listen_fd, NULL, NULL);
	(void)!send(c, READY, strlen(READY), MSG_NOSIGNAL);
	fake_line(c);
	(void)!send(c, STARTED, strlen(STARTED), MSG_NOSIGNAL);
	if (x->after_start)
		(void)!send(c, x->after_start, strlen(x->after_start), MSG_NOSIGNAL);
	if (x->closes)
		close(c);
	(void)!closes_within(d, 20 * WP_NS_PER_S);
	if (!x->closes) {
		(void)!closes_within(c, 20 * WP_NS_PER_S);
		close(c);
	}
	close(d);
	return NULL;
}

static void bad_runs_get_a_sentence(void **state)
{
	static const struct {
		const char *after_start, *says;
		bool closes;
		int result;
	} rows[] = {
		{ NULL, "vanished", true, -EPIPE },
		{ "{\"type\":\"error\",\"says\":\"the roof is on fire\"}\n", "roof", false,
		  -ECONNABORTED },
		{ "nonsense\n", "not a message", false, -EBADMSG },
		{ "{\"type\":\"accept\",\"token\":\"00112233445566778899aabbccddeeff\"}\n",
		  "wrong time", false, -EPROTO },
		{ "{\"type\":\"result\",\"host\":{},\"flows\":[]}\n", "0 flows instead of 1", false,
		  -EBADMSG },
		{ "{\"type\":\"result\",\"host\":{},\"flows\":[7]}\n", "refused", false, -EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < WP_ARRAY_SIZE(rows); i++) {
		struct stage_two x = { .after_start = rows[i].after_start,
				       .closes = rows[i].closes };
		struct wp_plan plan = small_plan(WP_FORWARD, 1, 0);
		struct wp_peer_target target = { .host = "127.0.0.1",
						 .timeout_ns = 2 * WP_NS_PER_S };
		struct wp_peer_session *s = NULL;
		struct wp_err err = { 0 };
		struct wp_addr addr;
		struct wp_run run;
		int flags = 0, r;

		wp_run_init(&run);
		assert_int_equal(wp_sock_listen("127.0.0.1", 0, AF_INET, &x.f.listen_fd, NULL), 0);
		assert_int_equal(ioctl(x.f.listen_fd, FIONBIO, &flags), 0);
		assert_int_equal(wp_addr_local(x.f.listen_fd, &addr), 0);
		target.port = wp_addr_port(&addr);
		assert_int_equal(pthread_create(&x.f.thread, NULL, second_main, &x), 0);
		r = wp_peer_find("whyperf")->connect(&target, &plan, &s, &err);
		assert_int_equal(r, 0);
		r = client_measure(s, &plan, &run, &err);
		if (!strstr(err.msg, rows[i].says))
			print_message("row %zu: %d, %s\n", i, r, err.msg);
		assert_non_null(strstr(err.msg, rows[i].says));
		assert_true(r < 0);
		assert_true(run.n_hosts < 2);
		/* What this end saw is kept. */
		assert_true(wp_has(run.flows[0].sent.all_bytes));
		s->ops->close(s);
		wp_run_done(&run);
		fake_end(&x.f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_servers_get_a_sentence),
		cmocka_unit_test(an_older_server_is_asked_for_what_it_knows_only),
		cmocka_unit_test(a_server_that_is_never_ready_is_given_up),
		cmocka_unit_test(an_endless_line_is_refused),
		cmocka_unit_test(nobody_listens_is_said),
		cmocka_unit_test(a_missing_key_file_is_said),
		cmocka_unit_test(bad_runs_get_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
