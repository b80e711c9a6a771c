/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nl_link.h - interfaces through rtnetlink: list them, read their counters, make a veth pair, give
 * addresses.
 *
 * A struct wp_nl is a route socket of the network namespace in which its opener was; it keeps to
 * that namespace whatever thread uses it later. One thread at a time. The caller owns everything
 * returned. Errors are negative errno with a sentence; -ENODEV: no interface of that name.
 *
 *	struct wp_nl nl;
 *	struct rtnl_link_stats64 st;
 *	r = wp_nl_open(&nl, err);
 *	r = wp_nl_link_stats(&nl, "eth0", &st, err);
 *	wp_nl_done(&nl);
 *
 * Sources: rtnetlink(7), linux/if_link.h, Documentation/networking/statistics.rst.
 */
#ifndef WP_SYS_NL_LINK_H
#define WP_SYS_NL_LINK_H

#include <linux/if_link.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct nl_sock;

struct wp_nl {
	struct nl_sock *sock;
};

#define WP_NL_OPER_UP    6 /* IF_OPER_UP; linux/if.h does not go with net/if.h */
#define WP_NL_KIND_SIZE  16
#define WP_NL_ALIAS_SIZE 256   /* IFALIASZ */
#define WP_NL_LINKS_MAX  65536 /* more interfaces than any host or router has been seen with */
#define WP_NL_ADDRS_MAX  65536

struct wp_nl_link {
	int ifindex;
	char name[IF_NAMESIZE];
	char kind[WP_NL_KIND_SIZE]; /* "veth", "bridge", "tun"...; "" for hardware and lo */
	char alias[WP_NL_ALIAS_SIZE];
	uint32_t mtu_bytes;
	uint32_t flags;    /* IFF_*: IFF_UP = administratively up, IFF_LOOPBACK... */
	uint8_t operstate; /* IF_OPER_* of linux/if.h; WP_NL_OPER_UP... */
	bool carrier;
	bool has_carrier_changes; /* 3.15 */
	uint32_t carrier_changes; /* times that the carrier came or went */
	uint8_t mac[6];
	bool has_mac;
	int lower_ifindex; /* the other end of a veth (maybe in another namespace), the device under
			      a VLAN; 0 = none */
	int master_ifindex; /* bridge, bond, VRF; 0 = none */
	uint32_t tx_queues, rx_queues;
};

struct wp_nl_links {
	struct wp_nl_link *v; /* owned */
	size_t n;
};

struct wp_nl_addr {
	int ifindex;
	int family;       /* AF_INET or AF_INET6 */
	uint8_t addr[16]; /* network order; 4 bytes for AF_INET */
	uint8_t prefix_len;
	char text[INET6_ADDRSTRLEN + 4]; /* "10.97.0.1/24" */
	bool tentative; /* IPv6 duplicate address detection is still going on, or failed */
};

struct wp_nl_addrs {
	struct wp_nl_addr *v; /* owned */
	size_t n;
};

/* Both accept a zeroed or NULL struct in _done. */
int wp_nl_open(struct wp_nl *ret, struct wp_err *err) WP_MUST_USE;
int wp_nl_open_in(int netns_fd, struct wp_nl *ret,
		  struct wp_err *err) WP_MUST_USE; /* from outside */
void wp_nl_done(struct wp_nl *nl);
#define _cleanup_nl_ __attribute__((cleanup(wp_nl_done)))

int wp_nl_link_get(struct wp_nl *nl, const char *name, struct wp_nl_link *ret,
		   struct wp_err *err) WP_MUST_USE;
int wp_nl_link_get_by_index(struct wp_nl *nl, int ifindex, struct wp_nl_link *ret,
			    struct wp_err *err) WP_MUST_USE;
int wp_nl_link_list(struct wp_nl *nl, struct wp_nl_links *ret, struct wp_err *err) WP_MUST_USE;
void wp_nl_links_done(struct wp_nl_links *l);
#define _cleanup_nl_links_ __attribute__((cleanup(wp_nl_links_done)))

int wp_nl_addr_list(struct wp_nl *nl, struct wp_nl_addrs *ret, struct wp_err *err) WP_MUST_USE;
void wp_nl_addrs_done(struct wp_nl_addrs *a);
#define _cleanup_nl_addrs_ __attribute__((cleanup(wp_nl_addrs_done)))

/* All counters of one interface as the kernel keeps them; fields that this kernel does not know are
 * 0. By index it is one message each way (RTM_GETSTATS, Linux 4.7), cheap enough for a sampler. */
int wp_nl_link_stats(struct wp_nl *nl, const char *name, struct rtnl_link_stats64 *ret,
		     struct wp_err *err) WP_MUST_USE;
int wp_nl_link_stats_by_index(struct wp_nl *nl, int ifindex, struct rtnl_link_stats64 *ret,
			      struct wp_err *err) WP_MUST_USE;

struct wp_nl_veth {
	const char *name;      /* made in the socket's namespace */
	const char *peer_name; /* made in peer_netns_fd */
	int peer_netns_fd;     /* -1 = the same namespace */
	uint32_t mtu_bytes;    /* of both; 0 = 1500 */
	uint32_t queues;       /* transmit and receive queues of both; 0 = the kernel's choice */
};

int wp_nl_veth_add(struct wp_nl *nl, const struct wp_nl_veth *v, struct wp_err *err) WP_MUST_USE;
int wp_nl_link_del(struct wp_nl *nl, int ifindex, struct wp_err *err) WP_MUST_USE;
int wp_nl_link_set_up(struct wp_nl *nl, int ifindex, bool up, struct wp_err *err) WP_MUST_USE;
int wp_nl_link_set_mtu(struct wp_nl *nl, int ifindex, uint32_t mtu_bytes,
		       struct wp_err *err) WP_MUST_USE;
int wp_nl_link_set_alias(struct wp_nl *nl, int ifindex, const char *alias,
			 struct wp_err *err) WP_MUST_USE;
/* No ARP and no neighbour discovery (IFF_NOARP): neighbours are those of wp_nl_neigh_add(). IPv6
 * addresses added later then join no solicited-node group either, so that no MLD report is sent. */
int wp_nl_link_set_noarp(struct wp_nl *nl, int ifindex, struct wp_err *err) WP_MUST_USE;
/* No link-local IPv6 address, hence no router solicitations and no duplicate detection in the
 * middle of a test. */
int wp_nl_link_set_no_linklocal(struct wp_nl *nl, int ifindex, struct wp_err *err) WP_MUST_USE;

/* `addr` is "10.97.0.1/24" or "fd97::1/64"; IPv6 without duplicate address detection, so that it is
 * usable at once. */
int wp_nl_addr_add(struct wp_nl *nl, int ifindex, const char *addr, struct wp_err *err) WP_MUST_USE;
/* A permanent neighbour entry: `addr` without a prefix length. */
int wp_nl_neigh_add(struct wp_nl *nl, int ifindex, const char *addr, const uint8_t mac[static 6],
		    struct wp_err *err) WP_MUST_USE;

/* The payload of one RTM_NEWSTATS message (behind the netlink header) to counters. Pure. -EBADMSG.
 */
int wp_nl_parse_stats(const void *data, size_t len, int ifindex,
		      struct rtnl_link_stats64 *ret) WP_MUST_USE;

/* libnl's numbers fold the kernel's errno: back to a negative one. */
int wp_nl_errno(int nl_error);

#endif
