/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * packet_pacer.h - tells how many equal packets a stream may send now so that it keeps a rate.
 *
 * Packets fall due along an absolute line: number k at start + k * gap, so that late wake-ups leave no drift. The gap
 * is kept in units of 2^-32 ns. They are sent in groups of as much traffic as falls due in `group_ns` (at least a
 * packet, at most a millisecond's worth) when the last of a group is due: never early.
 *
 * After a stall nothing is made up for beyond one millisecond of traffic (rounded up to a packet): older packets are
 * dropped from the line and counted in `shortfall_packets`. What is left is not sent in one lump: no millisecond gets
 * more than 1.4 times its share (or three groups, where that is more), which is counted in sixteenths of a millisecond.
 *
 * Pure: the time is passed in. Rates from far below a packet a second to a packet a nanosecond.
 *
 *	wp_packet_pacer_init(&p, rate_bps, length_bytes, WP_NS_PER_MS / 4, 64, now);
 *	while ((n = wp_packet_pacer_due(&p, now, want)) > 0)
 *		wp_packet_pacer_sent(&p, send_packets(n), now);
 *	sleep until wp_packet_pacer_next_ns(&p, want);
 */
#ifndef WP_NET_PACKET_PACER_H
#define WP_NET_PACKET_PACER_H

#include <stdint.h>

#define WP_PACKET_PACER_BUCKETS 17 /* all that a millisecond can touch */

struct wp_packet_pacer {
	int64_t start_ns;
	uint64_t gap;          /* from one packet to the next, in 2^-32 ns */
	unsigned __int128 due; /* when the next packet is, since the start, likewise */
	uint64_t group;        /* least that is worth a send */
	uint64_t burst;        /* most that may be due at once */
	uint64_t most;         /* in a millisecond */
	uint64_t shortfall_packets;
	/* What was sent in the newest bucket of time, number `bucket`, and those before it: number b is at b modulo 17. */
	uint64_t sent[WP_PACKET_PACER_BUCKETS];
	int64_t bucket;
};

/* The first packet is due at `start_ns`. rate_bps and packet_bytes at least 1, group_ns at least 0; most_group, at
 * least 1, is the largest group that the caller can send. */
void wp_packet_pacer_init(struct wp_packet_pacer *p, uint64_t rate_bps, uint64_t packet_bytes,
			  int64_t group_ns, uint64_t most_group, int64_t start_ns);
/* Packets that may be sent now, at most `want`: 0 while fewer than a group (or than `want`, when that is less) are due.
 * Drops what is overdue. */
uint64_t wp_packet_pacer_due(struct wp_packet_pacer *p, int64_t now_ns, uint64_t want);
/* They were sent, or were given up; `now_ns` is when that was done. */
void wp_packet_pacer_sent(struct wp_packet_pacer *p, uint64_t packets, int64_t now_ns);
/* When wp_packet_pacer_due() will next give something. */
int64_t wp_packet_pacer_next_ns(const struct wp_packet_pacer *p, uint64_t want);

#endif
