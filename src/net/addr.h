/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * addr.h - host names, addresses and ports: from what people type to socket addresses and back.
 *
 * Everything is the caller's plain storage. Errors are one sentence each ("cannot find host 'foo':
 * Name or service not known").
 *
 *	struct wp_addr a[WP_ADDR_MAX];
 *	size_t n;
 *	r = wp_addr_resolve("fd97::1", 5201, AF_UNSPEC, 5 * WP_NS_PER_S, a, &n, err);
 */
#ifndef WP_NET_ADDR_H
#define WP_NET_ADDR_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

#define WP_HOST_MAX 256 /* a DNS name has at most 253 characters; with the NUL */
#define WP_ADDR_MAX 16  /* addresses of one name that are tried */
/* "[ipv6%interface]:65535" and the NUL: 46 + 1 + 15 + 9. */
#define WP_ADDR_TEXT 72

struct wp_addr {
	union {
		struct sockaddr sa;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_storage storage;
	};
	socklen_t len;
};

/* Splits "host", "host:port", "[v6]", "[v6]:port", "v6" (more than one colon, no brackets) into
 * `host` and `ret_port` (`default_port` when there is none). -EINVAL with a sentence. */
int wp_host_split(const char *text, uint16_t default_port, char host[static WP_HOST_MAX],
		  uint16_t *ret_port, struct wp_err *err) WP_MUST_USE;

/*
 * The addresses of a name or literal address (IPv6 with or without brackets, scope after '%'), in
 * the order to try them. `family` AF_UNSPEC, AF_INET or AF_INET6. Literals never block; a name is
 * looked up by a helper thread in the caller's network namespace and given up after `timeout_ns`
 * (0 = wait as long as the resolver does). -ENOENT: no such host; -ETIMEDOUT; -EAFNOSUPPORT: has no
 * address of that family; -EINVAL: not a name.
 */
int wp_addr_resolve(const char *host, uint16_t port, int family, int64_t timeout_ns,
		    struct wp_addr ret[static WP_ADDR_MAX], size_t *ret_n,
		    struct wp_err *err) WP_MUST_USE;

uint16_t wp_addr_port(const struct wp_addr *a);
void wp_addr_set_port(struct wp_addr *a, uint16_t port);
/* Same machine address, whatever the ports; an IPv4 address equals its IPv4-mapped IPv6 form. */
bool wp_addr_same_host(const struct wp_addr *a, const struct wp_addr *b);
/* An IPv4-mapped IPv6 address becomes the IPv4 one; others stay. */
void wp_addr_unmap(struct wp_addr *a);
bool wp_addr_is_loopback(const struct wp_addr *a);

/* "10.97.0.1:43210", "[fd97::1]:5201", "[fe80::1%eth0]:1"; IPv4-mapped addresses as IPv4; without
 * the port as people type a host. Other families give "-". */
void wp_addr_format(const struct wp_addr *a, char out[static WP_ADDR_TEXT]);
void wp_addr_format_host(const struct wp_addr *a, char out[static WP_ADDR_TEXT]);

/* Of a socket; 0 or -errno. */
int wp_addr_local(int fd, struct wp_addr *ret) WP_MUST_USE;
int wp_addr_remote(int fd, struct wp_addr *ret) WP_MUST_USE;

#endif
