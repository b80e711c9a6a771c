/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "load/tcp_stream.h"

#define TURN_BYTES (128 << 10)
#define PIPE_BYTES (1 << 20) /* the default of fs.pipe-max-size */

/* Discarding wants a pipe and /dev/null; without them MSG_TRUNC does it. */
static bool open_null_pipe(struct tcp_worker *t)
{
	t->null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (t->null_fd < 0 || pipe2(t->pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
		wp_close_p(&t->null_fd);
		return false;
	}
	/* A smaller pipe only means more calls. */
	(void)!fcntl(t->pipe[1], F_SETPIPE_SZ, PIPE_BYTES);
	return true;
}

void tcp_receive_init(struct tcp_worker *t, bool receives)
{
	t->null_fd = t->pipe[0] = t->pipe[1] = -1;
	if (!receives)
		return;
	t->discard = t->plan->receive_method == WP_RECEIVE_DISCARD && !t->plan->check;
	if (!t->discard)
		wp_worker_method(t->w, WP_STREAM_RECEIVES, "read");
	else if (open_null_pipe(t))
		wp_worker_method(t->w, WP_STREAM_RECEIVES, "discard (splice)");
	else
		wp_worker_method(t->w, WP_STREAM_RECEIVES, "discard (MSG_TRUNC)");
}

void tcp_receive_done(struct tcp_worker *t)
{
	wp_close_p(&t->pipe[0]);
	wp_close_p(&t->pipe[1]);
	wp_close_p(&t->null_fd);
}

/* Socket to pipe to /dev/null: pages change hands, bytes are not touched. */
static ssize_t splice_away(struct tcp_worker *t, struct wp_stream *s)
{
	const unsigned flags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK;
	ssize_t n = splice(s->fd, NULL, t->pipe[1], NULL, PIPE_BYTES, flags), left, out;

	if (n <= 0)
		return n < 0 ? -errno : 0;
	for (left = n; left > 0; left -= out) {
		out = splice(t->pipe[0], NULL, t->null_fd, NULL, (size_t)left, flags);
		if (out == 0 || (out < 0 && errno != EINTR))
			return out < 0 ? -errno : -EIO;
		if (out < 0)
			out = 0;
	}
	return n;
}

static ssize_t receive_some(struct tcp_worker *t, struct wp_stream *s)
{
	ssize_t n;

	if (t->discard && t->null_fd >= 0)
		return splice_away(t, s);
	n = recv(s->fd, t->discard ? NULL : t->w->sink, t->length,
		 MSG_DONTWAIT | (t->discard ? MSG_TRUNC : 0));
	return n < 0 ? -errno : n;
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
	bool discard = t->discard;
	uint64_t used = 0;

	do {
		ssize_t n;

		if (wp_worker_aborting(t->w))
			return tcp_end(s, -ECANCELED);
		n = receive_some(t, s);
		if (n == -EAGAIN)
			return tcp_block(s, POLLIN);
		if (n == -EINTR)
			continue;
		if (n <= 0)
			return tcp_end(s, (int)n);
		tcp_moved(s, (uint64_t)n);
		used += (uint64_t)n;
		if (t->plan->check)
			check_content(t, s, (size_t)n);
		/* A short read has emptied the socket: waiting saves the call that says so. */
		if (!discard && (size_t)n < t->length)
			return tcp_block(s, POLLIN);
	} while (used < TURN_BYTES);
	return TCP_MORE;
}
