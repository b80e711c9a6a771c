/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pacer.h - tells how many bytes a stream may write now so that it keeps a rate.
 *
 * Bytes fall due along an absolute line, rate * (now - start), so that late wake-ups and rounding
 * leave no drift. They are written in grains of half a millisecond of traffic or one write, whichever
 * is less, and at least a byte. What a stall left unwritten beyond one millisecond's worth (or two
 * grains, where that is more) is never made up for: it is dropped from the line and counted in
 * `shortfall_bytes`, so a stall is not followed by a burst.
 *
 * Pure: the time is passed in. Rates from 1 bit/s to 1 Tbit/s.
 *
 *	wp_pacer_init(&p, rate_bps, length_bytes, now);
 *	while ((n = wp_pacer_due(&p, now, want)) > 0)
 *		wp_pacer_sent(&p, write(fd, buffer, n));
 *	sleep until wp_pacer_next_ns(&p, want);
 */
#ifndef WP_NET_PACER_H
#define WP_NET_PACER_H

#include <stdint.h>

struct wp_pacer {
	uint64_t rate_bps;
	uint64_t grain_bytes; /* least amount that is worth a write */
	uint64_t burst_bytes; /* most that may be due at once */
	int64_t start_ns;
	uint64_t passed_bytes; /* of the line: written or dropped */
	uint64_t shortfall_bytes;
};

/* The line starts at `now_ns`. rate_bps and write_bytes at least 1. */
void wp_pacer_init(struct wp_pacer *p, uint64_t rate_bps, uint64_t write_bytes, int64_t now_ns);
/* Bytes that may be written now, at most `want_bytes` (what is left of the stream or of one write):
 * 0 while less than a grain (or than `want_bytes`, when that is less) is due. Drops what is
 * overdue. */
uint64_t wp_pacer_due(struct wp_pacer *p, int64_t now_ns, uint64_t want_bytes);
void wp_pacer_sent(struct wp_pacer *p, uint64_t bytes);
/* When wp_pacer_due() will next give something. */
int64_t wp_pacer_next_ns(const struct wp_pacer *p, uint64_t want_bytes);

#endif
