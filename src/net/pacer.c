/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/pacer.h"

#include "base/clock.h"

#define BIT_NS   (8 * (unsigned __int128)WP_NS_PER_S) /* bit/s * ns / this = bytes */
#define GRAIN_NS (WP_NS_PER_MS / 2)
#define BURST_NS WP_NS_PER_MS

static uint64_t bytes_in(uint64_t rate_bps, int64_t ns)
{
	if (ns <= 0)
		return 0;
	return (uint64_t)((unsigned __int128)rate_bps * (uint64_t)ns / BIT_NS);
}

static uint64_t at_least(uint64_t v, uint64_t min)
{
	return v < min ? min : v;
}

static uint64_t at_most(uint64_t v, uint64_t max)
{
	return v > max ? max : v;
}

void wp_pacer_init(struct wp_pacer *p, uint64_t rate_bps, uint64_t write_bytes, int64_t now_ns)
{
	uint64_t grain = at_most(bytes_in(rate_bps, GRAIN_NS), write_bytes);

	*p = (struct wp_pacer) { .rate_bps = rate_bps, .start_ns = now_ns };
	p->grain_bytes = at_least(grain, 1);
	p->burst_bytes = at_least(bytes_in(rate_bps, BURST_NS), 2 * p->grain_bytes);
}

uint64_t wp_pacer_due(struct wp_pacer *p, int64_t now_ns, uint64_t want_bytes)
{
	uint64_t line = bytes_in(p->rate_bps, now_ns - p->start_ns), due;

	if (line <= p->passed_bytes)
		return 0;
	due = line - p->passed_bytes;
	if (due > p->burst_bytes) {
		p->shortfall_bytes += due - p->burst_bytes;
		p->passed_bytes += due - p->burst_bytes;
		due = p->burst_bytes;
	}
	if (due < at_most(p->grain_bytes, want_bytes))
		return 0;
	return at_most(due, want_bytes);
}

void wp_pacer_sent(struct wp_pacer *p, uint64_t bytes)
{
	p->passed_bytes += bytes;
}

int64_t wp_pacer_next_ns(const struct wp_pacer *p, uint64_t want_bytes)
{
	unsigned __int128 line = (unsigned __int128)p->passed_bytes +
				 at_least(at_most(p->grain_bytes, want_bytes), 1);
	unsigned __int128 ns = (line * BIT_NS + p->rate_bps - 1) / p->rate_bps;
	unsigned __int128 room = (unsigned __int128)(INT64_MAX - p->start_ns);

	return ns > room ? INT64_MAX : p->start_ns + (int64_t)ns;
}
