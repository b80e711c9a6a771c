/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * proto.h - the messages of the native control protocol, version 1, and what is legal when. Pure.
 *
 *	client                                server
 *	hello{protocol, version, boot, caps}  ->
 *	                                      <-  hello{..., limits}
 *	test{plan}                            ->
 *	                                      <-  accept{token} or error{says}
 *	data connections, a preamble each     ->
 *	                                      <-  ready        all are there, the load is set up
 *	start                                 ->
 *	                                      <-  started      and both go
 *	pong                                  <-  ping         every two seconds
 *	stop (to end early)                   ->
 *	                                      <-  done         the server's senders are done (reverse)
 *	finish                                ->               the client's end is complete
 *	                                      <-  result{host, flows, warnings}
 *
 * error{says} may come from either side at any time and ends the test; a server that shuts down
 * sends the result of what was measured after it. One test a connection. Unknown keys are ignored,
 * so that later versions may add some; unknown messages are refused.
 *
 * A message is a row of wp_messages[]: who may send it, in which states of the receiver, and its
 * keys with types and bounds. wp_message_check() is the only place that compares a message with
 * them; handlers take keys without checking again.
 */
#ifndef WP_PEER_PROTO_H
#define WP_PEER_PROTO_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/pool.h"
#include "model/plan.h"
#include "peer/preamble.h"

#define WP_PROTOCOL_VERSION 1

enum wp_message {
	WP_MSG_HELLO,
	WP_MSG_TEST,
	WP_MSG_ACCEPT,
	WP_MSG_READY,
	WP_MSG_START,
	WP_MSG_STARTED,
	WP_MSG_PING,
	WP_MSG_PONG,
	WP_MSG_STOP,
	WP_MSG_DONE,
	WP_MSG_FINISH,
	WP_MSG_RESULT,
	WP_MSG_ERROR,
	WP_MSG_N,
};

enum wp_side {
	WP_CLIENT,
	WP_SERVER,
};

/* What the receiver of a message waits for; both ends walk through the same states. */
enum wp_talk {
	WP_TALK_HELLO,   /* the other end's hello */
	WP_TALK_TEST,    /* server: a test; client: its accept */
	WP_TALK_CONNECT, /* data connections; client: ready */
	WP_TALK_READY,   /* server: start; client: started */
	WP_TALK_RUN,     /* the test goes on */
	WP_TALK_FINISH,  /* client: the result */
	WP_TALK_OVER,    /* nothing */
	WP_TALK_N,
};

struct wp_message_key {
	const char *name;
	json_type type; /* JSON_TRUE stands for a boolean */
	bool required;
	int64_t min, max; /* inclusive: an integer's value; a string's bytes; an array's items */
};

struct wp_message_row {
	const char *name;
	unsigned from;  /* bits 1 << enum wp_side */
	unsigned talks; /* bits 1 << enum wp_talk, of the receiver */
	const struct wp_message_key *keys;
	size_t n_keys;
};

extern const struct wp_message_row wp_messages[WP_MSG_N];
const char *wp_talk_name(enum wp_talk talk);

/* Which message this is, from `from` to a receiver in `talk`; all its keys are as the table says.
 * -EBADMSG (not a message, or keys) or -EPROTO (not now, not from that side) with a sentence. */
int wp_message_check(const json_t *message, enum wp_side from, enum wp_talk talk,
		     enum wp_message *ret, struct wp_err *err) WP_MUST_USE;
/* The same check for any object: `what` names it in sentences. */
int wp_keys_check(const json_t *object, const struct wp_message_key *keys, size_t n,
		  const char *what, struct wp_err *err) WP_MUST_USE;
/* Checks the table itself. For the table test. */
int wp_messages_table_check(struct wp_err *err) WP_MUST_USE;

/* What handlers are called with: checked messages only. */
typedef int wp_message_handler(void *arg, const json_t *message, struct wp_err *err);
/* The one dispatcher: checks and calls handlers[message]; -EPROTO where that is NULL. */
int wp_message_dispatch(const json_t *message, enum wp_side from, enum wp_talk talk,
			wp_message_handler *const handlers[static WP_MSG_N], void *arg,
			struct wp_err *err) WP_MUST_USE;

/* Constructors: new references, NULL when memory is short. */
json_t *wp_message_new(enum wp_message message);
json_t *wp_message_error(const char *says);

struct wp_hello {
	int protocol;
	char version[65];
	char boot[65];  /* hash of the boot id: equal on one machine; "" = unknown */
	unsigned kinds; /* caps: bit i is wp_engines[i], a kind of test that both ends know */
	bool limited;   /* the next three were there: a server's */
	int64_t max_duration_ns;               /* 0 = none */
	uint64_t max_rate_bps;                 /* of a stream; 0 = none */
	unsigned max_streams, max_connections; /* of a request/response test */
};

json_t *wp_message_hello(const struct wp_hello *hello);
void wp_hello_from(const json_t *message, struct wp_hello *ret);
/* The kinds of test that this version can run with another end, by the table of engines. */
unsigned wp_hello_kinds(void);
bool wp_hello_knows(const struct wp_hello *hello, const char *kind);
/* SHA-256 of the text, 32 hexadecimal digits of it. */
void wp_boot_hash(const char *boot_id, char out[static 65]);

/* data_port: where connections of a test that makes one for each transaction go; 0 = none. */
json_t *wp_message_accept(const uint8_t token[static WP_TOKEN_BYTES], uint16_t data_port);
int wp_accept_from(const json_t *message, uint8_t ret_token[static WP_TOKEN_BYTES],
		   uint16_t *ret_data_port, struct wp_err *err) WP_MUST_USE;

/* test{plan}. The plan's peer_cpus travel as "cpus": the server's. cpus, bind_host and family stay
 * at home. */
json_t *wp_message_test(const struct wp_plan *plan);
/* Strings go to `pool`; ret->peer_cpus are the server's own CPUs, freed with
 * wp_cpulist_done(). Bounds and combinations by wp_plan_check(). -EINVAL. */
int wp_test_from(const json_t *message, struct wp_plan *ret, struct wp_pool *pool,
		 struct wp_err *err) WP_MUST_USE;

/* The sentence of an error, cleaned for a terminal. */
void wp_error_from(const json_t *message, char *out, size_t size);

/* Connections of a plan, one a stream and direction: forward ones first, then reverse ones. */
size_t wp_plan_connections(const struct wp_plan *plan);
/* Flows of its record: one a connection, but all of a request/response test are one flow. */
size_t wp_plan_flows(const struct wp_plan *plan);
/* What the given side does in connection `i`. */
enum wp_stream_role wp_plan_role(const struct wp_plan *plan, size_t i, enum wp_side side);
/* How much the sender of connection `i` sends; 0 = no limit. */
uint64_t wp_plan_connection_limit(const struct wp_plan *plan, size_t i);

#endif
