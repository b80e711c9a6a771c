/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * udp_sequence.h - which numbers of a stream of datagrams have arrived: a sliding bitmap of the newest UDP_WINDOW
 * numbers, and counts of what came in another order, twice, or too late to tell.
 *
 * An arrival is exactly one of: the newest yet; out of order (older than the newest, seen for the first time: RFC 4737);
 * duplicated; late (older than the window, so new or duplicate is not known); absurd (so far ahead that no path could have
 * swallowed all between; not counted). So
 *
 *	packets = distinct + duplicated + late,   lost = expected - distinct, where expected = next
 *
 * and one that was late is counted as lost once and found never.
 */
#ifndef WP_LOAD_UDP_SEQUENCE_H
#define WP_LOAD_UDP_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* 2^18 numbers are 32 KiB a stream, of which only a cache line is touched while nothing is out of order, and 26 ms of
 * 10 million packets a second. */
#define UDP_WINDOW (UINT64_C(1) << 18)
/* 43 s of loss at 100 million packets a second. */
#define UDP_ABSURD (UINT64_C(1) << 32)

struct udp_sequence {
	uint64_t next; /* the highest number seen + 1 */
	uint64_t out_of_order, duplicated, late;
	/* Bit n % UDP_WINDOW is number n, for the UDP_WINDOW / 64 words up to the one of next - 1. */
	uint64_t *seen;
};

/* -ENOMEM. */
int udp_sequence_init(struct udp_sequence *q) WP_MUST_USE;
void udp_sequence_done(struct udp_sequence *q);
/* A number that is not the next one; false when it is absurd. */
bool udp_sequence_jump(struct udp_sequence *q, uint64_t number);

/* A datagram of that number has arrived; false when it is absurd. */
static inline bool udp_sequence_arrived(struct udp_sequence *q, uint64_t number)
{
	uint64_t *word = &q->seen[number % UDP_WINDOW / 64];

	if (number != q->next)
		return udp_sequence_jump(q, number);
	if (number % 64 == 0)
		*word = 0;
	*word |= UINT64_C(1) << (number % 64);
	q->next = number + 1;
	return true;
}

#endif
