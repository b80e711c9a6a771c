/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A connection for each transaction, the answering end: a stream is a listening socket, and whatever comes is accepted,
 * read, answered and closed, many at once. A stop ends it, with the connections that are open then.
 *
 * Mostly the request is there when its connection is accepted; then epoll never hears of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "load/rr.h"
#include "net/sock.h"

#define ACCEPT_MAX 64 /* in a turn */
#define CHILDREN_MAX \
	(2 * WP_MAX_CONNECTIONS)     /* of a thread; the others wait in the queue of the socket */
#define PAUSE_NS (10 * WP_NS_PER_MS) /* without descriptors or memory */

/* An accepted connection; spare ones keep their memory. */
struct rr_child {
	struct rr_conn conn;
	uint64_t got, to_send;
	struct rr_child *before, *behind; /* among the open ones; spare ones by `behind` */
};

static struct rr_child *child_new(struct rr_worker *t, struct wp_stream *s, int fd)
{
	struct rr_child *c = t->spare;

	if (c)
		t->spare = c->behind;
	else
		c = malloc(sizeof(*c));
	if (!c)
		return NULL;
	*c = (struct rr_child) { .conn = { .s = s, .fd = fd }, .behind = t->children };
	if (t->children)
		t->children->before = c;
	t->children = c;
	t->n_children++;
	return c;
}

static void child_end(struct rr_worker *t, struct rr_child *c)
{
	wp_close_p(&c->conn.fd);
	if (c->before)
		c->before->behind = c->behind;
	else
		t->children = c->behind;
	if (c->behind)
		c->behind->before = c->before;
	c->behind = t->spare;
	t->spare = c;
	t->n_children--;
}

/* 1: the request is there; 0: not yet; -errno. */
static int read_request(struct rr_worker *t, struct rr_child *c)
{
	while (c->got < t->request_bytes) {
		uint64_t left = t->request_bytes - c->got;
		size_t want = left < t->w->buffer_bytes ? (size_t)left : t->w->buffer_bytes;
		ssize_t n = recv(c->conn.fd, t->w->sink, want, MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		if (n == 0)
			return -ECONNRESET;
		c->got += (uint64_t)n;
		wp_stream_add(c->conn.s, (uint64_t)n);
		if (c->got == t->request_bytes)
			c->to_send = t->response_bytes;
	}
	return 1;
}

/* As above. */
static int write_response(struct rr_worker *t, struct rr_child *c)
{
	while (c->to_send > 0) {
		size_t len =
			c->to_send < t->w->buffer_bytes ? (size_t)c->to_send : t->w->buffer_bytes;
		ssize_t n = send(c->conn.fd, t->w->buffer, len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		c->to_send -= (uint64_t)n;
		rr_count_response(c->conn.s, (uint64_t)n);
	}
	return 1;
}

/* Goes on with a connection, and ends it when it is done or broken. */
static void child_turn(struct rr_worker *t, struct rr_child *c)
{
	struct wp_stream *s = c->conn.s;
	int r = read_request(t, c);

	if (r > 0)
		r = write_response(t, c);
	if (r == 0) {
		c->conn.events = (c->to_send > 0 ? POLLOUT : POLLIN) | (uint32_t)EPOLLET;
		r = rr_watch(t, &c->conn);
		if (r == 0)
			return;
	}
	if (r > 0) {
		rr_bump(&s->count->transactions, 1);
		wp_stream_stamp(s);
	} else if (c->got > 0) {
		rr_bump(&s->count->unanswered, 1);
	}
	child_end(t, c);
}

static void accept_child(struct rr_worker *t, struct rr_conn *conn)
{
	if (conn->fd >= 0)
		child_turn(t, (struct rr_child *)conn);
}

/* Nothing can be accepted for a while. */
static void pause_accepting(struct rr_worker *t, struct wp_stream *s)
{
	rr_ctx(s)->conn.events = EPOLLET; /* nothing, but still registered */
	t->timer_ns = rr_read_clock(t) + PAUSE_NS;
}

static void accept_on_time(struct rr_worker *t)
{
	t->timer_ns = RR_NEVER;
	for (size_t i = 0; i < t->w->n_streams; i++)
		if (!wp_stream_ended(t->w->streams[i]))
			rr_turn(t, t->w->streams[i]);
}

/* 1: accepted or died in the queue; 0: none there, or none can be taken now; -errno. */
static int accept_one(struct rr_worker *t, struct wp_stream *s)
{
	struct wp_addr from = { .len = sizeof(from.storage) };
	_cleanup_close_ int fd = -1;
	struct rr_child *c;

	if (t->n_children >= CHILDREN_MAX) {
		pause_accepting(t, s);
		return 0;
	}
	fd = accept4(s->fd, &from.sa, &from.len, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0) {
		switch (errno) {
		case EAGAIN:
			return 0;
		case EMFILE:
		case ENFILE:
		case ENOBUFS:
		case ENOMEM:
			pause_accepting(t, s);
			return 0;
		case EBADF:
		case EINVAL:
		case ENOTSOCK:
		case EOPNOTSUPP:
		case EFAULT:
			return -errno;
		default: /* what accept(2) passes on from the network */
			return 1;
		}
	}
	if (s->remote.len > 0 && !wp_addr_same_host(&from, &s->remote))
		return 1; /* a stranger: closed without a word */
	c = child_new(t, s, fd);
	if (!c) {
		pause_accepting(t, s);
		return 0;
	}
	wp_steal_fd(&fd);
	child_turn(t, c);
	return 1;
}

static enum rr_turn accept_turn(struct rr_worker *t, struct wp_stream *s)
{
	struct rr_stream *x = rr_ctx(s);
	int r = 1;

	x->conn.happened = 0;
	x->conn.events = POLLIN;
	if (wp_worker_stopping(t->w))
		return rr_end(t, s, 0);
	for (int i = 0; i < ACCEPT_MAX && r > 0; i++)
		r = accept_one(t, s);
	return r < 0 ? rr_end(t, s, r) : RR_WAIT;
}

static void accept_ended(struct rr_worker *t, struct wp_stream *s)
{
	struct rr_child *next;

	for (struct rr_child *c = t->children; c; c = next) {
		next = c->behind;
		if (c->conn.s != s)
			continue;
		if (c->got > 0)
			rr_bump(&s->count->unanswered, 1);
		child_end(t, c);
	}
}

static void accept_done(struct rr_worker *t)
{
	while (t->spare) {
		struct rr_child *c = t->spare;

		t->spare = c->behind;
		free(c);
	}
}

int rr_accept_open(struct wp_stream *s, struct wp_err *err)
{
	int flags = fcntl(s->fd, F_GETFL), listens = 0;
	socklen_t len = sizeof(listens);

	if (getsockopt(s->fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0 || !listens)
		return wp_err_set(err, -EINVAL, "stream %u: not a listening socket", s->index + 1);
	/* Inherited by what is accepted. */
	(void)!wp_sock_set_nodelay(s->fd, true);
	if (fcntl(s->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return wp_err_sys(err, -errno, "stream %u", s->index + 1);
	return 0;
}

const struct rr_protocol rr_accept = {
	.turn = accept_turn,
	.on_time = accept_on_time,
	.ended = accept_ended,
	.child = accept_child,
	.done = accept_done,
	.ends_by_stop = true,
	.many_a_stream = true,
};
