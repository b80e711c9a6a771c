/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record.h - the run record: everything that one measured run leaves behind (DESIGN section 7,
 * docs/record.md).
 *
 * All strings and arrays of a record live in its pool; wp_run_done() frees them at once. Readers
 * fill the structs, model/json.h writes and reads the JSON by the metric table (model/metric.h).
 * Zeroed numbers are absent.
 */
#ifndef WP_MODEL_RECORD_H
#define WP_MODEL_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "model/num.h"
#include "model/pause.h"
#include "model/stall.h"
#include "stats/hist.h"

#define WP_RUN_SCHEMA "whyperf.run/1"

/* Named limits: what a record may hold, so that a peer's or a file's JSON can't exhaust memory. */
#define WP_MAX_FLOWS           2048  /* 1,000 streams in both directions */
#define WP_MAX_INTERVAL_ROWS   65536 /* over all flows of a record; longer runs fold pairs */
#define WP_MAX_CPU_SAMPLE_ROWS 65536
#define WP_MAX_HISTOGRAMS      8 /* of a host */
#define WP_RECORD_HIST_BITS    7 /* a bucket is at most 0.39 % off */
#define WP_RUN_POOL_BYTES      (256u << 20)

struct wp_ints {
	int *v;
	size_t n;
};

struct wp_test {
	const char *kind;       /* tcp | udp | rr | gen | sink | write */
	const char *protocol;   /* TCP | UDP | - */
	const char *peer;       /* whyperf | iperf3 | iperf2 | netperf | none */
	const char *direction;  /* forward | reverse | both */
	const char *target;     /* the HOST operand as given */
	const char *congestion; /* asked for; NULL = the kernel's default */
	const char *fill;       /* zero | random | pattern */
	const char *send_method,
		*receive_method; /* write | zerocopy; read | discard: what was used */
	struct wp_num streams, duration_s, omit_s, interval_s, length_bytes, target_bps,
		limit_bytes;
	struct wp_num window_bytes, mss_bytes, dscp, nodelay;
	struct wp_num stall_s;   /* --stall */
	struct wp_num soak;      /* --soak */
	struct wp_ints hog_cpus; /* --hog: busy loops beside the client */
	struct wp_num target_pps, batch, busy_poll_us, gso, gro, connected, spin; /* udp */
	const char *arrivals; /* rr: closed loop | even | poisson */
	const char *wait;     /* rr: auto | block | epoll | spin */
	struct wp_num request_bytes, response_bytes, connect, outstanding, rate_hz,
		limit_transactions, response_timeout_s;
	/* write */
	const char *
		file_type; /* null device | device | file | pipe | socket | terminal | block device */
	const char *fsync_policy; /* never | end | each | bytes */
	struct wp_num fsync_bytes, file_size_bytes, direct, o_sync, pipe_bytes;
	const char *with; /* --with: protocol of the request/response test beside the load */
	struct wp_num with_rate_hz, idle_s;
};

struct wp_inventory {
	const char *hostname, *kernel, *arch, *os, *cpu_model, *clocksource, *governor,
		*virtualization;
	const char *cpu_accounting;          /* ticks | irq_time | full */
	const char *cpu_accounting_evidence; /* one sentence */
	const char *congestion_default, *qdisc_default, *mitigations, *irqbalance;
	struct wp_num cpus_online, cpus_possible, sockets, cores, threads_per_core, numa_nodes,
		llc_groups;
	struct wp_num memory_bytes, user_hz, clock_read_ns, rmem_max_bytes, wmem_max_bytes,
		netdev_max_backlog;
	struct wp_num tcp_rmem_max_bytes, tcp_wmem_max_bytes, steal_since_boot_pct;
};

struct wp_cpu_use {
	struct wp_num cpu;
	struct wp_num busy_pct, user_pct, system_pct, irq_pct, softirq_pct, steal_pct, idle_pct,
		iowait_pct;
	struct wp_num sum_pct; /* all columns over wall time: 100 on an honest kernel */
	const char *trust;     /* ok | hidden | doubled | saturated | absent */
	const char *source;    /* ticks | bpf | soak */
	struct wp_num interrupts, net_rx, net_tx, timer, sched, hrtimer, rcu, tasklet, block;
	struct wp_num softnet_processed, softnet_dropped, softnet_squeezed, softnet_rps;
	struct wp_num frequency_mhz;
};

/* One CPU in one sample. */
struct wp_cpu_sample {
	struct wp_num start_s, end_s, cpu;
	struct wp_num busy_pct, user_pct, system_pct, irq_pct, softirq_pct, steal_pct, idle_pct,
		sum_pct;
};

