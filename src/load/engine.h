/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * engine.h - what makes traffic. An engine is one file with one const ops struct: its loops over
 * the streams that a worker thread owns. It is listed once in wp_engines[] (load/engines.c), which
 * a test checks; the null engine (load/null.c) is the commented skeleton to start a new one from.
 *
 * Threads: load/load.h starts one worker a CPU (never one a stream), pins it, waits at a gate and
 * calls ops->run(worker) at the start time. run() returns when all its streams have ended or the
 * stop flag is set and the work is flushed. It counts into the stream's own cache lines with
 * relaxed stores (wp_stream_add()); the sampler reads them at any time. No lock, allocation,
 * formatting or clock call per write. Each stream ends once, by wp_stream_end(); those that run()
 * leaves open are ended as cancelled.
 */
#ifndef WP_LOAD_ENGINE_H
#define WP_LOAD_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "load/live_hist.h"
#include "load/pauses.h"
#include "model/plan.h"
#include "net/addr.h"

#define WP_ENGINE_ABI 1

enum wp_engine_caps {
	WP_ENGINE_SEND = 1 << 0,
	WP_ENGINE_RECEIVE = 1 << 1,
	WP_ENGINE_PACED = 1 << 2,   /* honours rate_bps */
	WP_ENGINE_CONTENT = 1 << 3, /* honours fill and check */
	WP_ENGINE_ZEROCOPY = 1 << 4,
	WP_ENGINE_DISCARD = 1 << 5,
	WP_ENGINE_SOCKETS = 1 << 6,   /* streams need sockets */
	WP_ENGINE_DATAGRAMS = 1 << 7, /* counts packets, and at the receiver what became of them */
	WP_ENGINE_TRANSACTIONS = 1 << 8, /* who sends asks, who receives answers */
	WP_ENGINE_WRITES = 1 << 9, /* streams are files of any kind, one; keeps clocks and pauses */
};

enum wp_stream_role {
	WP_STREAM_SENDS,
	WP_STREAM_RECEIVES,
};

/*
 * A stopwatch that one worker starts and stops and others read meanwhile. One number, so that no reading falls between
 * two stores: while it stands, the nanoseconds so far; while it runs, these less the time of its start, which is below 0
 * because nothing has run for longer than the machine.
 */
struct wp_live_clock {
	_Atomic int64_t ns;
};

/* Written by one worker, read by anyone. */
struct wp_stream_counters {
	_Alignas(64) _Atomic uint64_t bytes;
	_Atomic uint64_t calls; /* system calls that moved data */
	/* completions of zero-copy sends; of them those the kernel copied */
	_Atomic uint64_t zerocopy_sends, zerocopy_copied;
	_Atomic uint64_t corrupt_blocks, corrupt_at; /* corrupt_at: stream offset of the first wrong
							byte, when there is one */
	_Atomic uint64_t shortfall_bytes; /* paced: what fell due but could not be sent in
							time, and was dropped */
	/* First and last byte moved; 0 = none yet. last_ns is set at the end of the stream and when it
	 * idles, not per call. */
	_Atomic int64_t first_ns, last_ns;
	_Atomic int error; /* negative errno that ended the stream; 0 */
	_Atomic bool ended;
	/* Datagrams (with GSO: segments). Receiver: every arrival, duplicates and late ones too. */
	_Atomic uint64_t packets;
	/* Receiver: how many the sender had sent when the newest of them left, that is the highest sequence
	 * number seen + 1; the sender's own total once its end marker is there. lost = expected - (packets -
	 * duplicated - late), never negative, and falls again when a late one arrives. */
	_Atomic uint64_t expected;
	_Atomic uint64_t out_of_order, duplicated,
		late;                       /* late: below the window, new or duplicate */
	_Atomic uint64_t socket_drops;      /* receiver: SO_RXQ_OVFL */
	_Atomic uint64_t send_drops;        /* sender: ENOBUFS from the local device or qdisc */
	_Atomic uint64_t shortfall_packets; /* paced datagrams: as shortfall_bytes */
	_Atomic uint64_t jitter_ns;         /* RFC 3550, newest */
	/* Transactions: completed; UDP: without a response in time; asked for without a response when the
	 * stream ended: cut off, connection broken, or (open loop) due but not sent before the stop. The
	 * client's three are all requests that it had to ask. Server: responses sent. */
	_Atomic uint64_t transactions, timeouts, unanswered;
	_Atomic uint64_t
		response_bytes; /* client: received, server: sent; `bytes` are the requests' */
	/* Writes: waiting for room at the other side; in fsync(2); waiting for the pace */
	struct wp_live_clock taker, sync, pace;
	_Atomic uint64_t syncs;
	_Atomic int64_t longest_ns; /* without a completed write; whoever reads it sets it to 0 */
};

/* Distributions that an engine may keep, nanoseconds. */
enum wp_load_hist {
	WP_HIST_LATENCY,  /* of a transaction: from when it was sent (open loop: due) */
	WP_HIST_SEND_GAP, /* paced datagrams: from one to the next of a stream */
	WP_HIST_DELAY,    /* one-way, less the smallest of the stream */
	WP_HIST_WRITE,    /* of a block, from the end of the one before */
	WP_HIST_SYNC,     /* of an fsync(2) */
	WP_LOAD_HIST_N,
};

struct wp_load;

