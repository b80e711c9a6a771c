/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * net_use.h - how far each network counter went between two readings: the protocol counters and devices of one network
 * namespace and the machine's softnet_stat, by name; what the packet ledger and the record's counts are made from.
 *
 * As with cpu_use.h, spans of neighbouring stretches add up by adding each step. A counter that appears during the run
 * began at 0 (IcmpMsg lines come with the first message, devices are made); one that stepped back was reset and has no
 * difference. Gauges are left out.
 *
 * The caller owns a span (zeroed before its first use) and frees with wp_net_span_done().
 */
#ifndef WP_OBSERVE_NET_USE_H
#define WP_OBSERVE_NET_USE_H

#include "model/record.h"
#include "observe/snapshot.h"

struct wp_net_delta {
	enum wp_source source;
	uint32_t name, device; /* offsets in the span's `names`; device 0: none */
	uint64_t delta;
	bool reset;
};

struct wp_net_span {
	unsigned read;               /* WP_SOURCE_BIT()s that were read in at least one step */
	const char *why[WP_SOURCES]; /* why one of the others is absent */
	struct wp_net_delta *v;      /* owned */
	size_t n, cap;
	char *names; /* owned; names[0] is the empty string */
	size_t names_len, names_cap;
};

/* Adds what happened from `before` to `after`. -ENOMEM, -E2BIG above the limits of sys/net_counters.h. */
int wp_net_span_step(struct wp_net_span *span, const struct wp_snapshot *before,
		     const struct wp_snapshot *after) WP_MUST_USE;
/* Sets every difference to 0; keeps names and memory. */
void wp_net_span_reset(struct wp_net_span *span);
void wp_net_span_done(struct wp_net_span *span);

/* One counter: ("", "UdpRcvbufErrors") of WP_SOURCE_SNMP, ("eth0", "rx_drop_sum") of WP_SOURCE_DEV, ("", "dropped") of
 * WP_SOURCE_SOFTNET (processed, dropped, squeezed, received_rps, flow_limited: sums over the CPUs). Absent when the
 * file or the counter is not there, invalid when it was reset. */
struct wp_num wp_net_use_get(const struct wp_net_span *span, enum wp_source source,
			     const char *device, const char *name);
/* Which counters a list is to hold. Zeroed: all. */
struct wp_net_select {
	unsigned sources;   /* WP_SOURCE_BIT()s; 0 = all */
	const char *device; /* only this one's of net/dev; NULL = all devices */
	bool zeros;         /* also those that did not move */
};

/* Lists the selected counters in the kernel's order; names are copied to `pool`. `ret_reset` (may be NULL) gets how many
 * were left out because they were reset. -ENOMEM. */
int wp_net_use_list(const struct wp_net_span *span, const struct wp_net_select *select,
		    struct wp_pool *pool, struct wp_count **ret, size_t *ret_n,
		    size_t *ret_reset) WP_MUST_USE;

#endif
