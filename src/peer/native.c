/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * native.c - the client half of whyperf's own protocol (peer/proto.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "model/json.h"
#include "net/sock.h"
#include "peer/channel.h"
#include "peer/data_connect.h"
#include "peer/limits.h"
#include "peer/message.h"
#include "peer/peers.h"
#include "peer/progress.h"
#include "peer/proto.h"

#define DEFAULT_TIMEOUT_NS (10 * WP_NS_PER_S)
#define MAX_MESSAGES       1000 /* taken at one wake-up: the server pings every two seconds */
/* How long the result of a server that ended the test itself is waited for. */
#define LAST_RESULT_NS (3 * WP_NS_PER_S)

/* How often a running test looks whether the server is still there. */
#define ALIVE_TICK_NS WP_NS_PER_S

struct native {
	struct wp_peer_session
		base; /* first; its control_fd is an epoll of the connection and alive_fd */
	const struct wp_plan *plan; /* borrowed */
	int64_t timeout_ns;
	struct wp_channel *c;
	enum wp_talk talk;
	struct wp_hello server;
	uint8_t token[WP_TOKEN_BYTES];
	uint16_t data_port;
	bool done;      /* the server said so */
	json_t *result; /* message */
	int failed;     /* what ended the talk: negative errno */
	struct wp_err failure;
	int alive_fd;     /* timer */
	int64_t word_ns;  /* the last message */
	int64_t heard_ns; /* when something last came over the connections, as far as was looked */
	uint64_t heard;
};

/* ---- messages --------------------------------------------------------------------------------- */

static int send_message(struct native *n, json_t *message, struct wp_err *err)
{
	int r = message ? wp_channel_send(n->c, message, n->timeout_ns, err)
			: wp_err_sys(err, -ENOMEM, "cannot make a message");

	json_decref(message);
	return r;
}

static int on_hello(void *arg, const json_t *message, struct wp_err *err)
{
	struct native *n = arg;

	wp_hello_from(message, &n->server);
	if (n->server.protocol != WP_PROTOCOL_VERSION)
		return wp_err_set(err, -EPROTO,
				  "the server (whyperf %s) speaks protocol version %d, this client "
				  "version %d; install the same version on both ends",
				  n->server.version, n->server.protocol, WP_PROTOCOL_VERSION);
	n->talk = WP_TALK_TEST;
	return 0;
}

static int on_accept(void *arg, const json_t *message, struct wp_err *err)
{
	struct native *n = arg;

	n->talk = WP_TALK_CONNECT;
	return wp_accept_from(message, n->token, &n->data_port, err);
}

static int on_ready(void *arg, const json_t *message, struct wp_err *err)
{
	struct native *n = arg;

	(void)message;
	(void)err;
	n->talk = WP_TALK_READY;
	return 0;
}

static int on_started(void *arg, const json_t *message, struct wp_err *err)
{
	struct native *n = arg;

	(void)message;
	(void)err;
	n->talk = WP_TALK_RUN;
	return 0;
}

static int on_ping(void *arg, const json_t *message, struct wp_err *err)
{
	(void)message;
	(void)err;
	/* When it can't be sent, reading will tell why. */
	(void)send_message(arg, wp_message_new(WP_MSG_PONG), NULL);
	return 0;
}

static int on_done(void *arg, const json_t *message, struct wp_err *err)
{
	struct native *n = arg;

	(void)message;
	(void)err;
	n->done = true;
	return 0;
}

static int on_result(void *arg, const json_t *message, struct wp_err *err)
{
	struct native *n = arg;

	(void)err;
	/* The dispatcher lends it; a reference is all that is taken. */
	n->result = json_incref((json_t *)(uintptr_t)message);
	n->talk = WP_TALK_OVER;
	return 0;
}

static int on_error(void *arg, const json_t *message, struct wp_err *err)
{
	char says[sizeof(err->msg)];

	(void)arg;
	wp_error_from(message, says, sizeof(says));
	return wp_err_set(err, -ECONNABORTED, "%s", says);
}

static wp_message_handler *const handlers[WP_MSG_N] = {
	[WP_MSG_HELLO] = on_hello,     [WP_MSG_ACCEPT] = on_accept, [WP_MSG_READY] = on_ready,
	[WP_MSG_STARTED] = on_started, [WP_MSG_PING] = on_ping,     [WP_MSG_DONE] = on_done,
	[WP_MSG_RESULT] = on_result,   [WP_MSG_ERROR] = on_error,
};

