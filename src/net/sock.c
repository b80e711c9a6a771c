/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"

#define LISTEN_BACKLOG    1024 /* 1,000 streams may arrive at once; somaxconn lowers it */
#define GROUP_BACKLOG     WP_MAX_CONNECTIONS /* may all come at once; likewise */
#define BIND_LOOKUP_NS    (5 * WP_NS_PER_S)
#define MAX_POLL_SLEEP_NS (3600 * WP_NS_PER_S)

int wp_fd_wait(int fd, short events, int64_t deadline_ns)
{
	struct pollfd p = { .fd = fd, .events = events };
	int n;

	for (;;) {
		int64_t left = deadline_ns == WP_NO_DEADLINE ? MAX_POLL_SLEEP_NS
							     : deadline_ns - wp_now_ns();
		struct timespec ts;

		if (left < 0)
			left = 0;
		if (left > MAX_POLL_SLEEP_NS)
			left = MAX_POLL_SLEEP_NS;
		ts = wp_ns_to_timespec(left);
		n = ppoll(&p, 1, &ts, NULL);
		if (n < 0)
			return -errno;
		if (n > 0)
			return p.revents;
		if (deadline_ns != WP_NO_DEADLINE && wp_now_ns() >= deadline_ns)
			return -ETIMEDOUT;
	}
}

static int sock_new(int family, int *ret)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);

	if (fd < 0)
		return -errno;
	*ret = fd;
	return 0;
}

static int listen_at(const struct wp_addr *a, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	int r = sock_new(a->sa.sa_family, &fd);

	if (r < 0)
		return r;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int) { 1 }, sizeof(int)) < 0)
		return -errno;
	if (a->sa.sa_family == AF_INET6) {
		/* An address of its own serves IPv6 only; the wildcard serves both. */
		int only = !IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr);

		if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only)) < 0)
			return -errno;
	}
	if (bind(fd, &a->sa, a->len) < 0 || listen(fd, LISTEN_BACKLOG) < 0)
		return -errno;
	*ret_fd = wp_steal_fd(&fd);
	return 0;
}

static int listen_failed(const struct wp_addr *a, int r, struct wp_err *err)
{
	char text[WP_ADDR_TEXT];

	wp_addr_format(a, text);
	if (r == -EADDRINUSE)
		return wp_err_set(err, r,
				  "cannot listen on %s: the port is in use; stop the other server "
				  "or give --port",
				  text);
	if (r == -EADDRNOTAVAIL)
		return wp_err_set(err, r, "cannot listen on %s: this machine has no such address",
				  text);
	if (r == -EACCES)
		return wp_err_set(err, r,
				  "cannot listen on %s: permission denied; give a port of 1024 or "
				  "above",
				  text);
	return wp_err_sys(err, r, "cannot listen on %s", text);
}

int wp_sock_listen(const char *bind_host, uint16_t port, int family, int *ret_fd,
		   struct wp_err *err)
{
	struct wp_addr a[WP_ADDR_MAX] = { 0 };
	size_t n = 0;
	int r;

	if (bind_host) {
		r = wp_addr_resolve(bind_host, port, family, BIND_LOOKUP_NS, a, &n, err);
		if (r < 0)
			return r;
		r = listen_at(&a[0], ret_fd);
		return r < 0 ? listen_failed(&a[0], r, err) : 0;
	}
	if (family != AF_INET)
		a[n++] = (struct wp_addr) { .v6 = { .sin6_family = AF_INET6 },
					    .len = sizeof(a[0].v6) };
	if (family != AF_INET6)
		a[n++] = (struct wp_addr) { .v4 = { .sin_family = AF_INET },
					    .len = sizeof(a[0].v4) };
	r = -EAFNOSUPPORT;
	for (size_t i = 0; i < n; i++) {
		wp_addr_set_port(&a[i], port);
		r = listen_at(&a[i], ret_fd);
		if (r == 0)
			return 0;
		/* A kernel without IPv6, or with it switched off: IPv4 alone. */
		if (r != -EAFNOSUPPORT && r != -EADDRNOTAVAIL)
			return listen_failed(&a[i], r, err);
	}
	return listen_failed(&a[n - 1], r, err);
}

