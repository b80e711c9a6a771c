/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * datagrams.h - the server's UDP port: first datagrams of strangers. One that is a preamble of a
 * session that waits for it, from the address of its control connection, gets a connected socket of
 * its own; nothing else is ever answered. Part of session.h; the accept loop (server.c) calls it.
 *
 * The port is read only while a session waits for data, WP_UDP_TAKE datagrams a turn of the loop:
 * a flood at any other time costs nothing here, and otherwise what it costs is bounded, because each
 * client repeats its preambles.
 */
#ifndef WP_PEER_DATAGRAMS_H
#define WP_PEER_DATAGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "net/addr.h"

#define WP_DATAGRAMS_MAX_FDS 8

struct wp_server;

struct wp_datagrams {
	int fds[WP_DATAGRAMS_MAX_FDS];
	bool owned[WP_DATAGRAMS_MAX_FDS];
	size_t n;               /* server->lock once sessions run; likewise why_none */
	struct wp_err why_none; /* when n is 0 */
	int epoll;              /* the accept loop's, once wp_datagrams_watch() was called */
	uint64_t tag;
	unsigned wanted; /* server->lock: sessions that wait for data */
	/* the accept loop's: what was refused and is not told yet */
	uint64_t refused;
	int64_t told_ns;
};

/* Takes the inherited datagram sockets among `inherited`; without one, opens the port of each of the
 * listening sockets. 0 or what failed; then why_none says so too, and the server can go on with TCP. */
int wp_datagrams_open(struct wp_datagrams *d, const int *listening, size_t n_listening,
		      const int *inherited, size_t n_inherited);
/* With server->lock. */
void wp_datagrams_close(struct wp_datagrams *d);
/* The epoll that wp_datagrams_turn() will be called from: `tag` + i comes with fds[i]. */
void wp_datagrams_watch(struct wp_datagrams *d, int epoll, uint64_t tag);
/* One session more (+1) or less (-1) waits for data. With server->lock. */
void wp_datagrams_want(struct wp_datagrams *d, int change);
/* fds[i] is readable. */
void wp_datagrams_turn(struct wp_server *server, size_t i);

#endif
