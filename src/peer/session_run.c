/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * session_run.c - a session while its test runs, and the result. Part of session.h.
 *
 * A run ends when this end's part is over and the client has said finish; or early: the client
 * vanished (no answer and no data for the idle timeout), the server shuts down, or a limit was
 * reached. In the last two cases the client gets error{says} and what was measured.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/units.h"
#include "load/engine.h"
#include "model/json.h"
#include "peer/limits.h"
#include "peer/progress.h"
#include "peer/session.h"

#define TICK_NS           (500 * WP_NS_PER_MS)
#define SHUTDOWN_DRAIN_NS (200 * WP_NS_PER_MS)

/* Something that grows while the test goes on. */
struct growth {
	uint64_t amount;
	int64_t since_ns; /* when it last grew, as far as was looked */
};

/* What the loop watches. */
struct watch {
	int64_t start_ns, pinged_ns, finish_ns;
	struct growth heard, moved; /* of the client; in either direction */
	int64_t ping_ns;            /* between two pings: several in an idle timeout */
	int64_t end_ns;             /* the run may not go on beyond this */
	bool end_is_limit;          /* ... because of --max-duration */
	bool told_done;
};

static uint64_t heard_amount(const struct wp_session *s)
{
	return wp_peer_heard(&s->plan, s->end, s->streams, s->n_streams);
}

static uint64_t moved_amount(const struct wp_session *s)
{
	return wp_peer_moved(&s->plan, s->end, s->streams, s->n_streams);
}

static void watch_init(struct watch *w, const struct wp_session *s)
{
	const struct wp_plan *plan = &s->plan;
	int64_t limit_ns = s->server->config->max_duration_ns;

	*w = (struct watch) { .start_ns = wp_now_ns(), .end_ns = INT64_MAX };
	w->pinged_ns = w->start_ns;
	w->heard = (struct growth) { heard_amount(s), w->start_ns };
	w->moved = (struct growth) { moved_amount(s), w->start_ns };
	w->ping_ns = s->server->idle_timeout_ns / 4;
	if (w->ping_ns > WP_PEER_PING_NS)
		w->ping_ns = WP_PEER_PING_NS;
	if (plan->duration_ns) {
		w->end_ns = w->start_ns + plan->omit_ns + plan->duration_ns + WP_PEER_OVERTIME_NS;
	} else if (limit_ns) {
		w->end_ns = w->start_ns + limit_ns;
		w->end_is_limit = true;
	}
}

static bool grew(struct growth *g, uint64_t amount, int64_t now_ns)
{
	if (amount == g->amount)
		return false;
	*g = (struct growth) { amount, now_ns };
	return true;
}

/* Asking costs a system call for each connection: only when the last answer is too old. */
static bool heard_within(struct watch *w, const struct wp_session *s, int64_t now_ns,
			 int64_t time_ns)
{
	return now_ns - w->heard.since_ns <= time_ns || grew(&w->heard, heard_amount(s), now_ns);
}

static bool moved_within(struct watch *w, const struct wp_session *s, int64_t now_ns,
			 int64_t time_ns)
{
	return now_ns - w->moved.since_ns <= time_ns || grew(&w->moved, moved_amount(s), now_ns);
}

static int too_long(const struct watch *w, const struct wp_session *s, struct wp_err *err)
{
	char limit[32];

	if (!w->end_is_limit)
		return wp_err_set(err, -ETIME,
				  "the test did not end within a minute of its planned end");
	wp_format_ns((double)s->server->config->max_duration_ns, limit, sizeof(limit));
	return wp_err_set(err, -ETIME, "the server ends every test after %s (--max-duration)",
			  limit);
}

/* Every tick: 0 or why the run has to end. */
static int check(struct watch *w, struct wp_session *s, struct wp_err *err)
{
	int64_t now_ns = wp_now_ns(), idle_ns = s->server->idle_timeout_ns;
	bool silent = now_ns - s->heard_ns > idle_ns;

	if (now_ns >= w->end_ns)
		return too_long(w, s, err);
	/* After its finish the client only waits, and drained() sees to the end. */
	if (silent && !s->finish && !heard_within(w, s, now_ns, idle_ns))
		return wp_err_set(err, -ETIMEDOUT,
				  "the client vanished: no answer and no data for %.3g s",
				  (double)idle_ns / 1e9);
	if (!s->plan.duration_ns && !moved_within(w, s, now_ns, WP_PEER_STALL_NS))
		return wp_err_set(err, -ETIMEDOUT, "no data moved for %d s",
				  (int)(WP_PEER_STALL_NS / WP_NS_PER_S));
	if (now_ns - w->pinged_ns >= w->ping_ns) {
		json_t *ping = wp_message_new(WP_MSG_PING);
		int r = ping ? wp_channel_send(s->c, ping, idle_ns, err) : -ENOMEM;

		json_decref(ping);
		w->pinged_ns = now_ns;
		return r;
	}
	return 0;
}