/* One of a group. The first binds alone, so that it fails when there is a group already; then it shares. */
static int listen_among(const struct wp_addr *a, bool first, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	int r = sock_new(a->sa.sa_family, &fd);

	if (r < 0)
		return r;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int) { 1 }, sizeof(int)) < 0 ||
	    (!first && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &(int) { 1 }, sizeof(int)) < 0) ||
	    bind(fd, &a->sa, a->len) < 0 ||
	    (first && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &(int) { 1 }, sizeof(int)) < 0) ||
	    listen(fd, GROUP_BACKLOG) < 0)
		return -errno;
	*ret_fd = wp_steal_fd(&fd);
	return 0;
}

int wp_sock_listen_group(const struct wp_addr *local, int *ret_fds, size_t n, struct wp_err *err)
{
	struct wp_addr at = *local;
	size_t made = 0;
	int r = 0;

	while (!r && made < n) {
		r = listen_among(&at, made == 0, &ret_fds[made]);
		if (!r && made++ == 0)
			r = wp_addr_local(ret_fds[0], &at); /* the port */
	}
	if (!r)
		return 0;
	while (made)
		close(ret_fds[--made]);
	return listen_failed(local, r, err);
}

int wp_sock_accept(int listen_fd, int64_t deadline_ns, int *ret_fd, struct wp_addr *ret_addr)
{
	struct wp_addr a;
	int fd, r;

	for (;;) {
		a = (struct wp_addr) { .len = sizeof(a.storage) };
		fd = accept4(listen_fd, &a.sa, &a.len, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0)
			break;
		switch (errno) {
		case EAGAIN:
			r = wp_fd_wait(listen_fd, POLLIN, deadline_ns);
			if (r < 0)
				return r;
			break;
		case EINTR:
		case ECONNABORTED: /* and network errors that accept(2) passes on */
		case ENETDOWN:
		case EPROTO:
		case ENOPROTOOPT:
		case EHOSTDOWN:
		case ENONET:
		case EHOSTUNREACH:
		case ENETUNREACH:
			break;
		default:
			return -errno;
		}
	}
	*ret_fd = fd;
	if (ret_addr)
		*ret_addr = a;
	return 0;
}

static int bind_local(int fd, const char *bind_host, int family, struct wp_err *err)
{
	struct wp_addr a[WP_ADDR_MAX];
	size_t n;
	int r;

	r = wp_addr_resolve(bind_host, 0, family, BIND_LOOKUP_NS, a, &n, err);
	if (r < 0)
		return r;
	if (bind(fd, &a[0].sa, a[0].len) < 0)
		return wp_err_sys(err, -errno, "cannot use the local address %s", bind_host);
	return 0;
}

static int connect_one(const struct wp_connect *c, const struct wp_addr *to, int64_t deadline_ns,
		       int *ret_fd, struct wp_err *err)
{
	_cleanup_close_ int fd = -1;
	char text[WP_ADDR_TEXT];
	socklen_t len = sizeof(int);
	int r, failure = 0;

	wp_addr_format(to, text);
	r = sock_new(to->sa.sa_family, &fd);
	if (r < 0)
		return wp_err_sys(err, r, "cannot connect to %s", text);
	if (c->plan) {
		r = wp_sock_apply(fd, c->plan, NULL, err);
		if (r < 0)
			return r;
	}
	if (c->bind_host) {
		r = bind_local(fd, c->bind_host, to->sa.sa_family, err);
		if (r < 0)
			return r;
	}
	r = connect(fd, &to->sa, to->len) < 0 ? -errno : 0;
	if (r == -EINPROGRESS) {
		r = wp_fd_wait(fd, POLLOUT, deadline_ns);
		if (r > 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &len) < 0)
			failure = errno;
		r = r < 0 ? r : -failure;
	}
	if (r == -ETIMEDOUT)
		return wp_err_set(err, r, "cannot connect to %s: no answer", text);
	if (r == -ECONNREFUSED)
		return wp_err_set(err, r,
				  "cannot connect to %s: connection refused; is a server running "
				  "there?",
				  text);
	if (r < 0)
		return wp_err_sys(err, r, "cannot connect to %s", text);
	*ret_fd = wp_steal_fd(&fd);
	return 0;
}