/* One thread that moved data. */
struct wp_thread_use {
	const char *name;
	struct wp_num asked_cpu, last_cpu,
		migrations; /* migrations: samples in which the CPU had changed */
	struct wp_num cpu_s,
		run_delay_s; /* /proc/thread-self/schedstat: on a CPU; waiting for one */
	struct wp_num cpu_pct, run_delay_pct; /* of wall time */
	struct wp_num voluntary_switches, involuntary_switches;
};

/*
 * A distribution of times, in the buckets of a log-linear histogram (stats/hist.h): bucket `index` of 2^bits a power of
 * two holds `count` values in nanoseconds. Minimum, maximum and mean are exact. Two of the same name are merged by their
 * buckets (wp_histogram_merge()), never by their percentiles.
 */
struct wp_histogram {
	/* latency: of transactions; send_gap: between two packets of a paced sender; delay: one-way, less the
	 * smallest seen; write: of a write(2); latency_idle, latency_loaded: of transactions without and beside the
	 * load (--with) */
	const char *name;
	const char *note; /* what to know; NULL */
	struct wp_num count, min_us, p50_us, p90_us, p99_us, p999_us, p9999_us, max_us, mean_us;
	unsigned bits;
	struct wp_hist_pair *buckets; /* ascending, not empty */
	size_t n_buckets;
};

/* A kernel counter of one host's network namespace that moved during the run ("TcpRetransSegs"). */
struct wp_count {
	const char *name;
	const char *source; /* net/snmp, net/netstat, net/snmp6, net/dev:wpa, softnet_stat */
	double delta;
};

struct wp_host {
	const char *role; /* client | server */
	const char *name;
	const char *same_machine_as; /* role of the other host when both ends run on one machine */
	struct wp_inventory inventory;
	struct wp_ints asked_app_cpus, observed_app_cpus, observed_rx_cpus;
	const char *placement_note; /* what was not honoured; NULL when all was */
	const char *sampling_note;  /* where sampling was not as asked for; NULL when it was */
	const char *
		app_to_peer; /* from this end's application CPU to the other end's, on one machine */
	const char *app_to_rx; /* distance between the app CPU and the CPU that served it: same cpu
				  | ... */
	struct wp_cpu_use *cpus;
	size_t n_cpus;
	struct wp_cpu_sample *cpu_samples;
	size_t n_cpu_samples;
	struct wp_thread_use *threads;
	size_t n_threads;
	struct wp_count *counts; /* in the measured window */
	size_t n_counts;
	/* On the datagrams' way through this host, over the whole run with its warm-up and tail: what the ledger is
	 * made from. Only those that moved. */
	struct wp_count *path_counts;
	size_t n_path_counts;
	const char
		*path_device; /* the interface that leads to the other end; NULL = not looked for */
	const char *path_note; /* which of them could not be read; NULL = all were */
	struct wp_histogram *histograms;
	size_t n_histograms;
	struct wp_stall_view *stalls; /* as this end saw them */
	size_t n_stalls;
	struct wp_num stalls_left_out; /* beyond WP_MAX_STALLS; absent without --stall */
	struct wp_num hog_cpu_pct;     /* --hog: of one CPU, all busy loops together */
	struct wp_num stall_cpu_pct;   /* what looking for them took, of one CPU */
	/* --soak: what whyperf's own process here held after the first tenth of the run, at its end, and at most */
	struct wp_num soak_readings, soak_rss_base_bytes, soak_rss_end_bytes, soak_rss_peak_bytes;
	struct wp_num soak_fds_base, soak_fds_end, soak_fds_peak;
	struct wp_num soak_threads_base, soak_threads_end, soak_threads_peak;
	struct wp_num wall_s;                 /* length of the window that cpus[] covers */
	struct wp_num app_cpu_s;              /* CPU time of the threads that moved data */
	struct wp_num cost_us_per_kb;         /* app thread CPU time per 1024 bytes of this end */
	struct wp_num machine_cost_us_per_kb; /* busy time of all CPUs per 1024 bytes */
	struct wp_num cost_us_per_packet;     /* datagrams */
	struct wp_num cost_us_per_transaction, machine_cost_us_per_transaction;
	struct wp_num self_cpu_pct; /* whyperf's own sampling, of one CPU */
	struct wp_num sample_interval_s, samples_folded;
};

