/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 256

static int fail(struct wp_buf *b, int code)
{
	if (!b->status)
		b->status = code;
	return b->status;
}

/* Makes room for `len` more bytes and a NUL. */
static int grow(struct wp_buf *b, size_t len)
{
	size_t limit = b->max < SIZE_MAX ? b->max + 1 : SIZE_MAX;
	size_t need, cap;
	char *data;

	if (b->status)
		return b->status;
	if (len >= limit - b->len)
		return fail(b, -E2BIG);
	need = b->len + len + 1;
	if (need <= b->cap)
		return 0;
	cap = b->cap > limit / 2 ? limit : b->cap * 2;
	if (cap < need)
		cap = need;
	if (cap < FIRST_CAP)
		cap = FIRST_CAP < limit ? FIRST_CAP : limit;
	data = realloc(b->data, cap);
	if (!data)
		return fail(b, -ENOMEM);
	data[b->len] = '\0';
	b->data = data;
	b->cap = cap;
	return 0;
}

int wp_buf_append(struct wp_buf *b, const void *data, size_t len)
{
	int r = grow(b, len);

	if (r < 0)
		return r;
	if (len > 0)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
	return 0;
}

int wp_buf_puts(struct wp_buf *b, const char *s)
{
	return wp_buf_append(b, s, strlen(s));
}

int wp_buf_printf(struct wp_buf *b, const char *fmt, ...)
{
	va_list ap;
	int n, r;

	r = grow(b, 0);
	if (r < 0)
		return r;
	va_start(ap, fmt);
	n = vsnprintf(b->data + b->len, b->cap - b->len, fmt, ap);
	va_end(ap);
	if (n < 0) {
		b->data[b->len] = '\0';
		return fail(b, -EINVAL);
	}
	if ((size_t)n >= b->cap - b->len) {
		b->data[b->len] = '\0';
		r = grow(b, (size_t)n);
		if (r < 0)
			return r;
		va_start(ap, fmt);
		vsnprintf(b->data + b->len, b->cap - b->len, fmt, ap);
		va_end(ap);
	}
	b->len += (size_t)n;
	return 0;
}

char *wp_buf_reserve(struct wp_buf *b, size_t len)
{
	return grow(b, len) < 0 ? NULL : b->data + b->len;
}

void wp_buf_consume(struct wp_buf *b, size_t len)
{
	if (len > b->len)
		len = b->len;
	if (len == 0)
		return;
	memmove(b->data, b->data + len, b->len - len);
	b->len -= len;
	b->data[b->len] = '\0';
}

const char *wp_buf_text(const struct wp_buf *b)
{
	if (!b->data)
		return "";
	/* Bytes that came in through wp_buf_reserve() have no NUL behind them yet. */
	if (b->data[b->len] != '\0')
		b->data[b->len] = '\0';
	return b->data;
}

void wp_buf_reset(struct wp_buf *b)
{
	b->len = 0;
	b->status = 0;
	if (b->data)
		b->data[0] = '\0';
}

void wp_buf_done(struct wp_buf *b)
{
	if (!b)
		return;
	free(b->data);
	b->data = NULL;
	b->len = 0;
	b->cap = 0;
	b->status = 0;
}
