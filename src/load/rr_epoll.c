/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waiting with epoll(7), level triggered, for any number of connections; or spinning on it.
 */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "load/rr.h"

#define EVENTS_MAX 64

static void turn_of(struct rr_worker *t, struct wp_stream *s)
{
	if (!wp_stream_ended(s))
		rr_turn(t, s);
}

static int wait_events(struct rr_worker *t, bool spin, struct epoll_event *events)
{
	int64_t next = spin ? 0 : rr_next_ns(t), left;
	struct pollfd p = { .fd = t->epoll_fd, .events = POLLIN };
	struct timespec ts;
	int n;

	if (spin)
		return epoll_wait(t->epoll_fd, events, EVENTS_MAX, 0);
	if (next == RR_NEVER)
		return epoll_wait(t->epoll_fd, events, EVENTS_MAX, -1);
	left = next - wp_now_ns();
	ts = wp_ns_to_timespec(left > 0 ? left : 0);
	n = epoll_pwait2(t->epoll_fd, events, EVENTS_MAX, &ts, NULL);
	if (n >= 0 || errno != ENOSYS)
		return n;
	/* Before Linux 5.11: epoll_wait() alone has too coarse a clock. */
	return ppoll(&p, 1, &ts, NULL) > 0 ? epoll_wait(t->epoll_fd, events, EVENTS_MAX, 0) : 0;
}

/* After a stop those that it concerns have a turn, in which those end that have nothing under way. */
static void stop_streams(struct rr_worker *t)
{
	struct wp_worker *w = t->w;

	rr_note_stop(t);
	for (size_t i = 0; t->protocol->ends_by_stop && i < w->n_streams; i++)
		turn_of(t, w->streams[i]);
}

static void run(struct rr_worker *t, bool spin)
{
	struct epoll_event events[EVENTS_MAX];

	for (size_t i = 0; i < t->w->n_streams; i++)
		turn_of(t, t->w->streams[i]);
	while (t->left > 0 && !wp_worker_aborting(t->w)) {
		int n = wait_events(t, spin, events);

		for (int i = 0; i < n; i++) {
			struct rr_conn *c = events[i].data.ptr;

			if (!c) /* the wake-up */
				continue;
			c->happened = events[i].events;
			if (c == &rr_ctx(c->s)->conn)
				turn_of(t, c->s);
			else
				t->protocol->child(t, c);
		}
		if (!t->stop_noted && wp_worker_stopping(t->w))
			stop_streams(t);
		if (rr_next_ns(t) != RR_NEVER)
			rr_on_time(t);
	}
}

int rr_epoll_run(struct rr_worker *t, bool spin)
{
	_cleanup_close_ int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	/* Edge triggered: readable for good after a stop, but news only once. */
	struct epoll_event wake = { .events = EPOLLIN | EPOLLET };

	if (epoll_fd < 0)
		return -errno;
	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, t->w->wake_fd, &wake) < 0)
		return -errno;
	t->epoll_fd = epoll_fd;
	run(t, spin);
	rr_cut(t);
	t->epoll_fd = -1;
	return 0;
}
