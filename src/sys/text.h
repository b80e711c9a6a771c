/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text.h - a cursor over (bytes, length) for the parsers of this floor; nothing here needs a NUL at
 * the end.
 *
 * Every file of procfs ends in a newline, so a last line without one is the sign of a short read:
 * wp_text_line() does not give it out, because a number cut in half is a wrong number.
 *
 *	struct wp_text t = wp_text(data, len), line, word;
 *	while (wp_text_line(&t, &line))
 *		while (wp_text_word(&line, &word))
 *			...
 */
#ifndef WP_SYS_TEXT_H
#define WP_SYS_TEXT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

struct wp_text {
	const char *p, *end; /* borrowed; p <= end */
};

static inline struct wp_text wp_text(const char *data, size_t len)
{
	return (struct wp_text) { data, len ? data + len : data };
}

static inline size_t wp_text_len(struct wp_text t)
{
	return t.p ? (size_t)(t.end - t.p) : 0;
}

/* The next line without its newline; false at the end and for an unfinished last line. */
static inline bool wp_text_line(struct wp_text *t, struct wp_text *ret_line)
{
	const char *nl = wp_text_len(*t) ? memchr(t->p, '\n', wp_text_len(*t)) : NULL;

	if (!nl)
		return false;
	*ret_line = (struct wp_text) { t->p, nl };
	t->p = nl + 1;
	return true;
}

static inline void wp_text_skip_blanks(struct wp_text *t)
{
	while (t->p < t->end && (*t->p == ' ' || *t->p == '\t'))
		t->p++;
}

/* The next word between blanks (spaces and tabs); false when there is none. */
static inline bool wp_text_word(struct wp_text *t, struct wp_text *ret_word)
{
	const char *start;

	wp_text_skip_blanks(t);
	start = t->p;
	while (t->p < t->end && *t->p != ' ' && *t->p != '\t')
		t->p++;
	*ret_word = (struct wp_text) { start, t->p };
	return t->p > start;
}

static inline bool wp_text_is(struct wp_text t, const char *s)
{
	size_t len = strlen(s);

	return wp_text_len(t) == len && (len == 0 || memcmp(t.p, s, len) == 0);
}

static inline bool wp_text_same(struct wp_text a, struct wp_text b)
{
	size_t len = wp_text_len(a);

	return len == wp_text_len(b) && (len == 0 || memcmp(a.p, b.p, len) == 0);
}

/* Steps over `prefix` when the text starts with it. */
static inline bool wp_text_eat(struct wp_text *t, const char *prefix)
{
	size_t len = strlen(prefix);

	if (wp_text_len(*t) < len || memcmp(t->p, prefix, len) != 0)
		return false;
	t->p += len;
	return true;
}

/* Reads the decimal digits at the cursor; -EINVAL when there are none, -ERANGE beyond 64 bits. */
static inline int wp_text_digits(struct wp_text *t, uint64_t *ret)
{
	const char *p = t->p;
	uint64_t v = 0;

	for (; p < t->end && *p >= '0' && *p <= '9'; p++) {
		uint64_t digit = (uint64_t)(*p - '0');

		if (v > (UINT64_MAX - digit) / 10)
			return -ERANGE;
		v = v * 10 + digit;
	}
	if (p == t->p)
		return -EINVAL;
	t->p = p;
	*ret = v;
	return 0;
}

/* The whole word as a decimal number. */
static inline int wp_text_u64(struct wp_text word, uint64_t *ret)
{
	uint64_t v;
	int r = wp_text_digits(&word, &v);

	if (r < 0)
		return r;
	if (word.p != word.end)
		return -EINVAL;
	*ret = v;
	return 0;
}

/* The whole word as a hexadecimal number of at most 16 digits, without 0x. */
static inline int wp_text_hex(struct wp_text word, uint64_t *ret)
{
	uint64_t v = 0;

	if (wp_text_len(word) == 0)
		return -EINVAL;
	if (wp_text_len(word) > 16)
		return -ERANGE;
	for (; word.p < word.end; word.p++) {
		char c = *word.p;

		if (c >= '0' && c <= '9')
			v = v << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uint64_t)(c - 'a' + 10);
		else if (c >= 'A' && c <= 'F')
			v = v << 4 | (uint64_t)(c - 'A' + 10);
		else
			return -EINVAL;
	}
	*ret = v;
	return 0;
}

/* Copies at most size - 1 bytes and ends with NUL; bytes that are not printable ASCII or UTF-8
 * become '?'. */
static inline void wp_text_copy(struct wp_text t, char *out, size_t size)
{
	size_t len = wp_text_len(t);

	if (size == 0)
		return;
	if (len > size - 1)
		len = size - 1;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)t.p[i];

		out[i] = c < 0x20 || c == 0x7f ? '?' : t.p[i];
	}
	out[len] = '\0';
}

#endif
