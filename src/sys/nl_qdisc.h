/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nl_qdisc.h - the queueing disciplines of an interface and their counters, through rtnetlink: what waits before the
 * device, and what left.
 *
 * The kernel lists the disciplines of all interfaces of the namespace; those of one are kept. "noqueue" is listed with
 * counters of 0 or not at all, as the kernel's version has it. A classful root counts what its classes count (mq), so
 * the root alone tells how much waits.
 *
 *	struct wp_nl_qdiscs q = { 0 };                 used again by the next reading
 *	r = wp_nl_qdisc_list(&nl, ifindex, &q, err);
 *	wp_nl_qdiscs_done(&q);
 *
 * Sources: rtnetlink(7), tc(8), include/uapi/linux/gen_stats.h, net/core/gen_stats.c.
 */
#ifndef WP_SYS_NL_QDISC_H
#define WP_SYS_NL_QDISC_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "sys/nl_link.h"

#define WP_NL_QDISC_KIND 16
#define WP_NL_QDISCS_MAX 1024 /* of one interface: one a transmit queue and their root */

struct wp_nl_qdisc {
	int ifindex;
	char kind[WP_NL_QDISC_KIND]; /* "fq_codel", "mq", "tbf", "noqueue" */
	uint32_t handle, parent;     /* parent 0xffffffff: the root */
	uint64_t sent_packets, sent_bytes;
	uint64_t drops, requeues, overlimits;
	uint64_t queued_packets, queued_bytes; /* waiting now */
};

struct wp_nl_qdiscs {
	struct wp_nl_qdisc *v; /* owned */
	size_t n, cap;
};

int wp_nl_qdisc_list(struct wp_nl *nl, int ifindex, struct wp_nl_qdiscs *ret,
		     struct wp_err *err) WP_MUST_USE;
void wp_nl_qdiscs_done(struct wp_nl_qdiscs *q);
/* The one at the root, or NULL: nothing waits there. */
const struct wp_nl_qdisc *wp_nl_qdisc_root(const struct wp_nl_qdiscs *q);

/* The payload of one RTM_NEWQDISC message (behind the netlink header). Pure. -EBADMSG. */
int wp_nl_parse_qdisc(const void *data, size_t len, struct wp_nl_qdisc *ret) WP_MUST_USE;

#endif
