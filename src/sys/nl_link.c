/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/nl_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/cache.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/inet6.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/neighbour.h>
#include <netlink/socket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "sys/netns.h"
#include "sys/nl_ask.h"

#define STATS_FILTER_64 (1U << (IFLA_STATS_LINK_64 - 1))

static void put_link(struct rtnl_link **l)
{
	if (*l)
		rtnl_link_put(*l);
}

static void put_addr(struct rtnl_addr **a)
{
	if (*a)
		rtnl_addr_put(*a);
}

static void put_neigh(struct rtnl_neigh **n)
{
	if (*n)
		rtnl_neigh_put(*n);
}

static void put_nl_addr(struct nl_addr **a)
{
	if (*a)
		nl_addr_put(*a);
}

static void put_cache(struct nl_cache **c)
{
	if (*c)
		nl_cache_free(*c);
}

#define _cleanup_link_    WP_CLEANUP(put_link)
#define _cleanup_addr_    WP_CLEANUP(put_addr)
#define _cleanup_neigh_   WP_CLEANUP(put_neigh)
#define _cleanup_nl_addr_ WP_CLEANUP(put_nl_addr)
#define _cleanup_cache_   WP_CLEANUP(put_cache)

int wp_nl_errno(int nl_error)
{
	static const struct {
		int nl, sys;
	} map[] = {
		{ NLE_INTR, EINTR },
		{ NLE_BAD_SOCK, EBADF },
		{ NLE_AGAIN, EAGAIN },
		{ NLE_NOMEM, ENOMEM },
		{ NLE_EXIST, EEXIST },
		{ NLE_INVAL, EINVAL },
		{ NLE_RANGE, ERANGE },
		{ NLE_MSGSIZE, EMSGSIZE },
		{ NLE_OPNOTSUPP, EOPNOTSUPP },
		{ NLE_OBJ_NOTFOUND, ENOENT },
		{ NLE_AF_NOSUPPORT, EAFNOSUPPORT },
		{ NLE_NOADDR, EADDRNOTAVAIL },
		{ NLE_BUSY, EBUSY },
		{ NLE_NOACCESS, EACCES },
		{ NLE_PERM, EPERM },
		{ NLE_NODEV, ENODEV },
		{ NLE_MSG_TRUNC, EBADMSG },
		{ NLE_MSG_TOOSHORT, EBADMSG },
		{ NLE_PARSE_ERR, EBADMSG },
		{ NLE_DUMP_INTR, EAGAIN },
	};

	for (size_t i = 0; i < WP_ARRAY_SIZE(map); i++)
		if (map[i].nl == abs(nl_error))
			return -map[i].sys;
	return -EIO;
}

#define FAIL(err, r, ...) wp_err_sys(err, wp_nl_errno(r), __VA_ARGS__)

int wp_nl_open(struct wp_nl *ret, struct wp_err *err)
{
	struct nl_sock *sock = nl_socket_alloc();
	int r;

	if (!sock)
		return wp_err_sys(err, -ENOMEM, "cannot make a netlink socket");
	r = nl_connect(sock, NETLINK_ROUTE);
	if (r < 0) {
		nl_socket_free(sock);
		return FAIL(err, r, "cannot open a netlink route socket");
	}
	nl_socket_enable_msg_peek(sock);
	ret->sock = sock;
	return 0;
}

struct open_in {
	struct wp_nl *nl;
	struct wp_err *err;
};

static int open_here(void *arg)
{
	struct open_in *o = arg;

	return wp_nl_open(o->nl, o->err);
}

int wp_nl_open_in(int netns_fd, struct wp_nl *ret, struct wp_err *err)
{
	struct open_in o = { .nl = ret, .err = err };
	int r = wp_netns_call(netns_fd, open_here, &o);

	return r ? wp_err_sys(err, r, "cannot enter the network namespace") : 0;
}

void wp_nl_done(struct wp_nl *nl)
{
	if (!nl || !nl->sock)
		return;
	nl_socket_free(nl->sock);
	nl->sock = NULL;
}

static void copy_text(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text ? text : "");
}

