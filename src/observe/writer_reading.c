/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "observe/writer_reading.h"

#include <errno.h>
#include <string.h>

#define COMPARED 256 /* looks of a long pause: each with all others */

static const char *what_of(enum wp_pause_kind kind)
{
	static const char *const names[] = {
		[WP_PAUSE_WRITE] = "write",
		[WP_PAUSE_SYNC] = "fsync",
		[WP_PAUSE_LATE] = "late",
	};

	return names[kind];
}

static int64_t clip(int64_t v, int64_t max)
{
	return v < 0 ? 0 : v > max ? max : v;
}

static struct wp_num us(int64_t ns)
{
	return wp_num((double)ns / 1e3);
}

/* How far a cumulative figure went, at most the pause itself: the looks reach beyond both of its ends. */
static struct wp_num moved_us(int64_t from, int64_t to, int64_t length_ns, const char *why)
{
	return from < 0 || to < 0 ? wp_absent(why) : us(clip(to - from, length_ns));
}

static struct wp_num moved_pct(int64_t from, int64_t to, int64_t between_ns, const char *why)
{
	if (from < 0 || to < 0 || between_ns <= 0)
		return wp_absent(why);
	return wp_num(100 * (double)clip(to - from, between_ns) / (double)between_ns);
}

/*
 * The thread's clocks were read up to 10 ms before the pause, and it ran nearly all of that time: what it ran longer is of
 * the pause.
 */
static void own_time(const struct wp_pause *p, int64_t length_ns, struct wp_pause_view *v)
{
	int64_t before_ns = p->start_ns > p->since_ns ? p->start_ns - p->since_ns : 0;
	int64_t taker_ns = clip(p->taker_ns, length_ns);

	v->taker_wait_us = us(taker_ns);
	v->run_us = p->run_ns < 0 ? wp_absent("not measured")
				  : us(clip(p->run_ns - before_ns, length_ns));
	v->run_delay_us = p->delay_ns < 0 ? wp_absent("the kernel keeps no schedstat")
					  : us(clip(p->delay_ns, length_ns));
	v->voluntary_switches = wp_num((double)p->voluntary);
	v->involuntary_switches = wp_num((double)p->involuntary);
	v->cpu = p->cpu >= 0 ? wp_num(p->cpu) : wp_absent("not known");
}

/* The most frequent of the states that the looks within the pause saw; those of a thread that does not run come first. */
static const struct wp_writer_reading *typical(const struct wp_writer_reading *r, size_t n,
					       const struct wp_pause *p, size_t *ret_n)
{
	const struct wp_writer_reading *best = NULL;
	size_t best_n = 0, step = n / COMPARED + 1;

	*ret_n = 0;
	for (size_t i = 0; i < n; i += step) {
		size_t same = 0;

		if (r[i].t_ns < p->start_ns || r[i].t_ns > p->end_ns || !r[i].state)
			continue;
		++*ret_n;
		for (size_t k = 0; k < n; k += step)
			same += r[k].t_ns >= p->start_ns && r[k].t_ns <= p->end_ns &&
				r[k].state == r[i].state && !strcmp(r[k].waited_in, r[i].waited_in);
		if (same > best_n) {
			best = &r[i];
			best_n = same;
		}
	}
	return best;
}

static const struct wp_writer_reading *typical_taker(const struct wp_writer_reading *r, size_t n,
						     const struct wp_pause *p)
{
	const struct wp_writer_reading *best = NULL;
	size_t best_n = 0, step = n / COMPARED + 1;

	for (size_t i = 0; i < n; i += step) {
		size_t same = 0;

		if (!r[i].taker.state || r[i].t_ns < p->start_ns || r[i].t_ns > p->end_ns)
			continue;
		for (size_t k = 0; k < n; k += step)
			same += r[k].taker.state == r[i].taker.state &&
				!strcmp(r[k].taker.waited_in, r[i].taker.waited_in);
		if (same > best_n) {
			best = &r[i];
			best_n = same;
		}
	}
	return best;
}

/* "D", in the pool; NULL for none. */
static int put_letter(char state, const char **ret, struct wp_pool *pool)
{
	*ret = state ? wp_pool_strndup(pool, &state, 1) : NULL;
	return state && !*ret ? -ENOMEM : 0;
}

static int put_text(const char *text, const char **ret, struct wp_pool *pool)
{
	*ret = *text ? wp_pool_strdup(pool, text) : NULL;
	return *text && !*ret ? -ENOMEM : 0;
}

