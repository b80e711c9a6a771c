/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/nl_qdisc.h"

#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sys/nl_ask.h"

/* Copies at most `size` bytes of an attribute: a newer kernel's struct is longer, an older one's shorter. */
static size_t copy_attr(const struct nlattr *a, void *out, size_t size)
{
	size_t n = (size_t)nla_len(a);

	if (n > size)
		n = size;
	memcpy(out, nla_data(a), n);
	return n;
}

/* The attributes within TCA_STATS2. */
static int parse_stats(const struct nlattr *nest, struct wp_nl_qdisc *q)
{
	const struct nlattr *a = nla_data(nest);
	int rest = nla_len(nest);
	uint64_t wide = 0;
	bool has_wide = false;

	for (; nla_ok(a, rest); a = nla_next(a, &rest)) {
		struct gnet_stats_basic basic = { 0 };
		struct gnet_stats_queue queue = { 0 };

		switch (nla_type(a)) {
		case TCA_STATS_BASIC:
			/* The kernel sends 8 + 4 bytes; the struct is padded to 16. */
			if (copy_attr(a, &basic, sizeof(basic)) <
			    offsetof(struct gnet_stats_basic, packets) + sizeof(basic.packets))
				return -EBADMSG;
			q->sent_bytes = basic.bytes;
			q->sent_packets = basic.packets;
			break;
		case TCA_STATS_PKT64:
			if (copy_attr(a, &wide, sizeof(wide)) < sizeof(wide))
				return -EBADMSG;
			has_wide = true;
			break;
		case TCA_STATS_QUEUE:
			if (copy_attr(a, &queue, sizeof(queue)) < sizeof(queue))
				return -EBADMSG;
			q->queued_packets = queue.qlen;
			q->queued_bytes = queue.backlog;
			q->drops = queue.drops;
			q->requeues = queue.requeues;
			q->overlimits = queue.overlimits;
			break;
		default:
			break;
		}
	}
	if (has_wide)
		q->sent_packets = wide;
	return 0;
}

int wp_nl_parse_qdisc(const void *data, size_t len, struct wp_nl_qdisc *ret)
{
	struct wp_nl_qdisc q = { 0 };
	const struct nlattr *a;
	struct tcmsg head;
	int rest, r;

	if (len < sizeof(head) || len > INT32_MAX)
		return -EBADMSG;
	memcpy(&head, data, sizeof(head));
	q.ifindex = head.tcm_ifindex;
	q.handle = head.tcm_handle;
	q.parent = head.tcm_parent;
	if (len < NLMSG_ALIGN(sizeof(head)))
		return -EBADMSG;
	a = (const struct nlattr *)((const char *)data + NLMSG_ALIGN(sizeof(head)));
	rest = (int)(len - NLMSG_ALIGN(sizeof(head)));
	for (; nla_ok(a, rest); a = nla_next(a, &rest)) {
		if (nla_type(a) == TCA_KIND)
			snprintf(q.kind, sizeof(q.kind), "%.*s", nla_len(a),
				 (const char *)nla_data(a));
		if (nla_type(a) == TCA_STATS2) {
			r = parse_stats(a, &q);
			if (r < 0)
				return r;
		}
	}
	if (!q.kind[0])
		return -EBADMSG;
	*ret = q;
	return 0;
}

struct reply {
	struct wp_nl_qdiscs *list;
	int ifindex;
	int status;
};

static int grow(struct wp_nl_qdiscs *l)
{
	size_t cap = l->cap ? 2 * l->cap : 8;
	void *v;

	if (l->n < l->cap)
		return 0;
	if (l->n >= WP_NL_QDISCS_MAX)
		return -E2BIG;
	v = realloc(l->v, cap * sizeof(*l->v));
	if (!v)
		return -ENOMEM;
	l->v = v;
	l->cap = cap;
	return 0;
}

static int on_qdisc(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *h = nlmsg_hdr(msg);
	struct reply *reply = arg;
	struct wp_nl_qdisc q;
	int r;

	if (h->nlmsg_type != RTM_NEWQDISC || reply->status < 0)
		return NL_OK;
	r = wp_nl_parse_qdisc(nlmsg_data(h), (size_t)nlmsg_datalen(h), &q);
	if (r == 0 && q.ifindex == reply->ifindex) {
		r = grow(reply->list);
		if (r == 0)
			reply->list->v[reply->list->n++] = q;
	}
	if (r < 0)
		reply->status = r;
	return NL_OK;
}

int wp_nl_qdisc_list(struct wp_nl *nl, int ifindex, struct wp_nl_qdiscs *ret, struct wp_err *err)
{
	struct tcmsg ask = { .tcm_family = AF_UNSPEC, .tcm_ifindex = ifindex };
	struct reply reply = { .list = ret, .ifindex = ifindex };
	_cleanup_nl_msg_ struct nl_msg *msg =
		wp_nl_question(RTM_GETQDISC, NLM_F_DUMP, &ask, sizeof(ask));
	int r;

	ret->n = 0;
	r = wp_nl_ask(nl, msg, on_qdisc, &reply);
	if (!r)
		r = reply.status;
	if (r)
		return wp_err_sys(err, r, "cannot list the queues of interface %d", ifindex);
	return 0;
}

const struct wp_nl_qdisc *wp_nl_qdisc_root(const struct wp_nl_qdiscs *q)
{
	for (size_t i = 0; i < q->n; i++)
		if (q->v[i].parent == TC_H_ROOT)
			return &q->v[i];
	return NULL;
}

void wp_nl_qdiscs_done(struct wp_nl_qdiscs *q)
{
	if (!q)
		return;
	free(q->v);
	*q = (struct wp_nl_qdiscs) { 0 };
}
