/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * testing.h - what the server's tests share: a server in a thread, a whole client as run/ drives
 * it, and a raw client that can stop in any state. Included by test_*.c only.
 */
#ifndef WP_PEER_TESTING_H
#define WP_PEER_TESTING_H

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"
#include "load/engine.h"
#include "observe/endpoint.h"
#include "peer/channel.h"
#include "peer/limits.h"
#include "peer/peer.h"
#include "peer/proto.h"
#include "peer/server.h"

#define MAYBE_UNUSED __attribute__((unused))

/* ---- a server --------------------------------------------------------------------------------- */

struct harness {
	struct wp_server_config config;
	pthread_t thread;
	int stop_fd, result;
	struct wp_err err;
	int64_t ended_ns;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint16_t port;                        /* lock */
	unsigned count[WP_SERVER_FAILED + 1]; /* lock */
	char text[WP_SERVER_FAILED + 1][600]; /* lock: newest of each */
};

static void harness_event(void *arg, enum wp_server_event event, const char *text)
{
	struct harness *h = arg;
	const char *colon = strrchr(text, ':');
	char digits[8] = "";
	uint64_t port = 0;

	pthread_mutex_lock(&h->lock);
	if (event == WP_SERVER_LISTENING && colon) {
		snprintf(digits, sizeof(digits), "%.*s", (int)strcspn(colon + 1, " "), colon + 1);
		if (wp_parse_u64(digits, &port) == 0)
			h->port = (uint16_t)port;
	}
	h->count[event]++;
	snprintf(h->text[event], sizeof(h->text[event]), "%s", text);
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->lock);
}

static void *harness_main(void *arg)
{
	struct harness *h = arg;

	h->result = wp_server_run(&h->config, &h->err);
	h->ended_ns = wp_now_ns();
	pthread_mutex_lock(&h->lock);
	if (!h->port)
		h->port = 1; /* failed before it listened */
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->lock);
	return NULL;
}

/* `config` may be NULL; its bind_host and callbacks are replaced. */
static MAYBE_UNUSED void harness_start(struct harness *h, const struct wp_server_config *config)
{
	memset(h, 0, sizeof(*h));
	if (config)
		h->config = *config;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->changed, NULL);
	h->stop_fd = eventfd(0, EFD_CLOEXEC);
	h->config.bind_host = "127.0.0.1";
	h->config.stop_fd = h->stop_fd;
	h->config.on_event = harness_event;
	h->config.arg = h;
	assert_int_equal(pthread_create(&h->thread, NULL, harness_main, h), 0);
	pthread_mutex_lock(&h->lock);
	while (!h->port)
		pthread_cond_wait(&h->changed, &h->lock);
	pthread_mutex_unlock(&h->lock);
	assert_int_not_equal(h->port, 1);
}

/* Waits until `n` events of a kind have come; false after 20 s. */
static MAYBE_UNUSED bool harness_saw(struct harness *h, enum wp_server_event event, unsigned n)
{
	int64_t until_ns = wp_now_ns() + 20 * WP_NS_PER_S;
	bool saw;

	do {
		pthread_mutex_lock(&h->lock);
		saw = h->count[event] >= n;
		pthread_mutex_unlock(&h->lock);
		if (!saw)
			wp_sleep_until_ns(wp_now_ns() + 10 * WP_NS_PER_MS);
	} while (!saw && wp_now_ns() < until_ns);
	return saw;
}

static MAYBE_UNUSED void harness_join(struct harness *h)
{
	pthread_join(h->thread, NULL);
	wp_close_p(&h->stop_fd);
	pthread_cond_destroy(&h->changed);
	pthread_mutex_destroy(&h->lock);
}

static MAYBE_UNUSED void harness_signal(struct harness *h)
{
	assert_int_equal(write(h->stop_fd, &(uint64_t) { 1 }, sizeof(uint64_t)), 8);
}

