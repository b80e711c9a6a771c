/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The UDP datagram engine: one stream a thread waits with ppoll(2), several with epoll(7), level triggered, a bounded
 * share a turn; what is to be done at a time, like the next packet of a paced stream, is in a heap.
 */
#include "load/udp_stream.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "load/engines.h"

#define EVENTS_MAX     64
#define SLICE_NS       (WP_NS_PER_MS / 10) /* the shortest that Linux grants */
#define SHORT_SLEEP_NS (2 * WP_NS_PER_MS)  /* a stop may wait so long */

static void udp_close(struct wp_stream *s)
{
	if (s->role == WP_STREAM_RECEIVES)
		udp_receive_close(s);
}

static enum udp_turn take_turn(struct udp_worker *u, struct wp_stream *s)
{
	return s->role == WP_STREAM_SENDS ? udp_send_turn(u, s) : udp_receive_turn(u, s);
}

/* ---- waiting for a time ---- */

/* Whether `due_ns` is reached by a short sleep, or by spinning where the plan wants that. */
static bool sleep_briefly(const struct udp_worker *u, int64_t due_ns, int64_t now)
{
	const struct wp_worker *w = u->w;

	if (due_ns - now > SHORT_SLEEP_NS)
		return false;
	if (!u->spins || wp_worker_stopping(w)) {
		struct timespec ts = wp_ns_to_timespec(due_ns);

		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		return true;
	}
	while (wp_now_ns() < due_ns && !wp_worker_stopping(w) && !wp_worker_aborting(w))
		;
	return true;
}

/* ppoll() until `due_ns`; with `spin` it returns a moment before. */
static int poll_until(const struct udp_worker *u, struct pollfd *p, nfds_t n, int64_t due_ns)
{
	int64_t left = due_ns - wp_now_ns() - (u->spins ? WP_NS_PER_MS : 0);
	struct timespec ts = wp_ns_to_timespec(left > 0 ? left : 0);

	return ppoll(p, n, due_ns == UDP_NEVER ? NULL : &ts, NULL);
}

/* ---- one stream ---- */

static void wait_single(struct udp_worker *u, struct wp_stream *s)
{
	struct udp_stream *x = udp_ctx(s);
	/* A stop makes wake_fd readable for good: who has seen it waits for the abort only. */
	struct pollfd p[2] = {
		{ .fd = s->fd, .events = x->events },
		{ .fd = wp_worker_stopping(u->w) ? u->w->abort_fd : u->w->wake_fd,
		  .events = POLLIN },
	};

	if (x->events == 0 && sleep_briefly(u, x->due_ns, wp_now_ns()))
		return;
	if (x->events & POLLIN && udp_receive_nap(u, x->due_ns))
		return;
	if (poll_until(u, p, 2, x->due_ns) > 0)
		x->error = p[0].revents & POLLERR;
}

static void run_single(struct udp_worker *u, struct wp_stream *s)
{
	for (;;) {
		enum udp_turn turn = take_turn(u, s);

		if (turn == UDP_ENDED)
			return;
		if (turn == UDP_WAIT)
			wait_single(u, s);
	}
}

/* ---- several streams ---- */

struct many {
	struct udp_worker *u;
	int epoll_fd;
	size_t left;
	struct udp_timers timers;
};

static int watch(struct many *m, struct wp_stream *s, int op, short events)
{
	struct epoll_event e = { .events = (uint32_t)events, .data.ptr = s };

	if (epoll_ctl(m->epoll_fd, op, s->fd, &e) < 0)
		return -errno;
	udp_ctx(s)->registered = events;
	return 0;
}

