/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stats/hist.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int wp_hist_init(struct wp_hist *h, unsigned bits, uint64_t *storage)
{
	bool owned = !storage;

	if (bits < WP_HIST_BITS_MIN || bits > WP_HIST_BITS_MAX)
		return -EINVAL;
	if (owned)
		storage = calloc(WP_HIST_BUCKETS(bits), sizeof(*storage));
	else
		memset(storage, 0, WP_HIST_BUCKETS(bits) * sizeof(*storage));
	if (!storage)
		return -ENOMEM;
	*h = (struct wp_hist) { .bucket = storage, .bits = bits, .owned = owned };
	return 0;
}

void wp_hist_done(struct wp_hist *h)
{
	if (!h)
		return;
	if (h->owned)
		free(h->bucket);
	*h = (struct wp_hist) { 0 };
}

void wp_hist_reset(struct wp_hist *h)
{
	memset(h->bucket, 0, WP_HIST_BUCKETS(h->bits) * sizeof(*h->bucket));
	h->n = 0;
	h->min = 0;
	h->max = 0;
	h->sum = 0;
}

/* Bit position of the bucket's width. */
static unsigned width_shift(unsigned bits, size_t index)
{
	size_t power = index >> bits;

	return power > 1 ? (unsigned)power - 1 : 0;
}

uint64_t wp_hist_low(unsigned bits, size_t index)
{
	unsigned shift = width_shift(bits, index);

	return (uint64_t)(index - ((size_t)shift << bits)) << shift;
}

uint64_t wp_hist_high(unsigned bits, size_t index)
{
	return wp_hist_low(bits, index) + ((UINT64_C(1) << width_shift(bits, index)) - 1);
}

uint64_t wp_hist_middle(unsigned bits, size_t index)
{
	return wp_hist_low(bits, index) + (UINT64_C(1) << width_shift(bits, index)) / 2;
}

int wp_hist_merge(struct wp_hist *to, const struct wp_hist *from)
{
	if (to->bits != from->bits)
		return -EINVAL;
	if (to->n > UINT64_MAX - from->n)
		return -EOVERFLOW;
	if (from->n == 0)
		return 0;
	if (to->n == 0 || from->min < to->min)
		to->min = from->min;
	if (to->n == 0 || from->max > to->max)
		to->max = from->max;
	to->n += from->n;
	to->sum += from->sum;
	for (size_t i = 0; i < WP_HIST_BUCKETS(to->bits); i++)
		to->bucket[i] += from->bucket[i];
	return 0;
}

/* Minimum, maximum and a sum that fits them, from the buckets: those of the whole where they lie in the same ones. */
static void bound(struct wp_hist *h, const struct wp_hist *whole, size_t first, size_t last,
		  unsigned __int128 sum)
{
	unsigned __int128 least, most;

	h->min = wp_hist_low(h->bits, first);
	h->max = wp_hist_high(h->bits, last);
	if (wp_hist_index(h->bits, whole->min) == first)
		h->min = whole->min;
	if (wp_hist_index(h->bits, whole->max) == last)
		h->max = whole->max;
	if (h->max < h->min) /* a reading taken while a value was being added */
		h->max = h->min;
	least = (unsigned __int128)h->min * h->n;
	most = (unsigned __int128)h->max * h->n;
	h->sum = sum < least ? least : sum > most ? most : sum;
}

int wp_hist_difference(const struct wp_hist *later, const struct wp_hist *earlier,
		       struct wp_hist *ret)
{
	unsigned __int128 sum = later->sum > earlier->sum ? later->sum - earlier->sum : 0;
	size_t first = SIZE_MAX, last = 0;
	uint64_t n = 0;

	if (later->bits != earlier->bits || later->bits != ret->bits)
		return -EINVAL;
	for (size_t i = 0; i < WP_HIST_BUCKETS(later->bits); i++)
		if (later->bucket[i] < earlier->bucket[i])
			return -EINVAL;
	for (size_t i = 0; i < WP_HIST_BUCKETS(later->bits); i++) {
		ret->bucket[i] = later->bucket[i] - earlier->bucket[i];
		n += ret->bucket[i];
		if (!ret->bucket[i])
			continue;
		first = first == SIZE_MAX ? i : first;
		last = i;
	}
	ret->n = n;
	ret->min = ret->max = 0;
	ret->sum = 0;
	if (n)
		bound(ret, later, first, last, sum);
	return 0;
}

