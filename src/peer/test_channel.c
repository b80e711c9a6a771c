/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "peer/channel.h"
#include "peer/limits.h"
#include "peer/proto.h"

#define LIMIT 1000
#define SHORT (100 * WP_NS_PER_MS)
#define LONG  (10 * WP_NS_PER_S)

/* A channel and the bare socket at its other end. */
struct pair {
	struct wp_channel *c;
	int far;
};

static int set_up(void **state)
{
	static struct pair p;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0 ||
	    wp_channel_new(fds[0], LIMIT, 100, &p.c, NULL) < 0)
		return -1;
	p.far = fds[1];
	*state = &p;
	return 0;
}

static int tear_down(void **state)
{
	struct pair *p = *state;

	wp_channel_free(p->c);
	wp_close_p(&p->far);
	p->far = -1;
	return 0;
}

static void put(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static void messages_are_taken_one_by_one(void **state)
{
	struct pair *p = *state;
	json_t *m = NULL;

	put(p->far, "{\"type\":\"ping\"}\n{\"n\":1}\r\n{\"n\":");
	assert_int_equal(wp_channel_recv(p->c, &m, SHORT, NULL), 0);
	assert_string_equal(json_string_value(json_object_get(m, "type")), "ping");
	json_decref(m);
	assert_int_equal(wp_channel_recv(p->c, &m, 0, NULL), 0);
	assert_int_equal(json_integer_value(json_object_get(m, "n")), 1);
	json_decref(m);
	assert_int_equal(wp_channel_recv(p->c, &m, 0, NULL), -EAGAIN);
	put(p->far, "2}\n");
	assert_int_equal(wp_channel_recv(p->c, &m, 0, NULL), 0);
	assert_int_equal(json_integer_value(json_object_get(m, "n")), 2);
	json_decref(m);
}

static void a_message_may_come_byte_by_byte(void **state)
{
	static const char text[] = "{\"a\":\"b\"}\n";
	struct pair *p = *state;
	json_t *m = NULL;

	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		assert_int_equal(wp_channel_recv(p->c, &m, 0, NULL), -EAGAIN);
		assert_int_equal(send(p->far, text + i, 1, 0), 1);
	}
	assert_int_equal(wp_channel_recv(p->c, &m, 0, NULL), 0);
	json_decref(m);
}

static void silence_costs_the_timeout(void **state)
{
	struct pair *p = *state;
	struct wp_err err = { 0 };
	json_t *m = NULL;
	int64_t start_ns = wp_now_ns();

	assert_int_equal(wp_channel_recv(p->c, &m, SHORT, &err), -ETIMEDOUT);
	assert_true(wp_now_ns() - start_ns >= SHORT);
	assert_non_null(strstr(err.msg, "does not answer"));
}

static void a_long_line_is_refused_with_bounded_memory(void **state)
{
	struct pair *p = *state;
	struct wp_err err = { 0 };
	char junk[LIMIT + 1];
	json_t *m = NULL;

	memset(junk, '{', sizeof(junk));
	assert_int_equal(send(p->far, junk, sizeof(junk), 0), sizeof(junk));
	assert_int_equal(wp_channel_recv(p->c, &m, SHORT, &err), -E2BIG);
	assert_non_null(strstr(err.msg, "1000 bytes"));
	assert_int_equal(wp_channel_recv(p->c, &m, SHORT, NULL), -E2BIG); /* and stays so */
}

static void a_line_of_the_limit_is_taken(void **state)
{
	struct pair *p = *state;
	char line[LIMIT + 1];
	json_t *m = NULL;

	memset(line, ' ', sizeof(line));
	line[0] = '{';
	line[LIMIT - 1] = '}';
	line[LIMIT] = '\n';
	assert_int_equal(send(p->far, line, sizeof(line), 0), sizeof(line));
	assert_int_equal(wp_channel_recv(p->c, &m, SHORT, NULL), 0);
	json_decref(m);
}

static void the_end_is_told_from_a_break(void **state)
{
	struct pair *p = *state;
	struct wp_err err = { 0 };
	json_t *m = NULL;

	put(p->far, "{}\n{\"half");
	shutdown(p->far, SHUT_WR);
	assert_int_equal(wp_channel_recv(p->c, &m, SHORT, NULL), 0);
	json_decref(m);
	assert_int_equal(wp_channel_recv(p->c, &m, SHORT, &err), -ECONNRESET);
	assert_non_null(strstr(err.msg, "middle"));
}

static void a_clean_end_is_said(void **state)
{
	struct pair *p = *state;
	json_t *m = NULL, *ping = wp_message_new(WP_MSG_PING);

	shutdown(p->far, SHUT_WR);
	assert_int_equal(wp_channel_recv(p->c, &m, SHORT, NULL), -EPIPE);
	wp_close_p(&p->far);
	p->far = -1;
	assert_int_equal(wp_channel_send(p->c, ping, SHORT, NULL), -ECONNRESET); /* no SIGPIPE */
	json_decref(ping);
}