/* Stops it; it has to end within its two seconds (ten under a sanitizer on a busy machine). */
static MAYBE_UNUSED void harness_stop(struct harness *h)
{
	int64_t start_ns = wp_now_ns();

	harness_signal(h);
	harness_join(h);
	assert_int_equal(h->result, 0);
	assert_true(h->ended_ns - start_ns < 10 * WP_NS_PER_S);
}

/* ---- a plan ----------------------------------------------------------------------------------- */

static MAYBE_UNUSED struct wp_plan small_plan(enum wp_direction direction, unsigned streams,
					      uint64_t limit_bytes)
{
	return (struct wp_plan) {
		.kind = "tcp",
		.streams = streams,
		.direction = direction,
		.duration_ns = limit_bytes ? 0 : 300 * WP_NS_PER_MS,
		.interval_ns = 100 * WP_NS_PER_MS,
		.limit_bytes = limit_bytes,
		.length_bytes = 64 << 10,
		.dscp = -1,
		.fill = WP_FILL_ZERO,
		.family = AF_INET,
	};
}

/* 64 datagrams of 1,000 bytes a stream and second, or `limit_bytes`. */
static MAYBE_UNUSED struct wp_plan small_udp_plan(enum wp_direction direction, unsigned streams,
						  uint64_t limit_bytes)
{
	struct wp_plan plan = small_plan(direction, streams, limit_bytes);

	plan.kind = "udp";
	plan.transport = WP_UDP;
	plan.length_bytes = 1000;
	plan.rate_bps = 64 * 8000;
	return plan;
}

/* ---- a whole client, as run/ drives it -------------------------------------------------------- */

static MAYBE_UNUSED int client_connect(uint16_t port, const char *key_file,
				       const struct wp_plan *plan, struct wp_peer_session **ret,
				       struct wp_err *err)
{
	struct wp_peer_target target = { .host = "127.0.0.1",
					 .port = port,
					 .key_file = key_file,
					 .timeout_ns = 10 * WP_NS_PER_S };

	return wp_peer_find("whyperf")->connect(&target, plan, ret, err);
}

/* From a connected session to a record; wp_run_done() whatever the result. */
static MAYBE_UNUSED int client_measure(struct wp_peer_session *s, const struct wp_plan *plan,
				       struct wp_run *run, struct wp_err *err)
{
	struct wp_end_spec spec = { .plan = plan,
				    .engine = wp_engine_find(plan->kind),
				    .cpus = &plan->cpus,
				    .streams = s->streams,
				    .n_streams = s->n_streams,
				    .record_cpus = true };
	struct wp_end *end = NULL;
	int r, event = 0;

	run->flows = wp_pool_calloc(&run->pool, wp_plan_flows(plan), sizeof(*run->flows));
	run->n_flows = wp_plan_flows(plan);
	for (size_t i = 0; i < run->n_flows; i++)
		run->flows[i].role = s->streams[i].role == WP_STREAM_SENDS ? "sender" : "receiver";
	r = wp_end_new(&spec, &end, err);
	s->end = end;
	if (!r)
		r = s->ops->start(s, err);
	if (!r)
		r = wp_end_go(end);
	while (!r && event >= 0) {
		int ready = wp_end_wait(end, &s->control_fd, event ? 0 : 1);

		if (ready <= 0) {
			r = ready;
			break;
		}
		event = s->ops->event(s, err);
	}
	if (!r && event < 0)
		r = event;
	if (end)
		(void)!wp_end_finish(end, r < 0 ? WP_NS_PER_S : 10 * WP_NS_PER_S);
	if (end && wp_end_result(end, &run->hosts[0], run->flows, &run->pool) == 0 &&
	    (r == 0 || event < 0)) {
		struct wp_err late = { 0 };
		int finished = s->ops->finish(s, run, &late);

		if (!r && finished < 0)
			r = wp_err_set(err, finished, "%s", late.msg);
	}
	s->end = NULL;
	wp_end_free(end);
	return r;
}

static MAYBE_UNUSED int client_run(uint16_t port, const char *key_file, const struct wp_plan *plan,
				   struct wp_run *run, struct wp_err *err)
{
	struct wp_peer_session *s = NULL;
	int r = client_connect(port, key_file, plan, &s, err);

