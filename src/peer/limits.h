/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * limits.h - every bound that the native protocol puts on what comes from the wire, with its
 * reason. What a peer sends is compared with these before it is used.
 */
#ifndef WP_PEER_LIMITS_H
#define WP_PEER_LIMITS_H

#include "base/clock.h"

/* One message from a client. The largest honest one is a test with a list of 8,192 CPUs: 48 KB. */
#define WP_PEER_REQUEST_BYTES (64u << 10)
/* One message from a server: the result. 32,768 interval rows of 1,200 bytes and 65,536 of CPUs of
 * 350, with the stalls of an end, are 65 MB (test_result_size.c). */
#define WP_PEER_RESULT_BYTES (72u << 20)
/* JSON values in one message: an "[[],[],..." takes 30 times its length in memory. A plan has
 * under 9,000; a result has 65,536 rows of at most 60 keys. */
#define WP_PEER_REQUEST_VALUES (16u << 10)
#define WP_PEER_RESULT_VALUES  (6u << 20)
/* Nesting: a result's deepest value is result.host.cpus[].softirqs.net_rx; the parser recurses. */
#define WP_PEER_DEPTH 16
/* A sentence from the other end, and a label such as its version. */
#define WP_PEER_SAYS_BYTES  1000
#define WP_PEER_LABEL_BYTES 64

/* The slowest control connection that is waited for: 64 KB/s, so that a peer that reads or writes
 * one byte a second can't hold a session. Added to the timeout by the bytes of the message. */
#define WP_PEER_MIN_BYTES_PER_S (64u << 10)

/* A connection has this long for its first bytes and, a control connection, for its hello. Five
 * seconds are four retransmissions on a bad path. */
#define WP_PEER_HELLO_NS (5 * WP_NS_PER_S)
/* Between two messages of the preparation: making an endpoint of 10,000 connections takes some
 * seconds on a busy machine. */
#define WP_PEER_STEP_NS (15 * WP_NS_PER_S)
/* All data connections have to be there so long after the last one came. */
#define WP_PEER_CONNECT_NS (10 * WP_NS_PER_S)
/* The server asks this often whether the client is still there. */
#define WP_PEER_PING_NS (2 * WP_NS_PER_S)
/* Used when the configuration names none. Longer than a Wi-Fi roam, shorter than patience. */
#define WP_PEER_IDLE_NS (30 * WP_NS_PER_S)
/* A run that is not ended by time and moves nothing for so long is ended, though its client
 * answers. */
#define WP_PEER_STALL_NS (300 * WP_NS_PER_S)
/* Beyond the planned end of a run: slack for start, deep buffers on slow paths, and the result. */
#define WP_PEER_OVERTIME_NS (60 * WP_NS_PER_S)
/* After the client's finish the receivers wait for data on its way as long as some comes within
 * this. */
#define WP_PEER_DRAIN_NS (3 * WP_NS_PER_S)
/* After the server's last message: how long the client may take to read it and close. */
#define WP_PEER_LINGER_NS (2 * WP_NS_PER_S)
/* ... and send meanwhile: more than an honest client has on its way. */
#define WP_PEER_LINGER_BYTES (256u << 10)
/* After SIGTERM everything is over within two seconds: this much for all last messages of a session
 * together. */
#define WP_PEER_FAREWELL_NS (1 * WP_NS_PER_S)
/* The kernel gives up a control connection whose data is not acknowledged for so long (ms). */
#define WP_PEER_USER_TIMEOUT_MS 20000
/* ... and one that says nothing is probed after five seconds, three times. */
#define WP_PEER_KEEP_IDLE_S 5

/* Connections that have not said what they are. More than a burst of data connections that the
 * accept loop has not read yet; each costs one fd and 100 bytes. */
#define WP_PEER_MAX_PENDING 1024
/* When there are that many, one that is silent for so long makes room. */
#define WP_PEER_EVICT_NS (1 * WP_NS_PER_S)
/* Sessions that have not asked for a test yet: each costs a thread. */
#define WP_PEER_MAX_GREETING 64
/* Used when the configuration names none: a session costs a thread a CPU and the test's load. */
#define WP_PEER_MAX_CLIENTS 16
/* Data connections being opened by a client at once: 10,000 over a path of 100 ms take 4 s, three
 * clients fill no SYN queue (1,024) and not the room for pending connections. */
#define WP_PEER_CONNECT_BATCH 256
/* A client sends the preambles of its UDP sockets again so often, until the server is ready ... */
#define WP_PEER_PREAMBLE_NS (100 * WP_NS_PER_MS)
/* ... so many at once, with a pause: the server takes about as many in that time. */
#define WP_PEER_PREAMBLE_BATCH    64
#define WP_PEER_PREAMBLE_PAUSE_NS (2 * WP_NS_PER_MS)
/* The server throws away so many that come for a stream which is there already: those of the
 * longest wait for others, and what an honest client can't send more of. */
#define WP_PEER_EXTRA_PREAMBLES 1024
/* ... and so many old datagrams before it looks at its UDP port: more than fit into its buffer. */
#define WP_PEER_OLD_DATAGRAMS 16384
/* Listening sockets of a test with a connection for each transaction, one a thread. */
#define WP_PEER_MAX_LISTENERS 256
/* File descriptors that a server needs beside its clients' data connections: a session has 16, and
 * pending connections have to fit. */
#define WP_PEER_SPARE_FDS 256
/* ... and that a client needs. */
#define WP_PEER_OWN_FDS 64

#endif
