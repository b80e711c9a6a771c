/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * udp.h - UDP sockets of a server that has one port for everybody: an unconnected one, where first
 * datagrams of strangers arrive, and a connected one for each peer on the same port, which from then
 * on gets all that this peer sends. Both sides of it share the port by SO_REUSEPORT, so that no other
 * user's process can bind it too.
 *
 *	wp_udp_listen(&tcp_listener_address, &fd, err);
 *	n = wp_udp_take(fd, first, WP_UDP_TAKE);
 *	... the bytes of first[i] are as they should be ...
 *	wp_udp_answer(fd, &first[i].to, &first[i].from, &peer_fd, err);
 *
 * Every socket is close-on-exec and nonblocking and belongs to the caller. Addresses that are
 * IPv4-mapped (a socket for both families) are given as IPv4, and the peer's socket is one.
 */
#ifndef WP_NET_UDP_H
#define WP_NET_UDP_H

#include "net/addr.h"

#define WP_UDP_FIRST_BYTES 64 /* kept of a first datagram */
#define WP_UDP_TAKE        64 /* at most, in one call */

struct wp_udp_first {
	struct wp_addr from, to; /* to: the local address it was sent to, with the socket's port */
	size_t len;              /* of the datagram, which may be longer than what is kept */
	uint8_t bytes[WP_UDP_FIRST_BYTES];
};

/* Binds to `local`; the IPv6 wildcard takes IPv4 too. -EADDRINUSE and so on with a sentence. */
int wp_udp_listen(const struct wp_addr *local, int *ret_fd, struct wp_err *err) WP_MUST_USE;
/* Makes a bound socket that was handed over fit for wp_udp_take() and wp_udp_answer(). When another
 * user made it, SO_REUSEPORT does not share the port with us, so SO_REUSEADDR is set too. */
int wp_udp_adopt(int fd, struct wp_err *err) WP_MUST_USE;
/* What is there, at most `n` <= WP_UDP_TAKE datagrams; never waits, errors of the network are
 * skipped. How many. */
size_t wp_udp_take(int fd, struct wp_udp_first *ret, size_t n);
/* A socket on the port of `listen_fd`, bound to the local address and connected to the peer. What
 * came from strangers before it was connected is thrown away. */
int wp_udp_answer(int listen_fd, const struct wp_addr *local, const struct wp_addr *remote,
		  int *ret_fd, struct wp_err *err) WP_MUST_USE;
/* Throws away at most `most` datagrams that are there. How many it were. */
unsigned wp_udp_drain(int fd, unsigned most);

#endif
