/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vuln.h - sys/devices/system/cpu/vulnerabilities: which mitigations against CPU bugs are active and make system
 * calls, interrupts or indirect calls dearer. Texts live in the pool.
 * Source: Documentation/admin-guide/hw-vuln/.
 */
#ifndef WP_SYS_VULN_H
#define WP_SYS_VULN_H

#include "sys/maybe.h"

#define WP_VULN_MAX 64

struct wp_vuln {
	const char *name; /* "meltdown" */
	const char *says; /* "Mitigation: PTI" */
	const char
		*cost; /* what the mitigation makes dearer, NULL when nothing that matters here */
};

struct wp_vulns {
	struct wp_vuln *v; /* in the pool, by name */
	size_t n;
	struct wp_maybe_text
		costly; /* "PTI, retpolines": short names of those with a cost; absent: why */
};

void wp_vulns_read(int rootfd, struct wp_pool *pool, struct wp_vulns *ret);
/* What a mitigation costs, and its short name; NULL when it costs nothing that a network path notices. */
const char *wp_vuln_cost(const char *name, const char *says, const char **ret_short);

#endif
