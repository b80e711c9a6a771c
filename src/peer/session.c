/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "peer/session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"
#include "load/engine.h"
#include "net/sock.h"
#include "peer/limits.h"
#include "peer/message.h"

#define STACK_BYTES     (1u << 20) /* the deepest call is the JSON parser; the rest is on the heap */
#define PLAN_POOL_BYTES 4096
/* Messages taken at one wake-up: an honest client sends one every two seconds. */
#define MAX_MESSAGES 64

/* ---- checks of what is asked ------------------------------------------------------------------ */

/* Payload that a connection can be made to move, both ways counted apart; 0 = no bound. */
static uint64_t asked_bps(const struct wp_plan *plan)
{
	if (strcmp(plan->kind, "rr"))
		return plan->rate_bps;
	return (uint64_t)((double)plan->rate_mhz / 1000 / plan->streams *
				  (double)wp_plan_buffer_bytes(plan) * 8 +
			  .999);
}

static int check_limits(const struct wp_server *server, const struct wp_plan *plan,
			struct wp_err *err)
{
	const struct wp_server_config *config = server->config;
	char limit[32];

	if (config->max_duration_ns &&
	    plan->omit_ns + plan->duration_ns > config->max_duration_ns) {
		wp_format_ns((double)config->max_duration_ns, limit, sizeof(limit));
		return wp_err_set(err, -EPERM,
				  "this server runs no test longer than %s, warm-up included "
				  "(--max-duration); give a shorter -t",
				  limit);
	}
	if (config->max_rate_bps && (!asked_bps(plan) || asked_bps(plan) > config->max_rate_bps)) {
		wp_format_bps((double)config->max_rate_bps, limit, sizeof(limit));
		if (!strcmp(plan->kind, "rr"))
			return wp_err_set(err, -EPERM,
					  "this server allows at most %s for a connection "
					  "(--max-rate); give --rate, or a lower one",
					  limit);
		return wp_err_set(err, -EPERM,
				  "this server allows at most %s for a stream (--max-rate); give "
				  "-b %llu or less",
				  limit, (unsigned long long)config->max_rate_bps);
	}
	return 0;
}

static int check_cpus(const struct wp_plan *plan, struct wp_err *err)
{
	_cleanup_cpulist_ struct wp_cpulist here = { 0 };
	char text[100];
	int r;

	if (!plan->peer_cpus.n)
		return 0;
	r = wp_cpulist_allowed(&here);
	if (r < 0)
		return wp_err_sys(err, r, "the server does not know its CPUs");
	for (size_t i = 0; i < plan->peer_cpus.n; i++)
		if (!wp_cpulist_has(&here, plan->peer_cpus.cpu[i])) {
			wp_cpulist_format(&here, text, sizeof(text));
			return wp_err_set(
				err, -EINVAL,
				"CPU %d can't be used on the server (--peer-cpu); it has %s",
				plan->peer_cpus.cpu[i], text);
		}
	return 0;
}

static int check_engine(const struct wp_plan *plan, struct wp_err *err)
{
	const struct wp_engine *engine = wp_engine_find(plan->kind);

	if (!engine || !(engine->caps & WP_ENGINE_SOCKETS))
		return wp_err_set(err, -EINVAL, "this server knows no test '%s'", plan->kind);
	return engine->probe ? engine->probe(err) : 0;
}

/* Makes a client of a greeting session, when there is room. */
static int take_slot(struct wp_session *s, struct wp_err *err)
{
	struct wp_server *server = s->server;
	unsigned most = server->config->one_off ? 1 : server->max_clients, busy;
	bool served;

	pthread_mutex_lock(&server->lock);
	busy = server->n_clients;
	served = server->served && server->config->one_off;
	if (busy < most && !served) {
		server->n_clients++;
		server->n_greeting--;
		s->is_client = true;
	}
	pthread_mutex_unlock(&server->lock);
	if (served)
		return wp_err_set(err, -EBUSY, "the server has served its one test (--one-off)");
	if (busy < most)
		return 0;
	if (server->config->one_off)
		return wp_err_set(err, -EBUSY,
				  "the server is busy with its one test (--one-off); try again "
				  "later");
	return wp_err_set(err, -EBUSY,
			  "the server is busy with %u clients; try again or raise --max-clients",
			  busy);
}

void wp_session_release(struct wp_session *s)
{
	struct wp_server *server = s->server;

	wp_end_free(s->end);
	s->end = NULL;
	if (s->plan.connect_each)
		wp_session_close_data(s); /* the port may be the next client's */
	if (server->config->one_off)
		return; /* nobody comes after this one */
	pthread_mutex_lock(&server->lock);
	if (s->is_client) {
		server->n_clients--;
		server->n_greeting++;
		s->is_client = false;
	}
	pthread_mutex_unlock(&server->lock);
}

