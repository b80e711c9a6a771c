/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * opt_value.h - one value of one option: what opt.c, opt_help.c and opt_check.c share. Not for
 * other floors.
 */
#ifndef WP_BASE_OPT_VALUE_H
#define WP_BASE_OPT_VALUE_H

#include "base/opt.h"

/* Entries of a SIZES or COUNTS list: an axis of a sweep is a few dozen points; a typing error is
 * millions. */
#define WP_OPT_LIST_MAX 4096

/* Parses `text` for `row`, checks the bounds and stores it in `cfg`, freeing a list that was there.
 * `shown` is how the person wrote the option ("--time", "-t"), for the sentence. `cfg` is untouched
 * on failure. */
int wp_opt_store(const struct wp_opt *row, void *cfg, const char *shown, const char *text,
		 struct wp_err *err) WP_MUST_USE;

/* Size and alignment of the value that `row` points to. */
size_t wp_opt_value_size(const struct wp_opt *row);
size_t wp_opt_value_align(const struct wp_opt *row);

static inline void *wp_opt_at(const struct wp_opt *row, void *cfg)
{
	return (char *)cfg + row->offset;
}

#endif