static void link_from(struct rtnl_link *l, struct wp_nl_link *out)
{
	struct nl_addr *mac = rtnl_link_get_addr(l);

	memset(out, 0, sizeof(*out));
	out->ifindex = rtnl_link_get_ifindex(l);
	copy_text(out->name, sizeof(out->name), rtnl_link_get_name(l));
	copy_text(out->kind, sizeof(out->kind), rtnl_link_get_type(l));
	copy_text(out->alias, sizeof(out->alias), rtnl_link_get_ifalias(l));
	out->mtu_bytes = rtnl_link_get_mtu(l);
	out->flags = rtnl_link_get_flags(l);
	out->operstate = rtnl_link_get_operstate(l);
	out->carrier = rtnl_link_get_carrier(l);
	out->has_carrier_changes = !rtnl_link_get_carrier_changes(l, &out->carrier_changes);
	out->lower_ifindex = rtnl_link_get_link(l);
	out->master_ifindex = rtnl_link_get_master(l);
	out->tx_queues = rtnl_link_get_num_tx_queues(l);
	out->rx_queues = rtnl_link_get_num_rx_queues(l);
	if (mac && nl_addr_get_len(mac) == sizeof(out->mac)) {
		memcpy(out->mac, nl_addr_get_binary_addr(mac), sizeof(out->mac));
		out->has_mac = true;
	}
}

int wp_nl_link_get(struct wp_nl *nl, const char *name, struct wp_nl_link *ret, struct wp_err *err)
{
	_cleanup_link_ struct rtnl_link *link = NULL;
	int r;

	if (!*name || strlen(name) >= IF_NAMESIZE)
		return wp_err_sys(err, -ENODEV, "cannot find interface '%.40s'", name);
	r = rtnl_link_get_kernel(nl->sock, 0, name, &link);
	if (r < 0)
		return FAIL(err, r, "cannot find interface '%s'", name);
	link_from(link, ret);
	return 0;
}

int wp_nl_link_get_by_index(struct wp_nl *nl, int ifindex, struct wp_nl_link *ret,
			    struct wp_err *err)
{
	_cleanup_link_ struct rtnl_link *link = NULL;
	int r;

	if (ifindex <= 0)
		return wp_err_sys(err, -ENODEV, "cannot find interface %d", ifindex);
	r = rtnl_link_get_kernel(nl->sock, ifindex, NULL, &link);
	if (r < 0)
		return FAIL(err, r, "cannot find interface %d", ifindex);
	link_from(link, ret);
	return 0;
}

int wp_nl_link_list(struct wp_nl *nl, struct wp_nl_links *ret, struct wp_err *err)
{
	_cleanup_cache_ struct nl_cache *cache = NULL;
	struct wp_nl_links l = { 0 };
	int r, n;

	r = rtnl_link_alloc_cache(nl->sock, AF_UNSPEC, &cache);
	if (r < 0)
		return FAIL(err, r, "cannot list the network interfaces");
	n = nl_cache_nitems(cache);
	if (n > WP_NL_LINKS_MAX)
		return wp_err_set(err, -E2BIG, "more than %d network interfaces", WP_NL_LINKS_MAX);
	l.v = calloc((size_t)n + 1, sizeof(*l.v));
	if (!l.v)
		return wp_err_sys(err, -ENOMEM, "cannot list the network interfaces");
	for (struct nl_object *o = nl_cache_get_first(cache); o; o = nl_cache_get_next(o))
		link_from((struct rtnl_link *)o, &l.v[l.n++]);
	*ret = l;
	return 0;
}

void wp_nl_links_done(struct wp_nl_links *l)
{
	if (!l)
		return;
	free(l->v);
	*l = (struct wp_nl_links) { 0 };
}

static void addr_from(struct rtnl_addr *a, struct wp_nl_addr *out)
{
	struct nl_addr *local = rtnl_addr_get_local(a);
	char text[INET6_ADDRSTRLEN];
	size_t len;

	memset(out, 0, sizeof(*out));
	out->ifindex = rtnl_addr_get_ifindex(a);
	out->family = rtnl_addr_get_family(a);
	out->prefix_len = (uint8_t)rtnl_addr_get_prefixlen(a);
	out->tentative = rtnl_addr_get_flags(a) & (IFA_F_TENTATIVE | IFA_F_DADFAILED);
	if (!local)
		return;
	len = nl_addr_get_len(local);
	memcpy(out->addr, nl_addr_get_binary_addr(local),
	       len <= sizeof(out->addr) ? len : sizeof(out->addr));
	if (inet_ntop(out->family, out->addr, text, sizeof(text)))
		snprintf(out->text, sizeof(out->text), "%s/%u", text, out->prefix_len);
}