/* ---- handlers --------------------------------------------------------------------------------- */

static int send_message(struct wp_session *s, json_t *message, struct wp_err *err)
{
	int r = message ? wp_channel_send(s->c, message, WP_PEER_STEP_NS, err)
			: wp_err_sys(err, -ENOMEM, "cannot make a message");

	json_decref(message);
	return r;
}

static int on_hello(void *arg, const json_t *message, struct wp_err *err)
{
	struct wp_session *s = arg;
	struct wp_hello hello;

	wp_hello_from(message, &hello);
	if (hello.protocol != WP_PROTOCOL_VERSION)
		return wp_err_set(err, -EPROTO,
				  "the client speaks protocol version %d, the server (whyperf %s) "
				  "version %d; install the same version on both ends",
				  hello.protocol, s->server->hello.version, WP_PROTOCOL_VERSION);
	s->talk = WP_TALK_TEST;
	return send_message(s, wp_message_hello(&s->server->hello), err);
}

static int on_test(void *arg, const json_t *message, struct wp_err *err)
{
	struct wp_session *s = arg;
	int r = wp_test_from(message, &s->plan, &s->pool, err);

	if (r < 0)
		return r;
	s->has_plan = true;
	r = check_engine(&s->plan, err);
	if (!r)
		r = check_limits(s->server, &s->plan, err);
	if (!r)
		r = check_cpus(&s->plan, err);
	if (!r)
		r = wp_session_check_data(s, err);
	if (!r)
		r = take_slot(s, err);
	if (!r)
		r = wp_session_open_data(s, err);
	if (r < 0)
		return r;
	wp_server_tell(s->server, WP_SERVER_CLIENT, "%s: %s test, %s, %u stream%s", s->name,
		       s->plan.kind, wp_direction_name(s->plan.direction), s->plan.streams,
		       s->plan.streams == 1 ? "" : "s");
	s->talk = WP_TALK_CONNECT;
	return send_message(s, wp_message_accept(s->token, s->data_port), err);
}

static int on_start(void *arg, const json_t *message, struct wp_err *err)
{
	struct wp_session *s = arg;
	int r;

	(void)message;
	wp_session_drain_data(s);
	r = wp_end_go(s->end);
	if (r < 0)
		return wp_err_sys(err, r, "the server can't start its end");
	s->talk = WP_TALK_RUN;
	return send_message(s, wp_message_new(WP_MSG_STARTED), err);
}

static int on_pong(void *arg, const json_t *message, struct wp_err *err)
{
	(void)arg; /* that it came is what counts; wp_session_take() has noted when */
	(void)message;
	(void)err;
	return 0;
}

static int on_stop(void *arg, const json_t *message, struct wp_err *err)
{
	struct wp_session *s = arg;

	(void)message;
	(void)err;
	/* Requests under way are answered: the client's finish ends who answers. */
	if (strcmp(s->plan.kind, "rr"))
		wp_end_stop(s->end);
	return 0;
}

static int on_finish(void *arg, const json_t *message, struct wp_err *err)
{
	struct wp_session *s = arg;

	(void)message;
	(void)err;
	s->finish = true;
	s->talk = WP_TALK_FINISH;
	/* Nobody listens to senders or asks any more, and what a receiver of datagrams has not got by now
	 * is on its way. */
	wp_end_stop(s->end);
	return 0;
}

static int on_error(void *arg, const json_t *message, struct wp_err *err)
{
	char says[300];

	(void)arg;
	wp_error_from(message, says, sizeof(says));
	return wp_err_set(err, -ECONNABORTED, "the client gave up: %s", says);
}

static wp_message_handler *const handlers[WP_MSG_N] = {
	[WP_MSG_HELLO] = on_hello, [WP_MSG_TEST] = on_test, [WP_MSG_START] = on_start,
	[WP_MSG_PONG] = on_pong,   [WP_MSG_STOP] = on_stop, [WP_MSG_FINISH] = on_finish,
	[WP_MSG_ERROR] = on_error,
};

static int take_one(struct wp_session *s, int64_t timeout_ns, struct wp_err *err)
{
	json_t *message = NULL;
	int r = wp_channel_recv(s->c, &message, timeout_ns, err);

	if (r < 0)
		return r;
	s->heard_ns = wp_now_ns();
	r = wp_message_dispatch(message, WP_CLIENT, s->talk, handlers, s, err);
	json_decref(message);
	return r;
}

int wp_session_take(struct wp_session *s, struct wp_err *err)
{
	for (int i = 0; i < MAX_MESSAGES; i++) {
		int r = take_one(s, 0, err);

		if (r < 0)
			return r == -EAGAIN ? 0 : r;
	}
	return wp_err_set(err, -EPROTO, "the client sends too many messages");
}