static void a_reader_that_does_not_read_costs_the_timeout(void **state)
{
	struct pair *p = *state;
	struct wp_err err = { 0 };
	char text[900];
	json_t *big = json_array(), *m = json_object();
	int wake = eventfd(1, EFD_CLOEXEC);

	memset(text, 'x', sizeof(text));
	for (int i = 0; i < 2000; i++) /* 1.8 MB: more than the socket holds */
		json_array_append_new(big, json_stringn(text, sizeof(text)));
	json_object_set_new(m, "big", big);
	/* 27 times the slowest rate: 0.1 s and 27 s at 64 KB/s, so a wake ends it. */
	wp_channel_wake_on(p->c, wake);
	assert_int_equal(wp_channel_send(p->c, m, SHORT, &err), -ECANCELED);
	wp_close_p(&wake);
	json_decref(m);
}

static void a_wake_ends_a_wait(void **state)
{
	struct pair *p = *state;
	struct wp_err err = { 0 };
	int wake = eventfd(1, EFD_CLOEXEC);
	json_t *m = NULL;

	wp_channel_wake_on(p->c, wake);
	assert_int_equal(wp_channel_recv(p->c, &m, LONG, &err), -ECANCELED);
	assert_true(err.msg[0]);
	wp_close_p(&wake);
}

static void garbage_is_refused(void **state)
{
	struct pair *p = *state;
	json_t *m = NULL;

	put(p->far, "GET / HTTP/1.1\r\n\r\n");
	assert_int_equal(wp_channel_recv(p->c, &m, SHORT, NULL), -EBADMSG);
}

static void lingering_throws_away_what_comes(void **state)
{
	struct pair *p = *state;
	int64_t start_ns = wp_now_ns();
	char byte;

	put(p->far, "{\"never\":\"read\"}\n");
	wp_channel_linger(p->c, SHORT);
	assert_true(wp_now_ns() - start_ns >= SHORT);
	assert_int_equal(recv(p->far, &byte, 1, 0), 0);
	shutdown(p->far, SHUT_WR);
	start_ns = wp_now_ns();
	wp_channel_linger(p->c, LONG);
	assert_true(wp_now_ns() - start_ns < LONG);
}

/* --- TLS: two channels, the server's end in a thread of its own --- */

struct server {
	struct wp_channel *c;
	const struct wp_key *key;
	struct wp_err err;
	int secured, received;
};

static void *serve(void *arg)
{
	struct server *s = arg;
	json_t *m = NULL;

	s->secured = wp_channel_secure(s->c, s->key, true, LONG, &s->err);
	if (s->secured < 0)
		return NULL;
	s->received = wp_channel_recv(s->c, &m, LONG, &s->err);
	if (!s->received)
		s->received = wp_channel_send(s->c, m, LONG, &s->err);
	json_decref(m);
	wp_channel_linger(s->c, LONG);
	return NULL;
}

static void key_of(const char *text, struct wp_key *ret)
{
	assert_int_equal(wp_key_from_bytes(text, strlen(text), ret), 0);
}

/* Connects both ends; what each came to is in *server and the return value. */
static int handshake(const char *client_key, const char *server_key, struct server *server,
		     struct wp_channel **ret_client, pthread_t *ret_thread, struct wp_err *err)
{
	static struct wp_key keys[2];
	int fds[2];

	key_of(client_key, &keys[0]);
	key_of(server_key, &keys[1]);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	*server = (struct server) { .key = &keys[1] };
	assert_int_equal(wp_channel_new(fds[0], 4 << 20, 100000, ret_client, NULL), 0);
	assert_int_equal(wp_channel_new(fds[1], 4 << 20, 100000, &server->c, NULL), 0);
	assert_int_equal(pthread_create(ret_thread, NULL, serve, server), 0);
	return wp_channel_secure(*ret_client, &keys[0], false, LONG, err);
}

static void the_right_key_opens(void **state)
{
	struct wp_channel *c;
	struct server server;
	struct wp_err err = { 0 };
	pthread_t thread;
	json_t *m = json_object(), *list = json_array(), *back = NULL;

	(void)state;
	for (int i = 0; i < 50000; i++) /* about 350 KB: many records */
		json_array_append_new(list, json_integer(i * 10));
	json_object_set_new(m, "list", list);
	assert_int_equal(
		handshake("0123456789abcdef", "0123456789abcdef", &server, &c, &thread, &err), 0);
	assert_true(wp_channel_is_secure(c));
	assert_int_equal(wp_channel_send(c, m, LONG, &err), 0);
	assert_int_equal(wp_channel_recv(c, &back, LONG, &err), 0);
	assert_true(json_equal(m, back));
	json_decref(back);
	assert_int_equal(wp_channel_recv(c, &back, LONG, &err), -EPIPE); /* a clean goodbye */
	wp_channel_free(c);
	pthread_join(thread, NULL);
	assert_true(server.secured == 0 && server.received == 0);
	wp_channel_free(server.c);
	json_decref(m);
}

