/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live_hist.h - a histogram that one thread fills while others read it: the buckets of stats/hist.h, at the record's
 * resolution (WP_RECORD_HIST_BITS), with relaxed loads and stores and no lock. A reading taken meanwhile may lack the
 * newest values, or have one in its bucket but not yet in the sum.
 */
#ifndef WP_LOAD_LIVE_HIST_H
#define WP_LOAD_LIVE_HIST_H

#include <stdatomic.h>

#include "model/record.h"
#include "stats/hist.h"

#define WP_LIVE_HIST_BUCKETS WP_HIST_BUCKETS(WP_RECORD_HIST_BITS)

struct wp_live_hist {
	_Alignas(64) _Atomic uint64_t n;
	_Atomic uint64_t min, max; /* when n > 0 */
	_Atomic uint64_t sum_ns;   /* wraps after 584 years of latency */
	_Atomic uint64_t bucket[WP_LIVE_HIST_BUCKETS];
};

static inline void wp_live_hist_bump(_Atomic uint64_t *to, uint64_t by)
{
	atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + by,
			      memory_order_relaxed);
}

/* By the owner only: `count` values, at least one. */
static inline void wp_live_hist_add_n(struct wp_live_hist *h, uint64_t ns, uint64_t count)
{
	uint64_t n = atomic_load_explicit(&h->n, memory_order_relaxed);

	if (n == 0 || ns < atomic_load_explicit(&h->min, memory_order_relaxed))
		atomic_store_explicit(&h->min, ns, memory_order_relaxed);
	if (n == 0 || ns > atomic_load_explicit(&h->max, memory_order_relaxed))
		atomic_store_explicit(&h->max, ns, memory_order_relaxed);
	wp_live_hist_bump(&h->bucket[wp_hist_index(WP_RECORD_HIST_BITS, ns)], count);
	wp_live_hist_bump(&h->sum_ns, ns * count);
	atomic_store_explicit(&h->n, n + count, memory_order_release);
}

static inline void wp_live_hist_add(struct wp_live_hist *h, uint64_t ns)
{
	wp_live_hist_add_n(h, ns, 1);
}

/* Adds what is there to `to`, which has WP_RECORD_HIST_BITS. Its count is that of the buckets. */
void wp_live_hist_read(const struct wp_live_hist *h, struct wp_hist *to);

#endif
