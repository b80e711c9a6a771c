/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fill.h - what the bytes on the wire are, and whether they arrived as they were sent.
 *
 * The pattern is the stream itself as an array of 64-bit little-endian counters: byte i of a stream is
 * byte (i mod 8) of the number (i / 8). So any piece of a stream can be made and checked from its
 * offset alone, in whatever chunks it is written or read, and lost, repeated or moved bytes show.
 */
#ifndef WP_LOAD_FILL_H
#define WP_LOAD_FILL_H

#include <stddef.h>
#include <stdint.h>

#include "model/plan.h"

#define WP_FILL_BLOCK 4096 /* corruption is counted in aligned blocks of the stream of this size */

/* Fills a buffer as the plan says; random content differs from run to run. The pattern starts at
 * stream offset 0. */
void wp_fill(enum wp_fill fill, void *buf, size_t len);
/* The pattern's bytes offset .. offset + len - 1. */
void wp_fill_pattern(void *buf, size_t len, uint64_t offset);
/* Index of the first byte of `buf` that is not the pattern's; `len` when all are right. */
size_t wp_fill_verify(const void *buf, size_t len, uint64_t offset);

/* Checks a stream chunk by chunk. Zeroed = at the start. */
struct wp_fill_check {
	uint64_t offset;         /* of the next byte */
	uint64_t corrupt_blocks; /* different ones */
	uint64_t corrupt_at;     /* offset of the first wrong byte, when corrupt_blocks > 0 */
	uint64_t last_block;     /* number of the last block counted */
};

void wp_fill_check_chunk(struct wp_fill_check *c, const void *buf, size_t len);

#endif
