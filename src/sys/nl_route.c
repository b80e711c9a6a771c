/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/nl_route.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <string.h>

#include "base/cleanup.h"

struct reply {
	int ifindex; /* 0 = none told */
	int error;   /* the kernel's own answer: libnl has one word for all that have no way */
};

static int on_route(struct nl_msg *msg, void *arg)
{
	struct reply *reply = arg;
	struct nlattr *oif;

	if (nlmsg_hdr(msg)->nlmsg_type != RTM_NEWROUTE)
		return NL_OK;
	oif = nlmsg_find_attr(nlmsg_hdr(msg), sizeof(struct rtmsg), RTA_OIF);
	if (oif && nla_len(oif) == sizeof(uint32_t))
		reply->ifindex = (int)nla_get_u32(oif);
	return NL_OK;
}

static int on_error(struct sockaddr_nl *from, struct nlmsgerr *e, void *arg)
{
	struct reply *reply = arg;

	(void)from;
	reply->error = e->error;
	return NL_STOP;
}

static void put_msg(struct nl_msg **m)
{
	if (*m)
		nlmsg_free(*m);
}

static void put_cb(struct nl_cb **c)
{
	if (*c)
		nl_cb_put(*c);
}

int wp_nl_route_ifindex(struct wp_nl *nl, int family, const void *addr, int *ret,
			struct wp_err *err)
{
	int bytes = family == AF_INET ? 4 : 16, r;
	struct rtmsg ask = { .rtm_family = (unsigned char)family,
			     .rtm_dst_len = (unsigned char)(bytes * 8) };
	WP_CLEANUP(put_msg) struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETROUTE, NLM_F_REQUEST);
	WP_CLEANUP(put_cb) struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	struct reply reply = { 0 };

	if (family != AF_INET && family != AF_INET6)
		return wp_err_sys(err, -EAFNOSUPPORT, "no route to an address of that family");
	if (!msg || !cb || nlmsg_append(msg, &ask, sizeof(ask), NLMSG_ALIGNTO) < 0 ||
	    nla_put(msg, RTA_DST, bytes, addr) < 0)
		return wp_err_sys(err, -ENOMEM, "cannot ask for the route");
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_route, &reply);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, &reply);
	r = nl_send_auto(nl->sock, msg);
	if (r >= 0)
		r = nl_recvmsgs(nl->sock, cb);
	if (r >= 0 && !reply.error)
		r = nl_wait_for_ack(nl->sock);
	if (reply.error)
		return wp_err_sys(err, reply.error, "there is no route to the other end");
	if (r < 0)
		return wp_err_sys(err, wp_nl_errno(r), "cannot ask for the route");
	if (!reply.ifindex)
		return wp_err_sys(err, -ENETUNREACH, "there is no route to the other end");
	*ret = reply.ifindex;
	return 0;
}
