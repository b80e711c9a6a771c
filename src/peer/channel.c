/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "peer/channel.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "peer/limits.h"
#include "peer/message.h"

#define CHUNK_BYTES (16u << 10) /* one TLS record; small enough for a thread's stack */

struct wp_channel {
	int fd, wake_fd;
	bool interruptible, eof;
	struct wp_tls *tls;
	struct wp_buf in; /* text that no call has taken yet */
	size_t scanned;   /* bytes of it known to hold no newline */
	size_t max_line_bytes, max_values;
	int64_t until_ns; /* the end of all waits */
};

/* A vanished other end is noticed by the kernel, too. A socket that is not TCP does without. */
static void watch_over(int fd)
{
	static const struct {
		int level, name, value;
	} options[] = {
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, WP_PEER_KEEP_IDLE_S },
		{ IPPROTO_TCP, TCP_KEEPINTVL, WP_PEER_KEEP_IDLE_S },
		{ IPPROTO_TCP, TCP_KEEPCNT, 3 },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, WP_PEER_USER_TIMEOUT_MS },
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
	};

	for (size_t i = 0; i < WP_ARRAY_SIZE(options); i++)
		(void)!setsockopt(fd, options[i].level, options[i].name, &options[i].value,
				  sizeof(options[i].value));
}

int wp_channel_new(int fd, size_t max_line_bytes, size_t max_values, struct wp_channel **ret,
		   struct wp_err *err)
{
	struct wp_channel *c = calloc(1, sizeof(*c));

	if (!c)
		return wp_err_sys(err, -ENOMEM, "cannot talk to the other end");
	c->fd = fd;
	watch_over(fd);
	c->wake_fd = -1;
	c->until_ns = INT64_MAX;
	c->max_line_bytes = max_line_bytes;
	c->max_values = max_values;
	c->in = WP_BUF(max_line_bytes + 2 * CHUNK_BYTES);
	*ret = c;
	return 0;
}

void wp_channel_free(struct wp_channel *c)
{
	if (!c)
		return;
	wp_tls_free(c->tls);
	wp_buf_done(&c->in);
	wp_close_p(&c->fd);
	free(c);
}

int wp_channel_fd(const struct wp_channel *c)
{
	return c->fd;
}

void wp_channel_wake_on(struct wp_channel *c, int fd)
{
	c->wake_fd = fd;
}

void wp_channel_until(struct wp_channel *c, int64_t until_ns)
{
	c->until_ns = until_ns;
}

void wp_channel_interruptible(struct wp_channel *c, bool yes)
{
	c->interruptible = yes;
}

bool wp_channel_is_secure(const struct wp_channel *c)
{
	return c->tls != NULL;
}

static int64_t deadline_after(int64_t start_ns, int64_t timeout_ns, size_t bytes)
{
	return start_ns + timeout_ns +
	       (int64_t)(bytes / WP_PEER_MIN_BYTES_PER_S + 1) * WP_NS_PER_S - WP_NS_PER_S;
}

/* Until the socket is ready for `events`, the wake fd is readable or time is up. */
static int wait_for(struct wp_channel *c, short events, int64_t deadline_ns, struct wp_err *err)
{
	if (deadline_ns > c->until_ns)
		deadline_ns = c->until_ns;
	for (;;) {
		struct pollfd fds[2] = { { .fd = c->fd, .events = events },
					 { .fd = c->wake_fd, .events = POLLIN } };
		int64_t left_ns = deadline_ns - wp_now_ns();
		struct timespec left = wp_ns_to_timespec(left_ns > 0 ? left_ns : 0);
		int r = ppoll(fds, 2, &left, NULL);

		if (r < 0 && errno == EINTR) {
			if (c->interruptible)
				return wp_err_set(err, -EINTR, "interrupted");
			continue;
		}
		if (r < 0)
			return wp_err_sys(err, -errno, "cannot wait for the other end");
		if (fds[1].revents)
			return wp_err_set(err, -ECANCELED, "this end is shutting down");
		if (fds[0].revents)
			return 0;
		if (left_ns <= 0)
			return wp_err_set(err, -ETIMEDOUT, "the other end does not %s",
					  events & POLLIN ? "answer" : "take what is sent");
	}
}

static int broken(int code, struct wp_err *err)
{
	if (code == -ECONNRESET || code == -EPIPE)
		return wp_err_set(err, -ECONNRESET, "the other end broke the connection off");
	return wp_err_sys(err, code == -ETIMEDOUT ? -ECONNRESET : code,
			  "the control connection failed");
}

