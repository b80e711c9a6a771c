/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of doctor: network limits and interfaces. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "explain/doctor_check.h"

#define SOCKBUF_WANTED_BYTES (2 << 20)  /* some ms of small datagrams at a million a second */
#define TCPBUF_WANTED_BYTES  (16 << 20) /* 1.3 Gbit/s at 100 ms */
#define BACKLOG_WANTED       10000
#define PORTS_WANTED         10000

static const char *bytes_text(struct wp_doctor_ctx *c, int64_t bytes)
{
	char text[32];

	wp_format_bytes((double)bytes, text, sizeof(text));
	return wp_doctor_format(c, "%lld (%s)", (long long)bytes, text);
}

static bool say_bytes(struct wp_doctor_ctx *c, struct wp_doctor_line *l, struct wp_maybe_int v)
{
	if (v.state != WP_VALUE) {
		wp_doctor_missing(l, v.why);
		return false;
	}
	wp_doctor_say(c, l, "%s", bytes_text(c, v.v));
	return true;
}

static void check_rmem_max(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	struct wp_maybe_int v = wp_limit_int(&c->f->limits, WP_LIMIT_RMEM_MAX);

	if (say_bytes(c, l, v) && v.v < SOCKBUF_WANTED_BYTES)
		wp_doctor_mark(
			l, WP_DOCTOR_WARN,
			"a UDP receiver can hold only a few hundred datagrams: pauses of under a millisecond lose "
			"packets that the path delivered",
			"sysctl -w net.core.rmem_max=8388608");
}

static void check_wmem_max(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	struct wp_maybe_int v = wp_limit_int(&c->f->limits, WP_LIMIT_WMEM_MAX);

	if (say_bytes(c, l, v) && v.v < SOCKBUF_WANTED_BYTES)
		wp_doctor_mark(l, WP_DOCTOR_NOTE, "-w larger than this is cut down silently",
			       "sysctl -w net.core.wmem_max=8388608");
}

/* What a window of that size allows at 100 ms: window / RTT. */
static void tcp_buffer(struct wp_doctor_ctx *c, struct wp_doctor_line *l, enum wp_limit which,
		       const char *advice)
{
	struct wp_maybe_int max = wp_limit_part(&c->f->limits, which, 2);
	char rate[32], size[32];

	if (max.state != WP_VALUE) {
		wp_doctor_missing(l, max.why);
		return;
	}
	wp_format_bps((double)max.v * 8 / 0.1, rate, sizeof(rate));
	wp_format_bytes((double)max.v, size, sizeof(size));
	wp_doctor_say(c, l, "up to %s: at most %s at 100 ms", size, rate);
	if (max.v < TCPBUF_WANTED_BYTES)
		wp_doctor_mark(l, WP_DOCTOR_NOTE,
			       "on long paths one stream is limited by the buffer, not by the path",
			       advice);
}

static void check_tcp_rmem(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	tcp_buffer(c, l, WP_LIMIT_TCP_RMEM,
		   "sysctl -w net.ipv4.tcp_rmem='4096 131072 33554432' for paths above 10 ms");
}

static void check_tcp_wmem(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	tcp_buffer(c, l, WP_LIMIT_TCP_WMEM,
		   "sysctl -w net.ipv4.tcp_wmem='4096 16384 33554432' for paths above 10 ms");
}

static void check_autotuning(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	struct wp_maybe_int v = wp_limit_int(&c->f->limits, WP_LIMIT_TCP_MODERATE_RCVBUF);

	if (v.state != WP_VALUE) {
		wp_doctor_missing(l, v.why);
		return;
	}
	wp_doctor_say(c, l, "%s", v.v ? "on" : "off");
	if (!v.v)
		wp_doctor_mark(
			l, WP_DOCTOR_WARN,
			"the receive window stays at its default: throughput is window / RTT",
			"sysctl -w net.ipv4.tcp_moderate_rcvbuf=1");
}

static void check_congestion(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	const struct wp_limits *x = &c->f->limits;
	const struct wp_maybe_text *cc = &x->text[WP_LIMIT_TCP_CONGESTION];

	if (!wp_doctor_say_text(c, l, cc))
		return;
	wp_doctor_say(c, l, "%s (available: %s)", cc->v,
		      wp_maybe_text_or(&x->text[WP_LIMIT_TCP_CONGESTION_AVAILABLE], "unknown"));
	if (!strncmp(cc->v, "bbr", 3))
		wp_doctor_mark(
			l, WP_DOCTOR_WARN,
			"it paces by timer: on paths without delay (lab, loopback, one rack) it is 3 to 4 times slower than "
			"cubic and retransmits without loss",
			"-C cubic for such paths; name the congestion control beside every figure");
	else if (strcmp(cc->v, "cubic") && strcmp(cc->v, "reno"))
		wp_doctor_mark(l, WP_DOCTOR_NOTE, "most published figures are taken with cubic",
			       "name the congestion control beside every figure");
}

static void check_qdisc(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	wp_doctor_say_text(c, l, &c->f->limits.text[WP_LIMIT_DEFAULT_QDISC]);
}

