/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/plan.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define MAX_DURATION_NS  (366 * INT64_C(86400) * WP_NS_PER_S) /* longer is a typing error */
#define MIN_INTERVAL_NS  (10 * WP_NS_PER_MS)
#define MAX_RATE_BPS     UINT64_C(100000000000000) /* 100 Tbit/s: far above any link */
#define MAX_RATE_MHZ     UINT64_C(1000000000000)   /* 10^9 a second */
#define MAX_BUSY_POLL_US 1000000
#define BUFFER_BYTES     (8u << 20)
#define BUFFER_BYTES_MIN (256u << 10)
#define BUFFERS_BYTES    (64u << 20)
#define MAX_WINDOW       (UINT64_C(1) << 30) /* SO_SNDBUF is an int and the kernel doubles it */

static int check_times(const struct wp_plan *p, struct wp_err *err)
{
	if (p->duration_ns < 0 || p->duration_ns > MAX_DURATION_NS)
		return wp_err_set(err, -EINVAL, "the duration must be between 0 and 366 days");
	if (!p->duration_ns && !p->limit_bytes)
		return wp_err_set(
			err, -EINVAL,
			"the test has no end; give a duration (-t) or an amount (-n, -k)");
	if (p->omit_ns < 0 || p->omit_ns > MAX_DURATION_NS)
		return wp_err_set(err, -EINVAL, "the warm-up (-O) must be between 0 and 366 days");
	if (p->omit_ns && p->limit_bytes)
		return wp_err_set(
			err, -EINVAL,
			"a warm-up (-O) and an amount (-n, -k) exclude each other: the amount "
			"would be used up in the warm-up; use -t");
	if (p->interval_ns &&
	    (p->interval_ns < MIN_INTERVAL_NS || p->interval_ns > MAX_DURATION_NS))
		return wp_err_set(err, -EINVAL, "the interval (-i) must be 0 or at least 0.01 s");
	if (p->sample_ns && (p->sample_ns < MIN_INTERVAL_NS || p->sample_ns > MAX_DURATION_NS))
		return wp_err_set(err, -EINVAL, "the sampling interval must be at least 0.01 s");
	if (p->stall_ns && (p->stall_ns < WP_MIN_STALL_NS || p->stall_ns > WP_MAX_STALL_NS))
		return wp_err_set(err, -EINVAL,
				  "a stall (--stall) must last between 0.05 s and an hour");
	return 0;
}

static int check_cpus(const struct wp_cpulist *l, struct wp_err *err)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->cpu[i] < 0 || l->cpu[i] >= WP_CPU_MAX)
			return wp_err_set(err, -EINVAL, "CPU %d is not a CPU number", l->cpu[i]);
	return 0;
}

unsigned wp_plan_max_streams(const char *kind)
{
	return !strcmp(kind, "rr") ? WP_MAX_CONNECTIONS : WP_MAX_STREAMS;
}

uint64_t wp_plan_buffer_bytes(const struct wp_plan *p)
{
	return p->response_bytes > p->length_bytes ? p->response_bytes : p->length_bytes;
}

/* 8 MiB hold 15 ms of the smallest datagrams at a million a second; many streams share 64 MiB. */
uint64_t wp_plan_receive_buffer_bytes(const struct wp_plan *p)
{
	uint64_t bytes = p->window_bytes;

	if (bytes)
		return bytes;
	bytes = BUFFERS_BYTES / (p->streams ? p->streams : 1);
	return bytes > BUFFER_BYTES       ? BUFFER_BYTES
	       : bytes < BUFFER_BYTES_MIN ? BUFFER_BYTES_MIN
					  : bytes;
}

/* Options that only TCP sockets have. */
static int check_no_tcp_options(const struct wp_plan *p, struct wp_err *err)
{
	if (p->mss_bytes || p->nodelay || p->congestion)
		return wp_err_set(
			err, -EINVAL,
			"segment size, no-delay and congestion control (-M, -N, -C) are TCP's; UDP has none");
	if (p->send_method == WP_SEND_ZEROCOPY || p->receive_method == WP_RECEIVE_DISCARD)
		return wp_err_set(err, -EINVAL,
				  "zero copy and discarding (-Z, --rx-discard) are TCP's");
	return 0;
}

static int check_tcp(const struct wp_plan *p, struct wp_err *err)
{
	if (p->length_bytes < 1 || p->length_bytes > WP_MAX_LENGTH_BYTES)
		return wp_err_set(err, -EINVAL, "the write size (-l) must be between 1 and %uM",
				  WP_MAX_LENGTH_BYTES >> 20);
	return 0;
}

