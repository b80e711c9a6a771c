/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Receiving. Two things decide the rate, both measured with bench/load_bench on veth pairs:
 *
 *  - A blocking recv() also copies what arrives while it copies (it works off the socket's backlog,
 *    which spares the sender's CPU the protocol work), where a nonblocking one ends with what was
 *    there: 1.3 times the rate with 1 MiB reads. So a thread's only stream is read blocking, with a
 *    short SO_RCVTIMEO after which the thread waits in poll(), where an abort reaches it. Among several
 *    streams this makes all but one wait, and loses.
 *  - Discarding (MSG_TRUNC) is so fast that the receiver sleeps after each packet and the sender pays
 *    for waking it: polling for a moment first gives 1.5 times the rate for less CPU a byte.
 */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "load/tcp_stream.h"

void tcp_receive_init(struct tcp_worker *t)
{
	struct wp_worker *w = t->w;
	size_t receivers = 0;

	for (size_t i = 0; i < w->n_streams; i++)
		receivers += w->streams[i]->role == WP_STREAM_RECEIVES;
	if (receivers == 0)
		return;
	t->discard = t->plan->receive_method == WP_RECEIVE_DISCARD && !t->plan->check;
	t->polls = t->discard && receivers == w->n_streams;
	if (t->discard)
		t->receive_flags = MSG_TRUNC | MSG_DONTWAIT;
	else if (t->alone && tcp_make_blocking(w->streams[0]->fd, SO_RCVTIMEO))
		t->receive_flags = 0;
	else
		t->receive_flags = MSG_DONTWAIT;
	wp_worker_method(w, WP_STREAM_RECEIVES, t->discard ? "discard (MSG_TRUNC)" : "read");
}

static void check_content(struct tcp_worker *t, struct wp_stream *s, size_t len)
{
	struct wp_fill_check *check = &tcp_ctx(s)->check;
	struct wp_stream_counters *c = s->count;

	wp_fill_check_chunk(check, t->w->sink, len);
	atomic_store_explicit(&c->corrupt_at, check->corrupt_at, memory_order_relaxed);
	atomic_store_explicit(&c->corrupt_blocks, check->corrupt_blocks, memory_order_relaxed);
}

enum tcp_turn tcp_receive_turn(struct tcp_worker *t, struct wp_stream *s)
{
	uint64_t used = 0;

	do {
		ssize_t n;

		if (wp_worker_aborting(t->w))
			return tcp_end(s, -ECANCELED);
		/* TCP discards without looking at the buffer; other sockets need one. */
		n = recv(s->fd, t->w->sink, t->call_bytes, t->receive_flags);
		if (n < 0 && errno == EAGAIN)
			return tcp_block(s, POLLIN);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return tcp_end(s, n < 0 ? -errno : 0);
		tcp_moved(s, (uint64_t)n);
		used += (uint64_t)n;
		if (t->plan->check)
			check_content(t, s, (size_t)n);
		if ((size_t)n < t->call_bytes) {
			/* The socket is empty. Waiting saves the call that says so; a blocking one
			 * waits by itself. */
			if (t->receive_flags & MSG_DONTWAIT)
				return tcp_block(s, POLLIN);
			tcp_stamp(s);
		}
	} while (used < t->turn_bytes);
	return TCP_MORE;
}
