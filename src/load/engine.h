/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * engine.h - what makes traffic. An engine is one file with one const ops struct: its loops over
 * the streams that a worker thread owns. It is listed once in wp_engines[] (load/engines.c), which
 * a test checks; the null engine (load/null.c) is the commented skeleton to start a new one from.
 *
 * Threads: load/load.h starts one worker a CPU (never one a stream), pins it, waits at a gate and
 * calls ops->run(worker) at the start time. run() returns when all its streams have ended or the
 * stop flag is set and the work is flushed. It counts into the stream's own cache lines with
 * relaxed stores (wp_stream_count()); the sampler reads them at any time. No lock, allocation,
 * formatting or clock call per write.
 */
#ifndef WP_LOAD_ENGINE_H
#define WP_LOAD_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/plan.h"

#define WP_ENGINE_ABI 1

enum wp_engine_caps {
	WP_ENGINE_SEND = 1 << 0,
	WP_ENGINE_RECEIVE = 1 << 1,
	WP_ENGINE_PACED = 1 << 2,   /* honours rate_bps */
	WP_ENGINE_CONTENT = 1 << 3, /* honours fill and check */
	WP_ENGINE_ZEROCOPY = 1 << 4,
	WP_ENGINE_DISCARD = 1 << 5,
	WP_ENGINE_SOCKETS = 1 << 6, /* streams need connected sockets */
};

enum wp_stream_role {
	WP_STREAM_SENDS,
	WP_STREAM_RECEIVES,
};

/* Written by one worker, read by anyone. */
struct wp_stream_counters {
	_Alignas(64) _Atomic uint64_t bytes;
	_Atomic uint64_t calls; /* system calls that moved data */
	_Atomic uint64_t zerocopy_sends,
		zerocopy_copied; /* completions; of them those the kernel copied */
	_Atomic uint64_t corrupt_blocks;
	_Atomic int64_t first_ns,
		last_ns;   /* first and last byte moved; 0 = none yet. last_ns is set at the end of
			      the   stream and when it idles, not per call */
	_Atomic int error; /* negative errno that ended the stream; 0 */
	_Atomic bool ended;
};

struct wp_stream {
	int fd; /* borrowed from the spec */
	enum wp_stream_role role;
	uint64_t limit_bytes; /* sender: stop after exactly these; 0 = none */
	struct wp_stream_counters *count;
	unsigned index;
	void *ctx; /* engine's, ops->stream_size bytes, zeroed */
};

struct wp_worker {
	const struct wp_plan *plan;
	struct wp_stream **streams; /* the ones this thread moves */
	size_t n_streams;
	const _Atomic bool *stop;  /* senders: finish now (flush, shutdown(SHUT_WR)) */
	const _Atomic bool *abort; /* everybody: leave at once */
	int wake_fd;               /* becomes readable with stop or abort: for poll/epoll */
	int64_t start_ns;
	void *buffer; /* page-aligned, plan->length_bytes (at least 4096), filled as the plan says
		       */
	size_t buffer_bytes;
};

struct wp_engine {
	unsigned abi;     /* WP_ENGINE_ABI */
	const char *name; /* "tcp" */
	const char *summary;
	unsigned caps;
	const char *needs;  /* what a machine must have, for `whyperf --engines`; NULL = nothing
			       special */
	size_t stream_size; /* bytes of per-stream context */
	int (*probe)(struct wp_err *err); /* can it run here? 0 or a sentence; NULL = always */
	int (*open)(struct wp_stream *s, const struct wp_plan *plan,
		    struct wp_err *err); /* socket options; may be NULL */
	int (*run)(struct wp_worker *w);
	void (*close)(struct wp_stream *s); /* may be NULL */
};

extern const struct wp_engine *const wp_engines[]; /* NULL-terminated */
const struct wp_engine *wp_engine_find(const char *name);
/* Checks one row: ABI, names, callbacks that its flags need. For the table test. */
int wp_engine_check(const struct wp_engine *e, struct wp_err *err) WP_MUST_USE;

#endif
