/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "explain/rules.h"

#include <string.h>

#include "base/cleanup.h"
#include "explain/pause.h"
#include "explain/stall.h"

/* Where shares are within 10 points, the earlier row comes first: what is set by an option or shown by the connection
 * itself, then who else uses the CPUs, then what the ends themselves do there. */
const struct wp_rule wp_rules[] = {
	{ .name = "socket_buffer",
	  .kinds = WP_KIND_UDP,
	  .summary = "datagrams are lost in the receiver's own socket buffer",
	  .needs =
		  "end.all_packets end.all_socket_drops flow.rcvbuf_bytes thread.cpu_pct thread.run_delay_pct inventory.rmem_max_bytes",
	  .sign = "the ledger has drops of the receiver's socket buffer; the share of a loss, here and in the next four, is the "
		  "part of all lost datagrams that this stage dropped, less in proportion where below 1 % of the datagrams are lost",
	  .covers = NULL,
	  .evaluate = wp_rule_socket_buffer },
	{ .name = "backlog",
	  .kinds = WP_KIND_UDP,
	  .summary = "the receive backlog of a CPU is full",
	  .needs = "end.all_packets cpu.softnet.dropped inventory.netdev_max_backlog",
	  .sign = "the ledger has drops of softnet_stat, or send() was refused because of them (veth)",
	  .covers = "local_drops",
	  .evaluate = wp_rule_backlog },
	{ .name = "local_drops",
	  .kinds = WP_KIND_UDP,
	  .summary = "the sender's own machine drops datagrams",
	  .needs = "end.all_packets end.all_send_drops ledger.refused_packets",
	  .sign = "send() was refused (ENOBUFS), or the ledger has drops of the sender's queueing discipline or device",
	  .covers = NULL,
	  .evaluate = wp_rule_local_drops },
	{ .name = "host_loss",
	  .kinds = WP_KIND_UDP,
	  .summary = "the receiver's machine drops datagrams before their socket",
	  .needs = "end.all_packets",
	  .sign = "the ledger has drops of the receiver's interface, ingress filters, IP layer or fragments, or no socket or a "
		  "damaged datagram",
	  .covers = NULL,
	  .evaluate = wp_rule_host_loss },
	{ .name = "path_loss",
	  .kinds = WP_KIND_UDP,
	  .summary = "datagrams vanish between the hosts",
	  .needs = "end.all_packets ledger.unexplained_packets",
	  .sign = "datagrams are missing that no counter of either host explains",
	  .covers = NULL,
	  .evaluate = wp_rule_path_loss },
	{ .name = "rr_timeouts",
	  .kinds = WP_KIND_RR,
	  .summary = "requests or responses are lost",
	  .needs = "total.timeouts total.transactions test.response_timeout_s",
	  .sign = "over UDP, requests got no response in time; the share is 100 % from 1 % of them on, or the time that the "
		  "connections waited for them",
	  .covers = NULL,
	  .evaluate = wp_rule_rr_timeouts },
	{ .name = "rr_overload",
	  .kinds = WP_KIND_RR,
	  .summary = "more requests fall due than are answered",
	  .needs = "test.rate_hz total.transactions_per_s",
	  .sign = "an open loop (--rate) completes less than 98 % of the requests that fall due",
	  .covers = "rr_one_cpu rr_connect",
	  .evaluate = wp_rule_rr_overload },
	{ .name = "rr_rate",
	  .kinds = WP_KIND_RR,
	  .summary = "the rate of requests that was asked for",
	  .needs = "test.rate_hz total.transactions_per_s",
	  .sign = "an open loop (--rate) completes 98 % of the requests that fall due, or more",
	  .covers = "rr_one_cpu rr_connect",
	  .evaluate = wp_rule_rr_rate },
	{ .name = "rr_retransmits",
	  .kinds = WP_KIND_RR,
	  .summary = "lost segments hold transactions up",
	  .needs = "total.latency_us.p50 total.latency_us.max",
	  .sign = "over TCP, segments were sent again, and transactions of more than ten times the median hold 20 % of the time, "
		  "which is the share",
	  .covers = NULL,
	  .evaluate = wp_rule_rr_retransmits },
	{ .name = "paced_rate",
	  .kinds = WP_KIND_UDP,
	  .summary = "the rate asked for",
	  .needs = "test.target_bps end.bytes end.seconds",
	  .sign = "the senders reach 99 % of -b (share 100 %), or half of it without a thread that never rests",
	  .covers = "device_rate",
	  .evaluate = wp_rule_paced_rate },
	{ .name = "pacing_shortfall",
	  .kinds = WP_KIND_UDP,
	  .summary = "the sender's thread is late for its datagrams",
	  .needs = "end.shortfall_packets end.packets thread.run_delay_pct",
	  .sign = "0.5 % of the datagrams that fell due were not sent, and not because the thread never rests; the share is "
		  "their part",
	  .covers = NULL,
	  .evaluate = wp_rule_pacing_shortfall },
	{ .name = "small_writes",
	  .kinds = WP_KIND_TCP,
	  .summary = "the sender's system calls are too small",
	  .needs = "end.mean_call_bytes thread.cpu_pct",
	  .sign = "the sender writes less than 8192 bytes a call and its thread runs, waits for a CPU, or is blocked while the receiver waits for one, 90 % of the time together; the share is the time that it ran",
	  .covers = "sender_cpu receiver_cpu",
	  .evaluate = wp_rule_small_writes },
	{ .name = "shared_cpu",
	  .kinds = WP_KIND_TCP | WP_KIND_UDP,
	  .summary = "both ends run on one CPU",
	  .needs = "thread.cpu_pct thread.last_cpu cpu.busy_pct",
	  .sign = "same machine, both threads on the same CPU, and the two fill it: together 90 % of the time, or 60 % with "
		  "the CPU 95 % busy, and the share is the time that they ran; or others fill it, and one of the two runs, waits "
		  "for a CPU or is blocked while the other waits for one 90 % of the time: then the share is the time in which they "
		  "could have run side by side, the shorter of the two",
	  .covers = "sender_cpu receiver_cpu softirq_cpu",
	  .evaluate = wp_rule_shared_cpu },
	{ .name = "slow_reader",
	  .kinds = WP_KIND_TCP,
	  .summary = "the receiving program reads too slowly",
	  .needs = "flow.rwnd_limited_pct flow.busy_pct thread.cpu_pct flow.rcvbuf_bytes",
	  .sign = "the window stops the sender 20 % of its busy time, and the receiver's thread is full, or idle with a "
		  "large buffer (1 MByte and 4 times rate x smallest round trip) and zero windows counted; with a smaller buffer "
		  "full means that it executes 95 % of the time",
	  .covers = "receiver_cpu receive_window congestion_window",
	  .evaluate = wp_rule_slow_reader },
	{ .name = "receive_window",
	  .kinds = WP_KIND_TCP,
	  .summary = "the receiver's window is too small",
	  .needs = "flow.rwnd_limited_pct flow.busy_pct",
	  .sign = "the window stops the sender 5 % of its busy time (20 % for more than low confidence), and not because a "
		  "reader with a large buffer (see slow_reader) waits for a CPU, nor full of small writes",
	  .covers = "congestion_window",
	  .evaluate = wp_rule_receive_window },
	{ .name = "send_buffer",
	  .kinds = WP_KIND_TCP,
	  .summary = "the send buffer is too small",
	  .needs =
		  "flow.sndbuf_bytes flow.sndbuf_limited_pct flow.app_limited_pct flow.mean_rtt_us thread.cpu_pct",
	  .sign = "the kernel counts 20 % of busy time as stopped by it, or (where the kernel does not count) the buffer is "
		  "below twice rate x round trip, half of the samples find nothing queued and the thread is blocked 10 % longer "
		  "than the receiver waits for a CPU",
	  .covers = "app_limited",
	  .evaluate = wp_rule_send_buffer },
	{ .name = "target_rate",
	  .kinds = WP_KIND_TCP,
	  .summary = "the rate asked for",
	  .needs = "test.target_bps end.bits_per_second",
	  .sign = "a flow reaches 95 % of -b (share 100 %), or 50 % with nothing queued in 70 % of the samples (stalls are not "
		  "made up for; the share is the time that the sender was blocked)",
	  .covers = "app_limited pacing",
	  .evaluate = wp_rule_target_rate },
	{ .name = "congestion_control",
	  .kinds = WP_KIND_TCP,
	  .summary = "the congestion control does not fit the path",
	  .needs =
		  "flow.congestion flow.busy_pct flow.min_rtt_us flow.mean_rtt_us flow.app_limited_pct",
	  .sign = "bbr, smallest round trip below 200 us and mean below 1 ms (or an end waits for its CPU), data queued and no window closed for 20 % of "
		  "the time, no real loss; a full thread does not count where 64 KByte are queued on the mean",
	  .covers = "loss pacing congestion_window sender_cpu",
	  .evaluate = wp_rule_congestion_control },
	{ .name = "path_queue",
	  .kinds = WP_KIND_TCP,
	  .summary = "a slow link or shaper on the path",
	  .needs = "flow.busy_pct flow.mean_rtt_us flow.min_rtt_us thread.cpu_pct",
	  .sign = "the mean round trip is 10 times the smallest and 1 ms (or 5 ms and twice the smallest longer), the sender "
		  "is held half of the time or more with its thread below 60 %, no window closes, and the receiver does not "
		  "wait for its CPU 25 % of the time while it always wants to run, nor is 0.5 % "
		  "lost while an end waits for its CPU so long",
	  .covers = "loss pacing congestion_window congestion_control",
	  .evaluate = wp_rule_path_queue },
	{ .name = "loss",
	  .kinds = WP_KIND_TCP,
	  .summary = "packets are lost",
	  .needs = "end.retransmits end.packets flow.dsacks flow.busy_pct",
	  .sign = "0.05 % of the segments were sent again and did not arrive twice (DSACKs taken off, less than 70 % of the "
		  "retransmissions), and the sender is held 20 % of the time",
	  .covers = "congestion_window",
	  .evaluate = wp_rule_loss },
	{ .name = "pacing",
	  .kinds = WP_KIND_TCP,
	  .summary = "the connection is paced",
	  .needs = "interval.pacing_bps end.bits_per_second flow.busy_pct interval.notsent_bytes",
	  .sign = "not bbr and no -b, the rate is 90 to 105 % of the pacing rate, data waits, the sender is held half of "
		  "the time",
	  .covers = "congestion_window",
	  .evaluate = wp_rule_pacing },
	{ .name = "segment_offload",
	  .kinds = WP_KIND_TCP,
	  .summary = "segments cross the stack one by one",
	  .needs = "cpu.softnet.processed flow.mss_bytes flow.receive_softirq_cpu thread.cpu_pct",
	  .sign = "fewer than 4 segments a packet on the CPU that serves the receiver, with large writes and a thread that is "
		  "full, or that CPU full of softirqs",
	  .covers = "sender_cpu receiver_cpu softirq_cpu",
	  .evaluate = wp_rule_segment_offload },
	{ .name = "sender_run_queue",
	  .kinds = WP_KIND_TCP | WP_KIND_UDP | WP_KIND_RR,
	  .summary = "the sender waits for a CPU that others use",
	  .needs = "thread.cpu_pct thread.run_delay_pct",
	  .sign = "the sender's busiest thread is runnable but waits for a CPU 5 % of the time or more, turns of a receiver "
		  "on the same CPU left out; where both ends of one machine wait, the end that waits longer says so for both; "
		  "the share is the time waited; rr: 15 %, because threads are woken for each transaction; udp: not where the rate "
		  "asked for is reached",
	  .evaluate = wp_rule_sender_run_queue },
	{ .name = "receiver_run_queue",
	  .kinds = WP_KIND_TCP | WP_KIND_UDP | WP_KIND_RR,
	  .summary = "the receiver waits for a CPU that others use",
	  .needs = "thread.cpu_pct thread.run_delay_pct",
	  .sign = "as sender_run_queue; the receive window need not close for that, because it may be very large; udp: where the "
		  "socket buffer lost 0.1 % of the datagrams",
	  .evaluate = wp_rule_receiver_run_queue },
	{ .name = "sender_cpu",
	  .kinds = WP_KIND_TCP | WP_KIND_UDP | WP_KIND_RR,
	  .summary = "the sender's CPU is full",
	  .needs = "thread.cpu_pct cpu.busy_pct cpu.user_pct cpu.system_pct cpu.softirq_pct",
	  .sign = "the sender's thread runs or waits for a CPU 95 % of the time; or with the time that it is blocked "
		  "while the receiver waits for a CPU, where it alone never rests or else runs longer than the receiver, and no window, loss, bbr or "
		  "rate asked for holds it; or (softirqs counted apart) its CPU is 95 % busy with the thread and softirqs; "
		  "the share is the time that it ran; udp: not where the rate asked for is reached; rr: the client's",
	  .covers = NULL,
	  .evaluate = wp_rule_sender_cpu },
	{ .name = "receiver_cpu",
	  .kinds = WP_KIND_TCP | WP_KIND_UDP | WP_KIND_RR,
	  .summary = "the receiver's CPU is full",
	  .needs = "thread.cpu_pct cpu.busy_pct cpu.user_pct cpu.system_pct cpu.softirq_pct",
	  .sign = "as sender_cpu, for the receiver; never where it polls (--rx-discard, --wait spin), because then it runs all the "
		  "time; udp: where its socket buffer lost 0.1 % of the datagrams",
	  .covers = NULL,
	  .evaluate = wp_rule_receiver_cpu },
	{ .name = "softirq_cpu",
	  .kinds = WP_KIND_TCP | WP_KIND_UDP | WP_KIND_RR,
	  .summary = "the CPU that processes received packets is full",
	  .needs = "flow.receive_softirq_cpu cpu.busy_pct cpu.softirq_pct",
	  .sign = "the CPU of SO_INCOMING_CPU, where neither end's thread runs, is 90 % busy, 60 % of that in interrupts "
		  "and softirqs",
	  .covers = NULL,
	  .evaluate = wp_rule_softirq_cpu },
	{ .name = "device_rate",
	  .kinds = WP_KIND_UDP,
	  .summary = "the sender's interface takes no more",
	  .needs = "thread.cpu_pct thread.run_delay_pct flow.sndbuf_bytes",
	  .sign = "no rate was asked for, and the sender's thread neither runs nor waits for a CPU 10 % of the time or more: "
		  "its socket's buffer is full",
	  .covers = NULL,
	  .evaluate = wp_rule_device_rate },
	{ .name = "rr_one_cpu",
	  .kinds = WP_KIND_RR,
	  .summary = "both ends take turns on one CPU",
	  .needs = "thread.cpu_pct thread.last_cpu",
	  .sign = "same machine and both threads stay on the same CPU; the share is the time that they ran",
	  .covers = NULL,
	  .evaluate = wp_rule_rr_one_cpu },
	{ .name = "rr_wakeup",
	  .kinds = WP_KIND_RR,
	  .summary = "the time passes in waking threads up",
	  .needs =
		  "thread.cpu_pct thread.run_delay_pct thread.voluntary_switches total.transactions_per_s",
	  .sign = "a closed loop whose threads sleep each second transaction or more; the share is the time that they wait for "
		  "something else than a CPU that others use: with one small request at a time between two CPUs of a machine all "
		  "other time, because running is mostly waking then; with several the time that the busier end rests",
	  .covers = NULL,
	  .evaluate = wp_rule_rr_wakeup },
	{ .name = "rr_spin",
	  .kinds = WP_KIND_RR,
	  .summary = "system calls and the way between polling ends",
	  .needs = "test.wait total.transactions_per_s thread.cpu_pct",
	  .sign = "a closed loop with --wait spin on two CPUs; the share is the time that both ran",
	  .covers = NULL,
	  .evaluate = wp_rule_rr_spin },
	{ .name = "rr_connect",
	  .kinds = WP_KIND_RR,
	  .summary = "a connection for each transaction",
	  .needs = "test.connect total.transactions_per_s",
	  .sign = "--connect was given; the share is what that costs typically",
	  .covers = NULL,
	  .evaluate = wp_rule_rr_connect },
	{ .name = "congestion_window",
	  .kinds = WP_KIND_TCP,
	  .summary = "the congestion window is full",
	  .needs =
		  "interval.cwnd_bytes interval.unacked flow.mss_bytes interval.notsent_bytes flow.busy_pct",
	  .sign = "90 % of the window is under way, data waits, no other window closes, the sender is held half of the time",
	  .covers = NULL,
	  .evaluate = wp_rule_congestion_window },
	{ .name = "app_limited",
	  .kinds = WP_KIND_TCP,
	  .summary = "the sending program does not send enough",
	  .needs = "flow.app_limited_pct flow.busy_pct thread.cpu_pct",
	  .sign = "70 % of the samples find nothing queued, data is under way and the thread runs less than half of the "
		  "time each",
	  .covers = NULL,
	  .evaluate = wp_rule_app_limited },
	{ .name = "write_pace",
	  .kinds = WP_KIND_WRITE,
	  .summary = "the rate asked for",
	  .needs = "test.target_bps end.bits_per_second end.paced_pct",
	  .sign = "95 % of -b is reached (share 100 %), or the writer slept 5 % of the time because no write was due",
	  .evaluate = wp_rule_write_pace },
	{ .name = "write_reader",
	  .kinds = WP_KIND_WRITE,
	  .summary = "the other end takes it too slowly",
	  .needs = "end.taker_wait_pct thread.run_delay_pct",
	  .sign = "for 5 % of the time the pipe, socket or terminal had no room, the writer's own waiting for a CPU taken "
		  "off",
	  .evaluate = wp_rule_write_reader },
	{ .name = "write_run_queue",
	  .kinds = WP_KIND_WRITE,
	  .summary = "the writer waits for a CPU that others use",
	  .needs = "thread.run_delay_pct",
	  .sign = "the thread is able to run but waits for a CPU 5 % of the time; or the CPU quota does not let it, where its "
		  "pauses say so",
	  .evaluate = wp_rule_write_run_queue },
	{ .name = "write_fsync",
	  .kinds = WP_KIND_WRITE,
	  .summary = "fsync(2) waits for the disk",
	  .needs = "end.syncs end.sync_pct",
	  .sign = "5 % of the time went into fsync(2)",
	  .evaluate = wp_rule_write_fsync },
	{ .name = "write_storage",
	  .kinds = WP_KIND_WRITE,
	  .summary = "writes wait for the disk",
	  .needs =
		  "test.file_type thread.cpu_pct thread.run_delay_pct end.taker_wait_pct end.sync_pct",
	  .sign = "a file or block device, and for 5 % of the time the thread neither ran nor waited for a CPU, the other end, "
		  "fsync(2) or the pace",
	  .evaluate = wp_rule_write_storage },
	{ .name = "write_cpu",
	  .kinds = WP_KIND_WRITE,
	  .summary = "the writes themselves take the CPU time",
	  .needs = "thread.cpu_pct end.calls end.mean_call_bytes end.seconds",
	  .sign = "no rate was asked for; the share is the time that the thread ran",
	  .evaluate = wp_rule_write_cpu },
	{ .name = "steal",
	  .kinds = WP_KIND_TCP | WP_KIND_UDP | WP_KIND_RR | WP_KIND_WRITE,
	  .summary = "the hypervisor takes CPU time",
	  .needs = "cpu.steal_pct",
	  .sign = "1 % of the CPU of either thread; 0 proves nothing",
	  .minor = true,
	  .evaluate = wp_rule_steal },
	{ .name = "far_cpu",
	  .kinds = WP_KIND_TCP | WP_KIND_UDP | WP_KIND_RR,
	  .summary = "application and packet processing are far apart",
	  .needs = "host.app_to_rx",
	  .sign = "no cache in common; the share is what that costs typically",
	  .minor = true,
	  .evaluate = wp_rule_far_cpu },
	{ .name = "bufferbloat",
	  .kinds = WP_KIND_TCP | WP_KIND_UDP,
	  .summary = "the load keeps a queue that everything else on the path waits in",
	  .needs =
		  "total.latency_idle_us.p50 total.latency_loaded_us.p50 end.bits_per_second thread.run_delay_pct",
	  .sign = "with --with rr: the load adds 1 ms to the median round trip and makes it 5 times as long, or adds 5 ms; "
		  "medium confidence where an end waits for a CPU 10 % of the time, because the requests may do so too",
	  .note = true,
	  .evaluate = wp_rule_bufferbloat },
	{ .name = "page_cache",
	  .kinds = WP_KIND_WRITE,
	  .summary = "the rate is that of the page cache",
	  .needs = "test.file_type test.fsync_policy test.direct",
	  .sign = "a file without --fsync, --direct and --sync",
	  .note = true,
	  .evaluate = wp_rule_page_cache },
	{ .name = "accounting",
	  .kinds = WP_KIND_TCP | WP_KIND_UDP | WP_KIND_RR | WP_KIND_WRITE,
	  .summary = "the kernel's account of a CPU does not add up",
	  .needs = "cpu.sum_pct cpu.trust",
	  .sign = "trust is hidden or doubled on a CPU that the test used",
	  .note = true,
	  .evaluate = wp_rule_accounting },
	{ .name = "short_run",
	  .kinds = WP_KIND_TCP | WP_KIND_UDP | WP_KIND_RR | WP_KIND_WRITE,
	  .summary = "the run is too short for its figures",
	  .needs = "end.seconds end.bytes",
	  .sign = "below 0.5 s, or TCP below 1 MByte",
	  .note = true,
	  .evaluate = wp_rule_short_run },
	{ .name = "sampler",
	  .kinds = WP_KIND_TCP | WP_KIND_UDP | WP_KIND_RR | WP_KIND_WRITE,
	  .summary = "the measuring tool itself costs",
	  .needs = "host.self_cpu_pct",
	  .sign = "sampling takes more than 1 % of a CPU",
	  .note = true,
	  .evaluate = wp_rule_sampler },
	{ .name = "slow_clock",
	  .kinds = WP_KIND_TCP | WP_KIND_UDP | WP_KIND_RR | WP_KIND_WRITE,
	  .summary = "reading the clock is slow",
	  .needs = "inventory.clock_read_ns",
	  .sign = "more than 200 ns",
	  .note = true,
	  .evaluate = wp_rule_slow_clock },
};

