/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load/udp_timers.h"

static void place(struct udp_timers *t, struct udp_timer *timer, size_t i)
{
	t->heap[i] = timer;
	timer->at = i + 1;
}

static size_t up(struct udp_timers *t, const struct udp_timer *timer, size_t i)
{
	while (i > 0 && t->heap[(i - 1) / 2]->due_ns > timer->due_ns) {
		place(t, t->heap[(i - 1) / 2], i);
		i = (i - 1) / 2;
	}
	return i;
}

static size_t down(struct udp_timers *t, const struct udp_timer *timer, size_t i)
{
	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= t->n)
			return i;
		if (child + 1 < t->n && t->heap[child + 1]->due_ns < t->heap[child]->due_ns)
			child++;
		if (t->heap[child]->due_ns >= timer->due_ns)
			return i;
		place(t, t->heap[child], i);
		i = child;
	}
}

/* Puts it where it belongs, from place `i`, which is free. */
static void settle(struct udp_timers *t, struct udp_timer *timer, size_t i)
{
	i = up(t, timer, i);
	place(t, timer, down(t, timer, i));
}

void udp_timers_set(struct udp_timers *t, struct udp_timer *timer, int64_t due_ns)
{
	size_t i = timer->at;

	timer->due_ns = due_ns;
	if (due_ns != UDP_NEVER) {
		settle(t, timer, i > 0 ? i - 1 : t->n++);
		return;
	}
	if (i == 0)
		return;
	timer->at = 0;
	if (--t->n > i - 1)
		settle(t, t->heap[t->n], i - 1);
}
