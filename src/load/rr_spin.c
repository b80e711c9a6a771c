/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Never sleeping: each connection is asked in turn, and the answer is mostly that there is nothing. For a thread's few
 * connections; with more of them rr_epoll.c spins on epoll_wait().
 */
#include "load/rr.h"

void rr_spin_run(struct rr_worker *t)
{
	while (t->left > 0 && !wp_worker_aborting(t->w)) {
		if (!t->stop_noted && wp_worker_stopping(t->w))
			rr_note_stop(t);
		for (size_t i = 0; i < t->w->n_streams; i++)
			if (!wp_stream_ended(t->w->streams[i]))
				rr_turn(t, t->w->streams[i]);
		if (rr_next_ns(t) != RR_NEVER)
			rr_on_time(t);
	}
}
