/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/udp.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Thousands of first datagrams may arrive at once; net.core.rmem_max lowers it. */
#define LISTEN_BUFFER_BYTES (4 << 20)
/* More than fit into the buffer that a new socket has (212,992 bytes, 768 a datagram). */
#define STRANGERS_MAX 1024

static bool is_wildcard(const struct wp_addr *a)
{
	return a->sa.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr);
}

static int udp_new(int family, int *ret)
{
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP);

	if (fd < 0)
		return -errno;
	*ret = fd;
	return 0;
}

static int set_on(int fd, int level, int option)
{
	return setsockopt(fd, level, option, &(int) { 1 }, sizeof(int)) < 0 ? -errno : 0;
}

/* Where a datagram was sent to comes with it. */
static int want_destination(int fd, int family)
{
	return family == AF_INET6 ? set_on(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO)
				  : set_on(fd, IPPROTO_IP, IP_PKTINFO);
}

static void ask_for_room(int fd)
{
	int want = LISTEN_BUFFER_BYTES;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &want, sizeof(want)) < 0)
		(void)!setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &want, sizeof(want));
}

static int listen_at(const struct wp_addr *a, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	int r = udp_new(a->sa.sa_family, &fd);

	if (r < 0)
		return r;
	r = set_on(fd, SOL_SOCKET, SO_REUSEPORT);
	if (!r && a->sa.sa_family == AF_INET6)
		r = setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int) { !is_wildcard(a) },
			       sizeof(int)) < 0
			    ? -errno
			    : 0;
	if (!r)
		r = want_destination(fd, a->sa.sa_family);
	if (r < 0)
		return r;
	ask_for_room(fd);
	if (bind(fd, &a->sa, a->len) < 0)
		return -errno;
	*ret_fd = wp_steal_fd(&fd);
	return 0;
}

int wp_udp_listen(const struct wp_addr *local, int *ret_fd, struct wp_err *err)
{
	int r = listen_at(local, ret_fd);
	char text[WP_ADDR_TEXT];

	if (r >= 0)
		return 0;
	wp_addr_format(local, text);
	if (r == -EADDRINUSE)
		return wp_err_set(err, r, "UDP port %u is taken by another program",
				  wp_addr_port(local));
	return wp_err_sys(err, r, "cannot open UDP at %s", text);
}

int wp_udp_adopt(int fd, struct wp_err *err)
{
	int family = AF_UNSPEC, flags = fcntl(fd, F_GETFL), r;
	socklen_t len = sizeof(family);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len) < 0)
		return wp_err_sys(err, -errno, "the inherited socket %d can't be used", fd);
	r = set_on(fd, SOL_SOCKET, SO_REUSEPORT);
	if (!r)
		r = set_on(fd, SOL_SOCKET, SO_REUSEADDR);
	if (!r)
		r = want_destination(fd, family);
	if (r < 0)
		return wp_err_sys(err, r, "the inherited socket %d can't be used", fd);
	ask_for_room(fd);
	return 0;
}

/* ---- taking ----------------------------------------------------------------------------------- */

union control {
	char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(struct in_pktinfo))];
	struct cmsghdr align;
};

/* From the control data; false when it is not there. */
static bool destination(struct msghdr *m, in_port_t port, struct wp_addr *ret)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo info;

			memcpy(&info, CMSG_DATA(c), sizeof(info));
			*ret = (struct wp_addr) { .v4 = { .sin_family = AF_INET,
							  .sin_port = port,
							  .sin_addr = info.ipi_addr },
						  .len = sizeof(ret->v4) };
			return true;
		}
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			struct in6_pktinfo info;

			memcpy(&info, CMSG_DATA(c), sizeof(info));
			*ret = (struct wp_addr) { .v6 = { .sin6_family = AF_INET6,
							  .sin6_port = port,
							  .sin6_addr = info.ipi6_addr },
						  .len = sizeof(ret->v6) };
			if (IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr))
				ret->v6.sin6_scope_id = info.ipi6_ifindex;
			wp_addr_unmap(ret);
			return true;
		}
	}
	return false;
}

size_t wp_udp_take(int fd, struct wp_udp_first *ret, size_t n)
{
	struct mmsghdr m[WP_UDP_TAKE];
	struct iovec iov[WP_UDP_TAKE];
	union control control[WP_UDP_TAKE];
	struct wp_addr own;
	size_t kept = 0;
	in_port_t port;
	int got;

	if (n > WP_UDP_TAKE)
		n = WP_UDP_TAKE;
	if (wp_addr_local(fd, &own) < 0)
		return 0;
	port = htons(wp_addr_port(&own));
	for (size_t i = 0; i < n; i++) {
		iov[i] = (struct iovec) { ret[i].bytes, sizeof(ret[i].bytes) };
		m[i] = (struct mmsghdr) { .msg_hdr = { .msg_name = &ret[i].from.sa,
						       .msg_namelen = sizeof(ret[i].from.storage),
						       .msg_iov = &iov[i],
						       .msg_iovlen = 1,
						       .msg_control = &control[i],
						       .msg_controllen = sizeof(control[i]) } };
	}
	/* MSG_TRUNC: the lengths are those of the datagrams. */
	got = recvmmsg(fd, m, (unsigned)n, MSG_DONTWAIT | MSG_TRUNC, NULL);
	for (int i = 0; i < got; i++) {
		struct wp_udp_first *to = &ret[kept];

		if (!destination(&m[i].msg_hdr, port, &to->to))
			continue;
		if (to != &ret[i]) {
			memcpy(to->bytes, ret[i].bytes, sizeof(to->bytes));
			to->from = ret[i].from;
		}
		to->from.len = m[i].msg_hdr.msg_namelen;
		to->len = m[i].msg_len;
		wp_addr_unmap(&to->from);
		kept++;
	}
	return kept;
}

unsigned wp_udp_drain(int fd, unsigned most)
{
	unsigned n = 0;
	char byte;

	while (n < most) {
		if (recv(fd, &byte, sizeof(byte), MSG_DONTWAIT | MSG_TRUNC) >= 0)
			n++;
		else if (errno != EINTR && errno != ECONNREFUSED)
			break;
	}
	return n;
}

/* ---- answering -------------------------------------------------------------------------------- */

int wp_udp_answer(int listen_fd, const struct wp_addr *local, const struct wp_addr *remote,
		  int *ret_fd, struct wp_err *err)
{
	_cleanup_close_ int fd = -1;
	socklen_t len = sizeof(int);
	char text[WP_ADDR_TEXT];
	int any_user = 0, r;

	wp_addr_format(remote, text);
	r = udp_new(local->sa.sa_family, &fd);
	if (!r)
		r = set_on(fd, SOL_SOCKET, SO_REUSEPORT);
	if (!r && getsockopt(listen_fd, SOL_SOCKET, SO_REUSEADDR, &any_user, &len) == 0 && any_user)
		r = set_on(fd, SOL_SOCKET, SO_REUSEADDR);
	if (!r && bind(fd, &local->sa, local->len) < 0)
		r = -errno;
	if (!r && connect(fd, &remote->sa, remote->len) < 0)
		r = -errno;
	if (r < 0)
		return wp_err_sys(err, r, "cannot open a UDP socket for %s", text);
	/* Between bind() and connect() it was the best match for everybody's datagrams. */
	(void)wp_udp_drain(fd, STRANGERS_MAX);
	*ret_fd = wp_steal_fd(&fd);
	return 0;
}
