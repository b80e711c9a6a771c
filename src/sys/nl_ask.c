/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sys/nl_ask.h"

#include <errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

void wp_nl_msg_free_p(struct nl_msg **msg)
{
	if (*msg)
		nlmsg_free(*msg);
}

static void put_cb(struct nl_cb **c)
{
	if (*c)
		nl_cb_put(*c);
}

/* The kernel's errno: libnl has one word for many of them. */
static int on_error(struct sockaddr_nl *from, struct nlmsgerr *e, void *arg)
{
	int *error = arg;

	(void)from;
	*error = e->error;
	return NL_STOP;
}

struct nl_msg *wp_nl_question(int type, int flags, const void *head, size_t head_bytes)
{
	struct nl_msg *msg = nlmsg_alloc_simple(type, flags);

	if (msg && nlmsg_append(msg, (void *)(uintptr_t)head, head_bytes, NLMSG_ALIGNTO) < 0) {
		nlmsg_free(msg);
		return NULL;
	}
	return msg;
}

int wp_nl_ask(struct wp_nl *nl, struct nl_msg *msg, wp_nl_answer *on, void *arg)
{
	WP_CLEANUP(put_cb) struct nl_cb *cb = nl_cb_alloc(NL_CB_DEFAULT);
	int error = 0, r;

	if (!msg || !cb)
		return -ENOMEM;
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on, arg);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, &error);
	r = nl_send_auto(nl->sock, msg);
	if (r >= 0)
		r = nl_recvmsgs(nl->sock, cb);
	if (r >= 0 && !error && !(nlmsg_hdr(msg)->nlmsg_flags & NLM_F_DUMP))
		r = nl_wait_for_ack(nl->sock);
	if (error)
		return error;
	return r < 0 ? wp_nl_errno(r) : 0;
}
