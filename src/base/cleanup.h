/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cleanup.h - releases locals at the end of their scope.
 *
 *	_cleanup_close_ int fd = open(...);
 *	_cleanup_free_ char *text = NULL;
 *
 * To hand a resource on, take it out first: `*ret_fd = wp_steal_fd(&fd)`, `*ret = wp_steal_ptr(&text)`.
 */
#ifndef WP_BASE_CLEANUP_H
#define WP_BASE_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

#define WP_CLEANUP(f) __attribute__((cleanup(f)))

/* Closes *fd when it is >= 0; keeps errno. */
void wp_close_p(int *fd);

static inline void wp_free_p(void *p)
{
	free(*(void **)p);
}

static inline int wp_steal_fd(int *fd)
{
	int v = *fd;

	*fd = -1;
	return v;
}

#define wp_steal_ptr(pp)                          \
	({                                        \
		typeof(*(pp)) wp_steal_v = *(pp); \
		*(pp) = NULL;                     \
		wp_steal_v;                       \
	})

#define _cleanup_close_ WP_CLEANUP(wp_close_p)
#define _cleanup_free_  WP_CLEANUP(wp_free_p)

#define WP_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
