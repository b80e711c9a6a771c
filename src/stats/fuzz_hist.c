/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_hist.c - a histogram as it could come from the wire: bits, minimum, maximum, mean, then pairs. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stats/hist.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PAIRS_MAX 64

static void check(int ok)
{
	if (!ok)
		abort();
}

static void take(const uint8_t **at, size_t *left, void *to, size_t len)
{
	if (len > *left)
		len = *left;
	if (len)
		memcpy(to, *at, len);
	*at += len;
	*left -= len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const double qs[] = { 0, .001, .5, .999, 1 };
	struct wp_hist_pair pairs[PAIRS_MAX], again[PAIRS_MAX];
	uint64_t min = 0, max = 0, last = 0, v;
	struct wp_hist h;
	double mean = 0;
	uint8_t bits = 0;
	size_t n = 0;

	take(&data, &size, &bits, 1);
	if (wp_hist_init(&h, bits % 10, NULL) < 0)
		return 0;
	take(&data, &size, &min, 8);
	take(&data, &size, &max, 8);
	take(&data, &size, &mean, 8);
	for (; size > 0 && n < PAIRS_MAX; n++) {
		pairs[n] = (struct wp_hist_pair) { 0 };
		take(&data, &size, &pairs[n].index, 4);
		take(&data, &size, &pairs[n].count, 8);
	}
	if (wp_hist_from_pairs(&h, pairs, n, min, max, mean) == 0 && n > 0) {
		check(wp_hist_pairs(&h, again, PAIRS_MAX) == n);
		for (size_t i = 0; i < n; i++)
			check(again[i].index == pairs[i].index && again[i].count == pairs[i].count);
		for (size_t i = 0; i < sizeof(qs) / sizeof(qs[0]); i++) {
			check(wp_hist_quantile(&h, qs[i], &v) == 0);
			check(v >= last && v >= min && v <= max);
			last = v;
		}
	}
	wp_hist_done(&h);
	return 0;
}
