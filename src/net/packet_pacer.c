/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/packet_pacer.h"

#include "base/clock.h"

#define FRACTION_BITS 32
#define FP(ns)        ((unsigned __int128)(ns) << FRACTION_BITS)
#define BURST_NS      WP_NS_PER_MS
#define BUCKETS       WP_PACKET_PACER_BUCKETS
#define BUCKET_NS     (WP_NS_PER_MS / (BUCKETS - 1))

static uint64_t at_least(uint64_t v, uint64_t min)
{
	return v < min ? min : v;
}

static uint64_t at_most(uint64_t v, uint64_t max)
{
	return v > max ? max : v;
}

/* Whole gaps in a time; a division of 64 bits wherever that will do. */
static uint64_t gaps_in(unsigned __int128 time, uint64_t gap)
{
	if (time >> 64 == 0)
		return (uint64_t)time / gap;
	time /= gap;
	return time > UINT64_MAX / 2 ? UINT64_MAX / 2 : (uint64_t)time;
}

static unsigned __int128 on_line(const struct wp_packet_pacer *p, int64_t now_ns)
{
	return now_ns > p->start_ns ? FP(now_ns - p->start_ns) : 0;
}

void wp_packet_pacer_init(struct wp_packet_pacer *p, uint64_t rate_bps, uint64_t packet_bytes,
			  int64_t group_ns, uint64_t most_group, int64_t start_ns)
{
	unsigned __int128 gap = (FP(8 * WP_NS_PER_S) * packet_bytes + rate_bps / 2) / rate_bps;

	*p = (struct wp_packet_pacer) { .start_ns = start_ns };
	p->gap = gap > INT64_MAX ? INT64_MAX : at_least((uint64_t)gap, 1);
	p->burst = gaps_in(FP(BURST_NS) + p->gap - 1, p->gap);
	p->group = at_least(at_most(gaps_in(FP(group_ns), p->gap), most_group), 1);
	p->group = at_most(p->group, p->burst);
	/* A group that has just fallen due is not late. */
	p->burst += p->group - 1;
	p->most = at_least(gaps_in(FP(BURST_NS) * 7 / 5, p->gap), 3 * p->group);
}

/* Makes the bucket of that time the newest. */
static void move_to(struct wp_packet_pacer *p, int64_t now_ns)
{
	int64_t bucket = (now_ns - p->start_ns) / BUCKET_NS;

	if (bucket - p->bucket >= BUCKETS)
		p->bucket = bucket - BUCKETS;
	while (p->bucket < bucket)
		p->sent[++p->bucket % BUCKETS] = 0;
}

static uint64_t sent_lately(const struct wp_packet_pacer *p)
{
	uint64_t sum = 0;

	for (int i = 0; i < BUCKETS; i++)
		sum += p->sent[i];
	return sum;
}

/* Number of the bucket in which there is room for that many; 0 = there is now. */
static int64_t bucket_with_room(const struct wp_packet_pacer *p, uint64_t packets)
{
	uint64_t sum = sent_lately(p);
	int64_t oldest = p->bucket - BUCKETS + 1;

	if (sum + packets <= p->most)
		return 0;
	for (; oldest < p->bucket && sum + packets > p->most; oldest++)
		sum -= oldest >= 0 ? p->sent[oldest % BUCKETS] : 0;
	return sum + packets > p->most ? p->bucket + BUCKETS : oldest + BUCKETS - 1;
}

uint64_t wp_packet_pacer_due(struct wp_packet_pacer *p, int64_t now_ns, uint64_t want)
{
	unsigned __int128 now = on_line(p, now_ns);
	uint64_t due, lately, group = at_most(p->group, want);

	if (now_ns < p->start_ns || now < p->due)
		return 0;
	due = gaps_in(now - p->due, p->gap) + 1;
	if (due > p->burst) {
		p->shortfall_packets += due - p->burst;
		p->due += (unsigned __int128)(due - p->burst) * p->gap;
		due = p->burst;
	}
	move_to(p, now_ns);
	lately = sent_lately(p);
	due = at_most(due, p->most > lately ? p->most - lately : 0);
	return due < group ? 0 : at_most(due, want);
}

void wp_packet_pacer_sent(struct wp_packet_pacer *p, uint64_t packets, int64_t now_ns)
{
	p->due += (unsigned __int128)packets * p->gap;
	if (now_ns < p->start_ns)
		return;
	move_to(p, now_ns);
	p->sent[p->bucket % BUCKETS] += packets;
}

int64_t wp_packet_pacer_next_ns(const struct wp_packet_pacer *p, uint64_t want)
{
	uint64_t group = at_least(at_most(p->group, want), 1);
	unsigned __int128 due = p->due + (unsigned __int128)(group - 1) * p->gap;
	unsigned __int128 ns = (due + FP(1) - 1) >> FRACTION_BITS;
	unsigned __int128 room = (unsigned __int128)bucket_with_room(p, group) * BUCKET_NS;

	ns = ns > room ? ns : room;
	return ns > (unsigned __int128)(INT64_MAX - p->start_ns) ? INT64_MAX
								 : p->start_ns + (int64_t)ns;
}
