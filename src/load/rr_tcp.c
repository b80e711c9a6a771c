/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages on TCP connections. Responses come in the order of their requests, so a connection is two counts of bytes:
 * what is to be written and what was read of the message that is coming in. Both are served in each turn, so neither
 * end waits for the other to read.
 *
 * A turn reads once and writes until the socket is full: the read that would say that there is no more costs as much as
 * a response, and the loop notices anyway.
 */
#include <errno.h>
#include <sys/socket.h>

#include "load/rr.h"

/* 1: all is written; 0: the socket takes no more now; -errno. */
static int flush(struct rr_worker *t, struct wp_stream *s)
{
	struct rr_stream *x = rr_ctx(s);

	while (x->to_send > 0) {
		size_t len =
			x->to_send < t->w->buffer_bytes ? (size_t)x->to_send : t->w->buffer_bytes;
		ssize_t n = send(s->fd, t->w->buffer, len, t->flags | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0)
			return -errno;
		x->to_send -= (uint64_t)n;
		if (t->asks) {
			wp_stream_add(s, (uint64_t)n);
		} else {
			rr_count_response(s, (uint64_t)n);
			x->written += (uint64_t)n;
		}
		if ((size_t)n < len && !rr_blocks(t))
			return 0;
	}
	return 1;
}

/* ---- who asks ---- */

static void add_request(struct rr_worker *t, struct rr_stream *x, int64_t due_ns)
{
	unsigned at = x->oldest + x->under_way;

	x->due_ns[at < t->outstanding ? at : at - t->outstanding] = due_ns;
	x->under_way++;
	x->begun++;
	x->to_send += t->request_bytes;
}

/* Reads responses: their number (then t->now_ns is when), or -errno. */
static int receive(struct rr_worker *t, struct wp_stream *s)
{
	struct rr_stream *x = rr_ctx(s);
	uint64_t want = x->under_way * t->response_bytes - x->got;
	int done = 0;
	ssize_t n;

	if (want > t->w->buffer_bytes)
		want = t->w->buffer_bytes;
	/* With nothing under way there can only be the end. */
	n = recv(s->fd, t->w->sink, want > 0 ? (size_t)want : 1, t->flags);
	if (n < 0) {
		x->conn.would_block = errno == EAGAIN;
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	}
	if (n == 0)
		return -ECONNRESET;
	if (want == 0)
		return -EPROTO;
	rr_count_response(s, (uint64_t)n);
	x->got += (uint64_t)n;
	if (x->got < t->response_bytes)
		return 0;
	rr_read_clock(t);
	while (x->got >= t->response_bytes) {
		rr_count_transaction(t, s, x->due_ns[x->oldest], t->now_ns);
		x->oldest = x->oldest + 1 < t->outstanding ? x->oldest + 1 : 0;
		x->under_way--;
		x->got -= t->response_bytes;
		done++;
	}
	return done;
}

static enum rr_turn finish_ask(struct rr_worker *t, struct wp_stream *s)
{
	return rr_end(t, s, shutdown(s->fd, SHUT_WR) < 0 ? -errno : 0);
}

/* Sends what can be sent and says what to wait for. */
static enum rr_turn go_on(struct rr_worker *t, struct wp_stream *s)
{
	struct rr_stream *x = rr_ctx(s);
	int r = flush(t, s);

	if (r < 0)
		return rr_end(t, s, r);
	x->conn.events = r > 0 ? POLLIN : POLLIN | POLLOUT;
	x->conn.would_block |= r == 0;
	return RR_WAIT;
}

static enum rr_turn tcp_begin(struct rr_worker *t, struct wp_stream *s, int64_t due_ns)
{
	add_request(t, rr_ctx(s), due_ns);
	return go_on(t, s);
}

static enum rr_turn tcp_ask(struct rr_worker *t, struct wp_stream *s)
{
	struct rr_stream *x = rr_ctx(s);
	int r = 0;

	x->conn.would_block = false;
	/* With one request under way there is no response before it is written; who blocks must not wait for it. */
	if ((x->under_way > 0 && !(rr_blocks(t) && x->to_send > 0)) || x->conn.happened)
		r = receive(t, s);
	x->conn.happened = 0;
	if (r < 0)
		return rr_end(t, s, r);
	if (rr_is_done(t, s))
		return finish_ask(t, s);
	if (!t->open_loop && rr_may_begin(t, s)) {
		if (r == 0)
			rr_read_clock(t);
		while (rr_may_begin(t, s))
			add_request(t, x, t->now_ns);
	}
	return go_on(t, s);
}

/* ---- who answers ---- */

/* Reads requests; what they ask for is to be sent. 0 or -errno. */
static int take_requests(struct rr_worker *t, struct wp_stream *s)
{
	struct rr_stream *x = rr_ctx(s);
	ssize_t n = recv(s->fd, t->w->sink, t->w->buffer_bytes, t->flags);

	if (n < 0) {
		x->conn.would_block = errno == EAGAIN;
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	}
	if (n == 0) {
		x->half_closed = true;
		/* The other end died in the middle of a request. */
		return x->got > 0 ? -ECONNRESET : 0;
	}
	wp_stream_add(s, (uint64_t)n);
	x->got += (uint64_t)n;
	while (x->got >= t->request_bytes) {
		x->got -= t->request_bytes;
		x->to_send += t->response_bytes;
	}
	return 0;
}

static void count_answers(struct rr_worker *t, struct wp_stream *s)
{
	struct rr_stream *x = rr_ctx(s);

	if (x->written == 0)
		return;
	while (x->written >= t->response_bytes) {
		x->written -= t->response_bytes;
		rr_bump(&s->count->transactions, 1);
	}
	wp_stream_stamp(s);
}

static enum rr_turn tcp_answer(struct rr_worker *t, struct wp_stream *s)
{
	struct rr_stream *x = rr_ctx(s);
	int r = 0;

	x->conn.would_block = false;
	x->conn.happened = 0;
	/* Who reads blocking writes first what it owes. */
	if (!x->half_closed && !(rr_blocks(t) && x->to_send > 0))
		r = take_requests(t, s);
	if (r == 0 && x->to_send > 0) {
		r = flush(t, s);
		x->conn.would_block = r == 0;
		count_answers(t, s);
	}
	if (r < 0)
		return rr_end(t, s, r);
	if (x->half_closed && x->to_send == 0)
		return rr_end(t, s, 0);
	x->conn.events = (x->half_closed ? 0 : POLLIN) | (x->to_send > 0 ? POLLOUT : 0);
	return RR_WAIT;
}

const struct rr_protocol rr_tcp_ask = {
	.turn = tcp_ask,
	.begin = tcp_begin,
	.ends_by_stop = true,
};

const struct rr_protocol rr_tcp_answer = {
	.turn = tcp_answer,
};