static void check_tcp_options(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	static const struct {
		enum wp_limit which;
		const char *name;
	} options[] = {
		{ WP_LIMIT_TCP_WINDOW_SCALING, "window scaling" },
		{ WP_LIMIT_TCP_SACK, "SACK" },
		{ WP_LIMIT_TCP_TIMESTAMPS, "timestamps" },
	};
	char off[64] = "";
	size_t at = 0, known = 0;

	for (size_t i = 0; i < WP_ARRAY_SIZE(options); i++) {
		struct wp_maybe_int v = wp_limit_int(&c->f->limits, options[i].which);

		known += v.state == WP_VALUE;
		if (v.state == WP_VALUE && !v.v)
			at += (size_t)snprintf(off + at, sizeof(off) - at, "%s%s", at ? ", " : "",
					       options[i].name);
	}
	if (!known) {
		wp_doctor_missing(l, c->f->limits.text[WP_LIMIT_TCP_SACK].why);
		return;
	}
	wp_doctor_say(c, l, "%s%s", at ? "off: " : "window scaling, SACK and timestamps on", off);
	if (at)
		wp_doctor_mark(l, WP_DOCTOR_WARN,
			       "windows above 64 KB, recovery from loss or RTT measurement suffer",
			       "set net.ipv4.tcp_window_scaling, tcp_sack and tcp_timestamps to 1");
}

static void check_metrics_save(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	struct wp_maybe_int v = wp_limit_int(&c->f->limits, WP_LIMIT_TCP_NO_METRICS_SAVE);

	if (v.state != WP_VALUE)
		return;
	wp_doctor_say(c, l, "%s", v.v ? "off" : "on");
	if (!v.v)
		wp_doctor_mark(
			l, WP_DOCTOR_NOTE,
			"the kernel remembers a destination's slow-start threshold and RTT: a run that lost packets makes "
			"the next one start slower, so runs are not independent",
			"sysctl -w net.ipv4.tcp_no_metrics_save=1 while comparing");
}

static void check_backlog(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	struct wp_maybe_int v = wp_limit_int(&c->f->limits, WP_LIMIT_NETDEV_MAX_BACKLOG);

	if (wp_doctor_say_int(c, l, &v, "packets") && v.v < BACKLOG_WANTED)
		wp_doctor_mark(
			l, WP_DOCTOR_NOTE,
			"with RPS, and on virtual links, bursts above this are dropped before the socket (softnet_stat "
			"column 2)",
			"sysctl -w net.core.netdev_max_backlog=10000");
}

static void check_budget(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	struct wp_maybe_int v = wp_limit_int(&c->f->limits, WP_LIMIT_NETDEV_BUDGET);
	struct wp_maybe_int us = wp_limit_int(&c->f->limits, WP_LIMIT_NETDEV_BUDGET_USECS);

	if (!wp_doctor_say_int(c, l, &v, "packets"))
		return;
	if (us.state == WP_VALUE)
		wp_doctor_say(c, l, "%lld packets or %lld us a softirq", (long long)v.v,
			      (long long)us.v);
}

static void check_busy_poll(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	struct wp_maybe_int poll = wp_limit_int(&c->f->limits, WP_LIMIT_BUSY_POLL);
	struct wp_maybe_int read = wp_limit_int(&c->f->limits, WP_LIMIT_BUSY_READ);

	if (poll.state != WP_VALUE || read.state != WP_VALUE)
		return;
	wp_doctor_say(c, l, "poll %lld us, read %lld us", (long long)poll.v, (long long)read.v);
	if (poll.v || read.v)
		wp_doctor_mark(
			l, WP_DOCTOR_NOTE,
			"waiting sockets spin: latency is lower, CPUs look busy without traffic",
			"say so beside CPU figures");
}

static void check_rfs(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	struct wp_maybe_int v = wp_limit_int(&c->f->limits, WP_LIMIT_RPS_SOCK_FLOW_ENTRIES);

	if (v.state != WP_VALUE)
		return;
	wp_doctor_say(c, l, "%s", v.v ? "on" : "off");
	if (v.v)
		wp_doctor_mark(
			l, WP_DOCTOR_NOTE,
			"packets follow the reading thread's CPU: moving a thread moves its softirq",
			"keep it for both arms of a comparison");
}

static void check_ports(struct wp_doctor_ctx *c, struct wp_doctor_line *l)
{
	struct wp_maybe_int low = wp_limit_part(&c->f->limits, WP_LIMIT_PORT_RANGE, 0);
	struct wp_maybe_int high = wp_limit_part(&c->f->limits, WP_LIMIT_PORT_RANGE, 1);

	if (low.state != WP_VALUE || high.state != WP_VALUE)
		return;
	wp_doctor_say(c, l, "%lld to %lld", (long long)low.v, (long long)high.v);
	if (high.v - low.v < PORTS_WANTED)
		wp_doctor_mark(
			l, WP_DOCTOR_NOTE,
			"many short connections run out of ports (each waits 60 s in TIME-WAIT)",
			"sysctl -w net.ipv4.ip_local_port_range='10240 65000'");
}

const struct wp_doctor_check wp_doctor_limit_checks[] = {
	{ "Limits", "rmem_max", check_rmem_max },
	{ "Limits", "wmem_max", check_wmem_max },
	{ "Limits", "tcp_rmem", check_tcp_rmem },
	{ "Limits", "tcp_wmem", check_tcp_wmem },
	{ "Limits", "netdev_max_backlog", check_backlog },
	{ "Limits", "netdev_budget", check_budget },
	{ "Limits", "busy polling", check_busy_poll },
	{ "Limits", "RFS", check_rfs },
	{ "Limits", "local ports", check_ports },
	{ "TCP", "congestion control", check_congestion },
	{ "TCP", "default qdisc", check_qdisc },
	{ "TCP", "options", check_tcp_options },
	{ "TCP", "receive autotuning", check_autotuning },
	{ "TCP", "metrics cache", check_metrics_save },
};

const size_t wp_n_doctor_limit_checks = WP_ARRAY_SIZE(wp_doctor_limit_checks);
