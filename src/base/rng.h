/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rng.h - seeded random numbers: the same seed gives the same plan on every machine.
 * xoshiro256** seeded by splitmix64 (Blackman and Vigna 2018).
 */
#ifndef WP_BASE_RNG_H
#define WP_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

struct wp_rng {
	uint64_t s[4];
};

void wp_rng_seed(struct wp_rng *r, uint64_t seed);
uint64_t wp_rng_u64(struct wp_rng *r);
uint64_t wp_rng_below(struct wp_rng *r,
		      uint64_t n);    /* uniform in [0, n), without modulo bias; n > 0 */
double wp_rng_unit(struct wp_rng *r); /* uniform in [0, 1) */
void wp_rng_shuffle(struct wp_rng *r, void *base, size_t n, size_t size); /* Fisher-Yates */
/* Unpredictable bytes from getrandom(2), for tokens and default seeds. */
int wp_random_bytes(void *out, size_t len);

#endif
