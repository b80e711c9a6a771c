/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Content patterns: any piece made and checked from its offset alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "load/fill.h"

static void is_little_endian_counters(void **state)
{
	unsigned char b[24];

	(void)state;
	wp_fill_pattern(b, sizeof(b), 0x0102030405060708ull * 8);
	assert_memory_equal(b, "\x08\x07\x06\x05\x04\x03\x02\x01", 8);
	assert_memory_equal(b + 8, "\x09\x07\x06\x05\x04\x03\x02\x01", 8);
	assert_memory_equal(b + 16, "\x0a\x07\x06\x05\x04\x03\x02\x01", 8);
}

static void pieces_make_the_whole(void **state)
{
	unsigned char whole[512], piece[512];

	(void)state;
	wp_fill_pattern(whole, sizeof(whole), 1000);
	for (size_t from = 0; from < 40; from++)
		for (size_t len = 0; len < 60; len++) {
			memset(piece, 0xee, sizeof(piece));
			wp_fill_pattern(piece, len, 1000 + from);
			assert_memory_equal(piece, whole + from, len);
			assert_int_equal(piece[len], 0xee);
			assert_int_equal(wp_fill_verify(piece, len, 1000 + from), len);
		}
}

static void every_flipped_byte_is_found(void **state)
{
	unsigned char b[200];

	(void)state;
	for (uint64_t offset = 0; offset < 9; offset++)
		for (size_t bad = 0; bad < sizeof(b); bad++) {
			wp_fill_pattern(b, sizeof(b), offset);
			b[bad] ^= 0x40;
			assert_int_equal(wp_fill_verify(b, sizeof(b), offset), bad);
		}
}

static void a_shifted_stream_is_found(void **state)
{
	unsigned char b[64];

	(void)state;
	wp_fill_pattern(b, sizeof(b), 4096);
	assert_true(wp_fill_verify(b, sizeof(b), 4097) < sizeof(b));
	assert_true(wp_fill_verify(b, sizeof(b), 4096 + 8) < sizeof(b));
}

static void fills(void **state)
{
	unsigned char a[1001], b[1001];

	(void)state;
	memset(a, 1, sizeof(a));
	wp_fill(WP_FILL_ZERO, a, sizeof(a));
	for (size_t i = 0; i < sizeof(a); i++)
		assert_int_equal(a[i], 0);
	wp_fill(WP_FILL_RANDOM, a, sizeof(a));
	wp_fill(WP_FILL_RANDOM, b, sizeof(b));
	assert_memory_not_equal(a, b, sizeof(a));
	wp_fill(WP_FILL_PATTERN, a, sizeof(a));
	assert_int_equal(wp_fill_verify(a, sizeof(a), 0), sizeof(a));
}

struct damage {
	uint64_t at[4];
	size_t n;
	uint64_t blocks;
};

static void checks_in_any_chunks(void **state)
{
	static const struct damage cases[] = {
		{ .n = 0, .blocks = 0 },
		{ .at = { 0 }, .n = 1, .blocks = 1 },
		{ .at = { 4095, 4096 }, .n = 2, .blocks = 2 },
		{ .at = { 5000, 5001, 8191 }, .n = 3, .blocks = 1 },
		{ .at = { 77, 12288, 65535 }, .n = 3, .blocks = 3 },
	};
	enum { LEN = 65536 };
	unsigned char *b = malloc(LEN);
	struct wp_rng rng;

	(void)state;
	assert_non_null(b);
	wp_rng_seed(&rng, 7);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t most = 1; most < 20000; most = most * 3 + 1) {
			struct wp_fill_check c = { 0 };

			wp_fill_pattern(b, LEN, 0);
			for (size_t k = 0; k < cases[i].n; k++)
				b[cases[i].at[k]] ^= 1;
			while (c.offset < LEN) {
				size_t n = 1 + (size_t)wp_rng_below(&rng, most);

				if (n > LEN - c.offset)
					n = (size_t)(LEN - c.offset);
				wp_fill_check_chunk(&c, b + c.offset, n);
			}
			assert_int_equal(c.corrupt_blocks, cases[i].blocks);
			if (cases[i].n > 0)
				assert_int_equal(c.corrupt_at, cases[i].at[0]);
		}
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_little_endian_counters),
		cmocka_unit_test(pieces_make_the_whole),
		cmocka_unit_test(every_flipped_byte_is_found),
		cmocka_unit_test(a_shifted_stream_is_found),
		cmocka_unit_test(fills),
		cmocka_unit_test(checks_in_any_chunks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
