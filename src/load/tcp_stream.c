/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The TCP bulk engine: one stream per thread waits with ppoll(2), several with epoll(7), level
 * triggered, a bounded share a turn.
 */
#include "load/tcp_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "load/engines.h"

#define EVENTS_MAX       64
#define POLL_NS          (50 * WP_NS_PER_US)
#define POLL_PENALTY_MAX 1023
#define ROUND_BYTES      (16 << 20) /* all streams of a thread together, a turn each */
#define SHARE_BYTES_MIN  (64 << 10) /* of a stream in it: below, calls cost more than bytes */
#define TURN_BYTES_MAX   (128 << 10)
#define BLOCKING_US      5000

static int tcp_open(struct wp_stream *s, const struct wp_plan *plan, struct wp_err *err)
{
	if (fcntl(s->fd, F_GETFL) < 0)
		return wp_err_sys(err, -errno, "stream %u", s->index + 1);
	if (s->role == WP_STREAM_SENDS)
		tcp_zerocopy_open(s, plan);
	return 0;
}

static void tcp_close(struct wp_stream *s)
{
	tcp_zerocopy_close(s);
}

static enum tcp_turn take_turn(struct tcp_worker *t, struct wp_stream *s)
{
	return s->role == WP_STREAM_SENDS ? tcp_send_turn(t, s) : tcp_receive_turn(t, s);
}

/* ---- polling before sleeping ---- */

static bool may_poll(struct tcp_worker *t)
{
	if (!t->polls)
		return false;
	if (t->poll_skip == 0)
		return true;
	t->poll_skip--;
	return false;
}

/* Where it does not help (both ends on one CPU, slow traffic) it must not cost. */
static void note_poll(struct tcp_worker *t, bool found)
{
	t->poll_penalty = found ? 0 : 2 * t->poll_penalty + 1;
	if (t->poll_penalty > POLL_PENALTY_MAX)
		t->poll_penalty = POLL_PENALTY_MAX;
	t->poll_skip = t->poll_penalty;
}

/* ---- one stream ---- */

