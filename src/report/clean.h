/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clean.h - text of foreign origin (another machine's names, a file's content) made fit for a terminal or a letter:
 * control characters, bidirectional overrides and bytes that are not UTF-8 become '?', white space one blank. In
 * ASCII mode signs with a usual spelling get it ("≥" is ">="), the rest is '?'.
 */
#ifndef WP_REPORT_CLEAN_H
#define WP_REPORT_CLEAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/pool.h"

/* In the pool; "" when memory is short or `s` is NULL. */
const char *wp_clean(struct wp_pool *pool, const char *s, bool utf8);
/* Columns of a cleaned text: its code points (signs of double width are rare in what is printed here). */
size_t wp_width(const char *s);
/* Bytes of the first `columns` columns. */
size_t wp_width_bytes(const char *s, size_t columns);

#endif