static int check_udp(const struct wp_plan *p, struct wp_err *err)
{
	if (p->length_bytes < 1 || p->length_bytes > WP_MAX_DATAGRAM)
		return wp_err_set(
			err, -EINVAL,
			"a datagram's payload (-l) must be between 1 and %d bytes, not %llu",
			WP_MAX_DATAGRAM, (unsigned long long)p->length_bytes);
	if (p->rate_bps && p->rate_bps < 8 * p->length_bytes)
		return wp_err_set(
			err, -EINVAL,
			"the rate (-b) must be at least one packet a second for each stream: %llu bit/s with %llu bytes",
			(unsigned long long)(8 * p->length_bytes),
			(unsigned long long)p->length_bytes);
	if (p->batch > WP_MAX_BATCH)
		return wp_err_set(err, -EINVAL, "the batch (--batch) must be at most %d",
				  WP_MAX_BATCH);
	if (p->spin && !p->rate_bps)
		return wp_err_set(err, -EINVAL, "--spin is for paced datagrams; give a rate (-b)");
	if (p->check)
		return wp_err_set(
			err, -EINVAL,
			"--check is for tcp: UDP's checksum refuses damaged datagrams already");
	return check_no_tcp_options(p, err);
}

static int check_rr(const struct wp_plan *p, struct wp_err *err)
{
	uint64_t most = p->transport == WP_UDP ? WP_MAX_DATAGRAM : WP_MAX_LENGTH_BYTES;

	if (p->length_bytes < 1 || p->length_bytes > most || p->response_bytes < 1 ||
	    p->response_bytes > most)
		return wp_err_set(err, -EINVAL,
				  "request and response sizes must be between 1 and %llu bytes",
				  (unsigned long long)most);
	if (p->direction != WP_FORWARD)
		return wp_err_set(err, -EINVAL,
				  "a request/response test has both directions already");
	if (p->outstanding < 1 || p->outstanding > WP_MAX_OUTSTANDING)
		return wp_err_set(err, -EINVAL,
				  "requests under way (--outstanding) must be between 1 and %d",
				  WP_MAX_OUTSTANDING);
	if (p->connect_each && (p->transport == WP_UDP || p->outstanding > 1))
		return wp_err_set(
			err, -EINVAL,
			"a connection for each transaction (--connect) is for TCP with one request under way");
	if (p->poisson && !p->rate_mhz)
		return wp_err_set(err, -EINVAL, "random arrivals need a rate (--rate)");
	if (p->rate_bps)
		return wp_err_set(err, -EINVAL, "rr takes transactions a second (--rate), not -b");
	if (p->transport == WP_UDP &&
	    (p->response_timeout_ns < WP_NS_PER_MS || p->response_timeout_ns > WP_NS_PER_S * 3600))
		return wp_err_set(
			err, -EINVAL,
			"the time to wait for a response must be between 1 ms and an hour");
	if (p->limit_bytes % p->length_bytes ||
	    (p->limit_bytes && p->limit_bytes / p->length_bytes < p->streams))
		return wp_err_set(
			err, -EINVAL,
			"an amount must be a whole number of requests, at least one for each connection");
	if (p->check)
		return wp_err_set(err, -EINVAL, "--check is for tcp");
	return p->transport == WP_UDP ? check_no_tcp_options(p, err) : 0;
}

static int check_kind(const struct wp_plan *p, struct wp_err *err)
{
	static const struct {
		const char *kind;
		bool tcp, udp;
		int (*check)(const struct wp_plan *p, struct wp_err *err);
	} kinds[] = {
		{ "tcp", true, false, check_tcp },
		{ "udp", false, true, check_udp },
		{ "rr", true, true, check_rr },
	};

	for (size_t i = 0; p->kind && i < WP_ARRAY_SIZE(kinds); i++) {
		if (strcmp(p->kind, kinds[i].kind))
			continue;
		if (!(p->transport == WP_TCP ? kinds[i].tcp : kinds[i].udp))
			return wp_err_set(err, -EINVAL, "a %s test does not run over that protocol",
					  p->kind);
		return kinds[i].check(p, err);
	}
	return wp_err_set(err, -EINVAL,
			  "unknown kind of test '%.16s'; this version knows tcp, udp and rr",
			  p->kind ? p->kind : "");
}