static int take_one(struct native *n, int64_t timeout_ns, struct wp_err *err)
{
	json_t *message = NULL;
	int r = wp_channel_recv(n->c, &message, timeout_ns, err);

	if (r < 0)
		return r;
	n->word_ns = wp_now_ns();
	r = wp_message_dispatch(message, WP_SERVER, n->talk, handlers, n, err);
	json_decref(message);
	return r;
}

/* Takes messages until the talk has left the state it is in. Each sign of life starts the timeout
 * anew, `most_ns` bounds them all. */
static int answer(struct native *n, int64_t most_ns, struct wp_err *err)
{
	int64_t until_ns = wp_now_ns() + most_ns;
	enum wp_talk before = n->talk;

	while (n->talk == before) {
		int64_t left_ns = until_ns - wp_now_ns();
		int r;

		if (left_ns <= 0)
			return wp_err_set(err, -ETIMEDOUT,
					  "the server is there but does not answer");
		r = take_one(n, left_ns < n->timeout_ns ? left_ns : n->timeout_ns, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- connect ---------------------------------------------------------------------------------- */

static int say_hello(struct native *n, struct wp_err *err)
{
	struct wp_hello hello = { .protocol = WP_PROTOCOL_VERSION,
				  .version = WP_VERSION,
				  .kinds = wp_hello_kinds() };
	char boot_id[64];
	int r;

	if (wp_read_line_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", boot_id,
			    sizeof(boot_id)) == 0)
		wp_boot_hash(boot_id, hello.boot);
	r = send_message(n, wp_message_hello(&hello), err);
	if (!r)
		r = answer(n, n->timeout_ns, err);
	if (r == -EBADMSG || r == -E2BIG) {
		if (err)
			err->msg[0] = '\0';
		return wp_err_set(err, r,
				  "what listens there does not speak whyperf's protocol; is it "
				  "another program's port?");
	}
	if (!r)
		n->base.same_machine = hello.boot[0] && !strcmp(hello.boot, n->server.boot);
	return r;
}

/* What a running test polls: the connection, and a timer for a server that falls silent. */
static int open_watch(struct native *n, int fd)
{
	struct itimerspec every = { .it_interval = wp_ns_to_timespec(ALIVE_TICK_NS),
				    .it_value = wp_ns_to_timespec(ALIVE_TICK_NS) };
	struct epoll_event readable = { .events = EPOLLIN };

	n->base.control_fd = epoll_create1(EPOLL_CLOEXEC);
	n->alive_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (n->base.control_fd < 0 || n->alive_fd < 0 ||
	    epoll_ctl(n->base.control_fd, EPOLL_CTL_ADD, fd, &readable) < 0 ||
	    epoll_ctl(n->base.control_fd, EPOLL_CTL_ADD, n->alive_fd, &readable) < 0 ||
	    timerfd_settime(n->alive_fd, 0, &every, NULL) < 0)
		return -errno;
	return 0;
}

static int open_control(struct native *n, const struct wp_peer_target *target, struct wp_err *err)
{
	struct wp_connect c = { .host = target->host,
				.port = target->port ? target->port : WP_DEFAULT_PORT,
				.family = n->plan->family,
				.bind_host = n->plan->bind_host,
				.timeout_ns = n->timeout_ns };
	struct wp_key key = { 0 };
	int fd = -1, r = 0;

	if (target->key_file)
		r = wp_key_read(target->key_file, &key, err);
	if (!r)
		r = wp_sock_connect(&c, &fd, err);
	if (!r) {
		r = wp_channel_new(fd, WP_PEER_RESULT_BYTES, WP_PEER_RESULT_VALUES, &n->c, err);
		if (r < 0)
			wp_close_p(&fd);
	}
	if (!r) {
		wp_channel_interruptible(n->c, true);
		r = open_watch(n, fd);
		if (r < 0)
			wp_err_sys(err, r, "cannot watch the connection");
	}
	if (!r && target->key_file)
		r = wp_channel_secure(n->c, &key, false, n->timeout_ns, err);
	wp_key_wipe(&key);
	return r;
}

static int ask_for_test(struct native *n, struct wp_err *err)
{
	int r;

	if (!wp_hello_knows(&n->server, n->plan->kind))
		return wp_err_set(err, -EOPNOTSUPP, "the server can't run a %s test",
				  n->plan->kind);
	r = send_message(n, wp_message_test(n->plan), err);
	return r ? r : answer(n, n->timeout_ns, err);
}

static int make_streams(struct native *n, struct wp_err *err)
{
	size_t count = wp_plan_connections(n->plan);

	n->base.streams = calloc(count, sizeof(*n->base.streams));
	if (!n->base.streams)
		return wp_err_set(err, -ENOMEM, "no memory for %zu streams", count);
	n->base.n_streams = count;
	for (size_t i = 0; i < count; i++) {
		struct wp_stream_spec *s = &n->base.streams[i];

		s->fd = -1;
		s->role = wp_plan_role(n->plan, i, WP_CLIENT);
		if (s->role == WP_STREAM_SENDS)
			s->limit_bytes = wp_plan_connection_limit(n->plan, i);
	}
	return 0;
}

/* Sends preambles again and again until the server is ready: it waits for the last one and makes its
 * end. A batch at a time, so that thousands overflow no buffer. */
static int introduce(struct native *n, struct wp_err *err)
{
	size_t next = 0, count = n->base.n_streams;
	int64_t round_ns = 0, until_ns = wp_now_ns() + n->timeout_ns + WP_PEER_STEP_NS;

	while (n->talk == WP_TALK_CONNECT) {
		struct pollfd p = { .fd = wp_channel_fd(n->c), .events = POLLIN };
		int64_t now_ns = wp_now_ns(), wait_ns = round_ns + WP_PEER_PREAMBLE_NS - now_ns;
		size_t batch = count - next < WP_PEER_PREAMBLE_BATCH ? count - next
								     : WP_PEER_PREAMBLE_BATCH;
		struct timespec ts;
		int r;

		if (now_ns > until_ns)
			return wp_err_set(err, -ETIMEDOUT, "the server is there but never ready");
		if (next || wait_ns <= 0) {
			if (!next)
				round_ns = now_ns;
			wp_data_send_preambles(n->token, n->base.streams, next, batch);
			next = next + batch < count ? next + batch : 0;
			wait_ns = next ? WP_PEER_PREAMBLE_PAUSE_NS : WP_PEER_PREAMBLE_NS;
		}
		ts = wp_ns_to_timespec(wait_ns);
		if (ppoll(&p, 1, &ts, NULL) < 0)
			return wp_err_sys(err, -errno,
					  errno == EINTR ? "interrupted" : "cannot wait");
		r = take_one(n, 0, err);
		if (r < 0 && r != -EAGAIN)
			return r;
	}
	return 0;
}

static int open_data(struct native *n, struct wp_err *err)
{
	struct wp_stream_spec *streams = n->base.streams;
	int fd = wp_channel_fd(n->c), r;

	if (n->plan->connect_each && !n->data_port)
		return wp_err_set(err, -EBADMSG, "the server names no port for the connections");
	if (n->plan->connect_each)
		r = wp_data_name_port(fd, n->data_port, streams, n->base.n_streams, err);
	else if (n->plan->transport == WP_UDP)
		r = wp_data_open_datagrams(fd, n->plan, streams, n->base.n_streams, err);
	else
		r = wp_data_connect(fd, n->plan, n->token, streams, n->base.n_streams,
				    n->timeout_ns, err);
	if (!r && n->plan->transport == WP_UDP)
		r = introduce(n, err);
	/* The server waits for the last connection and makes its end. */
	else if (!r)
		r = answer(n, n->timeout_ns + WP_PEER_STEP_NS, err);
	return r;
}

static void native_close(struct wp_peer_session *base)
{
	struct native *n = (struct native *)base;

	if (!n)
		return;
	for (size_t i = 0; i < n->base.n_streams; i++)
		wp_close_p(&n->base.streams[i].fd);
	free(n->base.streams);
	wp_close_p(&n->alive_fd);
	wp_close_p(&n->base.control_fd);
	wp_channel_free(n->c);
	json_decref(n->result);
	free(n);
}

static int native_connect(const struct wp_peer_target *target, const struct wp_plan *plan,
			  struct wp_peer_session **ret, struct wp_err *err)
{
	struct native *n = calloc(1, sizeof(*n));
	int r;

	if (!n)
		return wp_err_set(err, -ENOMEM, "no memory for a session");
	n->base.ops = &wp_peer_native;
	n->base.control_fd = n->alive_fd = -1;
	n->plan = plan;
	n->timeout_ns = target->timeout_ns > 0 ? target->timeout_ns : DEFAULT_TIMEOUT_NS;
	n->talk = WP_TALK_HELLO;
	r = wp_data_check(plan, err);
	if (!r)
		r = make_streams(n, err);
	if (!r)
		r = open_control(n, target, err);
	if (!r)
		r = say_hello(n, err);
	if (!r)
		r = ask_for_test(n, err);
	if (!r)
		r = open_data(n, err);
	if (r < 0) {
		native_close(&n->base);
		return r;
	}
	*ret = &n->base;
	return 0;
}

/* ---- run -------------------------------------------------------------------------------------- */

/* Remembers what ended the talk. */
static int fail(struct native *n, int r, const struct wp_err *why, struct wp_err *err)
{
	if (r < 0 && !n->failed) {
		n->failed = r;
		n->failure = *why;
	}
	if (r < 0)
		wp_err_set(err, r, "%s", why->msg);
	return r;
}

static int native_start(struct wp_peer_session *base, struct wp_err *err)
{
	struct native *n = (struct native *)base;
	struct wp_err why = { 0 };
	int r = send_message(n, wp_message_new(WP_MSG_START), &why);

	if (!r)
		r = answer(n, n->timeout_ns, &why);
	return fail(n, r, &why, err);
}

static uint64_t heard_amount(const struct native *n)
{
	const struct wp_stream_spec control = { .fd = wp_channel_fd(n->c) };

	return wp_peer_heard(n->plan, n->base.end, n->base.streams, n->base.n_streams) +
	       wp_peer_moved_bytes(&control, 1);
}

/* How long a server may be silent. Datagrams flat out leave a slow path no room for its words. */
static int64_t patience_ns(const struct native *n)
{
	int64_t least_ns = !strcmp(n->plan->kind, "udp") && n->plan->direction != WP_REVERSE
				   ? WP_PEER_IDLE_NS
				   : 3 * WP_PEER_PING_NS;

	return n->timeout_ns < least_ns ? least_ns : n->timeout_ns;
}

/* The kernel sees to a host that vanished. A server that hangs keeps its connections, but it does
 * not ping, and soon nothing comes from it any more. */
static int check_alive(struct native *n, struct wp_err *err)
{
	int64_t now_ns = wp_now_ns(), limit_ns = patience_ns(n);
	uint64_t amount, ticks;

	(void)!read(n->alive_fd, &ticks, sizeof(ticks));
	if (now_ns - n->word_ns <= 2 * WP_PEER_PING_NS)
		return 0;
	amount = heard_amount(n);
	if (amount != n->heard) {
		n->heard = amount;
		n->heard_ns = now_ns;
	}
	if (now_ns - n->word_ns <= limit_ns || now_ns - n->heard_ns <= limit_ns)
		return 0;
	return wp_err_set(
		err, -ETIMEDOUT,
		"the server hangs, or the way to it is broken: no word and no byte for %.3g s",
		(double)limit_ns / 1e9);
}

static int native_event(struct wp_peer_session *base, struct wp_err *err)
{
	struct native *n = (struct native *)base;

	if (n->failed)
		return wp_err_set(err, n->failed, "%s", n->failure.msg);
	for (int i = 0; i < MAX_MESSAGES; i++) {
		struct wp_err why = { 0 };
		int r = take_one(n, 0, &why);

		if (r == -EAGAIN) {
			r = check_alive(n, &why);
			return r < 0 ? fail(n, r, &why, err) : n->done;
		}
		if (r == -EPIPE || r == -ECONNRESET) {
			why.msg[0] = '\0';
			r = wp_err_set(&why, r, "the server vanished");
		}
		if (r < 0)
			return fail(n, r, &why, err);
		if (n->result)
			return 1;
	}
	return wp_err_set(err, -EPROTO, "the server sends too many messages");
}

static int native_stop(struct wp_peer_session *base)
{
	struct native *n = (struct native *)base;

	if (n->failed || n->talk != WP_TALK_RUN)
		return n->failed;
	return send_message(n, wp_message_new(WP_MSG_STOP), NULL);
}

/* ---- the result ------------------------------------------------------------------------------- */

/* Waits for the result: n->result or n->failed or both. Of a server that ended the test itself it
 * comes behind its error. */
static void await_result(struct native *n)
{
	if (!n->result && !n->failed) {
		struct wp_err unsent = { 0 }, why = { 0 };
		int sent, r;

		n->talk = WP_TALK_FINISH;
		sent = send_message(n, wp_message_new(WP_MSG_FINISH), &unsent);
		/* A server that has ended the test may have closed; its last words are here all the
		 * same. */
		r = answer(n, n->timeout_ns + WP_PEER_OVERTIME_NS, &why);
		if (r < 0 && sent < 0 && r != -ECONNABORTED)
			(void)fail(n, sent, &unsent, NULL);
		else
			(void)fail(n, r, &why, NULL);
	}
	if (!n->result && n->failed == -ECONNABORTED) {
		n->timeout_ns = LAST_RESULT_NS;
		(void)!answer(n, LAST_RESULT_NS, NULL);
	}
}

static int take_flows(struct native *n, struct wp_run *run, struct wp_err *err)
{
	const json_t *flows = json_object_get(n->result, "flows");

	if (json_array_size(flows) != run->n_flows)
		return wp_err_set(err, -EBADMSG, "the server's result has %zu flows instead of %zu",
				  json_array_size(flows), run->n_flows);
	for (size_t i = 0; i < run->n_flows; i++) {
		struct wp_flow theirs = { 0 };
		int r = wp_flow_from_json(json_array_get(flows, i), &theirs, &run->pool, err);

		if (r < 0)
			return r;
		wp_flow_merge_peer(&run->flows[i], &theirs);
		/* Of a test that the server ended, the last datagrams had nobody to come to. */
		if (!n->failed)
			wp_flow_settle_losses(&run->flows[i]);
	}
	return 0;
}

static void take_warnings(const json_t *list, struct wp_run *run)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *text = json_array_get(list, i);
		char clean[300];

		if (!json_is_string(text))
			continue;
		wp_message_clean(json_string_value(text), json_string_length(text), clean,
				 sizeof(clean));
		wp_run_warn(run, "%s", clean);
	}
}