	wp_run_init(run);
	if (!r) {
		r = client_measure(s, plan, run, err);
		s->ops->close(s);
	}
	return r;
}

/* A small test works: the server is alive and has a slot. Retried for five seconds, because a
 * session that ends takes a moment. */
static MAYBE_UNUSED void assert_serves(uint16_t port)
{
	struct wp_plan plan = small_plan(WP_FORWARD, 1, 100000);
	int64_t until_ns = wp_now_ns() + 5 * WP_NS_PER_S;
	struct wp_err err;
	struct wp_run run;
	int r;

	do {
		err = (struct wp_err) { 0 };
		r = client_run(port, NULL, &plan, &run, &err);
		if (!r)
			assert_true(run.flows[0].received.all_bytes.v == 100000);
		wp_run_done(&run);
	} while (r == -ECONNABORTED && strstr(err.msg, "busy") && wp_now_ns() < until_ns);
	if (r)
		print_message("%s\n", err.msg);
	assert_int_equal(r, 0);
}

/* ---- a raw client ----------------------------------------------------------------------------- */

static MAYBE_UNUSED int raw_connect(uint16_t port, const char *from)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in local = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
	if (from) {
		inet_pton(AF_INET, from, &local.sin_addr);
		assert_int_equal(bind(fd, (struct sockaddr *)&local, sizeof(local)), 0);
	}
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

/* True when the other end closes within `timeout_ns`; what it sends is thrown away. */
static MAYBE_UNUSED bool closes_within(int fd, int64_t timeout_ns)
{
	int64_t until_ns = wp_now_ns() + timeout_ns;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	static char junk[1 << 16];

	while (wp_now_ns() < until_ns) {
		ssize_t n;

		if (poll(&p, 1, 20) <= 0)
			continue;
		n = recv(fd, junk, sizeof(junk), MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return true;
	}
	return false;
}

/* How far a raw client goes. */
enum stage {
	STAGE_CONNECTED,
	STAGE_HELLO,
	STAGE_ACCEPTED,
	STAGE_HALF_CONNECTED, /* one of two data connections */
	STAGE_READY,
	STAGE_RUNNING,
	STAGE_FINISH, /* sent, while the data connections are open */
	STAGE_N,
};

struct raw {
	struct wp_channel *c;
	uint8_t token[WP_TOKEN_BYTES];
	uint16_t data_port;
	int data[2];
	bool udp;
};

static MAYBE_UNUSED int raw_send(struct raw *r, json_t *message)
{
	int result = wp_channel_send(r->c, message, 5 * WP_NS_PER_S, NULL);

	json_decref(message);
	return result;
}

/* The next message that is no ping; its name in `name`. 0 or what the channel says. */
static MAYBE_UNUSED int raw_recv(struct raw *r, char name[static 16], json_t **ret)
{
	for (;;) {
		json_t *m = NULL;
		int result = wp_channel_recv(r->c, &m, 10 * WP_NS_PER_S, NULL);

		if (result < 0)
			return result;
		snprintf(name, 16, "%s", json_string_value(json_object_get(m, "type")));
		if (ret && strcmp(name, "ping")) {
			*ret = m;
			return 0;
		}
		json_decref(m);
		if (strcmp(name, "ping"))
			return 0;
	}
}

static MAYBE_UNUSED void raw_expect(struct raw *r, const char *want)
{
	char name[16] = "";
	json_t *m = NULL;
	int result = raw_recv(r, name, &m);

	if (!result && !strcmp(name, "accept"))
		assert_int_equal(wp_accept_from(m, r->token, &r->data_port, NULL), 0);
	if (!result && !strcmp(name, "error") && strcmp(want, "error"))
		print_message("error: %s\n", json_string_value(json_object_get(m, "says")));
	json_decref(m);
	assert_int_equal(result, 0);
	assert_string_equal(name, want);
}

static MAYBE_UNUSED int raw_data(uint16_t port, const char *from,
				 const uint8_t token[static WP_TOKEN_BYTES], uint32_t stream)
{
	struct wp_preamble p = { .stream = stream, .role = WP_STREAM_SENDS };
	uint8_t bytes[WP_PREAMBLE_BYTES];
	int fd = raw_connect(port, from);

	memcpy(p.token, token, WP_TOKEN_BYTES);
	wp_preamble_encode(&p, bytes);
	assert_int_equal(send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL), sizeof(bytes));
	return fd;
}