static int check_amounts(const struct wp_plan *p, struct wp_err *err)
{
	if (p->streams < 1 || p->streams > wp_plan_max_streams(p->kind))
		return wp_err_set(err, -EINVAL,
				  "the number of streams (-P) must be between 1 and %u, not %u",
				  wp_plan_max_streams(p->kind), p->streams);
	if (p->rate_bps > MAX_RATE_BPS)
		return wp_err_set(err, -EINVAL, "the rate (-b) must be below 100 Tbit/s");
	if (p->rate_mhz > MAX_RATE_MHZ)
		return wp_err_set(err, -EINVAL, "the rate must be below 10^9 transactions/s");
	if (p->window_bytes > MAX_WINDOW)
		return wp_err_set(err, -EINVAL, "the socket buffer (-w) must be at most 1G");
	if (p->busy_poll_us > MAX_BUSY_POLL_US)
		return wp_err_set(err, -EINVAL, "busy polling must be at most %d us",
				  MAX_BUSY_POLL_US);
	if (p->limit_bytes && p->limit_bytes < p->streams)
		return wp_err_set(
			err, -EINVAL,
			"%llu bytes can't be shared by %u streams; give at least one byte each",
			(unsigned long long)p->limit_bytes, p->streams);
	return 0;
}

static int check_socket(const struct wp_plan *p, struct wp_err *err)
{
	if (p->mss_bytes && (p->mss_bytes < 88 || p->mss_bytes > 32767))
		return wp_err_set(err, -EINVAL,
				  "the maximum segment size (-M) must be between 88 and 32767");
	if (p->dscp < -1 || p->dscp > 63)
		return wp_err_set(err, -EINVAL, "the DSCP must be between 0 and 63");
	if (p->congestion && strlen(p->congestion) > 15)
		return wp_err_set(err, -EINVAL,
				  "'%.20s...' is not the name of a congestion control",
				  p->congestion);
	if (p->family != AF_UNSPEC && p->family != AF_INET && p->family != AF_INET6)
		return wp_err_set(err, -EINVAL, "unknown address family %d", p->family);
	return 0;
}

int wp_plan_check(const struct wp_plan *p, struct wp_err *err)
{
	int r;

	if ((unsigned)p->direction > WP_BOTH || (unsigned)p->fill > WP_FILL_PATTERN ||
	    (unsigned)p->send_method > WP_SEND_ZEROCOPY ||
	    (unsigned)p->receive_method > WP_RECEIVE_DISCARD || (unsigned)p->transport > WP_UDP ||
	    (unsigned)p->wait > WP_WAIT_SPIN)
		return wp_err_set(err, -EINVAL, "unknown direction, content or method");
	r = check_kind(p, err);
	if (!r)
		r = check_amounts(p, err);
	if (!r)
		r = check_socket(p, err);
	if (r)
		return r;
	if (p->check && p->fill != WP_FILL_PATTERN)
		return wp_err_set(
			err, -EINVAL,
			"--check needs --fill pattern: other content can't be told from damage");
	if (p->check && p->receive_method == WP_RECEIVE_DISCARD)
		return wp_err_set(
			err, -EINVAL,
			"--check and --rx-discard exclude each other: discarded bytes can't be read");
	r = check_times(p, err);
	if (!r)
		r = check_cpus(&p->cpus, err);
	if (!r)
		r = check_cpus(&p->hog_cpus, err);
	return r ? r : check_cpus(&p->peer_cpus, err);
}

uint64_t wp_plan_stream_limit(const struct wp_plan *p, unsigned i)
{
	uint64_t blocks, block, left;

	if (!p->limit_bytes)
		return 0;
	/* Whole blocks while there are enough for every stream; the last stream takes the rest. */
	block = p->limit_bytes / p->length_bytes >= p->streams ? p->length_bytes : 1;
	blocks = p->limit_bytes / block;
	left = p->limit_bytes % block;
	return (blocks / p->streams + (i < blocks % p->streams)) * block +
	       (i == p->streams - 1 ? left : 0);
}

int wp_plan_check_write(const struct wp_plan *p, struct wp_err *err)
{
	int r;

	if ((unsigned)p->fill > WP_FILL_PATTERN || (unsigned)p->sync > WP_SYNC_BYTES ||
	    (p->sync == WP_SYNC_BYTES && !p->sync_bytes))
		return wp_err_set(err, -EINVAL, "unknown content or fsync policy");
	if (p->streams != 1 || p->direction != WP_FORWARD)
		return wp_err_set(err, -EINVAL, "one writer writes one file");
	if (p->length_bytes < 1 || p->length_bytes > WP_MAX_LENGTH_BYTES)
		return wp_err_set(err, -EINVAL, "the write size (-l) must be between 1 and %uM",
				  WP_MAX_LENGTH_BYTES >> 20);
	if (p->wrap_bytes && p->wrap_bytes < p->length_bytes)
		return wp_err_set(err, -EINVAL,
				  "the file (--file-size) must hold one write (-l): %llu bytes",
				  (unsigned long long)p->length_bytes);
	r = check_amounts(p, err);
	if (!r)
		r = check_times(p, err);
	return r ? r : check_cpus(&p->cpus, err);
}

