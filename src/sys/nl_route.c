/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/nl_route.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <string.h>

#include "base/cleanup.h"
#include "sys/nl_ask.h"

/* The interface that the answer names; 0 = none. */
static int on_route(struct nl_msg *msg, void *arg)
{
	int *ifindex = arg;
	struct nlattr *oif;

	if (nlmsg_hdr(msg)->nlmsg_type != RTM_NEWROUTE)
		return NL_OK;
	oif = nlmsg_find_attr(nlmsg_hdr(msg), sizeof(struct rtmsg), RTA_OIF);
	if (oif && nla_len(oif) == sizeof(uint32_t))
		*ifindex = (int)nla_get_u32(oif);
	return NL_OK;
}

int wp_nl_route_ifindex(struct wp_nl *nl, int family, const void *addr, int *ret,
			struct wp_err *err)
{
	int bytes = family == AF_INET ? 4 : 16, ifindex = 0, r;
	struct rtmsg ask = { .rtm_family = (unsigned char)family,
			     .rtm_dst_len = (unsigned char)(bytes * 8) };
	_cleanup_nl_msg_ struct nl_msg *msg =
		wp_nl_question(RTM_GETROUTE, NLM_F_REQUEST, &ask, sizeof(ask));

	if (family != AF_INET && family != AF_INET6)
		return wp_err_sys(err, -EAFNOSUPPORT, "no route to an address of that family");
	if (!msg || nla_put(msg, RTA_DST, bytes, addr) < 0)
		return wp_err_sys(err, -ENOMEM, "cannot ask for the route");
	r = wp_nl_ask(nl, msg, on_route, &ifindex);
	if (!r && !ifindex)
		r = -ENETUNREACH;
	if (r)
		return wp_err_sys(err, r, "there is no route to the other end");
	*ret = ifindex;
	return 0;
}
