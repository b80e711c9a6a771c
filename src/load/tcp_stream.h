/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tcp_stream.h - inside of the TCP bulk engine. tcp_stream.c is the engine and its waiting loops;
 * tcp_send.c, tcp_zerocopy.c and tcp_receive.c move the bytes.
 *
 * A "turn" moves a stream until its socket would block, its turn's share is used up, or it ends. The
 * loops only wait. Everything here belongs to one worker thread. No call blocks, but for those of a
 * thread's only stream (see tcp_receive.c).
 */
#ifndef WP_LOAD_TCP_STREAM_H
#define WP_LOAD_TCP_STREAM_H

#include "load/engine.h"
#include "load/fill.h"
#include "net/pacer.h"

enum tcp_turn {
	TCP_ENDED,   /* the stream is over */
	TCP_MORE,    /* the share is used up; the socket may take or have more */
	TCP_BLOCKED, /* wait for poll events x->events (errors always count) */
	TCP_PACED,   /* wait until x->due_ns */
};

/* Zero-copy state of a sender. The kernel numbers successful MSG_ZEROCOPY sends from 0 and reports
 * ranges of numbers that it has done with, so counts are enough (msg_zerocopy.rst). */
struct tcp_zerocopy {
	bool on;
	uint32_t sent, completed;
	size_t most_bytes; /* one send, as far as the locked-memory limit allows */
	void *slot;        /* own memory for the pattern; reused only when nothing is in flight */
	size_t slot_bytes;
	uint64_t slot_from, slot_to; /* stream offsets whose pattern it holds */
};

/* Per-stream context (wp_stream.ctx). */
struct tcp_stream {
	uint64_t offset; /* bytes moved */
	bool moved;      /* since the last time stamp */
	bool hung_up;    /* poll said so: reset, or closed in both directions. Not POLLERR,
			 which zero-copy completions raise too */
	bool finishing;  /* sender: all written, waiting for zero-copy completions */
	bool queued;     /* among the loop's paced streams */
	short events;
	short registered; /* with epoll */
	int64_t due_ns;
	struct wp_pacer pacer;
	struct tcp_zerocopy zc;
	struct wp_fill_check check;
};

/* Per-worker state. */
struct tcp_worker {
	struct wp_worker *w;
	const struct wp_plan *plan;
	size_t call_bytes; /* most that a call moves: the plan's length, less among many streams */
	size_t turn_bytes; /* a turn is over when it has moved so much */
	/* Pattern in the shared send buffer: whose, and which part of that stream. */
	const struct wp_stream *filled_for;
	uint64_t filled_from, filled_to;
	bool alone;                    /* the worker has one stream */
	bool discard;                  /* received bytes are dropped inside the kernel */
	int receive_flags, send_flags; /* MSG_DONTWAIT, but for a thread's only stream */
	/* Polling for a moment before sleeping; after each failure in a row it is left out twice as
	 * often. */
	bool polls;
	unsigned poll_penalty, poll_skip;
};

static inline struct tcp_stream *tcp_ctx(const struct wp_stream *s)
{
	return s->ctx;
}

/* Counts bytes that a call moved. */
static inline void tcp_moved(struct wp_stream *s, uint64_t bytes)
{
	struct tcp_stream *x = tcp_ctx(s);

	wp_stream_add(s, bytes);
	x->offset += bytes;
	x->moved = true;
}

/* Notes the time of the last byte, if there was one since the last note. */
static inline void tcp_stamp(struct wp_stream *s)
{
	struct tcp_stream *x = tcp_ctx(s);

	if (x->moved)
		wp_stream_stamp(s);
	x->moved = false;
}

static inline enum tcp_turn tcp_end(struct wp_stream *s, int error)
{
	tcp_stamp(s);
	wp_stream_end(s, error);
	return TCP_ENDED;
}

static inline enum tcp_turn tcp_block(struct wp_stream *s, short events)
{
	tcp_stamp(s);
	tcp_ctx(s)->events = events;
	return TCP_BLOCKED;
}

/* Makes calls of that kind wait, but for 5 ms at most; `option` is SO_RCVTIMEO or SO_SNDTIMEO. Whether it worked. */
bool tcp_make_blocking(int fd, int option);
void tcp_send_init(struct tcp_worker *t);
enum tcp_turn tcp_send_turn(struct tcp_worker *t, struct wp_stream *s);
/* The socket takes no more while it has so much that was not sent yet. */
void tcp_send_keep_short(struct wp_stream *s, size_t bytes);
enum tcp_turn tcp_receive_turn(struct tcp_worker *t, struct wp_stream *s);

void tcp_receive_init(struct tcp_worker *t);

/* Switches zero copy on for a sender, if the plan asks for it and the kernel can. */
void tcp_zerocopy_open(struct wp_stream *s, const struct wp_plan *plan);
/* The kernel refused a send of that size though nothing is in flight: it does not fit the limit of
 * locked memory (RLIMIT_MEMLOCK). Smaller ones from now on, in the end none. */
void tcp_zerocopy_shrink(struct wp_worker *w, struct wp_stream *s, size_t refused_bytes);
/* Reads all completions that are there and counts them. */
void tcp_zerocopy_reap(struct wp_stream *s);
bool tcp_zerocopy_in_flight(const struct wp_stream *s);
/* Memory with the pattern from the stream's offset; fewer bytes than *len near the slot's end, NULL
 * while the slot is still in flight. */
const void *tcp_zerocopy_pattern(struct wp_stream *s, size_t *len);
void tcp_zerocopy_close(struct wp_stream *s);

#endif
