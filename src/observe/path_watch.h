/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * path_watch.h - the counters on the way that datagrams take through this host: the interface that leads to the other
 * end and what waits before it, the protocols of the network namespace, the machine's receive backlog. From them the
 * packet ledger is made (run/ledger.h), so they cover the whole run: read before the load exists, and again when nothing
 * is on its way any more.
 *
 *	wp_path_watch_new(&addr, &p);             "before"
 *	...
 *	wp_path_watch_result(p, host, pool);      "after"; may be asked again later
 *	wp_path_watch_free(p);
 *
 * Counts are of the namespace of the thread that made the watch. Names: those of net/snmp and net/snmp6 ("UdpInErrors",
 * "Udp6InErrors"), "dropped" of softnet_stat; of the interface (rtnetlink) "rx_dropped", "tx_dropped", "rx_errors" and so
 * on, "qdisc_drops" of the queueing discipline at its root, "filter_drops" of its clsact or ingress filters.
 */
#ifndef WP_OBSERVE_PATH_WATCH_H
#define WP_OBSERVE_PATH_WATCH_H

#include "base/err.h"
#include "model/record.h"
#include "net/addr.h"

struct wp_path_watch;

/* What can't be read is left out and said in host->path_note. -ENOMEM and the like. */
int wp_path_watch_new(const struct wp_addr *other_end, struct wp_path_watch **ret) WP_MUST_USE;
/* Reads again and writes host->path_counts, path_device and path_note. -ENOMEM. */
int wp_path_watch_result(struct wp_path_watch *p, struct wp_host *host,
			 struct wp_pool *pool) WP_MUST_USE;
void wp_path_watch_free(struct wp_path_watch *p);

#endif
