/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * build.h - inside lab/: turns two empty namespaces into a lab, and reads a lab's ends back from
 * the kernel.
 */
#ifndef WP_LAB_BUILD_H
#define WP_LAB_BUILD_H

#include "lab/lab.h"

#define WP_LAB_CLOSED                                                                         \
	{                                                                                     \
		.end = { { .netns_fd = -1, .sys_fd = -1 }, { .netns_fd = -1, .sys_fd = -1 } } \
	}

#define WP_LAB_BUILD_QUIET \
	1U /* permanent neighbour entries: no ARP, no neighbour discovery, no MLD */

/* Two empty namespaces into lab->end[].netns_fd. -EPERM and others without a sentence. */
int wp_lab_make_namespaces(struct wp_lab *lab) WP_MUST_USE;
/* Whether the calling thread's namespace belongs to a user namespace that this process has left. */
bool wp_lab_is_away_from_home(void);
/* The name that a side's interface is given: "wpa", "wpb". */
const char *wp_lab_ifname(enum wp_lab_side side);

/* lab->end[].netns_fd and lab->mtu_bytes are given; makes the links, fills in the rest, waits for
 * carrier. */
int wp_lab_build(struct wp_lab *lab, unsigned flags, struct wp_err *err) WP_MUST_USE;

#endif
