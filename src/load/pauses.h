/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pauses.h - the longest stretches in which a writer completed nothing, told by the writer itself while it runs.
 *
 * The writing thread owns a log: wp_pause_floor_ns() says how long a stretch must be to be worth looking at (among the
 * WP_PAUSES longest so far), wp_pause_add() takes it. One other thread takes them out with wp_pause_take() and finds out
 * what the machine did meanwhile. No lock; where nobody takes them, the newest are left out and counted. As ever longer
 * stretches become rare, the queue is idle nearly always.
 */
#ifndef WP_LOAD_PAUSES_H
#define WP_LOAD_PAUSES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WP_PAUSES       16  /* the longest of a run that are kept */
#define WP_PAUSE_QUEUE  256 /* a power of two */
#define WP_PAUSE_MIN_NS INT64_C(100000)

enum wp_pause_kind {
	WP_PAUSE_WRITE, /* between two completed writes */
	WP_PAUSE_SYNC,  /* in fsync(2) */
	WP_PAUSE_LATE,  /* paced: woken later than the next write was due */
};

/* CLOCK_MONOTONIC nanoseconds. */
struct wp_pause {
	enum wp_pause_kind kind;
	int64_t start_ns, end_ns; /* start: exact to `blur_ns` */
	int64_t blur_ns;  /* the usual time of the writes that were timed together with it */
	int64_t taker_ns; /* of it, waited because the other side had no room */
	/* What the thread's own clocks say of [since_ns, end_ns], which begins at most 10 ms before start_ns. */
	int64_t since_ns;
	int64_t run_ns;                 /* on a CPU; -1 = not known, as below */
	int64_t delay_ns;               /* runnable, waiting for a CPU */
	int64_t voluntary, involuntary; /* context switches */
	int cpu;                        /* where the thread was afterwards, -1 */
	uint64_t offset_bytes;          /* of the stream */
};

struct wp_pause_log {
	/* The writer's own */
	int64_t longest_ns[WP_PAUSES]; /* heap: the shortest first */
	size_t n;
	/* Shared */
	_Alignas(64) _Atomic uint64_t head; /* added */
	_Alignas(64) _Atomic uint64_t tail; /* taken */
	_Atomic uint64_t dropped;
	struct wp_pause queue[WP_PAUSE_QUEUE];
};

/* Stretches shorter than this are not among the longest. */
static inline int64_t wp_pause_floor_ns(const struct wp_pause_log *log)
{
	return log->n == WP_PAUSES ? log->longest_ns[0] : WP_PAUSE_MIN_NS;
}

/* By the writer. */
void wp_pause_add(struct wp_pause_log *log, const struct wp_pause *pause);
/* By the one reader: at most `max` of them, oldest first. */
size_t wp_pause_take(struct wp_pause_log *log, struct wp_pause *out, size_t max);

#endif
