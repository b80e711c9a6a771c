/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/metric.h"

#include <string.h>

#include "model/record.h"

/*
 * One row a figure. `M` declares a number, `L` a text, `I` a list of integers; the struct of the
 * scope is named once a section by the macro S.
 */
#define OFF(field) offsetof(struct S, field)
#define M(key, field, unit, kind, better, source, help)                  \
	{                                                                \
		key, unit, kind, SCOPE, OFF(field), better, source, help \
	}
#define L(field, source, help)               M(#field, field, "", WP_LABEL, WP_NEITHER, source, help)
#define G(field, unit, better, source, help) M(#field, field, unit, WP_GAUGE, better, source, help)
#define C(field, unit, better, source, help) \
	M(#field, field, unit, WP_COUNTER, better, source, help)
#define I(key, field, source, help) M(key, field, "", WP_LIST, WP_NEITHER, source, help)

/* The same for figures of some kinds of test only. */
#define MO(key, field, unit, kind, better, source, help)                       \
	{                                                                      \
		key, unit, kind, SCOPE, OFF(field), better, source, help, true \
	}
#define LO(field, source, help) MO(#field, field, "", WP_LABEL, WP_NEITHER, source, help)
#define GO(field, unit, better, source, help) \
	MO(#field, field, unit, WP_GAUGE, better, source, help)
#define CO(field, unit, better, source, help) \
	MO(#field, field, unit, WP_COUNTER, better, source, help)

#define TCP_INFO "TCP_INFO"
#define SEQUENCE "sequence numbers"
#define HIST     "histogram"
#define STAT     "/proc/stat"
#define SCHED    "/proc/PID/task/TID/schedstat"

const struct wp_metric wp_metrics[] = {
#define S     wp_test
#define SCOPE WP_SCOPE_TEST
	L(kind, "command line", "tcp, udp, rr, gen, sink or write"),
	L(protocol, "command line", "TCP, UDP or -"),
	L(peer, "command line", "what the other end is: whyperf, iperf3, iperf2, netperf, none"),
	L(direction, "command line", "forward: the client sends; reverse: the server; both"),
	L(target, "command line", "the HOST operand as given"),
	L(congestion, "command line", "congestion control asked for; null = the kernel's default"),
	L(fill, "command line", "content sent: zero, random or pattern"),
	L(send_method, "observed", "system call that sent"),
	L(receive_method, "observed", "system call that received"),
	G(streams, "", WP_NEITHER, "command line", "connections in each direction"),
	G(duration_s, "s", WP_NEITHER, "command line", "measured window; null = until limit_bytes"),
	G(omit_s, "s", WP_NEITHER, "command line", "warm-up before the window"),
	G(interval_s, "s", WP_NEITHER, "command line", "report interval asked for"),
	G(length_bytes, "bytes", WP_NEITHER, "command line", "size of one write or datagram"),
	G(target_bps, "bit/s", WP_NEITHER, "command line",
	  "paced rate of a stream; null = unlimited"),
	G(limit_bytes, "bytes", WP_NEITHER, "command line", "bytes to move in a direction"),
	G(window_bytes, "bytes", WP_NEITHER, "command line",
	  "socket buffer asked for; null = autotuning"),
	G(mss_bytes, "bytes", WP_NEITHER, "command line", "maximum segment size asked for"),
	G(dscp, "", WP_NEITHER, "command line", "differentiated services code point"),
	G(nodelay, "", WP_NEITHER, "command line", "1 = TCP_NODELAY"),
	GO(stall_s, "s", WP_NEITHER, "command line",
	   "--stall: progress that stops for so long is a stall"),
	GO(target_pps, "1/s", WP_NEITHER, "command line",
	   "udp: paced packets of a stream a second; null = unlimited"),
	GO(batch, "", WP_NEITHER, "command line", "udp: datagrams a system call asked for"),
	GO(busy_poll_us, "us", WP_NEITHER, "command line", "SO_BUSY_POLL"),
	MO("gso", gso, "bool", WP_GAUGE, WP_NEITHER, "command line", "udp: UDP_SEGMENT"),
	MO("gro", gro, "bool", WP_GAUGE, WP_NEITHER, "command line", "udp: UDP_GRO"),
	MO("connected", connected, "bool", WP_GAUGE, WP_NEITHER, "command line",
	   "udp: the sockets are connected"),
	MO("spin", spin, "bool", WP_GAUGE, WP_NEITHER, "command line",
	   "udp: the paced sender burns a CPU instead of sleeping"),
	GO(request_bytes, "bytes", WP_NEITHER, "command line", "rr: size of a request"),
	GO(response_bytes, "bytes", WP_NEITHER, "command line", "rr: size of a response"),
	MO("connect", connect, "bool", WP_GAUGE, WP_NEITHER, "command line",
	   "rr: a connection for each transaction"),
	GO(outstanding, "", WP_NEITHER, "command line", "rr: requests under way on a connection"),
	GO(rate_hz, "1/s", WP_NEITHER, "command line",
	   "rr: transactions due a second over all connections; null = closed loop"),
	LO(arrivals, "command line", "rr: closed loop, even or poisson"),
	LO(wait, "command line", "rr: how both ends wait: auto, block, epoll or spin"),
	GO(limit_transactions, "", WP_NEITHER, "command line", "rr: transactions to make"),
	GO(response_timeout_s, "s", WP_NEITHER, "command line",
	   "rr over UDP: a response this late is lost"),
	LO(with, "command line", "protocol of the request/response test beside the load (--with)"),
	GO(with_rate_hz, "1/s", WP_NEITHER, "command line", "its requests a second"),
	GO(idle_s, "s", WP_NEITHER, "command line", "how long it ran alone before the load"),
#undef S
#undef SCOPE
#define S     wp_inventory
#define SCOPE WP_SCOPE_INVENTORY
	L(hostname, "uname(2)", "name of the host"),
	L(kernel, "uname(2)", "kernel release"),
	L(arch, "uname(2)", "machine"),
	L(os, "/etc/os-release", "distribution"),
	L(cpu_model, "/proc/cpuinfo", "CPU model"),
	L(clocksource, "/sys/devices/system/clocksource", "current clock source"),
	L(governor, "/sys/devices/system/cpu/cpufreq", "frequency governor"),
	L(virtualization, "cpuinfo flags, DMI, cgroup", "hypervisor or container; none"),
	L(cpu_accounting, "see cpu_accounting_evidence",
	  "how the kernel counts CPU time: ticks, irq_time, full"),
	L(cpu_accounting_evidence, "", "what that was concluded from"),
	L(congestion_default, "net.ipv4.tcp_congestion_control", "the kernel's default"),
	L(qdisc_default, "net.core.default_qdisc", "default queueing discipline"),
	L(mitigations, "/sys/devices/system/cpu/vulnerabilities",
	  "those that make system calls slower"),
	L(irqbalance, "/proc/*/comm", "running or not running"),
	G(cpus_online, "", WP_NEITHER, "/sys/devices/system/cpu/online", "CPUs online"),
	G(cpus_possible, "", WP_NEITHER, "/sys/devices/system/cpu/possible", "CPUs possible"),
	G(sockets, "", WP_NEITHER, "hwloc", "CPU packages"),
	G(cores, "", WP_NEITHER, "hwloc", "physical cores"),
	G(threads_per_core, "", WP_NEITHER, "hwloc", "hardware threads a core"),
	G(numa_nodes, "", WP_NEITHER, "hwloc", "NUMA nodes"),
	G(llc_groups, "", WP_NEITHER, "hwloc", "last-level caches"),
	G(memory_bytes, "bytes", WP_NEITHER, "/proc/meminfo", "memory"),
	G(user_hz, "Hz", WP_NEITHER, "sysconf(_SC_CLK_TCK)", "unit of /proc/stat"),
	G(clock_read_ns, "ns", WP_LOWER, "measured", "cost of reading the clock"),
	G(rmem_max_bytes, "bytes", WP_NEITHER, "net.core.rmem_max", "limit of SO_RCVBUF"),
	G(wmem_max_bytes, "bytes", WP_NEITHER, "net.core.wmem_max", "limit of SO_SNDBUF"),
	G(netdev_max_backlog, "packets", WP_NEITHER, "net.core.netdev_max_backlog",
	  "backlog of a CPU"),
	G(tcp_rmem_max_bytes, "bytes", WP_NEITHER, "net.ipv4.tcp_rmem",
	  "autotuning limit, receive"),
	G(tcp_wmem_max_bytes, "bytes", WP_NEITHER, "net.ipv4.tcp_wmem", "autotuning limit, send"),
	G(steal_since_boot_pct, "%", WP_LOWER, STAT, "time taken by the hypervisor since boot"),
#undef S
#undef SCOPE
#define S     wp_host
#define SCOPE WP_SCOPE_HOST
	L(role, "", "client or server"),
	L(name, "uname(2)", "host name"),
	L(same_machine_as, "boot id", "role of the other end when both are on one machine"),
	L(placement_note, "observed", "what was asked for and not honoured"),
	L(sampling_note, "observed", "where sampling the counters was not as asked for"),
	LO(path_device, "routes", "udp: interface that leads to the other end"),
	LO(path_note, "observed", "udp: which of path_counters could not be read"),
	L(app_to_peer, "hwloc, observed CPUs",
	  "distance from this end's application CPU to the other end's, where both are on one machine"),
	L(app_to_rx, "hwloc, SO_INCOMING_CPU",
	  "distance from the application's CPU to the CPU that served the flow"),
	I("placement.asked.app_cpus", asked_app_cpus, "command line",
	  "CPUs asked for, one a thread"),
	I("placement.observed.app_cpus", observed_app_cpus, "sched_getcpu(3)",
	  "CPUs that the threads ran on"),
	I("placement.observed.rx_cpus", observed_rx_cpus, "SO_INCOMING_CPU",
	  "CPUs that processed received packets"),
	G(wall_s, "s", WP_NEITHER, "CLOCK_MONOTONIC", "window that cpus[] covers"),
	G(app_cpu_s, "s", WP_LOWER, SCHED, "CPU time of the threads that moved data"),
	G(cost_us_per_kb, "us/KB", WP_LOWER, SCHED, "application threads' CPU time per 1024 bytes"),
	G(machine_cost_us_per_kb, "us/KB", WP_LOWER, STAT,
	  "busy time of the machine's CPUs per 1024 bytes; both ends when they share it"),
	GO(cost_us_per_packet, "us", WP_LOWER, SCHED,
	   "application threads' CPU time per datagram that this end moved"),
	G(cost_us_per_transaction, "us", WP_LOWER, SCHED,
	  "application threads' CPU time per transaction"),
	GO(machine_cost_us_per_transaction, "us", WP_LOWER, STAT,
	   "busy time of the machine's CPUs per transaction; both ends when they share it"),
	G(self_cpu_pct, "%", WP_LOWER, "CLOCK_THREAD_CPUTIME_ID",
	  "whyperf's own sampling, of one CPU"),
	G(sample_interval_s, "s", WP_NEITHER, "observed", "distance of the kernel counter samples"),
	G(samples_folded, "", WP_NEITHER, "observed",
	  "how often neighbouring samples were joined to bound memory"),
	GO(stalls_left_out, "", WP_LOWER, "observed",
	   "--stall: stalls beyond those that are described"),
	GO(stall_cpu_pct, "%", WP_LOWER, "CLOCK_THREAD_CPUTIME_ID",
	   "--stall: what looking for stalls took, of one CPU"),
#undef S
#undef SCOPE
#define S     wp_cpu_use
#define SCOPE WP_SCOPE_CPU
	G(cpu, "", WP_NEITHER, STAT, "CPU number"),
	G(busy_pct, "%", WP_NEITHER, STAT,
	  "wall - idle - iowait: right even where ticks miss interrupts"),
	G(user_pct, "%", WP_NEITHER, STAT, "user and nice, of wall time"),
	G(system_pct, "%", WP_NEITHER, STAT, "system, of wall time"),
	G(irq_pct, "%", WP_NEITHER, STAT, "hard interrupts, of wall time"),
	G(softirq_pct, "%", WP_NEITHER, STAT, "soft interrupts, of wall time"),
	G(steal_pct, "%", WP_LOWER, STAT, "taken by the hypervisor"),
	G(idle_pct, "%", WP_NEITHER, STAT, "idle, of wall time"),
	G(iowait_pct, "%", WP_NEITHER, STAT, "idle with a task waiting for a disk"),
	G(sum_pct, "%", WP_NEITHER, STAT,
	  "all columns over wall time; 100 where the kernel loses and doubles nothing"),
	L(trust, "sum_pct", "ok, hidden, doubled, saturated or absent"),
	L(source, "", "ticks, bpf or soak"),
	C(interrupts, "", WP_NEITHER, "/proc/interrupts", "hardware interrupts taken"),
	M("softirqs.net_rx", net_rx, "", WP_COUNTER, WP_NEITHER, "/proc/softirqs",
	  "receive softirqs run"),
	M("softirqs.net_tx", net_tx, "", WP_COUNTER, WP_NEITHER, "/proc/softirqs",
	  "transmit softirqs run"),
	M("softirqs.timer", timer, "", WP_COUNTER, WP_NEITHER, "/proc/softirqs",
	  "timer softirqs run"),
	M("softirqs.sched", sched, "", WP_COUNTER, WP_NEITHER, "/proc/softirqs",
	  "scheduler softirqs run"),
	M("softirqs.hrtimer", hrtimer, "", WP_COUNTER, WP_NEITHER, "/proc/softirqs",
	  "hrtimer softirqs run (TCP pacing)"),
	M("softirqs.rcu", rcu, "", WP_COUNTER, WP_NEITHER, "/proc/softirqs", "RCU softirqs run"),
	M("softirqs.tasklet", tasklet, "", WP_COUNTER, WP_NEITHER, "/proc/softirqs",
	  "tasklets run"),
	M("softirqs.block", block, "", WP_COUNTER, WP_NEITHER, "/proc/softirqs",
	  "block softirqs run"),
	M("softnet.processed", softnet_processed, "packets", WP_COUNTER, WP_NEITHER,
	  "/proc/net/softnet_stat", "packets taken by this CPU"),
	M("softnet.dropped", softnet_dropped, "packets", WP_COUNTER, WP_LOWER,
	  "/proc/net/softnet_stat", "dropped: backlog full"),
	M("softnet.time_squeeze", softnet_squeezed, "", WP_COUNTER, WP_LOWER,
	  "/proc/net/softnet_stat", "polls that ran out of budget or time"),
	M("softnet.received_rps", softnet_rps, "", WP_COUNTER, WP_NEITHER, "/proc/net/softnet_stat",
	  "RPS interrupts received"),
	G(frequency_mhz, "MHz", WP_HIGHER, "cpufreq", "frequency at the end"),
#undef S
#undef SCOPE
#define S     wp_cpu_sample
#define SCOPE WP_SCOPE_CPU_SAMPLE
	G(start_s, "s", WP_NEITHER, "CLOCK_MONOTONIC", "start of the sample"),
	G(end_s, "s", WP_NEITHER, "CLOCK_MONOTONIC", "end of the sample"),
	G(cpu, "", WP_NEITHER, STAT, "CPU number"),
	G(busy_pct, "%", WP_NEITHER, STAT, "wall - idle - iowait"),
	G(user_pct, "%", WP_NEITHER, STAT, "user and nice"),
	G(system_pct, "%", WP_NEITHER, STAT, "system"),
	G(irq_pct, "%", WP_NEITHER, STAT, "hard interrupts"),
	G(softirq_pct, "%", WP_NEITHER, STAT, "soft interrupts"),
	G(steal_pct, "%", WP_LOWER, STAT, "taken by the hypervisor"),
	G(idle_pct, "%", WP_NEITHER, STAT, "idle"),
	G(sum_pct, "%", WP_NEITHER, STAT, "all columns over wall time"),
#undef S
#undef SCOPE
#define S     wp_thread_use
#define SCOPE WP_SCOPE_THREAD
	L(name, "", "what the thread does"),
	G(asked_cpu, "", WP_NEITHER, "command line", "CPU asked for"),
	G(last_cpu, "", WP_NEITHER, "/proc/PID/task/TID/stat", "CPU that it ran on last"),
	C(migrations, "", WP_LOWER, "sampled", "samples in which the CPU had changed"),
	G(cpu_s, "s", WP_LOWER, SCHED, "time on a CPU, softirqs on top of it included"),
	G(run_delay_s, "s", WP_LOWER, SCHED, "time runnable but waiting for a CPU"),
	G(cpu_pct, "%", WP_NEITHER, SCHED, "cpu_s of wall time"),
	G(run_delay_pct, "%", WP_LOWER, SCHED, "run_delay_s of wall time"),
	C(voluntary_switches, "", WP_NEITHER, "getrusage(2)", "times that it waited"),
	C(involuntary_switches, "", WP_LOWER, "getrusage(2)",
	  "times that it was taken off the CPU"),
#undef S
#undef SCOPE
#define S     wp_flow
#define SCOPE WP_SCOPE_FLOW
	L(id, "", "number of the stream"),
	L(local, "getsockname(2)", "address and port of hosts[0]"),
	L(remote, "getpeername(2)", "address and port of the other end"),
	L(role, "",
	  "what hosts[0] did: sender, receiver, or both: transactions; sent{} is then the end that asks, hosts[0], received{} the one that answers"),
	L(congestion, "TCP_CONGESTION", "congestion control of the sender's socket"),
	L(note, "", "what to know about this flow"),
	G(mss_bytes, "bytes", WP_NEITHER, TCP_INFO, "maximum segment size"),
	G(sndbuf_bytes, "bytes", WP_NEITHER, "SO_SNDBUF", "sender's buffer at the end"),
	G(rcvbuf_bytes, "bytes", WP_NEITHER, "SO_RCVBUF", "receiver's buffer at the end"),
	G(send_cpu, "", WP_NEITHER, "sampled", "CPU of the sending thread"),
	G(receive_cpu, "", WP_NEITHER, "sampled", "CPU of the receiving thread"),
	G(receive_softirq_cpu, "", WP_NEITHER, "SO_INCOMING_CPU",
	  "CPU that processed the received packets"),
	G(busy_pct, "%", WP_NEITHER, TCP_INFO " tcpi_busy_time",
	  "time with data in flight, of wall time"),
	G(rwnd_limited_pct, "%", WP_LOWER, TCP_INFO " tcpi_rwnd_limited",
	  "of busy time: stopped by the receiver's window"),
	G(sndbuf_limited_pct, "%", WP_LOWER, TCP_INFO " tcpi_sndbuf_limited",
	  "of busy time: stopped by the send buffer"),
	G(app_limited_pct, "%", WP_NEITHER, TCP_INFO " tcpi_delivery_rate_app_limited",
	  "samples in which the sender had nothing queued"),
	G(min_rtt_us, "us", WP_LOWER, TCP_INFO, "smallest round trip"),
	G(mean_rtt_us, "us", WP_LOWER, TCP_INFO, "mean of the sampled smoothed round trips"),
	C(dsacks, "", WP_LOWER, TCP_INFO, "retransmissions that were not needed"),
	G(reordering, "packets", WP_LOWER, TCP_INFO, "reordering seen"),
	G(intervals_folded, "", WP_NEITHER, "observed",
	  "how often neighbouring intervals were joined to bound memory"),
	GO(rcvbuf_asked_bytes, "bytes", WP_NEITHER, "command line, or what whyperf asks for",
	   "udp: receive buffer asked for; the kernel doubles what it grants, see rcvbuf_bytes"),
	GO(connections, "", WP_NEITHER, "command line", "rr: connections that this flow sums up"),
	GO(connection_fairness, "", WP_HIGHER, "Jain, Chiu, Hawe 1984",
	   "rr: fairness over the connections' transactions: 1 = all equal, 1/n = one has all"),
#undef S
#undef SCOPE
#define S     wp_interval
#define SCOPE WP_SCOPE_INTERVAL
	G(start_s, "s", WP_NEITHER, "CLOCK_MONOTONIC", "start, from the start of the test"),
	G(end_s, "s", WP_NEITHER, "CLOCK_MONOTONIC", "end"),
	M("omitted", omitted, "bool", WP_GAUGE, WP_NEITHER, "", "in the warm-up"),
	C(bytes, "bytes", WP_HIGHER, "application", "moved"),
	G(bits_per_second, "bit/s", WP_HIGHER, "bytes over the interval", "rate"),
	C(packets, "packets", WP_HIGHER, TCP_INFO " or application",
	  "data segments sent or received, datagrams"),
	C(retransmits, "packets", WP_LOWER, TCP_INFO, "segments sent again"),
	G(cwnd_bytes, "bytes", WP_NEITHER, TCP_INFO, "congestion window at the end"),
	G(rtt_us, "us", WP_LOWER, TCP_INFO, "smoothed round trip at the end"),
	G(rttvar_us, "us", WP_LOWER, TCP_INFO, "its variation"),
	G(min_rtt_us, "us", WP_LOWER, TCP_INFO, "smallest round trip so far"),
	G(delivery_bps, "bit/s", WP_HIGHER, TCP_INFO, "newest delivery rate sample"),
	G(pacing_bps, "bit/s", WP_NEITHER, TCP_INFO, "pacing rate at the end"),
	G(busy_pct, "%", WP_NEITHER, TCP_INFO, "time with data in flight"),
	G(rwnd_limited_pct, "%", WP_LOWER, TCP_INFO, "time stopped by the receiver's window"),
	G(sndbuf_limited_pct, "%", WP_LOWER, TCP_INFO, "time stopped by the send buffer"),
	G(unacked, "packets", WP_NEITHER, TCP_INFO, "in flight at the end"),
	G(notsent_bytes, "bytes", WP_NEITHER, TCP_INFO,
	  "queued and not sent, mean of the readings"),
	G(snd_wnd_bytes, "bytes", WP_NEITHER, TCP_INFO, "receiver's window at the end"),
	M("app_limited", app_limited, "bool", WP_GAUGE, WP_NEITHER, TCP_INFO,
	  "the sender had nothing queued"),
	C(lost, "packets", WP_LOWER, SEQUENCE,
	  "datagrams lost; negative where late ones came that an earlier row counts as lost"),
	G(jitter_us, "us", WP_LOWER, "RFC 3550 6.4.1", "interarrival jitter at the end"),
	G(incoming_cpu, "", WP_NEITHER, "SO_INCOMING_CPU", "CPU that processed received packets"),
	CO(out_of_order, "packets", WP_LOWER, SEQUENCE, "datagrams out of order"),
	CO(duplicated, "packets", WP_LOWER, SEQUENCE, "datagrams received twice"),
	CO(socket_drops, "packets", WP_LOWER, "SO_RXQ_OVFL",
	   "datagrams that found the socket's buffer full"),
	CO(send_drops, "packets", WP_LOWER, "ENOBUFS with IP_RECVERR",
	   "datagrams that the local qdisc or device dropped"),
	CO(shortfall_packets, "packets", WP_LOWER, "pacer",
	   "due at the paced rate but not sent: after a stall nothing is caught up"),
	CO(transactions, "", WP_HIGHER, "application", "transactions completed"),
	CO(timeouts, "", WP_LOWER, "application", "transactions without a response in time"),
	GO(latency_p50_us, "us", WP_LOWER, HIST, "median of the transactions"),
	GO(latency_p99_us, "us", WP_LOWER, HIST, "99 % of the transactions took no longer"),
	GO(latency_max_us, "us", WP_LOWER, HIST, "longest transaction"),
#undef S
#undef SCOPE
#define S     wp_flow_end
#define SCOPE WP_SCOPE_END
	C(bytes, "bytes", WP_HIGHER, "application", "moved in the measured window"),
	C(packets, "packets", WP_HIGHER, TCP_INFO " or application", "data segments or datagrams"),
	G(seconds, "s", WP_NEITHER, "CLOCK_MONOTONIC", "length of the measured window at this end"),
	G(bits_per_second, "bit/s", WP_HIGHER, "bytes over seconds", "rate"),
	C(retransmits, "packets", WP_LOWER, TCP_INFO, "segments sent again"),
	C(lost, "packets", WP_LOWER, "sequence numbers", "datagrams lost"),
	C(out_of_order, "packets", WP_LOWER, "sequence numbers", "datagrams out of order"),
	C(duplicated, "packets", WP_LOWER, "sequence numbers", "datagrams received twice"),
	G(jitter_us, "us", WP_LOWER, "RFC 3550 6.4.1", "interarrival jitter"),
	C(all_bytes, "bytes", WP_HIGHER, "application",
	  "moved with the warm-up; equal at both ends of a whole run"),
	C(all_packets, "packets", WP_HIGHER, TCP_INFO " or application",
	  "packets with the warm-up"),
	C(all_retransmits, "packets", WP_LOWER, TCP_INFO, "segments sent again, with the warm-up"),
	C(calls, "", WP_NEITHER, "application", "system calls that moved data"),
	G(mean_call_bytes, "bytes", WP_NEITHER, "application", "bytes a system call"),
	C(shortfall_bytes, "bytes", WP_LOWER, "pacer",
	  "due at the paced rate but not sent: after a stall nothing is caught up"),
	C(corrupt_blocks, "", WP_LOWER, "content check", "received blocks with wrong content"),
	CO(late, "packets", WP_LOWER, SEQUENCE,
	   "datagrams so late that new and duplicate can't be told apart"),
	CO(socket_drops, "packets", WP_LOWER, "SO_RXQ_OVFL",
	   "datagrams that found the socket's buffer full"),
	CO(send_drops, "packets", WP_LOWER, "ENOBUFS with IP_RECVERR",
	   "datagrams that the local qdisc or device dropped"),
	CO(shortfall_packets, "packets", WP_LOWER, "pacer",
	   "due at the paced rate but not sent: after a stall nothing is caught up"),
	CO(transactions, "", WP_HIGHER, "application", "transactions completed"),
	CO(timeouts, "", WP_LOWER, "application", "transactions without a response in time"),
	CO(all_lost, "packets", WP_LOWER, SEQUENCE, "lost, with the warm-up"),
	CO(all_duplicated, "packets", WP_LOWER, SEQUENCE, "received twice, with the warm-up"),
	CO(all_late, "packets", WP_LOWER, SEQUENCE, "very late, with the warm-up"),
	CO(all_socket_drops, "packets", WP_LOWER, "SO_RXQ_OVFL", "likewise"),
	CO(all_send_drops, "packets", WP_LOWER, "ENOBUFS with IP_RECVERR", "likewise"),
#undef S
#undef SCOPE
#define S     wp_total
#define SCOPE WP_SCOPE_TOTAL
	G(sent_bps, "bit/s", WP_HIGHER, "sum of flows", "rate at the senders"),
	G(received_bps, "bit/s", WP_HIGHER, "sum of flows", "rate at the receivers"),
	G(sent_packets_per_s, "1/s", WP_HIGHER, "sum of flows", "packets sent a second"),
	G(received_packets_per_s, "1/s", WP_HIGHER, "sum of flows", "packets received a second"),
	G(transactions_per_s, "1/s", WP_HIGHER, "sum of flows",
	  "request/response transactions a second"),
	C(sent_bytes, "bytes", WP_HIGHER, "sum of flows", "sent in the measured window"),
	C(received_bytes, "bytes", WP_HIGHER, "sum of flows", "received in the measured window"),
	C(retransmits, "packets", WP_LOWER, TCP_INFO, "segments sent again"),
	G(fairness_jain, "", WP_HIGHER, "Jain, Chiu, Hawe 1984",
	  "fairness over flows: 1 = all equal, 1/n = one has all"),
	CO(lost_packets, "packets", WP_LOWER, "sent - distinct received", "datagrams lost"),
	GO(lost_pct, "%", WP_LOWER, "lost_packets of sent", "share of datagrams lost"),
	CO(out_of_order, "packets", WP_LOWER, SEQUENCE, "datagrams out of order"),
	CO(duplicated, "packets", WP_LOWER, SEQUENCE, "datagrams received twice"),
	GO(jitter_us, "us", WP_LOWER, "RFC 3550 6.4.1", "interarrival jitter, mean over flows"),
	CO(transactions, "", WP_HIGHER, "sum of flows", "transactions completed"),
	CO(timeouts, "", WP_LOWER, "sum of flows", "transactions without a response in time"),
	M("latency_us.min", latency_min_us, "us", WP_GAUGE, WP_LOWER, "histogram", "smallest"),
	M("latency_us.p50", latency_p50_us, "us", WP_GAUGE, WP_LOWER, "histogram", "median"),
	M("latency_us.p90", latency_p90_us, "us", WP_GAUGE, WP_LOWER, "histogram", "90 %"),
	M("latency_us.p99", latency_p99_us, "us", WP_GAUGE, WP_LOWER, "histogram", "99 %"),
	M("latency_us.p999", latency_p999_us, "us", WP_GAUGE, WP_LOWER, "histogram", "99.9 %"),
	M("latency_us.p9999", latency_p9999_us, "us", WP_GAUGE, WP_LOWER, "histogram", "99.99 %"),
	M("latency_us.max", latency_max_us, "us", WP_GAUGE, WP_LOWER, "histogram", "largest"),
	M("latency_us.mean", latency_mean_us, "us", WP_GAUGE, WP_LOWER, "histogram", "mean"),
	MO("latency_idle_us.p50", idle_p50_us, "us", WP_GAUGE, WP_LOWER, HIST,
	   "--with: median round trip without the load"),
	MO("latency_idle_us.p99", idle_p99_us, "us", WP_GAUGE, WP_LOWER, HIST,
	   "--with: 99 % round trip without the load"),
	MO("latency_idle_us.max", idle_max_us, "us", WP_GAUGE, WP_LOWER, HIST,
	   "--with: largest round trip without the load"),
	MO("latency_idle_us.mean", idle_mean_us, "us", WP_GAUGE, WP_LOWER, HIST,
	   "--with: mean round trip without the load"),
	MO("latency_loaded_us.p50", loaded_p50_us, "us", WP_GAUGE, WP_LOWER, HIST,
	   "--with: median round trip under the load"),
	MO("latency_loaded_us.p99", loaded_p99_us, "us", WP_GAUGE, WP_LOWER, HIST,
	   "--with: 99 % round trip under the load"),
	MO("latency_loaded_us.max", loaded_max_us, "us", WP_GAUGE, WP_LOWER, HIST,
	   "--with: largest round trip under the load"),
	MO("latency_loaded_us.mean", loaded_mean_us, "us", WP_GAUGE, WP_LOWER, HIST,
	   "--with: mean round trip under the load"),
	GO(added_latency_us, "us", WP_LOWER, HIST,
	   "--with: what the load adds to the median round trip"),
	GO(added_latency_p99_us, "us", WP_LOWER, HIST, "likewise, to the 99 %"),
	GO(rpm, "1/min", WP_HIGHER, "60 s over latency_loaded_us.mean",
	   "round trips a minute under the load (responsiveness)"),
	LO(latency_grade, "added_latency_us", "A+ below 5 ms, A 30, B 60, C 200, D 400, F above"),
#undef S
#undef SCOPE
#define S     wp_ledger
#define SCOPE WP_SCOPE_LEDGER
	C(sent_packets, "packets", WP_NEITHER, TCP_INFO " or application",
	  "handed to the kernel by the senders"),
	C(delivered_packets, "packets", WP_NEITHER, TCP_INFO " or application",
	  "taken from it by the receivers"),
	C(unexplained_packets, "packets", WP_LOWER, "sent - delivered - stages",
	  "what no counter explains"),
	CO(refused_packets, "packets", WP_LOWER, "ENOBUFS with IP_RECVERR",
	   "datagrams that the sender's kernel did not take: not among sent_packets"),
	LO(refused_by, "counters of the sender's host", "where it dropped them"),
#undef S
#undef SCOPE
#define S     wp_histogram
#define SCOPE WP_SCOPE_HISTOGRAM
	L(name, "", "latency, latency_idle, latency_loaded, send_gap, delay or write"),
	L(note, "", "what to know about it; null"),
	C(count, "", WP_NEITHER, "measured", "values in it"),
	G(min_us, "us", WP_LOWER, HIST, "smallest, exact"),
	G(p50_us, "us", WP_LOWER, HIST, "median"),
	G(p90_us, "us", WP_LOWER, HIST, "90 %"),
	G(p99_us, "us", WP_LOWER, HIST, "99 %"),
	G(p999_us, "us", WP_LOWER, HIST, "99.9 %"),
	G(p9999_us, "us", WP_LOWER, HIST, "99.99 %"),
	G(max_us, "us", WP_LOWER, HIST, "largest, exact"),
	G(mean_us, "us", WP_LOWER, HIST, "mean, exact"),
#undef S
#undef SCOPE
#define S     wp_stall
#define SCOPE WP_SCOPE_STALL
	L(flow, "", "id of the stream that stood still longest"),
	G(flows, "", WP_LOWER, "observed", "streams that stood still together"),
	L(seen_by, "", "client, server or both"),
	G(start_s, "s", WP_NEITHER, "CLOCK_MONOTONIC",
	  "when progress stopped, from the start of the test; the sender's view where there is one"),
	G(length_s, "s", WP_LOWER, "CLOCK_MONOTONIC", "how long nothing moved"),
	L(ended, "", "progress, stream ended or test ended"),
	L(cause, "hosts[].stalls",
	  "carrier_lost, peer_vanished, process_stopped, interrupts_stopped, queue_stuck, window_closed, off_cpu, packets_lost or not_explained"),
	L(confidence, "", "high, medium or low"),
	L(says, "", "a sentence"),
#undef S
#undef SCOPE
#define S     wp_stall_view
#define SCOPE WP_SCOPE_STALL_VIEW
	L(role, "",
	  "what this end does in the stream: sender or receiver; process: this process did not run"),
	L(flow, "", "id of the stream that stood still longest; null = process"),
	L(ended, "", "progress, stream ended or test ended"),
	L(interface, "local address of the stream", "that it leaves through"),
	L(qdisc, "RTM_GETQDISC", "kind of the interface's root queue"),
	L(stuck_queue, "RTM_GETQDISC, sysfs",
	  "transmit queue whose watchdog fired, or that kept packets and let none go"),
	L(tcp_state, TCP_INFO, "of the connection in the end"),
	G(flows, "", WP_LOWER, "observed", "streams that stood still together"),
	G(start_s, "s", WP_NEITHER, "CLOCK_MONOTONIC",
	  "last reading that saw progress, from the start of the test at this end"),
	G(length_s, "s", WP_LOWER, "CLOCK_MONOTONIC", "until the reading that saw progress again"),
	G(grain_s, "s", WP_NEITHER, "command line", "time between two readings"),
	G(gap_s, "s", WP_LOWER, "CLOCK_MONOTONIC",
	  "longest time between two readings: this process did not run"),
	G(unacked, "packets", WP_NEITHER, TCP_INFO, "in flight in the end"),
	G(notsent_bytes, "bytes", WP_NEITHER, TCP_INFO, "queued and not sent in the end"),
	G(unread_bytes, "bytes", WP_NEITHER, "SIOCINQ",
	  "receiver: arrived and not read in the end"),
	G(cwnd_bytes, "bytes", WP_NEITHER, TCP_INFO, "congestion window in the end"),
	G(mss_bytes, "bytes", WP_NEITHER, TCP_INFO, "maximum segment size"),
	G(snd_wnd_bytes, "bytes", WP_NEITHER, TCP_INFO, "receiver's window in the end"),
	G(snd_wnd_before_bytes, "bytes", WP_NEITHER, TCP_INFO, "... at the last progress"),
	G(rto_us, "us", WP_LOWER, TCP_INFO " tcpi_rto", "longest retransmission timeout"),
	G(rto_before_us, "us", WP_LOWER, TCP_INFO " tcpi_rto", "... at the last progress"),
	G(backoff, "", WP_LOWER, TCP_INFO " tcpi_backoff", "most doublings of the timeout"),
	G(timeouts, "", WP_LOWER, TCP_INFO " tcpi_retransmits", "most timeouts in a row"),
	G(probes, "", WP_LOWER, TCP_INFO " tcpi_probes", "most unanswered probes"),
	C(retransmits, "packets", WP_LOWER, TCP_INFO, "segments sent again meanwhile"),
	C(called_bytes, "bytes", WP_NEITHER, "application",
	  "moved by the program's system calls meanwhile"),
	G(cpu_pct, "%", WP_NEITHER, SCHED, "time of its thread on a CPU"),
	G(run_delay_pct, "%", WP_LOWER, SCHED, "time that it was runnable but waited for a CPU"),
	C(carrier_changes, "", WP_LOWER, "IFLA_CARRIER_CHANGES",
	  "times that the interface's carrier came or went"),
	G(carrier_down_s, "s", WP_LOWER, "IFLA_CARRIER", "time that it was seen without carrier"),
	C(tx_packets, "packets", WP_NEITHER, "RTM_GETSTATS", "sent by the interface"),
	C(rx_packets, "packets", WP_NEITHER, "RTM_GETSTATS", "received by it"),
	C(tx_dropped, "packets", WP_LOWER, "RTM_GETSTATS", "dropped by it, errors included"),
	C(rx_dropped, "packets", WP_LOWER, "RTM_GETSTATS", "received and dropped, errors included"),
	C(tx_timeouts, "", WP_LOWER, "queues/tx-*/tx_timeout",
	  "times that the transmit watchdog fired"),
	G(least_queued_packets, "packets", WP_LOWER, "RTM_GETQDISC",
	  "fewest waiting in the root queue"),
	G(most_queued_packets, "packets", WP_LOWER, "RTM_GETQDISC", "most waiting there"),
	C(dequeued_packets, "packets", WP_NEITHER, "RTM_GETQDISC", "that left it"),
	C(queue_drops, "packets", WP_LOWER, "RTM_GETQDISC", "that it dropped"),
	C(requeues, "packets", WP_LOWER, "RTM_GETQDISC", "that the driver gave back"),
	C(softnet_dropped, "packets", WP_LOWER, "/proc/net/softnet_stat",
	  "dropped at a CPU's backlog"),
	C(softnet_squeezed, "", WP_LOWER, "/proc/net/softnet_stat",
	  "polls that ran out of budget or time"),
#undef S
#undef SCOPE
#define S     wp_stall_reading
#define SCOPE WP_SCOPE_STALL_READING
	L(phase, "", "before, during or after"),
	G(start_s, "s", WP_NEITHER, "CLOCK_MONOTONIC", "start, from the start of the test"),
	G(end_s, "s", WP_NEITHER, "CLOCK_MONOTONIC", "end"),
	C(moved_bytes, "bytes", WP_HIGHER, "application, " TCP_INFO,
	  "progress of all streams of this end"),
	G(unacked, "packets", WP_NEITHER, TCP_INFO, "of the stream that stood still first"),
	G(notsent_bytes, "bytes", WP_NEITHER, TCP_INFO, "queued and not sent"),
	G(snd_wnd_bytes, "bytes", WP_NEITHER, TCP_INFO, "receiver's window"),
	G(cwnd_bytes, "bytes", WP_NEITHER, TCP_INFO, "congestion window"),
	G(rto_us, "us", WP_LOWER, TCP_INFO, "retransmission timeout"),
	G(backoff, "", WP_LOWER, TCP_INFO, "doublings of it"),
	G(timeouts, "", WP_LOWER, TCP_INFO, "timeouts in a row"),
	G(probes, "", WP_LOWER, TCP_INFO, "unanswered probes"),
	G(cpu_pct, "%", WP_NEITHER, SCHED, "its thread on a CPU"),
	G(run_delay_pct, "%", WP_LOWER, SCHED, "its thread waiting for one"),
	C(interrupts, "", WP_NEITHER, "/proc/interrupts", "of devices, all CPUs"),
	C(net_rx, "", WP_NEITHER, "/proc/softirqs", "receive softirqs, all CPUs"),
	C(net_tx, "", WP_NEITHER, "/proc/softirqs", "transmit softirqs, all CPUs"),
	C(softnet_processed, "packets", WP_NEITHER, "/proc/net/softnet_stat",
	  "packets taken by the CPUs"),
	C(softnet_dropped, "packets", WP_LOWER, "/proc/net/softnet_stat", "dropped: backlog full"),
	C(softnet_squeezed, "", WP_LOWER, "/proc/net/softnet_stat",
	  "polls that ran out of budget or time"),
	M("carrier", carrier, "bool", WP_GAUGE, WP_HIGHER, "IFLA_CARRIER", "at the end"),
	C(carrier_changes, "", WP_LOWER, "IFLA_CARRIER_CHANGES", "times that it came or went"),
	C(tx_packets, "packets", WP_NEITHER, "RTM_GETSTATS", "sent by the interface"),
	C(rx_packets, "packets", WP_NEITHER, "RTM_GETSTATS", "received by it"),
	C(tx_dropped, "packets", WP_LOWER, "RTM_GETSTATS", "dropped by it, errors included"),
	C(rx_dropped, "packets", WP_LOWER, "RTM_GETSTATS", "received and dropped, errors included"),
	G(queued_packets, "packets", WP_LOWER, "RTM_GETQDISC",
	  "waiting in the root queue at the end"),
	C(dequeued_packets, "packets", WP_NEITHER, "RTM_GETQDISC", "that left it"),
	C(queue_drops, "packets", WP_LOWER, "RTM_GETQDISC", "that it dropped"),
	C(requeues, "packets", WP_LOWER, "RTM_GETQDISC", "that the driver gave back"),
#undef S
#undef SCOPE
#define S     wp_stall_line
#define SCOPE WP_SCOPE_STALL_LINE
	L(name, "/proc/interrupts, /proc/softirqs", "number and driver's name, or the softirq's"),
	G(cpu, "", WP_NEITHER, "", "CPU number"),
	G(before_per_s, "1/s", WP_NEITHER, "", "a second before the stall"),
	G(during_per_s, "1/s", WP_NEITHER, "", "... while nothing moved"),
	G(after_per_s, "1/s", WP_NEITHER, "", "... after it"),
	M("device", device, "bool", WP_GAUGE, WP_NEITHER, "sysfs, /proc/interrupts",
	  "an interrupt of the interface that the stream uses"),
#undef S
#undef SCOPE
};

const size_t wp_n_metrics = sizeof(wp_metrics) / sizeof(wp_metrics[0]);

const struct wp_metric *wp_metric_find(enum wp_scope scope, const char *name)
{
	for (size_t i = 0; i < wp_n_metrics; i++)
		if (wp_metrics[i].scope == scope && !strcmp(wp_metrics[i].name, name))
			return &wp_metrics[i];
	return NULL;
}

const char *wp_scope_name(enum wp_scope scope)
{
	static const char *const names[WP_SCOPE_N] = {
		[WP_SCOPE_TEST] = "test",
		[WP_SCOPE_INVENTORY] = "inventory",
		[WP_SCOPE_HOST] = "host",
		[WP_SCOPE_CPU] = "cpu",
		[WP_SCOPE_CPU_SAMPLE] = "cpu_sample",
		[WP_SCOPE_THREAD] = "thread",
		[WP_SCOPE_FLOW] = "flow",
		[WP_SCOPE_INTERVAL] = "interval",
		[WP_SCOPE_END] = "end",
		[WP_SCOPE_TOTAL] = "total",
		[WP_SCOPE_LEDGER] = "ledger",
		[WP_SCOPE_HISTOGRAM] = "histogram",
		[WP_SCOPE_STALL] = "stall",
		[WP_SCOPE_STALL_VIEW] = "stall_view",
		[WP_SCOPE_STALL_READING] = "stall_reading",
		[WP_SCOPE_STALL_LINE] = "stall_line",
	};

	return scope < WP_SCOPE_N ? names[scope] : "?";
}
