/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nl_route.h - by which interface packets to an address leave, as the kernel's routing says (`ip route get`). An address
 * of the machine itself is reached by lo, whichever interface has it.
 *
 * The answer is of the network namespace of the wp_nl (nl_link.h). Source: rtnetlink(7), RTM_GETROUTE.
 */
#ifndef WP_SYS_NL_ROUTE_H
#define WP_SYS_NL_ROUTE_H

#include "base/err.h"
#include "sys/nl_link.h"

/* `addr` is a struct in_addr or in6_addr, by `family`. -ENETUNREACH or -EHOSTUNREACH: no way there; -EAFNOSUPPORT. */
int wp_nl_route_ifindex(struct wp_nl *nl, int family, const void *addr, int *ret,
			struct wp_err *err) WP_MUST_USE;

#endif
