/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"

#include <errno.h>
#include <stdio.h>

static int64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * WP_NS_PER_S + ts.tv_nsec;
}

int64_t wp_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int64_t wp_unix_now_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

struct timespec wp_ns_to_timespec(int64_t ns)
{
	struct timespec ts = { .tv_sec = ns / WP_NS_PER_S, .tv_nsec = ns % WP_NS_PER_S };

	if (ts.tv_nsec < 0) {
		ts.tv_sec--;
		ts.tv_nsec += WP_NS_PER_S;
	}
	return ts;
}

int wp_sleep_until_ns_intr(int64_t until_ns)
{
	struct timespec ts = wp_ns_to_timespec(until_ns);

	if (until_ns <= 0)
		return 0;
	return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR ? -EINTR : 0;
}

void wp_sleep_until_ns(int64_t until_ns)
{
	while (wp_sleep_until_ns_intr(until_ns) == -EINTR)
		;
}

void wp_format_rfc3339(int64_t unix_ns, char out[static 32])
{
	struct timespec ts = wp_ns_to_timespec(unix_ns);
	char date[24];
	struct tm tm;

	/* int64_t nanoseconds reach from 1677 to 2262, so the year always has four digits. */
	gmtime_r(&ts.tv_sec, &tm);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out, 32, "%s.%03dZ", date, (int)(ts.tv_nsec / WP_NS_PER_MS));
}
