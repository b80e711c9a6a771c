/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * venue.h - where a run takes place: what the HOST operand means.
 *
 *	lab, lab:...	two network namespaces in this machine; the other end runs in a child process of ours
 *	loopback	127.0.0.1 in this namespace; the other end likewise a child
 *	HOST[:PORT]	a host where `whyperf serve` runs already
 *
 * wp_venue_open() must be called while the process has one thread: it forks the server, and the calling thread is
 * in the client's namespace afterwards, for good. The child dies with its parent (PR_SET_PDEATHSIG), and an ephemeral
 * lab dies with the two of them, whatever ends them. One venue serves any number of runs, one after the other.
 */
#ifndef WP_RUN_VENUE_H
#define WP_RUN_VENUE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "lab/lab.h"
#include "model/record.h"
#include "net/addr.h"

struct wp_venue {
	const char *text;       /* borrowed: the operand */
	char host[WP_HOST_MAX]; /* to connect to */
	uint16_t port;
	bool local; /* the other end is our child */
	struct wp_lab lab;
	bool has_lab;
	pid_t child; /* 0 = none */
	struct wp_inventory
		inventory; /* of this machine, read before a namespace hid some of it; strings in `pool` */
	struct wp_pool pool;
	struct wp_peer_session *session; /* wp_venue_here(): that of the run to be made; NULL */
	int stop_fd;                     /* write end of the pipe that ends the child; -1 */
};

struct wp_venue_config {
	const char *target;
	uint16_t port; /* for a real host; 0 = the default */
	int family;    /* AF_INET6 makes the lab's IPv6 address the target */
	const char *key_file;
	int64_t timeout_ns; /* for looking a host up */
};

/* This machine without another end; `text` as in struct wp_venue. The caller may set `session`. */
int wp_venue_here(const char *text, struct wp_venue *ret, struct wp_err *err) WP_MUST_USE;
/* -EINVAL when the operand itself is wrong: a lab's key, a port, a host that does not exist. */
int wp_venue_open(const struct wp_venue_config *config, struct wp_venue *ret,
		  struct wp_err *err) WP_MUST_USE;
/* Is the child still there? 0, or a sentence about how it ended. */
int wp_venue_check(struct wp_venue *venue, struct wp_err *err) WP_MUST_USE;
/* Ends the child (asks, then kills after 3 s) and closes the lab. */
void wp_venue_close(struct wp_venue *venue);

#endif