void wp_session_say(struct wp_session *s, const char *says)
{
	json_t *message = wp_message_error(says);

	if (message)
		(void)!wp_channel_send(s->c, message, WP_PEER_FAREWELL_NS, NULL);
	json_decref(message);
}

/* How long one step may take: never longer than the idle timeout. */
static int64_t step_ns(const struct wp_session *s, int64_t most_ns)
{
	return s->server->idle_timeout_ns < most_ns ? s->server->idle_timeout_ns : most_ns;
}

/* ---- the steps before a run ------------------------------------------------------------------- */

static int greet(struct wp_session *s, struct wp_err *err)
{
	int64_t until_ns = wp_now_ns() + WP_PEER_HELLO_NS, left_ns;
	struct wp_server *server = s->server;
	int r;

	if (server->keyed && s->first != WP_FIRST_TLS)
		return wp_err_set(err, -EACCES,
				  "this server takes only clients that know its key; give --key "
				  "with the same file");
	if (!server->keyed && s->first == WP_FIRST_TLS)
		return wp_err_set(err, -EACCES,
				  "this server has no key; drop --key or start the server with it");
	if (server->keyed) {
		r = wp_channel_secure(s->c, &server->key, true, WP_PEER_HELLO_NS, err);
		if (r < 0)
			return r;
	}
	left_ns = until_ns - wp_now_ns();
	return take_one(s, left_ns > 1 ? left_ns : 1, err);
}