struct wp_interval {
	struct wp_num start_s, end_s; /* from the start of the test, measured, not nominal */
	struct wp_num omitted;        /* 1 in the warm-up */
	struct wp_num bytes, bits_per_second, packets, retransmits;
	struct wp_num cwnd_bytes, rtt_us, rttvar_us, min_rtt_us, delivery_bps, pacing_bps;
	struct wp_num busy_pct, rwnd_limited_pct,
		sndbuf_limited_pct; /* of the interval's wall time */
	struct wp_num unacked, notsent_bytes, snd_wnd_bytes, app_limited;
	struct wp_num incoming_cpu;
	/* Datagrams: `packets` are those moved; lost may be negative: a late one was counted lost in an earlier row. */
	struct wp_num lost, out_of_order, duplicated, jitter_us, socket_drops, send_drops;
	struct wp_num shortfall_packets;
	/* Transactions */
	struct wp_num transactions, timeouts, latency_p50_us, latency_p99_us, latency_max_us;
	/* Writes: of the interval's wall time, what the thread did; steal_pct: of its CPU */
	struct wp_num on_cpu_pct, run_delay_pct, taker_wait_pct, sync_pct, paced_pct, steal_pct;
	struct wp_num
		longest_us; /* without a completed write, as far as it reaches into the interval */
};

struct wp_flow_end {
	struct wp_num bytes, packets, seconds, bits_per_second, retransmits, lost, out_of_order,
		duplicated, jitter_us;
	struct wp_num all_packets, all_retransmits; /* likewise */
	struct wp_num all_bytes; /* with the warm-up and the tail after the measured window */
	struct wp_num calls, mean_call_bytes; /* system calls that moved data */
	struct wp_num
		shortfall_bytes; /* sender, paced: due but dropped, because nothing is caught up after a stall */
	struct wp_num corrupt_blocks; /* content check; absent when it was off */
	/* Datagrams. A receiver's `packets` count every arrival, duplicates too: distinct = packets - duplicated. */
	struct wp_num
		late; /* receiver: older than the window of sequence numbers, so new or duplicate is not known */
	struct wp_num socket_drops; /* receiver: SO_RXQ_OVFL, its buffer was full */
	struct wp_num
		send_drops; /* sender: ENOBUFS, the local device or qdisc dropped them (IP_RECVERR) */
	struct wp_num shortfall_packets;
	/* Transactions: completed, for UDP those without a response in time, and those that the end of the test, or a
	 * broken connection, left without one */
	struct wp_num transactions, timeouts, unanswered;
	/* Writes: fsync(2) calls, and shares of the window's wall time */
	struct wp_num syncs, taker_wait_pct, sync_pct, paced_pct;
	struct wp_num all_lost, all_socket_drops, all_send_drops, all_duplicated,
		all_late; /* with the warm-up */
};

struct wp_flow {
	const char *id;             /* "1", "2", ... */
	const char *local, *remote; /* "10.97.0.1:43210" */
	/* What this host (hosts[0]) did: sender | receiver | both. both: transactions; `sent` is then the end that
	 * asks, hosts[0], `received` the one that answers. */
	const char *role;
	const char *congestion; /* of the sender's socket */
	const char *note;       /* e.g. "the kernel copied all of 40518 zero-copy sends" */
	struct wp_num mss_bytes, sndbuf_bytes, rcvbuf_bytes, send_cpu, receive_cpu,
		receive_softirq_cpu;
	struct wp_num busy_pct, rwnd_limited_pct, sndbuf_limited_pct,
		app_limited_pct; /* sender's, whole run */
	struct wp_num min_rtt_us, mean_rtt_us, dsacks, reordering, intervals_folded;
	struct wp_num rcvbuf_asked_bytes;  /* UDP: what rcvbuf_bytes is to be compared with */
	struct wp_num connections;         /* rr: of which this is the sum */
	struct wp_num connection_fairness; /* rr: Jain's index over their transactions */
	struct wp_interval *intervals;     /* of hosts[0]'s end */
	size_t n_intervals;
	struct wp_interval *peer_intervals;
	size_t n_peer_intervals;
	struct wp_pause_view *pauses; /* writes: the longest, by length; at most WP_MAX_PAUSES */
	size_t n_pauses;
	struct wp_num pauses_left_out; /* they came too fast to be looked at */
	const char *taker;             /* the command that was fed (--to) */
	struct wp_num
		taker_exit; /* its exit status; 128 + the number of the signal that ended it */
	struct wp_num taker_end_s; /* how long it went on after the end of its input */
	struct wp_flow_end sent, received;
};

struct wp_total {
	struct wp_num sent_bps, received_bps, sent_packets_per_s, received_packets_per_s,
		transactions_per_s;
	struct wp_num sent_bytes, received_bytes, retransmits, fairness_jain;
	struct wp_num lost_packets, lost_pct, out_of_order, duplicated, jitter_us, transactions,
		timeouts, unanswered;
	struct wp_num latency_min_us, latency_p50_us, latency_p90_us, latency_p99_us,
		latency_p999_us, latency_p9999_us, latency_max_us, latency_mean_us;
	/* --with: round trips without and under the load; added: the differences of the medians and of the 99 %. */
	struct wp_num idle_p50_us, idle_p99_us, idle_max_us, idle_mean_us;
	struct wp_num loaded_p50_us, loaded_p99_us, loaded_max_us, loaded_mean_us;
	struct wp_num added_latency_us, added_latency_p99_us;
	struct wp_num rpm;         /* round trips a minute under load: 60 s over the mean */
	const char *latency_grade; /* A+ A B C D F, by added_latency_us (run/latency.h) */
};

