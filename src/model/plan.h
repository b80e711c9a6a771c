/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan.h - what one run is to do, as decided before it starts: the finished form of a command line,
 * what a peer is asked for, and what the record's test{} is filled from. Plain data; strings are
 * borrowed from the caller.
 */
#ifndef WP_MODEL_PLAN_H
#define WP_MODEL_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/err.h"
#include "model/record.h"

#define WP_MAX_STREAMS 1000
#define WP_MAX_LENGTH_BYTES \
	(64u << 20) /* one write: far above what is fast, small enough for 1,000 streams */
#define WP_DEFAULT_PORT    9497
#define WP_MAX_CONNECTIONS 10000 /* of a request/response test */
#define WP_MAX_DATAGRAM    65507 /* payload of UDP over IPv4; over IPv6 20 more would fit */
#define WP_MAX_BATCH       1024
#define WP_MAX_OUTSTANDING 1024

#define WP_MIN_STALL_NS (50 * INT64_C(1000000)) /* looked for ten times in it: every 5 ms */
#define WP_MAX_STALL_NS (3600 * INT64_C(1000000000))

enum wp_direction {
	WP_FORWARD, /* client sends */
	WP_REVERSE, /* server sends */
	WP_BOTH,    /* a connection for each direction and stream */
};

enum wp_fill {
	WP_FILL_ZERO,
	WP_FILL_RANDOM,
	WP_FILL_PATTERN, /* 64-bit counter of the stream's byte offset / 8, little-endian: content
			    can be checked */
};

/* How bytes are sent / received. AUTO picks what measures fastest on plain kernels: write and read.
 */
enum wp_send_method {
	WP_SEND_AUTO,
	WP_SEND_WRITE,
	WP_SEND_ZEROCOPY, /* MSG_ZEROCOPY; says when the kernel copied after all */
};

enum wp_receive_method {
	WP_RECEIVE_AUTO,
	WP_RECEIVE_READ,
	WP_RECEIVE_DISCARD, /* no copy to user space (MSG_TRUNC), polling for a moment before sleeping */
};

enum wp_transport {
	WP_TCP,
	WP_UDP,
};

/* How a thread waits for the next message of a request/response test. AUTO: blocking with one
 * connection a thread, epoll with several. */
enum wp_wait {
	WP_WAIT_AUTO,
	WP_WAIT_BLOCK, /* in the call itself; one connection a thread only */
	WP_WAIT_EPOLL,
	WP_WAIT_SPIN, /* never sleeps */
};

/* When a writer calls fsync(2). */
enum wp_sync {
	WP_SYNC_NEVER,
	WP_SYNC_END,
	WP_SYNC_EACH, /* after each write */
	WP_SYNC_BYTES,
};

struct wp_plan {
	const char *
		kind; /* "tcp", "udp" (datagrams), "rr" (request/response); "write": no server knows it */
	enum wp_transport transport;
	unsigned streams; /* in each direction; rr: connections. 1..wp_plan_max_streams() */
	enum wp_direction direction;
	int64_t duration_ns;  /* measured window; 0 = none, limit_bytes ends the run */
	int64_t omit_ns;      /* warm-up before the window */
	int64_t interval_ns;  /* report rows; 0 = none but the whole */
	int64_t sample_ns;    /* kernel counters; 0 = as interval_ns */
	bool soak;            /* both ends watch what their processes hold */
	int64_t stall_ns;     /* progress that stops for so long is a stall; 0 = not looked for */
	uint64_t limit_bytes; /* total over the streams of a direction; 0 = none. rr: of requests */
	uint64_t
		length_bytes; /* a write, a datagram's payload (with gso: a segment's), a request */
	uint64_t rate_bps;    /* of each stream, payload; 0 = unlimited. Packets a second: bits of
				  length_bytes */
	uint64_t window_bytes; /* SO_SNDBUF and SO_RCVBUF; 0 = autotuning */
	uint32_t mss_bytes;    /* 0 = kernel's */
	bool nodelay;
	int dscp;               /* -1 = not set */
	const char *congestion; /* NULL = kernel's default */
	enum wp_fill fill;
	bool check; /* compare received content with the pattern */
	enum wp_send_method send_method;
	enum wp_receive_method receive_method;
	/* udp */
	bool unconnected; /* senders name the address in each call, and the kernel looks the route up */
	bool gso, gro;         /* UDP_SEGMENT, UDP_GRO */
	unsigned batch;        /* messages a sendmmsg(2) or recvmmsg(2); 0 = as measured best */
	unsigned busy_poll_us; /* SO_BUSY_POLL; 0 = off */
	bool spin;             /* paced: burn a CPU instead of sleeping between packets */
	/* rr */
	uint64_t response_bytes;     /* the request is length_bytes */
	bool connect_each;           /* a connection for each transaction */
	unsigned outstanding;        /* requests under way on a connection, at least 1 */
	uint64_t rate_mhz;           /* open loop: requests due in 1000 s, over all connections; 0 =
					closed loop */
	bool poisson;                /* open loop: exponential gaps instead of even ones */
	enum wp_wait wait;           /* of both ends */
	int64_t response_timeout_ns; /* UDP: a response this late is a lost transaction */

	/* write */
	enum wp_sync sync;
	uint64_t
		sync_bytes; /* WP_SYNC_BYTES: fsync(2) whenever so many are written, and at the end */
	uint64_t
		wrap_bytes; /* a regular file: start again at its beginning after these; 0 = never */

	int family;                        /* AF_UNSPEC, AF_INET, AF_INET6 */
	const char *bind_host;             /* local address, NULL = any */
	struct wp_cpulist cpus, peer_cpus; /* one a thread; empty = not pinned */
	struct wp_cpulist hog_cpus;        /* busy loops beside the client; stays at home */
};

/* Bounds and combinations; -EINVAL with a sentence. Used by the command line and by the server on
 * what a client asks for. */
int wp_plan_check(const struct wp_plan *plan, struct wp_err *err) WP_MUST_USE;
/* The same for a test that has no other end: "write". wp_plan_check() refuses it, and with it every server. */
int wp_plan_check_write(const struct wp_plan *plan, struct wp_err *err) WP_MUST_USE;
/* Most streams (rr: connections) that a test of this kind can have. */
unsigned wp_plan_max_streams(const char *kind);
/* Bytes that a worker needs for its largest message. */
uint64_t wp_plan_buffer_bytes(const struct wp_plan *plan);
/* UDP: receive buffer that each stream asks the kernel for. */
uint64_t wp_plan_receive_buffer_bytes(const struct wp_plan *plan);
/* Share of limit_bytes that stream `i` of plan->streams moves: exact, differs by at most one block.
 */
uint64_t wp_plan_stream_limit(const struct wp_plan *plan, unsigned i);
/* Fills test{} of the record from the plan (strings to the pool). */
void wp_plan_to_test(const struct wp_plan *plan, struct wp_run *run);

const char *wp_direction_name(enum wp_direction d); /* forward | reverse | both */
const char *wp_fill_name(enum wp_fill f);

#endif