int wp_nl_addr_list(struct wp_nl *nl, struct wp_nl_addrs *ret, struct wp_err *err)
{
	_cleanup_cache_ struct nl_cache *cache = NULL;
	struct wp_nl_addrs l = { 0 };
	int r, n;

	r = rtnl_addr_alloc_cache(nl->sock, &cache);
	if (r < 0)
		return FAIL(err, r, "cannot list the network addresses");
	n = nl_cache_nitems(cache);
	if (n > WP_NL_ADDRS_MAX)
		return wp_err_set(err, -E2BIG, "more than %d network addresses", WP_NL_ADDRS_MAX);
	l.v = calloc((size_t)n + 1, sizeof(*l.v));
	if (!l.v)
		return wp_err_sys(err, -ENOMEM, "cannot list the network addresses");
	for (struct nl_object *o = nl_cache_get_first(cache); o; o = nl_cache_get_next(o))
		addr_from((struct rtnl_addr *)o, &l.v[l.n++]);
	*ret = l;
	return 0;
}

void wp_nl_addrs_done(struct wp_nl_addrs *a)
{
	if (!a)
		return;
	free(a->v);
	*a = (struct wp_nl_addrs) { 0 };
}

int wp_nl_parse_stats(const void *data, size_t len, int ifindex, struct rtnl_link_stats64 *ret)
{
	struct rtnl_link_stats64 st = { 0 };
	struct if_stats_msg head;
	const struct nlattr *a;
	int rest;

	if (len < sizeof(head) || len > INT32_MAX)
		return -EBADMSG;
	memcpy(&head, data, sizeof(head));
	if (head.ifindex != (uint32_t)ifindex)
		return -EBADMSG;
	a = (const struct nlattr *)((const char *)data + NLMSG_ALIGN(sizeof(head)));
	rest = (int)(len - NLMSG_ALIGN(sizeof(head)));
	for (; nla_ok(a, rest); a = nla_next(a, &rest)) {
		size_t n = (size_t)nla_len(a);

		if (nla_type(a) != IFLA_STATS_LINK_64)
			continue;
		if (!n || n % sizeof(uint64_t))
			return -EBADMSG;
		/* A newer kernel sends more counters than we know, an older one fewer. */
		memcpy(&st, nla_data(a), n < sizeof(st) ? n : sizeof(st));
		*ret = st;
		return 0;
	}
	return -EBADMSG;
}

struct stats_reply {
	int ifindex;
	int result;
	struct rtnl_link_stats64 st;
};

static int on_stats(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *h = nlmsg_hdr(msg);
	struct stats_reply *reply = arg;

	if (h->nlmsg_type == RTM_NEWSTATS)
		reply->result = wp_nl_parse_stats(nlmsg_data(h), (size_t)nlmsg_datalen(h),
						  reply->ifindex, &reply->st);
	return NL_OK;
}

int wp_nl_link_stats_by_index(struct wp_nl *nl, int ifindex, struct rtnl_link_stats64 *ret,
			      struct wp_err *err)
{
	struct if_stats_msg ask = { .ifindex = (uint32_t)ifindex, .filter_mask = STATS_FILTER_64 };
	struct stats_reply reply = { .ifindex = ifindex, .result = -EBADMSG };
	_cleanup_nl_msg_ struct nl_msg *msg = wp_nl_question(RTM_GETSTATS, 0, &ask, sizeof(ask));
	int r = wp_nl_ask(nl, msg, on_stats, &reply);

	if (!r)
		r = reply.result;
	if (r)
		return wp_err_sys(err, r, "cannot read the counters of interface %d", ifindex);
	*ret = reply.st;
	return 0;
}

int wp_nl_link_stats(struct wp_nl *nl, const char *name, struct rtnl_link_stats64 *ret,
		     struct wp_err *err)
{
	struct wp_nl_link link;
	int r = wp_nl_link_get(nl, name, &link, err);

	return r ? r : wp_nl_link_stats_by_index(nl, link.ifindex, ret, err);
}

