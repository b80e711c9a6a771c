/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A connection for each transaction, the asking end: socket, connect, request, response, end of the stream, close. All
 * of it is in the latency.
 *
 * The other end closes first, as a web server does: so TIME_WAIT is on its side, where it occupies a piece of memory
 * and not a port, and a port of this end is free again at once. Still there may be no port at the moment, or no memory
 * for a socket. Then the transaction tries again every millisecond, which its latency shows; when that has failed for
 * five seconds without a break the stream ends with the error.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "load/rr.h"
#include "net/sock.h"

#define RETRY_NS     WP_NS_PER_MS
#define GIVE_UP_NS   (5 * WP_NS_PER_S)
#define BIND_LOOK_UP (5 * WP_NS_PER_S)

/* ---- sockets ---- */

/* Options that must be there before the handshake. */
static int set_options(const struct rr_worker *t, int fd)
{
	const struct wp_plan *p = t->w->plan;
	int r;

	(void)!wp_sock_set_nodelay(fd, true);
	if (p->window_bytes || p->mss_bytes || p->congestion || p->dscp >= 0) {
		r = wp_sock_apply(fd, p, NULL, NULL);
		if (r < 0)
			return r;
	}
	if (t->local.len > 0) {
		/* The port is chosen by connect(), which knows more free ones. */
		(void)setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &(int) { 1 },
				 sizeof(int));
		if (bind(fd, &t->local.sa, t->local.len) < 0)
			return -errno;
	}
	if (rr_blocks(t) && !rr_block_limit(fd))
		return -errno;
	return rr_busy_poll(fd, p, NULL);
}

/* 0: connected or connecting. */
static int open_socket(struct rr_worker *t, struct wp_stream *s)
{
	struct rr_stream *x = rr_ctx(s);
	int type = SOCK_STREAM | SOCK_CLOEXEC | (rr_blocks(t) ? 0 : SOCK_NONBLOCK);
	_cleanup_close_ int fd = socket(s->remote.sa.sa_family, type, IPPROTO_TCP);
	int r;

	if (fd < 0)
		return -errno;
	r = set_options(t, fd);
	if (r < 0)
		return r;
	if (connect(fd, &s->remote.sa, s->remote.len) < 0 && errno != EINPROGRESS)
		return -errno;
	x->conn.fd = wp_steal_fd(&fd);
	x->conn.registered = 0;
	return 0;
}

static void close_socket(struct rr_stream *x)
{
	/* Which takes it out of epoll, too. */
	wp_close_p(&x->conn.fd);
	x->conn.registered = 0;
	x->conn.events = 0;
}

/* ---- trying again ---- */

static bool may_try_again(int error)
{
	return error == -EADDRNOTAVAIL || error == -EAGAIN || error == -ENOBUFS || error == -ENOMEM;
}

static void set_timer(struct rr_worker *t)
{
	t->timer_ns = t->first_waiting ? rr_ctx(t->first_waiting)->retry_ns : RR_NEVER;
}

static void wait_to_retry(struct rr_worker *t, struct wp_stream *s)
{
	struct rr_stream *x = rr_ctx(s);

	x->retry_ns = t->now_ns + RETRY_NS;
	x->conn.would_block = true;
	if (x->waits)
		return;
	x->waits = true;
	x->next_waiting = NULL;
	if (t->last_waiting)
		rr_ctx(t->last_waiting)->next_waiting = s;
	else
		t->first_waiting = s;
	t->last_waiting = s;
	set_timer(t);
}

static struct wp_stream *first_waiting(struct rr_worker *t)
{
	struct wp_stream *s = t->first_waiting;

	t->first_waiting = rr_ctx(s)->next_waiting;
	if (!t->first_waiting)
		t->last_waiting = NULL;
	rr_ctx(s)->waits = false;
	set_timer(t);
	return s;
}

static void connect_on_time(struct rr_worker *t)
{
	int64_t now = t->now_ns;

	while (t->timer_ns <= now) {
		struct wp_stream *s = first_waiting(t);

		if (!wp_stream_ended(s))
			rr_turn(t, s);
	}
}

/* ---- a transaction ---- */