/* The method of the end that this host is not; a name that is unknown here is not taken over. */
static void take_methods(const struct native *n, struct wp_run *run)
{
	const char *key = n->plan->direction == WP_REVERSE ? "send_method" : "receive_method";
	const char *text = json_string_value(json_object_get(n->result, key));
	char clean[64];

	if (!text || n->plan->direction == WP_BOTH)
		return;
	wp_message_clean(text, strlen(text), clean, sizeof(clean));
	text = wp_pool_strdup(&run->pool, clean);
	if (n->plan->direction == WP_REVERSE)
		run->test.send_method = text;
	else
		run->test.receive_method = text;
}

static int native_finish(struct wp_peer_session *base, struct wp_run *run, struct wp_err *err)
{
	struct native *n = (struct native *)base;
	int r;

	await_result(n);
	if (!n->result)
		return wp_err_set(err, n->failed ? n->failed : -ETIMEDOUT, "%s",
				  n->failed ? n->failure.msg : "the server sends no result");
	r = wp_host_from_json(json_object_get(n->result, "host"), &run->hosts[1], &run->pool, err);
	if (!r)
		r = take_flows(n, run, err);
	if (r < 0) {
		wp_err_prefix(err, "the server's result is refused");
		run->hosts[1] = (struct wp_host) { 0 };
		return r;
	}
	run->hosts[1].role = "server";
	if (n->base.same_machine)
		run->hosts[1].same_machine_as = "client";
	run->n_hosts = 2;
	take_methods(n, run);
	take_warnings(json_object_get(n->result, "warnings"), run);
	/* The server's figures are kept, and why it ended the test is said. */
	return n->failed ? wp_err_set(err, n->failed, "%s", n->failure.msg) : 0;
}

const struct wp_peer_ops wp_peer_native = {
	.name = "whyperf",
	.summary = "whyperf serve: both ends' figures and CPUs in one record",
	.default_port = WP_DEFAULT_PORT,
	.caps = WP_PEER_TCP | WP_PEER_REVERSE | WP_PEER_BOTH | WP_PEER_REMOTE_RESULT |
		WP_PEER_REMOTE_HOST | WP_PEER_SERVER,
	.connect = native_connect,
	.start = native_start,
	.event = native_event,
	.stop = native_stop,
	.finish = native_finish,
	.close = native_close,
};
