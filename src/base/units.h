/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * units.h - sizes, rates and durations as people write and read them.
 *
 * Sizes in bytes take K, M, G, T as powers of 1024 ("128K" = 131072). Rates in bits per second take k, K, M,
 * G, T as powers of 1000 ("200M", "200mbit", "1.5G", "10gbit/s"), as iperf3 has it. Durations: "10" (seconds),
 * "250ms", "10us", "2m", "1h", "0.5". Case does not matter. The parsers are pure and accept the whole string or
 * nothing: -EINVAL for what is not a number, an unknown unit or trailing text, -ERANGE for overflow. Sizes and rates
 * are exact where the text is ("1.5K" = 1536), otherwise rounded to nearest; half a byte or bit is -EINVAL. A rate
 * with a capital B behind its power ("100MB/s") is refused rather than taken for bits.
 */
#ifndef WP_BASE_UNITS_H
#define WP_BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

int wp_parse_u64(const char *s, uint64_t *ret) WP_MUST_USE;
int wp_parse_i64(const char *s, int64_t *ret) WP_MUST_USE;
int wp_parse_double(const char *s,
		    double *ret) WP_MUST_USE; /* finite only; '.' whatever the locale */
/* A count with K, M, G, T as powers of 1000: "10k", "1e6". */
int wp_parse_count(const char *s, uint64_t *ret) WP_MUST_USE;
int wp_parse_size_bytes(const char *s, uint64_t *ret) WP_MUST_USE;
int wp_parse_rate_bps(const char *s, uint64_t *ret) WP_MUST_USE;
int wp_parse_duration_ns(const char *s, int64_t *ret) WP_MUST_USE;
/* A frequency with k, M, G, T as powers of 1000, in 1/1000 of a hertz: "0.5" = 500, "10k", "1.5M/s", "20khz". */
int wp_parse_frequency_mhz(const char *s, uint64_t *ret) WP_MUST_USE;

/* A sending rate, in one of two units; both 0 = unlimited. */
struct wp_rate {
	uint64_t bps;         /* bits a second */
	uint64_t packets_mhz; /* packets in 1000 seconds */
};

/* What wp_parse_rate_bps() takes, or packets a second: "36kpps", "1000pps", "1.5Mpps", "10k packets/s". */
int wp_parse_rate(const char *s, struct wp_rate *ret) WP_MUST_USE;

/* Three significant digits and a unit, as iperf3 prints: "13.7 GBytes" (1024), "11.8 Gbits/sec" (1000). */
void wp_format_bytes(double bytes, char *out, size_t size);
void wp_format_bps(double bits_per_second, char *out, size_t size);
/* A fixed unit: `unit` is one of iperf3's -f letters: k m g t (bits/s, 1000) K M G T (bytes/s, 1024), or A: bytes/s
 * with whichever power fits. */
void wp_format_rate_as(double bits_per_second, char unit, char *out, size_t size);
/* "48 us", "48.3 us", "1.42 ms", "2.00 s": three significant digits; whole nanoseconds and microseconds without
 * ".0". What is not finite is "-" in all of these. */
void wp_format_ns(double ns, char *out, size_t size);
/* 225110 -> "225,110". */
void wp_format_count(uint64_t n, char *out, size_t size);

#endif
