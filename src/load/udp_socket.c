/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Socket options of the UDP engine.
 *
 *  - IP_RECVERR for senders: without it send() reports success for packets that the local device, its queue or the
 *    backlog of a veth pair has dropped; with it they come back as ENOBUFS (ip(7), net/ipv4/udp.c: udp_send_skb()).
 *  - Drops at the receiving socket are read with SO_MEMINFO (SK_MEMINFO_DROPS), the very counter that SO_RXQ_OVFL puts
 *    beside each datagram: it costs a call now and then instead of a control message each, and is also there when
 *    nothing comes after the drop.
 *  - A receive buffer of 8 MiB (which the kernel doubles) holds 15 ms of the smallest datagrams at a million a second:
 *    at the default of 208 KiB a receiver that loses its CPU for 0.3 ms loses datagrams. Many streams share 64 MiB.
 */
#include <errno.h>
#include <time.h> /* before linux/errqueue.h, which needs it */
#include <linux/errqueue.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include "load/udp_stream.h"

#define AMPLE_BYTES   (256 << 10) /* as the kernel accounts: 300 of the smallest datagrams */
#define DRAIN_MAX     256         /* messages a call of udp_drain_errors() */
#define IP6_UDP_BYTES (40 + 8)
#define IP4_UDP_BYTES (20 + 8)

static int get_int(int fd, int level, int option)
{
	socklen_t len = sizeof(int);
	int v = 0;

	return getsockopt(fd, level, option, &v, &len) < 0 ? -errno : v;
}

static int set_int(int fd, int level, int option, int v)
{
	return setsockopt(fd, level, option, &v, sizeof(v)) < 0 ? -errno : 0;
}

/* What the kernel grants is reported by who reads SO_RCVBUF; without CAP_NET_ADMIN net.core.rmem_max is the limit. */
static int size_receive_buffer(int fd, const struct wp_plan *plan)
{
	uint64_t bytes = wp_plan_receive_buffer_bytes(plan);

	if (!plan->window_bytes && get_int(fd, SOL_SOCKET, SO_RCVBUF) / 2 >= (int)bytes)
		return 0;
	if (bytes > INT32_MAX / 2)
		bytes = INT32_MAX / 2;
	if (set_int(fd, SOL_SOCKET, SO_RCVBUFFORCE, (int)bytes) == 0)
		return 0;
	return set_int(fd, SOL_SOCKET, SO_RCVBUF, (int)bytes);
}

static int open_receiver(struct wp_stream *s, const struct wp_plan *plan, struct wp_err *err)
{
	int r = size_receive_buffer(s->fd, plan);

	if (r < 0)
		return wp_err_sys(err, r, "cannot set the receive buffer");
	if (plan->busy_poll_us > 0) {
		r = set_int(s->fd, SOL_SOCKET, SO_BUSY_POLL, (int)plan->busy_poll_us);
		if (r < 0)
			return wp_err_sys(err, r, "cannot busy-poll for %u us", plan->busy_poll_us);
	}
	if (plan->gro) {
		r = set_int(s->fd, IPPROTO_UDP, UDP_GRO, 1);
		if (r < 0)
			return wp_err_sys(err, r, "cannot receive merged datagrams (UDP_GRO)");
	}
	return udp_receive_open(s, err);
}

/* A segment must fit into a packet of the route; the kernel would refuse each send with EINVAL. */
static int check_segments(int fd, int domain, const struct wp_plan *plan, struct wp_err *err)
{
	int mtu = domain == AF_INET6 ? get_int(fd, IPPROTO_IPV6, IPV6_MTU) : -1;
	int headers = mtu > 0 ? IP6_UDP_BYTES : IP4_UDP_BYTES;

	if (mtu <= 0)
		mtu = get_int(fd, IPPROTO_IP, IP_MTU);
	/* Not known for a socket that is not connected. */
	if (mtu <= 0 || plan->length_bytes + (uint64_t)headers <= (uint64_t)mtu)
		return 0;
	return wp_err_set(
		err, -EMSGSIZE,
		"with --gso a datagram must fit into a packet: at most %d bytes (-l) of an MTU of %d",
		mtu - headers, mtu);
}

