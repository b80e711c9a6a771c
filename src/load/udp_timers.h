/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * udp_timers.h - what to do next of thousands of streams: a binary heap of due times. The caller owns the memory and
 * keeps each item's place in it (`at`), so that an item can be moved or taken out.
 */
#ifndef WP_LOAD_UDP_TIMERS_H
#define WP_LOAD_UDP_TIMERS_H

#include <stddef.h>
#include <stdint.h>

#define UDP_NEVER INT64_MAX

struct udp_timer {
	int64_t due_ns;
	size_t at; /* place in the heap + 1; 0 = not in it */
	void *owner;
};

struct udp_timers {
	struct udp_timer **heap; /* room for every timer */
	size_t n;
};

/* Puts a timer in, moves it, or with UDP_NEVER takes it out. */
void udp_timers_set(struct udp_timers *t, struct udp_timer *timer, int64_t due_ns);

/* The earliest, or NULL. */
static inline struct udp_timer *udp_timers_first(const struct udp_timers *t)
{
	return t->n > 0 ? t->heap[0] : NULL;
}

#endif
