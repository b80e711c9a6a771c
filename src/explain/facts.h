/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * facts.h - what rules need of a record, gathered once for one direction of traffic: who sends and who receives, their
 * busiest threads and the CPUs of these, and the flows' figures as one.
 *
 * Borrowed from the run; nothing to free. Figures keep their three states: a rule that lacks one says which.
 */
#ifndef WP_EXPLAIN_FACTS_H
#define WP_EXPLAIN_FACTS_H

#include "model/record.h"

/* Thresholds in per cent of wall time unless said; the sources are measurements with planted limits. */
#define WP_FULL_PCT         95.0 /* a thread on its CPU: it never waits for anything */
#define WP_NEAR_FULL_PCT    90.0
#define WP_DELAY_PCT        5.0  /* waiting for a CPU: worth saying */
#define WP_DELAY_MAIN_PCT   25.0 /* ... and the main thing */
#define WP_DELAY_RR_PCT     15.0 /* ... of threads that are woken up for each transaction */
#define WP_LIMITED_PCT      20.0 /* rwnd_limited, sndbuf_limited of busy time: a cause */
#define WP_LIMITED_NOTE_PCT 5.0
#define WP_UDP_LOSS_SHARE   0.001  /* of the datagrams: the receiver is too slow */
#define WP_LOSS_SHARE       0.0005 /* of the segments: below it loss limits nothing here */
#define WP_ZERO_RTT_US      200.0 /* min_rtt of a path without distance: loopback, veth, one switch */
#define WP_SMALL_CALL_BYTES 8192.0 /* below it the call costs more than the copy */
#define WP_STEAL_PCT        1.0
#define WP_SOFTIRQ_SHARE    0.6 /* of a CPU's busy time: it does little else than receive */
#define WP_SELF_PCT         1.0 /* the sampler, of one CPU */
#define WP_SLOW_CLOCK_NS    200.0

/* What a test moved, as bits of wp_rule.kinds. Names in the order of put_kinds() in rules.c. */
enum wp_fact_kind {
	WP_KIND_TCP = 1 << 0, /* a byte stream */
	WP_KIND_UDP = 1 << 1, /* datagrams */
	WP_KIND_RR = 1 << 2,  /* requests and responses: the client's end is the sender */
	WP_KIND_WRITE =
		1 << 3, /* a file: the thread that writes is the sender, there is no receiver */
};

struct wp_side {
	const struct wp_host *host;         /* NULL: not in the record */
	const struct wp_host *cpus;         /* the host whose cpus[] cover this side; NULL = none */
	const char *word;                   /* "sender" | "receiver"; rr: "client" | "server" */
	const struct wp_thread_use *thread; /* busiest: CPU time plus run delay; NULL = not known */
	size_t n_threads,
		n_full; /* n_full: those that are able to run WP_NEAR_FULL_PCT of the time */
	struct wp_num on_cpu_pct, delay_pct;
	struct wp_num runnable_pct; /* the two together */
	double excused_pct; /* it was blocked while the other end waited for a CPU that others use: at most so long, so
			       it may have been blocked by nothing else */
	bool polls;        /* it asks for data without sleeping: its CPU is busy in any case */
	struct wp_num cpu; /* where that thread runs */
	bool stays;        /* it did not move between CPUs */
	const struct wp_cpu_use *use; /* of that CPU; NULL = not known */
	struct wp_num call_bytes;     /* bytes a system call */
	struct wp_num rx_cpu; /* the CPU that processes the packets which this side receives */
};

struct wp_facts {
	const struct wp_run *run;
	struct wp_pool *pool; /* for texts */
	unsigned kind;        /* one of enum wp_fact_kind; 0 = of no rule */
	struct wp_side sender, receiver;
	bool same_machine;
	bool local_delivery; /* veth or lo: the peer's receive path runs on the sending CPU */
	bool one_cpu;        /* both ends' threads stay on the same one */
	size_t n_flows;
	double seconds;          /* measured window; 0 = not known */
	double rate_bps;         /* sum of the flows, at the receivers where known */
	double bytes, all_bytes; /* all_bytes: with the warm-up, as the CPUs' counters have it */
	const char *congestion;  /* of the first flow */
	struct wp_num busy_pct;  /* means over the flows */
	struct wp_num rwnd_limited_pct, sndbuf_limited_pct; /* of busy time */
	struct wp_num rwnd_wall_pct, sndbuf_wall_pct;       /* of wall time */
	struct wp_num app_limited_pct;
	struct wp_num
		network_pct; /* of wall time: data in flight and queued, no window closed, no more asked of the
				      application: congestion window, pacing or a queue holds it */
	struct wp_num
		wait_pct; /* of wall time: the sending thread neither runs nor waits for a CPU */
	struct wp_num min_rtt_us, mean_rtt_us;
	struct wp_num sndbuf_bytes, rcvbuf_bytes; /* smallest of the flows */
	struct wp_num flow_bps;                   /* mean of a flow */
	struct wp_num packets, retransmits, dsacks;
	/* Means over the sender's interval rows outside the warm-up, and how many rows there are. */
	struct wp_num cwnd_bytes, unacked, notsent_bytes, pacing_bps;
	size_t n_rows;
	struct wp_num mss_bytes;
};

/* Flows that hosts[0] sends (`forward`) or receives. False when there are none that moved data. */
bool wp_facts_gather(const struct wp_run *run, bool forward, struct wp_pool *pool,
		     struct wp_facts *ret);

/* Share of the sender's interval rows (0..1) in which the figure at `offset` of struct wp_interval is at least
 * `threshold`; -1 with fewer than three rows. */
double wp_facts_rows_above(const struct wp_facts *f, size_t offset, double threshold);

/* Sum of the counters called `name` in both hosts' counts; absent when none moved. */
struct wp_num wp_facts_count(const struct wp_facts *f, const char *name);

/* A receive buffer that no round trip seen here fills: where its window closes, the reader is why. */
bool wp_facts_large_buffer(const struct wp_facts *f);
/* A large window that closes because the reader waits for a CPU. */
bool wp_facts_delayed_reader(const struct wp_facts *f);
/* The sender's CPU time goes into small system calls: it runs, or waits for CPUs that others use, nearly always. */
bool wp_facts_small_writes(const struct wp_facts *f);
/* Segments that had to be sent again and did not arrive twice. */
struct wp_num wp_facts_lost(const struct wp_facts *f);
/* Something other than the ends' CPUs is known to have stopped the sender: a window, loss, bbr, a rate asked for. */
bool wp_facts_held(const struct wp_facts *f);
/* rate x round trip of a flow, in bytes; absent where either is. */
struct wp_num wp_facts_bdp_bytes(const struct wp_facts *f);

/* UDP (rule_udp.c): share of the datagrams, 0..1, that the receiver's own socket buffer lost. */
double wp_facts_socket_loss(const struct wp_facts *f);
/* UDP: likewise of all that was refused or is missing. */
double wp_facts_datagram_loss(const struct wp_facts *f);
/* UDP: a rate was asked for and reached: no CPU is the limit. */
bool wp_facts_paced(const struct wp_facts *f);

/* A CPU of that side with less than half of its time busy, other than `not`; -1 = none. */
int wp_side_free_cpu(const struct wp_side *s, int not_this, int nor_this);

#endif
