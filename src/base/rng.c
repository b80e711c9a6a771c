/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/rng.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

static uint64_t splitmix64(uint64_t *x)
{
	uint64_t z = *x += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint64_t rotl(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

void wp_rng_seed(struct wp_rng *r, uint64_t seed)
{
	for (size_t i = 0; i < 4; i++)
		r->s[i] = splitmix64(&seed);
}

uint64_t wp_rng_u64(struct wp_rng *r)
{
	uint64_t *s = r->s;
	uint64_t result = rotl(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

/* Lemire, Fast random integer generation in an interval, ACM TOMACS 29 (2019). */
uint64_t wp_rng_below(struct wp_rng *r, uint64_t n)
{
	unsigned __int128 m;
	uint64_t floor;

	if (n == 0)
		return 0;
	m = (unsigned __int128)wp_rng_u64(r) * n;
	if ((uint64_t)m < n) {
		floor = -n % n;
		while ((uint64_t)m < floor)
			m = (unsigned __int128)wp_rng_u64(r) * n;
	}
	return (uint64_t)(m >> 64);
}

double wp_rng_unit(struct wp_rng *r)
{
	return (double)(wp_rng_u64(r) >> 11) * 0x1p-53;
}

static void swap_bytes(char *a, char *b, size_t size)
{
	char t;

	for (size_t i = 0; i < size; i++) {
		t = a[i];
		a[i] = b[i];
		b[i] = t;
	}
}

void wp_rng_shuffle(struct wp_rng *r, void *base, size_t n, size_t size)
{
	char *v = base;
	size_t j;

	for (size_t i = n; i > 1; i--) {
		j = wp_rng_below(r, i);
		if (j != i - 1)
			swap_bytes(v + (i - 1) * size, v + j * size, size);
	}
}

int wp_random_bytes(void *out, size_t len)
{
	char *at = out;
	ssize_t n;

	while (len > 0) {
		n = getrandom(at, len, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}