static int put_states(const struct wp_pause *p, const struct wp_writer_reading *r, size_t n,
		      struct wp_pause_view *v, struct wp_pool *pool)
{
	size_t samples;
	const struct wp_writer_reading *t = typical(r, n, p, &samples), *k = typical_taker(r, n, p);
	int e = 0;

	v->samples = wp_num((double)samples);
	if (t)
		e = put_letter(t->state, &v->state, pool);
	if (t && !e)
		e = put_text(t->waited_in, &v->waited_in, pool);
	if (k && !e)
		e = put_letter(k->taker.state, &v->taker_state, pool);
	if (k && !e)
		e = put_text(k->taker.waited_in, &v->taker_waited_in, pool);
	return e;
}

static void put_taker(const struct wp_writer_reading *r, size_t n, struct wp_pause_view *v)
{
	static const char not_seen[] = "the process at the other end was not looked at twice";
	const struct wp_taker_state *first = NULL, *last = NULL;

	v->taker_run_pct = v->taker_delay_pct = wp_absent(not_seen);
	for (size_t i = 0; i < n; i++) {
		if (!r[i].taker.state || r[i].taker.state == '?')
			continue;
		first = first ? first : &r[i].taker;
		last = &r[i].taker;
	}
	if (!first || first->seen_ns == last->seen_ns)
		return;
	v->taker_run_pct =
		moved_pct(first->run_ns, last->run_ns, last->seen_ns - first->seen_ns, not_seen);
	v->taker_delay_pct = moved_pct(first->delay_ns, last->delay_ns,
				       last->seen_ns - first->seen_ns, not_seen);
}

static struct wp_num largest(int64_t v, const char *why)
{
	return v < 0 ? wp_absent(why) : wp_num((double)v);
}

static void put_machine(const struct wp_writer_reading *r, size_t n, int64_t length_ns,
			struct wp_pause_view *v)
{
	const struct wp_writer_reading *a = &r[0], *b = &r[n - 1];
	int64_t between_ns = b->t_ns - a->t_ns, unseen_ns = 0, dirty = -1, writeback = -1;

	v->steal_us = moved_us(a->steal_ns, b->steal_ns, length_ns, "/proc/stat can't be read");
	v->irq_us = moved_us(a->irq_ns, b->irq_ns, length_ns, "/proc/stat can't be read");
	v->softirq_us =
		moved_us(a->softirq_ns, b->softirq_ns, length_ns, "/proc/stat can't be read");
	v->throttled_us = moved_us(a->throttled_ns, b->throttled_ns, length_ns,
				   "no CPU quota is set, or its cpu.stat is not visible");
	v->io_pressure_pct = moved_pct(a->io_ns, b->io_ns, between_ns, "no /proc/pressure/io");
	v->memory_pressure_pct =
		moved_pct(a->memory_ns, b->memory_ns, between_ns, "no /proc/pressure/memory");
	for (size_t i = 0; i < n; i++) {
		if (i && r[i].unseen_ns > unseen_ns)
			unseen_ns = r[i].unseen_ns;
		dirty = r[i].dirty_bytes > dirty ? r[i].dirty_bytes : dirty;
		writeback = r[i].writeback_bytes > writeback ? r[i].writeback_bytes : writeback;
	}
	v->unseen_us = us(clip(unseen_ns, length_ns));
	v->dirty_bytes = largest(dirty, "/proc/meminfo can't be read");
	v->writeback_bytes = largest(writeback, "/proc/meminfo can't be read");
}

int wp_writer_describe(const struct wp_pause *p, const struct wp_writer_reading *r, size_t n,
		       int64_t origin_ns, struct wp_pause_view *ret, struct wp_pool *pool)
{
	int64_t length_ns = p->end_ns - p->start_ns;

	*ret = (struct wp_pause_view) {
		.what = what_of(p->kind),
		.start_s = wp_num((double)(p->start_ns - origin_ns) / 1e9),
		.length_us = us(length_ns),
		.offset_bytes = wp_num((double)p->offset_bytes),
		.ran_there_pct = wp_absent("not looked for"),
		.others_pct = wp_absent("not looked for"),
	};
	own_time(p, length_ns, ret);
	put_machine(r, n, length_ns, ret);
	put_taker(r, n, ret);
	return put_states(p, r, n, ret, pool);
}
