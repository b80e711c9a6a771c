/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * peer.h - how to agree with the other end. A peer kind is one const ops struct in a file of its
 * own, listed once in wp_peers[]. The client half is driven by run/, the server half by
 * peer/server.c.
 *
 * Client: connect() opens control and data connections (the fds belong to the session until
 * close()); the caller makes its endpoint of them; start() agrees on the start; while the run goes
 * on the caller polls control_fd and calls event() when it is readable; stop() asks the other end's
 * senders to stop early; finish() waits (bounded) for the other end's result and fills hosts[1]
 * and, for flow i, flows[i].peer_intervals and .sent or .received.
 */
#ifndef WP_PEER_PEER_H
#define WP_PEER_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "load/load.h"
#include "model/plan.h"
#include "model/record.h"
#include "observe/endpoint.h"

enum wp_peer_caps {
	WP_PEER_TCP = 1 << 0,
	WP_PEER_REVERSE = 1 << 1,
	WP_PEER_BOTH = 1 << 2,
	WP_PEER_REMOTE_RESULT = 1 << 3, /* the other end reports its own figures */
	WP_PEER_REMOTE_HOST = 1 << 4,   /* ... and what its CPUs did */
	WP_PEER_SERVER = 1 << 5,
};

struct wp_peer_target {
	const char *host; /* name or address */
	uint16_t port;    /* 0 = the peer's default */
	const char
		*key_file;  /* pre-shared key for TLS 1.3 on the control connection; NULL = plain */
	int64_t timeout_ns; /* for connecting and for each answer */
};

struct wp_peer_session; /* each kind embeds this first in its own struct */

struct wp_peer_ops {
	const char *name; /* "whyperf" */
	const char *summary;
	uint16_t default_port;
	unsigned caps;
	int (*connect)(const struct wp_peer_target *target, const struct wp_plan *plan,
		       struct wp_peer_session **ret, struct wp_err *err);
	int (*start)(struct wp_peer_session *s, struct wp_err *err);
	/* 0 = nothing of importance; 1 = the other end is done; < 0 it failed or vanished */
	int (*event)(struct wp_peer_session *s, struct wp_err *err);
	int (*stop)(struct wp_peer_session *s);
	int (*finish)(struct wp_peer_session *s, struct wp_run *run, struct wp_err *err);
	void (*close)(struct wp_peer_session *s);
};

struct wp_peer_session {
	const struct wp_peer_ops *ops;
	int control_fd; /* to be polled only */
	struct wp_stream_spec
		*streams; /* one a connection: forward ones first, then reverse ones */
	size_t n_streams;
	/* The caller's end, set once it is made of the streams: event() looks there whether anything
	 * comes, while the control connection is silent. */
	const struct wp_end *end;
	bool same_machine; /* the other end says it has our boot id */
};

extern const struct wp_peer_ops *const wp_peers[]; /* NULL-terminated */
const struct wp_peer_ops *wp_peer_find(const char *name);
/* Checks one row: name, port, callbacks. For the table test. */
int wp_peer_check(const struct wp_peer_ops *ops, struct wp_err *err) WP_MUST_USE;

#endif