/* After the client's finish: true when what is on its way has come or comes no more. */
static bool drained(struct watch *w, const struct wp_session *s)
{
	int64_t now_ns = wp_now_ns();

	if (!s->finish)
		return false;
	if (!w->finish_ns) {
		w->finish_ns = now_ns;
		w->heard = (struct growth) { heard_amount(s), now_ns };
	}
	if (now_ns - w->finish_ns > WP_PEER_OVERTIME_NS)
		return true;
	return !heard_within(w, s, now_ns, WP_PEER_DRAIN_NS);
}

static int on_tick(struct watch *w, struct wp_session *s, int timer, struct wp_err *err)
{
	uint64_t count;

	if (read(timer, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return wp_err_sys(err, -errno, "the server's timer failed");
	return check(w, s, err);
}

/* Waits for the client's finish when this end's part is over. Same bits as wp_end_wait(). */
static int wait_fds(const int *fds, size_t n)
{
	struct pollfd p[4];
	int mask = 0;

	for (size_t i = 0; i < n; i++)
		p[i] = (struct pollfd) { .fd = fds[i], .events = POLLIN };
	if (poll(p, (nfds_t)n, -1) < 0)
		return -errno;
	for (size_t i = 0; i < n; i++)
		mask |= p[i].revents ? 1 << i : 0;
	return mask;
}

/* The server's senders are done. Of TCP the end of the streams says so too, but for a reverse test, where the client may
 * have nothing else to wait for; a datagram's end marker may be lost. */
static int tell_done(struct watch *w, struct wp_session *s, bool part_over, struct wp_err *err)
{
	bool udp = !strcmp(s->plan.kind, "udp");
	json_t *done;
	int r;

	if (w->told_done || s->finish || s->plan.direction == WP_FORWARD ||
	    (s->plan.direction == WP_BOTH && !udp) ||
	    !(part_over || (udp && wp_end_senders_done(s->end))))
		return 0;
	w->told_done = true;
	done = wp_message_new(WP_MSG_DONE);
	r = done ? wp_channel_send(s->c, done, WP_PEER_STEP_NS, err) : -ENOMEM;
	json_decref(done);
	return r;
}

/* 0 when both ends are complete, else why the run ends. */
static int watch_run(struct watch *w, struct wp_session *s, int timer, struct wp_err *err)
{
	const int fds[] = { wp_channel_fd(s->c), s->server->wake_fd, timer };
	bool part_over = false;

	/* The channel may hold messages that came with start. */
	int r = wp_session_take(s, err);

	while (r >= 0 && !(part_over && s->finish) && !drained(w, s)) {
		int ready = part_over ? wait_fds(fds, 3) : wp_end_wait(s->end, fds, 3);

		if (ready == -EINTR)
			continue;
		if (ready < 0)
			return wp_err_sys(err, ready, "the server can't follow the test");
		if (!ready) {
			part_over = true;
			r = tell_done(w, s, true, err);
			continue;
		}
		if (ready & 2)
			return wp_err_set(err, -ECANCELED, "the server is shutting down");
		if (ready & 1)
			r = wp_session_take(s, err);
		if (r >= 0 && (ready & 4))
			r = on_tick(w, s, timer, err);
		if (r >= 0)
			r = tell_done(w, s, part_over, err);
	}
	return r < 0 ? r : 0;
}

/* ---- the result ------------------------------------------------------------------------------- */

static void result_line(struct wp_session *s, const struct wp_flow *flows, double wall_s)
{
	double sent = 0, received = 0;
	char out[32], in[32], rate[32];

	if (!strcmp(s->plan.kind, "rr")) {
		double n = wp_num_or(flows[0].received.transactions, 0);

		wp_server_tell(s->server, WP_SERVER_RESULT,
			       "%s: answered %.0f requests in %.2f s, %.0f/s", s->name, n, wall_s,
			       wall_s > 0 ? n / wall_s : 0);
		return;
	}
	for (size_t i = 0; i < wp_plan_flows(&s->plan); i++) {
		sent += wp_num_or(flows[i].sent.bytes, 0);
		received += wp_num_or(flows[i].received.bytes, 0);
	}
	wp_format_bytes(sent, out, sizeof(out));
	wp_format_bytes(received, in, sizeof(in));
	wp_format_bps(wall_s > 0 ? (sent + received) * 8 / wall_s : 0, rate, sizeof(rate));
	if (s->plan.direction == WP_BOTH)
		wp_server_tell(s->server, WP_SERVER_RESULT,
			       "%s: sent %s and received %s in %.2f s, %s together", s->name, out,
			       in, wall_s, rate);
	else
		wp_server_tell(s->server, WP_SERVER_RESULT, "%s: %s %s in %.2f s, %s", s->name,
			       s->plan.direction == WP_REVERSE ? "sent" : "received",
			       s->plan.direction == WP_REVERSE ? out : in, wall_s, rate);
}

static bool append_flows(json_t *list, struct wp_session *s, const struct wp_flow *flows)
{
	for (size_t i = 0; i < wp_plan_flows(&s->plan); i++)
		if (json_array_append_new(list, wp_flow_to_json(&flows[i])) < 0)
			return false;
	return true;
}

/* None when the test was over before it began. */
static bool put_method(json_t *message, const char *key, const char *method)
{
	return !method || json_object_set_new(message, key, json_string(method)) == 0;
}

static json_t *result_message(struct wp_session *s, const struct wp_host *host,
			      const struct wp_flow *flows)
{
	json_t *message = wp_message_new(WP_MSG_RESULT), *list = json_array();
	bool ok = message && json_object_set_new(message, "flows", list) == 0 &&
		  append_flows(list, s, flows) &&
		  json_object_set_new(message, "host", wp_host_to_json(host)) == 0 &&
		  json_object_set_new(message, "warnings", json_array()) == 0;

	if (ok && s->plan.direction != WP_FORWARD)
		ok = put_method(message, "send_method", wp_end_method(s->end, WP_STREAM_SENDS));
	if (ok && s->plan.direction != WP_REVERSE)
		ok = put_method(message, "receive_method",
				wp_end_method(s->end, WP_STREAM_RECEIVES));
	if (ok)
		return message;
	json_decref(message);
	return NULL;
}

/* Totals always fit. */
static void leave_out_rows(json_t *message)
{
	json_t *list = json_object_get(message, "flows");

	for (size_t i = 0; i < json_array_size(list); i++)
		json_object_del(json_array_get(list, i), "intervals");
	json_object_del(json_object_get(message, "host"), "cpu_samples");
	json_array_append_new(json_object_get(message, "warnings"),
			      json_string("the server's interval rows were too many to send; give "
					  "a longer interval (-i)"));
}

static int send_result(struct wp_session *s, int64_t timeout_ns, struct wp_err *err)
{
	struct wp_pool pool = WP_POOL(WP_RUN_POOL_BYTES);
	struct wp_flow *flows = wp_pool_calloc(&pool, wp_plan_flows(&s->plan), sizeof(*flows));
	struct wp_host host = { .role = "server", .name = s->server->inventory.hostname };
	json_t *message = NULL;
	int r;

	host.inventory = s->server->inventory; /* borrowed strings */
	r = flows ? wp_end_result(s->end, &host, flows, &pool) : -ENOMEM;

	if (!r && !(message = result_message(s, &host, flows)))
		r = -ENOMEM;
	if (r < 0) {
		wp_err_sys(err, r, "the server can't make its result");
	} else {
		struct wp_err why = { 0 };

		result_line(s, flows, wp_num_or(host.wall_s, 0));
		wp_session_release(s);
		r = wp_channel_send(s->c, message, timeout_ns, &why);
		if (r == -E2BIG) {
			leave_out_rows(message);
			why = (struct wp_err) { 0 };
			r = wp_channel_send(s->c, message, timeout_ns, &why);
		}
		if (r < 0)
			wp_err_set(err, r, "%s", why.msg);
	}
	json_decref(message);
	wp_pool_done(&pool);
	return r;
}

/* The server ends it: the client gets why and what was measured. */
static int cut_short(struct wp_session *s, const char *says)
{
	wp_channel_wake_on(s->c, -1);
	wp_channel_until(s->c, wp_now_ns() + WP_PEER_FAREWELL_NS);
	wp_session_say(s, says);
	wp_end_stop(s->end);
	(void)!wp_end_finish(s->end, SHUTDOWN_DRAIN_NS);
	s->told = true;
	return send_result(s, WP_PEER_FAREWELL_NS, NULL);
}

int wp_session_run(struct wp_session *s, struct wp_err *err)
{
	int64_t tick_ns = s->server->idle_timeout_ns / 4;
	struct itimerspec every = { 0 };
	_cleanup_close_ int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	struct watch w;
	int r;

	if (tick_ns > TICK_NS)
		tick_ns = TICK_NS;
	every.it_interval = every.it_value = wp_ns_to_timespec(tick_ns);
	if (timer < 0 || timerfd_settime(timer, 0, &every, NULL) < 0)
		return wp_err_sys(err, -errno, "the server has no timer");
	watch_init(&w, s);
	r = watch_run(&w, s, timer, err);
	if (r == -ECANCELED || r == -ETIME) {
		(void)!cut_short(s, err->msg);
		return r;
	}
	if (r < 0) {
		wp_end_stop(s->end);
		(void)!wp_end_finish(s->end, 0);
		return r;
	}
	/* All has come, or nothing comes any more. */
	(void)!wp_end_finish(s->end, SHUTDOWN_DRAIN_NS);
	s->talk = WP_TALK_OVER;
	return send_result(s, WP_PEER_STEP_NS, err);
}
