/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch_ops.h - inside of flow_watch.h: what one kind of flow does at each moment of a watch's life. flow_watch.c has
 * done what is the same for all (times, bytes, the CPU that serves the socket, the marks) before it calls, and moves the
 * marks after the call. Callbacks that may be NULL say so.
 */
#ifndef WP_OBSERVE_WATCH_OPS_H
#define WP_OBSERVE_WATCH_OPS_H

#include "observe/flow_watch.h"

struct wp_watch_ops {
	int (*init)(struct wp_flow_watch *w); /* may be NULL */
	void (*start)(struct wp_flow_watch *w,
		      const struct wp_flow_reading *first); /* may be NULL */
	/* `row` has its times, bytes and bits_per_second; w->last is the row's start. */
	void (*row)(struct wp_flow_watch *w, const struct wp_flow_reading *now, bool detailed,
		    struct wp_interval *row);
	void (*open_window)(struct wp_flow_watch *w); /* may be NULL */
	void (*probe)(struct wp_flow_watch *w);       /* may be NULL */
	/* `end` has bytes, seconds, calls and what follows from them; w->last is the end. */
	void (*end)(const struct wp_flow_watch *w, const struct wp_stream_count *count,
		    struct wp_flow_end *end);
	/* What stands beside the ends. `flow` has its role and rows. */
	void (*flow)(struct wp_flow_watch *w, const struct wp_stream_count *count,
		     struct wp_flow *flow, struct wp_pool *pool);
	void (*done)(struct wp_flow_watch *w); /* may be NULL */
};

extern const struct wp_watch_ops wp_watch_tcp, wp_watch_datagrams, wp_watch_transactions,
	wp_watch_writes;

/* Marks of the row or window that ends with `to`: how far a counter went. */
#define WP_MOVED(from, to, field) ((to)->field - (from)->field)

/* Fields of a row or flow that only TCP has, all for the same reason; the windows' and round trips'. */
void wp_watch_no_tcp_row(struct wp_interval *row, const char *why);
void wp_watch_no_tcp_flow(struct wp_flow *flow, const char *why);

#endif