const size_t wp_n_rules = sizeof(wp_rules) / sizeof(wp_rules[0]);

const struct wp_rule *wp_rule_find(const char *name)
{
	for (size_t i = 0; i < wp_n_rules; i++)
		if (!strcmp(wp_rules[i].name, name))
			return &wp_rules[i];
	return NULL;
}

static void put_kinds(struct wp_buf *out, unsigned kinds)
{
	static const char *const names[] = { "tcp", "udp", "rr", "write" };
	const char *before = "- Of: ";

	for (unsigned i = 0; i < WP_ARRAY_SIZE(names); i++)
		if (kinds & 1u << i) {
			wp_buf_printf(out, "%s`%s`", before, names[i]);
			before = ", ";
		}
	wp_buf_puts(out, "\n");
}

static void put_rule(struct wp_buf *out, const struct wp_rule *r)
{
	wp_buf_printf(out, "### %s%s\n\n%c%s.\n\n", r->name, r->note ? " (note)" : "",
		      r->summary[0] >= 'a' && r->summary[0] <= 'z' ? r->summary[0] - 'a' + 'A'
								   : r->summary[0],
		      r->summary + 1);
	wp_buf_printf(out, "- Says so when: %s.\n- Reads: `%s`\n", r->sign, r->needs);
	put_kinds(out, r->kinds);
	if (r->covers)
		wp_buf_printf(out, "- Sees the same cause as, and is kept instead of: `%s`\n",
			      r->covers);
	wp_buf_puts(out, "\n");
}