int wp_nl_veth_add(struct wp_nl *nl, const struct wp_nl_veth *v, struct wp_err *err)
{
	_cleanup_link_ struct rtnl_link *link = rtnl_link_veth_alloc();
	_cleanup_link_ struct rtnl_link *peer = NULL;
	int r;

	peer = link ? rtnl_link_veth_get_peer(link) : NULL;
	if (!peer)
		return wp_err_sys(err, -ENOMEM, "cannot make the veth pair %s, %s", v->name,
				  v->peer_name);
	rtnl_link_set_name(link, v->name);
	rtnl_link_set_name(peer, v->peer_name);
	if (v->peer_netns_fd >= 0)
		rtnl_link_set_ns_fd(peer, v->peer_netns_fd);
	if (v->mtu_bytes) {
		rtnl_link_set_mtu(link, v->mtu_bytes);
		rtnl_link_set_mtu(peer, v->mtu_bytes);
	}
	if (v->queues) {
		rtnl_link_set_num_tx_queues(link, v->queues);
		rtnl_link_set_num_rx_queues(link, v->queues);
		rtnl_link_set_num_tx_queues(peer, v->queues);
		rtnl_link_set_num_rx_queues(peer, v->queues);
	}
	r = rtnl_link_add(nl->sock, link, NLM_F_CREATE | NLM_F_EXCL);
	if (r < 0)
		return FAIL(err, r, "cannot make the veth pair %s, %s", v->name, v->peer_name);
	return 0;
}

int wp_nl_link_del(struct wp_nl *nl, int ifindex, struct wp_err *err)
{
	_cleanup_link_ struct rtnl_link *link = rtnl_link_alloc();
	int r;

	if (!link)
		return wp_err_sys(err, -ENOMEM, "cannot delete interface %d", ifindex);
	rtnl_link_set_ifindex(link, ifindex);
	r = rtnl_link_delete(nl->sock, link);
	return r < 0 ? FAIL(err, r, "cannot delete interface %d", ifindex) : 0;
}

/* Sends what `change` holds for the interface. */
static int change_link(struct wp_nl *nl, int ifindex, struct rtnl_link *change, const char *what,
		       struct wp_err *err)
{
	_cleanup_link_ struct rtnl_link *which = rtnl_link_alloc();
	int r;

	if (!which)
		return wp_err_sys(err, -ENOMEM, "cannot set the %s of interface %d", what, ifindex);
	rtnl_link_set_ifindex(which, ifindex);
	r = rtnl_link_change(nl->sock, which, change, 0);
	return r < 0 ? FAIL(err, r, "cannot set the %s of interface %d", what, ifindex) : 0;
}

static int change_flag(struct wp_nl *nl, int ifindex, unsigned flag, bool on, struct wp_err *err)
{
	_cleanup_link_ struct rtnl_link *change = rtnl_link_alloc();

	if (!change)
		return wp_err_sys(err, -ENOMEM, "cannot set the flags of interface %d", ifindex);
	if (on)
		rtnl_link_set_flags(change, flag);
	else
		rtnl_link_unset_flags(change, flag);
	return change_link(nl, ifindex, change, "flags", err);
}

int wp_nl_link_set_up(struct wp_nl *nl, int ifindex, bool up, struct wp_err *err)
{
	return change_flag(nl, ifindex, IFF_UP, up, err);
}

int wp_nl_link_set_noarp(struct wp_nl *nl, int ifindex, struct wp_err *err)
{
	return change_flag(nl, ifindex, IFF_NOARP, true, err);
}

int wp_nl_link_set_mtu(struct wp_nl *nl, int ifindex, uint32_t mtu_bytes, struct wp_err *err)
{
	_cleanup_link_ struct rtnl_link *change = rtnl_link_alloc();

	if (!change)
		return wp_err_sys(err, -ENOMEM, "cannot set the MTU of interface %d", ifindex);
	rtnl_link_set_mtu(change, mtu_bytes);
	return change_link(nl, ifindex, change, "MTU", err);
}