static void a_wrong_key_gives_one_sentence_on_both_ends(void **state)
{
	struct wp_channel *c;
	struct server server;
	struct wp_err err = { 0 };
	pthread_t thread;

	(void)state;
	assert_int_equal(
		handshake("0123456789abcdef", "0123456789abcdeX", &server, &c, &thread, &err),
		-EACCES);
	assert_non_null(strstr(err.msg, "another key"));
	wp_channel_free(c);
	pthread_join(thread, NULL);
	assert_int_equal(server.secured, -EACCES);
	assert_non_null(strstr(server.err.msg, "another key"));
	wp_channel_free(server.c);
}

static void a_plain_answer_to_a_handshake_is_passed_on(void **state)
{
	struct pair *p = *state;
	struct wp_err err = { 0 };
	struct wp_key key;

	key_of("0123456789abcdef", &key);
	put(p->far, "{\"type\":\"error\",\"says\":\"this server has no key\"}\n");
	assert_int_equal(wp_channel_secure(p->c, &key, false, LONG, &err), -EACCES);
	assert_string_equal(err.msg, "this server has no key");
}

static void garbage_in_a_handshake_is_refused(void **state)
{
	for (int server = 0; server < 2; server++) {
		struct wp_err err = { 0 };
		struct wp_key key;

		tear_down(state);
		assert_int_equal(set_up(state), 0);
		key_of("0123456789abcdef", &key);
		put(((struct pair *)*state)->far, "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n");
		assert_int_equal(
			wp_channel_secure(((struct pair *)*state)->c, &key, server, LONG, &err),
			-EPROTO);
		assert_true(err.msg[0]);
	}
}

static void a_silent_handshake_costs_the_timeout(void **state)
{
	struct pair *p = *state;
	struct wp_key key;

	key_of("0123456789abcdef", &key);
	assert_int_equal(wp_channel_secure(p->c, &key, true, SHORT, NULL), -ETIMEDOUT);
}

static void damaged_records_end_the_channel(void **state)
{
	struct wp_channel *c;
	struct server server;
	struct wp_err err = { 0 };
	pthread_t thread;
	uint8_t junk[5 + 32] = { 0x17, 3, 3, 0, 32 }; /* a record that no key made */

	(void)state;
	assert_int_equal(
		handshake("0123456789abcdef", "0123456789abcdef", &server, &c, &thread, &err), 0);
	assert_int_equal(send(wp_channel_fd(c), junk, sizeof(junk), MSG_NOSIGNAL), sizeof(junk));
	shutdown(wp_channel_fd(c), SHUT_WR);
	pthread_join(thread, NULL);
	/* It may come together with the end of the handshake. */
	assert_true(server.secured == -EPROTO || server.received == -EPROTO);
	wp_channel_free(c);
	wp_channel_free(server.c);
}

static void key_files_are_checked(void **state)
{
	char path[] = "/tmp/wp-test-key-XXXXXX";
	struct wp_key a, b;
	struct wp_err err = { 0 };
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "0123456789abcde\n\n", 17), 17);
	assert_int_equal(wp_key_read(path, &a, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "15 bytes"));
	assert_int_equal(pwrite(fd, "0123456789abcdef\n", 17, 0), 17);
	assert_int_equal(wp_key_read(path, &a, NULL), 0);
	key_of("0123456789abcdef", &b);
	assert_memory_equal(&a, &b, sizeof(a)); /* a newline at the end does not count */
	assert_int_equal(ftruncate(fd, WP_KEY_FILE_MAX + 1), 0);
	err = (struct wp_err) { 0 };
	assert_int_equal(wp_key_read(path, &a, &err), -E2BIG);
	unlink(path);
	wp_close_p(&fd);
	err = (struct wp_err) { 0 };
	assert_int_equal(wp_key_read(path, &a, &err), -ENOENT);
	assert_non_null(strstr(err.msg, path));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(messages_are_taken_one_by_one),
		CASE(a_message_may_come_byte_by_byte),
		CASE(silence_costs_the_timeout),
		CASE(a_long_line_is_refused_with_bounded_memory),
		CASE(a_line_of_the_limit_is_taken),
		CASE(the_end_is_told_from_a_break),
		CASE(a_clean_end_is_said),
		CASE(a_reader_that_does_not_read_costs_the_timeout),
		CASE(a_wake_ends_a_wait),
		CASE(garbage_is_refused),
		CASE(lingering_throws_away_what_comes),
		cmocka_unit_test(the_right_key_opens),
		cmocka_unit_test(a_wrong_key_gives_one_sentence_on_both_ends),
		CASE(a_plain_answer_to_a_handshake_is_passed_on),
		CASE(garbage_in_a_handshake_is_refused),
		CASE(a_silent_handshake_costs_the_timeout),
		cmocka_unit_test(damaged_records_end_the_channel),
		cmocka_unit_test(key_files_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