struct wp_stage {
	const char *stage, *host, *source;
	struct wp_num packets;
};

struct wp_ledger {
	struct wp_num sent_packets, delivered_packets, unexplained_packets;
	/* Datagrams that the sender's kernel refused (ENOBUFS): not in sent_packets, and where it dropped them. */
	struct wp_num refused_packets;
	const char *refused_by;
	struct wp_stage *stages;
	size_t n_stages;
};

struct wp_evidence {
	const char *metric, *unit, *source;
	double value;
};

#define WP_FINDING_EVIDENCE 8
#define WP_FINDING_ADVICE   4

struct wp_finding {
	const char *rule;
	const char *confidence; /* high | medium | low */
	const char *says;       /* a sentence */
	double share_pct;       /* of the limit that it explains */
	struct wp_evidence evidence[WP_FINDING_EVIDENCE];
	size_t n_evidence;
	const char
		*advice[WP_FINDING_ADVICE]; /* commands that whyperf can run, or what to change */
	size_t n_advice;
};

struct wp_run {
	struct wp_pool pool;
	const char *id;      /* 16 hex digits */
	const char *name;    /* given by `history name`; NULL */
	const char *started; /* RFC 3339 */
	const char *version;
	const char **command; /* argv */
	size_t n_command;
	int exit_status;
	const char *error; /* why the run failed or was cut short; NULL */
	struct wp_test test;
	struct wp_host hosts[2]; /* 0: client, 1: server */
	size_t n_hosts;
	struct wp_flow *flows;
	size_t n_flows;
	struct wp_total total;
	struct wp_ledger ledger;
	struct wp_stall *stalls; /* both ends' views together, by time */
	size_t n_stalls;
	struct wp_finding *findings;
	size_t n_findings;
	const char **warnings; /* sentences; nothing is dropped silently */
	size_t n_warnings;
};

void wp_run_init(struct wp_run *run); /* zeroes and gives it a pool */
void wp_run_done(struct wp_run *run);
/* Adds a sentence to warnings (copied); beyond 64 the last says that more were left out. */
void wp_run_warn(struct wp_run *run, const char *fmt, ...) WP_PRINTF(2, 3);

/* The host that sent / received flow `f` (hosts[0] or hosts[1]), NULL where the record has none. */
const struct wp_host *wp_flow_sender(const struct wp_run *run, const struct wp_flow *f);
const struct wp_host *wp_flow_receiver(const struct wp_run *run, const struct wp_flow *f);
/* Completes hosts[0]'s view of a flow by the other end's view of the same flow: its intervals
 * become peer_intervals, its sent or received totals are taken, and what this end could not know
 * (the sender's congestion control, ...) is filled in; nothing that is there is overwritten.
 * Strings are borrowed: both must live in the same pool. */
void wp_flow_merge_peer(struct wp_flow *mine, const struct wp_flow *theirs);
/* Datagrams, with both ends complete: what was lost is what the sender sent and the receiver did not get once. A receiver
 * that got no end marker does not know of losses after the newest datagram that came; they were at the end of the measured
 * window, so its last row and both totals get them. */
void wp_flow_settle_losses(struct wp_flow *flow);
/* Writes the percentiles, the buckets and so on of `h` (nanoseconds); -ENOMEM. */
int wp_histogram_from(const struct wp_hist *h, const char *name, struct wp_histogram *ret,
		      struct wp_pool *pool) WP_MUST_USE;
/* Fills `h` (initialised by the call, freed with wp_hist_done()) from the buckets. -EINVAL when they are not those of a
 * histogram. */
int wp_histogram_load(const struct wp_histogram *from, struct wp_hist *ret) WP_MUST_USE;
/* The host's histogram of that name, or NULL. */
const struct wp_histogram *wp_host_histogram(const struct wp_host *h, const char *name);
/* A copy whose strings live in `pool`; 0 or -ENOMEM. */
int wp_inventory_copy(const struct wp_inventory *from, struct wp_inventory *ret,
		      struct wp_pool *pool) WP_MUST_USE;
/* The row of cpus[] with that CPU number, or NULL. */
const struct wp_cpu_use *wp_host_cpu(const struct wp_host *h, int cpu);

#endif
