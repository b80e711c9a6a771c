/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hist.h - a log-linear histogram of uint64_t values (latencies in nanoseconds): quantiles of any number of values
 * in fixed memory, with a bounded relative error.
 *
 * Each power of two is cut into 2^bits buckets of equal width. Values below 2^(bits+1) have a bucket each and are
 * exact. Above, a bucket [low, low + width) has low >= 2^bits * width, and is read as its middle, which is at most
 * width/2 away from any value in it: relative error at most 1 / 2^(bits+1). Minimum, maximum, count and sum are kept
 * exactly beside it. There are (65 - bits) * 2^bits buckets, 8 bytes each:
 *
 *	bits 5: error 1.6 %,  15 KiB      bits 7: error 0.39 %,  58 KiB      bits 10: error 0.049 %,  440 KiB
 *
 * Histograms of several threads, connections or runs are merged, never their quantiles averaged: the merge equals
 * the histogram of all values pooled.
 *
 *	struct wp_hist h;
 *	r = wp_hist_init(&h, 7, NULL);        (one allocation; or memory of the caller instead of NULL)
 *	wp_hist_add(&h, rtt_ns);
 *	r = wp_hist_quantile(&h, .99, &p99_ns);
 *	wp_hist_done(&h);
 */
#ifndef WP_STATS_HIST_H
#define WP_STATS_HIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define WP_HIST_BITS_MIN 1
#define WP_HIST_BITS_MAX 14 /* 6.4 MiB */

#define WP_HIST_BUCKETS(bits) ((size_t)(65 - (bits)) << (bits))

struct wp_hist {
	uint64_t *bucket; /* WP_HIST_BUCKETS(bits) of them */
	unsigned bits;
	bool owned;
	uint64_t n;
	uint64_t min, max; /* of the values themselves; only when n > 0 */
	unsigned __int128 sum;
};

/* A bucket that is not empty. */
struct wp_hist_pair {
	uint32_t index;
	uint64_t count;
};

/* `storage` has room for WP_HIST_BUCKETS(bits) and outlives the histogram, or is NULL: one allocation. Zeroes it.
 * -EINVAL for bits out of bounds, -ENOMEM. */
int wp_hist_init(struct wp_hist *h, unsigned bits, uint64_t *storage) WP_MUST_USE;
void wp_hist_done(struct wp_hist *h);
void wp_hist_reset(struct wp_hist *h); /* empties, keeps the memory */

static inline size_t wp_hist_index(unsigned bits, uint64_t value)
{
	unsigned shift;

	if (value < UINT64_C(1) << bits)
		return (size_t)value;
	shift = 63 - (unsigned)__builtin_clzll(value) - bits;
	return ((size_t)shift << bits) + (size_t)(value >> shift);
}

/* For hot loops: no branch on the value but the one above, no allocation, no division. */
static inline void wp_hist_add_n(struct wp_hist *h, uint64_t value, uint64_t count)
{
	if (count == 0)
		return;
	if (h->n == 0 || value < h->min)
		h->min = value;
	if (h->n == 0 || value > h->max)
		h->max = value;
	h->bucket[wp_hist_index(h->bits, value)] += count;
	h->n += count;
	h->sum += (unsigned __int128)value * count;
}

static inline void wp_hist_add(struct wp_hist *h, uint64_t value)
{
	wp_hist_add_n(h, value, 1);
}

/* Smallest value, largest value and middle of a bucket. */
uint64_t wp_hist_low(unsigned bits, size_t index);
uint64_t wp_hist_high(unsigned bits, size_t index);
uint64_t wp_hist_middle(unsigned bits, size_t index);

/* Adds everything that is in `from`. -EINVAL when `bits` differ, -EOVERFLOW when the count would wrap. */
int wp_hist_merge(struct wp_hist *to, const struct wp_hist *from) WP_MUST_USE;
/* What `later` has more than `earlier`, two readings of one histogram that grows: into `ret`, which is initialised and
 * may be `earlier`. Minimum and maximum are exact where they are those of `later` too, else the bounds of their buckets;
 * the sum is kept between what they allow. -EINVAL when `bits` differ or a bucket has shrunk; `ret` is then untouched. */
int wp_hist_difference(const struct wp_hist *later, const struct wp_hist *earlier,
		       struct wp_hist *ret) WP_MUST_USE;

/* The value of rank ceil(q n) (type 1 in Hyndman and Fan: a value that occurred, up to the bucket's error); q = 0 is
 * the exact minimum, q = 1 the exact maximum. -ENODATA when empty, -EDOM for q outside 0..1. */
int wp_hist_quantile(const struct wp_hist *h, double q, uint64_t *ret) WP_MUST_USE;
/* Exact but for the rounding of a double. NaN when empty. */
double wp_hist_mean(const struct wp_hist *h);

/* Writes the non-empty buckets in ascending order, at most `room`; returns how many there are. */
size_t wp_hist_pairs(const struct wp_hist *h, struct wp_hist_pair *out, size_t room);
/* Fills an initialised histogram from pairs of the same `bits`, which may come from the wire: -EINVAL unless indices
 * ascend and lie in range, no count is 0, the total does not wrap, minimum and maximum lie in the first and the last
 * bucket and the mean between them. `h` is untouched on failure. n = 0 empties it. */
int wp_hist_from_pairs(struct wp_hist *h, const struct wp_hist_pair *pairs, size_t n, uint64_t min,
		       uint64_t max, double mean) WP_MUST_USE;

#endif
