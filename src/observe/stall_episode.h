/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stall_episode.h - the readings around a time in which a stream stood still: a few from before it, all from within
 * (neighbours joined when it goes on), a few from after it; and the interrupts and softirqs of these three phases by
 * line and CPU. Pure; stall_watch.c decides when an episode begins and ends.
 *
 *	wp_stall_episode_add(e, &row, cells, n, false);   all is well: the newest few are kept
 *	wp_stall_episode_begin(e, since_ns);              something stands still since then
 *	wp_stall_episode_add(e, ...);                     `still`: it still does
 *	wp_stall_episode_view(e, from_ns, to_ns, &view);  what the machine did in that part
 *	wp_stall_episode_end(e);
 */
#ifndef WP_OBSERVE_STALL_EPISODE_H
#define WP_OBSERVE_STALL_EPISODE_H

#include "model/stall.h"
#include "observe/stall_machine.h"
#include "observe/stall_track.h"

#define WP_STALL_AROUND 5   /* readings kept of before and after */
#define WP_STALL_SUMS   512 /* lines times CPUs of an episode */

enum wp_stall_phase {
	WP_STALL_BEFORE,
	WP_STALL_DURING,
	WP_STALL_AFTER,
	WP_STALL_PHASES,
};

/* One reading: what moved and what the machine did since the one before, and the socket in the end. */
struct wp_stall_row {
	struct wp_stall_moment moment;
	enum wp_stall_phase phase;
	uint64_t moved_bytes;
	int64_t cpu_ns,
		delay_ns; /* of the thread of the stream that stood still first; -1 = not known */
	bool has_info;
	struct wp_tcp_info info; /* of that stream; none before the episode */
};

/* Of one line on one CPU. */
struct wp_stall_sum {
	unsigned line;
	int cpu;
	uint64_t count[WP_STALL_PHASES];
};

struct wp_stall_episode {
	bool open;
	unsigned after; /* rows since nothing stands still any more */
	/* While all is well. */
	struct wp_stall_row ring[WP_STALL_AROUND];
	struct wp_stall_cell ring_cells[WP_STALL_AROUND][WP_STALL_CELLS];
	size_t ring_n_cells[WP_STALL_AROUND];
	size_t n_ring, next;
	/* Of the episode. */
	struct wp_stall_row rows[WP_MAX_STALL_READINGS];
	size_t n_rows;
	struct wp_stall_sum sums[WP_STALL_SUMS];
	size_t n_sums;
	int64_t phase_ns[WP_STALL_PHASES];
};

void wp_stall_episode_begin(struct wp_stall_episode *e, int64_t since_ns);
void wp_stall_episode_add(struct wp_stall_episode *e, const struct wp_stall_row *row,
			  const struct wp_stall_cell *cells, size_t n_cells, bool still);
/* Figures of interface, queue and softnet over [from_ns, to_ns]. */
void wp_stall_episode_view(const struct wp_stall_episode *e, int64_t from_ns, int64_t to_ns,
			   struct wp_stall_view *ret);
/* Rows as the record has them, times from zero_ns; returns how many, at most WP_MAX_STALL_READINGS. */
size_t wp_stall_episode_readings(const struct wp_stall_episode *e, int64_t zero_ns, bool sends,
				 struct wp_stall_reading *ret);
/* The busiest lines, those of the interface first; names are borrowed from `m`. At most WP_MAX_STALL_LINES. */
size_t wp_stall_episode_lines(const struct wp_stall_episode *e, const struct wp_stall_machine *m,
			      struct wp_stall_line *ret);
/* All is well again: rows and sums are dropped. */
void wp_stall_episode_end(struct wp_stall_episode *e);

#endif
