/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load/rr_line.h"

#include <math.h>

#include "base/clock.h"

#define DRAWN_AT_END 1000000
#define FAR_NS       9e18 /* beyond it a due time is never */
#define MHZ_NS       (1000 * (unsigned __int128)WP_NS_PER_S)

static int64_t even_due(const struct rr_line *l)
{
	unsigned __int128 j =
		(unsigned __int128)l->round * l->n_streams + l->first + l->position * l->stride;
	unsigned __int128 ns = j * MHZ_NS / l->rate_mhz;

	return ns > (unsigned __int128)(RR_NEVER - l->start_ns) ? RR_NEVER
								: l->start_ns + (int64_t)ns;
}

static void draw(struct rr_line *l)
{
	l->offset_ns -= log1p(-wp_rng_unit(&l->rng)) * l->mean_ns;
	l->due_ns = l->offset_ns > FAR_NS - (double)l->start_ns
			    ? RR_NEVER
			    : l->start_ns + (int64_t)l->offset_ns;
}

static void share_init(struct rr_line *l, uint64_t rate_mhz, const struct rr_line_share *share,
		       int64_t start_ns)
{
	*l = (struct rr_line) { .start_ns = start_ns,
				.rate_mhz = rate_mhz,
				.n_streams = share->n_streams,
				.first = share->first,
				.stride = share->stride,
				.mine = share->mine };
}

void rr_line_init(struct rr_line *l, uint64_t rate_mhz, const struct rr_line_share *share,
		  int64_t start_ns)
{
	share_init(l, rate_mhz, share, start_ns);
	l->due_ns = even_due(l);
}

void rr_line_init_poisson(struct rr_line *l, uint64_t rate_mhz, const struct rr_line_share *share,
			  int64_t start_ns, uint64_t seed)
{
	share_init(l, rate_mhz, share, start_ns);
	l->poisson = true;
	l->mean_ns =
		(double)MHZ_NS / (double)rate_mhz * (double)share->n_streams / (double)share->mine;
	wp_rng_seed(&l->rng, seed);
	draw(l);
}

void rr_line_next(struct rr_line *l)
{
	if (l->due_ns == RR_NEVER)
		return;
	if (l->poisson) {
		draw(l);
		return;
	}
	if (++l->position == l->mine) {
		l->position = 0;
		l->round++;
	}
	l->due_ns = even_due(l);
}

static uint64_t even_overdue(const struct rr_line *l, int64_t now_ns)
{
	/* Request j is due at the whole nanosecond below j / rate, so j < (now + 1 - start) * rate. */
	unsigned __int128 past = (unsigned __int128)(now_ns - l->start_ns) + 1;
	unsigned __int128 due = (past * l->rate_mhz + MHZ_NS - 1) / MHZ_NS; /* of the whole end */
	uint64_t rest = (uint64_t)(due % l->n_streams), mine = 0;

	if (rest > l->first)
		mine = (rest - l->first - 1) / l->stride + 1;
	return (uint64_t)(due / l->n_streams) * l->mine + mine - l->round * l->mine - l->position;
}

uint64_t rr_line_end(struct rr_line *l, int64_t now_ns)
{
	uint64_t n = 0;

	if (l->due_ns == RR_NEVER || l->due_ns > now_ns) {
		l->due_ns = RR_NEVER;
		return 0;
	}
	if (!l->poisson)
		n = even_overdue(l, now_ns);
	while (l->poisson && l->due_ns <= now_ns && n < DRAWN_AT_END) {
		n++;
		draw(l);
	}
	if (l->poisson && l->due_ns <= now_ns)
		n += (uint64_t)((double)(now_ns - l->due_ns) / l->mean_ns) + 1;
	l->due_ns = RR_NEVER;
	return n;
}
