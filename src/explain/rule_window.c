/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rule_window.c - a window or a buffer stops the sender: the receiver's because it is small or because it is read too
 * slowly, the sender's own because it is small. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "explain/say.h"

#define IDLE_READER_PCT  50.0 /* a reader below this has the time to read */
#define SENDBUF_BDP      2.0  /* below this many times rate x round trip a send buffer runs dry */
#define SOME_LIMITED_PCT 50.0 /* samples without queued data */
#define WAIT_PCT         10.0

static void window_evidence(const struct wp_facts *f, struct wp_finding *ret)
{
	wp_evidence(f, ret, "flow", WP_SCOPE_FLOW, "rwnd_limited_pct", f->rwnd_limited_pct);
	wp_evidence(f, ret, "flow", WP_SCOPE_FLOW, "busy_pct", f->busy_pct);
	wp_evidence(f, ret, "flow", WP_SCOPE_FLOW, "rcvbuf_bytes", f->rcvbuf_bytes);
	wp_evidence(f, ret, "receiver", WP_SCOPE_THREAD, "cpu_pct", f->receiver.on_cpu_pct);
	wp_evidence(f, ret, "receiver", WP_SCOPE_END, "mean_call_bytes", f->receiver.call_bytes);
}

static double steady(const struct wp_facts *f)
{
	return wp_facts_rows_above(f, offsetof(struct wp_interval, rwnd_limited_pct),
				   WP_LIMITED_PCT);
}

static enum wp_rule_answer need_window(const struct wp_facts *f, struct wp_finding *ret)
{
	return wp_lacks(f, ret, "how long the receiver's window stopped the sender",
			wp_has(f->rwnd_limited_pct) ? f->busy_pct : f->rwnd_limited_pct);
}

/* A small window closes however fast it is read: then only a thread that never rests is the reader's fault. */
static bool reads_all_the_time(const struct wp_facts *f)
{
	const struct wp_side *r = &f->receiver;

	if (!wp_facts_large_buffer(f))
		return !r->polls && r->on_cpu_pct.v >= WP_FULL_PCT;
	return r->runnable_pct.v >= WP_FULL_PCT && wp_num_or(r->delay_pct, 0) < WP_DELAY_MAIN_PCT;
}

enum wp_rule_answer wp_rule_slow_reader(const struct wp_facts *f, struct wp_finding *ret)
{
	const struct wp_side *r = &f->receiver;
	struct wp_num closed = wp_facts_count(f, "TcpExtTCPToZeroWindowAdv");
	char calls[64] = "";

	if (!wp_has(closed))
		closed = wp_facts_count(f, "TCPToZeroWindowAdv");
	if (!wp_has(f->rwnd_wall_pct))
		return need_window(f, ret);
	if (f->rwnd_limited_pct.v < WP_LIMITED_PCT)
		return WP_RULE_NO;
	if (!wp_has(r->on_cpu_pct))
		return wp_lacks(f, ret, "the CPU use of the receiver's threads", r->on_cpu_pct);
	if (wp_has(r->call_bytes))
		snprintf(calls, sizeof(calls), ", taking %.0f bytes a call", r->call_bytes.v);
	if (reads_all_the_time(f)) {
		window_evidence(f, ret);
		if (wp_num_or(r->call_bytes, 1e9) < WP_SMALL_CALL_BYTES)
			wp_advise_command(f, ret, "length l", "-l 128K");
		wp_advise_command(f, ret, "", "--rx-discard");
		return wp_find(
			f, ret, f->rwnd_wall_pct.v, wp_confidence(true, steady(f)),
			"the receiver reads too slowly: its thread ran %.0f %% of the time%s, and its closed "
			"window stopped the sender %.0f %% of the time",
			r->on_cpu_pct.v, calls, f->rwnd_wall_pct.v);
	}
	if (r->runnable_pct.v >= IDLE_READER_PCT || wp_num_or(r->delay_pct, 0) >= WP_DELAY_PCT ||
	    !wp_facts_large_buffer(f) || !wp_has(closed))
		return WP_RULE_NO;
	window_evidence(f, ret);
	return wp_find(
		f, ret, f->rwnd_wall_pct.v, wp_confidence(false, steady(f)),
		"the receiver does not read although it could: its thread ran %.0f %% of the time, and its "
		"large window was closed %.0f %% of the time",
		r->on_cpu_pct.v, f->rwnd_wall_pct.v);
}

enum wp_rule_answer wp_rule_receive_window(const struct wp_facts *f, struct wp_finding *ret)
{
	struct wp_num asked = f->run->test.window_bytes;
	char buffer[32] = "unknown size";
	const char *why;

