/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * null.c - the engine that moves nothing: it counts as if it did. It measures what whyperf itself
 * costs, and it is the skeleton to start a new engine from. Copy the file, give the struct at the end
 * a name of its own, list it in engines.h and engines.c.
 */
#include "load/engines.h"

/*
 * One stream's share of a turn. A real engine makes its system call here:
 *  - never more than a bounded amount, so that many streams of one thread share it fairly;
 *  - a sender never moves more than limit_bytes in total, and ends when it has moved them;
 *  - wp_stream_add() after each call that moved data;
 *  - wp_stream_stamp() before it waits and before it ends, wp_stream_end() when it is over.
 */
static void turn(struct wp_worker *w, struct wp_stream *s)
{
	uint64_t done = atomic_load_explicit(&s->count->bytes, memory_order_relaxed);
	uint64_t n = w->plan->length_bytes;

	if (s->limit_bytes > 0 && n > s->limit_bytes - done)
		n = s->limit_bytes - done;
	wp_stream_add(s, n);
	if (done + n == s->limit_bytes || wp_worker_stopping(w)) {
		wp_stream_stamp(s);
		wp_stream_end(s, 0);
	}
}

/*
 * Called once by each worker thread at the start time, on its own CPU. Returns when all its streams
 * have ended, or at once when the abort flag is set (the streams left are ended for it). An engine that
 * waits does so with wake_fd (senders) or abort_fd (receivers, which go on to end of stream after a
 * stop) among what it waits for. Things that belong to the thread rather than to a stream live on this
 * function's stack.
 */
static int null_run(struct wp_worker *w)
{
	size_t left;

	do {
		left = 0;
		for (size_t i = 0; i < w->n_streams; i++) {
			if (wp_stream_ended(w->streams[i]))
				continue;
			turn(w, w->streams[i]);
			left++;
		}
	} while (left > 0 && !wp_worker_aborting(w));
	return 0;
}

/*
 * Flags are promises: WP_ENGINE_PACED means that plan->rate_bps is honoured, WP_ENGINE_CONTENT that
 * fill and check are. An engine with sockets (WP_ENGINE_SOCKETS) needs an open() that prepares s->fd;
 * open() and close() run in the caller's thread, before the workers exist and after they have ended.
 * stream_size bytes of zeroed memory per stream are in s->ctx between them.
 */
const struct wp_engine wp_engine_null = {
	.abi = WP_ENGINE_ABI,
	.name = "null",
	.summary = "moves nothing and counts; measures whyperf itself",
	.caps = WP_ENGINE_SEND | WP_ENGINE_RECEIVE,
	.run = null_run,
};
