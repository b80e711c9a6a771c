/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * udp_stream.h - inside of the UDP datagram engine. udp_stream.c is the engine and its waiting loops, udp_socket.c sets
 * the sockets up, udp_send.c and udp_receive.c move the datagrams.
 *
 * A "turn" moves a stream until its socket would block, it has to wait for its pace, the turn's share is used up, or it
 * ends. The loops only wait. Everything here belongs to one worker thread. No call on a socket blocks.
 *
 * What is counted:
 *  - A sender's `packets` are datagrams (with GSO: segments) that the kernel has taken. One that it refused (ENOBUFS and
 *    so on) is in `send_drops` only; its number is given to the next one, so numbers are exactly those of the packets.
 *  - A receiver's are all data datagrams that it was given; see udp_sequence.h.
 *  - Control datagrams (load/datagram.h) are never counted, here. The kernel counts them.
 */
#ifndef WP_LOAD_UDP_STREAM_H
#define WP_LOAD_UDP_STREAM_H

#include "load/datagram.h"
#include "load/engine.h"
#include "load/udp_sequence.h"
#include "load/udp_timers.h"
#include "net/packet_pacer.h"

#define UDP_SEGMENTS_MAX 64 /* of a super-packet; Linux has taken so many since 4.18 */

enum udp_turn {
	UDP_ENDED, /* the stream is over */
	UDP_MORE,  /* the share is used up; the socket may take or have more */
	UDP_WAIT,  /* for poll events x->events (errors always count) or until x->due_ns */
};

/* Errors that may pass by themselves: ICMP messages, and packets that the local host does not let out. */
struct udp_trouble {
	unsigned n;
	int64_t first_ns, last_ns;
};

struct udp_sender {
	uint64_t packets, bytes, calls, drops;
	struct wp_packet_pacer pacer;
	int64_t last_send_ns; /* paced: 0 = none yet */
	struct udp_trouble icmp, refused;
	bool finishing; /* all sent; end markers are on their way */
	unsigned markers;
	int64_t finish_ns;
};

/* One-way delays that are kept back at first, because the smallest is not known yet. */
#define UDP_HELD 256

struct udp_held {
	int64_t delay_ns;
	uint64_t n;
};

struct udp_receiver {
	struct udp_sequence seq;
	uint64_t packets, bytes, calls, messages;
	bool tail_seen; /* a datagram too short for a number in a stream of numbered ones: the last */
	bool limit_known;   /* an end marker has come */
	uint64_t total;     /* of it */
	int64_t quiet_ns;   /* since when nothing has come */
	int64_t stopped_ns; /* stop was seen; 0 = not yet */
	/* Delays: of datagrams that were sent together, not yet in the histogram. */
	int64_t sent_ns, delay_ns, least_delay_ns, before_delay_ns;
	uint64_t n_together;
	bool timed, has_before;
	uint64_t jitter_16_ns; /* 16 times the jitter, as RFC 3550 A.8 keeps it */
	struct udp_held *held; /* NULL once they are in the histogram */
	unsigned n_held;
	/* Drops of the socket: the kernel's 32-bit counter when last read. */
	uint32_t drops_seen;
	uint64_t drops; /* messages */
	int64_t drops_read_ns;
	bool drops_unread; /* something has come since */
};

/* Per-stream context (wp_stream.ctx). */
struct udp_stream {
	short events;
	short registered; /* with epoll */
	int64_t due_ns;   /* UDP_NEVER: only events end the wait */
	bool error;       /* poll said so: there is something in the error queue */
	struct udp_timer timer;
	union {
		struct udp_sender tx;
		struct udp_receiver rx;
	};
};

/* Per-worker state. */
struct udp_worker {
	struct wp_worker *w;
	const struct wp_plan *plan;
	size_t length; /* of a datagram */
	bool paced;
	bool spins; /* has paced senders that are to spin */
	/* Sending: a batch of `tx_messages` messages of up to `tx_segments` datagrams in `tx_arena`. */
	size_t tx_messages, tx_segments, tx_stride;
	unsigned char *tx_arena;
	struct mmsghdr *tx_headers;
	struct iovec *tx_iov;
	/* Receiving: `rx_messages` of `rx_stride` bytes. */
	size_t rx_messages, rx_stride;
	unsigned char *rx_arena;
	struct mmsghdr *rx_headers;
	struct iovec *rx_iov;
	union udp_control *rx_control; /* with GRO */
	struct wp_addr *rx_from;       /* when there are unconnected receivers */
	/* Napping (udp_receive.c): messages since the last wait, and when that was. */
	bool naps;
	uint64_t rx_fresh;
	int64_t rx_waited_ns;
	size_t mapped_tx_bytes, mapped_rx_bytes;
};

static inline struct udp_stream *udp_ctx(const struct wp_stream *s)
{
	return s->ctx;
}

static inline enum udp_turn udp_end(struct wp_stream *s, int error)
{
	wp_stream_end(s, error);
	return UDP_ENDED;
}

static inline enum udp_turn udp_wait(struct wp_stream *s, short events, int64_t due_ns)
{
	struct udp_stream *x = udp_ctx(s);

	x->events = events;
	x->due_ns = due_ns;
	return UDP_WAIT;
}

#define UDP_STORE(counter, value) atomic_store_explicit(&(counter), (value), memory_order_relaxed)

/* ---- udp_socket.c ---- */

int udp_open(struct wp_stream *s, const struct wp_plan *plan, struct wp_err *err);
/* Reads the error queue empty; returns the errno of the newest ICMP message in it, 0 = none. */
int udp_drain_errors(int fd);
/* The kernel's counter of datagrams that this socket had no room for, modulo 2^32; 0 or -errno. */
int udp_read_drops(int fd, uint32_t *ret);
/* Whether the socket's receive buffer holds what comes during a nap. */
bool udp_receive_buffer_is_ample(int fd);
/* Whether the socket's send buffer is so full that a send may have been refused for it. */
bool udp_send_buffer_full(int fd);

/* ---- udp_send.c ---- */

int udp_send_init(struct udp_worker *u);
void udp_send_done(struct udp_worker *u);
void udp_send_start(struct udp_worker *u, struct wp_stream *s);
enum udp_turn udp_send_turn(struct udp_worker *u, struct wp_stream *s);

/* ---- udp_receive.c ---- */

int udp_receive_init(struct udp_worker *u);
void udp_receive_done(struct udp_worker *u);
int udp_receive_open(struct wp_stream *s, struct wp_err *err);
void udp_receive_close(struct wp_stream *s);
enum udp_turn udp_receive_turn(struct udp_worker *u, struct wp_stream *s);
/* Instead of waiting for the sockets until `due_ns`: sleeps for a moment while much is coming, and returns true. */
bool udp_receive_nap(struct udp_worker *u, int64_t due_ns);

#endif
