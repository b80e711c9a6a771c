/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rr.h - inside of the request/response engine. rr.c is the engine and what its loops share; rr_block.c, rr_epoll.c and
 * rr_spin.c wait, each in its own way; rr_tcp.c, rr_udp.c and rr_connect.c with rr_accept.c (a connection for each
 * transaction) move the messages; rr_line.c says when requests of an open loop are due.
 *
 * Who asks: closed loop: a connection that may begin a request does so at once, in its own turn. Open loop: connections
 * that may begin one stand in a list of the thread, and the thread gives each request that falls due to the first of
 * them. While there is none, requests wait; they are sent as soon as there is one, and their latency counts from when
 * they were due.
 *
 * A "turn" does what a connection can do without waiting, a bounded amount. No call blocks, but for those of rr_block.c.
 * Everything here belongs to one worker thread.
 *
 * Accounts, at every moment of a client's stream: requests begun = transactions + timeouts + under way; when it ends,
 * those under way are `unanswered`. Open loop: so are those that were due but not begun when the stop came, on one of
 * the thread's streams.
 */
#ifndef WP_LOAD_RR_H
#define WP_LOAD_RR_H

#include <poll.h>
#include <sys/socket.h>

#include "load/engine.h"
#include "load/rr_line.h"

/* Requests under way on all connections of an end together: 64 bytes or less each. */
#define RR_MAX_UNDER_WAY (1u << 20)

enum rr_turn {
	RR_ENDED,
	RR_WAIT, /* for conn.events, or until there is something to ask */
};

/* What a loop waits for. */
struct rr_conn {
	struct wp_stream *s;
	int fd;              /* -1: no socket at the moment */
	uint32_t events;     /* poll events to wait for; with EPOLLET: once, for good */
	uint32_t registered; /* with epoll; 0 = not */
	uint32_t happened;   /* since the last turn; the turn clears it */
	bool would_block;    /* the last turn ended because a call would have had to wait */
};

/* A request of a datagram connection (rr_udp.c); 64 bytes. */
struct rr_slot {
	struct wp_stream *s;
	int64_t due_ns, sent_ns;
	uint64_t generation; /* of the request that has the slot, or had it last */
	/* Bit i: the request of i generations ago timed out, and its response has not come since. */
	uint64_t lost;
	/* In the thread's list of those under way, oldest first; free ones in the stream's by `behind`. */
	struct rr_slot *before, *behind;
	bool under_way;
};

/* Per-stream context (wp_stream.ctx). */
struct rr_stream {
	struct rr_conn conn;
	/* who asks */
	uint64_t limit; /* requests; UINT64_MAX = none */
	uint64_t begun;
	unsigned under_way;
	bool listed; /* among those that may begin a request */
	struct wp_stream *next_listed;
	/* TCP */
	int64_t *due_ns; /* of the requests under way, a ring of plan->outstanding from `oldest` */
	unsigned oldest;
	uint64_t to_send; /* bytes of requests begun (of responses owed) that are not written */
	uint64_t got;     /* bytes of the oldest response (of the newest request) */
	uint64_t written; /* who answers: of the oldest response */
	bool half_closed; /* who answers: no more requests will come */
	/* UDP */
	struct rr_slot *slots; /* plan->outstanding */
	struct rr_slot *first_free, *last_free;
	struct rr_slot *unsent; /* the socket takes no more: this one waits to be sent */
	bool owes;              /* who answers: ... this one */
	uint64_t owed_id;
	/* a connection for each transaction: who asks */
	int64_t each_due_ns;
	int64_t retry_ns, failing_since_ns; /* no connection can be begun; 0 = one can */
	bool waits;                         /* in the thread's list of those that try again */
	struct wp_stream *next_waiting;
	/* contexts of other threads' streams are next to this one */
	char apart[64];
};

struct rr_worker;

/* How messages are moved, by one of the two roles; an end has one role. */
struct rr_protocol {
	enum rr_turn (*turn)(struct rr_worker *t, struct wp_stream *s);
	/* Who asks: begins a request of a stream that may, and sends what can be sent. */
	enum rr_turn (*begin)(struct rr_worker *t, struct wp_stream *s, int64_t due_ns);
	/* The others may be NULL. rr_worker.timer_ns has passed: */
	void (*on_time)(struct rr_worker *t);
	/* A stream is about to end: */
	void (*ended)(struct rr_worker *t, struct wp_stream *s);
	/* Something happened to a connection that a stream has accepted: */
	void (*child)(struct rr_worker *t, struct rr_conn *c);
	/* Before the loop, and after. */
	int (*prepare)(struct rr_worker *t);
	void (*done)(struct rr_worker *t);
	bool ends_by_stop;  /* else at the end of the stream */
	bool many_a_stream; /* a stream has many sockets: no blocking in one, no asking each */
};

extern const struct rr_protocol rr_tcp_ask, rr_tcp_answer, rr_udp_ask, rr_udp_answer, rr_connect,
	rr_accept;