static void put_stalls(struct wp_buf *out)
{
	wp_buf_puts(
		out,
		"## Stalls\n\n"
		"With `--stall TIME` a finding `stalled` stands before all others where progress stopped for so long although\n"
		"data waited. Its share is the time of all stalls. Each stall (`stalls[]` of the record) has one cause, the\n"
		"first of these that the figures around it show:\n\n"
		"| cause | is told when |\n| --- | --- |\n");
	for (size_t i = 0; i < WP_N_STALL_CAUSES; i++)
		wp_buf_printf(out, "| `%s` | %s |\n", wp_stall_causes[i].name,
			      wp_stall_causes[i].sign);
}

static void put_pauses(struct wp_buf *out)
{
	wp_buf_puts(
		out,
		"## Pauses of a writer\n\n"
		"`whyperf write` puts a finding `slowest_interval` before all others where one interval made less than 80 %\n"
		"of the usual (the median of three or more): it names what took more of its time than usual, and the\n"
		"longest pause in it. Where none stands out, `longest_pause` says what was behind the longest pause of 1 ms\n"
		"or more. Their share is the part of the run's time that they took. Each pause (`flows[].pauses[]`) has one\n"
		"cause, the first of these that its figures show:\n\n"
		"| cause | is told when |\n| --- | --- |\n");
	for (size_t i = 0; i < WP_N_PAUSE_CAUSES; i++)
		wp_buf_printf(out, "| `%s` | %s |\n", wp_pause_causes[i].name,
			      wp_pause_causes[i].sign);
	wp_buf_puts(out, "\n");
}

int wp_rules_markdown(struct wp_buf *out)
{
	wp_buf_puts(
		out,
		"# How whyperf names what holds a run down\n\n"
		"Made from the table in src/explain/rules.c; a test compares the two.\n\n"
		"Every rule reads the record of a run and answers yes, no, or \"a figure is missing\". A yes comes with\n"
		"the share of the limit that it explains, in per cent of wall time: for so long the path was held by\n"
		"this. It comes with the figures that it rests on, their sources, a confidence, and what to try next.\n"
		"The three largest shares are kept. Shares of different rules may overlap. Causes within 10 points of\n"
		"the largest stand in the order below, and the first says that the next weighs about as much. Where the\n"
		"causes add up to less than 25 %, or leave more than 25 % of the time and half of the time in which the\n"
		"sender did not run open, `not_explained` stands beside them and says which figures are missing. Notes\n"
		"have no share: they say what makes the figures themselves doubtful.\n\n"
		"## Rules\n\n");
	for (size_t i = 0; i < wp_n_rules; i++)
		put_rule(out, &wp_rules[i]);
	put_pauses(out);
	put_stalls(out);
	return wp_buf_status(out);
}
