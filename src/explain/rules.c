/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "explain/rules.h"

#include <string.h>

/* Where shares are within 10 points, the earlier row comes first: what is set by an option or shown by the connection
 * itself, then who else uses the CPUs, then what the ends themselves do there. */
const struct wp_rule wp_rules[] = {
	{ .name = "small_writes",
	  .summary = "the sender's system calls are too small",
	  .needs = "end.mean_call_bytes thread.cpu_pct",
	  .sign = "the sender writes less than 8192 bytes a call and its thread runs, waits for a CPU, or is blocked while the receiver waits for one, 90 % of the time together; the share is the time that it ran",
	  .covers = "sender_cpu receiver_cpu",
	  .evaluate = wp_rule_small_writes },
	{ .name = "shared_cpu",
	  .summary = "both ends run on one CPU",
	  .needs = "thread.cpu_pct thread.last_cpu cpu.busy_pct",
	  .sign = "same machine, both threads on the same CPU, and the two fill it: together 90 % of the time, or 60 % with "
		  "the CPU 95 % busy, and the share is the time that they ran; or others fill it, and one of the two runs, waits "
		  "for a CPU or is blocked while the other waits for one 90 % of the time: then the share is the time in which they "
		  "could have run side by side, the shorter of the two",
	  .covers = "sender_cpu receiver_cpu softirq_cpu",
	  .evaluate = wp_rule_shared_cpu },
	{ .name = "slow_reader",
	  .summary = "the receiving program reads too slowly",
	  .needs = "flow.rwnd_limited_pct flow.busy_pct thread.cpu_pct flow.rcvbuf_bytes",
	  .sign = "the window stops the sender 20 % of its busy time, and the receiver's thread is full, or idle with a "
		  "large buffer (1 MByte and 4 times rate x smallest round trip) and zero windows counted; with a smaller buffer "
		  "full means that it executes 95 % of the time",
	  .covers = "receiver_cpu receive_window congestion_window",
	  .evaluate = wp_rule_slow_reader },
	{ .name = "receive_window",
	  .summary = "the receiver's window is too small",
	  .needs = "flow.rwnd_limited_pct flow.busy_pct",
	  .sign = "the window stops the sender 5 % of its busy time (20 % for more than low confidence), and not because a "
		  "reader with a large buffer (see slow_reader) waits for a CPU, nor full of small writes",
	  .covers = "congestion_window",
	  .evaluate = wp_rule_receive_window },
	{ .name = "send_buffer",
	  .summary = "the send buffer is too small",
	  .needs =
		  "flow.sndbuf_bytes flow.sndbuf_limited_pct flow.app_limited_pct flow.mean_rtt_us thread.cpu_pct",
	  .sign = "the kernel counts 20 % of busy time as stopped by it, or (where the kernel does not count) the buffer is "
		  "below twice rate x round trip, half of the samples find nothing queued and the thread is blocked 10 % longer "
		  "than the receiver waits for a CPU",
	  .covers = "app_limited",
	  .evaluate = wp_rule_send_buffer },
	{ .name = "target_rate",
	  .summary = "the rate asked for",
	  .needs = "test.target_bps end.bits_per_second",
	  .sign = "a flow reaches 95 % of -b (share 100 %), or 50 % with nothing queued in 70 % of the samples (stalls are not "
		  "made up for; the share is the time that the sender was blocked)",
	  .covers = "app_limited pacing",
	  .evaluate = wp_rule_target_rate },
	{ .name = "congestion_control",
	  .summary = "the congestion control does not fit the path",
	  .needs =
		  "flow.congestion flow.busy_pct flow.min_rtt_us flow.mean_rtt_us flow.app_limited_pct",
	  .sign = "bbr, smallest round trip below 200 us and mean below 1 ms (or an end waits for its CPU), data queued and no window closed for 20 % of "
		  "the time, no real loss; a full thread does not count where 64 KByte are queued on the mean",
	  .covers = "loss pacing congestion_window sender_cpu",
	  .evaluate = wp_rule_congestion_control },
	{ .name = "path_queue",
	  .summary = "a slow link or shaper on the path",
	  .needs = "flow.busy_pct flow.mean_rtt_us flow.min_rtt_us thread.cpu_pct",
	  .sign = "the mean round trip is 10 times the smallest and 1 ms (or 5 ms and twice the smallest longer), the sender "
		  "is held half of the time or more with its thread below 60 %, no window closes, and the receiver does not "
		  "wait for its CPU 25 % of the time while it always wants to run, nor is 0.5 % "
		  "lost while an end waits for its CPU so long",
	  .covers = "loss pacing congestion_window congestion_control",
	  .evaluate = wp_rule_path_queue },
	{ .name = "loss",
	  .summary = "packets are lost",
	  .needs = "end.retransmits end.packets flow.dsacks flow.busy_pct",
	  .sign = "0.05 % of the segments were sent again and did not arrive twice (DSACKs taken off, less than 70 % of the "
		  "retransmissions), and the sender is held 20 % of the time",
	  .covers = "congestion_window",
	  .evaluate = wp_rule_loss },
	{ .name = "pacing",
	  .summary = "the connection is paced",
	  .needs = "interval.pacing_bps end.bits_per_second flow.busy_pct interval.notsent_bytes",
	  .sign = "not bbr and no -b, the rate is 90 to 105 % of the pacing rate, data waits, the sender is held half of "
		  "the time",
	  .covers = "congestion_window",
	  .evaluate = wp_rule_pacing },
	{ .name = "segment_offload",
	  .summary = "segments cross the stack one by one",
	  .needs = "cpu.softnet.processed flow.mss_bytes flow.receive_softirq_cpu thread.cpu_pct",
	  .sign = "fewer than 4 segments a packet on the CPU that serves the receiver, with large writes and a thread that is "
		  "full, or that CPU full of softirqs",
	  .covers = "sender_cpu receiver_cpu softirq_cpu",
	  .evaluate = wp_rule_segment_offload },
	{ .name = "sender_run_queue",
	  .summary = "the sender waits for a CPU that others use",
	  .needs = "thread.cpu_pct thread.run_delay_pct",
	  .sign = "the sender's busiest thread is runnable but waits for a CPU 5 % of the time or more, turns of a receiver "
		  "on the same CPU left out; where both ends of one machine wait, the end that waits longer says so for both; "
		  "the share is the time waited",
	  .evaluate = wp_rule_sender_run_queue },
	{ .name = "receiver_run_queue",
	  .summary = "the receiver waits for a CPU that others use",
	  .needs = "thread.cpu_pct thread.run_delay_pct",
	  .sign = "as sender_run_queue; the receive window need not close for that, because it may be very large",
	  .evaluate = wp_rule_receiver_run_queue },
	{ .name = "sender_cpu",
	  .summary = "the sender's CPU is full",
	  .needs = "thread.cpu_pct cpu.busy_pct cpu.user_pct cpu.system_pct cpu.softirq_pct",
	  .sign = "the sender's thread runs or waits for a CPU 95 % of the time; or with the time that it is blocked "
		  "while the receiver waits for a CPU, where it alone never rests or else runs longer than the receiver, and no window, loss, bbr or "
		  "rate asked for holds it; or (softirqs counted apart) its CPU is 95 % busy with the thread and softirqs; "
		  "the share is the time that it ran",
	  .covers = NULL,
	  .evaluate = wp_rule_sender_cpu },
	{ .name = "receiver_cpu",
	  .summary = "the receiver's CPU is full",
	  .needs = "thread.cpu_pct cpu.busy_pct cpu.user_pct cpu.system_pct cpu.softirq_pct",
	  .sign = "as sender_cpu, for the receiver; never where it polls (--rx-discard), because then it runs all the time",
	  .covers = NULL,
	  .evaluate = wp_rule_receiver_cpu },
	{ .name = "softirq_cpu",
	  .summary = "the CPU that processes received packets is full",
	  .needs = "flow.receive_softirq_cpu cpu.busy_pct cpu.softirq_pct",
	  .sign = "the CPU of SO_INCOMING_CPU, where neither end's thread runs, is 90 % busy, 60 % of that in interrupts "
		  "and softirqs",
	  .covers = NULL,
	  .evaluate = wp_rule_softirq_cpu },
	{ .name = "congestion_window",
	  .summary = "the congestion window is full",
	  .needs =
		  "interval.cwnd_bytes interval.unacked flow.mss_bytes interval.notsent_bytes flow.busy_pct",
	  .sign = "90 % of the window is under way, data waits, no other window closes, the sender is held half of the time",
	  .covers = NULL,
	  .evaluate = wp_rule_congestion_window },
	{ .name = "app_limited",
	  .summary = "the sending program does not send enough",
	  .needs = "flow.app_limited_pct flow.busy_pct thread.cpu_pct",
	  .sign = "70 % of the samples find nothing queued, data is under way and the thread runs less than half of the "
		  "time each",
	  .covers = NULL,
	  .evaluate = wp_rule_app_limited },
	{ .name = "steal",
	  .summary = "the hypervisor takes CPU time",
	  .needs = "cpu.steal_pct",
	  .sign = "1 % of the CPU of either thread; 0 proves nothing",
	  .minor = true,
	  .evaluate = wp_rule_steal },
	{ .name = "far_cpu",
	  .summary = "application and packet processing are far apart",
	  .needs = "host.app_to_rx",
	  .sign = "no cache in common; the share is what that costs typically",
	  .minor = true,
	  .evaluate = wp_rule_far_cpu },
	{ .name = "accounting",
	  .summary = "the kernel's account of a CPU does not add up",
	  .needs = "cpu.sum_pct cpu.trust",
	  .sign = "trust is hidden or doubled on a CPU that the test used",
	  .note = true,
	  .evaluate = wp_rule_accounting },
	{ .name = "short_run",
	  .summary = "the run is too short for its figures",
	  .needs = "end.seconds end.bytes",
	  .sign = "below 0.5 s or 1 MByte",
	  .note = true,
	  .evaluate = wp_rule_short_run },
	{ .name = "sampler",
	  .summary = "the measuring tool itself costs",
	  .needs = "host.self_cpu_pct",
	  .sign = "sampling takes more than 1 % of a CPU",
	  .note = true,
	  .evaluate = wp_rule_sampler },
	{ .name = "slow_clock",
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

static void put_rule(struct wp_buf *out, const struct wp_rule *r)
{
	wp_buf_printf(out, "### %s%s\n\n%c%s.\n\n", r->name, r->note ? " (note)" : "",
		      r->summary[0] >= 'a' && r->summary[0] <= 'z' ? r->summary[0] - 'a' + 'A'
								   : r->summary[0],
		      r->summary + 1);
	wp_buf_printf(out, "- Says so when: %s.\n- Reads: `%s`\n", r->sign, r->needs);
	if (r->covers)
		wp_buf_printf(out, "- Sees the same cause as, and is kept instead of: `%s`\n",
			      r->covers);
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
	return wp_buf_status(out);
}