static struct wp_num or_absent(double v, const char *why)
{
	return v > 0 ? wp_num(v) : wp_absent(why);
}

static void udp_to_test(const struct wp_plan *p, struct wp_test *t)
{
	t->target_pps = or_absent((double)p->rate_bps / 8 / (double)p->length_bytes, "unlimited");
	t->batch = or_absent(p->batch, "whyperf's choice");
	t->busy_poll_us = or_absent(p->busy_poll_us, "off");
	t->gso = wp_num(p->gso);
	t->gro = wp_num(p->gro);
	t->connected = wp_num(!p->unconnected);
	t->spin = wp_num(p->spin);
}

static void rr_to_test(const struct wp_plan *p, struct wp_test *t)
{
	static const char *const waits[] = { "auto", "block", "epoll", "spin" };

	t->request_bytes = wp_num((double)p->length_bytes);
	t->response_bytes = wp_num((double)p->response_bytes);
	t->connect = wp_num(p->connect_each);
	t->outstanding = wp_num(p->outstanding);
	t->rate_hz = or_absent((double)p->rate_mhz / 1000, "closed loop");
	t->arrivals = !p->rate_mhz ? "closed loop" : p->poisson ? "poisson" : "even";
	t->wait = waits[p->wait];
	t->limit_transactions = or_absent((double)p->limit_bytes / (double)p->length_bytes,
					  "the run ends with duration_s");
	t->response_timeout_s = p->transport == WP_UDP
					? wp_num((double)p->response_timeout_ns / 1e9)
					: wp_absent("TCP loses none");
	t->busy_poll_us = or_absent(p->busy_poll_us, "off");
}

static void write_to_test(const struct wp_plan *p, struct wp_test *t)
{
	static const char *const policies[] = { "never", "end", "each", "bytes" };
	static const char no_socket[] = "not a socket of ours";

	t->fsync_policy = policies[p->sync];
	if (p->sync == WP_SYNC_BYTES)
		t->fsync_bytes = wp_num((double)p->sync_bytes);
	t->file_size_bytes = or_absent((double)p->wrap_bytes, "it is not begun again");
	t->window_bytes = t->mss_bytes = t->dscp = t->nodelay = wp_absent(no_socket);
}

void wp_plan_to_test(const struct wp_plan *p, struct wp_run *run)
{
	struct wp_test *t = &run->test;
	double length = (double)p->length_bytes;

	t->kind = wp_pool_strdup(&run->pool, p->kind);
	t->protocol = !strcmp(p->kind, "write") ? "-" : p->transport == WP_UDP ? "UDP" : "TCP";
	t->direction = wp_direction_name(p->direction);
	t->congestion = wp_pool_strdup(&run->pool, p->congestion);
	t->fill = wp_fill_name(p->fill);
	t->streams = wp_num(p->streams);
	t->duration_s = or_absent((double)p->duration_ns / 1e9, "the run ends with limit_bytes");
	t->omit_s = wp_num((double)p->omit_ns / 1e9);
	t->interval_s = or_absent((double)p->interval_ns / 1e9, "no intervals asked for");
	t->length_bytes = wp_num(length);
	t->target_bps = or_absent((double)p->rate_bps, "unlimited");
	t->limit_bytes = or_absent((double)p->limit_bytes, "the run ends with duration_s");
	t->window_bytes = or_absent((double)p->window_bytes, "autotuning");
	t->mss_bytes = or_absent(p->mss_bytes, "the kernel's choice");
	t->dscp = p->dscp >= 0 ? wp_num(p->dscp) : wp_absent("not set");
	t->nodelay = wp_num(p->nodelay);
	t->hog_cpus.v = wp_pool_calloc(&run->pool, p->hog_cpus.n, sizeof(int));
	for (; t->hog_cpus.v && t->hog_cpus.n < p->hog_cpus.n; t->hog_cpus.n++)
		t->hog_cpus.v[t->hog_cpus.n] = p->hog_cpus.cpu[t->hog_cpus.n];
	if (p->soak)
		t->soak = wp_num(1);
	if (p->stall_ns)
		t->stall_s = wp_num((double)p->stall_ns / 1e9);
	if (!strcmp(p->kind, "udp"))
		udp_to_test(p, t);
	if (!strcmp(p->kind, "rr"))
		rr_to_test(p, t);
	if (!strcmp(p->kind, "write"))
		write_to_test(p, t);
}

const char *wp_direction_name(enum wp_direction d)
{
	static const char *const names[] = { "forward", "reverse", "both" };

	return (unsigned)d < 3 ? names[d] : "?";
}

const char *wp_fill_name(enum wp_fill f)
{
	static const char *const names[] = { "zero", "random", "pattern" };

	return (unsigned)f < 3 ? names[f] : "?";
}