struct rr_worker {
	struct wp_worker *w;
	const struct rr_protocol *protocol;
	uint64_t request_bytes, response_bytes;
	unsigned outstanding;
	int flags; /* MSG_DONTWAIT, but in rr_block.c */
	bool asks, open_loop;
	bool stop_noted;
	int epoll_fd; /* -1 = the loop is another */
	size_t left;  /* streams that have not ended */
	struct rr_line line;
	struct wp_stream *first_listed, *last_listed; /* may begin a request */
	int64_t now_ns;                               /* the newest reading of the clock */
	int64_t timer_ns; /* when protocol->on_time() is to be called; RR_NEVER */
	/* UDP */
	unsigned id_bytes, slot_bits; /* of an id, that both messages have room for; of its slot */
	struct rr_slot *oldest, *newest; /* sent and without a response, in order of sending */
	/* a connection for each transaction */
	struct wp_addr local;                           /* length 0 = any */
	struct wp_stream *first_waiting, *last_waiting; /* to try again, by retry_ns */
	struct rr_child *children, *spare;
	size_t n_children;
};

static inline struct rr_stream *rr_ctx(const struct wp_stream *s)
{
	return s->ctx;
}

static inline bool rr_may_begin(const struct rr_worker *t, const struct wp_stream *s)
{
	const struct rr_stream *x = rr_ctx(s);

	return x->under_way < t->outstanding && x->begun < x->limit && !x->unsent &&
	       !wp_worker_stopping(t->w);
}

/* Nothing is under way and nothing more will be asked. */
static inline bool rr_is_done(const struct rr_worker *t, const struct wp_stream *s)
{
	const struct rr_stream *x = rr_ctx(s);

	return x->under_way == 0 && (x->begun == x->limit || wp_worker_stopping(t->w));
}

static inline void rr_bump(_Atomic uint64_t *counter, uint64_t by)
{
	wp_live_hist_bump(counter, by);
}

/* The request that was due then has its response. */
static inline void rr_count_transaction(struct rr_worker *t, struct wp_stream *s, int64_t due_ns,
					int64_t now_ns)
{
	int64_t latency = now_ns - due_ns;

	rr_bump(&s->count->transactions, 1);
	wp_live_hist_add(t->w->hist[WP_HIST_LATENCY], latency > 0 ? (uint64_t)latency : 0);
	atomic_store_explicit(&s->count->last_ns, now_ns, memory_order_relaxed);
}

/* A call moved response bytes: received by the client, sent by the server. */
static inline void rr_count_response(struct wp_stream *s, uint64_t bytes)
{
	rr_bump(&s->count->response_bytes, bytes);
	rr_bump(&s->count->calls, 1);
}

/* ---- for the protocols ---- */

static inline bool rr_blocks(const struct rr_worker *t)
{
	return !(t->flags & MSG_DONTWAIT);
}

static inline int64_t rr_read_clock(struct rr_worker *t)
{
	t->now_ns = wp_now_ns();
	return t->now_ns;
}

/* Ends a stream, with its account. */
enum rr_turn rr_end(struct rr_worker *t, struct wp_stream *s, int error);
/* Open loop: puts a stream into the list of those that may begin a request, if it may. */
void rr_list(struct rr_worker *t, struct wp_stream *s);

/* Tells epoll what a connection waits for; 0 or -errno. */
int rr_watch(struct rr_worker *t, struct rr_conn *c);

/* ---- for the loops ---- */

/* A turn, and what follows from it. */
enum rr_turn rr_turn(struct rr_worker *t, struct wp_stream *s);
/* What time brings: gives requests that are due to streams, times requests out. */
void rr_on_time(struct rr_worker *t);
/* When rr_on_time() has something to do next; RR_NEVER. */
int64_t rr_next_ns(const struct rr_worker *t);
/* Once a stop is seen: accounts for the requests that will not be begun. */
void rr_note_stop(struct rr_worker *t);
/* Ends all streams that are left. */
void rr_cut(struct rr_worker *t);
/* The loops return when all streams have ended or an abort is seen. */
void rr_block_run(struct rr_worker *t); /* one stream */
int rr_epoll_run(struct rr_worker *t, bool spin);
void rr_spin_run(struct rr_worker *t);
/* Makes calls of a socket wait, but for a few ms at most. Whether it worked. */
bool rr_block_prepare(int fd);
bool rr_block_limit(int fd); /* the same for a socket that is not O_NONBLOCK */

/* ---- open() of each protocol ---- */

int rr_udp_open(struct wp_stream *s, const struct wp_plan *p, struct wp_err *err);
int rr_connect_open(struct wp_stream *s, const struct wp_plan *p, struct wp_err *err);
int rr_accept_open(struct wp_stream *s, struct wp_err *err);
int rr_busy_poll(int fd, const struct wp_plan *p, struct wp_err *err);

#endif
