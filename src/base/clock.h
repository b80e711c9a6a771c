/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clock.h - time inside the program: int64_t nanoseconds of CLOCK_MONOTONIC. Wall clock only in metadata.
 */
#ifndef WP_BASE_CLOCK_H
#define WP_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define WP_NS_PER_S  INT64_C(1000000000)
#define WP_NS_PER_MS INT64_C(1000000)
#define WP_NS_PER_US INT64_C(1000)

int64_t wp_now_ns(void);
/* Sleeps until the monotonic time `until_ns`; returns at once if that is past. Interrupted sleeps go on. */
void wp_sleep_until_ns(int64_t until_ns);
/* As above, but a signal ends the sleep: 0 when the time is reached, -EINTR otherwise. */
int wp_sleep_until_ns_intr(int64_t until_ns);
struct timespec wp_ns_to_timespec(int64_t ns);

/* Writes the wall clock `unix_ns` as RFC 3339 in UTC with milliseconds ("2026-11-30T17:20:05.123Z",
 * 24 characters and NUL). */
void wp_format_rfc3339(int64_t unix_ns, char out[static 32]);
int64_t wp_unix_now_ns(void);

#endif
