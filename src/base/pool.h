/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pool.h - an arena: many small allocations with one lifetime (a run record's strings and arrays).
 *
 * Nothing is freed before wp_pool_done(). Memory is zeroed and aligned for any type. The pool has a maximum
 * from birth (counted in bytes handed out, rounded up for alignment); beyond it, and when memory is short, the
 * functions return NULL. wp_pool_alloc(p, 0) is a valid pointer to nothing.
 */
#ifndef WP_BASE_POOL_H
#define WP_BASE_POOL_H

#include <stddef.h>

#include "base/err.h"

struct wp_pool_block;

struct wp_pool {
	struct wp_pool_block *head;
	size_t used_bytes;
	size_t max_bytes;
};

#define WP_POOL(limit_bytes) ((struct wp_pool) { .max_bytes = (limit_bytes) })

void *wp_pool_alloc(struct wp_pool *p, size_t bytes);
void *wp_pool_calloc(struct wp_pool *p, size_t n, size_t bytes); /* checks n * bytes */
char *wp_pool_strdup(struct wp_pool *p, const char *s);          /* NULL in, NULL out */
char *wp_pool_strndup(struct wp_pool *p, const char *s, size_t len);
char *wp_pool_printf(struct wp_pool *p, const char *fmt, ...) WP_PRINTF(2, 3);
void wp_pool_done(struct wp_pool *p);

#endif