static void forget(struct many *m, struct wp_stream *s)
{
	udp_timers_set(&m->timers, &udp_ctx(s)->timer, UDP_NEVER);
	epoll_ctl(m->epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
	m->left--;
}

/* Gives a stream its turn and arranges for the next. */
static void turn_of(struct many *m, struct wp_stream *s)
{
	struct udp_stream *x = udp_ctx(s);
	short events = s->role == WP_STREAM_SENDS ? POLLOUT : POLLIN;
	int64_t due = UDP_NEVER;
	int r;

	switch (take_turn(m->u, s)) {
	case UDP_ENDED:
		forget(m, s);
		return;
	case UDP_MORE:
		break;
	case UDP_WAIT:
		events = x->events;
		due = x->due_ns;
		break;
	}
	if (due != x->timer.due_ns || (due != UDP_NEVER) != (x->timer.at > 0))
		udp_timers_set(&m->timers, &x->timer, due);
	if (events == x->registered)
		return;
	r = watch(m, s, EPOLL_CTL_MOD, events);
	if (r < 0) {
		wp_stream_end(s, r);
		forget(m, s);
	}
}

/* Turns of those whose time has come by now; later ones wait for the sockets' turns. */
static void due_turns(struct many *m)
{
	int64_t now = wp_now_ns();

	for (size_t i = m->timers.n; i > 0; i--) {
		struct udp_timer *first = udp_timers_first(&m->timers);

		if (!first || first->due_ns > now)
			return;
		turn_of(m, first->owner);
	}
}

/* After a stop every stream has a turn, in which it sees it. */
static void stop_all(struct many *m)
{
	for (size_t i = 0; i < m->u->w->n_streams; i++) {
		struct wp_stream *s = m->u->w->streams[i];

		if (!wp_stream_ended(s))
			turn_of(m, s);
	}
}

/* Waits for events, at most until the first timer. */
static int wait_many(struct many *m, struct epoll_event *events)
{
	struct pollfd p = { .fd = m->epoll_fd, .events = POLLIN };
	const struct udp_timer *first = udp_timers_first(&m->timers);
	int64_t now;

	if (udp_receive_nap(m->u, first ? first->due_ns : UDP_NEVER))
		return epoll_wait(m->epoll_fd, events, EVENTS_MAX, 0);
	if (!first)
		return epoll_wait(m->epoll_fd, events, EVENTS_MAX, -1);
	now = wp_now_ns();
	if (first->due_ns > now) {
		if (m->u->spins && first->due_ns - now < WP_NS_PER_MS)
			sleep_briefly(m->u, first->due_ns, now);
		else /* ppoll() has a finer clock than epoll_wait(). */
			(void)poll_until(m->u, &p, 1, first->due_ns);
	}
	return epoll_wait(m->epoll_fd, events, EVENTS_MAX, 0);
}

static void loop_many(struct many *m)
{
	struct wp_worker *w = m->u->w;
	struct epoll_event events[EVENTS_MAX];
	bool stopped = false;

	while (m->left > 0 && !wp_worker_aborting(w)) {
		int n = wait_many(m, events);

		for (int i = 0; i < n; i++) {
			struct wp_stream *s = events[i].data.ptr;

			if (!s || wp_stream_ended(s)) /* NULL: the wake-up */
				continue;
			udp_ctx(s)->error = events[i].events & EPOLLERR;
			turn_of(m, s);
		}
		if (!stopped && wp_worker_stopping(w)) {
			stopped = true;
			stop_all(m);
		}
		due_turns(m);
	}
	for (size_t i = 0; m->left > 0 && i < w->n_streams; i++)
		if (!wp_stream_ended(w->streams[i]))
			take_turn(m->u, w->streams[i]);
}

static int run_many(struct udp_worker *u)
{
	struct wp_worker *w = u->w;
	_cleanup_close_ int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	_cleanup_free_ struct udp_timer **heap = calloc(w->n_streams, sizeof(*heap));
	struct many m = { .u = u, .epoll_fd = epoll_fd, .left = w->n_streams, .timers.heap = heap };
	/* Edge triggered: readable for good after a stop, but news only once. */
	struct epoll_event wake = { .events = EPOLLIN | EPOLLET };
	int r;

	if (epoll_fd < 0 || !heap)
		return epoll_fd < 0 ? -errno : -ENOMEM;
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, w->wake_fd, &wake) < 0)
		return -errno;
	for (size_t i = 0; i < w->n_streams; i++) {
		struct wp_stream *s = w->streams[i];

		udp_ctx(s)->timer.owner = s;
		r = watch(&m, s, EPOLL_CTL_ADD, 0);
		if (r < 0)
			return r;
	}
	/* The first turn of each says what it waits for. */
	stop_all(&m);
	loop_many(&m);
	return 0;
}

/*
 * A thread that mostly sleeps wakes late while others compute, because it waits for the end of their time slice (3 ms).
 * Linux 6.12 and later let one with a short slice of its own go first; it gets no more time than before by that. Where
 * that is not known nothing changes.
 */
static void ask_for_short_slice(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} a = { .size = sizeof(a) };

	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) < 0 || a.policy != SCHED_OTHER)
		return;
	a.runtime = SLICE_NS;
	(void)!syscall(SYS_sched_setattr, 0, &a, 0);
}

static int prepare(struct udp_worker *u)
{
	bool sends = false, receives = false;
	int r = 0;

	for (size_t i = 0; i < u->w->n_streams; i++) {
		sends |= u->w->streams[i]->role == WP_STREAM_SENDS;
		receives |= u->w->streams[i]->role == WP_STREAM_RECEIVES;
	}
	u->spins = sends && u->paced && u->plan->spin;
	if (sends)
		r = udp_send_init(u);
	if (r == 0 && receives)
		r = udp_receive_init(u);
	/* The default slack of 50 us would be half the gap of 10,000 packets a second. */
	if (u->paced) {
		prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
		ask_for_short_slice();
	}
	for (size_t i = 0; r == 0 && i < u->w->n_streams; i++)
		if (u->w->streams[i]->role == WP_STREAM_SENDS)
			udp_send_start(u, u->w->streams[i]);
	return r;
}

static int udp_run(struct wp_worker *w)
{
	struct udp_worker u = { .w = w,
				.plan = w->plan,
				.length = w->plan->length_bytes,
				.paced = w->plan->rate_bps > 0 };
	int r = prepare(&u);

	if (r == 0 && w->n_streams > 1)
		r = run_many(&u);
	else if (r == 0)
		run_single(&u, w->streams[0]);
	udp_send_done(&u);
	udp_receive_done(&u);
	return r;
}

const struct wp_engine wp_engine_udp = {
	.abi = WP_ENGINE_ABI,
	.name = "udp",
	.summary = "numbered datagrams over UDP, flat out or paced",
	.caps = WP_ENGINE_SEND | WP_ENGINE_RECEIVE | WP_ENGINE_PACED | WP_ENGINE_SOCKETS |
		WP_ENGINE_DATAGRAMS,
	.stream_size = sizeof(struct udp_stream),
	.hists = 1u << WP_HIST_SEND_GAP | 1u << WP_HIST_DELAY,
	.open = udp_open,
	.run = udp_run,
	.close = udp_close,
};