struct wp_stream {
	int fd; /* borrowed from the spec; the engine may change O_NONBLOCK, SO_RCVTIMEO and SO_SNDTIMEO */
	enum wp_stream_role role;
	uint64_t limit_bytes; /* sender: stop after exactly these; 0 = none */
	struct wp_addr
		remote; /* length 0 = the socket is connected; else whom to send or connect to, or (a
			   listening socket) whom alone to serve, whatever the port */
	struct wp_stream_counters *count;
	unsigned index;
	struct wp_load *load;
	void *ctx; /* engine's, ops->stream_size bytes, zeroed */
};

struct wp_worker {
	const struct wp_plan *plan;
	struct wp_stream **streams; /* the ones this thread moves */
	size_t n_streams;
	const _Atomic bool *stop;  /* senders: finish now (flush, shutdown(SHUT_WR)) */
	const _Atomic bool *abort; /* everybody: leave at once */
	int wake_fd;  /* becomes readable with stop and again with abort: for senders */
	int abort_fd; /* becomes readable with abort: for those who outlive a stop */
	int64_t start_ns;
	/* Page-aligned, buffer_bytes each (wp_plan_buffer_bytes(), at least 4096). `buffer` is filled as
	 * the plan says and is there when the worker has a sender, `sink` when it has a receiver; engines
	 * of transactions have both. */
	void *buffer, *sink;
	size_t buffer_bytes;
	struct wp_live_hist *hist[WP_LOAD_HIST_N]; /* those in engine->hists; NULL the others */
	struct wp_pause_log *pauses;               /* of WP_ENGINE_WRITES; NULL for others */
	struct wp_load *load;
};

struct wp_engine {
	unsigned abi;     /* WP_ENGINE_ABI */
	const char *name; /* "tcp" */
	const char *summary;
	unsigned caps;
	const char *needs;  /* what a machine must have, for `whyperf --engines`; NULL = nothing
			       special */
	size_t stream_size; /* bytes of per-stream context */
	unsigned hists;     /* bits 1 << enum wp_load_hist that it keeps */
	int (*probe)(struct wp_err *err); /* can it run here? 0 or a sentence; NULL = always */
	int (*open)(struct wp_stream *s, const struct wp_plan *plan,
		    struct wp_err *err); /* socket options; may be NULL */
	int (*run)(struct wp_worker *w);
	void (*close)(struct wp_stream *s); /* may be NULL */
};

extern const struct wp_engine *const wp_engines[]; /* NULL-terminated */
/* Counts one system call that moved `bytes`. */
static inline void wp_stream_add(struct wp_stream *s, uint64_t bytes)
{
	struct wp_stream_counters *c = s->count;
	uint64_t before = atomic_load_explicit(&c->bytes, memory_order_relaxed);
	uint64_t calls = atomic_load_explicit(&c->calls, memory_order_relaxed);

	if (before == 0)
		atomic_store_explicit(&c->first_ns, wp_now_ns(), memory_order_relaxed);
	atomic_store_explicit(&c->bytes, before + bytes, memory_order_relaxed);
	atomic_store_explicit(&c->calls, calls + 1, memory_order_relaxed);
}

static inline void wp_live_clock_start(struct wp_live_clock *c, int64_t now_ns)
{
	atomic_store_explicit(&c->ns, atomic_load_explicit(&c->ns, memory_order_relaxed) - now_ns,
			      memory_order_relaxed);
}

static inline bool wp_live_clock_runs(const struct wp_live_clock *c)
{
	return atomic_load_explicit(&c->ns, memory_order_relaxed) < 0;
}

static inline void wp_live_clock_stop(struct wp_live_clock *c, int64_t now_ns)
{
	atomic_store_explicit(&c->ns, atomic_load_explicit(&c->ns, memory_order_relaxed) + now_ns,
			      memory_order_relaxed);
}

static inline int64_t wp_live_clock_read(const struct wp_live_clock *c)
{
	int64_t ns = atomic_load_explicit(&c->ns, memory_order_relaxed);

	return ns < 0 ? ns + wp_now_ns() : ns;
}

/* The stream's last byte has moved by now (at the end, and when it idles). */
static inline void wp_stream_stamp(struct wp_stream *s)
{
	atomic_store_explicit(&s->count->last_ns, wp_now_ns(), memory_order_relaxed);
}

static inline bool wp_stream_ended(const struct wp_stream *s)
{
	return atomic_load_explicit(&s->count->ended, memory_order_relaxed);
}

/* The stream is over; `error` is 0 or the negative errno that ended it. Later calls do nothing. */
void wp_stream_end(struct wp_stream *s, int error);
/* Says how the bytes of that role are really moved: a string constant. The last call counts. */
void wp_worker_method(struct wp_worker *w, enum wp_stream_role role, const char *method);

static inline bool wp_worker_stopping(const struct wp_worker *w)
{
	return atomic_load_explicit(w->stop, memory_order_relaxed);
}

static inline bool wp_worker_aborting(const struct wp_worker *w)
{
	return atomic_load_explicit(w->abort, memory_order_relaxed);
}

const struct wp_engine *wp_engine_find(const char *name);
/* Checks one row: ABI, names, callbacks that its flags need. For the table test. */
int wp_engine_check(const struct wp_engine *e, struct wp_err *err) WP_MUST_USE;

#endif
