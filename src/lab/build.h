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

/* lab->end[].netns_fd and lab->mtu_bytes are given; makes the links, fills in the rest, waits for
 * carrier. */
int wp_lab_build(struct wp_lab *lab, unsigned flags, struct wp_err *err) WP_MUST_USE;

#endif
