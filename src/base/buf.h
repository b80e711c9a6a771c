/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * buf.h - a growing byte buffer that has a maximum from birth.
 *
 * The buffer is always NUL-terminated after the first successful append (the NUL is not counted in `len`).
 * Exceeding `max` gives -E2BIG and leaves the content as it was. Sticky failure: after a failed append every
 * later one returns the same code, so a writer may check once at the end (wp_buf_status()). What is appended may
 * not lie inside the buffer itself. After wp_buf_reserve() and b->len += n the NUL comes with wp_buf_text() or the
 * next append.
 *
 *	struct wp_buf b = WP_BUF(64 << 10);
 *	wp_buf_printf(&b, "%d\n", 7);
 *	wp_buf_done(&b);
 */
#ifndef WP_BASE_BUF_H
#define WP_BASE_BUF_H

#include <stddef.h>

#include "base/err.h"

struct wp_buf {
	char *data; /* owned; NULL until the first append */
	size_t len; /* bytes used, without the NUL */
	size_t cap; /* bytes allocated */
	size_t max; /* `len` never exceeds this */
	int status; /* 0 or the first failure */
};

#define WP_BUF(limit_bytes) ((struct wp_buf) { .max = (limit_bytes) })

int wp_buf_append(struct wp_buf *b, const void *data, size_t len);
int wp_buf_puts(struct wp_buf *b, const char *s);
int wp_buf_printf(struct wp_buf *b, const char *fmt, ...) WP_PRINTF(2, 3);
/* Makes room for `len` more bytes and returns where they go (then add to b->len), or NULL. */
char *wp_buf_reserve(struct wp_buf *b, size_t len);
/* Drops the first `len` bytes (len <= b->len). */
void wp_buf_consume(struct wp_buf *b, size_t len);
/* The text, never NULL. Borrowed until the next change. */
const char *wp_buf_text(const struct wp_buf *b);
static inline int wp_buf_status(const struct wp_buf *b)
{
	return b->status;
}
void wp_buf_reset(struct wp_buf *b); /* empties, keeps the memory, clears the status */
void wp_buf_done(struct wp_buf *b);  /* frees; usable again with the same max */

#define _cleanup_buf_ __attribute__((cleanup(wp_buf_done)))

#endif
