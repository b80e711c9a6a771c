/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load.h - runs an engine over a set of streams on pinned worker threads.
 *
 *	wp_load_new(&spec, &load, &err);     threads exist, are pinned and wait at the gate
 *	wp_load_go(load, wp_now_ns());
 *	... wp_load_count() at every interval ...
 *	wp_load_stop(load);                  senders flush and half-close; receivers go on to
 *	                                     end of stream
 *	wp_load_join(load, deadline_ns);     beyond the deadline sockets are shut down and
 *	                                     threads leave
 *	wp_load_thread_use() ...
 *	wp_load_free(load);
 *
 * The fds stay the caller's (O_NONBLOCK, SO_RCVTIMEO and SO_SNDTIMEO may be changed) and are closed by the caller after wp_load_free().
 * Threads: min(streams, CPUs), where CPUs is spec->cpus or, when that is empty, the CPUs the process
 * may use. Stream i is moved by thread i modulo their number.
 *
 * One thread owns a load and calls these functions, except wp_load_count(), wp_load_hist(), wp_load_thread_use(),
 * wp_load_thread_cpu(), wp_load_method() and wp_load_senders_done(), which any thread may call.
 */
#ifndef WP_LOAD_LOAD_H
#define WP_LOAD_LOAD_H

#include <sys/types.h>

#include "load/engine.h"

struct wp_load;

struct wp_stream_spec {
	int fd;
	enum wp_stream_role role;
	uint64_t limit_bytes;
	struct wp_addr remote; /* see struct wp_stream */
};

struct wp_load_spec {
	const struct wp_engine *engine;
	const struct wp_plan *plan; /* borrowed for the life of the load */
	const struct wp_cpulist
		*cpus; /* of this end: plan->cpus or plan->peer_cpus; empty = not pinned */
	const struct wp_stream_spec *streams;
	size_t n_streams;
};

struct wp_stream_count {
	uint64_t bytes, calls, zerocopy_sends, zerocopy_copied;
	uint64_t corrupt_blocks; /* of WP_FILL_BLOCK bytes (load/fill.h) */
	uint64_t corrupt_at;     /* stream offset of the first wrong byte, if there are any */
	uint64_t
		shortfall_bytes; /* paced: fell due but could not be sent in time; never made up for */
	int64_t first_ns, last_ns;
	int error;
	bool ended;
	unsigned thread;
	/* As in struct wp_stream_counters. */
	uint64_t packets, expected, out_of_order, duplicated, late, socket_drops, send_drops,
		shortfall_packets, jitter_ns, transactions, timeouts, unanswered, response_bytes;
	/* Writes, so far: waiting for room at the other side, in fsync(2), waiting for the pace */
	int64_t taker_ns, sync_ns, pace_ns;
	uint64_t syncs;
};

int wp_load_new(const struct wp_load_spec *spec, struct wp_load **ret,
		struct wp_err *err) WP_MUST_USE;
void wp_load_go(struct wp_load *load, int64_t start_ns);
void wp_load_stop(struct wp_load *load);
/* 0, or -ETIMEDOUT when streams had to be cut off at the deadline (their error is then -ECANCELED). A
 * deadline in the past cuts at once. May be called again. */
int wp_load_join(struct wp_load *load, int64_t deadline_ns);
/* An eventfd that becomes readable when every stream has ended. Borrowed. */
int wp_load_done_fd(const struct wp_load *load);
/* ... when every sending stream has ended (limit reached), though receivers go on; true when there
 * are none. */
bool wp_load_senders_done(const struct wp_load *load);
void wp_load_count(const struct wp_load *load, size_t stream, struct wp_stream_count *ret);
/* Adds all threads' values of a distribution to `ret`, which has WP_RECORD_HIST_BITS; nothing where the engine keeps
 * none. Also while the load runs. */
void wp_load_hist(const struct wp_load *load, enum wp_load_hist which, struct wp_hist *ret);
/* Writes: the longest time without a completed one since the last call; one that goes on counts as far as it is. */
int64_t wp_load_longest_ns(const struct wp_load *load, size_t stream);
/* What thread `i` tells of its longest pauses; one reader takes them out (load/pauses.h). NULL: not its kind. */
struct wp_pause_log *wp_load_pauses(const struct wp_load *load, size_t i);
size_t wp_load_threads(const struct wp_load *load);
/* Its thread id, for /proc/self/task. */
pid_t wp_load_thread_id(const struct wp_load *load, size_t i);
/* Figures of worker `i` since the start, readable during the run and after join: CPU time, run delay
 * (schedstat), last CPU; context switches only once the thread has ended. Strings are constants. */
void wp_load_thread_use(const struct wp_load *load, size_t i, struct wp_thread_use *ret);
/* CPU that worker `i` runs on now (or last ran on), -1 unknown. */
int wp_load_thread_cpu(const struct wp_load *load, size_t i);
/* The method that was really used: "write", "zerocopy"; "read", "discard (MSG_TRUNC)", ... String
 * constants; NULL before the start and for a role that no stream has. */
const char *wp_load_method(const struct wp_load *load, enum wp_stream_role role);
void wp_load_free(struct wp_load *load);

#endif
