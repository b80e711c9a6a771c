/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waiting inside the call: for a thread's only connection with one request under way. It is the fastest way that
 * sleeps (epoll gives nine tenths of its rate). Calls give up after a few milliseconds, after which the
 * thread waits in ppoll(), where a stop or an abort reaches it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "load/rr.h"

#define BLOCKING_US 5000

bool rr_block_limit(int fd)
{
	const struct timeval limit = { .tv_usec = BLOCKING_US };

	return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0 &&
	       setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) == 0;
}

bool rr_block_prepare(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return rr_block_limit(fd) && flags >= 0 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

/* Waits for the socket, a due time, or a wake-up. */
static void wait_for(struct rr_worker *t, struct wp_stream *s)
{
	struct rr_conn *c = &rr_ctx(s)->conn;
	/* After a stop wake_fd is readable for good. */
	bool stoppable = t->protocol->ends_by_stop && !t->stop_noted;
	struct pollfd p[2] = {
		{ .fd = c->fd, .events = (short)c->events },
		{ .fd = stoppable ? t->w->wake_fd : t->w->abort_fd, .events = POLLIN },
	};
	int64_t next = rr_next_ns(t), left;
	struct timespec ts;

	if (next == RR_NEVER) {
		(void)ppoll(p, 2, NULL, NULL);
	} else {
		left = next - wp_now_ns();
		ts = wp_ns_to_timespec(left > 0 ? left : 0);
		(void)ppoll(p, 2, &ts, NULL);
	}
	c->happened = (uint32_t)p[0].revents;
}

void rr_block_run(struct rr_worker *t)
{
	struct wp_stream *s = t->w->streams[0];
	struct rr_stream *x = rr_ctx(s);

	t->flags = 0;
	while (!wp_worker_aborting(t->w)) {
		if (!t->stop_noted && wp_worker_stopping(t->w))
			rr_note_stop(t);
		if (rr_turn(t, s) == RR_ENDED)
			return;
		if (t->open_loop && x->under_way == 0)
			rr_on_time(t);
		if (wp_stream_ended(s))
			return;
		if (x->conn.would_block || (t->open_loop && x->under_way == 0)) {
			wait_for(t, s);
			rr_on_time(t);
		}
	}
}
