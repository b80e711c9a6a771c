/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * session.h - inside the server: what the accept loop (server.c, datagrams.c) and the session
 * threads (session.c, session_data.c, session_run.c) share.
 *
 * A session owns its control connection, its data connections and its thread. The accept loop finds
 * a session by token and adds data connections to it; everything marked "lock" is guarded by
 * server->lock, the rest of a session belongs to its thread. The accept loop joins and frees a
 * session when its thread says that it is over.
 */
#ifndef WP_PEER_SESSION_H
#define WP_PEER_SESSION_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "net/addr.h"
#include "net/udp.h"
#include "observe/endpoint.h"
#include "peer/channel.h"
#include "peer/datagrams.h"
#include "peer/proto.h"
#include "peer/server.h"

struct wp_session;

struct wp_server {
	const struct wp_server_config *config; /* borrowed; zeros replaced in the next ones */
	int64_t idle_timeout_ns;
	unsigned max_clients;
	bool keyed;
	struct wp_key key;
	struct wp_hello hello;         /* what every client is told */
	struct wp_pool pool;           /* the inventory's strings */
	struct wp_inventory inventory; /* of this machine, read once */
	int wake_fd;                   /* eventfd: readable once the server ends */
	int over_fd;                   /* eventfd: a session is over */
	pthread_mutex_t event_lock;
	pthread_mutex_t lock;
	struct wp_session *sessions; /* lock */
	unsigned n_greeting;         /* lock: sessions without a test; the others are clients */
	unsigned n_clients;          /* lock */
	bool served;                 /* lock: a test was accepted and is over */
	size_t n_fds;                /* lock: set aside for data connections */
	struct wp_datagrams datagrams;
};

struct wp_session {
	struct wp_server *server;
	struct wp_session *next; /* lock */
	pthread_t thread;
	bool over;                  /* lock */
	bool is_client;             /* lock: counted in n_clients, else in n_greeting */
	struct wp_addr from, local; /* of the control connection; not IPv4-mapped */
	char name[WP_ADDR_TEXT];
	enum wp_first_byte first;

	/* Data connections. */
	uint8_t token[WP_TOKEN_BYTES];  /* lock */
	bool collecting;                /* lock: they may be added */
	size_t n_there;                 /* lock */
	struct wp_stream_spec *streams; /* lock while collecting; an fd of -1 is not there yet */
	size_t n_streams;
	size_t n_fds;       /* lock: of the server's n_fds */
	uint16_t data_port; /* where a connection for each transaction goes; 0 = none */
	int arrived_fd;     /* eventfd */

	/* The thread's own. */
	struct wp_channel *c;
	enum wp_talk talk;
	struct wp_pool pool; /* the plan's strings */
	struct wp_plan plan;
	struct wp_end *end;
	bool has_plan, finish;
	bool told;        /* the client knows why the test ends */
	int64_t heard_ns; /* newest message of the client */
};

/* --- the accept loop's side --- */

/* Starts a session's thread on a control connection whose first byte is waiting. The fd is moved in
 * in any case. -EBUSY when too many clients have not asked for a test yet. */
int wp_session_start(struct wp_server *server, int fd, const struct wp_addr *from,
		     enum wp_first_byte first, struct wp_err *err) WP_MUST_USE;
/* Hands a data connection to the session that waits for it; moved in on success. -ENOENT (no such
 * session, or it waits no more), -EACCES (another address), -EBADMSG (index or role), -EEXIST. */
int wp_session_attach(struct wp_server *server, int fd, const struct wp_addr *from,
		      const struct wp_preamble *preamble, struct wp_err *err) WP_MUST_USE;
/* Makes a connected UDP socket for a preamble that came to `listen_fd` and hands it over likewise.
 * -EEXIST is what an honest client's repetitions get. */
int wp_session_attach_datagrams(struct wp_server *server, int listen_fd,
				const struct wp_udp_first *first,
				const struct wp_preamble *preamble, struct wp_err *err) WP_MUST_USE;
/* Joins and frees the sessions that are over; with `all` waits for every one. */
void wp_session_reap(struct wp_server *server, bool all);

/* --- the session's side --- */

/* Can the plan's connections be had? Sets files aside for them. */
int wp_session_check_data(struct wp_session *s, struct wp_err *err) WP_MUST_USE;
/* Makes the token and lets connections come in, or listens for them (data_port). */
int wp_session_open_data(struct wp_session *s, struct wp_err *err) WP_MUST_USE;
/* How many are there; when all are, no more are let in. */
size_t wp_session_count_data(struct wp_session *s);
/* Lets none in any more. */
void wp_session_shut_data(struct wp_session *s);
/* Throws away the preambles that were sent once too often. */
void wp_session_drain_data(struct wp_session *s);
void wp_session_close_data(struct wp_session *s);
/* Closes and frees all, half-made too. */
void wp_session_done_data(struct wp_session *s);
/* Tells on_event, one call at a time. */
void wp_server_tell(struct wp_server *server, enum wp_server_event event, const char *fmt, ...)
	WP_PRINTF(3, 4);
/* The test from start to result. Called in state WP_TALK_RUN. */
int wp_session_run(struct wp_session *s, struct wp_err *err) WP_MUST_USE;
/* Sends error{says}; failures are of no interest. */
void wp_session_say(struct wp_session *s, const char *says);
/* The load is over: the next client may come, before this one has read its result and closed. */
void wp_session_release(struct wp_session *s);
/* Takes the messages that are there. 0, or what broke. */
int wp_session_take(struct wp_session *s, struct wp_err *err) WP_MUST_USE;

#endif