bool tcp_make_blocking(int fd, int option)
{
	const struct timeval limit = { .tv_usec = BLOCKING_US };
	int flags = fcntl(fd, F_GETFL);

	return setsockopt(fd, SOL_SOCKET, option, &limit, sizeof(limit)) == 0 && flags >= 0 &&
	       fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

/* As ppoll() without a timeout. */
static int poll_patiently(struct tcp_worker *t, struct pollfd *p, nfds_t n)
{
	int64_t until;
	int r;

	if (!may_poll(t))
		return ppoll(p, n, NULL, NULL);
	until = wp_now_ns() + POLL_NS;
	do
		r = poll(p, n, 0);
	while (r == 0 && wp_now_ns() < until);
	note_poll(t, r > 0);
	return r != 0 ? r : ppoll(p, n, NULL, NULL);
}

/* Waits for the stream's socket, its pace, or a wake-up. */
static void wait_single(struct tcp_worker *t, struct wp_stream *s, bool paced)
{
	struct tcp_stream *x = tcp_ctx(s);
	/* A stop wakes senders; those who go on after it would spin on wake_fd. */
	bool stoppable = s->role == WP_STREAM_SENDS && !x->finishing;
	struct pollfd p[2] = {
		{ .fd = s->fd, .events = paced ? 0 : x->events },
		{ .fd = stoppable ? t->w->wake_fd : t->w->abort_fd, .events = POLLIN },
	};
	int r;

	if (paced) {
		int64_t left = x->due_ns - wp_now_ns();
		struct timespec ts = wp_ns_to_timespec(left);

		if (left <= 0)
			return;
		r = ppoll(p, 2, &ts, NULL);
	} else {
		r = poll_patiently(t, p, 2);
	}
	if (r > 0)
		x->hung_up = p[0].revents & POLLHUP;
}

static void run_single(struct tcp_worker *t, struct wp_stream *s)
{
	for (;;) {
		switch (take_turn(t, s)) {
		case TCP_ENDED:
			return;
		case TCP_MORE:
			break;
		case TCP_BLOCKED:
			wait_single(t, s, false);
			break;
		case TCP_PACED:
			wait_single(t, s, true);
			break;
		}
	}
}

/* ---- several streams ---- */

struct many {
	struct tcp_worker *t;
	int epoll_fd;
	size_t left;
	struct wp_stream **paced; /* those waiting for their due time */
	size_t n_paced;
	int64_t next_due_ns;
};

static int watch(struct many *m, struct wp_stream *s, int op, short events)
{
	struct epoll_event e = { .events = (uint32_t)events, .data.ptr = s };

	if (epoll_ctl(m->epoll_fd, op, s->fd, &e) < 0)
		return -errno;
	tcp_ctx(s)->registered = events;
	return 0;
}

/* Gives a stream its turn and arranges for the next. */
static void turn_of(struct many *m, struct wp_stream *s)
{
	struct tcp_stream *x = tcp_ctx(s);
	short events = s->role == WP_STREAM_SENDS ? POLLOUT : POLLIN;
	int r;

	switch (take_turn(m->t, s)) {
	case TCP_ENDED:
		epoll_ctl(m->epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
		m->left--;
		return;
	case TCP_MORE:
		break;
	case TCP_BLOCKED:
		events = x->events;
		break;
	case TCP_PACED:
		events = 0;
		if (!x->queued)
			m->paced[m->n_paced++] = s;
		x->queued = true;
		if (x->due_ns < m->next_due_ns)
			m->next_due_ns = x->due_ns;
		break;
	}
	if (events == x->registered)
		return;
	r = watch(m, s, EPOLL_CTL_MOD, events);
	if (r < 0) {
		tcp_end(s, r);
		m->left--;
	}
}

/* Turns of the paced streams whose time has come. */
static void paced_turns(struct many *m)
{
	int64_t now = wp_now_ns();
	size_t n = m->n_paced;

	if (now < m->next_due_ns)
		return;
	/* turn_of() puts streams that wait again back at the end, never beyond where we read. */
	m->n_paced = 0;
	m->next_due_ns = INT64_MAX;
	for (size_t i = 0; i < n; i++) {
		struct wp_stream *s = m->paced[i];
		struct tcp_stream *x = tcp_ctx(s);

		x->queued = false;
		if (wp_stream_ended(s))
			continue;
		if (x->due_ns <= now) {
			turn_of(m, s);
			continue;
		}
		m->paced[m->n_paced++] = s;
		x->queued = true;
		if (x->due_ns < m->next_due_ns)
			m->next_due_ns = x->due_ns;
	}
}

/* After a stop every sender has a turn, in which it ends. */
static void stop_senders(struct many *m)
{
	for (size_t i = 0; i < m->t->w->n_streams; i++) {
		struct wp_stream *s = m->t->w->streams[i];

		if (s->role == WP_STREAM_SENDS && !wp_stream_ended(s))
			turn_of(m, s);
	}
}

/* As epoll_wait() without a timeout. */
static int epoll_patiently(struct many *m, struct epoll_event *events)
{
	int64_t until;
	int n;

	if (!may_poll(m->t))
		return epoll_wait(m->epoll_fd, events, EVENTS_MAX, -1);
	until = wp_now_ns() + POLL_NS;
	do
		n = epoll_wait(m->epoll_fd, events, EVENTS_MAX, 0);
	while (n == 0 && wp_now_ns() < until);
	note_poll(m->t, n > 0);
	return n != 0 ? n : epoll_wait(m->epoll_fd, events, EVENTS_MAX, -1);
}

/* Waits for events; with paced streams at most until the next is due. */
static int wait_many(struct many *m, struct epoll_event *events)
{
	struct pollfd p = { .fd = m->epoll_fd, .events = POLLIN };
	struct timespec ts;
	int64_t left;
	int n;

	if (m->n_paced == 0)
		return epoll_patiently(m, events);
	/* ppoll() has a finer clock than epoll_wait(). */
	left = m->next_due_ns - wp_now_ns();
	ts = wp_ns_to_timespec(left > 0 ? left : 0);
	n = ppoll(&p, 1, &ts, NULL);
	return n > 0 ? epoll_wait(m->epoll_fd, events, EVENTS_MAX, 0) : 0;
}

static void loop_many(struct many *m)
{
	struct wp_worker *w = m->t->w;
	struct epoll_event events[EVENTS_MAX];
	bool stopped = false;

	while (m->left > 0 && !wp_worker_aborting(w)) {
		int n = wait_many(m, events);

		for (int i = 0; i < n; i++) {
			struct wp_stream *s = events[i].data.ptr;

			if (!s || wp_stream_ended(s)) /* NULL: the wake-up */
				continue;
			tcp_ctx(s)->hung_up = events[i].events & EPOLLHUP;
			turn_of(m, s);
		}
		if (!stopped && wp_worker_stopping(w)) {
			stopped = true;
			stop_senders(m);
		}
		if (m->n_paced > 0)
			paced_turns(m);
	}
}

static int run_many(struct tcp_worker *t)
{
	struct wp_worker *w = t->w;
	_cleanup_close_ int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	_cleanup_free_ struct wp_stream **paced = calloc(w->n_streams, sizeof(*paced));
	struct many m = { .t = t,
			  .epoll_fd = epoll_fd,
			  .left = w->n_streams,
			  .paced = paced,
			  .next_due_ns = INT64_MAX };
	/* Edge triggered: readable for good after a stop, but news only once. */
	struct epoll_event wake = { .events = EPOLLIN | EPOLLET };
	int r;

	if (epoll_fd < 0 || !paced)
		return epoll_fd < 0 ? -errno : -ENOMEM;
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, w->wake_fd, &wake) < 0)
		return -errno;
	for (size_t i = 0; i < w->n_streams; i++) {
		struct wp_stream *s = w->streams[i];

		r = watch(&m, s, EPOLL_CTL_ADD, s->role == WP_STREAM_SENDS ? POLLOUT : POLLIN);
		if (r < 0)
			return r;
	}
	loop_many(&m);
	return 0;
}