	if (!wp_has(f->rwnd_wall_pct))
		return need_window(f, ret);
	if (f->rwnd_limited_pct.v < WP_LIMITED_NOTE_PCT || wp_facts_delayed_reader(f))
		return WP_RULE_NO;
	/* Small packets take more of the buffer than they carry: it is full of them, not small. */
	if (!wp_has(asked) && wp_facts_small_writes(f))
		return WP_RULE_NO;
	window_evidence(f, ret);
	if (wp_has(f->rcvbuf_bytes))
		wp_format_bytes(f->rcvbuf_bytes.v, buffer, sizeof(buffer));
	if (wp_has(asked)) {
		wp_advise_command(f, ret, "window w", "%s", "");
		why = "set by -w";
	} else {
		wp_evidence(f, ret, "receiver", WP_SCOPE_INVENTORY, "tcp_rmem_max_bytes",
			    f->receiver.host ? f->receiver.host->inventory.tcp_rmem_max_bytes
					     : wp_absent(NULL));
		wp_advise(
			f, ret,
			"raise the third figure of net.ipv4.tcp_rmem on the receiver (sysctl net.ipv4.tcp_rmem "
			"shows it)");
		wp_advise_command(f, ret, "window w", "-w 16M");
		why = "chosen by the kernel";
	}
	return wp_find(
		f, ret, f->rwnd_wall_pct.v,
		f->rwnd_limited_pct.v < WP_LIMITED_PCT ? "low" : wp_confidence(true, steady(f)),
		"the receiver's window is small: it stopped the sender %.0f %% of the time (receive buffer %s, "
		"%s)",
		f->rwnd_wall_pct.v, buffer, why);
}

static void buffer_evidence(const struct wp_facts *f, struct wp_finding *ret)
{
	wp_evidence(f, ret, "flow", WP_SCOPE_FLOW, "sndbuf_bytes", f->sndbuf_bytes);
	wp_evidence(f, ret, "flow", WP_SCOPE_FLOW, "sndbuf_limited_pct", f->sndbuf_limited_pct);
	wp_evidence(f, ret, "flow", WP_SCOPE_FLOW, "app_limited_pct", f->app_limited_pct);
	wp_evidence(f, ret, "flow", WP_SCOPE_FLOW, "mean_rtt_us", f->mean_rtt_us);
	wp_evidence(f, ret, "flow", WP_SCOPE_END, "bits_per_second", f->flow_bps);
	wp_evidence(f, ret, "sender", WP_SCOPE_THREAD, "cpu_pct", f->sender.on_cpu_pct);
	wp_evidence(f, ret, "flow", WP_SCOPE_INTERVAL, "unacked", f->unacked);
	wp_evidence(f, ret, "flow", WP_SCOPE_INTERVAL, "cwnd_bytes", f->cwnd_bytes);
	if (wp_has(f->run->test.window_bytes))
		wp_advise_command(f, ret, "window w", "%s", "");
	else
		wp_advise(f, ret,
			  "raise the third figure of net.ipv4.tcp_wmem on the sender (sysctl "
			  "net.ipv4.tcp_wmem shows it)");
}

/*
 * tcpi_sndbuf_limited counts only while the application is known to want to write more, and stays 0 for a tiny buffer on
 * a path without distance. There the sign is: nothing queued, thread not full, and a buffer below twice rate x round trip.
 */
enum wp_rule_answer wp_rule_send_buffer(const struct wp_facts *f, struct wp_finding *ret)
{
	struct wp_num bdp = wp_facts_bdp_bytes(f);
	bool asked = wp_has(f->run->test.window_bytes);
	char buffer[32], product[32];
	double share;

	if (wp_has(f->sndbuf_limited_pct) && f->sndbuf_limited_pct.v >= WP_LIMITED_PCT) {
		buffer_evidence(f, ret);
		return wp_find(
			f, ret, f->sndbuf_wall_pct.v,
			wp_confidence(true,
				      wp_facts_rows_above(
					      f, offsetof(struct wp_interval, sndbuf_limited_pct),
					      WP_LIMITED_PCT)),
			"the send buffer is small: it stopped the sender %.0f %% of the time",
			f->sndbuf_wall_pct.v);
	}
	if (!wp_has(f->sndbuf_bytes) || !wp_has(bdp))
		return wp_lacks(f, ret, "the size of the send buffer against rate x round trip",
				wp_has(bdp) ? f->sndbuf_bytes : bdp);
	if (f->sndbuf_bytes.v >= SENDBUF_BDP * bdp.v || wp_has(f->run->test.target_bps))
		return WP_RULE_NO;
	if (!wp_has(f->app_limited_pct) || !wp_has(f->wait_pct))
		return wp_lacks(f, ret, "whether the sender had data queued",
				wp_has(f->wait_pct) ? f->app_limited_pct : f->wait_pct);
	/* While the receiver waits for a CPU no buffer helps, and the round trip is longer than the path's. */
	share = f->wait_pct.v - wp_num_or(f->receiver.delay_pct, 0);
	if (f->app_limited_pct.v < SOME_LIMITED_PCT || share < WAIT_PCT ||
	    wp_num_or(f->rwnd_limited_pct, 0) >= WP_LIMITED_PCT)
		return WP_RULE_NO;
	buffer_evidence(f, ret);
	wp_format_bytes(f->sndbuf_bytes.v, buffer, sizeof(buffer));
	wp_format_bytes(bdp.v, product, sizeof(product));
	return wp_find(
		f, ret, share, asked ? "high" : "medium",
		"the send buffer is small: %s, less than twice rate x round trip (%s); the sender's thread was "
		"blocked %.0f %% of the time, with nothing queued in %.0f %% of the samples",
		buffer, product, f->wait_pct.v, f->app_limited_pct.v);
}
