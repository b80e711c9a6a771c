/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_units.c - every parser of a single word: numbers, sizes, rates, durations and CPU lists. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpuset.h"
#include "base/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
	if (!ok)
		abort();
}

/* What the list is written as gives the list again. */
static void cpulist(const char *s)
{
	struct wp_cpulist a = { 0 }, b = { 0 };
	char small[16], *out;
	size_t room;

	if (wp_cpulist_parse(s, &a) < 0)
		return;
	check(a.n <= WP_CPU_MAX);
	for (size_t i = 0; i < a.n; i++)
		check(a.cpu[i] >= 0 && a.cpu[i] < WP_CPU_MAX);
	wp_cpulist_format(&a, small, sizeof(small));
	check(strlen(small) < sizeof(small));
	room = a.n * 5 + 4;
	out = malloc(room);
	check(out != NULL);
	wp_cpulist_format(&a, out, room);
	check(wp_cpulist_parse(out, &b) == 0 && b.n == a.n);
	check(a.n == 0 || !memcmp(a.cpu, b.cpu, a.n * sizeof(*a.cpu)));
	free(out);
	wp_cpulist_done(&a);
	wp_cpulist_done(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *s = malloc(size + 1), out[40];
	uint64_t u, same;
	struct wp_rate rate;
	int64_t i;
	double d;

	check(s != NULL);
	if (size)
		memcpy(s, data, size);
	s[size] = '\0';
	if (wp_parse_u64(s, &u) == 0) {
		check(wp_parse_count(s, &same) == 0 && same == u);
		check(wp_parse_size_bytes(s, &same) == 0 && same == u);
		check(wp_parse_rate_bps(s, &same) == 0 && same == u);
		wp_format_count(u, out, sizeof(out));
	}
	if (wp_parse_i64(s, &i) == 0)
		check(strlen(s) > 0);
	if (wp_parse_double(s, &d) == 0)
		check(isfinite(d));
	if (wp_parse_size_bytes(s, &u) == 0)
		wp_format_bytes((double)u, out, sizeof(out));
	if (wp_parse_rate_bps(s, &u) == 0)
		wp_format_bps((double)u, out, sizeof(out));
	if (wp_parse_rate(s, &rate) == 0)
		check(!rate.bps || !rate.packets_mhz);
	if (wp_parse_frequency_mhz(s, &u) == 0)
		check(strlen(s) > 0);
	if (wp_parse_duration_ns(s, &i) == 0) {
		check(i >= 0);
		wp_format_ns((double)i, out, sizeof(out));
	}
	cpulist(s);
	free(s);
	return 0;
}
