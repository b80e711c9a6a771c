/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nl_ask.h - one question to rtnetlink and its answers, for the readers of this floor that libnl-route has no call for.
 *
 *	_cleanup_nl_msg_ struct nl_msg *msg = wp_nl_question(RTM_GETSTATS, 0, &ask, sizeof(ask));
 *	r = wp_nl_ask(nl, msg, on_answer, &reply);
 */
#ifndef WP_SYS_NL_ASK_H
#define WP_SYS_NL_ASK_H

#include <stddef.h>

#include "base/cleanup.h"
#include "sys/nl_link.h"

struct nl_msg;

/* Returns an enum nl_cb_action (NL_OK). */
typedef int wp_nl_answer(struct nl_msg *msg, void *arg);

void wp_nl_msg_free_p(struct nl_msg **msg);
#define _cleanup_nl_msg_ WP_CLEANUP(wp_nl_msg_free_p)

/* A message that begins with the family's own header; NULL when memory is short. The caller's. */
struct nl_msg *wp_nl_question(int type, int flags, const void *head, size_t head_bytes);
/* Sends it and calls `on` for each answer. 0, or a negative errno: the kernel's own, or -ENOMEM also for a message that is
 * NULL. With NLM_F_DUMP the answers end with the list, else with the acknowledgement. */
int wp_nl_ask(struct wp_nl *nl, struct nl_msg *msg, wp_nl_answer *on, void *arg) WP_MUST_USE;

#endif
