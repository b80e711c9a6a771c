/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * grow.h - arrays that grow to fit what a file holds, up to a named limit, and keep their memory
 * for the next reading (the sampler reads the same file ten times a second).
 *
 *	r = WP_GROW(s->cpu, s->cap, s->n + 1, WP_CPU_MAX);
 */
#ifndef WP_SYS_GROW_H
#define WP_SYS_GROW_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/* Makes room for `need` elements of `size` bytes at *p, whose capacity is *cap. -E2BIG above `max`,
 * -ENOMEM. */
static inline int wp_grow(void *p, size_t *cap, size_t need, size_t max, size_t size)
{
	void *old, *grown;
	size_t want;

	if (need <= *cap)
		return 0;
	if (need > max)
		return -E2BIG;
	want = *cap < 8 ? 8 : *cap * 2;
	if (want < need)
		want = need;
	if (want > max)
		want = max;
	/* *p may be any object pointer; memcpy keeps that within the aliasing rules. */
	__builtin_memcpy(&old, p, sizeof(old));
	grown = reallocarray(old, want, size);
	if (!grown)
		return -ENOMEM;
	__builtin_memcpy(p, &grown, sizeof(grown));
	*cap = want;
	return 0;
}

#define WP_GROW(array, cap, need, max) wp_grow(&(array), &(cap), (need), (max), sizeof(*(array)))

#endif