/*
 * Streams are served alike when a turn moves alike much. What fits into a socket and what is found in one differ tenfold
 * with the windows that the kernel has tuned so far, and whoever moves more has its window tuned up. So calls are shorter
 * where many streams share a thread, and their send queues too, which else hold gigabytes that no cache does.
 */
static void share_out(struct tcp_worker *t)
{
	size_t share = ROUND_BYTES / t->w->n_streams;
	size_t length = t->plan->length_bytes;

	if (share < SHARE_BYTES_MIN)
		share = SHARE_BYTES_MIN;
	t->call_bytes = length < share ? length : share;
	t->turn_bytes = share < TURN_BYTES_MAX ? share : TURN_BYTES_MAX;
}

static int tcp_run(struct wp_worker *w)
{
	struct tcp_worker t = { .w = w, .plan = w->plan, .alone = w->n_streams == 1 };

	share_out(&t);
	for (size_t i = 0; i < w->n_streams; i++) {
		struct tcp_stream *x = tcp_ctx(w->streams[i]);

		if (w->streams[i]->role != WP_STREAM_SENDS)
			continue;
		wp_worker_method(w, WP_STREAM_SENDS, x->zc.on ? "zerocopy" : "write");
		if (t.call_bytes < t.plan->length_bytes)
			tcp_send_keep_short(w->streams[i], t.call_bytes);
		if (w->plan->rate_bps > 0)
			wp_pacer_init(&x->pacer, w->plan->rate_bps, t.call_bytes, wp_now_ns());
	}
	/* The default slack of 50 us would be a tenth of a paced grain. */
	if (w->plan->rate_bps > 0)
		prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	tcp_send_init(&t);
	tcp_receive_init(&t);
	if (!t.alone)
		return run_many(&t);
	run_single(&t, w->streams[0]);
	return 0;
}

const struct wp_engine wp_engine_tcp = {
	.abi = WP_ENGINE_ABI,
	.name = "tcp",
	.summary = "bulk data over TCP connections",
	.caps = WP_ENGINE_SEND | WP_ENGINE_RECEIVE | WP_ENGINE_PACED | WP_ENGINE_CONTENT |
		WP_ENGINE_ZEROCOPY | WP_ENGINE_DISCARD | WP_ENGINE_SOCKETS,
	.stream_size = sizeof(struct tcp_stream),
	.open = tcp_open,
	.run = tcp_run,
	.close = tcp_close,
};