int wp_nl_link_set_alias(struct wp_nl *nl, int ifindex, const char *alias, struct wp_err *err)
{
	_cleanup_link_ struct rtnl_link *change = rtnl_link_alloc();

	if (!change)
		return wp_err_sys(err, -ENOMEM, "cannot set the alias of interface %d", ifindex);
	if (strlen(alias) >= WP_NL_ALIAS_SIZE)
		return wp_err_sys(err, -EINVAL, "cannot set the alias of interface %d", ifindex);
	rtnl_link_set_ifalias(change, alias);
	return change_link(nl, ifindex, change, "alias", err);
}

int wp_nl_link_set_no_linklocal(struct wp_nl *nl, int ifindex, struct wp_err *err)
{
	_cleanup_link_ struct rtnl_link *change = rtnl_link_alloc();
	int r;

	if (!change)
		return wp_err_sys(err, -ENOMEM, "cannot set the address mode of interface %d",
				  ifindex);
	r = rtnl_link_inet6_set_addr_gen_mode(change, IN6_ADDR_GEN_MODE_NONE);
	if (r < 0)
		return FAIL(err, r, "cannot set the address mode of interface %d", ifindex);
	return change_link(nl, ifindex, change, "address mode", err);
}

/* "10.97.0.1/24", "fd97::1/64", "10.97.0.1"; without a prefix length it is the whole address. NULL:
 * not an address. */
static struct nl_addr *addr_of(const char *text)
{
	char ip[INET6_ADDRSTRLEN];
	const char *slash = strchrnul(text, '/');
	size_t len = (size_t)(slash - text);
	int family = memchr(text, ':', len) ? AF_INET6 : AF_INET;
	size_t addr_len = family == AF_INET ? 4 : 16;
	uint64_t prefix_len = addr_len * 8;
	uint8_t bytes[16];
	struct nl_addr *a;

	if (len >= sizeof(ip))
		return NULL;
	memcpy(ip, text, len);
	ip[len] = '\0';
	if (inet_pton(family, ip, bytes) != 1)
		return NULL;
	if (*slash && (wp_parse_u64(slash + 1, &prefix_len) || prefix_len > addr_len * 8))
		return NULL;
	a = nl_addr_build(family, bytes, addr_len);
	if (a)
		nl_addr_set_prefixlen(a, (int)prefix_len);
	return a;
}

int wp_nl_addr_add(struct wp_nl *nl, int ifindex, const char *addr, struct wp_err *err)
{
	_cleanup_addr_ struct rtnl_addr *a = rtnl_addr_alloc();
	_cleanup_nl_addr_ struct nl_addr *local = addr_of(addr);
	int r;

	if (!a)
		return wp_err_sys(err, -ENOMEM, "cannot add address %s", addr);
	if (!local)
		return wp_err_sys(err, -EINVAL, "cannot add address '%s'", addr);
	rtnl_addr_set_ifindex(a, ifindex);
	r = rtnl_addr_set_local(a, local);
	if (r < 0)
		return FAIL(err, r, "cannot add address %s", addr);
	if (nl_addr_get_family(local) == AF_INET6)
		rtnl_addr_set_flags(a, IFA_F_NODAD);
	r = rtnl_addr_add(nl->sock, a, 0);
	return r < 0 ? FAIL(err, r, "cannot add address %s", addr) : 0;
}

int wp_nl_neigh_add(struct wp_nl *nl, int ifindex, const char *addr, const uint8_t mac[static 6],
		    struct wp_err *err)
{
	_cleanup_neigh_ struct rtnl_neigh *n = rtnl_neigh_alloc();
	_cleanup_nl_addr_ struct nl_addr *lladdr = nl_addr_build(AF_LLC, mac, 6);
	_cleanup_nl_addr_ struct nl_addr *dst = addr_of(addr);
	int r;

	if (!n || !lladdr)
		return wp_err_sys(err, -ENOMEM, "cannot add neighbour %s", addr);
	if (!dst)
		return wp_err_sys(err, -EINVAL, "cannot add neighbour '%s'", addr);
	rtnl_neigh_set_ifindex(n, ifindex);
	rtnl_neigh_set_lladdr(n, lladdr);
	rtnl_neigh_set_state(n, NUD_PERMANENT);
	r = rtnl_neigh_set_dst(n, dst);
	if (r >= 0)
		r = rtnl_neigh_add(nl->sock, n, NLM_F_CREATE | NLM_F_REPLACE);
	return r < 0 ? FAIL(err, r, "cannot add neighbour %s", addr) : 0;
}