static int send_raw(struct wp_channel *c, const char *data, size_t len, int64_t deadline_ns,
		    struct wp_err *err)
{
	while (len) {
		ssize_t n = send(c->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
		int r;

		if (n >= 0) {
			data += n;
			len -= (size_t)n;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return broken(-errno, err);
		r = wait_for(c, POLLOUT, deadline_ns, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* What TLS wants on the wire. */
static int flush_tls(struct wp_channel *c, int64_t deadline_ns, struct wp_err *err)
{
	char chunk[WP_TLS_TAKE_BYTES];
	size_t n;
	int r = 0;

	while (!r && (n = wp_tls_take(c->tls, chunk, sizeof(chunk))) > 0)
		r = send_raw(c, chunk, n, deadline_ns, err);
	return r;
}

/* One recv(2) without waiting: bytes, 0 at the end of the stream, -EAGAIN or what broke. */
static ssize_t recv_raw(struct wp_channel *c, char *out, size_t size, struct wp_err *err)
{
	ssize_t n;

	do
		n = recv(c->fd, out, size, MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return -EAGAIN;
	if (n < 0)
		return broken(-errno, err);
	if (n == 0)
		c->eof = true;
	return n;
}

/* Moves what TLS has decrypted to the text buffer. */
static int decrypt(struct wp_channel *c, struct wp_err *err)
{
	for (;;) {
		char *to = wp_buf_reserve(&c->in, CHUNK_BYTES);
		ssize_t n;

		if (!to)
			return wp_err_sys(err, -ENOMEM, "cannot hold a message");
		n = wp_tls_read(c->tls, to, CHUNK_BYTES);
		if (n == -EAGAIN)
			return 0;
		if (n < 0)
			return wp_err_set(err, -EPROTO, "the encrypted connection is damaged");
		if (n == 0) {
			c->eof = true;
			return 0;
		}
		c->in.len += (size_t)n;
	}
}

/* Takes what the socket has, at most a chunk. 0 when something came, -EAGAIN when nothing did. */
static int fill(struct wp_channel *c, struct wp_err *err)
{
	char chunk[CHUNK_BYTES];
	ssize_t n = recv_raw(c, chunk, sizeof(chunk), err);
	int r;

	if (n <= 0)
		return (int)n;
	if (!c->tls) {
		r = wp_buf_append(&c->in, chunk, (size_t)n);
		return r < 0 ? wp_err_sys(err, r, "cannot hold a message") : 0;
	}
	r = wp_tls_feed(c->tls, chunk, (size_t)n);
	if (r < 0)
		return wp_err_sys(err, r, "cannot hold a message");
	r = decrypt(c, err);
	if (r < 0)
		return r;
	return flush_tls(c, wp_now_ns() + WP_PEER_FAREWELL_NS, err); /* answers of TLS itself */
}

/* 1 and the length of the first line, 0 when there is no whole one yet, -E2BIG. */
static int find_line(struct wp_channel *c, size_t *ret_len, struct wp_err *err)
{
	const char *end = NULL;
	size_t len;

	if (c->scanned < c->in.len)
		end = memchr(c->in.data + c->scanned, '\n', c->in.len - c->scanned);
	len = end ? (size_t)(end - c->in.data) : c->in.len;
	if (len > c->max_line_bytes)
		return wp_err_set(err, -E2BIG, "a message of more than %zu bytes",
				  c->max_line_bytes);
	c->scanned = len;
	if (!end)
		return 0;
	*ret_len = len;
	return 1;
}

static int ended(const struct wp_channel *c, struct wp_err *err)
{
	if (c->in.len)
		return wp_err_set(err, -ECONNRESET,
				  "the other end broke off in the middle of a message");
	return wp_err_set(err, -EPIPE, "the other end closed the connection");
}

int wp_channel_recv(struct wp_channel *c, json_t **ret, int64_t timeout_ns, struct wp_err *err)
{
	int64_t start_ns = wp_now_ns();

	for (;;) {
		size_t len = 0;
		int r = find_line(c, &len, err);

		if (r < 0)
			return r;
		if (r > 0) {
			r = wp_message_decode(c->in.data, len, c->max_values, ret, err);
			wp_buf_consume(&c->in, len + 1);
			c->scanned = 0;
			return r;
		}
		if (c->eof)
			return ended(c, err);
		r = fill(c, err);
		if (r == -EAGAIN) {
			if (timeout_ns <= 0)
				return -EAGAIN;
			r = wait_for(c, POLLIN, deadline_after(start_ns, timeout_ns, c->in.len),
				     err);
		}
		if (r < 0)
			return r;
	}
}

int wp_channel_send(struct wp_channel *c, const json_t *message, int64_t timeout_ns,
		    struct wp_err *err)
{
	_cleanup_buf_ struct wp_buf line = WP_BUF(WP_PEER_RESULT_BYTES);
	int64_t deadline_ns;
	int r = wp_message_encode(message, &line);

	if (r < 0)
		return wp_err_sys(err, r, "cannot make a message");
	deadline_ns = deadline_after(wp_now_ns(), timeout_ns, line.len);
	if (!c->tls)
		return send_raw(c, line.data, line.len, deadline_ns, err);
	for (size_t at = 0; at < line.len; at += CHUNK_BYTES) {
		size_t n = line.len - at < CHUNK_BYTES ? line.len - at : CHUNK_BYTES;

		if (wp_tls_write(c->tls, line.data + at, n) < 0)
			return wp_err_set(err, -EPROTO, "the encrypted connection is damaged");
		r = flush_tls(c, deadline_ns, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A server without a key, or one that is busy, answers a handshake with a plain message. */
static int plain_answer(struct wp_channel *c, int64_t deadline_ns, struct wp_err *err)
{
	json_t *message = NULL;
	const char *says;
	int64_t left_ns = deadline_ns - wp_now_ns();
	int r = wp_channel_recv(c, &message, left_ns > 1 ? left_ns : 1, err);

	if (r < 0)
		return r;
	says = json_string_value(json_object_get(message, "says"));
	if (says) {
		char clean[sizeof(err->msg)];

		wp_message_clean(says, strlen(says), clean, sizeof(clean));
		r = wp_err_set(err, -EACCES, "%s", clean);
	} else {
		r = wp_err_set(err, -EPROTO, "the other end does not speak TLS");
	}
	json_decref(message);
	return r;
}

int wp_channel_secure(struct wp_channel *c, const struct wp_key *key, bool server,
		      int64_t timeout_ns, struct wp_err *err)
{
	int64_t deadline_ns = wp_now_ns() + timeout_ns;
	bool first = true;
	struct wp_tls *tls;
	int r = wp_tls_new(key, server, &tls, err);

	if (r < 0)
		return r;
	c->tls = tls;
	for (;;) {
		char chunk[CHUNK_BYTES];
		ssize_t n;
		int done = wp_tls_handshake(tls, err);

		/* Also after a failure: the alert tells the other end. */
		r = flush_tls(c, deadline_ns, done == 0 || done == -EAGAIN ? err : NULL);
		if (done != -EAGAIN)
			return done < 0 ? done : r < 0 ? r : decrypt(c, err);
		if (r < 0)
			return r;
		n = recv_raw(c, chunk, sizeof(chunk), err);
		if (n == -EAGAIN) {
			r = wait_for(c, POLLIN, deadline_ns, err);
			if (r < 0)
				return r;
			continue;
		}
		if (n < 0)
			return (int)n;
		if (n == 0)
			return wp_err_set(err, -EPIPE,
					  "the other end closed the connection during the TLS "
					  "handshake");
		if (first && !server && chunk[0] == '{') {
			wp_tls_free(tls);
			c->tls = NULL;
			r = wp_buf_append(&c->in, chunk, (size_t)n);
			return r < 0 ? wp_err_sys(err, r, "cannot hold a message")
				     : plain_answer(c, deadline_ns, err);
		}
		first = false;
		r = wp_tls_feed(tls, chunk, (size_t)n);
		if (r < 0)
			return wp_err_sys(err, r, "cannot hold a message");
	}
}

void wp_channel_linger(struct wp_channel *c, int64_t timeout_ns)
{
	int64_t deadline_ns = wp_now_ns() + timeout_ns;
	size_t thrown_away = 0;

	if (c->tls) {
		wp_tls_close(c->tls);
		if (flush_tls(c, deadline_ns, NULL) < 0)
			return;
	}
	if (shutdown(c->fd, SHUT_WR) < 0)
		return;
	c->eof = false;
	while (wp_now_ns() < deadline_ns && thrown_away < WP_PEER_LINGER_BYTES) {
		char chunk[CHUNK_BYTES];
		ssize_t n = recv_raw(c, chunk, sizeof(chunk), NULL);

		if (n == -EAGAIN)
			n = wait_for(c, POLLIN, deadline_ns, NULL) < 0 ? 0 : 1;
		if (n <= 0)
			return;
		thrown_away += (size_t)n;
	}
}