/* ceil(q n), where q n that is a whole number on paper stays it: .07 * 100 is 7.000000000000001. */
static uint64_t rank_of(double q, uint64_t n)
{
	double r = q * (double)n, whole = rint(r);

	if (fabs(r - whole) > 4 * DBL_EPSILON * r)
		whole = ceil(r);
	if (whole < 1)
		return 1;
	return whole >= (double)n ? n : (uint64_t)whole;
}

int wp_hist_quantile(const struct wp_hist *h, double q, uint64_t *ret)
{
	uint64_t rank, below = 0, v;
	size_t i = 0;

	if (!(q >= 0 && q <= 1))
		return -EDOM;
	if (h->n == 0)
		return -ENODATA;
	rank = rank_of(q, h->n);
	if (rank == 1 || rank == h->n) {
		*ret = rank == 1 ? h->min : h->max;
		return 0;
	}
	while (rank - below > h->bucket[i])
		below += h->bucket[i++];
	v = wp_hist_middle(h->bits, i);
	*ret = v < h->min ? h->min : v > h->max ? h->max : v;
	return 0;
}

double wp_hist_mean(const struct wp_hist *h)
{
	return h->n ? (double)h->sum / (double)h->n : (double)NAN;
}

size_t wp_hist_pairs(const struct wp_hist *h, struct wp_hist_pair *out, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < WP_HIST_BUCKETS(h->bits); i++) {
		if (!h->bucket[i])
			continue;
		if (n < room)
			out[n] = (struct wp_hist_pair) { (uint32_t)i, h->bucket[i] };
		n++;
	}
	return n;
}

static int check_pairs(unsigned bits, const struct wp_hist_pair *pairs, size_t n,
		       uint64_t *ret_total)
{
	uint64_t total = 0;

	if (n > WP_HIST_BUCKETS(bits))
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (pairs[i].index >= WP_HIST_BUCKETS(bits) || pairs[i].count == 0)
			return -EINVAL;
		if (i > 0 && pairs[i].index <= pairs[i - 1].index)
			return -EINVAL;
		if (__builtin_add_overflow(total, pairs[i].count, &total))
			return -EINVAL;
	}
	*ret_total = total;
	return 0;
}

/* mean * n, kept between what n times the minimum and the maximum allow. */
static unsigned __int128 sum_of(double mean, uint64_t n, uint64_t min, uint64_t max)
{
	unsigned __int128 low = (unsigned __int128)min * n, high = (unsigned __int128)max * n, sum;
	double v = rint(mean * (double)n);

	sum = v < 0x1p128 ? (unsigned __int128)v : high;
	return sum < low ? low : sum > high ? high : sum;
}

int wp_hist_from_pairs(struct wp_hist *h, const struct wp_hist_pair *pairs, size_t n, uint64_t min,
		       uint64_t max, double mean)
{
	uint64_t total = 0;
	int r;

	r = check_pairs(h->bits, pairs, n, &total);
	if (r < 0)
		return r;
	if (n == 0) {
		wp_hist_reset(h);
		return 0;
	}
	if (min > max || wp_hist_index(h->bits, min) != pairs[0].index ||
	    wp_hist_index(h->bits, max) != pairs[n - 1].index)
		return -EINVAL;
	/* The bounds as doubles are rounded, as the mean is. */
	if (!(mean >= (double)min * (1 - DBL_EPSILON) && mean <= (double)max * (1 + DBL_EPSILON)))
		return -EINVAL;
	wp_hist_reset(h);
	for (size_t i = 0; i < n; i++)
		h->bucket[pairs[i].index] = pairs[i].count;
	h->n = total;
	h->min = min;
	h->max = max;
	h->sum = sum_of(mean, total, min, max);
	return 0;
}