int wp_sock_connect(const struct wp_connect *c, int *ret_fd, struct wp_err *err)
{
	int64_t end = wp_now_ns() + c->timeout_ns;
	struct wp_addr a[WP_ADDR_MAX];
	size_t n;
	int r;

	r = wp_addr_resolve(c->host, c->port, c->family, c->timeout_ns, a, &n, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		int64_t now = wp_now_ns(), share = (end - now) / (int64_t)(n - i);
		struct wp_err why = { 0 };

		r = connect_one(c, &a[i], now + (share > 0 ? share : 0), ret_fd, &why);
		if (r == 0)
			return 0;
		/* Of several addresses the last one's sentence is as good as any. */
		if (i + 1 == n || r == -EINTR)
			return wp_err_set(err, r, "%s", why.msg);
	}
	return r;
}

/* Sets a buffer size and returns what the kernel accounts with in `ret_bytes`. */
static int set_buffer(int fd, int option, int force_option, uint64_t bytes, uint64_t *ret_bytes)
{
	int want = bytes > INT32_MAX / 2 ? INT32_MAX / 2 : (int)bytes, got = 0;
	socklen_t len = sizeof(got);

	if (bytes > 0) {
		if (setsockopt(fd, SOL_SOCKET, option, &want, sizeof(want)) < 0)
			return -errno;
		if (getsockopt(fd, SOL_SOCKET, option, &got, &len) < 0)
			return -errno;
		/* Needs CAP_NET_ADMIN; without it the smaller buffer stands and is reported. */
		if (got < want * 2)
			(void)!setsockopt(fd, SOL_SOCKET, force_option, &want, sizeof(want));
	}
	len = sizeof(got);
	if (getsockopt(fd, SOL_SOCKET, option, &got, &len) < 0)
		return -errno;
	*ret_bytes = got > 0 ? (uint64_t)got : 0;
	return 0;
}

int wp_sock_set_congestion(int fd, const char *name, struct wp_err *err)
{
	char list[256] = "";
	int r;

	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)) == 0)
		return 0;
	r = -errno;
	if (r == -EPERM) {
		if (wp_read_line_at(AT_FDCWD, "/proc/sys/net/ipv4/tcp_allowed_congestion_control",
				    list, sizeof(list)) < 0)
			list[0] = '\0';
		return wp_err_set(
			err, r,
			"congestion control '%s' needs CAP_NET_ADMIN; allowed to everybody: "
			"%s",
			name, list[0] ? list : "unknown");
	}
	if (wp_read_line_at(AT_FDCWD, "/proc/sys/net/ipv4/tcp_available_congestion_control", list,
			    sizeof(list)) < 0)
		list[0] = '\0';
	if (r == -ENOENT)
		return wp_err_set(err, r,
				  "congestion control '%s' is not available here; there is: %s",
				  name, list[0] ? list : "unknown");
	return wp_err_sys(err, r, "cannot set congestion control '%s'", name);
}

int wp_sock_set_dscp(int fd, int dscp, struct wp_err *err)
{
	int tos = dscp << 2, domain = AF_UNSPEC;
	socklen_t len = sizeof(domain);

	if (dscp < 0 || dscp > 63)
		return wp_err_set(err, -EINVAL, "DSCP %d is not in 0 to 63", dscp);
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0)
		return wp_err_sys(err, -errno, "cannot set DSCP %d", dscp);
	if (domain == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof(tos)) < 0)
		return wp_err_sys(err, -errno, "cannot set DSCP %d", dscp);
	/* Also on IPv6 sockets: they carry IPv4 when the address is IPv4-mapped. */
	if (setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)) < 0 && domain == AF_INET)
		return wp_err_sys(err, -errno, "cannot set DSCP %d", dscp);
	return 0;
}

