/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stall_track.h - the progress of one stream, from readings of how far it got, and what its socket said while it stood
 * still. Pure: readings come from stall_watch.c or a test.
 *
 * A stall is certain when it is told: between two readings of the same position nothing moved. It begins at the last
 * reading that saw the position change and ends at the first that sees it change again, so both are late by less than
 * the distance of two readings. A reading that comes late (the reader was not on a CPU) makes no stall by itself: what
 * moved meanwhile shows in the position.
 */
#ifndef WP_OBSERVE_STALL_TRACK_H
#define WP_OBSERVE_STALL_TRACK_H

#include "base/pool.h"
#include "model/stall.h"
#include "sys/tcp_info.h"

/* One reading of a stream. */
struct wp_stall_seen {
	int64_t t_ns;
	uint64_t position;        /* only ever changes with progress */
	uint64_t called_bytes;    /* moved by the program's calls */
	uint64_t unread_bytes;    /* receiver, when it stands still */
	int64_t cpu_ns, delay_ns; /* of its thread so far; -1 = not known */
	bool has_info;
	struct wp_tcp_info info;
};

enum wp_stall_step {
	WP_STALL_MOVES,  /* there was progress */
	WP_STALL_QUIET,  /* none, not yet for long */
	WP_STALL_STANDS, /* none for so long that it is a stall */
	WP_STALL_OVER, /* progress after a stall: wp_stall_track_view() describes it until the next reading */
};

struct wp_stall_track {
	struct wp_stall_seen progress; /* the last reading that saw progress: before the stall */
	struct wp_stall_seen newest;
	struct wp_stall_seen before,
		still; /* of the stall that is over: its begin, its last reading */
	bool stands;
	/* Largest since the last progress. */
	uint32_t rto_us;
	unsigned backoff, timeouts, probes;
	uint32_t most_rto_us; /* of the stall that is over */
	unsigned most_backoff, most_timeouts, most_probes;
};

void wp_stall_track_start(struct wp_stall_track *t, const struct wp_stall_seen *first);
enum wp_stall_step wp_stall_track_take(struct wp_stall_track *t, const struct wp_stall_seen *seen,
				       int64_t stall_ns);
/* Since when nothing moved, as far as the newest reading says. */
int64_t wp_stall_track_quiet_ns(const struct wp_stall_track *t);
/* Ends a stall that still goes on, at its newest reading; false when there is none. */
bool wp_stall_track_end(struct wp_stall_track *t);
/* What the socket and its thread said of the stall that is over, `sends`: as a sender. */
void wp_stall_track_view(const struct wp_stall_track *t, bool sends, struct wp_stall_view *ret);

#endif