/* A UDP socket on `from` (NULL = any) that sends to the server's port. */
static MAYBE_UNUSED int raw_udp(uint16_t port, const char *from)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in local = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
	if (from) {
		inet_pton(AF_INET, from, &local.sin_addr);
		assert_int_equal(bind(fd, (struct sockaddr *)&local, sizeof(local)), 0);
	}
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static MAYBE_UNUSED void raw_preamble(int fd, const uint8_t token[static WP_TOKEN_BYTES],
				      uint32_t stream, enum wp_stream_role role)
{
	struct wp_preamble p = { .stream = stream, .role = role };
	uint8_t bytes[WP_PREAMBLE_BYTES];

	memcpy(p.token, token, WP_TOKEN_BYTES);
	wp_preamble_encode(&p, bytes);
	(void)!send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
}

static MAYBE_UNUSED int raw_stream(const struct raw *r, uint16_t port, uint32_t stream)
{
	int fd;

	if (!r->udp)
		return raw_data(port, NULL, r->token, stream);
	fd = raw_udp(port, NULL);
	raw_preamble(fd, r->token, stream, WP_STREAM_SENDS);
	return fd;
}

/* A forward test of two streams, up to `stage`. */
static MAYBE_UNUSED void raw_go_with(struct raw *r, uint16_t port, enum stage stage, bool udp)
{
	struct wp_hello hello = { .protocol = 1, .version = "test", .kinds = wp_hello_kinds() };
	struct wp_plan plan = udp ? small_udp_plan(WP_FORWARD, 2, 0) : small_plan(WP_FORWARD, 2, 0);

	plan.duration_ns = 60 * WP_NS_PER_S;
	*r = (struct raw) { .data = { -1, -1 }, .udp = udp };
	assert_int_equal(wp_channel_new(raw_connect(port, NULL), WP_PEER_RESULT_BYTES,
					WP_PEER_RESULT_VALUES, &r->c, NULL),
			 0);
	if (stage >= STAGE_HELLO) {
		assert_int_equal(raw_send(r, wp_message_hello(&hello)), 0);
		raw_expect(r, "hello");
	}
	if (stage >= STAGE_ACCEPTED) {
		assert_int_equal(raw_send(r, wp_message_test(&plan)), 0);
		raw_expect(r, "accept");
	}
	if (stage >= STAGE_HALF_CONNECTED)
		r->data[0] = raw_stream(r, port, 0);
	if (stage >= STAGE_READY) {
		r->data[1] = raw_stream(r, port, 1);
		raw_expect(r, "ready");
	}
	if (stage >= STAGE_RUNNING) {
		assert_int_equal(raw_send(r, wp_message_new(WP_MSG_START)), 0);
		raw_expect(r, "started");
	}
	if (stage >= STAGE_FINISH)
		assert_int_equal(raw_send(r, wp_message_new(WP_MSG_FINISH)), 0);
}

static MAYBE_UNUSED void raw_go(struct raw *r, uint16_t port, enum stage stage)
{
	raw_go_with(r, port, stage, false);
}

static MAYBE_UNUSED void reset_on_close(int fd)
{
	struct linger now = { .l_onoff = 1 };

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

static MAYBE_UNUSED void raw_close(struct raw *r, bool reset)
{
	if (reset) {
		reset_on_close(wp_channel_fd(r->c));
		reset_on_close(r->data[0]);
		reset_on_close(r->data[1]);
	}
	wp_channel_free(r->c);
	wp_close_p(&r->data[0]);
	wp_close_p(&r->data[1]);
}

#endif
