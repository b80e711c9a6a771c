/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/pool.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_MIN ((size_t)4 << 10)
#define BLOCK_MAX ((size_t)256 << 10)
#define ALIGN     (_Alignof(max_align_t))

struct wp_pool_block {
	struct wp_pool_block *next;
	size_t size; /* bytes of data */
	size_t used;
	_Alignas(max_align_t) char data[];
};

static struct wp_pool_block *block_new(size_t size)
{
	struct wp_pool_block *b;

	if (size > SIZE_MAX - sizeof(*b))
		return NULL;
	b = calloc(1, sizeof(*b) + size);
	if (b)
		b->size = size;
	return b;
}

/* A block with room for `want` bytes. The head is the block that small allocations come from; a
 * large one gets a block of its own behind the head, so that the rest of the head is not wasted. */
static struct wp_pool_block *block_with_room(struct wp_pool *p, size_t want)
{
	struct wp_pool_block *head = p->head, *b;
	size_t size;

	if (head && head->size - head->used >= want)
		return head;
	size = head ? head->size : BLOCK_MIN / 2;
	size = size >= BLOCK_MAX / 2 ? BLOCK_MAX : size * 2;
	if (head && want > size / 4) {
		b = block_new(want);
		if (!b)
			return NULL;
		b->next = head->next;
		head->next = b;
		return b;
	}
	b = block_new(want > size ? want : size);
	if (!b)
		return NULL;
	b->next = head;
	p->head = b;
	return b;
}

void *wp_pool_alloc(struct wp_pool *p, size_t bytes)
{
	struct wp_pool_block *b;
	size_t want;
	void *at;

	if (bytes > SIZE_MAX - ALIGN)
		return NULL;
	want = bytes ? (bytes + ALIGN - 1) / ALIGN * ALIGN : ALIGN;
	if (bytes > p->max_bytes || p->used_bytes > p->max_bytes - bytes)
		return NULL;
	b = block_with_room(p, want);
	if (!b)
		return NULL;
	at = b->data + b->used;
	b->used += want;
	p->used_bytes += want;
	return at;
}

void *wp_pool_calloc(struct wp_pool *p, size_t n, size_t bytes)
{
	size_t total;

	if (__builtin_mul_overflow(n, bytes, &total))
		return NULL;
	return wp_pool_alloc(p, total);
}

char *wp_pool_strndup(struct wp_pool *p, const char *s, size_t len)
{
	char *copy;

	if (!s)
		return NULL;
	len = strnlen(s, len);
	copy = wp_pool_alloc(p, len + 1);
	if (copy)
		memcpy(copy, s, len);
	return copy;
}

char *wp_pool_strdup(struct wp_pool *p, const char *s)
{
	return s ? wp_pool_strndup(p, s, strlen(s)) : NULL;
}

char *wp_pool_printf(struct wp_pool *p, const char *fmt, ...)
{
	va_list ap;
	char *text;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return NULL;
	text = wp_pool_alloc(p, (size_t)n + 1);
	if (!text)
		return NULL;
	va_start(ap, fmt);
	vsnprintf(text, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return text;
}

void wp_pool_done(struct wp_pool *p)
{
	struct wp_pool_block *b, *next;

	if (!p)
		return;
	for (b = p->head; b; b = next) {
		next = b->next;
		free(b);
	}
	p->head = NULL;
	p->used_bytes = 0;
}
