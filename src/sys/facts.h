/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * facts.h - everything that is known of one machine before a measurement: the readers of this floor together.
 *
 * The root is "/" of the live machine, or a recorded tree; then what only a live kernel can answer (ethtool, hwloc,
 * uname) is left absent with that reason. Nothing fails as a whole: each reading has its own state. Texts and arrays
 * live in the pool, the topology in the struct: wp_facts_done() before the pool goes.
 *
 *	struct wp_pool pool = WP_POOL(WP_FACTS_POOL_BYTES);
 *	struct wp_facts f;
 *	wp_facts_read(rootfd, WP_FACTS_LIVE | WP_FACTS_NICS, &pool, &f);
 *	...
 *	wp_facts_done(&f);
 *	wp_pool_done(&pool);
 */
#ifndef WP_SYS_FACTS_H
#define WP_SYS_FACTS_H

#include "sys/accounting.h"
#include "sys/cpufreq.h"
#include "sys/host.h"
#include "sys/limits.h"
#include "sys/nic.h"
#include "sys/topo.h"
#include "sys/virt.h"
#include "sys/vuln.h"

/* 256 interfaces with 256 queues of both kinds and 512 interrupts each, and texts. */
#define WP_FACTS_POOL_BYTES (128u << 20)

struct wp_facts {
	bool live;
	struct wp_sys_host host;
	struct wp_topo topo;
	const char *topo_why; /* why there is no topology; NULL when there is one */
	struct wp_cpufreq cpufreq;
	struct wp_cpuidle cpuidle;
	struct wp_limits limits;
	struct wp_virt virt;
	struct wp_cpu_quota quota;
	struct wp_daemons daemons;
	struct wp_vulns vulns;
	struct wp_nics nics;
	struct wp_accounting accounting;
	struct wp_maybe_int steal_ppm; /* of all CPU time since boot, 1000000 = all */
};

enum {
	WP_FACTS_LIVE = 1 << 0, /* the root is this machine's: ask hwloc, uname, ethtool too */
	WP_FACTS_NICS =
		1 << 1, /* the interfaces as well; they cost most on hosts with many links */
};

void wp_facts_read(int rootfd, unsigned flags, struct wp_pool *pool, struct wp_facts *ret);
void wp_facts_done(struct wp_facts *f);

#endif
