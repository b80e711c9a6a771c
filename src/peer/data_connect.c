/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "peer/data_connect.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "net/sock.h"
#include "peer/limits.h"
#include "peer/proto.h"

struct target {
	struct wp_addr remote, local; /* local without a port */
	const struct wp_plan *plan;
	const uint8_t *token;
	char name[WP_ADDR_TEXT];
};

int wp_data_failed(size_t i, int r, struct wp_err *err)
{
	if (r == -EMFILE)
		return wp_err_set(err, r,
				  "cannot open data connection %zu: too many open files; raise the "
				  "limit (ulimit -n) or use fewer streams (-P)",
				  i + 1);
	if (r == -EADDRNOTAVAIL || r == -EADDRINUSE || r == -EAGAIN)
		return wp_err_set(
			err, r,
			"cannot open data connection %zu: no local port is free; those of "
			"ended connections come back after a minute, and "
			"net.ipv4.ip_local_port_range says how many there are",
			i + 1);
	return wp_err_sys(err, r, "cannot open data connection %zu", i + 1);
}

static int failed(const struct target *t, size_t i, int r, struct wp_err *err)
{
	if (r == -ECONNREFUSED || r == -ETIMEDOUT || r == -ECONNRESET || r == -EHOSTUNREACH ||
	    r == -ENETUNREACH)
		return wp_err_sys(err, r, "cannot open data connection %zu to %s", i + 1, t->name);
	return wp_data_failed(i, r, err);
}

/* Begins a connection; it goes on in the kernel. */
static int begin(const struct target *t, struct wp_stream_spec *s, size_t i, struct wp_err *err)
{
	int r;

	s->fd = socket(t->remote.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		       IPPROTO_TCP);
	if (s->fd < 0)
		return failed(t, i, -errno, err);
	r = wp_sock_apply(s->fd, t->plan, NULL, err);
	if (r < 0)
		return r;
	/* Without a port until connect() knows the whole pair: 1,000 streams don't use up the range. */
	(void)!setsockopt(s->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &(int) { 1 }, sizeof(int));
	/* The server takes data only from the address that it talks to. */
	if (bind(s->fd, &t->local.sa, t->local.len) < 0)
		return failed(t, i, -errno, err);
	if (connect(s->fd, &t->remote.sa, t->remote.len) < 0 && errno != EINPROGRESS)
		return failed(t, i, -errno, err);
	return 0;
}

/* Connected or not: 0 when the preamble is out. A fresh connection has room for 32 bytes. */
static int introduce(const struct target *t, const struct wp_stream_spec *s, size_t i,
		     struct wp_err *err)
{
	struct wp_preamble p = { .stream = (uint32_t)i, .role = s->role };
	uint8_t bytes[WP_PREAMBLE_BYTES];
	int failure = 0;
	socklen_t len = sizeof(failure);

	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &failure, &len) < 0)
		failure = errno;
	if (failure)
		return failed(t, i, -failure, err);
	for (size_t k = 0; k < WP_TOKEN_BYTES; k++)
		p.token[k] = t->token[k];
	wp_preamble_encode(&p, bytes);
	if (send(s->fd, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT) !=
	    (ssize_t)sizeof(bytes))
		return failed(t, i, errno ? -errno : -EIO, err);
	return 0;
}

/* Streams first..first+n-1: all begin, then each is waited for. */
static int batch(const struct target *t, struct wp_stream_spec *streams, size_t first, size_t n,
		 int64_t timeout_ns, struct wp_err *err)
{
	int64_t deadline_ns = wp_now_ns() + timeout_ns;
	int r = 0;

	for (size_t i = first; i < first + n && !r; i++)
		r = begin(t, &streams[i], i, err);
	for (size_t i = first; i < first + n && !r; i++) {
		r = wp_fd_wait(streams[i].fd, POLLOUT, deadline_ns);
		if (r == -EINTR)
			return wp_err_set(err, r, "interrupted");
		r = r < 0 ? failed(t, i, r, err) : introduce(t, &streams[i], i, err);
	}
	return r;
}

int wp_data_check(const struct wp_plan *plan, struct wp_err *err)
{
	size_t n = wp_plan_connections(plan);
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
	    n + WP_PEER_OWN_FDS <= limit.rlim_cur)
		return 0;
	return wp_err_set(err, -EMFILE,
			  "%zu connections need more open files than the limit of %llu; raise it "
			  "(ulimit -n) or use fewer (-P)",
			  n, (unsigned long long)limit.rlim_cur);
}

int wp_data_connect(int control_fd, const struct wp_plan *plan,
		    const uint8_t token[static WP_TOKEN_BYTES], struct wp_stream_spec *streams,
		    size_t n, int64_t timeout_ns, struct wp_err *err)
{
	struct target t = { .plan = plan, .token = token };
	int r = wp_addr_remote(control_fd, &t.remote);

	if (!r)
		r = wp_addr_local(control_fd, &t.local);
	if (r < 0)
		return wp_err_sys(err, r, "the control connection has no address");
	wp_addr_set_port(&t.local, 0);
	wp_addr_format(&t.remote, t.name);
	for (size_t i = 0; i < n && !r; i += WP_PEER_CONNECT_BATCH)
		r = batch(&t, streams, i,
			  n - i < WP_PEER_CONNECT_BATCH ? n - i : WP_PEER_CONNECT_BATCH, timeout_ns,
			  err);
	return r;
}