static int open_sender(struct wp_stream *s, const struct wp_plan *plan, int domain,
		       struct wp_err *err)
{
	int r = 0;

	if (domain == AF_INET6)
		r = set_int(s->fd, IPPROTO_IPV6, IPV6_RECVERR, 1);
	/* On IPv6 sockets for IPv4-mapped addresses. */
	if (r == 0)
		r = set_int(s->fd, IPPROTO_IP, IP_RECVERR, 1);
	if (r < 0 && domain != AF_INET6)
		return wp_err_sys(err, r, "cannot ask for errors (IP_RECVERR)");
	if (!plan->gso)
		return 0;
	r = check_segments(s->fd, domain, plan, err);
	if (r == 0) {
		r = set_int(s->fd, IPPROTO_UDP, UDP_SEGMENT, (int)plan->length_bytes);
		if (r < 0)
			return wp_err_sys(err, r, "cannot send segmented datagrams (UDP_SEGMENT)");
	}
	return r;
}

int udp_open(struct wp_stream *s, const struct wp_plan *plan, struct wp_err *err)
{
	int type = get_int(s->fd, SOL_SOCKET, SO_TYPE), domain;

	if (type < 0)
		return wp_err_sys(err, type, "stream %u", s->index + 1);
	domain = get_int(s->fd, SOL_SOCKET, SO_DOMAIN);
	if (type != SOCK_DGRAM || (domain != AF_INET && domain != AF_INET6))
		return wp_err_set(err, -EPROTOTYPE, "stream %u is not a UDP socket", s->index + 1);
	if (s->role == WP_STREAM_RECEIVES)
		return open_receiver(s, plan, err);
	return open_sender(s, plan, domain, err);
}

int udp_drain_errors(int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct sock_extended_err) +
				      sizeof(struct sockaddr_in6))];
	} control;
	char payload[1];
	struct iovec iov = { payload, sizeof(payload) };
	int newest = 0;

	for (int i = 0; i < DRAIN_MAX; i++) {
		struct msghdr m = { .msg_iov = &iov,
				    .msg_iovlen = 1,
				    .msg_control = control.bytes,
				    .msg_controllen = sizeof(control.bytes) };

		if (recvmsg(fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			break;
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
			struct sock_extended_err e;

			if (c->cmsg_len < CMSG_LEN(sizeof(e)))
				continue;
			memcpy(&e, CMSG_DATA(c), sizeof(e));
			if (e.ee_origin == SO_EE_ORIGIN_ICMP || e.ee_origin == SO_EE_ORIGIN_ICMP6)
				newest = (int)e.ee_errno;
		}
	}
	return newest;
}

static int read_meminfo(int fd, uint32_t ret[static SK_MEMINFO_VARS])
{
	socklen_t len = SK_MEMINFO_VARS * sizeof(uint32_t);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, ret, &len) < 0)
		return -errno;
	return len < SK_MEMINFO_VARS * sizeof(uint32_t) ? -EOPNOTSUPP : 0;
}

int udp_read_drops(int fd, uint32_t *ret)
{
	uint32_t info[SK_MEMINFO_VARS];
	int r = read_meminfo(fd, info);

	if (r == 0)
		*ret = info[SK_MEMINFO_DROPS];
	return r;
}

bool udp_receive_buffer_is_ample(int fd)
{
	return get_int(fd, SOL_SOCKET, SO_RCVBUF) >= AMPLE_BYTES;
}

bool udp_send_buffer_full(int fd)
{
	uint32_t info[SK_MEMINFO_VARS];

	/* The kernel refuses when all is taken; some of it may have been given back since. */
	return read_meminfo(fd, info) == 0 &&
	       info[SK_MEMINFO_WMEM_ALLOC] >= info[SK_MEMINFO_SNDBUF] / 4 * 3;
}
