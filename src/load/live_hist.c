/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load/live_hist.h"

void wp_live_hist_read(const struct wp_live_hist *h, struct wp_hist *to)
{
	uint64_t n = atomic_load_explicit(&h->n, memory_order_acquire);
	uint64_t min, max, seen = 0;

	if (n == 0)
		return;
	min = atomic_load_explicit(&h->min, memory_order_relaxed);
	max = atomic_load_explicit(&h->max, memory_order_relaxed);
	for (size_t i = 0; i < WP_LIVE_HIST_BUCKETS; i++) {
		uint64_t count = atomic_load_explicit(&h->bucket[i], memory_order_relaxed);

		to->bucket[i] += count;
		seen += count;
	}
	if (to->n == 0 || min < to->min)
		to->min = min;
	if (to->n == 0 || max > to->max)
		to->max = max;
	to->n += seen;
	to->sum += atomic_load_explicit(&h->sum_ns, memory_order_relaxed);
}
