/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/plan.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/clock.h"

#define MAX_DURATION_NS (366 * INT64_C(86400) * WP_NS_PER_S) /* longer is a typing error */
#define MIN_INTERVAL_NS (10 * WP_NS_PER_MS)
#define MAX_RATE_BPS    UINT64_C(100000000000000) /* 100 Tbit/s: far above any link */
#define MAX_WINDOW      (UINT64_C(1) << 30) /* SO_SNDBUF is an int and the kernel doubles it */

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
	return 0;
}

static int check_cpus(const struct wp_cpulist *l, struct wp_err *err)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->cpu[i] < 0 || l->cpu[i] >= WP_CPU_MAX)
			return wp_err_set(err, -EINVAL, "CPU %d is not a CPU number", l->cpu[i]);
	return 0;
}

int wp_plan_check(const struct wp_plan *p, struct wp_err *err)
{
	int r;

	if (!p->kind || strcmp(p->kind, "tcp"))
		return wp_err_set(err, -EINVAL, "unknown kind of test '%s'; this version knows tcp",
				  p->kind ? p->kind : "");
	if (p->streams < 1 || p->streams > WP_MAX_STREAMS)
		return wp_err_set(err, -EINVAL,
				  "the number of streams (-P) must be between 1 and %d, not %u",
				  WP_MAX_STREAMS, p->streams);
	if (p->length_bytes < 1 || p->length_bytes > WP_MAX_LENGTH_BYTES)
		return wp_err_set(err, -EINVAL, "the write size (-l) must be between 1 and %uM",
				  WP_MAX_LENGTH_BYTES >> 20);
	if (p->rate_bps > MAX_RATE_BPS)
		return wp_err_set(err, -EINVAL, "the rate (-b) must be below 100 Tbit/s");
	if (p->window_bytes > MAX_WINDOW)
		return wp_err_set(err, -EINVAL, "the socket buffer (-w) must be at most 1G");
	if (p->limit_bytes && p->limit_bytes < p->streams)
		return wp_err_set(
			err, -EINVAL,
			"%llu bytes can't be shared by %u streams; give at least one byte each",
			(unsigned long long)p->limit_bytes, p->streams);
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
	if (p->check && p->fill != WP_FILL_PATTERN)
		return wp_err_set(
			err, -EINVAL,
			"--check needs --fill pattern: other content can't be told from damage");
	if (p->check && p->receive_method == WP_RECEIVE_DISCARD)
		return wp_err_set(
			err, -EINVAL,
			"--check and --rx-discard exclude each other: discarded bytes can't be read");
	if ((unsigned)p->direction > WP_BOTH || (unsigned)p->fill > WP_FILL_PATTERN ||
	    (unsigned)p->send_method > WP_SEND_ZEROCOPY ||
	    (unsigned)p->receive_method > WP_RECEIVE_DISCARD)
		return wp_err_set(err, -EINVAL, "unknown direction, content or method");
	r = check_times(p, err);
	if (!r)
		r = check_cpus(&p->cpus, err);
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

static struct wp_num or_absent(double v, const char *why)
{
	return v > 0 ? wp_num(v) : wp_absent(why);
}

void wp_plan_to_test(const struct wp_plan *p, struct wp_run *run)
{
	struct wp_test *t = &run->test;
	double length = (double)p->length_bytes;

	t->kind = wp_pool_strdup(&run->pool, p->kind);
	t->protocol = "TCP";
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
