/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sock.h - TCP sockets: listen, accept, connect with a deadline, a plan's options, whole-buffer reads
 * and writes with a deadline.
 *
 * Every socket is close-on-exec and nonblocking and belongs to the caller. Deadlines are
 * CLOCK_MONOTONIC ns; WP_NO_DEADLINE waits for ever. Writes never raise SIGPIPE.
 */
#ifndef WP_NET_SOCK_H
#define WP_NET_SOCK_H

#include "model/plan.h"
#include "net/addr.h"

#define WP_NO_DEADLINE INT64_MAX

/* Listens on `bind_host` (a name or address), or with NULL on all addresses: IPv6 and IPv4 with one
 * socket where the machine has IPv6, IPv4 alone where it has not or `family` says so. `port` 0 =
 * any free one. -EADDRINUSE and so on with a sentence. */
int wp_sock_listen(const char *bind_host, uint16_t port, int family, int *ret_fd,
		   struct wp_err *err) WP_MUST_USE;
/* `n` sockets that listen on one port (0 = any free one) of `local`; the kernel deals connections out
 * among them (SO_REUSEPORT). No group of an earlier call, or another program, has that port. */
int wp_sock_listen_group(const struct wp_addr *local, int *ret_fds, size_t n,
			 struct wp_err *err) WP_MUST_USE;
/* Next connection; `ret_addr` may be NULL. -ETIMEDOUT. Connections that died in the queue are
 * skipped. */
int wp_sock_accept(int listen_fd, int64_t deadline_ns, int *ret_fd,
		   struct wp_addr *ret_addr) WP_MUST_USE;

struct wp_connect {
	const char *host;
	uint16_t port;
	int family;                 /* AF_UNSPEC, AF_INET, AF_INET6 */
	const char *bind_host;      /* local address; NULL = the kernel's choice */
	int64_t timeout_ns;         /* for the look-up and all addresses together */
	const struct wp_plan *plan; /* options that must be set before the handshake (windows, MSS);
				       NULL = none */
};

/* Tries each address of the host until one answers; the remaining time is shared evenly. */
int wp_sock_connect(const struct wp_connect *c, int *ret_fd, struct wp_err *err) WP_MUST_USE;

/* What the kernel made of the options. Buffer figures are what it accounts with: twice what was
 * asked (socket(7)). */
struct wp_sock_got {
	uint64_t sndbuf_bytes, rcvbuf_bytes;
	bool window_short; /* less than asked: net.core.wmem_max or rmem_max is lower */
};

/*
 * Applies window, MSS, nodelay, congestion control and DSCP of a plan. Windows and MSS have their
 * full effect only before connect() or, on the other end, on the listening socket. Over-large windows
 * are forced where the process has CAP_NET_ADMIN. `ret` may be NULL. Sentences name what is wrong and
 * what is available.
 */
int wp_sock_apply(int fd, const struct wp_plan *plan, struct wp_sock_got *ret,
		  struct wp_err *err) WP_MUST_USE;
/* Congestion control by name; the sentence lists what is available. */
int wp_sock_set_congestion(int fd, const char *name, struct wp_err *err) WP_MUST_USE;
/* IP_TOS or IPV6_TCLASS (both on a dual-stack socket) from a DSCP of 0..63. */
int wp_sock_set_dscp(int fd, int dscp, struct wp_err *err) WP_MUST_USE;
/* TCP_USER_TIMEOUT: unacknowledged data older than this breaks the connection. 0 = kernel's default. */
int wp_sock_set_user_timeout(int fd, int64_t timeout_ns) WP_MUST_USE;
int wp_sock_set_nodelay(int fd, bool on) WP_MUST_USE;

/* Waits for poll(2) `events`; returns revents > 0, -ETIMEDOUT or -EINTR. */
int wp_fd_wait(int fd, short events, int64_t deadline_ns);
/* Moves exactly `len` bytes. -ETIMEDOUT; reading: -ECONNRESET also when the other end closed early
 * (-ENODATA when it closed before the first byte). */
int wp_sock_read_full(int fd, void *buf, size_t len, int64_t deadline_ns) WP_MUST_USE;
int wp_sock_write_full(int fd, const void *buf, size_t len, int64_t deadline_ns) WP_MUST_USE;
/* What is there, at least one byte: > 0, 0 at end of stream, -ETIMEDOUT, -errno. */
ssize_t wp_sock_read_some(int fd, void *buf, size_t len, int64_t deadline_ns);

#endif