int wp_sock_set_user_timeout(int fd, int64_t timeout_ns)
{
	int64_t ms = (timeout_ns + WP_NS_PER_MS - 1) / WP_NS_PER_MS;
	unsigned v = ms > INT32_MAX ? INT32_MAX : ms < 0 ? 0 : (unsigned)ms;

	return setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &v, sizeof(v)) < 0 ? -errno : 0;
}

int wp_sock_set_nodelay(int fd, bool on)
{
	return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int) { on }, sizeof(int)) < 0 ? -errno
											: 0;
}

int wp_sock_apply(int fd, const struct wp_plan *plan, struct wp_sock_got *ret, struct wp_err *err)
{
	struct wp_sock_got got = { 0 };
	int r;

	r = set_buffer(fd, SO_SNDBUF, SO_SNDBUFFORCE, plan->window_bytes, &got.sndbuf_bytes);
	if (r == 0)
		r = set_buffer(fd, SO_RCVBUF, SO_RCVBUFFORCE, plan->window_bytes,
			       &got.rcvbuf_bytes);
	if (r < 0)
		return wp_err_sys(err, r, "cannot set the window to %llu bytes",
				  (unsigned long long)plan->window_bytes);
	got.window_short = plan->window_bytes > 0 && (got.sndbuf_bytes / 2 < plan->window_bytes ||
						      got.rcvbuf_bytes / 2 < plan->window_bytes);
	if (plan->mss_bytes > 0) {
		int mss = plan->mss_bytes > INT32_MAX ? INT32_MAX : (int)plan->mss_bytes;

		if (setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof(mss)) < 0)
			return wp_err_sys(
				err, -errno,
				"cannot set the MSS to %u bytes (88 to 32767 are possible)",
				plan->mss_bytes);
	}
	if (plan->nodelay) {
		r = wp_sock_set_nodelay(fd, true);
		if (r < 0)
			return wp_err_sys(err, r, "cannot switch the Nagle algorithm off");
	}
	if (plan->congestion) {
		r = wp_sock_set_congestion(fd, plan->congestion, err);
		if (r < 0)
			return r;
	}
	if (plan->dscp >= 0) {
		r = wp_sock_set_dscp(fd, plan->dscp, err);
		if (r < 0)
			return r;
	}
	if (ret)
		*ret = got;
	return 0;
}

ssize_t wp_sock_read_some(int fd, void *buf, size_t len, int64_t deadline_ns)
{
	ssize_t n;
	int r;

	for (;;) {
		n = recv(fd, buf, len, MSG_DONTWAIT);
		if (n >= 0)
			return n;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return -errno;
		r = wp_fd_wait(fd, POLLIN, deadline_ns);
		if (r < 0)
			return r;
	}
}

int wp_sock_read_full(int fd, void *buf, size_t len, int64_t deadline_ns)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = wp_sock_read_some(fd, (char *)buf + done, len - done, deadline_ns);

		if (n < 0)
			return (int)n;
		if (n == 0)
			return done == 0 ? -ENODATA : -ECONNRESET;
		done += (size_t)n;
	}
	return 0;
}

int wp_sock_write_full(int fd, const void *buf, size_t len, int64_t deadline_ns)
{
	size_t done = 0;
	int r;

	while (done < len) {
		ssize_t n =
			send(fd, (const char *)buf + done, len - done, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n >= 0) {
			done += (size_t)n;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return -errno;
		r = wp_fd_wait(fd, POLLOUT, deadline_ns);
		if (r < 0)
			return r;
	}
	return 0;
}
