/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * channel.h - the control connection: JSON messages, one a line, over a socket, plain or in TLS.
 *
 * Every wait has an end: a call takes a timeout, which a message extends only by its length over
 * WP_PEER_MIN_BYTES_PER_S. A wake fd ends any wait at once (a server that shuts down). Memory is
 * bounded by the line limit. Nothing raises SIGPIPE. Used by one thread at a time.
 *
 *	wp_channel_new(fd, WP_PEER_REQUEST_BYTES, WP_PEER_REQUEST_VALUES, &c);
 *	wp_channel_secure(c, &key, true, timeout_ns, &err);          optional
 *	while (!(r = wp_channel_recv(c, &message, timeout_ns, &err))) ...;
 *	wp_channel_linger(c, timeout_ns);
 *	wp_channel_free(c);
 *
 * Errors of all calls: -ETIMEDOUT, -ECANCELED (the wake fd), -EPIPE (the other end closed between
 * messages), -ECONNRESET (in the middle of one, or broken), -E2BIG and -EBADMSG (what came is
 * refused), -EINTR (with wp_channel_interruptible()), -EPROTO and -EACCES (TLS). Each has a
 * sentence.
 */
#ifndef WP_PEER_CHANNEL_H
#define WP_PEER_CHANNEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "peer/tls.h"

struct wp_channel;

/* The fd is moved in on success. Lines longer than `max_line_bytes` or with more values are
 * refused. */
int wp_channel_new(int fd, size_t max_line_bytes, size_t max_values, struct wp_channel **ret,
		   struct wp_err *err) WP_MUST_USE;
void wp_channel_free(struct wp_channel *c); /* closes the socket */
int wp_channel_fd(const struct wp_channel *c);
/* A borrowed fd that ends every wait when it is readable; -1 = none. */
void wp_channel_wake_on(struct wp_channel *c, int fd);
/* No wait goes on beyond this time (CLOCK_MONOTONIC), whatever its timeout: for last words. */
void wp_channel_until(struct wp_channel *c, int64_t until_ns);
/* A signal ends a wait with -EINTR; without this waits go on. */
void wp_channel_interruptible(struct wp_channel *c, bool yes);
bool wp_channel_is_secure(const struct wp_channel *c);

/* The TLS handshake. A client that gets a plain error message instead passes its sentence on
 * (-EACCES). */
int wp_channel_secure(struct wp_channel *c, const struct wp_key *key, bool server,
		      int64_t timeout_ns, struct wp_err *err) WP_MUST_USE;

int wp_channel_send(struct wp_channel *c, const json_t *message, int64_t timeout_ns,
		    struct wp_err *err) WP_MUST_USE;
/* A new reference in *ret. With timeout 0 only what is there already is taken: -EAGAIN when that is
 * no whole message. */
int wp_channel_recv(struct wp_channel *c, json_t **ret, int64_t timeout_ns,
		    struct wp_err *err) WP_MUST_USE;

/* Says goodbye and reads until the other end has closed too, so that a reset does not destroy the
 * last message on its way. What comes is thrown away. */
void wp_channel_linger(struct wp_channel *c, int64_t timeout_ns);

#endif
