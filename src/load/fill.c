/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load/fill.h"

#include <endian.h>
#include <string.h>

#include "base/rng.h"

static void fill_random(void *buf, size_t len)
{
	unsigned char *at = buf;
	uint64_t seed, v;
	struct wp_rng rng;

	if (wp_random_bytes(&seed, sizeof(seed)) < 0)
		seed = 0;
	wp_rng_seed(&rng, seed);
	for (; len >= sizeof(v); at += sizeof(v), len -= sizeof(v)) {
		v = wp_rng_u64(&rng);
		memcpy(at, &v, sizeof(v));
	}
	v = wp_rng_u64(&rng);
	memcpy(at, &v, len);
}

void wp_fill(enum wp_fill fill, void *buf, size_t len)
{
	switch (fill) {
	case WP_FILL_ZERO:
		memset(buf, 0, len);
		break;
	case WP_FILL_RANDOM:
		fill_random(buf, len);
		break;
	case WP_FILL_PATTERN:
		wp_fill_pattern(buf, len, 0);
		break;
	}
}

/* Bytes up to the next whole number, at most `len`. */
static size_t bytes_to_word(uint64_t offset, size_t len)
{
	size_t n = (size_t)(-offset & 7);

	return n < len ? n : len;
}

static unsigned char pattern_byte(uint64_t offset)
{
	return (unsigned char)(offset / 8 >> (8 * (offset & 7)));
}

void wp_fill_pattern(void *buf, size_t len, uint64_t offset)
{
	unsigned char *at = buf;
	size_t head = bytes_to_word(offset, len), words = (len - head) / 8;
	uint64_t n;

	for (size_t i = 0; i < head; i++)
		at[i] = pattern_byte(offset + i);
	at += head;
	offset += head;
	n = offset / 8;
	for (size_t i = 0; i < words; i++) {
		uint64_t v = htole64(n + i);

		memcpy(at + i * 8, &v, sizeof(v));
	}
	for (size_t i = words * 8; i < len - head; i++)
		at[i] = pattern_byte(offset + i);
}

static size_t verify_bytes(const unsigned char *at, size_t len, uint64_t offset)
{
	for (size_t i = 0; i < len; i++)
		if (at[i] != pattern_byte(offset + i))
			return i;
	return len;
}

size_t wp_fill_verify(const void *buf, size_t len, uint64_t offset)
{
	const unsigned char *at = buf;
	size_t head = bytes_to_word(offset, len), words = (len - head) / 8, bad;
	uint64_t n = (offset + head) / 8, wrong = 0;

	bad = verify_bytes(at, head, offset);
	if (bad < head)
		return bad;
	/* Without a branch per word, so that the compiler can use vector instructions. */
	for (size_t i = 0; i < words; i++) {
		uint64_t v;

		memcpy(&v, at + head + i * 8, sizeof(v));
		wrong |= v ^ htole64(n + i);
	}
	if (wrong)
		return head + verify_bytes(at + head, words * 8, offset + head);
	head += words * 8;
	return head + verify_bytes(at + head, len - head, offset + head);
}

static void count_block(struct wp_fill_check *c, uint64_t bad_offset)
{
	uint64_t block = bad_offset / WP_FILL_BLOCK;

	if (c->corrupt_blocks == 0)
		c->corrupt_at = bad_offset;
	else if (block == c->last_block)
		return;
	c->corrupt_blocks++;
	c->last_block = block;
}

void wp_fill_check_chunk(struct wp_fill_check *c, const void *buf, size_t len)
{
	const unsigned char *at = buf;

	while (len > 0) {
		size_t room = WP_FILL_BLOCK - (size_t)(c->offset % WP_FILL_BLOCK);
		size_t n = room < len ? room : len, bad = wp_fill_verify(at, n, c->offset);

		if (bad < n)
			count_block(c, c->offset + bad);
		c->offset += n;
		at += n;
		len -= n;
	}
}