/* Waits for all data connections; the client may give up meanwhile. */
static int collect(struct wp_session *s, struct wp_err *err)
{
	int64_t most_ns = step_ns(s, WP_PEER_CONNECT_NS), until_ns = wp_now_ns() + most_ns;
	size_t there = 0, now_there;

	while ((now_there = wp_session_count_data(s)) < s->n_streams) {
		struct pollfd fds[3] = { { .fd = wp_channel_fd(s->c), .events = POLLIN },
					 { .fd = s->arrived_fd, .events = POLLIN },
					 { .fd = s->server->wake_fd, .events = POLLIN } };
		int64_t left_ns = until_ns - wp_now_ns();
		struct timespec left = wp_ns_to_timespec(left_ns > 0 ? left_ns : 0);
		uint64_t count;
		int r;

		if (now_there > there)
			until_ns = wp_now_ns() + most_ns;
		else if (left_ns <= 0)
			return wp_err_set(err, -ETIMEDOUT,
					  "only %zu of %zu data connections came; is the way to "
					  "this port open for all of them%s?",
					  now_there, s->n_streams,
					  s->plan.transport == WP_UDP ? ", and for UDP" : "");
		there = now_there;
		r = ppoll(fds, 3, &left, NULL);
		if (r < 0 && errno != EINTR)
			return wp_err_sys(err, -errno, "cannot wait for data connections");
		if (r <= 0)
			continue;
		if (fds[2].revents)
			return -ECANCELED;
		if (fds[1].revents && read(s->arrived_fd, &count, sizeof(count)) < 0)
			return wp_err_sys(err, -errno, "cannot wait for data connections");
		r = fds[0].revents ? wp_session_take(s, err) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

static int prepare(struct wp_session *s, struct wp_err *err)
{
	struct wp_end_spec spec = { .plan = &s->plan,
				    .engine = wp_engine_find(s->plan.kind),
				    .cpus = &s->plan.peer_cpus,
				    .streams = s->streams,
				    .n_streams = s->n_streams,
				    .record_cpus = true };
	int r = 0;

	for (size_t i = 0; i < s->n_streams && !r; i++)
		r = wp_sock_apply(s->streams[i].fd, &s->plan, NULL, err);
	if (!r)
		r = wp_end_new(&spec, &s->end, err);
	if (r < 0) {
		wp_err_prefix(err, "the server");
		return r;
	}
	s->talk = WP_TALK_READY;
	return send_message(s, wp_message_new(WP_MSG_READY), err);
}

static int serve(struct wp_session *s, struct wp_err *err)
{
	int r = greet(s, err);

	while (!r && s->talk == WP_TALK_TEST)
		r = take_one(s, step_ns(s, WP_PEER_STEP_NS), err);
	if (!r)
		r = collect(s, err);
	if (!r)
		r = prepare(s, err);
	while (!r && s->talk == WP_TALK_READY)
		r = take_one(s, step_ns(s, WP_PEER_STEP_NS), err);
	return r ? r : wp_session_run(s, err);
}

/* ---- the thread ------------------------------------------------------------------------------- */

/* The last words, when the client can still hear them. */
static void farewell(struct wp_session *s, int r, const char *says)
{
	wp_channel_wake_on(s->c, -1);
	if (r == -ECANCELED) {
		says = "the server is shutting down";
		if (!s->told)
			wp_channel_until(s->c, wp_now_ns() + WP_PEER_FAREWELL_NS);
	}
	if (r < 0 && !s->told && r != -EPIPE && r != -ECONNRESET && r != -ECONNABORTED)
		wp_session_say(s, says);
	if (r != -EPIPE && r != -ECONNRESET)
		wp_channel_linger(s->c, WP_PEER_LINGER_NS);
}

static void tell_end(struct wp_session *s, int r, const char *says)
{
	bool before_test = s->talk == WP_TALK_HELLO || s->talk == WP_TALK_TEST;

	if (r >= 0 || (r == -EPIPE && s->talk == WP_TALK_TEST))
		return; /* served; or a look at our hello, which is no failure */
	wp_server_tell(s->server, before_test ? WP_SERVER_REFUSED : WP_SERVER_FAILED, "%s: %s",
		       s->name, r == -ECANCELED ? "the server is shutting down" : says);
}

static void session_free(struct wp_session *s)
{
	wp_end_free(s->end);
	wp_session_done_data(s);
	wp_channel_free(s->c);
	if (s->has_plan)
		wp_cpulist_done(&s->plan.peer_cpus);
	wp_pool_done(&s->pool);
	wp_close_p(&s->arrived_fd);
	free(s);
}

static void *session_main(void *arg)
{
	struct wp_session *s = arg;
	struct wp_server *server = s->server;
	struct wp_err err = { 0 };
	int r = serve(s, &err);

	wp_session_shut_data(s);
	wp_session_release(s); /* a vanished client's streams end now */
	tell_end(s, r, err.msg);
	farewell(s, r, err.msg);

	pthread_mutex_lock(&server->lock);
	if (s->is_client) {
		server->n_clients--;
		server->served = true;
	} else {
		server->n_greeting--;
	}
	s->over = true;
	pthread_mutex_unlock(&server->lock);
	(void)!write(server->over_fd, &(uint64_t) { 1 }, sizeof(uint64_t));
	return NULL;
}

static int start_thread(struct wp_session *s)
{
	pthread_attr_t attr;
	int r = pthread_attr_init(&attr);

	if (r)
		return -r;
	r = pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (!r)
		r = pthread_create(&s->thread, &attr, session_main, s);
	pthread_attr_destroy(&attr);
	return -r;
}

int wp_session_start(struct wp_server *server, int fd, const struct wp_addr *from,
		     enum wp_first_byte first, struct wp_err *err)
{
	struct wp_session *s = calloc(1, sizeof(*s));
	int r;

	if (!s) {
		close(fd);
		return wp_err_sys(err, -ENOMEM, "no memory for another client");
	}
	s->server = server;
	s->from = *from;
	wp_addr_unmap(&s->from);
	s->first = first;
	s->pool = WP_POOL(PLAN_POOL_BYTES);
	s->talk = WP_TALK_HELLO;
	wp_addr_format(from, s->name);
	s->arrived_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = s->arrived_fd < 0 ? -errno : wp_addr_local(fd, &s->local);
	wp_addr_unmap(&s->local);
	if (r < 0)
		wp_err_sys(err, r, "no room for another client");
	else
		r = wp_channel_new(fd, WP_PEER_REQUEST_BYTES, WP_PEER_REQUEST_VALUES, &s->c, err);
	if (r < 0) {
		close(fd);
		session_free(s);
		return r;
	}
	wp_channel_wake_on(s->c, server->wake_fd);

	pthread_mutex_lock(&server->lock);
	if (server->n_greeting >= WP_PEER_MAX_GREETING)
		r = wp_err_set(err, -EBUSY,
			       "the server is busy with %u clients that say nothing; try again",
			       server->n_greeting);
	else
		r = start_thread(s);
	if (!r) {
		server->n_greeting++;
		s->next = server->sessions;
		server->sessions = s;
	}
	pthread_mutex_unlock(&server->lock);
	if (!r)
		return 0;
	wp_err_sys(err, r, "no thread for another client");
	wp_session_say(s, err ? err->msg : "the server is busy");
	wp_channel_linger(s->c, WP_NS_PER_MS); /* takes the hello, so that closing is no reset */
	session_free(s);
	return r;
}

void wp_session_reap(struct wp_server *server, bool all)
{
	for (;;) {
		struct wp_session **link, *s = NULL;

		pthread_mutex_lock(&server->lock);
		for (link = &server->sessions; *link; link = &(*link)->next)
			if (all || (*link)->over) {
				s = *link;
				*link = s->next;
				break;
			}
		pthread_mutex_unlock(&server->lock);
		if (!s)
			return;
		pthread_join(s->thread, NULL);
		session_free(s);
	}
}