/* 1: all is sent; 0: not now; -errno. */
static int send_request(struct rr_worker *t, struct wp_stream *s)
{
	struct rr_stream *x = rr_ctx(s);

	while (x->to_send > 0) {
		size_t len =
			x->to_send < t->w->buffer_bytes ? (size_t)x->to_send : t->w->buffer_bytes;
		/* While it is connecting the socket takes nothing. */
		ssize_t n = send(x->conn.fd, t->w->buffer, len, t->flags | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		x->to_send -= (uint64_t)n;
		wp_stream_add(s, (uint64_t)n);
	}
	return 1;
}

/* 1: the response and the end of the stream are there; 0: not yet; -errno. */
static int receive_response(struct rr_worker *t, struct wp_stream *s)
{
	struct rr_stream *x = rr_ctx(s);

	for (;;) {
		uint64_t left = t->response_bytes - x->got;
		size_t want = left == 0                   ? 1
			      : left < t->w->buffer_bytes ? (size_t)left
							  : t->w->buffer_bytes;
		ssize_t n = recv(x->conn.fd, t->w->sink, want, t->flags);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		if (n == 0)
			return left > 0 ? -ECONNRESET : 1;
		if (left == 0)
			return -EPROTO;
		x->got += (uint64_t)n;
		rr_count_response(s, (uint64_t)n);
	}
}

/* Goes on with a transaction: 1 when it is done, 0 when it has to wait, -errno. */
static int step(struct rr_worker *t, struct wp_stream *s)
{
	struct rr_stream *x = rr_ctx(s);
	int r = 0;

	if (x->conn.fd < 0)
		r = open_socket(t, s);
	if (x->conn.fd < 0 && may_try_again(r)) {
		rr_read_clock(t);
		if (!x->failing_since_ns)
			x->failing_since_ns = t->now_ns;
		if (t->now_ns - x->failing_since_ns >= GIVE_UP_NS)
			return r;
		wait_to_retry(t, s);
		return 0;
	}
	if (r < 0)
		return r;
	x->failing_since_ns = 0;
	r = send_request(t, s);
	if (r > 0)
		r = receive_response(t, s);
	if (r <= 0) {
		x->conn.would_block = r == 0;
		/* With epoll each news is told once, and the socket asked until it has no more. */
		x->conn.events = x->to_send > 0 ? POLLOUT | POLLIN : POLLIN;
		if (!rr_blocks(t))
			x->conn.events |= EPOLLET;
		return r;
	}
	close_socket(x);
	rr_read_clock(t);
	rr_count_transaction(t, s, x->each_due_ns, t->now_ns);
	x->under_way = 0;
	return 1;
}

static void begin(struct rr_worker *t, struct rr_stream *x, int64_t due_ns)
{
	x->each_due_ns = due_ns;
	x->to_send = t->request_bytes;
	x->got = 0;
	x->under_way = 1;
	x->begun++;
}

static enum rr_turn connect_begin(struct rr_worker *t, struct wp_stream *s, int64_t due_ns)
{
	int r;

	begin(t, rr_ctx(s), due_ns);
	r = step(t, s);
	if (r < 0)
		return rr_end(t, s, r);
	/* It may be over already, and have been the last. */
	return rr_is_done(t, s) ? rr_end(t, s, 0) : RR_WAIT;
}

static enum rr_turn connect_turn(struct rr_worker *t, struct wp_stream *s)
{
	struct rr_stream *x = rr_ctx(s);
	int r = 1;

	x->conn.happened = 0;
	x->conn.would_block = false;
	/* After a stop no connection is begun. */
	if (x->under_way && x->conn.fd < 0 && wp_worker_stopping(t->w))
		return rr_end(t, s, 0);
	if (x->under_way)
		r = step(t, s);
	else if (!t->open_loop)
		rr_read_clock(t);
	while (r > 0 && !t->open_loop && rr_may_begin(t, s) && !wp_worker_aborting(t->w)) {
		begin(t, x, t->now_ns);
		r = step(t, s);
		if (rr_blocks(t))
			break;
	}
	if (r < 0)
		return rr_end(t, s, r);
	return rr_is_done(t, s) ? rr_end(t, s, 0) : RR_WAIT;
}

static void connect_ended(struct rr_worker *t, struct wp_stream *s)
{
	(void)t;
	close_socket(rr_ctx(s));
}

/* ---- preparation ---- */

static int look_up_local(const struct wp_plan *p, const struct wp_addr *remote, struct wp_addr *ret,
			 struct wp_err *err)
{
	struct wp_addr found[WP_ADDR_MAX];
	size_t n;
	int r;

	if (!p->bind_host)
		return 0;
	r = wp_addr_resolve(p->bind_host, 0, remote->sa.sa_family, BIND_LOOK_UP, found, &n, err);
	if (r == 0)
		*ret = found[0];
	return r;
}

int rr_connect_open(struct wp_stream *s, const struct wp_plan *p, struct wp_err *err)
{
	struct wp_addr local;

	if (s->remote.len == 0)
		return wp_err_set(err, -EINVAL, "stream %u: no address to connect to",
				  s->index + 1);
	rr_ctx(s)->conn.fd = -1;
	/* The threads look it up again; here is the place for a sentence about it. */
	return s->index == 0 ? look_up_local(p, &s->remote, &local, err) : 0;
}

static int connect_prepare(struct rr_worker *t)
{
	return look_up_local(t->w->plan, &t->w->streams[0]->remote, &t->local, NULL);
}

const struct rr_protocol rr_connect = {
	.turn = connect_turn,
	.begin = connect_begin,
	.on_time = connect_on_time,
	.ended = connect_ended,
	.prepare = connect_prepare,
	.ends_by_stop = true,
};
