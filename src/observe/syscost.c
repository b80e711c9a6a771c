/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observe/syscost.h"

#include <errno.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "stats/order.h"

#define BATCHES   21
#define BATCH_NS  (100 * WP_NS_PER_US) /* long against a clock reading, short against a tick */
#define SLEEPS    100
#define SLEEP_NS  WP_NS_PER_MS
#define WATCH_NS  (100 * WP_NS_PER_MS)
#define GAP_NS    (5 * WP_NS_PER_US)
#define CALLS_MAX 1000000

static void read_clock(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
}

static void call_kernel(void)
{
	(void)syscall(SYS_getppid);
}

/* How many calls fit into a batch, found by doubling. */
static int64_t calibrate(void (*call)(void))
{
	for (int64_t n = 16; n < CALLS_MAX; n *= 2) {
		int64_t start = wp_now_ns();

		for (int64_t i = 0; i < n; i++)
			call();
		if (wp_now_ns() - start >= BATCH_NS / 2)
			return n;
	}
	return CALLS_MAX;
}

/* The median over batches: a batch that was interrupted does not count for more than itself. */
static struct wp_num cost_of(void (*call)(void))
{
	double ns[BATCHES];
	int64_t n = calibrate(call);

	for (int b = 0; b < BATCHES; b++) {
		int64_t start = wp_now_ns();

		for (int64_t i = 0; i < n; i++)
			call();
		ns[b] = (double)(wp_now_ns() - start) / (double)n;
	}
	wp_sort(ns, BATCHES);
	return wp_num(wp_median(ns, BATCHES));
}

struct wp_num wp_clock_read_cost_ns(void)
{
	return cost_of(read_clock);
}

static void measure_wakeups(struct wp_syscosts *c)
{
	double late_us[SLEEPS];
	int n = 0;

	for (int i = 0; i < SLEEPS; i++) {
		int64_t until = wp_now_ns() + SLEEP_NS;

		if (wp_sleep_until_ns_intr(until))
			continue; /* a signal: not a wake-up by the timer */
		late_us[n++] = (double)(wp_now_ns() - until) / 1e3;
	}
	if (n < SLEEPS / 2) {
		c->wakeup_p50_us = c->wakeup_p99_us = wp_absent("signals ended the sleeps");
		return;
	}
	wp_sort(late_us, (size_t)n);
	c->wakeup_p50_us = wp_num(wp_quantile(late_us, (size_t)n, 0.5));
	c->wakeup_p99_us = wp_num(wp_quantile(late_us, (size_t)n, 0.99));
}

static void measure_gaps(struct wp_syscosts *c)
{
	int64_t start = wp_now_ns(), last = start, taken = 0, longest = 0;

	while (last - start < WATCH_NS) {
		int64_t now = wp_now_ns();

		if (now - last > GAP_NS) {
			taken += now - last;
			longest = now - last > longest ? now - last : longest;
		}
		last = now;
	}
	c->taken_pct = wp_num((double)taken / (double)(last - start) * 100);
	c->taken_longest_us = wp_num((double)longest / 1e3);
}

void wp_syscosts_measure(struct wp_syscosts *ret)
{
	struct wp_syscosts c = { 0 };
	int slack = prctl(PR_GET_TIMERSLACK);

	c.clock_read_ns = wp_clock_read_cost_ns();
	c.syscall_ns = cost_of(call_kernel);
	c.timer_slack_ns = slack >= 0 ? wp_num(slack) : wp_absent("the kernel does not tell");
	measure_wakeups(&c);
	measure_gaps(&c);
	*ret = c;
}
