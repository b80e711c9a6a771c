/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "load/tcp_stream.h"

/* Zero copy: completions are read in batches of this many sends. */
#define REAP_BATCH 16

/* What to send next and how much of it; NULL = wait for zero-copy completions. */
static const void *source(struct tcp_worker *t, struct wp_stream *s, size_t *len)
{
	struct tcp_stream *x = tcp_ctx(s);
	struct wp_worker *w = t->w;

	if (t->plan->fill != WP_FILL_PATTERN)
		return w->buffer;
	if (x->zc.on)
		return tcp_zerocopy_pattern(s, len);
	if (t->filled_for != s || x->offset < t->filled_from || x->offset >= t->filled_to) {
		wp_fill_pattern(w->buffer, *len, x->offset);
		t->filled_for = s;
		t->filled_from = x->offset;
		t->filled_to = x->offset + *len;
	}
	if (*len > t->filled_to - x->offset)
		*len = (size_t)(t->filled_to - x->offset);
	return (const char *)w->buffer + (x->offset - t->filled_from);
}

/* Bytes sent or -errno. -ENOBUFS: too much memory is pinned, or too many completions are unread. */
static ssize_t send_some(struct tcp_worker *t, struct wp_stream *s, const void *data, size_t len)
{
	struct tcp_stream *x = tcp_ctx(s);
	const int zerocopy = x->zc.on ? MSG_ZEROCOPY : 0;
	ssize_t n = send(s->fd, data, len, t->send_flags | MSG_NOSIGNAL | zerocopy);

	if (n < 0)
		return -errno;
	if (zerocopy && (++x->zc.sent - x->zc.completed) % REAP_BATCH == 0)
		tcp_zerocopy_reap(s);
	return n;
}

/* What a hung-up socket died of, 0 = it was closed in good order. */
static int pending_error(const struct wp_stream *s)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return -errno;
	return -error;
}

/* All is written: half-close, then wait until the kernel has given the memory back. */
static enum tcp_turn finish(struct wp_stream *s)
{
	struct tcp_stream *x = tcp_ctx(s);

	if (!x->finishing) {
		tcp_stamp(s);
		if (shutdown(s->fd, SHUT_WR) < 0)
			return tcp_end(s, -errno);
		x->finishing = true;
	}
	tcp_zerocopy_reap(s);
	if (!tcp_zerocopy_in_flight(s))
		return tcp_end(s, 0);
	return x->hung_up ? tcp_end(s, pending_error(s)) : tcp_block(s, 0);
}

static enum tcp_turn wait_for_pace(struct wp_stream *s, uint64_t want)
{
	struct tcp_stream *x = tcp_ctx(s);

	atomic_store_explicit(&s->count->shortfall_bytes, x->pacer.shortfall_bytes,
			      memory_order_relaxed);
	tcp_stamp(s);
	if (x->hung_up) {
		int error = pending_error(s);

		return tcp_end(s, error < 0 ? error : -EPIPE);
	}
	x->due_ns = wp_pacer_next_ns(&x->pacer, want);
	return TCP_PACED;
}

void tcp_send_keep_short(struct wp_stream *s, size_t bytes)
{
	int lowat = (int)bytes;

	/* Where it is refused the queue is as long as the kernel lets it become. */
	(void)setsockopt(s->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &lowat, sizeof(lowat));
}

/*
 * A thread's only stream is written blocking, as it is read (tcp_receive.c): a send() that waits for room inside the kernel
 * copies on as soon as there is some, where one that returns goes through poll() first. A paced stream and one with zero
 * copy wait for other things too.
 */
void tcp_send_init(struct tcp_worker *t)
{
	const struct wp_stream *s = t->w->streams[0];

	t->send_flags = MSG_DONTWAIT;
	if (t->alone && s->role == WP_STREAM_SENDS && !t->plan->rate_bps &&
	    !((const struct tcp_stream *)s->ctx)->zc.on && tcp_make_blocking(s->fd, SO_SNDTIMEO))
		t->send_flags = 0;
}

enum tcp_turn tcp_send_turn(struct tcp_worker *t, struct wp_stream *s)
{
	struct tcp_stream *x = tcp_ctx(s);
	bool paced = t->plan->rate_bps > 0;
	uint64_t used = 0;

	if (x->zc.on)
		tcp_zerocopy_reap(s);
	do {
		uint64_t left = s->limit_bytes > 0 ? s->limit_bytes - x->offset : UINT64_MAX;
		size_t len = left < t->call_bytes ? (size_t)left : t->call_bytes;
		const void *data;
		ssize_t n;

		if (wp_worker_aborting(t->w))
			return tcp_end(s, -ECANCELED);
		if (x->finishing || left == 0 || wp_worker_stopping(t->w))
			return finish(s);
		if (paced) {
			uint64_t due = wp_pacer_due(&x->pacer, wp_now_ns(), len);

			if (due == 0)
				return wait_for_pace(s, len);
			len = (size_t)due;
		}
		if (x->zc.on && len > x->zc.most_bytes)
			len = x->zc.most_bytes;
		data = source(t, s, &len);
		if (!data)
			return tcp_block(s, 0);
		n = send_some(t, s, data, len);
		if (n == -EAGAIN)
			return tcp_block(s, POLLOUT);
		if (n == -ENOBUFS && x->zc.on) {
			tcp_zerocopy_reap(s);
			if (tcp_zerocopy_in_flight(s))
				return tcp_block(s, 0);
			tcp_zerocopy_shrink(t->w, s, len);
			continue;
		}
		if (n == -EINTR)
			continue;
		if (n < 0)
			return tcp_end(s, (int)n);
		tcp_moved(s, (uint64_t)n);
		used += (uint64_t)n;
		if (paced)
			wp_pacer_sent(&x->pacer, (uint64_t)n);
		if ((size_t)n < len)
			return tcp_block(s, POLLOUT);
	} while (used < t->turn_bytes);
	return TCP_MORE;
}
