/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any line as a message, from both sides, in every state; a plan that is accepted survives the
 * way back. */
#include <stdlib.h>
#include <string.h>

#include "peer/limits.h"
#include "peer/message.h"
#include "peer/proto.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void plan_again(const struct wp_plan *plan)
{
	struct wp_pool pool = WP_POOL(1 << 16);
	json_t *message = wp_message_test(plan);
	struct wp_plan again;

	/* A text that is no UTF-8 can't come out of the JSON parser, so only memory may fail. */
	if (!message || wp_test_from(message, &again, &pool, NULL) < 0 ||
	    again.streams != plan->streams || again.rate_bps != plan->rate_bps ||
	    again.peer_cpus.n != plan->peer_cpus.n)
		abort();
	wp_cpulist_done(&again.peer_cpus);
	json_decref(message);
	wp_pool_done(&pool);
}

static void take(enum wp_message id, const json_t *message)
{
	struct wp_pool pool = WP_POOL(1 << 16);
	uint8_t token[WP_TOKEN_BYTES];
	uint16_t port;
	struct wp_hello hello;
	struct wp_plan plan;
	char says[200];

	if (id == WP_MSG_HELLO)
		wp_hello_from(message, &hello);
	else if (id == WP_MSG_ACCEPT)
		(void)!wp_accept_from(message, token, &port, NULL);
	else if (id == WP_MSG_ERROR)
		wp_error_from(message, says, sizeof(says));
	else if (id == WP_MSG_TEST && wp_test_from(message, &plan, &pool, NULL) == 0) {
		plan_again(&plan);
		wp_cpulist_done(&plan.peer_cpus);
	}
	wp_pool_done(&pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wp_err err = { 0 };
	json_t *message;
	enum wp_message id;

	if (wp_message_decode((const char *)data, size, WP_PEER_REQUEST_VALUES, &message, &err) <
	    0) {
		if (!err.msg[0])
			abort();
		return 0;
	}
	for (int side = 0; side < 2; side++)
		for (int talk = 0; talk < WP_TALK_N; talk++) {
			struct wp_err why = { 0 };

			if (wp_message_check(message, (enum wp_side)side, (enum wp_talk)talk, &id,
					     &why) == 0)
				take(id, message);
			else if (!why.msg[0])
				abort();
		}
	json_decref(message);
	return 0;
}
