/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lab.h - two hosts inside this machine: two network namespaces joined by a veth pair, each end
 * with an IPv4 and an IPv6 address.
 *
 *	wpa 10.97.0.1/24 fd97::1/64  <-- veth -->  wpb 10.97.0.2/24 fd97::2/64
 *
 * An ephemeral lab (HOST = lab) has no name: only the fds in struct wp_lab and the threads and
 * sockets inside hold it. Whatever ends the program, kill -9 included, ends the lab, so nothing has
 * to be cleaned up. A named lab (made by `whyperf lab up`, see named.h) is opened for use and stays
 * when it is closed.
 *
 *	struct wp_lab lab;
 *	r = wp_lab_open(NULL, &lab, err);	   // or the parsed "lab:mtu=9000"
 *	...on the thread that plays the receiver:  r = wp_lab_enter(&lab, WP_LAB_B);
 *	wp_lab_close(&lab);
 *
 * Both ends are quiet: no link-local addresses, no router solicitation, no duplicate address
 * detection, and in an ephemeral lab permanent neighbour entries, so that no packet but the test's
 * crosses the wire. The congestion control is the choice of each flow.
 *
 * Without root the lab is made in a user namespace where the kernel allows it: the calling process
 * must then have one thread, moves into that user namespace for good, and a thread that entered an
 * end can't go back (in_user_ns).
 */
#ifndef WP_LAB_LAB_H
#define WP_LAB_LAB_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "lab/spec.h"

enum wp_lab_side {
	WP_LAB_A, /* the client's end */
	WP_LAB_B, /* the server's end */
};

#define WP_LAB_SIDES 2

struct wp_lab_end {
	int netns_fd; /* owned */
	int sys_fd;   /* owned: /sys as this end sees it, for openat(2); -1 where the kernel won't
			 give one */
	int ifindex;  /* of ifname, inside */
	char ifname[IF_NAMESIZE]; /* "wpa", "wpb" */
	char ip4[INET_ADDRSTRLEN];
	char ip6[INET6_ADDRSTRLEN]; /* "" without IPv6 */
};

struct wp_lab {
	char name[WP_LAB_NAME_SIZE]; /* "" = ephemeral */
	struct wp_lab_end end[WP_LAB_SIDES];
	uint32_t mtu_bytes;
	bool has_ipv6;   /* false where the kernel has IPv6 switched off or the MTU is below 1280 */
	bool in_user_ns; /* made without root: see above */
};

/* Makes an ephemeral lab, or opens the named one that `spec` asks for; spec NULL = all defaults.
 * Both ends are up and have carrier on return. -EPERM with a sentence that offers --loopback. On
 * failure nothing is left. */
int wp_lab_open(const struct wp_lab_spec *spec, struct wp_lab *ret, struct wp_err *err) WP_MUST_USE;
int wp_lab_open_ephemeral(const struct wp_lab_spec *spec, struct wp_lab *ret,
			  struct wp_err *err) WP_MUST_USE;
void wp_lab_close(struct wp_lab *lab);
#define _cleanup_lab_ __attribute__((cleanup(wp_lab_close)))

/* Moves the calling thread (and what it starts later) into one end. */
int wp_lab_enter(const struct wp_lab *lab, enum wp_lab_side side, struct wp_err *err) WP_MUST_USE;
/* Runs fn(arg) inside one end on a short-lived thread; its result, or why it could not run. A
 * socket or file that it opens belongs to that end and is usable from everywhere. */
int wp_lab_call(const struct wp_lab *lab, enum wp_lab_side side, int (*fn)(void *arg),
		void *arg) WP_MUST_USE;
/* Opens "/proc/thread-self/net/snmp" and the like of one end (close-on-exec, owned by the caller).
 */
int wp_lab_open_file(const struct wp_lab *lab, enum wp_lab_side side, const char *path, int flags,
		     int *ret_fd) WP_MUST_USE;

#endif
