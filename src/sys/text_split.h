/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text_split.h - "key : value" lines, on top of text.h.
 */
#ifndef WP_SYS_TEXT_SPLIT_H
#define WP_SYS_TEXT_SPLIT_H

#include "sys/text.h"

static inline bool wp_text_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static inline struct wp_text wp_text_trim(struct wp_text t)
{
	while (t.p < t.end && wp_text_is_blank(*t.p))
		t.p++;
	while (t.p < t.end && wp_text_is_blank(t.end[-1]))
		t.end--;
	return t;
}

/* Splits at the first `c`; both halves trimmed. False, and nothing written, when there is no `c`. */
static inline bool wp_text_split(struct wp_text t, char c, struct wp_text *ret_left,
				 struct wp_text *ret_right)
{
	const char *at = wp_text_len(t) ? memchr(t.p, c, wp_text_len(t)) : NULL;

	if (!at)
		return false;
	*ret_left = wp_text_trim((struct wp_text) { t.p, at });
	*ret_right = wp_text_trim((struct wp_text) { at + 1, t.end });
	return true;
}

static inline bool wp_text_starts(struct wp_text t, const char *prefix)
{
	return wp_text_eat(&t, prefix);
}

/* The text from `needle` on, or NULL. */
static inline const char *wp_text_find(struct wp_text t, const char *needle)
{
	return wp_text_len(t) ? memmem(t.p, wp_text_len(t), needle, strlen(needle)) : NULL;
}

/* The whole text as a number, decimal or with "0x" in front hexadecimal. */
static inline int wp_text_number(struct wp_text t, uint64_t *ret)
{
	return wp_text_eat(&t, "0x") ? wp_text_hex(t, ret) : wp_text_u64(t, ret);
}

#endif
