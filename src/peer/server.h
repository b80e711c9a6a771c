/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server.h - the other end, for many clients at once. Never prints: events go to a callback.
 *
 * Control and data connections arrive at one TCP port; the first byte tells which ('{' control; the
 * data preamble's magic otherwise); data over UDP arrives at the UDP port of that number. Every client gets a session thread; limits bound how many, for
 * how long and what they may ask for. A silent, vanished or hostile client costs a timeout.
 */
#ifndef WP_PEER_SERVER_H
#define WP_PEER_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/record.h"

enum wp_server_event {
	WP_SERVER_LISTENING, /* text: address and port */
	WP_SERVER_CLIENT,    /* a client was accepted */
	WP_SERVER_RESULT,    /* a test ended: one line with its result */
	WP_SERVER_REFUSED,   /* text: who and why */
	WP_SERVER_FAILED,
};

struct wp_server_config {
	const char *bind_host; /* NULL = all addresses, IPv6 and IPv4 */
	uint16_t port;         /* 0 = any free one (tests); the LISTENING event tells which */
	uint16_t data_port; /* for tests with a connection for each transaction; 0 = any free one */
	bool one_off;       /* serve one test, then end */
	int64_t max_duration_ns; /* 0 = no limit */
	uint64_t max_rate_bps;   /* per stream; 0 = no limit */
	int64_t idle_timeout_ns; /* a session without progress ends */
	unsigned max_clients;    /* at the same time */
	const char *key_file;    /* pre-shared key; NULL = plain */
	const struct wp_inventory
		*inventory; /* of this machine, borrowed; NULL = read at the start */
	/* Inherited (systemd socket activation): listening TCP sockets, and UDP sockets for the first
	 * datagrams of clients; without the latter the same ports are opened. NULL = bind. */
	const int *listen_fds;
	unsigned n_listen_fds;
	int stop_fd; /* readable = end cleanly; running tests get told */
	void (*on_event)(void *arg, enum wp_server_event event, const char *text);
	void *arg;
};

/* Serves until stop_fd is readable (or after one test with one_off). 0 or negative errno. */
int wp_server_run(const struct wp_server_config *config, struct wp_err *err) WP_MUST_USE;

#endif
