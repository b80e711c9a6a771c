/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stall_machine.h - what the machine and the interface of a stream did between two moments, in fine grain: interrupts
 * by line and CPU, softirqs, softnet, the interface's carrier and counters, its root queue.
 *
 * wp_stall_machine_new() is to be called in the network namespace of the streams; any one thread may read afterwards.
 * Where something can't be read its has_ flag is false, and the rest goes on. A reading costs about 0.2 ms on two CPUs,
 * milliseconds on hundreds; the caller sees to the pace.
 *
 *	wp_stall_machine_new(&local, -1, &m, &err);
 *	wp_stall_machine_read(m, &moment);          the first one is empty: "before"
 *	wp_stall_machine_read(m, &moment);          since the one before
 *	cells = wp_stall_machine_cells(m, &n);      interrupts and softirqs of that moment, until the next
 *	wp_stall_machine_free(m);
 */
#ifndef WP_OBSERVE_STALL_MACHINE_H
#define WP_OBSERVE_STALL_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/pool.h"
#include "net/addr.h"

#define WP_STALL_CELLS 256 /* of one moment: lines times CPUs that worked; the rest is left out */
#define WP_STALL_LINES 256 /* different lines that are told apart */

/* Sums over the time from from_ns to to_ns, unless said. Moments can be joined. */
struct wp_stall_moment {
	int64_t from_ns, to_ns;
	bool has_interrupts, has_softirqs, has_softnet, has_link, has_stats, has_queue;
	uint64_t interrupts, net_rx,
		net_tx; /* interrupts: of devices, not of timers and other CPUs */
	uint64_t processed, dropped, squeezed;
	bool carrier; /* at the end */
	bool has_changes;
	uint64_t carrier_changes;
	int64_t down_ns; /* without carrier */
	uint64_t tx_packets, rx_packets, tx_dropped, rx_dropped;
	uint64_t queued, least_queued, most_queued; /* queued: at the end */
	uint64_t dequeued, queue_drops, requeues;
};

/* One line on one CPU in a moment. */
struct wp_stall_cell {
	unsigned line; /* for wp_stall_machine_line() */
	int cpu;
	uint64_t count;
};

struct wp_stall_machine;

/* `local`: an address of the stream here; NULL or one that no interface has: no interface is read. `root_fd`: a
 * directory that holds proc and sys, -1 = the live ones; duplicated. */
int wp_stall_machine_new(const struct wp_addr *local, int root_fd, struct wp_stall_machine **ret,
			 struct wp_err *err) WP_MUST_USE;
void wp_stall_machine_read(struct wp_stall_machine *m, struct wp_stall_moment *ret);
/* Of the newest moment; borrowed until the next reading. */
const struct wp_stall_cell *wp_stall_machine_cells(const struct wp_stall_machine *m, size_t *ret_n);
/* "38 eth0-TxRx-1" or "NET_RX"; ret_device: it belongs to the interface. Valid until free. */
const char *wp_stall_machine_line(const struct wp_stall_machine *m, unsigned line,
				  bool *ret_device);
/* NULL = not known. The queue that held packets since the mark, else the root's now. */
const char *wp_stall_machine_interface(const struct wp_stall_machine *m);
const char *wp_stall_machine_qdisc(const struct wp_stall_machine *m);
/* Queues and watchdogs are compared with how they are now. */
void wp_stall_machine_mark(struct wp_stall_machine *m);
/* While something stands still: finds a queue that holds packets since the mark and has let none go. */
void wp_stall_machine_compare(struct wp_stall_machine *m);
/* Since the mark: how often transmit watchdogs fired (-1 = not known), and the queue where one did, or which held
 * packets and let none go; NULL when there is none. Text in `pool`. */
int64_t wp_stall_machine_timeouts(struct wp_stall_machine *m);
const char *wp_stall_machine_stuck(struct wp_stall_machine *m, struct wp_pool *pool);
void wp_stall_machine_free(struct wp_stall_machine *m);

/* `b` follows `a`. */
void wp_stall_moment_join(struct wp_stall_moment *a, const struct wp_stall_moment *b);

#endif
